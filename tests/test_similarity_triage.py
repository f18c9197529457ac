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


RULES = [
    "You must pay the fee, and you shall not be late with it.",
    "We may end the contract at any time, and you must then go.",
    "You may read the notes of the council, which are in the hall.",
]
BAN = "You may not sell, lend or copy the maps that we made of the town."


def test_a_passage_that_stands_twice_is_one_change() -> None:
    found = pairs([RULES[0], RULES[1], *A, RULES[2]], [RULES[0], BAN, RULES[1], *A, BAN, RULES[2]])
    (change,) = ordered_changes(found)
    assert [found[number].b_text for number in change.pairs] == [BAN, BAN]
    assert change.replacement is None


def test_a_new_ban_outweighs_a_lone_word_and_a_definition() -> None:
    texts = [*RULES, "The keeper may be asked to open the hall on the first day of the week.", "“Map” means a plan."]
    changed = [*RULES, "The keeper may be able to open the hall on the first day of the week.", "“Map” means a plan."]
    found = pairs(texts, [*changed[:1], BAN, *changed[1:], "“Plan” means a drawing of the town and of its mills."])
    firsts = [(found[change.pairs[0]].b_text or found[change.pairs[0]].a_text)[:5] for change in ordered_changes(found)]
    assert firsts[0] == "You m"
    assert firsts.index("“Plan") > firsts.index("You m")


def test_every_changed_pair_is_listed_once_and_a_flag_outweighs_length() -> None:
    found = pairs([*A, "A long passage that only the first of both texts has, " * 20], B)
    changes = ordered_changes(found)
    listed = sorted(number for change in changes for number in change.pairs)
    assert listed == [number for number, pair in enumerate(found) if weight(pair)]
    assert min(weight(pair) for pair in found if pair.flags) > max(weight(pair) for pair in found if not pair.flags)
