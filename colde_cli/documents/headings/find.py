"""The headings of a document, from its outline, its type and its numbering, with their levels."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from colde_cli.documents.headings.bookmarks import with_outline
from colde_cli.documents.headings.choose import Heading, headings_by_type, join_heading, squeeze
from colde_cli.documents.headings.evidence import Scene, largest_lines
from colde_cli.documents.headings.names import is_references
from colde_cli.documents.headings.numbering import Number
from colde_cli.documents.pdf.lines import Bookmark, Line, Style, clean
from colde_cli.documents.pdf.prose import SOFT_HYPHEN

_LABEL = re.compile(r"(chapter|appendix|part|article|annex)\s+[\dIVXLA-Z]+[.:]?", re.IGNORECASE)


def find_headings(scene: Scene, outline: Sequence[Bookmark]) -> list[Heading]:
    """Headings in reading order, at most one per line."""
    by_type = headings_by_type(scene)
    by_outline = with_outline(scene, by_type, outline)
    headings = with_run_in(scene, by_type) if by_outline is None else by_outline
    return _levels(scene, _join_labels(scene, with_abstract(scene, headings)))


def _join_labels(scene: Scene, headings: Sequence[Heading]) -> list[Heading]:
    """A label alone on its line ("Chapter 3") becomes part of the title under it."""
    joined: list[Heading] = []
    for heading in headings:
        label = joined[-1] if joined else None
        if label and _labels(scene, label, heading):
            joined[-1] = replace(heading, first=label.first, text=f"{label.text} {heading.text}", level=1)
        else:
            joined.append(heading)
    return joined


def _labels(scene: Scene, label: Heading, heading: Heading) -> bool:
    close = heading.first - label.last <= 2
    same_page = scene.lines[label.first].page == scene.lines[heading.first].page
    return close and same_page and bool(_LABEL.fullmatch(label.text.strip()))


def _levels(scene: Scene, headings: Sequence[Heading]) -> list[Heading]:
    """Levels by the outline, by the depth of numbers, else by the style of headings of known level."""
    roman = sum(heading.number is not None and heading.number.scheme == "roman" for heading in headings) >= 2
    known: dict[Style, int] = {}
    levels = []
    for heading in headings:
        level = heading.level or _by_number(heading, roman=roman)
        levels.append(level)
        if level:
            known.setdefault(scene.lines[heading.last].style, level)
    sizes = sorted({scene.lines[heading.last].size for heading in headings}, reverse=True)
    levelled = []
    for heading, level in zip(headings, levels, strict=True):
        line = scene.lines[heading.last]
        by_style = known.get(line.style) or (1 if known else min(3, 1 + sizes.index(line.size)))
        levelled.append(replace(heading, level=level or by_style))
    return levelled


def _by_number(heading: Heading, *, roman: bool) -> int:
    """The depth of a number; in the order I, A, 1 where Roman numerals count the sections; 0 without one."""
    number = heading.number
    if number is None:
        return 0
    if number.scheme in ("decimal", "letter"):
        above = {"decimal": 2, "letter": 1}[number.scheme] if roman and len(number.parts) == 1 else 0
        return len(number.parts) + above
    return 1


_CLAUSE = re.compile(r"^(\d{1,2})\.?\s+([A-Z][^.:]{1,79}[^.:\s][.:])(?=\s+\S|$)")
_FEWEST = 3
_SHARE = 0.35


def with_run_in(scene: Scene, headings: Sequence[Heading]) -> list[Heading]:
    """Headings, and clauses 1, 2, 3, ... that open a line, where there is a long row of them."""
    printed = {
        heading.number.parts[0]: heading.first
        for heading in headings
        if heading.number and heading.number.scheme == "decimal" and len(heading.number.parts) == 1
    }
    last = min(
        (heading.first for heading in headings if is_references(heading.text)), default=len(scene.lines)
    )
    row: list[Heading] = []
    wanted = 1
    for index in range(last):
        found = _CLAUSE.match(scene.lines[index].text)
        if not found or len(found.group(2).split()) > 9:
            continue
        while printed.get(wanted, index) < index:  # a heading of its own line has this number
            wanted += 1
        if int(found.group(1)) == wanted:
            row.append(_run_in(index, found, wanted))
            wanted += 1
    own = sum(heading.number is None for heading in headings)
    if len(row) < _FEWEST or len(row) < _SHARE * (wanted - 1) or len(row) < own:
        return list(headings)  # too few, or a list in a text with headings of another kind
    clauses = {heading.first: heading for heading in row}
    clauses.update((heading.first, heading) for heading in headings if heading.first not in clauses)
    return [clauses[first] for first in sorted(clauses)]


def _run_in(index: int, found: re.Match[str], value: int) -> Heading:
    number = Number("decimal", (value,), found.group(2))
    ends = None if found.end() == len(found.string) else found.end()
    return Heading(index, index, found.group(0), 1, 4.0, number, run_in=ends)


_ABSTRACT = re.compile(r"^((?:Abstract|ABSTRACT|Summary|SUMMARY)\s*(?:[.:—–]|-+))\s*\S")


def with_abstract(scene: Scene, headings: Sequence[Heading]) -> list[Heading]:
    """Headings, and an abstract that opens with its name on a line of text before the first of them."""
    end = min((heading.first for heading in headings), default=len(scene.lines))
    for index, line in enumerate(scene.lines[:end]):
        found = _ABSTRACT.match(line.text)
        if found and line.page <= 3:
            text = re.sub(r"\W+$", "", found.group(1))
            return [Heading(index, index, text, 1, 4.0, run_in=found.end(1)), *headings]
    return list(headings)


_LONGEST = 300
_YEAR = re.compile(r"\b(19|20)\d\d\b")
# Lines of the first page among which a title may stand that is no larger than the text.
_HEAD = 12
_NO_TITLE = re.compile(
    r"untitled|^document\W*\d*$|microsoft|^\W*$|\.(docx?|tex|dvi|pdf|indd|qxd|rtf|ps)$|[\\/]", re.IGNORECASE
)


def find_title(scene: Scene, metadata: str) -> str:
    """The printed title; the metadata's where none stands out; a line of capitals at the head; else ""."""
    first = [line for line in scene.lines if line.page == scene.lines[0].page] if scene.lines else []
    stated = clean(metadata)
    if len(squeeze(stated)) >= 8:
        printed = _printed(first, squeeze(stated))
        if printed:
            return printed
    largest = _largest(first, scene.body_size)
    if largest:
        return largest
    return _capitals(first) if _NO_TITLE.search(stated) or len(stated) < 4 else stated


def _printed(lines: Sequence[Line], wanted: str) -> str:
    """The lines that spell a title known from the metadata."""
    for start, line in enumerate(lines):
        spelt, text = squeeze(line.text), line.text
        if not spelt or not wanted.startswith(spelt):
            continue
        for following in lines[start + 1 :]:
            if spelt == wanted or not wanted.startswith(spelt + squeeze(following.text)):
                break
            spelt, text = spelt + squeeze(following.text), join_heading(text, following.text)
        if spelt == wanted:
            return text.replace(SOFT_HYPHEN, "")
    return ""


def _capitals(lines: Sequence[Line]) -> str:
    """The first lines in capitals of three words or more near the head of the page, as drafts and contracts have."""
    text = ""
    for line in lines[:_HEAD]:
        if line.title.isupper() and not _YEAR.search(line.title) and (text or _is_a_phrase(line.title)):
            text = join_heading(text, line.title) if text else line.title
        elif text:
            break
    return text.replace(SOFT_HYPHEN, "")[:_LONGEST]


def _is_a_phrase(text: str) -> bool:
    words = [word for word in text.split() if sum(letter.isalpha() for letter in word) >= 2]
    return len(words) >= 2 and sum(map(len, words)) >= 12


def _largest(lines: Sequence[Line], body_size: float) -> str:
    """The run of lines in the largest type, if it is larger than the text."""
    text = ""
    for index in largest_lines(lines, body_size):
        text = join_heading(text, lines[index].title) if text else lines[index].title
    return text.replace(SOFT_HYPHEN, "")[:_LONGEST]
