"""The styles of OpenDocument texts: what makes letters hidden, struck through or raised, lists, and page styles."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from colde_cli.documents.notation import in_letters, in_roman
from colde_cli.documents.office.body import Styles, TextStyle

OUTLINE = "\0outline"
"""The list that numbers the headings; no name in a file can be this."""
_LISTS = frozenset(("text:list-style", "text:outline-style"))
_PICTURES = frozenset(("style:background-image", "text:list-level-style-image"))
_LEVELS = {
    "text:list-level-style-number": "",
    "text:outline-level-style": "",
    "text:list-level-style-bullet": "•",
    "text:list-level-style-image": "a picture",
}
_CROSSED = ("style:text-line-through-style", "style:text-line-through-type", "style:text-crossing-out")
_MOST_COUNTED = 4000  # a larger number is written in digits, also where the list has letters


class LetterLook(NamedTuple):
    """How letters look, as far as it changes what they say.

    Attributes:
        hidden: they are not shown.
        struck: they are struck through.
        script: "^" for raised letters, "_" for lowered ones.
    """

    hidden: bool = False
    struck: bool = False
    script: str = ""


PLAIN = LetterLook()


@dataclass(slots=True)
class OdtStyle(TextStyle):
    """A style with what it states itself.

    Attributes:
        vanished: whether letters are hidden; None where the style does not state it.
        struck: whether they are struck through; None likewise.
        script: see `LetterLook`; None likewise.
        master: the page style that a paragraph or table begins; "" for none, None likewise.
    """

    vanished: bool | None = None
    struck: bool | None = None
    script: str | None = None
    master: str | None = None


class OdtListLevel(NamedTuple):
    """How the items of one level of a list are marked.

    Attributes:
        mark: a bullet; "" for a number.
        form: of the number: "1", "a", "A", "i", "I"; "" for none.
        prefix: before the number.
        suffix: after it.
        start: the first number.
        levels: how many numbers are shown, those of outer levels first.
    """

    mark: str = ""
    form: str = ""
    prefix: str = ""
    suffix: str = ""
    start: int = 1
    levels: int = 1


@dataclass(slots=True)
class OdtStyles(Styles):
    """The styles in `styles.xml`, and the automatic ones in `content.xml`.

    Identifiers are the names of editors with their blanks as `_20_`.

    Attributes:
        lists: the levels of each list style by its identifier and the level, 1 the outermost.
        masters: identifiers of the page styles in order, and of the one that follows each ("" for itself).
        pictures: addresses of the pictures of backgrounds and bullets, in order.
        fillings: addresses of the pictures that an area can be filled with, by their identifiers.
        filled: identifiers of those that a style uses.
    """

    lists: dict[tuple[str, int], OdtListLevel] = field(default_factory=dict)
    masters: dict[str, str] = field(default_factory=dict)
    pictures: dict[str, None] = field(default_factory=dict)
    fillings: dict[str, str] = field(default_factory=dict)
    filled: set[str] = field(default_factory=set)
    _list: str = ""
    _looks: dict[tuple[str, str], tuple[bool | None, bool | None, str | None]] = field(default_factory=dict)

    def copy(self) -> OdtStyles:
        """Copy the styles: automatic ones of another part of the file may have the same identifiers."""
        return copy.deepcopy(self)

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Record a style or one of its properties."""
        if "draw:fill-image-name" in attributes:
            self.filled.add(attributes["draw:fill-image-name"])
        if "xlink:href" in attributes:
            self._take_picture(name, attributes)
        if name in ("style:style", "style:default-style"):
            self._start_style(attributes)
        elif name == "style:text-properties":
            self._state(attributes)
        elif name in _LISTS:
            self._list = attributes.get("style:name", "") if name == "text:list-style" else OUTLINE
        elif name in _LEVELS and self._list:
            self._start_level(_LEVELS[name], attributes)
        elif name == "style:master-page":
            self.masters[attributes.get("style:name", "")] = attributes.get("style:next-style-name", "")

    def end(self, name: str) -> None:
        """Forget the current style: properties after it belong to something else."""
        if name in ("style:style", "style:default-style"):
            self._current = OdtStyle()
        elif name in _LISTS:
            self._list = ""

    def undefined(self, identifier: str) -> TextStyle:
        """Make the style by the name behind its identifier."""
        return OdtStyle(identifier.replace("_20_", " ").lower())

    def look(self, family: str, identifier: str, around: LetterLook = PLAIN) -> LetterLook:
        """How letters in this style look within letters that look like `around`."""
        key = family, identifier
        stated = self._looks.get(key)
        if stated is None:
            stated = self._looks[key] = self._stated(family, identifier)
        if stated == (None, None, None):
            return around
        vanished, struck, script = stated
        return LetterLook(
            around.hidden if vanished is None else vanished,
            around.struck if struck is None else struck,
            around.script if script is None else script,
        )

    def list_of(self, identifier: str) -> str:
        """The list that a paragraph style belongs to; "" for none."""
        return next((style.list for style in self.lineage("paragraph", identifier) if style.list), "")

    def master_of(self, family: str, identifier: str) -> str:
        """The page style that begins at a paragraph or table in this style; "" for none."""
        lineage = self.lineage(family, identifier)
        return next(
            (style.master for style in lineage if isinstance(style, OdtStyle) and style.master is not None),
            "",
        )

    def masters_in_use(self, begun: Iterable[str], *, default: bool) -> list[str]:
        """List the page styles that occur, in the order of the file.

        Args:
            begun: identifiers of those that paragraphs and tables begin.
            default: the document begins with the page style that needs no mention.
        """
        found = set(begun)
        if default or not found & set(self.masters):
            found.add("Standard" if "Standard" in self.masters else next(iter(self.masters), ""))
        waiting = list(found)
        while waiting:
            following = self.masters.get(waiting.pop(), "")
            if following and following not in found:
                found.add(following)
                waiting.append(following)
        return [master for master in self.masters if master in found]

    def mark(self, identifier: str, level: int, start: int | None) -> str:
        """The mark of the first item on a level: `•`, `1.`, `(a)`; "" for none.

        Args:
            identifier: of the list style.
            level: 1 the outermost.
            start: number that the item itself states.
        """
        found = self.lists.get((identifier, level))
        if found is None:
            return "" if start is None else str(start)
        if found.mark or not found.form:
            return found.mark
        numbers = [
            _number(outer.form, outer.start)
            for at in range(max(1, level - found.levels + 1), level)
            if (outer := self.lists.get((identifier, at))) and outer.form
        ]
        numbers.append(_number(found.form, found.start if start is None else start))
        return f"{found.prefix}{'.'.join(numbers)}{found.suffix}"

    def _take_picture(self, name: str, attributes: dict[str, str]) -> None:
        if name == "draw:fill-image":
            self.fillings[attributes.get("draw:name", "")] = attributes["xlink:href"]
        elif name in _PICTURES:
            self.pictures[attributes["xlink:href"]] = None

    def _start_style(self, attributes: dict[str, str]) -> None:
        identifier = attributes.get("style:name", "")
        shown = attributes.get("style:display-name", identifier).replace("_20_", " ")
        level = outline_level(attributes.get("style:default-outline-level", ""))
        self._current = OdtStyle(
            shown.lower(),
            attributes.get("style:parent-style-name", ""),
            level,
            list=attributes.get("style:list-style-name", ""),
            master=attributes.get("style:master-page-name"),
        )
        self._styles[attributes.get("style:family", ""), identifier] = self._current

    def _state(self, attributes: dict[str, str]) -> None:
        style = self._current
        if not isinstance(style, OdtStyle):
            return
        if "text:display" in attributes:
            style.vanished = attributes["text:display"] == "none"
        line = next((attributes[name] for name in _CROSSED if name in attributes), None)
        if line is not None:
            style.struck = line != "none"
        if position := attributes.get("style:text-position", "").split():
            style.script = _script(position[0])

    def _start_level(self, mark: str, attributes: dict[str, str]) -> None:
        level = outline_level(attributes.get("text:level", ""))
        start = counted(attributes.get("text:start-value", ""))
        if level is not None:
            self.lists[self._list, level] = OdtListLevel(
                mark and attributes.get("text:bullet-char", mark),
                attributes.get("style:num-format", ""),
                attributes.get("style:num-prefix", ""),
                attributes.get("style:num-suffix", ""),
                1 if start is None else start,
                outline_level(attributes.get("text:display-levels", "")) or 1,
            )

    def _stated(self, family: str, identifier: str) -> tuple[bool | None, bool | None, str | None]:
        lineage = self.lineage(family, identifier)
        if default := self._styles.get((family, "")):
            lineage.append(default)
        styles = [style for style in lineage if isinstance(style, OdtStyle)]
        return (
            next((style.vanished for style in styles if style.vanished is not None), None),
            next((style.struck for style in styles if style.struck is not None), None),
            next((style.script for style in styles if style.script is not None), None),
        )


def outline_level(value: str) -> int | None:
    """Parse the level of a heading or list, 1 the outermost; None if it is not stated."""
    return int(value) if value.isdecimal() and 0 < len(value) <= 2 else None


def counted(value: str) -> int | None:
    """Parse a number that a list starts with; None if it is not stated."""
    return int(value) if value.isdecimal() and len(value) <= 9 else None


def _script(position: str) -> str:
    """The sign of a position: "super", "-33%", "0%"."""
    if position in ("super", "sub"):
        return "^" if position == "super" else "_"
    if not position.strip("0%.-+"):
        return ""
    return "_" if position.startswith("-") else "^"


def _number(form: str, number: int) -> str:
    """A number as a list writes it."""
    if form.lower() not in ("a", "i") or not 0 < number <= _MOST_COUNTED:
        return str(number) if form == "1" else f"{form}{number}"
    letters = in_letters(number) if form.lower() == "a" else in_roman(number)
    return letters if form.islower() else letters.upper()
