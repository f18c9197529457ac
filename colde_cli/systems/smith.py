"""SMITH: a Transformer over the words of every block, and one over the blocks (Yang et al. 2020).

The public code differs from the paper in two ways that spoil its scores. A ReLU before the L2 norm lets no cosine be
negative; here that layer is linear, or tanh. And the concatenations count padded blocks and are not of unit length;
here they are masked and normalised, unless `paper_compat` asks for that behaviour.

Its pre-training guesses hidden words and hidden blocks of unlabelled documents.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar, Literal, NamedTuple, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint
from transformers import BertConfig, BertModel
from transformers.models.bert.modeling_bert import BertLMPredictionHead

from colde_cli.documents.chunking import TextTokenizer
from colde_cli.encoder.layout import SystemConfig
from colde_cli.encoder.packing import Rows, stack
from colde_cli.errors import OptionError
from colde_cli.learning.losses import block_means, masked_block_loss
from colde_cli.systems.base import (
    Attention,
    Pretraining,
    Start,
    System,
    take_weights,
    train_unlabelled,
    transformer_layers,
)

Combination = Literal["normal", "sum-concat", "mean-concat", "attention"]
COMBINATIONS: tuple[Combination, ...] = get_args(Combination)


@dataclass(frozen=True, slots=True)
class SmithSizes:
    """SMITH's sizes, as in `SystemConfig.network`; the defaults are the paper's, FFN and V those of its public code.

    Attributes:
        hidden: H of both Transformers; with a backbone, H is the backbone's.
        heads: of every attention in them.
        intermediate: units of their feed-forward layers.
        sentence_layers: L1, over words; with a backbone, its own.
        document_layers: L2, over blocks.
        combine: the part that precedes the document's own vector d in the result: none, or the sum, the mean or an
            attention-weighted sum of the block vectors h.
        dense: the layer before each L2 norm, "linear" or "tanh".
        attention_hidden: V, units of the attention that combines.
        dropout: everywhere, in training.
        deviation: standard deviation of the initial weights of all layers, but those of a backbone; 0 is 1/√H. BERT
            and the public code have 0.02. A layer of 256 units then passes on a third of its input. The first token's
            own vector outweighs what it gathers from its block, and all documents begin with nearly the same vector.
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
    deviation: float = 0.0
    paper_compat: bool = False

    @classmethod
    def of(cls, network: Mapping[str, Any]) -> SmithSizes:
        """Take the sizes that are named, and the defaults for the others.

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
        if sizes.deviation < 0:
            raise ValueError("a standard deviation is not negative")
        return sizes


class Blocks(NamedTuple):
    """The blocks of D documents."""

    vectors: Tensor  # h [D, R, H], unit length, zeros where there is no block
    present: Tensor  # bool [D, R]
    words: Tensor  # [B, L, H], states of the words of the B blocks there are, in reading order


class BertStates(NamedTuple):
    """The part of what `BertModel` returns that is read here."""

    last_hidden_state: Tensor
    pooler_output: Tensor


class Smith(System):
    """The Siamese Multi-depth Transformer-based Hierarchical Encoder; one network, which both texts share.

    A backbone in the configuration makes that BERT the encoder of the blocks.
    """

    packing, row_tokens, max_rows, rate = "blocks", 32, 48, 5e-5
    start: ClassVar[Start] = "wordpieces"
    sizes: ClassVar[Mapping[str, Any]] = asdict(SmithSizes())
    pretraining = ("wp", "wp+sp")
    pretraining_batch, pretraining_rate = 32, 5e-5

    @classmethod
    def dim(cls, sizes: Mapping[str, Any], backbone_hidden: int = 0) -> int:
        """See `System`: the size of d, twice that if block vectors precede it."""
        read = SmithSizes.of(sizes)
        return (backbone_hidden or read.hidden) * (1 if read.combine == "normal" else 2)

    def __init__(self, config: SystemConfig, attention: Attention = "sdpa") -> None:
        super().__init__()
        self.shape = sizes = SmithSizes.of(config.network)
        self.slots = config.max_rows
        words = _block_encoder(config, sizes, attention)
        hidden = self.hidden = int(words.hidden_size)
        if config.dim != (wanted := self.dim(config.network, hidden)):
            raise ValueError(f"{sizes.combine!r} with {hidden} hidden units has dim {wanted}, not {config.dim}")
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

    def load_pretrained(self, weights: Mapping[str, Tensor]) -> None:
        """See `System`; a pooler that the backbone lacks stays random."""
        take_weights(self.words, weights, optional="pooler.")

    def train_only(self, layers: int) -> None:
        """See `System`: of the layers over words; what is above them is always trained."""
        transformer_layers(self.words, layers)
        self.words.pooler.requires_grad_(True)

    def pretrain(self, documents: Sequence[tuple[str, Rows]], tokenizer: TextTokenizer, options: Pretraining) -> None:
        """See `System`: masked words, and masked blocks."""
        vocabulary = MaskingVocabulary.of(tokenizer, self.words.config.vocab_size)
        pretrain_blocks(self, [rows for _, rows in documents], vocabulary, options)

    def forward(self, rows: Tensor, paragraphs: Tensor | None = None) -> Tensor:
        """Vectors [D, dim] of rows int64 [D, R, L]; with `paper_compat` and a concatenation of any length."""
        blocks = self.encode_blocks(rows)
        pooled = self.document_states(blocks.vectors, blocks.present).pooler_output
        document = functional.normalize(self.document_dense(pooled), dim=-1)
        return self._combined(blocks, document).float()

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
        states: BertStates = self.blocks(inputs_embeds=vectors, attention_mask=present.long())
        return states

    def _encode_rows(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        states = self.words(input_ids=rows, attention_mask=(rows != 0).long())
        return states.last_hidden_state, functional.normalize(self.block_dense(states.pooler_output), dim=-1)

    def _combined(self, blocks: Blocks, document: Tensor) -> Tensor:
        if self.shape.combine == "normal":
            return document
        vectors, counts = blocks.vectors, blocks.present.to(document.dtype)
        if self.shape.paper_compat:
            vectors, counts = self._with_padding(vectors, counts)
        part = (self._weights(vectors, counts).unsqueeze(-1) * vectors).sum(1)
        joined = torch.cat([part, document], dim=1)
        return joined if self.shape.paper_compat else functional.normalize(joined, dim=-1)

    def _weights(self, vectors: Tensor, counts: Tensor) -> Tensor:
        """How much each block counts [D, R], if each fills `counts` slots."""
        if self.shape.combine == "sum-concat":
            return counts
        if self.weigh is None:
            return counts / counts.sum(1, keepdim=True).clamp(min=1.0)
        scores: Tensor = self.weigh(vectors).squeeze(-1) + counts.clamp(min=1.0).log()
        return scores.masked_fill(counts == 0, torch.finfo(scores.dtype).min).softmax(1)

    def _with_padding(self, vectors: Tensor, counts: Tensor) -> tuple[Tensor, Tensor]:
        """Append a column: the vector of an empty block, which fills every slot without a block."""
        _, empty = self._encode_rows(torch.zeros(1, 1, dtype=torch.int64, device=vectors.device))
        free = self.slots - counts.sum(1, keepdim=True)
        column = empty.unsqueeze(0).expand(vectors.shape[0], 1, self.hidden)
        return torch.cat([vectors, column], dim=1), torch.cat([counts, free], dim=1)


class SmithShort(Smith):
    """SMITH over the states of a BERT: 4 blocks of 128 tokens."""

    start: ClassVar[Start] = "bert"
    row_tokens, max_rows, rate = 128, 4, 2e-5


def _block_encoder(config: SystemConfig, sizes: SmithSizes, attention: Attention) -> BertConfig:
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

    def forward(self, shown: Tensor, rows: Tensor, chosen: Tensor, hidden: Tensor | None) -> PretrainingLosses:
        """Both losses of a `MaskedBatch`, from one pass over the words; without hidden blocks, that of words alone."""
        blocks = self.smith.encode_blocks(shown)
        kept = blocks.present.flatten()
        places = chosen.flatten(0, 1)[kept]
        words = self._word_loss(blocks.words[places], rows.flatten(0, 1)[kept][places], places.nonzero()[:, 0])
        if hidden is None:
            return PretrainingLosses(words, words.new_zeros(()))
        vectors = torch.where(hidden.unsqueeze(-1), self.hidden_block.to(blocks.vectors.dtype), blocks.vectors)
        states = self.smith.document_states(vectors, blocks.present).last_hidden_state
        return PretrainingLosses(words, masked_block_loss(states[hidden], blocks.vectors[hidden]))

    def _word_loss(self, states: Tensor, targets: Tensor, blocks: Tensor) -> Tensor:
        parts = zip(torch.split(states, _TOGETHER), torch.split(targets, _TOGETHER), strict=True)
        # Scores of the whole vocabulary are computed again in the backward pass instead of being kept.
        losses = [checkpoint(self._guess, *part, use_reentrant=False) for part in parts]
        return block_means(torch.cat([states.new_zeros(0), *losses]), blocks)

    def _guess(self, states: Tensor, targets: Tensor) -> Tensor:
        return functional.cross_entropy(self.head(states).float(), targets, reduction="none")


SHARE = 0.15
"""Share of a block's word pieces that is hidden."""
_MASKED, _RANDOM = 0.8, 0.1
BLOCKS = 2
"""Number of hidden blocks of a document (the paper's m)."""

IntArray = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class MaskingVocabulary:
    """The token ids that masking chooses from."""

    size: int  # number of token ids
    mask: int  # id of [MASK]
    specials: tuple[int, ...]  # ids that are never hidden and never drawn, padding (0) and [MASK] among them

    @classmethod
    def of(cls, tokenizer: TextTokenizer, size: int) -> MaskingVocabulary:
        """Read the ids from a tokenizer of `size` ids.

        Raises:
            OptionError: it has no [MASK].
        """
        mask = tokenizer.token_to_id("[MASK]")
        if mask is None:
            raise OptionError("pretrain needs a tokenizer with the token [MASK]; take a backbone that has one.")
        named = (tokenizer.token_to_id(token) for token in ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"))
        return cls(size, mask, tuple(sorted({0, *(number for number in named if number is not None)})))


def mask_words(
    rows: IntArray, vocabulary: MaskingVocabulary, generator: np.random.Generator
) -> tuple[IntArray, NDArray[np.bool_]]:
    """Choose 15 % of each block's words, at least one; of these 80 % become [MASK], 10 % another word, 10 % stay.

    Returns:
        Rows [B, L] as the network reads them, and bool [B, L], the positions to guess.
    """
    ordinary = ~np.isin(rows, vocabulary.specials)
    counts = ordinary.sum(1)
    wanted = np.where(counts > 0, np.maximum(1, np.rint(SHARE * counts)), 0)
    # A random order of each block's words, everything else behind them; the first ones are chosen.
    order = np.where(ordinary, generator.random(rows.shape), 2.0).argsort(1).argsort(1)
    chosen = order < wanted[:, None]
    fate = generator.random(rows.shape)
    words = np.setdiff1d(np.arange(vocabulary.size), vocabulary.specials)
    shown = np.where(chosen & (fate < _MASKED), vocabulary.mask, rows)
    swapped = chosen & (fate >= _MASKED) & (fate < _MASKED + _RANDOM)
    shown = np.where(swapped, generator.choice(words, rows.shape), shown)
    return shown.astype(np.int64), chosen


def draw_blocks(present: NDArray[np.bool_], generator: np.random.Generator) -> NDArray[np.bool_]:
    """Choose up to two blocks to hide among those that exist, bool [D, R]; at least one of a document stays visible.

    SMITH's public code draws from all slots, so that in short documents most of what it hides is padding.
    """
    wanted = np.clip(present.sum(1) - 1, 0, BLOCKS)
    order = np.where(present, generator.random(present.shape), 2.0).argsort(1).argsort(1)
    hidden: NDArray[np.bool_] = order < wanted[:, None]
    return hidden


class MaskedBatch(NamedTuple):
    """D documents with words, and perhaps blocks, to guess."""

    shown: IntArray  # int64 [D, R, L], as the network reads them
    rows: IntArray  # int64 [D, R, L], as they are
    chosen: NDArray[np.bool_]  # bool [D, R, L], words to guess
    hidden: NDArray[np.bool_] | None  # bool [D, R], blocks to guess; None with "wp"

    @classmethod
    def of(
        cls, rows: IntArray, vocabulary: MaskingVocabulary, objective: str, generator: np.random.Generator
    ) -> MaskedBatch:
        """Hide words, and blocks with "wp+sp", of documents int64 [D, R, L]."""
        shown, chosen = mask_words(rows.reshape(-1, rows.shape[-1]), vocabulary, generator)
        hidden = draw_blocks((rows != 0).any(2), generator) if objective == "wp+sp" else None
        return cls(shown.reshape(rows.shape), rows, chosen.reshape(rows.shape), hidden)


def pretrain_blocks(
    network: Smith, documents: Sequence[Rows], vocabulary: MaskingVocabulary, options: Pretraining
) -> NDArray[np.float64]:
    """Train `network` in place, and leave it in evaluation mode; the heads for guessing are dropped.

    Args:
        network: with random or with pretrained weights.
        documents: packed as "blocks"; their labels are not needed.
        vocabulary: of the tokenizer that packed them.
        options: of the run; "wp" leaves the document Transformer as it is.

    Returns:
        Mean loss of masked words and of masked blocks in each epoch, [epochs, 2]; zeros for blocks with "wp".
    """
    torch.manual_seed(options.seed)
    generator = np.random.default_rng(options.seed)
    heads = SmithPretraining(network).to(options.device).train()

    def losses(part: IntArray) -> PretrainingLosses:
        rows = stack([documents[int(number)] for number in part]).ids.astype(np.int64)
        batch = MaskedBatch.of(rows, vocabulary, options.objective, generator)
        tensors = [None if array is None else torch.from_numpy(array).to(options.device) for array in batch]
        with options.autocast:
            pair: PretrainingLosses = heads(*tensors)
        return pair

    per_epoch = -(-len(documents) // options.batch_size)
    means = train_unlabelled(heads, len(documents), per_epoch, options, losses, generator)
    network.eval()
    return means
