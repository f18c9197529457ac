"""Clauses: what a sentence commands or permits is compared as a set; what came, went or was rewritten is weighed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from colde_cli.similarity.clauses import gravity, norms, one_sided_flags, rewritten_flags
from colde_cli.similarity.contracts import KEYWORDS_BIND, NO_TERMS, ContractTerms
from colde_cli.similarity.flags import flags
from colde_cli.similarity.redline import redline

RULES = ContractTerms(rules=True)


def said(a: str, b: str, terms: ContractTerms) -> list[tuple[str, str, str]]:
    """Kind and words of each flag, which are the same the other way round."""
    found = [(flag.kind.value, flag.a, flag.b) for flag in flags(a, b, terms=terms)]
    assert [(flag.kind.value, flag.b, flag.a) for flag in flags(b, a, terms=terms)] == found
    return found


@pytest.mark.parametrize(
    ("a", "b", "words"),
    [
        ("A tool SHALL emit the log.", "A tool MAY emit the log.", ("SHALL", "MAY")),
        ("A tool SHALL emit the log.", "A tool either SHALL or MAY emit the log.", ("", "MAY")),
        ("A tool MUST emit the log.", "A tool must emit the log.", ("MUST", "must")),
        ("A tool MUST NOT emit the log.", "A tool SHOULD NOT emit the log.", ("MUST NOT", "SHOULD NOT")),
        ("A log is REQUIRED for it.", "A log is OPTIONAL for it.", ("REQUIRED", "OPTIONAL")),
        (
            "A tool SHALL emit a log. A host MAY read it.",
            "A tool MAY, if so told by the user in its settings, write or emit such a log. A host MAY read it.",
            ("SHALL", "MAY"),
        ),
    ],
)
def test_key_words_of_a_standard_are_compared_as_sets(a: str, b: str, words: tuple[str, str]) -> None:
    assert ("obligation", *words) in said(a, b, KEYWORDS_BIND)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("A tool can emit the log.", "A tool emits the log."),
        ("A tool MUST emit the log.", "A tool MUST write the log."),
        ('The word "MUST" stands here.', 'The words "MUST" and "MAY" stand here.'),
        ("This was a MUST before.", "This was before."),
    ],
)
def test_other_words_are_no_requirements_of_a_standard(a: str, b: str) -> None:
    assert said(a, b, KEYWORDS_BIND) == []


@pytest.mark.parametrize(
    ("a", "b", "words"),
    [
        ("You must not copy the file.", "You may copy the file.", ("must not", "may")),
        ("You may copy the file.", "You cannot copy the file.", ("may", "cannot")),
        ("He shall pay it.", "He is not required to pay it.", ("shall", "is not required to")),
        ("Der Mieter darf nicht bauen.", "Der Mieter muss bauen.", ("darf nicht", "muss")),
        ("Der Mieter muss nicht zahlen.", "Der Mieter darf zahlen.", ("muss nicht", "darf")),
        ("Le preneur ne peut pas bâtir.", "Le preneur doit bâtir.", ("peut pas", "doit")),
        ("El cliente no debe copiarlo.", "El cliente puede copiarlo.", ("no debe", "puede")),
        ("He warrants that it runs.", "He represents that it runs.", ("warrants", "represents")),
        ("He pays, and hereby releases them.", "He pays, and hereby indemnifies them.", ("releases", "indemnifies")),
        ("It ends on written notice.", "It ends on notice.", ("written", "")),
        ("It ends on notice.", "It ends with consent on notice.", ("", "consent")),
        ("Sie endet nach Mitteilung.", "Sie endet nach schriftlicher Mitteilung.", ("", "schriftlicher")),
        ("Er zahlt und geht.", "Er verzichtet und geht.", ("", "verzichtet")),
        ("Il paie et part.", "Il renonce et part.", ("", "renonce")),
        ("Il part avec un avis écrit.", "Il part avec un avis.", ("écrit", "")),
        ("Él paga con aviso.", "Él paga con aviso escrito.", ("", "escrito")),
        ("Él paga con aviso.", "Él paga con consentimiento y aviso.", ("", "consentimiento")),
        (
            "He uses best efforts to sell.",
            "He uses reasonable efforts to sell.",
            ("best efforts", "reasonable efforts"),
        ),
        (
            "Er verkauft nach besten Kräften.",
            "Er verkauft mit angemessenen Anstrengungen.",
            ("nach besten Kräften", "angemessenen Anstrengungen"),
        ),
    ],
)
def test_words_that_bind_or_free_are_flagged_in_rules(a: str, b: str, words: tuple[str, str]) -> None:
    assert ("obligation", *words) in said(a, b, RULES)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("He works for the State, as the case may be.", "He works for the Country, as the case may be so."),
        ("The Release Agreement ends.", "The Change Agreement ends."),
        ("He waives it at once.", "He waived it at once."),
        ("Er kündigt den Vertrag dann.", "Er kündigte den Vertrag dann."),
    ],
)
def test_idioms_names_and_other_forms_are_not(a: str, b: str) -> None:
    assert "obligation" not in [kind for kind, _, _ in said(a, b, RULES)]


def test_a_word_that_binds_is_no_flag_where_nothing_is_ruled() -> None:
    assert said("It was released in May.", "It was in May.", NO_TERMS) == []


@pytest.mark.parametrize(
    ("text", "terms", "binds"),
    [
        ("You hereby waive any and all policies.", RULES, True),
        ("Der Kunde verzichtet hiermit auf alle Rechte.", RULES, True),
        ("Le client renonce à toute action future.", RULES, True),
        ("El cliente renuncia a toda acción futura.", RULES, True),
        ("“Batch” means the bags of a day.", RULES, True),
        ("The well of the town is deep and cold.", RULES, False),
        ("You hereby waive any and all policies.", NO_TERMS, False),
        ("A tool MUST emit it.", KEYWORDS_BIND, True),
        ("A tool must emit the log of a day.", KEYWORDS_BIND, False),
        ("A tool must emit the log of a day.", replace(KEYWORDS_BIND, small_binds=True), True),
        ("The scan of the passport is deleted soon.", RULES, True),
        ("Die Daten werden 30 Tage lang gespeichert.", RULES, True),
    ],
)
def test_a_clause_that_only_one_text_has_is_flagged_on_either_side(
    text: str, terms: ContractTerms, binds: bool
) -> None:
    dropped, new = one_sided_flags(text, "", terms), one_sided_flags("", text, terms)
    assert bool(dropped) == bool(new) == binds
    assert [(flag.a, flag.b, flag.gravity) for flag in dropped] == [(flag.b, flag.a, flag.gravity) for flag in new]


@pytest.mark.parametrize(
    ("heavier", "lighter", "terms"),
    [
        ("You waive all claims.", "You may read it.", RULES),
        ("He is not liable for any damages.", "He shall sweep it.", RULES),
        ("He shall pay $500 for it.", "He shall sweep it.", RULES),
        ("He shall sweep it.", "He may sweep it.", RULES),
        ("Der Verkäufer haftet nicht für Schäden.", "Er muss es kehren.", RULES),
        ("A tool MUST run.", "A tool SHOULD run.", KEYWORDS_BIND),
        ("A tool SHOULD run.", "A tool MAY run.", KEYWORDS_BIND),
        ("A tool MAY run.", "A tool may run.", KEYWORDS_BIND),
    ],
)
def test_what_a_clause_says_is_its_gravity(heavier: str, lighter: str, terms: ContractTerms) -> None:
    assert gravity(heavier, terms) > gravity(lighter, terms)


def test_a_condition_that_is_added_to_a_requirement_is_flagged() -> None:
    a = "A router MUST NOT forward it until the address is known."
    b = "A router MUST NOT forward it until the address and the prefix of it is known."
    assert said(a, b, KEYWORDS_BIND) == [("clause", "", "and the prefix of it")]
    assert said(a.replace("MUST NOT", "does not"), b.replace("MUST NOT", "does not"), KEYWORDS_BIND) == []


def test_another_field_of_a_requirement_is_flagged() -> None:
    a, b = "It MAY hold the [build-system] table.", "It MAY hold the [run] table."
    assert said(a, b, KEYWORDS_BIND) == [("clause", "build-system", "run")]
    assert said("It MAY hold a cold table.", "It MAY hold a warm table.", KEYWORDS_BIND) == []


@pytest.mark.parametrize(
    "pointer",
    ["Please see Section 4 on fees and damages.", "How to terminate it is set forth in Section 6 below."],
)
def test_a_sentence_that_only_says_where_something_stands_weighs_least(pointer: str) -> None:
    (flag,) = one_sided_flags("", pointer, RULES)
    (other,) = one_sided_flags("", "He may read every line of it.", RULES)
    assert flag.gravity == 0 < other.gravity


@pytest.mark.parametrize(
    ("a", "b", "found"),
    [
        ("You and Acme may end it.", "You may end it.", ("party", "You and Acme", "You")),
        ("You may end it.", "You or Acme may end it.", ("party", "You", "You or Acme")),
        ("In May, you must pay it.", "In May, we and you must pay it.", ("party", "you", "we and you")),
        ("The fees must be paid.", "The fees and taxes must be paid.", None),
    ],
)
def test_who_is_joined_to_those_who_must_or_may_is_flagged(a: str, b: str, found: tuple[str, str, str] | None) -> None:
    assert [one for one in said(a, b, RULES) if one[0] == "party"] == ([found] if found else [])


def test_what_a_standard_says_of_its_fields_in_small_letters_is_flagged() -> None:
    a, b = "- an optional enum that takes one of these", "- a required enum that takes one of these"
    assert ("obligation", "optional", "required") in said(a, b, KEYWORDS_BIND)
    assert said(a, b, RULES) == []


def test_a_clause_in_other_words_is_flagged_with_both() -> None:
    a, b = "The seller may use the remarks of the buyer.", "Remarks are free, and anybody exploits them at will."
    (flag,) = rewritten_flags(a, b, redline(a, b), RULES)
    assert (flag.kind.value, flag.a, flag.b) == ("clause", a, b)
    assert rewritten_flags(a, a.replace("seller", "owner"), redline(a, a.replace("seller", "owner")), RULES) == ()
    assert rewritten_flags(a, b, redline(a, b), NO_TERMS) == ()


@pytest.mark.parametrize(
    ("a", "b", "words"),
    [
        (
            "You may not: (a) copy the API; or (b) sell the maps of the town.",
            "You may not: (a) copy the API; (b) train a model on it; or (c) sell the maps of the town.",
            ("", "(b) train a model on it; or"),
        ),
        (
            "You may not copy the maps, the plans or the lists of the town.",
            "You may not copy or print the maps, the plans or the lists of the town.",
            ("", "or print"),
        ),
        (
            "You must tell us of it as soon as you can by post.",
            "You must tell us of it as soon as you can by post but no later than the law says.",
            ("", "but no later than the law says"),
        ),
    ],
)
def test_a_new_item_and_a_few_added_words_have_the_force_of_their_sentence(
    a: str, b: str, words: tuple[str, str]
) -> None:
    assert ("clause", *words) in said(a, b, RULES)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("You may not sell the maps of the town.", "You may not, however, sell such maps of the town."),
        ("We keep the maps (the “Plans”) of it, and you must pay.", "We keep the maps of it, and you must pay."),
        ("The town has a mill and a well.", "The town has a mill, a tower and a well."),
        ("You must read the notes at town.org/maps.", "You must read the notes at https://town.org/maps/rules."),
    ],
)
def test_words_that_add_nothing_to_a_rule_are_no_flag(a: str, b: str) -> None:
    assert said(a, b, RULES) == []


def test_a_new_definition_is_a_term() -> None:
    (flag,) = one_sided_flags("", "“Batch” means the bags of a day.", RULES)
    assert flag.kind.value == "term"


def test_a_changed_name_or_reference_has_the_gravity_of_its_clause() -> None:
    (law,) = flags("The laws of Nevada govern the claims.", "The laws of Texas govern the claims.", terms=RULES)
    (town,) = flags("The mill of Nevada runs at night.", "The mill of Texas runs at night.", terms=RULES)
    assert (law.kind.value, town.kind.value) == ("name", "name")
    assert law.gravity > town.gravity == 0


def test_key_words_in_capitals_and_in_small_letters_are_other_words() -> None:
    found = [mention.value for mention in norms("It MUST run, must stop, and is NOT RECOMMENDED.", KEYWORDS_BIND)]
    assert found == ["DUTY", "duty", "ADVICE"]
