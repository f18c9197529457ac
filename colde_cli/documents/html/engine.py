"""Read a web page with Lexbor (selectolax), in a process of its own.

Repairing HTML can take far more memory than the page (a thousand unclosed `<b>` before a thousand `<p>`), so the
process sets limits on itself. Nothing is fetched and no script is run.

    request   the limits; the page is UTF-8
    answer    JSON lines: `title`, `heading` (level, text), `paragraph` (text, lines), then what stands beside them,
              `outside` (of, text, about) and `part` (of, digest, about), with the kind that they are of, then `end`
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from selectolax.lexbor import LexborHTMLParser

from colde_cli.documents.html.elements import CONTENT, ElementReader, is_hidden
from colde_cli.documents.html.flow import LAYOUT
from colde_cli.documents.html.unread import Marks
from colde_cli.documents.outside import Account, OutsideKind
from colde_cli.documents.worker import Request, write

Node = Any  # an element or a piece of text of selectolax

_DROPPED = frozenset(
    "script style template noscript head title svg canvas object embed iframe audio video map button select"
    " datalist textarea input del dialog".split()
)
"""Elements that do not count for the share of an element in the text of the page."""
_CONTENT_SHARE = 0.5
"""A `main` or `article` with more than this share of the page's letters is the content of the page."""
_PERMALINK = re.compile(r"\s*[¶§#\U0001f517]\s*$")


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
    return node.tag not in _DROPPED and not is_hidden(node.attributes)


def letters(root: Node, some: Sequence[Node] = ()) -> list[int]:
    """Count the shown characters of text under a node, and under some of those within it."""
    places = {node.mem_id: place for place, node in enumerate(some)}
    tags = {node.tag for node in some}
    counts, total = [0] * len(some), 0

    def enter(one: Node) -> bool:
        nonlocal total
        tag = one.tag or "-"
        if tag == "-text":
            total += len((one.text_content or "").strip())
            return False
        if tag[0] == "-" or not shown(one):
            return False
        if tag in tags and one.mem_id in places:
            counts[places[one.mem_id]] = -total
        return True

    def leave(one: Node) -> None:
        if one.tag in tags and one.mem_id in places:
            counts[places[one.mem_id]] += total

    walk(root, enter, leave)
    return [total, *counts]


def candidates(body: Node) -> Iterator[Node]:
    """Yield the elements that the page marks as its content, each the only one of its kind."""
    for selector in ("main", '[role="main"]', "article"):
        found = body.css(selector)
        if len(found) == 1 and shown(found[0]):
            yield found[0]


def content(body: Node) -> Node:
    """Find the marked element with most of the page's text; the body if no element is marked as content."""
    marked = list(candidates(body))
    if not marked:
        return body
    whole, *counts = letters(body, marked)
    # What is in a hidden element was not counted.
    each = ((count or letters(node)[0], node) for count, node in zip(counts, marked, strict=True))
    return next((node for count, node in each if count > _CONTENT_SHARE * whole), body)


def words(node: Node | None) -> str:
    """Return the text of an element, as a title."""
    return _PERMALINK.sub("", " ".join(node.text().split())) if node is not None else ""


def marks_of(node: Node) -> Marks:
    """The attributes of an element, with what only the tree around it can tell."""
    marks: dict[str, str | None] = node.attributes
    if node.tag == "table":
        inner = any(other.mem_id != node.mem_id for other in node.css("table, h1, h2, h3, h4, h5, h6"))
        return {**marks, LAYOUT: ""} if inner else marks
    if node.tag == "ol" and "reversed" in marks and "start" not in marks:
        return {**marks, "start": str(sum(child.tag == "li" for child in node.iter()))}
    return marks


def read_page(tree: Node, root: Node, title: str, *, chrome: bool) -> ElementReader:
    """Send the text of `root`, and account for all else in the page."""

    def paragraph(text: str, lines: bool) -> None:
        write("paragraph", text=text, lines=lines)

    def heading(text: str, level: int) -> None:
        write("heading", text=text, level=level)

    whole = root.tag == "body"
    base = None if whole else OutsideKind.HEADERS
    page = ElementReader(Account(), paragraph, heading, base, chrome=chrome, title=title)

    def enter(node: Node) -> bool:
        tag = node.tag or "-"  # a processing instruction (`<?php ... ?>`) has none
        if tag.startswith("-"):
            if tag == "-text":
                page.text(node.text_content or "")
            return False
        marks = marks_of(node)
        if not whole and tag == root.tag and node.mem_id == root.mem_id:
            marks = {**marks, CONTENT: ""}
        page.start(tag, marks)
        if tag == "template":  # its elements are no part of the tree
            page.text(node.html or "")
        return True

    walk(tree.root, enter, lambda _: page.end())
    page.close()
    return page


def answer(_: Request, data: bytes) -> None:
    """Read a page."""
    tree = LexborHTMLParser(data)
    body = tree.body
    if body is not None:
        inner = content(body)
        headings = [node for node in inner.css("h1") if shown(node)]
        alone = words(headings[0]) if len(headings) == 1 else ""
        titles = (node for node in tree.css("title") if node.parent is None or node.parent.tag != "svg")
        write("title", text=alone or words(next(titles, None)))
        page = read_page(tree, inner, alone, chrome=False)
        if not page.sent:
            page = read_page(tree, body, alone, chrome=True)
        for text in page.account.all_texts():
            write("outside", of=text.kind, text=text.text, about=text.about)
        for part in page.account.all_parts():
            write("part", of=part.kind, digest=part.digest, about=part.about)
    write("end")
