"""`colde git-diff`: compare two versions of a document for git's `diff.<driver>.command` (docs/git.md).

git takes any status but 0 for a crash and shows no further file. So an error in a document is part of the output; only
an error that concerns every file, such as a missing model, ends the run.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

import typer

from colde_cli.commands.options import DebugOption, Ignoring, Level, LevelOption, ModelChoice, TopOption
from colde_cli.commands.reading_options import OcrOption, PasswordOption, SkipSectionsOption
from colde_cli.errors import DocumentError, OptionError
from colde_cli.views.output import deliver, show
from colde_cli.views.wording import document_facts, heading, page_range, plain, replace_file_name, shorten

if TYPE_CHECKING:
    from colde_cli.documents.document import Document
    from colde_cli.model_api import Model
    from colde_cli.similarity.redline import IgnoreOptions
    from colde_cli.similarity.sources import Reading

_NOTHING = ("/dev/null", "nul")
_MAX_HEADINGS = 30
"""Maximum number of headings shown of a document that was added or deleted."""
_ARGUMENTS = (1, 7, 8, 9)
"""Numbers of arguments: unmerged; changed; renamed, without and with git's description."""


def git_diff(
    arguments: Annotated[
        list[str],
        typer.Argument(metavar="PATH [OLD-FILE OLD-HEX OLD-MODE NEW-FILE NEW-HEX NEW-MODE]", help="As git gives them."),
    ],
    *,
    password: PasswordOption = None,
    ocr: OcrOption = None,
    skip_sections: SkipSectionsOption = None,
    ignoring: Ignoring,
    level: LevelOption = Level.PASSAGE,
    top: TopOption = 10,
    debug: DebugOption = False,
    model: ModelChoice,
) -> None:
    """Compare two versions of a document for git, which runs this command (docs/git.md)."""
    _follow_colours_of_git()
    change = _change(arguments)
    ignored = ignoring.options()
    reading: Reading = {"password": password, "ocr": ocr}
    options = _Options(reading, tuple(skip_sections or ()), ignored, model.open(), level, top)
    if _nobody_reads():
        return
    try:
        deliver(_render(change, options) + "\n", None)
    except BrokenPipeError:  # the reader quit the pager; git should report no error
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@dataclass(frozen=True, slots=True)
class _Version:
    """One version of a document: its file, its name for people and its mode."""

    file: str
    label: str
    mode: str

    @property
    def exists(self) -> bool:
        return self.file not in _NOTHING


@dataclass(frozen=True, slots=True)
class _Change:
    """The arguments of git; `versions` is None for an unmerged path."""

    title: str
    versions: tuple[_Version, _Version] | None


@dataclass(frozen=True, slots=True)
class _Options:
    """The options of the command."""

    reading: Reading
    skip: tuple[str, ...]
    ignore: IgnoreOptions
    model: Model
    level: Level
    top: int


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
        _Version(file, f"{name} @ {hex[:7]}" if hex.strip("0.") else f"{name}, working tree", mode)
        for name, (file, hex, mode) in ((path, rest[:3]), (new_path, rest[3:6]))
    )
    return _Change(title, (old, new))


def _render(change: _Change, options: _Options) -> str:
    """A title, then the table of `colde diff`, the outline of the only version, or why there is neither."""
    if change.versions is None:
        return _title(change.title, "unmerged: resolve the conflict first")
    old, new = change.versions
    if old.exists and new.exists:
        modes = f"mode {old.mode} → {new.mode}" if old.mode != new.mode else ""
        title, versions = _title(change.title, modes), [old, new]
    else:
        title = _title(change.title, "added" if new.exists else "deleted")
        versions = [new if new.exists else old]
    documents, errors = [], []
    for version in versions:
        try:
            documents.append(_read(version, options))
        except DocumentError as error:
            errors.append(_warning(_named(str(error), [version])))
        except OptionError as error:
            errors.append(_warning(str(error)))
    if errors:
        return title + "".join(errors)
    return title + (_outline(*documents) if len(versions) == 1 else _compared(documents, versions, options))


def _read(version: _Version, options: _Options) -> Document:
    from colde_cli import read
    from colde_cli.documents.selection import select

    return select(replace(read(version.file, **options.reading), path=version.label), options.skip)


def _named(sentence: str, versions: Sequence[_Version]) -> str:
    """A sentence with the names that people know in place of those of git's temporary files."""
    for version in versions:
        sentence = replace_file_name(sentence, version.file, version.label)
    return sentence


def _compared(documents: Sequence[Document], versions: Sequence[_Version], options: _Options) -> str:
    """Warnings, then the table: on stderr the warnings would disturb the pager."""
    try:
        # By their own names: pictures and pages that may differ are looked at in the files.
        a, b = (replace(document, path=of.file) for document, of in zip(documents, versions, strict=True))
        comparison = options.model.compare(
            a,
            b,
            ignore=options.ignore,
            **options.reading,
            labels=(versions[0].label, versions[1].label),
            scores=options.level in (Level.SECTION, Level.CHUNK),
        )
    except DocumentError as error:  # nothing but boilerplate, or too long: git must go on with the next file
        return _warnings(documents) + _warning(_named(str(error), versions))
    warnings = _warnings([comparison.a.document, comparison.b.document])
    return warnings + show(comparison, level=options.level.value, top=options.top)


def _warnings(documents: Sequence[Document]) -> str:
    """What could not be read of the documents."""
    return "".join(
        _warning(f"{document.path}: {sentence}") for document in documents for sentence in document.report.warnings
    )


def _title(title: str, remark: str = "") -> str:
    """The line above a file: its path and git's remark."""
    from rich.rule import Rule
    from rich.text import Text

    from colde_cli.views.console import rendered

    line = Text.assemble((plain(title), "bold"), (f"  {remark}" if remark else "", "yellow"))
    return rendered(Rule(line, align="left", style="bold"))


def _warning(sentence: str) -> str:
    from rich.text import Text

    from colde_cli.views.console import rendered

    return rendered(Text(plain(sentence), style="yellow"))


def _outline(document: Document) -> str:
    """Warnings, title, size and headings of a document that was added or deleted."""
    from rich.console import Group
    from rich.text import Text

    from colde_cli.views.console import rendered

    sections, facts = document.sections, document_facts(document)
    lines = [Text(shorten(document.title, 160), style="bold cyan"), Text(" · ".join(facts), style="dim")]
    for section in sections[:_MAX_HEADINGS]:
        indent, place = "  " * max(1, section.level), page_range(section.pages)
        lines.append(Text.assemble(indent, heading(section), (f"  {place}" if place else "", "dim")))
    if len(sections) > _MAX_HEADINGS:
        lines.append(Text(f"  … and {len(sections) - _MAX_HEADINGS} more", style="dim"))
    return _warnings([document]) + rendered(Group(*lines))


def _nobody_reads() -> bool:
    """Whether the reader quit the pager; git still starts us for every further file."""
    import select

    if not hasattr(select, "poll"):
        return False
    poll = select.poll()
    poll.register(sys.stdout.fileno(), 0)
    return any(event & select.POLLERR for _, event in poll.poll(0))


def _follow_colours_of_git() -> None:
    """Use colours if git does, since its pager shows them though it is no terminal.

    Asks git for color.diff and color.ui, and sets the environment variables that rich obeys.
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
