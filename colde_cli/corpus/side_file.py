"""The side file of a large index, from which the first stage of a ranking chooses what deserves an exact score.

Small indexes have no side file: all their documents are scored. Documents that were added since the side file was made
are looked at one by one; once they are many, `colde index` makes the file again. The file is memory-mapped, and made
from the index alone:

    8 bytes          b"COLDEC" and the number of the layout
    4 + 4 bytes      length and CRC-32 of the header
    header           JSON: owner, number of documents, and name, kind, shape, place and CRC-32 of each array
    arrays           little-endian, each at a multiple of 64 bytes

Everything in it can be made again, so a file that is damaged, of another layout or of another index counts as none. The
arrays of a small file are checked when it is opened; those of a large one would take too long. A bit that flips in a
large file can hide a document; it cannot change a score.
"""

from __future__ import annotations

import json
import math
import mmap
import struct
import tempfile
import warnings
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from colde_cli.corpus.finding import ALL, Filter
from colde_cli.corpus.first_stage import Measure, Postings, Segment, ShortVectors, ShortWords, candidates
from colde_cli.corpus.index_reader import Index
from colde_cli.corpus.records import Arrays, Card
from colde_cli.corpus.stores import EXACT, SCORED, Likely
from colde_cli.encoder.encoding import DocumentEncoder
from colde_cli.files import atomic_file
from colde_cli.scoring.config import Scorable
from colde_cli.scoring.lexicon import BUCKETS
from colde_cli.scoring.profile import Field, FieldProfile
from colde_cli.scoring.score import COSINE_ALONE

Ints = NDArray[np.int64]

NAME = "candidates.bin"
LAYOUT = 3
_TAIL = 200
"""Maximum number of documents added after the side file was made, before it is made again."""
_GONE = 0.2
"""Share of the documents of a side file that may be gone before it is made again."""
_CHECKED = 32_000_000
"""Bytes up to which a file is checked whole when it is opened: 5,000 documents have about 10 MB, checked in 10 ms."""
_SORTED = 4_000_000  # postings that are sorted together
_BLOCK = 256  # documents read together
_MAGIC = b"COLDEC" + LAYOUT.to_bytes(2, "little")
_ALIGNED = 64
_PROFILE = "profile_"


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
    tail = _blocks(index.all_cards(after=_last(file)))  # documents that the file does not know
    segments = [measure.segment([number for number, _ in block], [card for _, card in block]) for block in tail]
    try:
        limit = max(SCORED, 2 * top) + len(own)
        numbers = candidates(measure.query(query), [file.segment, *segments], limit, allowed)
        return Likely(np.setdiff1d(numbers, own), searched - len(own) if allowed is None else len(allowed))
    except (ValueError, IndexError):  # numbers that no file has unless it is damaged
        told("damaged", "delete the file and ")
        return None


def refresh(index: Index, encoder: DocumentEncoder) -> bool:
    """Make the side file of an index where it needs one and has none that fits; return whether it was made.

    Raises:
        BadIndexError: the index is damaged.
    """
    path = index.folder / NAME
    try:
        with index.reading():
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


def _blocks(cards: Iterator[tuple[int, Card]]) -> Iterator[list[tuple[int, Card]]]:
    while block := list(islice(cards, _BLOCK)):
        yield block


@dataclass(frozen=True, slots=True, eq=False)
class CandidateFile:
    """An open side file: its documents, whose arrays are views of it, and the profile that it was made within."""

    segment: Segment
    profile: FieldProfile | None
    header: dict[str, Any]
    mapped: mmap.mmap

    @classmethod
    def open(cls, path: Path, owner: str) -> CandidateFile | None:
        """Open the file; None if it is missing, damaged, of another layout or of another owner."""
        try:
            with path.open("rb") as file:
                mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            length, checksum = struct.unpack_from("<II", mapped, 8)
            text = mapped[16 : 16 + length]
            header = json.loads(text)
            if mapped[:8] != _MAGIC or zlib.crc32(text) != checksum or header["owner"] != owner:
                return None
            arrays = {name: _array(mapped, entry) for name, entry in header["arrays"].items()}
            vectors = ShortVectors(arrays["values"], arrays["vector_scales"])
            lists = (arrays[name] for name in ("buckets", "starts", "documents", "weights", "word_scales"))
            segment, profile = Segment(arrays["ids"], vectors, Postings(*lists)), None
            if "profile" in header:
                name, documents, fingerprint = header["profile"]
                kept = {item.removeprefix(_PROFILE): array for item, array in arrays.items()}
                profile = FieldProfile.of_arrays(name, documents, fingerprint, kept)
            opened = cls(segment, profile, header, mapped)
            return opened if len(mapped) > _CHECKED or opened.is_whole() else None
        except (OSError, ValueError, LookupError, TypeError, AttributeError, OverflowError):
            return None
        except (SyntaxError, RecursionError, struct.error):  # NumPy parses the names of kinds
            return None

    def is_whole(self) -> bool:
        """Whether all arrays are as they were written."""
        return all(_checksum(self.mapped, entry) == entry["crc"] for entry in self.header["arrays"].values())


def build(path: Path, owner: str, blocks: Iterable[Sequence[tuple[int, Scorable]]], measure: Measure) -> None:
    """Write the side file of an index atomically. Memory is bounded by the blocks.

    Args:
        path: of the file.
        owner: names the index, and the model that encoded it.
        blocks: its documents by id, ascending; each block has one at least.
        measure: of the index; the profile of its field is kept in the file.

    Raises:
        OSError: it cannot be written.
    """
    with ExitStack() as stack:
        spool = _Spool(stack, path.parent)
        for block in blocks:
            spool.add(block, measure)
        staged = stack.enter_context(atomic_file(path))
        spool.write(staged, owner, None if measure.field is None else measure.field.profile)


class _Spool:
    """What the documents give, in their order, in temporary files: inverted lists can only be laid out at the end."""

    def __init__(self, stack: ExitStack, folder: Path) -> None:
        files = [tempfile.TemporaryFile(dir=folder) for _ in range(3)]  # noqa: SIM115 - the stack closes them
        self._values, self._buckets, self._weights = map(stack.enter_context, files)
        self._counts = np.zeros(2 * BUCKETS, np.int64)
        self._size = 0
        self._small: dict[str, list[NDArray[Any]]] = defaultdict(list)

    def add(self, block: Sequence[tuple[int, Scorable]], measure: Measure) -> None:
        """Add documents."""
        documents = [document for _, document in block]
        vectors, words = ShortVectors.of(measure.vectors(documents)), ShortWords.of(measure.words(documents))
        self._size = vectors.values.shape[1]
        vectors.values.tofile(self._values)
        words.buckets.tofile(self._buckets)
        words.weights.tofile(self._weights)
        self._counts += np.bincount(words.buckets, minlength=2 * BUCKETS)
        ids = np.array([number for number, _ in block], np.int64)
        small: Arrays = {"ids": ids, "vector_scales": vectors.scales, "word_scales": words.scales}
        for name, array in {**small, "lengths": words.lengths}.items():
            self._small[name].append(array)

    def write(self, path: Path, owner: str, profile: FieldProfile | None) -> None:
        """Write the file."""
        kinds = {"ids": np.int64, "vector_scales": np.float32, "word_scales": np.float32, "lengths": np.int64}
        arrays: Arrays = {name: np.concatenate([np.zeros(0, kind), *self._small[name]]) for name, kind in kinds.items()}
        lengths = arrays.pop("lengths")
        buckets = np.flatnonzero(self._counts)
        starts = np.concatenate([[0], np.cumsum(self._counts[buckets])])
        arrays |= {"buckets": buckets.astype(np.int32), "starts": starts.astype(np.int64)}
        if profile is not None:
            arrays |= {_PROFILE + name: array for name, array in profile.arrays.items()}
        entries = {name: _entry(array.dtype.str, array.shape) for name, array in arrays.items()}
        entries["values"] = _entry("|i1", (len(lengths), self._size))
        entries["documents"] = _entry("<i4", (int(lengths.sum()),))
        entries["weights"] = _entry("|u1", (int(lengths.sum()),))
        header: dict[str, Any] = {"owner": owner, "documents": len(lengths), "arrays": entries}
        if profile is not None:
            header["profile"] = [profile.name, profile.documents, profile.fingerprint]
        end = 4096 + len(json.dumps(header))  # The numbers yet to come are shorter than the room.
        for entry in entries.values():
            entry["start"] = end = -(-end // _ALIGNED) * _ALIGNED
            end += _bytes(entry)
        with path.open("r+b") as file:
            file.truncate(end)
            with mmap.mmap(file.fileno(), end) as mapped:
                self._fill(mapped, header, arrays, lengths)

    def _fill(self, mapped: mmap.mmap, header: dict[str, Any], arrays: Arrays, lengths: Ints) -> None:
        entries = header["arrays"]
        for name, array in arrays.items():
            _array(mapped, entries[name])[...] = array
        for place, block in _read(self._values, np.int8, self._size * 4096):
            _array(mapped, entries["values"]).reshape(-1)[place : place + len(block)] = block
        self._invert(
            lengths, arrays["starts"], _array(mapped, entries["documents"]), _array(mapped, entries["weights"])
        )
        for entry in entries.values():
            entry["crc"] = _checksum(mapped, entry)
        text = json.dumps(header).encode()
        mapped[: 16 + len(text)] = _MAGIC + struct.pack("<II", len(text), zlib.crc32(text)) + text

    def _invert(self, lengths: Ints, starts: Ints, documents: NDArray[np.int32], weights: NDArray[np.uint8]) -> None:
        """Put each entry into the list of its bucket, a stretch of documents at a time."""
        following = np.zeros(2 * BUCKETS, np.int64)
        following[np.flatnonzero(self._counts)] = starts[:-1]
        ends = np.cumsum(lengths)
        pairs = zip(_read(self._buckets, np.int32, _SORTED), _read(self._weights, np.uint8, _SORTED), strict=True)
        for (place, buckets), (_, block) in pairs:
            order = np.argsort(buckets, kind="stable")
            ordered = buckets[order]
            first = np.flatnonzero(np.diff(ordered, prepend=-1))
            counts = np.diff(np.append(first, len(ordered)))
            within = np.arange(len(ordered)) - np.repeat(first, counts)
            targets = following[ordered] + within
            documents[targets] = np.searchsorted(ends, place + order, "right")
            weights[targets] = block[order]
            following[ordered[first]] += counts


def _read(file: IO[bytes], kind: type[np.generic], count: int) -> Iterator[tuple[int, NDArray[Any]]]:
    """Yield the numbers of a temporary file in blocks, each with the position of its first number."""
    file.seek(0)
    place = 0
    while len(block := np.frombuffer(file.read(count * np.dtype(kind).itemsize), kind)):
        yield place, block
        place += len(block)


def _entry(kind: str, shape: Sequence[int]) -> dict[str, Any]:
    return {"kind": kind, "shape": list(shape), "start": 0, "crc": 0}


def _bytes(entry: dict[str, Any]) -> int:
    return int(math.prod(entry["shape"]) * np.dtype(entry["kind"]).itemsize)


def _array(mapped: mmap.mmap, entry: dict[str, Any]) -> NDArray[Any]:
    count = math.prod(entry["shape"])
    return np.frombuffer(mapped, entry["kind"], count, entry["start"]).reshape(entry["shape"])


def _checksum(mapped: mmap.mmap, entry: dict[str, Any]) -> int:
    start = int(entry["start"])
    with memoryview(mapped) as view, view[start : start + _bytes(entry)] as part:
        return zlib.crc32(part)
