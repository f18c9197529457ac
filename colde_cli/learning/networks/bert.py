"""The first tokens of a text through one BERT: MatchBERT (Yang et al. 2020), S-BERT (Reimers & Gurevych 2019)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from torch import Tensor, nn
from torch.nn import functional

from colde_cli.encoder.layout import ModelConfig, TowerConfig
from colde_cli.learning.networks.colde import ChunkEncoder


class BertTower(nn.Module):
    """BERT over one row, pooled, at unit length; a chunk of CoLDE without all that CoLDE adds."""

    def __init__(self, config: TowerConfig, attention: Literal["sdpa", "eager"] = "sdpa") -> None:
        """Build with random weights.

        Args:
            config: `network["pool"]` is "pooler", "mean" or "cls"; `backbone` is BERT's.
            attention: how attention is computed; "eager" is for export to ONNX.
        """
        super().__init__()
        bert = ModelConfig(config.backbone or {}, config.backbone_name, chunk_pool=config.network["pool"])
        self.encoder = ChunkEncoder(bert, attention)

    def load_bert(self, weights: Mapping[str, Tensor]) -> None:
        """Take pretrained BERT weights.

        Raises:
            ValueError: one is missing or of another shape.
        """
        self.encoder.load_bert(weights)

    def train_only(self, layers: int) -> None:
        """Freeze everything below the last `layers` Transformer layers."""
        self.encoder.train_only(layers)

    def forward(self, rows: Tensor, paragraphs: Tensor | None = None) -> Tensor:
        """Vectors of texts.

        Args:
            rows: int64 [D, 1, L], 0 is padding.
            paragraphs: not read.

        Returns:
            [D, H] float32, unit length.
        """
        ids = rows[:, 0]
        return functional.normalize(self.encoder(ids, (ids != 0).long()), dim=-1)
