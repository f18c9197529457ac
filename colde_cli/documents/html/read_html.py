"""Read web pages with Lexbor (selectolax): HTML in any encoding.

This runs in a process of its own (`apart.py`), as repairing HTML can take far more memory than the page: a thousand
unclosed `<b>` before a thousand `<p>`. Nothing is fetched and no script is run.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from selectolax.lexbor import LexborHTMLParser

from colde_cli.documents.apart import answer_with
from colde_cli.documents.builder import DocumentBuilder, tidy
from colde_cli.documents.clause_numbers import NumberedLine
from colde_cli.documents.document import Document
from colde_cli.documents.html.elements import CONTENT, ElementReader, is_hidden
from colde_cli.documents.html.flow import LAYOUT, Marks
from colde_cli.documents.outside import Account, OutsideKind
from colde_cli.documents.plain_text import decode
from colde_cli.documents.worker import Request

Node = Any  # an element or a piece of text of selectolax

_CHARSET = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([\w.:-]{1,40})", re.IGNORECASE)
# The old encodings of the web. Python knows others, such as `idna`, but a page could use them to attack the decoder.
_ENCODINGS = re.compile(
    r"iso-?8859-\d+|windows-\d+|cp\d+|koi8-[ru]|shift[_-]jis|euc-(jp|kr)|iso-2022-jp|gb(k|2312|18030)|big5|macintosh"
)
_DROPPED = frozenset(
    "script style template noscript head title svg canvas object embed iframe audio video map button select"
    " datalist textarea input del dialog".split()
)
"""Elements that do not count for the share of an element in the text of the page."""
_CONTENT_SHARE = 0.5  # a `main` or `article` with more than this share of the page's letters is the content of the page
_PERMALINK = re.compile(r"\s*[¶§#\U0001f517]\s*$")


def answer(request: Request, data: bytes) -> None:
    """Read a page in this process."""
    answer_with(lambda: read_html(data, request["source"], request["name"]))


def read_html(data: bytes, path: str, name: str) -> Document:
    """Read HTML: headings h1 to h6, paragraphs, lists, tables.

    If one `main` or `article` has more than half of the page's text, that is the body. Navigation, heads and feet of
    the page, values of forms, deleted and hidden text stand outside it; style sheets are not applied. `path` is as the
    user gave it, for messages; `name` replaces a missing title.

    Raises:
        UnsupportedFormatError: the bytes are no text.
        NoTextError: it has no text.
    """
    text, warnings = _decode(data, path)
    builder, title = DocumentBuilder(path), ""
    tree = LexborHTMLParser(text.encode("utf-8", "replace"))
    if tree.body is not None:
        root = _content(tree.body)
        headings = [node for node in root.css("h1") if _is_shown(node)]
        alone = _words(headings[0]) if len(headings) == 1 else ""
        titles = (node for node in tree.css("title") if node.parent is None or node.parent.tag != "svg")
        title = alone or _words(next(titles, None))
        page = _read_page(tree, root, alone, builder)
        if not page.sent:
            page = _read_page(tree, tree.body, alone, builder, chrome=True)
        for one in page.account.all_texts():
            builder.account.add_text(one.kind, tidy(one.text), tidy(one.about))
        for part in page.account.all_parts():
            builder.account.add_part(part.kind, part.digest, tidy(part.about))
    return builder.build(title, name, warnings)


def _decode(data: bytes, path: str) -> tuple[str, tuple[str, ...]]:
    """Decode a page by its byte order mark, else its stated encoding, else as text."""
    stated = _CHARSET.search(data[:4096])
    if stated and not data.startswith((codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        name = stated.group(1).decode("ascii", "replace").lower()
        # Browsers read Latin-1 as Windows-1252. If the statement can be read as ASCII, the page is not UTF-16.
        name = "cp1252" if name in ("iso-8859-1", "latin1", "ascii", "us-ascii") else name
        if _ENCODINGS.fullmatch(name):
            try:
                return data.decode(name, "replace").replace("\x00", ""), ()
            except LookupError:
                pass  # a number that no encoding has
    return decode(data, path)


def _walk(root: Node, enter: Callable[[Node], bool], leave: Callable[[Node], None]) -> None:
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


def _is_shown(node: Node) -> bool:
    return node.tag not in _DROPPED and not is_hidden(node.attributes)


def _letters(root: Node, some: Sequence[Node] = ()) -> list[int]:
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
        if tag[0] == "-" or not _is_shown(one):
            return False
        if tag in tags and one.mem_id in places:
            counts[places[one.mem_id]] = -total
        return True

    def leave(one: Node) -> None:
        if one.tag in tags and one.mem_id in places:
            counts[places[one.mem_id]] += total

    _walk(root, enter, leave)
    return [total, *counts]


def _candidates(body: Node) -> Iterator[Node]:
    """Yield the elements that the page marks as its content, each the only one of its kind."""
    for selector in ("main", '[role="main"]', "article"):
        marked = body.css(selector)
        if len(marked) == 1 and _is_shown(marked[0]):
            yield marked[0]


def _content(body: Node) -> Node:
    """Find the marked element with most of the page's text; the body if no element is marked as content."""
    marked = list(_candidates(body))
    if not marked:
        return body
    whole, *counts = _letters(body, marked)
    # What is in a hidden element was not counted.
    each = ((count or _letters(node)[0], node) for count, node in zip(counts, marked, strict=True))
    return next((node for count, node in each if count > _CONTENT_SHARE * whole), body)


def _words(node: Node | None) -> str:
    return _PERMALINK.sub("", " ".join(node.text().split())) if node is not None else ""


def _marks_of(node: Node) -> Marks:
    """The attributes of an element, with what only the tree around it can tell."""
    marks: dict[str, str | None] = node.attributes
    if node.tag == "table":
        inner = any(other.mem_id != node.mem_id for other in node.css("table, h1, h2, h3, h4, h5, h6"))
        return {**marks, LAYOUT: ""} if inner else marks
    if node.tag == "ol" and "reversed" in marks and "start" not in marks:
        return {**marks, "start": str(sum(child.tag == "li" for child in node.iter()))}
    return marks


def _read_page(tree: Node, root: Node, title: str, builder: DocumentBuilder, *, chrome: bool = False) -> ElementReader:
    """Add the text of `root` to the builder, and account for all else in the page."""
    whole = root.tag == "body"
    page = ElementReader(
        Account(),
        lambda text, lines: builder.add_paragraph(text, lines=lines),
        builder.add_heading,
        None if whole else OutsideKind.HEADERS,
        chrome=chrome,
        title=title,
    )
    page.number = lambda number: builder.number_next(NumberedLine(number))

    def enter(node: Node) -> bool:
        tag = node.tag or "-"  # a processing instruction (`<?php ... ?>`) has none
        if tag.startswith("-"):
            if tag == "-text":
                page.text(node.text_content or "")
            return False
        marks = _marks_of(node)
        if not whole and tag == root.tag and node.mem_id == root.mem_id:
            marks = {**marks, CONTENT: ""}
        page.start(tag, marks)
        if tag == "template":  # its elements are no part of the tree
            page.text(node.html or "")
        return True

    _walk(tree.root, enter, lambda _: page.end())
    page.close()
    return page
