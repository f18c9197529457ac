"""Results as CSV, read back."""

from __future__ import annotations

import csv
from io import StringIO
from pathlib import Path

import pytest
from command_line import run
from hand_made import compared, document

from colde_cli.similarity.comparison import Comparison
from colde_cli.views.csv import PASSAGE_COLUMNS, RANKING_COLUMNS, comparison_csv

Row = dict[str, str]


def rows(text: str) -> list[Row]:
    return list(csv.DictReader(StringIO(text, newline=""), strict=True))


def test_a_row_for_every_pair() -> None:
    a = [
        (
            "1 Payment",
            "The council shall not pay 58 dollars to anybody within the year.\n\nNothing else is due.",
        )
    ]
    b = [("1 Payment", "The council shall pay 63 dollars to anybody within the year.")]
    comparison = compared(document(a), document(b))
    found = rows(comparison_csv(comparison))
    assert tuple(found[0]) == PASSAGE_COLUMNS
    assert [row["state"] for row in found] == [pair.state.value for pair in comparison.passages]
    edited, dropped = found[0], found[1]
    assert edited["flags"] == "amount, negation"
    assert edited["flagged"] == "amount: 58 dollars → 63 dollars; negation: not → –"
    assert edited["redline"] == ("The council shall [-not-] pay [-58-] {+63+} dollars to anybody within the year.")
    assert (edited["edits"], edited["a_section"], edited["a_first_page"]) == ("2", "1 Payment", "")
    assert (dropped["state"], dropped["score"], dropped["b_section"], dropped["b_text"]) == (
        "only_a", "", "", "",
    )  # fmt: skip
    assert dropped["redline"] == ""


def test_pages_and_text_of_a_real_pair(field_study: Comparison) -> None:
    found = rows(comparison_csv(field_study))
    (price,) = (row for row in found if "[-58-] {+63+}" in row["redline"])
    assert (price["a_first_page"], price["a_last_page"], price["a_section"]) == (
        "3", "3", "3.1 The sensor unit",
    )  # fmt: skip
    assert price["flagged"].startswith("amount: EUR 58 → EUR 63")


def test_a_ranking_has_a_row_for_each_hit_or_match(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    well, tax = tmp_path / "well.md", tmp_path / "tax.md"
    well.write_text("# Wells\n\nA pump lifts water.\n\n# Towers\n\nThe water goes into the tower.\n")
    tax.write_text("# Tax\n\nThe council levies a tax on houses.\n")
    plain = rows(run(capsys, "rank", well, tax, well.parent, "--format", "csv").out)
    assert tuple(plain[0]) == RANKING_COLUMNS
    assert [(row["rank"], row["path"], row["match_score"]) for row in plain] == [("1", str(tax), "")]
    explained = rows(run(capsys, "rank", well, tax, "--explain", "--format", "csv").out)
    assert {(row["rank"], row["hit_section"], row["hit_first_page"]) for row in explained} == {("1", "Tax", "")}
    assert {row["query_section"] for row in explained} <= {"Wells", "Towers"}
    assert all(float(row["match_score"]) <= 1 and "levies a tax" in row["hit_text"] for row in explained)
