"""Pack a text into the rows of token ids that a system reads: flat, in blocks, in sentences or as trigrams."""

from __future__ import annotations

import re
import unicodedata
import zlib
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from colde_cli.documents.chunking import TextTokenizer, sentence_starts, special_token
from colde_cli.documents.document import BLANK_LINES
from colde_cli.encoder.layout import SystemConfig
from colde_cli.errors import ModelError


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """A text as rows of token ids (R rows, L tokens; both at least 1).

    Attributes:
        ids: int64 [R, L]; 0 is padding.
        paragraphs: int64 [R], number of the paragraph that each row belongs to, from 0.
    """

    ids: NDArray[np.integer]
    paragraphs: NDArray[np.integer]

    @classmethod
    def of(cls, rows: Sequence[Sequence[int]], paragraphs: Sequence[int] = ()) -> Rows:
        """Pad rows to the longest. No rows give one row of padding; without `paragraphs` all are in paragraph 0."""
        listed = list(rows) or [[]]
        ids = np.zeros((len(listed), max(1, *(len(row) for row in listed))), np.int64)
        for place, row in zip(ids, listed, strict=True):
            place[: len(row)] = row
        return cls(ids, np.asarray(paragraphs or [0] * len(listed), np.int64))

    def small(self) -> Rows:
        """The same rows in half the memory (int32); `stack` makes them int64 again."""
        return Rows(self.ids.astype(np.int32), self.paragraphs.astype(np.int32))

    @property
    def empty(self) -> bool:
        """Whether all is padding."""
        return not self.ids.any()

    def to_bytes(self) -> bytes:
        """Everything that a network reads, for cache keys."""
        shape = np.asarray(self.ids.shape, np.int32)
        return b"".join(part.astype(np.int32).tobytes() for part in (shape, self.ids, self.paragraphs))


def stack(rows: Sequence[Rows]) -> Rows:
    """Several texts as one batch: ids [D, R, L] and paragraphs [D, R], padded to the largest."""
    height, width = (max(item.ids.shape[axis] for item in rows) for axis in (0, 1))
    ids = np.zeros((len(rows), height, width), np.int64)
    paragraphs = np.zeros((len(rows), height), np.int64)
    for place, item in enumerate(rows):
        count, length = item.ids.shape
        ids[place, :count, :length] = item.ids
        paragraphs[place, :count] = item.paragraphs
    return Rows(ids, paragraphs)


SPECIALS = 2
"""[CLS] and [SEP], which every row of word pieces carries."""
# Characters tokenized for each token that is kept, before the whole text is tokenized: most documents are far longer
# than the part that a system reads.
_CHARACTERS = 12


def pack_flat(text: str, tokenizer: TextTokenizer, config: SystemConfig) -> Rows:
    """`[CLS]`, the first N - 2 tokens, `[SEP]`: one row of at most N = `config.row_tokens`.

    Where id 0 is not padding in the vocabulary (RoBERTa), `config.network["id_shift"]` is added to every id; the
    network subtracts it again.
    """
    ids = _first_ids(text, tokenizer, config.row_tokens - SPECIALS)
    if not ids:
        return Rows.of([])
    shift = int(config.network.get("id_shift", 0))
    whole = [special_token(tokenizer, "[CLS]"), *ids, special_token(tokenizer, "[SEP]")]
    return Rows.of([[identity + shift for identity in whole]])


def _first_ids(text: str, tokenizer: TextTokenizer, count: int) -> list[int]:
    """The first `count` token ids of a text."""
    end = _CHARACTERS * count
    if len(text) > end:
        # Cut at white space: no token crosses it, so the tokens are those of the whole text.
        cut = next((place for place in range(end, end // 2, -1) if text[place].isspace()), 0)
        ids = tokenizer.encode(text[:cut], add_special_tokens=False).ids if cut else []
        # A tokenizer may treat the last word of a text differently; the tokens kept do not reach it.
        if len(ids) > count:
            return ids[:count]
    return tokenizer.encode(text, add_special_tokens=False).ids[:count]


_BLANK_LINE = re.compile(r"\n\s*\n")


def pack_sentences(text: str, tokenizer: TextTokenizer, config: SystemConfig) -> Rows:
    """The words of a text, one row a sentence, without specials; paragraphs (between blank lines) count 0, 1, ...

    A sentence longer than `config.row_tokens` continues in the next row; text after the last row is not read.
    """
    listed = list(islice(_sentence_rows(text, tokenizer, config.row_tokens), config.max_rows))
    return Rows.of([ids for _, ids in listed], [paragraph for paragraph, _ in listed])


def _sentence_rows(text: str, tokenizer: TextTokenizer, row_tokens: int) -> Iterator[tuple[int, list[int]]]:
    """Paragraph and word ids of every row; a paragraph without a word has no number."""
    number = 0
    for paragraph in _BLANK_LINE.split(text):
        has_words = False
        for start, end in pairwise([*sentence_starts(paragraph), len(paragraph)]):
            encoded = tokenizer.encode(paragraph[start:end], add_special_tokens=False)
            # A text that contains "[PAD]" must not end its row there.
            ids = [word for word in encoded.ids if word]
            for first in range(0, len(ids), row_tokens):
                yield number, ids[first : first + row_tokens]
                has_words = True
        number += has_words


BUCKETS = 2**15
"""Values of the hash; `SystemConfig.vocab_size` is one more, for padding."""
_WORD = re.compile(r"[^\W_]+")


def pack_trigrams(text: str, tokenizer: TextTokenizer | None, config: SystemConfig) -> Rows:
    """The trigrams of a text, each once, and how often each occurs. The tokenizer is not used.

    Letters and digits make words, in lower case and an accented letter as one character, as in word vocabularies.

    Returns:
        Two rows: ids from 1, in order of first appearance, at most `config.row_tokens`; and the count of each in the
        whole text.
    """
    counts: dict[int, int] = {}
    words = Counter(_WORD.findall(unicodedata.normalize("NFKC", text).lower()))
    for word, times in words.items():
        for trigram in trigram_ids(word, config.vocab_size - 1):
            if trigram in counts or len(counts) < config.row_tokens:
                counts[trigram] = counts.get(trigram, 0) + times
    return Rows.of([[*counts], [*counts.values()]])


@lru_cache(maxsize=2**16)
def trigram_ids(word: str, buckets: int = BUCKETS) -> tuple[int, ...]:
    """Hashed trigrams of one word, 1 to `buckets`, in reading order and with repetition."""
    marked = f"#{word}#"
    trigrams = (marked[start : start + 3] for start in range(len(marked) - 2))
    return tuple(1 + zlib.crc32(trigram.encode()) % buckets for trigram in trigrams)


class Sentence(NamedTuple):
    """The word pieces of a sentence (or of several, joined in a block) and the number of its paragraph."""

    pieces: list[int]
    paragraph: int


def read_sentences(text: str, tokenizer: TextTokenizer) -> Iterator[Sentence]:
    """The sentences of `text` in order, without specials; those without a word piece are left out.

    Lazy: when the caller stops, the rest of a long text is not tokenized.
    """
    paragraphs = [match.end() for match in BLANK_LINES.finditer(text)]
    for start, end in pairwise([*sentence_starts(text), len(text)]):
        pieces = tokenizer.encode(text[start:end], add_special_tokens=False).ids
        if pieces:
            yield Sentence(pieces, bisect_right(paragraphs, start))


def fill_blocks(sentences: Iterable[Sentence], capacity: int, max_blocks: int) -> list[Sentence]:
    """Greedy sentence filling: at most `max_blocks` blocks of 1 to `capacity` pieces, specials not counted.

    Each block bears the paragraph of its first sentence; longer sentences are cut.
    """
    blocks: list[Sentence] = []
    for pieces, paragraph in sentences:
        if not blocks or len(blocks[-1].pieces) + len(pieces) > capacity:
            if len(blocks) == max_blocks:
                break
            blocks.append(Sentence([], paragraph))
        blocks[-1].pieces.extend(pieces[:capacity])
    return blocks


def pack_blocks(text: str, tokenizer: TextTokenizer, config: SystemConfig) -> Rows:
    """The rows that SMITH reads: `[CLS] pieces [SEP]`, zeros to the right; what does not fit is not read.

    Raises:
        ValueError: the tokenizer lacks a special token, or a block has no room for a word.
    """
    capacity = config.row_tokens - SPECIALS
    if capacity < 1:
        raise ValueError(f"a block of {config.row_tokens} tokens has no room for a word")
    blocks = fill_blocks(read_sentences(text, tokenizer), capacity, config.max_rows)
    first, last = special_token(tokenizer, "[CLS]"), special_token(tokenizer, "[SEP]")
    return Rows.of([[first, *block.pieces, last] for block in blocks], [block.paragraph for block in blocks])


Packing = Callable[[str, TextTokenizer, SystemConfig], Rows]
PACKINGS: dict[str, Packing] = {
    "flat": pack_flat,
    "blocks": pack_blocks,
    "sentences": pack_sentences,
    "trigrams": pack_trigrams,
}


def packing(name: str, source: str) -> Packing:
    """The packing of this name; `source` names the model in errors.

    Raises:
        ModelError: this version has none of the name.
    """
    if name not in PACKINGS:
        raise ModelError(f"{source} packs texts as {name!r}, which this version does not know: upgrade colde.")
    return PACKINGS[name]
