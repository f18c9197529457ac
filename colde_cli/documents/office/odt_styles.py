"""The styles of OpenDocument texts: what makes letters hidden, struck through or raised, lists, and page styles."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from colde_cli.documents.notation import in_letters, in_roman
from colde_cli.documents.office.archive import Attributes
from colde_cli.documents.office.body import Letters, Styles, TextStyle

OUTLINE = "\0outline"
"""The list that numbers the headings; no name in a file can be this."""
_LISTS = frozenset(("text:list-style", "text:outline-style"))
_STYLES = frozenset(("style:style", "style:default-style"))
_PICTURES = frozenset(("style:background-image", "text:list-level-style-image"))
_LEVELS = {
    "text:list-level-style-number": "",
    "text:outline-level-style": "",
    "text:list-level-style-bullet": "•",
    "text:list-level-style-image": "a picture",
}
_CROSSED = ("style:text-line-through-style", "style:text-line-through-type", "style:text-crossing-out")
_MOST_COUNTED = 4000  # a larger number is written in digits, also where the list has letters


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
    _looks: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)

    def start(self, name: str, attributes: Attributes) -> None:
        """Record a style or one of its properties."""
        if "draw:fill-image-name" in attributes:
            self.filled.add(attributes["draw:fill-image-name"])
        if name == "draw:fill-image" and "xlink:href" in attributes:
            self.fillings[attributes.get("draw:name", "")] = attributes["xlink:href"]
        elif name in _PICTURES and "xlink:href" in attributes:
            self.pictures[attributes["xlink:href"]] = None
        if name in _STYLES:
            self._begin_style(attributes)
        elif name == "style:text-properties":
            self._current.letters |= _letters(attributes)
        elif name in _LISTS:
            self._list = attributes.get("style:name", "") if name == "text:list-style" else OUTLINE
        elif name in _LEVELS and self._list:
            self._begin_level(_LEVELS[name], attributes)
        elif name == "style:master-page":
            self.masters[attributes.get("style:name", "")] = attributes.get("style:next-style-name", "")

    def end(self, name: str) -> None:
        """Forget the current style: properties after it belong to something else."""
        if name in _STYLES:
            self._current = TextStyle()
        elif name in _LISTS:
            self._list = ""

    def undefined(self, identifier: str) -> TextStyle:
        """Make the style by the name behind its identifier."""
        return TextStyle(identifier.replace("_20_", " ").lower())

    def look(self, family: str, identifier: str, around: Letters) -> Letters:
        """How letters in this style look within letters that look like `around`."""
        key = family, identifier
        if key not in self._looks:
            default = self._styles.get((family, ""), TextStyle())
            self._looks[key] = default.letters | self.letters_of(family, identifier)
        stated = self._looks[key]
        return around._replace(**stated) if stated else around

    def masters_in_use(self, begun: Iterable[str], *, default: bool) -> list[str]:
        """List the page styles that occur, in the order of the file.

        Args:
            begun: identifiers of those that paragraphs and tables begin.
            default: the document begins with the page style that needs no mention.
        """
        used = set(begun)
        if default or not used & set(self.masters):
            used.add("Standard" if "Standard" in self.masters else next(iter(self.masters), ""))
        waiting = list(used)
        while waiting:
            following = self.masters.get(waiting.pop(), "")
            if following and following not in used:
                used.add(following)
                waiting.append(following)
        return [master for master in self.masters if master in used]

    def mark(self, identifier: str, level: int, start: int | None) -> str:
        """The mark of the first item on a level of a list style: `•`, `1.`, `(a)`; "" for none.

        `start` is the number that the item itself states.
        """
        pattern = self.lists.get((identifier, level))
        if pattern is None:
            return "" if start is None else str(start)
        if pattern.mark or not pattern.form:
            return pattern.mark
        numbers = [
            _number(outer.form, outer.start)
            for at in range(max(1, level - pattern.levels + 1), level)
            if (outer := self.lists.get((identifier, at))) and outer.form
        ]
        numbers.append(_number(pattern.form, pattern.start if start is None else start))
        return f"{pattern.prefix}{'.'.join(numbers)}{pattern.suffix}"

    def _begin_style(self, attributes: Attributes) -> None:
        identifier = attributes.get("style:name", "")
        self._current = TextStyle(
            attributes.get("style:display-name", identifier).replace("_20_", " ").lower(),
            attributes.get("style:parent-style-name", ""),
            outline_level(attributes.get("style:default-outline-level", "")),
            list=attributes.get("style:list-style-name") or None,
            master=attributes.get("style:master-page-name"),
        )
        self._styles[attributes.get("style:family", ""), identifier] = self._current

    def _begin_level(self, mark: str, attributes: Attributes) -> None:
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


def outline_level(value: str) -> int | None:
    """Parse the level of a heading or list, 1 the outermost; None if it is not stated."""
    return int(value) if value.isdecimal() and 0 < len(value) <= 2 else None


def counted(value: str) -> int | None:
    """Parse a number that a list starts with; None if it is not stated."""
    return int(value) if value.isdecimal() and len(value) <= 9 else None


def _letters(attributes: Attributes) -> dict[str, Any]:
    """What properties of text state, by the names of `Letters`."""
    letters: dict[str, Any] = {}
    if "text:display" in attributes:
        letters["hidden"] = attributes["text:display"] == "none"
    line = next((attributes[name] for name in _CROSSED if name in attributes), None)
    if line is not None:
        letters["struck"] = line != "none"
    if position := attributes.get("style:text-position", "").split()[:1]:  # "super", "-33%", "0%"
        lowered = position[0] == "sub" or position[0].startswith("-")
        letters["script"] = 0 if not position[0].strip("0%.-+") else -1 if lowered else 1
    return letters


def _number(form: str, number: int) -> str:
    """A number as a list writes it."""
    if form.lower() not in ("a", "i") or not 0 < number <= _MOST_COUNTED:
        return str(number) if form == "1" else f"{form}{number}"
    letters = in_letters(number) if form.lower() == "a" else in_roman(number)
    return letters if form.islower() else letters.upper()
