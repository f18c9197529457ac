"""How the SMITHs of the tables are made: one standard, and for every table one thing changed at a time."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field, replace
from typing import Literal


@dataclass(frozen=True, slots=True)
class Start:
    """What fine-tuning starts from.

    Attributes:
        pretrain: "none" (NP), "wp", or "wp+sp".
        hidden: H of both Transformers; their feed-forward layers have twice as many units.
        sentence_layers: L1.
        document_layers: L2.
        passage: blocks of a passage; every passage of a training document is one document of pre-training.
        epochs: passes over the passages.
        rate: of learning.
        batch: passages in a batch.
        std: of the weights that a layer starts with; BERT's is 0.02, and 0.125 is 1/√64.
        dropout: everywhere, in training.
        seed: of the weights, masks and batches.
    """

    pretrain: Literal["none", "wp", "wp+sp"] = "none"
    hidden: int = 64
    sentence_layers: int = 1
    document_layers: int = 1
    passage: int = 8
    epochs: int = 3
    rate: float = 2e-3
    batch: int = 32
    std: float = 0.125
    dropout: float = 0.0
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Setting:
    """How a SMITH is fine-tuned.

    Attributes:
        start: from what.
        blocks: read of a document, in training and in the test.
        combine: as in `SmithSizes`.
        dot: score by 6 times the dot product of vectors that are not normalised, as the public code does.
        fitted: let α and β of the loss start where scores of training pairs have mean 0 and deviation 1.
        epochs: passes over the pairs.
        rate: of learning.
        batch: pairs in a batch.
        seed: of the batches.
    """

    start: Start = field(default_factory=Start)
    blocks: int = 8
    combine: str = "normal"
    dot: bool = False
    fitted: bool = True
    epochs: int = 5
    rate: float = 2e-3
    batch: int = 32
    seed: int = 0

    def seeded(self, seed: int) -> Setting:
        """The same with another seed, from the pre-training on."""
        return replace(self, seed=seed, start=replace(self.start, seed=seed))


def key(setting: Setting | Start) -> str:
    """Of all that a setting says."""
    return hashlib.blake2b(json.dumps(asdict(setting)).encode(), digest_size=6).hexdigest()


STANDARD = Setting()
# With one layer over words masked blocks are hardly learnt: their loss ends at 3.9, and at 3.5 with two; chance is 4.2.
DEEPER = replace(STANDARD, start=Start(sentence_layers=2))
LAYERS = ((1, 1), (2, 1), (4, 1), (1, 2))
COMBINATIONS = {
    "Normal": "normal",
    "Sum-Concat": "sum-concat",
    "Mean-Concat": "mean-concat",
    "Attention": "attention",
}
LENGTHS = (2, 4, 8, 16, 32)


def table_5() -> dict[str, Setting]:
    """What pre-training is worth, and what the weights that it starts from are."""
    return {
        "NP, BERT's weights": replace(DEEPER, start=replace(DEEPER.start, std=0.02), fitted=False),
        "NP": DEEPER,
        "WP": replace(DEEPER, start=replace(DEEPER.start, pretrain="wp")),
        "WP+SP": replace(DEEPER, start=replace(DEEPER.start, pretrain="wp+sp")),
    }


def table_6() -> dict[str, Setting]:
    """Layers over words and over blocks."""
    return {
        f"L1 = {words}, L2 = {blocks}": replace(
            STANDARD, start=replace(STANDARD.start, sentence_layers=words, document_layers=blocks)
        )
        for words, blocks in LAYERS
    }


def table_7() -> dict[str, Setting]:
    """Ways to combine, and what the scores of the public code make of them.

    "α = 6" starts the loss as the public code does, cosines as they are; a dot product is moreover of vectors that are
    not normalised, and stays at α = 6 and β = 0.
    """
    modes = {name: replace(STANDARD, combine=mode) for name, mode in COMBINATIONS.items()}
    raw = {f"{name}, α = 6": replace(modes[name], fitted=False) for name in ("Normal", "Sum-Concat")}
    dots = {f"{name}, dot product": replace(modes[name], dot=True) for name in ("Sum-Concat", "Mean-Concat")}
    return {**modes, **raw, **dots}


def figure_4() -> dict[str, Setting]:
    """Tokens that are read of a document."""
    return {f"{32 * blocks} tokens": replace(STANDARD, blocks=blocks) for blocks in LENGTHS}
