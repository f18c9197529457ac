"""All that decides how a tower is trained, beside data and backbone."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import Any, Literal

LEARNING_RATE = 1e-3
"""Of networks that start from nothing."""
BERT_LEARNING_RATE = 2e-5
"""Of networks that start from a pretrained BERT."""


@dataclass(frozen=True, slots=True)
class TowerRecipe:
    """The options of a run; names and meaning as on the command line.

    Attributes:
        system: which network.
        epochs: passes over the pairs at most; 0 for none.
        batch_size: pairs in a batch, half of them related.
        batches: where negatives come from: "by-file" from the file of the document, "mixed" from all.
        learning_rate: AdamW's peak, after warm-up.
        weight_decay: AdamW's, decoupled.
        trainable_layers: last Transformer layers of the backbone to train; None for all.
        row_tokens: tokens of a row, specials included; None for the system's own number.
        max_rows: rows of a document; None for the system's own number.
        network: sizes and switches of the network that differ from the system's own.
        pretrain: what is learnt of unlabelled documents first; "none" for nothing.
        pretrain_epochs: passes over them.
        fixed_scale: keep α = 6 and β = 0 in the loss.
        precision: "fp32" or "bf16" (autocast).
        seed: of everything random.
        patience: epochs without a better validation AUC before the run ends; 0 never ends it early.
    """

    system: str
    epochs: int = 10
    batch_size: int = 32
    batches: Literal["mixed", "by-file"] = "by-file"
    learning_rate: float = LEARNING_RATE
    weight_decay: float = 0.01
    trainable_layers: int | None = None
    row_tokens: int | None = None
    max_rows: int | None = None
    network: tuple[tuple[str, Any], ...] = ()
    pretrain: str = "none"
    pretrain_epochs: int = 1
    fixed_scale: bool = False
    precision: Literal["fp32", "bf16"] = "fp32"
    seed: int = 0
    patience: int = 5

    def to_json(self) -> dict[str, Any]:
        """Every option by name."""
        return asdict(self)

    def digest(self) -> str:
        """Hash of every option: runs of one digest, on the same data, train the same model."""
        return hashlib.blake2b(json.dumps(self.to_json()).encode(), digest_size=16).hexdigest()
