"""Options that several commands share, and what the commands make of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from colde_cli.errors import MissingExtraError, OptionError
from colde_cli.settings import DEFAULT_MODEL
from colde_cli.views.output import Format

if TYPE_CHECKING:
    from colde_cli.documents.document import Document
    from colde_cli.encoder.protocol import DocumentEncoder


def remember(context: typer.Context, parameter: typer.CallbackParam, value: bool) -> bool:
    """Callback of switches that `colde_cli.app.main` must know of when a command has failed."""
    context.ensure_object(dict)[parameter.name] = value
    return value


def a_score(value: float | None) -> float | None:
    """Callback of scores: what no score can reach, or none can miss, is a slip ("90" for "0.9")."""
    if value is not None and not -1 <= value <= 1:
        raise typer.BadParameter(f"{value:g} is not a score; scores lie between -1 and 1, such as 0.9.")
    return value


def renamed(sentence: str, file: str, name: str) -> str:
    """A message that calls a file by another name: where it stands as a word, since "a" is a name as well."""
    found = re.search(rf"(?<!\S){re.escape(file)}(?!\w)", sentence)
    return f"{sentence[: found.start()]}{name}{sentence[found.end() :]}" if found else sentence


def format_option(metavar: str, usual: str = "a table") -> Any:  # noqa: ANN401 - what typer.Option says it is
    """The option `--format`.

    Args:
        metavar: the formats of the command.
        usual: what is written where neither the option nor the output file names one.
    """
    return typer.Option(
        "--format",
        envvar="COLDE_FORMAT",
        help=f"Format of the output; if not given, what the suffix of the output file says, else {usual}.",
        rich_help_panel="Output",
        show_choices=False,
        metavar=metavar,
    )


ModelOption = Annotated[
    str,
    typer.Option(
        "--model", envvar="COLDE_MODEL", metavar="NAME|FOLDER", help="Model to use.", rich_help_panel="Model"
    ),
]
DeviceOption = Annotated[
    str,
    typer.Option(
        "--device",
        envvar="COLDE_DEVICE",
        metavar="auto|cpu|cuda[:N]",
        help="Where to run it.",
        rich_help_panel="Model",
    ),
]
PrecisionOption = Annotated[
    str,
    typer.Option(
        "--precision",
        envvar="COLDE_PRECISION",
        metavar="auto|int8|fp16|fp32",
        help="Which of its graphs to run.",
        rich_help_panel="Model",
    ),
]
ThreadsOption = Annotated[
    int | None,
    typer.Option(
        "--threads",
        envvar="COLDE_THREADS",
        min=1,
        metavar="N",
        help="Chunks encoded at the same time on the CPU; as many as there are cores if not given.",
        rich_help_panel="Model",
    ),
]
NoCacheOption = Annotated[
    bool,
    typer.Option(
        "--no-cache",
        envvar="COLDE_NO_CACHE",
        metavar="",
        help="Neither use nor fill the cache.",
        rich_help_panel="Model",
    ),
]
PasswordOption = Annotated[
    str | None, typer.Option("--password", envvar="COLDE_PASSWORD", metavar="TEXT", help="Of encrypted PDFs.")
]
FormatOption = Annotated[Format | None, format_option("table|json|markdown|csv")]
OutputOption = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        envvar="COLDE_OUTPUT",
        metavar="FILE",
        help="Write to a file instead of standard output.",
        rich_help_panel="Output",
    ),
]
PagerOption = Annotated[
    bool | None,
    typer.Option(
        "--pager/--no-pager",
        envvar="COLDE_PAGER",
        metavar="",
        help="Show the result in a pager; if not given, a table longer than the screen.",
        rich_help_panel="Output",
    ),
]
QuietOption = Annotated[
    bool,
    typer.Option(
        "--quiet",
        "-q",
        envvar="COLDE_QUIET",
        metavar="",
        callback=remember,
        help="No warnings and no progress.",
        rich_help_panel="Output",
    ),
]
VerboseOption = Annotated[
    bool,
    typer.Option(
        "--verbose",
        "-v",
        envvar="COLDE_VERBOSE",
        metavar="",
        help="Say what runs where and what was left out.",
        rich_help_panel="Output",
    ),
]
DebugOption = Annotated[
    bool,
    typer.Option(
        "--debug",
        envvar="COLDE_DEBUG",
        metavar="",
        callback=remember,
        help="Show the traceback of an error.",
        rich_help_panel="Output",
    ),
]
ExitZeroOption = Annotated[
    bool,
    typer.Option(
        "--exit-zero",
        envvar="COLDE_EXIT_ZERO",
        metavar="",
        help="Status 0 instead of 1.",
        rich_help_panel="Output",
    ),
]


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """The options that say which model runs and how."""

    model: str = DEFAULT_MODEL
    device: str = "auto"
    precision: str = "auto"
    threads: int | None = None
    no_cache: bool = False

    def load(self, *, parts: bool = True) -> DocumentEncoder:
        """The encoder; its sessions open in the background.

        Args:
            parts: whether vectors of sections and chunks are wanted as well; see `open_encoder`.

        Raises:
            ModelError, DeviceError, OptionError: as `open_encoder`.
        """
        from colde_cli.encoder.cache import Cache
        from colde_cli.encoder.loading import open_encoder

        cache = None if self.no_cache else Cache.open()
        return open_encoder(
            self.model,
            device=self.device,
            precision=self.precision,
            cache=cache,
            threads=self.threads,
            parts=parts,
        )


@dataclass(frozen=True, slots=True)
class Reporter:
    """How much a command says on stderr."""

    quiet: bool = False
    verbose: bool = False

    def warning(self, sentence: str) -> None:
        """A line of warning, unless `--quiet`."""
        if not self.quiet:
            from colde_cli.views.messages import warn

            warn(sentence)

    def about_model(self, encoder: DocumentEncoder) -> None:
        """What runs where, for `--verbose`."""
        if self.verbose:
            from colde_cli.views.messages import note

            info = encoder.info
            note(f"{info.name} ({info.precision}) on {info.device}. {info.reason}")

    def about_document(self, document: Document) -> None:
        """What of a document could not be read; with `--verbose` also what was left out on purpose."""
        for sentence in document.report.warnings:
            self.warning(f"{document.path}: {sentence}")
        if self.verbose:
            from colde_cli.views.messages import note

            for sentence in document.report.notes:
                note(f"{document.path}: {sentence}")


PagesOption = Annotated[
    str | None,
    typer.Option(
        "--pages", envvar="COLDE_PAGES", metavar="FIRST-LAST", help="Read these pages only, e.g. 3-17."
    ),
]
SkipSectionsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--skip-sections",
        envvar="COLDE_SKIP_SECTIONS",
        metavar="PATTERN",
        help="Leave out sections, e.g. references; repeatable.",
    ),
]
OnlySectionsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--only-sections",
        envvar="COLDE_ONLY_SECTIONS",
        metavar="PATTERN",
        help="Read these sections only; repeatable.",
    ),
]


def parse_pages(text: str | None) -> tuple[int, int] | None:
    """First and last page meant by "3-17" or "5".

    Raises:
        OptionError: it is neither.
    """
    if text is None:
        return None
    match = re.fullmatch(r"\s*(\d+)\s*(?:[-–]\s*(\d+)\s*)?", text)
    first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
    if not 1 <= first <= last:
        raise OptionError(f"{text!r} is not a range of pages; write --pages FIRST-LAST, such as 3-17.")
    return first, last


_PANEL = "Noise"

IgnoreCaseOption = Annotated[
    bool,
    typer.Option(
        "--ignore-case",
        "-i",
        envvar="COLDE_IGNORE_CASE",
        metavar="",
        help="Capital and small letters are the same.",
        rich_help_panel=_PANEL,
    ),
]
IgnoreWhitespaceOption = Annotated[
    bool,
    typer.Option(
        "--ignore-whitespace",
        "-w",
        envvar="COLDE_IGNORE_WHITESPACE",
        metavar="",
        help="Blanks, hyphens and kinds of quotes do not count for the status, as they do not for the redline.",
        rich_help_panel=_PANEL,
    ),
]
IgnoreNumbersOption = Annotated[
    bool,
    typer.Option(
        "--ignore-numbers",
        envvar="COLDE_IGNORE_NUMBERS",
        metavar="",
        help="All numbers, dates and labels such as 3.2 or (iv) are the same; units are not.",
        rich_help_panel=_PANEL,
    ),
]
IgnoreLikeOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--ignore-like",
        envvar="COLDE_IGNORE_LIKE",
        metavar="FILE",
        help="Leave out sentences that stand in this document too, e.g. a template; repeatable.",
        rich_help_panel=_PANEL,
    ),
]


def warn_if_useless(documents: Sequence[Document], like: Sequence[Path], reporter: Reporter) -> None:
    """Say so if nothing was left out: the wrong template is a likely mistake."""
    ignored = [document.report.ignored for document in documents]
    if like and not any(one is not None and (one.stretches or one.sections) for one in ignored):
        shown = ", ".join(path.name for path in like)
        reporter.warning(f"No sentence of the two documents stands in {shown}; nothing was left out.")


_EXTRAS = {
    "evaluate": {"sklearn": "scikit-learn", "scipy": "scipy"},
    "train": {
        "torch": "torch",
        "transformers": "transformers",
        "optimum": "optimum",
        "onnx": "onnx",
        "safetensors": "safetensors",
        "accelerate": "accelerate",
        "sklearn": "scikit-learn",
        "scipy": "scipy",
    },
}


def require_extra(extra: str, what: str) -> None:
    """Check, without importing them, that the packages of an extra are installed.

    Args:
        extra: "evaluate" or "train".
        what: the command that needs them, for the message.

    Raises:
        MissingExtraError: one of them is not installed.
    """
    missing = [name for module, name in _EXTRAS[extra].items() if find_spec(module) is None]
    if missing:
        raise MissingExtraError(
            f"{what} needs {', '.join(missing)}; install with: pip install 'colde[{extra}]'"
        )
