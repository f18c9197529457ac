"""Compare the sections of two documents: their states, and their scores as a table short enough to show.

A section follows its passages: its partner has most of its words, or the same heading.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby, product
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from colde_cli.documents.document import Document, Section
from colde_cli.documents.passages import Passage
from colde_cli.similarity.candidates import PairCandidate
from colde_cli.similarity.matching import Matching, Thresholds, in_order
from colde_cli.similarity.pairs import Alignment, PassagePair, State
from colde_cli.similarity.redline import NOTHING_IGNORED, IgnoreOptions, between, run_together

FloatArray = NDArray[np.float32]

PARTLY = 0.25
"""A section without a partner is part of another section if that section contains this share of its words."""

_THRESHOLDS = Thresholds(0.25, 0.4)
_HEADING, _NUMBERED = 0.5, 0.1
"""Bonuses for the same name, and for the same heading with its number."""
_NUMBER = re.compile(
    r"^\s*(?:(?:section|chapter|article|appendix|annex|part|step)\s+)?(?:\d+(?:\.\d+)*|[A-Z]|[ivxlc]+)[.):]*\s+"
    r"|^\s*\d+(?:\.\d+)*[.):]+(?=[A-Z])",
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
    """Sections of A and their partners in B.

    Attributes:
        state: the number of a heading is no part of its name.
        a: indices of sections of A; the main one of a merge comes first; empty for "added".
        b: indices of sections of B; the main one of a split comes first; empty for "dropped".
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
    """Find the state of every section: all sections of A in order, then the sections that only B has."""
    ignore = between(a, b, ignore)
    names_a, names_b = ([name(section, ignore) for section in document.sections] for document in (a, b))
    flows = _Flows(alignment, len(a.sections), len(b.sections))
    candidates, matching = _candidates(flows, a, b, names_a, names_b), Matching(flows.weights)
    for least in (0.9, 0.0):
        certain = [candidate for candidate in candidates if candidate.score >= least]
        matching.grow(certain, _THRESHOLDS)
    _match_bare(a, b, matching)
    with_partner = set(matching.partner)
    parts_a = _parts(flows.of_a, flows.words_a, with_partner, matching.taken)
    parts_b = _parts(flows.of_b, flows.words_b, matching.taken, with_partner)
    # A heading without text moves with the sections under it.
    bare = {i for i in matching.partner if not flows.words_a[i]}
    partner = {i: j for i, j in matching.partner.items() if i not in bare}
    kept = bare | in_order(partner, flows.weights)
    changes = []
    for section in a.sections:
        i = section.index
        if i in matching.partner:
            j = matching.partner[i]
            both = ((i, *parts_a.get(j, ())), (j, *parts_b.get(i, ())))
            moved = i not in kept or _parent_changed(a, b, matching, i, j)
            if len(both[1]) > 1:
                state = SectionState.SPLIT
            elif len(both[0]) > 1:
                state = SectionState.MERGED
            else:
                state = SectionState.MATCHED if names_a[i] == names_b[j] else SectionState.RENAMED
            changes.append(SectionChange(state, *both, flows.same(*both), moved))
        elif not any(i in others for others in parts_a.values()):
            changes.append(SectionChange(SectionState.DROPPED, (i,), (), False, False))
    all_parts_b = {j for others in parts_b.values() for j in others}
    rest = (j for j in range(len(b.sections)) if j not in matching.taken and j not in all_parts_b)
    changes.extend(SectionChange(SectionState.ADDED, (), (j,), False, False) for j in rest)
    return tuple(changes)


_SectionPair = tuple[int | None, int | None]
"""A section of A and one of B; None where a passage has no counterpart."""


class _Flows:
    """How many words of each section went where.

    Attributes:
        of_a: by a section of A and one of B, how many words of the first stand in the second. Edited passages count in
            part. Sections that share nothing are left out.
        of_b: the same by a section of B and one of A.
        words_a: [n_a], words of each section.
        words_b: [n_b], words of each section.
    """

    def __init__(self, alignment: Alignment, count_a: int, count_b: int) -> None:
        self.of_a: dict[tuple[int, int], float] = defaultdict(float)
        self.of_b: dict[tuple[int, int], float] = defaultdict(float)
        self.words_a, self.words_b = np.zeros(count_a), np.zeros(count_b)
        # Whether all passages that two sections share are the same; and the pairs that each section is part of.
        self._untouched: dict[_SectionPair, bool] = defaultdict(lambda: True)
        self._pairs_a: dict[int | None, set[_SectionPair]] = defaultdict(set)
        self._pairs_b: dict[int | None, set[_SectionPair]] = defaultdict(set)
        for pair in alignment.pairs:
            self._add(pair)

    def _add(self, pair: PassagePair) -> None:
        left, right = _words_by_section(pair.a, pair.a_text), _words_by_section(pair.b, pair.b_text)
        for i, count_a in left.items():
            self.words_a[i] += count_a
        for j, count_b in right.items():
            self.words_b[j] += count_b
        total_a, total_b = sum(left.values()), sum(right.values())
        for i, count_a in left.items():
            for j, count_b in right.items():
                self.of_a[i, j] += (pair.score or 0.0) * count_a * count_b / total_b
                self.of_b[j, i] += (pair.score or 0.0) * count_b * count_a / total_a
        changed = bool(pair.edits) or pair.state in (State.ONLY_A, State.ONLY_B)
        sides: tuple[list[int | None], list[int | None]] = ([*left] or [None], [*right] or [None])
        for sections in product(*sides):
            self._untouched[sections] = self._untouched[sections] and not changed
            self._pairs_a[sections[0]].add(sections)
            self._pairs_b[sections[1]].add(sections)

    def same(self, a: Sequence[int], b: Sequence[int]) -> bool:
        """Whether no word of these sections differs or went elsewhere."""
        inside = set(product(a, b))
        pairs = set().union(*(self._pairs_a[i] for i in a), *(self._pairs_b[j] for j in b))
        return all(self._untouched[pair] and pair in inside for pair in pairs)

    @property
    def weights(self) -> list[int]:
        """The weights of the sections of A."""
        return [1 + int(words) for words in self.words_a]

    def alike(self, i: int, j: int) -> float:
        """Compute the share of words that two sections have in common."""
        both = self.of_a.get((i, j), 0.0) + self.of_b.get((j, i), 0.0)
        return float(np.float32(both / max(self.words_a[i] + self.words_b[j], 1)))


def _words_by_section(passages: Sequence[Passage], text: str) -> dict[int, float]:
    """Divide the words of one side of a pair among its sections, by the length of the passages."""
    lengths: dict[int, float] = defaultdict(float)
    for passage in passages:
        lengths[passage.section] += len(passage.span)
    whole, words = sum(lengths.values()), len(text.split())
    return {section: words * length / whole for section, length in lengths.items()}


def _candidates(
    flows: _Flows, a: Document, b: Document, names_a: Sequence[str], names_b: Sequence[str]
) -> list[PairCandidate]:
    """Find pairs of sections that share words or their name."""
    named = defaultdict(list)
    for j, other in enumerate(names_b):
        named[other].append(j)
    pairs = {(i, j) for i, j in flows.of_a if flows.alike(i, j)}
    pairs |= {(i, j) for i, own in enumerate(names_a) for j in named.get(own, ())}
    candidates = []
    for i, j in sorted(pairs):
        score = flows.alike(i, j)
        if names_a[i] == names_b[j]:
            score += _HEADING if names_a[i] else _HEADING / 2
            score += _NUMBERED * (a.sections[i].heading == b.sections[j].heading)
        candidates.append(PairCandidate(i, j, score))
    return candidates


def _match_bare(a: Document, b: Document, matching: Matching) -> None:
    """Make partners of headings without text if most sections under them are partners."""
    for section in reversed(a.sections):
        under = [matching.partner.get(other.index) for other in a.subsections(section)]
        if section.index in matching.partner or not under:
            continue
        above = Counter(parent(b.sections, j) for j in under if j is not None)
        best, count = above.most_common(1)[0] if above else (None, 0)
        if best is not None and best not in matching.taken and 2 * count > len(under):
            matching.add(section.index, best, 0.0)


def name(section: Section, ignore: IgnoreOptions = NOTHING_IGNORED) -> str:
    """Return a heading without its number, case, white space and ignored differences."""
    return run_together(_NUMBER.sub("", section.heading), ignore).casefold()


def _parts(
    flow: Mapping[tuple[int, int], float], words: NDArray[np.float64], taken: set[int], whole: set[int]
) -> dict[int, list[int]]:
    """Find the sections that became part of a section of the other document, by that section.

    Args:
        flow: by a section and one of the other document, how many words of the first stand in the second.
        words: [n], words of each section.
    """
    parts: dict[int, list[int]] = defaultdict(list)
    ordered = sorted((section, -count, other) for (section, other), count in flow.items() if section not in taken)
    for section, others in groupby(ordered, itemgetter(0)):
        _, negative, other = next(others)  # the one that contains most, of equal ones the first
        if other in whole and -negative >= PARTLY * max(1.0, words[section]):
            parts[other].append(section)
    return parts


def _parent_changed(a: Document, b: Document, matching: Matching, i: int, j: int) -> bool:
    above_a, above_b = parent(a.sections, i), parent(b.sections, j)
    if above_a is None or above_b is None:
        return False
    return matching.partner.get(above_a) not in (None, above_b) and above_b in matching.taken


def parent(sections: Sequence[Section], index: int) -> int | None:
    """Find the section that contains a section: the nearest one before it of a higher level; None at the top."""
    level = sections[index].level
    return next((k for k in range(index - 1, -1, -1) if 0 < sections[k].level < level), None)


@dataclass(frozen=True, slots=True, eq=False)
class Outline:
    """Section scores, with subsections folded into the section above them.

    Attributes:
        a: indices of the sections of A that are shown, in order.
        b: indices of the sections of B that are shown.
        scores: [len(a), len(b)], the highest score of any two sections that were folded into these.
    """

    a: tuple[int, ...]
    b: tuple[int, ...]
    scores: FloatArray


def outline(scores: Iterable[FloatArray], a: Sequence[Section], b: Sequence[Section], limit: int) -> Outline:
    """Fold sections into the one above, deepest levels first, until at most `limit` of each document are left.

    Sections of the top level are not folded, so that a flat document may keep more.

    Args:
        scores: [len(a), len(b)], of sections, by rows.
        limit: sections to leave of each document, at least 1.
    """
    heads_a, heads_b = _heads(a, limit), _heads(b, limit)
    best = np.full((len(heads_a), len(heads_b)), -np.inf, np.float32)
    for head, row in zip(np.searchsorted(heads_a, np.arange(len(a)), "right") - 1, scores, strict=True):
        np.maximum(best[head], np.maximum.reduceat(row, heads_b), out=best[head])
    return Outline(tuple(heads_a), tuple(heads_b), best)


def _heads(sections: Sequence[Section], limit: int) -> list[int]:
    """Find the indices of the sections that are left."""
    heads = [section.index for section in sections]
    # Text without a heading has level 0. The first section always stays: there is no section before it.
    for level in sorted({section.level for section in sections if section.level}, reverse=True):
        if len(heads) <= limit:
            break
        heads = [section.index for section in sections if section.level <= level or not section.index]
    return heads
