"""Text to sentence blocks: SMITH's greedy sentence filling (Yang et al. 2020).

Whole sentences fill a block until the next one would overflow; that one opens the next block. A sentence longer than
an empty block is cut off there. No PyTorch, so that comparing needs none.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from colde_cli.documents.chunking import TextTokenizer, special_token
from colde_cli.documents.sentences import sentence_starts
from colde_cli.encoder.towers.rows import Rows

if TYPE_CHECKING:
    from colde_cli.encoder.towers.layout import TowerConfig

SPECIALS = 2
"""[CLS] and [SEP], which every row of word pieces carries."""

_BLANK_LINE = re.compile(r"\n\s*\n\s*")


class Sentence(NamedTuple):
    """The word pieces of a sentence (or of several, joined in a block) and the number of its paragraph."""

    pieces: list[int]
    paragraph: int


def read_sentences(text: str, tokenizer: TextTokenizer) -> Iterator[Sentence]:
    """The sentences of `text` in order, without specials; those without a word piece are left out.

    Lazy: a caller that has enough stops, and the rest of a long text is never tokenized.
    """
    paragraphs = [match.end() for match in _BLANK_LINE.finditer(text)]
    for start, end in pairwise([*sentence_starts(text), len(text)]):
        pieces = tokenizer.encode(text[start:end], add_special_tokens=False).ids
        if pieces:
            yield Sentence(pieces, bisect_right(paragraphs, start))


def fill_blocks(sentences: Iterable[Sentence], capacity: int, max_blocks: int) -> list[Sentence]:
    """Greedy sentence filling.

    Args:
        sentences: in reading order.
        capacity: word pieces that a block holds, specials not counted, at least 1.
        max_blocks: where to stop reading.

    Returns:
        At most `max_blocks` blocks of 1 to `capacity` pieces; each bears the paragraph of its first sentence.
    """
    blocks: list[Sentence] = []
    for pieces, paragraph in sentences:
        if not blocks or len(blocks[-1].pieces) + len(pieces) > capacity:
            if len(blocks) == max_blocks:
                break
            blocks.append(Sentence([], paragraph))
        blocks[-1].pieces.extend(pieces[:capacity])
    return blocks


def pack_blocks(text: str, tokenizer: TextTokenizer, config: TowerConfig) -> Rows:
    """The rows that SMITH reads: `[CLS] pieces [SEP]`, zeros to the right.

    Args:
        text: of the whole document.
        tokenizer: of word pieces, with 0 for padding.
        config: `row_tokens` of a block, specials included (SMITH: 32), and `max_rows` (SMITH: 48); what does not
            fit is not read.

    Raises:
        ValueError: the tokenizer lacks a special token, or a block has no room for a word.
    """
    capacity = config.row_tokens - SPECIALS
    if capacity < 1:
        raise ValueError(f"a block of {config.row_tokens} tokens has no room for a word")
    blocks = fill_blocks(read_sentences(text, tokenizer), capacity, config.max_rows)
    first, last = special_token(tokenizer, "[CLS]"), special_token(tokenizer, "[SEP]")
    rows = [[first, *block.pieces, last] for block in blocks]
    return Rows.of(rows, [block.paragraph for block in blocks])
