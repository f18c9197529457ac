"""What items of lists stand under, across paragraphs and within a sentence."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from colde_cli.documents.document import Part, Span, assemble
from colde_cli.documents.passages import passages
from colde_cli.similarity.alignment import align
from colde_cli.similarity.lead_ins import lead_ins, parts_of_list

BAN = "You may not do any of this:"


def leads(heading: str, *paragraphs: str) -> list[str]:
    document = assemble("a", "A", [Part(heading, "\n\n".join(paragraphs))])
    return [lead.words for lead in lead_ins(document, passages(document))]


@pytest.mark.parametrize(
    ("paragraphs", "expected"),
    [
        ((BAN, "- sell the maps", "- print them", "They are ours."), ["", BAN, BAN, ""]),
        ((BAN, "(a) sell it;", "(b) print it.", "2. Fees are due."), ["", BAN, BAN, ""]),
        (
            (BAN, "(a) sell any of:", "(i) the maps;", "(ii) the plans;", "(b) print it."),
            ["", BAN, f"{BAN} (a) sell any of:", f"{BAN} (a) sell any of:", BAN],
        ),
        ((BAN, "sell the maps; or", "print them.", "We own the maps."), ["", BAN, BAN, ""]),
        ((BAN, "We own the maps.", "- and the plans"), ["", "", ""]),
    ],
)
def test_an_item_stands_under_its_lead_in(paragraphs: tuple[str, ...], expected: list[str]) -> None:
    assert leads("Use", *paragraphs) == expected


def test_a_heading_that_forbids_is_a_lead_in() -> None:
    assert leads("Prohibited uses", "- sell the maps", "These are ours.") == ["Prohibited uses:", ""]
    assert leads("Our maps", "- the town", "- the river") == ["", ""]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (
            "You may not (a) sell it; (b) lend it to (i) Ann or (ii) Bob; or (c) print it.",
            ["You may not", "(a) sell it;", "(b) lend it to", "(i) Ann or", "(ii) Bob; or", "(c) print it."],
        ),
        ("Pay within thirty (30) days of (1) letter.", ["Pay within thirty (30) days of (1) letter."]),
        ("Under section (a) and section (b) we pay.", ["Under section (a) and section (b) we pay."]),
    ],
)
def test_a_sentence_is_cut_at_its_items(text: str, parts: list[str]) -> None:
    found = parts_of_list(text, Span(0, len(text)))
    assert [text[span.start : span.end] for span, _ in found] == parts
    if len(parts) > 4:
        assert found[4][1].split() == "You may not (b) lend it to".split()


@given(st.lists(st.sampled_from(["(a)", "(b)", "(i)", "(ii)", "(1)", "(2)", "ab,", "to", "(c)"]), max_size=14))
def test_the_parts_of_a_sentence_hold_all_its_words(pieces: list[str]) -> None:
    text = " ".join(pieces)
    found = [span for span, _ in parts_of_list(text, Span(0, len(text)))]
    assert " ".join(text[span.start : span.end] for span in found) == text


def test_a_new_item_of_a_list_of_bans_is_flagged_with_its_force() -> None:
    rules = ["You must pay us and shall not be late.", "We may end it, and you must go then.", BAN, "- sell any map"]
    a = assemble("a", "Terms of use", [Part("Terms of use", "\n\n".join([*rules, "- print one"]))])
    b = assemble(
        "b", "Terms of use", [Part("Terms of use", "\n\n".join([*rules, "- scrape the pages", "- print one"]))]
    )
    (new,) = [pair for pair in align(a, b, None).pairs if not pair.a]
    assert [(flag.kind.value, flag.b) for flag in new.flags] == [("clause", "- scrape the pages")]
