"""Redline: what differs is marked; what typesetting did, and what the user ignores, is not."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from command_line import V1
from hypothesis import given, settings
from hypothesis import strategies as st

from colde_cli.documents.document import Document, Part, assemble
from colde_cli.documents.reading import read
from colde_cli.similarity.alignment import align
from colde_cli.similarity.flags import flags
from colde_cli.similarity.pairs import State
from colde_cli.similarity.redline import (
    NOTHING_IGNORED,
    IgnoreOptions,
    between,
    divided_words,
    normal,
    redline,
    run_together,
    squeezed,
    words,
)
from colde_cli.similarity.section_changes import SectionState, section_changes
from colde_cli.similarity.typesetting import content, same_texts


def marked(a: str, b: str, ignore: IgnoreOptions = NOTHING_IGNORED) -> list[tuple[str, str]]:
    return [(a[e.a.start : e.a.end], b[e.b.start : e.b.end]) for e in redline(a, b, ignore=ignore)]


def test_an_accent_stays_with_its_letter() -> None:
    assert words("a\u030angstro\u0308m")[0].key == "\u00e5ngstr\u00f6m"
    assert marked("There is a cafe.", "There is a\u030a cafe\u0301.") == [("a cafe", "a\u030a cafe\u0301")]
    assert marked("cafe\u0301 noir", "caf\u00e9 noir") == []


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("The pump  runs\nat night.", "The pump runs at night."),
        ("a low-\ncost measure- ment", "a low-cost measurement"),
        ("the efﬁcient ofﬁce", "the efficient office"), ("the e ffi cient office", "the efficient office"),
        ("“quoted” and ‘so’ — it’s", "\"quoted\" and 'so' - it's"), ("meas\u00adurement", "measurement"),
        ("from 3–5 µg", "from 3-5 μg"),
    ],
)  # fmt: skip
def test_what_typesetting_does_is_no_edit(a: str, b: str) -> None:
    assert marked(a, b) == marked(b, a) == []


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("It fell by 31 %.", "It fell by 27 %.", [("31", "27")]),
        ("It did not bias.", "It did bias.", [("not", "")]),
        ("It did bias.", "It did not bias.", [("", "not")]),
        ("Costs EUR 58 for 2 minutes", "Costs EUR 63 for 2 hours", [("58", "63"), ("minutes", "hours")]),
        ("at -3 degrees", "at 3 degrees", [("-", "")]),
        ("", "All new.", [("", "All new.")]),
        ("the Polish way", "the polish way", [("Polish", "polish")]),
    ],
)
def test_edits_are_as_small_as_they_read(a: str, b: str, expected: list[tuple[str, str]]) -> None:
    assert marked(a, b) == expected


few_words = st.lists(st.sampled_from("and shall not may pay the fee 5 7 % - low-cost lowcost".split()), max_size=9)


@settings(max_examples=150, deadline=None)
@given(few_words, few_words, st.booleans())
def test_the_edits_the_other_way_round_are_the_same_turned_over(a: list[str], b: list[str], readable: bool) -> None:
    one, two = " ".join(a), " ".join(b)
    back = redline(two, one, readable=readable)
    assert tuple((edit.b, edit.a) for edit in back) == tuple(
        (edit.a, edit.b) for edit in redline(one, two, readable=readable)
    )


CASE, WHITESPACE, NUMBERS = (
    IgnoreOptions(case=True), IgnoreOptions(whitespace=True), IgnoreOptions(numbers=True),
)  # fmt: skip
TEXTS = [
    "The pump lifts water from the well into the tower every night while the whole town is asleep.",
    "The council shall levy a tax of EUR 40 on every house, payable by 3 March, and does not refund it.",
    "Der Fluß steigt über die Straße, und Ärzte fahren täglich 17 km weit in die äußeren Dörfer.",
    "See Section 3.2(a) and Article IV: 12 of 31 wells were dry by 8 January 2024, one in three.",
]


def document(*paragraphs: str, heading: str = "1 Report") -> Document:
    return assemble("", "", [Part(heading, "\n\n".join(paragraphs))])


@pytest.mark.parametrize(
    ("ignore", "a", "b"),
    [
        (CASE, "THE SUPPLIER SHALL NOT BE LIABLE", "The Supplier shall not be liable"),
        (CASE, "Straße", "STRASSE"),
        (CASE, "the Oﬃce", "THE OFFICE"),
        (NUMBERS, "It fell by 31 % in 2020.", "It fell by 7.5 % in 1999."),
        (NUMBERS, "within thirty (30) days", "within forty-five (45) days"),
        (NUMBERS, "of 8 January 2024,", "of March 15th, 2025,"),
        (NUMBERS, "of 2024-01-08 or 08/01/2024", "of 3 May 2025 or May 2026"),
        (NUMBERS, "a fee of $1.4 million", "a fee of $900,000"),
        (NUMBERS, "two hundred and five cases", "9 cases"),
        (NUMBERS, "under Section 3.2(a)(iv)", "under Section 11.4(b)(2)"),
        (NUMBERS, "(a) The Buyer pays.", "(iii) The Buyer pays."),
        (NUMBERS, "in Article IV and Schedule B", "in Article 9 and Schedule C"),
        (NUMBERS, "1\u202f400 cases on the 31st day", "17 cases on the 2nd day"),
        (NUMBERS, "COVID-19 and H2O", "COVID-21 and H3O"),
        (WHITESPACE, "the data base at 5 %", "the database at 5%"),
    ],
)
def test_what_is_ignored_is_no_edit(ignore: IgnoreOptions, a: str, b: str) -> None:
    assert marked(a, b, ignore) == marked(b, a, ignore) == []
    assert normal(a, ignore) == normal(b, ignore)
    assert normal(a, NOTHING_IGNORED) != normal(b, NOTHING_IGNORED)


@pytest.mark.parametrize(
    ("ignore", "a", "b", "expected"),
    [
        (NUMBERS, "31 days from 3 May", "45 weeks from 9 June", [("days", "weeks")]),
        (NUMBERS, "a fee of EUR 40", "a fee of USD 45", [("EUR", "USD")]),
        (NUMBERS, "you may 10 times", "you must 12 times", [("may", "must")]),
        (NUMBERS, "between one and three", "between 2 and 5 years", [("", "years")]),
        (NUMBERS, "the function f(x)", "the function f(y)", [("x", "y")]),
        (NUMBERS, "in this section a party", "in this section the party", [("a", "the")]),
        (NUMBERS, "from 3 to 5", "from 3", [("to 5", "")]),
        (CASE, "The Buyer pays 5", "the seller pays 6", [("Buyer", "seller"), ("5", "6")]),
        (WHITESPACE, "the Buyer pays", "the buyer pays", [("Buyer", "buyer")]),
    ],
)
def test_what_is_not_ignored_still_is(ignore: IgnoreOptions, a: str, b: str, expected: list[tuple[str, str]]) -> None:
    assert marked(a, b, ignore) == expected
    assert normal(a, ignore) != normal(b, ignore)


@pytest.mark.parametrize(
    ("before", "after", "kinds"),
    [
        ("30 days", "45 days", []), ("30 days", "45 weeks", ["unit"]), ("EUR 1,400", "EUR 2,000,000", []),
        ("EUR 1,400", "USD 1,600", ["amount"]), ("EUR 1,400", "5 %", ["amount"]),
        ("8 January 2024", "15 March 2025", []), ("shall deliver", "may deliver", ["obligation"]),
        ("shall deliver", "shall not deliver", ["negation"]), ("within 30 days of 8 January 2024 ", "", []),
    ],
)  # fmt: skip
def test_flags_of_numbers_go_and_units_tell(before: str, after: str, kinds: list[str]) -> None:
    text = "The Supplier shall deliver the malt within 30 days of 8 January 2024 at EUR 1,400 per lot."
    found = flags(text, text.replace(before, after), NUMBERS)
    assert [flag.kind.value for flag in found] == kinds


def test_names_that_differ_in_case_have_no_flag() -> None:
    a, b = "It was read by Ottilie Brandt twice.", "It was read by Ottilie BRandt twice."
    assert flags(a, b) == flags(a, b, CASE) == ()
    other = "It was read by Friedrich Osei twice."
    assert [flag.kind.value for flag in flags(a, other, CASE)] == ["name"]


def test_headings_that_differ_in_numbers_are_not_renamed() -> None:
    a, b = (document(TEXTS[0], heading=f"2 Results of {year}") for year in (2020, 2021))
    found = align(a, b, None, NUMBERS)
    assert [change.state for change in section_changes(found, a, b)] == [SectionState.RENAMED]
    assert [change.state for change in section_changes(found, a, b, NUMBERS)] == [SectionState.MATCHED]
    assert content(a, NUMBERS) == content(b, NUMBERS)


def test_a_short_passage_divided_differently_has_a_partner() -> None:
    a, b = document(TEXTS[0], "Data base."), document(TEXTS[0], "Database.")
    for ignore in (IgnoreOptions(), WHITESPACE):  # a blank between letters is told as typesetting
        assert align(a, b, None, ignore).summary[State.SAME] == 2
    assert not same_texts(a, b, IgnoreOptions())
    assert same_texts(a, b, WHITESPACE)


@settings(max_examples=40)
@given(st.lists(st.sampled_from(TEXTS), min_size=1, max_size=5))
def test_ignoring_case_a_text_is_the_same_as_its_swapped_case(texts: list[str]) -> None:
    a, b = document(*texts), document(*(text.swapcase() for text in texts))
    found = align(a, b, None, CASE)
    assert {pair.state for pair in found.pairs} == {State.SAME}
    assert not any(pair.edits or pair.flags for pair in found.pairs)
    upper = document(*(text.upper() for text in texts), heading="1 REPORT")
    assert content(document(*texts), CASE) == content(upper, CASE)


@settings(max_examples=60)
@given(st.lists(st.sampled_from(TEXTS), min_size=1, max_size=5), st.data())
def test_ignoring_numbers_every_number_may_be_another(texts: list[str], data: st.DataObject) -> None:
    def other(match: re.Match[str]) -> str:
        return str(data.draw(st.integers(0, 10 ** len(match[0]) - 1))).rjust(len(match[0]), "7")

    a, b = document(*texts), document(*(re.sub(r"\d+", other, text) for text in texts))
    found = align(a, b, None, NUMBERS)
    assert {pair.state for pair in found.pairs} == {State.SAME}
    assert not any(pair.edits or pair.flags for pair in found.pairs)
    assert content(a, NUMBERS) == content(b, NUMBERS)


@settings(max_examples=60)
@given(st.lists(st.sampled_from(["The", "pump,", "5 %", "%", "“low-cost”", "(no)", "oﬃce", "May", "–"]), max_size=12))
def test_ignoring_white_space_blanks_may_stand_anywhere_but_between_digits(pieces: list[str]) -> None:
    one, two = "  \n".join(pieces), "".join(pieces)
    assert normal(one, WHITESPACE) == normal(two, WHITESPACE)
    assert not redline(one, one.replace("\n", ""), ignore=WHITESPACE)


def test_a_real_paper_in_capitals_differs_in_nothing_but_case() -> None:
    """Sentences are found by their capitals: paragraphs may be cut elsewhere, and still answer each other."""
    a = read(V1)
    b = replace(a, text=a.text.upper())
    assert len(b.text) == len(a.text)
    found = align(a, b, None, CASE)
    assert {pair.state for pair in found.pairs} == {State.SAME}


@pytest.mark.parametrize(
    ("text", "run", "starts"),
    [
        ("low-cost pump", "lowcostpump", [0, 3, 3, 7]), ("low-tax pump", "low-taxpump", [0, 3, 4, 7]),
        ("low- COST", "lowCOST", [0, 3, 3]), ("a -- b", "a--b", [0, 1, 2, 3]),
        ("3-5 - x-", "3-5-x-", [0, 1, 2, 3, 4, 5]), ("1 250 kg 5", "1 250kg5", [0, 2, 5, 7]),
        ("5. 30, 4 ,5", "5. 30, 4 ,5", [0, 1, 3, 5, 7, 8, 10]), ("5², 1½", "5^2, 1 1/2", [0, 1, 3, 5, 7]),
        ("0.½ 0. ½", "0.1/2 0. 1/2", [0, 1, 2, 6, 7, 9]), ("3 / 4", "3 / 4", [0, 1, 4]),
        ("- a", "-a", [0, 1]), ("", "", []),
    ],
)  # fmt: skip
def test_words_are_squeezed_but_for_digits(text: str, run: str, starts: list[int]) -> None:
    assert squeezed(words(text), {"lowcost"}) == (run, starts)


@given(st.text(st.sampled_from("ab1- .,\n"), max_size=30))
def test_squeezed_words_are_the_text_run_together(text: str) -> None:
    run, starts = squeezed(words(text), divided_words(text))
    assert run == run_together(text)
    assert len(starts) == len(words(text))


@pytest.mark.parametrize(
    ("a", "b", "ignore"),
    [
        ("• The malt is dry.", "- The malt is dry.", NOTHING_IGNORED),
        ("The malt is dry.\nIt is old.", "* The malt is dry.\n– It is old.", NOTHING_IGNORED),
        ("(a) The malt is dry.\n(b) It is old.", "1. The malt is dry.\nIt is old.", IgnoreOptions(list_marks=True)),
        ("• (a) The malt is dry.", "The malt is dry.", IgnoreOptions(list_marks=True)),
        ("4.2 He pays as Section 4.1 says.", "4.3 He pays as Section 4.2 says.", IgnoreOptions(renumbering=True)),
        ("He pays. 9.2 The Buyer signs.", "He pays. 11.2 The Buyer signs.", IgnoreOptions(renumbering=True)),
        ("Clause 7(a) holds.", "Clause 8(b) holds.", IgnoreOptions(renumbering=True)),
    ],
)  # fmt: skip
def test_marks_make_no_edit(a: str, b: str, ignore: IgnoreOptions) -> None:
    assert redline(a, b, ignore=ignore) == redline(b, a, ignore=ignore) == ()
    if ignore and "•" not in a:
        assert " ".join(normal(a, ignore).split()) == " ".join(normal(b, ignore).split())


@pytest.mark.parametrize("ignore", [IgnoreOptions(renumbering=True), IgnoreOptions(list_marks=True)])
def test_numbers_in_text_still_count(ignore: IgnoreOptions) -> None:
    a = "4.2 The Supplier brings 40 bags in 3 days."
    assert len(redline(a, a.replace("40", "45").replace("3", "5"), ignore=ignore)) == 2


@pytest.mark.parametrize(
    ("a", "b", "edits"),
    [
        ("Fee | $40 | a year", "Fee $40 a year", 0), ("the list • the log", "the list the log", 0),
        ("the chance P(A | B) of rain", "the chance P(A B) of rain", 1), ("x = a | b", "x = a b", 1),
    ],
)  # fmt: skip
def test_bars_of_tables_and_bullets_are_typesetting(a: str, b: str, edits: int) -> None:
    assert len(marked(a, b)) == edits


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("an area of 10² m", "an area of 102 m", [("10²", "102")]),
        ("an area of 10² m", "an area of 10 ² m", [("10²", "10 ²")]), ("5³ kg", "5^3 kg", []),
        ("1½ of it", "11⁄2 of it", [("1½", "11⁄2")]), ("1½ of it", "1 1/2 of it", []),
        ("H₂O, xⁿ⁺¹ and 3 ㎡", "H_2O, x^(n+1) and 3 m^2", []), ("on the 5ᵗʰ day", "on the 5th day", []),
        ("item ① holds", "item 1 holds", [("①", "1")]),
        ("pays 1 250.00 EUR", "pays 12 50.00 EUR", [("1 250.00", "12 50.00")]),
        ("Hops 3 40.00", "Hops 34 0.00", [("3 40.00", "34 0.00")]),
        ("pays 10 000 EUR", "pays 10\u202f000 EUR", []),
        ("pays 10 000 EUR", "pays 10000 EUR", [("10 000", "10000")]),
        ("pays 1,000 EUR", "pays 1, 000 EUR", [("1,000", "1, 000")]),
        ("a ratio of 3/4", "a ratio of 3 / 4", [("3/4", "3 / 4")]),
        ("a ratio of 0.½", "a ratio of 0. ½", [("0.½", "0. ½")]),
        ("– 500 EUR is due", "500 EUR is due", [("–", "")]), ("- $ 500 is due", "$ 500 is due", [("-", "")]),
        ("- 5 apples", "• 5 apples", []), ("- 1. The first", "1. The first", []), ("- apples", "apples", []),
        ("They re-sign it", "They resign it", [("re-sign", "resign")]),
        ("a low-cost pump", "a low cost pump", [("-", "")]), ("They re- sign it", "They resign it", []),
        ("a | | 5", "a | 5 |", [("|", ""), ("", "|")]), ("□ Yes ■ No", "■ Yes ■ No", [("□", "■")]),
        ("a ✓ | ✓ |", "a ✓ | |", [("✓", "")]),
    ],
)  # fmt: skip
def test_quantities_signs_and_hyphens_are_content(a: str, b: str, expected: list[tuple[str, str]]) -> None:
    assert marked(a, b) == expected
    assert marked(b, a) == [(two, one) for one, two in expected]


def test_a_line_of_dashes_takes_no_time() -> None:
    assert marked("- " * 20_000 + "x", "x") == []


def test_what_pages_lay_out_may_differ_between_a_pdf_and_its_source() -> None:
    word, page = (document(text) for text in ("They re-sign it.\n\na | ✓ | 5", "They resign it.\n\na 5"))
    page = replace(page, report=replace(page.report, pages=1, divided_words=("resign",)))
    ignore = between(word, page)
    assert marked(word.text, page.text, ignore) == marked(page.text, word.text, ignore) == []
    assert marked("They re-sign", "They resign", between(word, replace(page, report=word.report))) == [
        ("re-sign", "resign")
    ]
