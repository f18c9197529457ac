"""The options that several commands share: their declarations, and the objects made of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from colde_cli.documents.outside import Tracked
from colde_cli.errors import MissingExtraError, OptionError
from colde_cli.settings import DEFAULT_MODEL
from colde_cli.views.output import Format, deliver, note, refuse_inputs, show, warn

if TYPE_CHECKING:
    from colde_cli.corpus.duplicates import Families
    from colde_cli.corpus.finding import Skipped
    from colde_cli.corpus.pipeline import StageTimes
    from colde_cli.corpus.subjects import Clusters
    from colde_cli.documents.document import Document
    from colde_cli.encoder.encoding import DocumentEncoder, RuntimeInfo
    from colde_cli.model_api import Model
    from colde_cli.similarity.redline import IgnoreOptions
    from colde_cli.views.word.tracked_file import Authorship

_METAVAR = 40
"""Maximum length of a list of formats that the help shows in place of the value."""

# Panels of the help.
DATA, IGNORE, MODEL, OUTPUT = "Data", "Differences to ignore", "Model", "Output"


# What is said of options that some commands declare in their own way.
DEVICE_HELP = "Device to run the model on."
FIELD_HELP = (
    "Statistics to score with: those of the documents given (corpus, docs), of a profile of colde adapt, or of the"
    " model (none)."
)
FOLDER_HELP = "Folder to write; for a field profile a name will do."
QUIET_HELP = "Hide warnings, progress and closing notes."


def option(*names: str, help: str, panel: str | None = None, **settings: Any) -> Any:  # noqa: ANN401
    """Declare an option that can also be set in the environment: `--skip-sections` as COLDE_SKIP_SECTIONS."""
    variable = "COLDE_" + names[0].lstrip("-").partition("/")[0].replace("-", "_").upper()
    shared = {"help": help, "rich_help_panel": panel, "envvar": variable, "show_envvar": False}
    return typer.Option(*names, **(shared | settings))


def format_option(formats: str, default: str = "by the suffix of -o, else table") -> Any:  # noqa: ANN401
    """Declare `--format`; `formats` stand between bars, `default` says which is taken without the option."""
    # A longer list would leave the other columns of the help no room.
    short = len(formats) <= _METAVAR
    named = "Output format" if short else f"Output format: {formats.replace('|', ', ')}"
    text = f"{named}. Default: {default}."
    metavar = formats if short else "FORMAT"
    return option("--format", panel=OUTPUT, metavar=metavar, show_choices=False, help=text)


def keep_for_main(context: typer.Context, parameter: typer.CallbackParam, value: bool) -> bool:
    """Callback: keep a switch for `colde_cli.commands.app.main`, which needs it after a command has failed."""
    context.ensure_object(dict)[parameter.name] = value
    return value


def from_the_command_line(context: typer.Context, names: Collection[str]) -> None:
    """Refuse parameters that came from the environment or from colde.toml, where they decide what passes a check.

    Raises:
        OptionError: one of them did.
    """
    for parameter in context.command.params:
        source = context.get_parameter_source(parameter.name or "")
        if parameter.name in names and source is not None and source.name in ("ENVIRONMENT", "DEFAULT_MAP"):
            where = "the environment" if source.name == "ENVIRONMENT" else "colde.toml"
            raise OptionError(f"{parameter.opts[0]} comes from {where}; a check takes it from its own command line.")


def check_score(value: float | None) -> float | None:
    """Callback: refuse an impossible score, such as 90 for 0.9."""
    if value is not None and not -1 <= value <= 1:
        raise typer.BadParameter(f"{value:g} is not a score; scores lie between -1 and 1, such as 0.9.")
    return value


def check_share(value: float) -> float:
    """Callback: refuse an impossible share, such as 40 for 0.4, and 0, at which every pair would be listed."""
    if not 0 < value <= 1:
        raise typer.BadParameter(f"{value:g} is not a share; shares lie above 0 and up to 1, such as 0.4.")
    return value


CorpusArgument = Annotated[
    list[str], typer.Argument(metavar="CORPUS", help="Folders, with everything below them, and files; or an index.")
]
OutputOption = Annotated[
    Path | None,
    option("--output", "-o", panel=OUTPUT, metavar="FILE", help="File to write, instead of standard output."),
]
FolderOption = Annotated[str | None, option("--output", "-o", panel=OUTPUT, metavar="FOLDER", help=FOLDER_HELP)]
TopOption = Annotated[
    int,
    option(
        *("--top", "-n", "-k"),
        panel=OUTPUT,
        metavar="N",
        min=1,
        help="Documents to list, or passages and chunks of each kind.",
    ),
]
ReportsOption = Annotated[
    Path | None,
    option(
        "--reports",
        panel=OUTPUT,
        metavar="FOLDER",
        help="Also write an HTML report on each pair, and a page of links.",
    ),
]
DebugOption = Annotated[
    bool, option("--debug", panel=OUTPUT, callback=keep_for_main, help="Show the traceback of an error.")
]


@dataclass(frozen=True, slots=True)
class Destination:
    """Where the output goes."""

    output: OutputOption = None
    pager: Annotated[
        bool | None,
        option(
            "--pager/--no-pager",
            panel=OUTPUT,
            help="Show the output in a pager. Default: only a table that is longer than the screen.",
        ),
    ] = None

    def show(self, result: object, chosen: Format, **options: object) -> None:
        """Write a result in a format; the options are those of `views.output.show`."""
        self.deliver(show(result, chosen, to_file=self.output is not None, **options), chosen)

    def deliver(self, text: str | Iterable[str], chosen: Format) -> None:
        """Write text in a format."""
        deliver(text, self.output, chosen, self.pager)


@dataclass(frozen=True, slots=True)
class Signature:
    """Who signs the tracked changes of a Word file, and when."""

    author: Annotated[
        str, option("--author", panel=OUTPUT, metavar="NAME", help="Author of new tracked changes in a .docx file.")
    ] = "colde"
    date: Annotated[
        str | None,
        option(
            "--date",
            panel=OUTPUT,
            metavar="DATE",
            help="Date of new tracked changes, such as 2026-01-31T12:00. Default: SOURCE_DATE_EPOCH, else now.",
        ),
    ] = None

    def authorship(self, tracked: Tracked) -> Authorship:
        """As an argument of what writes a redline.

        Raises:
            OptionError: the date is none, or there is no name.
        """
        from datetime import datetime

        from colde_cli.views.word.tracked_file import Authorship

        if not self.author.strip():
            raise OptionError("--author has no name; give one, such as --author 'A. Smith'.")
        try:
            date = None if self.date is None else datetime.fromisoformat(self.date)
        except ValueError as error:
            raise OptionError(f"--date {self.date} is no date; write it as 2026-01-31 or 2026-01-31T12:00.") from error
        return Authorship(self.author, date, tracked is Tracked.KEEP)


@dataclass(frozen=True, slots=True)
class Ending:
    """How a search ends."""

    strict: Annotated[bool, option("--strict", panel=OUTPUT, help="Exit with status 2 if a file cannot be read.")] = (
        False
    )
    exit_zero: Annotated[bool, option("--exit-zero", panel=OUTPUT, help="Exit with status 0 instead of 1.")] = False

    def after(self, found: object, skipped: Sequence[Skipped]) -> typer.Exit:
        """The end, to raise: status 0 if something was found, 1 if not, as grep; strict, 2 if files were skipped."""
        if self.strict and skipped:
            return typer.Exit(2)
        return typer.Exit(0 if found or self.exit_zero else 1)


@dataclass(frozen=True, slots=True)
class Reporter:
    """Writes warnings and notes to stderr, as far as `--quiet` and `--verbose` want them."""

    quiet: Annotated[bool, option("--quiet", "-q", panel=OUTPUT, callback=keep_for_main, help=QUIET_HELP)] = False
    verbose: Annotated[
        bool,
        option(
            *("--verbose", "-v"),
            panel=OUTPUT,
            callback=keep_for_main,
            help="Also show the parts of scores, devices, what was left out, and times.",
        ),
    ] = False
    debug: DebugOption = False

    def warning(self, sentence: str) -> None:
        """Print a warning, unless `--quiet`."""
        if not self.quiet:
            warn(sentence)

    def note(self, *sentences: str) -> None:
        """Print what was done, unless `--quiet`."""
        if not self.quiet:
            for sentence in sentences:
                note(sentence)

    def progress(
        self, label: str, unit: str, total: int | None = None
    ) -> AbstractContextManager[Callable[[int], None]]:
        """Show how far long work is, unless `--quiet`; see `views.progress.progress`."""
        from colde_cli.views.progress import progress

        return progress(label, unit, total, show=not self.quiet)

    def about_model(self, info: RuntimeInfo) -> None:
        """Print which model runs where, with `--verbose`; and in any case that a graphics card stands idle."""
        said = f"{info.name} ({info.precision}) on {info.device}. {info.reason}" if self.verbose else info.warning
        if said and not self.quiet:
            note(said)

    def about_encoded(self, documents: int) -> None:
        """Print how many documents no cache knew, with `--verbose`: results are the same bytes with and without one."""
        if self.verbose:
            from colde_cli.views.wording import plural

            note(f"{plural(documents, 'document')} newly encoded.")

    def about_stages(self, times: StageTimes | None) -> None:
        """Print how long reading and encoding took, with `--verbose`."""
        if self.verbose and times is not None and times.documents:
            from colde_cli.views.wording import plural

            stages = ("read", "chunk", "encode", "write", "wait")
            listed = ", ".join(
                f"{name} {getattr(times, name):.1f} s ({100 * times.share(name):.0f} %)" for name in stages
            )
            note(f"Encoded {plural(times.documents, 'document')} in {times.total:.1f} s: {listed}.")

    def about_skipped(self, files: Iterable[Skipped]) -> None:
        """Warn of files that were left out."""
        for file in files:
            self.warning(f"Skipped {file.path}: {file.reason}")

    def about_corpus(self, found: Clusters | Families) -> None:
        """Warn of the files that were left out, and of what could not be read of others."""
        self.about_skipped(found.skipped)
        for path, sentences in found.half_read:
            self.about_half_read(path, sentences)

    def about_half_read(self, path: str, sentences: Iterable[str]) -> None:
        """Warn of what could not be read of a file."""
        for sentence in sentences:
            self.warning(f"{path}: {sentence}")

    def about_document(self, document: Document) -> None:
        """Warn about the unreadable parts of a document; with `--verbose` also note the parts left out on purpose."""
        self.about_half_read(document.path, document.report.warnings)
        if self.verbose:
            for sentence in document.report.notes:
                note(f"{document.path}: {sentence}")


ModelOption = Annotated[
    str, option("--model", panel=MODEL, metavar="NAME|FOLDER", help="Model to use, by name or folder.")
]
DeviceOption = Annotated[str, option("--device", panel=MODEL, metavar="auto|cpu|cuda[:N]", help=DEVICE_HELP)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Runtime:
    """How a model runs."""

    device: DeviceOption = "auto"
    precision: Annotated[
        str, option("--precision", panel=MODEL, metavar="auto|int8|fp16|fp32", help="Numerical precision of the model.")
    ] = "auto"
    # As COLDE_THREADS, or `threads` in colde.toml; the name of earlier versions.
    threads: Annotated[int | None, option("--threads", hidden=True, min=1, help="As COLDE_THREADS.")] = None
    no_cache: Annotated[
        bool, option("--no-cache", panel=MODEL, help="Neither read nor write the cache of chunk vectors.")
    ] = False

    def load(self, model: str, *, parts: bool = True) -> DocumentEncoder:
        """Load a model; `parts` as for `open_encoder`."""
        from colde_cli.encoder.loading import open_encoder

        return open_encoder(model, parts=parts, **self._arguments())

    def _arguments(self) -> dict[str, Any]:
        from colde_cli.encoder.vector_cache import Cache

        cache = None if self.no_cache else Cache.open()
        return {"device": self.device, "precision": self.precision, "threads": self.threads, "cache": cache}


@dataclass(frozen=True, slots=True)
class ModelChoice(Runtime):
    """Which model, and how it runs."""

    model: ModelOption = DEFAULT_MODEL

    def open(self, other: str = "") -> Model:
        """The model, or another one; it is loaded when it is first needed."""
        from colde_cli.model_api import Model

        return Model(other or self.model, **self._arguments())


GlobOption = Annotated[
    str | None, option("--glob", metavar="PATTERN", help="Which files of the folders to read, such as '**/*.pdf'.")
]
FieldOption = Annotated[str, option("--field", metavar="corpus|none|NAME|FOLDER", help=FIELD_HELP)]
IgnoreLikeOption = Annotated[
    list[Path] | None,
    option(
        "--ignore-like",
        panel=IGNORE,
        metavar="FILE",
        help="Leave out the sentences of this file, such as a template; repeatable.",
    ),
]


def _switch(name: str, *short: str) -> Any:  # noqa: ANN401
    """An option of earlier versions for a name of `--ignore`."""
    return option(f"--ignore-{name}", *short, hidden=True, help=f"As --ignore {name}.")


@dataclass(frozen=True, slots=True)
class Ignoring:
    """The differences that do not count."""

    ignore: Annotated[
        list[str] | None,
        option(
            "--ignore",
            panel=IGNORE,
            metavar="LIST",
            help="Differences that do not count, with commas between: case (-i), whitespace (-w), numbers, renumbering,"
            " list-marks; outside (all texts outside the body), parts (all that is not read), or kinds of them such as"
            " headers, links, pictures; repeatable.",
        ),
    ] = None
    ignore_case: Annotated[bool, _switch("case", "-i")] = False
    ignore_whitespace: Annotated[bool, _switch("whitespace", "-w")] = False
    ignore_numbers: Annotated[bool, _switch("numbers")] = False
    ignore_renumbering: Annotated[bool, _switch("renumbering")] = False
    ignore_list_marks: Annotated[bool, _switch("list-marks")] = False
    ignore_like: IgnoreLikeOption = None

    def options(self) -> IgnoreOptions:
        """As an argument of comparisons.

        Raises:
            OptionError: a name is nothing to ignore.
        """
        from colde_cli.similarity.outside_changes import ignoring
        from colde_cli.similarity.redline import SWITCHES

        switches = {name: getattr(self, f"ignore_{name}") for name in SWITCHES}
        return ignoring(self.ignore or (), like=tuple(map(str, self.ignore_like or ())), **switches)

    def warn_if_in_vain(self, documents: Sequence[Document], reporter: Reporter) -> None:
        """Warn if `--ignore-like` left nothing out: the wrong template is a likely mistake."""
        reports = [document.report.ignored for document in documents]
        if self.ignore_like and not any(
            report is not None and (report.stretches or report.sections) for report in reports
        ):
            names = ", ".join(path.name for path in self.ignore_like)
            reporter.warning(f"{names} and the two documents have no sentence in common; nothing was left out.")


FailUnderOption = Annotated[
    float | None,
    option(
        "--fail-under",
        panel=OUTPUT,
        callback=check_score,
        metavar="SCORE",
        help="Exit with status 1 if the score is below this; in diff, else with 0.",
    ),
]
AllowOption = Annotated[
    list[str] | None,
    option(
        "--allow",
        metavar="SECTION|PATTERN|KIND",
        help="What may change: SECTION, as for --skip-sections; /PATTERN/, words that match; /OLD/NEW/, words that"
        " match OLD and become words that match NEW; KIND, as for --ignore, such as headers,pictures; repeatable.",
    ),
]
VerifyOption = Annotated[
    bool,
    option(
        "--verify",
        envvar=None,
        help="Check all files or records against their checksums. Exit with status 2 if one is damaged or altered.",
    ),
]


class Level(StrEnum):
    """How deep the table of a comparison goes."""

    DOCUMENT = "document"
    SECTION = "section"
    CHUNK = "chunk"
    PASSAGE = "passage"
    ALL = "all"


LevelOption = Annotated[
    Level,
    option(
        "--level",
        panel=OUTPUT,
        metavar="LEVEL",
        help="What to show: document, section, chunk, passage, or all (passages; of different texts sections too).",
    ),
]


class SplitName(StrEnum):
    """Splits of a data set."""

    TRAIN = "train"
    VALIDATION = "validation"
    TEST = "test"


SplitOption = Annotated[
    SplitName, option("--split", panel=DATA, metavar="NAME", help="Split of the pairs to use, if the data has splits.")
]
SeedOption = Annotated[int, option("--seed", panel=DATA, min=0, metavar="N", help="Seed of all random choices.")]
PairsOption = Annotated[
    list[Path],
    option("--pairs", panel=DATA, metavar="FILE", help="Judged pairs, as JSON Lines; one FILE for each --docs."),
]
DocsOption = Annotated[
    list[Path],
    option(
        "--docs",
        panel=DATA,
        metavar="FILE",
        help="Documents of the pairs, in the format of colde train; repeatable, a data set each.",
    ),
]

_EXTRAS = {
    "serve": "fastapi uvicorn python_multipart",
    "mcp": "mcp",
    "pdf": "reportlab",
    "evaluate": "sklearn scipy",
    "train": "torch transformers optimum onnx safetensors accelerate sklearn scipy",
}
"""Modules that the extras of pyproject.toml bring."""
_PACKAGES = {"python_multipart": "python-multipart", "sklearn": "scikit-learn"}
"""Names of packages that are not those of their modules."""


def require_extra(extra: str, command: str) -> None:
    """Check, without importing them, that the packages of an extra of pyproject.toml, such as "train", are installed.

    Raises:
        MissingExtraError: a package is missing.
    """
    missing = [_PACKAGES.get(module, module) for module in _EXTRAS[extra].split() if find_spec(module) is None]
    if missing:
        raise MissingExtraError(f"{command} needs {', '.join(missing)}; install with: pip install 'colde[{extra}]'")


def corpus_places(corpus: Sequence[str], output: Path | None) -> list[str | Path]:
    """The places of a corpus; checks the output file first.

    Raises:
        OptionError: the output is a document of the corpus, even one that `--glob` leaves out.
    """
    from colde_cli.corpus.finding import is_url, walk

    if output is not None:
        refuse_inputs(output, walk(Path(place) for place in corpus if not is_url(place)))
    return list(corpus)
