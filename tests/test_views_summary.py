"""A comparison in a few sentences, as an e-mail and as the frame of an agent's answer."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hand_made import compared, document
from lxml.html import fromstring

from colde_cli.similarity.comparison import Comparison
from colde_cli.similarity.digest import ComparisonDigest
from colde_cli.views.agent import comparison_answer
from colde_cli.views.github import comparison_annotations
from colde_cli.views.output import Format, show
from colde_cli.views.page import pair_of_files
from colde_cli.views.report.report_page import comparison_html
from colde_cli.views.sentences import change_place, verdict, weightiest_change
from colde_cli.views.summary import comparison_summary

PUMPS = [("Pumps", "The pump costs 58 dollars.\n\nIt runs at night.\n\nNobody hears it from the street.")]


def test_the_weightiest_changes_come_with_old_and_new_words_and_their_place(field_study: Comparison) -> None:
    lines = comparison_summary(field_study).splitlines()
    assert 5 <= len(lines) <= 15
    assert lines[0].startswith("Two versions of one paper: ")
    first = next(line for line in lines if line.startswith("- "))
    assert first == "- Amount EUR 58 → EUR 63; unit 2 minutes → 2 hours (A p. 3 → B p. 3 · 3.1 The"
    told = sum(line.startswith("- ") for line in lines) - 1
    every = len(field_study.changes) + field_study.outside.changes + len(field_study.typesetting)
    assert lines[-1] == f"- {every - told} more changes"


def test_an_agent_reads_the_same_sentences(field_study: Comparison) -> None:
    answer = comparison_answer(field_study, 6000)
    said = " ".join(comparison_summary(field_study).split())
    assert answer.verdict == verdict(field_study)
    assert said.startswith(answer.verdict)


def test_the_same_texts_have_no_changes() -> None:
    lines = comparison_summary(compared(document(PUMPS), document(PUMPS))).splitlines()
    assert lines == [
        "The texts are the same.",
        *("AB"[n] + ": Title (a.txt, 1 section, 16 words)" for n in (0, 1)),
    ]


@pytest.mark.parametrize(
    ("new", "line"),
    [
        ("The pump costs 63 dollars.\n\nIt runs at night.", "- Amount 58 dollars → 63 dollars (Pumps)"),
        ("The pump costs 58 dollars.\n\nIt runs at noon.", "- Edited: night → noon (Pumps)"),
        ("The pump costs 58 dollars.", "- Dropped: It runs at night. (A Pumps)"),
        ("A word.\n\nThe pump costs 58 dollars.\n\nIt runs at night.", "- Added: A word. (B Pumps)"),
    ],
)
def test_each_kind_of_change_is_one_line(new: str, line: str) -> None:
    last = "\n\nNobody hears it from the street."
    b = document([("Pumps", new + last)])
    assert comparison_summary(compared(document(PUMPS), b)).splitlines()[-1] == line


@pytest.mark.parametrize(
    ("heading", "old", "new", "differ"),
    [
        ("Pumps and wells", "It runs at night.", "It runs at night.", "headings do."),
        (
            "Pumps", "• It runs at night.", "It runs at night.",
            "typesetting does (blanks, hyphens, quotation marks, bullets)",
        ),
        (
            "Pumps", 'They say "it runs".', "They say “it runs”.",
            "typesetting does (blanks, hyphens, quotation marks, bullets)",
        ),
    ],
)  # fmt: skip
def test_versions_with_the_same_passages_have_a_difference(heading: str, old: str, new: str, differ: str) -> None:
    first = "The pump costs 58 dollars, and nobody hears it from the street.\n\n"
    found = compared(document([("Pumps", first + old)]), document([(heading, first + new)]))
    said = " ".join(comparison_summary(found).split())
    assert said.startswith(f"Two versions of one text: no passage differs, but {differ}")


def test_of_different_texts_only_what_has_a_partner_is_told() -> None:
    other = [("Rivers", f"River number {word} flows to the sea of {word}.") for word in ("one", "two")]
    said = comparison_summary(compared(document(PUMPS), document(other)))
    assert "Score 0.50, probability 70%." in said
    assert "- " not in said


COSTS = [
    ("Books", "To keep the books in the office costs EUR 58 a month."),
    ("Meter", "To read the meter of the pump costs EUR 58 a year."),
    ("Report", "The report in the last week of the year costs EUR 58 each time."),
]


def _page(comparison: Comparison) -> str:
    page = fromstring(comparison_html(comparison))
    return str(page.xpath("//section[@aria-labelledby='matters-title']")[0].text_content())


@pytest.mark.parametrize(
    "view",
    [
        comparison_summary,
        comparison_annotations,
        lambda found: " ".join(weightiest_change(ComparisonDigest.of(found))),
        lambda found: " ".join(
            f"in {change.passages} passages, {change_place(change.a, change.b, change.pair, change.passages)}"
            for change in pair_of_files(found, None, 5).changes
        ),
        lambda found: show(found, level="passage", top=5),
        lambda found: show(found, Format.MARKDOWN, level="passage", top=5),
        _page,
    ],
)
def test_the_place_of_a_change_in_several_passages_is_called_the_first(
    view: Callable[[Comparison], str],
) -> None:
    found = compared(document(COSTS), document([(name, text.replace("58", "63")) for name, text in COSTS]))
    shown = " ".join(view(found).split())
    assert "in 3 passages" in shown
    assert "first in Books" in shown
