"""Made-up texts for the towers, a word-level tokenizer for them, and more padding than they need."""

from __future__ import annotations

import random

import numpy as np
from tiny_backbone import COMMON, SUBJECTS
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

from colde_cli.encoder.packing import Rows

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
            generator.choice(generator.choice([SUBJECTS[subject], COMMON])) for _ in range(generator.randint(3, 8))
        ]
        return " ".join(words).capitalize() + "."

    return "\n\n".join(" ".join(sentence() for _ in range(generator.randint(1, 4))) for _ in range(paragraphs))


def padded(rows: Rows, more_rows: int, more_tokens: int) -> Rows:
    """A batch (or a text) with that many rows and tokens of padding more."""
    before = [(0, 0)] * (rows.ids.ndim - 2)
    return Rows(
        np.pad(rows.ids, [*before, (0, more_rows), (0, more_tokens)]),
        np.pad(rows.paragraphs, [*before, (0, more_rows)]),
    )
