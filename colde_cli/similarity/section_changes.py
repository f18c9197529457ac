"""What became of whole sections, derived from where their passages went and from their headings."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import product

import numpy as np
from numpy.typing import NDArray

from colde_cli.documents.document import Document, Section
from colde_cli.documents.passages import Passage
from colde_cli.similarity.alignment import Alignment, PassagePair, State
from colde_cli.similarity.candidates import Candidate
from colde_cli.similarity.matching import Matching, Thresholds, in_order
from colde_cli.similarity.words import NOTHING_IGNORED, IgnoreOptions, run_together

FloatArray = NDArray[np.float32]

PARTLY = 0.25
"""Share of a section's words that must stand in another, which has a partner of its own, to be a part of that."""

_BAR = Thresholds(0.25, 0.4)
_HEADING, _NUMBERED = 0.5, 0.1
_NUMBER = re.compile(
    r"^\s*(?:(?:section|chapter|article|appendix|annex|part|step)\s+)?(?:\d+(?:\.\d+)*|[A-Z]|[ivxlc]+)[.):]*\s+",
    re.IGNORECASE,
)


class SectionState(StrEnum):
    """What became of a section."""

    MATCHED = "matched"
    RENAMED = "renamed"
    SPLIT = "split"
    MERGED = "merged"
    ADDED = "added"
    DROPPED = "dropped"


@dataclass(frozen=True, slots=True)
class SectionChange:
    """Sections of A and those of B that answer them.

    Attributes:
        state: what became of them; numbering is no part of a name.
        a: indices of sections of A; of a merge the main one first; empty for "added".
        b: of B; of a split the main one first; empty for "dropped".
        same: the text under the headings is the same.
        moved: their order, or the section they are part of, changed.
    """

    state: SectionState
    a: tuple[int, ...]
    b: tuple[int, ...]
    same: bool
    moved: bool


def section_changes(
    alignment: Alignment, a: Document, b: Document, ignore: IgnoreOptions = NOTHING_IGNORED
) -> tuple[SectionChange, ...]:
    """Every section of both documents in at least one change, in the order of A, then what only B has.

    Args:
        alignment: of `a` and `b`.
        a: the first document.
        b: the second.
        ignore: what is no difference between headings.
    """
    names = _Names.of(a, b, ignore)
    flows = _Flows(alignment, len(a.sections), len(b.sections))
    matching = _partners(flows, a, b, names)
    with_partner = set(matching.partner)
    further_a = _further(flows.of_a, flows.words_a, with_partner, matching.taken)
    further_b = _further(flows.of_b.T, flows.words_b, matching.taken, with_partner)
    kept = _kept(flows, matching)
    found = []
    for section in a.sections:
        i = section.index
        if i in matching.partner:
            j = matching.partner[i]
            parts = ((i, *further_a.get(j, ())), (j, *further_b.get(i, ())))
            moved = i not in kept or _parent_changed(a, b, matching, i, j)
            found.append(_change(names, *parts, flows.same(*parts), moved))
        elif not any(i in others for others in further_a.values()):
            found.append(SectionChange(SectionState.DROPPED, (i,), (), False, False))
    parts_of_b = {j for others in further_b.values() for j in others}
    rest = (j for j in range(len(b.sections)) if j not in matching.taken and j not in parts_of_b)
    found.extend(SectionChange(SectionState.ADDED, (), (j,), False, False) for j in rest)
    return tuple(found)


_Place = tuple[int | None, int | None]
"""A section of A and one of B; None where a passage has no counterpart."""


class _Flows:
    """How many words of each section went where.

    Attributes:
        of_a: [n_a, n_b], words of a section of A that stand in a section of B, edited ones in part.
        of_b: [n_a, n_b], the same of sections of B.
        words_a: [n_a], words of each section.
        words_b: [n_b].
    """

    def __init__(self, alignment: Alignment, count_a: int, count_b: int) -> None:
        self.of_a, self.of_b = np.zeros((count_a, count_b)), np.zeros((count_a, count_b))
        self.words_a, self.words_b = np.zeros(count_a), np.zeros(count_b)
        # For places that pairs connect, whether all of these are the same; the places of each section.
        self._untouched: dict[_Place, bool] = defaultdict(lambda: True)
        self._places_a: dict[int | None, set[_Place]] = defaultdict(set)
        self._places_b: dict[int | None, set[_Place]] = defaultdict(set)
        for pair in alignment.pairs:
            self._add(pair)

    def _add(self, pair: PassagePair) -> None:
        left, right = _shares(pair.a, pair.a_text), _shares(pair.b, pair.b_text)
        for i, words in left.items():
            self.words_a[i] += words
        for j, words in right.items():
            self.words_b[j] += words
        total_a, total_b = sum(left.values()), sum(right.values())
        for i, own in left.items():
            for j, other in right.items():
                self.of_a[i, j] += (pair.score or 0.0) * own * other / total_b
                self.of_b[i, j] += (pair.score or 0.0) * other * own / total_a
        changed = bool(pair.edits) or pair.state in (State.ONLY_A, State.ONLY_B)
        sides: tuple[list[int | None], list[int | None]] = ([*left] or [None], [*right] or [None])
        for place in product(*sides):
            self._untouched[place] = self._untouched[place] and not changed
            self._places_a[place[0]].add(place)
            self._places_b[place[1]].add(place)

    def same(self, a: Sequence[int], b: Sequence[int]) -> bool:
        """No word of these sections differs, and none went elsewhere."""
        inside = set(product(a, b))
        places = set().union(*(self._places_a[i] for i in a), *(self._places_b[j] for j in b))
        return all(self._untouched[place] and place in inside for place in places)

    @property
    def alike(self) -> FloatArray:
        """[n_a, n_b], the share of their words that two sections have in common."""
        total = self.words_a[:, None] + self.words_b[None, :]
        return ((self.of_a + self.of_b) / np.maximum(total, 1)).astype(np.float32)


def _shares(passages: Sequence[Passage], text: str) -> dict[int, float]:
    """Words of a pair's side by section."""
    lengths: dict[int, float] = defaultdict(float)
    for passage in passages:
        lengths[passage.section] += len(passage.span)
    whole, words = sum(lengths.values()), len(text.split())
    return {section: words * length / whole for section, length in lengths.items()}


def _partners(flows: _Flows, a: Document, b: Document, names: _Names) -> Matching:
    candidates = _candidates(flows, a, b, names)
    matching, weights = Matching(), [1 + int(words) for words in flows.words_a]
    matching.grow([candidate for candidate in candidates if candidate.score >= 0.9], _BAR, weights)
    matching.grow(candidates, _BAR, weights)
    _match_bare(a, b, matching)
    return matching


def _candidates(flows: _Flows, a: Document, b: Document, names: _Names) -> list[Candidate]:
    """Sections that have words or their name in common: of many times many few do."""
    alike, named = flows.alike, defaultdict(list)
    for j, other in enumerate(names.b):
        named[other].append(j)
    places = {(int(i), int(j)) for i, j in zip(*np.nonzero(alike), strict=True)}
    places |= {(i, j) for i, own in enumerate(names.a) for j in named.get(own, ())}
    found = []
    for i, j in sorted(places):
        score = float(alike[i, j])
        if names.a[i] == names.b[j]:
            score += _HEADING if names.a[i] else _HEADING / 2
            score += _NUMBERED * (a.sections[i].heading == b.sections[j].heading)
        found.append(Candidate(i, j, score))
    return found


def _match_bare(a: Document, b: Document, matching: Matching) -> None:
    """Headings without text of their own answer each other where most of what stands under them does."""
    for section in reversed(a.sections):
        under = [matching.partner.get(other.index) for other in a.subsections(section)]
        if section.index in matching.partner or not under:
            continue
        above = Counter(parent(b.sections, j) for j in under if j is not None)
        best, count = above.most_common(1)[0] if above else (None, 0)
        if best is not None and best not in matching.taken and 2 * count > len(under):
            matching.add(section.index, best, 0.0)


def _kept(flows: _Flows, matching: Matching) -> set[int]:
    """Sections that kept their order. A bare heading has no place of its own: it stands before what is under it."""
    bare = {i for i in matching.partner if not flows.words_a[i]}
    partner = {i: j for i, j in matching.partner.items() if i not in bare}
    return bare | in_order(partner, [1 + int(words) for words in flows.words_a])


def name(section: Section, ignore: IgnoreOptions = NOTHING_IGNORED) -> str:
    """A heading without its number, case and white space, and without noise."""
    return run_together(_NUMBER.sub("", section.heading), ignore).casefold()


@dataclass(frozen=True, slots=True)
class _Names:
    """Headings as they are compared: [n_a] and [n_b]."""

    a: tuple[str, ...]
    b: tuple[str, ...]

    @classmethod
    def of(cls, a: Document, b: Document, ignore: IgnoreOptions) -> _Names:
        left, right = (tuple(name(section, ignore) for section in document.sections) for document in (a, b))
        return cls(left, right)


def _further(
    flow: NDArray[np.float64], words: NDArray[np.float64], taken: set[int], whole: set[int]
) -> dict[int, list[int]]:
    """For sections of the other document those of this one, without a partner, that are parts of it.

    Args:
        flow: [own, other], words of own sections that stand in others.
        words: [own], of each own section.
        taken: own sections that have a partner.
        whole: other sections that have one.
    """
    found: dict[int, list[int]] = defaultdict(list)
    for own, row in enumerate(flow):
        if own in taken or not len(row):
            continue
        other = int(row.argmax())
        if other in whole and row[other] >= PARTLY * max(1.0, words[own]):
            found[other].append(own)
    return found


def _parent_changed(a: Document, b: Document, matching: Matching, i: int, j: int) -> bool:
    above_a, above_b = parent(a.sections, i), parent(b.sections, j)
    if above_a is None or above_b is None:
        return False
    return matching.partner.get(above_a) not in (None, above_b) and above_b in matching.taken


def parent(sections: Sequence[Section], index: int) -> int | None:
    """The section that one is part of: the nearest before it of a level above; None at the top."""
    level = sections[index].level
    return next((k for k in range(index - 1, -1, -1) if 0 < sections[k].level < level), None)


def _change(
    names: _Names, of_a: tuple[int, ...], of_b: tuple[int, ...], same: bool, moved: bool
) -> SectionChange:
    if len(of_b) > 1:
        state = SectionState.SPLIT
    elif len(of_a) > 1:
        state = SectionState.MERGED
    elif names.a[of_a[0]] == names.b[of_b[0]]:
        state = SectionState.MATCHED
    else:
        state = SectionState.RENAMED
    return SectionChange(state, of_a, of_b, same, moved)


@dataclass(frozen=True, slots=True, eq=False)
class Outline:
    """Sections of A against sections of B, some standing for those under them.

    Attributes:
        a: indices of the sections of A that are shown, in order.
        b: those of B.
        scores: [len(a), len(b)], the best score of a section of the one group with one of the other.
    """

    a: tuple[int, ...]
    b: tuple[int, ...]
    scores: FloatArray


def outline(scores: FloatArray, a: Sequence[Section], b: Sequence[Section], most: int) -> Outline:
    """Fold the sections of both documents, deepest levels first, until no more than `most` are left of each.

    A section that is folded belongs to the last one before it that is not. Those of the top level are never folded, so
    that of a flat document more may be left.

    Args:
        scores: [len(a), len(b)], of sections.
        a: the sections of A.
        b: those of B.
        most: how many shall be left of each, at least 1.
    """
    of_a, of_b = _heads(a, most), _heads(b, most)
    best = np.maximum.reduceat(np.maximum.reduceat(scores, of_a, axis=0), of_b, axis=1)
    return Outline(tuple(of_a), tuple(of_b), best)


def _heads(sections: Sequence[Section], most: int) -> list[int]:
    heads = [section.index for section in sections]
    # What has no heading has no level (0); the first always stands for itself, for there is nothing before it.
    for level in sorted({section.level for section in sections if section.level}, reverse=True):
        if len(heads) <= most:
            break
        heads = [section.index for section in sections if section.level <= level or not section.index]
    return heads
