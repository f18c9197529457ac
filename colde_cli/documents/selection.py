"""Take parts of a document: `select` sections by name, or `remove_spans` of text.

`select` keeps the text and drops sections; `remove_spans` lays out the remaining text anew.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from colde_cli.documents.document import Document, Section, Span
from colde_cli.documents.passages import stripped
from colde_cli.errors import OptionError

Item = TypeVar("Item", bound=str | Path | Document)


def one_or_more(given: Item | Iterable[Item]) -> tuple[Item, ...]:
    """Take one pattern, path or document for a list of one: Python would take a text for a list of its letters."""
    return (given,) if isinstance(given, str | Path | Document) else tuple(given)


def select(document: Document, skip: str | Iterable[str] = (), only: str | Iterable[str] = ()) -> Document:
    """Leave out the sections that `skip` names, and all but those that `only` names; the text stays whole.

    A pattern is a regular expression searched in the heading, or the name of a kind ("references", "abstract",
    "appendix", "front"), case ignored. The result has its sections numbered anew; its report names the skipped
    sections, and the patterns that no section matches.

    Raises:
        OptionError: a pattern is no regular expression, or no section is left.
    """
    skip, only = one_or_more(skip), one_or_more(only)
    if not skip and not only:
        return document
    leave, keep = [*map(section_pattern, skip)], [*map(section_pattern, only)]
    kept: list[Section] = []
    skipped: list[str] = []
    for section in document.sections:
        wanted = not only or any(is_section(pattern, section.kind, section.heading) for pattern in keep)
        if wanted and not any(is_section(pattern, section.kind, section.heading) for pattern in leave):
            kept.append(replace(section, index=len(kept)))
        else:
            skipped.append(section.heading or f"({section.kind.value})")
    if not kept:
        raise OptionError(f"Change the section patterns: they leave no section of {document.path or document.title}.")
    report = replace(
        document.report,
        skipped_sections=(*document.report.skipped_sections, *skipped),
        unmatched_patterns=tuple(
            pattern.pattern
            for pattern in (*leave, *keep)
            if not any(is_section(pattern, section.kind, section.heading) for section in document.sections)
        ),
    )
    return replace(document, sections=tuple(kept), report=report)


def with_unmatched_patterns(*documents: Document) -> tuple[Document, ...]:
    """Add a warning for each pattern that matches no section of any of two or more documents: it may be misspelt."""
    first, *others = (document.report.unmatched_patterns for document in documents)
    nowhere = [pattern for pattern in first if all(pattern in patterns for patterns in others)]
    if not nowhere:
        return documents
    where = "the other document" if len(documents) == 2 else "the other documents"
    sentences = tuple(f"No section matches {pattern!r} here or in {where}." for pattern in nowhere)
    return tuple(
        replace(document, report=replace(document.report, warnings=(*document.report.warnings, *sentences)))
        for document in documents
    )


def section_pattern(pattern: str) -> re.Pattern[str]:
    """Compile the pattern of a section; see `select`.

    Raises:
        OptionError: it is no regular expression.
    """
    return compiled(pattern, f"section pattern {pattern!r}")


def compiled(pattern: str, named: str) -> re.Pattern[str]:
    """Compile a regular expression that a user wrote, case ignored; `named` says in the error which one it is.

    Raises:
        OptionError: it is no regular expression.
    """
    try:
        return re.compile(pattern, re.IGNORECASE)
    except (re.error, OverflowError, RecursionError) as error:
        raise OptionError(f"Correct the {named}: it is no regular expression ({error}).") from error


def is_section(pattern: re.Pattern[str], kind: str, heading: str) -> bool:
    """Whether a pattern names the kind of a section, or is found in its heading."""
    return pattern.pattern.casefold() == kind or bool(heading and pattern.search(heading))


def remove_spans(document: Document, spans: Sequence[Span], sections: Collection[int] = ()) -> Document:
    """Remove spans of bodies, and some sections whole; all offsets of the result refer to the remaining text.

    The spans ascend and do not overlap. A paragraph ends where one was removed, so that the words before and after it
    never read as one sentence. Sections are numbered anew; one without remaining text is removed as well.
    """
    ends = [span.end for span in spans]
    layout = _Layout(document.text)
    kept: list[Section] = []
    for section in document.sections:
        first, last = bisect_right(ends, section.body_start), bisect_right(ends, section.span.end)
        if section.index not in sections:
            moved = _move(section, spans[first:last], layout)
            kept += [replace(moved, index=len(kept))] if moved is not None else []
    starts = tuple(layout.moved(start) for start in document.page_starts)
    numbers = tuple(
        replace(number, start=layout.moved(number.start), end=layout.moved(number.end))
        for number in document.numbers
        if layout.keeps(number.start)
    )
    left = replace(document, text="\n\n".join(layout.pieces), sections=tuple(kept), page_starts=starts, numbers=numbers)
    if (ocr := document.report.ocr) is not None:
        moved_words = tuple((layout.moved(start), layout.moved(end)) for start, end in ocr.doubtful)
        left = replace(left, report=replace(left.report, ocr=replace(ocr, doubtful=moved_words)))
    return replace(left, sections=tuple(replace(one, pages=left.pages_of(one.span)) for one in kept))


@dataclass(slots=True)
class _Layout:
    """A new text made of pieces of an old text, with a blank line between them."""

    text: str  # the old text
    pieces: list[str] = field(default_factory=list)
    old: list[Span] = field(default_factory=list)  # span of each piece in the old text
    new: list[int] = field(default_factory=list)  # offset of each piece in the new text
    length: int = 0  # of the new text so far

    def add(self, piece: Span) -> int:
        """Add a piece; return its new offset."""
        start = self.length + 2 if self.pieces else 0
        self.pieces.append(self.text[piece.start : piece.end])
        self.old.append(piece)
        self.new.append(start)
        self.length = start + len(piece)
        return start

    def keeps(self, place: int) -> bool:
        """Whether an old offset is within a piece."""
        index = bisect_right(self.old, place, key=lambda piece: piece.start) - 1
        return index >= 0 and place < self.old[index].end

    def moved(self, place: int) -> int:
        """Map an old offset to the new one; a removed offset maps to the beginning of the next piece."""
        index = bisect_left(self.old, place, key=lambda piece: piece.end)
        if index == len(self.old):
            return self.length
        return self.new[index] + max(0, place - self.old[index].start)


def _move(section: Section, removed: Sequence[Span], layout: _Layout) -> Section | None:
    """Add a section to the new text, without the removed spans; None if nothing is left."""
    if not removed:
        shift = layout.add(section.span) - section.span.start
        span = Span(section.span.start + shift, section.span.end + shift)
        return replace(section, span=span, body_start=section.body_start + shift)
    bounds = [section.body_start, *(end for span in removed for end in (span.start, span.end)), section.span.end]
    pieces = [stripped(layout.text, *bounds[n : n + 2]) for n in range(0, len(bounds), 2)]
    heading = stripped(layout.text, section.span.start, section.body_start)
    places = [layout.add(piece) for piece in (heading, *pieces) if len(piece)]
    if not places:
        return None
    with_body = len(places) > (len(heading) > 0)
    body_start = places[len(heading) > 0] if with_body else layout.length
    return replace(section, span=Span(places[0], layout.length), body_start=body_start)
