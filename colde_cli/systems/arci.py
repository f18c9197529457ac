"""ARC-I: convolutions over words, two texts that meet only at the end (Hu et al. 2014)."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any, ClassVar

from torch import Tensor, nn
from torch.nn import functional

from colde_cli.encoder.layout import SystemConfig
from colde_cli.systems.base import Attention, System


class ArcI(System):
    """Word vectors, three times (convolution over 3 words, ReLU, maximum of 2), maximum over the text, linear.

    The paper compares the two vectors with a multi-layer perceptron; here their cosine does, so that texts can be
    indexed. Like the paper's gate, a mask keeps padding out of every convolution and maximum: after ReLU
    nothing is below 0, so that a position set to 0 never wins.
    """

    packing, start, row_tokens = "flat", "words", 2048
    sizes: ClassVar[Mapping[str, Any]] = {"embedding": 200, "channels": (128, 256, 256), "dropout": 0.0}

    @classmethod
    def dim(cls, sizes: Mapping[str, Any], backbone_hidden: int = 0) -> int:
        """See `System`."""
        return 128

    def __init__(self, config: SystemConfig, attention: Attention = "sdpa") -> None:
        super().__init__()
        sizes = {**self.sizes, **config.network}
        channels = [sizes["embedding"], *sizes["channels"]]
        self.embedding = nn.Embedding(config.vocab_size, channels[0], padding_idx=0)
        self.dropout = nn.Dropout(sizes["dropout"])
        self.convolutions = nn.ModuleList(
            nn.Conv1d(below, above, kernel_size=3, padding=1) for below, above in pairwise(channels)
        )
        self.output = nn.Linear(channels[-1], config.dim)

    def forward(self, rows: Tensor, paragraphs: Tensor | None = None) -> Tensor:
        """Vectors [D, dim] of texts: rows int64 [D, 1, L], word ids; paragraphs are not read."""
        words = rows[:, 0]
        mask = (words != 0).unsqueeze(1).to(self.output.weight.dtype)
        values = self.dropout(self.embedding(words)).transpose(1, 2) * mask
        for convolution in self.convolutions:
            values = _halve(functional.relu(convolution(values)) * mask)
            mask = _halve(mask)
        return functional.normalize(self.output(values.amax(dim=2)), dim=-1)


def _halve(values: Tensor) -> Tensor:
    """Maximum of every two neighbours [D, C, L] -> [D, C, ⌈L / 2⌉]; a last one without neighbour stays."""
    return functional.max_pool1d(values, kernel_size=2, ceil_mode=True)
