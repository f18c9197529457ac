"""Account for what a PDF holds beside the text of its pages, from what the reader processes find."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from colde_cli.documents.builder import tidy
from colde_cli.documents.outside import Account, OutsideKind, OutsideText, PartKind, UnreadPart, digest_of
from colde_cli.documents.pdf.lines import Bookmark


@dataclass(slots=True)
class Beside:
    """What a reader process found beside the text.

    Attributes:
        texts: of pages, in order.
        parts: of pages, in order, then those that are attached to the document.
        unseen: pages that could not be looked at.
        whole: it looked also for what is attached to the document.
    """

    texts: list[OutsideText] = field(default_factory=list)
    parts: list[UnreadPart] = field(default_factory=list)
    unseen: list[int] = field(default_factory=list)
    whole: bool = False

    def take_page(self, message: dict[str, Any]) -> None:
        """Take the message of a page.

        Raises:
            LookupError, TypeError, ValueError: the process was broken by the file.
        """
        number = int(message["number"])
        if message.get("failed"):
            self.unseen.append(number)
            return
        pages = (number, number)
        self._take_texts(message["outside"], pages)
        self._take_parts(message["parts"], pages)
        for place, digest in enumerate(message["pictures"], 1):
            source = f"page {number} image {place}"
            self.parts.append(UnreadPart(PartKind.PICTURES, str(digest), "", pages, source))

    def take_attached(self, message: dict[str, Any]) -> None:
        """Take the message on what belongs to no page; raises as `take_page` does."""
        for number, *part in message["parts"]:
            self._take_parts([part], (int(number), int(number)) if number else None)
        self._take_texts(message["outside"], None)
        self.whole = True

    def _take_texts(self, texts: Iterable[Sequence[str]], pages: tuple[int, int] | None) -> None:
        for kind, text, about in texts:
            self.texts.append(OutsideText(OutsideKind(kind), tidy(str(text)), tidy(str(about)), pages))

    def _take_parts(self, parts: Iterable[Sequence[str]], pages: tuple[int, int] | None) -> None:
        for kind, digest, about in parts:
            self.parts.append(UnreadPart(PartKind(kind), str(digest), tidy(str(about)), pages))

    def account(self, account: Account, outline: Iterable[Bookmark], file: BinaryIO) -> None:
        """Add all of it to the account of a document.

        What could not be looked at counts by the digest of the whole file: two files have it in common only if they
        are equal.
        """
        for mark in outline:
            account.add_text(OutsideKind.NAVIGATION, mark.title, "bookmark", _pages(mark.page))
        for text in self.texts:
            account.add_text(text.kind, text.text, text.about, text.pages)
        for part in self.parts:
            account.add_part(part.kind, part.digest, part.about, part.pages, part.source)
        if self.unseen or not self.whole:
            file.seek(0)
            digest = digest_of(iter(lambda: file.read(1 << 20), b""))
            for number in self.unseen:
                account.add_part(PartKind.OTHER, digest, "page that cannot be read", _pages(number))
            if not self.whole:
                account.add_part(PartKind.OTHER, digest, "attachments and forms that cannot be read")


def _pages(number: int) -> tuple[int, int] | None:
    return (number, number) if number else None
