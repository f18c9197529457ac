"""Encode those documents of a cold corpus that look closest to a query, until the time is up.

Reading is about ten times faster than encoding, and the words of a text can be weighed without the network. So all
files are read first, and ordered by the words that they share with the query. Then they are read again and encoded in
that order, so that no more than a few documents are in memory.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from colde_cli.corpus.collecting import CorpusReader, Skipped, call_ahead, encode_each, skipping
from colde_cli.corpus.pipeline import StageClock
from colde_cli.documents.document import Document
from colde_cli.documents.sandbox import readers
from colde_cli.encoder.encoding import DocumentEncoder, Encoding
from colde_cli.scoring.lexicon import Lexicon, overlap
from colde_cli.scoring.score import Scorable
from colde_cli.settings import usable_cores

Result = TypeVar("Result")

_READING = 0.5
"""Share of the time that reading all files may take: what is found late has to be encoded too."""


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
            encoded = encode_each([document], encoder)[0] if isinstance(document, Document) else document
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
