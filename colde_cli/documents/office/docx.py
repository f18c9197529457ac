"""Read Word documents (.docx): their body, and all that stands beside it."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from functools import cache, partial
from typing import BinaryIO

from colde_cli.documents.apart import read_apart
from colde_cli.documents.builder import DocumentBuilder
from colde_cli.documents.document import Document, shown_as
from colde_cli.documents.office.archive import MAX_ELEMENTS, MAX_INNER_BYTES, Package
from colde_cli.documents.office.word_body import WordBody
from colde_cli.documents.office.word_numbering import Numbering
from colde_cli.documents.office.word_styles import WordStyles, switched_on
from colde_cli.documents.outside import Account, OutsideKind, PartKind
from colde_cli.documents.plain_text import read_text
from colde_cli.errors import DocumentError

_PAGES = {"first": "first page", "even": "even pages"}
_UNSHOWN = "not shown on any page"
_DEEPEST = 2  # documents inside documents
_ZIP = b"PK\x03\x04"
_WEB_PAGE = re.compile(
    rb"\s*(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]{0,200}>\s*)?<(?:!doctype\s+html|html|head|body|p|div|h[1-6])\b",
    re.I,
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
    shown = shown_as(path)
    package = Package(file, shown)
    styles = WordStyles()
    package.read(package.part("styles"), styles)
    properties = package.properties(package.part("core-properties"), {"dc:title": "title"})
    body = WordBody(DocumentBuilder(shown), styles, package=package, part=package.main, rejects=rejects)
    body.numbering = Numbering(package.elements(package.part("numbering")))
    body.inner_document = cache(partial(_inner_document, package=package, depth=depth, rejects=rejects))
    notes = [body.side_part(package.part(kind)) for kind in ("footnotes", "endnotes")]
    package.read(package.main, body, MAX_ELEMENTS)
    body.finish()
    for part in notes:
        body.account.add_all(part.account.texts, part.account.all_parts())
    _account_for_the_rest(package, body)
    return replace(body.build(dict(properties).get("title", ""), name), path=path)


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
