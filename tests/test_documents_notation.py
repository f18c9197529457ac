"""Super- and subscripts and fractions are written in one way."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from colde_cli.documents.notation import IN_UNICODE, in_line
from colde_cli.similarity.redline import plain


@pytest.mark.parametrize(
    ("text", "written"),
    [
        *(("10²", "10^2"), ("10⁻⁶ m", "10^−6 m"), ("x₂²", "x_2^2"), ("xⁿ⁺¹", "x^(n+1)"), ("²", "^2")),
        *(("½", "1/2"), ("½½", "1/2 1/2"), ("1½", "1 1/2"), ("½5", "1/2 5"), ("11⁄2", "11/2")),
        *(("⅟10", "1/10"), ("5ᵗʰ", "5th"), ("3 ㎡", "3 m^2"), ("10²5", "10^2 5"), ("1º, 2ª", "1º, 2ª")),
        ("plain 102", "plain 102"),
    ],
)
def test_scripts_and_fractions_of_unicode(text: str, written: str) -> None:
    assert in_line(text) == written


def test_what_stands_before_a_text_parts_a_fraction_from_a_number() -> None:
    assert in_line("½", "1") == " 1/2"
    assert in_line("ᵗʰ", "5") == "th"


def test_every_raised_and_lowered_digit_and_every_fraction_is_known() -> None:
    for place in range(0x80, 0x30000):
        sign = chr(place)
        kind = unicodedata.decomposition(sign).partition(" ")[0]
        number = any(map(str.isdecimal, unicodedata.normalize("NFKC", sign)))
        if number and kind in ("<super>", "<sub>", "<fraction>"):
            assert IN_UNICODE.fullmatch(sign)


@given(st.text(st.characters(categories=["Nd", "No", "Zs"]), max_size=8))
def test_no_digit_comes_to_stand_beside_another(text: str) -> None:
    """Each run of digits of the plain text was one of the text."""
    decimal = [sign for sign in text if sign.isdecimal()]
    runs = "".join(sign if sign.isdecimal() else " " for sign in text).split()
    found = "".join(sign if sign.isdecimal() else " " for sign in plain(text)).split()
    values = ["".join(str(unicodedata.decimal(sign)) for sign in run) for run in runs]
    assert len(decimal) <= sum(map(len, found))
    rest = ["".join(str(unicodedata.decimal(sign)) for sign in run) for run in found]
    for value in values:
        assert value in rest
        rest.remove(value)
