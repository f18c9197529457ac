"""The options of training, each stated once: name, type, default, bounds, panel and help.

`colde train` makes its command line from the fields of these classes, `learning` trains by them, and a model's card
lists them. A system refuses the options whose fields its recipe lacks.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from colde_cli.errors import OptionError
from colde_cli.settings import parse_size

if TYPE_CHECKING:
    from colde_cli.encoder.layout import ModelConfig

PANELS = (MODEL, NETWORK, OBJECTIVE, TOWER, TRAINING) = (
    *("Model", "CoLDE only: network", "CoLDE only: objective"),
    *("Other systems only", "Training"),
)
"""The panels of `colde train --help` that hold these options, in their order."""

DEFAULT_BACKBONE = "sentence-transformers/all-MiniLM-L6-v2"

LEARNING_RATE = 5e-5
"""The paper's learning rate, for a backbone that is trained."""
FROZEN_LEARNING_RATE = 1e-3
"""For a new head on frozen vectors: nothing pretrained can be spoilt."""
TOWER_LEARNING_RATE = 1e-3
"""For networks that start from random weights."""

Elongation = Literal["none", "loss", "view"]


class BaseName(StrEnum):
    """The recipes to start from."""

    DEFAULT = "default"
    PAPER = "paper"


class Ablation(StrEnum):
    """The parts that can be left out: sections; attention and Bi-LSTM; contrastive loss and sections."""

    NO_AUG = "no-aug"
    NO_LSTM = "no-lstm"
    NO_CL = "no-cl"


@dataclass(frozen=True, slots=True)
class GivenAs:
    """The type of an option on the command line, where it is not that of the field."""

    kind: Any


def option_name(argument: str) -> str:
    """What the command line calls an argument: `min_size` is `--min-size`."""
    return "--" + argument.replace("_", "-")


def option(*names: str, help: str, panel: str | None = None, **settings: Any) -> Any:  # noqa: ANN401
    """Declare an option that can also be set in the environment: `--skip-sections` as COLDE_SKIP_SECTIONS.

    Args:
        names: `--name`, then short forms.
        help: one or two sentences.
        panel: group of the option in the help.
        settings: further arguments of `typer.Option`.
    """
    variable = "COLDE_" + names[0].lstrip("-").partition("/")[0].replace("-", "_").upper()
    shared = {"help": help, "rich_help_panel": panel, "envvar": variable, "show_envvar": False}
    return typer.Option(*names, **(shared | settings))


def _bytes(text: str) -> int:
    return parse_size(text, "--max-memory")


# The options that all systems share; some of their defaults differ.
Epochs = Annotated[int, option("--epochs", panel=TRAINING, min=0, help="Passes over the data at most.")]
BatchSize = Annotated[
    int,
    option("--batch-size", panel=TRAINING, min=2, help="Documents in a batch; pairs for other systems."),
]
Batches = Annotated[
    Literal["mixed", "by-file"],
    option(
        "--batches",
        panel=TRAINING,
        help="by-file: take negatives from the same DATA file, one field of knowledge; they are harder.",
    ),
]
HeadLearningRate = Annotated[
    float | None,
    option(
        "--head-lr",
        panel=NETWORK,
        min=0,
        help="Highest learning rate of the part above BERT.",
        show_default="as --lr",
    ),
]
LearningRate = Annotated[
    float,
    option(
        "--lr",
        panel=TRAINING,
        help="Highest learning rate, after the warm-up.",
        show_default="5e-05, with --freeze-backbone 0.001; other systems: 2e-05 with pretrained weights, "
        "5e-05 for smith, else 0.001",
    ),
]
WeightDecay = Annotated[float, option("--weight-decay", panel=TRAINING, min=0, help="Weight decay of AdamW.")]
TrainableLayers = Annotated[
    int | None,
    option(
        "--trainable-layers",
        panel=MODEL,
        min=1,
        help="Train only the last layers of the backbone.",
        show_default="all",
    ),
]
Precision = Annotated[
    Literal["fp32", "bf16"],
    option(
        "--precision",
        panel=TRAINING,
        envvar="COLDE_TRAIN_PRECISION",  # COLDE_PRECISION chooses the graph to run
        help="Arithmetic of BERT while it is trained; its weights are updated in fp32 in any case.",
    ),
]
Seed = Annotated[int, option("--seed", panel=TRAINING, min=0, help="Seed of all random choices.")]
Patience = Annotated[
    int,
    option(
        "--patience",
        panel=TRAINING,
        min=0,
        help="Stop after so many epochs without a better validation; 0: never.",
    ),
]


class _Json:
    """What the recipes share."""

    __slots__ = ()

    def to_json(self) -> dict[str, Any]:
        """Every option by name."""
        return asdict(self)  # type: ignore[call-overload,no-any-return]

    def digest(self) -> str:
        """Hash of every option: runs of one digest, on the same data, train the same model."""
        import hashlib

        return hashlib.blake2b(json.dumps(self.to_json()).encode(), digest_size=16).hexdigest()


@dataclass(frozen=True, slots=True)
class Recipe(_Json):
    """How CoLDE is trained."""

    freeze_backbone: Annotated[
        bool,
        option(
            "--freeze-backbone",
            panel=NETWORK,
            help="Train the head only: minutes on a CPU. The place to start.",
        ),
    ] = False
    trainable_layers: TrainableLayers = None
    epochs: Epochs = 25
    batch_size: BatchSize = 50
    batches: Batches = "mixed"
    learning_rate: LearningRate = LEARNING_RATE
    head_learning_rate: HeadLearningRate = None
    weight_decay: WeightDecay = 0.01
    average: Annotated[
        float,
        option(
            "--average",
            panel=NETWORK,
            min=0,
            max=0.9999,
            metavar="DECAY",
            help="Validate and keep an exponential moving average of the weights, e.g. 0.99; 0: the last ones.",
        ),
    ] = 0.0
    keep_pretrained: Annotated[
        float,
        option(
            "--keep-pretrained",
            panel=NETWORK,
            min=0,
            max=1,
            metavar="SHARE",
            help="Share of the backbone's weights before training to mix into the kept ones (WiSE-FT).",
        ),
    ] = 0.0
    temperature: Annotated[
        float,
        option(
            "--temperature", panel=OBJECTIVE, min=0.01, max=10, help="Temperature τ of the contrastive loss."
        ),
    ] = 0.5
    loss: Annotated[
        Literal["supcon", "sincere", "cosine"],
        option(
            "--loss",
            panel=OBJECTIVE,
            help="supcon: the paper's. sincere: positives do not push one another away. cosine: no contrast.",
        ),
    ] = "supcon"
    ablations: Annotated[
        tuple[str, ...],
        option(
            "--ablation", panel=NETWORK, help="Leave a part out, as in the paper's table; may be repeated."
        ),
        GivenAs(list[Ablation]),
    ] = ()
    sections: Annotated[
        int,
        option("--sections", panel=OBJECTIVE, min=1, max=16, help="Cut each document into so many sections."),
    ] = 2
    window: Annotated[
        int,
        option("--window", panel=OBJECTIVE, min=0, help="Most chunks of a section shown at once; 0 for all."),
    ] = 8
    window_start: Annotated[
        Literal["random", "first"],
        option(
            "--window-start",
            panel=OBJECTIVE,
            help="Where the window of a section begins; first: the section is truncated.",
        ),
    ] = "random"
    windows: Annotated[
        int,
        option(
            "--windows",
            panel=OBJECTIVE,
            min=0,
            help="Show this many chunks of a document, spread over it, instead of --window; validate on twice as "
            "many; 0: do not.",
        ),
    ] = 0
    chunk_position: Annotated[
        Literal["input", "post"],
        option(
            "--chunk-position",
            panel=NETWORK,
            help="Add section and chunk embeddings before BERT, as the paper does, or after it (cacheable).",
        ),
    ] = "post"
    chunk_tokens: Annotated[
        int,
        option(
            "--chunk-tokens",
            panel=NETWORK,
            min=16,
            max=512,
            help="Tokens of a chunk, the model's two included; no more than the backbone reads.",
        ),
    ] = 512
    chunk_pool: Annotated[
        Literal["mean", "cls", "pooler"],
        option("--chunk-pool", panel=NETWORK, help="Which vector of BERT represents a chunk."),
    ] = "mean"
    heads: Annotated[
        int, option("--heads", panel=NETWORK, min=1, help="Heads of the chunk-wise attention.")
    ] = 4
    projection: Annotated[
        int, option("--projection", panel=NETWORK, min=2, help="Size of a document vector.")
    ] = 256
    residual: Annotated[
        Literal["none", "mean"],
        option(
            "--residual",
            panel=NETWORK,
            help="mean: the mean of the chunk vectors has a share in the cosine, see --residual-share. "
            "none: the paper's cosine.",
        ),
    ] = "mean"
    residual_share: Annotated[
        float,
        option(
            "--residual-share",
            panel=NETWORK,
            min=0.01,
            max=1,
            help="Weight of CoLDE's own cosine in the score, beside the mean's.",
        ),
    ] = 0.3
    dropout: Annotated[
        float,
        option(
            "--dropout",
            panel=NETWORK,
            min=0,
            max=0.9,
            help="Dropout of the attention's output and of the projection.",
        ),
    ] = 0.1
    backbone_dropout: Annotated[
        float | None,
        option(
            "--backbone-dropout",
            panel=NETWORK,
            min=0,
            max=0.9,
            help="Dropout within BERT while it is trained; 0 is faster.",
            show_default="the backbone's",
        ),
    ] = None
    combine: Annotated[
        bool,
        option(
            "--combine/--no-combine",
            panel=NETWORK,
            help="Give chunks and rare words a share in the score, fitted to the validation pairs; "
            "without it, the score is the cosine of document vectors (the paper's with --residual none only).",
        ),
    ] = True
    chunk_loss: Annotated[
        float,
        option(
            "--chunk-loss",
            panel=OBJECTIVE,
            min=0,
            max=1,
            metavar="SHARE",
            help="Share of the loss that trains the chunk score: SupCon on the soft maximum over chunks.",
        ),
    ] = 0.0
    mean_loss: Annotated[
        float,
        option(
            "--mean-loss",
            panel=OBJECTIVE,
            min=0,
            max=1,
            metavar="SHARE",
            help="Share of the loss that trains the mean of the chunk vectors: SupCon on the cosines of centred means.",
        ),
    ] = 0.0
    memory_bank: Annotated[
        int,
        option(
            "--memory-bank",
            panel=OBJECTIVE,
            min=0,
            metavar="BATCHES",
            help="In --chunk-loss and --mean-loss, also compare with the documents of this many earlier batches, "
            "by the vectors they had then; 0: none.",
        ),
    ] = 0
    hard_negatives: Annotated[
        int,
        option(
            "--hard-negatives",
            panel=OBJECTIVE,
            min=0,
            help="Show each document with one of the N unrelated ones of its file that are nearest by words; 0: none.",
        ),
    ] = 0
    elongation: Annotated[
        Elongation,
        option(
            "--elongation",
            panel=OBJECTIVE,
            help="Use LA(SER)³ against the effect of length: as a loss of its own, or as further views.",
        ),
    ] = "none"
    elongation_weight: Annotated[
        float, option("--elongation-weight", panel=OBJECTIVE, min=0, help="Weight λ of --elongation loss.")
    ] = 0.1
    precision: Precision = "fp32"
    max_memory: Annotated[
        int,
        option(
            "--max-memory",
            panel=NETWORK,
            metavar="SIZE",
            parser=_bytes,
            help="Memory that BERT may take while it is trained, with gradients and optimiser.",
            show_default="4GB",
        ),
    ] = 4 * 10**9
    seed: Seed = 0
    patience: Patience = 5

    @classmethod
    def of(
        cls,
        given: Mapping[str, Any],
        base: BaseName = BaseName.DEFAULT,
        start: ModelConfig | None = None,
    ) -> Recipe:
        """Make the recipe of the options that were given, the others as in `base`.

        The default learning rate depends on what is trained.

        Args:
            given: values by field.
            base: the recipe that gives the others.
            start: the model to continue from, whose network stays as it is.

        Raises:
            OptionError: an option asks for another network than that of `start`.
        """
        rate = FROZEN_LEARNING_RATE if given.get("freeze_backbone") else LEARNING_RATE
        values = {"learning_rate": rate, **(PAPER if base is BaseName.PAPER else {})}
        if start is None:
            return cls(**{**values, **given})
        network = _network_of(start)
        if "no-lstm" in given.get("ablations", ()):
            raise OptionError("--ablation no-lstm needs a new head; leave out --init.")
        for name in given.keys() & network.keys() - _FREE:
            if given[name] != network[name]:
                raise OptionError(
                    f"{option_name(name)} {given[name]} is not that of the model to continue from, "
                    f"{network[name]}; leave it out."
                )
        return cls(**{**values, **network, **given})

    def check(self) -> None:
        """Refuse options that contradict each other.

        Raises:
            OptionError: they do.
        """
        if self.freeze_backbone and self.chunk_position == "input":
            raise OptionError(
                "--freeze-backbone needs --chunk-position post: with input, chunk vectors depend on their place."
            )
        if self.freeze_backbone and self.trainable_layers is not None:
            raise OptionError("--freeze-backbone trains no layer of BERT; leave out --trainable-layers.")
        self._check_shares()
        if self.loss_used == "cosine" and self.elongation == "view":
            raise OptionError("--elongation view needs a contrastive loss; take --elongation loss.")

    def _check_shares(self) -> None:
        """Refuse what the losses of chunk vectors cannot be."""
        shares = {"--chunk-loss": self.chunk_loss, "--mean-loss": self.mean_loss}
        for name in (name for name, share in shares.items() if share):
            if self.freeze_backbone:
                raise OptionError(f"{name} trains BERT; leave out --freeze-backbone.")
            if self.loss_used == "cosine":
                raise OptionError(
                    f"{name} needs a contrastive loss; leave out --loss cosine or --ablation no-cl."
                )
        if sum(shares.values()) > 1:
            raise OptionError("--chunk-loss and --mean-loss are shares of one loss; give them 1 at most.")
        if self.memory_bank and not any(shares.values()):
            raise OptionError("--memory-bank needs --chunk-loss or --mean-loss, which compare with it.")
        if self.keep_pretrained and self.freeze_backbone:
            raise OptionError("--freeze-backbone keeps BERT as it is; leave out --keep-pretrained.")
        if 0 < self.windows < self.sections_used:
            raise OptionError(f"--windows {self.windows} is too few for {self.sections_used} sections.")

    @property
    def loss_used(self) -> Literal["supcon", "sincere", "cosine"]:
        """The loss, after the ablations."""
        return "cosine" if "no-cl" in self.ablations else self.loss

    @property
    def sections_used(self) -> int:
        """The number of sections, after the ablations: without views or contrast a document is not cut."""
        return 1 if {"no-aug", "no-cl"} & set(self.ablations) else self.sections


# What a network can change while its weights stay.
_FREE = frozenset({"chunk_tokens", "residual_share", "dropout"})


def _network_of(config: ModelConfig) -> dict[str, Any]:
    """The fields of a recipe that describe the network of a model."""
    fixed = ("sections", "chunk_position", "chunk_pool", "projection", "residual")
    return {name: getattr(config, name) for name in (*fixed, *_FREE)} | {"heads": config.attention_heads}


PAPER: dict[str, Any] = {
    "freeze_backbone": False,
    "chunk_position": "input",
    "chunk_tokens": 512,
    "residual": "none",
    "combine": False,
    "loss": "supcon",
    "temperature": 0.5,
    "learning_rate": 5e-5,
    "batch_size": 50,
    "epochs": 25,
    "sections": 2,
    "heads": 4,
    "projection": 256,
}
"""What the CoLDE paper states, as fields of a `Recipe`: BERT is trained, and the score is the cosine of z."""


@dataclass(frozen=True, slots=True)
class TowerRecipe(_Json):
    """How one of the other systems, a siamese tower, is trained."""

    system: str
    epochs: Epochs = 10
    batch_size: BatchSize = 32
    batches: Batches = "by-file"
    learning_rate: LearningRate = TOWER_LEARNING_RATE
    weight_decay: WeightDecay = 0.01
    trainable_layers: TrainableLayers = None
    row_tokens: Annotated[
        int | None,
        option(
            "--row-tokens",
            panel=TOWER,
            min=3,
            help="Tokens of a row (of the text, where it is one row).",
            show_default="the system's",
        ),
    ] = None
    max_rows: Annotated[
        int | None,
        option(
            "--max-rows",
            panel=TOWER,
            min=1,
            help="Read so many blocks or sentences of a document.",
            show_default="the system's",
        ),
    ] = None
    network: Annotated[
        tuple[tuple[str, Any], ...],
        option(
            "--network",
            panel=TOWER,
            metavar="NAME=VALUE",
            help="A size of the network, e.g. hidden=100; may be repeated (docs/systems.md lists them).",
        ),
        GivenAs(list[str]),
    ] = ()
    pretrain: Annotated[
        str,
        option(
            "--pretrain",
            panel=TOWER,
            metavar="OBJECTIVE",
            help="Learn from the documents without labels first: wp or wp+sp (smith), self-reference and "
            "others of LA(SER)³ (sbert, matchbert).",
        ),
    ] = "none"
    pretrain_epochs: Annotated[
        int,
        option(
            "--pretrain-epochs",
            panel=TOWER,
            min=1,
            help="Passes over the documents without labels; --epochs 0 stops after them.",
        ),
    ] = 1
    anchor: Annotated[
        Literal["first", "random"],
        option("--anchor", panel=TOWER, help="The sentence of a document that LA(SER)³ starts from."),
    ] = "first"
    repeat: Annotated[
        Literal["random", "twice"],
        option(
            "--repeat", panel=TOWER, help="How often LA(SER)³ repeats a text: by chance, or always twice."
        ),
    ] = "random"
    longest: Annotated[
        int,
        option(
            "--longest",
            panel=TOWER,
            min=3,
            help="L_max of LA(SER)³: most tokens of a repeated text, the model's two included.",
        ),
    ] = 256
    fixed_scale: Annotated[
        bool,
        option("--fixed-scale", panel=TOWER, help="Keep α = 6 and β = 0 in the loss, as SMITH does."),
    ] = False
    scale_rate: Annotated[
        float,
        option("--scale-lr", panel=TOWER, min=0, help="Highest learning rate of α and β in the loss."),
    ] = 0.01
    precision: Precision = "fp32"
    seed: Seed = 0
    patience: Patience = 5
