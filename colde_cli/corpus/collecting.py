"""Find the documents in folders, and read and encode those that the cache does not know.

Where time is short, those are encoded first that look closest to the query. Reading is about ten times faster than
encoding, and the words of a text can be weighted without the network. So all files are read first, and ordered by the
words that they share with the query. Then they are read again and encoded in that order, so that no more than a few
documents are in memory.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from glob import glob as expand
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from colde_cli.corpus.pipeline import StageClock, encode_ahead
from colde_cli.corpus.store import Card, Store
from colde_cli.documents.document import Document
from colde_cli.documents.reading import SUPPORTED_SUFFIXES, read
from colde_cli.documents.sandbox import readers
from colde_cli.documents.selection import one_or_more
from colde_cli.encoder.encoding import DocumentEncoder, Encoding
from colde_cli.errors import DocumentError, MissingFileError, NoTextError, OptionError
from colde_cli.scoring.lexicon import Lexicon, overlap
from colde_cli.scoring.score import Scorable
from colde_cli.settings import INDEX_FILE, usable_cores

if TYPE_CHECKING:
    from colde_cli.similarity.boilerplate import Boilerplate

Result = TypeVar("Result")

APPLICATION = 0x434F4C44  # "COLD": SQLite keeps it in the head of the file of an index
_AHEAD = 2  # files read ahead, for each core
_READING = 0.5
"""Share of the time that reading all files may take: what is found late has to be encoded too."""


def walk(
    places: Iterable[Path],
    glob: str | None = None,
    on_error: Callable[[OSError], None] | None = None,
    within: Sequence[Path] = (),
) -> list[Path]:
    """The documents in folders, in a fixed order, each file once.

    Folders are searched through, sorted; symbolic links are followed. Hidden files and files that no reader takes are
    left out, and so are folders of indexes. A file that is named itself is taken whatever its name.

    Args:
        places: folders and files.
        glob: which files of folders to take, relative to the folder. `**` is any number of folders; a pattern without
            a slash is compared with the name alone.
        on_error: called for folders that cannot be listed or entered.
        within: folders, links resolved, in one of which a file must lie; empty takes files wherever links lead.

    Raises:
        MissingFileError: one of the places does not exist.
    """
    paths: dict[str, Path] = {}
    folders: dict[Path, str] = {}
    for place in places:
        if not place.exists():
            raise MissingFileError(f"There is no file or folder {place}.")
        for path in _files(place, on_error) if place.is_dir() else (place,):
            if not glob or path == place or fits(str(path.relative_to(place)), glob):
                real = _real(path, folders)
                if not within or any(Path(real).is_relative_to(folder) for folder in within):
                    paths.setdefault(real, path)
    return list(paths.values())


Corpus = str | Path | Sequence[str | Path]
"""Folders, files, patterns and URLs; one alone stands for itself."""


def local_places(corpus: Corpus, progress: Callable[[int], None] | None = None) -> list[str | Path]:
    """The places of a corpus, with a folder in the cache in place of the URL of a published index, fetched if new.

    Args:
        corpus: folders, files, and URLs such as "s3://bucket/papers.colde".
        progress: called with the number of blocks just fetched.

    Raises:
        RemoteError: a published index cannot be reached, or is damaged.
        BadIndexError: the cache folder cannot be written.
        MissingExtraError: object stores are not installed.
    """
    places = list(one_or_more(corpus))
    if not any("://" in str(place) for place in places):
        return places
    from colde_cli.corpus.publishing import fetch
    from colde_cli.corpus.remotes import is_url

    return [fetch(str(place), progress=progress).folder if is_url(place) else place for place in places]


def is_index(folder: Path) -> bool:
    """Whether a folder is an index, of any version."""
    try:
        with (folder / INDEX_FILE).open("rb") as file:
            head = file.read(100)
    except OSError:
        return False
    return head.startswith(b"SQLite format 3\0") and head[68:72] == APPLICATION.to_bytes(4, "big")


def find_files(
    corpus: Corpus, glob: str | None = None, purpose: str = "search in", within: Sequence[Path] = ()
) -> tuple[tuple[Path, ...], tuple[Skipped, ...]]:
    """Find the files of a corpus, and the folders that cannot be listed.

    Args:
        corpus: folders (searched through), files, and patterns such as "papers/**/*.pdf".
        glob: which files of folders to take.
        purpose: stands in the error if there is no file.
        within: folders, links resolved, in one of which a file must lie; empty takes files wherever links lead.

    Raises:
        DocumentError: a folder or file does not exist.
        OptionError: there is no file.
    """
    places = one_or_more(corpus)
    errors: list[OSError] = []
    files = walk([file for place in places for file in matching(place)], glob, errors.append, within)
    if not files:
        fits = f" that fits {glob!r}" if glob else ""
        raise OptionError(f"There is no document to {purpose} {', '.join(map(str, places))}{fits}.")
    return tuple(files), tuple(Skipped(str(error.filename), str(error.strerror)) for error in errors)


def matching(place: str | Path) -> list[Path]:
    """The files that a pattern matches; a file or folder is itself, whatever signs its name holds."""
    if Path(place).exists() or not set("*?[") & set(str(place)):
        return [Path(place)]
    found = expand(str(place), recursive=True)  # noqa: PTH207 - a Path takes no absolute pattern
    return [Path(path) for path in sorted(found)]


def _real(path: Path, folders: dict[Path, str]) -> str:
    """The path without links; `folders` remembers those of folders, of which many files may have the same."""
    if path.is_symlink() or not path.name or path.name == "..":
        return os.path.realpath(path)
    folder = path.parent
    if folder not in folders:
        folders[folder] = os.path.realpath(folder)
    return f"{folders[folder]}{os.sep}{path.name}"


def _files(root: Path, on_error: Callable[[OSError], None] | None) -> Iterator[Path]:
    seen: set[tuple[int, int]] = set()
    for folder, names, files in os.walk(root, followlinks=True, onerror=on_error):
        status = Path(folder).stat()
        identity = (status.st_dev, status.st_ino)
        if identity in seen:  # a link back up, or a second one to the same folder
            names.clear()
            continue
        seen.add(identity)
        if INDEX_FILE in files and is_index(Path(folder)):
            names.clear()
            continue
        names[:] = sorted(name for name in names if not name.startswith("."))
        for name in sorted(files):
            path = Path(folder, name)
            if name.startswith(".") or path.suffix.lower() not in SUPPORTED_SUFFIXES:
                continue
            if os.path.isfile(path):  # noqa: PTH113 - False where it may not be looked at
                yield path
            elif (error := _refused(path)) is not None:  # the folder may be listed and not entered
                names.clear()
                if on_error is not None:
                    on_error(PermissionError(error.errno, error.strerror, folder))
                break


def _refused(path: Path) -> PermissionError | None:
    """Why a name in a folder may not be looked at; None if it may."""
    try:
        path.lstat()
    except PermissionError as error:
        return error
    except OSError:  # gone meanwhile
        return None
    return None


def fits(path: str, glob: str) -> bool:
    """Whether a path relative to a folder fits a pattern; see `walk`."""
    return _fits(Path(path).parts, _pattern(glob))


@cache
def _pattern(glob: str) -> tuple[str, ...]:
    parts = (glob if "/" in glob else f"**/{glob}").split("/")
    # Several in a row mean the same as one, but would be tried in all combinations.
    return tuple(
        part for part, before in zip(parts, [None, *parts], strict=False) if part != "**" or before != "**"
    )


def _fits(names: tuple[str, ...], pattern: tuple[str, ...]) -> bool:
    """Whether the parts of a path fit those of a pattern."""
    if not pattern:
        return not names
    if pattern[0] == "**":
        return _fits(names, pattern[1:]) or (bool(names) and _fits(names[1:], pattern))
    return bool(names) and fnmatchcase(names[0], pattern[0]) and _fits(names[1:], pattern[1:])


def file_identity(path: str | bytes | Path) -> tuple[int, int] | None:
    """What is the same for all names of a file; None where there is no file."""
    try:
        status = os.stat(path)  # noqa: PTH116 - a Path of each of many files takes longer than to look
    except (OSError, ValueError):
        return None
    return status.st_dev, status.st_ino


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file that was left out, and the reason as a sentence."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class CorpusReader:
    """Reads the files of a corpus, all in the same way.

    Attributes:
        password: of encrypted PDFs.
        boilerplate: text to leave out of every file; None leaves out none.
    """

    password: str | None = None
    boilerplate: Boilerplate | None = None

    def read(self, source: str | Path) -> Document:
        """Read a file, or standard input for "-".

        Raises:
            DocumentError: it cannot be read, or nothing of it is left.
        """
        document = read(source, password=self.password)
        return document if self.boilerplate is None else self.boilerplate.without(document)

    def store(self, encoder: DocumentEncoder) -> Store:
        """The store of encodings of files read this way."""
        options = () if self.boilerplate is None else (self.boilerplate.identity,)
        # The cache is not encrypted: it must not hold text that takes a password to read.
        return Store(None if self.password else encoder.cache, encoder, options)


def skipping(call: Callable[[Path], Result]) -> Callable[[Path], Result | Skipped]:
    """A call for a file whose `DocumentError` becomes a `Skipped`."""

    def attempt(path: Path) -> Result | Skipped:
        try:
            return call(path)
        except DocumentError as error:
            return Skipped(str(path), str(error))

    return attempt


def call_ahead(
    pool: ThreadPoolExecutor,
    call: Callable[[Path], Result],
    files: Iterable[Path],
    goes_on: Callable[[], bool] = lambda: True,
) -> Iterator[Result]:
    """Call for each file, a few files ahead, and yield the results in their order.

    Once `goes_on` is false no further call is made; the first is made in any case.
    """
    waiting: deque[Future[Result]] = deque()
    for number, path in enumerate(files):
        if number and not goes_on():
            break
        waiting.append(pool.submit(call, path))
        if len(waiting) > _AHEAD * usable_cores():
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()


def encode_files(
    files: Iterable[Path], encoder: DocumentEncoder, reader: CorpusReader, clock: StageClock | None = None
) -> Generator[Encoding | Skipped, None, None]:
    """Read and encode files, many at a time; yield each in the order of completion, with its path as in `files`.

    A file that cannot be read is `Skipped`. Only a bounded number of tokens is in memory, however many files there
    are. While the caller writes what it was given, the next documents are encoded. Closing the generator ends the
    readers: use `contextlib.closing`, as an error elsewhere does not close it.

    Args:
        files: regular files; taken only as fast as they are read, by the thread that takes the results.
        encoder: its cache keeps the vectors of chunks.
        reader: reads the files.
        clock: measures the stages.
    """

    def skipped(path: Path, error: DocumentError) -> Skipped:
        return Skipped(str(path), str(error))

    return encode_ahead(files, reader.read, encoder, skipped, clock or StageClock())


def encode_each(
    documents: Sequence[Document], encoder: DocumentEncoder, progress: Callable[[int], None] | None = None
) -> list[Encoding | Skipped]:
    """Encode documents together; one that has not a single token is `Skipped`."""
    try:
        return list(encoder.encode_many(documents, progress))
    except NoTextError as error:
        if len(documents) > 1:  # Find it.
            return [item for document in documents for item in encode_each([document], encoder, progress)]
        return [Skipped(documents[0].path, str(error))]


EncodeFiles = Callable[
    [Sequence[Path], DocumentEncoder, CorpusReader], Generator[Encoding | Skipped, None, None]
]
"""`encode_files`, or a function like it."""


class Collector:
    """Gets the cards of files from the store, and reads and encodes the others, many at a time."""

    def __init__(
        self,
        encoder: DocumentEncoder,
        reader: CorpusReader,
        encode: EncodeFiles = encode_files,
        clock: StageClock | None = None,
    ) -> None:
        """Collect with `encode`, which may leave out files for want of time; `unencoded` counts them.

        `clock` hears how many files `encode` gets.
        """
        self._clock = clock or StageClock()
        self._store, self._encoder, self._reader = reader.store(encoder), encoder, reader
        self._encode = encode
        self._keys: dict[Path, bytes] = {}
        self.encoded = 0
        self.unencoded = 0
        self.skipped: list[Skipped] = []

    def cards(self, files: Sequence[Path], progress: Callable[[int], None]) -> list[Card]:
        """The cards of all files that can be read, in the order of `files`."""
        with ThreadPoolExecutor(usable_cores()) as pool:
            keys = list(pool.map(self._key, files))
        self._keys = {path: key for path, key in zip(files, keys, strict=True) if key is not None}
        known = self._store.cards(self._keys)
        progress(len(known) + len(files) - len(self._keys))
        missing = [path for path in self._keys if path not in known]
        self.unencoded = len(missing)
        self._clock.expect(len(missing))
        with closing(self._encode(missing, self._encoder, self._reader)) as items:
            for item in items:
                self.unencoded -= 1
                if isinstance(item, Skipped):
                    self.skipped.append(item)
                else:
                    path = Path(item.document.path)
                    self._store.keep(self._keys[path], item)
                    known[path] = Card.of(item)
                    self.encoded += 1
                progress(1)
        progress(self.unencoded)
        return [known[path] for path in files if path in known]

    def key(self, path: Path) -> bytes:
        """The key of a document that has a card."""
        return self._keys[path]

    def encoding(self, path: Path) -> Encoding:
        """The whole encoding of a document that has a card; made once more where it was not kept."""
        return self._store.encoding(path, self._keys[path]) or self._encoder.encode(self._reader.read(path))

    def _key(self, path: Path) -> bytes | None:
        if not path.is_file():  # a pipe can be read only once
            self.skipped.append(Skipped(str(path), f"{path} is not a regular file."))
            return None
        try:
            return self._store.key(path)
        except OSError as error:
            self.skipped.append(Skipped(str(path), f"{path} cannot be opened: {error.strerror or error}."))
            return None


@dataclass(frozen=True, slots=True)
class Budget:
    """The time to encode documents in, and the query that they should be close to."""

    query: Scorable
    seconds: float


def encode_promising(
    budget: Budget,
    files: Sequence[Path],
    encoder: DocumentEncoder,
    reader: CorpusReader,
    clock: StageClock | None = None,
) -> Generator[Encoding | Skipped, None, None]:
    """Read all files; yield the encodings of those closest to the query by words, as many as the time allows.

    One document is encoded in any case. Files that cannot be read are yielded as `Skipped`. Close the generator, as
    that of `encode_files`.

    Args:
        budget: of time; a model without a lexicon takes the files in their order.
        files: regular files.
        encoder: its cache keeps the vectors of chunks.
        reader: reads the files.
        clock: counts files that were read and encoded.
    """
    counts, time_left = clock or StageClock(), _Clock(budget.seconds)

    def go_on(_: int) -> None:
        counts.check()

    with readers(usable_cores()) as pool:
        shares: list[tuple[float, int]] = []
        measure = _measure(budget.query, encoder, reader)
        for number, share in enumerate(call_ahead(pool, measure, files, time_left.reading)):
            counts.count_read(0 if isinstance(share, Skipped) else 1)
            if isinstance(share, Skipped):
                yield share
            else:
                shares.append((-share, number))
        promising = [files[number] for _, number in sorted(shares)]
        for document in call_ahead(pool, skipping(reader.read), promising):
            if isinstance(document, Document) and not time_left.allows(document):
                return
            encoded = (
                encode_each([document], encoder, go_on)[0] if isinstance(document, Document) else document
            )
            time_left.done(encoded)
            counts.count_encoded(1)
            yield encoded


def _measure(
    query: Scorable, encoder: DocumentEncoder, reader: CorpusReader
) -> Callable[[Path], float | Skipped]:
    """A function that says how much the words of a file overlap with those of the query; threads may share it."""
    lexicon: Lexicon | None = None if encoder.statistics is None else encoder.statistics.lexicon
    terms = query.terms

    def share(path: Path) -> float:
        document = reader.read(path)
        return overlap(terms, lexicon.terms(encoder.chunk(document))) if lexicon and terms else 0.0

    return skipping(share)


class _Clock:
    """Measures how fast documents are encoded, to stop before the time is over."""

    def __init__(self, seconds: float) -> None:
        self._start = time.monotonic()
        self._seconds = seconds
        self._encoding = self._start
        self._length = 0
        self._encoded = 0

    def reading(self) -> bool:
        """Whether there is time to read another file."""
        return self._passed() < _READING * self._seconds

    def allows(self, document: Document) -> bool:
        """Whether the document can be encoded in time, as fast as those before; the first is allowed in any case."""
        now = time.monotonic()
        if not self._encoded:
            self._encoding = now
            return True
        expected = (now - self._encoding) / max(1, self._length) * len(document.text)
        return self._passed() + expected <= self._seconds

    def done(self, item: Encoding | Skipped) -> None:
        """Note that a document has been encoded."""
        if isinstance(item, Encoding):
            self._encoded += 1
            self._length += len(item.document.text)

    def _passed(self) -> float:
        return time.monotonic() - self._start
