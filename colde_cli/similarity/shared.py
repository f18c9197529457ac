"""How much of their wording two chunks share in one place: what the mean over a chunk cannot see.

A chunk vector is a mean over about 510 tokens, so a passage of 60 words, copied into another document, moves it little: the
chunks that hold it are often not the most alike of all. Here a chunk is read token by token, and the stretch sought in which
nearly every run of three tokens also stands somewhere in the other chunk.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from colde_cli.documents.document import Chunk

FloatArray = NDArray[np.float32]
IntArray = NDArray[np.int64]


def shared_tokens(a: Sequence[Chunk], b: Sequence[Chunk], run: int = 3, miss: float = 0.5) -> FloatArray:
    return np.minimum(_best(a, b, run, miss), _best(b, a, run, miss).T)


def _best(a, b, run, miss):
    grams_a, grams_b = _runs(a, run), _runs(b, run)
    known, inverse = np.unique(np.concatenate([*grams_a, *grams_b]), return_inverse=True)
    lengths = [len(x) for x in (*grams_a, *grams_b)]
    pieces = np.split(inverse, np.cumsum(lengths)[:-1])
    rows = np.full((len(a), max(lengths[: len(a)]) + 1), len(known))
    for row, piece in zip(rows, pieces[: len(a)], strict=True):
        row[: len(piece)] = piece
    result = np.zeros((len(a), len(b)), np.float32)
    present = np.zeros(len(known) + 1, np.float32)
    for column, piece in enumerate(pieces[len(a) :]):
        present[:] = -miss
        present[piece] = 1
        total = np.cumsum(present[rows], axis=1)
        lowest = np.minimum(np.minimum.accumulate(total, axis=1) , 0)
        lowest = np.concatenate([np.zeros((len(a), 1), np.float32), lowest[:, :-1]], 1)
        result[:, column] = (total - lowest).max(axis=1)
    return np.maximum(result, 0)


def _runs(chunks, run):
    found = []
    for chunk in chunks:
        ids = np.array(chunk.ids[1:-1], np.int64)
        if len(ids) < run:
            found.append(np.zeros(0, np.int64)); continue
        code = np.zeros(len(ids) - run + 1, np.int64)
        for k in range(run):
            code = (code << 20) + ids[k : len(ids) - run + 1 + k]
        found.append(code)
    return found
