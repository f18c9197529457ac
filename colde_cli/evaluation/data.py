"""Read labelled data: documents, links and labelled pairs from JSON Lines (docs/training-data.md).

Training, evaluation and calibration read the same files. Every line is checked before work starts; an error names
the file and the line.
"""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from colde_cli.documents.document import Document, Part, assemble
from colde_cli.documents.reading import read
from colde_cli.documents.text import read_text
from colde_cli.errors import ColdeError, DataError, MissingFileError

SPLITS = ("train", "validation", "test")
_CONTENT = ("text", "sections", "path")
_HALF = re.compile(r"\\u[dD][89a-fA-F]")
"""The escape of half a character; with its other half it is a whole one."""


@dataclass(frozen=True, slots=True)
class TrainingDocument:
    """A document with its labels: one line of a data file.

    Attributes:
        id: unique among all documents of a run.
        label: its class; None without one.
        related: ids of the documents that it names as related.
        split: "train", "validation" or "test"; None if the line names none.
        place: file and line, for messages.
        file: index of the data file.
    """

    id: str
    document: Document
    label: str | None
    related: tuple[str, ...]
    split: str | None
    place: str
    file: int = 0


@dataclass(frozen=True, slots=True)
class LabelledPair:
    """Two documents with a label: related or not.

    Attributes:
        a: id of the first document.
        b: id of the second document.
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


def read_data(paths: Sequence[Path], *, supervised: bool = True) -> TrainingData:
    """Read and check files of documents.

    Args:
        paths: JSON Lines, plain or .gz.
        supervised: check that links name known documents and that no class has a single, unlinked member.

    Raises:
        DataError: a line is not valid, or that check fails.
        MissingFileError: there is no such file.
    """
    documents: dict[str, TrainingDocument] = {}
    files = []
    for number, path in enumerate(paths):
        before = len(documents)
        for place, values in _lines(path):
            item = _document(values, place, path.parent)
            if item.id in documents:
                raise DataError(f"{place}: the id {item.id!r} was used before ({documents[item.id].place}).")
            documents[item.id] = replace(item, file=number)
        files.append(DataFile(path.name, len(documents) - before))
    if supervised:
        _check_supervision(documents)
    return TrainingData(tuple(documents.values()), tuple(files))


def read_pairs(path: Path, known: Mapping[str, int]) -> tuple[LabelledPair, ...]:
    """Read labelled pairs of documents whose ids are `known`.

    Raises:
        DataError: a line is not valid, names an unknown document, or contradicts another line.
        MissingFileError: there is no such file.
    """
    pairs: dict[frozenset[str], LabelledPair] = {}
    for place, values in _lines(path):
        pair = _pair(values, place, known)
        earlier = pairs.setdefault(frozenset((pair.a, pair.b)), pair)
        if earlier.related != pair.related:
            raise DataError(
                f"{place}: {pair.a!r} and {pair.b!r} are labelled related and unrelated; keep one."
            )
    return tuple(pairs.values())


def _lines(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the place and the object of every line that is not blank."""
    if not path.is_file():
        raise MissingFileError(f"There is no file {path}; name a file of JSON Lines.")
    empty = True
    try:
        with (
            gzip.open(path, "rt", encoding="utf-8")
            if path.suffix == ".gz"
            else path.open(encoding="utf-8") as file
        ):
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
    split = _optional_split(values, place)
    related = values.get("related") or []
    if not isinstance(related, list) or not all(isinstance(other, str) for other in related):
        raise DataError(f"{place}: related must be a list of ids.")
    others = tuple(dict.fromkeys(other for other in related if other != identity))
    return TrainingDocument(identity, _content(values, identity, place, folder), label, others, split, place)


def _optional_string(values: dict[str, Any], name: str, place: str) -> str | None:
    value = values.get(name)
    if value is not None and not isinstance(value, str):
        raise DataError(f"{place}: {name} must be a string.")
    return value or None


def _optional_split(values: dict[str, Any], place: str) -> str | None:
    split = _optional_string(values, "split", place)
    if split is not None and split not in SPLITS:
        raise DataError(f"{place}: the split {split!r} is not one of {', '.join(SPLITS)}.")
    return split


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
        document = _read(content, title, given[0], place, folder)
    if not document.text.strip():
        raise DataError(f"{place}: the document {identity!r} has no text.")
    return document


def _read(content: str, title: str, kind: str, place: str, folder: Path) -> Document:
    try:
        return read(folder / content) if kind == "path" else read_text(content.encode(), "", title)
    except ColdeError as error:
        raise DataError(f"{place}: {error}") from error


def _parts(sections: object, place: str) -> Iterator[Part]:
    if not isinstance(sections, list):
        raise DataError(f"{place}: sections must be a list.")
    for section in sections:
        heading = (section.get("heading") or "") if isinstance(section, dict) else None
        text = section.get("text") if isinstance(section, dict) else None
        if not isinstance(heading, str) or not isinstance(text, str):
            raise DataError(f'{place}: a section must be {{"heading": string, "text": string}}.')
        yield Part(heading, text)


def _pair(values: dict[str, Any], place: str, known: Mapping[str, int]) -> LabelledPair:
    for name in ("a", "b"):
        if not isinstance(values.get(name), str):
            raise DataError(f"{place}: {name} must be the id of a document.")
        if values[name] not in known:
            raise DataError(f"{place}: the document {values[name]!r} is not in the data.")
    label = values.get("label")
    if label not in (0, 1) or isinstance(label, float):
        raise DataError(f"{place}: the label of a pair must be 0 or 1.")
    if values["a"] == values["b"]:
        raise DataError(f"{place}: {values['a']!r} is paired with itself.")
    relation, split = _optional_string(values, "relation", place), _optional_split(values, place)
    return LabelledPair(values["a"], values["b"], bool(label), relation, split)


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
    sizes = Counter(_labels(documents.values()))
    for item in documents.values():
        if item.label is not None and sizes[item.label] == 1 and item.id not in linked:
            raise DataError(
                f"{item.place}: {item.id!r} is alone in its class {item.label!r} and has no links; "
                "give it company, a link, or no label."
            )


def _labels(documents: Iterable[TrainingDocument]) -> Iterator[str]:
    return (item.label for item in documents if item.label is not None)
