"""Read Word documents (.docx): their body, and all that stands beside it; their comments, as a reviewer left them.

`read_docx` accounts for comments as texts outside the body, to be compared. `read_word_comments` reads them as remarks
to be answered: author, date, thread, whether done, and the words they are on.
"""

from __future__ import annotations

import io
import re
from dataclasses import dataclass
from functools import cache, partial
from itertools import accumulate
from typing import BinaryIO

from colde_cli.documents.apart import read_apart
from colde_cli.documents.builder import DocumentBuilder
from colde_cli.documents.document import Document, Section, SectionKind, Span, shown_as
from colde_cli.documents.office.archive import MAX_ELEMENTS, MAX_INNER_BYTES, Package
from colde_cli.documents.office.word_body import WordBody
from colde_cli.documents.office.word_styles import Numbering, WordStyles, switched_on
from colde_cli.documents.office.word_text import PARAGRAPH_END
from colde_cli.documents.outside import Account, OutsideKind, PartKind
from colde_cli.documents.plain_text import read_text
from colde_cli.errors import DocumentError

_PAGES = {"first": "first page", "even": "even pages"}
_UNSHOWN = "not shown on any page"
_DEEPEST = 2  # documents inside documents
_ZIP = b"PK\x03\x04"
_WEB_PAGE = re.compile(
    rb"\s*(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]{0,200}>\s*)?<(?:!doctype\s+html|html|head|body|p|div|h[1-6])\b", re.I
)


def read_docx(file: BinaryIO, path: str, name: str, *, depth: int = 0, rejects: bool = False) -> Document:
    """Read a .docx: paragraphs, tables and notes; headings by their style or outline level.

    Tracked changes are read as accepted, or as rejected (`rejects`). What stands beside the text (headers, comments,
    links, hidden and deleted text, pictures) is accounted for. Numbers that Word counts itself (of headings, of lists)
    are no part of the text; they are `Document.numbers`.

    A file without text, such as one of pictures only, is a document without sections. `name` replaces a missing
    title; `depth` is the number of documents that this one is inside of.

    Raises:
        CorruptFileError: it is damaged, or no Word document.
        PasswordError: it is encrypted.
        LimitError: it is larger than a document may be.
    """
    package = Package(file, shown_as(path))
    properties = package.properties(package.part("core-properties"), {"dc:title": "title"})
    body = _body_of(package, path, depth, rejects=rejects)
    _account_for_the_rest(package, body)
    return body.build(dict(properties).get("title", ""), name)


def _body_of(package: Package, path: str, depth: int = 0, *, rejects: bool = False) -> WordBody:
    styles = WordStyles()
    package.read(package.part("styles"), styles)
    body = WordBody(DocumentBuilder(path), styles, package=package, part=package.main, rejects=rejects)
    body.numbering = Numbering(package.elements(package.part("numbering")))
    body.inner_document = cache(partial(_inner_document, package=package, depth=depth, rejects=rejects))
    notes = [body.side_part(package.part(kind)) for kind in ("footnotes", "endnotes")]
    package.read(package.main, body, MAX_ELEMENTS)
    body.finish()
    for part in notes:
        body.account.add_all(part.account.texts, part.account.all_parts())
    return body


def _account_for_the_rest(package: Package, body: WordBody) -> None:
    """Account for headers and footers, comments, notes that nothing refers to, and macros."""
    account = body.account
    for (kind, _), text in body.notes.items():
        account.add_text(OutsideKind.NOTES, text, kind.removeprefix("w:"))
    _account_for_headers(package, body)
    comments = body.side_part(package.part("comments"))
    order = [*body.commented, *(number for _, number in comments.notes if number not in body.commented)]
    for number in order:
        text = comments.notes.get(("w:comment", number), "")
        account.add_text(OutsideKind.COMMENTS, text, body.commented.get(number, ""))
    account.add_all(comments.account.texts, comments.account.all_parts())
    if macros := package.part("vbaProject"):
        account.add_part(PartKind.SCRIPTS, package.digest(macros), "macros")


def _account_for_headers(package: Package, body: WordBody) -> None:
    """Account for each header and footer once, though several sections may have it."""
    account, relations = body.account, package.relations(package.main)
    even = any(header.pages == "even" for header in body.headers) and any(
        name == "w:evenAndOddHeaders" and switched_on(attributes)
        for name, attributes, _ in package.elements(package.part("settings"))
    )
    seen: set[tuple[OutsideKind, str, str]] = set()
    read: dict[str, tuple[list[str], Account]] = {}
    counted: set[str] = set()
    for header in body.headers:
        relation = relations.get(header.identifier)
        if relation is None or relation.external:
            continue
        if relation.target not in read:
            side = body.side_part(relation.target, page_numbers=True)
            lines = [line for text in side.notes.values() for line in text.split("\n")]
            read[relation.target] = lines, side.account
        lines, beside = read[relation.target]
        shown = header.shown and (header.pages != "even" or even)
        kind, about = (header.kind, _PAGES.get(header.pages, "")) if shown else (OutsideKind.HIDDEN, _UNSHOWN)
        for line in lines:
            if (kind, line, about) not in seen:
                seen.add((kind, line, about))
                account.add_text(kind, line, about)
        if shown and relation.target not in counted:
            counted.add(relation.target)
            account.add_all(beside.texts, beside.all_parts())


def _inner_document(name: str, package: Package, depth: int, *, rejects: bool) -> Document | None:
    """Read a document inside a document: Word, HTML or plain text; None if that cannot be done."""
    if depth >= _DEEPEST:
        return None
    data = package.content(name, MAX_INNER_BYTES)
    try:
        if data.startswith(_ZIP):
            return read_docx(io.BytesIO(data), name, name, depth=depth + 1, rejects=rejects)
        if name.lower().endswith(".txt"):
            return read_text(data, name, name)
        if _WEB_PAGE.match(data):
            return read_apart("html", io.BytesIO(data), name, name)
    except (DocumentError, OSError):
        return None
    return None


_BLANK = re.compile(r"\s")
_WRITTEN = ("w:t", "m:t", "w:tab", "w:br", "w:cr", "w:noBreakHyphen")
_CHANGES = ("w:ins", "w:del", "w:moveFrom", "w:moveTo")


@dataclass(slots=True)
class WordComment:
    """A comment."""

    author: str
    date: str  # as the file has it, such as "2026-03-01T09:30:00Z"; "" if it has none
    text: str = ""
    # the characters of the text of the file that it is on; empty at a point; None if it is nowhere
    words: Span | None = None
    above: str = ""  # identifier of the comment that it replies to; "" for none
    done: bool = False


def word_author(file: BinaryIO, path: str) -> str:
    """The author of all tracked changes of a Word file, else who saved it last; "" if it does not say.

    Raises:
        CorruptFileError, LimitError, PasswordError: as for `read_docx`.
    """
    package = Package(file, shown_as(path))
    elements = package.elements(package.main, MAX_ELEMENTS)
    authors = {attributes.get("w:author", "").strip() for name, attributes, _ in elements if name in _CHANGES} - {""}
    if len(authors) == 1:
        return authors.pop()
    properties = package.elements(package.part("core-properties"))
    return next((text.strip() for name, _, text in properties if name == ":lastModifiedBy"), "")


def read_word_comments(file: BinaryIO, path: str) -> tuple[Document, dict[str, WordComment]]:
    """Read the text of a Word file and its comments, by their identifiers, in the order of the text.

    The document is text alone, without headings: it is what the comments point into.

    Raises:
        CorruptFileError, LimitError, PasswordError: as for `read_docx`.
    """
    package = Package(file, shown_as(path))
    comments, answered = _comments(package)
    for _, attributes, _ in package.elements(package.part("commentsExtended")):
        if (comment := comments.get(answered.get(attributes.get(":paraId", ""), ""))) is not None:
            comment.above = answered.get(attributes.get(":paraIdParent", ""), "")
            comment.done = attributes.get(":done", "0") in ("1", "true", "on")
    body = _body_of(package, path)
    pieces = [piece if piece == PARAGRAPH_END else _BLANK.sub(" ", piece) for piece in body.log]
    text, starts = "".join(pieces).rstrip(), [*accumulate(map(len, pieces), initial=0)]
    for identifier, (first, last) in body.places.items():
        if identifier in comments:
            begin = min(starts[first], len(text))
            comments[identifier].words = Span(begin, begin + len(text[begin : starts[last]].rstrip()))
    section = Section(0, "", 0, SectionKind.BODY, Span(0, len(text)), 0)
    in_text = [identifier for identifier in body.places if identifier in comments]
    return Document(path, path, text, (section,)), {key: comments[key] for key in (*in_text, *comments)}


def _comments(package: Package) -> tuple[dict[str, WordComment], dict[str, str]]:
    """The comments of a file by their identifiers, and these by the paragraphs by which others reply to them."""
    comments: dict[str, WordComment] = {}
    answered: dict[str, str] = {}
    written: dict[str, list[list[str]]] = {"": []}  # the pieces of the paragraphs of each
    current = ""
    for name, attributes, words in package.elements(package.part("comments")):
        if name == "w:comment":
            current = attributes.get("w:id", "")
            comments[current] = WordComment(attributes.get("w:author", ""), attributes.get("w:date", ""))
            written[current] = []
        elif name == "w:p":
            written[current].append([])
            if "w14:paraId" in attributes:
                answered[attributes["w14:paraId"]] = current
        elif name in _WRITTEN and written[current]:
            written[current][-1].append("-" if name == "w:noBreakHyphen" else words or " ")
    for identifier, comment in comments.items():
        lines = (" ".join("".join(pieces).split()) for pieces in written[identifier])
        comment.text = "\n".join(lines).strip()
    return comments, answered
