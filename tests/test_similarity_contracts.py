"""The language of contracts: words of duty and scope, parties and defined terms, and which texts are contracts."""

from __future__ import annotations

import re
from collections.abc import Mapping

import pytest

from colde_cli.similarity.contracts import (
    BINDING,
    BOUNDS,
    COMPARISON,
    COMPARISONS,
    EXCEPTION,
    EXCEPTIONS,
    NEGATION,
    NO_TERMS,
    OBLIGATION,
    OBLIGATIONS,
    QUANTIFIER,
    QUANTIFIERS,
    SCOPE,
    SCOPES,
    WEAK_ALONE,
    clause,
    group,
    is_speaker,
    party_value,
    read_terms,
    term_value,
)
from colde_cli.similarity.flags import flags
from colde_cli.similarity.genre import Genre

TABLES = (
    (OBLIGATION, OBLIGATIONS), (SCOPE, SCOPES), (QUANTIFIER, QUANTIFIERS), (COMPARISON, COMPARISONS),
    (EXCEPTION, EXCEPTIONS),
)  # fmt: skip
CONTRACT = """
This agreement is made by and between Osei Chemicals Inc., a Delaware corporation (the "Supplier"), and
Brandt Brewing Ltd. ("BBL"). "Delivery Point" means the gate of the brewery.
The Supplier shall bring the malt to the Delivery Point. BBL must pay the Supplier. Either party may terminate.
The Supplier shall bear the risk up to the Delivery Point (the "Risk Line").
"""


@pytest.mark.parametrize(("pattern", "groups"), TABLES, ids=["duty", "scope", "quantity", "comparison", "exception"])
def test_every_phrase_is_found_whole_and_has_its_group(pattern: re.Pattern[str], groups: Mapping[str, str]) -> None:
    for phrase, name in groups.items():
        capitals = phrase.replace("ß", "ẞ").upper()
        for written in (phrase, capitals, phrase.replace(" ", "\n  "), phrase.replace("'", "’")):
            found = pattern.search(f"It {written}: so.")
            assert found, phrase
            assert found[0] == written
            assert group(found[0], groups) == name
        within = pattern.finditer(f"x-{phrase} {phrase}x x{phrase}")
        assert phrase not in [found[0] for found in within]


@pytest.mark.parametrize(
    ("phrase", "groups", "name"),
    [
        ("is required to", OBLIGATIONS, "duty"), ("must", OBLIGATIONS, "duty"),
        ("may", OBLIGATIONS, "permission"), ("could", OBLIGATIONS, "possibility"),
        ("should", OBLIGATIONS, "advice"), ("best efforts", OBLIGATIONS, "best efforts"),
        ("haftet", OBLIGATIONS, "liable"),
        ("commercially reasonable efforts", OBLIGATIONS, "reasonable efforts"),
        ("dürfen", OBLIGATIONS, "permission"), ("est tenue de", OBLIGATIONS, "duty"),
        ("podrá", OBLIGATIONS, "permission"), ("ausschließlich", SCOPES, "exclusive"),
        ("solely", SCOPES, "only"), ("jointly", SCOPES, "several"), ("and/or", QUANTIFIERS, "or"),
        ("each", QUANTIFIERS, "all"), ("several", QUANTIFIERS, "some"),
        ("not less than", COMPARISONS, "at least"), ("up to", COMPARISONS, "at most"),
        ("over", COMPARISONS, "more"), ("no later than", COMPARISONS, "before"),
        ("höchstens", COMPARISONS, "at most"), ("provided, however", EXCEPTIONS, "provided that"),
        ("mit Ausnahme", EXCEPTIONS, "except"), ("the pump", EXCEPTIONS, "the pump"),
    ],
)  # fmt: skip
def test_groups(phrase: str, groups: Mapping[str, str], name: str) -> None:
    assert group(phrase, groups) == name


def test_what_binds_is_a_group_and_what_is_weak_binds() -> None:
    assert set(OBLIGATIONS.values()) - BINDING == {"possibility", "reasonable efforts"}
    assert set(COMPARISONS.values()) >= BOUNDS == {"at least", "at most"}
    assert {OBLIGATIONS[words] for words in WEAK_ALONE} == {"duty", "permission", "prohibition"}


@pytest.mark.parametrize(
    "word",
    (
        "not no never none nor neither without cannot nothing nobody don't isn’t nicht kein keine keinen keiner keines "
        "keinem nie niemals weder keinesfalls keineswegs keinerlei niemand nichts ohne pas jamais rien aucun aucune "
        "aucunement nada nadie sans nunca jamás ninguna ningún ninguno tampoco ni sin"
    ).split(),
)
def test_negations(word: str) -> None:
    for written in (word, word.capitalize(), word.upper()):
        found = NEGATION.search(f"It {written} so.")
        assert found
        assert found[0] == written
    assert not NEGATION.search(f"non-{word}" if "'" not in word and "’" not in word else "nt")
    assert not NEGATION.search(f"{word}x")


@pytest.mark.parametrize(
    ("text", "binds"),
    [
        ("he pays it to us and shall", True), ("he pays it to us and not", True),
        ("he pays to us and shall", True), ("he pays us and shall", False), ("he pays it to us and goes", False),
    ],
)  # fmt: skip
def test_a_clause_is_long_enough_and_binds(text: str, binds: bool) -> None:
    assert clause(text) is binds


def test_a_text_that_only_supposes_is_no_clause() -> None:
    shown = "the pumps of the mill {} be seen beside the new well of the town"
    binds = [clause(shown.format(word)) for word in ("could", "might", "should", "could not")]
    assert binds == [False, False, True, True]


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


def test_an_app_is_no_party_and_our_users_are_users() -> None:
    text = "Osei Media LLC runs it on the site (“Site”) and by telephone (“App”). The User shall pay for the App. "
    terms = read_terms(text * 3, text * 4)
    assert terms.rules
    assert terms.parties == {"User"}
    assert not [flag for flag in flags("It is what our User asks.", "It is what the User asks.", terms=terms) if flag.b]


def test_a_party_in_capitals_is_a_party() -> None:
    terms = read_terms(CONTRACT)
    before = "IN NO EVENT SHALL THE SUPPLIER'S AGENTS BE LIABLE TO EITHER PARTY OR YOU."
    found = [match[0] for match in terms.party_pattern.finditer(before)]
    assert found == ["SUPPLIER'S", "EITHER PARTY", "YOU"]
    (flag,) = flags(before, before.replace("SUPPLIER", "BBL"), terms=terms)
    assert (flag.kind.value, flag.a, flag.b) == ("party", "SUPPLIER'S", "BBL'S")
    assert party_value("SUPPLIER’S") == party_value("Supplier")
    assert not terms.party_pattern.search("the laws of the US and the supplier's own")


def test_an_exchanged_party_is_flagged_and_a_possessive_is_not() -> None:
    terms = read_terms(CONTRACT)
    (flag,) = flags("The cost is borne by the Supplier alone.", "The cost is borne by BBL alone.", terms=terms)
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
    found = [match[0] for match in terms.term_pattern.finditer("the Depot\nKeys, Batches of Water, a Gatehouse")]
    assert found == ["Depot\nKeys", "Batches", "Water"]


def test_both_texts_set_rules_or_neither_has_terms() -> None:
    story = "The pump ran all night, and nobody slept."
    assert read_terms(LONG, story) is read_terms(story, LONG) is read_terms(story) is NO_TERMS
    assert NO_TERMS.term_pattern.search(LONG) is None


def test_a_contract_by_name_sets_rules_with_few_words_of_duty() -> None:
    text = "The buyer must pay. " + "The image of the card lies in the store of the seller near the river. " * 22
    assert read_terms(text, kind=Genre.CONTRACT).rules
    assert read_terms(text) is read_terms(text, kind=Genre.PAPER) is NO_TERMS


def test_key_words_in_small_letters_bind_where_a_standard_has_many() -> None:
    few = "A tool MUST run. It MUST stop. It MUST NOT wait, and it must sleep."
    many = few.replace("It MUST", "It must")
    assert not read_terms(few, kind=Genre.STANDARD).small_binds
    assert read_terms(many, kind=Genre.STANDARD).small_binds


def test_terms_of_either_text_count() -> None:
    terms = read_terms(LONG, CONTRACT)
    assert {"BBL", "Kerr"} <= terms.parties
    assert {"Delivery Point", "Risk Line", "Batch"} <= terms.defined


@pytest.mark.parametrize(
    ("written", "value", "speaker"),
    [
        ("You", "you", True), ("yours", "you", True), ("your", "you", True), ("We", "we", True),
        ("us", "we", True), ("Our", "we", True), ("ours", "we", True), ("party", "party", False),
        ("Parties", "party", False), ("Either  Party", "either party", False),
        ("no parties", "no parties", False), ("BBL", "bbl", False), ("Supplier's", "supplier", False),
        ("Supplier’s", "supplier", False), ("youth", "youth", False),
    ],
)  # fmt: skip
def test_forms_of_parties(written: str, value: str, speaker: bool) -> None:
    assert party_value(written) == value
    assert is_speaker(written) is speaker


def test_parties_in_a_text() -> None:
    text = "You, we; you and us; each party, Either Party's and parties of yours; Supplier; youth, used"
    found = [match[0] for match in NO_TERMS.party_pattern.finditer(text)]
    assert found == ["You", "we", "you and us", "each party", "Either Party's", "parties", "yours"]


@pytest.mark.parametrize(
    ("written", "value"),
    [("Products", "Product"), ("Boxes", "Box"), ("BBLs", "BBLs"), ("Delivery\n Points", "Delivery Point")],
)
def test_terms_in_the_plural_are_the_same(written: str, value: str) -> None:
    assert term_value(written) == value
