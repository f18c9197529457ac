"""ARC-I: convolutions over words, two towers that meet only at the end (Hu et al. 2014)."""

from __future__ import annotations

from itertools import pairwise

from torch import Tensor, nn
from torch.nn import functional

from colde_cli.encoder.layout import TowerConfig

EMBEDDING = 200
CHANNELS = (128, 256, 256)


class ArcI(nn.Module):
    """Word vectors, three times (convolution over 3 words, ReLU, maximum of 2), maximum over the text, linear.

    The paper compares the two vectors with a multi-layer perceptron; here their cosine does, so that texts can be
    indexed. Like the paper's gate, a mask keeps padding out of every convolution and maximum: after ReLU
    nothing is below 0, so that a position set to 0 never wins.

    Sizes in `config.network`: `embedding`, `channels` of the convolutions, `dropout` of the word vectors.
    """

    def __init__(self, config: TowerConfig) -> None:
        super().__init__()
        sizes = [config.network.get("embedding", EMBEDDING), *config.network.get("channels", CHANNELS)]
        self.embedding = nn.Embedding(config.vocab_size, sizes[0], padding_idx=0)
        self.dropout = nn.Dropout(config.network.get("dropout", 0.0))
        self.convolutions = nn.ModuleList(
            nn.Conv1d(below, above, kernel_size=3, padding=1) for below, above in pairwise(sizes)
        )
        self.output = nn.Linear(sizes[-1], config.dim)

    def forward(self, rows: Tensor, paragraphs: Tensor | None = None) -> Tensor:
        """One vector per text.

        Args:
            rows: int64 [D, 1, L], word ids, 0 after the last.
            paragraphs: ignored.

        Returns:
            [D, dim] float32, unit length.
        """
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
