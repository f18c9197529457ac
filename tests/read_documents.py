"""What the tests of readers look at in a document."""

from __future__ import annotations

import re
from collections.abc import Callable

from colde_cli.documents.document import Document
from colde_cli.documents.outside import OutsideKind, PartKind


def outline(document: Document) -> list[tuple[int, str, str]]:
    """Level, heading and body of each section."""
    return [
        (section.level, section.heading, document.text[section.body_start : section.span.end].strip())
        for section in document.sections
    ]


def headings(document: Document) -> list[tuple[int, str]]:
    return [(section.level, section.heading) for section in document.sections]


def beside(document: Document) -> list[tuple[OutsideKind, str, str]]:
    """Texts outside, but for what tells the structure."""
    texts = [(text.kind, text.text, text.about) for text in document.outside]
    return [text for text in texts if text[0] is not OutsideKind.STRUCTURE]


def structure(document: Document) -> list[tuple[str, str]]:
    return [(text.text, text.about) for text in document.outside if text.kind is OutsideKind.STRUCTURE]


def unread(document: Document) -> list[tuple[PartKind, str]]:
    return [(part.kind, part.about) for part in document.parts]


def everything(document: Document) -> str:
    """All words of a document, in its body or outside it."""
    return " ".join((document.text, *(f"{text.text} {text.about}" for text in document.outside)))


def check_sections(document: Document) -> None:
    """Sections follow each other, with nothing but blanks between them, and hold the whole text."""
    end = 0
    for section in document.sections:
        assert end <= section.span.start <= section.body_start <= section.span.end <= len(document.text)
        assert document.text[end : section.span.start].strip() == ""
        end = section.span.end
    assert end == len(document.text)


def check_same(parse: Callable[[str], Document], source: str) -> None:
    """What stands at `@` makes no difference."""
    one, other = (parse(source.replace("@", word)) for word in ("five", "nine"))
    assert (one.text, one.outside, one.parts) == (other.text, other.outside, other.parts)


def check_traced(parse: Callable[[str], Document], source: str, place: int) -> None:
    """Another word at the place `@number` makes a difference somewhere in the document."""
    plain = re.sub(r"@(\d+)", lambda m: "@" if m[1] == str(place) else f"w{m[1]}", source)
    one, other = (parse(plain.replace("@", word)) for word in ("five", "nine"))
    assert (one.text, one.outside, one.parts) != (other.text, other.outside, other.parts)
