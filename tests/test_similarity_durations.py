"""Durations in words, in four languages."""

from __future__ import annotations

import pytest

from colde_cli.similarity.contracts import ContractTerms
from colde_cli.similarity.durations import is_duration
from colde_cli.similarity.flags import flags
from colde_cli.similarity.quantities import numbers


@pytest.mark.parametrize(
    ("text", "a", "b"),
    [
        ("Die Frist beträgt {}.", "drei Monate", "einen Monat"),
        ("Die Frist beträgt {}.", "dreißig (30) Tage", "sechzig (60) Tage"),
        ("Er zahlt nach {} das Geld.", "vierzehn Tagen", "fünfundvierzig Tagen"),
        ("Die {} Frist gilt.", "dreimonatige", "zweimonatige"),
        ("Die {} Frist gilt.", "30-tägige", "60-tägige"),
        ("Er zahlt nach {} das Geld.", "30 Tagen", "60 Tagen"),
        ("Le délai dure {} au plus.", "six mois", "trois mois"),
        ("Le délai dure {} au plus.", "un an", "deux ans"),
        ("Le délai dure {} au plus.", "quatre-vingt-dix jours", "soixante-dix jours"),
        ("Le délai dure {} au plus.", "trente (30) jours ouvrables", "quinze (15) jours ouvrables"),
        ("El plazo es de {} en total.", "tres meses", "un mes"),
        ("El plazo es de {} en total.", "treinta y un días hábiles", "veintiún días hábiles"),
        ("It ends {} of it.", "six months", "three months"),
        ("It ends within {} of it.", "a year", "two years"),
        ("It ends after {} of it.", "one month", "two months"),
        ("It ends after {} of it.", "six months", "six weeks"),
    ],
)
def test_a_changed_duration_is_flagged(text: str, a: str, b: str) -> None:
    (flag,) = flags(text.format(a), text.format(b), terms=ContractTerms(rules=True))
    assert (flag.kind.value in ("number", "unit"), flag.a, flag.b) == (True, a, b)
    assert flag.gravity > 0


@pytest.mark.parametrize(
    ("text", "a", "b"),
    [
        ("Er zahlt binnen {} das Geld.", "dreißig (30) Tagen", "30 Tagen"),
        ("Er zahlt binnen {} das Geld.", "eines Monats", "einem Monat"),
        ("Le délai dure {} au plus.", "soixante et onze jours", "71 jours"),
        ("El plazo es de {} en total.", "ciento veinte días", "120 días"),
        ("It ends after {} of it.", "one month", "1 month"),
        ("It runs 30 {} of them.", "an hour", "an hour"),
    ],
)
def test_the_same_duration_in_other_words_is_not(text: str, a: str, b: str) -> None:
    assert flags(text.format(a), text.format(b)) == ()


@pytest.mark.parametrize("text", ["It is an hour away.", "Un jour il vint.", "He tags a day.", "Der Tag war lang."])
def test_other_words_are_no_duration(text: str) -> None:
    assert [mention.value for mention in numbers(text)] in ([], ["1day"])


def test_every_spelled_number_is_read() -> None:
    for words, value in (
        ("neunundneunzig Tage", 99),
        ("quatre-vingt-dix-neuf jours", 99),
        ("noventa y nueve días", 99),
    ):
        assert [mention.value for mention in numbers(f"x {words} x")] == [f"{value}day"]
        assert is_duration(words)
    assert not is_duration("drei Pumpen")
