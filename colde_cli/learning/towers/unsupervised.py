"""Train on positive pairs made from unlabelled documents: LA(SER)³'s objectives, their bases, and combinations.

    simcse                     S, S                      two dropout masks
    two-spans                  u, v                      two spans of a document
    self-reference             S, f(S, m)                in place of SimCSE's positive
    intra-reference            f(a, m), the rest         a is a sentence
    self-reference+two-spans   f(u, m), v                in place of the anchor
    intra-reference+two-spans  f(a, m), v                a is the first sentence of u

f(S, m) repeats S m times. S and a are the first sentence of a document, or a random one, as in the paper's ablation.
The last two are our reading of the paper's plug-in for COCO-DR; the paper only says that it replaces the anchor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from colde_cli.documents.chunking import TextTokenizer, special_token
from colde_cli.encoder.towers.packing import SPECIALS, Rows, read_sentences, stack
from colde_cli.learning.augmentation import draw_times
from colde_cli.learning.loop import Optimiser
from colde_cli.learning.losses import TEMPERATURE, info_nce
from colde_cli.learning.towers.pretraining import Told

IntArray = NDArray[np.int64]
Pair = tuple[IntArray, IntArray]
"""Word pieces of anchor and positive, without specials."""
Repeat = Literal["random", "twice"]
Objective = Literal[
    "simcse",
    "two-spans",
    "self-reference",
    "intra-reference",
    "self-reference+two-spans",
    "intra-reference+two-spans",
]


@dataclass(frozen=True, slots=True, eq=False)
class Sentences:
    """A document as word pieces.

    Attributes:
        pieces: int64 [n], without specials, at least one.
        starts: int64 [s], where sentences begin; the first is 0.
    """

    pieces: IntArray
    starts: IntArray

    def sentence(self, number: int) -> IntArray:
        """Word pieces of a sentence."""
        end = self.starts[number + 1] if number + 1 < len(self.starts) else len(self.pieces)
        return self.pieces[self.starts[number] : end]

    def without(self, number: int) -> IntArray:
        """Word pieces of everything but a sentence."""
        start = self.starts[number]
        return np.concatenate([self.pieces[:start], self.pieces[start + len(self.sentence(number)) :]])


@dataclass(frozen=True, slots=True)
class PairOptions:
    """How pairs are made.

    Attributes:
        row_tokens: L_max, specials included.
        anchor: the sentence that S and a are.
        repeat: how m is drawn.
    """

    objective: Objective = "self-reference"
    row_tokens: int = 256
    anchor: Literal["first", "random"] = "first"
    repeat: Repeat = "random"

    @property
    def capacity(self) -> int:
        """Word pieces of a row."""
        return self.row_tokens - SPECIALS


def split_sentences(text: str, tokenizer: TextTokenizer, limit: int = 512) -> Sentences | None:
    """A text as word pieces of its first `limit` sentences; None if it has no word piece."""
    found = [sentence.pieces for sentence in islice(read_sentences(text, tokenizer), limit)]
    if not found:
        return None
    starts = np.cumsum([0, *(len(pieces) for pieces in found[:-1])])
    return Sentences(
        np.concatenate([np.array(pieces, np.int64) for pieces in found]), starts.astype(np.int64)
    )


def make_pair(document: Sentences, options: PairOptions, rng: np.random.Generator) -> Pair:
    """Anchor and positive of one document, at most `options.capacity` word pieces each."""
    if options.objective.endswith("two-spans"):
        return _of_spans(document, options, rng)
    number = 0 if options.anchor == "first" else int(rng.integers(len(document.starts)))
    sentence = document.sentence(number)
    if options.objective == "intra-reference":
        return intra_reference(sentence, document.without(number), options.capacity, rng, options.repeat)
    if options.objective == "self-reference":
        return self_reference(sentence, options.capacity, rng, options.repeat)
    return simcse(sentence, options.capacity)


def _of_spans(document: Sentences, options: PairOptions, rng: np.random.Generator) -> Pair:
    u, v = two_spans(len(document.pieces), document.starts, options.capacity, rng)
    anchor, positive = document.pieces[u], document.pieces[v]
    if options.objective == "two-spans":
        return anchor, positive
    if options.objective == "intra-reference+two-spans":
        later = document.starts[document.starts > u.start]
        anchor = document.pieces[u.start : min([u.stop, *later[:1].tolist()])]
    return elongate(anchor, options.capacity, rng, options.repeat), positive


def elongate(
    pieces: IntArray, capacity: int, rng: np.random.Generator, repeat: Repeat = "random"
) -> IntArray:
    """f(S, m): word pieces [n], cut to the capacity, in order, m times over: [m * n].

    Args:
        pieces: at least one, without specials: those are added once, after this.
        capacity: L_max - n_special; never exceeded.
        rng: source of m.
        repeat: m ~ U{1..⌊capacity / n⌋}, or always 2 where that fits (the paper's weaker variant).
    """
    kept = pieces[:capacity]
    bound = capacity // len(kept)
    times = min(2, bound) if repeat == "twice" else draw_times(len(kept), capacity, rng)
    return np.tile(kept, times)


def self_reference(
    pieces: IntArray, capacity: int, rng: np.random.Generator, repeat: Repeat = "random"
) -> Pair:
    """Anchor S, positive f(S, m)."""
    return pieces[:capacity], elongate(pieces, capacity, rng, repeat)


def simcse(pieces: IntArray, capacity: int) -> Pair:
    """Anchor S, positive S, to which another dropout mask gives another vector (SimCSE, Gao et al. 2021)."""
    return pieces[:capacity], pieces[:capacity]


def intra_reference(
    sentence: IntArray, rest: IntArray, capacity: int, rng: np.random.Generator, repeat: Repeat = "random"
) -> Pair:
    """Anchor f(a, m) for the sentence a, positive the beginning of the rest of the document.

    Args:
        sentence: word pieces of a, at least one.
        rest: of the document without a; where nothing is left, the sentence is its own positive.
        capacity: L_max - n_special.
        rng: source of m.
        repeat: how m is drawn.
    """
    positive = rest if len(rest) else sentence
    return elongate(sentence, capacity, rng, repeat), positive[:capacity]


def two_spans(length: int, starts: IntArray, capacity: int, rng: np.random.Generator) -> tuple[slice, slice]:
    """Two runs of text that begin with two different sentences drawn at random, and do not overlap.

    Args:
        length: word pieces of the document, at least 1.
        starts: int64 [s], where its sentences begin; a document of one sentence is cut in its middle.
        capacity: L_max - n_special.
        rng: source of the choice.

    Returns:
        Anchor and positive, either of which may come first in the document; both are the whole of a document
        of one word piece.
    """
    if length < 2:
        return slice(0, length), slice(0, length)
    places = starts if len(starts) > 1 else np.array([0, length // 2])
    first, second = np.sort(rng.choice(places, 2, replace=False)).tolist()
    spans = slice(first, min(second, first + capacity)), slice(second, min(length, second + capacity))
    return spans if rng.random() < 0.5 else (spans[1], spans[0])


def pair_rows(
    documents: Sequence[Sentences], options: PairOptions, specials: tuple[int, int], rng: np.random.Generator
) -> tuple[IntArray, IntArray]:
    """Make the rows of a batch of N documents: anchors int64 [N, 1, L], positives int64 [N, 1, L'].

    Each side is as wide as its longest row: sentences are not padded to the length of their partners.

    Args:
        documents: of the batch.
        options: how pairs are made.
        specials: ids of [CLS] and [SEP], which every row gets once, after it was elongated.
        rng: source of all random choices.
    """
    pairs = [make_pair(document, options, rng) for document in documents]
    return _rows([anchor for anchor, _ in pairs], specials), _rows([other for _, other in pairs], specials)


def _rows(side: Sequence[IntArray], specials: tuple[int, int]) -> IntArray:
    first, last = specials
    return stack([Rows.of([[first, *pieces.tolist(), last]]) for pieces in side]).ids.astype(np.int64)


def specials_of(tokenizer: TextTokenizer) -> tuple[int, int]:
    """Ids of [CLS] and [SEP]."""
    return special_token(tokenizer, "[CLS]"), special_token(tokenizer, "[SEP]")


@dataclass(frozen=True, slots=True)
class UnsupervisedRecipe:
    """The options of a run; the defaults are the paper's.

    Attributes:
        pairs: the objective, and how its pairs are made.
        epochs: passes over the documents.
        batch_size: documents in a batch, whose positives are each other's negatives.
        learning_rate: AdamW's peak.
        weight_decay: AdamW's, decoupled.
        temperature: τ of InfoNCE.
        precision: "fp32" or "bf16" (autocast).
        seed: of batches, pairs and dropout.
    """

    pairs: PairOptions = field(default_factory=PairOptions)
    epochs: int = 1
    batch_size: int = 64
    learning_rate: float = 3e-5
    weight_decay: float = 0.01
    temperature: float = TEMPERATURE
    precision: Literal["fp32", "bf16"] = "fp32"
    seed: int = 0


def train_unsupervised(
    network: nn.Module,
    documents: Sequence[Sentences],
    specials: tuple[int, int],
    recipe: UnsupervisedRecipe,
    device: torch.device,
    told: Told = lambda values: None,
) -> tuple[float, ...]:
    """Train `network` in place, and leave it in evaluation mode.

    Args:
        network: any tower that reads one row of word pieces, with its pretrained weights.
        documents: at least two; an anchor alone in its batch has no negative.
        specials: ids of [CLS] and [SEP].
        recipe: options.
        device: to train on.
        told: called with step, loss, learning rate and gradient norm.

    Returns:
        The mean loss of each epoch.

    Raises:
        ValueError: fewer than two documents, or no epoch.
    """
    if len(documents) < 2 or recipe.epochs < 1:
        raise ValueError("unsupervised training needs two documents and one epoch at least")
    torch.manual_seed(recipe.seed)
    rng = np.random.default_rng(recipe.seed)
    network.to(device).train()
    # Of about equal size: a last batch of a few documents would have hardly any negatives.
    per_epoch = min(-(-len(documents) // recipe.batch_size), len(documents) // 2)
    steps = per_epoch * recipe.epochs
    optimiser = Optimiser(network, steps, recipe.learning_rate, recipe.weight_decay, eps=1e-6)
    losses: list[float] = []
    for _ in range(recipe.epochs):
        for part in np.array_split(rng.permutation(len(documents)), per_epoch):
            batch = [documents[int(number)] for number in part]
            rows = pair_rows(batch, recipe.pairs, specials, rng)
            anchors, positives = (torch.from_numpy(side).to(device) for side in rows)
            loss = pair_loss(network, anchors, positives, recipe)
            loss.backward()  # type: ignore[no-untyped-call]
            losses.append(loss.item())
            told({"step": len(losses), "loss": losses[-1], **optimiser.step()})
    network.eval()
    return tuple(np.reshape(losses, (recipe.epochs, per_epoch)).mean(1).tolist())


def pair_loss(network: nn.Module, anchors: Tensor, positives: Tensor, recipe: UnsupervisedRecipe) -> Tensor:
    """InfoNCE of rows int64 [N, 1, L] and [N, 1, L']; each side has a dropout mask of its own."""
    with torch.autocast(anchors.device.type, torch.bfloat16, enabled=recipe.precision == "bf16"):
        vectors = [network(rows, torch.zeros_like(rows[:, :, 0])) for rows in (anchors, positives)]
    return info_nce(vectors[0], vectors[1], recipe.temperature)
