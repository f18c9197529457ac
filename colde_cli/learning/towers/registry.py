"""The systems beside CoLDE: network, packing of texts, sizes, and what each starts from.

This file does without PyTorch, so that `colde train` can check its options early.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, get_args

from colde_cli.encoder.layout import TowerConfig
from colde_cli.errors import OptionError
from colde_cli.recipes import TOWER_LEARNING_RATE, TowerRecipe

if TYPE_CHECKING:
    from torch import nn

    from colde_cli.learning.backbone import Backbone

Combination = Literal["normal", "sum-concat", "mean-concat", "attention"]
COMBINATIONS: tuple[Combination, ...] = get_args(Combination)


@dataclass(frozen=True, slots=True)
class SmithSizes:
    """SMITH's sizes, as in `TowerConfig.network`; the defaults are the paper's, FFN and V those of its public code.

    Attributes:
        hidden: H of both Transformers; with a backbone, H is the backbone's.
        heads: of every attention in them.
        intermediate: units of their feed-forward layers.
        sentence_layers: L1, over words; with a backbone, its own.
        document_layers: L2, over blocks.
        combine: the part that precedes the document's own vector d in the result: none, or the sum, the mean or an
            attention-weighted sum of the block vectors h.
        dense: the layer before each L2 norm, "linear" or "tanh".
        attention_hidden: V, units of the attention that combines.
        dropout: everywhere, in training.
        deviation: standard deviation of the initial weights of all layers, but those of a backbone; 0 is 1/√H. BERT
            and the public code have 0.02. A layer of 256 units then passes on a third of its input. The first token's
            own vector outweighs what it gathers from its block, and all documents begin with nearly the same vector.
        paper_compat: as in the public code, combine over `max_rows` slots, padded ones included, and leave the
            result at its own length.
    """

    hidden: int = 256
    heads: int = 4
    intermediate: int = 512
    sentence_layers: int = 6
    document_layers: int = 3
    combine: Combination = "normal"
    dense: Literal["linear", "tanh"] = "linear"
    attention_hidden: int = 256
    dropout: float = 0.1
    deviation: float = 0.0
    paper_compat: bool = False

    @classmethod
    def of(cls, network: Mapping[str, Any]) -> SmithSizes:
        """Take the sizes that `TowerConfig.network` names, and the defaults for the others.

        Raises:
            ValueError: a name or a choice that SMITH does not know.
        """
        unknown = set(network) - {item.name for item in fields(cls)}
        if unknown:
            raise ValueError(f"SMITH has no size {min(unknown)!r}")
        sizes = cls(**network)
        if sizes.combine not in COMBINATIONS:
            raise ValueError(f"SMITH knows no combination {sizes.combine!r}, only {', '.join(COMBINATIONS)}")
        if sizes.dense not in ("linear", "tanh"):
            raise ValueError(f"the dense layer is linear or tanh, not {sizes.dense!r}")
        if sizes.deviation < 0:
            raise ValueError("a standard deviation is not negative")
        return sizes


def smith_dim(network: Mapping[str, Any], backbone_hidden: int = 0) -> int:
    """Return D, the size of a document vector: that of d, twice that if block vectors precede it.

    Args:
        network: `TowerConfig.network`.
        backbone_hidden: hidden size of the backbone; 0 where there is none.

    Raises:
        ValueError: a name or a choice that SMITH does not know.
    """
    sizes = SmithSizes.of(network)
    hidden = backbone_hidden or sizes.hidden
    return hidden if sizes.combine == "normal" else 2 * hidden


_BERT_LEARNING_RATE = 2e-5

Start = Literal["bert", "longformer", "wordpieces", "words", "letters"]
"""The start of a system: a pretrained BERT or Longformer; only the tokenizer of one; a vocabulary learnt from the
training texts; or nothing, because it reads letters."""


@dataclass(frozen=True, slots=True)
class TowerSystem:
    """One system.

    Attributes:
        name: the value of `--system`.
        network: module under `learning.networks` and class, as "module:Class". The class takes the
            configuration (and `attention="eager"` for export, if `eager`); `forward(rows [D, R, L], paragraphs [D, R])`
            gives [D, dim] at unit length. Those that start from a pretrained network have `load_bert` (or
            `load_longformer`), and `train_only` where a part of it can be trained alone.
        packing: how texts become rows.
        row_tokens: L.
        max_rows: R.
        sizes: `TowerConfig.network`.
        dim: computes the size of a vector from the sizes and the hidden size of the backbone (0 without one).
        eager: whether the class takes `attention`.
        pretraining: the objectives of `--pretrain`.
        rate: the default learning rate, if not that of its kind.
        vocabulary: number of ids if the packing makes them; 0 if the tokenizer does.
    """

    name: str
    network: str
    packing: str
    start: Start
    row_tokens: int
    max_rows: int = 1
    sizes: Mapping[str, Any] = field(default_factory=dict)
    dim: Callable[[Mapping[str, Any], int], int] = lambda sizes, hidden: hidden
    eager: bool = False
    vocabulary: int = 0
    pretraining: tuple[str, ...] = ()
    rate: float | None = None

    @property
    def pretrained(self) -> bool:
        """Whether it starts from a pretrained network."""
        return self.start in ("bert", "longformer")

    @property
    def uses_backbone(self) -> bool:
        """Whether it reads `--backbone`."""
        return self.pretrained or self.start == "wordpieces"

    @property
    def unused_options(self) -> frozenset[str]:
        """The options of `colde train` that mean nothing to it, by name of the field or parameter."""
        unused = {
            "backbone": not self.uses_backbone,
            "trainable_layers": not self.pretrained,
            "max_rows": self.packing in ("flat", "trigrams"),
        }
        return frozenset(name for name, is_unused in unused.items() if is_unused)

    def recipe(self, given: Mapping[str, Any]) -> TowerRecipe:
        """Make the recipe of the options that were given, `network` as NAME=VALUE.

        Raises:
            OptionError: the system has no size of that name, or lacks the objective of `pretrain`; or an option of
                LA(SER)³ was given without one of its objectives.
        """
        objective = given.get("pretrain", "none")
        if objective not in ("none", *self.pretraining):
            listed = ", ".join(("none", *self.pretraining))
            raise OptionError(f"--pretrain {objective} is not for --system {self.name}, which has: {listed}.")
        unused = [name for name in LASER3_OPTIONS if name in given and objective not in LASER3]
        if unused:
            raise OptionError(f"--{unused[0]} needs --pretrain with one of: {', '.join(LASER3)}.")
        values = {"learning_rate": self.learning_rate, **given}
        values["network"] = parse_sizes(self, given.get("network", ()))
        return TowerRecipe(system=self.name, **values)

    @property
    def learning_rate(self) -> float:
        """The default learning rate."""
        return self.rate or (_BERT_LEARNING_RATE if self.pretrained else TOWER_LEARNING_RATE)

    def config(self, recipe: TowerRecipe, backbone: Backbone | None, vocabulary: int) -> TowerConfig:
        """Describe the tower that a recipe trains.

        Raises:
            OptionError: the network has no size of that name, or rows are longer than the backbone reads.
        """
        sizes = {**self.sizes, **self._given(recipe)}
        rows = recipe.row_tokens or self.row_tokens
        fields: dict[str, Any] = dict(backbone.fields) if backbone is not None and self.pretrained else {}
        if backbone is not None and self.pretrained:
            rows = self._fitting(recipe, rows, fields)
        if fields.get("pad_token_id"):
            # Id 0 is padding in rows; this vocabulary has another use for it.
            sizes["id_shift"] = 1
        with self._sizes_fit():
            dim = self.dim(sizes, int(fields.get("hidden_size", 0)))
        return TowerConfig(
            system=self.name,
            packing=self.packing,
            row_tokens=rows,
            max_rows=recipe.max_rows or self.max_rows,
            dim=dim,
            network=sizes,
            backbone=fields or None,
            vocab_size=vocabulary,
            backbone_name=backbone.name if backbone is not None else "",
        )

    def build(self, config: TowerConfig, *, for_export: bool = False) -> nn.Module:
        """Build the network with random weights.

        Raises:
            OptionError: its sizes do not fit each other.
        """
        module, _, name = self.network.partition(":")
        made = getattr(import_module(f"colde_cli.learning.networks.{module}"), name)
        with self._sizes_fit():
            network: nn.Module = (
                made(config, attention="eager") if self.eager and for_export else made(config)
            )
        return network

    @contextmanager
    def _sizes_fit(self) -> Iterator[None]:
        try:
            yield
        except ValueError as error:
            raise OptionError(f"--network does not fit {self.name}: {error}.") from error

    def _given(self, recipe: TowerRecipe) -> dict[str, Any]:
        for name, _ in recipe.network:
            if name not in self.sizes:
                listed = ", ".join(sorted(self.sizes)) or "none"
                raise OptionError(f"--network {name}: {self.name} has no such size; it has: {listed}.")
        return dict(recipe.network)

    def _fitting(self, recipe: TowerRecipe, rows: int, fields: Mapping[str, Any]) -> int:
        """Return how many tokens of a row the backbone can read."""
        limit = int(fields["max_position_embeddings"])
        if fields.get("model_type") == "longformer":
            limit -= int(fields["pad_token_id"]) + 1
        if recipe.row_tokens is not None and recipe.row_tokens > limit:
            raise OptionError(f"--row-tokens {recipe.row_tokens}, but the backbone reads {limit}.")
        if recipe.trainable_layers is not None and recipe.trainable_layers > fields["num_hidden_layers"]:
            layers = fields["num_hidden_layers"]
            raise OptionError(f"--trainable-layers {recipe.trainable_layers}, but the backbone has {layers}.")
        return min(rows, limit)


MASKING = ("wp", "wp+sp")
"""SMITH's objectives on unlabelled documents."""
LASER3 = (
    "simcse",
    "two-spans",
    "self-reference",
    "intra-reference",
    "self-reference+two-spans",
    "intra-reference+two-spans",
)
"""Objectives of a BERT over one row on unlabelled documents: LA(SER)³'s, and their bases."""
LASER3_OPTIONS = ("anchor", "repeat", "longest")
"""Fields of `TowerRecipe` that only these objectives read."""
# The sizes of each paper, or of its public code.
_SMITH = asdict(SmithSizes())
_RECURRENT = {"embedding": 200, "hidden": 50, "dropout": 0.0}
_CONVOLUTIONS = {"embedding": 200, "channels": (128, 256, 256), "dropout": 0.0}
_LETTERS = {"hidden": (300, 300)}


_LISTED = (
    TowerSystem(
        "matchbert",
        "bert:BertTower",
        "flat",
        "bert",
        256,
        sizes={"pool": "pooler"},
        eager=True,
        pretraining=LASER3,
    ),
    TowerSystem(
        "sbert",
        "bert:BertTower",
        "flat",
        "bert",
        512,
        sizes={"pool": "mean"},
        eager=True,
        pretraining=LASER3,
    ),
    TowerSystem("slong", "longformer:LongformerTower", "flat", "longformer", 4096, sizes={"window": 512}),
    TowerSystem(
        "smith",
        "smith:Smith",
        "blocks",
        "wordpieces",
        32,
        48,
        _SMITH,
        smith_dim,
        eager=True,
        pretraining=MASKING,
        rate=5e-5,
    ),
    TowerSystem(
        "smith-short",
        "smith:Smith",
        "blocks",
        "bert",
        128,
        4,
        _SMITH,
        smith_dim,
        eager=True,
        pretraining=MASKING,
    ),
    TowerSystem(
        "han",
        "han:Han",
        "sentences",
        "words",
        50,
        100,
        _RECURRENT,
        lambda sizes, _: 2 * sizes["hidden"],
    ),
    TowerSystem(
        "smash",
        "smash:Smash",
        "sentences",
        "words",
        50,
        100,
        _RECURRENT,
        lambda sizes, _: 6 * sizes["hidden"],
    ),
    TowerSystem("arci", "arci:ArcI", "flat", "words", 2048, 1, _CONVOLUTIONS, lambda *_: 128),
    TowerSystem(
        "dssm", "dssm:Dssm", "trigrams", "letters", 30_000, 2, _LETTERS, lambda *_: 128, vocabulary=2**15 + 1
    ),
)
SYSTEMS = {system.name: system for system in _LISTED}


def system_named(name: str) -> TowerSystem:
    """Return the system of this name.

    Raises:
        OptionError: this version cannot train it.
    """
    if name not in SYSTEMS:
        raise OptionError(f"--system {name} is not in this version; it has: {', '.join(SYSTEMS)}.")
    return SYSTEMS[name]


def parse_sizes(system: TowerSystem, given: Iterable[str]) -> tuple[tuple[str, Any], ...]:
    """Parse `--network NAME=VALUE`; a value has the type of the system's own.

    Raises:
        OptionError: no such size, or a value of another type.
    """
    found = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or name not in system.sizes:
            listed = ", ".join(f"{key}={default}" for key, default in system.sizes.items()) or "nothing"
            raise OptionError(f"--network {text}: write NAME=VALUE; {system.name} has {listed}.")
        found[name] = _typed(text, value, system.sizes[name])
    return tuple(sorted(found.items()))


def _typed(text: str, value: str, default: object) -> object:
    try:
        if isinstance(default, bool):
            return {"true": True, "false": False}[value.lower()]
        if isinstance(default, tuple):
            return tuple(int(part) for part in value.split(","))
        return type(default)(value) if isinstance(default, int | float | str) else value
    except (ValueError, KeyError):
        kind = "true or false" if isinstance(default, bool) else f"a number such as {default}"
        raise OptionError(f"--network {text}: the value must be {kind}.") from None
