"""Build the JSON of a comparison: schema colde.diff/1, and the parts it shares with colde.rank/1.

Numbers are rounded to six decimals. Keys may be added under the same schema; no key changes its meaning.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from colde_cli.documents.document import Ignored
from colde_cli.documents.passages import Passage, whole_pages
from colde_cli.encoder.encoding import Encoding, RuntimeInfo
from colde_cli.scoring.profile import FieldInfo
from colde_cli.scoring.score import ScorePart
from colde_cli.similarity.alignment import PassagePair

if TYPE_CHECKING:
    from colde_cli.similarity.comparison import Comparison

_DECIMALS = 6


def comparison_data(comparison: Comparison) -> dict[str, Any]:
    """Build schema colde.diff/1; without an alignment `passages` and all that depends on them are null."""
    aligned = comparison.alignment is not None
    return {
        "schema": "colde.diff/1",
        "a": _encoding(comparison.a),
        "b": _encoding(comparison.b),
        "model": model_data(comparison.model),
        "document": {
            "score": rounded(comparison.score),
            "probability": rounded(comparison.probability),
            "threshold": rounded(comparison.threshold),
            "related": comparison.related,
            "parts": parts_data(comparison.parts),
            **_within_field(comparison),
        },
        "sections": {"scores": _matrix(comparison.section_scores)},
        "chunks": {
            "scores": _matrix(comparison.chunk_scores),
            "attention_a_to_b": _matrix(comparison.attention_a_to_b),
            "attention_b_to_a": _matrix(comparison.attention_b_to_a),
        },
        "passages": [_passage(pair) for pair in comparison.passages] if aligned else None,
        "summary": {state.value: count for state, count in comparison.summary.items()} if aligned else None,
        "section_changes": _section_changes(comparison) if aligned else None,
        "ignored": _ignored(comparison),
    }


def _within_field(comparison: Comparison) -> dict[str, Any]:
    if comparison.field is None:
        return {}
    return {"percentile": rounded(comparison.percentile), "field": field_data(comparison.field)}


def field_data(field: FieldInfo | None) -> dict[str, Any] | None:
    """The `field` object of every schema."""
    return None if field is None else {"name": field.name, "documents": field.documents}


def rounded(value: float | None) -> float | None:
    """Round a number to the six decimals of JSON."""
    return None if value is None else round(float(value), _DECIMALS)


def model_data(info: RuntimeInfo) -> dict[str, str]:
    """Build the `model` object of every schema."""
    return {"name": info.name, "precision": info.precision, "device": info.device}


def parts_data(parts: Sequence[ScorePart]) -> list[dict[str, Any]]:
    """List the parts of a document score."""
    return [
        {"name": part.name, "score": rounded(part.score), "weight": rounded(part.weight)} for part in parts
    ]


def pages_data(pages: tuple[int, int] | None) -> list[int] | None:
    """List first and last page; None where the source has no pages."""
    return None if pages is None else list(pages)


def _matrix(values: NDArray[np.float32]) -> list[list[float]]:
    rows: list[list[float]] = np.round(values.astype(np.float64), _DECIMALS).tolist()
    return rows


def _encoding(encoding: Encoding) -> dict[str, Any]:
    document, report = encoding.document, encoding.document.report
    return {
        "path": document.path,
        "title": document.title,
        "pages": report.pages,
        "tokens": encoding.tokens,
        "sections": [
            {
                "index": section.index,
                "heading": section.heading,
                "pages": pages_data(section.pages),
                "chunks": [chunk.index for chunk in encoding.chunks if chunk.section == section.index],
            }
            for section in document.sections
        ],
        "chunks": [
            {
                "index": chunk.index,
                "section": chunk.section,
                "pages": pages_data(chunk.pages),
                "tokens": len(chunk.ids) - 2,
            }
            for chunk in encoding.chunks
        ],
        "read": {
            "pages_without_text": list(report.pages_without_text),
            "skipped_sections": list(report.skipped_sections),
            "truncated_tokens": report.truncated_tokens,
        },
        "warnings": list(report.warnings),
    }


def _passage(pair: PassagePair) -> dict[str, Any]:
    return {
        "state": pair.state.value,
        "score": rounded(pair.score),
        "edits": len(pair.edits),
        "flags": list(dict.fromkeys(flag.kind.value for flag in pair.flags)),
        "flagged": [{"kind": flag.kind.value, "a": flag.a, "b": flag.b} for flag in pair.flags],
        "a": _passages(pair.a, pair.a_text),
        "b": _passages(pair.b, pair.b_text),
        "redline": [
            {"a": [edit.a.start, edit.a.end], "b": [edit.b.start, edit.b.end]} for edit in pair.edits
        ],
    }


def _passages(passages: Sequence[Passage], text: str) -> dict[str, Any] | None:
    if not passages:
        return None
    return {
        "section": passages[0].section,
        "pages": pages_data(whole_pages(passages)),
        "text": text,
        "spans": [[passage.span.start, passage.span.end] for passage in passages],
    }


def _section_changes(comparison: Comparison) -> list[dict[str, Any]]:
    return [
        {
            "state": change.state.value,
            "a": list(change.a),
            "b": list(change.b),
            "same": change.same,
            "moved": change.moved,
        }
        for change in comparison.section_changes
    ]


def _ignored(comparison: Comparison) -> dict[str, Any]:
    ignore = comparison.ignore
    return {
        "case": ignore.case,
        "whitespace": ignore.whitespace,
        "numbers": ignore.numbers,
        "like": list(ignore.like),
        "a": _left_out(comparison.a.document.report.ignored),
        "b": _left_out(comparison.b.document.report.ignored),
    }


def _left_out(ignored: Ignored | None) -> dict[str, Any]:
    found = ignored or Ignored()
    return {"stretches": found.stretches, "words": found.words, "sections": list(found.sections)}
