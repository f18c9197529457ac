"""SMITH's pre-training: guess hidden words and hidden sentence blocks of unlabelled documents (Yang et al. 2020)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray

from colde_cli.documents.chunking import TextTokenizer
from colde_cli.encoder.towers.packing import Rows, stack
from colde_cli.errors import OptionError
from colde_cli.learning.loop import Optimiser
from colde_cli.learning.networks.smith import PretrainingLosses, Smith, SmithPretraining

IntArray = NDArray[np.int64]
Told = Callable[[dict[str, float]], None]
"""Called with the figures of every step, by name."""


Pretraining = Literal["wp", "wp+sp"]


SHARE = 0.15
"""Share of a block's word pieces that is hidden."""
_MASKED, _RANDOM = 0.8, 0.1
BLOCKS = 2
"""Number of hidden blocks of a document (the paper's m)."""


@dataclass(frozen=True, slots=True)
class PretrainingRecipe:
    """The options of pre-training; the defaults are the paper's, where it has one.

    Attributes:
        objective: masked words alone, which leaves the document Transformer as it is, or with masked blocks.
        epochs: passes over the documents.
        batch_size: documents in a batch; the hidden blocks of a batch are each other's alternatives.
        learning_rate: AdamW's peak.
        weight_decay: AdamW's, decoupled.
        hidden_blocks: of a document.
        hidden_words: share of the words of a block.
        precision: "fp32" or "bf16" (autocast).
        seed: of batches, masks and the heads.
    """

    objective: Pretraining = "wp+sp"
    epochs: int = 1
    batch_size: int = 32
    learning_rate: float = 5e-5
    weight_decay: float = 0.01
    hidden_blocks: int = BLOCKS
    hidden_words: float = SHARE
    precision: Literal["fp32", "bf16"] = "fp32"
    seed: int = 0

    def steps(self, documents: int) -> int:
        """Number of batches in all epochs of `documents` documents each."""
        return self.epochs * -(-documents // self.batch_size)


@dataclass(frozen=True, slots=True)
class Pretrained:
    """How pre-training went.

    Attributes:
        steps: batches in all.
        words: mean loss of the masked words in each epoch.
        blocks: mean loss of the masked blocks in each epoch; zeros with "wp".
    """

    steps: int
    words: tuple[float, ...]
    blocks: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class MaskingVocabulary:
    """The token ids that masking chooses from.

    Attributes:
        size: number of token ids.
        mask: id of [MASK].
        specials: ids that are never hidden and never drawn, padding (0) and [MASK] among them.
    """

    size: int
    mask: int
    specials: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class MaskedRows:
    """Blocks with some words hidden.

    Attributes:
        rows: int64 [B, L], as the network reads them.
        chosen: bool [B, L], the positions to guess; a tenth of them still show their word.
    """

    rows: IntArray
    chosen: NDArray[np.bool_]


def mask_words(
    rows: IntArray, vocabulary: MaskingVocabulary, rng: np.random.Generator, share: float = SHARE
) -> MaskedRows:
    """Choose 15 % of each block's words, at least one; of these 80 % become [MASK], 10 % another word, 10 % stay.

    Args:
        rows: int64 [B, L], 0 is padding.
        vocabulary: of the tokenizer that made them.
        rng: source of the choice.
        share: of the words of a block; their number is rounded to the nearest.
    """
    ordinary = ~np.isin(rows, vocabulary.specials)
    counts = ordinary.sum(1)
    wanted = np.where(counts > 0, np.maximum(1, np.rint(share * counts)), 0)
    # A random order of each block's words, everything else behind them; the first ones are chosen.
    order = np.where(ordinary, rng.random(rows.shape), 2.0).argsort(1).argsort(1)
    chosen = order < wanted[:, None]
    fate = rng.random(rows.shape)
    words = np.setdiff1d(np.arange(vocabulary.size), vocabulary.specials)
    shown = np.where(chosen & (fate < _MASKED), vocabulary.mask, rows)
    swapped = chosen & (fate >= _MASKED) & (fate < _MASKED + _RANDOM)
    shown = np.where(swapped, rng.choice(words, rows.shape), shown)
    return MaskedRows(shown.astype(np.int64), chosen)


def draw_blocks(
    present: NDArray[np.bool_], rng: np.random.Generator, number: int = BLOCKS
) -> NDArray[np.bool_]:
    """Choose blocks to hide among those that exist; at least one of a document stays visible.

    SMITH's public code draws from all slots, so that in short documents most of what it hides is padding.

    Args:
        present: bool [D, R], where a document has a block.
        rng: source of the choice.
        number: hidden blocks of a document that has more.

    Returns:
        bool [D, R].
    """
    wanted = np.clip(present.sum(1) - 1, 0, number)
    order = np.where(present, rng.random(present.shape), 2.0).argsort(1).argsort(1)
    chosen: NDArray[np.bool_] = order < wanted[:, None]
    return chosen


def masking_vocabulary(tokenizer: TextTokenizer, size: int) -> MaskingVocabulary:
    """Read the token ids for masking from a tokenizer of `size` ids.

    Raises:
        OptionError: it has no [MASK].
    """
    mask = tokenizer.token_to_id("[MASK]")
    if mask is None:
        raise OptionError("--pretrain needs a tokenizer with the token [MASK]; take a backbone that has one.")
    named = (tokenizer.token_to_id(token) for token in ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"))
    return MaskingVocabulary(
        size, mask, tuple(sorted({0, *(number for number in named if number is not None)}))
    )


def pretrain(
    network: Smith,
    documents: Sequence[Rows],
    vocabulary: MaskingVocabulary,
    recipe: PretrainingRecipe,
    device: torch.device,
    told: Told = lambda values: None,
) -> Pretrained:
    """Train `network` in place, and leave it in evaluation mode; the heads for guessing are dropped.

    Args:
        network: with random or with pretrained weights.
        documents: packed as "blocks"; their labels are not needed.
        vocabulary: of the tokenizer that packed them.
        recipe: options.
        device: to train on.
        told: called with step, losses, learning rate and gradient norm.

    Raises:
        ValueError: there is no document, or no epoch.
    """
    if not documents or recipe.epochs < 1:
        raise ValueError("pre-training needs documents and at least one epoch")
    torch.manual_seed(recipe.seed)
    rng = np.random.default_rng(recipe.seed)
    heads = SmithPretraining(network).to(device).train()
    steps = recipe.steps(len(documents))
    per_epoch = steps // recipe.epochs
    optimiser = Optimiser(heads, steps, recipe.learning_rate, recipe.weight_decay, eps=1e-6)
    found: list[tuple[float, float]] = []
    for _ in range(recipe.epochs):
        for part in np.array_split(rng.permutation(len(documents)), per_epoch):
            batch = stack([documents[int(number)] for number in part]).ids.astype(np.int64)
            losses = _losses(heads, masked_batch(batch, vocabulary, recipe, rng), recipe, device)
            (losses.words + losses.blocks).backward()  # type: ignore[no-untyped-call]
            found.append((losses.words.item(), losses.blocks.item()))
            values = dict(zip(PretrainingLosses._fields, found[-1], strict=True))
            told({"step": len(found), **values, **optimiser.step()})
    network.eval()
    words, blocks = np.array(found).reshape(recipe.epochs, per_epoch, 2).mean(1).T.tolist()
    return Pretrained(steps, tuple(words), tuple(blocks))


@dataclass(frozen=True, slots=True, eq=False)
class MaskedBatch:
    """D documents with words, and perhaps blocks, to guess.

    Attributes:
        shown: int64 [D, R, L], as the network reads them.
        rows: int64 [D, R, L], as they are.
        chosen: bool [D, R, L], words to guess.
        hidden: bool [D, R], blocks to guess; None with "wp".
    """

    shown: IntArray
    rows: IntArray
    chosen: NDArray[np.bool_]
    hidden: NDArray[np.bool_] | None


def masked_batch(
    rows: IntArray, vocabulary: MaskingVocabulary, recipe: PretrainingRecipe, rng: np.random.Generator
) -> MaskedBatch:
    """Hide words, and blocks if the recipe says so, of documents int64 [D, R, L]."""
    masked = mask_words(rows.reshape(-1, rows.shape[-1]), vocabulary, rng, recipe.hidden_words)
    hidden = None
    if recipe.objective == "wp+sp":
        hidden = draw_blocks((rows != 0).any(2), rng, recipe.hidden_blocks)
    return MaskedBatch(masked.rows.reshape(rows.shape), rows, masked.chosen.reshape(rows.shape), hidden)


def _losses(
    heads: SmithPretraining, batch: MaskedBatch, recipe: PretrainingRecipe, device: torch.device
) -> PretrainingLosses:
    arrays = (batch.shown, batch.rows, batch.chosen, batch.hidden)
    tensors = [None if array is None else torch.from_numpy(array).to(device) for array in arrays]
    with torch.autocast(device.type, torch.bfloat16, enabled=recipe.precision == "bf16"):
        found: PretrainingLosses = heads(*tensors)
    return found
