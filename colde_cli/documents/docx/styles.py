"""Styles of a Word document: which are headings, the title, lines of a table of contents, or hidden."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_HEADING = re.compile(r"heading ?([1-9])")
_CONTENTS = re.compile(r"toc ?(\d|heading)|table of figures")
_OFF = ("0", "false", "off", "none")
BODY_LEVEL = 9
"""`w:outlineLvl` of text that is no heading; 0 is the outermost heading."""


def switched_on(attributes: dict[str, str]) -> bool:
    """Whether an on-off property of Word says yes, which it does by standing there."""
    return attributes.get("w:val", "true") not in _OFF


def outline_level(attributes: dict[str, str]) -> int | None:
    """Level of a heading, 1 the outermost; 0 for text that is none; None if it is not said."""
    value = attributes.get("w:val", "")
    if not value.isdecimal() or len(value) > 2:
        return None
    return int(value) + 1 if int(value) < BODY_LEVEL else 0


@dataclass(slots=True)
class Style:
    """What is known of one style."""

    name: str = ""
    based_on: str = ""
    level: int | None = None
    hidden: bool = False


@dataclass(slots=True)
class Styles:
    """The styles part, as a handler of its XML; asks by identifier."""

    _styles: dict[str, Style] = field(default_factory=dict)
    _current: Style = field(default_factory=Style)

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Take note of a style or of one of its properties."""
        if name == "w:style":
            self._current = Style()
            self._styles[attributes.get("w:styleId", "")] = self._current
        elif name == "w:name":
            self._current.name = attributes.get("w:val", "").lower()
        elif name == "w:basedOn":
            self._current.based_on = attributes.get("w:val", "")
        elif name == "w:outlineLvl":
            self._current.level = outline_level(attributes)
        elif name == "w:vanish":
            self._current.hidden = switched_on(attributes)

    def end(self, name: str) -> None:
        """Nothing to do."""

    def characters(self, text: str) -> None:
        """Nothing to do."""

    def level(self, identifier: str) -> int:
        """Level of a heading style, 0 for any other; taken over from the style that it is based on."""
        for style in self._line(identifier):
            if found := _HEADING.fullmatch(style.name):
                return int(found.group(1))
            if style.level is not None:
                return style.level
        return 0

    def is_title(self, identifier: str) -> bool:
        """Whether it is the style of the document's title."""
        return any(style.name == "title" for style in self._line(identifier))

    def is_contents(self, identifier: str) -> bool:
        """Whether it is a style of the table of contents."""
        return any(_CONTENTS.fullmatch(style.name) for style in self._line(identifier))

    def is_hidden(self, identifier: str) -> bool:
        """Whether text in this style is hidden."""
        return any(style.hidden for style in self._line(identifier))

    def _line(self, identifier: str) -> list[Style]:
        """A style and those it is based on; a file without styles goes by the identifier."""
        if identifier not in self._styles:
            return [Style(identifier.lower())] if identifier else []
        line: list[Style] = []
        while identifier in self._styles and len(line) < 12:  # based on itself, in the end
            line.append(self._styles[identifier])
            identifier = line[-1].based_on
        return line
