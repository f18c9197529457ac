"""Leaving out sections at the user's wish."""

from __future__ import annotations

import pytest

from colde_cli.documents.document import Document, Part, SectionKind, assemble
from colde_cli.documents.selection import select
from colde_cli.errors import OptionError


@pytest.fixture
def document() -> Document:
    return assemble(
        "a.pdf",
        "Bells",
        [
            Part("", "Ida Kerrin", 0, SectionKind.FRONT),
            Part("1 Bells", "They ring."),
            Part("2 Sand", "It moves."),
            Part("Literature", "[1] Nine books.", 1, SectionKind.REFERENCES),
        ],
    )


def headings(document: Document) -> list[str]:
    return [section.heading for section in document.sections]


def test_nothing_asked_nothing_changed(document: Document) -> None:
    assert select(document) is document


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


def test_patterns_that_leave_nothing_or_are_none(document: Document) -> None:
    with pytest.raises(OptionError, match="No section"):
        select(document, only=["nowhere"])
    with pytest.raises(OptionError, match="no regular expression"):
        select(document, skip=["("])
