"""A corpus in the order of its likeness to one document."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from colde_cli.corpus.store import Card, Store
from colde_cli.documents.confined import readers
from colde_cli.documents.document import Chunk, Document, Section, SectionKind
from colde_cli.documents.reading import read
from colde_cli.encoder.encoding import Encoding
from colde_cli.encoder.protocol import DocumentEncoder, RuntimeInfo
from colde_cli.errors import DocumentError, NotAvailableError, NoTextError
from colde_cli.settings import usable_cores
from colde_cli.similarity.boilerplate import Boilerplate
from colde_cli.similarity.scores import cosines
from colde_cli.similarity.scoring import ScorePart, document_scores, verdict

FloatArray = NDArray[np.float32]

MATCHES = 3
"""Pairs of sections that explain a hit."""
_BATCH = 16  # documents encoded together: enough to keep every core or an accelerator busy
_EXCERPT = 300


@dataclass(frozen=True, slots=True)
class Place:
    """A section of a document.

    Attributes:
        section: its heading.
        pages: first and last; None where the source has no pages.
        text: the beginning of its chunk that matches best; "" for the query.
    """

    section: str
    pages: tuple[int, int] | None
    text: str = ""


@dataclass(frozen=True, slots=True)
class Match:
    """A section of the query and the section of a hit that it is like; `score` is their cosine."""

    score: float
    query: Place
    hit: Place


@dataclass(frozen=True, slots=True)
class Hit:
    """A document of the corpus.

    Attributes:
        rank: from 1.
        path: as found.
        title: as printed, else the file's name.
        score: of the two documents.
        probability: the score calibrated; None where the model is not.
        matches: why, best first; empty unless asked for.
        parts: of what the score is made.
    """

    rank: int
    path: str
    title: str
    score: float
    probability: float | None
    matches: tuple[Match, ...] = ()
    parts: tuple[ScorePart, ...] = ()


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file that could not be read, and why, in a sentence."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class Ranking:
    """The documents closest to a query.

    Attributes:
        query_path: as given.
        query_title: as printed, else the file's name.
        model: what encoded, in which precision, where.
        results: best first.
        searched: documents that got a score, whether listed or not; the query's own file is not among them.
        encoded: how many of them were encoded now and not remembered.
        skipped: files that could not be read.
        like: documents whose text was left out of all.
    """

    query_path: str
    query_title: str
    model: RuntimeInfo
    results: tuple[Hit, ...]
    searched: int
    encoded: int
    skipped: tuple[Skipped, ...] = ()
    like: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Reading:
    """How the files of a corpus are read.

    Attributes:
        password: of encrypted PDFs.
        boilerplate: text to leave out of every one; None leaves out none.
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
        """Where encodings of files read this way are kept."""
        options = () if self.boilerplate is None else (self.boilerplate.identity,)
        # What takes a password to read does not go to the cache in clear.
        return Store(None if self.password else encoder.cache, encoder, options)


def encode_file(
    source: str,
    encoder: DocumentEncoder,
    *,
    password: str | None = None,
    boilerplate: Boilerplate | None = None,
) -> Encoding:
    """Encode a file, or standard input for "-"; what the encoder's cache knows is not read again.

    Args:
        source: to read.
        encoder: of the model.
        password: of an encrypted PDF.
        boilerplate: text to leave out.

    Raises:
        DocumentError: it cannot be read, or nothing of it is left.
    """
    reading = _Reading(password, boilerplate)
    if source == "-" or not Path(source).is_file():
        return encoder.encode(reading.read(source))
    path, store = Path(source), reading.store(encoder)
    key = store.key(path)
    known = store.encoding(path, key)
    if known is None:
        known = encoder.encode(reading.read(path))
        store.keep(key, known)
    return known


def rank(
    query: Encoding,
    corpus: Sequence[Path],
    encoder: DocumentEncoder,
    *,
    top: int = 10,
    min_score: float | None = None,
    explain: bool = False,
    password: str | None = None,
    boilerplate: Boilerplate | None = None,
    progress: Callable[[int], None] | None = None,
) -> Ranking:
    """Order documents by their score with the query, then by path.

    Files that cannot be read are skipped and listed. With a cache in `encoder`, what was encoded in an
    earlier run is not even parsed again.

    Args:
        query: the document to compare with; its own file is left out of the corpus.
        corpus: files, e.g. from `corpus.walking.walk`.
        encoder: what encoded the query.
        top: how many to list.
        min_score: list none below.
        explain: say for each hit which sections match.
        password: of encrypted PDFs.
        boilerplate: text to leave out of every file; the query should have been read likewise.
        progress: told of every number of documents done.
    """
    files = [path for path in corpus if not _same_file(path, query.document.path)]
    collector = _Collector(encoder, _Reading(password, boilerplate))
    cards = collector.cards(files, progress or (lambda number: None))
    hits = _best(query, cards, encoder, top, min_score)
    if explain:
        hits = [_explained(hit, query, collector.encoding(Path(hit.path))) for hit in hits]
    return Ranking(
        query.document.path,
        query.document.title,
        encoder.info,
        tuple(hits),
        searched=len(cards),
        encoded=collector.encoded,
        skipped=tuple(sorted(collector.skipped, key=lambda skipped: skipped.path)),
        like=boilerplate.sources if boilerplate is not None else (),
    )


def _same_file(path: Path, other: str) -> bool:
    try:
        return path.samefile(other)
    except OSError:
        return False


def _best(
    query: Encoding, cards: Sequence[Card], encoder: DocumentEncoder, top: int, min_score: float | None
) -> list[Hit]:
    if not cards:
        return []
    scores = document_scores([query] * len(cards), cards, encoder)
    ordered = sorted(zip(scores.tolist(), cards, strict=True), key=lambda pair: (-pair[0], pair[1].path))
    listed = [pair for pair in ordered if min_score is None or pair[0] >= min_score][:top]
    hits = []
    for place, (_, card) in enumerate(listed, 1):
        said = verdict(query, card, encoder)
        hits.append(Hit(place, card.path, card.title, said.score, said.probability, parts=said.parts))
    return hits


class _Collector:
    """Cards of files: from the store, else by reading and encoding them, many side by side."""

    def __init__(self, encoder: DocumentEncoder, reading: _Reading) -> None:
        self._store, self._encoder, self._reading = reading.store(encoder), encoder, reading
        self._keys: dict[Path, bytes] = {}
        self.encoded = 0
        self.skipped: list[Skipped] = []

    def cards(self, files: Sequence[Path], progress: Callable[[int], None]) -> list[Card]:
        """The cards of all files that can be read, in the order of `files`."""
        with readers(usable_cores()) as pool:
            keys = list(pool.map(self._key, files))
            self._keys = {path: key for path, key in zip(files, keys, strict=True) if key is not None}
            known = self._store.cards(self._keys)
            progress(len(known) + len(files) - len(self._keys))
            missing = [path for path in self._keys if path not in known]
            for batch in self._read(missing, pool):
                for encoding in self._encode(batch):
                    path = Path(encoding.document.path)
                    self._store.keep(self._keys[path], encoding)
                    known[path] = Card.of(encoding)
                    self.encoded += 1
                progress(len(batch))
        return [known[path] for path in files if path in known]

    def encoding(self, path: Path) -> Encoding:
        """All of a document that has a card; read and encoded once more where nothing is kept."""
        return self._store.encoding(path, self._keys[path]) or self._encoder.encode(self._reading.read(path))

    def _key(self, path: Path) -> bytes | None:
        if not path.is_file():  # a pipe can be read once only, or not at all
            self.skipped.append(Skipped(str(path), f"{path} is not a regular file."))
            return None
        try:
            return self._store.key(path)
        except OSError as error:
            self.skipped.append(Skipped(str(path), f"{path} cannot be opened: {error.strerror or error}."))
            return None

    def _read(self, files: Sequence[Path], pool: ThreadPoolExecutor) -> Iterator[list[Document | None]]:
        """Documents in batches, the next being read while one is encoded; None for those that cannot be."""
        waiting, queue = iter(files), deque[Future[Document | None]]()
        while True:
            queue.extend(
                pool.submit(self._try_document, path) for path in islice(waiting, 2 * _BATCH - len(queue))
            )
            if not queue:
                return
            yield [queue.popleft().result() for _ in range(min(_BATCH, len(queue)))]

    def _try_document(self, path: Path) -> Document | None:
        try:
            return self._reading.read(path)
        except (DocumentError, NotAvailableError) as error:
            self.skipped.append(Skipped(str(path), str(error)))
            return None

    def _encode(self, batch: Sequence[Document | None]) -> list[Encoding]:
        documents = [document for document in batch if document is not None]
        try:
            return self._encoder.encode_many(documents)
        except NoTextError:
            # One without a single token among many: find it.
            return [encoding for document in documents if (encoding := self._try_encode(document))]

    def _try_encode(self, document: Document) -> Encoding | None:
        try:
            return self._encoder.encode(document)
        except NoTextError as error:
            self.skipped.append(Skipped(document.path, str(error)))
            return None


def _explained(hit: Hit, query: Encoding, other: Encoding) -> Hit:
    return replace(hit, matches=_matches(query, other))


def _matches(query: Encoding, other: Encoding) -> tuple[Match, ...]:
    """The best pairs of sections, each section in one pair; lists of references and bare headings explain nothing."""
    scores = cosines(query.section_vectors, other.section_vectors)
    rows, columns = _telling(query.document), _telling(other.document)
    pairs = sorted(((float(scores[i, j]), i, j) for i in rows for j in columns), reverse=True)
    chosen: list[Match] = []
    used: set[tuple[str, int]] = set()
    for score, i, j in pairs:
        if len(chosen) == MATCHES:
            break
        if {("query", i), ("hit", j)} & used:
            continue
        used |= {("query", i), ("hit", j)}
        first, second = query.document.sections[i], other.document.sections[j]
        here = Place(first.heading, first.pages)
        chosen.append(Match(score, here, Place(second.heading, second.pages, _text(query, i, other, j))))
    return tuple(chosen)


def _telling(document: Document) -> list[int]:
    return [
        section.index
        for section in document.sections
        if section.kind is not SectionKind.REFERENCES and _body(document, section)
    ]


def _body(document: Document, section: Section) -> str:
    return document.text[section.body_start : section.span.end].strip()


def _text(query: Encoding, section: int, other: Encoding, partner: int) -> str:
    """The beginning of the chunk of section `partner` that is most like a chunk of `section`."""
    rows = [chunk.index for chunk in query.chunks if chunk.section == section]
    columns: list[Chunk] = [chunk for chunk in other.chunks if chunk.section == partner]
    if not rows or not columns:
        return ""
    scores = cosines(query.directions[rows], other.directions[[chunk.index for chunk in columns]])
    best = columns[int(scores.max(axis=0).argmax())]
    start = max(best.span.start, other.document.sections[partner].body_start)
    words = " ".join(other.document.text[start : best.span.end].split())
    return words if len(words) <= _EXCERPT else words[: _EXCERPT - 1].rstrip() + "…"
