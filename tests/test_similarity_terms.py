"""Parties and defined terms are read from the document."""

from __future__ import annotations

from colde_cli.similarity.flags import flags
from colde_cli.similarity.terms import NO_TERMS, party_value, read_terms

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
