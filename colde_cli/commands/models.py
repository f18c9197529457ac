"""`colde models`: list the installed models, describe one, or check that its files are as they were written."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from colde_cli.commands.options import DebugOption, VerifyOption, format_option
from colde_cli.errors import ModelError, OptionError
from colde_cli.views.output import Format, choose_format, prepare_output, warn

if TYPE_CHECKING:
    from colde_cli.encoder.checksums import FolderCheck

_MOST_OF_CARD = 100_000
"""Characters of a model's card that are shown."""


@dataclass(frozen=True, slots=True)
class ModelSummary:
    """A model in the list.

    Attributes:
        backbone: the BERT it was trained from; "" without one.
        precisions: "int8", "fp16", "fp32": one per graph.
        threshold: the score from which documents count as related; None if not fitted.
        trainable: it holds weights to continue training from.
    """

    name: str
    path: str
    system: str
    backbone: str
    precisions: tuple[str, ...]
    megabytes: float
    threshold: float | None
    trainable: bool


def models(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="Model to describe. Default: list all models.")
    ] = None,
    verify: VerifyOption = False,
    format: Annotated[Format | None, format_option("table|json", "table")] = None,
    debug: DebugOption = False,
) -> None:
    """List the models that --model finds by name, or describe one."""
    from colde_cli import settings

    chosen = choose_format(format, None)
    if verify:
        raise typer.Exit(_verify(name, chosen))
    if name is not None:
        _describe(settings.resolve_model(name), chosen)
        return
    usable, unusable = _summaries(settings.known_models().values())
    for sentence in unusable:
        warn(sentence)
    if unusable and not usable:
        raise ModelError("None of the models can be used.")
    if chosen is Format.JSON:
        typer.echo(json.dumps({"schema": "colde.models/1", "models": [asdict(item) for item in usable]}, indent=2))
        return
    _print_table(usable)


def _summaries(folders: Iterable[Path]) -> tuple[list[ModelSummary], list[str]]:
    """Summarise the models in these folders; for each unusable folder, return a sentence that says why."""
    usable, unusable = [], []
    for folder in folders:
        try:
            usable.append(summarise(folder))
        except ModelError as error:
            unusable.append(str(error))
    return usable, unusable


def summarise(folder: Path) -> ModelSummary:
    """Summarise a model folder.

    Raises:
        ModelError: it is not a model.
    """
    from colde_cli.encoder.layout import ENCODER_GRAPHS, SYSTEM_GRAPH, WEIGHTS, WEIGHTS_INDEX
    from colde_cli.encoder.loading import open_model

    try:
        model = open_model(folder)
        size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    except OSError as error:
        raise ModelError(f"{folder} cannot be read: {error.strerror or error}.") from error
    config = model.config
    graphs = ENCODER_GRAPHS if config.system == "colde" else {"fp32": SYSTEM_GRAPH}
    return ModelSummary(
        name=model.name,
        path=str(folder),
        system=config.system,
        backbone=config.backbone_name,
        precisions=tuple(name for name, graph in graphs.items() if model.has(graph)),
        megabytes=round(size / 1e6, 1),
        threshold=config.threshold,
        trainable=model.has(WEIGHTS) or model.has(WEIGHTS_INDEX),
    )


def _verify(name: str | None, chosen: Format) -> int:
    """Check the files of a model or a field profile; return the exit status."""
    from colde_cli.encoder.checksums import check_folder

    if name is None:
        raise OptionError("--verify checks one model; name it: colde models NAME --verify")
    check = check_folder(_folder_of(name))
    if chosen is Format.JSON:
        found = {key: value for key, value in asdict(check).items() if key != "folder"}
        typer.echo(json.dumps({"schema": "colde.model-check/1", "path": str(check.folder), **found}, indent=2))
    else:
        typer.echo(_check_text(check), nl=False)
    return 2 if check.problems else 0


def _folder_of(name: str) -> Path:
    """The folder of a model, or of a field profile if no model has this name."""
    from colde_cli import settings

    try:
        return settings.resolve_model(name)
    except ModelError:
        folder = settings.profile_folder(name)
        if not os.path.isdir(folder):  # noqa: PTH112 - False for a name that no file can have
            raise
        return folder


def _check_text(check: FolderCheck) -> str:
    """What a check found, as lines."""
    from colde_cli.encoder.checksums import CHECKSUMS
    from colde_cli.views.escaping import visible
    from colde_cli.views.wording import plural

    lines = [f"{name} was altered." for name in check.altered]
    lines += [f"{name} is missing." for name in check.missing]
    lines += [f"{name} was added." for name in check.added]
    if check.problems:
        count = f"{plural(check.problems, 'file')} {'is' if check.problems == 1 else 'are'}"
        lines.append(f"{check.folder}: {count} not as colde wrote them; fetch or make the folder again.")
    else:
        lines.append(
            f"{check.folder}: all {plural(check.files, 'file')} are as colde wrote them ({CHECKSUMS}: {check.digest})."
        )
    return "".join(f"{visible(line)}\n" for line in lines)


def _print_table(summaries: list[ModelSummary]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from colde_cli.views.escaping import visible

    table = Table("Name", "System", "Backbone", "Precisions", "Size", "Folder", box=None, pad_edge=False)
    for item in summaries:
        precisions = ", ".join(item.precisions)
        cells = (item.name, item.system, item.backbone, precisions, f"{item.megabytes:.0f} MB", item.path)
        table.add_row(*(Text(visible(cell)) for cell in cells))
    prepare_output()
    Console().print(table)


def _describe(folder: Path, chosen: Format) -> None:
    from colde_cli.encoder.layout import CARD
    from colde_cli.encoder.loading import open_model

    summary, model = summarise(folder), open_model(folder)
    if chosen is Format.JSON:
        config = json.loads(model.config.to_json())
        typer.echo(json.dumps({"schema": "colde.model/1", **asdict(summary), "config": config}, indent=2))
        return
    from rich.console import Console
    from rich.markdown import Markdown

    from colde_cli.views.escaping import visible

    console = Console()
    _print_table([summary])
    if model.has(CARD) and (card := _beginning(model.file(CARD))):
        text = visible(card, lines=True)
        body = text.split("\n---\n", maxsplit=1)[1] if text.startswith("---\n") else text
        console.print()
        console.print(Markdown(body, hyperlinks=False))


def _beginning(card: Path) -> str:
    """The beginning of a model's card: one of 10 MB would take half a minute to set. "" for a link to elsewhere."""
    if not card.resolve().is_relative_to(card.parent.resolve()):
        warn(f"{card} is a link to a file outside of the model; it is not shown.")
        return ""
    try:
        with card.open(encoding="utf-8", errors="replace") as file:
            text, rest = file.read(_MOST_OF_CARD), file.read(1)
    except OSError as error:
        raise ModelError(f"{card} cannot be read: {error.strerror or error}.") from error
    if rest:
        warn(f"{card} is long; only its beginning is shown.")
    return text
