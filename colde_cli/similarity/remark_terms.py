"""How many of the words of a remark a passage has, weighted by their rarity."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from colde_cli.similarity.remark_clues import Clued

FloatArray = NDArray[np.float32]

_WORD = re.compile(r"[^\W_]{2,}")
_OF_REMARKS = frozenset(
    """a an the this that these those it its is are was were be been being do does did have has had and or but not no
    nor so of in on at to for from by with without as if then than there here which who whom whose what when where why
    how we you they he she i our your their his her my me us them can could should would may might must shall will
    please author authors paper manuscript draft document text section sections sentence sentences paragraph paragraphs
    page pages line lines table figure clause comment remark reviewer think suggest suggestion consider add added adding
    remove removed delete deleted replace replaced change changed clarify clarified explain explained discuss discussed
    mention mentioned state stated say says said describe need needs needed make makes made give given more less very
    also too just only about into any some all each other another such same seems seem appears unclear clear clearly
    wording word words typo wrong correct better instead rather help helpful useful like want wish prefer miss missing
    lacks lacking good fine sure know find""".split()
)
"""Words of most remarks, which say nothing of what they are about."""


_COUNTS = {
    word: str(number)
    for number, word in enumerate(
        "two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
        " eighteen nineteen twenty".split(),
        2,
    )
} | {"thirty": "30", "sixty": "60", "ninety": "90"}


def _stem(word: str) -> str:
    """The beginning of a word: "delete", "deleted" and "deletion" count as one."""
    word = _COUNTS.get(word.casefold(), word.casefold())
    if len(word) > 6:
        return word[:6]
    return word[:-1] if len(word) > 3 and word.endswith("s") else word


class RemarkTerms:
    """The words of the passages of both documents, weighted by their rarity.

    Attributes:
        texts: of the passages of A, then of B.
    """

    def __init__(self, sides: Iterable[Clued]) -> None:
        self.texts: list[str] = []
        self._stems: list[frozenset[str]] = []
        self._around: list[frozenset[str]] = []  # in the heading and in the passages beside, but not in the passage
        for side in sides:
            stems = [_stems(text) for text in side.texts]
            headings = [_stems(section.heading) for section in side.document.sections]
            for n, passage in enumerate(side.passages):
                beside = (m for m in (n - 1, n + 1) if 0 <= m < len(stems))
                same = (stems[m] for m in beside if side.passages[m].section == passage.section)
                self._around.append(headings[passage.section].union(*same) - stems[n])
            self.texts += side.texts
            self._stems += stems
        counts = Counter(stem for stems in self._stems for stem in stems)
        count = len(self.texts) + 1
        self._rarity = {stem: math.log(count / number) for stem, number in counts.items()}
        self._unknown = math.log(count)

    def shares(self, said: str) -> FloatArray:
        """For each passage the share of a text's words that it has, by their weights: [n], 0 to 1."""
        wanted = _stems(said)
        weights = {stem: self._rarity.get(stem, self._unknown) for stem in wanted}
        total = sum(weights.values()) or 1.0
        return np.array(
            [
                sum(weights[stem] for stem in wanted & own) + _BESIDES * sum(weights[stem] for stem in wanted & around)
                for own, around in zip(self._stems, self._around, strict=True)
            ],
            np.float32,
        ) / np.float32(total)


_BESIDES = 0.4
"""Weight of a word that stands not in a passage but in its heading, or in a passage beside it."""


def _stems(text: str) -> frozenset[str]:
    return frozenset(_stem(word) for word in _WORD.findall(text) if word.casefold() not in _OF_REMARKS)
