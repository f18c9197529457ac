"""What a system beside CoLDE says of itself, and how its network is made, loaded and exported.

A system is one file with one class: a network that makes one vector of each text, and the facts that `System` lists.
To add one, write that file and name it in `SYSTEMS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError
from torch import Tensor, nn

from colde_cli.documents.chunking import TextTokenizer
from colde_cli.encoder.layout import SYSTEM_GRAPH, SystemConfig, SystemFolder, open_system_folder, weights_file
from colde_cli.encoder.packing import Rows
from colde_cli.encoder.system_encoder import SystemRunner
from colde_cli.errors import ModelError, OptionError
from colde_cli.files import atomic_file
from colde_cli.learning.backbone import Backbone, load_tensors
from colde_cli.learning.graphs import write_graph
from colde_cli.learning.loop import Optimiser
from colde_cli.learning.recipe import Recipe, parse_settings

SYSTEMS = {
    "matchbert": "bert:MatchBert",
    "sbert": "bert:SBert",
    "slong": "longformer:SLong",
    "smith": "smith:Smith",
    "smith-short": "smith:SmithShort",
    "han": "han:Han",
    "smash": "smash:Smash",
    "arci": "arci:ArcI",
    "dssm": "dssm:Dssm",
}
"""The systems by name: file and class of each."""

Attention = Literal["sdpa", "eager"]
IntArray = NDArray[np.int64]
Start = Literal["bert", "longformer", "wordpieces", "words", "letters"]
"""The start of a system: a pretrained BERT or Longformer; only the tokenizer of one; a vocabulary learnt from the
training texts; or nothing, because it reads letters."""


class System(nn.Module):
    """A network that makes one vector of each text, and how it reads one.

    It is built with random weights from its configuration; `attention="eager"` is for export to ONNX. A size that does
    not fit is a ValueError. `forward(rows [D, R, L], paragraphs [D, R])` gives vectors [D, dim] of unit length; 0 is
    padding, a row of zeros is no row.

    Attributes:
        packing: how texts become rows, a name of `encoder.packing.PACKINGS`.
        start: what it starts from.
        row_tokens: L, tokens of a row.
        max_rows: R, rows of a text.
        sizes: of the network with their defaults, those of its paper or of the paper's public code.
        rate: the default learning rate.
        pretraining: the objectives of `pretrain`, which has `pretraining_batch` documents in a batch, and this rate.
        vocabulary: number of ids if the packing makes them; 0 if the tokenizer does.
    """

    packing: ClassVar[str]
    start: ClassVar[Start]
    row_tokens: ClassVar[int]
    max_rows: ClassVar[int] = 1
    sizes: ClassVar[Mapping[str, Any]] = {}
    rate: ClassVar[float] = 1e-3
    pretraining: ClassVar[tuple[str, ...]] = ()
    pretraining_batch: ClassVar[int] = 1
    pretraining_rate: ClassVar[float] = 0.0
    vocabulary: ClassVar[int] = 0

    @classmethod
    def dim(cls, sizes: Mapping[str, Any], backbone_hidden: int = 0) -> int:
        """D, the size of a vector, from the network's sizes and the hidden size of the backbone (0 without one)."""
        return backbone_hidden

    def load_pretrained(self, weights: Mapping[str, Tensor]) -> None:
        """Take pretrained weights, names without prefix.

        Raises:
            ValueError: one is missing or of another shape.
        """
        raise NotImplementedError

    def train_only(self, layers: int) -> None:
        """Freeze everything below the last `layers` Transformer layers."""
        raise NotImplementedError

    def pretrain(self, documents: Sequence[tuple[str, Rows]], tokenizer: TextTokenizer, options: Pretraining) -> None:
        """Learn from documents without labels, their texts and rows."""
        raise NotImplementedError


def system_class(name: str) -> type[System]:
    """The class of a system.

    Raises:
        OptionError: this version has none of the name.
    """
    if name not in SYSTEMS:
        raise OptionError(f"--system {name} is not in this version; it has: {', '.join(SYSTEMS)}.")
    module, _, made = SYSTEMS[name].partition(":")
    system: type[System] = getattr(import_module(f"colde_cli.systems.{module}"), made)
    return system


def is_pretrained(system: type[System]) -> bool:
    """Whether a system starts from a pretrained network."""
    return system.start in ("bert", "longformer")


def unused_options(system: type[System]) -> set[str]:
    """The options of `colde train` that some systems know and this one does not, by name of the field."""
    unused = {
        "backbone": system.start in ("words", "letters"),
        "trainable_layers": not is_pretrained(system),
        "max_rows": system.packing in ("flat", "trigrams"),
    }
    return {name for name, is_unused in unused.items() if is_unused}


def system_recipe(name: str, given: Mapping[str, Any], settings: Sequence[str] = ()) -> Recipe:
    """Make the recipe of a system from the values that were given, by field, and from `--set`.

    Raises:
        OptionError: the system lacks a size or an objective of that name.
    """
    system = system_class(name)
    values = dict(given) | parse_settings(settings, name, system.sizes, unused_options(system))
    objective = values.get("pretrain", "none")
    if objective not in ("none", *system.pretraining):
        listed = ", ".join(("none", *system.pretraining))
        raise OptionError(f"--set pretrain={objective} is not for --system {name}, which has: {listed}.")
    defaults = {"epochs": 10, "batch_size": 32, "batches": "by-file", "learning_rate": system.rate}
    return Recipe(**{"system": name, **defaults, **values})


def system_config(recipe: Recipe, backbone: Backbone | None, vocabulary: int) -> SystemConfig:
    """Describe the model that a recipe trains.

    Raises:
        OptionError: sizes that do not fit, or rows are longer than the backbone reads.
    """
    system = system_class(recipe.system)
    sizes = {**system.sizes, **dict(recipe.network)}
    row_tokens = recipe.row_tokens or system.row_tokens
    fields: dict[str, Any] = dict(backbone.fields) if backbone is not None and is_pretrained(system) else {}
    if fields:
        limit = int(fields["max_position_embeddings"])
        if fields.get("model_type") == "longformer":
            limit -= int(fields["pad_token_id"]) + 1
        layers = int(fields["num_hidden_layers"])
        if (recipe.row_tokens or 0) > limit:
            raise OptionError(f"row_tokens={recipe.row_tokens}, but the backbone reads {limit}.")
        if (recipe.trainable_layers or 0) > layers:
            raise OptionError(f"trainable_layers={recipe.trainable_layers}, but the backbone has {layers}.")
        row_tokens = min(row_tokens, limit)
    if fields.get("pad_token_id"):
        # Id 0 is padding in rows; this vocabulary has another use for it.
        sizes["id_shift"] = 1
    with _sizes_fit(recipe.system):
        dim = system.dim(sizes, int(fields.get("hidden_size", 0)))
    return SystemConfig(
        system=recipe.system,
        packing=system.packing,
        row_tokens=row_tokens,
        max_rows=recipe.max_rows or system.max_rows,
        dim=dim,
        network=sizes,
        backbone=fields or None,
        vocab_size=vocabulary,
        backbone_name=backbone.name if backbone is not None else "",
    )


def build_system(config: SystemConfig, attention: Attention = "sdpa") -> System:
    """Build the network of a configuration with random weights.

    Raises:
        OptionError: its sizes do not fit each other.
    """
    with _sizes_fit(config.system):
        return system_class(config.system)(config, attention)


@contextmanager
def _sizes_fit(system: str) -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        raise OptionError(f"The sizes of --set do not fit {system}: {error}.") from error


def transformer_layers(model: Any, layers: int) -> None:  # noqa: ANN401 - a BERT or a Longformer
    """Freeze everything of a Transformer below its last `layers` layers."""
    model.requires_grad_(False)
    if layers:
        model.encoder.layer[-layers:].requires_grad_(True)


def take_weights(model: nn.Module, weights: Mapping[str, Tensor], optional: str = "-") -> None:
    """Give a network pretrained weights; those whose names begin with `optional` may be missing.

    Raises:
        ValueError: one is missing or of another shape.
    """
    own = model.state_dict()
    state = {name: weights[name] for name in own if name in weights and weights[name].shape == own[name].shape}
    missing = [name for name in own if name not in state and not name.startswith(optional)]
    if missing:
        raise ValueError(f"the pretrained weights lack {missing[0]} in the right shape")
    model.load_state_dict({**own, **state})


def load_system(folder: SystemFolder, attention: Attention = "sdpa") -> System:
    """Load the network of a model, in evaluation mode.

    Raises:
        ModelError: a system that this version does not know, or weights that are damaged or do not fit.
    """
    if folder.config.system not in SYSTEMS:
        raise ModelError(f"{folder.path} is of the system {folder.config.system!r}, which this version lacks.")
    network = build_system(folder.config, attention)
    try:
        network.load_state_dict(load_tensors(folder.path))
    except (RuntimeError, KeyError, SafetensorError) as error:
        raise ModelError(
            f"{weights_file(folder.path)} does not fit the model's config.json; train it again."
        ) from error
    return network.eval()


@dataclass(frozen=True, slots=True)
class Pretraining:
    """How a network learns without labels."""

    objective: str  # a name of the system's `pretraining`
    epochs: int  # passes over the documents
    batch_size: int  # documents in a batch, which are each other's alternatives
    learning_rate: float  # AdamW's peak
    precision: Literal["fp32", "bf16"] = "fp32"
    seed: int = 0  # of batches, of what is drawn from them, and of dropout
    weight_decay: float = 0.01
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    told: Callable[[int], None] = lambda count: None  # called with 1 after every batch

    @property
    def autocast(self) -> torch.autocast:
        """The arithmetic of the network."""
        return torch.autocast(self.device.type, torch.bfloat16, enabled=self.precision == "bf16")


def train_unlabelled(
    network: nn.Module,
    count: int,
    per_epoch: int,
    options: Pretraining,
    losses_of: Callable[[IntArray], Sequence[Tensor]],
    generator: np.random.Generator,
) -> NDArray[np.float64]:
    """Train `network` in place by the sum of the losses of each batch.

    Args:
        network: in training mode.
        count: number of documents.
        per_epoch: number of batches, of about equal size.
        losses_of: numbers of documents to scalars.
        generator: orders the documents.

    Returns:
        The mean of each loss in each epoch, [epochs, losses].
    """
    steps = per_epoch * options.epochs
    optimiser = Optimiser(network, steps, options.learning_rate, options.weight_decay, eps=1e-6)
    figures: list[list[float]] = []
    for _ in range(options.epochs):
        for part in np.array_split(generator.permutation(count), per_epoch):
            losses = losses_of(part)
            torch.stack(list(losses)).sum().backward()  # type: ignore[no-untyped-call]
            figures.append([loss.item() for loss in losses])
            optimiser.step()
            options.told(1)
    return np.asarray(np.reshape(figures, (options.epochs, per_epoch, -1)).mean(1))


TOLERANCE = 1e-4
"""Maximum difference of a component between the vectors of network and graph."""
# Sizes of the rows that are traced, where the system reads as much; no two alike, for the tracer's sake.
_ROWS, _TOKENS = 5, 37


def export_system(folder: Path, samples: Sequence[Rows]) -> float:
    """Write the graph of a model; one that fails leaves the old one.

    Args:
        folder: a model with `model.safetensors`.
        samples: rows of texts on which graph and network must agree.

    Returns:
        The largest difference of a number of the samples' vectors.

    Raises:
        ModelError: the weights do not fit, or graph and network differ by more than `TOLERANCE`.
    """
    opened = open_system_folder(folder)
    network = load_system(opened, "eager")
    (folder / SYSTEM_GRAPH).parent.mkdir(exist_ok=True)
    with atomic_file(folder / SYSTEM_GRAPH) as staged:
        write_system_graph(network, opened.config, staged)
        gap = difference(network, opened.config, staged, samples)
        if gap > TOLERANCE:
            raise ModelError(f"The graph of {folder} differs from its network by {gap:.1e}; please report it.")
    return gap


def write_system_graph(network: nn.Module, config: SystemConfig, target: Path) -> None:
    """Trace a network in evaluation mode on rows of its own kind; see `encoder.layout` for the contract."""
    count, length = min(config.max_rows, _ROWS), min(config.row_tokens, _TOKENS)
    places = torch.arange(count * length)
    rows = 1 + places.reshape(1, count, length) % (config.vocab_size - 1)
    # A last row that is not full: what is traced must mask.
    rows[0, -1, length - 2 :] = 0
    example = {"rows": rows, "paragraphs": torch.arange(count)[None] // 2}
    blocks = {1: "blocks"} if config.max_rows > 1 else {}
    inputs = {"rows": {**blocks, 2: "tokens"}, "paragraphs": blocks}
    write_graph(network, example, inputs, {"vectors": {}}, target)


def difference(network: nn.Module, config: SystemConfig, graph: Path, samples: Sequence[Rows]) -> float:
    """Return the largest difference of a number between the vectors of network and graph."""
    gaps = [0.0]
    for rows, served in zip(samples, SystemRunner.open(graph, config.dim).run(samples), strict=True):
        inputs = (torch.from_numpy(part)[None].long() for part in (rows.ids, rows.paragraphs))
        with torch.no_grad():
            gaps.append(float(np.abs(network(*inputs)[0].numpy() - served).max()))
    # `max` would pass over NaN.
    return float(np.max(gaps)) if np.isfinite(gaps).all() else float("inf")
