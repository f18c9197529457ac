"""Lines and headings to the text and sections of a document."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from colde_cli.documents.document import PLAIN_WORDS, Section, SectionKind, Span, pages_of
from colde_cli.documents.headings.choose import Heading
from colde_cli.documents.headings.names import kind_of
from colde_cli.documents.headings.scene import Scene
from colde_cli.documents.hyphenation import Hyphens
from colde_cli.documents.pdf.lines import Line
from colde_cli.documents.pdf.prose import Geometry, Writer, paragraphs


@dataclass(frozen=True, slots=True)
class Composition:
    """Text, sections and where pages begin."""

    text: str
    sections: tuple[Section, ...]
    page_starts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Draft:
    """A section before its pages are known."""

    heading: str
    level: int
    kind: SectionKind
    span: Span
    body_start: int


def compose(scene: Scene, headings: Sequence[Heading], pages: int) -> Composition:
    """Write all lines as paragraphs under their headings."""
    writer = Writer(pages, Hyphens(line.text for line in scene.lines))
    geometry = Geometry(scene.lines, scene.body_size)
    drafts: list[_Draft] = []
    end = headings[0].first if headings else len(scene.lines)
    kind = SectionKind.FRONT if headings else SectionKind.BODY
    drafts.extend(_without_heading(writer, geometry, scene.lines[:end], kind))
    ends = [*(heading.first for heading in headings[1:]), len(scene.lines)]
    for heading, end in zip(headings, ends, strict=False):  # without headings there is one end too many
        kind = kind_of(heading.text, kind)
        drafts.append(_with_heading(writer, geometry, scene.lines[heading.first : end], heading, kind))
    text = writer.text()
    starts = tuple(writer.page_starts)
    sections = tuple(
        Section(index, *_values(draft), pages_of(starts, draft.span)) for index, draft in enumerate(drafts)
    )
    return Composition(text, sections, starts)


def _values(draft: _Draft) -> tuple[str, int, SectionKind, Span, int]:
    return draft.heading, draft.level, draft.kind, draft.span, draft.body_start


def _without_heading(
    writer: Writer, geometry: Geometry, lines: Sequence[Line], kind: SectionKind
) -> Iterator[_Draft]:
    """Sections of about `PLAIN_WORDS` words; a front part longer than one of them is body."""
    if sum(line.text.count(" ") + 1 for line in lines) > PLAIN_WORDS:
        kind = SectionKind.BODY
    start, words = -1, 0
    for paragraph in paragraphs(geometry, lines):
        at = writer.paragraph(paragraph)
        start = at if start < 0 else start
        words += sum(line.text.count(" ") + 1 for line in paragraph)
        if words >= PLAIN_WORDS:
            yield _Draft("", 0, kind, Span(start, writer.length), start)
            start, words = -1, 0
    if start >= 0:
        yield _Draft("", 0, kind, Span(start, writer.length), start)


def _with_heading(
    writer: Writer, geometry: Geometry, lines: Sequence[Line], heading: Heading, kind: SectionKind
) -> _Draft:
    count = heading.last - heading.first + 1
    printed, body = list(lines[:count]), list(lines[count:])
    if heading.run_in is not None:
        line = printed[0]
        rest = replace(line, text=line.text[heading.run_in :].lstrip())
        printed[0] = replace(line, text=line.text[: heading.run_in])
        body.insert(0, rest)
    start = writer.paragraph(printed)
    body_start = writer.length
    for position, paragraph in enumerate(paragraphs(geometry, body)):
        at = writer.paragraph(paragraph)
        body_start = body_start if position else at
    return _Draft(heading.text, heading.level, kind, Span(start, writer.length), body_start)
