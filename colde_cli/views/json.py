"""Results as JSON. The schemas beside this file are the contract; a field is only ever added."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from colde_cli.documents.document import Ignored
from colde_cli.documents.passages import whole_pages
from colde_cli.evaluation.result import Evaluation, Figure, PairedTest, SetResult, SystemResult

if TYPE_CHECKING:
    from collections.abc import Sequence

    from colde_cli.corpus.ranking import Hit, Match, Ranking
    from colde_cli.documents.passages import Passage
    from colde_cli.encoder.protocol import Encoding, RuntimeInfo
    from colde_cli.scoring.score import ScorePart
    from colde_cli.similarity.alignment import PassagePair
    from colde_cli.similarity.comparison import Comparison
    from colde_cli.similarity.section_changes import SectionChange

_DECIMALS = 6
# A list of numbers that `json` has spread over lines. A JSON string holds no line break, so that none is touched.
_NUMBERS = re.compile(r"\[\n\s*([-+.\deE]+(?:,\n\s*[-+.\deE]+)*)\n\s*\]")


def comparison_json(comparison: Comparison, *, passages: bool = True) -> str:
    """A comparison as text of schema colde.diff/1.

    Args:
        comparison: to show.
        passages: align them, if that has not been done; else they and their summary are null.
    """
    value = {
        "schema": "colde.diff/1",
        "a": _encoding(comparison.a),
        "b": _encoding(comparison.b),
        "model": _model(comparison.model),
        "document": {
            "score": number(comparison.score),
            "probability": number(comparison.probability),
            "threshold": number(comparison.threshold),
            "related": comparison.related,
            "parts": _score_parts(comparison.parts),
        },
        "sections": {"scores": _matrix(comparison.section_scores)},
        "chunks": {
            "scores": _matrix(comparison.chunk_scores),
            "attention_a_to_b": _matrix(comparison.attention_a_to_b),
            "attention_b_to_a": _matrix(comparison.attention_b_to_a),
        },
        "passages": [_passage(pair) for pair in comparison.passages] if passages else None,
        "summary": {state.value: n for state, n in comparison.summary.items()} if passages else None,
        "section_changes": [_section_change(found) for found in comparison.section_changes]
        if passages
        else None,
        "ignored": _ignored(comparison),
    }
    return text(value)


def _ignored(comparison: Comparison) -> dict[str, Any]:
    ignore = comparison.ignore
    switches = {"case": ignore.case, "whitespace": ignore.whitespace, "numbers": ignore.numbers}
    return {
        **switches,
        "like": list(ignore.like),
        "a": _left_out(comparison.a.document.report.ignored),
        "b": _left_out(comparison.b.document.report.ignored),
    }


def _left_out(ignored: Ignored | None) -> dict[str, Any]:
    found = ignored or Ignored()
    return {"stretches": found.stretches, "words": found.words, "sections": list(found.sections)}


def _passage(pair: PassagePair) -> dict[str, Any]:
    return {
        "state": pair.state.value,
        "score": number(pair.score),
        "edits": len(pair.edits),
        "flags": list(dict.fromkeys(flag.kind.value for flag in pair.flags)),
        "flagged": [{"kind": flag.kind.value, "a": flag.a, "b": flag.b} for flag in pair.flags],
        "a": _side(pair.a, pair.a_text),
        "b": _side(pair.b, pair.b_text),
        "redline": [
            {"a": [edit.a.start, edit.a.end], "b": [edit.b.start, edit.b.end]} for edit in pair.edits
        ],
    }


def _side(passages: Sequence[Passage], words: str) -> dict[str, Any] | None:
    if not passages:
        return None
    return {
        "section": passages[0].section,
        "pages": _pages(whole_pages(passages)),
        "text": words,
        "spans": [[passage.span.start, passage.span.end] for passage in passages],
    }


def _section_change(change: SectionChange) -> dict[str, Any]:
    return {
        "state": change.state.value,
        "a": list(change.a),
        "b": list(change.b),
        "same": change.same,
        "moved": change.moved,
    }


def ranking_json(ranking: Ranking) -> str:
    """A ranking as text of schema colde.rank/1."""
    value = {
        "schema": "colde.rank/1",
        "query": {"path": ranking.query_path, "title": ranking.query_title},
        "model": _model(ranking.model),
        "results": [_hit(hit) for hit in ranking.results],
        "searched": ranking.searched,
        "encoded": ranking.encoded,
        "skipped": [{"path": skipped.path, "reason": skipped.reason} for skipped in ranking.skipped],
        "ignored": {"like": list(ranking.like)},
    }
    return text(value)


def _hit(hit: Hit) -> dict[str, Any]:
    return {
        "rank": hit.rank,
        "path": hit.path,
        "title": hit.title,
        "score": number(hit.score),
        "probability": number(hit.probability),
        "matches": [_match(match) for match in hit.matches],
        "parts": _score_parts(hit.parts),
    }


def _score_parts(parts: Sequence[ScorePart]) -> list[dict[str, Any]]:
    return [{"name": part.name, "score": number(part.score), "weight": number(part.weight)} for part in parts]


def _match(match: Match) -> dict[str, Any]:
    here, there = match.query, match.hit
    return {
        "score": number(match.score),
        "query": {"section": here.section, "pages": _pages(here.pages)},
        "hit": {"section": there.section, "pages": _pages(there.pages), "text": there.text},
    }


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
                "pages": _pages(section.pages),
                "chunks": [chunk.index for chunk in encoding.chunks if chunk.section == section.index],
            }
            for section in document.sections
        ],
        "chunks": [
            {
                "index": chunk.index,
                "section": chunk.section,
                "pages": _pages(chunk.pages),
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


def _model(info: RuntimeInfo) -> dict[str, str]:
    return {"name": info.name, "precision": info.precision, "device": info.device}


def _pages(pages: tuple[int, int] | None) -> list[int] | None:
    return None if pages is None else list(pages)


def number(value: float | None) -> float | None:
    """A number as JSON shows it, to six decimals."""
    return None if value is None else round(float(value), _DECIMALS)


def _matrix(values: NDArray[np.float32]) -> list[list[float]]:
    rounded: list[list[float]] = np.round(values.astype(np.float64), _DECIMALS).tolist()
    return rounded


def text(value: dict[str, Any]) -> str:
    """An object as text, every list of numbers on one line."""
    spread = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=2)
    return _NUMBERS.sub(lambda found: "[" + " ".join(found[1].split()) + "]", spread) + "\n"


def evaluation_json(evaluation: Evaluation) -> str:
    """All figures, tests and curves as text."""
    return text(
        {
            "schema": "colde.evaluation/1",
            "split": evaluation.split,
            "seed": evaluation.seed,
            "bootstrap": {"draws": evaluation.draws, "level": 0.95, "unit": "document"},
            "systems": [asdict(item) for item in evaluation.systems],
            "fields": [_field(item) for item in evaluation.sets],
            "macro": None if evaluation.macro is None else _field(evaluation.macro),
        }
    )


def _field(item: SetResult) -> dict[str, Any]:
    return {
        "name": item.name,
        "pairs": item.pairs,
        "positives": item.positives,
        "documents": item.documents,
        "relations": dict(item.relations),
        "validation_pairs": item.validation_pairs,
        "queries": item.queries,
        "relevance": item.relevance,
        "results": [_measured(found) for found in item.results],
        "tests": [_test(test) for test in item.tests],
        "notes": list(item.notes),
        "robustness": {name: _rounded(dict(found.json)) for name, found in item.robustness.items()},
    }


def _measured(found: SystemResult) -> dict[str, Any]:
    return {
        "system": found.system,
        "figures": {name: _figure(figure) for name, figure in found.figures.items()},
        "threshold": number(found.threshold),
        "threshold_from": found.threshold_from,
        "calibration_from": found.calibration_from,
        "curves": None if found.curves is None else _rounded(asdict(found.curves)),
        "notes": list(found.notes),
    }


def _test(test: PairedTest) -> dict[str, Any]:
    return {
        "system": test.system,
        "against": test.against,
        "figure": test.figure,
        "method": test.method,
        "difference": _figure(test.difference),
        "p": number(test.p),
        "p_holm": number(test.p_holm),
    }


def _figure(figure: Figure) -> dict[str, float | None]:
    return {"value": number(figure.value), "low": number(figure.low), "high": number(figure.high)}


def _rounded(value: Any) -> Any:  # noqa: ANN401 - whatever a curve is made of
    if isinstance(value, float):
        return number(value)
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    return [_rounded(item) for item in value] if isinstance(value, list | tuple) else value
