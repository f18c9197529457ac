"""SMITH: a Transformer over the words of every block, and one over the blocks (Yang et al. 2020).

The public code differs from the paper in two ways that spoil its scores. A ReLU before the L2 norm lets no cosine be
negative; here that layer is linear, or tanh. And the concatenations count padded blocks and are not of unit length;
here they are masked and normalised, unless `paper_compat` asks for that behaviour.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint
from transformers import BertConfig, BertModel
from transformers.models.bert.modeling_bert import BertLMPredictionHead

from colde_cli.encoder.layout import TowerConfig
from colde_cli.learning.losses import block_means, masked_block_loss
from colde_cli.learning.towers.registry import SmithSizes, smith_dim

Attention = Literal["sdpa", "eager"]


class Blocks(NamedTuple):
    """The blocks of D documents.

    Attributes:
        vectors: h [D, R, H], unit length, zeros where there is no block.
        present: bool [D, R].
        words: [B, L, H], states of the words of the B blocks there are, in reading order.
    """

    vectors: Tensor
    present: Tensor
    words: Tensor


class BertStates(NamedTuple):
    """The part of what `BertModel` returns that is read here."""

    last_hidden_state: Tensor
    pooler_output: Tensor


class Smith(nn.Module):
    """The Siamese Multi-depth Transformer-based Hierarchical Encoder; one tower, which both texts share."""

    def __init__(self, config: TowerConfig, attention: Attention = "sdpa") -> None:
        """Build with random weights.

        Args:
            config: `network` holds fields of `SmithSizes`; `backbone` makes that BERT the encoder of the blocks
                (SMITH-Short: BERT-base, 4 blocks of 128).
            attention: how attention is computed; "eager" is for export to ONNX.

        Raises:
            ValueError: sizes that do not fit each other.
        """
        super().__init__()
        self.sizes = sizes = SmithSizes.of(config.network)
        self.max_rows = config.max_rows
        words = _block_encoder(config, sizes, attention)
        hidden = self.hidden = int(words.hidden_size)
        if config.dim != smith_dim(config.network, hidden):
            wanted = smith_dim(config.network, hidden)
            raise ValueError(
                f"{sizes.combine!r} with {hidden} hidden units has dim {wanted}, not {config.dim}"
            )
        self.words = BertModel(words)
        layers = sizes.document_layers
        self.blocks = BertModel(_transformer(sizes, config.max_rows, 1, layers, hidden, attention))
        # Block vectors enter here; BERT adds position and LayerNorm to them as it does to words.
        self.blocks.embeddings.word_embeddings = nn.Identity()
        self.block_dense = _dense(hidden, sizes)
        self.document_dense = _dense(hidden, sizes)
        self.weigh = _weigher(hidden, sizes) if sizes.combine == "attention" else None
        self._draw(sizes.deviation or hidden**-0.5, words=config.backbone is None)

    def _draw(self, deviation: float, words: bool) -> None:
        """Draw the weights of all layers, those over words too if nothing pretrained replaces them."""
        parts = [self.blocks, self.block_dense, self.document_dense, *([self.words] if words else [])]
        for module in (module for part in parts for module in part.modules()):
            if isinstance(module, nn.Linear):
                nn.init.normal_(module.weight, std=deviation)

    def load_bert(self, weights: Mapping[str, Tensor]) -> None:
        """Take the weights of the backbone (`BertModel`, names without prefix); a pooler it lacks stays random.

        Raises:
            ValueError: a weight is missing or of another shape.
        """
        own = self.words.state_dict()
        state = {
            name: weights[name] for name in own if name in weights and weights[name].shape == own[name].shape
        }
        missing = [name for name in own if name not in state and not name.startswith("pooler.")]
        if missing:
            raise ValueError(f"the pretrained weights lack {missing[0]} in the right shape")
        self.words.load_state_dict({**own, **state})

    def train_only(self, layers: int) -> None:
        """Freeze everything below the last `layers` layers over words; what is above them is always trained."""
        self.words.requires_grad_(False)
        self.words.pooler.requires_grad_(True)
        if layers:
            self.words.encoder.layer[-layers:].requires_grad_(True)

    def forward(self, rows: Tensor, paragraphs: Tensor | None = None) -> Tensor:
        """Encode documents.

        Args:
            rows: int64 [D, R, L], blocks as `pack_blocks` makes them; 0 is padding, a row of zeros no block.
            paragraphs: int64 [D, R], not used: SMITH knows no paragraphs.

        Returns:
            float32 [D, dim], unit length (with `paper_compat` and a concatenation, of its own length).
        """
        found = self.encode_blocks(rows)
        pooled = self.document_states(found.vectors, found.present).pooler_output
        document = functional.normalize(self.document_dense(pooled), dim=-1)
        return self._combined(found, document).float()

    def encode_blocks(self, rows: Tensor) -> Blocks:
        """Words to block vectors: rows int64 [D, R, L]; only rows that hold a block are computed."""
        flat = rows.flatten(0, 1)
        present = (flat != 0).any(1)
        places = present.nonzero().squeeze(1)
        words, vectors = self._encode_rows(flat.index_select(0, places))
        table = vectors.new_zeros(flat.shape[0], self.hidden).index_copy(0, places, vectors)
        return Blocks(table.view(rows.shape[0], -1, self.hidden), present.view(rows.shape[0], -1), words)

    def document_states(self, vectors: Tensor, present: Tensor) -> BertStates:
        """The document Transformer over block vectors [D, R, H], of which those not in `present` are not seen.

        Returns:
            `last_hidden_state` [D, R, H], and `pooler_output` [D, H], the tanh pooler over the first block.
        """
        found: BertStates = self.blocks(inputs_embeds=vectors, attention_mask=present.long())
        return found

    def _encode_rows(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        found = self.words(input_ids=rows, attention_mask=(rows != 0).long())
        return found.last_hidden_state, functional.normalize(self.block_dense(found.pooler_output), dim=-1)

    def _combined(self, found: Blocks, document: Tensor) -> Tensor:
        if self.sizes.combine == "normal":
            return document
        vectors, counts = found.vectors, found.present.to(document.dtype)
        if self.sizes.paper_compat:
            vectors, counts = self._with_padding(vectors, counts)
        part = (self._weights(vectors, counts).unsqueeze(-1) * vectors).sum(1)
        joined = torch.cat([part, document], dim=1)
        return joined if self.sizes.paper_compat else functional.normalize(joined, dim=-1)

    def _weights(self, vectors: Tensor, counts: Tensor) -> Tensor:
        """How much each block counts [D, R], if each fills `counts` slots."""
        if self.sizes.combine == "sum-concat":
            return counts
        if self.weigh is None:
            return counts / counts.sum(1, keepdim=True).clamp(min=1.0)
        scores: Tensor = self.weigh(vectors).squeeze(-1) + counts.clamp(min=1.0).log()
        return scores.masked_fill(counts == 0, torch.finfo(scores.dtype).min).softmax(1)

    def _with_padding(self, vectors: Tensor, counts: Tensor) -> tuple[Tensor, Tensor]:
        """Append a column: the vector of an empty block, which fills every slot without a block."""
        _, empty = self._encode_rows(torch.zeros(1, 1, dtype=torch.int64, device=vectors.device))
        free = self.max_rows - counts.sum(1, keepdim=True)
        column = empty.unsqueeze(0).expand(vectors.shape[0], 1, self.hidden)
        return torch.cat([vectors, column], dim=1), torch.cat([counts, free], dim=1)


def _block_encoder(config: TowerConfig, sizes: SmithSizes, attention: Attention) -> BertConfig:
    if config.backbone is None:
        layers, vocabulary = sizes.sentence_layers, config.vocab_size
        return _transformer(sizes, config.row_tokens, vocabulary, layers, sizes.hidden, attention)
    fields = {name: value for name, value in config.backbone.items() if name != "model_type"}
    return BertConfig(**fields, attn_implementation=attention)


def _transformer(
    sizes: SmithSizes, positions: int, vocabulary: int, layers: int, hidden: int, attention: Attention
) -> BertConfig:
    return BertConfig(
        vocab_size=vocabulary,
        hidden_size=hidden,
        num_hidden_layers=layers,
        num_attention_heads=sizes.heads,
        intermediate_size=sizes.intermediate,
        hidden_dropout_prob=sizes.dropout,
        attention_probs_dropout_prob=sizes.dropout,
        max_position_embeddings=positions,
        type_vocab_size=1,
        attn_implementation=attention,
    )


def _dense(hidden: int, sizes: SmithSizes) -> nn.Module:
    linear = nn.Linear(hidden, hidden)
    # A bias would be a direction that all untrained vectors share.
    nn.init.zeros_(linear.bias)
    return nn.Sequential(linear, nn.Tanh()) if sizes.dense == "tanh" else linear


def _weigher(hidden: int, sizes: SmithSizes) -> nn.Module:
    """Scores of blocks, tanh(h W) v: the paper has h W v, which is linear in h whatever W is."""
    units = sizes.attention_hidden
    return nn.Sequential(nn.Linear(hidden, units, bias=False), nn.Tanh(), nn.Linear(units, 1, bias=False))


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
        # Scores of the whole vocabulary are computed again in the backward pass instead of being kept.
        losses = [checkpoint(self._guess, *part, use_reentrant=False) for part in parts]
        return block_means(torch.cat([states.new_zeros(0), *losses]), blocks)

    def _guess(self, states: Tensor, targets: Tensor) -> Tensor:
        return functional.cross_entropy(self.head(states).float(), targets, reduction="none")
