"""Find the documents of an index that are worth an exact score, and keep the side file that this needs.

Small indexes have no side file: all their documents are scored. Documents that were added since the side file was made
are looked at one by one; once they are many, `colde index` makes the file again.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from colde_cli.corpus.candidate_file import CandidateFile, build
from colde_cli.corpus.candidates import Measure, Segment, candidates
from colde_cli.corpus.filters import ALL, Filter
from colde_cli.corpus.index import Index
from colde_cli.corpus.store import Card
from colde_cli.encoder.encoding import DocumentEncoder
from colde_cli.scoring.profile import Field, FieldProfile
from colde_cli.scoring.score import COSINE_ALONE, Scorable

Ints = NDArray[np.int64]

NAME = "candidates.bin"

EXACT = 1_000
"""Documents up to which an index is searched by exact scores alone."""

SCORED = 300
"""Candidates that get an exact score; twice the hits asked for, if these are more."""

_TAIL = 200
"""Documents added after the side file was made, up to which it is not made again."""
_GONE = 0.2
"""Share of the documents of a side file that may be gone before it is made again."""
_BLOCK = 256


@dataclass(frozen=True, slots=True, eq=False)
class Likely:
    """The documents that deserve an exact score.

    Attributes:
        numbers: int64 [n], ascending; a document of the side file that is gone may be among them.
        searched: how many documents they were chosen from.
    """

    numbers: Ints
    searched: int


def find_candidates(
    query: Scorable,
    index: Index,
    encoder: DocumentEncoder,
    top: int,
    chosen: Filter = ALL,
    own: Sequence[int] = (),
) -> Likely | None:
    """Find the documents that deserve an exact score; None where all do.

    Args:
        query: encoded by the model of the index.
        index: within `Index.reading`.
        encoder: the model of the index.
        top: how many hits are wanted.
        chosen: which documents may be found.
        own: numbers of the query itself, which is not found.
    """
    searched = index.count()
    if searched <= EXACT:
        return None
    file = CandidateFile.open(index.side_file(NAME), index.lineage)
    if file is None:
        warnings.warn(
            f"{index.folder / NAME} is missing or damaged, so every document is scored; make it again with:"
            f" colde index {index.folder}",
            stacklevel=2,
        )
        return None
    measure = _measure(encoder, file.profile)
    allowed = None if chosen == ALL else np.setdiff1d(index.numbers(chosen), own)
    segments = [file.segment, *_tail(index, file, measure)]
    try:
        most = max(SCORED, 2 * top) + len(own)
        found = np.setdiff1d(candidates(measure.query(query), segments, most, allowed), own)
        return Likely(found, searched - len(own) if allowed is None else len(allowed))
    except (ValueError, IndexError):  # numbers that no file has unless it is damaged
        warnings.warn(
            f"{index.folder / NAME} is damaged, so every document is scored; delete the file and make it again"
            f" with: colde index {index.folder}",
            stacklevel=2,
        )
        return None


def refresh(index: Index, encoder: DocumentEncoder) -> bool:
    """Make the side file of an index where it needs one and has none that fits; return whether it was made.

    Args:
        index: to read.
        encoder: the model of the index.

    Raises:
        BadIndexError: the index is damaged.
    """
    try:
        with index.reading():
            return _refresh(index, encoder)
    except OSError as error:  # the index is whole without it
        warnings.warn(
            f"{index.folder / NAME} cannot be written ({error.strerror or error}), so every document is scored; run"
            " colde index again when this is mended.",
            stacklevel=2,
        )
        return False


def _refresh(index: Index, encoder: DocumentEncoder) -> bool:
    path = index.side_file(NAME)
    if index.count() <= EXACT:
        path.unlink(missing_ok=True)
        return False
    file = CandidateFile.open(path, index.lineage)
    if file is not None and _fits(index, file):
        return False
    del file
    field = index.field(encoder)
    measure = _measure(encoder, None if field is None else field.profile)
    build(path, index.lineage, _blocks(index.all_cards()), measure)
    return True


def side_file_problems(index: Index) -> Iterator[str]:
    """Sentences on a side file that is missing or damaged, or does not go with the documents; each says what to do.

    Args:
        index: within `Index.reading`.
    """
    path, remake = index.side_file(NAME), f"make it again with: colde index {index.folder}"
    if index.count() <= EXACT:
        return
    if not path.exists():
        yield f"{path} is missing; {remake}"
        return
    file = CandidateFile.open(path, index.lineage)
    if file is None or not file.is_whole():
        yield f"{path} is damaged or of another index; delete it, and {remake}"
    elif not _agrees(index, file.segment.ids):
        yield f"{path} does not list the documents of the index; delete it, and {remake}"


def _agrees(index: Index, ids: Ints) -> bool:
    """Whether numbers are ascending, none is yet to be given, and all documents up to the last are among them."""
    query = "SELECT seq FROM sqlite_sequence WHERE name = 'documents'"
    (given,) = index.connection.execute(query).fetchone()
    last = int(ids[-1]) if len(ids) else 0
    numbers = index.numbers()
    early = numbers[numbers <= last]
    return bool(np.all(np.diff(ids) > 0)) and last <= given and len(np.setdiff1d(early, ids)) == 0


def _fits(index: Index, file: CandidateFile) -> bool:
    """Whether few documents were added and few are gone since the file was made."""
    numbers, known = index.numbers(), file.segment.ids
    added = len(numbers) - int(np.searchsorted(numbers, _last(file), "right"))
    kept = len(numbers) - added
    return added <= _TAIL and kept >= (1 - _GONE) * len(known)


def _last(file: CandidateFile) -> int:
    """The last number that the file knows; all later ones are the tail."""
    return int(file.segment.ids[-1]) if len(file.segment.ids) else 0


def _measure(encoder: DocumentEncoder, profile: FieldProfile | None) -> Measure:
    statistics = encoder.statistics
    field = None if profile is None or statistics is None else Field(profile, statistics)
    return Measure(field, encoder.config.score_weights or COSINE_ALONE)


def _tail(index: Index, file: CandidateFile, measure: Measure) -> Iterator[Segment]:
    """The documents that the file does not know."""
    for block in _blocks(index.all_cards(after=_last(file))):
        yield measure.segment([number for number, _ in block], [card for _, card in block])


def _blocks(cards: Iterator[tuple[int, Card]]) -> Iterator[list[tuple[int, Card]]]:
    while block := list(islice(cards, _BLOCK)):
        yield block
