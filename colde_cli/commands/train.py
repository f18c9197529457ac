"""`colde train`: progress bars on a terminal, a line for each epoch elsewhere, the result on stdout."""

from __future__ import annotations

import os
import shlex
import sys
import time
from enum import StrEnum
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

import typer
from rich.console import Console

from colde_cli.commands import options
from colde_cli.commands.options import DEVICE_HELP, QUIET_HELP, option, require_extra
from colde_cli.errors import OptionError
from colde_cli.settings import parse_duration, parse_size, resolve_model

if TYPE_CHECKING:
    from rich.progress import TaskID

    from colde_cli.encoder.layout import ModelFolder
    from colde_cli.learning.loop import Outcome
    from colde_cli.learning.recipe import Recipe
    from colde_cli.learning.run import Job, Training

DATA, RUN, MODEL, TRAINING = "Data", "Run", "Model", "Training"


class SystemName(StrEnum):
    """What can be trained; `systems.base` says where each is."""

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


class Ablation(StrEnum):
    """The parts that can be left out: sections; attention and Bi-LSTM; contrastive loss and sections."""

    NO_AUG = "no-aug"
    NO_LSTM = "no-lstm"
    NO_CL = "no-cl"


OTHER_SYSTEMS = ", ".join(name.value for name in SystemName if name is not SystemName.COLDE)
_COLDE_ONLY = "recipe init freeze_backbone ablations chunk_tokens combine max_memory".split()
"""Parameters that mean nothing to the other systems."""


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

    def stopped(self, job: Job) -> None:
        """Say that the run is saved, and how to go on."""
        from colde_cli.views.escaping import visible

        self._bars.stop()
        self._console.print(
            f"Stopped and saved in {visible(str(job.workshop))}. Go on with the same command and --resume.",
            markup=False,
        )

    def finished(self, job: Job, outcome: Outcome) -> None:
        """Write the result to stdout."""
        from colde_cli.views.escaping import visible

        self._bars.stop()
        if self._quiet:
            return
        if outcome.progress.epoch and not outcome.progress.best_epoch:
            self._console.print("No epoch was better than the model before training, which was kept.", style="yellow")
        if job.recipe.system == SystemName.COLDE and job.recipe.combine and outcome.served is None:
            self._console.print(
                "On these pairs the score of all parts is worse than that of the vectors alone, which are served.",
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


def _bytes(text: str) -> int:
    return parse_size(text, "--max-memory")


def _setting(name: str, **more: Any) -> Any:  # noqa: ANN401
    """An option of earlier versions for a value of `--set`."""
    return option(f"--{name}", **{"hidden": True, "help": f"As --set {name.replace('-', '_')}.", **more})


def train(
    context: typer.Context,
    data: Annotated[
        list[Path],
        typer.Argument(
            metavar="DATA...",
            help="JSON Lines, plain or .gz: one document per line; or folders of labelled sets.",
            show_default=False,
        ),
    ],
    output: Annotated[
        Path, option("--output", "-o", panel=RUN, metavar="FOLDER", help="Model folder to write.", show_default=False)
    ],
    pairs: Annotated[
        Path | None,
        option("--pairs", panel=DATA, metavar="FILE", help="Judged pairs, as JSON Lines, beside labels and links."),
    ] = None,
    validation: Annotated[
        str,
        option(
            "--validation",
            panel=DATA,
            metavar="FILE|SHARE",
            help="Pairs for threshold and early stopping, or the share of documents to hold back for them.",
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
        str,
        option(
            "--recipe",
            panel=MODEL,
            metavar="NAME|FILE",
            help="CoLDE: other values as its paper states them (paper; its BERT-base needs --backbone), or as"
            " colde-minilm-l6 was trained (shipped); or a FILE of stages, whose data lie in DATA.",
        ),
    ] = "default",
    backbone: Annotated[
        str | None,
        option(
            "--backbone",
            panel=MODEL,
            metavar="NAME|FOLDER",
            help="BERT to start from: a folder, a colde model, or a name on the Hugging Face hub.",
            show_default="sentence-transformers/all-MiniLM-L6-v2",
        ),
    ] = None,
    init: Annotated[
        str | None,
        option(
            "--init",
            panel=MODEL,
            metavar="NAME|FOLDER",
            help="CoLDE model to continue from, head included; with --epochs 0, only export and fit it anew.",
            show_default=False,
        ),
    ] = None,
    freeze_backbone: Annotated[
        bool,
        option(
            "--freeze-backbone", panel=MODEL, help="CoLDE: train the head only; start here, it takes minutes on a CPU."
        ),
    ] = False,
    ablations: Annotated[
        list[Ablation] | None,
        option("--ablation", panel=MODEL, help="CoLDE: leave a part out, as in the paper's table; repeatable."),
    ] = None,
    settings: Annotated[
        list[str] | None,
        option(
            "--set",
            panel=MODEL,
            metavar="NAME=VALUE",
            help="Another value of the recipe or the network, such as chunk_tokens=128 (docs/systems.md); repeatable.",
        ),
    ] = None,
    epochs: Annotated[
        int | None,
        option(
            "--epochs", panel=TRAINING, min=0, help="Passes over the data at most.", show_default="25; other systems 10"
        ),
    ] = None,
    batch_size: Annotated[
        int | None,
        option(
            "--batch-size",
            panel=TRAINING,
            min=2,
            help="Documents in a batch; pairs for other systems.",
            show_default="50; other systems 32",
        ),
    ] = None,
    learning_rate: Annotated[
        float | None,
        option(
            "--lr",
            panel=TRAINING,
            min=0,
            help="Highest learning rate, after the warm-up.",
            show_default="5e-05, with --freeze-backbone 0.001; other systems: 2e-05 with pretrained weights, 5e-05 "
            "for smith, else 0.001",
        ),
    ] = None,
    device: Annotated[str, option("--device", panel=RUN, metavar="auto|cpu|cuda[:N]", help=DEVICE_HELP)] = "auto",
    max_time: Annotated[
        float | None,
        option(
            "--max-time",
            panel=RUN,
            metavar="TIME",
            parser=_seconds,
            help="Stop and save after 90s, 8m or 2h, with status 124.",
            show_default="no limit",
        ),
    ] = None,
    resume: Annotated[bool, option("--resume", panel=RUN, help="Go on with the run that was stopped.")] = False,
    overwrite: Annotated[
        bool, option("--overwrite", panel=RUN, help="Replace the model folder, or an unfinished run.")
    ] = False,
    card_note: Annotated[
        str, option("--card-note", panel=RUN, metavar="TEXT", help="Text for the model's card, such as its licence.")
    ] = "",
    # Options of earlier versions for values of --set.
    trainable_layers: Annotated[int | None, _setting("trainable-layers", min=1)] = None,
    batches: Annotated[Literal["mixed", "by-file"] | None, _setting("batches")] = None,
    patience: Annotated[int | None, _setting("patience", min=0)] = None,
    chunk_tokens: Annotated[int | None, _setting("chunk-tokens", min=16, max=512)] = None,
    combine: Annotated[bool | None, _setting("combine/--no-combine")] = None,
    pretrain: Annotated[str | None, _setting("pretrain")] = None,
    # COLDE_PRECISION chooses the graph to run.
    precision: Annotated[Literal["fp32", "bf16"] | None, _setting("precision", envvar="COLDE_TRAIN_PRECISION")] = None,
    max_memory: Annotated[int | None, _setting("max-memory", parser=_bytes)] = None,
    seed: Annotated[int | None, _setting("seed", min=0)] = None,
    quiet: Annotated[bool, option("--quiet", "-q", panel=RUN, help=QUIET_HELP)] = False,
    debug: Annotated[
        bool, option("--debug", panel=RUN, callback=options.keep_for_main, help="Show the traceback of an error.")
    ] = False,
) -> None:
    """Train a model on documents of your own.

    Documents belong together if they share a label or one names the other as related (docs/training-data.md).
    The run ends with a model folder for `--model`, its card written and its threshold fitted. Ctrl-C saves
    the run; --resume goes on exactly where it stopped.
    """
    require_extra("train", "colde train")
    if recipe not in ("default", "paper", "shipped"):
        _train_stages(context, Path(recipe), data, output, max_time)
        return
    start = _open_start(init, backbone)
    values = {
        "freeze_backbone": freeze_backbone or None,
        "ablations": tuple(sorted({item.value for item in ablations})) if ablations else None,
        **{"trainable_layers": trainable_layers, "chunk_tokens": chunk_tokens, "combine": combine},
        **{"epochs": epochs, "batch_size": batch_size, "batches": batches, "learning_rate": learning_rate},
        **{"patience": patience, "precision": precision, "max_memory": max_memory, "seed": seed},
        "pretrain": pretrain,
    }
    given = {name: value for name, value in values.items() if value is not None}
    from colde_cli.learning.recipe import DEFAULT_BACKBONE, PAPER_BACKBONE
    from colde_cli.learning.run import Job

    job = Job(
        data=tuple(data),
        output=output,
        recipe=_make_recipe(system.value, given, settings or [], recipe, start, backbone),
        backbone=str(start.path) if start else backbone or DEFAULT_BACKBONE,
        init=start.path if start else None,
        pairs=pairs,
        validation=_validation(validation),
        device=device,
        resume=resume,
        overwrite=overwrite,
        command=shlex.join(["colde", *(context.meta.get(_STAGE) or sys.argv[1:])]),
        note=card_note,
    )
    if recipe == "paper" and job.backbone == DEFAULT_BACKBONE and not quiet:
        # BERT-base has five times the weights of MiniLM and has to be fetched: nobody gets it unasked.
        paper = f"The paper trains BERT-base (--backbone {PAPER_BACKBONE})"
        text = f"{paper}; this run starts from {DEFAULT_BACKBONE}."
        Console(stderr=True, highlight=False).print(text, soft_wrap=True)
    raise typer.Exit(_run(job, quiet, max_time))


_STAGE = "colde.stage"
"""Where the context keeps the words of the stage that is trained, for the card."""
_OF_A_RUN = frozenset("data output recipe device max_time resume overwrite quiet debug".split())


def _train_stages(context: typer.Context, file: Path, data: list[Path], output: Path, max_time: float | None) -> None:
    """Train the stages of a recipe one after the other, without those that are done."""
    from colde_cli.commands.recipe_file import read_stages
    from colde_cli.learning.loop import Checkpoint
    from colde_cli.learning.run import workshop

    if len(data) != 1:
        raise OptionError(f"--recipe {file} needs one folder, with its data.")
    if "LOCAL_RANK" in os.environ:
        raise OptionError(f"--recipe {file} runs in one process; give accelerate launch its stages one by one.")
    for parameter in context.command.params:
        source = context.get_parameter_source(parameter.name or "")
        if source is not None and source.name == "COMMANDLINE" and parameter.name not in _OF_A_RUN:
            raise OptionError(f"{parameter.opts[0]} stands in the stages of a recipe; leave it out, or change {file}.")
    given, until = context.params, time.monotonic() + (max_time or 0.0)
    stages = read_stages(file, data[0], output, context)
    for number, stage in enumerate(stages, 1):
        unfinished = Checkpoint.file(workshop(stage.folder)).is_file()
        wanted = unfinished or (given["overwrite"] and not given["resume"])
        done = stage.folder != output and not wanted and stage.is_done()
        if not given["quiet"]:
            state = "is done" if done else "begins"
            said = f"Stage {number} of {len(stages)}, {stage.name}, {state}."
            Console(stderr=True, highlight=False).print(said, markup=False, soft_wrap=True)
        if done:
            continue
        words = [*stage.words, "--device", given["device"]]
        words += ["--max-time", f"{max(1.0, until - time.monotonic()):.1f}s"] if max_time else []
        words += [f"--{name}" for name in ("overwrite", "quiet") if given[name]]
        words += ["--resume"] if given["resume"] and unfinished else []
        try:
            with context.command.make_context("train", words, parent=context.parent) as call:
                call.meta[_STAGE] = ["train", *stage.words]
                context.command.invoke(call)
        except typer.Exit as ended:
            if ended.exit_code:
                raise


def _make_recipe(
    system: str,
    given: dict[str, Any],
    settings: list[str],
    base: str,
    start: ModelFolder | None,
    backbone: str | None,
) -> Recipe:
    """Make the recipe of a system from the values that were given."""
    from colde_cli.learning.recipe import Recipe, parse_settings

    shown = {"recipe": None if base == "default" else base, "init": start, "backbone": backbone}
    named = given | {name: value for name, value in shown.items() if value is not None}
    if system == SystemName.COLDE:
        _refuse(named, {"pretrain"}, system)
        return Recipe.of(given | parse_settings(settings, system, {}), base, start.config if start else None)
    _refuse(named, set(_COLDE_ONLY), system)
    from colde_cli.systems.base import system_class, system_recipe, unused_options

    _refuse(named, unused_options(system_class(system)), system)
    return system_recipe(system, given, settings)


def _refuse(named: dict[str, Any], unknown: set[str], system: str) -> None:
    """Refuse options, by name of the parameter, that mean nothing to a system."""
    for name in named:
        if name in unknown:
            spelt = "ablation" if name == "ablations" else name.replace("_", "-")
            raise OptionError(f"--{spelt} means nothing to --system {system}; leave it out.")


def _open_start(init: str | None, backbone: str | None) -> ModelFolder | None:
    """Open the model to continue from, which brings its own backbone."""
    if init is None:
        return None
    if backbone is not None:
        raise OptionError("--init brings its own backbone; leave out --backbone.")
    from colde_cli.encoder.layout import open_folder

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


def _training(job: Job) -> type[Training]:
    if job.recipe.system == SystemName.COLDE:
        from colde_cli.learning.colde_training import ColdeTraining

        return ColdeTraining
    from colde_cli.systems.training import SystemTraining

    return SystemTraining


def _run(job: Job, quiet: bool, max_time: float | None) -> int:
    """Train, show how it goes, and return the exit status."""
    from colde_cli.learning.journal import Interruption
    from colde_cli.learning.loop import Stopped
    from colde_cli.learning.processes import join
    from colde_cli.learning.run import train_model

    processes = join(job.device)
    with Display(quiet or not processes.main) as display, Interruption(max_time) as interruption:
        try:
            outcome = train_model(_training(job)(job, display, processes), interruption.asked)
        except Stopped:
            display.stopped(job)
            return interruption.status
        finally:
            processes.leave()
        display.finished(job, outcome)
    return 0
