"""Aligned passages in the terminal."""

from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console
from rich.text import Text

from colde_cli.documents.document import Part, assemble
from colde_cli.similarity.alignment import PassagePair, align
from colde_cli.similarity.comparison import Comparison
from colde_cli.similarity.flags import Flag, FlagKind
from colde_cli.views.passages import Redline
from colde_cli.views.terminal import comparison_table
from colde_cli.views.wording import WrappedFacts, flag_words


@pytest.fixture(scope="module")
def versions(field_study: Comparison) -> Comparison:
    return field_study


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
    flagged = whole.split("Flagged changes")[1].split("Other changes")[0]
    count = sum(bool(found.flags) for found in versions.passages)
    assert f"{count} flagged" in whole
    assert sum(line.startswith(("edited  ", "moved")) for line in flagged.splitlines()) == count
    assert (
        "edited  amount EUR 58 → EUR 63  unit 2 minutes → 2 hours  A p. 3 → B p. 3 · 3.1 The sensor unit"
        in whole
    )
    assert "parts cost EUR [-58-] {+63+} per unit" in whole
    assert "split    6 Discussion → 6 Discussion + 7 What the town could do" in whole
    assert "dropped  4.3 Software" in whole
    assert "added    4.4 Data protection · 5.5 Indoor readings" in whole
    few = comparison_table(versions, "passage", 3)
    assert (
        sum(line.startswith(("edited  ", "moved")) for line in few.splitlines()) - few.count("moved    ") == 6
    )
    assert f"Flagged changes  3 of {count}; --top {count} lists all" in few


def test_passages_of_one_side_have_a_sign_and_two_lines(
    versions: Comparison, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    lines = comparison_table(versions, "passage", 1).split("Only in A  1")[1].splitlines()
    assert lines[1] == "- p. 5 · 4.3 Software"
    assert lines[2].startswith("  All steps were written")
    assert lines[3].endswith("…")
    assert lines[5].startswith("Only in B  1 of 6; --top 6 lists all ")
    assert lines[6].startswith("+ p. 6 · 5.5 Indoor")


def test_signs_keep_the_blanks_that_the_texts_have() -> None:
    found = Redline(
        pair("It fell (by 31 %) in a week; we saw it.", "It fell (by 27 %) in a week, as we saw it.")
    )
    assert found.text(False).plain == "It fell (by [-31-] {+27+} %) in a week[-;-]{+, as+} we saw it."
    found = Redline(pair("The town gave no word on the stove.", "In May the town gave no word on it."))
    assert found.text(False).plain == "[-The-] {+In May the+} town gave no word on [-the stove-] {+it+}."


def test_long_words_and_scripts_without_blanks_are_cut_too() -> None:
    line = Redline(pair(f"One {'W' * 500} end.", f"Two {'W' * 500} end.")).text(False).plain
    assert line.startswith("[-One-] {+Two+} WWW")
    assert len(line) < 150


def test_colours_mark_the_redline(versions: Comparison, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLORTERM", "truecolor")
    monkeypatch.delenv("NO_COLOR", raising=False)
    shown = Text.from_ansi(comparison_table(versions, "passage", 100))
    styles = {shown.plain[span.start : span.end]: str(span.style) for span in shown.spans}
    assert "strike" in styles["58"]
    assert "[-58-]" not in shown.plain


def test_many_flags_of_a_kind_are_counted() -> None:
    flags = [Flag(FlagKind.NUMBER, str(number), str(number + 1)) for number in range(20)]
    ((kind, said),) = flag_words(flags, most=2)
    assert (kind, said) == ("number", "0 → 1, 1 → 2, and 18 more")
    assert "more" not in flag_words(flags)[0][1]


def test_what_is_too_long_for_a_line_goes_on_further_in() -> None:
    shown = StringIO()
    Console(width=20, file=shown).print(
        WrappedFacts([Text("edited"), Text("number 12 → 13, 14 → 15, 16 → 17")], gap="  ", indent=2)
    )
    assert shown.getvalue().splitlines() == ["edited", "  number 12 →", "    13, 14 → 15, 16", "    → 17"]
