"""`colde train`: progress bars on a terminal, a line for each epoch elsewhere, the result on stdout.

The options of a recipe are made from the fields of the recipes, and a recipe is made from the options given.
"""

from __future__ import annotations

import inspect
import shlex
import sys
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass, fields
from enum import StrEnum
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Annotated, Any, Self, get_args, get_type_hints

import typer
from rich.console import Console
from typer.models import OptionInfo

from colde_cli.commands.options import keep_for_main, require_extra
from colde_cli.errors import OptionError
from colde_cli.recipes import DEFAULT_BACKBONE, MODEL, PANELS, BaseName, GivenAs, Recipe, TowerRecipe, option
from colde_cli.settings import parse_duration, parse_size
from colde_cli.views.output import refuse_inputs

if TYPE_CHECKING:
    from rich.progress import TaskID

    from colde_cli.encoder.layout import ModelConfig, ModelFolder
    from colde_cli.learning.loop import Outcome
    from colde_cli.learning.run import Job

_RECIPES: tuple[type[Recipe | TowerRecipe], ...] = (Recipe, TowerRecipe)


class SystemName(StrEnum):
    """What can be trained; the registry of `learning.towers` says how."""

    COLDE = "colde"
    ARCI = "arci"
    DSSM = "dssm"
    HAN = "han"
    MATCHBERT = "matchbert"
    SBERT = "sbert"
    SLONG = "slong"
    SMASH = "smash"
    SMITH = "smith"
    SMITH_SHORT = "smith-short"


@dataclass(frozen=True, slots=True)
class RecipeOption:
    """An option of one recipe, or of both.

    Attributes:
        kind: its type on the command line.
        option: names, panel and help.
        defaults: by recipe.
    """

    kind: Any
    option: OptionInfo
    defaults: dict[type[Recipe | TowerRecipe], Any]

    def parameter(self, name: str) -> inspect.Parameter:
        """Declare the option as a parameter of the command."""
        option, kind = copy(self.option), self.kind
        default, *others = self.defaults.values()
        if others and others[0] != default and not isinstance(option.show_default, str):
            option.show_default = f"{default}; other systems: {others[0]}"
        if isinstance(option.show_default, str) or default == ():
            # The recipe has the default, which depends on the system or on other options.
            kind, default = kind | None, None
        place = inspect.Parameter.KEYWORD_ONLY
        return inspect.Parameter(name, place, default=default, annotation=Annotated[kind, option])


@cache
def recipe_options() -> Mapping[str, RecipeOption]:
    """Read the options from the fields of the recipes, by name, panel by panel."""
    found: dict[str, RecipeOption] = {}
    for recipe in _RECIPES:
        hints = get_type_hints(recipe, include_extras=True)
        for item in fields(recipe):
            kind, *notes = get_args(hints[item.name]) or (None,)
            for declared in [note for note in notes if isinstance(note, OptionInfo)]:
                given_as = [note.kind for note in notes if isinstance(note, GivenAs)]
                known = found.setdefault(item.name, RecipeOption((given_as or [kind])[0], declared, {}))
                known.defaults[recipe] = item.default
    panels = {name: PANELS.index(str(each.option.rich_help_panel)) for name, each in found.items()}
    return {name: found[name] for name in sorted(found, key=panels.__getitem__)}


def with_recipe_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of the recipes, in the place of its `**options`."""
    hints = get_type_hints(command, include_extras=True)
    signature = inspect.signature(command)
    stated = [
        parameter.replace(annotation=hints[name])
        for name, parameter in signature.parameters.items()
        if parameter.kind is not inspect.Parameter.VAR_KEYWORD
    ]
    more = [each.parameter(name) for name, each in recipe_options().items()]
    command.__signature__ = signature.replace(parameters=[*stated, *more])  # type: ignore[attr-defined]
    return command


def make_recipe(
    context: typer.Context,
    system: str,
    base: BaseName = BaseName.DEFAULT,
    start: ModelConfig | None = None,
) -> Recipe | TowerRecipe:
    """Make the recipe of a system from the options that were given.

    Args:
        context: of the command.
        system: name of the system.
        base: gives CoLDE's other options.
        start: the model to continue from.

    Raises:
        OptionError: an option means nothing to the system, or has a value that the system or the model to continue
            from does not know.
    """
    from colde_cli.learning.towers.registry import system_named

    tower = None if system == SystemName.COLDE else system_named(system)
    options, kind = recipe_options(), TowerRecipe if tower else Recipe
    refused = {name for name, each in options.items() if kind not in each.defaults}
    refused |= tower.unused_options | {"recipe", "init"} if tower else set()
    given = [item for item in context.command.params if item.name and _was_given(context, item.name)]
    for item in given:
        if item.name in refused:
            raise OptionError(f"{item.opts[0]} means nothing to --system {system}; leave it out.")
    values = {item.name: _field_value(context.params[item.name]) for item in given if item.name in options}
    return tower.recipe(values) if tower else Recipe.of(values, base, start)


def _was_given(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name in ("COMMANDLINE", "ENVIRONMENT")


def _field_value(value: object) -> object:
    """Return what a recipe holds: a list becomes a tuple that does not depend on its order."""
    return tuple(sorted({str(item) for item in value})) if isinstance(value, list) else value


_DATA, _RUN = "Data", "Run"
OTHER_SYSTEMS = ", ".join(name.value for name in SystemName if name is not SystemName.COLDE)


class Display:
    """Shows phases, batches and epochs on stderr, and the result on stdout."""

    def __init__(self, quiet: bool) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        self._quiet = quiet
        self._console = Console(stderr=True, quiet=quiet, highlight=False)
        self._bars = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=self._console,
            transient=True,
            disable=quiet or not self._console.is_terminal,
        )
        self._task: TaskID | None = None

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bars.stop()

    def phase(self, text: str, total: int | None = None) -> None:
        """Begin a phase of `total` steps; None if their number is not known."""
        if self._task is not None:
            self._bars.remove_task(self._task)
        self._task = self._bars.add_task(text, total=total)
        if not self._console.is_terminal:
            self._console.print(f"{text} …" if total is None else f"{text} ({total:,}) …")

    def advance(self, count: int) -> None:
        """Count steps of the phase."""
        if self._task is not None:
            self._bars.advance(self._task, count)

    def started(self, steps: int, done: int) -> None:
        """Begin the training."""
        if steps:
            self.phase("Training", steps)
            self.advance(done)

    def stepped(self, values: dict[str, float]) -> None:
        """Show the loss of a batch."""
        if self._task is not None:
            self._bars.update(self._task, description=f"Training, loss {values['loss']:.3f}")
        self.advance(1)

    def validated(self, values: dict[str, float]) -> None:
        """Show how an epoch was validated; epoch 0 is the untrained model."""
        name = f"epoch {values['epoch']:.0f}" if values["epoch"] else "untrained"
        loss = f"loss {values['loss']:.4f}, " if values["epoch"] else ""
        self._console.print(f"{name}: {loss}validation AUC {values['field_auc']:.4f}, F1 {values['f1']:.4f}")

    def stopped(self, job: Job[Any]) -> None:
        """Say that the run is saved, and how to go on."""
        from colde_cli.views.escaping import visible

        self._bars.stop()
        self._console.print(
            f"Stopped and saved in {visible(str(job.workshop))}. Go on with the same command and --resume.",
            markup=False,
        )

    def finished(self, job: Job[Any], outcome: Outcome) -> None:
        """Write the result to stdout."""
        from colde_cli.views.escaping import visible

        self._bars.stop()
        if self._quiet:
            return
        if outcome.progress.epoch and not outcome.progress.best_epoch:
            self._console.print(
                "No epoch was better than the model before training, which was kept.", style="yellow"
            )
        if outcome.served and outcome.served.field_auc < outcome.trained.field_auc:
            self._console.print(
                "On these pairs the score of all parts is worse than that of the vectors alone. If the pairs are few,"
                " this may be chance; --no-combine serves the vectors alone.",
                style="yellow",
            )
        kept = outcome.served or outcome.trained
        others = [("its vectors alone", outcome.trained)] if outcome.served else []
        if outcome.progress.epoch:
            others.append(("untrained" if job.init is None else "before", outcome.untrained))
        areas = ", ".join(f"{name} {metrics.field_auc:.4f}" for name, metrics in others)
        best = ", ".join(f"{metrics.f1:.4f}" for _, metrics in others)
        epoch = f", best epoch {outcome.progress.best_epoch}" if outcome.progress.epoch else ""
        sys.stdout.write(
            f"{visible(str(job.output))}: validation AUC {kept.field_auc:.4f}{areas and f' ({areas})'}, "
            f"F1 {kept.f1:.4f}{best and f' ({best})'}, threshold {kept.threshold:.4f}, "
            f"{kept.pairs:,} pairs{epoch}\n"
        )


def _seconds(text: str) -> float:
    return parse_duration(text, "--max-time")


def _shard(text: str) -> int:
    return parse_size(text, "--max-shard-size")


@with_recipe_options
def train(
    context: typer.Context,
    data: Annotated[
        list[Path],
        typer.Argument(
            metavar="DATA...",
            help="JSON Lines, plain or .gz: one document per line; or a file of --prepare.",
            show_default=False,
        ),
    ],
    output: Annotated[
        Path | None,
        option(
            *("--output", "-o"),
            panel=_RUN,
            metavar="FOLDER",
            help="Model folder to write, e.g. models/mine.",
            show_default=False,
        ),
    ] = None,
    prepare: Annotated[
        Path | None,
        option(
            "--prepare",
            panel=_RUN,
            metavar="FILE",
            help="Train nothing; write the data as tokens to one .npz file, to train from here or elsewhere.",
            show_default=False,
        ),
    ] = None,
    pairs: Annotated[
        Path | None,
        option(
            "--pairs", panel=_DATA, metavar="FILE", help="Judged pairs to train on, beside labels and links."
        ),
    ] = None,
    validation: Annotated[
        str,
        option(
            "--validation",
            panel=_DATA,
            metavar="FILE|SHARE",
            help="Judged pairs to validate on, or the share of the documents to hold back; neither is trained on.",
        ),
    ] = "0.1",
    system: Annotated[
        SystemName,
        option(
            "--system",
            panel=MODEL,
            show_choices=False,
            metavar="NAME",
            help=f"What to train: colde, or for comparison {OTHER_SYSTEMS} (docs/systems.md).",
        ),
    ] = SystemName.COLDE,
    recipe: Annotated[
        BaseName,
        option(
            "--recipe",
            panel=MODEL,
            help="Defaults of CoLDE's options. paper: what the CoLDE paper states, BERT trained end to end.",
        ),
    ] = BaseName.DEFAULT,
    backbone: Annotated[
        str,
        option(
            "--backbone",
            panel=MODEL,
            metavar="NAME|FOLDER",
            help="BERT to start from: a folder, a colde model, or a name on the Hugging Face hub.",
        ),
    ] = DEFAULT_BACKBONE,
    init: Annotated[
        str | None,
        option(
            "--init",
            panel=MODEL,
            metavar="NAME|FOLDER",
            help="Continue from this CoLDE model, its head included; with --epochs 0, only export and fit it anew.",
            show_default=False,
        ),
    ] = None,
    device: Annotated[
        str,
        option(
            "--device",
            panel=_RUN,
            metavar="auto|cpu|cuda[:N]",
            help="Where to train; with accelerate launch each process takes a GPU of its own.",
        ),
    ] = "auto",
    checkpoint_every: Annotated[
        int,
        option(
            "--checkpoint-every",
            panel=_RUN,
            min=0,
            help="Batches between checkpoints; 0: after each epoch only.",
        ),
    ] = 0,
    max_time: Annotated[
        float | None,
        option(
            "--max-time",
            panel=_RUN,
            metavar="TIME",
            parser=_seconds,
            help="Stop and save after so long, e.g. 90s, 8m or 2h; the status is then 124.",
            show_default="no limit",
        ),
    ] = None,
    resume: Annotated[
        bool, option("--resume", panel=_RUN, help="Go on with the run that was stopped.")
    ] = False,
    overwrite: Annotated[
        bool, option("--overwrite", panel=_RUN, help="Replace the model folder, or an unfinished run.")
    ] = False,
    max_shard_size: Annotated[
        int | None,
        option(
            "--max-shard-size",
            panel=_RUN,
            metavar="SIZE",
            parser=_shard,
            help="Write the weights in files of at most this size, e.g. 20MB, with an index.",
            show_default="one file",
        ),
    ] = None,
    card_note: Annotated[
        str,
        option(
            "--card-note", panel=_RUN, metavar="TEXT", help="Text for the model's card, e.g. its licence."
        ),
    ] = "",
    quiet: Annotated[
        bool, option("--quiet", "-q", panel=_RUN, help="No progress, no result on stdout.")
    ] = False,
    debug: Annotated[
        bool,
        option("--debug", panel=_RUN, callback=keep_for_main, help="Show the traceback of an error."),
    ] = False,
    **options: Any,  # noqa: ANN401 - those of the recipes, by name
) -> None:
    """Train a model on documents of your own.

    Documents belong together if they share a label or one names the other as related (docs/training-data.md).
    The run ends with a model folder for `--model`, its card written and its threshold fitted. Ctrl-C saves
    the run; --resume goes on exactly where it stopped.
    """
    require_extra("train", "colde train")
    start = _open_start(init, _was_given(context, "backbone"))
    made = make_recipe(context, system.value, recipe, start.config if start else None)
    if (output is None) == (prepare is None):
        raise OptionError("Name either the model to write, with --output, or a file of data, with --prepare.")
    from colde_cli.learning.run import Job

    job = Job(
        data=tuple(data),
        output=output or Path(),
        recipe=made,
        backbone=str(start.path) if start else backbone,
        init=start.path if start else None,
        pairs=pairs,
        validation=_validation(validation),
        device=device,
        resume=resume,
        overwrite=overwrite,
        checkpoint_every=checkpoint_every,
        shard_bytes=max_shard_size,
        command=shlex.join(["colde", *sys.argv[1:]]),
        note=card_note,
    )
    if prepare is not None:
        _prepare(job, prepare, quiet)
    else:
        raise typer.Exit(_run(job, quiet, max_time))


def _open_start(init: str | None, backbone_given: bool) -> ModelFolder | None:
    """Open the model to continue from, which brings its own backbone."""
    if init is None:
        return None
    if backbone_given:
        raise OptionError("--init brings its own backbone; leave out --backbone.")
    from colde_cli.encoder.layout import open_folder
    from colde_cli.settings import resolve_model

    return open_folder(resolve_model(init))


def _validation(text: str) -> Path | float:
    """Parse --validation: a share above 0 and up to a half, or a file of pairs."""
    try:
        share = float(text)
    except ValueError:
        return Path(text)
    if not 0 < share <= 0.5:
        raise OptionError(f"--validation {text} is not a share above 0 and up to 0.5, nor a file of pairs.")
    return share


def _prepare(job: Job[Any], path: Path, quiet: bool) -> None:
    """Write the data of a job to one file, and say what it holds."""
    from colde_cli.learning.backbone import load_backbone
    from colde_cli.learning.run import prepare_data
    from colde_cli.views.escaping import visible

    if not isinstance(job.recipe, Recipe):
        raise OptionError("--prepare writes data for --system colde; the other systems read the texts.")
    validation = job.validation if isinstance(job.validation, Path) else None
    refuse_inputs(path, (*job.data, job.pairs, validation), "--prepare")
    with Display(quiet) as display:
        task = prepare_data(job, load_backbone(job.backbone), path, display)
    if not quiet:
        sys.stdout.write(
            f"{visible(str(path))}: {len(task.data.documents):,} documents, "
            f"{len(task.split.pairs):,} validation pairs, {path.stat().st_size / 1e6:.1f} MB\n"
        )


def _run(job: Job[Any], quiet: bool, max_time: float | None) -> int:
    """Train, show how it goes, and return the exit status."""
    from colde_cli.learning.loop import Interruption, Stopped
    from colde_cli.learning.processes import join

    train_model: Callable[..., Outcome]
    if isinstance(job.recipe, Recipe):
        from colde_cli.learning.run import train_model
    else:
        from colde_cli.learning.towers.run import train_tower as train_model
    processes = join(job.device)
    with Display(quiet or not processes.main) as display, Interruption(max_time) as interruption:
        try:
            outcome = train_model(job, display, interruption.asked, processes)
        except Stopped:
            display.stopped(job)
            return interruption.status
        finally:
            processes.leave()
        display.finished(job, outcome)
    return 0
