"""What stands in a file beside its text in reading order: texts outside, and parts that are not read.

A reader drops nothing without a trace. What is not body text goes into an `Account`: as an `OutsideText` if it can be
read, else as an `UnreadPart` with a digest. All formats have the same kinds; `formats.py` says which
format can hold which.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha256

MOST_KEPT = 20_000
"""Maximum number of texts, and of parts, that a document holds one by one; the others become one part, by digest."""
MOST_CHARACTERS = 4_000_000
"""Maximum number of characters of all texts outside a document; the others become one part, by digest."""
CODE_LINE = "line of code"
"""How the text of a line of code begins."""
_BARE_HOST = re.compile(r"[a-z]+://[^/?#]+/", re.IGNORECASE)
"""A web address without a path."""


class Tracked(StrEnum):
    """What becomes of tracked changes that a file has already."""

    KEEP = "keep"
    """They are read as accepted; a redline keeps them, with author and date."""
    ACCEPT = "accept"
    """They are read as accepted, and are so in a redline."""
    REJECT = "reject"
    """They are read as rejected, and are so in a redline."""


class OutsideKind(StrEnum):
    """Kinds of texts outside the body, by the names that `--ignore` and `--allow` take."""

    HEADERS = "headers"
    """Headers of pages, and running heads of PDFs."""
    FOOTERS = "footers"
    """Footers of pages, page numbers among them; a number that follows the page is written #."""
    COMMENTS = "comments"
    """Comments, sticky notes, marks of reviewers."""
    DELETED = "deleted-text"
    """Text that a tracked change deletes, and text that is struck through (which is body text, too)."""
    NOTES = "notes"
    """Footnotes and endnotes that nothing refers to."""
    ALTERNATIVES = "alternative-texts"
    """Texts that stand for pictures, and readings beside words (ruby)."""
    FORM_VALUES = "form-values"
    """Hidden values, choices and tooltips of form fields; visible values are body text."""
    LINKS = "links"
    """Targets of links, apart from those within the document."""
    HIDDEN = "hidden-text"
    """Text that is not shown: hidden, covered, beside the page, in layers that are off."""
    ROTATED = "rotated-text"
    """Text in another direction than the page's, such as watermarks."""
    CONTENTS = "contents"
    """Tables of contents, without their page numbers."""
    NAVIGATION = "navigation"
    """Menus and bookmarks."""
    METADATA = "metadata"
    """Titles and other properties that a reader sees."""
    CODE = "code"
    """Source that gives no text: field codes, unknown commands, what a condition leaves out."""
    STRUCTURE = "structure"
    """Levels of headings and kinds of lists, lines of code and their indentation, where the text does not show them."""


class PartKind(StrEnum):
    """Kinds of parts that are not read, by the names that `--ignore` and `--allow` take."""

    PICTURES = "pictures"
    CHARTS = "charts"
    DRAWINGS = "drawings"
    """Shapes and diagrams."""
    FORMULAS = "formulas"
    """Formulas without a text."""
    EMBEDDED = "embedded-files"
    """Objects and documents inside the document, and links to such."""
    ATTACHMENTS = "attachments"
    MEDIA = "media"
    """Sound and film."""
    FORMS = "forms"
    """Forms that the page does not show (XFA)."""
    APPEARANCE = "appearance"
    """What a page looks like: told apart only where everything else is equal."""
    SCRIPTS = "scripts"
    OTHER = "other-parts"


Kind = OutsideKind | PartKind
KINDS: dict[str, Kind] = {kind.value: kind for kind in (*OutsideKind, *PartKind)}
"""All kinds by name."""
GROUPS: dict[str, frozenset[Kind]] = {"outside": frozenset(OutsideKind), "parts": frozenset(PartKind)}
"""Names that stand for several kinds."""
KIND_NAMES = (*GROUPS, *KINDS)
"""What names kinds: groups, and single ones."""


def kinds_of(names: Iterable[str]) -> frozenset[Kind]:
    """The kinds that names of kinds and groups stand for; names of anything else stand for none."""
    kinds: set[Kind] = set()
    for name in names:
        kinds |= GROUPS.get(name) or ({KINDS[name]} if name in KINDS else set())
    return frozenset(kinds)


@dataclass(frozen=True, slots=True)
class OutsideText:
    """A text outside the body.

    Attributes:
        kind: see `OutsideKind`.
        text: as a reader sees it, in one paragraph.
        about: what it belongs to, such as the linked words, the name of a field, or "first page".
        pages: first and last page (1-based); None where the source has no pages.
    """

    kind: OutsideKind
    text: str
    about: str = ""
    pages: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class UnreadPart:
    """A part that is not read.

    Attributes:
        kind: see `PartKind`.
        digest: the same for equal parts; of a picture that could be decoded, "pixels:" and the digest of its pixels.
        about: what it is called or belongs to, such as a file name.
        pages: first and last page (1-based); None where the source has no pages.
        source: where the bytes are in the file, so that a picture can be decoded later; "" where it cannot.
    """

    kind: PartKind
    digest: str
    about: str = ""
    pages: tuple[int, int] | None = None
    source: str = ""


@dataclass(slots=True)
class Account:
    """Collects what a reader finds beside the body, in reading order, up to the limits of a document."""

    texts: list[OutsideText] = field(default_factory=list)
    parts: list[UnreadPart] = field(default_factory=list)
    _characters: int = 0
    _rest: list[str] = field(default_factory=list)

    def add_text(self, kind: OutsideKind, text: str, about: str = "", pages: tuple[int, int] | None = None) -> None:
        """Add a text; blanks alone are none."""
        text, about = " ".join(text.split()), " ".join(about.split())
        if kind is OutsideKind.LINKS and _BARE_HOST.fullmatch(text):
            text = text[:-1]  # editors add the slash
        if not text:
            return
        self._characters += len(text) + len(about)
        if len(self.texts) < MOST_KEPT and self._characters <= MOST_CHARACTERS:
            self.texts.append(OutsideText(kind, text, about, pages))
        else:
            self._rest.append(digest_of(f"{kind}\0{text}\0{about}".encode()))

    def add_code(self, text: str, longest: int) -> None:
        """Add the lines of code, each with its indentation, which may decide what it means; `longest`: of its words."""
        for line in text.split("\n"):
            words = line.strip()
            before = line[: len(line) - len(line.lstrip())].replace("\t", "\u21e5").replace(" ", "\u00b7")
            if words:
                self.add_text(OutsideKind.STRUCTURE, f"{CODE_LINE} {before}", words[:longest])

    def add_part(
        self, kind: PartKind, digest: str, about: str = "", pages: tuple[int, int] | None = None, source: str = ""
    ) -> None:
        """Add a part by the digest of its content."""
        if len(self.parts) < MOST_KEPT:
            self.parts.append(UnreadPart(kind, digest, " ".join(about.split())[:200], pages, source))
        else:
            self._rest.append(f"{kind} {digest}")

    def add_all(self, texts: Iterable[OutsideText], parts: Iterable[UnreadPart] = ()) -> None:
        """Add what another part of the file holds."""
        for text in texts:
            self.add_text(text.kind, text.text, text.about)
        for part in parts:
            self.add_part(part.kind, part.digest, part.about, source=part.source)

    def all_texts(self) -> tuple[OutsideText, ...]:
        """The texts within the limits."""
        return tuple(self.texts)

    def all_parts(self) -> tuple[UnreadPart, ...]:
        """The parts within the limits, and one for everything beyond them."""
        if not self._rest:
            return tuple(self.parts)
        beyond = f"{len(self._rest):,} more texts and parts"
        return (*self.parts, UnreadPart(PartKind.OTHER, digest_of("\n".join(self._rest).encode()), beyond))


def digest_of(data: bytes | Iterable[bytes]) -> str:
    """The digest of the bytes of a part."""
    digest = sha256()
    for block in (data,) if isinstance(data, bytes) else data:
        digest.update(block)
    return digest.hexdigest()
