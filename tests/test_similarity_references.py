"""A reference that now points elsewhere is flagged; one that follows a renumbering is not."""

from __future__ import annotations

import pytest

from colde_cli.documents.document import Document, Part, Span, assemble
from colde_cli.documents.passages import Passage
from colde_cli.similarity.alignment import align
from colde_cli.similarity.mentions import Flag, FlagKind
from colde_cli.similarity.pairs import PassagePair, State
from colde_cli.similarity.references import changed_references, points_elsewhere

CLAUSES = [
    "4.1 The Supplier shall deliver the malt in bags to the gate of the brewery every Monday.",
    "4.2 The Supplier shall bear all cost of carriage and insurance until the malt has arrived.",
    "4.3 The Customer must inspect the malt within a week and may refuse bags that are wet.",
    "4.4 The Customer must pay the price that both parties have agreed on for each delivery.",
    "5.1 The Supplier may suspend delivery where the Customer has not paid as required by Section 4.2 above.",
]


def contract(clauses: list[str]) -> Document:
    return assemble("contract", "Contract", [Part("Terms", "\n\n".join(clauses))])


def flagged(b: list[str]) -> list[tuple[str, str, str]]:
    pairs = align(contract(CLAUSES), contract(b), None).pairs
    return [(flag.kind.value, flag.a, flag.b) for pair in pairs for flag in pair.flags]


def test_a_reference_to_another_clause_is_flagged() -> None:
    other = [*CLAUSES[:4], CLAUSES[4].replace("4.2", "4.4")]
    assert flagged(other) == [("reference", "Section 4.2", "Section 4.4")]


def test_a_reference_that_follows_its_clause_is_not_flagged() -> None:
    inserted = "4.2 The gate is open from eight in the morning until noon."
    numbers = {"4.2": "4.3", "4.3": "4.4", "4.4": "4.5"}
    later = [f"{numbers[clause[:3]]}{clause[3:]}" for clause in CLAUSES[1:4]]
    assert flagged([CLAUSES[0], inserted, *later, CLAUSES[4].replace("4.2", "4.3")]) == []


@pytest.mark.parametrize("place", [1, 2, 3])
def test_a_clause_that_came_or_went_is_flagged(place: int) -> None:
    shorter = [*CLAUSES[:place], *CLAUSES[place + 1 :]]
    ((kind, a, b),) = flagged(shorter)
    assert (kind, b) == ("clause", "")
    assert CLAUSES[place].startswith(a)


KNOWN = {"4": {"5"}, "4.2": {"4.3"}, "7": {"7", "8"}}


def decided(a: str, b: str, times: int, *, rules: bool) -> bool:
    """Whether a reference that changed in so many passages is taken to point elsewhere."""
    flag = Flag(FlagKind.REFERENCE, a, b)
    passage = (Passage(0, 0, Span(0, 1), None),)
    other = Flag(FlagKind.NUMBER, "1", "2")
    pair = PassagePair(State.EDITED, passage, passage, 0.9, (), (flag, other), a, b)
    found = changed_references([pair] * times, KNOWN, rules=rules)
    assert list(found) == [(a, b)]
    assert points_elsewhere(other, found)
    assert points_elsewhere(flag, found) is found[a, b]
    return found[a, b]


@pytest.mark.parametrize(
    ("a", "b", "times", "elsewhere"),
    [
        ("Section 4.2", "Section 4.3", 1, False),
        ("Section 4.2", "Section 4.4", 1, True),
        ("Section 4.9", "Section 5.9", 1, False),  # its chapter was renumbered
        ("Section 4.9", "Section 6.9", 1, True),
        ("Section 4.2(a)", "Section 4.3 (a)", 1, False),
        ("Section 4.2(a)", "Section 4.3(b)", 1, True),
        ("Section 7", "Section 8", 1, False),  # another section of that number kept it
        ("Section 9", "Section 10", 2, True),
        ("Section 9", "Section 10", 3, False),  # so often that it was renumbered
        ("Section 41", "Section 51", 1, True),  # 4 is no chapter of 41
        ("Section IV", "Section V", 1, True),
    ],
)
def test_rules_follow_the_labels(a: str, b: str, times: int, elsewhere: bool) -> None:
    assert decided(a, b, times, rules=True) is elsewhere


@pytest.mark.parametrize(
    ("a", "b", "elsewhere"),
    [
        ("Section 4.2", "Section 4.4", True),
        ("Section 4.2", "Section 4.3", False),
        ("Section 4.2", "Section 4", False),  # less exact
        ("Section 9", "Section 10", False),  # nothing is known of it
    ],
)
def test_of_a_paper_only_known_labels_tell(a: str, b: str, elsewhere: bool) -> None:
    assert decided(a, b, 1, rules=False) is elsewhere
