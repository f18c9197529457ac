"""What a commit, or the index, changes in a repository of git: names, kinds and bytes of files on both sides.

A gate must see what git stores, not what a checkout makes of it: a change may bring its own `.gitattributes`, whose
filters, encodings and line ends would be applied to both versions. So bytes are those of the blobs. Only Git LFS, whose
pointers name the content by its SHA-256, is followed, and what it gives is held against that.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from colde_cli.errors import OptionError

_FILE, _LINK, _SUBMODULE = "100", "120000", "160000"
_POINTER = re.compile(rb"version https://git-lfs\.github\.com/spec/v1\n(?:ext-.*\n)*oid sha256:([0-9a-f]{64})\n")
_MOST_OF_A_POINTER = 1024
# Settings of a person that would change what patterns mean, what a difference is, or what a commit holds.
_UNSET = (
    *("GIT_LITERAL_PATHSPECS", "GIT_GLOB_PATHSPECS", "GIT_NOGLOB_PATHSPECS", "GIT_ICASE_PATHSPECS"),
    *("GIT_EXTERNAL_DIFF", "GIT_DIFF_OPTS", "GIT_REPLACE_REF_BASE", "GIT_GRAFT_FILE"),
)
_SET = {"GIT_NO_REPLACE_OBJECTS": "1", "GIT_LFS_SKIP_SMUDGE": "0", "LC_ALL": "C.UTF-8"}


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file on one side of a change, by its path from the root; `watched` if a pattern holds for that.

    The `mode` is that of git, such as "100644", only zeros where there is no file; `blob` is the id of its bytes.
    """

    name: str
    mode: str
    blob: str
    watched: bool

    @property
    def exists(self) -> bool:
        """Whether there is anything on this side."""
        return bool(self.mode.strip("0"))

    @property
    def what(self) -> str:
        """What it is instead of a file; "" for a file."""
        if not self.exists or self.mode.startswith(_FILE):
            return ""
        return {_LINK: "a symbolic link", _SUBMODULE: "a submodule"}.get(self.mode, f"of mode {self.mode}")


@dataclass(frozen=True, slots=True)
class Change:
    """A file that was changed, added (no `old`), deleted (no `new`), renamed, replaced, or is not merged yet."""

    old: StoredFile
    new: StoredFile
    in_conflict: bool = False

    @property
    def title(self) -> str:
        """The name, or both names."""
        return self.new.name if self.old.name == self.new.name else f"{self.old.name} → {self.new.name}"

    @property
    def came(self) -> bool:
        """Whether no pattern watched the file before: it is new, or has a new name."""
        return not (self.old.exists and self.old.watched)

    @property
    def went(self) -> bool:
        """Whether no pattern watches the file any more."""
        return not (self.new.exists and self.new.watched)

    @property
    def same_bytes(self) -> bool:
        """Whether only the name or the permissions changed; another suffix may be read in another way."""
        kinds = {PurePosixPath(side.name).suffix.lower() for side in (self.old, self.new)}
        files = not any(side.what or not side.exists for side in (self.old, self.new))
        return files and len(kinds) == 1 and self.old.blob == self.new.blob


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository with a working tree, by the root of that."""

    root: Path

    @classmethod
    def here(cls) -> Repository:
        """The repository of the working folder.

        Raises:
            OptionError: there is none, or no git.
        """
        return cls(Path(os.fsdecode(_git(["rev-parse", "--show-toplevel"], None)).rstrip("\n")))

    def commit(self, name: str) -> str:
        """The id of a commit, by any of its names; an `OptionError` if there is none."""
        return self._text("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}", named=name)

    def fork(self, one: str, other: str) -> str:
        """The commit from which two commits have gone apart; an `OptionError` in a clone without its history."""
        return self._text("merge-base", "--end-of-options", one, other, named=f"{one} and {other}")

    def head(self) -> str:
        """The id of HEAD; of an empty tree before the first commit."""
        try:
            return self.commit("HEAD")
        except OptionError:
            return self._text("hash-object", "-t", "tree", os.devnull, named="an empty tree")

    def changes(self, old: str, new: str | None, patterns: Sequence[str]) -> list[Change]:
        """The changes for whose old or new name one of the patterns holds, in the order of git.

        `old` and `new` are ids of commits, None for the index. In patterns of git, capital and small letters are the
        same, but in those that begin with a colon.

        Raises:
            OptionError: git fails.
        """
        limits = [one if one.startswith(":") else f":(icase){one}" for one in patterns]
        listed = self._difference(old, new, ["--no-renames", "--name-only"], limits)
        watched = {os.fsdecode(name) for name in listed.split(b"\0")[:-1]}
        raw = self._difference(old, new, ["--raw", "-M", "--no-abbrev"])
        return [change for change in _changes(raw, watched) if change.old.watched or change.new.watched]

    def changed(self, old: str, new: str | None, name: str) -> bool:
        """Whether the file of this name differs."""
        return bool(self._difference(old, new, ["--no-renames", "--name-only"], [f":(literal){name}"]))

    def write(self, side: StoredFile, folder: Path) -> Path:
        """Write the bytes of a file under its own name into a folder, which is made.

        Raises:
            OptionError: git does not have them.
        """
        folder.mkdir(parents=True)
        path = folder / PurePosixPath(side.name).name
        with path.open("wb") as file:
            _git(["cat-file", "blob", side.blob], self.root, stdout=file.fileno())
        self._fetch(path)
        return path

    def _fetch(self, path: Path) -> None:
        """Put the document in place of a pointer of Git LFS, if it is to be had; else the pointer stays."""
        if path.stat().st_size > _MOST_OF_A_POINTER:
            return
        pointer = path.read_bytes()
        if (named := _POINTER.match(pointer)) is None:
            return
        fetched = path.with_name(f"{path.name}.fetched")
        with path.open("rb") as given, fetched.open("wb") as file:
            streams: dict[str, Any] = {"stdin": given, "stdout": file, "stderr": subprocess.DEVNULL}
            command = ["git", "lfs", "smudge"]
            subprocess.run(command, cwd=self.root, env=_environment(), check=False, **streams)
        with fetched.open("rb") as file:
            right = hashlib.file_digest(file, "sha256").hexdigest() == named[1].decode()
        fetched.replace(path) if right else fetched.unlink()

    def _difference(self, old: str, new: str | None, options: Sequence[str], patterns: Sequence[str] = ()) -> bytes:
        """What git prints, with zeros between names; these commands pass over what a person configured."""
        command = ["diff-index", "--cached"] if new is None else ["diff-tree", "-r"]
        commits = [old] if new is None else [old, new]
        always = ["-z", "--ignore-submodules=none", "--no-ext-diff"]
        return _git([*command, *always, *options, *commits, "--", *patterns], self.root)

    def _text(self, *arguments: str, named: str) -> str:
        try:
            return _git(list(arguments), self.root).decode().strip()
        except OptionError as error:
            raise OptionError(
                f"git finds no commit for {named}; does the clone have its history (fetch-depth: 0)?"
            ) from error


def _changes(raw: bytes, watched: set[str]) -> Iterator[Change]:
    """Read `--raw -z`: `:MODE MODE BLOB BLOB STATUS`, and one name, or two of a file that was renamed."""
    fields = iter(raw.split(b"\0")[:-1])
    for head in fields:
        old_mode, new_mode, old_blob, new_blob, status = head.decode().removeprefix(":").split()
        old_name = os.fsdecode(next(fields))
        new_name = os.fsdecode(next(fields)) if status[0] in "RC" else old_name
        yield Change(
            StoredFile(old_name, old_mode, old_blob, old_name in watched),
            StoredFile(new_name, new_mode, new_blob, new_name in watched),
            status[0] not in "ADMRCT",
        )


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in _UNSET} | _SET


def _git(arguments: Sequence[str], folder: Path | None, stdout: int = subprocess.PIPE) -> bytes:
    """Run git.

    Raises:
        OptionError: it fails, or is not installed.
    """
    command = ["git", *arguments]
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env=_environment(),
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=subprocess.PIPE,
            check=False,
        )
    except FileNotFoundError as error:
        raise OptionError("git is not installed, or not on the PATH.") from error
    if done.returncode:
        said = os.fsdecode(done.stderr).strip().partition("\n")[0]
        raise OptionError(f"git {arguments[0]} failed: {said or done.returncode}.")
    return done.stdout or b""
