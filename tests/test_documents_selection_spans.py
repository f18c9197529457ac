"""Text that is taken out leaves everything else where it was: its words, its section, its page."""

from __future__ import annotations

from command_line import V1
from hypothesis import given, settings
from hypothesis import strategies as st

from colde_cli.documents.document import Document, Part, Span, assemble
from colde_cli.documents.passages import Passage, passages
from colde_cli.documents.reading import read
from colde_cli.documents.selection import without


def bodies(document: Document, heading: str | None = None) -> list[str]:
    return [
        document.text[section.body_start : section.span.end]
        for section in document.sections
        if heading in (None, section.heading)
    ]


def check_layout(document: Document) -> None:
    """Sections are in order, within the text, numbered, and their headings stand where they say."""
    end = 0
    for index, section in enumerate(document.sections):
        assert section.index == index
        assert end <= section.span.start <= section.body_start <= section.span.end <= len(document.text)
        assert document.section_text(section).startswith(section.heading)
        assert section.pages == document.pages_of(section.span)
        end = section.span.end


def test_a_paragraph_ends_where_text_stood() -> None:
    whole = assemble("", "", [Part("1 A", "One. Two. Three."), Part("", "Four."), Part("2 B", "Five.")])
    start = whole.text.index("Two.")
    left = without(whole, [Span(start, start + 4)])
    assert bodies(left) == ["One.\n\nThree.", "Four.", "Five."]
    check_layout(left)


def test_a_section_goes_whole_and_one_without_heading_when_it_is_empty() -> None:
    whole = assemble("", "", [Part("1 A", "One."), Part("", "Four."), Part("2 B", "Five.")])
    four, five = whole.text.index("Four."), whole.text.index("Five.")
    left = without(whole, [Span(four, four + 5), Span(five, five + 5)], {0})
    assert [(section.heading, section.index) for section in left.sections] == [("2 B", 0)]
    assert bodies(left) == [""]
    check_layout(left)


def test_without_anything_to_leave_out_nothing_changes() -> None:
    whole = assemble("a", "t", [Part("1 A", "One."), Part("", "Four.")])
    assert without(whole, []) == whole


PAPER = read(V1)
PASSAGES = passages(PAPER)


def text_of(passage: Passage) -> str:
    return PAPER.text[passage.span.start : passage.span.end]


@settings(max_examples=25)
@given(st.sets(st.sampled_from(range(len(PASSAGES)))))
def test_what_is_left_keeps_its_words_its_section_and_its_pages(gone: set[int]) -> None:
    left = without(PAPER, [PASSAGES[index].span for index in sorted(gone)])
    check_layout(left)
    for heading in {section.heading for section in PAPER.sections}:
        kept = [one for one in PASSAGES if PAPER.sections[one.section].heading == heading]
        words = " ".join(text_of(one) for one in kept if one.index not in gone).split()
        assert words == [word for body in bodies(left, heading) for word in body.split()]
    for passage in (one for one in PASSAGES if one.index not in gone):
        place = left.text.index(text_of(passage))
        assert left.pages_of(Span(place, place + len(passage.span))) == passage.pages
