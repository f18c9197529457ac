"""A data set to measure on: documents, test pairs, and validation pairs that set the threshold."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from colde_cli.documents.document import Document
from colde_cli.errors import DataError, OptionError
from colde_cli.evaluation.data import LabelledPair, TrainingDocument, read_data, read_pairs

VALIDATION = "validation"


@dataclass(frozen=True, slots=True, eq=False)
class EvaluationSet:
    """Documents and labelled pairs that share one threshold.

    Attributes:
        documents: all of them by id.
        pairs: the pairs to measure, ordered by their ids.
        validation: the pairs that set threshold, calibration and centre; none of them is measured.
        background: ids of the documents that give the baselines their word statistics.
        background_split: "training" or "all": which documents these are.
        gallery: ids of the documents that retrieval searches through.
        relevant: for every document of the gallery with partners, the ids of its partners.
        relevance: "links" or "labels": what makes two documents partners.
        contradictions: if every related pair has one label in common, the number of unrelated pairs that have one
            too; otherwise 0.
    """

    name: str
    documents: Mapping[str, Document]
    pairs: tuple[LabelledPair, ...]
    validation: tuple[LabelledPair, ...]
    background: tuple[str, ...]
    background_split: str
    gallery: tuple[str, ...]
    relevant: Mapping[str, frozenset[str]]
    relevance: str
    contradictions: int

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
        name: of the set.
        rows: its documents.
        pairs: labelled pairs. If any names a split, those of `split` are measured, and those of the validation
            split set the threshold (unless `validation` is given, or `split` is "validation").
        validation: other pairs to set the threshold; if any names a split, only its validation pairs.
        split: the split to measure.

    Raises:
        DataError: no pair to measure, all of one label, or a pair both measured and used for validation.
    """
    measured = _side(pairs, split)
    if validation is not None:
        held = _side(validation, VALIDATION) or tuple(validation)
    else:
        held = () if split == VALIDATION else tuple(pair for pair in pairs if pair.split == VALIDATION)
    _check(name, measured, held, pairs, split)
    gallery = _gallery(rows, split)
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


def _check(
    name: str,
    measured: Sequence[LabelledPair],
    held: Sequence[LabelledPair],
    pairs: Sequence[LabelledPair],
    split: str,
) -> None:
    if not measured:
        there = ", ".join(sorted({pair.split for pair in pairs if pair.split}))
        raise DataError(f"No pair of {name} has the split {split!r}; there is {there}: choose with --split.")
    for role, some in (("measured", measured), (VALIDATION, held)):
        if some and len({pair.related for pair in some}) < 2:
            raise DataError(
                f"The {role} pairs of {name} all have the same label; give related (1) and unrelated (0) pairs."
            )
    common = {frozenset((pair.a, pair.b)) for pair in measured} & {
        frozenset((pair.a, pair.b)) for pair in held
    }
    if common:
        raise DataError(
            f"{len(common)} of the measured pairs of {name} are validation pairs too; keep validation and test apart."
        )


def _contradictions(pairs: Sequence[LabelledPair], labels: Mapping[str, str | None]) -> int:
    """Count unrelated pairs whose documents share a label, if those of every related pair do; else 0."""

    def same_label(pair: LabelledPair) -> bool:
        return labels[pair.a] is not None and labels[pair.a] == labels[pair.b]

    if not all(same_label(pair) for pair in pairs if pair.related):
        return 0
    return sum(same_label(pair) for pair in pairs if not pair.related)


def _gallery(rows: Sequence[TrainingDocument], split: str) -> tuple[str, ...]:
    """Sorted ids of the documents of the split; of all documents if none names a split."""
    if all(row.split is None for row in rows):
        return tuple(sorted(row.id for row in rows))
    return tuple(sorted(row.id for row in rows if row.split == split))


def _relevant(
    rows: Sequence[TrainingDocument], gallery: Sequence[str]
) -> tuple[dict[str, frozenset[str]], str]:
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
    partners = {
        one: frozenset(group - {one}) for group in classes.values() if len(group) > 1 for one in group
    }
    return dict(sorted(partners.items())), "labels"


def read_evaluation_sets(
    docs: Sequence[Path], pairs: Sequence[Path], validation: Sequence[Path], split: str
) -> list[EvaluationSet]:
    """Read one set per file of documents; its pairs are in the file at the same position.

    Args:
        docs: files of documents.
        pairs: files of labelled pairs, one per file of documents.
        validation: files of pairs that set the thresholds, one per file of documents or none.
        split: the split to measure.

    Raises:
        OptionError: the numbers of files differ.
        DataError, MissingFileError: a file is not valid, or does not exist.
    """
    _check_numbers(docs, pairs, validation)
    sets = []
    for number, (name, path) in enumerate(zip(_set_names(docs), docs, strict=True)):
        data = read_data([path], supervised=False)
        known = data.numbers()
        held = read_pairs(validation[number], known) if validation else None
        sets.append(make_evaluation_set(name, data.documents, read_pairs(pairs[number], known), held, split))
    return sets


def _check_numbers(docs: Sequence[Path], pairs: Sequence[Path], validation: Sequence[Path]) -> None:
    if len(pairs) != len(docs):
        raise OptionError(
            f"There are {len(docs)} --docs and {len(pairs)} --pairs; give one of each per data set, in the same order."
        )
    if validation and len(validation) != len(docs):
        raise OptionError(
            f"There are {len(docs)} --docs and {len(validation)} --validation; give one per data set or none."
        )


def _set_names(docs: Sequence[Path]) -> list[str]:
    """The name of each file, or of its folder if the file's says nothing; the whole path if two names are alike."""
    names = []
    for path in docs:
        stem = path.name.partition(".")[0]
        names.append(path.resolve().parent.name if stem in ("docs", "documents", "data") else stem)
    counts = Counter(names)
    return [name if counts[name] == 1 and name else str(path) for name, path in zip(names, docs, strict=True)]
