"""HAN: words to sentences to a document, with attention at both steps (Yang et al. 2016)."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional

from colde_cli.encoder.towers.layout import TowerConfig
from colde_cli.learning.networks.towers.attention import SequenceEncoder

EMBEDDING = 200
HIDDEN = 50


class Han(nn.Module):
    """Word GRU and attention make sentence vectors, sentence GRU and attention the document's (§2.2).

    Sizes in `config.network`: `embedding`, `hidden` units per direction, `dropout` of the word vectors.
    """

    def __init__(self, config: TowerConfig) -> None:
        """Build with random weights.

        Raises:
            ValueError: `config.dim` is not twice `hidden`.
        """
        super().__init__()
        embedding, hidden = config.network.get("embedding", EMBEDDING), config.network.get("hidden", HIDDEN)
        if config.dim != 2 * hidden:
            raise ValueError(f"HAN with {hidden} hidden units makes {2 * hidden} numbers, not {config.dim}")
        self.embedding = nn.Embedding(config.vocab_size, embedding, padding_idx=0)
        self.dropout = nn.Dropout(config.network.get("dropout", 0.0))
        self.words = SequenceEncoder(embedding, hidden)
        self.sentences = SequenceEncoder(2 * hidden, hidden)

    def forward(self, rows: Tensor, paragraphs: Tensor | None = None) -> Tensor:
        """One vector per text.

        Args:
            rows: int64 [D, R, L], word ids of sentences, 0 at padding (`pack_sentences`).
            paragraphs: ignored.

        Returns:
            [D, dim] float32, unit length; zeros for a text without words.
        """
        mask = rows != 0
        sentences = self.words.nested(self.dropout(self.embedding(rows)), mask)
        return functional.normalize(self.sentences(sentences, mask.any(dim=2)), dim=-1)
