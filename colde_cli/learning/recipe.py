"""The recipe of a training: every choice that decides what is learnt, for all systems.

`colde train` has options for what is changed often; `--set NAME=VALUE` changes the rest.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import NoneType
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin, get_type_hints

from colde_cli.errors import OptionError
from colde_cli.settings import parse_size

if TYPE_CHECKING:
    from colde_cli.encoder.layout import ModelConfig

DEFAULT_BACKBONE = "sentence-transformers/all-MiniLM-L6-v2"
PAPER_BACKBONE = "google-bert/bert-base-uncased"

LEARNING_RATE = 5e-5
"""The paper's learning rate, for a backbone that is trained."""
FROZEN_LEARNING_RATE = 1e-3
"""For a new head on frozen vectors: nothing pretrained can be spoilt."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a system is trained. The last fields are for the other systems, which have no use for most of the others."""

    freeze_backbone: bool = False  # train the head only
    trainable_layers: int | None = None  # train the last layers of the backbone only; None for all
    epochs: int = 25
    batch_size: int = 50  # documents in a batch; chunks for a student, pairs for the other systems
    batches: Literal["mixed", "by-file"] = "mixed"  # "by-file" draws all documents of a batch from one file
    learning_rate: float = LEARNING_RATE  # the highest, after the warm-up
    head_learning_rate: float | None = None  # of the part above BERT; None for `learning_rate`
    weight_decay: float = 0.01
    average: float = 0.0  # decay of the moving average of the weights that is validated and kept; 0 keeps the last ones
    temperature: float = 0.5  # τ of the contrastive loss
    # "no-aug" (sections and their embeddings), "no-lstm" (attention and Bi-LSTM), "no-cl" (contrast and sections)
    ablations: tuple[str, ...] = ()
    sections: int = 2  # into how many a document is cut
    window: int = 8  # most chunks of a section that are shown, in a run; 0 for all
    window_start: Literal["random", "first"] = "random"  # where it begins; "first" truncates the section
    # show this many chunks of a document, spread over it, instead; validate on twice as many; 0: do not
    windows: int = 0
    # add section and chunk embeddings before BERT, as the paper does, after it (cacheable), or nowhere
    chunk_position: Literal["input", "post", "none"] = "post"
    chunk_tokens: int = 512
    chunk_pool: Literal["mean", "cls", "pooler"] = "mean"  # which vector of BERT represents a chunk
    heads: int = 4  # of the chunk-wise attention
    projection: int = 256  # size of a document vector
    # "mean" gives the mean of the chunk vectors a share in the cosine; "none" is the paper's cosine
    residual: Literal["none", "mean"] = "mean"
    residual_share: float = 0.3  # the other share, of CoLDE's own cosine
    dropout: float = 0.1  # of the attention's output and of the projection
    backbone_dropout: float | None = None  # within BERT; None for the backbone's
    combine: bool = True  # give chunks and rare words a share in the score, fitted to the validation pairs
    chunk_loss: float = 0.0  # share of the loss that is SupCon on the soft maximum over chunks
    mean_loss: float = 0.0  # share of the loss that is SupCon on the cosines of centred means
    memory_bank: int = 0  # these two losses also compare with documents of so many earlier batches
    hard_negatives: int = 0  # show with a document one of the N of its file that are nearest by words and unrelated
    # arithmetic of the network while it is trained; its weights are updated in fp32
    precision: Literal["fp32", "bf16"] = "fp32"
    max_memory: int = 4 * 10**9  # bytes that BERT may take, with gradients and optimiser
    seed: int = 0
    patience: int = 5  # stop after so many epochs without a better validation; 0: never
    student_layers: tuple[int, ...] = ()  # train a student of these layers of the model of --init, without labels
    system: str = "colde"  # "colde", or one of the other systems
    row_tokens: int | None = None  # tokens of a row; None for the system's
    max_rows: int | None = None  # rows that are read of a document; None for the system's
    network: tuple[tuple[str, Any], ...] = ()  # sizes of the network, by name
    pretrain: str = "none"  # what is learnt from the documents without labels first
    pretrain_epochs: int = 1  # passes over them

    @classmethod
    def of(cls, given: Mapping[str, Any], base: str = "default", start: ModelConfig | None = None) -> Recipe:
        """Make the recipe of CoLDE from the values that were given; the others are those of `base`.

        Args:
            given: values by field.
            base: a name of `BASES`.
            start: the model to continue from, whose network stays as it is.

        Raises:
            OptionError: values contradict each other, or ask for another network than that of `start`.
        """
        rate = FROZEN_LEARNING_RATE if given.get("freeze_backbone") else LEARNING_RATE
        network = {} if start is None else _network_of(start)
        if start is not None and "no-lstm" in given.get("ablations", ()):
            raise OptionError("--ablation no-lstm needs a new head; leave out --init.")
        for name in given.keys() & network.keys() - _FREE:
            if given[name] != network[name]:
                raise OptionError(
                    f"{name} {given[name]} is not that of the model to continue from, {network[name]}; leave it out."
                )
        recipe = cls(**{"learning_rate": rate, **BASES[base], **network, **given})
        recipe.check()
        return recipe

    def check(self) -> None:
        """Refuse values that contradict each other.

        Raises:
            OptionError: they do.
        """
        frozen, shares, taught = self.freeze_backbone, self.chunk_loss + self.mean_loss, self.student_layers
        wrong = {
            "--freeze-backbone needs chunk_position=post: with input, chunk vectors depend on their place.": frozen
            and self.chunk_position == "input",
            "--freeze-backbone trains no layer of BERT; leave out trainable_layers.": frozen
            and self.trainable_layers is not None,
            "chunk_loss and mean_loss train BERT; leave out --freeze-backbone.": frozen and shares,
            "chunk_loss and mean_loss need a contrastive loss; leave out --ablation no-cl.": shares
            and "no-cl" in self.ablations,
            "chunk_loss and mean_loss are shares of one loss; give them 1 at most.": shares > 1,
            "student_layers needs no labels; leave out --freeze-backbone, chunk_loss and mean_loss.": bool(taught)
            and (frozen or shares),
            "memory_bank needs chunk_loss or mean_loss, which compare with it.": self.memory_bank and not shares,
            f"windows={self.windows} is too few for {self.sections_used} sections.": 0
            < self.windows
            < self.sections_used,
        }
        for message, applies in wrong.items():
            if applies:
                raise OptionError(message)

    @property
    def chunk_position_used(self) -> Literal["input", "post", "none"]:
        """Where section and chunk embeddings are added; nowhere without views, as in the paper's -Aug."""
        return "none" if "no-aug" in self.ablations else self.chunk_position

    @property
    def sections_used(self) -> int:
        """The number of sections, after the ablations: without views or contrast a document is not cut."""
        return 1 if {"no-aug", "no-cl"} & set(self.ablations) else self.sections

    def to_json(self) -> dict[str, Any]:
        """Every value that means something to the system, by name."""
        return {name: getattr(self, name) for name in _options_of(self.system)}

    def digest(self) -> str:
        """Hash of every value: runs of one digest, on the same data, train the same model."""
        return hashlib.blake2b(json.dumps(self.to_json()).encode(), digest_size=16).hexdigest()


_COLDE = (
    "freeze_backbone trainable_layers epochs batch_size batches learning_rate head_learning_rate weight_decay average "
    "temperature ablations sections window window_start windows chunk_position chunk_tokens chunk_pool heads "
    "projection residual residual_share dropout backbone_dropout combine chunk_loss mean_loss memory_bank "
    "hard_negatives precision max_memory seed patience student_layers"
).split()
_OTHERS = (
    "system epochs batch_size batches learning_rate weight_decay trainable_layers row_tokens max_rows network pretrain "
    "pretrain_epochs precision seed patience"
).split()


def _options_of(system: str) -> list[str]:
    return _COLDE if system == "colde" else _OTHERS


BASES: dict[str, dict[str, Any]] = {
    "default": {},
    # What the CoLDE paper states, but for its BERT-base: BERT is trained, and the score is the cosine of z.
    "paper": {**{"chunk_position": "input", "residual": "none", "combine": False, "learning_rate": LEARNING_RATE}},
    # How colde-minilm-l6 was trained, on a CPU.
    "shipped": {
        **{"chunk_tokens": 128, "windows": 4, "batches": "by-file", "batch_size": 16, "hard_negatives": 8},
        **{"trainable_layers": 4, "learning_rate": 3e-5, "head_learning_rate": 3e-4, "temperature": 0.1},
        **{"chunk_loss": 0.4, "mean_loss": 0.4, "memory_bank": 300, "average": 0.99, "precision": "bf16"},
        **{"backbone_dropout": 0.0, "residual": "none"},
    },
}
"""The recipes to start from: what differs from the default."""

# What a network can change while its weights stay.
_FREE = frozenset({"chunk_tokens", "residual_share", "dropout"})


def _network_of(config: ModelConfig) -> dict[str, Any]:
    """The fields of a recipe that describe the network of a model."""
    fixed = ("sections", "chunk_position", "chunk_pool", "projection", "residual")
    return {name: getattr(config, name) for name in (*fixed, *_FREE)} | {"heads": config.attention_heads}


_BOUNDS: dict[str, tuple[float, float]] = {
    **{"average": (0, 0.9999), "temperature": (0.01, 10), "sections": (1, 16), "residual_share": (0.01, 1)},
    **{"dropout": (0, 0.9), "backbone_dropout": (0, 0.9), "chunk_loss": (0, 1), "mean_loss": (0, 1)},
    **{"heads": (1, 1024), "projection": (2, 1 << 16), "row_tokens": (3, 1 << 20), "max_rows": (1, 1 << 20)},
    **{"trainable_layers": (1, 1 << 10), "pretrain_epochs": (1, 10**6), "chunk_tokens": (16, 512)},
}
_OPTIONS = "freeze_backbone epochs batch_size learning_rate ablations system network".split()
"""The fields that have an option of their own, or none."""


def parse_settings(
    texts: Iterable[str], system: str, sizes: Mapping[str, Any], without: Iterable[str] = ()
) -> dict[str, Any]:
    """Parse `--set NAME=VALUE`: fields of the recipe, and the sizes of a system's network, as the field `network`.

    Args:
        texts: as they were given.
        system: says which fields there are.
        sizes: of its network, with their defaults.
        without: fields that mean nothing to the system.

    Raises:
        OptionError: there is no such name, or the value is of another kind or out of bounds.
    """
    hints = get_type_hints(Recipe)
    unset = {*_OPTIONS, *without}
    known = {name: hints[name] for name in _options_of(system) if name not in unset}
    values: dict[str, Any] = {}
    network: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        name = name.replace("-", "_")
        if equals and name in sizes:
            network[name] = _read(text, value, type(sizes[name]))
        elif equals and name == "max_memory" in known:
            values[name] = parse_size(value, "--set max_memory")
        elif equals and name in known:
            values[name] = _read(text, value, known[name], *_BOUNDS.get(name, (0, float("inf"))))
        else:
            listed = [*(f"{key}={default}" for key, default in sizes.items()), *known]
            raise OptionError(f"--set {text}: write NAME=VALUE; {system} has {', '.join(listed)}.")
    return values | ({"network": tuple(sorted(network.items()))} if network else {})


def _read(text: str, value: str, kind: Any, least: float = float("-inf"), most: float = float("inf")) -> Any:  # noqa: ANN401
    """A value of a kind: a type, a type or None, or a choice of words."""
    parts = (tuple,) if get_origin(kind) is tuple else get_args(kind) or (kind,)
    kinds = [each for each in parts if each is not NoneType]
    try:
        if isinstance(kinds[0], str):
            read: Any = next(word for word in kinds if word == value)
        elif kinds[0] is bool:
            read = {"true": True, "false": False}[value.lower()]
        elif kinds[0] is tuple:
            read = tuple(int(part) for part in value.split(","))
        else:
            read = kinds[0](value)
    except (ValueError, KeyError, StopIteration):
        names = {bool: "true or false", int: "a whole number", float: "a number", tuple: "numbers such as 8,16"}
        wanted = names.get(kinds[0]) or f"one of {', '.join(kinds)}"
        raise OptionError(f"--set {text}: the value must be {wanted}.") from None
    if isinstance(read, int | float) and not least <= read <= most:
        raise OptionError(f"--set {text}: the value must lie between {least:g} and {most:g}.")
    return read
