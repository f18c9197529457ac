"""Sections that a user selects, and spans that are removed: all else keeps its words, section and page."""

from __future__ import annotations

from dataclasses import replace

import pytest
from command_line import V1
from hypothesis import given, settings
from hypothesis import strategies as st
from read_documents import check_sections

from colde_cli.documents.document import Document, Part, SectionKind, Span, assemble
from colde_cli.documents.passages import Passage, passages
from colde_cli.documents.reading import read
from colde_cli.documents.selection import remove_spans, select, with_unmatched_patterns
from colde_cli.errors import OptionError


@pytest.fixture
def document() -> Document:
    return assemble(
        "a.pdf",
        "Bells",
        [
            Part("", "Ida Kerrin", 0, SectionKind.FRONT), Part("1 Bells", "They ring."), Part("2 Sand", "It moves."),
            Part("Literature", "[1] Nine books.", 1, SectionKind.REFERENCES),
        ],
    )  # fmt: skip


def headings(document: Document) -> list[str]:
    return [section.heading for section in document.sections]


def test_skip_by_heading_and_by_kind(document: Document) -> None:
    left = select(document, skip=["SAND$", "references"])
    assert headings(left) == ["", "1 Bells"]
    assert left.report.skipped_sections == ("2 Sand", "Literature")
    assert left.text == document.text
    assert [section.index for section in left.sections] == [0, 1]
    assert left.section_text(left.sections[1]) == "1 Bells\n\nThey ring."


def test_only_then_skip(document: Document) -> None:
    assert headings(select(document, only=[r"^\d"], skip=["bells"])) == ["2 Sand"]
    assert select(document, only=["front"]).report.skipped_sections == ("1 Bells", "2 Sand", "Literature")


def test_skipping_twice_adds_up(document: Document) -> None:
    twice = select(select(document, skip=["sand"]), skip=["front"])
    assert twice.report.skipped_sections == ("2 Sand", "(front)")


def test_a_pattern_that_matches_neither_document_is_warned_about(document: Document) -> None:
    a, b = (select(document, skip=[*skip, "apendix"]) for skip in (["sand"], ["bells", "sandd"]))
    assert a.report.unmatched_patterns == ("apendix",)
    assert b.report.unmatched_patterns == ("sandd", "apendix")
    for one in with_unmatched_patterns(a, b):
        assert one.report.warnings == ("No section matches 'apendix' here or in the other document.",)
    assert with_unmatched_patterns(a, document) == (a, document)
    for one in with_unmatched_patterns(a, b, a):
        assert one.report.warnings == ("No section matches 'apendix' here or in the other documents.",)
    assert with_unmatched_patterns(a, b, document) == (a, b, document)


def test_patterns_that_leave_nothing_or_are_none(document: Document) -> None:
    with pytest.raises(OptionError, match="no section"):
        select(document, only=["nowhere"])
    with pytest.raises(OptionError, match="no regular expression"):
        select(document, skip=["("])


def bodies(document: Document, heading: str | None = None) -> list[str]:
    return [
        document.text[section.body_start : section.span.end]
        for section in document.sections
        if heading in (None, section.heading)
    ]


def check_layout(document: Document) -> None:
    """Sections are in order, within the text, numbered, and their headings stand where they say."""
    check_sections(document)
    for index, section in enumerate(document.sections):
        assert section.index == index
        assert document.section_text(section).startswith(section.heading)
        assert section.pages == document.pages_of(section.span)


def test_a_paragraph_ends_where_text_stood() -> None:
    whole = assemble("", "", [Part("1 A", "One. Two. Three."), Part("", "Four."), Part("2 B", "Five.")])
    start = whole.text.index("Two.")
    left = remove_spans(whole, [Span(start, start + 4)])
    assert bodies(left) == ["One.\n\nThree.", "Four.", "Five."]
    check_layout(left)


def test_a_section_goes_whole_and_one_without_heading_when_it_is_empty() -> None:
    whole = assemble("", "", [Part("1 A", "One."), Part("", "Four."), Part("2 B", "Five.")])
    four, five = whole.text.index("Four."), whole.text.index("Five.")
    left = remove_spans(whole, [Span(four, four + 5), Span(five, five + 5)], {0})
    assert [(section.heading, section.index) for section in left.sections] == [("2 B", 0)]
    assert bodies(left) == [""]
    check_layout(left)


def test_content_sections_are_those_of_the_subject(document: Document) -> None:
    assert [document.sections[index].heading for index in document.content_sections()] == [
        "1 Bells",
        "2 Sand",
    ]
    parts = [
        Part("1 Bells", ""),
        Part("1.1 Cast", "They are cast in a pit beside the church."),
        Part("Funding", "Not applicable."),
        Part("2. Acknowledgements", "We thank all who rang the bells for us that year."),
        Part("References", "[1]", kind=SectionKind.REFERENCES),
    ]
    long = Part("", "They ring. " * 60, 0, SectionKind.FRONT)
    short = replace(long, text="They ring.")
    assert assemble("", "", [long, *parts]).content_sections() == [0, 2]
    assert assemble("", "", [short, *parts]).content_sections() == [2]
    assert assemble("", "", [short]).content_sections() == [0]
    assert assemble("", "", parts[-3:]).content_sections() == [0, 1, 2]


PAPER = read(V1)
PASSAGES = passages(PAPER)


def text_of(passage: Passage) -> str:
    return PAPER.text[passage.span.start : passage.span.end]


@settings(max_examples=25)
@given(st.sets(st.sampled_from(range(len(PASSAGES)))))
def test_what_is_left_keeps_its_words_its_section_and_its_pages(gone: set[int]) -> None:
    left = remove_spans(PAPER, [PASSAGES[index].span for index in sorted(gone)])
    check_layout(left)
    for heading in {section.heading for section in PAPER.sections}:
        kept = [one for one in PASSAGES if PAPER.sections[one.section].heading == heading]
        words = " ".join(text_of(one) for one in kept if one.index not in gone).split()
        assert words == [word for body in bodies(left, heading) for word in body.split()]
    for passage in (one for one in PASSAGES if one.index not in gone):
        place = left.text.index(text_of(passage))
        assert left.pages_of(Span(place, place + len(passage.span))) == passage.pages
