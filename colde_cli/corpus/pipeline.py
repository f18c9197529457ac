"""Read and encode the files of a corpus, many at a time, with a bounded number of tokens in memory.

Threads read files ahead (the work is in reader processes) and cut them into chunks. Another thread encodes windows of
documents, the longest chunk of all first, so that batches hold little padding and cores end together. The caller takes
the encodings, and writes them while the next window is encoded. `Collector` asks the cache before any of that.

Where time is short (`Budget`), those are encoded first that look closest to the query. Reading is about ten times
faster than encoding, and the words of a text can be weighted without the network. So all files are read first, and
ordered by the words that they share with the query. Then they are read again and encoded in that order, one by one.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from colde_cli.corpus.finding import Skipped
from colde_cli.corpus.records import Card, Store
from colde_cli.documents.document import Chunk, Document
from colde_cli.documents.pdf.scans import way_of_reading
from colde_cli.documents.reading import read
from colde_cli.documents.sandbox import readers
from colde_cli.encoder.encoding import DocumentEncoder, Encoding
from colde_cli.encoder.loading import learn_field, model_statistics
from colde_cli.errors import DocumentError, NoTextError
from colde_cli.scoring.config import Scorable
from colde_cli.scoring.lexicon import overlap
from colde_cli.scoring.profile import MIN_DOCUMENTS, Field, FieldProfile
from colde_cli.settings import CORPUS, usable_cores

if TYPE_CHECKING:
    from colde_cli.similarity.boilerplate import Boilerplate

Result = TypeVar("Result")

CPU_WINDOW, DEVICE_WINDOW = 1 << 16, 1 << 18
"""Tokens encoded together: a few seconds' work of a CPU, several batches of an accelerator."""
_WINDOWS_AHEAD = 3
"""Windows of tokens that may wait for the encoder; with as many, no further file is read."""
_MIN_TOKENS = 256
"""Tokens counted for every document in addition to its own: a million empty documents fill the memory, too."""
_FILES_AHEAD = 32
"""Files that are read, or wait to be, at the same time; only as many as there are cores are being read."""
_AHEAD = 2  # files that `call_ahead` calls for ahead, for each core
_READING = 0.5
"""Share of the time that reading all files may take: what is found late has to be encoded too."""


@dataclass(frozen=True, slots=True)
class StageTimes:
    """How long each stage took, in seconds, and of how many documents, pages and tokens.

    Stages run at the same time, so that their sum exceeds `total`. Reading and cutting into chunks are summed over all
    threads; `write` is what the caller took with what it was given, `wait` what the encoder waited for documents.
    """

    read: float = 0.0
    chunk: float = 0.0
    encode: float = 0.0
    write: float = 0.0
    wait: float = 0.0
    total: float = 0.0
    documents: int = 0
    pages: int = 0
    tokens: int = 0

    def share(self, stage: str) -> float:
        """The share of a stage in the whole time; that of reading can exceed 1."""
        seconds: float = getattr(self, stage)
        return seconds / self.total if self.total else 0.0


@dataclass(frozen=True, slots=True)
class PipelineProgress:
    """How far reading and encoding are, of so many files, None before they are counted.

    `read` counts files that cannot be as well; `encoded` has parts of those that are being encoded.
    """

    files: int | None
    read: int
    encoded: float


class StageClock:
    """Adds up the times of stages, and says how far the work is; threads may share it."""

    def __init__(self, check: Callable[[], object] = lambda: None) -> None:
        """Start at zero; `check` is called while documents are encoded, and what it raises ends the work."""
        self.check = check
        self._counts: Counter[str] = Counter()
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self._told = 0.0  # files encoded, as the last look said
        self._lock = threading.Lock()

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Add the time of a block to a stage."""
        start = time.monotonic()
        try:
            yield
        finally:
            with self._lock:
                self._seconds[name] += time.monotonic() - start

    def seconds(self, name: str) -> float:
        """How long a stage took so far."""
        with self._lock:
            return self._seconds[name]

    def count(self, **numbers: int) -> None:
        """Count `expected` files, those `read` with their `chunks`, chunks `encoded`, or what `StageTimes` counts.

        A file that cannot be read is read and has no chunks; `finished` are files that somebody else encoded.
        """
        with self._lock:
            self._counts.update(numbers)

    def look(self, _: int = 0) -> None:
        """Call `check`, wherever progress is counted elsewhere."""
        self.check()

    @property
    def progress(self) -> PipelineProgress:
        """How far the work is: the chunks of a file are taken for those of all files read so far.

        It never goes back, although a long file that has just been read makes less of what is encoded.
        """
        with self._lock:
            counts = self._counts
            share = counts["encoded"] / counts["chunks"] if counts["chunks"] else 1.0
            self._told = max(self._told, counts["finished"] + counts["read"] * min(1.0, share))
            return PipelineProgress(counts.get("expected"), counts["finished"] + counts["read"], self._told)

    @property
    def times(self) -> StageTimes:
        """The times so far."""
        with self._lock:
            read, chunk, encode, write, total = (
                self._seconds[name] for name in ("read", "chunk", "encode", "write", "total")
            )
            documents, pages, tokens = (self._counts[name] for name in ("documents", "pages", "tokens"))
            waited = max(0.0, total - encode)
            return StageTimes(read, chunk, encode, write, waited, total, documents, pages, tokens)


@dataclass(frozen=True, slots=True)
class CorpusReader:
    """Reads the files of a corpus, all in the same way.

    Attributes:
        password: of encrypted PDFs.
        boilerplate: text that is left out of every document.
        ocr: which pages are read by OCR, as for `read`.
    """

    password: str | None = None
    boilerplate: Boilerplate | None = None
    ocr: str | None = None

    def read(self, source: str | Path) -> Document:
        """Read a file, or standard input for "-".

        Raises:
            DocumentError: it cannot be read, or nothing of it is left.
        """
        return self.without_boilerplate(read(source, password=self.password, ocr=self.ocr))

    def without_boilerplate(self, document: Document) -> Document:
        """A document that was read, without what is left out of all."""
        return document if self.boilerplate is None else self.boilerplate.without(document)

    def store(self, encoder: DocumentEncoder) -> Store:
        """The store of encodings of files read this way."""
        options = [way_of_reading(self.ocr)]
        options += [] if self.boilerplate is None else [self.boilerplate.identity]
        # The cache is not encrypted: it must not hold text that takes a password to read.
        return Store(None if self.password else encoder.cache, encoder, options)


AS_IT_IS = CorpusReader()
"""Leaves nothing out, knows no password, and reads scans as COLDE_OCR says."""


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


@dataclass(frozen=True, slots=True)
class _Chunked:
    """A document that waits to be encoded; `tokens` is what it counts in a window."""

    document: Document
    chunks: tuple[Chunk, ...]
    tokens: int


def encode_files(
    files: Iterable[Path], encoder: DocumentEncoder, reader: CorpusReader, clock: StageClock | None = None
) -> Generator[Encoding | Skipped, None, None]:
    """Read and encode files, many at a time; yield each in the order of completion, with its path as in `files`.

    A file that cannot be read, or has not a single token, is `Skipped`. Closing the generator ends all of it at once:
    use `contextlib.closing`, as an error elsewhere does not close it.

    Args:
        files: regular files; taken only as fast as they are read, by the thread that takes the results.
        encoder: its cache keeps the vectors of chunks.
        reader: reads the files, in several threads.
        clock: measures the stages.
    """
    work, paths = _Work(encoder, reader, clock or StageClock()), iter(files)
    most = CPU_WINDOW if encoder.info.device == "cpu" else DEVICE_WINDOW
    running: set[Future[list[Any]]] = set()
    encoding: Future[list[Any]] | None = None
    waiting, ready = deque[_Chunked](), deque[Encoding | Skipped]()
    with (
        work.clock.stage("total"),
        readers(usable_cores()) as pool,
        ThreadPoolExecutor(1, "colde-encode") as thread,
        closing(work),
    ):
        while True:
            if sum(item.tokens for item in waiting) < _WINDOWS_AHEAD * most:
                running |= {pool.submit(work.read, path) for path in islice(paths, _FILES_AHEAD - len(running))}
            if waiting and encoding not in running:
                encoding = thread.submit(work.encode, _window(waiting, most))
                running.add(encoding)
            with work.clock.stage("write"):
                while ready:  # nothing that was yielded is kept
                    yield ready.popleft()
            if not running:
                return
            done, running = wait(running, return_when=FIRST_COMPLETED)
            while done:
                items = done.pop().result()
                waiting.extend(item for item in items if isinstance(item, _Chunked))
                ready.extend(item for item in items if not isinstance(item, _Chunked))
                items.clear()


def _window(waiting: deque[_Chunked], most: int) -> list[_Chunked]:
    """Take as many of the waiting documents as have at most so many tokens, but one at least."""
    window = [waiting.popleft()]
    room = most - window[0].tokens
    while waiting and waiting[0].tokens <= room:
        window.append(waiting.popleft())
        room -= window[-1].tokens
    return window


class _StoppedError(Exception):
    """Ends the encoding of a window that nobody waits for."""


class _Work:
    """What is done in other threads, until it is closed."""

    def __init__(self, encoder: DocumentEncoder, reader: CorpusReader, clock: StageClock) -> None:
        self._encoder, self._reader, self.clock, self._closed = encoder, reader, clock, False

    def close(self) -> None:
        """End the encoding, in the middle of a window if it must be."""
        self._closed = True

    def read(self, path: Path) -> list[_Chunked | Skipped]:
        """Read a file and cut it into chunks."""
        try:
            with self.clock.stage("read"):
                document = self._reader.read(path)
            with self.clock.stage("chunk"):
                chunks = self._encoder.chunk(document)
        except DocumentError as error:
            self.clock.count(read=1)
            return [Skipped(str(path), str(error))]
        self.clock.count(read=1, chunks=len(chunks))
        return [_Chunked(document, chunks, _MIN_TOKENS + sum(len(chunk.ids) for chunk in chunks))]

    def encode(self, window: Sequence[_Chunked]) -> list[Encoding]:
        """Encode documents together."""
        documents, chunked = [item.document for item in window], [item.chunks for item in window]
        uncounted = sum(map(len, chunked))

        def go_on(chunks: int) -> None:
            nonlocal uncounted
            if self._closed:
                raise _StoppedError
            self.clock.check()
            uncounted -= chunks
            self.clock.count(encoded=chunks)

        with self.clock.stage("encode"):
            encodings = self._encoder.encode_chunked(documents, chunked, go_on)
        self.clock.count(
            encoded=uncounted,  # equal chunks are encoded once
            documents=len(window),
            pages=sum(len(document.page_starts) for document in documents),
            tokens=sum(len(chunk.ids) for chunks in chunked for chunk in chunks),
        )
        return encodings


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
    that of `encode_files`. A model without a lexicon takes the files in their order. `clock` counts files.
    """
    clock, terms, begun = clock or StageClock(), budget.query.terms, time.monotonic()
    lexicon = None if encoder.statistics is None else encoder.statistics.lexicon

    def share(path: Path) -> float:
        document = reader.read(path)
        return overlap(terms, lexicon.terms(encoder.chunk(document))) if lexicon and terms else 0.0

    def reads_on() -> bool:
        return time.monotonic() - begun < _READING * budget.seconds

    shares: list[tuple[float, int]] = []
    with readers(usable_cores()) as pool:
        for number, overlapping in enumerate(call_ahead(pool, skipping(share), files, reads_on)):
            clock.count(read=1, chunks=0 if isinstance(overlapping, Skipped) else 1)
            if isinstance(overlapping, Skipped):
                yield overlapping
            else:
                shares.append((-overlapping, number))
        promising = [files[number] for _, number in sorted(shares)]
        encoding_since, characters = 0.0, 0
        for item in call_ahead(pool, skipping(reader.read), promising):
            encoded: Encoding | Skipped
            if isinstance(item, Skipped):
                encoded = item
            else:
                now = time.monotonic()
                encoding_since = encoding_since if characters else now
                # As fast as those before.
                expected = (now - encoding_since) / max(1, characters) * len(item.text)
                if characters and now - begun + expected > budget.seconds:
                    return
                (encoded,) = encode_each([item], encoder, clock.look)
                characters += len(item.text) if isinstance(encoded, Encoding) else 0
            clock.check()
            clock.count(encoded=1)
            yield encoded


class Collector:
    """Gets the cards of files from the store, and reads and encodes the others, many at a time.

    `encoded` counts files that were not in the store, `unencoded` those that were left out for want of time.
    """

    def __init__(
        self,
        encoder: DocumentEncoder,
        reader: CorpusReader,
        clock: StageClock | None = None,
        budget: Budget | None = None,
    ) -> None:
        self._store, self._encoder, self._reader = reader.store(encoder), encoder, reader
        self._clock, self._budget = clock or StageClock(), budget
        self._keys: dict[Path, bytes] = {}
        self._skipped: list[Skipped] = []
        self.encoded = self.unencoded = 0

    @property
    def skipped(self) -> tuple[Skipped, ...]:
        """The files that could not be read, by path."""
        return tuple(sorted(self._skipped, key=lambda item: item.path))

    def cards(self, files: Sequence[Path], progress: Callable[[int], None] | None = None) -> list[Card]:
        """The cards of all files that can be read, in the order of `files`."""
        advance = progress or (lambda number: None)
        with ThreadPoolExecutor(usable_cores()) as pool:
            keys = list(pool.map(self._key, files))
        self._keys = {path: key for path, key in zip(files, keys, strict=True) if key is not None}
        known = self._store.cards(self._keys)
        advance(len(known) + len(files) - len(self._keys))
        missing = [path for path in self._keys if path not in known]
        self.unencoded = len(missing)
        self._clock.count(expected=len(missing))
        arguments = (missing, self._encoder, self._reader, self._clock)
        with closing(encode_promising(self._budget, *arguments) if self._budget else encode_files(*arguments)) as items:
            for item in items:
                self.unencoded -= 1
                if isinstance(item, Skipped):
                    self._skipped.append(item)
                else:
                    path = Path(item.document.path)
                    self._store.keep(self._keys[path], item)
                    known[path] = Card.of(item)
                    self.encoded += 1
                advance(1)
        advance(self.unencoded)
        return [known[path] for path in files if path in known]

    def _key(self, path: Path) -> bytes | None:
        try:
            if path.is_file():
                return self._store.key(path)
            self._skipped.append(Skipped.unopened(path))
        except OSError as error:
            self._skipped.append(Skipped.unopened(path, error))
        return None

    def encoding(self, path: str) -> Encoding:
        """The whole encoding of a document that has a card; made once more where it was not kept."""
        known = self._store.encoding(Path(path), self._keys[Path(path)])
        return known or self._encoder.encode(self._reader.read(path))

    def in_order(self, cards: Iterable[Card], *others: Encoding) -> list[tuple[bytes, Scorable]]:
        """Documents with their keys, by key: the same documents in another order are the same field."""
        keyed: list[tuple[bytes, Scorable]] = [(self._keys[Path(card.path)], card) for card in cards]
        keyed += [(self._store.key(Path(other.document.path)), other) for other in others]
        return sorted(keyed, key=lambda item: item[0])

    def field(self, cards: Iterable[Card], *others: Encoding) -> Field | None:
        """The field that a corpus is; None in one of fewer than `MIN_DOCUMENTS`, or without word statistics.

        The store keeps its profile for the next search.
        """
        statistics, ordered = self._encoder.statistics, self.in_order(cards, *others)
        if statistics is None or len(ordered) < MIN_DOCUMENTS:
            return None
        keys = [key for key, _ in ordered]
        profile = self._store.profile(CORPUS, statistics.fingerprint, keys)
        if profile is not None:
            return Field(profile, statistics)
        field = learn_field(CORPUS, [item for _, item in ordered], self._encoder)
        self._store.keep_profile(field.profile, keys)
        return field


@dataclass(frozen=True, slots=True)
class Adaptation:
    """A field profile that was learned.

    Attributes:
        folder: where it is saved.
        skipped: folders that cannot be listed, and files that cannot be read.
    """

    profile: FieldProfile
    folder: Path
    skipped: tuple[Skipped, ...]


def adapt_files(
    files: Sequence[Path],
    name: str,
    encoder: DocumentEncoder,
    reader: CorpusReader,
    *,
    progress: Callable[[int], None] | None = None,
) -> tuple[FieldProfile, tuple[Skipped, ...]]:
    """Learn the profile `name` of the documents in files; also returns the files that cannot be read.

    Raises:
        DocumentError: none of the files can be read.
        OptionError: the model can have no profiles.
    """
    model_statistics(encoder)  # An error before the work, not after it.
    collector = Collector(encoder, reader)
    cards = collector.cards(files, progress)
    if not cards:
        raise DocumentError(f"None of the {len(files)} documents can be read: {collector.skipped[0].reason}")
    ordered = [card for _, card in collector.in_order(cards)]
    return learn_field(name, ordered, encoder).profile, collector.skipped
