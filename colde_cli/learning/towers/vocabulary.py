"""Tokenizers of the systems that read words or letters and have no backbone to bring one along."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

SPECIALS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")
"""Ids 0 to 3 of every vocabulary made here."""
WORDS = 50_000
"""Size of a vocabulary: the most frequent words of the training texts."""


def learn_vocabulary(texts: Iterable[str], size: int = WORDS) -> str:
    """The text of a `tokenizer.json` with one word or punctuation mark a token, lower-cased.

    The same texts in any order give the same file: words of one count are taken in the order of the alphabet.

    Args:
        texts: to learn from; those that train, and no others.
        size: ids at most, the four special ones included.
    """
    from tokenizers import models, trainers

    tokenizer = _words(models.WordLevel({}, unk_token="[UNK]"))
    trainer = trainers.WordLevelTrainer(
        vocab_size=size, min_frequency=1, show_progress=False, special_tokens=list(SPECIALS)
    )
    tokenizer.train_from_iterator(texts, trainer)
    text: str = tokenizer.to_str()
    return text


def bare_tokenizer() -> str:
    """A `tokenizer.json` that knows no word: it only says where words are, for systems that read letters."""
    from tokenizers import models

    ids = {token: number for number, token in enumerate(SPECIALS)}
    text: str = _words(models.WordLevel(ids, unk_token="[UNK]")).to_str()
    return text


def vocabulary_size(tokenizer: str) -> int:
    """Number of ids of a `tokenizer.json`."""
    from tokenizers import Tokenizer

    return int(Tokenizer.from_str(tokenizer).get_vocab_size())


def _words(model: object) -> Any:  # noqa: ANN401 - `tokenizers` is not typed
    from tokenizers import Tokenizer, normalizers, pre_tokenizers

    tokenizer = Tokenizer(model)
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Lowercase()])
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    return tokenizer
