"""Pair the files of two folders: by their places, then by their names, then by their bytes and by their wording.

Only files without a partner of the same name are read for that; which words two files share is found as
`corpus.near_pairs` finds it, without comparing all with all.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path, PurePosixPath
from typing import Any

from colde_cli.corpus.duplicates import MIN_SHARE
from colde_cli.corpus.finding import Skipped, unlisted, walk
from colde_cli.corpus.near_pairs import NearPairs, text_words, word_numbers
from colde_cli.corpus.pipeline import AS_IT_IS, CorpusReader
from colde_cli.encoder.encoding import RuntimeInfo
from colde_cli.encoder.vector_cache import file_digest
from colde_cli.errors import DocumentError, OptionError
from colde_cli.similarity.comparison import Comparison
from colde_cli.similarity.digest import ComparisonDigest, digest_data
from colde_cli.similarity.outside_changes import switches_data
from colde_cli.similarity.plain_data import fields_data, model_data
from colde_cli.similarity.redline import NOTHING_IGNORED, IgnoreOptions


class FileState(StrEnum):
    """What became of a file, the worst first."""

    UNREAD = "unread"
    ONLY_A = "only_a"
    ONLY_B = "only_b"
    EDITED = "edited"
    RENAMED = "renamed"
    SAME = "same"


@dataclass(frozen=True, slots=True)
class FilePair:
    """A file of the first folder and its partner in the second, by their paths within the folders; "" for none."""

    a: str
    b: str
    same_bytes: bool = False


@dataclass(frozen=True, slots=True, repr=False)
class FileChange:
    """What became of a file, or of two that are versions of one document.

    Attributes:
        state: "renamed" if its path changed, whether it was edited or not.
        a: its path within the first folder; "" where it is only in the second.
        b: its path within the second folder.
        reason: why it could not be read, in a sentence; "" if it was.
        same: both have the same text, and nothing beside it differs.
        digest: of their comparison; None where they were not compared, or have the same bytes.
    """

    state: FileState
    a: str
    b: str
    reason: str = ""
    same: bool = False
    digest: ComparisonDigest | None = None

    @property
    def changes(self) -> int:
        """Passages that differ."""
        return 0 if self.digest is None else self.digest.changes

    @property
    def weight(self) -> float:
        """Weight of the weightiest change."""
        return 0.0 if self.digest is None else self.digest.weight

    @property
    def half_read(self) -> bool:
        """Whether a part of one of the two could not be read: what it says may differ."""
        return self.digest is not None and self.digest.half_read


@dataclass(frozen=True, slots=True, repr=False)
class FolderComparison:
    """The documents of two folders, compared.

    Attributes:
        a: the first folder, as given.
        b: the second.
        files: the worst first.
        unlisted: folders that cannot be listed.
    """

    a: str
    b: str
    files: tuple[FileChange, ...]
    unlisted: tuple[Skipped, ...]
    model: RuntimeInfo
    ignore: IgnoreOptions = NOTHING_IGNORED

    @property
    def counts(self) -> dict[FileState, int]:
        """The files in each state."""
        counts = Counter(change.state for change in self.files)
        return {state: counts[state] for state in FileState}

    @property
    def same(self) -> bool:
        """Whether every file has a partner at the same place with the same text, and was read."""
        return not self.unlisted and all(change.state is FileState.SAME for change in self.files)

    @property
    def skipped(self) -> tuple[Skipped, ...]:
        """Folders that cannot be listed, and files that cannot be read."""
        unread = (change for change in self.files if change.state is FileState.UNREAD)
        return (*self.unlisted, *(Skipped(change.a or change.b, change.reason) for change in unread))

    def to_dict(self) -> dict[str, Any]:
        """Build schema colde.folders/1, the output of `colde diff FOLDER FOLDER --format json`."""
        return {
            "schema": "colde.folders/1",
            "a": self.a,
            "b": self.b,
            "model": model_data(self.model),
            "ignored": switches_data(self.ignore),
            "summary": {state.value: count for state, count in self.counts.items()},
            "files": [file_data(change) for change in self.files],
            **fields_data(self, "unlisted"),
        }


def file_data(change: FileChange) -> dict[str, Any]:
    """Build the object of a file of schema colde.folders/1."""
    return {
        "state": change.state.value,
        "a": change.a or None,
        "b": change.b or None,
        "reason": change.reason or None,
        "same": change.same,
        "same_content": change.same or (change.digest is not None and change.digest.same_content),
        **digest_data(change.digest),
    }


def compared_pairs(
    paired: PairedFiles,
    folders: tuple[Path, Path],
    compare: Callable[[Path, Path], Comparison],
    each: Callable[[FileChange, Comparison], None] | None = None,
    progress: Callable[[int], None] | None = None,
) -> Iterator[FileChange]:
    """Compare the files of two folders, pair by pair; those with the same bytes are not read.

    Args:
        compare: compares two files.
        each: called with every comparison, before it is forgotten.
        progress: called with 1 after each pair.
    """
    for pair in paired.pairs:
        if not pair.a or not pair.b:
            reason = paired.unread.get((1, pair.b) if pair.b else (0, pair.a), "")
            alone = FileState.ONLY_A if pair.a else FileState.ONLY_B
            change = FileChange(FileState.UNREAD if reason else alone, pair.a, pair.b, reason)
        elif pair.same_bytes:
            state = FileState.SAME if pair.a == pair.b else FileState.RENAMED
            change = FileChange(state, pair.a, pair.b, same=True)
        else:
            try:
                comparison = compare(folders[0] / pair.a, folders[1] / pair.b)
            except (DocumentError, OptionError) as error:  # without text, too long, or without such pages
                change = FileChange(FileState.UNREAD, pair.a, pair.b, str(error))
            else:
                change = compared_files(pair, comparison)
                if each is not None:
                    each(change, comparison)
        yield change
        if progress is not None:
            progress(1)


def compared_files(pair: FilePair, comparison: Comparison) -> FileChange:
    """What became of two files, from their comparison."""
    same, moved = comparison.same, pair.a != pair.b
    state = FileState.RENAMED if moved else FileState.SAME if same else FileState.EDITED
    return FileChange(state, pair.a, pair.b, same=same, digest=ComparisonDigest.of(comparison))


def worst_first(changes: Iterable[FileChange]) -> tuple[FileChange, ...]:
    """Order files: what could not be read or is in one folder only, then by the weight of the weightiest change."""
    order = {state: place for place, state in enumerate(FileState)}
    order[FileState.RENAMED] = order[FileState.EDITED]  # it may be edited, too
    return tuple(
        sorted(changes, key=lambda change: (order[change.state], -change.weight, -change.changes, change.a or change.b))
    )


@dataclass(frozen=True, slots=True)
class PairedFiles:
    """The files of two folders, paired.

    Attributes:
        pairs: by path.
        unread: why files without a partner could not be read, by folder (0 or 1) and path.
        unlisted: folders that cannot be listed.
    """

    pairs: tuple[FilePair, ...]
    unread: Mapping[tuple[int, str], str]
    unlisted: tuple[Skipped, ...]


def pair_files(a: Path, b: Path, glob: str | None = None, reader: CorpusReader = AS_IT_IS) -> PairedFiles:
    """Pair the files of two folders; `glob` says which to take, relative to the folder.

    Raises:
        OptionError: neither folder holds a document.
    """
    errors: list[OSError] = []
    pairing = _Pairing(a, b)
    for folder, alone in zip((a, b), pairing.alone, strict=True):
        paths = walk([folder], glob, errors.append)
        alone |= dict.fromkeys(path.relative_to(folder).as_posix() for path in paths)  # noqa: PLW2901 - in place
    if not any(pairing.alone):
        raise OptionError(f"There is no document to compare in {a} and {b}.")
    pairing.by_key(lambda _, name: name)
    pairing.by_key(lambda _, name: PurePosixPath(name).with_suffix(""))
    pairing.by_bytes()
    unread = pairing.by_words(reader)
    pairs = [*pairing.pairs, *(FilePair(name, "") for name in pairing.alone[0])]
    pairs += [FilePair("", name) for name in pairing.alone[1]]
    ordered = sorted(pairs, key=lambda pair: (pair.a or pair.b, pair.b))
    return PairedFiles(tuple(ordered), unread, unlisted(errors))


class _Pairing:
    """The files of two folders, some of them paired already.

    Attributes:
        alone: of each folder, the names without a partner, in order.
    """

    def __init__(self, *folders: Path) -> None:
        self._folders = folders
        self.alone: tuple[dict[str, None], dict[str, None]] = ({}, {})
        self.pairs: list[FilePair] = []

    def by_key(self, key: Callable[[int, str], object], several: bool = False) -> None:
        """Pair files with the same key; unless `several`, only if no other file of their folder has it."""
        named: list[dict[object, list[str]]] = [defaultdict(list), defaultdict(list)]
        for side, names in enumerate(self.alone):
            for name in names:
                named[side][key(side, name)].append(name)
        for value, here in named[0].items():
            there = named[1].get(value, [])
            if several or len(here) == len(there) == 1:
                for one, other in zip(here, there, strict=False):
                    self._pair(one, other)

    def by_bytes(self) -> None:
        """Pair files with the same bytes; only files of one size are read, and what cannot be read is like nothing."""
        sizes = [{self._path(side, name).stat().st_size for name in names} for side, names in enumerate(self.alone)]

        def content(side: int, name: str) -> object:
            path = self._path(side, name)
            try:
                return file_digest(path) if path.stat().st_size in sizes[0] & sizes[1] else path
            except OSError:
                return path

        self.by_key(content, several=True)

    def by_words(self, reader: CorpusReader) -> dict[tuple[int, str], str]:
        """Pair files that share most of their words, the closest first; return why files could not be read."""
        unread: dict[tuple[int, str], str] = {}
        if not all(self.alone):
            return unread
        with NearPairs() as texts:
            places = []
            for side, names in enumerate(self.alone):
                for name in names:
                    try:
                        words = text_words(reader.read(self._path(side, name)).text)
                    except DocumentError as error:
                        unread[side, name] = str(error)
                    else:
                        texts.add(word_numbers(words))
                        places.append((side, name))
            near = sorted(texts.pairs(MIN_SHARE, 1.0), key=lambda pair: -min(pair.share_a, pair.share_b))
        for pair in near:
            (first, one), (second, other) = places[pair.a], places[pair.b]
            if first != second and one in self.alone[0] and other in self.alone[1]:
                self._pair(one, other)
        return unread

    def _pair(self, a: str, b: str) -> None:
        one, other = self._path(0, a), self._path(1, b)
        try:
            same = one.stat().st_size == other.stat().st_size and file_digest(one) == file_digest(other)
        except OSError:
            same = False
        self.pairs.append(FilePair(a, b, same))
        del self.alone[0][a], self.alone[1][b]

    def _path(self, side: int, name: str) -> Path:
        return self._folders[side] / name
