"""Results as JSON. The schemas in this folder are the contract; fields may be added but never removed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from colde_cli.evaluation.result import Evaluation, Figure, PairedTest, SetResult, SystemResult
from colde_cli.similarity.comparison import comparison_data
from colde_cli.similarity.plain_data import rounded, rounded_row

if TYPE_CHECKING:
    from colde_cli.corpus.rank_corpus import Ranking
    from colde_cli.similarity.comparison import Comparison

# Controls and marks that turn the direction of text could steer a terminal that shows the JSON.
_UNSAFE = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")

_BLOCK = 1 << 20
"""Letters of a block: every write to a terminal or a file takes its time."""


def comparison_json(comparison: Comparison, schema: int = 2, *, attention: bool = False) -> str:
    """A comparison as text of schema colde.diff/2, or of schema 1, which has the attention in any case."""
    return "".join(comparison_blocks(comparison, schema, attention=attention))


def comparison_blocks(comparison: Comparison, schema: int = 2, *, attention: bool = False) -> Iterator[str]:
    """The same text in blocks, to be written one after the other: its tables may fill a gigabyte."""
    return _blocks(comparison_data(comparison, schema, attention=attention, table=lambda table: table))


def comparison_jsonl(comparison: Comparison) -> str:
    """Lines of schema colde.diff-lines/1: both documents, then each passage that differs, the weightiest first."""
    data = comparison_data(comparison, table=lambda table: None)
    for side in "ab":
        del data[side]["chunks"]
        for section in data[side]["sections"]:
            del section["chunks"]
    kept = ("a", "b", "model", "document", "summary", "section_changes", "ignored", "outside", "typesetting")
    head = {"schema": "colde.diff-lines/1", **{name: data[name] for name in kept}}
    numbers = (number for change in data["changes"] for number in change["passages"])
    passages = ({"passage": number, **_with_headings(data, data["passages"][number])} for number in numbers)
    return lines(chain([head], passages))


def _with_headings(data: dict[str, Any], passage: dict[str, Any]) -> dict[str, Any]:
    """A passage whose sides name their section, too: a line is read by itself."""
    named = {
        side: {"heading": data[side]["sections"][passage[side]["section"]]["heading"], **passage[side]}
        for side in "ab"
        if passage[side]
    }
    return {**passage, **named}


def ranking_json(ranking: Ranking) -> str:
    """A ranking as text of schema colde.rank/1."""
    return text(ranking.to_dict())


def ranking_jsonl(ranking: Ranking) -> str:
    """A line for each hit: its object of schema colde.rank/1, with the path of the query."""
    hits = ranking.to_dict()["results"]
    return lines({"query": ranking.query_path, **hit} for hit in hits)


def lines(values: Iterable[dict[str, Any]]) -> str:
    """JSON Lines: an object on each line."""
    return "".join(_plain(value) + "\n" for value in values)


def text(value: dict[str, Any]) -> str:
    """An object as text, every list of numbers on one line. A table may be an array of floats, [n, m]."""
    return "".join(_blocks(value))


def _blocks(value: dict[str, Any]) -> Iterator[str]:
    held: list[str] = []
    size = 0
    for piece in chain(_pieces(value, "\n"), "\n"):
        held.append(piece)
        size += len(piece)
        if size >= _BLOCK:
            yield "".join(held)
            held, size = [], 0
    yield "".join(held)


def _pieces(value: object, line: str) -> Iterator[str]:
    """The pieces of a value as text; `line` breaks a line and indents the next as far as the value."""
    if isinstance(value, dict) and value:
        yield from _block(
            "{}",
            (chain((f"{_plain(str(key))}: ",), _pieces(item, line + "  ")) for key, item in value.items()),
            line,
        )
    elif isinstance(value, np.ndarray):
        yield from (
            _block("[]", ((_plain(rounded_row(row)),) for row in value), line) if len(value) else ("[]",)
        )
    elif isinstance(value, (list, tuple)) and value and not all(type(item) in (int, float) for item in value):
        yield from _block("[]", (_pieces(item, line + "  ") for item in value), line)
    else:
        yield _plain(value)


def _block(brackets: str, items: Iterable[Iterable[str]], line: str) -> Iterator[str]:
    """Items between brackets, each on a line of its own."""
    yield brackets[0]
    for number, item in enumerate(items):
        yield f"{',' if number else ''}{line}  "
        yield from item
    yield line + brackets[1]


def _plain(value: object) -> str:
    written = json.dumps(value, ensure_ascii=False, allow_nan=False)
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", written)


def evaluation_json(evaluation: Evaluation) -> str:
    """All figures, tests and curves as text."""
    return text(
        {
            "schema": "colde.evaluation/1",
            "split": evaluation.split,
            "seed": evaluation.seed,
            "bootstrap": {"draws": evaluation.draws, "level": 0.95, "unit": "document"},
            "systems": [asdict(item) for item in evaluation.systems],
            "fields": [{**_field(item), "split": item.split} for item in evaluation.sets],
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
        "threshold": rounded(found.threshold),
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
        "p": rounded(test.p),
        "p_holm": rounded(test.p_holm),
    }


def _figure(figure: Figure) -> dict[str, float | None]:
    return {"value": rounded(figure.value), "low": rounded(figure.low), "high": rounded(figure.high)}


def _rounded(value: Any) -> Any:  # noqa: ANN401 - whatever a curve is made of
    if isinstance(value, float):
        return rounded(value)
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    return [_rounded(item) for item in value] if isinstance(value, list | tuple) else value
