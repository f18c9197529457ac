"""Passages of two documents aligned: which answers which, what was edited, moved, added, dropped.

In rounds, from certain to less so: the same words; nearly the same words; the same meaning. Each round matches one to
one (`matching`), and what stands between the same neighbours needs less likeness than what would have moved. Passages
whose joining makes the redline shorter are joined afterwards: splits and merges.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from colde_cli.documents.document import Document, Span
from colde_cli.documents.passages import Passage, passages_of_both
from colde_cli.encoder.protocol import DocumentEncoder
from colde_cli.encoder.runtime import Progress
from colde_cli.similarity.candidates import (
    Candidate,
    ChunkScores,
    Keys,
    TellingWords,
    lexical_candidates,
    meaning_candidates,
    promising,
    wording,
)
from colde_cli.similarity.flags import Flag, flags
from colde_cli.similarity.matching import Group, Matching, Thresholds, in_order, join
from colde_cli.similarity.numbers import renumbered
from colde_cli.similarity.redline import Edit, redline
from colde_cli.similarity.words import NOTHING_IGNORED, IgnoreOptions, normal, plain, run_together, words

ALIKE = 0.5
"""Wording from which two passages read alike, so that a small difference is flagged."""

_EXACT = Thresholds(1.0, 1.0)
_WORDING = Thresholds(0.6, 0.7)
_SURE_MEANING = Thresholds(0.8, 0.8)
_MEANING = Thresholds(0.65, 0.8, 0.5, reach=3)
_REPEATED, _AROUND = 50, 8
"""A passage that stands more often than the first in B is sought among as many as the second on either side of where
it is expected: a form may say "None." a thousand times."""
_ALIKE_BUT_FOR_NUMBERS = 0.8
_FEW_ENOUGH = 2
"""Words besides numbers that a passage needs for that."""
_NUMBERS_ASIDE = IgnoreOptions(case=True, numbers=True)
_FEW_WORDS = 6
"""A passage of fewer words moves only with company: "None." stands in many places."""


class State(StrEnum):
    """What became of a passage."""

    SAME = "same"
    EDITED = "edited"
    MOVED = "moved"
    ONLY_A = "only_a"
    ONLY_B = "only_b"


@dataclass(frozen=True, slots=True)
class PassagePair:
    """Neighbouring passages of A and those of B that answer them; one of the two may be none.

    Attributes:
        state: what became of them.
        a: of A, in reading order, one for most.
        b: of B.
        score: how alike they are, 0 to 1; None where one side is empty.
        edits: places at which they differ, as offsets into `a_text` and `b_text`; empty for "same" and where a side
            is empty.
        flags: what tells among them.
        a_text: the text of A.
        b_text: the text of B.
    """

    state: State
    a: tuple[Passage, ...]
    b: tuple[Passage, ...]
    score: float | None
    edits: tuple[Edit, ...]
    flags: tuple[Flag, ...]
    a_text: str
    b_text: str


@dataclass(frozen=True, slots=True, repr=False)
class Alignment:
    """Two documents aligned.

    Attributes:
        pairs: in the order of A; what stands only in B after what precedes it there.
        a: all passages of A.
        b: all of B.
    """

    pairs: tuple[PassagePair, ...]
    a: tuple[Passage, ...]
    b: tuple[Passage, ...]

    def __repr__(self) -> str:
        return f"Alignment({', '.join(f'{state.value}={count}' for state, count in self.summary.items())})"

    @property
    def summary(self) -> dict[State, int]:
        """How many pairs are in each state."""
        counts = Counter(pair.state for pair in self.pairs)
        return {state: counts[state] for state in State}


_Rest = tuple[list[int], list[int]]
"""Passages of A and of B, ascending."""


@dataclass(frozen=True, slots=True)
class _Side:
    """A document as its passages."""

    passages: tuple[Passage, ...]
    texts: tuple[str, ...]
    keys: tuple[Keys, ...]

    @classmethod
    def of(cls, document: Document, found: tuple[Passage, ...], ignore: IgnoreOptions) -> _Side:
        texts = tuple(document.text[passage.span.start : passage.span.end] for passage in found)
        exact = tuple(tuple(word.key for word in words(text, ignore)) for text in texts)
        keys = tuple(tuple(key.casefold() for key in keys if key[:1].isalnum()) or keys for keys in exact)
        return cls(found, texts, keys)

    @property
    def weights(self) -> list[int]:
        return [max(1, len(keys)) for keys in self.keys]


def align(
    a: Document,
    b: Document,
    encoder: DocumentEncoder | None,
    ignore: IgnoreOptions = NOTHING_IGNORED,
    chunk_scores: ChunkScores | None = None,
    progress: Progress | None = None,
) -> Alignment:
    """Align the passages of two documents.

    Args:
        a: the first document.
        b: the second.
        encoder: of meaning, asked only for passages without a partner in wording; None does without.
        ignore: what is no difference.
        chunk_scores: of the two documents, by which passages that cannot have a partner are not encoded.
        progress: called with the number of passages just encoded.
    """
    of_a, of_b = passages_of_both(a, b, lambda text: normal(text, ignore))
    left, right = _Side.of(a, of_a, ignore), _Side.of(b, of_b, ignore)
    matching, shared = _match(left, right, ignore)
    if encoder is not None:
        rest = _rest(matching, left, right)
        if chunk_scores is not None:
            rest = _promising(rest, matching, left, right, shared, chunk_scores)
        _match_meaning(matching, left, right, rest, encoder, progress)
    groups = join(matching, left.keys, right.keys)
    kept = in_order({group.a[0]: group.b[0] for group in groups if group.a and group.b}, left.weights)
    pairs = [
        _pair(group, left, right, not group.b or not group.a or group.a[0] in kept, ignore)
        for group in groups
    ]
    return Alignment(tuple(_without_labels(pairs)), left.passages, right.passages)


def _match(left: _Side, right: _Side, ignore: IgnoreOptions) -> tuple[Matching, TellingWords]:
    """Partners in wording, and what the passages that are not the same share."""
    matching, weights = Matching(), left.weights
    once = list(_same_once(left.keys, right.keys))
    # Of what says the same often, the one is meant that stands between the same neighbours: these come first.
    for least in (_FEW_WORDS, 1):
        matching.grow([found for found in once if weights[found.a] >= least], _EXACT, weights)
    matching.grow(list(_same(left.keys, right.keys, matching, weights)), _EXACT, weights)
    if ignore.whitespace:
        joined = [[(run_together(text, ignore),) for text in side.texts] for side in (left, right)]
        matching.grow(list(_same(joined[0], joined[1], matching, weights)), _EXACT, weights)
    _drop_strays(matching, weights)
    shared = TellingWords.of(left.keys, right.keys, *_rest(matching, left, right))
    near = lexical_candidates(left.keys, right.keys, shared)
    matching.grow(_movable(near, left), _WORDING, weights)
    return matching, shared


def _promising(
    rest: _Rest, matching: Matching, left: _Side, right: _Side, shared: TellingWords, chunks: ChunkScores
) -> _Rest:
    """Those without a partner that could have one in meaning."""
    of_a, of_b = rest
    alike = chunks.of_passages([left.passages[i] for i in of_a], [right.passages[j] for j in of_b])
    near = matching.near(of_a, of_b, _MEANING.reach, left.weights)
    rows, columns = promising(alike, shared.among(of_a, of_b), near)
    return [of_a[row] for row in rows], [of_b[column] for column in columns]


def _match_meaning(
    matching: Matching,
    left: _Side,
    right: _Side,
    rest: _Rest,
    encoder: DocumentEncoder,
    progress: Progress | None,
) -> None:
    """Add partners in meaning, the certain ones first: others count as neighbours of those."""
    close = meaning_candidates(left.keys, right.keys, (left.texts, right.texts), rest, encoder, progress)
    for bar in (_SURE_MEANING, _MEANING):
        matching.grow(_movable(close, left), bar, left.weights)


def _same_once(a: Sequence[Keys], b: Sequence[Keys]) -> Iterator[Candidate]:
    """Pairs of the same words that stand once on both sides."""
    counts = (Counter(a), Counter(b))
    place = {keys: j for j, keys in enumerate(b)}
    for i, keys in enumerate(a):
        if counts[0][keys] == counts[1][keys] == 1:
            yield Candidate(i, place[keys], 1.0)


def _same(
    a: Sequence[Keys], b: Sequence[Keys], matching: Matching, weights: Sequence[int]
) -> Iterator[Candidate]:
    """Pairs of the same words; of many that say the same those near where it is expected."""
    places: dict[Keys, list[int]] = {}
    for j, keys in enumerate(b):
        places.setdefault(keys, []).append(j)
    met: Counter[Keys] = Counter()
    for i, (keys, expected) in enumerate(zip(a, matching.abreast((len(a), len(b)), weights), strict=True)):
        near = places.get(keys, [])
        if len(near) > _REPEATED:
            ranks = (met[keys], *(bisect_left(near, j) for j in expected))
            near = sorted({j for rank in ranks for j in near[max(0, rank - _AROUND) : rank + _AROUND]})
        met[keys] += 1
        for j in near:
            yield Candidate(i, j, 1.0)


def _drop_strays(matching: Matching, weights: Sequence[int]) -> None:
    """Short passages out of order have no partner, unless a neighbour moved with them."""
    kept = in_order(matching.partner, weights)
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


def _movable(candidates: Sequence[Candidate], left: _Side) -> list[Candidate]:
    return [candidate for candidate in candidates if len(left.keys[candidate.a]) >= 2]


def _rest(matching: Matching, left: _Side, right: _Side) -> _Rest:
    """The passages without a partner."""
    of_a = [i for i in range(len(left.passages)) if i not in matching.partner]
    return of_a, [j for j in range(len(right.passages)) if j not in matching.taken]


def _pair(group: Group, left: _Side, right: _Side, kept: bool, ignore: IgnoreOptions) -> PassagePair:
    a_text = "\n\n".join(left.texts[i] for i in group.a)
    b_text = "\n\n".join(right.texts[j] for j in group.b)
    a, b = (tuple(left.passages[i] for i in group.a), tuple(right.passages[j] for j in group.b))
    if not a or not b:
        return PassagePair(State.ONLY_A if a else State.ONLY_B, a, b, None, (), (), a_text, b_text)
    edits = () if plain(a_text).split() == plain(b_text).split() else redline(a_text, b_text, ignore=ignore)
    alike = wording(_keys(left, group.a), _keys(right, group.b))
    state = (State.EDITED if edits else State.SAME) if kept else State.MOVED
    small = alike >= ALIKE or _same_but_for_numbers(a_text, b_text)
    told = flags(a_text, b_text, ignore) if edits and small else ()
    score = 1.0 if not edits else max(alike, group.score)
    return PassagePair(state, a, b, score, edits, told, a_text, b_text)


def _same_but_for_numbers(a: str, b: str) -> bool:
    """Whether two short texts, or rows of a table, read alike once their numbers do not count: "Draft of 3 May"."""
    left, right = (
        tuple(word.key for word in words(text, _NUMBERS_ASIDE) if not word.sign) for text in (a, b)
    )
    said = min(len({key for key in keys if key[0].isalpha()}) for keys in (left, right))
    return said >= _FEW_ENOUGH and wording(left, right) >= _ALIKE_BUT_FOR_NUMBERS


def _without_labels(pairs: Sequence[PassagePair]) -> Iterable[PassagePair]:
    """The pairs, without the flags on labels of equations that were only renumbered."""
    labels = {(flag.a, flag.b) for pair in pairs for flag in pair.flags if _on_labels(pair, flag)}
    aside = renumbered(labels)
    for pair in pairs:
        told = tuple(
            flag for flag in pair.flags if (flag.a, flag.b) not in aside or not _on_labels(pair, flag)
        )
        yield pair if told == pair.flags else replace(pair, flags=told)


def _on_labels(pair: PassagePair, flag: Flag) -> bool:
    return f"({flag.a})" in pair.a_text and f"({flag.b})" in pair.b_text


def _keys(side: _Side, group: Sequence[int]) -> Keys:
    return tuple(key for index in group for key in side.keys[index])


@dataclass(frozen=True, slots=True)
class Extent:
    """The words of one document by what became of them; headings are not counted.

    Attributes:
        words: of all its passages.
        kept: those that stand in the other document too, in the passage that answers theirs.
        by_state: words of the passages in each state.
    """

    words: int
    kept: int
    by_state: Mapping[State, int]

    @property
    def share_kept(self) -> float:
        """`kept` of `words`, 0 to 1; 0 for a document without words."""
        return self.kept / self.words if self.words else 0.0


def extents(pairs: Iterable[PassagePair]) -> tuple[Extent, Extent]:
    """The extents of A and of B.

    Args:
        pairs: all pairs of an alignment.
    """
    found = tuple(pairs)
    left = [(pair, pair.a_text, [edit.a for edit in pair.edits]) for pair in found]
    right = [(pair, pair.b_text, [edit.b for edit in pair.edits]) for pair in found]
    return _extent(left), _extent(right)


def _extent(side: Iterable[tuple[PassagePair, str, list[Span]]]) -> Extent:
    by_state: Counter[State] = Counter()
    kept = 0
    for pair, text, changed in side:
        words = len(text.split())
        by_state[pair.state] += words
        if pair.a and pair.b:
            kept += max(0, words - sum(len(text[span.start : span.end].split()) for span in changed))
    return Extent(sum(by_state.values()), kept, {state: by_state[state] for state in State})
