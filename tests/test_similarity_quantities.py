"""Quantities: which numbers are labels, and which amounts, dates and units are the same however they are written."""

from __future__ import annotations

import datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from colde_cli.similarity.flags import flags
from colde_cli.similarity.quantities import normal_form, numbers


@pytest.mark.parametrize(
    ("text", "before", "after"),
    [
        ("Interest is due under Section 3 or $500 per day.", "$500 per day", "$900 per day"),
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
        "as filed on Schedule 13G of it", "see Section 12g of it", "see Table 3 Days to failure",
        "under Section 5 may be ended", "as stated in [12] and [13, 14]", "on page 3 or 5 of it",
        "see Section 3.10.2020 of it",
    ],
)  # fmt: skip
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


SAME = [
    (
        "date",
        [
            "3 May 2021", "May 3, 2021", "2021-05-03", "3rd May 2021", "3rd of May, 2021", "3. Mai 2021",
            "3 de mayo de 2021",
        ],
    ),
    ("date", ["January 1992", "January, 1992", "Jan 1992"]),
    ("date", ["3 May", "May 3rd"]),
    ("amount", ["$1,000", "$1,000.00", "1,000 dollars", "one thousand dollars", "$1k"]),
    ("amount", ["$1.5 million", "$1,500,000", "1.50 million dollars", "$1.5m"]),
    ("amount", ["two hundred thousand dollars", "$200,000"]),
    ("amount", ["EUR 5 billion", "5,000 million euros", "€5bn"]),
    (
        "amount",
        [
            "$500 annually", "$500 per year", "$500 a year", "500 dollars per annum", "$500 yearly", "$500/year",
        ],
    ),
    ("number", ["5:00 p.m.", "5 p.m.", "5:00 pm", "5pm"]),
    ("percentage", ["4%", "4.0%", "four per cent", "4.00 percent"]),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "written"), SAME)
def test_what_is_only_written_otherwise_is_the_same(kind: str, written: list[str]) -> None:
    assert len({normal_form(one, kind) for one in written}) == 1
    for one in written[1:]:
        assert flags(f"It was {written[0]} at the mill.", f"It was {one} at the mill.") == ()


@pytest.mark.parametrize(
    ("kind", "one", "other"),
    [
        ("date", "3/4/2021", "4/3/2021"), ("date", "3/4/2021", "3 April 2021"),
        ("date", "May 2021", "May 20"), ("date", "3 June 2021", "3 juillet 2021"), ("amount", "$1.000", "$1"),
        ("amount", "$1.000", "$1,000"), ("amount", "$1.000 million", "$1.000"),
        ("amount", "$1,000", "USD 1,000"), ("amount", "$1,000", "€1,000"),
        ("amount", "$1.5 million", "$1.5 billion"), ("amount", "two and three dollars", "five dollars"),
        ("amount", "50 pounds", "£5"), ("percentage", "4.000%", "4%"), ("percentage", "-4%", "4%"),
        ("number", "2.0", "2"), ("number", "3.10", "3.1"),
    ],
)  # fmt: skip
def test_what_may_be_another_value_is_not_the_same(kind: str, one: str, other: str) -> None:
    assert normal_form(one, kind) != normal_form(other, kind)


DATES = st.dates(datetime.date(1000, 1, 1))
MONTHS = "January February March April May June July August September October November December".split()


@given(DATES, DATES)
def test_two_dates_never_have_one_form(one: datetime.date, other: datetime.date) -> None:
    forms = [
        {
            date.isoformat(),
            normal_form(f"{date.day} {MONTHS[date.month - 1]} {date.year}", "date"),
            normal_form(f"{MONTHS[date.month - 1][:3]} {date.day}, {date.year}", "date"),
        }
        for date in (one, other)
    ]
    assert len(forms[0]) == 1
    assert (forms[0] == forms[1]) == (one == other)


AMOUNTS = st.tuples(
    st.integers(0, 10**7),
    st.integers(0, 99),
    st.sampled_from([("", 0), (" thousand", 3), ("m", 6), (" billion", 9)]),
)


@given(AMOUNTS, AMOUNTS)
def test_two_amounts_never_have_one_form(
    one: tuple[int, int, tuple[str, int]], other: tuple[int, int, tuple[str, int]]
) -> None:
    written, values = [], []
    for whole, cents, (scale, zeros) in (one, other):
        written.append(normal_form(f"${whole:,}.{cents:02}{scale}", "amount"))
        values.append(Decimal(f"{whole}.{cents:02}") * 10**zeros)
    assert (written[0] == written[1]) == (values[0] == values[1])


@pytest.mark.parametrize(
    ("a", "b", "kind"),
    [
        ("4% per year", "4% per month", "percentage"), ("$5 a year", "$5 a month", "amount"),
        ("$500 annually", "$500 monthly", "amount"), ("$500 monthly", "$500", "amount"),
        ("EUR 40/day", "EUR 40/week", "amount"), ("40 hours per week", "40 hours per month", "unit"),
        ("5:00 p.m.", "5:00 a.m.", "number"), ("5:30pm", "5:30am", "number"),
    ],
)  # fmt: skip
def test_another_rate_or_time_of_day_is_flagged(a: str, b: str, kind: str) -> None:
    found = flags(f"It was {a} at the mill.", f"It was {b} at the mill.")
    assert [(flag.kind.value, flag.a, flag.b) for flag in found] == [(kind, a, b)]


@pytest.mark.parametrize("text", ["$500 a month later", "4% a year ago", "30 days per year before"])
def test_a_time_that_passed_is_no_rate(text: str) -> None:
    (mention,) = numbers(f"It was {text} of it.")
    assert "/" not in mention.value
