"""What `colde train` shows: bars on a terminal, a line per epoch elsewhere, the result on stdout."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from colde_cli.commands import train_options as options
from colde_cli.commands.train_options import check_options

if TYPE_CHECKING:
    from colde_cli.learning.job import Job
    from colde_cli.learning.loop import Outcome


class Display:
    """Reports phases, batches and epochs to stderr; what the run came to goes to stdout."""

    def __init__(self, quiet: bool) -> None:
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
        """A new phase begins, of so many steps if known."""
        if self._task is not None:
            self._bars.remove_task(self._task)
        self._task = self._bars.add_task(text, total=total)
        if not self._console.is_terminal:
            self._console.print(f"{text} …" if total is None else f"{text} ({total:,}) …")

    def advance(self, count: int) -> None:
        """So many steps of the phase are done."""
        if self._task is not None:
            self._bars.advance(self._task, count)

    def started(self, steps: int, done: int) -> None:
        """Training begins."""
        self.phase("Training", steps)
        self.advance(done)

    def stepped(self, values: dict[str, float]) -> None:
        """A batch is done."""
        if self._task is not None:
            self._bars.update(self._task, description=f"Training, loss {values['loss']:.3f}")
        self.advance(1)

    def validated(self, values: dict[str, float]) -> None:
        """An epoch is done; epoch 0 is the untrained model."""
        name = f"epoch {values['epoch']:.0f}" if values["epoch"] else "untrained"
        loss = f"loss {values['loss']:.4f}, " if values["epoch"] else ""
        self._console.print(f"{name}: {loss}validation AUC {values['field_auc']:.4f}, F1 {values['f1']:.4f}")

    def stopped(self, job: Job[Any]) -> None:
        """The run was interrupted and is saved."""
        self._bars.stop()
        self._console.print(
            f"Stopped and saved in {job.workshop}. Go on with the same command and --resume.", markup=False
        )

    def finished(self, job: Job[Any], outcome: Outcome) -> None:
        """The model is written."""
        self._bars.stop()
        if self._quiet:
            return
        if not outcome.progress.best_epoch:
            self._console.print(
                "No epoch was better than the untrained model, which was kept.", style="yellow"
            )
        kept = outcome.served or outcome.trained
        others = [("its vectors alone", outcome.trained)] if outcome.served else []
        others.append(("untrained", outcome.untrained))
        areas = ", ".join(f"{name} {found.field_auc:.4f}" for name, found in others)
        best = ", ".join(f"{found.f1:.4f}" for _, found in others)
        sys.stdout.write(
            f"{job.output}: validation AUC {kept.field_auc:.4f} ({areas}), F1 {kept.f1:.4f} ({best}), "
            f"threshold {kept.threshold:.4f}, {kept.pairs:,} pairs, best epoch {outcome.progress.best_epoch}\n"
        )


_SIZE = "4GB"


def train(
    context: typer.Context,
    data: options.Data,
    output: options.Output,
    pairs: options.Pairs = None,
    validation: options.Validation = "0.1",
    system: options.System = options.SystemName.COLDE,
    backbone: options.Backbone = "sentence-transformers/all-MiniLM-L6-v2",
    trainable_layers: options.TrainableLayers = None,
    freeze_backbone: options.FreezeBackbone = False,
    chunk_position: options.ChunkPosition = "post",
    chunk_pool: options.ChunkPool = "mean",
    ablation: options.Ablation = None,
    heads: options.Heads = 4,
    projection: options.Projection = 256,
    residual: options.Residual = "mean",
    residual_share: options.ResidualShare = 0.3,
    dropout: options.Dropout = 0.1,
    combine: options.Combine = True,
    max_memory: options.MaxMemory = _SIZE,
    loss: options.Loss = "supcon",
    temperature: options.Temperature = 0.5,
    sections: options.Sections = 2,
    window: options.Window = 8,
    elongation: options.Elongation = "none",
    elongation_weight: options.ElongationWeight = 0.1,
    row_tokens: options.RowTokens = None,
    max_rows: options.MaxRows = None,
    network: options.Network = None,
    pretrain: options.Pretrain = "none",
    pretrain_epochs: options.PretrainEpochs = 1,
    fixed_scale: options.FixedScale = False,
    epochs: options.Epochs = None,
    batch_size: options.BatchSize = None,
    batches: options.Batches = None,
    lr: options.Lr = None,
    weight_decay: options.WeightDecay = 0.01,
    patience: options.Patience = 5,
    precision: options.Precision = "fp32",
    seed: options.Seed = 0,
    device: options.Device = "auto",
    checkpoint_every: options.CheckpointEvery = 0,
    resume: options.Resume = False,
    overwrite: options.Overwrite = False,
    card_note: options.CardNote = "",
    quiet: options.Quiet = False,
) -> None:
    """Train a model on documents of your own.

    Documents belong together if they share a label or one names the other as related (docs/training-data.md).
    The run ends with a model folder for `--model`, its card written and its threshold fitted. Ctrl-C saves
    the run; --resume goes on exactly where it stopped.
    """
    from colde_cli.commands.options import require_extra

    check_options(context, system.value)
    require_extra("train", "colde train")
    # What CoLDE and the others share; None leaves the recipe's own default.
    shared = {
        "trainable_layers": trainable_layers,
        "epochs": epochs,
        "batch_size": batch_size,
        "batches": batches,
        "learning_rate": lr,
        "weight_decay": weight_decay,
        "precision": precision,
        "seed": seed,
        "patience": patience,
    }
    given: dict[str, Any] = {name: value for name, value in shared.items() if value is not None}
    recipe: Any
    if system is options.SystemName.COLDE:
        from colde_cli.learning.recipe import FROZEN_LEARNING_RATE, LEARNING_RATE, Recipe

        given.setdefault("learning_rate", FROZEN_LEARNING_RATE if freeze_backbone else LEARNING_RATE)
        recipe = Recipe(
            freeze_backbone=freeze_backbone,
            temperature=temperature,
            loss=loss,
            ablations=tuple(sorted({name.value for name in ablation or ()})),
            sections=sections,
            window=window,
            chunk_position=chunk_position,
            chunk_pool=chunk_pool,
            heads=heads,
            projection=projection,
            residual=residual,
            residual_share=residual_share,
            dropout=dropout,
            combine=combine,
            elongation=elongation,
            elongation_weight=elongation_weight,
            max_memory=_bytes(max_memory),
            **given,
        )
    else:
        from colde_cli.commands.train_options import tower_recipe

        given |= {"row_tokens": row_tokens, "max_rows": max_rows, "fixed_scale": fixed_scale}
        given |= {"pretrain": pretrain, "pretrain_epochs": pretrain_epochs}
        recipe = tower_recipe(system.value, network or [], given)
    from colde_cli.learning.job import Job

    job = Job(
        tuple(data),
        output,
        recipe,
        backbone,
        pairs,
        _validation(validation),
        device,
        resume=resume,
        overwrite=overwrite,
        checkpoint_every=checkpoint_every,
        command=shlex.join(["colde", *sys.argv[1:]]),
        note=card_note,
    )
    raise typer.Exit(_run(job, quiet))


def _bytes(size: str) -> int:
    from colde_cli.settings import parse_size

    return parse_size(size, "--max-memory")


def _validation(text: str) -> Path | float:
    """A share between 0 and a half, or a file of pairs."""
    from colde_cli.errors import OptionError

    try:
        share = float(text)
    except ValueError:
        return Path(text)
    if not 0 < share <= 0.5:
        raise OptionError(f"--validation {text} is not a share above 0 and up to 0.5, nor a file of pairs.")
    return share


def _run(job: Job[Any], quiet: bool) -> int:
    """Train, show how it goes, and return the exit status."""
    pass  # MERGED
    from colde_cli.commands.train_options import trainer_of
    from colde_cli.learning.interruption import Interruption
    from colde_cli.learning.loop import Stopped
    from colde_cli.learning.processes import join

    processes = join(job.device)
    train_model = trainer_of(job.recipe)
    with Display(quiet or not processes.main) as display, Interruption() as interruption:
        try:
            outcome = train_model(job, display, display, interruption.asked, processes)
        except Stopped:
            display.stopped(job)
            return interruption.status
        finally:
            processes.leave()
        display.finished(job, outcome)
    return 0
