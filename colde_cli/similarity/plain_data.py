"""Parts of JSON that comparisons, rankings and groups of documents share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields, is_dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from colde_cli.documents.document import Span
from colde_cli.scoring.config import PART_NAMES

if TYPE_CHECKING:
    from colde_cli.documents.document import Document, OcrReport
    from colde_cli.encoder.encoding import RuntimeInfo
    from colde_cli.scoring.profile import FieldInfo
    from colde_cli.scoring.score import ScorePart
    from colde_cli.similarity.redline import Edit

FloatArray = NDArray[np.float32]

_DECIMALS = 6


def rounded_rows(values: Iterable[FloatArray]) -> list[list[float]]:
    """Round a table to the decimals of JSON."""
    return [np.round(row.astype(np.float64), _DECIMALS).tolist() for row in values]


def field_data(field: FieldInfo | None) -> dict[str, Any] | None:
    """The `field` object of every schema."""
    return None if field is None else {"name": field.name, "documents": field.documents}


def rounded(value: float | None) -> float | None:
    """Round a number to the six decimals of JSON."""
    return None if value is None else round(float(value), _DECIMALS)


def model_data(info: RuntimeInfo) -> dict[str, str]:
    """Build the `model` object of every schema."""
    return {"name": info.name, "precision": info.precision, "device": info.device}


def fields_data(item: object, names: str) -> dict[str, Any]:
    """Build the fields of these names.

    A tuple or a span becomes a list, a member of an enumeration its value, a number is rounded, and an object or a
    named tuple in it becomes its fields.
    """
    return {name: _plain(getattr(item, name)) for name in names.split()}


def _plain(value: object) -> object:
    if isinstance(value, Span):
        return [value.start, value.end]
    if isinstance(value, StrEnum):
        return value.value
    if isinstance(value, float | np.floating):
        return rounded(float(value))
    if is_dataclass(value):
        return fields_data(value, " ".join(field.name for field in fields(value)))
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return fields_data(value, " ".join(value._fields))
    return [_plain(item) for item in value] if isinstance(value, tuple) else value


def source_data(document: Document) -> dict[str, Any]:
    """Build what most schemas say of a document."""
    return {"path": document.path, "title": document.title, "pages": document.report.pages}


def parts_data(parts: Sequence[ScorePart]) -> list[dict[str, Any]]:
    """List the parts of a document score."""
    return [
        {
            "name": part.name,
            "label": PART_NAMES[part.name],
            "score": rounded(part.score),
            "weight": rounded(part.weight),
        }
        for part in parts
    ]


def edits_data(edits: Iterable[Edit]) -> list[dict[str, list[int]]]:
    """List the places of edits in both texts."""
    return [{"a": [edit.a.start, edit.a.end], "b": [edit.b.start, edit.b.end]} for edit in edits]


def pages_data(pages: tuple[int, int] | None) -> list[int] | None:
    """List first and last page; None where the source has no pages."""
    return None if pages is None else list(pages)


def ocr_data(ocr: OcrReport | None) -> dict[str, Any]:
    """What is said of the pages that OCR read: nothing where there are none."""
    if ocr is None:
        return {}
    confidence = {"lowest": ocr.lowest, "mean": ocr.mean, "uncertain_words": len(ocr.doubtful)}
    return {"ocr_pages": list(ocr.pages), "ocr_confidence": confidence}
