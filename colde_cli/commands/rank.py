"""`colde rank`: the documents of a corpus that are closest to one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from colde_cli.commands.options import (
    DebugOption,
    DeviceOption,
    ExitZeroOption,
    FormatOption,
    IgnoreLikeOption,
    ModelChoice,
    ModelOption,
    NoCacheOption,
    OutputOption,
    PagerOption,
    PasswordOption,
    PrecisionOption,
    QuietOption,
    Reporter,
    ThreadsOption,
    VerboseOption,
    a_score,
    boilerplate,
    check_sources,
)
from colde_cli.errors import OptionError
from colde_cli.settings import DEFAULT_MODEL
from colde_cli.views.output import Format, choose_format, deliver

if TYPE_CHECKING:
    from colde_cli.corpus.ranking import Ranking
    from colde_cli.encoder.protocol import DocumentEncoder, Encoding
    from colde_cli.similarity.boilerplate import Boilerplate

FORMATS = (Format.TABLE, Format.JSON, Format.MARKDOWN, Format.CSV)


def rank(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="A document, or - for standard input.")],
    corpus: Annotated[
        list[Path], typer.Argument(metavar="CORPUS", help="Folders, searched through, and files.")
    ],
    top: Annotated[
        int, typer.Option("--top", "-k", envvar="COLDE_TOP", metavar="N", min=1, help="Documents to list.")
    ] = 10,
    min_score: Annotated[
        float | None,
        typer.Option(
            envvar="COLDE_MIN_SCORE",
            callback=a_score,
            metavar="SCORE",
            help="List none with a score below this.",
        ),
    ] = None,
    explain: Annotated[
        bool,
        typer.Option(
            "--explain", envvar="COLDE_EXPLAIN", metavar="", help="Say which sections and pages match."
        ),
    ] = False,
    glob: Annotated[
        str | None,
        typer.Option(envvar="COLDE_GLOB", metavar="PATTERN", help="Which files of folders, e.g. '**/*.pdf'."),
    ] = None,
    password: PasswordOption = None,
    ignore_like: IgnoreLikeOption = None,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict",
            envvar="COLDE_STRICT",
            metavar="",
            help="Status 2 if a file cannot be read.",
            rich_help_panel="Output",
        ),
    ] = False,
    format: FormatOption = None,
    output: OutputOption = None,
    pager: PagerOption = None,
    exit_zero: ExitZeroOption = False,
    quiet: QuietOption = False,
    verbose: VerboseOption = False,
    debug: DebugOption = False,
    model: ModelOption = DEFAULT_MODEL,
    device: DeviceOption = "auto",
    precision: PrecisionOption = "auto",
    threads: ThreadsOption = None,
    no_cache: NoCacheOption = False,
) -> None:
    """Order documents by their likeness to one.

    Files that cannot be read are reported and skipped. The status is 0 if a
    document is listed, 1 if none is close enough, 2 if something went wrong.
    """
    from colde_cli.similarity.words import NOTHING_IGNORED

    like = ignore_like or []
    check_sources(like)
    chosen = choose_format(format, output, (query, *map(str, corpus), *map(str, like)), FORMATS)
    reporter = Reporter(quiet, verbose)
    encoder = ModelChoice(model, device, precision, threads, no_cache).load()
    reporter.about_model(encoder)
    files = _files(corpus, glob, reporter)
    ignored = boilerplate(like, password, NOTHING_IGNORED, reporter)
    encoding = _query(query, encoder, password, ignored, reporter)
    ranking = _rank(encoding, files, encoder, reporter, top, min_score, explain, password, ignored)
    for skipped in ranking.skipped:
        reporter.warning(f"Skipped {skipped.path}: {skipped.reason}")
    deliver(_shown(ranking, chosen, output), output, chosen, pager)
    if strict and ranking.skipped:
        raise typer.Exit(2)
    raise typer.Exit(0 if ranking.results or exit_zero else 1)


def _files(corpus: list[Path], glob: str | None, reporter: Reporter) -> list[Path]:
    """The files to search.

    Raises:
        MissingFileError: a place does not exist.
        OptionError: there is no document in any of them.
    """
    from colde_cli.corpus.collecting import walk

    files = walk(corpus, glob, lambda error: reporter.warning(f"Skipped {error.filename}: {error.strerror}."))
    if not files:
        raise OptionError(
            f"There is no document to search in {', '.join(map(str, corpus))}"
            + (f" that fits {glob!r}." if glob else ".")
        )
    return files


def _query(
    source: str,
    encoder: DocumentEncoder,
    password: str | None,
    ignored: Boilerplate | None,
    reporter: Reporter,
) -> Encoding:
    from colde_cli.corpus.ranking import encode_file

    encoding = encode_file(source, encoder, password=password, boilerplate=ignored)
    reporter.about_document(encoding.document)
    return encoding


def _rank(
    query: Encoding,
    files: list[Path],
    encoder: DocumentEncoder,
    reporter: Reporter,
    top: int,
    min_score: float | None,
    explain: bool,
    password: str | None,
    ignored: Boilerplate | None,
) -> Ranking:
    from colde_cli.corpus.ranking import rank as rank_files
    from colde_cli.views.messages import progress

    with progress("Searching", "documents", len(files), show=not reporter.quiet) as advance:
        return rank_files(
            query,
            files,
            encoder,
            top=top,
            min_score=min_score,
            explain=explain,
            password=password,
            boilerplate=ignored,
            progress=advance,
        )


def _shown(ranking: Ranking, chosen: Format, output: Path | None) -> str:
    if chosen is Format.JSON:
        from colde_cli.views.json import ranking_json

        return ranking_json(ranking)
    if chosen is Format.MARKDOWN:
        from colde_cli.views.markdown import ranking_markdown

        return ranking_markdown(ranking)
    if chosen is Format.CSV:
        from colde_cli.views.csv import ranking_csv

        return ranking_csv(ranking)
    from colde_cli.views.terminal import ranking_table

    return ranking_table(ranking, to_file=output is not None)
