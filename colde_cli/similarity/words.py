"""Text as words that can be compared: what typesetting does to them is taken away."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

_TOKEN = re.compile(r"\d+(?:[.,:]\d+)*|[^\W\d_]+(?:[\u00ad'’][^\W\d_]+)*|[^\s\u00ad]")
_SAME = str.maketrans(
    {
        **dict.fromkeys("‘’‚‛`´′", "'"),
        **dict.fromkeys("“”„‟«»″", '"'),
        **dict.fromkeys("‐‑‒–—―−", "-"),
        "\u00ad": None,
    }
)
_BETWEEN_LETTERS = re.compile(r"(?<=[^\W\d_])[\s-]+(?=[^\W\d_])")


@dataclass(frozen=True, slots=True)
class Word:
    """A word, number or sign.

    Attributes:
        key: the same for words that differ only in quotes, dashes, ligatures or soft hyphens.
        start: offset of its first character in the text.
        end: offset after its last.
    """

    key: str
    start: int
    end: int

    @property
    def sign(self) -> bool:
        """It is punctuation or another sign, neither word nor number."""
        return not self.key[:1].isalnum()


def words(text: str) -> tuple[Word, ...]:
    """The words, numbers and signs of a text, in order."""
    return tuple(Word(plain(match[0]), match.start(), match.end()) for match in _TOKEN.finditer(text))


def plain(text: str) -> str:
    """Text in one form of Unicode, with one kind of each quote and of dashes, and no soft hyphens."""
    if text.isascii() and "`" not in text:  # most words
        return text
    return unicodedata.normalize("NFKC", text).translate(_SAME)


def run_together(text: str) -> str:
    """Text without white space and without hyphens between letters: the same however words were divided."""
    return "".join(_BETWEEN_LETTERS.sub("", plain(text)).split())
