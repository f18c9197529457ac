"""The styles and the numbered lists of a Word file, and how letters look, as far as it matters to their text."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from colde_cli.documents.office.archive import XmlHandler
from colde_cli.documents.office.body import Styles, TextStyle
from colde_cli.documents.office.symbols import is_symbol_font

_HEADING = re.compile(r"heading ?([1-9])")
_CONTENTS = re.compile(r"toc ?(\d|heading)|table of figures")
_UNCOUNTED = frozenset(("bullet", "none"))  # marks of lists that are no numbers
_BODY_LEVEL = 9  # `w:outlineLvl` of text that is no heading; 0 is the outermost heading
_RAISED = 4  # half points: less serves only to align letters
_TINY = 4  # half points
_SCRIPTS = {"superscript": 1, "subscript": -1}
_WHITE = "ffffff"


@dataclass(slots=True)
class LetterProperties:
    """What a style or a run states of its letters; None where it does not.

    Attributes:
        script: 1 raised, -1 lowered, 0 neither.
        font: a font of symbols, or "".
        white, tiny, shaded: of letters that cannot be seen on paper.
    """

    hidden: bool | None = None
    struck: bool | None = None
    script: int | None = None
    font: str | None = None
    white: bool | None = None
    tiny: bool | None = None
    shaded: bool | None = None

    def take(self, name: str, attributes: dict[str, str]) -> None:
        """Take a property, an element of `w:rPr`."""
        value = attributes.get("w:val", "")
        if name == "w:vanish":
            self.hidden = switched_on(attributes)
        elif name in ("w:strike", "w:dstrike"):
            self.struck = switched_on(attributes) or (name == "w:dstrike" and bool(self.struck))
        elif name == "w:vertAlign":
            self.script = _SCRIPTS.get(value, 0)
        elif name == "w:position" and not self.script:
            height = int(value) if value.lstrip("-").isdecimal() and len(value) < 6 else 0
            self.script = (height >= _RAISED) - (height <= -_RAISED)
        elif name == "w:rFonts" and "w:asciiTheme" not in attributes:
            stated = attributes.get("w:ascii", attributes.get("w:hAnsi"))
            self.font = self.font if stated is None else stated if is_symbol_font(stated) else ""
        elif name == "w:color":
            self.white = value.lower() == _WHITE
        elif name == "w:sz":
            self.tiny = value.isdecimal() and len(value) < 6 and int(value) <= _TINY
        elif name == "w:highlight":
            self.shaded = value not in ("none", "white")
        elif name == "w:shd":
            self.shaded = attributes.get("w:fill", "auto").lower() not in ("auto", _WHITE)


LETTER_PROPERTIES = frozenset(
    f"w:{name}" for name in "vanish strike dstrike vertAlign position rFonts color sz highlight shd".split()
)
"""The elements that `LetterProperties.take` knows."""


@dataclass(frozen=True, slots=True)
class Letters:
    """How letters look, from all that is stated of them; see `LetterProperties`.

    Attributes:
        faint: why they cannot be seen, though they are not marked as hidden; "" if they can be.
    """

    hidden: bool = False
    struck: bool = False
    script: int = 0
    font: str = ""
    faint: str = ""

    @classmethod
    def of(cls, paragraph: LetterProperties, run: LetterProperties, direct: LetterProperties) -> Letters:
        """Combine what the styles of the paragraph and of the run, and the run itself, state.

        The switches of two styles cancel each other (ECMA-376 part 1, § 17.7.3).
        """
        steps = (direct, run, paragraph)
        hidden = bool(paragraph.hidden) != bool(run.hidden) if direct.hidden is None else direct.hidden
        struck = bool(paragraph.struck) != bool(run.struck) if direct.struck is None else direct.struck
        white = _first(step.white for step in steps) and not _first(step.shaded for step in steps)
        faint = "white letters" if white else "tiny letters" if _first(step.tiny for step in steps) else ""
        script = next((step.script for step in steps if step.script is not None), 0)
        font = next((step.font for step in steps if step.font is not None), "")
        return cls(hidden, struck, script, font, faint)


def _first(values: Iterable[bool | None]) -> bool:
    return next((value for value in values if value is not None), False)


@dataclass(slots=True)
class WordStyle(TextStyle):
    """A style of Word.

    Attributes:
        letters: what it states of its letters.
        list_level: of its list; "" if it is not stated.
    """

    letters: LetterProperties = field(default_factory=LetterProperties)
    list_level: str = ""


@dataclass(slots=True)
class WordStyles(Styles):
    """The styles part. Identifiers are unique among all families in Word; all are kept as paragraph styles."""

    _current: TextStyle = field(default_factory=WordStyle)
    _combined: dict[str, LetterProperties] = field(default_factory=dict)
    _letters: dict[tuple[str, str], Letters] = field(default_factory=dict)
    _within_old: int = 0  # inside a record of changed properties

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Record a style or one of its properties."""
        style, value = self._current, attributes.get("w:val", "")
        assert isinstance(style, WordStyle), "it makes no other styles"
        if name == "w:style":
            self._current = WordStyle()
            self._styles["paragraph", attributes.get("w:styleId", "")] = self._current
        elif name in ("w:pPrChange", "w:rPrChange"):
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
            style.list = value
        elif name == "w:ilvl":
            style.list_level = value
        elif name in LETTER_PROPERTIES:
            style.letters.take(name, attributes)

    def end(self, name: str) -> None:
        """Leave a record, or the properties of a table style, which hold for some of its cells."""
        self._within_old -= name in ("w:pPrChange", "w:rPrChange")
        if name == "w:style":
            self._current = WordStyle()

    def level(self, identifier: str) -> int:
        """Find the level of a heading style by its name ("heading 2") or outline level; 0 for any other style."""
        for style in self.lineage("paragraph", identifier):
            if match := _HEADING.fullmatch(style.name):
                return int(match.group(1))
            if style.level is not None:
                return style.level
        return 0

    def is_contents(self, identifier: str) -> bool:
        """Whether it is a style of the table of contents."""
        return any(_CONTENTS.fullmatch(style.name) for style in self.lineage("paragraph", identifier))

    def list_of(self, identifier: str) -> tuple[str, str]:
        """The list of a paragraph style, and its level in it; each "" if it is not stated."""
        styles = [style for style in self.lineage("paragraph", identifier) if isinstance(style, WordStyle)]
        lists = (style.list for style in styles if style.list)
        return next(lists, ""), next((style.list_level for style in styles if style.list_level), "")

    def letters(self, paragraph: str, run: str, direct: LetterProperties | None = None) -> Letters:
        """How the letters of a run look.

        Args:
            paragraph: the style of the paragraph, or "".
            run: the style of the run, or "".
            direct: what the run itself states; None for nothing.
        """
        if direct is not None:
            return Letters.of(self._stated(paragraph), self._stated(run), direct)
        key = paragraph, run
        if key not in self._letters:
            self._letters[key] = Letters.of(self._stated(paragraph), self._stated(run), LetterProperties())
        return self._letters[key]

    def _stated(self, identifier: str) -> LetterProperties:
        """What a style and those it is based on state of letters."""
        if identifier not in self._combined:
            found = LetterProperties()
            for style in reversed(self.lineage("paragraph", identifier)):
                if isinstance(style, WordStyle):
                    for name in LetterProperties.__slots__:
                        value = getattr(style.letters, name)
                        setattr(found, name, getattr(found, name) if value is None else value)
            self._combined[identifier] = found
        return self._combined[identifier]


@dataclass(slots=True)
class WordListLevel:
    """A level of numbered lists.

    Attributes:
        start: its first number.
        form: "decimal", "lowerRoman", "bullet".
        text: of its numbers, `Article %1.`.
        style: of the paragraphs that are on this level.
        legal: all numbers are written as 1, 2, 3.
    """

    start: str = "1"
    form: str = "decimal"
    text: str = ""
    style: str = ""
    legal: bool = False


@dataclass(slots=True)
class Numbering(XmlHandler):
    """The part with the numbered lists, and those that are in use, in the order of the text."""

    used: dict[str, None] = field(default_factory=dict)  # a set that keeps its order
    _seen: set[tuple[str, str]] = field(default_factory=set)
    _levels: dict[str, dict[str, WordListLevel]] = field(default_factory=dict)  # by abstract list
    _patterns: dict[str, str] = field(default_factory=dict)  # list -> abstract list
    _linked: dict[str, str] = field(default_factory=dict)  # abstract list -> style that names another
    _defining: dict[str, str] = field(default_factory=dict)  # style -> abstract list that it names
    _own: dict[str, dict[str, WordListLevel]] = field(default_factory=dict)  # by list: levels of its own
    _starts: dict[tuple[str, str], str] = field(default_factory=dict)  # by list and level
    _abstract: str = ""
    _list: str = ""
    _number: str = ""  # of the level
    _level: WordListLevel = field(default_factory=WordListLevel)

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Record a list, a level or one of its properties."""
        value = attributes.get("w:val", "")
        if name == "w:abstractNum":
            self._abstract, self._list = attributes.get("w:abstractNumId", ""), ""
        elif name == "w:num":
            self._list = attributes.get("w:numId", "")
        elif name == "w:abstractNumId":
            self._patterns[self._list] = value
        elif name == "w:numStyleLink":
            self._linked[self._abstract] = value
        elif name == "w:styleLink":
            self._defining[value] = self._abstract
        elif name == "w:lvlOverride":
            self._number = attributes.get("w:ilvl", "")
        elif name == "w:startOverride":
            self._starts[self._list, self._number] = value
        elif name == "w:lvl":
            self._level = WordListLevel()
            levels = self._own if self._list else self._levels
            levels.setdefault(self._list or self._abstract, {})[attributes.get("w:ilvl", "0")] = self._level
        else:
            self._property(name, value, attributes)

    def _property(self, name: str, value: str, attributes: dict[str, str]) -> None:
        if name == "w:start":
            self._level.start = value
        elif name == "w:numFmt":
            self._level.form = value
        elif name == "w:lvlText":
            self._level.text = value
        elif name == "w:pStyle":
            self._level.style = value
        elif name == "w:isLgl":
            self._level.legal = switched_on(attributes)

    def use(self, number: str, level: str, style: str) -> bool:
        """Note that a paragraph is in a list; return whether the list is counted.

        Args:
            number: of the list.
            level: in the list; "" takes that of the paragraph's style.
            style: of the paragraph.
        """
        levels = self._levels_of(number)
        of_style = (key for key, one in levels.items() if one.style and one.style == style)
        level = level or next(of_style, "0")
        found = levels.get(level)
        if found is None or found.form in _UNCOUNTED:
            return any(one.form not in _UNCOUNTED for one in levels.values())
        if (number, level) not in self._seen:
            self._seen.add((number, level))
            start = self._starts.get((number, level), found.start)
            # Editors split and join lists of one definition as they like; each counts once.
            self.used.setdefault(f"numbered “{found.text}”{self._forms(found, levels)} from {start}")
        return True

    def _levels_of(self, number: str) -> dict[str, WordListLevel]:
        abstract = self._patterns.get(number, "")
        abstract = self._defining.get(self._linked.get(abstract, ""), abstract)
        return self._levels.get(abstract, {}) | self._own.get(number, {})

    @staticmethod
    def _forms(level: WordListLevel, levels: dict[str, WordListLevel]) -> str:
        """The forms of the numbers that the text of a level names, apart from 1, 2, 3."""
        named = [(mark, levels.get(str(mark - 1))) for mark in range(1, 10) if f"%{mark}" in level.text]
        forms = [
            f"%{mark} {one.form}" for mark, one in named if one and not level.legal and one.form != "decimal"
        ]
        return f" ({', '.join(forms)})" if forms else ""


def switched_on(attributes: dict[str, str]) -> bool:
    """Whether an on-off property of Word is on; without a value it is."""
    return attributes.get("w:val", "true") not in ("0", "false", "off", "none")


def outline_level(value: str) -> int | None:
    """Parse the level of a heading, 1 the outermost; 0 for text; None if it is not stated."""
    if not value.isdecimal() or len(value) > 2:
        return None
    return int(value) + 1 if int(value) < _BODY_LEVEL else 0
