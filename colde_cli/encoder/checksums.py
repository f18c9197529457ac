"""Checksums of the files of a model or a field profile, kept in its folder and compared when the user asks for it.

    SHA256SUMS    a line for each file, as `sha256sum` writes it; `sha256sum -c SHA256SUMS` checks the folder, too

They show what was damaged or exchanged since colde wrote it. They do not show who wrote the folder: whoever can change
a file can change its checksum, too. To trust a stranger's folder, compare the digest of this file with the one that its
author published.
Hidden files, such as those of git, belong to other programs and have none.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from colde_cli.errors import ModelError
from colde_cli.files import atomic_file

CHECKSUMS = "SHA256SUMS"

_MAX_BYTES = 1 << 20
_LINE = re.compile(r"(?P<escaped>\\?)(?P<digest>[0-9a-f]{64}) [ *](?P<name>.+)", re.DOTALL)
_ESCAPES = str.maketrans({"\\": "\\\\", "\n": "\\n", "\r": "\\r"})
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class FolderCheck:
    """What a check of a folder found; files by their paths within it, in order.

    Attributes:
        digest: SHA-256 of the file of checksums, in hexadecimal digits.
        altered: files with other content than when colde wrote them.
        added: files that colde did not write.
    """

    folder: Path
    files: int
    digest: str
    altered: tuple[str, ...]
    missing: tuple[str, ...]
    added: tuple[str, ...]

    @property
    def problems(self) -> int:
        """The number of files that are not as colde wrote them."""
        return len(self.altered) + len(self.missing) + len(self.added)


def record_checksums(folder: Path, changed: Iterable[str] | None = None) -> None:
    """Write the checksums of a folder, of all its files or of those that were written now.

    The others keep theirs: a file that somebody altered must not pass for ours because another one is new.

    Args:
        changed: paths within it of files that were written or deleted; None for all.

    Raises:
        ModelError: the checksums that are there are damaged.
        OSError: a file cannot be read or written.
    """
    file = folder / CHECKSUMS
    sums = _read(file) if changed is not None and file.exists() else None
    names = _names(folder) if sums is None or changed is None else changed
    sums = sums or {}
    for name in names:
        sums.pop(name, None)
        if (folder / name).is_file():
            sums[name] = _digest(folder / name)
    with atomic_file(file) as staged:
        lines = []
        for name, digest in sorted(sums.items()):
            # As `sha256sum` writes it: names with a line break or a backslash are escaped.
            escaped = name.translate(_ESCAPES)
            lines.append(f"{'' if escaped == name else chr(92)}{digest}  {escaped}\n")
        staged.write_bytes("".join(lines).encode(errors="surrogateescape"))


def check_folder(folder: Path) -> FolderCheck:
    """Compare the files of a folder with their checksums; nothing else of them is looked at.

    Raises:
        ModelError: there are no checksums, they are damaged, or a file cannot be read.
    """
    file = folder / CHECKSUMS
    if not os.path.lexists(file):
        raise ModelError(
            f"{folder} has no {CHECKSUMS} to check it against; fetch it again, or let colde export write them."
        )
    try:
        sums = _read(file)
        digest = _digest(file)
        present = {name for name in sums if os.path.lexists(folder / name)}
        # A pipe or a folder in the place of a file is never opened.
        altered = sorted(
            name for name in present if not (folder / name).is_file() or _digest(folder / name) != sums[name]
        )
        added = sorted(set(_names(folder)) - set(sums))
    except OSError as error:
        raise ModelError(f"{error.filename or folder} cannot be read: {error.strerror or error}.") from error
    missing = sorted(set(sums) - present)
    return FolderCheck(folder, len(sums), digest, tuple(altered), tuple(missing), tuple(added))


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _names(folder: Path) -> Iterator[str]:
    """Paths of the files in a folder and below, but for hidden ones; links to folders are named, not followed."""

    def raise_it(error: OSError) -> None:
        raise error

    for place, folders, files in os.walk(folder, onerror=raise_it):
        folders[:] = [name for name in folders if not name.startswith(".")]
        links = [name for name in folders if Path(place, name).is_symlink()]
        for name in (*files, *links):
            if not name.startswith(".") and Path(place, name) != folder / CHECKSUMS:
                yield Path(place, name).relative_to(folder).as_posix()


def _read(file: Path) -> dict[str, str]:
    """The checksums by file.

    Raises:
        ModelError: it is no such file, or names a file elsewhere.
        OSError: it cannot be read.
    """
    if not file.is_file() or file.stat().st_size > _MAX_BYTES:
        raise ModelError(f"{file} is not a file of checksums; fetch the model again.")
    sums: dict[str, str] = {}
    lines = file.read_bytes().decode(errors="surrogateescape").split("\n")
    for number, line in enumerate(lines[:-1], 1):
        match = _LINE.fullmatch(line)
        name = match["name"] if match else ""
        if match and match["escaped"]:
            name = _ESCAPED.sub(lambda sign: {"n": "\n", "r": "\r"}.get(sign[1], sign[1]), name)
        path = Path(name)
        strange = path.is_absolute() or path.drive or ".." in path.parts or "\0" in name
        # It can only be the name of a file in the folder or below.
        if match is None or name in sums or strange or name in ("", CHECKSUMS):
            raise ModelError(f"{file} is damaged in line {number}; fetch the model again.")
        sums[name] = match["digest"]
    if lines[-1] or not sums:
        raise ModelError(f"{file} is cut off; fetch the model again.")
    return sums
