"""Changes in order of weight, and replacements throughout."""

from __future__ import annotations

from colde_cli.documents.document import Part, assemble
from colde_cli.similarity.alignment import align
from colde_cli.similarity.pairs import PassagePair
from colde_cli.similarity.triage import ordered_changes, weight

A = [
    "The pump of the well runs at night when the power is cheap and nobody listens.",
    "The Supplier shall deliver the malt to the brewery by road every Monday at noon.",
    "The fee for each delivery is EUR 40, to be paid by the end of the month.",
    "Osei keeps the books of the company in the office at the market.",
    "Osei reads the meter of the pump once a day and writes it down.",
    "Osei sends the figures to the council at the end of each year.",
    "Nothing else is agreed.",
]
B = [
    "The pump of the well runs at night as long as the power is cheap and nobody listens.",
    "The Supplier may deliver the malt to the brewery by road every Monday at noon.",
    "The fee for each delivery is EUR 45, to be paid by the end of the month.",
    *(text.replace("Osei", "Brandt") for text in A[3:6]),
    "Nothing else is agreed.",
]


def pairs(a: list[str], b: list[str]) -> tuple[PassagePair, ...]:
    one, other = (assemble("", "", [Part("", "\n\n".join(texts))]) for texts in (a, b))
    return align(one, other, None).pairs


def test_an_amount_comes_before_a_duty_before_a_name_before_the_rest() -> None:
    found = pairs(A, B)
    firsts = [found[change.pairs[0]].a_text[:9] for change in ordered_changes(found)]
    assert firsts == ["The fee f", "The Suppl", *firsts[2:]]
    assert set(firsts[2:]) == {"Osei keep", "The pump "}


def test_the_same_replacement_throughout_is_one_change() -> None:
    (change,) = (change for change in ordered_changes(pairs(A, B)) if change.replacement)
    assert change.replacement == ("Osei", "Brandt")
    assert len(change.pairs) == 3


def test_every_changed_pair_is_listed_once_and_a_flag_outweighs_length() -> None:
    found = pairs([*A, "A long passage that only the first of both texts has, " * 20], B)
    changes = ordered_changes(found)
    listed = sorted(number for change in changes for number in change.pairs)
    assert listed == [number for number, pair in enumerate(found) if weight(pair)]
    assert min(weight(pair) for pair in found if pair.flags) > max(weight(pair) for pair in found if not pair.flags)
