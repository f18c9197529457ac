"""Results as JSON. The schemas in this folder are the contract; fields may be added but never removed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from colde_cli.scoring.score_table import ScoreTable, row_blocks
from colde_cli.similarity.plain_data import rounded_rows

if TYPE_CHECKING:
    from colde_cli.corpus.folder_pairs import FolderComparison
    from colde_cli.corpus.index_update import IndexUpdate
    from colde_cli.corpus.index_writer import IndexCheck, IndexStatus, Staleness
    from colde_cli.corpus.rank_corpus import Ranking
    from colde_cli.similarity.comparison import Comparison
    from colde_cli.similarity.verification import Verification
    from colde_cli.views.comparison_page import CheckedReceipt

FloatArray = NDArray[np.float32]

# Controls and marks that turn the direction of text could steer a terminal that shows the JSON.
_UNSAFE = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")

_BLOCK = 1 << 20
"""Letters of a block, and cells: every write to a terminal or a file takes its time."""
_MILLION = 1_000_000


def result_json(result: Any, **options: Any) -> str:  # noqa: ANN401 - of any kind
    """A result of any kind as text of its schema; `receipt` is that of a verification."""
    match type(result).__name__:
        case "Comparison":
            return comparison_json(result)
        case "Verification":
            return verification_json(result, options.get("receipt"))
    return text(result.to_dict())


def result_jsonl(result: Any, **_: Any) -> str:  # noqa: ANN401 - of any kind
    """A result as JSON Lines."""
    match type(result).__name__:
        case "Comparison":
            return comparison_jsonl(result)
        case "FolderComparison":
            return folders_jsonl(result)
    return ranking_jsonl(result)


def comparison_json(comparison: Comparison, schema: int = 2, *, attention: bool = False) -> str:
    """A comparison as text of schema colde.diff/2, or of schema 1, which has the attention in any case."""
    return "".join(comparison_blocks(comparison, schema, attention=attention))


def comparison_blocks(comparison: Comparison, schema: int = 2, *, attention: bool = False) -> Iterator[str]:
    """The same text in blocks, to be written one after the other: its tables may fill a gigabyte."""
    return _blocks(comparison.to_dict(schema, attention=attention, table=lambda table: table))


def comparison_jsonl(comparison: Comparison) -> str:
    """Lines of schema colde.diff-lines/1: both documents, then each passage that differs, the weightiest first."""
    data = comparison.to_dict(table=lambda table: None)
    for side in "ab":
        del data[side]["chunks"]
        for section in data[side]["sections"]:
            del section["chunks"]
    kept = "a b model document summary section_changes renumbering ignored outside typesetting".split()
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


def ranking_jsonl(ranking: Ranking) -> str:
    """A line for each hit: its object of schema colde.rank/1, with the path of the query."""
    hits = ranking.to_dict()["results"]
    return lines({"query": ranking.query_path, **hit} for hit in hits)


def folders_jsonl(folders: FolderComparison) -> str:
    """Lines of schema colde.folders-lines/1: both folders, then each file, the worst first."""
    data = folders.to_dict()
    files = data.pop("files")
    return lines([{**data, "schema": "colde.folders-lines/1"}, *files])


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
            "{}", (chain((f"{_plain(str(key))}: ",), _pieces(item, line + "  ")) for key, item in value.items()), line
        )
    elif isinstance(value, np.ndarray | ScoreTable):
        yield from (_block("[]", zip(_rows(value)), line) if len(value) else ("[]",))
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


def _rows(table: FloatArray | ScoreTable) -> Iterator[str]:
    """The rows of a table [n, m], each as a list.

    Scores of six decimals are two million numbers at most. Each is written once and then looked up, which takes a fifth
    of the time; -0.0 is one of them, with the code -1.
    """
    written, known = np.zeros(2 * _MILLION + 2, "S12"), np.zeros(2 * _MILLION + 2, bool)
    for start, stop in row_blocks(len(table), table.shape[1], _BLOCK):
        block = table[start:stop].astype(np.float64)
        if not (np.abs(block) <= 1).all():  # no scores
            yield from map(_plain, rounded_rows(block))
            continue
        millionths = np.rint(block * _MILLION)
        codes = millionths.astype(np.int32) - np.signbit(millionths)
        new = np.unique(codes[~known[codes]])
        written[new] = [f"{code / _MILLION if code >= 0 else -(~code / _MILLION)}, " for code in new.tolist()]
        known[new] = True
        for row in written[codes]:
            yield f"[{row.tobytes().translate(None, bytes(1)).decode()[:-2]}]"


def _plain(value: object) -> str:
    written = json.dumps(value, ensure_ascii=False, allow_nan=False)
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", written)


def verification_json(verification: Verification, receipt: CheckedReceipt | None = None) -> str:
    """A verification as text of schema colde.verify/1."""
    data = verification.to_dict()
    if receipt is not None:
        data["receipt"] = {"holds": not receipt.faults, "faults": list(receipt.faults)}
    return text(data)


def index_json(
    folder: str,
    *,
    update: IndexUpdate | None = None,
    status: IndexStatus | None = None,
    check: IndexCheck | None = None,
    freed: int | None = None,
) -> str:
    """What was done to the index `folder`, or found in it, as text of schema colde.index/1."""
    return text(
        {
            "schema": "colde.index/1",
            "index": folder,
            "update": None if update is None else _update_data(update),
            "status": None if status is None else _status_data(status),
            "verify": None if check is None else _data(check, "records problems"),
            "compact": None if freed is None else {"freed": freed},
        }
    )


def _update_data(update: IndexUpdate) -> dict[str, Any]:
    counts = _data(update, "documents added changed renamed removed encoded failed unlisted")
    return {**counts, "seconds": {stage: round(seconds, 3) for stage, seconds in update.seconds.items()}}


def _status_data(status: IndexStatus) -> dict[str, Any]:
    return {
        **_data(status, "documents words chunks bad roots"),
        "model": None if status.model is None else {"name": status.model, "precision": status.precision},
        **_data(status, "learned_from size bytes_per_document unused earlier_readers ocr"),
        **_data(status.staleness, "stale new changed gone trouble"),
    }


def _data(result: IndexUpdate | IndexStatus | Staleness | IndexCheck, names: str) -> dict[str, Any]:
    """Fields and properties of these names."""
    fields = asdict(result)
    return {name: fields[name] if name in fields else getattr(result, name) for name in names.split()}
