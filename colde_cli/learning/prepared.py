"""The data of a run in one file: token ids, labels, links, splits and judged pairs, but no text.

`colde train DATA --prepare FILE` writes it, and `colde train FILE` trains from it, with the same result as from DATA.
docs/training-data.md describes the format, an .npz archive.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from colde_cli.documents.document import Document, Section, SectionKind, Span
from colde_cli.errors import DataError, ModelError, OptionError
from colde_cli.evaluation.data import DataFile, LabelledPair, TrainingData, TrainingDocument
from colde_cli.files import atomic_file, load_arrays
from colde_cli.learning.backbone import Backbone
from colde_cli.learning.tokens import TokenStore

FORMAT = "colde.tokens/1"
_LARGEST = 1 << 40  # maximum size of prepared data in bytes: it is the user's own, and may hold any number of documents
_ARRAYS = ("ids", "breaks", "starts", "sections", "documents")
_ARCHIVE = b"PK\x03\x04"


@dataclass(frozen=True, slots=True)
class JudgedPairs:
    """The pairs of a file, with its name."""

    name: str
    pairs: tuple[LabelledPair, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Inputs:
    """The documents and judged pairs of a run."""

    data: TrainingData
    pairs: JudgedPairs | None  # to train on; None without
    validation: JudgedPairs | None  # to validate on; None without
    tokens: TokenStore | None = None  # of a prepared file; else None, and the documents have their text


def is_prepared(path: Path) -> bool:
    """Return whether a file of data was written by `--prepare`."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(_ARCHIVE)) == _ARCHIVE


def write_prepared(path: Path, inputs: Inputs, tokens: TokenStore, backbone: Backbone) -> None:
    """Write the data of a run atomically; the same data gives the same bytes.

    Raises:
        OptionError: the folder is missing or not writable, or the disk is full.
    """
    described = {
        "format": FORMAT,
        "backbone": backbone.name,
        "tokenizer": _digest(backbone),
        "files": [asdict(file) for file in inputs.data.files],
        "documents": [
            {name: getattr(item, name) for name in ("id", "label", "related", "split", "file")}
            for item in inputs.data.documents
        ],
        "pairs": asdict(inputs.pairs) if inputs.pairs else None,
        "validation": asdict(inputs.validation) if inputs.validation else None,
    }
    arrays = {name: getattr(tokens, name) for name in _ARRAYS}
    if not len(tokens.ids) or tokens.ids.max() < 1 << 16:
        arrays["ids"] = tokens.ids.astype(np.uint16)
    about = np.frombuffer(json.dumps(described).encode(), np.uint8)
    try:
        with atomic_file(path) as staged, staged.open("wb") as file:
            np.savez_compressed(file, about=about, **arrays)
    except OSError as error:
        raise OptionError(f"{path} cannot be written ({error.strerror}); name another --prepare.") from error


def read_prepared(path: Path, backbone: Backbone) -> Inputs:
    """Read the data of a run.

    Raises:
        DataError: the file is damaged, of another version, or was prepared with another tokenizer.
    """
    try:
        about, *arrays = load_arrays(path, "about", *_ARRAYS, largest=_LARGEST)
        described = json.loads(about.tobytes())
        version = described["format"]
    except (ModelError, ValueError, KeyError, TypeError) as error:
        raise DataError(f"{path} is no data that --prepare wrote, or is damaged; prepare it again.") from error
    if version != FORMAT:
        raise DataError(f"{path} is of the format {version}, not {FORMAT}; prepare it again.")
    if described["tokenizer"] != _digest(backbone):
        raise DataError(
            f"{path} was prepared with the tokenizer of {described['backbone']}, and {backbone.name} has another; "
            "prepare it again with this --backbone."
        )
    files = tuple(DataFile(**file) for file in described["files"])
    documents = tuple(_document(values, path) for values in described["documents"])
    return Inputs(
        TrainingData(documents, files),
        _judged(described["pairs"]),
        _judged(described["validation"]),
        TokenStore(arrays[0].astype(np.int32), *arrays[1:]),
    )


def _digest(backbone: Backbone) -> str:
    return hashlib.blake2b(backbone.tokenizer.encode(), digest_size=16).hexdigest()


def _document(values: dict[str, Any], path: Path) -> TrainingDocument:
    """Make a document without its text, with one empty section; training reads its tokens."""
    section = Section(0, "", 0, SectionKind.BODY, Span(0, 0), 0)
    document = Document("", values["id"], "", (section,))
    related = tuple(values["related"])
    return TrainingDocument(
        values["id"], document, values["label"], related, values["split"], str(path), values["file"]
    )


def _judged(values: dict[str, Any] | None) -> JudgedPairs | None:
    if values is None:
        return None
    return JudgedPairs(values["name"], tuple(LabelledPair(**pair) for pair in values["pairs"]))
