"""The options of `colde train`: what they are called, in which panel, and what they say of themselves.

Those of CoLDE alone stand in panels that say so; `train_systems` refuses them where another system is trained.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from colde_cli.errors import OptionError

if TYPE_CHECKING:
    from colde_cli.learning.loop import Outcome
    from colde_cli.learning.towers.trainer import TowerRecipe

_DATA, _MODEL, _LOOP, _RUN = "Data", "Model", "Training", "Run"
_COLDE, _OBJECTIVE, _TOWER = "CoLDE only: network", "CoLDE only: objective", "Other systems only"


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


_OTHERS = ", ".join(name.value for name in SystemName if name is not SystemName.COLDE)


class AblationName(StrEnum):
    """Parts that can be left out, as in the paper's table."""

    NO_AUG = "no-aug"
    NO_LSTM = "no-lstm"
    NO_CL = "no-cl"


def _option(*names: str, panel: str, help: str, **more: Any) -> Any:  # noqa: ANN401
    """An option, which the environment may give as COLDE_<OPTION> as well."""
    variable = "COLDE_" + names[0].lstrip("-").replace("-", "_").upper()
    return typer.Option(*names, rich_help_panel=panel, help=help, envvar=variable, show_envvar=False, **more)


Data = Annotated[
    list[Path],
    typer.Argument(
        metavar="DATA...", help="JSON Lines, plain or .gz: one document per line.", show_default=False
    ),
]
Output = Annotated[
    Path,
    _option("--output", "-o", panel=_RUN, metavar="FOLDER", help="Model folder to write, e.g. models/mine."),
]
Pairs = Annotated[
    Path | None,
    _option(
        "--pairs", panel=_DATA, metavar="FILE", help="Judged pairs to train on, beside labels and links."
    ),
]
Validation = Annotated[
    str,
    _option(
        "--validation",
        panel=_DATA,
        metavar="FILE|SHARE",
        help="Judged pairs, whose documents then do not train; or the share of the documents to hold back.",
    ),
]
System = Annotated[
    SystemName,
    _option(
        "--system",
        panel=_MODEL,
        show_choices=False,
        metavar="NAME",
        help=f"What to train: colde, or for comparison {_OTHERS} (docs/systems.md).",
    ),
]
Backbone = Annotated[
    str,
    _option(
        "--backbone",
        panel=_MODEL,
        metavar="NAME|FOLDER",
        help="BERT to start from: a folder, a colde model, or a name on the Hugging Face hub.",
    ),
]
FreezeBackbone = Annotated[
    bool,
    _option(
        "--freeze-backbone",
        panel=_COLDE,
        help="Train the head only: minutes on a CPU. The place to start.",
    ),
]
TrainableLayers = Annotated[
    int | None,
    _option(
        "--trainable-layers",
        panel=_MODEL,
        min=1,
        help="Train only the last layers of the backbone.  [default: all]",
    ),
]
ChunkPosition = Annotated[
    Literal["input", "post"],
    _option(
        "--chunk-position",
        panel=_COLDE,
        help="Add section and chunk embeddings before BERT, as the paper does, or after it (cacheable).",
    ),
]
ChunkPool = Annotated[
    Literal["mean", "cls", "pooler"],
    _option("--chunk-pool", panel=_COLDE, help="What represents a chunk."),
]
Ablation = Annotated[
    list[AblationName] | None,
    _option("--ablation", panel=_COLDE, help="Leave a part out, as in the paper's table; may be repeated."),
]
Heads = Annotated[int, _option("--heads", panel=_COLDE, min=1, help="Heads of the chunk-wise attention.")]
Projection = Annotated[int, _option("--projection", panel=_COLDE, min=2, help="Size of a document vector.")]
Residual = Annotated[
    Literal["none", "mean"],
    _option(
        "--residual",
        panel=_COLDE,
        help="mean: the mean of the chunk vectors has a share in the score. none: the paper.",
    ),
]
ResidualShare = Annotated[
    float,
    _option(
        "--residual-share",
        panel=_COLDE,
        min=0.01,
        max=1,
        help="Weight of CoLDE's own cosine in the score, beside the mean's.",
    ),
]
Dropout = Annotated[
    float, _option("--dropout", panel=_COLDE, min=0, max=0.9, help="Of attention output and projection.")
]
Combine = Annotated[
    bool,
    _option(
        "--combine/--no-combine",
        panel=_COLDE,
        help="Let chunks and rare words have a share in the score, fitted to the validation pairs; "
        "without, it is the cosine of the paper.",
    ),
]
Loss = Annotated[
    Literal["supcon", "sincere", "cosine"],
    _option("--loss", panel=_OBJECTIVE, help="supcon: the paper. sincere: without the pull among positives."),
]
Temperature = Annotated[
    float, _option("--temperature", panel=_OBJECTIVE, min=0.01, max=10, help="τ of the contrastive loss.")
]
Sections = Annotated[
    int,
    _option("--sections", panel=_OBJECTIVE, min=1, max=16, help="Parts into which a document is cut."),
]
Window = Annotated[
    int,
    _option("--window", panel=_OBJECTIVE, min=0, help="Most chunks of a part shown at once; 0 for all."),
]
Elongation = Annotated[
    Literal["none", "loss", "view"],
    _option(
        "--elongation",
        panel=_OBJECTIVE,
        help="LA(SER)³ against the pull of length: a loss of its own, or further views.",
    ),
]
ElongationWeight = Annotated[
    float, _option("--elongation-weight", panel=_OBJECTIVE, min=0, help="λ of --elongation loss.")
]
Epochs = Annotated[
    int | None,
    _option(
        "--epochs", panel=_LOOP, min=0, help="Passes over the data at most.  [default: 25; other systems: 10]"
    ),
]
BatchSize = Annotated[
    int | None,
    _option(
        "--batch-size",
        panel=_LOOP,
        min=2,
        help="Documents in a batch; pairs for other systems.  [default: 50; other systems: 32]",
    ),
]
Batches = Annotated[
    Literal["mixed", "by-file"] | None,
    _option(
        "--batches",
        panel=_LOOP,
        help="by-file: negatives from the same DATA file, one field of knowledge; they are harder.  "
        "[default: mixed; other systems: by-file]",
    ),
]
Lr = Annotated[
    float | None,
    _option(
        "--lr",
        panel=_LOOP,
        help="Learning rate.  [default: 5e-05, with --freeze-backbone 0.001; other systems: 2e-05 with "
        "pretrained weights, 5e-05 for smith, else 0.001]",
    ),
]
WeightDecay = Annotated[float, _option("--weight-decay", panel=_LOOP, min=0, help="Of AdamW.")]
Patience = Annotated[
    int,
    _option(
        "--patience",
        panel=_LOOP,
        min=0,
        help="Epochs without a better validation until the end; 0: all.",
    ),
]
Precision = Annotated[
    Literal["fp32", "bf16"],
    _option("--precision", panel=_LOOP, help="Arithmetic of BERT while it is trained."),
]
MaxMemory = Annotated[
    str,
    _option("--max-memory", panel=_COLDE, metavar="SIZE", help="What BERT may take while it is trained."),
]
Seed = Annotated[int, _option("--seed", panel=_LOOP, min=0, help="Of everything random.")]
Device = Annotated[
    str,
    _option(
        "--device",
        panel=_RUN,
        metavar="auto|cpu|cuda[:N]",
        help="Where to train; with accelerate launch each process takes a GPU of its own.",
    ),
]
CheckpointEvery = Annotated[
    int,
    _option(
        "--checkpoint-every",
        panel=_RUN,
        min=0,
        help="Batches between checkpoints; 0: after each epoch only.",
    ),
]
Resume = Annotated[bool, _option("--resume", panel=_RUN, help="Go on with the run that was stopped.")]
Overwrite = Annotated[
    bool, _option("--overwrite", panel=_RUN, help="Replace the model folder, or an unfinished run.")
]
CardNote = Annotated[
    str,
    _option("--card-note", panel=_RUN, metavar="TEXT", help="For the model's card, e.g. its licence."),
]
Quiet = Annotated[
    bool,
    typer.Option(
        "--quiet",
        "-q",
        envvar="COLDE_QUIET",
        rich_help_panel=_RUN,
        help="No progress, no result on stdout.",
    ),
]
RowTokens = Annotated[
    int | None,
    _option(
        "--row-tokens",
        panel=_TOWER,
        min=3,
        help="Tokens of a row (of the text, where it is one row).  [default: the system's]",
    ),
]
MaxRows = Annotated[
    int | None,
    _option(
        "--max-rows",
        panel=_TOWER,
        min=1,
        help="Blocks or sentences that are read of a document.  [default: the system's]",
    ),
]
Network = Annotated[
    list[str] | None,
    _option(
        "--network",
        panel=_TOWER,
        metavar="NAME=VALUE",
        help="A size of the network, e.g. hidden=100; may be repeated (docs/systems.md lists them).",
    ),
]
Pretrain = Annotated[
    str,
    _option(
        "--pretrain",
        panel=_TOWER,
        metavar="OBJECTIVE",
        help="Learn from the documents without labels first: wp or wp+sp (smith), self-reference and others "
        "of LA(SER)³ (sbert, matchbert).",
    ),
]
PretrainEpochs = Annotated[
    int, _option("--pretrain-epochs", panel=_TOWER, min=1, help="Passes over them; --epochs 0 stops there.")
]
FixedScale = Annotated[
    bool,
    _option("--fixed-scale", panel=_TOWER, help="Keep α = 6 and β = 0 in the loss, as SMITH does."),
]


COLDE_ONLY = frozenset(
    "freeze_backbone chunk_position chunk_pool ablation heads projection residual residual_share dropout combine "
    "max_memory loss temperature sections window elongation elongation_weight".split()
)
TOWERS_ONLY = frozenset("row_tokens max_rows network pretrain pretrain_epochs fixed_scale".split())
_NO_BACKBONE = frozenset("backbone trainable_layers".split())
_NO_PRETRAINED = frozenset("trainable_layers".split())
_FIXED_ROWS = frozenset("max_rows".split())


def check_options(context: typer.Context, system: str) -> None:
    """Refuse options that were given and mean nothing to the system.

    Raises:
        OptionError: one was.
    """
    refused = TOWERS_ONLY if system == "colde" else COLDE_ONLY | _foreign(system)
    for name in context.params:
        source = context.get_parameter_source(name)
        if name in refused and source is not None and source.name in ("COMMANDLINE", "ENVIRONMENT"):
            option = "--" + name.replace("_", "-")
            raise OptionError(f"{option} means nothing to --system {system}; leave it out.")


def _foreign(system: str) -> frozenset[str]:
    """Options of towers that this one has no use for."""
    from colde_cli.learning.towers.registry import system_named

    found = system_named(system)
    without = frozenset() if found.uses_backbone else _NO_BACKBONE
    return (
        without
        | (frozenset() if found.pretrained else _NO_PRETRAINED)
        | (_FIXED_ROWS if found.packing in ("flat", "trigrams") else frozenset())
    )


def tower_recipe(system: str, sizes: list[str], given: dict[str, Any]) -> TowerRecipe:
    """The recipe of a tower.

    Raises:
        OptionError: it has no size of that name.
    """
    from colde_cli.learning.towers.registry import parse_sizes, system_named
    from colde_cli.learning.towers.trainer import TowerRecipe

    found = system_named(system)
    if given["pretrain"] not in ("none", *found.pretraining):
        listed = ", ".join(("none", *found.pretraining))
        raise OptionError(
            f"--pretrain {given['pretrain']} is not for --system {system}, which has: {listed}."
        )
    options = {"learning_rate": found.learning_rate, **given}
    return TowerRecipe(system=system, network=parse_sizes(found, sizes), **options)


def trainer_of(recipe: object) -> Callable[..., Outcome]:
    """What trains by this recipe."""
    from colde_cli.learning.recipe import Recipe

    if isinstance(recipe, Recipe):
        from colde_cli.learning.run import train_model

        return train_model
    from colde_cli.learning.towers.run import train_tower

    return train_tower
