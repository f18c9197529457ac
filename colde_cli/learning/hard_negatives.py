"""Hard negatives: the documents of the same field that are nearest by words and do not belong together.

Random negatives of a field are soon told apart. Those that share rare words are what a search ranks too high.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from colde_cli.learning.sampling import Positives
from colde_cli.learning.tokens import ChunkStore
from colde_cli.scoring.fit import USUAL
from colde_cli.scoring.lexicon import BUCKETS, Lexicon, Terms, continuations

HardNegatives: TypeAlias = Mapping[int, NDArray[np.int64]]

# Rows of the table of scores that are held at once.
_BLOCK = 256


def hard_negatives(
    store: ChunkStore,
    tokenizer: str,
    positives: Positives,
    documents: NDArray[np.int64],
    fields: NDArray[np.int64],
    count: int,
) -> HardNegatives:
    """Find the hard negatives of every document, the nearest first.

    Nearness is the cosine of weighed words, as in the score; word frequencies are those of the field.

    Args:
        store: tokens of all documents.
        tokenizer: the text of `tokenizer.json`.
        positives: documents that belong together are no negatives.
        documents: numbers of the documents that train; all others are left out.
        fields: int64 [N], the field of each document.
        count: most negatives of a document.
    """
    continues = _continuations(tokenizer)
    found: dict[int, NDArray[np.int64]] = {}
    for field in np.unique(fields[documents]):
        members = documents[fields[documents] == field]
        terms = _terms(store, members, continues)
        for number, row in zip(members.tolist(), _similarities(terms), strict=True):
            row[np.isin(members, [number, *positives.partners(number)])] = -1.0
            nearest = np.argsort(-row, kind="stable")[:count]
            found[number] = members[nearest[row[nearest] >= 0]]
    return found


def _continuations(tokenizer: str) -> NDArray[np.bool_]:
    read = Tokenizer.from_str(tokenizer)
    return continuations([read.id_to_token(number) or "" for number in range(read.get_vocab_size())])


def _terms(store: ChunkStore, members: NDArray[np.int64], continues: NDArray[np.bool_]) -> list[Terms]:
    documents = [store.chunks(number) for number in members.tolist()]
    texts = ([chunk.ids for chunk in chunks] for chunks in documents)
    lexicon = Lexicon.learn(texts, continues, USUAL.rarity)
    return [lexicon.terms(chunks) for chunks in documents]


def _similarities(terms: Sequence[Terms]) -> Iterator[NDArray[np.float32]]:
    """Yield the cosines of each document with all, float32 [n]."""
    from scipy.sparse import csr_matrix

    ends = np.cumsum([0, *(len(item.buckets) for item in terms)])
    weights = np.concatenate([item.weights for item in terms])
    buckets = np.concatenate([item.buckets for item in terms])
    table = csr_matrix((weights, buckets, ends), shape=(len(terms), 2 * BUCKETS))
    for start in range(0, len(terms), _BLOCK):
        yield from (table[start : start + _BLOCK] @ table.T).toarray()
