"""Folders and files to the documents in them, always in the same order."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path

from colde_cli.documents.sniffing import SUPPORTED_SUFFIXES
from colde_cli.errors import MissingFileError


def walk(
    places: Iterable[Path], glob: str | None = None, on_error: Callable[[OSError], None] | None = None
) -> list[Path]:
    """The documents that `places` hold, each file once however many ways lead to it.

    Folders are searched through, sorted, symbolic links followed, hidden files and kinds that no reader takes
    left out. A file that is named is taken whatever its name.

    Args:
        places: folders and files.
        glob: which files of folders to take, relative to the folder; `**` is any number of folders, and a
            pattern without a slash is held against the name alone.
        on_error: told of folders that cannot be listed.

    Raises:
        MissingFileError: one of the places does not exist.
    """
    pattern = tuple((glob if "/" in glob else f"**/{glob}").split("/")) if glob else ("**",)
    found: dict[str, Path] = {}
    for place in places:
        if not place.exists():
            raise MissingFileError(f"There is no file or folder {place}.")
        for path in _files(place, on_error) if place.is_dir() else (place,):
            if path == place or _fits(path.relative_to(place).parts, pattern):
                found.setdefault(os.path.realpath(path), path)
    return list(found.values())


def _files(root: Path, on_error: Callable[[OSError], None] | None) -> Iterator[Path]:
    seen: set[tuple[int, int]] = set()
    for folder, names, files in os.walk(root, followlinks=True, onerror=on_error):
        status = Path(folder).stat()
        identity = (status.st_dev, status.st_ino)
        if identity in seen:  # a link back up, or a second one to the same folder
            names.clear()
            continue
        seen.add(identity)
        names[:] = sorted(name for name in names if not name.startswith("."))
        for name in sorted(files):
            path = Path(folder, name)
            if not name.startswith(".") and path.suffix.lower() in SUPPORTED_SUFFIXES and path.is_file():
                yield path


def _fits(names: tuple[str, ...], pattern: tuple[str, ...]) -> bool:
    """Whether the names of a path fit a pattern, segment by segment."""
    if not pattern:
        return not names
    if pattern[0] == "**":
        return _fits(names, pattern[1:]) or (bool(names) and _fits(names[1:], pattern))
    return bool(names) and fnmatchcase(names[0], pattern[0]) and _fits(names[1:], pattern[1:])
