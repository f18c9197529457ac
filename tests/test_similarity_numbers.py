"""How numbers are written, and which are labels, marks, axes or parts of names and formulas."""

from __future__ import annotations

import re
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from colde_cli.documents.document import Span
from colde_cli.similarity.flags import flags
from colde_cli.similarity.numbers import (
    NUMBER,
    axis_numbers,
    bibliographic,
    footnote_marks,
    formulas,
    in_figures,
    mostly_numbers,
    names_something,
    other_row,
    renumbered,
    written_twice,
)
from colde_cli.similarity.quantities import numbers


@pytest.mark.parametrize(
    "text",
    [
        "0 500 1000 1500 2000", "Timestep 0 0.5 1 1.5 error", "-2 0 2 4 6", "−10 −5 0 5", "7 3 10 20 30 40 9",
        "1799 1800 1801 1802", "2098 2099 2100 2101", "1900 1910 1920 1930", "5 4 3 2", "0.1 0.2 0.3 0.4",
    ],
)  # fmt: skip
def test_numbers_at_equal_distances_are_an_axis(text: str) -> None:
    (row,) = axis_numbers(text)
    assert text[row.start : row.end].split(maxsplit=1)[0][-1].isdigit()


@pytest.mark.parametrize(
    "text",
    [
        "2015 2016 2017 2018", "0.86 3.1 0.87 3.0", "1 2 3", "5 5 5 5", "10, 20, 30, 40",
        "a 0 500 b 1000 1500", "1800 1801 1802 1803", "2097 2098 2099 2100", "1 2 3 5 8", "0.1 0.2 0.3 0.41",
    ],
)  # fmt: skip
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


SPELLED_OUT = {
    **dict(zip("two three four five six seven eight nine ten eleven twelve".split(), range(2, 13), strict=True)),
    **dict(zip("thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split(), range(13, 20), strict=True)),
    **dict(zip("twenty thirty forty fifty sixty seventy eighty ninety".split(), range(20, 100, 10), strict=True)),
    **{"twenty-one": 21, "thirty five": 35, "ninety-nine": 99, "one hundred": 100, "two hundred and five": 205},
    **{"five thousand": 5000, "one million": 10**6, "three billion": 3 * 10**9, "six trillion": 6 * 10**12},
    "two million three hundred thousand and five": 2_300_005,
}  # fmt: skip


@pytest.mark.parametrize(("words", "value"), SPELLED_OUT.items())
def test_numbers_in_words_have_a_value(words: str, value: int) -> None:
    assert in_figures(f"{words} days") == f"{value} days"
    found = re.fullmatch(NUMBER, words.capitalize())
    assert found, "ignored as one number"
    written = f"within {words} ({value:,}) days"
    for text in (written, written.upper()):
        assert [text[span.start : span.end].lower() for span in written_twice(text)] == [words]
    assert written_twice(f"within {words} ({value + 1}) days") == ()


@pytest.mark.parametrize(
    "text", ["two and three men", "ten five", "two thousand million", "twenty ten", "two hundred hundred"]
)
def test_several_numbers_in_words_have_no_value(text: str) -> None:
    assert in_figures(text) == text


@pytest.mark.parametrize(
    ("text", "figures"),
    [
        ("1,400 of 2,000", "1400 of 2000"), ("1,40 and 1,4000", "1,40 and 1,4000"),
        ("one of them", "one of them"), ("hundred men", "hundred men"), ("third of it", "third of it"),
        ("half of it", "half of it"), ("tenant", "tenant"),
    ],
)  # fmt: skip
def test_what_may_mean_something_else_stays_in_words(text: str, figures: str) -> None:
    assert in_figures(text) == figures


@pytest.mark.parametrize(
    "date",
    [
        "8 January 2024", "1st of February", "2nd March, 2024", "April 3rd, 2024", "May 4", "June 2024",
        "July 5th", "6 Aug. 2024", "Sept. 7, 2024", "October 8", "9 Nov 2024", "Dec 10", "11 Jan", "12 Feb",
        "8. Januar 2024", "9. März 2024", "1. Mai 2024", "2. Dezember 2024", "3. Juli 2024", "4. Juni 2024",
        "1er janvier 2024", "2 février", "3 août 2024", "4 décembre", "5 juillet 2024", "6 avril 2024",
        "8 de enero de 2024", "9 de marzo del 2024", "2 de abril", "3 de agosto de 2024", "4 de diciembre",
        "2024-01-08", "2024-01-08T11:20", "2024-01-08T11:20:06", "08/01/2024", "8.1.24", "October, 2024",
    ],
)  # fmt: skip
def test_a_date_is_one_number(date: str) -> None:
    text = f"It was due on {date} at the mill."
    assert [(mention.kind.value, text[mention.span.start : mention.span.end]) for mention in numbers(text)] == [
        ("date", date)
    ]
    assert re.fullmatch(NUMBER, date)
    assert flags(text, text.replace("due", "made")) == ()


@pytest.mark.parametrize(
    "number",
    [
        "version 3.1.10", "release 3.1.10", "v 3.1.10", "v. 3.1.10", "13.14.15", "32.1.24", "3.1.245",
        "3/1.24", "10.1.1.12",
    ],
)  # fmt: skip
def test_a_version_is_no_date(number: str) -> None:
    kinds = [mention.kind.value for mention in numbers(f"It runs on {number} of it.")]
    assert "date" not in kinds
    changed = number.replace("1", "9", 1)
    found = flags(f"It runs on {number} of it.", f"It runs on {changed} of it.")
    assert [flag.kind.value for flag in found] == ["number"]


@pytest.mark.parametrize(
    ("text", "one"),
    [
        ("1,400.50", True), ("31st", True), ("22nd", True), ("3rd", True), ("5th", True),
        ("1\u202f400", True), ("two hundred and five", True), ("1.4 million", True), ("thirty-five", True),
        ("3:30", True), ("one and three", False), ("may 10", False), ("3 4", False), ("pump", False),
    ],
)  # fmt: skip
def test_what_is_one_number(text: str, one: bool) -> None:
    assert bool(re.fullmatch(NUMBER, text)) is one


def words_at(text: str, spans: Iterable[Span]) -> list[str]:
    return [text[span.start : span.end] for span in spans]


@pytest.mark.parametrize(
    ("text", "marks"),
    [
        ("It is available.6 It runs.", ["6"]), ("It is available6, and runs12", ["6", "12"]),
        ("the (thing).12 It", ["12"]), ("6 https://example.org", ["6 "]), ("ran, 7 which was", ["7"]),
        ("available;3 that", ["3"]), ("the cat.6 It", []), ("ran, 7 when was", []), ("word123 runs", []),
        ("H2O is available 6 now", []),
    ],
)  # fmt: skip
def test_footnote_marks(text: str, marks: list[str]) -> None:
    assert words_at(text, footnote_marks(text)) == marks


@pytest.mark.parametrize(
    ("text", "number", "named"),
    [
        *(("the GA4 property", "4", True), ("a COVID-19 wave", "19", True), ("the 3σ bound", "3", True)),
        *(("Palmer 2009 found", "2009", True), ("(Palmer, 2009) found", "2009", True)),
        *(("Osei et al. (2009) found", "2009", True), ("by 2009a we", "2009", True)),
        *(("Palmer 1720 found", "1720", False), ("in 2009 we", "2009", False), ("a (2009) b", "2009", False)),
        *(("they (3) pay", "3", True), ("they (12) pay", "12", True), ("they (123) pay", "123", False)),
        *(("thirty (30) days", "30", False), ("they (3.5) pay", "3.5", False), ("they (3 pay", "3", False)),
        *(("they 3) pay", "3", False), ("the pump 7 runs", "7", False), ("a x-19 wave", "19", False)),
    ],
)
def test_numbers_of_names(text: str, number: str, named: bool) -> None:
    start = text.index(number)
    assert names_something(text, Span(start, start + len(number))) is named


def test_labels_that_shift_together_are_renumbered() -> None:
    shifted = [(str(number), str(number + 2)) for number in range(5)]
    assert renumbered([*shifted, ("9", "10"), ("a", "b"), ("3", "c")]) == set(shifted)
    assert renumbered(shifted[:4]) == renumbered([("1", "2")] * 9) == frozenset()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("L1 = 0 i + 2 × J", ["L1 = 0 i + 2 × J"]),
        ("sin 3 + cos 4", ["sin 3 + cos 4"]),
        ("a = 5", ["a = 5"]),
        ("The value of 3 is larger than 5 there.", []),
        ("The pump runs at 3 = night", []),
        (
            "The 9 pumps run every night where x = 4 y + 5 while 7 of them stand still at last",
            ["=", "4", "y", "+", "5"],
        ),
    ],
)
def test_formulas(text: str, found: list[str]) -> None:
    assert words_at(text, formulas(text)) == found


PUMPS = "Station | Pumps | Flow | Built\nMill lane | 2 | 45 l/s | 1991\nHarbour gate | 6 | 310 l/s | 2004"


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("2 |", "3 |", ("2", "3")), ("1991", "1999", ("1991", "1999")), ("45 l/s", "$45", ("45 l/s", "$45")),
        ("lane | 2", "road | 5", ("2", "5")),
    ],
)  # fmt: skip
def test_a_number_in_a_row_of_a_table_is_flagged(before: str, after: str, said: tuple[str, str]) -> None:
    assert [(flag.a, flag.b) for flag in flags(PUMPS, PUMPS.replace(before, after))] == [said]


@pytest.mark.parametrize(
    ("before", "after", "other"),
    [
        ("Mill lane | 2 | 45 | 1991", "Harbour gate | 6 | 310 | 2004", True),
        ("Mill lane | 2 | 45 | 1991", "Harbour gate | 6 | 45 | 2004", True),
        ("Mill lane | 2 | 45 | 1991", "Harbour gate | 2 | 45 | 2004", False),
        ("Mill lane | 2 | 45 | 1991", "Mill road | 6 | 310 | 2004", False),
        ("| Mill lane | 2 | 45 |", "| Harbour gate | 6 | 310 |", True),
        ("Rent | $1,200", "Deposit | $2,400", False),
        ("Rental | $1,200 | 2", "Rent | $2,400 | 3", False),
        ("1 | $1,200", "1 | $1,900", False),
        ("Mill lane has 2 pumps", "Harbour gate has 6 pumps", False),
        ("Mill lane | 2 pumps", "Harbour gate has 6 pumps", False),
    ],
)
def test_another_row_took_its_place(before: str, after: str, other: bool) -> None:
    assert other_row(before, after) is other_row(after, before) is other


def test_rows_that_changed_places_raise_no_flag() -> None:
    head, mill, harbour = PUMPS.splitlines()
    assert flags(PUMPS, "\n".join((head, harbour, mill))) == ()
    assert flags(mill, harbour) == flags(f"{head}\n{mill}", f"{head}\n{harbour}") == ()


@pytest.mark.parametrize(
    ("text", "entry"),
    [
        ("Osei, A., Brandt, F.: On malt. 2019, J. Malt", True),
        ("arXiv:1234.5 On malt", True),
        ("On malt. ArXiv e-prints", True),
        ("We met Osei, A. in Berlin.", False),
        ("On malt and beer. 2019a, Malt", True),
        (
            "We wrote in June 2019, Berlin being far away, that the pump of the old well must soon be mended by us all",
            False,
        ),
        (
            "We met Osei, A. in 2019, Berlin being far away, to say that the pump of the well must be mended at last",
            True,
        ),
    ],
)
def test_entries_of_lists_of_references(text: str, entry: bool) -> None:
    assert bibliographic(text) is entry
    assert bool(numbers(text)) is (not entry and "2019" in text)


@pytest.mark.parametrize(
    ("text", "mostly"),
    [
        *(("1 2 3", True), ("pump 1 2", True), ("pump 1", False), ("- * 3 pump pump", True), ("", False)),
        *(("12 – 3 wells", True), ("the pump has 3 wells", False)),
    ],
)
def test_rows_of_tables(text: str, mostly: bool) -> None:
    assert mostly_numbers(text) is mostly
