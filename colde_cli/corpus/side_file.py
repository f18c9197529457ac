"""The side file of a large index, from which the first stage of a ranking chooses what deserves an exact score.

Small indexes have no side file: all their documents are scored. Documents that were added since the side file was made
are looked at one by one; once they are many, `colde index` adds them to the file. The file is memory-mapped, and made
from the index alone:

    8 bytes     b"COLDEC" and the number of the layout
    a record    owner and number of documents, and the profile of the field that the rest was made within
    records     segments of the documents, by number; all but the last are full

Before each record stand its length and its CRC-32, 12 bytes. Everything can be made again, so a file that is damaged,
of another layout or of another index counts as none. A small file is checked when it is opened; a large one would take
too long. A bit that flips in a large file can hide a document; it cannot change a score.
"""

from __future__ import annotations

import mmap
import os
import shutil
import struct
import warnings
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from colde_cli.corpus.finding import ALL, Filter
from colde_cli.corpus.first_stage import Measure, Segment, candidates
from colde_cli.corpus.index_reader import Index
from colde_cli.corpus.records import Arrays, Header, pack, unpack
from colde_cli.corpus.stores import EXACT, SCORED, Likely
from colde_cli.encoder.encoding import DocumentEncoder
from colde_cli.files import atomic_file
from colde_cli.scoring.config import Scorable
from colde_cli.scoring.profile import Field, FieldProfile

Ints = NDArray[np.int64]

NAME = "candidates.bin"
LAYOUT = 4
_TAIL = 200
"""Maximum number of documents added after the side file was made, before they are added to it."""
_GONE = 0.2
"""Share of the documents of a side file that may be gone before it is made again."""
_GROWN = 2
"""How many times the documents that its field was learned from a side file may hold before it is made again."""
_FULL = 1 << 15
"""Documents of a full segment: 130 MB of memory while it is made."""
_CHECKED = 32_000_000
"""Bytes up to which a file is checked whole when it is opened: 5,000 documents have about 4 MB, checked in 4 ms."""
_MAGIC = b"COLDEC" + LAYOUT.to_bytes(2, "little")
_FRAME = struct.Struct("<QI")


def find_candidates(
    query: Scorable, index: Index, encoder: DocumentEncoder, top: int, chosen: Filter = ALL, own: Sequence[int] = ()
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

    def told(wrong: str, first: str = "") -> None:
        warnings.warn(
            f"{index.folder / NAME} is {wrong}, so every document is scored; {first}make it again with:"
            f" colde index {index.folder}",
            stacklevel=3,
        )

    searched = index.count()
    if searched <= EXACT:
        return None
    file = CandidateFile.open(index.folder / NAME, index.lineage)
    if file is None:
        told("missing or damaged")
        return None
    measure = _measure(encoder, file.profile)
    allowed = None if chosen == ALL else np.setdiff1d(index.numbers(chosen), own)
    # With the documents that the file does not know.
    segments = [*file.segments, *filter(None, (measure.segment(index.all_cards(only=f"d.number > {file.last}")),))]
    try:
        limit = max(SCORED, 2 * top) + len(own)
        numbers = candidates(measure.query(query), segments, limit, allowed)
        return Likely(np.setdiff1d(numbers, own), searched - len(own) if allowed is None else len(allowed))
    except (ValueError, IndexError):  # numbers that no file has unless it is damaged
        told("damaged", "delete the file and ")
        return None


def refresh(index: Index, encoder: DocumentEncoder) -> bool:
    """Make the side file of an index, or add to it, where that is due; return whether it was.

    Raises:
        BadIndexError: the index is damaged.
    """
    path = index.folder / NAME
    try:
        with index.reading():
            numbers = index.numbers()
            if len(numbers) <= EXACT:
                path.unlink(missing_ok=True)
                return False
            file = CandidateFile.open(path, index.lineage)
            if file is not None and not file.serves(numbers):
                file = None
            if file is not None and np.sum(numbers > file.last) <= _TAIL:
                return False
            field, last, kept = index.field(encoder), 0, 0
            profile = None if field is None else field.profile
            if file is not None:
                last, kept = file.full
                profile = file.profile if kept else profile
            rest = index.all_cards(only=f"d.number > {last}")
            del file  # where a file that is mapped cannot be replaced
            build(path, index.lineage, len(numbers), rest, _measure(encoder, profile), kept)
            return True
    except OSError as error:  # the index is whole without it
        warnings.warn(
            f"{path} cannot be written ({error.strerror or error}), so every document is scored; run colde index again"
            " when this is mended.",
            stacklevel=2,
        )
        return False


def side_file_problems(index: Index) -> Iterator[str]:
    """Sentences on a side file that is missing or damaged, or does not go with the documents; each says what to do."""
    path, remake = index.folder / NAME, f"make it again with: colde index {index.folder}"
    if index.count() <= EXACT:
        return
    if not path.exists():
        yield f"{path} is missing; {remake}"
        return
    file = CandidateFile.open(path, index.lineage)
    if file is None or not file.is_whole():
        yield f"{path} is damaged or of another index; delete it, and {remake}"
    elif not _agrees(index, file.ids):
        yield f"{path} does not list the documents of the index; delete it, and {remake}"


def _agrees(index: Index, ids: Ints) -> bool:
    """Whether numbers are ascending, none is yet to be given, and all documents up to the last are among them."""
    query = "SELECT seq FROM sqlite_sequence WHERE name = 'documents'"
    (given,) = index.connection.execute(query).fetchone()
    numbers, last = index.numbers(), int(ids.max(initial=0))
    return bool(np.all(np.diff(ids) > 0)) and last <= given and not len(np.setdiff1d(numbers[numbers <= last], ids))


def _measure(encoder: DocumentEncoder, profile: FieldProfile | None) -> Measure:
    statistics = encoder.statistics
    field = None if profile is None or statistics is None else Field(profile, statistics)
    return Measure.of(encoder, field)


@dataclass(frozen=True, slots=True, eq=False)
class CandidateFile:
    """An open side file: its segments, whose arrays are views of it, and the profile that it was made within.

    `places` say of each record where it begins and ends, and its checksum; the first is that of the profile.
    """

    segments: tuple[Segment, ...]
    profile: FieldProfile | None
    documents: int
    places: tuple[tuple[int, int, int], ...]
    mapped: mmap.mmap

    @classmethod
    def open(cls, path: Path, owner: str) -> CandidateFile | None:
        """Open the file; None if it is missing, damaged, of another layout or of another owner."""
        try:
            with path.open("rb") as file:
                mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            places = tuple(_places(mapped))
            view = memoryview(mapped)
            (header, arrays), *parts = (unpack(view[start:end]) or ({}, {}) for start, end, _ in places)
            if header["owner"] != owner:
                return None
            profile = None
            if header["profile"]:
                name, documents, fingerprint = header["profile"]
                profile = FieldProfile.of_arrays(name, documents, fingerprint, arrays)
            segments = tuple(Segment(**{**held, "ids": held["ids"].astype(np.int64)}) for _, held in parts)
            opened = cls(segments, profile, header["documents"], places, mapped)
            return opened if len(mapped) > _CHECKED or opened.is_whole() else None
        except (OSError, ValueError, LookupError, TypeError, AttributeError, OverflowError, struct.error):
            return None

    def is_whole(self) -> bool:
        """Whether all records are as they were written."""
        with memoryview(self.mapped) as view:
            return all(zlib.crc32(view[start:end]) == checksum for start, end, checksum in self.places)

    @property
    def ids(self) -> Ints:
        """The documents that it knows."""
        return np.concatenate([segment.ids for segment in self.segments])

    @property
    def last(self) -> int:
        """The last number that it knows."""
        return int(self.segments[-1].ids[-1])

    @property
    def full(self) -> tuple[int, int]:
        """The last number of its full segments, and where they end in the file; zeros without one."""
        full = sum(len(segment.ids) == _FULL for segment in self.segments)
        return (int(self.segments[full - 1].ids[-1]), self.places[full][1]) if full else (0, 0)

    def serves(self, numbers: Ints) -> bool:
        """Whether few of its documents are gone, and there are not many more than it was made of."""
        kept = int(np.searchsorted(numbers, self.last, "right"))
        return kept >= (1 - _GONE) * len(self.ids) and len(numbers) <= _GROWN * self.documents


def _places(mapped: mmap.mmap) -> Iterator[tuple[int, int, int]]:
    """Where each record begins and ends, and its checksum.

    Raises:
        ValueError, struct.error: the file is of another layout, or cut.
    """
    if mapped[: len(_MAGIC)] != _MAGIC:
        raise ValueError("another layout")
    end = len(_MAGIC)
    while end < len(mapped):
        length, checksum = _FRAME.unpack_from(mapped, end)
        start = end + _FRAME.size
        end = start + length
        if end > len(mapped):
            raise ValueError("a record is cut")
        yield start, end, checksum


def build(
    path: Path,
    owner: str,
    count: int,
    documents: Iterator[tuple[int, Scorable]],
    measure: Measure,
    kept: int = 0,
) -> None:
    """Write the side file of an index atomically. Memory is bounded by a segment.

    Args:
        path: of the file.
        owner: names the index, and the model that encoded it.
        count: how many documents the index has.
        documents: those of the index by id, ascending, that come after what is kept.
        measure: of the index; the profile of its field is kept in the file.
        kept: bytes of the file that is there which stay, up to the end of a full segment.

    Raises:
        OSError: it cannot be written.
    """
    with atomic_file(path) as staged:
        if kept:
            shutil.copyfile(path, staged)
            os.truncate(staged, kept)
        with staged.open("ab") as file:
            if not kept:
                profile = None if measure.field is None else measure.field.profile
                about = profile and [profile.name, profile.documents, profile.fingerprint]
                header = {"owner": owner, "documents": count, "profile": about}
                file.write(_MAGIC + _record(header, {} if profile is None else profile.arrays))
            while (segment := measure.segment(islice(documents, _FULL))) is not None:
                file.write(_record({}, {field.name: getattr(segment, field.name) for field in fields(segment)}))


def _record(header: Header, arrays: Arrays) -> bytes:
    record = pack(header, arrays)
    return _FRAME.pack(len(record), zlib.crc32(record)) + record
