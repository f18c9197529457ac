"""`colde models`: which models there are and what they are made of."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from colde_cli.errors import ModelError


class ListFormat(StrEnum):
    """Forms of the list."""

    TABLE = "table"
    JSON = "json"


@dataclass(frozen=True, slots=True)
class ModelSummary:
    """What the list shows of one model.

    Attributes:
        name: by which `--model` finds it.
        path: its folder.
        system: the kind of network.
        backbone: where its BERT came from; "" where it has none.
        precisions: the graphs it has.
        megabytes: size of all its files.
        threshold: score at which the verdict flips; None if not fitted.
        trainable: whether it holds weights to train on from.
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
        str | None, typer.Argument(help="A model to describe; all are listed without it.")
    ] = None,
    output_format: Annotated[
        ListFormat, typer.Option("--format", envvar="COLDE_FORMAT", help="How to print.")
    ] = ListFormat.TABLE,
) -> None:
    """List the models that --model finds by name, or describe one."""
    from colde_cli import settings
    from colde_cli.views.messages import warn

    if name is not None:
        _describe(settings.resolve_model(name), output_format)
        return
    found, unusable = _summaries(settings.known_models().values())
    for sentence in unusable:
        warn(sentence)
    if unusable and not found:
        raise ModelError("None of the models can be used.")
    if output_format is ListFormat.JSON:
        typer.echo(
            json.dumps({"schema": "colde.models/1", "models": [asdict(item) for item in found]}, indent=2)
        )
        return
    _print_table(found)


def _summaries(folders: Iterable[Path]) -> tuple[list[ModelSummary], list[str]]:
    """The models in these folders, and for each folder that is none a sentence that says why."""
    found, unusable = [], []
    for folder in folders:
        try:
            found.append(summarise(folder))
        except ModelError as error:
            unusable.append(str(error))
    return found, unusable


def summarise(folder: Path) -> ModelSummary:
    """Read a model folder's facts.

    Raises:
        ModelError: it is not a model.
    """
    from colde_cli.encoder.layout import ENCODER_GRAPHS, WEIGHTS
    from colde_cli.encoder.loading import open_model
    from colde_cli.encoder.towers.layout import TOWER_GRAPH

    try:
        model = open_model(folder)
        size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    except OSError as error:
        raise ModelError(f"{folder} cannot be read: {error.strerror or error}.") from error
    config = model.config
    graphs = ENCODER_GRAPHS if config.system == "colde" else {"fp32": TOWER_GRAPH}
    return ModelSummary(
        name=model.name,
        path=str(folder),
        system=config.system,
        backbone=config.backbone_name,
        precisions=tuple(name for name, graph in graphs.items() if model.has(graph)),
        megabytes=round(size / 1e6, 1),
        threshold=config.threshold,
        trainable=model.has(WEIGHTS),
    )


def _print_table(found: list[ModelSummary]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from colde_cli.views.escaping import visible

    table = Table("Name", "System", "Backbone", "Precisions", "Size", "Folder", box=None, pad_edge=False)
    for item in found:
        precisions = ", ".join(item.precisions)
        cells = (item.name, item.system, item.backbone, precisions, f"{item.megabytes:.0f} MB", item.path)
        table.add_row(*(Text(visible(cell)) for cell in cells))
    Console().print(table)


def _describe(folder: Path, output_format: ListFormat) -> None:
    from colde_cli.encoder.layout import CARD
    from colde_cli.encoder.loading import open_model

    summary, model = summarise(folder), open_model(folder)
    if output_format is ListFormat.JSON:
        config = json.loads(model.config.to_json())
        typer.echo(json.dumps({"schema": "colde.model/1", **asdict(summary), "config": config}, indent=2))
        return
    from rich.console import Console
    from rich.markdown import Markdown

    from colde_cli.views.escaping import visible

    console = Console()
    _print_table([summary])
    if model.has(CARD):
        text = visible(model.file(CARD).read_text(encoding="utf-8", errors="replace"), lines=True)
        body = text.split("\n---\n", maxsplit=1)[1] if text.startswith("---\n") else text
        console.print()
        console.print(Markdown(body, hyperlinks=False))
