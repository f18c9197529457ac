"""The numbered lists of a Word file: their definitions (`numbering.xml`), and counting as Word counts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from colde_cli.documents.clause_numbers import DEEPEST, UNCOUNTED, Counted, LevelCounts, NumberedLevel
from colde_cli.documents.office.archive import Attributes
from colde_cli.documents.office.word_styles import switched_on


@dataclass(slots=True)
class _ListLevel(NumberedLevel):
    """A level of numbered lists; `style` is that of the paragraphs that are on it."""

    style: str = ""

    def take(self, name: str, attributes: Attributes) -> None:
        """Take one of its properties."""
        value = attributes.get("w:val", "")
        match name:
            case "w:start":
                self.start = _whole(value, 1)
            case "w:numFmt" if not self.form[:1].isdigit():  # a fallback follows a form of one's own
                self.form = attributes.get("w:format", "") if value == "custom" else value
            case "w:lvlText":
                self.text = value
            case "w:pStyle":
                self.style = value
            case "w:isLgl":
                self.legal = switched_on(attributes)
            case "w:lvlRestart":
                self.restart = _whole(value, 0)


def _whole(value: str, default: int) -> int:
    return int(value) if value.isdecimal() and len(value) <= 9 else default


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
                    overridden = _whole(attributes.get("w:ilvl", ""), 0)
                case "w:startOverride":
                    self._starts[numbered, overridden] = _whole(value, 1)
                case "w:lvl":
                    of_list = self._own.setdefault(numbered, {}) if numbered else self._levels.setdefault(abstract, {})
                    level = of_list[_whole(attributes.get("w:ilvl", ""), 0)] = _ListLevel()
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
        levels, at = self._numbering.levels(number), _whole(level, 0)
        if at not in levels or at >= DEEPEST:
            return None
        counts = self._counts.setdefault(self._numbering.pattern(number), LevelCounts())
        anew = (number, at) not in self._begun and self._numbering.starts_again(number, at)
        self._begun.add((number, at))
        return counts.count(levels, at, levels[at].start if anew else None)
