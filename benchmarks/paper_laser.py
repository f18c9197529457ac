"""Measure LA(SER)³'s Figures 1 to 4: pairs of repeated sentences in one chunk.

    python benchmarks/paper_laser.py FOLDER... [--pairs 50] [--checkpoint NAME=BACKBONE...]

The paper repeats sentences of STS-b. Here a sentence of 10 to 20 words is drawn from each document of test pairs,
related and unrelated ones by turns, and repeated m times in one text (at most 510 tokens). Per set, checkpoint and m:

    related, unrelated   mean cosine of the two sentences of a pair, both repeated m times (Figures 1 and 2)
    one side             the same of related pairs, the first sentence alone repeated
    intra                mean cosine of a text's tokens and their mean, minus the baseline (Figure 3)
    anisotropy           mean cosine of texts of different documents (Figure 4)
    baseline             mean cosine of random tokens of different texts, not repeated: one for all m

The paper compares a checkpoint as it was pre-trained with one after contrastive training: give both, for example
`--checkpoint vanilla=nreimers/MiniLM-L6-H384-uncased tuned=sentence-transformers/all-MiniLM-L6-v2`. Without
`--checkpoint` it is the shipped model's backbone, which was trained contrastively.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from paper_tables import RUNS, write_table
from script import arguments

from colde_cli import settings
from colde_cli.documents.chunking import plain_tokenizer, sentence_starts, special_token
from colde_cli.evaluation.data import LabelledPair, read_data, read_pairs
from colde_cli.learning.backbone import Backbone, load_backbone
from colde_cli.learning.colde import ChunkEncoder
from colde_cli.learning.colde_training import model_config
from colde_cli.learning.recipe import Recipe

TIMES = (1, 2, 4, 8, 16, 100)
WORDS = (10, 20)
_ROOM = 510

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]


def anisotropy(vectors: ArrayLike) -> float:
    """Mean cosine of all pairs of different rows [N, D]; the paper estimates it from random pairs.

    It is about 0 in a space without a common direction, 1 where all vectors point the same way.

    Raises:
        ValueError: fewer than two vectors, or one of length zero.
    """
    units = _units(vectors)
    count = len(units)
    if count < 2:
        raise ValueError("anisotropy needs at least two vectors")
    # Σ_i Σ_j u_i·u_j = |Σ u|², of which the N products of a vector with itself are 1 each.
    total = units.sum(0)
    return float((total @ total - count) / (count * (count - 1)))


def part_similarity(parts: ArrayLike, document: ArrayLike) -> float:
    """Mean cosine between the parts of a document [n, D] (tokens or chunks) and its own vector [D].

    Raises:
        ValueError: no part, or a vector of length zero.
    """
    units, whole = _units(parts), _units(np.asarray(document)[None])
    if not len(units):
        raise ValueError("a document needs at least one part")
    return float((units @ whole[0]).mean())


def intra_document_similarity(parts: Sequence[ArrayLike], documents: ArrayLike, baseline: float) -> float:
    """Mean over documents of `part_similarity`, minus the anisotropy of random parts.

    Args:
        parts: for each of N documents [n_i, D].
        documents: [N, D]; usually the mean of the parts.
        baseline: mean cosine of random parts of different documents. Use one for all lengths of a text, or the figure
            shows two changes at once.

    Raises:
        ValueError: numbers of documents differ, a document has no part, or a vector has length zero.
    """
    wholes = np.asarray(documents, np.float64)
    similarities = [part_similarity(rows, whole) for rows, whole in zip(parts, wholes, strict=True)]
    return float(np.mean(similarities)) - baseline


def token_anisotropy(texts: Sequence[Floats], draws: int = 20, seed: int = 0) -> float:
    """Mean cosine of random tokens of different texts: one token of each text [L_i, D], drawn several times."""
    generator = np.random.default_rng(seed)
    drawn = [[rows[generator.integers(len(rows))] for rows in texts] for _ in range(draws)]
    return float(np.mean([anisotropy(tokens) for tokens in drawn]))


def _units(vectors: ArrayLike) -> Doubles:
    rows = np.asarray(vectors, np.float64)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    if not lengths.all():
        raise ValueError("a vector of length zero has no direction")
    units: Doubles = rows / lengths
    return units


@dataclass(frozen=True, slots=True)
class SentencePair:
    """A sentence of each document of a pair."""

    first: str
    second: str
    related: bool


def draw_sentence(text: str, generator: random.Random) -> str | None:
    """Draw a sentence of 10 to 20 words; None if there is none."""
    bounds = [*sentence_starts(text), len(text)]
    sentences = [text[a:b].strip() for a, b in pairwise(bounds)]
    fitting = [item for item in sentences if WORDS[0] <= len(item.split()) <= WORDS[1]]
    return generator.choice(fitting) if fitting else None


def draw_pairs(pairs: Sequence[LabelledPair], texts: Mapping[str, str], count: int) -> list[SentencePair]:
    """Draw sentences for the first `count` pairs of which both documents have one; no document twice."""
    generator, used = random.Random(0), set[str]()
    found: list[SentencePair] = []
    for pair in pairs:
        drawn = [draw_sentence(texts[name], generator) for name in (pair.a, pair.b)]
        if len(found) == count or None in drawn or {pair.a, pair.b} & used:
            continue
        used |= {pair.a, pair.b}
        found.append(SentencePair(drawn[0] or "", drawn[1] or "", pair.related))
    return found


def elongated(ids: Sequence[int], times: int) -> list[int]:
    """Repeat the tokens of a text, at most as often as a chunk has room; without special tokens."""
    return list(ids) * max(1, min(times, _ROOM // len(ids)))


class Checkpoint:
    """A BERT whose token states are looked at."""

    def __init__(self, name: str, backbone: Backbone) -> None:
        self.name = name
        self.encoder = ChunkEncoder(model_config(Recipe(), backbone))
        self.encoder.load_bert(backbone.weights)
        self.encoder.eval()
        self.tokenizer = plain_tokenizer(backbone.tokenizer)

    def states(self, sentence: str, times: int) -> tuple[Floats, bool]:
        """Token states [L, H] of a sentence m times over, and whether all repetitions fit."""
        first, last = (special_token(self.tokenizer, name) for name in ("[CLS]", "[SEP]"))
        ids = self.tokenizer.encode(sentence, add_special_tokens=False).ids
        longer = elongated(ids, times)
        with torch.no_grad():
            found = self.encoder.bert(input_ids=torch.tensor([[first, *longer, last]])).last_hidden_state[0]
        return np.asarray(found.numpy()), len(longer) == times * len(ids)


@dataclass(frozen=True, slots=True)
class Repeated:
    """Sentences of pairs, m times over, in one checkpoint.

    Attributes:
        tokens: states of each text, first sentences before second ones, [L_i, H].
        vectors: their means, of unit length, [2 P, H].
        reached: share of the texts that hold all m repetitions.
    """

    tokens: list[Floats]
    vectors: Doubles
    reached: float

    @property
    def sides(self) -> tuple[Doubles, Doubles]:
        """The vectors of the first and of the second sentences, [P, H] each."""
        half = len(self.vectors) // 2
        return self.vectors[:half], self.vectors[half:]


def repeat(checkpoint: Checkpoint, pairs: Sequence[SentencePair], times: int) -> Repeated:
    """Encode the sentences of all pairs, m times over."""
    sentences = [pair.first for pair in pairs] + [pair.second for pair in pairs]
    tokens, fits = zip(*(checkpoint.states(sentence, times) for sentence in sentences), strict=True)
    vectors = _units(np.stack([item.mean(axis=0) for item in tokens]))
    return Repeated(list(tokens), vectors, float(np.mean(fits)))


def sentence_rows(name: str, checkpoint: Checkpoint, pairs: Sequence[SentencePair]) -> list[list[str]]:
    """A row for every m."""
    related = np.array([pair.related for pair in pairs])
    once = repeat(checkpoint, pairs, 1)
    baseline = token_anisotropy(once.tokens)
    rows = []
    for times in TIMES:
        longer = once if times == 1 else repeat(checkpoint, pairs, times)
        both = (longer.sides[0] * longer.sides[1]).sum(axis=1)
        one = (longer.sides[0] * once.sides[1]).sum(axis=1)
        figures = (
            both[related].mean(),
            both[~related].mean(),
            one[related].mean(),
            intra_document_similarity(longer.tokens, longer.vectors, baseline),
            anisotropy(longer.vectors),
            baseline,
        )
        shown = [f"{round(float(value), 3) + 0.0:.3f}" for value in figures]
        rows.append([name, checkpoint.name, f"×{times}", f"{100 * longer.reached:.0f} %", *shown])
    return rows


def balanced(pairs: Sequence[LabelledPair]) -> list[LabelledPair]:
    """Related and unrelated pairs by turns, so that the first ones hold both."""
    sides = [[pair for pair in pairs if pair.related is wanted] for wanted in (True, False)]
    turns = [pair for both in zip(*sides, strict=False) for pair in both]
    return [*turns, *(pair for pair in pairs if pair not in set(turns))]


def set_pairs(folder: Path, count: int) -> list[SentencePair]:
    """Sentences of a set's test pairs."""
    data = read_data([folder / "docs.jsonl.gz"], supervised=False)
    pairs = read_pairs(folder / "pairs.jsonl.gz", data.numbers())
    texts = {item.id: item.document.text for item in data.documents}
    return draw_pairs(balanced([pair for pair in pairs if pair.split == "test"]), texts, count)


SENTENCES = (
    *("set", "checkpoint", "m", "reach it", "related", "unrelated"),
    *("one side", "intra", "anisotropy", "baseline"),
)


def main() -> None:
    """Measure, and write both tables."""
    shipped = [f"tuned={settings.DEFAULT_MODEL}"]
    options = arguments(__doc__, "folders...", pairs=50, checkpoint=shipped)
    named = [text.partition("=") for text in options.checkpoint]
    checkpoints = [Checkpoint(name, load_backbone(place)) for name, _, place in named]
    drawn = {folder.name: set_pairs(folder, options.pairs) for folder in options.folders}
    rows = [
        row
        for name, pairs in drawn.items()
        for checkpoint in checkpoints
        for row in sentence_rows(name, checkpoint, pairs)
    ]
    title = "LA(SER)³, Figures 1 to 4: pairs of sentences m times over"
    write_table(RUNS / "laser-sentences.md", title, SENTENCES, rows)


if __name__ == "__main__":
    main()
