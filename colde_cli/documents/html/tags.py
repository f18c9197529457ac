"""Read the HTML within Markdown: pair its tags as a browser would, and tell an `ElementReader` of them.

What nothing closes hides nothing: an element without its end is as if it ended at once.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Container

from colde_cli.documents.html.elements import ElementReader
from colde_cli.documents.html.flow import BLOCKS, LAYOUT, Marks, TextFlow

_NAME = r"(?P<end>/?)(?P<name>[a-zA-Z][\w:-]*)"
# An attribute may hold the signs of tags. The bounds keep the time for a tag that does not end short.
_QUOTED = r"\"[^\"]{0,2000}+\"|'[^']{0,2000}+'"
_TAG = re.compile(rf"<{_NAME}(?P<marks>(?:[^<>\"']++|{_QUOTED}){{0,400}}+)>")
_PLAIN_TAG = re.compile(rf"<{_NAME}(?P<marks>[^<>]*)>")
_DECLARATION = re.compile(r"<[!?][^<>]*>")
_MARK = re.compile(r"([^\s\"'<>/=]+)(?:\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'=<>`]+)))?")
_CLOSING = re.compile(r"</([a-zA-Z][\w:-]*)")
_INNER = re.compile(r"<(?:table|h[1-6])\b", re.IGNORECASE)
_VOID = frozenset("area base br col embed hr img input link meta param source track wbr".split())
_RAW = frozenset("script style textarea title iframe noembed noframes xmp".split())
_DEEPEST = 100
"""Tags of elements nested deeper are passed over; their text stays."""
_ITEMS = frozenset(("ul", "ol", "menu"))
_TABLE = frozenset(("table",))
_ROW = frozenset(("tr", "table"))
_TERMS = frozenset(("dl",))
_CHOICES = frozenset(("select", "datalist"))
_WITHIN = {
    "li": (_ITEMS, ("li",)),
    "dt": (_TERMS, ("dt", "dd")),
    "dd": (_TERMS, ("dt", "dd")),
    "tr": (_TABLE, ("tr",)),
    "td": (_ROW, ("td", "th")),
    "th": (_ROW, ("td", "th")),
    "option": (_CHOICES, ("option",)),
}
"""Elements that need no end: within which they stand, and what ends when one begins."""


def closings(source: str) -> set[str]:
    """The names of the elements that a source ends."""
    return {name.lower() for name in _CLOSING.findall(source)}


class TagReader:
    """Pairs tags, and reads what is between them.

    Attributes:
        reader: is told of elements and text.
    """

    def __init__(self, reader: ElementReader) -> None:
        self.reader = reader
        self._open: list[str] = []
        self._base = 0  # what was open before a line cannot end in it
        self._outer = reader.flow

    def read_block(self, source: str, later: Counter[str]) -> None:
        """Read a block; `later` counts by name the elements that end in later blocks."""
        last = {found[1].lower(): found.start() for found in _CLOSING.finditer(source)}
        place, comments = 0, source.rfind("-->")
        while (start := source.find("<", place)) >= 0:
            self._text(source[place:start])
            if source.startswith("<!--", start) and start + 4 <= comments:
                place = source.index("-->", start + 4) + 3
            elif tag := _tag_at(source, start):
                place = self._read_tag(source, tag, last, later)
            elif declared := _DECLARATION.match(source, start):
                place = declared.end()
            else:
                self._text("<")
                place = start + 1
        self._text(source[place:])
        if self._open[-1:] == ["p"]:
            self._end()
        self.reader.flush()

    def begin_line(self) -> None:
        """Begin a line: all up to `end_line` is one text, of the flow that is open."""
        self._outer, self._base = self.reader.flow, len(self._open)
        self.reader.flow = TextFlow(self._outer.kind, self._outer.about, inline=True)

    def read_tag(self, source: str, later: Counter[str]) -> None:
        """Read a tag within a line; `later` counts by name the elements that end later in it."""
        tag = _tag_at(source, 0)
        if tag is None:
            return
        name = tag["name"].lower()
        if tag["end"]:
            self.end(name)
        else:
            self.start(name, _marks(tag["marks"]), ends=later[name] > 0)

    def end_line(self) -> str:
        """End the elements of a line, and return its text."""
        while len(self._open) > self._base:
            self._end()
        line, self._base = self.reader.flow.line(), 0
        self.reader.flow = self._outer
        return line

    def close(self) -> None:
        """End all elements."""
        while self._open:
            self._end()
        self.reader.close()

    def _read_tag(self, source: str, tag: re.Match[str], last: dict[str, int], later: Counter[str]) -> int:
        """Read a tag of a block; returns where to go on."""
        name, place = tag["name"].lower(), tag.end()
        if tag["end"]:
            self.end(name)
            return place
        marks = _marks(tag["marks"])
        ends = last.get(name, -1) >= place
        if name in _RAW and ends:
            found = re.compile(rf"</{name}\b[^<>]*>?", re.IGNORECASE).search(source, place)
            if found:
                self.start(name, marks, ends=True)
                self.reader.text(source[place : found.start()])
                self.end(name)
                return found.end()
        if name == "table" and len(self._open) < _DEEPEST:
            within = source[place : source.lower().find("</table", place)] if ends else ""
            marks = {**marks, LAYOUT: ""} if not ends or _INNER.search(within) else marks
        self.start(name, marks, ends=ends or (later[name] > 0 and name not in _RAW))
        return place

    def start(self, name: str, marks: Marks, *, ends: bool = True) -> None:
        """Begin an element; one that nothing `ends` is as if it ended at once."""
        if name in BLOCKS and self._open[-1:] == ["p"] and len(self._open) > self._base:
            self._end()
        within, same = _WITHIN.get(name, (frozenset(), ()))
        at = self._innermost(within)
        if at >= 0:
            while any(one in same for one in self._open[at + 1 :]):
                self._end()
        if len(self._open) >= _DEEPEST:
            return
        self.reader.start(name, marks)
        self._open.append(name)
        if name in _VOID or not (ends or at >= 0 or name == "p"):
            self._end()

    def _innermost(self, names: Container[str]) -> int:
        """The place of the innermost open element of these names, -1 for none."""
        places = range(len(self._open) - 1, self._base - 1, -1)
        return next((place for place in places if self._open[place] in names), -1)

    def end(self, name: str) -> None:
        """End the innermost element of a name, and all within it."""
        at = self._innermost((name,))
        while at >= 0 and len(self._open) > at:
            self._end()

    def _end(self) -> None:
        self._open.pop()
        self.reader.end()

    def _text(self, text: str) -> None:
        if text:
            self.reader.text(html.unescape(text))


def _tag_at(source: str, start: int) -> re.Match[str] | None:
    return _TAG.match(source, start) or _PLAIN_TAG.match(source, start)


def _marks(source: str) -> Marks:
    """Read attributes; the first of each name counts."""
    marks: dict[str, str | None] = {}
    for name, *values in _MARK.findall(source):
        marks.setdefault(name.lower(), html.unescape("".join(values)))
    return marks
