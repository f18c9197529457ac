"""Axes of charts among the numbers of a text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from colde_cli.similarity.flags import flags
from colde_cli.similarity.numbers import axis_numbers


@pytest.mark.parametrize(
    "text",
    ["0 500 1000 1500 2000", "Timestep 0 0.5 1 1.5 error", "-2 0 2 4 6", "−10 −5 0 5", "7 3 10 20 30 40 9"],
)
def test_numbers_at_equal_distances_are_an_axis(text: str) -> None:
    (row,) = axis_numbers(text)
    assert text[row.start : row.end].split(maxsplit=1)[0][-1].isdigit()


@pytest.mark.parametrize(
    "text",
    ["2015 2016 2017 2018", "0.86 3.1 0.87 3.0", "1 2 3", "5 5 5 5", "10, 20, 30, 40", "a 0 500 b 1000 1500"],
)
def test_other_rows_are_not(text: str) -> None:
    assert axis_numbers(text) == ()


@given(
    first=st.integers(-1000, 1000),
    step=st.integers(2, 500),
    count=st.integers(4, 9),
    words=st.text(st.characters(categories=["L"]), min_size=1, max_size=8),
)
def test_an_axis_is_found_among_words(first: int, step: int, count: int, words: str) -> None:
    axis = " ".join(str(first + step * place) for place in range(count))
    text = f"{words} {axis} {words}"
    assert [text[row.start : row.end] for row in axis_numbers(text)] == [axis]


def test_an_axis_that_changed_raises_no_flag_and_a_number_beside_it_does() -> None:
    before = "The error stayed under 12 in all runs. Timestep 0 500 1000 1500 2000 2500"
    after = "The error stayed under 12 in all runs. Timestep 0 500 1000 1500 2000 2500 3000"
    assert flags(before, after) == ()
    assert [flag.b for flag in flags(before, after.replace("12", "21"))] == ["21"]
