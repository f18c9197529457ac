"""Cases for "level 3 is real": a passage of one real document planted into another, copied or lightly reworded.

Everything is deterministic by seed.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import Literal

from rewording import reword

from colde_cli.documents.document import Document, Section, Span
from colde_cli.documents.sentences import sentence_starts

Kind = Literal["copied", "reworded"]
Manner = Literal["inserted", "replacing"]

WORDS = (60, 250)
"""How many words a passage has, at least and at most."""

_TRIES = 200


@dataclass(frozen=True, slots=True)
class Case:
    """A passage of A that stands in B too.

    Attributes:
        a: the document the passage is from.
        b: the other one, with the passage.
        source: where the passage stands in `a.text`.
        planted: where it stands in `b.text`.
        kind: copied word for word, or reworded.
        manner: inserted between two sentences, or in the place of about as many words.
    """

    a: Document
    b: Document
    source: Span
    planted: Span
    kind: Kind
    manner: Manner

    @property
    def original(self) -> str:
        """The passage as it stands in A."""
        return self.a.text[self.source.start : self.source.end]

    @property
    def text(self) -> str:
        """The passage as it stands in B."""
        return self.b.text[self.planted.start : self.planted.end]


def plant(a: Document, b: Document, kind: Kind, manner: Manner, seed: int) -> Case | None:
    """Plant a passage of `a` of 60 to 250 words, whole sentences, at a random place of `b`.

    Returns:
        The case; None where `a` has no such passage or `b` no section with sentences.
    """
    generator = random.Random(seed)
    source = _passage(a, generator)
    place = _place(b, generator)
    if source is None or place is None:
        return None
    section, start = place
    passage = a.text[source.start : source.end].strip()
    text = passage if kind == "copied" else reword(passage)
    end = start if manner == "inserted" else _end_of_run(b, section, start, len(passage.split()))
    planted_in, planted = _splice(b, section, Span(start, end), text)
    return Case(a, planted_in, source, planted, kind, manner)


def _passage(document: Document, generator: random.Random) -> Span | None:
    """A random run of whole sentences of one section, of 60 to 250 words."""
    for _ in range(_TRIES):
        section = generator.choice(document.sections)
        bounds = _sentences(document, section)
        if len(bounds) < 2:
            continue
        wanted = generator.randint(*WORDS)
        first = generator.randrange(len(bounds) - 1)
        for last in range(first + 1, len(bounds)):
            span = Span(bounds[first], bounds[last])
            count = len(document.text[span.start : span.end].split())
            if count >= wanted or (last == len(bounds) - 1 and count >= WORDS[0]):
                if count <= WORDS[1]:
                    return _stripped(document.text, span)
                break
    return None


def _place(document: Document, generator: random.Random) -> tuple[Section, int] | None:
    """A section and the start of a sentence in its body, or its end."""
    sections = [section for section in document.sections if len(_sentences(document, section)) > 1]
    if not sections:
        return None
    section = generator.choice(sections)
    return section, generator.choice(_sentences(document, section))


def _end_of_run(document: Document, section: Section, start: int, words: int) -> int:
    """The first end of a sentence from `start` on by which so many words have passed, or the section's end."""
    ends = [bound for bound in _sentences(document, section) if bound > start]
    return next((end for end in ends if len(document.text[start:end].split()) >= words), max([start, *ends]))


def _sentences(document: Document, section: Section) -> list[int]:
    """Where the sentences of a section's body begin in the text, and where the last ends; [] without a body."""
    body = document.text[section.body_start : section.span.end]
    if not body.strip():
        return []
    return [*(section.body_start + start for start in sentence_starts(body)), section.span.end]


def _stripped(text: str, span: Span) -> Span:
    piece = text[span.start : span.end]
    return Span(span.start + len(piece) - len(piece.lstrip()), span.end - len(piece) + len(piece.rstrip()))


def _splice(document: Document, section: Section, gap: Span, text: str) -> tuple[Document, Span]:
    """The document with `text` in the place of `gap`, which lies in `section`, and where it then stands."""
    before, after = document.text[: gap.start].rstrip(), document.text[gap.end : section.span.end].lstrip()
    lead = " " if gap.start > section.body_start else document.text[len(before) : gap.start]
    start = len(before) + len(lead)
    head = before + lead + text + (f" {after}" if after else "")
    shift = len(head) - section.span.end
    sections = tuple(_moved(item, section.index, shift) for item in document.sections)
    moved = replace(
        document, text=head + document.text[section.span.end :], sections=sections, page_starts=()
    )
    return moved, Span(start, start + len(text))


def _moved(section: Section, changed: int, shift: int) -> Section:
    if section.index < changed:
        return section
    start = section.span.start + (shift if section.index > changed else 0)
    body = section.body_start + (shift if section.index > changed else 0)
    return replace(section, span=Span(start, section.span.end + shift), body_start=body, pages=None)
