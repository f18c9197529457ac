"""The genre of a text: contract, standard, policy, paper, or any other."""

from __future__ import annotations

import pytest

from colde_cli.documents.document import Document, Part, SectionKind, assemble
from colde_cli.similarity.genre import common_genre, genre, normative

RULES = "The Supplier shall deliver the malt. The Customer must pay. Either may end it."


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


def text(title: str, *parts: tuple[str, str]) -> Document:
    kinds = {"Abstract": SectionKind.ABSTRACT, "References": SectionKind.REFERENCES}
    return assemble("a", title, [Part(name, words, kind=kinds.get(name, SectionKind.BODY)) for name, words in parts])


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (text("Supply Agreement", ("1 Delivery", RULES)), "contract"),
        (text("Privacy Policy", ("1 Data", RULES)), "policy"),
        (text("On Malt", ("Abstract", "We brew."), ("References", "Osei. 2020. On beer.")), "paper"),
        (text("A day at the well", ("", "The pump ran all night and nobody slept.")), "text"),
    ],
)
def test_each_genre(document: Document, expected: str) -> None:
    assert genre(document).value == expected
    assert common_genre(document, document).value == expected
    assert common_genre(document, text("Letter", ("", "Dear all."))).value == "text"
