"""Look at pictures and pages once more, where it decides whether two documents are the same.

Readers take the digests of pictures as they are stored, and do not draw pages: both would cost every reading what few
comparisons need. `settled` opens the files again in a reader process (`appearance_engine.py`), only as far as needed.
A source that cannot be opened again (standard input, a pipe, an upload) is kept as `Document.copy` as long as its
document lives. A file that has changed since it was read, or is gone, is not looked at.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

from colde_cli.documents.document import Document
from colde_cli.documents.outside import OutsideKind, PartKind, UnreadPart, digest_of
from colde_cli.documents.sandbox import each_of, readers

MEMORY = 1 << 30
"""Bytes of address space that the reader process may take, in addition to twice the size of the file."""
SECONDS = 240
"""Processor time for one file; a page takes a hundredth of a second."""
STEP_SECONDS = 15.0
"""Processor time for one page or one picture."""
MOST_PICTURES = 2_000
"""Maximum number of pictures of a document that are decoded; more keep the digest of what is stored."""
_PLACE = re.compile(r"page (\d+) image (\d+)")
_PAGED = ("pdf", "picture")  # a picture keeps a copy as a PDF
_FORMATS = (*_PAGED, "docx", "odt")
_ABOUT_COUNTS = frozenset((OutsideKind.LINKS, OutsideKind.FORM_VALUES))
_ON_PAGES = frozenset((OutsideKind.HEADERS, OutsideKind.FOOTERS, OutsideKind.ROTATED, OutsideKind.CONTENTS))
"""Kinds of texts that pages always show."""
_SEEN = (
    _ON_PAGES
    | {OutsideKind.COMMENTS, OutsideKind.NOTES, OutsideKind.DELETED}
    | (frozenset(PartKind) - {PartKind.SCRIPTS, PartKind.FORMS, PartKind.ATTACHMENTS})
)
"""Kinds of texts and parts that make the page on which they are look different."""
Looks = Mapping[Any, str | None]
"""By the number of a page or the digest of a picture what was found, None where that failed."""


def settled(a: Document, b: Document, *, same_body: bool, password: str | None = None) -> tuple[Document, Document]:
    """Decode pictures and draw pages, where that decides whether two documents are the same.

    1. Pictures of two files of one format that differ as they are stored are decoded. Where that succeeds, their digest
       becomes that of their pixels in both documents, so that a picture that was only stored anew is the same.
    2. If both are PDFs with equally many pages and one body, or without text, pages are drawn, and each becomes a part
       of its document (`PartKind.APPEARANCE`); with other bodies, only the pages without text. Left out are the pages
       for which something else is told apart: they look different anyway. A page that cannot be drawn, or not within
       the limits, is equal to no other.

    Returns:
        Both, with other parts. Documents of equal files, or without files, come back as they are.
    """
    if not a.digest or not b.digest or a.digest == b.digest or a.format != b.format:
        return a, b
    if a.format not in _FORMATS:
        return a, b
    a, b = _with_pixels(a, b, password)
    pages = _pages_to_draw(a, b) if a.format in _PAGED else []
    if not same_body:
        textless = {*a.report.pages_without_text, *b.report.pages_without_text}
        pages = [number for number in pages if number in textless]
    if not pages:
        return a, b

    def drawn(document: Document) -> Looks | None:
        own = [number for number in pages if number <= (document.report.pages or 0)]
        return _look(document, "pages", dict.fromkeys(own), password)

    looks = _both(a, b, drawn)
    if None in looks:
        return a, b  # a file is gone
    return _with_appearance(a, looks[0] or {}), _with_appearance(b, looks[1] or {})


def _with_pixels(a: Document, b: Document, password: str | None) -> tuple[Document, Document]:
    stored = [Counter(part.digest for part in _pictures(document)) for document in (a, b)]
    if not (stored[0] - stored[1] and stored[1] - stored[0]):
        return a, b
    wanted = {digest for digest in stored[0] | stored[1] if stored[0][digest] != stored[1][digest]}
    looks = _both(a, b, lambda document: _look(document, "pictures", _places(document, wanted), password))
    # A picture that both documents hold has the same pixels in both, whichever could be decoded.
    pixels = {digest: f"pixels:{decoded}" for look in looks for digest, decoded in (look or {}).items() if decoded}

    def settled_part(part: UnreadPart) -> UnreadPart:
        known = part.kind is PartKind.PICTURES and part.digest in pixels
        return replace(part, digest=pixels[part.digest]) if known else part

    return (replace(a, parts=tuple(map(settled_part, a.parts))), replace(b, parts=tuple(map(settled_part, b.parts))))


def _pictures(document: Document) -> Iterator[UnreadPart]:
    return (part for part in document.parts if part.kind is PartKind.PICTURES and part.source)


def _places(document: Document, wanted: set[str]) -> dict[str, Any]:
    """Where pictures are, by digest: page and number in a PDF, or the name of a part of an Office file."""
    places: dict[str, Any] = {}
    for part in _pictures(document):
        if part.digest in wanted and part.digest not in places and len(places) < MOST_PICTURES:
            place = _PLACE.fullmatch(part.source)
            if document.format not in _PAGED:
                places[part.digest] = part.source
            elif place is not None:
                places[part.digest] = (int(place[1]), int(place[2]))
    return places


def _pages_to_draw(a: Document, b: Document) -> list[int]:
    """The pages of two PDFs that must look equal; none if that can be said of no page."""
    reports = a.report, b.report
    textless = not (a.sections or b.sections)  # nothing but their looks tells their pages apart
    if reports[0].chosen_pages != reports[1].chosen_pages or not (textless or reports[0].pages == reports[1].pages):
        return []
    if any(report.skipped_sections or report.ignored for report in reports):
        return []  # on their pages stands what does not count
    apart = [
        *_apart(
            (a.outside, b.outside),
            lambda text: (text.kind, text.text, text.about if text.kind in _ABOUT_COUNTS else ""),
        ),
        *_apart((a.parts, b.parts), lambda part: (part.kind, part.digest)),
    ]
    if any(item.pages is None and item.kind in _ON_PAGES for item in apart):
        return []
    seen = [item.pages for item in apart if item.pages and item.kind in _SEEN]
    told = {number for first, last in seen for number in range(first, last + 1)}
    first, last = reports[0].chosen_pages or (1, max(report.pages or 0 for report in reports))
    return [number for number in range(first, last + 1) if number not in told]


def _apart(both: Sequence[Sequence[Any]], key: Callable[[Any], object]) -> list[Any]:
    """The texts or parts that are not equally often in both."""
    counts = [Counter(map(key, items)) for items in both]
    return [item for items in both for item in items if counts[0][key(item)] != counts[1][key(item)]]


def _with_appearance(document: Document, drawn: Looks) -> Document:
    parts = [
        UnreadPart(PartKind.APPEARANCE, digest or document.digest, "", (number, number))
        for number, digest in drawn.items()
    ]
    return replace(document, parts=(*document.parts, *parts))


def _both(a: Document, b: Document, look: Callable[[Document], Looks | None]) -> list[Looks | None]:
    with readers(2) as pool:
        return list(pool.map(look, (a, b)))


def _look(document: Document, task: str, places: Mapping[Any, Any], password: str | None) -> Looks | None:
    """Let a reader process look at pages, or at pictures in their places; None if there is no file."""
    kind = "pdf" if document.format in _PAGED else document.format
    request = {"task": task, "format": kind, "password": password, "seconds": SECONDS, "step": STEP_SECONDS}
    with reopened(document) as file:
        if file is None:
            return None
        limits = {"memory": MEMORY + 2 * file.seek(0, os.SEEK_END)}
        answers = each_of("colde_cli.documents.appearance_engine", file, request | limits, places, 2 * SECONDS)
        return dict.fromkeys(places) | {message["of"]: message["digest"] for message in answers}


@contextlib.contextmanager
def reopened(document: Document) -> Iterator[BinaryIO | None]:
    """Open the file of a document again, of a picture its PDF; None if it is gone or has changed."""
    if document.copy is not None:
        with document.copy.opened() as copy:
            yield copy
        return
    with contextlib.ExitStack() as stack:
        file = None
        with contextlib.suppress(OSError, ValueError):
            path = Path(document.path)
            file = stack.enter_context(path.open("rb")) if document.path and path.is_file() else None
        same = file and digest_of(iter(lambda: file.read(1 << 20), b"")) == document.digest
        yield file if same else None
