"""Aligned passages in the terminal."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import V1, V2
from rich.text import Text

from colde_cli.documents.document import Part, assemble
from colde_cli.documents.reading import read
from colde_cli.encoder.encoder import Encoder
from colde_cli.similarity.alignment import PassagePair, align
from colde_cli.similarity.comparison import Comparison, compare
from colde_cli.views.passages import Redline
from colde_cli.views.terminal import comparison_table


@pytest.fixture(scope="module")
def versions(model_folder: Path) -> Comparison:
    encoder = Encoder.load(model_folder, device="cpu")
    return compare(*encoder.encode_many([read(V1), read(V2)]), encoder)


def pair(a: str, b: str) -> PassagePair:
    (found,) = align(*(assemble("", "", [Part("", text)]) for text in (a, b)), None).pairs
    return found


def test_edits_are_marked_without_colours_and_coloured_with_them() -> None:
    redline = Redline(
        pair("The pump runs at night, or so they say.", "The pump runs by day, or so they all say.")
    )
    assert redline.text(False).plain == "The pump runs [-at night-] {+by day+}, or so they {+all+} say."
    coloured = redline.text(True)
    assert coloured.plain == "The pump runs at night by day, or so they all say."
    assert [str(span.style) for span in coloured.spans if span.style != "dim"] == [
        "red strike",
        "green underline",
        "green underline",
    ]


def test_what_stayed_is_cut_between_edits_far_apart() -> None:
    long = " ".join(f"word{number}" for number in range(30))
    line = Redline(pair(f"One {long} two {long} end", f"Three {long} four {long} end")).text(False).plain
    assert line.startswith("[-One-] {+Three+} word0 word1")
    assert " … " in line
    assert line.endswith("word5…")
    assert (
        "\x1b"
        not in Redline(pair("The pump \x1b[31m runs at night.", "The pump runs at times.")).text(False).plain
    )


def test_flagged_pairs_come_first_and_top_limits_the_list(
    versions: Comparison, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    whole = comparison_table(versions, "passage", 100)
    lines = [line for line in whole.splitlines() if line.startswith(("edited  A", "moved  A"))]
    flagged = [any(line.endswith(kind) for kind in "number date amount unit percentage name modal negation".split())
               for line in lines]  # fmt: skip
    assert flagged == sorted(flagged, reverse=True)
    assert sum(flagged) == sum(bool(found.flags) for found in versions.passages)
    assert "parts cost EUR [-58-] {+63+} per unit" in whole
    assert "split    6 Discussion → 6 Discussion + 7 What the town could do" in whole
    few = comparison_table(versions, "passage", 3)
    assert sum(line.startswith(("edited  A", "moved  A")) for line in few.splitlines()) == 3
    assert "Passages  3 of " in few


def test_colours_mark_the_redline(versions: Comparison, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLORTERM", "truecolor")
    monkeypatch.delenv("NO_COLOR", raising=False)
    shown = Text.from_ansi(comparison_table(versions, "passage", 100))
    styles = {shown.plain[span.start : span.end]: str(span.style) for span in shown.spans}
    assert "strike" in styles["58"]
    assert "[-" not in shown.plain.replace("[-a", "")
