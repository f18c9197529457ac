"""Positive pairs out of unlabelled documents: LA(SER)³'s objectives, their bases, and both together.

    simcse                     S, S                      two dropout masks
    two-spans                  u, v                      two spans of a document
    self-reference             S, f(S, m)                in place of SimCSE's positive
    intra-reference            f(a, m), the rest         a is a sentence
    self-reference+two-spans   f(u, m), v                in place of the anchor
    intra-reference+two-spans  f(a, m), v                a is the first sentence of u

S and a are the first sentence of a document, or a random one, as in the paper's ablation. The last two are our
reading of the paper's plug-in for COCO-DR, which says only that the anchor is replaced.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from colde_cli.documents.chunking import TextTokenizer, special_token
from colde_cli.encoder.towers.packing_blocks import SPECIALS, read_sentences
from colde_cli.encoder.towers.rows import Rows, stack
from colde_cli.learning.objectives.intra_reference import intra_reference
from colde_cli.learning.objectives.self_reference import Pair, Repeat, elongate, self_reference, simcse
from colde_cli.learning.objectives.two_spans import two_spans

IntArray = NDArray[np.int64]
Objective = Literal[
    "simcse",
    "two-spans",
    "self-reference",
    "intra-reference",
    "self-reference+two-spans",
    "intra-reference+two-spans",
]
OBJECTIVES: tuple[Objective, ...] = get_args(Objective)


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
        objective: what they teach.
        row_tokens: L_max, specials included.
        anchor: which sentence S and a are.
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


def split_sentences(text: str, tokenizer: TextTokenizer, most: int = 512) -> Sentences | None:
    """A text as word pieces of its first `most` sentences; None if it has no word piece."""
    found = [sentence.pieces for sentence in islice(read_sentences(text, tokenizer), most)]
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


def pair_rows(
    documents: Sequence[Sentences], options: PairOptions, specials: tuple[int, int], rng: np.random.Generator
) -> tuple[IntArray, IntArray]:
    """What the network reads of a batch of N documents: anchors int64 [N, 1, L], positives int64 [N, 1, L'].

    Each side is as wide as its longest row: sentences are not padded to the length of what they are paired with.

    Args:
        documents: of the batch.
        options: how pairs are made.
        specials: ids of [CLS] and [SEP], which every row gets once, after it was elongated.
        rng: of everything random.
    """
    pairs = [make_pair(document, options, rng) for document in documents]
    return _rows([anchor for anchor, _ in pairs], specials), _rows([other for _, other in pairs], specials)


def _rows(side: Sequence[IntArray], specials: tuple[int, int]) -> IntArray:
    first, last = specials
    return stack([Rows.of([[first, *pieces.tolist(), last]]) for pieces in side]).ids.astype(np.int64)


def specials_of(tokenizer: TextTokenizer) -> tuple[int, int]:
    """Ids of [CLS] and [SEP]."""
    return special_token(tokenizer, "[CLS]"), special_token(tokenizer, "[SEP]")
