"""Words divided at a line's end, put together again by the document's own vocabulary."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

SOFT_HYPHEN = "\u00ad"

_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_LAST_PART = re.compile(r"([^\W\d_]+)$")
_FIRST_PART = re.compile(r"([^\W\d_]+)")


class Hyphens:
    """Decides whether a hyphen at a line's end belongs to the word.

    A word that stands elsewhere in the document, joined or with its hyphen, is written as it is there; a
    hyphen between two words of the document is kept; what is left is joined.
    """

    def __init__(self, lines: Iterable[str]) -> None:
        self._words: Counter[str] = Counter()
        for line in lines:
            # The first and last words of a line may be parts of words, and no evidence.
            whole = line.partition(" ")[2].rpartition(" ")[0]
            self._words.update(word.casefold() for word in _WORD.findall(whole))

    def join(self, before: str, after: str) -> str:
        """The text of two lines as one."""
        if before.endswith(SOFT_HYPHEN) or (before.endswith(("-", "‐")) and before[-2:-1].isalpha()):
            stem = before[:-1]
        else:
            return f"{before} {after}"
        left, right = _LAST_PART.search(stem), _FIRST_PART.match(after)
        if left is None or right is None:
            return f"{stem}-{after}"
        return stem + ("-" if self._keeps(left.group(1), right.group(1)) else "") + after

    def _keeps(self, left: str, right: str) -> bool:
        if right[0].isupper() and not left.isupper():
            return True
        first, second = left.casefold(), right.casefold()
        joined, divided = self._words[first + second], self._words[f"{first}-{second}"]
        if joined or divided:
            return divided > joined
        return len(first) > 2 and len(second) > 2 and self._words[first] >= 2 and self._words[second] >= 2
