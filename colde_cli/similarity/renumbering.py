"""Find the clauses whose number changed, and the references that point elsewhere since.

Numbers that a program counts are no characters of the text: a list that starts again, or that has letters for figures,
is told here alone. A typed number is compared with a counted one by what it says, not by how it is written.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from colde_cli.similarity.clause_labels import (
    ClauseLabel,
    Key,
    LabelIndex,
    Reference,
    clause_labels,
    follows,
    label_start,
    labels_within,
    references,
)
from colde_cli.similarity.plain_data import fields_data
from colde_cli.similarity.section_changes import name, section_changes

if TYPE_CHECKING:
    from colde_cli.documents.document import Document
    from colde_cli.documents.passages import Passage
    from colde_cli.similarity.pairs import Alignment, PassagePair
    from colde_cli.similarity.redline import IgnoreOptions

_COUNTING = frozenset(("docx", "odt"))
"""Formats whose programs count: in any other one a number that is not typed may be missing for want of a counter."""
_HEAD = 40
"""Number of characters by which a paragraph is known again among those of a pair of passages."""


@dataclass(frozen=True, slots=True)
class RenumberedClause:
    """A clause of both documents with two numbers; None for one that has no number any more, or had none.

    Attributes:
        follows: its number changed with that of the clause that it is part of, and in nothing else.
        place: its place among all clauses of A, or of B where A has no number.
    """

    a: ClauseLabel | None
    b: ClauseLabel | None
    follows: bool
    place: int

    @property
    def counted(self) -> bool:
        """Whether a program counts one of the two numbers: the text does not show the difference."""
        return any(label is not None and label.counted for label in (self.a, self.b))


class ReferenceState(StrEnum):
    """What became of a reference to a clause whose number changed, or that was dropped."""

    FOLLOWED = "followed"
    """It names the new number."""
    ELSEWHERE = "elsewhere"
    """It names the old number, which another clause has now."""
    NOWHERE = "nowhere"
    """It names the old number, which no clause has any more."""


@dataclass(frozen=True, slots=True)
class ChangedReference:
    """A reference to a clause that has another number now.

    Attributes:
        pair: place in the alignment of the passages with the reference.
        a: the words of A, "clause 8.3", as are those of B.
        target: the clause that the reference of A points to.
        renumbered: that clause in B; None where B does not have it.
        now: the clause that the reference of B points to; None for none.
    """

    state: ReferenceState
    pair: int
    a: str
    b: str
    target: ClauseLabel
    renumbered: ClauseLabel | None
    now: ClauseLabel | None


@dataclass(frozen=True, slots=True)
class Renumbering:
    """How the numbers of clauses differ between two documents.

    Attributes:
        clauses: in the order of A.
        references: in the order of the alignment.
    """

    clauses: tuple[RenumberedClause, ...] = ()
    references: tuple[ChangedReference, ...] = ()

    def __bool__(self) -> bool:
        """Whether anything is told."""
        return bool(self.clauses or self.references)

    @property
    def counted(self) -> bool:
        """Whether numbers differ that are no characters of the text."""
        return any(clause.counted for clause in self.clauses)

    @property
    def stretches(self) -> tuple[tuple[RenumberedClause, ...], ...]:
        """The clauses whose own number changed, neighbours that changed alike together."""
        found: list[list[RenumberedClause]] = []
        for clause in self.clauses:
            if clause.follows:
                continue
            if found and _go_on(found[-1][-1], clause):
                found[-1].append(clause)
            else:
                found.append([clause])
        return tuple(map(tuple, found))

    def of_state(self, *states: ReferenceState) -> tuple[ChangedReference, ...]:
        """The references in some states."""
        return tuple(one for one in self.references if one.state in states)


NOT_RENUMBERED = Renumbering()


def _go_on(before: RenumberedClause, clause: RenumberedClause) -> bool:
    """Whether the numbers of a clause come next after those of another, in A and in B."""
    sides = ((before.a, clause.a), (before.b, clause.b))
    return all(
        (one is None and two is None)
        or (
            one is not None
            and two is not None
            and one.heading is two.heading
            and bool(one.key and two.key)
            and one.key[:-1] == two.key[:-1]
            and follows(one.key[-1], two.key[-1])
        )
        for one, two in sides
    )


def renumbering(a: Document, b: Document, alignment: Alignment | None, ignore: IgnoreOptions) -> Renumbering:
    """Compare the numbers of the clauses that both documents have, and what references to them point to.

    Without an alignment, the numbers are compared that the same words follow.
    """
    if ignore.renumbering or ignore.numbers or ignore.list_marks:
        return NOT_RENUMBERED
    numbers = _Numbers(a, b, clause_labels(a), clause_labels(b))
    if not (numbers.left or numbers.right):
        return NOT_RENUMBERED
    if alignment is None:
        return Renumbering(numbers.renumbered(numbers.in_same_place() if a.text == b.text else numbers.of_same_words()))
    pairs = [*numbers.of_headings(alignment, ignore), *numbers.of_passages(alignment)]
    pairs += numbers.of_same_words(pairs)
    return Renumbering(numbers.renumbered(pairs), tuple(numbers.references(pairs, alignment)))


_NO_LABEL = ClauseLabel(0, "", "", counted=False)
_LabelPair = tuple[int | None, int | None]
"""Places of two numbers of one clause, among those of A and of B; None where one has no number there."""


@dataclass(frozen=True, slots=True)
class _Numbers:
    """The numbers of two documents, in the order of their texts."""

    a: Document
    b: Document
    left: Sequence[ClauseLabel]
    right: Sequence[ClauseLabel]

    def in_same_place(self) -> Iterator[_LabelPair]:
        """Pair the numbers of two equal texts."""
        here = {label.start: place for place, label in enumerate(self.left)}
        there = {label.start: place for place, label in enumerate(self.right)}
        yield from ((here.get(start), there.get(start)) for start in sorted({*here, *there}))

    def of_headings(self, alignment: Alignment, ignore: IgnoreOptions) -> Iterator[_LabelPair]:
        """Pair the numbers of headings; two formats may find headings in other places: then their names must agree."""
        here, there = (
            {label.start: place for place, label in enumerate(labels) if label.heading}
            for labels in (self.left, self.right)
        )
        for change in section_changes(alignment, self.a, self.b, ignore):
            if change.a and change.b:
                one, two = self.a.sections[change.a[0]], self.b.sections[change.b[0]]
                same_name = name(one, ignore) == name(two, ignore)
                if one.heading and two.heading and (same_name or self.a.format == self.b.format):
                    yield here.get(one.span.start), there.get(two.span.start)

    def of_passages(self, alignment: Alignment) -> Iterator[_LabelPair]:
        """Pair the numbers of paragraphs and rows: in order, or where one side has more, by the words after them."""
        for pair in alignment.pairs:
            if not (pair.a and pair.b):
                continue
            here, there = labels_within(self.left, pair.a), labels_within(self.right, pair.b)
            if len(here) == len(there):
                yield from zip(here, there, strict=True)
            elif not there:
                yield from ((place, None) for place in here)
            elif not here:
                yield from ((None, place) for place in there)
            else:
                heads = [_head(self.a, self.left[place]) for place in here]
                others = [_head(self.b, self.right[place]) for place in there]
                yield from ((here[one], there[two]) for one, two in _common(heads, others))

    def of_same_words(self, pairs: Iterable[_LabelPair] = ()) -> Iterator[_LabelPair]:
        """Pair the numbers without a partner that the same words follow, such as a heading that is a passage of B."""
        known = list(pairs)
        here = sorted(set(range(len(self.left))) - {i for i, _ in known})
        there = sorted(set(range(len(self.right))) - {j for _, j in known})
        if here and there:
            heads = [_head(self.a, self.left[place]) for place in here]
            others = [_head(self.b, self.right[place]) for place in there]
            yield from ((here[one], there[two]) for one, two in _common(heads, others) if heads[one])

    def renumbered(self, pairs: Iterable[_LabelPair]) -> tuple[RenumberedClause, ...]:
        """The pairs whose numbers differ."""
        listed = list(pairs)
        both = [(self.left[i], self.right[j]) for i, j in listed if i is not None and j is not None]
        known: dict[Key, Key] = {}
        for one, two in both:
            known.setdefault(one.key, two.key)
        counting = self.a.format in _COUNTING and self.b.format in _COUNTING
        found = []
        for i, j in listed:
            left = None if i is None else self.left[i]
            right = None if j is None else self.right[j]
            if left is not None and right is not None:
                if not self._same(left, right):
                    found.append(RenumberedClause(left, right, self._follows(left, right, known), i or 0))
            elif (left or right or _NO_LABEL).counted and counting:
                found.append(RenumberedClause(left, right, False, (j if i is None else i) or 0))
        return tuple(sorted(found, key=lambda clause: clause.place))

    def _same(self, left: ClauseLabel, right: ClauseLabel) -> bool:
        if left.counted and right.counted and self.a.format == self.b.format:
            return (left.mark, left.label) == (right.mark, right.label)
        return left.own == right.own or ((left.counted or right.counted) and left.key == right.key)

    def _follows(self, left: ClauseLabel, right: ClauseLabel, known: Mapping[Key, Key]) -> bool:
        above, last = left.key[:-1], left.key[-1:]
        changed = known.get(above, above)
        return changed != above and right.key == (*changed, *last) and left.shape == right.shape

    def references(self, pairs: Iterable[_LabelPair], alignment: Alignment) -> Iterator[ChangedReference]:
        """Find the references to clauses that have another number, or that B does not have."""
        partner = {i: j for i, j in pairs if i is not None and j is not None}
        back = set(partner.values())
        alone = [pair.a for pair in alignment.pairs if not pair.b]
        dropped = {place for passages in alone for place in labels_within(self.left, passages)} - set(partner)
        here, there = LabelIndex(self.left), LabelIndex(self.right)
        for number, pair in enumerate(alignment.pairs):
            if not (pair.a and pair.b):
                continue
            own, others = _own(self.left, pair.a[0]), _own(self.right, pair.b[0])
            for one, two in _same_references(pair):
                place = here.find(one, own)
                if place is None or not (place[0] in partner or place[0] in dropped):
                    continue
                if len(place[1]) > 1:
                    continue  # clause 5 has no part 5.1.1.2: the reference names another document
                target, now = self.left[place[0]], there.find(two, others)
                moved = self.right[partner[place[0]]] if place[0] in partner else None
                pointed = None if now is None else (*self.right[now[0]].key, *now[1])
                if moved is not None and pointed == (*moved.key, *place[1]):
                    if one.key == two.key:
                        continue
                    state = ReferenceState.FOLLOWED
                elif one.key != two.key or (moved is None and now is not None and now[0] not in back):
                    continue  # a flag tells of it; a clause that was written anew has the number of the old one
                else:
                    now = None if now is None or (now[1] and not place[1]) else now  # it has no such part
                    state = ReferenceState.NOWHERE if now is None else ReferenceState.ELSEWHERE
                yield ChangedReference(
                    state, number, one.words, two.words, target, moved, None if now is None else self.right[now[0]]
                )


def _own(labels: Sequence[ClauseLabel], passage: Passage) -> Key:
    """The clause that a passage is in."""
    place = bisect_left(labels, passage.span.start + 1, key=label_start)
    return labels[place - 1].key if place else ()


def _head(document: Document, label: ClauseLabel) -> str:
    text = document.text[label.start : label.start + 2 * _HEAD].lstrip()
    words = (text if label.counted else text.removeprefix(label.mark)).partition("\n")[0]
    return "".join(filter(str.isalnum, words))[:_HEAD]


def _common(left: Sequence[object], right: Sequence[object]) -> Iterator[tuple[int, int]]:
    """The places of what two sequences have in common, in order."""
    for block in SequenceMatcher(None, left, right, autojunk=False).get_matching_blocks():
        yield from ((block.a + at, block.b + at) for at in range(block.size))


def _same_references(pair: PassagePair) -> list[tuple[Reference, Reference]]:
    """The references of a pair of passages that stand for each other."""
    here = list(references(pair.a_text))
    there = list(references(pair.b_text)) if here else []
    if len(here) == len(there):
        return list(zip(here, there, strict=True))
    common = _common([one.key for one in here], [one.key for one in there])
    return [(here[one], there[two]) for one, two in common]


def renumbering_data(found: Renumbering) -> dict[str, Any]:
    """Build the `renumbering` object of schema colde.diff/2."""
    return {
        "clauses": [
            {"a": _label_data(one.a), "b": _label_data(one.b), "follows": one.follows} for one in found.clauses
        ],
        "references": [
            {
                **{"state": one.state.value, "passage": one.pair, "a": one.a, "b": one.b, "target": one.target.label},
                "renumbered": one.renumbered and one.renumbered.label,
                "now": one.now and one.now.label,
            }
            for one in found.references
        ],
    }


def _label_data(label: ClauseLabel | None) -> dict[str, Any] | None:
    return None if label is None else fields_data(label, "label mark counted start")
