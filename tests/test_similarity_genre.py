"""Contracts, policies and papers are told from other texts."""

from __future__ import annotations

import pytest

from colde_cli.documents.document import Document, Part, SectionKind, assemble
from colde_cli.similarity.genre import common_genre, genre

RULES = "The Supplier shall deliver the malt. The Customer must pay. Either may end it."


def text(title: str, *parts: tuple[str, str]) -> Document:
    kinds = {"Abstract": SectionKind.ABSTRACT, "References": SectionKind.REFERENCES}
    return assemble(
        "a", title, [Part(name, words, kind=kinds.get(name, SectionKind.BODY)) for name, words in parts]
    )


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
