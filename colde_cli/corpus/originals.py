"""Read the files of a corpus once each, and recognise those with the same bytes or the same text as another."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from colde_cli.corpus.collecting import CorpusReader, Skipped, call_ahead, skipping
from colde_cli.corpus.filters import Filter
from colde_cli.corpus.index import Index
from colde_cli.corpus.near_pairs import NearPairs
from colde_cli.corpus.sketches import text_digest, text_words, word_numbers
from colde_cli.documents.document import Document
from colde_cli.documents.sandbox import readers
from colde_cli.encoder.cache import file_digest
from colde_cli.settings import usable_cores

LEAST_WORDS = 50
"""Shorter texts are compared as a whole only: the few words of a form stand in many documents."""


@dataclass(frozen=True, slots=True)
class Original:
    """A file.

    Attributes:
        title: as printed, else the file's name.
        words: how many it has; 0 where it could not be read.
        size: in bytes.
    """

    path: str
    title: str
    words: int
    size: int


class Originals:
    """What is known of the files of a corpus.

    Attributes:
        texts: a file for each text, by its number in `NearPairs`.
        same_text: by path of an original, files with the same words and other bytes.
        same_bytes: by path of the first of them, files with the same bytes.
        unread: files that cannot be read, and of which there are copies.
        searched: how many files were compared.
        half_read: paths of files that were read in part, each with sentences on what is missing.
    """

    def __init__(self, texts: NearPairs, reader: CorpusReader) -> None:
        self._near, self._reader = texts, reader
        self._known: dict[bytes, Original] = {}
        self.texts: list[Original] = []
        self.same_text: dict[str, list[Original]] = defaultdict(list)
        self.same_bytes: dict[str, list[Original]] = defaultdict(list)
        self.unread: list[Original] = []
        self.searched = 0
        self.skipped: list[Skipped] = []
        self.half_read: list[tuple[str, tuple[str, ...]]] = []

    def read(self, files: Sequence[Path], progress: Callable[[int], None]) -> None:
        """Read each file, but only one of those with the same bytes."""
        copies = self._copies(files)
        progress(len(files) - sum(1 + len(alike) for _, alike in copies.values()))
        for path, found in self._documents(list(copies)):
            size, alike = copies[path]
            if isinstance(found, Skipped):
                self.skipped += [found, *(Skipped(str(copy), found.reason) for copy in alike)]
                original = Original(str(path), path.name, 0, size)
                self.unread += [original] if alike else []
            else:
                original = self._add(found, size)
            for copy in alike:
                title = copy.name if original.title == path.name else original.title
                self.same_bytes[original.path].append(Original(str(copy), title, original.words, size))
            self.searched += 1 + len(alike) if alike or not isinstance(found, Skipped) else 0
            progress(1 + len(alike))

    def read_index(self, index: Index, chosen: Filter, progress: Callable[[int], None]) -> None:
        """Take the texts that an index holds; no file is read.

        Raises:
            BadIndexError: it is damaged or out of reach.
        """
        first: dict[int, Original] = {}
        with index.reading():
            for item in index.documents(chosen):
                if item.content in first:
                    same = first[item.content]
                    copy = Original(item.path, item.title, same.words, item.size)
                    self.same_bytes[same.path].append(copy)
                else:
                    first[item.content] = self._add(index.document(item.number), item.size)
                self.searched += 1
                progress(1)
            self.skipped += index.bad_files()

    def _add(self, document: Document, size: int) -> Original:
        words = text_words(document.text)
        found = Original(document.path, document.title, len(words), size)
        if document.report.warnings:
            self.half_read.append((document.path, document.report.warnings))
        first = self._known.setdefault(text_digest(words), found) if words and _whole(document) else found
        if first is not found:
            self.same_text[first.path].append(found)
        else:
            self.texts.append(found)
            self._near.add(word_numbers(words if len(words) >= LEAST_WORDS else []))
        return found

    def _copies(self, files: Sequence[Path]) -> dict[Path, tuple[int, list[Path]]]:
        """The first of all files with the same bytes, with its size and the others; files of one size are hashed."""
        sizes: dict[int, list[Path]] = defaultdict(list)
        for path in files:
            if path.is_file():
                sizes[path.stat().st_size].append(path)
            else:  # a pipe can be read once only, or not at all
                self.skipped.append(Skipped(str(path), f"{path} is not a regular file."))
        contents: dict[tuple[int, bytes], list[Path]] = defaultdict(list)
        for size, alike in sizes.items():
            for path in alike:
                try:
                    contents[size, file_digest(path) if len(alike) > 1 else b""].append(path)
                except OSError as error:
                    reason = f"{path} cannot be opened: {error.strerror or error}."
                    self.skipped.append(Skipped(str(path), reason))
        copies = {first: (size, others) for (size, _), (first, *others) in contents.items()}
        return {path: copies[path] for path in files if path in copies}

    def _documents(self, files: Sequence[Path]) -> Iterator[tuple[Path, Document | Skipped]]:
        """Documents in the order of `files`, read by threads a few files ahead."""
        with readers(usable_cores()) as pool:
            yield from zip(files, call_ahead(pool, skipping(self._reader.read), files), strict=True)


def _whole(document: Document) -> bool:
    """Whether all of the text was read: what was not may differ."""
    report = document.report
    return not (report.pages_without_text or report.unreadable_characters or report.unread_values)
