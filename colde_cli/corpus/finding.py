"""Find the documents of a corpus in folders, and choose among them by name, time, size and section."""

from __future__ import annotations

import json
import operator
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from glob import glob as expand
from pathlib import Path
from typing import NamedTuple

from colde_cli.documents.document import Document
from colde_cli.documents.formats import OF_SUFFIX, SEARCHED_SUFFIXES
from colde_cli.documents.selection import is_section, one_or_more, section_pattern
from colde_cli.errors import MissingFileError, OptionError
from colde_cli.settings import INDEX_FILE, parse_moment, parse_size

Corpus = str | Path | Sequence[str | Path]
"""Folders, files, patterns and URLs; one alone stands for itself."""

LANCE = ".lance"
"""How the name of a data set of Lance ends."""
APPLICATION = 0x434F4C44  # "COLD": SQLite keeps it in the head of the file of an index
_URL = re.compile(r"(s3|gs|az|abfss)://")
_LARGEST = 2**63 - 1  # whole number that SQLite keeps
_SIGNS: dict[str, Callable[[int, int], bool]] = {">=": operator.ge, "<": operator.lt, "<=": operator.le}


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file that was left out, and the reason as a sentence."""

    path: str
    reason: str

    @classmethod
    def unopened(cls, path: Path, error: OSError | None = None) -> Skipped:
        """A file that is not opened; without an error it is none, such as a pipe, which can be read only once."""
        if error is None:
            return cls(str(path), f"{path} is not a regular file.")
        return cls(str(path), f"{path} cannot be opened: {error.strerror or error}.")


class HalfRead(NamedTuple):
    """A file that was read in part, with sentences on what is missing."""

    path: str
    warnings: tuple[str, ...]


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
    return tuple(files), unlisted(errors)


def unlisted(errors: Iterable[OSError]) -> tuple[Skipped, ...]:
    """The folders that cannot be listed, from the errors of `walk`."""
    return tuple(Skipped(str(error.filename), str(error.strerror)) for error in errors)


def matching(place: str | Path) -> list[Path]:
    """The files that a pattern matches; a file or folder is itself, whatever signs its name holds."""
    if Path(place).exists() or not set("*?[") & set(str(place)):
        return [Path(place)]
    return [Path(path) for path in sorted(expand(str(place), recursive=True))]  # noqa: PTH207 - no absolute patterns


def walk(
    places: Iterable[Path],
    glob: str | None = None,
    on_error: Callable[[OSError], None] | None = None,
    within: Sequence[Path] = (),
    deep: bool = True,
) -> list[Path]:
    """The documents in folders, in a fixed order, each file once.

    Folders are searched through, sorted; symbolic links are followed. Hidden files and files that no reader takes are
    left out, and so are folders of indexes, and pictures, unless `glob` ends in their suffix. A file that is named
    itself is taken whatever its name.

    Args:
        places: folders and files.
        glob: which files of folders to take, relative to the folder. `**` is any number of folders; a pattern without
            a slash is compared with the name alone.
        on_error: called for folders that cannot be listed or entered.
        within: as for `find_files`.
        deep: whether also what lies below folders of folders.

    Raises:
        MissingFileError: one of the places does not exist.
    """
    paths: dict[str, Path] = {}
    folders: dict[Path, str] = {}
    suffixes = SEARCHED_SUFFIXES | ({Path(glob or "").suffix.lower()} & OF_SUFFIX.keys())
    for place in places:
        if not place.exists():
            raise MissingFileError(f"There is no file or folder {place}.")
        for path in _files(place, suffixes, on_error, deep) if place.is_dir() else (place,):
            if not glob or path == place or fits(str(path.relative_to(place)), glob):
                real = _real(path, folders)
                if not within or any(Path(real).is_relative_to(folder) for folder in within):
                    paths.setdefault(real, path)
    return list(paths.values())


def _files(
    root: Path, suffixes: Collection[str], on_error: Callable[[OSError], None] | None, deep: bool
) -> Iterator[Path]:
    seen: set[tuple[int, int] | None] = set()
    for folder, names, files in os.walk(root, followlinks=True, onerror=on_error):
        identity = file_identity(folder)
        if identity in seen or (INDEX_FILE in files and is_sqlite(Path(folder))):
            names.clear()  # a link back up, a second one to the same folder, or an index
            continue
        seen.add(identity)
        names[:] = sorted(name for name in names if deep and not name.startswith("."))
        for name in sorted(files):
            path = Path(folder, name)
            if name.startswith(".") or path.suffix.lower() not in suffixes:
                continue
            if os.path.isfile(path):  # noqa: PTH113 - False where it may not be looked at
                yield path
                continue
            try:
                path.lstat()
            except PermissionError as error:  # the folder may be listed and not entered
                names.clear()
                if on_error is not None:
                    on_error(PermissionError(error.errno, error.strerror, folder))
                break
            except OSError:  # gone meanwhile
                continue


def _real(path: Path, folders: dict[Path, str]) -> str:
    """The path without links; `folders` remembers those of folders, of which many files may have the same."""
    if path.is_symlink() or not path.name or path.name == "..":
        return os.path.realpath(path)
    folder = path.parent
    if folder not in folders:
        folders[folder] = os.path.realpath(folder)
    return f"{folders[folder]}{os.sep}{path.name}"


def is_index(place: str | Path) -> bool:
    """Whether a place is an index, of any version: a folder, or the URL of one, which may not be there."""
    return is_lance(place) or is_sqlite(Path(place))


def is_lance(place: str | Path) -> bool:
    """Whether a place is a data set of Lance: a URL, or a folder that holds one."""
    return is_url(place) or (str(place).rstrip("/").endswith(LANCE) and Path(place, "_versions").is_dir())


def is_url(place: str | Path) -> bool:
    """Whether a place is on an object store."""
    return _URL.match(str(place)) is not None


def is_sqlite(folder: Path) -> bool:
    """Whether a folder is an index in a file of SQLite, of any version."""
    try:
        with (folder / INDEX_FILE).open("rb") as file:
            head = file.read(100)
    except OSError:
        return False
    return head.startswith(b"SQLite format 3\0") and head[68:72] == APPLICATION.to_bytes(4, "big")


def file_identity(path: str | bytes | Path) -> tuple[int, int] | None:
    """What is the same for all names of a file; None where there is no file."""
    try:
        status = os.stat(path)  # noqa: PTH116 - a Path of each of many files takes longer than to look
    except (OSError, ValueError):
        return None
    return status.st_dev, status.st_ino


def fits(path: str, glob: str) -> bool:
    """Whether a path relative to a folder fits a pattern; see `walk`."""
    return _fits(Path(path).parts, _pattern(glob))


@cache
def _pattern(glob: str) -> tuple[str, ...]:
    parts = (glob if "/" in glob else f"**/{glob}").split("/")
    # Several in a row mean the same as one, but would be tried in all combinations.
    return tuple(part for part, before in zip(parts, [None, *parts], strict=False) if part != "**" or before != "**")


def _fits(names: tuple[str, ...], pattern: tuple[str, ...]) -> bool:
    """Whether the parts of a path fit those of a pattern."""
    if not pattern:
        return not names
    if pattern[0] == "**":
        return _fits(names, pattern[1:]) or (bool(names) and _fits(names[1:], pattern))
    return bool(names) and fnmatchcase(names[0], pattern[0]) and _fits(names[1:], pattern[1:])


@dataclass(frozen=True, slots=True)
class Filter:
    """Which documents to take; every condition must hold.

    Attributes:
        glob: pattern of paths relative to the folder that was searched or indexed, as in `walk`.
        changed_after: least time of the last change, in nanoseconds since 1970.
        changed_before: the time before which the last change must lie.
        least_size: bytes.
        most_size: bytes.
        section: pattern that fits a section of the document, as in `documents.selection.select`.

    Raises:
        OptionError: `section` is no regular expression.
    """

    glob: str | None = None
    changed_after: int | None = None
    changed_before: int | None = None
    least_size: int | None = None
    most_size: int | None = None
    section: str | None = None

    def __post_init__(self) -> None:
        if self.section is not None:
            section_pattern(self.section)  # SQLite would hide the error of `has_section`

    @classmethod
    def parse(
        cls,
        *,
        glob: str | None = None,
        newer: str | None = None,
        older: str | None = None,
        min_size: str | None = None,
        max_size: str | None = None,
        section: str | None = None,
        called: Callable[[str], str] = str,
    ) -> Filter:
        """Make a filter of what a person, a request or an agent wrote.

        Moments are dates such as 2026-01-31 or ages such as 30d: changed since then (`newer`), or not (`older`). Sizes
        are such as 10kB. `called` says what the writer calls an argument, for errors.

        Raises:
            OptionError: a text is no moment, no size or no regular expression.
        """

        def moment(text: str | None, name: str) -> int | None:
            return None if text is None else int(parse_moment(text, called(name)) * 1e9)

        def size(text: str | None, name: str) -> int | None:
            return None if text is None else parse_size(text, called(name))

        times = moment(newer, "newer"), moment(older, "older")
        return cls(glob, *times, size(min_size, "min_size"), size(max_size, "max_size"), section)

    def takes(self, path: bytes, root: bytes, headings: str) -> bool:
        """Whether a document of an index has the path and the section."""
        named = self.glob is None or in_glob(path, root, self.glob)
        return named and (self.section is None or has_section(headings, self.section))

    def condition(self) -> tuple[str, list[str]]:
        """The condition on `documents d` and `contents c` of an index as SQL, and its parameters."""
        patterns = {"in_glob(d.path, r.path, ?)": self.glob, "has_section(c.headings, ?)": self.section}
        wanted = {test: pattern for test, pattern in patterns.items() if pattern is not None}
        return " AND ".join([*self.tests, *wanted]) or "1", list(wanted.values())

    @property
    def tests(self) -> list[str]:
        """The conditions on time and size in SQL."""
        return [f"{column} {sign} {value}" for column, sign, value in self.bounds]

    @property
    def bounds(self) -> tuple[tuple[str, str, int], ...]:
        """The conditions on time and size: a column of an index, a sign of SQL, and a value that SQL can hold."""
        tests = (
            ("mtime_ns", ">=", self.changed_after),
            ("mtime_ns", "<", self.changed_before),
            ("size", ">=", self.least_size),
            ("size", "<=", self.most_size),
        )
        return tuple(
            (column, sign, max(-_LARGEST, min(_LARGEST, value))) for column, sign, value in tests if value is not None
        )

    def takes_file(self, path: Path) -> bool:
        """Whether a file has the time and the size; one that is out of reach is taken, as reading it says why."""
        try:
            status = path.stat() if self.bounds else None
        except OSError:
            status = None
        return status is None or all(
            _SIGNS[sign](getattr(status, f"st_{column}"), value) for column, sign, value in self.bounds
        )

    def takes_document(self, document: Document) -> bool:
        """Whether a document has the section."""
        return self.section is None or has_section(headings_of(document), self.section)


ALL = Filter()


def headings_of(document: Document) -> str:
    """Kind and heading of each section, as JSON: what an index keeps of them to choose by."""
    return json.dumps([[section.kind.value, section.heading] for section in document.sections])


def has_section(headings: str, pattern: str) -> bool:
    """Whether a pattern fits one of the sections of `headings_of`.

    Raises:
        OptionError: the pattern is no regular expression.
    """
    compiled = section_pattern(pattern)
    return any(is_section(compiled, kind, heading) for kind, heading in json.loads(headings))


def in_glob(path: bytes, root: bytes, glob: str) -> bool:
    """Whether a path relative to its root fits a pattern."""
    return path == root or fits(os.fsdecode(path[len(root) :]).lstrip(os.sep), glob)
