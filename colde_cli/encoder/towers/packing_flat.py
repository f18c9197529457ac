"""Packing "flat": the first N tokens of a text in one row, as S-BERT, MatchBERT and Longformer read it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from colde_cli.documents.chunking import TextTokenizer, special_token
from colde_cli.encoder.towers.rows import Rows

if TYPE_CHECKING:
    from colde_cli.encoder.towers.layout import TowerConfig

# A tokenizer reads this many characters for a token at least before it is given all: documents are far longer
# than what is kept of them.
_CHARACTERS = 12


def pack_flat(text: str, tokenizer: TextTokenizer, config: TowerConfig) -> Rows:
    """`[CLS]`, the first N - 2 tokens, `[SEP]`: one row of at most N = `config.row_tokens`.

    Where the vocabulary has other business with id 0 than padding (RoBERTa's), `config.network["id_shift"]` is
    added to every id, which the network takes off again.
    """
    room = config.row_tokens - 2
    ids = _first_ids(text, tokenizer, room)
    if not ids:
        return Rows.of([])
    shift = int(config.network.get("id_shift", 0))
    whole = [special_token(tokenizer, "[CLS]"), *ids, special_token(tokenizer, "[SEP]")]
    return Rows.of([[identity + shift for identity in whole]])


def _first_ids(text: str, tokenizer: TextTokenizer, count: int) -> list[int]:
    """The first `count` token ids of a text."""
    end = _CHARACTERS * count
    if len(text) > end:
        # Cut at white space, where no token runs on; what such a cut gives is what the whole text gives.
        cut = next((place for place in range(end, end // 2, -1) if text[place].isspace()), 0)
        ids = tokenizer.encode(text[:cut], add_special_tokens=False).ids if cut else []
        # A tokenizer may treat the last word before the end in its own way: not when it is not reached.
        if len(ids) > count:
            return ids[:count]
    return tokenizer.encode(text, add_special_tokens=False).ids[:count]
