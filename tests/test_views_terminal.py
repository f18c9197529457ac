"""A comparison in the terminal: every width, with and without colours, whatever the headings hold."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib.resources import files
from io import StringIO

import numpy as np
import pytest
from hand_made import compared, document
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from colde_cli.documents.document import Part, assemble
from colde_cli.encoder.encoder import Encoder
from colde_cli.scoring.score import ScorePart
from colde_cli.similarity.alignment import align
from colde_cli.similarity.comparison import COUNTERPART, Comparison, compare_encodings
from colde_cli.similarity.mentions import Flag, FlagKind
from colde_cli.similarity.pairs import PassagePair, State
from colde_cli.views.changes import pieces
from colde_cli.views.console import Redline, WrappedFacts
from colde_cli.views.heatmap import HeatMap
from colde_cli.views.output import Format, show
from colde_cli.views.report.report_page import comparison_html
from colde_cli.views.summary import comparison_summary
from colde_cli.views.wording import (
    closest_parts,
    flag_words,
    from_difference,
    names_apart,
    percent,
    plain,
    reasons,
    score_parts,
    shorten,
)

WIDTHS = [60, 72, 80, 100, 120, 160, 200]


def scores(rows: int, columns: int) -> NDArray[np.float32]:
    return np.random.default_rng(1).uniform(-1, 1, (rows, columns)).astype(np.float32)


def drawn(heatmap: HeatMap, width: int, *, colour: bool) -> str:
    system = "truecolor" if colour else None
    console = Console(file=StringIO(), width=width, color_system=system, force_terminal=colour)  # type: ignore[arg-type]
    with console.capture() as captured:
        console.print(heatmap)
    return Text.from_ansi(captured.get()).plain if colour else captured.get()


def test_the_reasons_of_a_verdict_begin_with_its_side(field_study: Comparison, strangers: Comparison) -> None:
    assert reasons(field_study).startswith("Alike in ")
    assert reasons(strangers).startswith("Unlike in ")
    assert reasons(field_study) not in show(field_study, level="document", top=1)
    assert reasons(strangers) in show(strangers, level="document", top=1)
    for comparison in (field_study, strangers):
        assert "score from" not in show(comparison, level="document", top=1)
        shown = show(comparison, level="document", top=1, verbose=True)
        assert score_parts(comparison.parts) in " ".join(shown.split())


COSINE, OVERLAP = st.floats(-1, 1), st.floats(0, 1)


@given(st.tuples(COSINE, COSINE, OVERLAP, OVERLAP), st.floats(0.01, 1), st.booleans())
def test_reasons_fit_on_one_line(values: tuple[float, ...], threshold: float, related: bool) -> None:
    names = ("colde", "chunks", "words", "opening")
    parts = tuple(ScorePart(name, value, 0.25) for name, value in zip(names, values, strict=True))
    line = reasons(Parts(parts, threshold, related))  # type: ignore[arg-type]
    assert len(line) <= 100
    assert line == line[:1].upper() + line[1:]
    assert all(name in line for name in ("meaning", "closest chunks", "rare words", "opening"))


@dataclass(frozen=True)
class Parts:
    """What `reasons` reads of a comparison."""

    parts: tuple[ScorePart, ...]
    threshold: float | None
    related: bool | None


def test_without_a_threshold_no_reason_is_given() -> None:
    parts = (ScorePart("colde", 0.9, 0.5), ScorePart("words", 0.1, 0.5))
    assert reasons(Parts(parts, None, None)) == ""  # type: ignore[arg-type]
    assert closest_parts(parts, 0.5) == "Closest in meaning"
    assert closest_parts(parts[:1], 0.5) == ""


@pytest.mark.parametrize("term", ["dumb", "unknown", ""])
def test_a_dumb_terminal_gets_no_colours(field_study: Comparison, term: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", term)
    assert "\x1b" not in show(field_study, level="all", top=10)


def test_no_color_is_obeyed(field_study: Comparison, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("NO_COLOR", "1")
    # Bold and dim are no colours; foreground and background are.
    assert not re.search(r"\x1b\[[\d;]*(3|4|9|10)[0-8][;m]", show(field_study, level="all", top=10))


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("colour", [True, False])
@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (5, 9), (40, 40), (3, 120)])
def test_every_cell_of_the_heat_map_is_there(width: int, colour: bool, rows: int, columns: int) -> None:
    names = [f"{number} A heading of the usual length" for number in range(rows)]
    lines = drawn(HeatMap(scores(rows, columns), names, columns), width, colour=colour).splitlines()
    assert max(map(len, lines)) <= width
    headers = [index for index, line in enumerate(lines) if line.startswith("A \\ B")]
    assert [lines[header + rows].split()[0] for header in headers] == [str(rows)] * len(headers)
    # The first number stands over the first cell, at its right.
    first = re.search(r"\d", lines[headers[0]])
    assert first is not None
    cells = (re.findall(r"\d\d|1\.|·", lines[header + 1][first.start() - 2 :]) for header in headers)
    assert sum(map(len, cells)) == columns


def test_cells_say_what_the_scores_are() -> None:
    values = np.array([[1.0, 0.996, 0.5, 0.07, 0.0, -0.4]], np.float32)
    line = drawn(HeatMap(values, ["Heading"], 6), 100, colour=False).splitlines()[1]
    assert line.split()[2:] == ["1.", "1.", "50", "07", "·", "·"]


def test_wide_characters_keep_the_columns_in_line() -> None:
    names = ["Introduction", "関連研究 and a long tail of further words in the heading", "数据"]
    lines = drawn(HeatMap(np.ones((3, 2), np.float32), names, 2), 60, colour=False).splitlines()
    assert len({cell_len(line.rstrip()) for line in lines[1:4]}) == 1


def test_what_is_the_same_is_counted_and_what_is_not_is_listed(field_study: Comparison) -> None:
    matches = field_study.matches_of_a()
    same = sum(match.same for match in matches)
    text = show(field_study, level="chunk", top=100, attention=True)
    assert f"{same} of {len(matches)} chunks of A are also in B, word for word." in text
    assert text.count("×") >= len(matches) - same
    assert "×" not in show(field_study, level="chunk", top=100)


def test_chunks_without_a_counterpart_stand_on_both_sides(
    field_study: Comparison, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    only_a, only_b = field_study.without_counterpart()
    assert all(match.score < COUNTERPART for match in (*only_a, *only_b))
    text = show(field_study, level="chunk", top=100)
    assert ("Only in A" in text, "Only in B" in text) == (bool(only_a), bool(only_b))
    below = text.split("Only in A")[1]
    assert "4.3 Software" in below.split("Only in B")[0]
    assert "4.4 Data protection" in below.split("Only in B")[1]


def test_equal_documents_have_nothing_to_list(encoder: Encoder, strangers: Comparison) -> None:
    one = strangers.b
    comparison = compare_encodings(one, one, encoder)
    text = show(comparison, level="all", top=10)
    assert text.endswith("\nThe texts are the same.\n")
    assert "changes" not in text
    assert "Only in" not in text


def test_versions_of_one_text_are_not_asked_whether_they_are_related(field_study: Comparison) -> None:
    text = show(field_study, level="all", top=10)
    assert "Two versions of one paper: 23 passages edited, 1 moved, 6 added, 4 dropped; 13 changes" in text
    assert not re.search("probability|threshold|Related|token", text)
    assert "in hundredths" not in text
    assert "Scores in hundredths (1. is 1.00)." in show(field_study, level="section", top=10)


def test_scores_of_sections_and_documents_are_not_called_cosines(strangers: Comparison) -> None:
    assert "osine" not in show(strangers, level="all", top=10)
    for schema in files("colde_cli.views").joinpath("schemas").iterdir():
        assert "osine" not in json.loads(schema.read_text("utf-8")).get("$defs", {}).get("score", {}).get(
            "description", ""
        )


def test_what_was_left_out_is_said(field_study: Comparison) -> None:
    a = field_study.a.document
    report = replace(a.report, pages_without_text=(3,), skipped_sections=("References",))
    encoding = replace(field_study.a, document=replace(a, report=report))
    text = show(replace(field_study, a=encoding), level="document", top=1)
    assert "Left out: 1 page without text; skipped: References" in text


def test_a_model_without_calibration_gives_no_verdict(strangers: Comparison) -> None:
    scores = replace(strangers.scores, probability=None, threshold=None)
    bare = replace(strangers, measure=lambda: scores)
    text = show(bare, level="document", top=10)
    assert "No verdict" in text
    assert "probability" not in text


@pytest.mark.parametrize(
    ("value", "expected"),
    [(0.0, "under 1%"), (0.004, "under 1%"), (0.12, "12%"), (0.994, "99%"), (1.0, "over 99%")],
)
def test_a_probability_is_never_certain(value: float, expected: str) -> None:
    assert percent(value) == expected


def test_excerpts_start_where_the_texts_part() -> None:
    head = "The parts of one unit that we bought last winter were cheap and cost "
    a, b = from_difference(f"{head}EUR 58 in all.", f"{head}EUR 63 in all.")
    assert a.startswith("…")
    assert "EUR 58" in a[:40]
    assert "EUR 63" in b[:40]
    assert from_difference("short one", "short two") == ("short one", "short two")
    assert from_difference(head, head) == (head, head)
    assert from_difference("", "text") == ("", "text")


def test_words_are_made_harmless_and_short() -> None:
    assert plain("a\tb\n\x1b[0m\u202ec") == "a b \N{REPLACEMENT CHARACTER}[0m\N{REPLACEMENT CHARACTER}c"
    assert plain("co\u00adoperate, \u00ad soft") == "cooperate, soft"
    assert shorten("a long heading", 8) == "a long…"


@pytest.mark.parametrize(
    ("paths", "names"),
    [
        (["old.pdf", "2024/new.pdf"], ["old.pdf", "new.pdf"]),
        (["/in/v1/terms.md", "/in/v2/terms.md"], ["v1/terms.md", "v2/terms.md"]),
        (["v1/en/terms.md", "v2/en/terms.md", "v1/en/terms.md"], ["v1/en/terms.md", "v2/en/terms.md"] * 2),
        (["terms.md", "old/terms.md", "-"], ["terms.md", "old/terms.md", "standard input"]),
        (["", ""], ["", ""]),
        (["terms.md", "terms.md"], ["terms.md", "terms.md"]),
    ],
)
def test_files_of_one_name_are_told_apart_by_their_folders(paths: list[str], names: list[str]) -> None:
    assert names_apart(paths) == names[: len(paths)]


@pytest.mark.parametrize(
    "view",
    [
        lambda found: show(found, level="document", top=1),
        lambda found: show(found, Format.MARKDOWN, level="document", top=1), comparison_summary, comparison_html,
    ],
)  # fmt: skip
def test_a_view_names_the_folders_of_files_of_one_name(view: Callable[[Comparison], str]) -> None:
    a, b = (document([("Pumps", text)], path=f"{text}/terms.md") for text in ("one", "two"))
    shown = view(compared(a, b))
    assert "one/terms.md" in shown
    assert "two/terms.md" in shown


def test_many_sections_are_shown_as_their_chapters_unless_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = [
        Part(f"{chapter}.{number} Heading", "Words.", 2) if number else Part(f"{chapter} Chapter", "Words.", 1)
        for chapter in range(1, 11)
        for number in range(12)
    ]
    other = [replace(part, text="Another text.") for part in parts]
    comparison = compared(assemble("a.txt", "Title", parts), assemble("b.txt", "Title", other))
    monkeypatch.setenv("COLUMNS", "80")
    folded = show(comparison, level="all", top=10)
    assert "Sections  of 120 × 120" in folded
    assert "10 10 Chapter" in folded
    assert "1.1 Heading" not in folded.split("Sections  of")[1]
    assert "--level section shows all" in folded
    whole = show(comparison, level="section", top=10)
    assert "Sections ─" in whole
    assert "10.11 Heading" in whole


def test_a_heat_map_of_hundreds_of_sections_is_shown_only_where_it_is_asked_for() -> None:
    flat = document([(f"Heading number {number}", f"Words of number {number}.") for number in range(81)])
    other = document([(f"Heading number {number}", f"Another text {number}.") for number in range(81)])
    comparison = compared(flat, other)
    assert "81 × 81" in show(comparison, level="all", top=10)
    assert "81 Heading number 80" not in show(comparison, level="all", top=10)
    assert "81 Heading number 80" in show(comparison, level="section", top=10)


def pair(a: str, b: str) -> PassagePair:
    left, right = (assemble("", "", [Part("", text)]) for text in (a, b))
    (found,) = align(left, right, None).pairs
    return found


def redline(a: str, b: str) -> str:
    return Redline(pieces(pair(a, b))).text(False).plain


def test_edits_are_marked_without_colours_and_coloured_with_them() -> None:
    both = ("The pump runs at night, or so they say.", "The pump runs by day, or so they all say.")
    assert redline(*both) == "The pump runs [-at night-] {+by day+}, or so they {+all+} say."
    coloured = Redline(pieces(pair(*both))).text(True)
    assert coloured.plain == "The pump runs at night by day, or so they all say."
    assert [str(span.style) for span in coloured.spans if span.style != "dim"] == [
        "red strike", "green underline", "green underline",
    ]  # fmt: skip


def test_what_stayed_is_cut_between_edits_far_apart() -> None:
    long = " ".join(f"word{number}" for number in range(30))
    line = redline(f"One {long} two {long} end", f"Three {long} four {long} end")
    assert line.startswith("[-One-] {+Three+} word0 word1")
    assert " … " in line
    assert line.endswith("word5…")
    assert "\x1b" not in redline("The pump \x1b[31m runs at night.", "The pump runs at times.")


def test_flagged_pairs_come_first_and_top_limits_the_list(
    field_study: Comparison, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    whole = show(field_study, level="passage", top=100)
    flagged = whole.split("Flagged changes")[1].split("Other changes")[0]
    count = sum(bool(found.flags) for found in field_study.passages)
    assert f"{count} flagged" in whole
    assert sum(line.startswith(("edited  ", "moved")) for line in flagged.splitlines()) == count
    assert "edited  amount EUR 58 → EUR 63  unit 2 minutes → 2 hours  A p. 3 → B p. 3 · 3.1 The sensor unit" in whole
    assert "parts cost EUR [-58-] {+63+} per unit" in whole
    rows = [line.split("  ") for line in whole.splitlines() if line.startswith(("split ", "dropped ", "added "))]
    assert [[cell.strip() for cell in row if cell.strip()] for row in rows] == [
        ["split", "6 Discussion", "6 Discussion + 7 What the town could do"],
        ["dropped", "4.3 Software"],
        ["added", "4.4 Data protection · 5.5 Indoor readings"],
    ]
    few = show(field_study, level="passage", top=3)
    assert sum(line.startswith(("edited  ", "moved")) for line in few.splitlines()) - few.count("moved    ") == 6
    assert f"Flagged changes  3 of {count}; --top {count} lists all" in few


def test_passages_of_one_side_have_a_sign_and_two_lines(
    field_study: Comparison, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    lines = show(field_study, level="passage", top=1).split("Only in A  1")[1].splitlines()
    assert lines[1] == "- p. 5 · 4.3 Software"
    assert lines[2].startswith("  All steps were written")
    assert lines[3].endswith("…")
    assert lines[5].startswith("Only in B  1 of 6; --top 6 lists all ")
    assert lines[6].startswith("+ p. 6 · 5.5 Indoor")


@pytest.mark.parametrize("format", [Format.TABLE, Format.MARKDOWN])
def test_of_two_different_texts_all_views_list_as_many_as_they_count(format: Format) -> None:
    # Rows of numbers, and a line of few words that both have, were counted but not listed.
    left = [*(f"Item {name} of the harbour wall was painted." for name in "abc"), "17 18 19", "Dated 4 May."]
    right = [*(f"The river {name} is no longer fit to swim in." for name in "xyz"), "= 8.1", "Dated 5 May."]
    a, b = (document([("Report", "\n\n".join(side))]) for side in (left, right))
    found = compared(a, b)
    assert found.summary[State.EDITED] == 0
    shown = show(found, format, level="passage", top=100)
    for name, state in (("A", State.ONLY_A), ("B", State.ONLY_B)):
        assert found.summary[state] == 5
        assert re.search(rf"Only in {name}:?  ?5\b", shown)
    assert "Edited" not in comparison_summary(found)


def test_signs_keep_the_blanks_that_the_texts_have() -> None:
    line = redline("It fell (by 31 %) in a week; we saw it.", "It fell (by 27 %) in a week, as we saw it.")
    assert line == "It fell (by [-31-] {+27+} %) in a week[-;-]{+, as+} we saw it."
    line = redline("The town gave no word on the stove.", "In May the town gave no word on it.")
    assert line == "[-The-] {+In May the+} town gave no word on [-the stove-] {+it+}."


def test_long_words_and_scripts_without_blanks_are_cut_too() -> None:
    line = redline(f"One {'W' * 500} end.", f"Two {'W' * 500} end.")
    assert line.startswith("[-One-] {+Two+} WWW")
    assert len(line) < 150


def test_many_flags_of_a_kind_are_counted() -> None:
    flags = [Flag(FlagKind.NUMBER, str(number), str(number + 1)) for number in range(20)]
    ((kind, said),) = flag_words(flags, limit=2)
    assert (kind, said) == ("number", "0 → 1, 1 → 2, and 18 more")
    assert "more" not in flag_words(flags)[0][1]


def test_what_is_too_long_for_a_line_goes_on_further_in() -> None:
    shown = StringIO()
    Console(width=20, file=shown).print(
        WrappedFacts([Text("edited"), Text("number 12 → 13, 14 → 15, 16 → 17")], gap="  ", indent=2)
    )
    assert shown.getvalue().splitlines() == ["edited", "  number 12 →", "    13, 14 → 15, 16", "    → 17"]
