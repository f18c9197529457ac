"""`colde git-diff`: what git runs for `diff.<driver>.command` (docs/git.md).

git takes any status but 0 for the death of the driver and shows no further file. So what is wrong with a document is
part of the output, and only what would go wrong with every file (no model) ends the run.
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from colde_cli.commands.diff import Level
from colde_cli.commands.options import (
    DebugOption,
    DeviceOption,
    IgnoreCaseOption,
    IgnoreLikeOption,
    IgnoreNumbersOption,
    IgnoreWhitespaceOption,
    ModelChoice,
    ModelOption,
    NoCacheOption,
    PasswordOption,
    PrecisionOption,
    SkipSectionsOption,
    ThreadsOption,
    renamed,
)
from colde_cli.errors import DocumentError, NoTextError, OptionError
from colde_cli.settings import DEFAULT_MODEL
from colde_cli.views.output import deliver

if TYPE_CHECKING:
    from colde_cli.documents.document import Document

_NOTHING = ("/dev/null", "nul")
_ARGUMENTS = (1, 7, 8, 9)
"""Unmerged; a change; one that renames the file, without and with git's words for it."""


def git_diff(
    arguments: Annotated[
        list[str],
        typer.Argument(
            metavar="PATH [OLD-FILE OLD-HEX OLD-MODE NEW-FILE NEW-HEX NEW-MODE]", help="As git gives them."
        ),
    ],
    password: PasswordOption = None,
    skip_sections: SkipSectionsOption = None,
    ignore_case: IgnoreCaseOption = False,
    ignore_whitespace: IgnoreWhitespaceOption = False,
    ignore_numbers: IgnoreNumbersOption = False,
    ignore_like: IgnoreLikeOption = None,
    level: Annotated[
        Level,
        typer.Option(
            envvar="COLDE_LEVEL",
            metavar="LEVEL",
            help="How deep to go: document, section, chunk, passage, or all.",
        ),
    ] = Level.PASSAGE,
    top: Annotated[
        int,
        typer.Option("--top", "-n", envvar="COLDE_TOP", metavar="N", min=1, help="Passages to list."),
    ] = 10,
    debug: DebugOption = False,
    model: ModelOption = DEFAULT_MODEL,
    device: DeviceOption = "auto",
    precision: PrecisionOption = "auto",
    threads: ThreadsOption = None,
    no_cache: NoCacheOption = False,
) -> None:
    """Compare two versions of a document for git, which calls it by itself: see docs/git.md."""
    _follow_colours_of_git()
    change = _change(arguments)
    ignore = (ignore_case, ignore_whitespace, ignore_numbers)
    choice = ModelChoice(model, device, precision, threads, no_cache)
    how = _How(password, tuple(skip_sections or ()), ignore, tuple(ignore_like or ()), choice, level, top)
    if _nobody_reads():
        return
    try:
        deliver(_shown(change, how) + "\n", None)
    except BrokenPipeError:  # the pager was left: no trouble, and git should say nothing about it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@dataclass(frozen=True, slots=True)
class _Side:
    """One version: the file that holds it, what to call it, and its mode; no file, no version."""

    file: str
    label: str
    mode: str

    @property
    def exists(self) -> bool:
        return self.file not in _NOTHING


@dataclass(frozen=True, slots=True)
class _Change:
    """What git says; `sides` are None for a path that is not merged yet."""

    title: str
    sides: tuple[_Side, _Side] | None


@dataclass(frozen=True, slots=True)
class _How:
    """How both versions are read, compared and shown; `ignore` is case, white space, numbers."""

    password: str | None
    skip: tuple[str, ...]
    ignore: tuple[bool, bool, bool]
    like: tuple[Path, ...]
    choice: ModelChoice
    level: Level
    top: int

    def read(self, side: _Side) -> Document | str:
        """The document, or the sentence that says why there is none."""
        from colde_cli.documents.reading import read
        from colde_cli.documents.selection import select

        try:
            document = replace(read(side.file, password=self.password), path=side.label)
        except DocumentError as error:
            return renamed(str(error), side.file, side.label)
        try:
            return select(document, self.skip)
        except OptionError as error:
            return str(error)


def _change(arguments: list[str]) -> _Change:
    if len(arguments) not in _ARGUMENTS:
        raise OptionError(
            f"git calls this command with 1, 7, 8 or 9 arguments, not {len(arguments)}; to compare two files yourself,"
            " use colde diff."
        )
    path, *rest = arguments
    if not rest:
        return _Change(path, None)
    new_path = rest[6] if len(rest) > 6 else path
    title = path if new_path == path else f"{path} → {new_path}"
    old, new = (
        _Side(file, f"{name} @ {hex[:7]}" if hex.strip("0.") else f"{name}, working tree", mode)
        for name, (file, hex, mode) in ((path, rest[:3]), (new_path, rest[3:6]))
    )
    return _Change(title, (old, new))


def _shown(change: _Change, how: _How) -> str:
    from colde_cli.views import git as view

    if change.sides is None:
        return view.heading(change.title, "unmerged: resolve the conflict first")
    old, new = change.sides
    if old.exists and new.exists:
        modes = f"mode {old.mode} → {new.mode}" if old.mode != new.mode else ""
        return view.heading(change.title, modes) + _both(old, new, how)
    side, what = (new, "added") if new.exists else (old, "deleted")
    document = how.read(side)
    shown = (
        view.sentence(document)
        if isinstance(document, str)
        else _warnings([document]) + view.outline(document)
    )
    return view.heading(change.title, what) + shown


def _both(old: _Side, new: _Side, how: _How) -> str:
    """The table of `colde diff`, or why there is none."""
    from colde_cli.views import git as view

    versions = [how.read(old), how.read(new)]
    troubles = [version for version in versions if isinstance(version, str)]
    documents = [version for version in versions if not isinstance(version, str)]
    if troubles:
        return "".join(map(view.sentence, troubles))
    return _compared(documents, how)


def _compared(documents: list[Document], how: _How) -> str:
    """The table, below the warnings: on standard error they would run across the pager."""
    from colde_cli import api
    from colde_cli.similarity.words import IgnoreOptions
    from colde_cli.views import git as view
    from colde_cli.views.terminal import comparison_table

    ignore = IgnoreOptions(*how.ignore, tuple(map(str, how.like)))
    warnings, aligned = _warnings(documents), how.level in (Level.PASSAGE, Level.ALL)
    try:
        comparison = api.compare(
            *documents, ignore=ignore, password=how.password, encoder=how.choice.load, passages=aligned
        )
    except NoTextError as error:  # all of it is boilerplate: no reason for git to stop at this file
        return warnings + view.sentence(str(error))
    return warnings + comparison_table(comparison, how.level.value, how.top)


def _warnings(documents: list[Document]) -> str:
    """What of documents could not be read."""
    from colde_cli.views import git as view

    return "".join(
        view.sentence(f"{document.path}: {words}")
        for document in documents
        for words in document.report.warnings
    )


def _nobody_reads() -> bool:
    """Whether the pager was left: git starts us for all further files all the same."""
    import select

    if not hasattr(select, "poll"):
        return False
    poll = select.poll()
    poll.register(sys.stdout.fileno(), 0)
    return any(event & select.POLLERR for _, event in poll.poll(0))


def _follow_colours_of_git() -> None:
    """Colours where git would use them: its pager takes them, though it is no terminal.

    Goes by git's own answer from color.diff and color.ui, and tells rich by the variables it knows.
    """
    if os.environ.get("NO_COLOR"):
        return
    seen = sys.stdout.isatty() or os.environ.get("GIT_PAGER_IN_USE") in ("1", "true")
    try:
        answer = subprocess.run(
            ["git", "config", "--get-colorbool", "color.diff", "true" if seen else "false"],
            capture_output=True,
            text=True,
            check=False,
        ).stdout.strip()
    except OSError:
        return
    if answer == "true":
        os.environ["FORCE_COLOR"] = "1"
    elif answer == "false":
        os.environ.pop("FORCE_COLOR", None)
        os.environ["NO_COLOR"] = "1"
