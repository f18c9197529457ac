"""Read a web page with Lexbor (selectolax), as a script in a separate process; colde never imports it.

Repairing HTML can take far more memory than the page (a thousand unclosed `<b>` before a thousand `<p>`), so the
process sets limits on itself. Nothing is fetched and no script is run.

    request   the limits; the page is UTF-8
    answer    JSON lines: `heading` (level, text), `paragraph` (text, lines), `title`, then `end` (left_out)
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from typing import Any

sys.path.extend(json.loads(os.environ["COLDE_READER_PATH"]))

from selectolax.lexbor import LexborHTMLParser

from colde_cli.documents.worker import Request, serve, write

Node = Any  # an element or a piece of text of selectolax

_DROPPED = frozenset(
    "script style template noscript head title svg canvas object embed iframe audio video map button select"
    " datalist textarea input del dialog".split()
)
_CODE = frozenset("script style template noscript head title".split())
_CHROME = frozenset("nav header footer".split())
_CHROME_ROLES = frozenset("navigation banner contentinfo search".split())
_CONTENT = frozenset("main article section".split())
_BLOCKS = frozenset(
    "address article aside blockquote body center dd details div dl dt fieldset figcaption figure footer form header"
    " hgroup hr legend li main menu nav ol p pre search section summary table caption tbody thead tfoot tr ul".split()
)
_CELLS = frozenset(("td", "th"))
_LISTS = frozenset(("ol", "ul", "menu"))
_HEADING = re.compile(r"h[1-6]")
_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_ANCHOR = re.compile(r"\s*[¶§#\U0001f517]\s*$")
_INSTRUCTION = "-instruction"
"""Stands for the name of a processing instruction (`<?php ... ?>`), which has none."""
_CONTENT_SHARE = 0.5
"""A `main` or `article` with more than this share of the page's letters is the content of the page."""


def walk(root: Node, enter: Callable[[Node], bool], leave: Callable[[Node], None]) -> None:
    """Visit a tree in reading order without recursion; `enter` says whether to go into a node."""
    node, depth = root, 0
    while True:
        inside = enter(node)
        child = node.child if inside else None
        if child is not None:
            node, depth = child, depth + 1
            continue
        if inside:
            leave(node)
        while depth and node.next is None:
            node, depth = node.parent, depth - 1
            leave(node)
        if not depth:
            return
        node = node.next


def shown(node: Node) -> bool:
    """Whether an element is shown, by its name and attributes."""
    if node.tag in _DROPPED:
        return False
    marks = node.attributes
    if not marks:
        return True
    hidden = "hidden" in marks or (marks.get("aria-hidden") or "").lower() == "true"
    edit = "mw-editsection" in (marks.get("class") or "")  # the [edit] next to the headings of a wiki
    return not (hidden or edit or _HIDDEN.search(marks.get("style") or ""))


def level_of(node: Node) -> int:
    """Return the level of a heading, 0 for anything else."""
    if _HEADING.fullmatch(node.tag):
        return int(node.tag[1])
    if "role" in node.attributes and node.attributes["role"] == "heading":
        level = node.attributes.get("aria-level") or "2"
        return int(level) if re.fullmatch("[1-9]", level) else 2
    return 0


class PageWalk:
    """Sends headings and paragraphs during a walk through a tree."""

    def __init__(self, chrome: bool) -> None:
        self.chrome = chrome  # read navigation, heads and feet too
        self.sent = 0
        self.left_out = 0  # elements with what they hold
        self.pieces: list[str] = []
        self.heading: Node | None = None
        self.level = 0
        self.pre = 0
        self.breaks = 0
        self.content = 0
        self.lists: list[int | None] = []
        self.mark = ""
        self.tables: list[list[str] | None] = []  # rows of a data table; None for a layout table
        self.cells: list[str] = []

    def enter(self, node: Node) -> bool:
        """Begin a node; returns whether to go into it."""
        tag = node.tag or _INSTRUCTION
        if tag == "-text":
            self._text(node.text_content or "")
            return False
        if tag.startswith("-") or tag in _CODE:
            return False
        if not shown(node) or self._is_chrome(node):
            self.left_out += 1
            return False
        level = 0 if self.heading is not None or self._in_data() else level_of(node)
        if level:
            self.flush()
            self.heading, self.level = node, level
        elif tag == "br":
            self._break()
        elif tag == "img":
            self._text(f" {node.attributes.get('alt') or ''} ")
        elif tag == "table" and self.heading is None:
            self._start_table(node)
        elif tag in _BLOCKS:
            self._boundary(node)
        self.content += tag in _CONTENT
        return True

    def leave(self, node: Node) -> None:
        """End a node."""
        tag = node.tag
        self.content -= tag in _CONTENT
        if self.heading is not None:
            if node.mem_id == self.heading.mem_id:
                self._end_heading()
        elif tag == "table" and self.tables:
            self._end_table()
        elif tag in _CELLS:
            self._end_cell()
        elif tag in ("tr", "caption") and self._in_data():
            self._end_row()
        elif tag in _BLOCKS:
            self.flush()
            self.pre -= tag == "pre"
            if tag in _LISTS and self.lists:
                self.lists.pop()

    def _is_chrome(self, node: Node) -> bool:
        role = node.attributes.get("role") if node.attributes else None
        outer = node.tag == "nav" or (node.tag in _CHROME and not self.content) or role in _CHROME_ROLES
        return outer and not self.chrome

    def _in_data(self) -> bool:
        return bool(self.tables) and self.tables[-1] is not None

    def _text(self, text: str) -> None:
        if text.strip():
            self.breaks = 0
        self.pieces.append(text if self.pre else text.replace("\n", " "))

    def _break(self) -> None:
        """Break a line; two breaks in a row end a paragraph."""
        self.breaks += 1
        if self.breaks > 1 and self.heading is None and not self.pre and not self._in_data():
            self.flush()
        self.pieces.append("\n" if self.pre else " ")

    def _boundary(self, node: Node) -> None:
        self.flush()
        if self.heading is not None:
            return
        if node.tag in _LISTS:
            start = node.attributes.get("start") or "1"
            first = int(start) if re.fullmatch(r"\d{1,6}", start) else 1
            self.lists.append(first if node.tag == "ol" else None)
        elif node.tag == "li":
            self.mark = self._next_mark()
        self.pre += node.tag == "pre"

    def _next_mark(self) -> str:
        number = self.lists[-1] if self.lists else None
        if number is None:
            return "- "
        self.lists[-1] = number + 1
        return f"{number}. "

    def flush(self) -> None:
        """End a paragraph; within a heading or a cell of a data table, write a blank instead."""
        if self.heading is not None or self._in_data():
            self.pieces.append(" ")
            return
        text, self.pieces, self.breaks = "".join(self.pieces), [], 0
        if text.strip():
            self._send("paragraph", text=self.mark + text, lines=bool(self.pre))
            self.mark = ""

    def _end_heading(self) -> None:
        text = _ANCHOR.sub("", "".join(self.pieces))
        self.heading, self.pieces, self.breaks, self.mark = None, [], 0, ""
        if text.strip():
            self._send("heading", text=text, level=self.level)

    def _start_table(self, node: Node) -> None:
        self.flush()
        inner = any(other.mem_id != node.mem_id for other in node.css("table, h1, h2, h3, h4, h5, h6"))
        self.tables.append([] if self._in_data() or not inner else None)

    def _end_cell(self) -> None:
        if not self._in_data():
            self.flush()
            return
        self.cells.append(" ".join("".join(self.pieces).split()))
        self.pieces = []

    def _end_row(self) -> None:
        rows = self.tables[-1]
        caption = " ".join("".join(self.pieces).split())
        row = " | ".join([*([caption] if caption else []), *self.cells])
        if rows is not None and (caption or any(self.cells)):
            rows.append(row)
        self.cells, self.pieces = [], []

    def _end_table(self) -> None:
        if self._in_data():
            self._end_row()
        else:
            self.flush()
        rows = self.tables.pop()
        if rows:
            self._send("paragraph", text="\n".join(rows), lines=True)

    def _send(self, kind: str, **values: object) -> None:
        self.sent += 1
        write(kind, **values)


def letters(node: Node) -> int:
    """Count the shown characters of text under a node."""
    total = 0

    def enter(one: Node) -> bool:
        nonlocal total
        if one.tag == "-text":
            total += len((one.text_content or "").strip())
            return False
        return not (one.tag or _INSTRUCTION).startswith("-") and shown(one)

    walk(node, enter, lambda _: None)
    return total


def candidates(body: Node) -> Iterator[Node]:
    """Yield the elements that the page marks as its content, each the only one of its kind."""
    for selector in ("main", '[role="main"]', "article"):
        found = body.css(selector)
        if len(found) == 1 and shown(found[0]):
            yield found[0]


def content(body: Node) -> Node:
    """Find the marked element with most of the page's text; the body if no element is marked as content."""
    whole = letters(body)
    return next((node for node in candidates(body) if letters(node) > _CONTENT_SHARE * whole), body)


def words(node: Node | None) -> str:
    """Return the text of an element, as a title."""
    return _ANCHOR.sub("", " ".join(node.text().split())) if node is not None else ""


def answer(_: Request, data: bytes) -> None:
    """Read a page."""
    tree = LexborHTMLParser(data)
    body, left_out = tree.body, False
    if body is not None:
        inner = content(body)
        headings = [node for node in inner.css("h1") if shown(node)]
        alone = headings[0] if len(headings) == 1 else None
        write("title", text=words(alone) or words(tree.css_first("title")))
        for root, chrome in ((inner, False), (body, True)):
            page = PageWalk(chrome)
            walk(root, page.enter, page.leave)
            page.flush()
            left_out = page.left_out > 0 or root is not body
            if page.sent:
                break
    write("end", left_out=left_out)


if __name__ == "__main__":
    serve(answer)
