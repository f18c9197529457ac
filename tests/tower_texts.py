"""Made-up texts for the towers, a word-level tokenizer for them, and batches of what packing makes of them."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from tiny_backbone import COMMON, SUBJECTS
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

Packed = tuple[NDArray[np.int64], NDArray[np.int64]]

SPECIALS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")
WORDS = [*dict.fromkeys(sum(SUBJECTS.values(), COMMON)), "."]
VOCABULARY = len(SPECIALS) + len(WORDS)


def word_tokenizer() -> Tokenizer:
    """One id a word, as the towers without a BERT use."""
    vocabulary = {word: number for number, word in enumerate([*SPECIALS, *WORDS])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.add_special_tokens(list(SPECIALS))
    return tokenizer


def text_on(subject: str, seed: int, paragraphs: int = 2) -> str:
    """Paragraphs of one to four sentences of three to eight words; half of the words are of the subject."""
    generator = random.Random(f"{subject} {seed}")

    def sentence() -> str:
        words = [
            generator.choice(generator.choice([SUBJECTS[subject], COMMON]))
            for _ in range(generator.randint(3, 8))
        ]
        return " ".join(words).capitalize() + "."

    return "\n\n".join(
        " ".join(sentence() for _ in range(generator.randint(1, 4))) for _ in range(paragraphs)
    )


def stacked(packed: Sequence[Packed], more_rows: int = 0, more_tokens: int = 0) -> Packed:
    """Texts as one batch: rows [D, R, L] and paragraphs [D, R], padded to the largest and beyond."""
    height = max(rows.shape[0] for rows, _ in packed) + more_rows
    width = max(rows.shape[1] for rows, _ in packed) + more_tokens
    batch = np.zeros((len(packed), height, width), np.int64)
    numbers = np.zeros((len(packed), height), np.int64)
    for place, (rows, paragraphs) in enumerate(packed):
        batch[place, : rows.shape[0], : rows.shape[1]] = rows
        numbers[place, : len(paragraphs)] = paragraphs
    return batch, numbers
