"""Verification: nothing that is not allowed passes, and what is allowed does."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hand_made import document, hostile
from hypothesis import given, settings
from hypothesis import strategies as st

from colde_cli.documents.document import Document, ReadReport
from colde_cli.documents.outside import OutsideKind, OutsideText
from colde_cli.errors import OptionError, PartlyReadError
from colde_cli.similarity.comparison import Comparison
from colde_cli.similarity.pairs import State
from colde_cli.similarity.redline import IgnoreOptions
from colde_cli.similarity.typesetting import same_texts
from colde_cli.similarity.verification import verify_documents

PUMPS = "The pump lifts water into the tower. It runs at night, for 30 days."
FEES = "The fee is EUR 58 per month. It is due on 8 January 2024."
SIGNED = "Signed by [NAME] of [TOWN] on ____."


def made(pumps: str = PUMPS, fees: str = FEES, signed: str = SIGNED, names: str = "One,Fees,Signatures") -> Document:
    return document(list(zip(names.split(","), (pumps, fees, signed), strict=True)))


def verified(b: Document, *allow: str) -> bool:
    return verify_documents(made(), b, allow).verified


@pytest.mark.slow
@given(
    hostile(),
    st.sampled_from([IgnoreOptions(), IgnoreOptions(True, True, True), IgnoreOptions(list_marks=True)]),
)
@settings(max_examples=30)
def test_with_nothing_allowed_it_agrees_with_the_status_of_diff(comparison: Comparison, ignore: IgnoreOptions) -> None:
    a, b = comparison.a.document, comparison.b.document
    found = verify_documents(a, b, (), ignore)
    assert found.verified is same_texts(a, b, ignore)
    assert verify_documents(a, a, (), ignore).verified


@given(hostile())
@settings(max_examples=20)
def test_where_everything_may_change_everything_is_verified(comparison: Comparison) -> None:
    a, b = comparison.a.document, comparison.b.document
    one, other = (replace(of, sections=tuple(replace(one, heading="x") for one in of.sections)) for of in (a, b))
    assert verify_documents(one, other, ["x"]).verified


numbers = st.integers(0, 999).map(str)


@given(st.lists(numbers, min_size=4, max_size=4), st.sampled_from(["", " not", " twice", "."]))
@settings(max_examples=30)
def test_only_the_words_of_a_pattern_may_change(drawn: list[str], more: str) -> None:
    days, fee, day, year = drawn
    b = made(PUMPS.replace("30", days), FEES.replace("58", fee).replace("8 J", f"{day} J").replace("2024", year))
    assert verified(b, r"/\d+/")
    if more:
        worse = made(PUMPS.replace("30", days), FEES.replace("58", fee).replace(" is due", f" is{more} due"))
        assert not verified(worse, r"/\d+/")


@pytest.mark.parametrize(
    ("b", "allow"),
    [
        (made(fees="Another fee of EUR 90."), ["fees"]),
        (made(fees="Another fee of EUR 90."), ["FEE.?"]),
        (made(signed="Signed by Ada Byron of London on ____."), [r"/\[\w+\]/.+/"]),
        (made(signed="Signed by Ada Byron of London on 3 May."), [r"/\[\w+\]|_+/.+/"]),
        (made(pumps=PUMPS.replace("30", "60")), [r"re:\b\d\d\b"]),
        (made(pumps=PUMPS.replace("for 30 days", "for days")), [r"/\d+/"]),
        (made(fees=FEES.replace(" per month", "")), ["/per month/"]),
        (made(fees=FEES.replace("58", "1,058.50")), ["/[\\d.,]+/"]),
        (made(names="One,Fees and costs,Signatures"), ["/and costs/"]),
        (document([("One", PUMPS), ("Fees", FEES)]), ["signatures"]),
        (made(fees=FEES + "\n\nIt is VAT."), ["/It is VAT\\./"]),
    ],
)
def test_what_is_allowed_passes(b: Document, allow: list[str]) -> None:
    assert verified(b, *allow)
    assert not verified(b)


@pytest.mark.parametrize(
    ("b", "allow"),
    [
        (made(fees="Another fee."), ["pumps"]),
        (made(fees=FEES.replace("58", "63 and more")), [r"/\d+/"]),
        (made(signed="Signed by Ada Byron on ____."), [r"/\[NAME\]/.+/"]),
        (made(names="One,Costs,Signatures"), ["fees"]),  # the section of B has another name
        (made(pumps=PUMPS + " " + FEES, fees="None."), ["fees"]),  # text left the section that may change
        (made(pumps=PUMPS.replace("30", "")), [r"/\d+/\d+/"]),  # with two patterns words may not go
        (made(pumps="It runs at night, for 30 days. The pump lifts water into the tower."), [r"/\d+/"]),
        (made(names="Two,Fees,Signatures"), [r"/\d+/"]),
    ],
)
def test_anything_else_fails_and_is_listed(b: Document, allow: list[str]) -> None:
    found = verify_documents(made(), b, allow)
    assert not found.verified
    assert found.passages or found.headings


def test_short_lines_that_differ_only_in_matches_pass() -> None:
    a = made(fees="It was so in 2006. 3.\n\nThe end.")
    b = made(fees="It was so in 2007. 932.\n\nThe end.")
    assert verify_documents(a, b, [r"/\d+/"]).verified
    assert not verify_documents(a, b, [r"/\d+/20\d+/"]).verified


@pytest.mark.parametrize("sign", ["\ue000", "\U000f0000"])
def test_no_sign_of_a_document_passes_for_a_match(sign: str) -> None:
    assert not verified(made(pumps=PUMPS.replace("30", sign)), r"/\d+/")


def test_only_the_edits_that_are_not_allowed_are_listed() -> None:
    (pair,) = verify_documents(made(), made(fees=FEES.replace("58", "63").replace("month", "day")), [r"/\d+/"]).passages
    assert [pair.b_text[edit.b.start : edit.b.end] for edit in pair.edits] == ["day"]
    assert pair.flags == ()


def test_text_that_came_into_a_free_section_moved() -> None:
    found = verify_documents(made(), made(pumps="None.", fees=f"{FEES}\n\n{PUMPS}"), ["fees"])
    assert State.MOVED in {pair.state for pair in found.passages}


def test_typesetting_is_told_apart() -> None:
    a, b = (document([("One", f"The {word} runs at night.")]) for word in ("“pump”", '"pump"'))
    found = verify_documents(a, b)
    assert (found.passages, found.headings, found.verified) == ((), (), False)
    (place,) = found.typesetting
    assert (place.before, place.a_text, place.b_text, place.after) == (
        "The", "“pump”", '"pump"', "runs at night.",
    )  # fmt: skip
    assert (a.text[place.a.start : place.a.end], b.text[place.b.start : place.b.end]) == ("“pump”", '"pump"')
    assert verify_documents(a, b, (), IgnoreOptions(whitespace=True)).verified


def test_kinds_stand_in_a_list() -> None:
    beside = (OutsideText(OutsideKind.HEADERS, "Draft"), OutsideText(OutsideKind.COMMENTS, "Why?"))
    more = replace(made(), outside=beside)
    assert verified(more, "headers, comments")
    assert verified(more, "headers", "comments")
    assert not verified(more, "headers")
    assert not verified(more, "headers,Fees")


def test_rules_know_what_they_found() -> None:
    found = verify_documents(made(), made(fees="Another fee."), ["fees", "appendix", r"/\d+ oxen/"])
    assert [(rule.found, rule.changes) for rule in found.allowed] == [(True, 2), (False, 0), (False, 0)]


@pytest.mark.parametrize(
    "report",
    [
        ReadReport(warnings=("Page 2 could not be read.",), pages_without_text=(2,)),
        ReadReport(unreadable_characters=1),
        ReadReport(unread_values=1),
    ],
)
def test_a_document_that_was_not_read_whole_is_never_verified(report: ReadReport) -> None:
    half = replace(made(), report=report)
    for a, b in ((half, made()), (made(), half), (half, half)):
        with pytest.raises(PartlyReadError, match="cannot be verified"):
            verify_documents(a, b, ["/.+/"])


@pytest.mark.parametrize("wrong", ["/[/", "re:(", "[", "/a", "/a/b/c/", "//", "", " ", "re:"])
def test_a_wrong_pattern_is_an_error_and_an_empty_one_is_explained(wrong: str) -> None:
    empty = wrong.strip() in ("", "re:")
    with pytest.raises(OptionError, match="would allow every section" if empty else "."):
        verify_documents(made(), made(), [wrong])


def test_a_slash_inside_a_pattern_is_escaped() -> None:
    b = made(pumps=PUMPS.replace("30 days", "and/or days"))
    assert verified(b, r"/30/and\/or/")
