"""Mentions: a value that took the place of another is a difference; one that moved with its words is none."""

from __future__ import annotations

import pytest

from colde_cli.similarity.contracts import ContractTerms
from colde_cli.similarity.flags import flags

TERMS = ContractTerms(frozenset({"Supplier", "Customer"}), rules=True)


def said(a: str, b: str) -> list[tuple[str, str, str]]:
    return [(flag.kind.value, flag.a, flag.b) for flag in flags(a, b, terms=TERMS)]


@pytest.mark.parametrize(
    ("a", "b", "kind", "one", "other"),
    [
        (
            "The dose is 5 mg for children and 10 mg for adults.",
            "The dose is 10 mg for children and 5 mg for adults.",
            *("number", "5 mg", "10 mg"),
        ),
        (
            "The Supplier shall reimburse the Customer for it.",
            "The Customer shall reimburse the Supplier for it.",
            *("party", "Supplier", "Customer"),
        ),
        (
            "The rent is $500 and the deposit is $900.",
            "The rent is $900 and the deposit is $500.",
            *("amount", "$500", "$900"),
        ),
        ("He may come and must pay.", "He must come and may pay.", "obligation", "may", "must"),
        (
            "He and she get 5 mg and 9 mg respectively.", "He and she get 9 mg and 5 mg respectively.", "number",
            "5 mg", "9 mg",
        ),
    ],
)  # fmt: skip
def test_values_that_were_exchanged_are_flagged(a: str, b: str, kind: str, one: str, other: str) -> None:
    found = said(a, b)
    assert found[0] == (kind, one, other)
    assert [(kind, before, after) for kind, after, before in said(b, a)] == found


def test_a_value_that_only_partly_balances_has_its_counterpart() -> None:
    a, b = "It is 5 mg for him and 10 mg for her.", "It is 10 mg for him and 20 mg for her."
    assert said(a, b) == [("number", "5 mg", "10 mg"), ("number", "10 mg", "20 mg")]


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("The Customer and the Supplier agree.", "The Supplier and the Customer agree."),
        ("For 5 and 7 lots.", "For 7 and 5 lots."),
        ("The rent is $500 and the deposit is $900.", "The deposit is $900 and the rent is $500."),
        (
            "The Supplier pays $500, and the Customer pays $900.",
            "The Customer pays $900, and the Supplier pays $500.",
        ),
        ("4 of them run, and 9 of us stay.", "9 of us stay, and 4 of them run."),
        ("It runs (1) by day or (2) by law.", "It runs (1) by day, (2) by night or (3) by law."),
    ],
)
def test_values_that_moved_with_their_words_are_not(a: str, b: str) -> None:
    assert said(a, b) == said(b, a) == []


@pytest.mark.parametrize(
    ("a", "b", "flagged"),
    [
        ("He does not sell it. She does own it.", "He does sell it. She does not own it.", True),
        ("He shall not sell the malt and shall pay.", "He shall sell the malt and shall not pay.", True),
        ("He is not now late.", "He is now not late.", False),
        ("He is not. Now he is late.", "He is. Now he is not late.", True),
    ],
)
def test_a_negation_that_went_to_another_phrase_is_flagged(a: str, b: str, flagged: bool) -> None:
    expected = [("negation", "", "not"), ("negation", "not", "")] if flagged else []
    assert sorted(said(a, b)) == sorted(said(b, a)) == expected
