"""Text to rows of words, one row a sentence, with the paragraph that each stands in (HAN, SMASH).

HAN (Yang et al. 2016, §2) reads a document as sentences of words; SMASH RNN (Jiang et al. 2019) puts paragraphs
between the two. Paragraphs are what blank lines separate, so that a heading is a paragraph of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice, pairwise

import numpy as np
from numpy.typing import NDArray

from colde_cli.documents.chunking import TextTokenizer
from colde_cli.documents.sentences import sentence_starts

_BLANK_LINE = re.compile(r"\n\s*\n")


def pack_sentences(
    text: str, tokenizer: TextTokenizer, row_tokens: int, max_rows: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The words of a text, one row a sentence.

    A sentence longer than a row goes on in the next one; whatever follows the last row is not read.

    Args:
        text: paragraphs separated by blank lines.
        tokenizer: maps words to ids above 0, truncation and padding switched off.
        row_tokens: L, words of a row at most.
        max_rows: R, rows at most.

    Returns:
        Rows [R, L] no larger than the text needs (at least [1, 1]), 0 after the last word of a row; and for
        each row [R] the number of its paragraph: 0, 1, ... without gaps.
    """
    listed = list(islice(_rows(text, tokenizer, row_tokens), max_rows)) or [(0, [0])]
    rows = np.zeros((len(listed), max(len(ids) for _, ids in listed)), np.int64)
    for row, (_, ids) in zip(rows, listed, strict=True):
        row[: len(ids)] = ids
    return rows, np.array([paragraph for paragraph, _ in listed], np.int64)


def _rows(text: str, tokenizer: TextTokenizer, row_tokens: int) -> Iterator[tuple[int, list[int]]]:
    """Paragraph and word ids of every row; a paragraph without a word has no number."""
    number = 0
    for paragraph in _BLANK_LINE.split(text):
        has_words = False
        for start, end in pairwise([*sentence_starts(paragraph), len(paragraph)]):
            encoded = tokenizer.encode(paragraph[start:end], add_special_tokens=False)
            # A text that spells out "[PAD]" must not end its row there.
            ids = [word for word in encoded.ids if word]
            for first in range(0, len(ids), row_tokens):
                yield number, ids[first : first + row_tokens]
                has_words = True
        number += has_words
