"""Quantities are sacred: two texts whose digits differ, or are parted elsewhere, are never the same, in any format."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from written import examples, versions

from colde_cli.documents.document import Document, Part, assemble
from colde_cli.documents.notation import in_line
from colde_cli.similarity.alignment import align
from colde_cli.similarity.pairs import Alignment, PassagePair, State
from colde_cli.similarity.redline import IgnoreOptions, Operation, redline
from colde_cli.similarity.section_changes import SectionState, section_changes
from colde_cli.similarity.typesetting import TypesettingPlace, same_texts, typesetting_places
from colde_cli.similarity.verification import verify_documents
from colde_cli.views.changes import pieces
from colde_cli.views.wording import plain

SIGNS = [
    "0", "1", "2", "50", "250", " ", " ", "\u2009", ".", ",", "/", "'", "²", "³", "½", "¼", "^2", "^", "-",
    "–", " | ", "x", ":",
]  # fmt: skip
FORMS = [
    "1 250.00", "12 50.00", "1250.00", "1,250.00", "1, 250.00", "1 ,250.00", "10²", "102", "10^2", "10 2",
    "10 ²", "1½", "1 1/2", "11/2", "11⁄2", "½", "1/2", "3 40.00", "34 0.00", "10 000", "100 00", "1'000",
    "1 '000", "1 / 2", "-500", "500", "– 500", "- 500", "3-5", "35", "3 5", "①", "1", "5 | 6", "56",
    "a | 5 |", "a | | 5", "EUR 5", "- EUR 5",
]  # fmt: skip
PLACES = [
    "The brewery pays {} EUR to the mill on the first day of every month.",
    "{} EUR is the balance of the account at the end of the year.",
    "Malt {}\nHops 7\nThe mill delivers them to the brewery every month.", "Malt | {} | due\nHops | 7 | paid",
    "The area of the yard is {}", "{}",
]  # fmt: skip
FORMATS = ["text", "docx", "pdf", "markdown"]
_ODD = re.compile(r"[.,:/⁄'^–-]\s*\||\|\s*[.,:/⁄'^²³–-]|\S\||\|\S")
"""A bar beside the sign of a number, or without blanks around it, is no bar of a table, or no number."""
AROUND = "The supplier delivers malted barley to the brewery every month, as the parties agreed in spring."

drawn = st.one_of(st.sampled_from(FORMS), st.lists(st.sampled_from(SIGNS), min_size=1, max_size=6).map("".join))


@st.composite
def changed(draw: st.DrawFn) -> tuple[str, str]:
    """A quantity, and another one or the same with a character more, less, or elsewhere."""
    one = draw(drawn)
    kind = draw(st.sampled_from(["other", "more", "less", "elsewhere"]))
    if kind == "other":
        return one, draw(drawn)
    at = draw(st.integers(0, len(one) - 1))
    rest = one if kind == "more" else one[:at] + one[at + 1 :]
    sign = "" if kind == "less" else one[at] if kind == "elsewhere" else draw(st.sampled_from(SIGNS))
    to = draw(st.integers(0, len(rest)))
    return one, rest[:to] + sign + rest[to:]


def made(text: str, form: str) -> Document:
    """A document as a reader of this format gives it."""
    document = assemble("a", "A", [Part("Supply", f"{AROUND}\n\n{text.strip() or '-'}\n\n{AROUND[::-1]}")])
    report = replace(document.report, pages=1 if form == "pdf" else None)
    return replace(document, format=form, report=report)


def digits(text: str) -> list[str]:
    """The runs of digits of a text, each with what stands before it, if that is one sign of a number or blanks alone.

    A bar of a table parts two numbers as a blank does.
    """
    line = re.sub(r"(?<=\d)(?:\s*\|)+\s*(?=\d)", " ", " ".join(in_line(text).split()))
    line = re.sub(r" ?[-–—−] ?", "-", line).replace("’", "'")
    found = re.findall(r"([^\d]*)(\d+)", line)
    joint, sign = re.compile(r" ?[.,:/'^-]? ?"), re.compile(r"-?")
    return [
        part
        for place, (before, run) in enumerate(found)
        for part in (before if (joint if place else sign).fullmatch(before) else "", run)
    ]


def shown(alignment: Alignment, a: Document, b: Document) -> bool:
    """Whether a change of a passage or a section is shown."""
    states = {change.state for change in section_changes(alignment, a, b)}
    return any(pair.state is not State.SAME for pair in alignment.pairs) or states > {SectionState.MATCHED}


def turned(place: TypesettingPlace) -> tuple[object, ...]:
    return place.b, place.a, place.b_text, place.a_text


quantities = st.tuples(
    changed(), st.sampled_from(PLACES), st.sampled_from(FORMATS), st.sampled_from(FORMATS), st.booleans()
)


@pytest.mark.slow
@examples(2)
@given(quantities)
@example((("10²", "102"), PLACES[0], "docx", "pdf", True))
@example((("– 500", "500"), PLACES[1], "docx", "pdf", False))
def test_digits_that_differ_are_an_edit_and_are_never_verified(
    drawn: tuple[tuple[str, str], str, str, str, bool],
) -> None:
    (one, two), place, form, other, blanks = drawn
    texts = place.format(one), place.format(two)
    if digits(texts[0]) == digits(texts[1]) or any(map(_ODD.search, texts)):
        return
    a, b = made(texts[0], form), made(texts[1], other)
    ignore = IgnoreOptions(whitespace=blanks)
    assert not same_texts(a, b, ignore)
    assert shown(align(a, b, None, ignore), a, b)
    found = verify_documents(a, b, (), ignore)
    assert not found.verified
    assert found.passages


@pytest.mark.slow
@examples(2)
@given(quantities)
def test_what_is_not_the_same_is_told_and_what_is_the_same_is_not(
    drawn: tuple[tuple[str, str], str, str, str, bool],
) -> None:
    (one, two), place, form, other, blanks = drawn
    texts = place.format(one), place.format(two)
    if any(map(_ODD.search, texts)):
        return
    a, b, ignore = made(texts[0], form), made(texts[1], other), IgnoreOptions(whitespace=blanks)
    check_told(a, b, ignore)
    if same_texts(a, b, ignore):
        assert not any(pair.edits for pair in align(a, b, None, ignore).pairs)


@examples(0.5)
@given(versions, st.sampled_from(FORMATS), st.sampled_from(FORMATS), st.booleans())
def test_versions_that_are_not_the_same_differ_somewhere(
    pair: tuple[Document, Document], form: str, other: str, blanks: bool
) -> None:
    a, b = (
        replace(of, format=form, report=replace(of.report, pages=1 if form == "pdf" else None))
        for of, form in zip(pair, (form, other), strict=True)
    )
    check_told(a, b, IgnoreOptions(whitespace=blanks))


def check_told(a: Document, b: Document, ignore: IgnoreOptions) -> None:
    """Texts that are not the same have an edit, or a place of typesetting; both ways alike."""
    alignment = align(a, b, None, ignore)
    same = same_texts(a, b, ignore)
    assert same is same_texts(b, a, ignore)
    if same:
        return
    places = typesetting_places(a, b, alignment, ignore)
    back = typesetting_places(b, a, align(b, a, None, ignore), ignore)
    assert places or shown(alignment, a, b)
    assert {(place.a, place.b, place.a_text, place.b_text) for place in places} == set(map(turned, back))
    for place in places:
        assert place.a_text == " ".join(a.text[place.a.start : place.a.end].split())
        assert place.b_text == " ".join(b.text[place.b.start : place.b.end].split())
        assert place.a_text or place.b_text


@examples()
@given(quantities)
def test_a_redline_never_shows_characters_of_one_text_as_those_of_the_other(
    drawn: tuple[tuple[str, str], str, str, str, bool],
) -> None:
    (one, two), place, *_ = drawn
    a, b = f"{AROUND} “So” {place.format(one)}", f'{AROUND} "So" {place.format(two)}'
    pair = PassagePair(State.EDITED, (), (), None, redline(a, b), (), a, b)
    line = pieces(pair, None, None)
    of_b = "".join(piece.text for piece in line if piece.kind is not Operation.DELETED)
    assert "".join(of_b.split()) == "".join(plain(b).split())
    deleted = [piece.text for piece in line if piece.kind is Operation.DELETED]
    assert deleted == [plain(a[edit.a.start : edit.a.end]) for edit in pair.edits if len(edit.a)]
