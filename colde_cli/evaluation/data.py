"""Read labelled data, documents, links and labelled pairs from JSON Lines (docs/training-data.md), and make sets of it.

Training, evaluation and calibration read the same files. Every line is checked before work starts; an error names the
file and the line. An evaluation set has documents, test pairs, and validation pairs that set the threshold.
"""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from colde_cli.documents.document import Document, Part, assemble
from colde_cli.documents.plain_text import read_text
from colde_cli.documents.reading import read
from colde_cli.documents.selection import one_or_more
from colde_cli.errors import ColdeError, DataError, MissingFileError, OptionError

SPLITS = ("train", "validation", "test")
_CONTENT = ("text", "sections", "path")
_HALF = re.compile(r"\\u[dD][89a-fA-F]")  # the escape of half a character; with its other half it is a whole one
VALIDATION = "validation"


@dataclass(frozen=True, slots=True)
class TrainingDocument:
    """A document with its labels: one line of a data file."""

    id: str  # unique among all documents of a run
    document: Document
    label: str | None  # its class; None without one
    related: tuple[str, ...]  # ids of the documents that it names as related
    split: str | None  # "train", "validation" or "test"; None if the line names none
    place: str
    file: int = 0


@dataclass(frozen=True, slots=True)
class LabelledPair:
    """Two documents with a label: related or not.

    Attributes:
        relation: how the pair was chosen ("cites", "random", "hard"); None if the line does not say. AUC against
            "random" and "hard" negatives is also measured apart.
        split: "train", "validation" or "test"; None if the line names none.
    """

    a: str
    b: str
    related: bool
    relation: str | None = None
    split: str | None = None


@dataclass(frozen=True, slots=True)
class DataFile:
    """A data file: its name and the number of documents read from it."""

    name: str
    count: int


@dataclass(frozen=True, slots=True)
class TrainingData:
    """All documents of a run, in the order of their files."""

    documents: tuple[TrainingDocument, ...]
    files: tuple[DataFile, ...]

    def numbers(self) -> dict[str, int]:
        """Id to index in `documents`."""
        return {item.id: number for number, item in enumerate(self.documents)}


def read_data(paths: str | Path | Sequence[str | Path], *, supervised: bool = True) -> TrainingData:
    """Read and check files of documents, and labelled sets: folders of `docs.jsonl[.gz]` and `pairs.jsonl[.gz]`.

    Raises:
        DataError: a line is not valid, or that check fails.
        MissingFileError: there is no such file.
    """
    documents: dict[str, TrainingDocument] = {}
    files = []
    for number, path in enumerate(map(Path, one_or_more(paths))):
        before = len(documents)
        file = _of_set(path, "docs") if path.is_dir() else path
        items = (_document(values, place, file.parent) for place, values in json_lines(file))
        for item in _within_set(path, list(items)) if path.is_dir() else items:
            if item.id in documents:
                raise DataError(f"{item.place}: the id {item.id!r} was used before ({documents[item.id].place}).")
            documents[item.id] = replace(item, file=number)
        files.append(DataFile(path.resolve().name, len(documents) - before))
    if supervised:
        _check_supervision(documents)
    return TrainingData(tuple(documents.values()), tuple(files))


def _of_set(folder: Path, name: str) -> Path:
    """A file of a labelled set."""
    plain = folder / f"{name}.jsonl"
    return plain if plain.is_file() else folder / f"{name}.jsonl.gz"


def _within_set(folder: Path, items: Sequence[TrainingDocument]) -> Iterator[TrainingDocument]:
    """Put the name of their set before ids and labels, so that sets do not share any.

    Where documents have links, labels are topics, which are broader than what the links mean, and do not count.
    """
    name, linked = folder.resolve().name, any(item.related for item in items)
    for item in items:
        label = None if linked or item.label is None else f"{name}/{item.label}"
        related = tuple(f"{name}/{other}" for other in item.related)
        yield replace(item, id=f"{name}/{item.id}", label=label, related=related)


def read_pairs(path: Path, known: Mapping[str, int]) -> tuple[LabelledPair, ...]:
    """Read labelled pairs, of a file or of a labelled set, of documents whose ids are `known`.

    Raises:
        DataError: a line is not valid, names an unknown document, or contradicts another line.
        MissingFileError: there is no such file.
    """
    pairs: dict[frozenset[str], LabelledPair] = {}
    prefix = f"{path.resolve().name}/" if path.is_dir() else ""
    for place, values in json_lines(_of_set(path, "pairs") if path.is_dir() else path):
        pair = _pair(values, place, known, prefix)
        earlier = pairs.setdefault(frozenset((pair.a, pair.b)), pair)
        if earlier.related != pair.related:
            raise DataError(f"{place}: {pair.a!r} and {pair.b!r} are labelled related and unrelated; keep one.")
    return tuple(pairs.values())


def json_lines(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the place and the object of every line that is not blank, of a file that may end in .gz.

    Raises:
        DataError: a line is not a JSON object, the file is not UTF-8 text, or it has no lines.
        MissingFileError: there is no such file.
    """
    if not path.is_file():
        raise MissingFileError(f"There is no file {path}; name a file of JSON Lines.")
    empty = True
    try:
        with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    empty = False
                    yield f"{path}, line {number}", _object(line, f"{path}, line {number}")
    except (UnicodeDecodeError, EOFError, zlib.error, OSError) as error:
        raise DataError(f"{path} cannot be read as UTF-8 text ({error}).") from error
    if empty:
        raise DataError(f"{path} has no lines; each line describes one document or pair as JSON.")


def _object(line: str, place: str) -> dict[str, Any]:
    try:
        values = json.loads(line)
    except (ValueError, RecursionError) as error:  # also of a number of thousands of digits
        raise DataError(f"{place}: not valid JSON ({error}).") from error
    if _HALF.search(line):
        try:
            json.dumps(values, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            raise DataError(f"{place}: it holds half a character (a lone surrogate).") from error
    if not isinstance(values, dict):
        raise DataError(f"{place}: not a JSON object.")
    return values


def _document(values: dict[str, Any], place: str, folder: Path) -> TrainingDocument:
    identity = values.get("id")
    if not isinstance(identity, str) or not identity:
        raise DataError(f"{place}: the id must be a string that is not empty.")
    label = _optional_string(values, "label", place)
    split = _optional_string(values, "split", place, SPLITS)
    related = values.get("related") or []
    if not isinstance(related, list) or not all(isinstance(other, str) for other in related):
        raise DataError(f"{place}: related must be a list of ids.")
    others = tuple(dict.fromkeys(other for other in related if other != identity))
    return TrainingDocument(identity, _content(values, identity, place, folder), label, others, split, place)


def _optional_string(values: dict[str, Any], name: str, place: str, known: Sequence[str] = ()) -> str | None:
    """A value that may be missing, one of the `known` if there are any."""
    value = values.get(name)
    if value is not None and not isinstance(value, str):
        raise DataError(f"{place}: {name} must be a string.")
    if value and known and value not in known:
        raise DataError(f"{place}: the {name} {value!r} is not one of {', '.join(known)}.")
    return value or None


def _content(values: dict[str, Any], identity: str, place: str, folder: Path) -> Document:
    """Make the document of a line from its text, its sections or its file."""
    given = [name for name in _CONTENT if values.get(name) is not None]
    if len(given) != 1:
        raise DataError(f"{place}: give exactly one of text, sections and path.")
    title = _optional_string(values, "title", place) or identity
    content = values[given[0]]
    if given[0] == "sections":
        document = assemble("", title, _parts(content, place))
    elif not isinstance(content, str):
        raise DataError(f"{place}: {given[0]} must be a string.")
    elif not content.strip():
        raise DataError(f"{place}: the {given[0]} of {identity!r} is empty.")
    else:
        try:
            document = read(folder / content) if given[0] == "path" else read_text(content.encode(), "", title)
        except ColdeError as error:
            raise DataError(f"{place}: {error}") from error
    if not document.text.strip():
        raise DataError(f"{place}: the document {identity!r} has no text.")
    return document


def _parts(sections: object, place: str) -> Iterator[Part]:
    if not isinstance(sections, list):
        raise DataError(f"{place}: sections must be a list.")
    for section in sections:
        heading = (section.get("heading") or "") if isinstance(section, dict) else None
        text = section.get("text") if isinstance(section, dict) else None
        if not isinstance(heading, str) or not isinstance(text, str):
            raise DataError(f'{place}: a section must be {{"heading": string, "text": string}}.')
        yield Part(heading, text)


def _pair(values: dict[str, Any], place: str, known: Mapping[str, int], prefix: str) -> LabelledPair:
    for name in ("a", "b"):
        if not isinstance(values.get(name), str):
            raise DataError(f"{place}: {name} must be the id of a document.")
        if prefix + values[name] not in known:
            raise DataError(f"{place}: the document {values[name]!r} is not in the data.")
    label = values.get("label")
    if label not in (0, 1) or isinstance(label, float):
        raise DataError(f"{place}: the label of a pair must be 0 or 1.")
    if values["a"] == values["b"]:
        raise DataError(f"{place}: {values['a']!r} is paired with itself.")
    relation = _optional_string(values, "relation", place)
    split = _optional_string(values, "split", place, SPLITS)
    return LabelledPair(prefix + values["a"], prefix + values["b"], bool(label), relation, split)


def _check_supervision(documents: Mapping[str, TrainingDocument]) -> None:
    """Check that links name known documents, and that a class of one document has a link.

    Documents without label or link are allowed: they serve as negatives and as text to calibrate on.
    """
    linked: set[str] = set()
    for item in documents.values():
        for other in item.related:
            if other not in documents:
                raise DataError(f"{item.place}: related names {other!r}, which is not in the data.")
            linked |= {item.id, other}
    sizes = Counter(item.label for item in documents.values())
    for item in documents.values():
        if item.label is not None and sizes[item.label] == 1 and item.id not in linked:
            raise DataError(
                f"{item.place}: {item.id!r} is alone in its class {item.label!r} and has no links; "
                "give it company, a link, or no label."
            )


@dataclass(frozen=True, slots=True, eq=False)
class EvaluationSet:
    """Documents and labelled pairs that share one threshold."""

    name: str
    documents: Mapping[str, Document]
    pairs: tuple[LabelledPair, ...]  # the pairs to measure, ordered by their ids
    # the pairs that set threshold, calibration and centre; none of them is measured
    validation: tuple[LabelledPair, ...]
    background: tuple[str, ...]  # ids of the documents that give the baselines their word statistics
    background_split: str  # "training" or "all": which documents these are
    gallery: tuple[str, ...]  # ids of the documents that retrieval searches through
    relevant: Mapping[str, frozenset[str]]  # for every document of the gallery with partners, the ids of its partners
    relevance: str  # "links" or "labels": what makes two documents partners
    # if every related pair has one label in common, the number of unrelated pairs that have one too; otherwise 0
    contradictions: int

    @property
    def split(self) -> str | None:
        """The split of the measured pairs; None where no pair names one, so that all are measured."""
        return self.pairs[0].split

    def used(self, *, retrieval: bool) -> tuple[str, ...]:
        """Ids of all documents in pairs, and of the gallery if `retrieval`; sorted."""
        ids = {name for pair in (*self.pairs, *self.validation) for name in (pair.a, pair.b)}
        return tuple(sorted(ids | set(self.gallery if retrieval and self.relevant else ())))

    def shared_documents(self) -> int:
        """Number of documents that stand both in measured and in validation pairs."""
        return len(members(self.pairs) & members(self.validation))


def members(pairs: Iterable[LabelledPair]) -> set[str]:
    """Ids of the documents in these pairs."""
    return {name for pair in pairs for name in (pair.a, pair.b)}


def make_evaluation_set(
    name: str,
    rows: Sequence[TrainingDocument],
    pairs: Sequence[LabelledPair],
    validation: Sequence[LabelledPair] | None = None,
    split: str = "test",
) -> EvaluationSet:
    """Build an evaluation set: choose the pairs to measure, the validation pairs and the gallery.

    Args:
        pairs: labelled pairs. If any names a split, those of `split` are measured, and those of the validation
            split set the threshold (unless `validation` is given, or `split` is "validation").
        validation: other pairs to set the threshold; if any names a split, only its validation pairs.

    Raises:
        DataError: no pair to measure, all of one label, or a pair both measured and used for validation.
    """
    measured = _side(pairs, split)
    if validation is not None:
        held = _side(validation, VALIDATION) or tuple(validation)
    else:
        held = () if split == VALIDATION else tuple(pair for pair in pairs if pair.split == VALIDATION)
    if not measured:
        there = ", ".join(sorted({pair.split for pair in pairs if pair.split}))
        raise DataError(f"No pair of {name} has the split {split!r}; there is {there}: choose with --split.")
    for role, some in (("measured", measured), (VALIDATION, held)):
        if some and len({pair.related for pair in some}) < 2:
            raise DataError(
                f"The {role} pairs of {name} all have the same label; give related (1) and unrelated (0) pairs."
            )
    both = [{frozenset((pair.a, pair.b)) for pair in side} for side in (measured, held)]
    if common := both[0] & both[1]:
        raise DataError(
            f"{len(common)} of the measured pairs of {name} are validation pairs too; keep validation and test apart."
        )
    split_rows = [row for row in rows if row.split == split]
    gallery = tuple(sorted(row.id for row in (split_rows if any(row.split for row in rows) else rows)))
    relevant, relevance = _relevant(rows, gallery)
    training = tuple(row.id for row in rows if row.split == "train")
    return EvaluationSet(
        name=name,
        documents={row.id: row.document for row in rows},
        pairs=_ordered(measured),
        validation=_ordered(held),
        background=training or tuple(row.id for row in rows),
        background_split="training" if training else "all",
        gallery=gallery,
        relevant=relevant,
        relevance=relevance,
        contradictions=_contradictions(measured, {row.id: row.label for row in rows}),
    )


def _side(pairs: Sequence[LabelledPair], split: str) -> tuple[LabelledPair, ...]:
    """The pairs of one split; all of them if none names a split."""
    if all(pair.split is None for pair in pairs):
        return tuple(pairs)
    return tuple(pair for pair in pairs if pair.split == split)


def _ordered(pairs: Iterable[LabelledPair]) -> tuple[LabelledPair, ...]:
    """Sort by ids, so that no figure depends on the order of lines in a file."""
    return tuple(sorted(pairs, key=lambda pair: (min(pair.a, pair.b), max(pair.a, pair.b))))


def _contradictions(pairs: Sequence[LabelledPair], labels: Mapping[str, str | None]) -> int:
    """Count unrelated pairs whose documents share a label, if those of every related pair do; else 0."""

    def same_label(pair: LabelledPair) -> bool:
        return labels[pair.a] is not None and labels[pair.a] == labels[pair.b]

    if not all(same_label(pair) for pair in pairs if pair.related):
        return 0
    return sum(same_label(pair) for pair in pairs if not pair.related)


def _relevant(rows: Sequence[TrainingDocument], gallery: Sequence[str]) -> tuple[dict[str, frozenset[str]], str]:
    """The partners of each document: its links, or its class if no document of the set has links."""
    inside = set(gallery)
    links: defaultdict[str, set[str]] = defaultdict(set)
    for row in rows:
        for other in row.related:
            if row.id in inside and other in inside and other != row.id:
                links[row.id].add(other)
                links[other].add(row.id)
    if links:
        return {name: frozenset(links[name]) for name in sorted(links)}, "links"
    classes: defaultdict[str, set[str]] = defaultdict(set)
    for row in rows:
        if row.label is not None and row.id in inside:
            classes[row.label].add(row.id)
    partners = {one: frozenset(group - {one}) for group in classes.values() if len(group) > 1 for one in group}
    return dict(sorted(partners.items())), "labels"


def read_evaluation_sets(
    docs: Path | Sequence[Path], pairs: Path | Sequence[Path], validation: Path | Sequence[Path], split: str
) -> list[EvaluationSet]:
    """Read one set per file of documents; its pairs are in the file at the same position.

    Args:
        validation: files of pairs that set the thresholds, one per file of documents or none.

    Raises:
        OptionError: the numbers of files differ.
        DataError, MissingFileError: a file is not valid, or does not exist.
    """
    docs, pairs, validation = (tuple(map(Path, one_or_more(files))) for files in (docs, pairs, validation))
    if len(pairs) != len(docs):
        raise OptionError(
            f"There are {len(docs)} --docs and {len(pairs)} --pairs; give one of each per data set, in the same order."
        )
    if validation and len(validation) != len(docs):
        raise OptionError(
            f"There are {len(docs)} --docs and {len(validation)} --validation; give one per data set or none."
        )
    # The name of each file, or of its folder if the file's says nothing; the whole path if two names are alike.
    stems = [path.name.partition(".")[0] for path in docs]
    names = [
        path.resolve().parent.name if stem in ("docs", "documents", "data") else stem
        for path, stem in zip(docs, stems, strict=True)
    ]
    counts, sets = Counter(names), []
    for number, path in enumerate(docs):
        name = names[number] if counts[names[number]] == 1 and names[number] else str(path)
        data = read_data([path], supervised=False)
        known = data.numbers()
        held = read_pairs(validation[number], known) if validation else None
        sets.append(make_evaluation_set(name, data.documents, read_pairs(pairs[number], known), held, split))
    return sets
