"""The first tokens of a text through one BERT: MatchBERT (Yang et al. 2020), S-BERT (Reimers & Gurevych 2019)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor
from torch.nn import functional

from colde_cli.documents.chunking import TextTokenizer
from colde_cli.encoder.layout import ModelConfig, SystemConfig
from colde_cli.encoder.packing import Rows
from colde_cli.learning.colde import ChunkEncoder
from colde_cli.learning.recipe import Recipe
from colde_cli.systems.base import Attention, Pretraining, System
from colde_cli.systems.laser import BATCH, OBJECTIVES, RATE, pretrain_pairs


class SBert(System):
    """BERT over one row, pooled, at unit length; a chunk of CoLDE without all that CoLDE adds."""

    packing, start, row_tokens, rate = "flat", "bert", 512, 2e-5
    sizes: ClassVar[Mapping[str, Any]] = {"pool": "mean"}
    pretraining = OBJECTIVES

    def __init__(self, config: SystemConfig, attention: Attention = "sdpa") -> None:
        super().__init__()
        self.row_limit = config.row_tokens
        bert = ModelConfig(config.backbone or {}, config.backbone_name, chunk_pool=config.network["pool"])
        self.encoder = ChunkEncoder(bert, attention)

    def load_pretrained(self, weights: Mapping[str, Tensor]) -> None:
        """See `System`."""
        self.encoder.load_bert(weights)

    def train_only(self, layers: int) -> None:
        """See `System`."""
        self.encoder.train_only(layers)

    def pretrain(
        self,
        documents: Sequence[tuple[str, Rows]],
        tokenizer: TextTokenizer,
        recipe: Recipe,
        device: torch.device,
        told: Callable[[int], None],
    ) -> None:
        """See `System`: LA(SER)³."""
        options = Pretraining(recipe.pretrain, recipe.pretrain_epochs, BATCH, RATE, recipe.precision, recipe.seed)
        texts = [text for text, _ in documents]
        pretrain_pairs(self, texts, tokenizer, self.row_limit, options, device, told)

    def forward(self, rows: Tensor, paragraphs: Tensor | None = None) -> Tensor:
        """Vectors [D, H] of texts: rows int64 [D, 1, L]; paragraphs are not read."""
        ids = rows[:, 0]
        return functional.normalize(self.encoder(ids, (ids != 0).long()), dim=-1)


class MatchBert(SBert):
    """The same with BERT's pooled output, over half as many tokens."""

    row_tokens = 256
    sizes: ClassVar[Mapping[str, Any]] = {"pool": "pooler"}
