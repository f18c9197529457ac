"""Read Word documents (.docx): their body, and all that stands beside it; their comments, as a reviewer left them.

`read_docx` accounts for comments as texts outside the body, to be compared. `read_word_comments` reads them as remarks
to be answered: author, date, thread, whether done, and the words they are on.
"""

from __future__ import annotations

import io
import re
from dataclasses import dataclass, field
from functools import cache, partial
from typing import BinaryIO

from colde_cli.documents.apart import read_apart
from colde_cli.documents.builder import DocumentBuilder
from colde_cli.documents.document import Document, Section, SectionKind, Span, shown_as
from colde_cli.documents.office.archive import MAX_ELEMENTS, MAX_INNER_BYTES, Attributes, Package, XmlHandler
from colde_cli.documents.office.word_body import WordBody
from colde_cli.documents.office.word_styles import Numbering, WordStyles, switched_on
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
    styles = WordStyles()
    package.read(package.part("styles"), styles)
    properties = package.properties(package.part("core-properties"), {"dc:title": "title"})
    body = WordBody(DocumentBuilder(path), styles, package=package, part=package.main, rejects=rejects)
    body.numbering = Numbering(package.elements(package.part("numbering")))
    body.inner_document = cache(partial(_inner_document, package=package, depth=depth, rejects=rejects))
    notes = [body.side_part(package.part(kind)) for kind in ("footnotes", "endnotes")]
    package.read(package.main, body, MAX_ELEMENTS)
    body.finish()
    for part in notes:
        body.account.add_all(part.account.texts, part.account.all_parts())
    _account_for_the_rest(package, body)
    return body.build(dict(properties).get("title", ""), name)


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


_BLANKS = {"w:tab": "\t", "w:br": " ", "w:cr": " ", "w:noBreakHyphen": "-"}
_TEXTS = ("w:t", "m:t")
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


@dataclass(slots=True)
class _Paragraphs(XmlHandler):
    """The paragraphs of a part, with tracked changes accepted, and the places at which comments begin and end.

    Attributes:
        texts: the pieces of each paragraph, in the order in which paragraphs begin: a text box after what it stands in.
        places: for each comment, paragraph and offset of its beginning and of its end.
    """

    texts: list[list[str]] = field(default_factory=list)
    places: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    _lengths: list[int] = field(default_factory=list)
    _open: list[int] = field(default_factory=list)
    _deleted: int = 0
    _fallbacks: int = 0  # the version of a drawing for older programs says everything again
    _in_text: bool = False

    def start(self, name: str, attributes: Attributes) -> None:
        """Begin an element."""
        if name == "w:p":
            self._open.append(len(self.texts))
            self.texts.append([])
            self._lengths.append(0)
        elif name in ("w:del", "w:moveFrom"):
            self._deleted += 1
        elif name == "mc:Fallback":
            self._fallbacks += 1
        elif name in _TEXTS:
            self._in_text = True
        elif name in _BLANKS and self._open:
            self._put(_BLANKS[name])
        elif name.startswith("w:comment"):
            identifier = attributes.get("w:id", "")
            if name != "w:commentReference" or identifier not in self.places:
                self._mark(identifier)

    def end(self, name: str) -> None:
        """End an element."""
        if name == "w:p" and self._open:
            self._open.pop()
        elif name in ("w:del", "w:moveFrom"):
            self._deleted -= 1
        elif name == "mc:Fallback":
            self._fallbacks -= 1
        elif name in _TEXTS:
            self._in_text = False

    def characters(self, text: str) -> None:
        """Take text of a run."""
        if self._in_text and self._open:
            self._put(text)

    def _put(self, text: str) -> None:
        if not self._deleted and not self._fallbacks:
            self.texts[self._open[-1]].append(text)
            self._lengths[self._open[-1]] += len(text)

    def _mark(self, identifier: str) -> None:
        paragraph = self._open[-1] if self._open else len(self.texts)
        offset = self._lengths[paragraph] if paragraph < len(self.texts) else 0
        self.places.setdefault(identifier, []).append((paragraph, offset))


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
    body = _Paragraphs()
    package.read(package.main, body, MAX_ELEMENTS)
    text, starts = _joined(body.texts)
    for identifier, places in body.places.items():
        if identifier in comments:
            first, last = (_offset(place, starts, len(text)) for place in (places[0], places[-1]))
            comments[identifier].words = Span(first, max(first, last))
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
        elif name in (*_TEXTS, *_BLANKS) and written[current]:
            written[current][-1].append(words or " ")
    for identifier, comment in comments.items():
        lines = (" ".join("".join(pieces).split()) for pieces in written[identifier])
        comment.text = "\n".join(lines).strip()
    return comments, answered


def _joined(paragraphs: list[list[str]]) -> tuple[str, list[tuple[int, int]]]:
    """All paragraphs with a blank line between them; of each its first character there, and its length."""
    pieces: list[str] = []
    starts, length = [], 0
    for written in paragraphs:
        text = "".join(" " if letter.isspace() else letter for letter in "".join(written))
        starts.append((length, len(text)))
        if text.strip():
            pieces += [text, "\n\n"]
            length += len(text) + 2
    return "".join(pieces[:-1]), starts


def _offset(place: tuple[int, int], starts: list[tuple[int, int]], end: int) -> int:
    paragraph, offset = place
    if paragraph >= len(starts):
        return end
    start, length = starts[paragraph]
    return min(start + min(offset, length), end)
