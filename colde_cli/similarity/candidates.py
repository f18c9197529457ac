"""Which passages of two documents could answer each other, and how alike they are in wording and in meaning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from colde_cli.documents.document import Part, assemble
from colde_cli.encoder.protocol import DocumentEncoder
from colde_cli.errors import NoTextError
from colde_cli.similarity.scores import cosines

FloatArray = NDArray[np.float32]

_BUCKETS = 4096
_PER_PASSAGE = 6
_LEAST = 0.15
"""Cosine of weighed words below which two passages are not compared word by word."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A passage of A and one of B that could answer each other.

    Attributes:
        a: index of the passage of A.
        b: index of that of B.
        score: how alike they are, 0 to 1.
    """

    a: int
    b: int
    score: float


Keys = tuple[str, ...]
"""The words of a passage, case ignored."""


def wording(a: Keys, b: Keys) -> float:
    """The share of their words that two passages have in common in the same order, 0 to 1."""
    from rapidfuzz.distance import Indel

    return float(Indel.normalized_similarity(a, b))


def lexical_candidates(
    a: Sequence[Keys], b: Sequence[Keys], of_a: list[int], of_b: list[int]
) -> list[Candidate]:
    """Pairs that share telling words, scored by `wording`: for each passage at most six, and more where they tie.

    Args:
        a: the words of all passages of A.
        b: of B.
        of_a: which passages of A to look at.
        of_b: which of B.
    """
    chosen = [(of_a[i], of_b[j]) for i, j in _best(telling_words(a, b, of_a, of_b), _LEAST)]
    return [Candidate(i, j, wording(a[i], b[j])) for i, j in chosen]


def telling_words(a: Sequence[Keys], b: Sequence[Keys], of_a: list[int], of_b: list[int]) -> FloatArray:
    """Cosines of the words and pairs of neighbouring words of passages, weighed by rarity among them: [n, m].

    The arguments are those of `lexical_candidates`.
    """
    left, right = _bags([a[i] for i in of_a], [b[j] for j in of_b])
    found: FloatArray = left @ right.T
    return found


def meaning_candidates(
    a: Sequence[Keys],
    b: Sequence[Keys],
    texts: tuple[Sequence[str], Sequence[str]],
    of: tuple[list[int], list[int]],
    encoder: DocumentEncoder,
) -> list[Candidate]:
    """Pairs that mean much the same, scored by 1 − (1 − cosine) · (1 − wording).

    The passages are encoded as chunks of their own, by the same encoder.

    Args:
        a: the words of all passages of A.
        b: of B.
        texts: the passages of A, and those of B.
        of: which of A to look at, and which of B.
        encoder: of meaning.
    """
    of_a, of_b = of
    if not of_a or not of_b:
        return []
    try:
        table = cosines(*_vectors([[texts[n][i] for i in of[n]] for n in (0, 1)], encoder))
    except NoTextError:  # nothing that the model has a token for
        return []
    found = []
    for i, j in _best(table, 0.0):
        cosine = max(0.0, float(table[i, j]))
        score = 1 - (1 - cosine) * (1 - wording(a[of_a[i]], b[of_b[j]]))
        found.append(Candidate(of_a[i], of_b[j], score))
    return found


def _vectors(sides: Sequence[Sequence[str]], encoder: DocumentEncoder) -> list[FloatArray]:
    """Centred vectors of the texts of either side, [n, H]: of each its first chunk, read alone."""
    found = []
    documents = [assemble("", "", [Part("", text) for text in texts]) for texts in sides]
    for encoding, texts in zip(encoder.encode_many(documents), sides, strict=True):
        rows = {chunk.section: row for row, chunk in reversed(list(enumerate(encoding.chunks)))}
        found.append(np.stack([_row(encoding.directions, rows.get(n)) for n in range(len(texts))]))
    return found


def _row(directions: FloatArray, row: int | None) -> FloatArray:
    vector: FloatArray = np.zeros_like(directions[0]) if row is None else directions[row]
    return vector


def _best(table: FloatArray, least: float) -> list[tuple[int, int]]:
    """The places that are among the best of their row or of their column."""
    if not table.size:
        return []
    keep = np.zeros(table.shape, bool)
    for axis in (0, 1):
        edge = table.shape[axis] - min(_PER_PASSAGE, table.shape[axis])
        keep |= table >= np.partition(table, edge, axis).take([edge], axis)
    return [(int(i), int(j)) for i, j in zip(*np.nonzero(keep & (table >= least)), strict=True)]


def _bags(a: Sequence[Keys], b: Sequence[Keys]) -> tuple[FloatArray, FloatArray]:
    """Words and pairs of neighbours, hashed, weighed by rarity: [n, 4096] and [m, 4096], unit length."""
    counts = np.zeros((len(a) + len(b), _BUCKETS), np.float32)
    for row, keys in zip(counts, (*a, *b), strict=True):
        pairs = (f"{first} {second}" for first, second in pairwise(keys))
        hashes = [crc32(word.encode()) % _BUCKETS for word in (*keys, *pairs)]
        row[:] = np.bincount(hashes, minlength=_BUCKETS)
    rarity = np.log((1 + len(counts)) / (1 + (counts > 0).sum(0, keepdims=True))).astype(np.float32) + 0.5
    weighed = np.sqrt(counts) * rarity
    weighed /= np.maximum(np.linalg.norm(weighed, axis=1, keepdims=True), np.finfo(np.float32).tiny)
    return weighed[: len(a)], weighed[len(a) :]
