"""Numbers that a program counts: how they are written, and where they stand in a text."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from colde_cli.documents.builder import DocumentBuilder
from colde_cli.documents.clause_numbers import Counted, NumberedLine, label_below, written
from colde_cli.documents.document import Document, Span, document_header, document_of
from colde_cli.documents.selection import remove_spans

FORMS = {  # of ECMA-376 part 1, § 17.18.59
    "decimal": "0 1 12",
    "decimalZero": "00 01 12",
    "lowerLetter": "0 a l",
    "upperLetter": "0 A L",
    "lowerRoman": "0 i xii",
    "upperRoman": "0 I XII",
    "ordinal": "0th 1st 12th",
    "cardinalText": "Zero One Twelve",
    "ordinalText": "Zeroth First Twelfth",
    "hex": "0 1 C",
    "chicago": "0 * §§§",
    "decimalEnclosedParen": "(0) (1) (12)",
    "decimalEnclosedFullstop": "0. 1. 12.",
    "decimalEnclosedCircle": "0 ① ⑫",
    "001, 002, 003, ...": "000 001 012",
    "aiueo": "0 1 12",  # a form that is not written
}


@pytest.mark.parametrize("form", FORMS)
def test_forms_of_numbers(form: str) -> None:
    assert [written(number, form) for number in (0, 1, 12)] == FORMS[form].split()


def test_forms_of_large_numbers() -> None:
    assert [written(27, form) for form in ("lowerLetter", "latin", "upperLatin")] == ["aa", "aa", "AA"]
    assert [written(28, form) for form in ("lowerLetter", "latin", "upperLetter")] == ["bb", "ab", "BB"]
    assert [written(number, "ordinal") for number in (2, 3, 11, 21, 112)] == ["2nd", "3rd", "11th", "21st", "112th"]
    assert written(121, "cardinalText") == "One hundred twenty-one"
    assert [written(number, "ordinalText") for number in (20, 42, 1000)] == ["Twentieth", "Forty-second", "1000th"]
    assert [written(5, form) for form in ("none", "bullet", "numberInDash")] == ["", "", "- 5 -"]


@given(st.integers(0, 10**9), st.sampled_from([*FORMS, "latin"]))
def test_every_number_is_written(number: int, form: str) -> None:
    assert 0 < len(written(number, form)) <= 120


@pytest.mark.parametrize(
    ("above", "mark", "label"),
    [
        *(("", "7.", "7"), ("7", "7.2", "7.7.2"), ("7.2", "(b)", "7.2(b)"), ("7.2(b)", "(ii)", "7.2(b)(ii)")),
        *(("7", "b)", "7 b)"), ("7", "b.", "7.b"), ("Article IV", "Section 2.", "Article IV Section 2")),
        *(("", "Article IV.", "Article IV"), ("7", "", "7"), ("", "§ 12", "§ 12")),
    ],
)
def test_labels(above: str, mark: str, label: str) -> None:
    assert label_below(above, mark) == label


def built() -> Document:
    builder = DocumentBuilder("a.docx")
    builder.number_next(NumberedLine(Counted("1.", "1")))
    builder.add_heading("Fees", 1)
    builder.add_paragraph("Same words.")
    builder.number_next(NumberedLine(Counted("1.1", "1.1")))
    builder.add_paragraph("Same words.")
    builder.add_note("Same words.")
    builder.number_next(NumberedLine(Counted("a.", "a"), 1, "two"), NumberedLine(Counted("b.", "b"), 2))
    builder.add_paragraph("one | 1\ntwo | 2\nthree | 3", lines=True)
    builder.number_next(NumberedLine(Counted("9.", "9")))
    builder.add_paragraph(" ")
    builder.add_paragraph("No number: the one before stood before nothing.")
    return builder.build("Title", "a.docx")


def test_numbers_have_places() -> None:
    document = built()
    places = [(document.text[number.start : number.end], number.label) for number in document.numbers]
    assert places[:1] == [("Fees", "1")]
    assert places[1:3] == [("Same words.", "1.1"), ("two | 2", "a")]
    assert document.text.find("Same words.") < document.numbers[1].start < document.text.rfind("Same words.")
    assert [section.number for section in document.sections] == ["1"]
    header = json.loads(json.dumps(document_header(document, "Title")))
    assert document_of("a.docx", "a.docx", header) == document


def test_numbers_follow_their_paragraphs() -> None:
    """What is left out takes its numbers with it; the others stay before their words."""
    document = built()
    second = document.numbers[1]
    left = remove_spans(document, [Span(second.start, second.end)])
    kept = [number for number in document.numbers if number is not second]
    assert [number.label for number in left.numbers] == [number.label for number in kept]
    for before, after in zip(kept, left.numbers, strict=True):
        assert document.text[before.start : before.end] == left.text[after.start : after.end]
