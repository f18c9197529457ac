"""Quantities: which numbers are labels, and which amounts, dates and units are the same however they are written."""

from __future__ import annotations

import pytest

from colde_cli.similarity.flags import flags, numbers
from colde_cli.similarity.quantities import normal_form


@pytest.mark.parametrize(
    ("text", "before", "after"),
    [
        ("Interest is due under Section 3 or $500 per day.", "$500", "$900"),
        ("He may end it under Section 3, 15 days after notice.", "15 days", "45 days"),
        ("It is due under Article 5 and 30 days later.", "30 days", "60 days"),
        ("A discount under clause 4 or 5% is given.", "5%", "9%"),
        ("Under Section 3, 5 May 2021 is the last day.", "5 May 2021", "6 May 2021"),
        ("Of the water behind part 3 or 5 km of it.", "5 km", "7 km"),
        ("It is paid within [30] days of it.", "[30] days", "[45] days"),
        ("The fee is $[1,000] a lot.", "$[1,000]", "$[2,000]"),
        ("The fee is [30] euros a lot.", "[30] euros", "[45] euros"),
        ("The rate is [5]% of the price.", "[5]%", "[9]%"),
    ],
)
def test_a_measure_behind_a_reference_or_in_brackets_is_flagged(text: str, before: str, after: str) -> None:
    found = [(flag.a, flag.b) for flag in flags(text, text.replace(before, after))]
    assert found == [(before, after)]


@pytest.mark.parametrize(
    "text",
    [
        "as filed on Schedule 13G of it",
        "see Section 12g of it",
        "see Table 3 Days to failure",
        "under Section 5 may be ended",
        "as stated in [12] and [13, 14]",
        "on page 3 or 5 of it",
        "see Section 3.10.2020 of it",
    ],
)
def test_labels_that_look_like_measures_are_none(text: str) -> None:
    assert numbers(text) == ()


@pytest.mark.parametrize(
    ("a", "b", "said"),
    [
        ("within 30 days of it", "within forty-five (45) days of it", ("30 days", "(45) days")),
        ("within thirty (30) days of it", "within forty-five (45) days of it", ("(30) days", "(45) days")),
        ("It is (at 4%) low.", "It is (at 5%) low.", ("4%", "5%")),
        ("It is at thirty (4% of it) low.", "It is at thirty (5% of it) low.", ("4%", "5%")),
    ],
)
def test_a_flag_shows_both_brackets_or_none(a: str, b: str, said: tuple[str, str]) -> None:
    assert [(flag.a, flag.b) for flag in flags(a, b)] == [said]


def test_brackets_are_no_part_of_a_value() -> None:
    assert normal_form("[30] days") == normal_form("(30) days") == normal_form("thirty days") == "30days"
