"""Cut texts into comparable words, without the differences that the user ignores."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from colde_cli.similarity.numbers import LABEL, NAMED_LABEL, NUMBER


@dataclass(frozen=True, slots=True)
class IgnoreOptions:
    """The differences between two texts to ignore; by default only those that the redline never shows.

    Attributes:
        case: capital and small letters are the same.
        whitespace: white space and typesetting (hyphens between letters, ligatures, kinds of quotes and dashes) do not
            count for `Comparison.same_content`. The redline never shows them.
        numbers: all numbers are the same: figures, words ("thirty"), dates, and labels of sections and list items.
            Units, currencies and the per cent sign still count.
        like: paths of templates; their text is left out of both documents (`boilerplate`).
    """

    case: bool = False
    whitespace: bool = False
    numbers: bool = False
    like: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Whether anything is ignored."""
        return self.case or self.whitespace or self.numbers or bool(self.like)

    @property
    def names(self) -> tuple[str, ...]:
        """The switches that are on."""
        return tuple(name for name in ("case", "whitespace", "numbers") if getattr(self, name))


NOTHING_IGNORED = IgnoreOptions()

_WORD = r"\d+(?:[.,:]\d+)*|[^\W\d_]+(?:[\u00ad'’][^\W\d_]+)*|[^\s\u00ad]"
_TOKEN = re.compile(_WORD)
_NUMBER = re.compile(rf"(?P<label>{LABEL})|(?P<number>{NAMED_LABEL}|{NUMBER})")
_NUMBER_OR_TOKEN = re.compile(rf"{_NUMBER.pattern}|{_WORD}")
_AS = {"number": "0", "label": "(0)"}
"""The key of every number and of every label where numbers are ignored."""

_ONE_FORM = str.maketrans(
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
        key: the same for words that differ only in quotes, dashes, ligatures, soft hyphens or ignored differences.
        start: offset of its first character in the text.
        end: offset after its last character.
    """

    key: str
    start: int
    end: int

    @property
    def sign(self) -> bool:
        """Whether it is a sign, such as punctuation: neither word nor number."""
        return not self.key[:1].isalnum()


def words(text: str, ignore: IgnoreOptions = NOTHING_IGNORED) -> tuple[Word, ...]:
    """Cut a text into words, numbers and signs, in order.

    Args:
        text: to cut.
        ignore: with numbers ignored, a date of several words is one word.
    """
    pattern = _NUMBER_OR_TOKEN if ignore.numbers else _TOKEN
    return tuple(Word(_key(match, ignore), match.start(), match.end()) for match in pattern.finditer(text))


def _key(match: re.Match[str], ignore: IgnoreOptions) -> str:
    if match.lastgroup:
        return _AS[match.lastgroup]
    key = plain(match[0])
    return key.casefold() if ignore.case else key


def squeezed(words: Sequence[Word]) -> tuple[str, list[int]]:
    """Join words without blanks and without hyphens between letters; also return the offset of each word."""
    pieces: list[str] = []
    starts: list[int] = []
    length, hyphens, letters = 0, 0, False
    for word in words:
        if hyphens and word.key != "-":
            if letters and word.key[:1].isalpha():  # they divided a word
                length -= hyphens
                del pieces[-hyphens:]
                starts[-hyphens:] = [length] * hyphens
            hyphens = 0
        starts.append(length)
        pieces.append(word.key)
        length += len(word.key)
        if word.key == "-":
            hyphens += 1
        else:
            letters = word.key[-1:].isalpha()
    return "".join(pieces), starts


def plain(text: str) -> str:
    """Normalise Unicode: one kind of each quote and of dashes, and no soft hyphens."""
    if text.isascii() and "`" not in text:  # most words
        return text
    return unicodedata.normalize("NFKC", text).translate(_ONE_FORM)


def normal(text: str, ignore: IgnoreOptions) -> str:
    """Normalise a text to be compared as a whole: single blanks, without ignored differences."""
    if ignore.whitespace:
        return run_together(text, ignore)
    return " ".join(_without_ignored(text, ignore).split())


def run_together(text: str, ignore: IgnoreOptions = NOTHING_IGNORED) -> str:
    """Remove white space and hyphens between letters: the result is the same however words were divided."""
    return "".join(_BETWEEN_LETTERS.sub("", plain(_without_ignored(text, ignore))).split())


def _without_ignored(text: str, ignore: IgnoreOptions) -> str:
    """Make case and numbers the same, where they are ignored."""
    if ignore.numbers:  # before case is removed: only a capital tells the month from the modal "may"
        text = _NUMBER.sub(lambda match: _AS[match.lastgroup or "number"], text)
    return text.casefold() if ignore.case else text
