"""SMITH with the heads of its pre-training (Yang et al. 2020); fine-tuning drops them."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint
from transformers.models.bert.modeling_bert import BertLMPredictionHead

from colde_cli.learning.networks.towers.smith import Smith
from colde_cli.learning.objectives.masked_blocks import masked_block_loss
from colde_cli.learning.objectives.masked_words import block_means

# Hidden words that are scored together: 1,024 by 30,522 scores are 125 MB, and a batch hides thousands.
_TOGETHER = 1024


class PretrainingLosses(NamedTuple):
    """Scalars; `blocks` is 0 where no block is hidden."""

    words: Tensor
    blocks: Tensor


class SmithPretraining(nn.Module):
    """SMITH, BERT's head for masked words over its own word table, and the vector that stands for a hidden block."""

    def __init__(self, smith: Smith) -> None:
        super().__init__()
        self.smith = smith
        config = smith.words.config
        self.head = BertLMPredictionHead(config)
        for linear in (self.head.transform.dense, self.head.decoder):
            nn.init.normal_(linear.weight, std=config.initializer_range)
            nn.init.zeros_(linear.bias)
        self.head.decoder.weight = smith.words.embeddings.word_embeddings.weight
        self.hidden_block = nn.Parameter(torch.randn(smith.hidden) * config.initializer_range)

    def forward(
        self, shown: Tensor, rows: Tensor, chosen: Tensor, hidden: Tensor | None
    ) -> PretrainingLosses:
        """Both losses, from one pass over the words.

        Args:
            shown: int64 [D, R, L], the blocks with words hidden.
            rows: int64 [D, R, L], the blocks as they are.
            chosen: bool [D, R, L], words to guess.
            hidden: bool [D, R], blocks to guess; None leaves that loss, and the document Transformer, out.
        """
        found = self.smith.encode_blocks(shown)
        kept = found.present.flatten()
        places = chosen.flatten(0, 1)[kept]
        words = self._word_loss(found.words[places], rows.flatten(0, 1)[kept][places], places.nonzero()[:, 0])
        if hidden is None:
            return PretrainingLosses(words, words.new_zeros(()))
        vectors = torch.where(hidden.unsqueeze(-1), self.hidden_block.to(found.vectors.dtype), found.vectors)
        states = self.smith.document_states(vectors, found.present).last_hidden_state
        return PretrainingLosses(words, masked_block_loss(states[hidden], found.vectors[hidden]))

    def _word_loss(self, states: Tensor, targets: Tensor, blocks: Tensor) -> Tensor:
        parts = zip(torch.split(states, _TOGETHER), torch.split(targets, _TOGETHER), strict=True)
        # Scores of the whole vocabulary are computed anew in the backward pass and never kept.
        losses = [checkpoint(self._guess, *part, use_reentrant=False) for part in parts]
        return block_means(torch.cat([states.new_zeros(0), *losses]), blocks)

    def _guess(self, states: Tensor, targets: Tensor) -> Tensor:
        return functional.cross_entropy(self.head(states).float(), targets, reduction="none")
