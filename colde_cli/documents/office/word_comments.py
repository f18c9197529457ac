"""The comments of a Word file as a reviewer left them: author, date, thread, whether done, and the words they are on.

`read_docx` accounts for comments as texts outside the body, to be compared. Here they are remarks to be answered.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import BinaryIO

from colde_cli.documents.document import Document, Section, SectionKind, Span, shown_as
from colde_cli.documents.office.archive import MAX_ELEMENTS, Attributes, Package, XmlHandler

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
