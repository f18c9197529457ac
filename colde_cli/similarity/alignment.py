"""Align the passages of two documents: the same, edited, moved, or only in one of them.

Passages get partners in rounds, the certain ones first: the same words, nearly the same words, the same meaning. Each
round matches one to one (`matching`). Two passages between the same neighbours need a lower score than two that would
have changed places. Passages that were split or merged are joined afterwards.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from math import inf

import numpy as np

from colde_cli.documents.document import Document, SectionKind
from colde_cli.documents.passages import Passage
from colde_cli.documents.stages import stage
from colde_cli.encoder.encoding import DocumentEncoder, Encoding
from colde_cli.encoder.runtime import Progress
from colde_cli.similarity.candidates import (
    CHUNKS,
    REPEATED,
    ChunkCosines,
    Keys,
    PairCandidate,
    WordCosines,
    around,
    lexical_candidates,
    meaning_candidates,
    wording,
)
from colde_cli.similarity.clauses import LeadIns, one_sided_flags, rewritten_flags
from colde_cli.similarity.contracts import ContractTerms, read_terms
from colde_cli.similarity.cutting import passages_of_both
from colde_cli.similarity.flags import flags
from colde_cli.similarity.formal_lines import without_formal
from colde_cli.similarity.genre import common_genre
from colde_cli.similarity.lead_ins import NO_LEAD_IN, LeadIn, lead_ins
from colde_cli.similarity.matching import Group, Matching, Thresholds, in_order, join, parted, turned
from colde_cli.similarity.mentions import Flag
from colde_cli.similarity.numbers import DATE, renumbered
from colde_cli.similarity.pairs import Alignment, PassagePair, State, versions
from colde_cli.similarity.readings import with_readings
from colde_cli.similarity.redline import (
    NOTHING_IGNORED,
    Edit,
    IgnoreOptions,
    between,
    plain,
    redline,
    run_together,
    words,
)
from colde_cli.similarity.references import changed_references, labels, points_elsewhere
from colde_cli.similarity.word_flow import WordFlow

ALIKE = 0.5
"""Minimum similarity of wording of two passages that read alike, so that a small difference is flagged."""

_EXACT = Thresholds(1.0, 1.0)
_WORDING = Thresholds(0.6, 0.7)
_SURE_MEANING = Thresholds(0.8, 0.8)
_MEANING = Thresholds(0.65, 0.8, 0.5, reach=3)
_DATED = Thresholds(0.5, inf, reach=3)
_IN_PLACE = Thresholds(0.4, inf, reach=3)
_DATED_WORDS = 12
"""Maximum number of words of a line that is the same but for a date or number: "Revised: July 1, 2023"."""
_FEW_WORDS = 6
"""A passage of fewer words moves only together with a neighbour: "None." occurs in many places."""
_STRANGERS = 0.02
"""Documents that have a smaller share of their words in equal passages have no order in common: a page number or a
label that both contain is no partner."""
_ALIKE_BUT_FOR_NUMBERS = 0.8
_FEW_ENOUGH = 2
"""Words besides numbers that two passages need before they can differ only in numbers."""
_HAS_FIGURE = re.compile(r"\d")
_DATE = re.compile(DATE, re.IGNORECASE)
_NUMBERS_ASIDE = IgnoreOptions(case=True, numbers=True)


_Rest = tuple[list[int], list[int]]
"""Passages of A and of B without a partner, ascending."""


@dataclass(frozen=True, slots=True)
class _CutDocument:
    """The passages of a document.

    Attributes:
        keys: their words, without case and punctuation.
    """

    passages: tuple[Passage, ...]
    texts: tuple[str, ...]
    keys: tuple[Keys, ...]
    listed: frozenset[int]

    @classmethod
    def of(cls, document: Document, passages: tuple[Passage, ...], ignore: IgnoreOptions) -> _CutDocument:
        texts = tuple(document.text[passage.span.start : passage.span.end] for passage in passages)
        forms: dict[str, str] = {}  # one object for all words of a form
        keys = tuple(_keys(text, ignore, forms) for text in texts)
        listed = (section.index for section in document.sections if section.kind is SectionKind.REFERENCES)
        return cls(passages, texts, keys, frozenset(listed))

    def outside_references(self, places: Sequence[int]) -> list[int]:
        """Those of some passages that stand outside lists of references."""
        return [place for place in places if self.passages[place].section not in self.listed]

    @property
    def weights(self) -> list[int]:
        return [max(1, len(keys)) for keys in self.keys]


def _keys(text: str, ignore: IgnoreOptions, forms: dict[str, str]) -> Keys:
    exact = tuple(word.key for word in words(text, ignore))
    folded = (key.casefold() for key in exact if key[:1].isalnum())
    return tuple(forms.setdefault(key, key) for key in folded) or exact


class WordMatches:
    """What is known of the passages of two documents: first by their words, before any of them is encoded.

    Attributes:
        turned: whether `left` is B: ties are decided by order, and with the same document first every time B with A
            is the mirror image of A with B.
        ignore: the differences to ignore in these two documents.
        alike: cosines of the words of the passages that words give no partner.
    """

    def __init__(self, left: _CutDocument, right: _CutDocument, ignore: IgnoreOptions, flow: WordFlow) -> None:
        """Find partners with the same or nearly the same words; `flow`: the words of both documents, aligned."""
        self.turned = right.texts < left.texts
        left, right = (right, left) if self.turned else (left, right)
        flow = WordFlow(flow.b, flow.a) if self.turned else flow
        self.left, self.right, self.ignore = left, right, ignore
        self.matching = matching = Matching(left.weights, right.weights)
        self.links = links = _links(flow, left.passages, right.passages)
        in_flow = [PairCandidate(i, j, 1.0) for i, j in links if left.keys[i] == right.keys[j]]
        matching.grow(in_flow, _EXACT)
        once = list(_same_once(left.keys, right.keys))
        # Passages that occur once come first: as neighbours they tell the copies of a repeated passage apart.
        for least in (_FEW_WORDS, 1):
            few = (candidate for candidate in once if matching.weights[candidate.a] >= least)
            matching.grow(list(few), _EXACT)
        matching.grow(list(_same(left.keys, right.keys, matching)), _EXACT)
        if ignore.whitespace:
            joined = [[(run_together(text, ignore),) for text in side.texts] for side in (left, right)]
            matching.grow(list(_same(joined[0], joined[1], matching)), _EXACT)
        _drop_strays(matching)
        self.alike = WordCosines.of(left.keys, right.keys, *self._rest())
        expected = matching.abreast_both_ways()
        worded = {(one.a, one.b): one for one in lexical_candidates(left.keys, right.keys, self.alike, expected)}
        for i, j in links:
            if i not in matching.partner and j not in matching.taken and (i, j) not in worded:
                worded[i, j] = PairCandidate(i, j, wording(left.keys[i], right.keys[j]))
        matching.grow(self._of_words(list(worded.values())), _WORDING)
        matching.grow(list(_same_but_for_date(left, right, self._rest())), _DATED)
        matching.grow(self._in_place(), _IN_PLACE)

    def _rest(self) -> _Rest:
        of_a = [i for i in range(len(self.left.passages)) if i not in self.matching.partner]
        return of_a, [j for j in range(len(self.right.passages)) if j not in self.matching.taken]

    def _in_place(self) -> Iterator[PairCandidate]:
        """Yield the passages without a partner that the flow aligns, with the share of words that it does."""
        for (i, j), count in self.links.items():
            if i not in self.matching.partner and j not in self.matching.taken:
                words = self.matching.weights[i] + self.matching.others[j]
                yield PairCandidate(i, j, min(1.0, 2 * count / words))

    def _of_words(self, candidates: Sequence[PairCandidate]) -> list[PairCandidate]:
        """The candidates of at least two words on either side: "7" and "8h 7" have nothing in common."""
        a, b = self.left.keys, self.right.keys
        return [one for one in candidates if len(a[one.a]) >= 2 and len(b[one.b]) >= 2]

    def match_meaning(self, encoder: DocumentEncoder, chunks: ChunkCosines | None, progress: Progress | None) -> None:
        """Find partners with the same meaning, among the passages without one."""
        left, right = self.left, self.right
        # Two references resemble each other in meaning whatever they name: only words tell whether they are the same.
        of_a, of_b = self._rest()
        rest = left.outside_references(of_a), right.outside_references(of_b)
        if chunks is not None:
            rest = self._promising(rest, chunks)
        texts, expected = (left.texts, right.texts), self.matching.abreast_both_ways()
        close = meaning_candidates(left.keys, right.keys, texts, rest, expected, encoder, progress)
        # The certain pairs come first: the others are placed between them.
        for thresholds in (_SURE_MEANING, _MEANING):
            self.matching.grow(self._of_words(close), thresholds)

    def _promising(self, rest: _Rest, chunks: ChunkCosines) -> _Rest:
        """Select the passages without a partner that could find one by meaning: one reason is enough."""
        passages = [self.left.passages[i] for i in rest[0]], [self.right.passages[j] for j in rest[1]]
        met = np.zeros(len(rest[0]), bool), np.zeros(len(rest[1]), bool)
        start = 0
        for by_chunks in chunks.of_passages(*passages):
            some = slice(start, start + len(by_chunks))
            pairs = (by_chunks >= CHUNKS) | self.matching.near(rest[0][some], rest[1], _MEANING.reach)
            met[0][some] = pairs.any(1)
            met[1][:] |= pairs.any(0)
            start += len(by_chunks)
        self.alike.meet(rest, met)
        return list(compress(rest[0], met[0])), list(compress(rest[1], met[1]))

    def groups(self) -> tuple[list[Group], set[Group]]:
        """The passages in groups; also the groups with two sides that kept their order."""
        groups = join(self.matching, self.left.keys, self.right.keys, self.links)
        both = [group for group in groups if group.a and group.b]
        kept = in_order({group.a[0]: group.b[0] for group in both}, self.matching.weights)
        return groups, {group for group in both if group.a[0] in kept}


@stage("aligning")
def match_words(a: Document, b: Document, ignore: IgnoreOptions = NOTHING_IGNORED) -> WordMatches:
    """Find the passages of two documents that have the same or nearly the same words."""
    ignore = between(a, b, ignore)
    if a.report.counted_numbers is not b.report.counted_numbers:  # one text lacks the numbers of list items
        ignore = replace(ignore, list_marks=True)
    flow = WordFlow.of(a.text, b.text)
    of_a, of_b = passages_of_both(a, b, flow)
    return WordMatches(_CutDocument.of(a, of_a, ignore), _CutDocument.of(b, of_b, ignore), ignore, flow)


@stage("aligning")
def align(
    a: Document,
    b: Document,
    encoder: DocumentEncoder | None,
    ignore: IgnoreOptions = NOTHING_IGNORED,
    encodings: tuple[Encoding, Encoding] | None = None,
    progress: Progress | None = None,
    matched: WordMatches | None = None,
) -> Alignment:
    """Align the passages of two documents.

    Args:
        encoder: encodes the passages that find no partner by wording; None aligns by wording alone.
        encodings: of the two documents; their chunks save encoding passages that cannot have a partner.
        matched: what `match_words` found, which is used up; None calls it.
    """
    matched = matched or match_words(a, b, ignore)
    sides, ignore = (matched.left, matched.right), matched.ignore
    if encodings is not None and matched.turned:
        encodings = encodings[::-1]
    if encoder is not None:
        matched.match_meaning(encoder, ChunkCosines.of(*encodings) if encodings else None, progress)
    groups, kept = matched.groups()
    if matched.turned:
        groups, kept, sides = turned(groups), {group.turned() for group in kept}, sides[::-1]
    kind = common_genre(a, b)
    terms = read_terms(a.text, b.text, kind=kind)
    leads = [lead_ins(one, side.passages) if terms.rules else [] for one, side in zip((a, b), sides, strict=True)]
    pairs = [_pair(group, sides, group in kept, ignore, (terms, leads)) for group in groups]
    if not versions(pairs):
        of_group = dict(zip(groups, pairs, strict=True))
        # Parted, the pairs that two different texts have by chance are in no view and no count.
        rest = parted(groups, {group for group in groups if of_group[group].by_chance})
        pairs = [of_group.get(group) or _pair(group, sides, False, ignore, (terms, leads)) for group in rest]
    elif terms.rules:
        pairs = [_with_clauses(pair, terms, _lead_ins(pair, leads)) for pair in pairs]
    # Flags on labels of equations that were only renumbered, and in lists of references, say nothing.
    aside = renumbered({(flag.a, flag.b) for pair in pairs for flag in pair.flags if _on_labels(pair, flag)})
    pairs = [
        _only(
            pair,
            lambda flag, pair: (
                not (pair.a and pair.a[0].section in sides[0].listed)
                and ((flag.a, flag.b) not in aside or not _on_labels(pair, flag))
            ),
        )
        for pair in pairs
    ]
    decided = changed_references(pairs, labels(pairs, a, b), rules=terms.rules and not terms.keywords)
    pairs = [_only(pair, lambda flag, _: points_elsewhere(flag, decided)) for pair in pairs]
    return Alignment(
        tuple(with_readings(without_formal(pairs, a, b, kind), a, b)), sides[0].passages, sides[1].passages
    )


def _links(flow: WordFlow, a: Sequence[Passage], b: Sequence[Passage]) -> dict[tuple[int, int], int]:
    """How many words of a passage of A are words of a passage of B, where any are."""
    of_a, of_b = flow.a.places([one.span for one in a]), flow.b.places([one.span for one in b])
    known = np.flatnonzero((flow.a.first >= 0) & (of_a >= 0))
    there = of_b[flow.a.first[known]]
    both, counts = np.unique(of_a[known][there >= 0] * len(b) + there[there >= 0], return_counts=True)
    return {divmod(pair, len(b)): count for pair, count in zip(both.tolist(), counts.tolist(), strict=True)}


def _same_once(a: Sequence[Keys], b: Sequence[Keys]) -> Iterator[PairCandidate]:
    """Yield pairs with the same words, if these words occur once in each document."""
    counts = (Counter(a), Counter(b))
    place = {keys: j for j, keys in enumerate(b)}
    for i, keys in enumerate(a):
        if counts[0][keys] == counts[1][keys] == 1:
            yield PairCandidate(i, place[keys], 1.0)


def _same(a: Sequence[Keys], b: Sequence[Keys], matching: Matching) -> Iterator[PairCandidate]:
    """Yield pairs with the same words; if these occur often in B, only the pairs near the expected place."""
    places: dict[Keys, list[int]] = {}
    for j, keys in enumerate(b):
        places.setdefault(keys, []).append(j)
    met: Counter[Keys] = Counter()
    for i, (keys, expected) in enumerate(zip(a, matching.abreast(), strict=True)):
        near = places.get(keys, [])
        if len(near) > REPEATED:
            near = [near[copy] for copy in around(near, met[keys], expected)]
        met[keys] += 1
        for j in near:
            yield PairCandidate(i, j, 1.0)


def _same_but_for_date(left: _CutDocument, right: _CutDocument, rest: _Rest) -> Iterator[PairCandidate]:
    """Yield pairs of short lines that differ in a date or numbers alone."""
    places: defaultdict[Keys, list[int]] = defaultdict(list)
    for j in rest[1]:
        if words_aside := _dated_line(right, j):
            places[words_aside].append(j)
    for i in rest[0] if places else ():
        for j in places.get(_dated_line(left, i), ())[:REPEATED]:
            yield PairCandidate(i, j, _DATED.kept)


def _dated_line(side: _CutDocument, place: int) -> Keys:
    """The words of a short line with a number, numbers aside; nothing for any other passage."""
    text = side.texts[place]
    if len(side.keys[place]) > _DATED_WORDS or not _HAS_FIGURE.search(text):
        return ()
    aside = _numbers_aside(text)
    return aside if any(key[0].isalpha() for key in aside) or _DATE.search(text) else ()


def _numbers_aside(text: str) -> Keys:
    """The words of a text with all numbers and dates the same, without signs."""
    return tuple(word.key for word in words(text, _NUMBERS_ASIDE) if not word.sign)


def _drop_strays(matching: Matching) -> None:
    """Drop the short passages that moved without a neighbour.

    Where two documents share next to nothing, drop also those that kept their order.
    """
    weights = matching.weights
    strangers = sum(weights[a] for a in matching.partner) < _STRANGERS * sum(weights)
    kept = set[int]() if strangers else in_order(matching.partner, weights)
    strays = [
        a
        for a, b in matching.partner.items()
        if a not in kept
        and weights[a] < _FEW_WORDS
        and matching.partner.get(a - 1) != b - 1
        and matching.partner.get(a + 1) != b + 1
    ]
    for a in strays:
        matching.taken.discard(matching.partner.pop(a))


def _pair(
    group: Group,
    sides: tuple[_CutDocument, _CutDocument],
    kept: bool,
    ignore: IgnoreOptions,
    read: tuple[ContractTerms, Sequence[Sequence[LeadIn]]],
) -> PassagePair:
    """Give a group its state, edits and flags; `kept`: whether it kept its order."""
    left, right = sides
    terms, leads = read
    a_text = "\n\n".join(left.texts[i] for i in group.a)
    b_text = "\n\n".join(right.texts[j] for j in group.b)
    a, b = (tuple(left.passages[i] for i in group.a), tuple(right.passages[j] for j in group.b))
    if not a or not b:
        return PassagePair(State.ONLY_A if a else State.ONLY_B, a, b, None, (), (), a_text, b_text)
    edits = () if plain(a_text).split() == plain(b_text).split() else _edits(a_text, b_text, ignore)
    a_keys = tuple(key for i in group.a for key in left.keys[i])
    b_keys = tuple(key for j in group.b for key in right.keys[j])
    alike = wording(a_keys, b_keys)
    state = (State.EDITED if edits else State.SAME) if kept else State.MOVED
    small = alike >= ALIKE or _same_but_for_numbers(a_text, b_text)
    score = 1.0 if not edits else max(alike, group.score)
    pair = PassagePair(state, a, b, score, edits, (), a_text, b_text)
    if not edits or not small:
        return pair
    return replace(pair, flags=flags(a_text, b_text, ignore, terms, _lead_ins(pair, leads)))


def _lead_ins(pair: PassagePair, leads: Sequence[Sequence[LeadIn]]) -> LeadIns:
    """What the passages of a pair stand under."""
    one, other = (
        side[passages[0].index] if side and passages else NO_LEAD_IN
        for side, passages in zip(leads, (pair.a, pair.b), strict=True)
    )
    return one, other


def _edits(a: str, b: str, ignore: IgnoreOptions) -> tuple[Edit, ...]:
    """Find the edits; marks of list items are ignored only where that makes fewer of them."""
    edits = redline(a, b, ignore=ignore)
    if not (edits and ignore.list_marks):
        return edits
    strict = redline(a, b, ignore=replace(ignore, list_marks=False))
    return min(strict, edits, key=lambda some: sum(len(edit.a) + len(edit.b) for edit in some))


def _same_but_for_numbers(a: str, b: str) -> bool:
    """Whether two short texts, or rows of a table, differ only in numbers: "Draft of 3 May"."""
    left, right = _numbers_aside(a), _numbers_aside(b)
    if left == right and _DATE.search(a) and _DATE.search(b):
        return True
    fewest = min(len({key for key in keys if key[0].isalpha()}) for keys in (left, right))
    return fewest >= _FEW_ENOUGH and wording(left, right) >= _ALIKE_BUT_FOR_NUMBERS


def _with_clauses(pair: PassagePair, terms: ContractTerms, leads: LeadIns) -> PassagePair:
    """Flag the clauses that only one of two versions has, or that one has in other words."""
    if not pair.a or not pair.b:
        return replace(pair, flags=one_sided_flags(pair.a_text, pair.b_text, terms, leads[0 if pair.a else 1]))
    if pair.flags or not pair.edits:
        return pair
    return replace(pair, flags=rewritten_flags(pair.a_text, pair.b_text, pair.edits, terms))


def _only(pair: PassagePair, keep: Callable[[Flag, PassagePair], bool]) -> PassagePair:
    """Keep some flags of a pair."""
    left = tuple(flag for flag in pair.flags if keep(flag, pair))
    return pair if left == pair.flags else replace(pair, flags=left)


def _on_labels(pair: PassagePair, flag: Flag) -> bool:
    return f"({flag.a})" in pair.a_text and f"({flag.b})" in pair.b_text
