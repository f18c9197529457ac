"""Measure LA(SER)³'s Figures 1 to 4 on frozen MiniLM: repeated sentences in one chunk, and the space of chunks.

    python benchmarks/papers/laser.py FOLDER... [--sentences 200]

Per set, from test documents: sentences of 10 to 20 words, each repeated m times in one text (at most 510 tokens).

    self        cosine of a sentence and itself ×m (Figure 1)
    anisotropy  mean cosine of pairs of sentences, both ×m (Figures 2 and 4; it should not change)
    intra       mean cosine of a text's tokens and their mean, minus that anisotropy (Figure 3)

And for chunk vectors of whole documents: anisotropy of chunks and of documents, and intra-document similarity of
chunks, raw and centred on the mean chunk of the validation documents. Token states come from the PyTorch weights of the
shipped model, chunk vectors from its int8 graph. Anisotropy is taken as in Ethayarajh 2019: repeating a text draws its
token vectors towards each other, and intra-document similarity minus anisotropy tells by how much.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch
from head_runs import open_encoder
from numpy.typing import ArrayLike, NDArray
from paper_data import RUNS, PaperSet, load_set
from reporting import write_table

from colde_cli.documents.chunking import TextTokenizer, sentence_starts
from colde_cli.encoder.cache import Cache
from colde_cli.encoder.encoder import Encoder, open_tokenizer
from colde_cli.encoder.layout import TOKENIZER
from colde_cli.learning.networks.colde import ChunkEncoder, load_colde

TIMES = (1, 2, 4, 8, 16, 100)
WORDS = (10, 20)
_ROOM = 510

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]


def anisotropy(vectors: ArrayLike) -> float:
    """Mean cosine of all pairs of different rows; the paper estimates it from random pairs.

    Args:
        vectors: [N, D], N at least 2, of random texts or parts of texts; none of length zero.

    Returns:
        About 0 in a space without a common direction, 1 where all vectors point the same way.

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


def intra_document_similarity(
    parts: Sequence[ArrayLike], documents: ArrayLike, baseline: float | None = None
) -> float:
    """Mean over documents of `part_similarity`, minus anisotropy.

    Args:
        parts: for each of N documents [n_i, D].
        documents: [N, D]; usually the mean of the parts.
        baseline: the anisotropy to subtract; that of `documents` if None. Use one baseline for all lengths of a text,
            or the figure shows two changes at once.

    Raises:
        ValueError: numbers of documents differ, a document has no part, or a vector has length zero.
    """
    wholes = np.asarray(documents, np.float64)
    if baseline is None:
        baseline = anisotropy(wholes)
    similarities = [part_similarity(rows, whole) for rows, whole in zip(parts, wholes, strict=True)]
    return float(np.mean(similarities)) - baseline


def _units(vectors: ArrayLike) -> Doubles:
    rows = np.asarray(vectors, np.float64)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    if not lengths.all():
        raise ValueError("a vector of length zero has no direction")
    units: Doubles = rows / lengths
    return units


def draw_sentences(texts: Sequence[str], count: int, seed: int = 0) -> list[str]:
    """Draw one sentence of 10 to 20 words from each of `count` random texts."""
    generator = random.Random(seed)
    order = list(texts)
    generator.shuffle(order)
    found = []
    for text in order:
        bounds = [*sentence_starts(text), len(text)]
        sentences = [text[a:b].strip() for a, b in pairwise(bounds)]
        fitting = [item for item in sentences if WORDS[0] <= len(item.split()) <= WORDS[1]]
        if fitting:
            found.append(generator.choice(fitting))
        if len(found) == count:
            break
    return found


def elongated(ids: Sequence[int], times: int) -> list[int]:
    """Repeat the tokens of a text, at most as often as a chunk has room; without special tokens."""
    return list(ids) * max(1, min(times, _ROOM // len(ids)))


def states(encoder: ChunkEncoder, ids: Sequence[int], specials: tuple[int, int]) -> Floats:
    """Token states [L, H] of one text, specials around it."""
    row = torch.tensor([[specials[0], *ids, specials[1]]])
    with torch.no_grad():
        found = encoder.bert(input_ids=row).last_hidden_state[0]
    return np.asarray(found.numpy())


def sentence_rows(
    name: str, encoder: ChunkEncoder, tokenizer: TextTokenizer, sentences: Sequence[str]
) -> list[list[str]]:
    """A row for every m."""
    encoded = [list(tokenizer.encode(text, add_special_tokens=True).ids) for text in sentences]
    specials = (encoded[0][0], encoded[0][-1])
    bare = [ids[1:-1] for ids in encoded]
    rows, first = [], np.zeros(0)
    for times in TIMES:
        tokens = [states(encoder, elongated(ids, times), specials) for ids in bare]
        vectors = np.stack([item.mean(axis=0) for item in tokens])
        units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        first = units if times == 1 else first
        alike = (units * first).sum(axis=1)
        common = anisotropy(vectors)
        inside = intra_document_similarity(tokens, vectors, common)
        reached = np.mean([times <= _ROOM // len(ids) for ids in bare])
        figures = (f"{alike.mean():.3f}", f"{alike.min():.3f}", f"{common:.3f}", f"{inside:.3f}")
        rows.append([name, f"×{times}", f"{100 * reached:.0f} %", *figures])
    return rows


def space_rows(paper_set: PaperSet) -> list[list[str]]:
    """Chunk vectors of test documents, raw and centred."""
    numbers = paper_set.numbers
    held, test = (
        sorted({numbers[name] for pair in paper_set.pairs(split) for name in pair})
        for split in ("validation", "test")
    )
    chunks = [paper_set.vectors[paper_set.store.chunks_of(number)] for number in test]
    centre = np.concatenate([paper_set.vectors[paper_set.store.chunks_of(number)] for number in held]).mean(
        axis=0
    )
    rows = []
    for title, parts in (("raw", chunks), ("centred", [item - centre for item in chunks])):
        means = np.stack([item.mean(axis=0) for item in parts])
        common = anisotropy(np.concatenate(parts))
        inside = intra_document_similarity(parts, means, common)
        figures = (common, anisotropy(means), inside)
        rows.append([paper_set.name, title, *(f"{value:.3f}" for value in figures)])
    return rows


def measure(paper_set: PaperSet, shipped: Encoder, count: int) -> tuple[list[list[str]], list[list[str]]]:
    """The rows of both tables."""
    names = sorted({name for pair in paper_set.pairs("test") for name in pair})
    texts = [paper_set.evaluation_set.documents[name].text for name in names]
    encoder = load_colde(shipped.folder).encoder
    tokenizer = open_tokenizer(shipped.folder.file(TOKENIZER))
    sentences = draw_sentences(texts, count)
    return sentence_rows(paper_set.name, encoder, tokenizer, sentences), space_rows(paper_set)


def main() -> None:
    """Measure, and write both tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--sentences", type=int, default=200)
    options = parser.parse_args()
    short, space = [], []
    with Cache.open() as cache:
        shipped = open_encoder(cache)
        for folder in options.folders:
            # No training documents are looked at, so that none need be encoded.
            some, others = measure(load_set(folder, shipped, 0), shipped, options.sentences)
            short += some
            space += others
    header = ("set", "m", "reach it", "self", "self, lowest", "anisotropy", "intra")
    title = "LA(SER)³, Figures 1 to 4: sentences m times over in frozen MiniLM"
    write_table(RUNS / "laser-sentences.md", title, header, short)
    header = ("set", "chunk vectors", "anisotropy, chunks", "anisotropy, documents", "intra-document")
    title = "Space of frozen MiniLM chunk vectors"
    write_table(RUNS / "laser-space.md", title, header, space)


if __name__ == "__main__":
    main()
