"""The styles of a Word file, how letters look as far as it matters to their text, and its lists, as Word counts."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from colde_cli.documents.clause_numbers import DEEPEST, UNCOUNTED, Counted, LevelCounts, NumberedLevel
from colde_cli.documents.notation import TICKED, UNTICKED
from colde_cli.documents.office.archive import Attributes
from colde_cli.documents.office.body import LEVEL, Letters, Styles, TextStyle, whole
from colde_cli.documents.symbol_fonts import is_symbol_font

_HEADING = re.compile(r"heading ?([1-9])")
_CONTENTS = re.compile(r"toc ?(\d|heading)|table of figures")
_BODY_LEVEL = 9  # `w:outlineLvl` of text that is no heading; 0 is the outermost heading
_RAISED = 4  # half points: less serves only to align letters
_TINY = 4  # half points
_SCRIPTS = {"superscript": 1, "subscript": -1}
_WHITE = "ffffff"
_CHANGES = frozenset(("w:pPrChange", "w:rPrChange"))  # records of earlier properties


def switched_on(attributes: Attributes) -> bool:
    """Whether an on-off property of Word is on; without a value it is."""
    return attributes.get("w:val", "true") not in ("0", "false", "off", "none")


def outline_level(value: str) -> int | None:
    """Parse the level of a heading, 1 the outermost; 0 for text; None if it is not stated."""
    level = whole(value, None, LEVEL)
    return None if level is None else level + 1 if level < _BODY_LEVEL else 0


def is_shaded(attributes: Attributes) -> bool:
    """Whether `w:shd` puts a colour behind letters."""
    return attributes.get("w:fill", "auto").lower() not in ("auto", _WHITE)


def state_letters(letters: dict[str, Any], name: str, attributes: Attributes) -> None:
    """Note what an element of `w:rPr` states: hidden, struck, script and font, as in `Letters`; white, tiny, shaded."""
    value = attributes.get("w:val", "")
    match name:
        case "w:vanish":
            letters["hidden"] = switched_on(attributes)
        case "w:strike":
            letters["struck"] = switched_on(attributes)
        case "w:dstrike":
            letters["struck"] = switched_on(attributes) or letters.get("struck", False)
        case "w:vertAlign":
            letters["script"] = _SCRIPTS.get(value, 0)
        case "w:position" if not letters.get("script"):
            height = int(value) if value.lstrip("-").isdecimal() and len(value) < 6 else 0
            letters["script"] = (height >= _RAISED) - (height <= -_RAISED)
        case "w:rFonts" if "w:asciiTheme" not in attributes:
            font = attributes.get("w:ascii", attributes.get("w:hAnsi"))
            if font is not None:
                letters["font"] = font if is_symbol_font(font) else ""
        case "w:color":
            letters["white"] = value.lower() == _WHITE
        case "w:sz":
            letters["tiny"] = value.isdecimal() and len(value) < 6 and int(value) <= _TINY
        case "w:highlight":
            letters["shaded"] = value not in ("none", "white")
        case "w:shd":
            letters["shaded"] = is_shaded(attributes)


def _combined(paragraph: dict[str, Any], run: dict[str, Any], direct: dict[str, Any]) -> Letters:
    """Combine what the styles of the paragraph and of the run, and the run itself, state.

    The switches of two styles cancel each other (ECMA-376 part 1, § 17.7.3).
    """
    stated = paragraph | run | direct
    hidden, struck = (
        direct.get(name, bool(paragraph.get(name)) != bool(run.get(name))) for name in ("hidden", "struck")
    )
    white = stated.get("white") and not stated.get("shaded")
    faint = "white letters" if white else "tiny letters" if stated.get("tiny") else ""
    return Letters(hidden, struck, stated.get("script", 0), stated.get("font", ""), faint)


class StyleList(NamedTuple):
    """The list, and the level in it, of the paragraphs of a style; the style and those that it is based on."""

    number: str
    level: str
    styles: tuple[str, ...]


@dataclass(slots=True)
class WordStyles(Styles):
    """The styles part. Identifiers are unique among all families in Word; all are kept as paragraph styles."""

    _stated: dict[str, dict[str, Any]] = field(default_factory=dict)
    _letters: dict[tuple[str, str], Letters] = field(default_factory=dict)
    _lists: dict[str, StyleList] = field(default_factory=dict)
    _within_old: int = 0  # inside a record of changed properties

    def start(self, name: str, attributes: Attributes) -> None:
        """Record a style or one of its properties."""
        style, value = self._current, attributes.get("w:val", "")
        if name == "w:style":
            self._current = TextStyle()
            self._styles["paragraph", attributes.get("w:styleId", "")] = self._current
        elif name in _CHANGES:
            self._within_old += 1
        elif self._within_old:
            return
        elif name == "w:name":
            style.name = value.lower()
        elif name == "w:basedOn":
            style.based_on = value
        elif name == "w:outlineLvl":
            style.level = outline_level(value)
        elif name == "w:numId":
            style.list = value or None
        elif name == "w:ilvl":
            style.list_level = value or None
        else:
            state_letters(style.letters, name, attributes)

    def end(self, name: str) -> None:
        """Leave a record, or the properties of a table style, which hold for some of its cells."""
        self._within_old -= name in _CHANGES
        if name == "w:style":
            self._current = TextStyle()

    def level(self, identifier: str) -> int:
        """Find the level of a heading style by its name ("heading 2") or outline level; 0 for any other style."""
        for style in self.lineage("paragraph", identifier):
            if match := _HEADING.fullmatch(style.name):
                return int(match.group(1))
            if style.level is not None:
                return style.level
        return 0

    def list_of(self, identifier: str) -> StyleList:
        """The list that a style states, or one that it is based on."""
        if identifier not in self._lists:
            lineage = self.lineage("paragraph", identifier)
            number, level = (self.stated("paragraph", identifier, name) or "" for name in ("list", "list_level"))
            names = (identifier, *(style.based_on for style in lineage))
            self._lists[identifier] = StyleList(number, level, tuple(filter(None, names)))
        return self._lists[identifier]

    def is_contents(self, identifier: str) -> bool:
        """Whether it is a style of the table of contents."""
        return any(_CONTENTS.fullmatch(style.name) for style in self.lineage("paragraph", identifier))

    def letters(self, paragraph: str, run: str, direct: dict[str, Any]) -> Letters:
        """How the letters of a run look.

        Args:
            paragraph: the style of the paragraph, or "".
            run: the style of the run, or "".
            direct: what the run itself states; see `state_letters`.
        """
        if direct:
            return _combined(self._stated_by(paragraph), self._stated_by(run), direct)
        if (known := self._letters.get((paragraph, run))) is None:
            known = _combined(self._stated_by(paragraph), self._stated_by(run), {})
            self._letters[paragraph, run] = known
        return known

    def _stated_by(self, identifier: str) -> dict[str, Any]:
        if identifier not in self._stated:
            self._stated[identifier] = self.letters_of("paragraph", identifier)
        return self._stated[identifier]


BOXES = {**dict.fromkeys("☑☒✓✔✕✖✗✘☓🗷🗹🗸🗶⌧🗵●◉⦿", TICKED), **dict.fromkeys("☐□▢◻⬜○◯❑❒", UNTICKED)}
"""The box of a form that a letter shows, ticked or not."""


@dataclass(slots=True)
class _ListLevel(NumberedLevel):
    """A level of numbered lists; `style` is that of the paragraphs that are on it."""

    style: str = ""

    def take(self, name: str, attributes: Attributes) -> None:
        value = attributes.get("w:val", "")
        match name:
            case "w:start":
                self.start = whole(value, 1)
            case "w:numFmt" if not self.form[:1].isdigit():  # a fallback follows a form of one's own
                self.form = attributes.get("w:format", "") if value == "custom" else value
            case "w:lvlText":
                self.text = value
            case "w:pStyle":
                self.style = value
            case "w:isLgl":
                self.legal = switched_on(attributes)
            case "w:lvlRestart":
                self.restart = whole(value, 0)


_Levels = dict[int, _ListLevel]


class Numbering:
    """The definitions of numbered lists, from the elements of their part (ECMA-376 part 1, § 17.9)."""

    def __init__(self, elements: Iterable[tuple[str, Attributes, str]] = ()) -> None:
        self._patterns: dict[str, str] = {}  # list -> abstract list
        self._linked: dict[str, str] = {}  # abstract list -> style that names another
        self._defining: dict[str, str] = {}  # style -> abstract list that it names
        self._levels: dict[str, _Levels] = {}  # by abstract list
        self._own: dict[str, _Levels] = {}  # by list: levels of its own
        self._starts: dict[tuple[str, int], int] = {}  # by list and level
        self._known: dict[str, _Levels] = {}
        abstract = numbered = ""
        overridden = 0
        level = _ListLevel()
        for name, attributes, _ in elements:
            value = attributes.get("w:val", "")
            match name:
                case "w:abstractNum":
                    abstract, numbered = attributes.get("w:abstractNumId", ""), ""
                case "w:num":
                    numbered = attributes.get("w:numId", "")
                case "w:abstractNumId":
                    self._patterns[numbered] = value
                case "w:numStyleLink":
                    self._linked[abstract] = value
                case "w:styleLink":
                    self._defining[value] = abstract
                case "w:lvlOverride":
                    overridden = whole(attributes.get("w:ilvl", ""), 0)
                case "w:startOverride":
                    self._starts[numbered, overridden] = whole(value, 1)
                case "w:lvl":
                    of_list = self._own.setdefault(numbered, {}) if numbered else self._levels.setdefault(abstract, {})
                    level = of_list[whole(attributes.get("w:ilvl", ""), 0)] = _ListLevel()
                case _:
                    level.take(name, attributes)

    def pattern(self, number: str) -> str:
        """The abstract list of a list: all its lists count together."""
        abstract = self._patterns.get(number, "")
        return self._defining.get(self._linked.get(abstract, ""), abstract)

    def levels(self, number: str) -> _Levels:
        """The levels of a list, the outermost 0."""
        if number not in self._known:
            levels = self._levels.get(self.pattern(number), {}) | self._own.get(number, {})
            starts = {at: self._starts.get((number, at), one.start) for at, one in levels.items()}
            self._known[number] = {at: replace(one, start=starts[at]) for at, one in levels.items()}
        return self._known[number]

    def level_of(self, number: str, styles: Iterable[str]) -> str:
        """The level of a list that belongs to the first of some styles that has one; "" for none."""
        of_style = {one.style: at for at, one in self.levels(number).items() if one.style}
        return next((str(of_style[style]) for style in styles if style in of_style), "") if of_style else ""

    def starts_again(self, number: str, level: int) -> bool:
        """Whether a list has a first number of its own on a level."""
        return (number, level) in self._starts

    def counts(self, number: str) -> bool:
        """Whether items of a list have numbers, on any level."""
        return any(one.form not in UNCOUNTED for one in self.levels(number).values())


class NumberCounter:
    """Counts the paragraphs of one flow of text: the body, a note, the text boxes."""

    def __init__(self, numbering: Numbering) -> None:
        self._numbering = numbering
        self._counts: dict[str, LevelCounts] = {}  # by abstract list
        self._begun: set[tuple[str, int]] = set()  # lists and levels that had an item

    def count(self, number: str, level: str) -> Counted | None:
        """Count a paragraph on a level of a list; None where it shows no number."""
        levels, at = self._numbering.levels(number), whole(level, 0)
        if at not in levels or at >= DEEPEST:
            return None
        counts = self._counts.setdefault(self._numbering.pattern(number), LevelCounts())
        anew = (number, at) not in self._begun and self._numbering.starts_again(number, at)
        self._begun.add((number, at))
        return counts.count(levels, at, levels[at].start if anew else None)
