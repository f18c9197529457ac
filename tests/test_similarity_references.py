"""A reference that now points elsewhere is flagged; one that follows a renumbering is not."""

from __future__ import annotations

import pytest

from colde_cli.documents.document import Document, Part, assemble
from colde_cli.similarity.alignment import align

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
