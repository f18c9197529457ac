"""The first tokens of a text through one BERT: MatchBERT (Yang et al. 2020), S-BERT (Reimers & Gurevych 2019).

It may first learn from positive pairs made of unlabelled documents, LA(SER)³ (Xiao et al. 2023):

    simcse            S, S            two dropout masks (SimCSE, Gao et al. 2021)
    self-reference    S, f(S, m)      in place of SimCSE's positive
    intra-reference   f(S, m), rest   the rest of the document

S is the first sentence of a document, and f(S, m) repeats it m times.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from colde_cli.documents.chunking import TextTokenizer, special_token
from colde_cli.encoder.layout import ModelConfig, SystemConfig
from colde_cli.encoder.packing import SPECIALS, Rows, read_sentences, stack
from colde_cli.errors import DataError
from colde_cli.learning.colde import ChunkEncoder
from colde_cli.learning.losses import info_nce
from colde_cli.systems.base import Attention, Pretraining, System, train_unlabelled

IntArray = NDArray[np.int64]
Sentences = tuple[IntArray, IntArray]
"""Word pieces of a document's first sentence, and of the rest."""

OBJECTIVES = ("simcse", "self-reference", "intra-reference")
_LONGEST = 256  # L_max: most tokens of a repeated text, the model's two included
_SENTENCES = 512


class SBert(System):
    """BERT over one row, pooled, at unit length; a chunk of CoLDE without all that CoLDE adds."""

    packing, start, row_tokens, rate = "flat", "bert", 512, 2e-5
    sizes: ClassVar[Mapping[str, Any]] = {"pool": "mean"}
    pretraining = OBJECTIVES
    pretraining_batch, pretraining_rate = 64, 3e-5  # the paper's

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

    def pretrain(self, documents: Sequence[tuple[str, Rows]], tokenizer: TextTokenizer, options: Pretraining) -> None:
        """See `System`: LA(SER)³."""
        pretrain_pairs(self, [text for text, _ in documents], tokenizer, self.row_limit, options)

    def forward(self, rows: Tensor, paragraphs: Tensor | None = None) -> Tensor:
        """Vectors [D, H] of texts: rows int64 [D, 1, L]; paragraphs are not read."""
        ids = rows[:, 0]
        return functional.normalize(self.encoder(ids, (ids != 0).long()), dim=-1)


class MatchBert(SBert):
    """The same with BERT's pooled output, over half as many tokens."""

    row_tokens = 256
    sizes: ClassVar[Mapping[str, Any]] = {"pool": "pooler"}


def split_sentences(text: str, tokenizer: TextTokenizer) -> Sentences | None:
    """The first sentence of a text and the rest of its first 512; None if it has no word piece."""
    pieces = [sentence.pieces for sentence in islice(read_sentences(text, tokenizer), _SENTENCES)]
    if not pieces:
        return None
    return np.array(pieces[0], np.int64), np.array([piece for others in pieces[1:] for piece in others], np.int64)


def make_pair(document: Sentences, objective: str, capacity: int, generator: np.random.Generator) -> Sentences:
    """Anchor and positive of one document, at most `capacity` word pieces each, without specials."""
    sentence, rest = document
    kept = sentence[:capacity]
    if objective == "simcse":
        return kept, kept
    # m ~ U{1..⌊capacity / n⌋}
    repeated = np.tile(kept, int(generator.integers(1, capacity // len(kept), endpoint=True)))
    if objective == "self-reference":
        return kept, repeated
    # Where nothing is left, the sentence is its own positive.
    return repeated, (rest if len(rest) else sentence)[:capacity]


def pretrain_pairs(
    network: nn.Module, texts: Sequence[str], tokenizer: TextTokenizer, row_tokens: int, options: Pretraining
) -> list[float]:
    """Train a network over one row of word pieces in place, and leave it in evaluation mode.

    Returns:
        The mean loss of each epoch.

    Raises:
        DataError: fewer than two documents have words; an anchor alone in its batch has no negative.
    """
    documents = [split for text in texts if (split := split_sentences(text, tokenizer)) is not None]
    if len(documents) < 2:
        raise DataError("pretrain needs two training documents at least.")
    capacity = min(_LONGEST, row_tokens) - SPECIALS
    first, last = special_token(tokenizer, "[CLS]"), special_token(tokenizer, "[SEP]")
    torch.manual_seed(options.seed)
    generator = np.random.default_rng(options.seed)
    network.to(options.device).train()

    def vectors(side: Sequence[IntArray]) -> Tensor:
        """Each side is as wide as its longest row, and has a dropout mask of its own."""
        rows = stack([Rows.of([[first, *pieces.tolist(), last]]) for pieces in side]).ids
        with options.autocast:
            ids = torch.from_numpy(rows.astype(np.int64)).to(options.device)
            made: Tensor = network(ids, torch.zeros_like(ids[:, :, 0]))
        return made

    def losses(part: IntArray) -> list[Tensor]:
        pairs = [make_pair(documents[number], options.objective, capacity, generator) for number in part]
        anchors, positives = (vectors(side) for side in zip(*pairs, strict=True))
        return [info_nce(anchors, positives)]

    # Of about equal size: a last batch of a few documents would have hardly any negatives.
    per_epoch = min(-(-len(documents) // options.batch_size), len(documents) // 2)
    means = train_unlabelled(network, len(documents), per_epoch, options, losses, generator)
    network.eval()
    return [float(mean) for mean in means[:, 0]]
