"""Formatting that changed where the words stayed: of letters (`w:rPrChange`) and of paragraphs (`w:pPrChange`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from typing import TYPE_CHECKING

from docx.oxml.ns import qn

from colde_cli.views.word.markup import Element, Marker, build, child
from colde_cli.views.word.stories import RUN, StoryParagraph

if TYPE_CHECKING:
    from colde_cli.views.word.stories import RunPiece

# In the order of the schema.
_OF_LETTERS = [
    qn(f"w:{name}")
    for name in "rStyle rFonts b bCs i iCs caps smallCaps strike dstrike outline shadow emboss imprint noProof"
    " snapToGrid vanish webHidden color spacing w kern position sz szCs highlight u effect bdr shd fitText vertAlign"
    " rtl cs em lang eastAsianLayout specVanish oMath rPrChange".split()
]
_OF_PARAGRAPHS = [
    qn(f"w:{name}")
    for name in "pStyle keepNext keepLines pageBreakBefore framePr widowControl numPr suppressLineNumbers pBdr shd tabs"
    " suppressAutoHyphens kinsoku wordWrap overflowPunct topLinePunct autoSpaceDE autoSpaceDN bidi adjustRightInd"
    " snapToGrid spacing ind contextualSpacing mirrorIndents suppressOverlap jc textDirection textAlignment"
    " textboxTightWrap outlineLvl divId cnfStyle rPr sectPr pPrChange".split()
]
COMPARED = tuple(
    qn(f"w:{name}") for name in "pStyle numPr keepNext keepLines pageBreakBefore spacing ind jc outlineLvl".split()
)
"""The properties of a paragraph whose changes are recorded."""
_LETTERS = frozenset(
    qn(f"w:{name}")
    for name in "rStyle rFonts b i caps smallCaps strike dstrike vanish color sz highlight u vertAlign".split()
)
"""The properties of letters whose changes are recorded; others, such as the language, no reader sees."""
_OFF = ("0", "false", "off", "none")
_Value = tuple[str, tuple[tuple[str, str], ...]]


@dataclass(frozen=True, slots=True)
class ChangedLook:
    """Characters [start, end) of a paragraph of A whose letters look as `properties` in B; None for no properties."""

    start: int
    end: int
    properties: Element | None


def values(properties: Element | None, name: str) -> list[_Value]:
    """A property as names and values."""
    found = None if properties is None else properties.find(name)
    if found is None:
        return []
    return [_value(inner) for inner in found.iter() if inner.tag != qn("w:ins")]


def _value(element: Element) -> _Value:
    return element.tag, tuple(sorted((key, value) for key, value in element.attrib.items() if "rsid" not in key))


def insert_property(properties: Element, made: Element) -> None:
    """Insert a property of a paragraph at its place in the order of the schema."""
    _insert(properties, made, _OF_PARAGRAPHS)


def _insert(properties: Element, made: Element, order: list[str]) -> None:
    before = order[: order.index(made.tag)]
    later = [item for item in properties if item.tag not in before]
    later[0].addprevious(made) if later else properties.append(made)


def changed_looks(
    a: StoryParagraph, b: StoryParagraph, starts: tuple[int, int], length: int, adopted: Callable[[Element], Element]
) -> Iterator[ChangedLook]:
    """Find the letters that look different in a stretch of so many characters, which `starts` there in both.

    `adopted` makes properties of B fit for A.
    """
    waiting: tuple[ChangedLook, Element, Element] | None = None
    for start, end, one, other in _overlaps(a, b, starts, length):
        old, new = one.run.find(qn("w:rPr")), other.run.find(qn("w:rPr"))
        if _look(old) == _look(new):
            continue
        if new is not None:
            new = adopted(deepcopy(new))
            if _look(old) == _look(new):
                continue
        if waiting is not None and waiting[0].end == start and waiting[1:] == (one.run, other.run):
            waiting = ChangedLook(waiting[0].start, end, waiting[0].properties), one.run, other.run
            continue
        if waiting is not None:
            yield waiting[0]
        waiting = ChangedLook(start, end, new), one.run, other.run
    if waiting is not None:
        yield waiting[0]


def _overlaps(
    a: StoryParagraph, b: StoryParagraph, starts: tuple[int, int], length: int
) -> Iterator[tuple[int, int, RunPiece, RunPiece]]:
    """Yield the words that a piece of A and a piece of B share, in characters of A."""
    shift = starts[0] - starts[1]
    pieces = [
        [one for one in paragraph.segments if one.end > start and one.start < start + length]
        for paragraph, start in zip((a, b), starts, strict=True)
    ]
    left, right = 0, 0
    while left < len(pieces[0]) and right < len(pieces[1]):
        one, other = pieces[0][left], pieces[1][right]
        start = max(one.start, other.start + shift, starts[0])
        end = min(one.end, other.end + shift, starts[0] + length)
        letters = one.child.tag == other.child.tag == qn("w:t") and one.run.tag == other.run.tag == RUN
        if start < end and letters and not a.raw[start:end].isspace():
            yield start, end, one, other
        if one.end <= other.end + shift:
            left += 1
        else:
            right += 1


def _look(properties: Element | None) -> frozenset[_Value]:
    """What is compared of the look of letters; what is switched off is as what is not stated."""
    if properties is None:
        return frozenset()
    stated = (item for item in properties if item.tag in _LETTERS and item.get(qn("w:val")) not in _OFF)
    return frozenset((tag, _switch(inner)) for tag, inner in map(_value, stated))


def _switch(attributes: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    return () if attributes in [((qn("w:val"), value),) for value in ("1", "true", "on")] else attributes


def change_look(run: Element, look: ChangedLook, marker: Marker) -> None:
    """Give a run another look, with a record of the earlier one; a run with an earlier record keeps that."""
    properties = child(run, "w:rPr", first=True)
    if properties.find(qn("w:rPrChange")) is not None:
        return
    record = marker.element("w:rPrChange")
    record.append(build("w:rPr", *map(deepcopy, properties)))
    for item in [item for item in properties if item.tag in _LETTERS]:
        properties.remove(item)
    for item in () if look.properties is None else look.properties:
        if item.tag in _LETTERS:
            _insert(properties, deepcopy(item), _OF_LETTERS)
    properties.append(record)
    marker.formatted += 1
