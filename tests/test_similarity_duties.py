"""Words of duty, scope and comparison: each phrase is found whole, in any case, and belongs to its group."""

from __future__ import annotations

import re
from collections.abc import Mapping

import pytest

from colde_cli.similarity.duties import (
    BINDING,
    BOUNDS,
    COMPARISON,
    COMPARISONS,
    EXCEPTION,
    EXCEPTIONS,
    NEGATION,
    OBLIGATION,
    OBLIGATIONS,
    QUANTIFIER,
    QUANTIFIERS,
    SCOPE,
    SCOPES,
    WEAK_ALONE,
    clause,
    group,
    normative,
)

TABLES = (
    (OBLIGATION, OBLIGATIONS),
    (SCOPE, SCOPES),
    (QUANTIFIER, QUANTIFIERS),
    (COMPARISON, COMPARISONS),
    (EXCEPTION, EXCEPTIONS),
)


@pytest.mark.parametrize(
    ("pattern", "groups"), TABLES, ids=["duty", "scope", "quantity", "comparison", "exception"]
)
def test_every_phrase_is_found_whole_and_has_its_group(
    pattern: re.Pattern[str], groups: Mapping[str, str]
) -> None:
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
        *(
            ("is required to", OBLIGATIONS, "duty"),
            ("must", OBLIGATIONS, "duty"),
            ("may", OBLIGATIONS, "permission"),
        ),
        *(("could", OBLIGATIONS, "possibility"), ("should", OBLIGATIONS, "advice")),
        *(("best efforts", OBLIGATIONS, "best efforts"), ("haftet", OBLIGATIONS, "liable")),
        *(
            ("commercially reasonable efforts", OBLIGATIONS, "reasonable efforts"),
            ("dürfen", OBLIGATIONS, "permission"),
        ),
        *(("est tenue de", OBLIGATIONS, "duty"), ("podrá", OBLIGATIONS, "permission")),
        *(
            ("ausschließlich", SCOPES, "exclusive"),
            ("solely", SCOPES, "only"),
            ("jointly", SCOPES, "several"),
        ),
        *(("and/or", QUANTIFIERS, "or"), ("each", QUANTIFIERS, "all"), ("several", QUANTIFIERS, "some")),
        *(
            ("not less than", COMPARISONS, "at least"),
            ("up to", COMPARISONS, "at most"),
            ("over", COMPARISONS, "more"),
        ),
        *(("no later than", COMPARISONS, "before"), ("höchstens", COMPARISONS, "at most")),
        *(("provided, however", EXCEPTIONS, "provided that"), ("mit Ausnahme", EXCEPTIONS, "except")),
        ("the pump", EXCEPTIONS, "the pump"),
    ],
)
def test_groups(phrase: str, groups: Mapping[str, str], name: str) -> None:
    assert group(phrase, groups) == name


def test_what_binds_is_a_group_and_what_is_weak_binds() -> None:
    assert set(OBLIGATIONS.values()) - BINDING == {"possibility", "reasonable efforts"}
    assert set(COMPARISONS.values()) >= BOUNDS == {"at least", "at most"}
    assert {OBLIGATIONS[words] for words in WEAK_ALONE} == {"duty", "permission"}


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


def words(count: int, rules: int, word: str = "shall") -> str:
    return " ".join([word] * rules + ["word"] * (count - rules))


@pytest.mark.parametrize(
    "word",
    (
        "shall must may agree agrees will muss müssen darf dürfen verpflichtet berechtigt doit doivent peut peuvent "
        "s'engage s’engagent debe deben deberá deberán podrá podrán puede pueden"
    ).split(),
)
def test_five_words_of_duty_in_a_thousand_make_rules(word: str) -> None:
    assert normative(words(1000, 5, word))
    assert not normative(words(1000, 4, word))
    assert not normative(words(1000, 5, f"{word}x"))


def test_a_text_without_words_sets_no_rules() -> None:
    assert not normative("")


@pytest.mark.parametrize(
    ("text", "binds"),
    [
        ("he pays it to us all and shall", True),
        ("he pays it to us all and not", True),
        ("he pays it to us and shall", False),
        ("he pays it to us all and goes", False),
    ],
)
def test_a_clause_is_long_enough_and_binds(text: str, binds: bool) -> None:
    assert clause(text) is binds
