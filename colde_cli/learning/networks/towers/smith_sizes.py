"""SMITH's sizes and switches, apart from PyTorch: the registry of systems reads them too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, get_args

Combination = Literal["normal", "sum-concat", "mean-concat", "attention"]
COMBINATIONS: tuple[Combination, ...] = get_args(Combination)


@dataclass(frozen=True, slots=True)
class SmithSizes:
    """What `TowerConfig.network` holds for SMITH; the defaults are the paper's, FFN and V those of its public code.

    Attributes:
        hidden: H of both Transformers; with a backbone, H is the backbone's.
        heads: of every attention in them.
        intermediate: units of their feed-forward layers.
        sentence_layers: L1, over words; with a backbone, its own.
        document_layers: L2, over blocks.
        combine: what beside the document's own vector d makes the result: nothing, or the sum, the mean, or an
            attention-weighted sum of the block vectors h, before d.
        dense: the layer before each L2 norm, "linear" or "tanh".
        attention_hidden: V, units of the attention that combines.
        dropout: everywhere, in training.
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
    paper_compat: bool = False

    @classmethod
    def of(cls, network: Mapping[str, Any]) -> SmithSizes:
        """Those that `TowerConfig.network` names, the others as above.

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
        return sizes


def smith_dim(network: Mapping[str, Any], backbone_hidden: int = 0) -> int:
    """D, the size of a document vector: that of d, and before it that of h unless d stands alone.

    Args:
        network: `TowerConfig.network`.
        backbone_hidden: hidden size of the backbone; 0 where there is none.

    Raises:
        ValueError: a name or a choice that SMITH does not know.
    """
    sizes = SmithSizes.of(network)
    hidden = backbone_hidden or sizes.hidden
    return hidden if sizes.combine == "normal" else 2 * hidden
