"""Text to rows of words, one row a sentence, with the paragraph that each stands in (HAN, SMASH).

HAN (Yang et al. 2016, §2) reads a document as sentences of words; SMASH RNN (Jiang et al. 2019) puts paragraphs
between the two. Paragraphs are what blank lines separate, so that a heading is a paragraph of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice, pairwise

from colde_cli.documents.chunking import TextTokenizer
from colde_cli.documents.sentences import sentence_starts
from colde_cli.encoder.towers.layout import TowerConfig
from colde_cli.encoder.towers.rows import Rows

_BLANK_LINE = re.compile(r"\n\s*\n")


def pack_sentences(text: str, tokenizer: TextTokenizer, config: TowerConfig) -> Rows:
    """The words of a text, one row a sentence.

    A sentence longer than a row goes on in the next one; whatever follows the last row is not read.

    Args:
        text: paragraphs separated by blank lines.
        tokenizer: maps words to ids above 0, truncation and padding switched off.
        config: `row_tokens`, words of a row at most, and `max_rows`.

    Returns:
        Rows without specials, and for each the number of its paragraph: 0, 1, ... without gaps.
    """
    listed = list(islice(_rows(text, tokenizer, config.row_tokens), config.max_rows))
    return Rows.of([ids for _, ids in listed], [paragraph for paragraph, _ in listed])


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
