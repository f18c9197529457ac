"""`colde train`: documents with labels or links to a model of one's own."""

from __future__ import annotations

import shlex
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

if TYPE_CHECKING:
    from colde_cli.learning.job import Job

_DATA, _MODEL, _HEAD, _OBJECTIVE, _LOOP, _RUN = (
    "Data",
    "Model",
    "Document head",
    "Objective",
    "Training",
    "Run",
)
_SIZE = "4GB"

System = Literal["colde", "smith", "sbert", "slong", "dssm", "arci", "han", "tfidf"]


class AblationName(StrEnum):
    """Parts that can be left out, as in the paper's table."""

    NO_AUG = "no-aug"
    NO_LSTM = "no-lstm"
    NO_CL = "no-cl"


def _option(*names: str, panel: str, help: str, **more: Any) -> Any:  # noqa: ANN401
    """An option, which the environment may give as COLDE_<OPTION> as well."""
    variable = "COLDE_" + names[0].lstrip("-").replace("-", "_").upper()
    return typer.Option(*names, rich_help_panel=panel, help=help, envvar=variable, show_envvar=False, **more)


def train(
    data: Annotated[
        list[Path],
        typer.Argument(
            metavar="DATA...", help="JSON Lines, plain or .gz: one document per line.", show_default=False
        ),
    ],
    output: Annotated[
        Path,
        _option(
            "--output", "-o", panel=_RUN, metavar="FOLDER", help="Model folder to write, e.g. models/mine."
        ),
    ],
    pairs: Annotated[
        Path | None,
        _option(
            "--pairs", panel=_DATA, metavar="FILE", help="Judged pairs to train on, beside labels and links."
        ),
    ] = None,
    validation: Annotated[
        str,
        _option(
            "--validation",
            panel=_DATA,
            metavar="FILE|SHARE",
            help="Judged pairs, whose documents then do not train; or the share of the documents to hold back.",
        ),
    ] = "0.1",
    system: Annotated[
        System,
        _option(
            "--system",
            panel=_MODEL,
            show_choices=False,
            metavar="NAME",
            help="What to train; only colde so far.",
        ),
    ] = "colde",
    backbone: Annotated[
        str,
        _option(
            "--backbone",
            panel=_MODEL,
            metavar="NAME|FOLDER",
            help="BERT to start from: a folder, a colde model, or a name on the Hugging Face hub.",
        ),
    ] = "sentence-transformers/all-MiniLM-L6-v2",
    freeze_backbone: Annotated[
        bool,
        _option(
            "--freeze-backbone",
            panel=_MODEL,
            help="Train the head only: minutes on a CPU. The place to start.",
        ),
    ] = False,
    trainable_layers: Annotated[
        int | None,
        _option(
            "--trainable-layers",
            panel=_MODEL,
            min=1,
            help="Train only the last layers of BERT.  [default: all]",
        ),
    ] = None,
    chunk_position: Annotated[
        Literal["input", "post"],
        _option(
            "--chunk-position",
            panel=_MODEL,
            help="Add section and chunk embeddings before BERT, as the paper does, or after it (cacheable).",
        ),
    ] = "post",
    chunk_pool: Annotated[
        Literal["mean", "cls", "pooler"],
        _option("--chunk-pool", panel=_MODEL, help="What represents a chunk."),
    ] = "mean",
    ablation: Annotated[
        list[AblationName] | None,
        _option(
            "--ablation", panel=_MODEL, help="Leave a part out, as in the paper's table; may be repeated."
        ),
    ] = None,
    heads: Annotated[
        int, _option("--heads", panel=_HEAD, min=1, help="Heads of the chunk-wise attention.")
    ] = 4,
    projection: Annotated[
        int, _option("--projection", panel=_HEAD, min=2, help="Size of a document vector.")
    ] = 256,
    residual: Annotated[
        Literal["none", "mean"],
        _option(
            "--residual",
            panel=_HEAD,
            help="mean: the mean of the chunk vectors has a share in the score. none: the paper.",
        ),
    ] = "mean",
    residual_share: Annotated[
        float,
        _option(
            "--residual-share",
            panel=_HEAD,
            min=0.01,
            max=1,
            help="Weight of CoLDE's own cosine in the score, beside the mean's.",
        ),
    ] = 0.3,
    dropout: Annotated[
        float, _option("--dropout", panel=_HEAD, min=0, max=0.9, help="Of attention output and projection.")
    ] = 0.1,
    loss: Annotated[
        Literal["supcon", "sincere", "cosine"],
        _option(
            "--loss", panel=_OBJECTIVE, help="supcon: the paper. sincere: without the pull among positives."
        ),
    ] = "supcon",
    temperature: Annotated[
        float, _option("--temperature", panel=_OBJECTIVE, min=0.01, max=10, help="τ of the contrastive loss.")
    ] = 0.5,
    sections: Annotated[
        int,
        _option("--sections", panel=_OBJECTIVE, min=1, max=16, help="Parts into which a document is cut."),
    ] = 2,
    window: Annotated[
        int,
        _option("--window", panel=_OBJECTIVE, min=0, help="Most chunks of a part shown at once; 0 for all."),
    ] = 8,
    elongation: Annotated[
        Literal["none", "loss", "view"],
        _option(
            "--elongation",
            panel=_OBJECTIVE,
            help="LA(SER)³ against the pull of length: a loss of its own, or further views.",
        ),
    ] = "none",
    elongation_weight: Annotated[
        float, _option("--elongation-weight", panel=_OBJECTIVE, min=0, help="λ of --elongation loss.")
    ] = 0.1,
    epochs: Annotated[
        int, _option("--epochs", panel=_LOOP, min=1, help="Passes over the data at most.")
    ] = 25,
    batch_size: Annotated[
        int, _option("--batch-size", panel=_LOOP, min=2, help="Documents in a batch.")
    ] = 50,
    batches: Annotated[
        Literal["mixed", "by-file"],
        _option(
            "--batches",
            panel=_LOOP,
            help="by-file: each batch from one DATA file, one field of knowledge; its negatives are harder.",
        ),
    ] = "mixed",
    lr: Annotated[
        float | None,
        _option(
            "--lr", panel=_LOOP, help="Learning rate.  [default: 5e-05, or 0.001 with --freeze-backbone]"
        ),
    ] = None,
    weight_decay: Annotated[float, _option("--weight-decay", panel=_LOOP, min=0, help="Of AdamW.")] = 0.01,
    patience: Annotated[
        int,
        _option(
            "--patience",
            panel=_LOOP,
            min=0,
            help="Epochs without a better validation until the end; 0: all.",
        ),
    ] = 5,
    precision: Annotated[
        Literal["fp32", "bf16"],
        _option("--precision", panel=_LOOP, help="Arithmetic of BERT while it is trained."),
    ] = "fp32",
    max_memory: Annotated[
        str,
        _option("--max-memory", panel=_LOOP, metavar="SIZE", help="What BERT may take while it is trained."),
    ] = _SIZE,
    seed: Annotated[int, _option("--seed", panel=_LOOP, min=0, help="Of everything random.")] = 0,
    device: Annotated[
        str,
        _option(
            "--device",
            panel=_RUN,
            metavar="auto|cpu|cuda[:N]",
            help="Where to train; with accelerate launch each process takes a GPU of its own.",
        ),
    ] = "auto",
    checkpoint_every: Annotated[
        int,
        _option(
            "--checkpoint-every",
            panel=_RUN,
            min=0,
            help="Batches between checkpoints; 0: after each epoch only.",
        ),
    ] = 0,
    resume: Annotated[
        bool, _option("--resume", panel=_RUN, help="Go on with the run that was stopped.")
    ] = False,
    overwrite: Annotated[
        bool, _option("--overwrite", panel=_RUN, help="Replace the model folder, or an unfinished run.")
    ] = False,
    card_note: Annotated[
        str,
        _option("--card-note", panel=_RUN, metavar="TEXT", help="For the model's card, e.g. its licence."),
    ] = "",
    quiet: Annotated[
        bool,
        typer.Option(
            "--quiet",
            "-q",
            envvar="COLDE_QUIET",
            rich_help_panel=_RUN,
            help="No progress, no result on stdout.",
        ),
    ] = False,
) -> None:
    """Train a model on documents of your own.

    Documents belong together if they share a label or one names the other as related (docs/training-data.md).
    The run ends with a model folder for `--model`, its card written and its threshold fitted. Ctrl-C saves
    the run; --resume goes on exactly where it stopped.
    """
    from colde_cli.errors import NotAvailableError
    from colde_cli.learning.extra import require_train_extra

    if system != "colde":
        raise NotAvailableError(f"--system {system} is not in this version; train colde.")
    require_train_extra("colde train")
    from colde_cli.learning.job import Job
    from colde_cli.learning.recipe import FROZEN_LEARNING_RATE, LEARNING_RATE, Recipe

    recipe = Recipe(
        freeze_backbone=freeze_backbone,
        trainable_layers=trainable_layers,
        epochs=epochs,
        batch_size=batch_size,
        batches=batches,
        learning_rate=lr or (FROZEN_LEARNING_RATE if freeze_backbone else LEARNING_RATE),
        weight_decay=weight_decay,
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
        elongation=elongation,
        elongation_weight=elongation_weight,
        precision=precision,
        max_memory=_bytes(max_memory),
        seed=seed,
        patience=patience,
    )
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
    from colde_cli.commands.train_display import Display
    from colde_cli.learning.interruption import Interruption
    from colde_cli.learning.loop import Stopped
    from colde_cli.learning.processes import join
    from colde_cli.learning.run import train_model

    processes = join(job.device)
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
