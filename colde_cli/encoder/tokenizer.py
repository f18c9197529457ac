"""Open `tokenizer.json`: a tokenizer may come from a stranger, so its rules are checked, and its failures named."""

from __future__ import annotations

import json
import re
from base64 import b64decode
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from colde_cli.documents.chunking import TextTokenizer, TokenEncoding, plain_tokenizer
from colde_cli.errors import ModelError

_MAX_GROWTH = 16.0
"""How many times as long the rules of a tokenizer may make a text: enough for any that is in use."""
_MAX_RULES = 100
_MAX_BYTES = 64 << 20
"""Maximum size of the file in bytes; the largest vocabularies in use take 35 MB."""
_LARGEST_ID = 100_000_000
_LONGEST_PATTERN = 2_000
# A repeated group or a back reference can take time that doubles with each letter; no tokenizer in use has one.
_SLOW_PATTERN = re.compile(r"\)[*+{]|\\[1-9]|\\[kg]['<]")
_COMMON_LETTERS = 3.0
"""Letters that a table of replacements puts for one, as a rule; that of Unicode has 18 for one only."""

_BREAKS = {
    **dict.fromkeys(("BertNormalizer", "NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents"), ""),
    **dict.fromkeys(("BertPreTokenizer", "Whitespace", "WhitespaceSplit"), "[ \n]"),
    "ByteLevel": " ",  # it may put a blank before a text that does not begin with one
}
"""Rules that look at no blank but the first of several, and the blanks before which those that split texts do so."""
_PROBE = "The 1. \u0416 \u672c \u05d0 \ue000 \U0001f600 " + "x" * 300
"""Signs of no vocabulary: a tokenizer without a token or rule for them fails here, not at a document."""


def open_tokenizer(path: Path) -> TextTokenizer:
    """Open `tokenizer.json`.

    Raises:
        ModelError: the file is not a tokenizer, or one that would take too long or too much memory.
    """
    try:
        size = path.stat().st_size
        text = path.read_text(encoding="utf-8") if size <= _MAX_BYTES else ""
        values = json.loads(text) if text else {}
        rules = list(_rules(values))
        growth = growth_of(values)
        _check_ids(values)
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error.strerror or error}.") from error
    except Exception as error:  # of any kind that JSON of any shape gives
        raise ModelError(f"{path} is not a tokenizer: {error}.") from error
    if size > _MAX_BYTES or len(rules) > _MAX_RULES:
        raise ModelError(f"{path} is larger than a tokenizer can be; colde does not open such a model.")
    if growth > _MAX_GROWTH:
        raise ModelError(f"{path} makes every text up to {growth:.3g} times as long; colde does not open such a model.")
    for pattern in (rule.get("pattern") for rule in rules):
        slow = pattern.get("Regex") if isinstance(pattern, dict) else None
        if not isinstance(slow, str) or (len(slow) <= _LONGEST_PATTERN and not _SLOW_PATTERN.search(slow)):
            continue
        raise ModelError(f"{path} looks for {slow[:40]!r}, which can take for ever; colde does not open such a model.")
    try:
        tokenizer = plain_tokenizer(text)
        tokenizer.encode(_PROBE, add_special_tokens=False)
        return _Guarded(tokenizer, path, _breaks(values, rules))
    except BaseException as error:  # tokenizers raises bare Exception, and what is no Exception after a panic
        raise _named(error, path) from error


@dataclass(frozen=True, slots=True)
class _Guarded:
    """A tokenizer whose failures name its file.

    Attributes:
        breaks: matches places where a text may be cut without a change of its tokens; None where there may be none.
    """

    tokenizer: TextTokenizer
    path: Path
    breaks: re.Pattern[str] | None

    def encode(self, sequence: str, *, add_special_tokens: bool = True) -> TokenEncoding:
        """Cut a text into tokens.

        Raises:
            ModelError: the tokenizer fails on this text.
        """
        try:
            return self.tokenizer.encode(sequence, add_special_tokens=add_special_tokens)
        except BaseException as error:
            raise _named(error, self.path) from error

    def token_to_id(self, token: str) -> int | None:
        """The id of a token; None if there is none."""
        return self.tokenizer.token_to_id(token)


def _named(error: BaseException, path: Path) -> BaseException:
    """What to raise for a failure: a sentence that names the file, except for Ctrl-C and the end of the program."""
    if isinstance(error, Exception) or type(error).__name__ == "PanicException":
        return ModelError(f"{path} is not a tokenizer: {str(error)[:200]}.")
    return error


def _breaks(tokenizer: dict[str, Any], rules: Sequence[dict[str, Any]]) -> re.Pattern[str] | None:
    """Where the rules of a tokenizer cut in any case, seeing nothing of what stands before.

    After a letter comes a blank, which no normal form joins to a letter; a cut before it leaves all blanks together,
    for a tokenizer that counts them. Rules that are not in `_BREAKS`, and tokens that take up blanks, may see more.
    """
    kinds = [str(rule["type"]) for rule in rules if rule.get("type") not in ("Sequence", None)]
    known = [_BREAKS[kind] for kind in kinds if _BREAKS.get(kind)]
    tokens = tokenizer.get("added_tokens") or ()
    apart = not any(token.get("rstrip") or re.search(r"\s", token.get("content", " ")) for token in tokens)
    whole = all(rule.get("use_regex", True) for rule in rules)
    return re.compile(rf"(?<=\S){min(known)}") if known and apart and whole and set(kinds) <= set(_BREAKS) else None


def _rules(tokenizer: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The rules by which a tokenizer changes and splits a text, before it is cut into pieces."""
    waiting = [tokenizer.get("normalizer"), tokenizer.get("pre_tokenizer")]
    while waiting:
        rule = waiting.pop() or {}
        waiting += [*(rule.get("normalizers") or ()), *(rule.get("pretokenizers") or ())]
        yield rule


def growth_of(tokenizer: dict[str, Any]) -> float:
    """How many times as long the rules of a `tokenizer.json` can make a text, before it is cut into pieces.

    Rules that each put two letters in place of one grow a text to any size, and its memory with it.
    """
    growth = 1.0
    for rule in _rules(tokenizer):
        kind = rule.get("type")
        if kind == "Replace":
            matches_nothing = float("Regex" in rule["pattern"])  # a pattern can match between two letters
            growth *= max(1.0, matches_nothing + len(rule["content"]))
        elif kind == "Prepend":
            growth *= 1.0 + len(rule["prepend"])
        elif kind == "ByteLevel":  # a letter for each byte
            growth *= 2.0
        elif kind == "Precompiled":
            growth *= max(1.0, _longest_replacement(rule["precompiled_charsmap"]) / _COMMON_LETTERS)
    return growth


def _check_ids(tokenizer: dict[str, Any]) -> None:
    """Check that ids of tokens fit into 32 bits, and so into what is kept of a document."""
    vocabulary = tokenizer.get("model", {}).get("vocab", {})
    numbers = vocabulary.values() if isinstance(vocabulary, dict) else ()
    added = (token.get("id", 0) for token in tokenizer.get("added_tokens") or ())
    if any(number > _LARGEST_ID for number in (*numbers, *added)):
        raise ValueError(f"an id of a token is larger than {_LARGEST_ID:,}")


def _longest_replacement(table: str) -> int:
    """Bytes of the longest replacement in a table of SentencePiece: the size of a trie, the trie, then texts."""
    content = b64decode(table)
    size = int.from_bytes(content[:4], "little")
    if not 0 < size <= len(content) - 4:
        raise ValueError("its table of replacements is damaged")
    texts = content[4 + size :]
    return max(map(len, texts.split(b"\0")))
