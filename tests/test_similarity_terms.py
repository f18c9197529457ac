"""Parties and defined terms are read from the document."""

from __future__ import annotations

import pytest

from colde_cli.similarity.flags import flags
from colde_cli.similarity.terms import NO_TERMS, is_speaker, party_value, read_terms, term_value

CONTRACT = """
This agreement is made by and between Osei Chemicals Inc., a Delaware corporation (the "Supplier"), and
Brandt Brewing Ltd. ("BBL"). "Delivery Point" means the gate of the brewery.
The Supplier shall bring the malt to the Delivery Point. BBL must pay the Supplier. Either party may terminate.
The Supplier shall bear the risk up to the Delivery Point (the "Risk Line").
"""


def test_parties_and_defined_terms_are_told_apart() -> None:
    terms = read_terms(CONTRACT)
    assert {"Supplier", "BBL"} <= terms.parties
    assert {"Delivery Point", "Risk Line"} <= terms.defined
    assert terms.rules


def test_a_text_that_sets_no_rules_has_no_parties() -> None:
    assert read_terms('Osei Inc. (the "Supplier") brewed beer for many years, as did others.') is NO_TERMS


def test_forms_of_one_party_are_the_same() -> None:
    assert party_value("Supplier’s") == party_value("Supplier")
    assert party_value("your") == party_value("You")


def test_an_exchanged_party_is_flagged_and_a_possessive_is_not() -> None:
    terms = read_terms(CONTRACT)
    (flag,) = flags(
        "The cost is borne by the Supplier alone.", "The cost is borne by BBL alone.", terms=terms
    )
    assert (flag.kind.value, flag.a, flag.b) == ("party", "Supplier", "BBL")
    (flag,) = flags("Either party may end it at will.", "BBL may end it at will.", terms=terms)
    assert (flag.kind.value, flag.a, flag.b) == ("party", "Either party", "BBL")
    assert not flags("It is a duty of the Supplier.", "It is the Supplier's duty.", terms=terms)


def test_an_exchanged_defined_term_is_flagged() -> None:
    terms = read_terms(CONTRACT)
    (flag,) = flags("Risk passes at the Delivery Point.", "Risk passes at the Risk Line.", terms=terms)
    assert (flag.kind.value, flag.a, flag.b) == ("term", "Delivery Point", "Risk Line")


LONG = """
This agreement is made between Osei Chemicals Inc. (the "Supplier", with its "Affiliates"), Brandt Ltd. (hereinafter
"BBL") and Adam Kerr, an individual ("Kerr,"), under a plan of Osei Corp. (the "Pension Plan").
The Supplier shall bring it. BBL must pay. "Batch", as used here, refers to a lot. “Lot,” means a heap.
„Malz“ bezeichnet Malz.
"Water" is wet; the Water, the Water and the Water shall be clean. "Sand" is dry; the Sand and the Sand must stay.
Buyer may go. The Buyer must stay; the Buyer shall pay. Vendor may go, Vendor must go.
Acme Corp. (the "Ghost") shall go. The "Depot Key" shall mean a key; "Gate" (of iron) means a gate.
"""


def test_who_is_a_party_and_what_is_defined() -> None:
    terms = read_terms(LONG, LONG)
    assert terms.parties == {"Supplier", "Affiliates", "BBL", "Kerr", "Buyer"}
    assert terms.defined == {"Batch", "Lot", "Malz", "Water", "Ghost", "Depot Key", "Gate", "Pension Plan"}
    found = [
        match[0] for match in terms.term_pattern.finditer("the Depot\nKeys, Batches of Water, a Gatehouse")
    ]
    assert found == ["Depot\nKeys", "Batches", "Water"]


def test_both_texts_set_rules_or_neither_has_terms() -> None:
    story = "The pump ran all night, and nobody slept."
    assert read_terms(LONG, story) is read_terms(story, LONG) is read_terms(story) is NO_TERMS
    assert NO_TERMS.term_pattern.search(LONG) is None


def test_terms_of_either_text_count() -> None:
    terms = read_terms(LONG, CONTRACT)
    assert {"BBL", "Kerr"} <= terms.parties
    assert {"Delivery Point", "Risk Line", "Batch"} <= terms.defined


@pytest.mark.parametrize(
    ("written", "value", "speaker"),
    [
        *(
            ("You", "you", True),
            ("yours", "you", True),
            ("your", "you", True),
            ("We", "we", True),
            ("us", "we", True),
        ),
        *(("Our", "we", True), ("ours", "we", True), ("party", "party", False), ("Parties", "party", False)),
        *(
            ("Either  Party", "either party", False),
            ("no parties", "no parties", False),
            ("BBL", "BBL", False),
        ),
        *(("Supplier's", "Supplier", False), ("Supplier’s", "Supplier", False), ("youth", "youth", False)),
    ],
)
def test_forms_of_parties(written: str, value: str, speaker: bool) -> None:
    assert party_value(written) == value
    assert is_speaker(written) is speaker


def test_parties_in_a_text() -> None:
    text = "You and we; each party, Either Party's and parties of yours; Supplier; youth, used"
    found = [match[0] for match in NO_TERMS.party_pattern.finditer(text)]
    assert found == ["You", "we", "each party", "Either Party's", "parties", "yours"]


@pytest.mark.parametrize(
    ("written", "value"),
    [("Products", "Product"), ("Boxes", "Box"), ("BBLs", "BBLs"), ("Delivery\n Points", "Delivery Point")],
)
def test_terms_in_the_plural_are_the_same(written: str, value: str) -> None:
    assert term_value(written) == value
