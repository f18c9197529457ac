"""The JSON of a comparison keeps the contract, whatever the texts hold."""

from __future__ import annotations

import json
import re
import runpy
import tracemalloc
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from hand_made import compared, document
from hypothesis import given, settings
from hypothesis import strategies as st

from colde_cli.scoring.score_table import ScoreTable
from colde_cli.similarity.comparison import Comparison
from colde_cli.views.json import comparison_blocks, comparison_json, text

Value = dict[str, Any]


def test_a_passage_that_moved_and_was_edited_is_moved_with_its_edits() -> None:
    first = "The pump of the eastern well runs at night when power is cheap, for 30 days."
    others = [f"Paragraph number {word} speaks of something else, {word}, at length." for word in "abcdefgh"]
    a = [("One", "\n\n".join([first, *others]))]
    b = [("One", "\n\n".join([*others, first.replace("30", "60")]))]
    value = json.loads(comparison_json(compared(document(a), document(b))))
    (moved,) = (passage for passage in value["passages"] if passage["state"] == "moved")
    assert (moved["edits"], moved["flags"]) == (1, ["number"])
    assert moved["flagged"] == [{"kind": "number", "a": "30 days", "b": "60 days"}]


def test_json_steers_no_terminal() -> None:
    values = {"title": "a\u202eb\x9bc\x7f\u2066"}
    written = text(values)
    assert json.loads(written) == values
    assert written.replace("\n", "").isprintable()


numbers = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
values = st.recursive(
    st.none() | st.booleans() | numbers | st.text() | st.lists(numbers),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@pytest.mark.slow
@given(st.dictionaries(st.text(), values))
@settings(max_examples=15)
def test_text_is_json_with_two_blanks_and_every_list_of_numbers_on_one_line(value: Value) -> None:
    unsafe = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
    spread = json.dumps(value, ensure_ascii=False, indent=2)
    spread = unsafe.sub(lambda found: f"\\u{ord(found[0]):04x}", spread)
    listed = re.compile(r"\[\n\s*([-+.\deE]+(?:,\n\s*[-+.\deE]+)*)\n\s*\]")
    assert text(value) == listed.sub(lambda found: "[" + " ".join(found[1].split()) + "]", spread) + "\n"


def test_tables_are_written_as_lists_are() -> None:
    table = np.linspace(-1, 1, 21, dtype=np.float32).reshape(7, 3)
    assert text({"table": table}) == text({"table": ScoreTable(table.shape, [table])})
    rows = [[round(float(value), 6) for value in row] for row in table]
    assert text({"table": table}) == text({"table": rows})
    odd = np.array([[-0.0, -1e-9, 1e-6, -2.5e-5], [0.1, 1, -1, 100.25]], np.float32)
    for some in (odd[:1], odd):  # all within [-1, 1], and not
        assert text({"table": some}) == text({"table": [[round(float(value), 6) for value in row] for row in some]})
    assert text({"table": table[:0]}) == text({"table": []})
    assert text({"table": table[:, :0]}) == text({"table": [[] for _ in table]})


@pytest.mark.slow
def test_a_long_text_is_written_in_blocks(field_study: Comparison, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("colde_cli.views.json._BLOCK", 1 << 15)
    table = np.full((3000, 2400), 0.123456, np.float32)
    scores = replace(field_study.scores, chunks=ScoreTable(table.shape, [table]))
    comparison = replace(field_study, measure=lambda: scores)
    written = comparison_json(comparison)
    tracemalloc.start()
    try:
        lengths = [len(block) for block in comparison_blocks(comparison)]
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert sum(lengths) == len(written) == len("".join(comparison_blocks(comparison)))
    assert peak < 0.5 * len(written)


def test_the_text_and_the_object_of_a_comparison_are_the_same(field_study: Comparison) -> None:
    assert comparison_json(field_study) == text(field_study.to_dict())


def test_the_files_of_the_schemas_are_built_from_the_outline() -> None:
    maker = runpy.run_path(str(Path(__file__).resolve().parent.parent / "docs" / "schemas.py"))
    built = {f"{name.replace('/', '.')}.json": maker["written"](schema) for name, schema in maker["schemas"]().items()}
    assert built == {path.name: path.read_text("utf-8") for path in maker["FOLDER"].glob("*.json")}
    for text_of in built.values():
        jsonschema.Draft202012Validator.check_schema(json.loads(text_of))
