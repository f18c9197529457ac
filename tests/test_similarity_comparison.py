"""Two encodings to a comparison, with the real model."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest
from hand_made import compared

from colde_cli.documents.document import Part, assemble
from colde_cli.encoder.encoder import Encoder
from colde_cli.similarity.comparison import COUNTERPART, Comparison, compare_encodings
from colde_cli.similarity.pairs import State
from colde_cli.similarity.redline import IgnoreOptions
from colde_cli.similarity.typesetting import same_texts

PUMP = "The pump lifts water from the well into the tower every night while the town is asleep."
TAX = "The council levies a tax on every house, payable in March, and refunds it to the poor."
CHOIR = "The choir rehearses a requiem on Thursdays, and the altos are always late."


@pytest.fixture(scope="module")
def comparison(encoder: Encoder) -> Comparison:
    a = assemble("a", "A", [Part("Pump", PUMP), Part("Tax", TAX)])
    b = assemble(
        "b",
        "B",
        [Part("Choir", CHOIR), Part("Tax", TAX.replace(" on ", "\n on ")), Part("Pump", PUMP + " Or so.")],
    )
    one, other = encoder.encode_many([a, b])
    return compare_encodings(one, other, encoder)


def test_shapes_and_rows(comparison: Comparison) -> None:
    assert comparison.section_scores.shape == comparison.chunk_scores.shape == (2, 3)
    assert comparison.attention[0].shape == (2, 3)
    assert comparison.attention[1].shape == (3, 2)
    assert np.allclose(comparison.attention[1].sum(axis=1), 1.0, atol=1e-5)


def test_chunks_find_their_counterparts(comparison: Comparison) -> None:
    matches = comparison.matches_of_a()
    assert [match.partner for match in matches] == [2, 1]
    assert [match.same for match in matches] == [False, True]
    only_a, only_b = comparison.without_counterpart()
    assert only_a == ()
    assert [match.chunk for match in only_b] == [0]
    assert only_b[0].score < COUNTERPART


def test_what_was_added_and_dropped_has_no_counterpart(field_study: Comparison) -> None:
    """Of all edits from version 1 to 2 (examples/README.md) only these leave a section without a counterpart."""
    found = field_study
    for encoding, matches, headings in zip(
        (found.a, found.b),
        found.without_counterpart(),
        (["4.3 Software"], ["4.4 Data protection", "5.5 Indoor readings"]),
        strict=True,
    ):
        sections = [encoding.document.sections[encoding.chunks[match.chunk].section] for match in matches]
        assert [section.heading for section in sections] == headings
    others = [match for match in (*found.matches_of_a(), *found.matches_of_b()) if match.score >= COUNTERPART]
    assert len(others) == 51
    assert min(match.score for match in others) > 0.95


def test_comparing_the_other_way_round_is_the_mirror_image(comparison: Comparison, encoder: Encoder) -> None:
    mirrored = compare_encodings(comparison.b, comparison.a, encoder)
    assert mirrored.score == pytest.approx(comparison.score, abs=1e-6)
    assert np.allclose(mirrored.chunk_scores, comparison.chunk_scores.T, atol=1e-6)
    assert np.allclose(mirrored.attention[0], comparison.attention[1], atol=1e-5)


@pytest.fixture(scope="module")
def scores_alone(comparison: Comparison, encoder: Encoder) -> Comparison:
    return compare_encodings(comparison.a, comparison.b, encoder, passages=False)


def test_without_passages_the_scores_are_the_same_and_nothing_is_aligned(
    comparison: Comparison, scores_alone: Comparison
) -> None:
    assert scores_alone.score == comparison.score
    assert scores_alone.alignment is None
    assert (scores_alone.passages, scores_alone.summary, scores_alone.section_changes) == ((), {}, ())
    value = scores_alone.to_dict()
    assert (value["passages"], value["summary"], value["section_changes"]) == (None, None, None)


def test_a_comparison_can_be_pickled(comparison: Comparison, scores_alone: Comparison) -> None:
    for one in (comparison, scores_alone):
        again = pickle.loads(pickle.dumps(one))
        assert again.to_dict() == one.to_dict()
        assert again.passages == one.passages


def test_passages_without_a_partner_in_wording_are_encoded_as_it_is_told(
    comparison: Comparison, encoder: Encoder
) -> None:
    told: list[int] = []
    compare_encodings(comparison.a, comparison.b, encoder, passages=False, progress=told.append)
    assert told == []
    other = encoder.encode(assemble("c", "C", [Part("Pump", "At night, water is lifted to the tower.")]))
    compare_encodings(comparison.a, other, encoder, progress=told.append)
    assert sum(told) > 1


def test_numbers_that_word_counts_are_no_difference_to_a_text_that_has_them() -> None:
    word = assemble("a", "a", [Part("Steps", "Open it.\n\nShut it.")])
    page = assemble("b", "b", [Part("Steps", "1. Open it.\n\n2. Shut it.")])
    assert not same_texts(word, page)
    word = replace(word, report=replace(word.report, counted_numbers=True))
    assert same_texts(word, page)
    assert same_texts(page, word)
    assert not same_texts(word, replace(page, text=page.text.replace("Shut", "Lock")))
    assert not same_texts(word, replace(page, text=page.text.replace("Open it", "Open-it")))


def test_bullets_are_typesetting_and_marks_of_list_items() -> None:
    counted, bullets = (assemble("", "", [Part("", f"{mark} Open it.")]) for mark in ("1.", "-"))
    assert not same_texts(counted, bullets)
    assert same_texts(counted, bullets, IgnoreOptions(list_marks=True))
    plain = assemble("", "", [Part("", "Open it.")])
    assert not same_texts(plain, bullets)
    assert same_texts(plain, bullets, IgnoreOptions(whitespace=True))
    assert not same_texts(plain, counted, IgnoreOptions(whitespace=True))
    for left, right in (
        ("Price | 1 | 23", "Price | 12 | 3"),
        ("a | 5 | 6 |", "a | | 5 | 6"),
        ("1 • 23", "12 • 3"),
    ):
        one, other = (assemble("", "", [Part("", row)]) for row in (left, right))
        assert not same_texts(one, other, IgnoreOptions(whitespace=True, list_marks=True))


def test_a_word_file_and_its_pdf_are_the_same() -> None:
    word = assemble("a", "a", [Part("Fees", "Hosting | $40\n\nthe list\n\nIt is due.")])
    printed = assemble("b", "b", [Part("1. Fees", "Hosting $40\n\n• the list\n\n2. It is due.")])
    word = replace(word, report=replace(word.report, counted_numbers=True))
    assert not same_texts(word, printed)
    printed = replace(printed, report=replace(printed.report, pages=1))
    assert same_texts(word, printed)
    other = replace(word, text=word.text.replace("$40", "$45"))
    assert not same_texts(other, printed)


def test_two_formats_may_write_exponents_and_fractions_in_two_ways() -> None:
    word, page = (assemble("a", "a", [Part("Area", text)]) for text in ("10^2 m, 1 1/2", "10² m, 1½"))
    assert not same_texts(word, page)
    word, page = replace(word, format="docx"), replace(page, format="markdown")
    assert same_texts(word, page)
    assert not same_texts(word, replace(page, text=page.text.replace("²", "2")))


def test_where_only_typesetting_differs_its_places_are_told() -> None:
    a = assemble("a", "a", [Part("1 Scope", "A part of “it” runs."), Part("2 Fees", "None is due.")])
    b = assemble("b", "b", [Part("1 Scope", 'Apart of "it" runs.'), Part("3 FEES", "None is due.")])
    found = compared(a, b)
    assert {pair.state for pair in found.passages} == {State.SAME}
    assert [(one.before, one.a_text, one.b_text, one.after) for one in found.typesetting] == [
        ("", "A part", "Apart", 'of "it" runs.'), ("Apart of", "“it”", '"it"', "runs."), ("", "2 Fees", "3 FEES", ""),
    ]  # fmt: skip
    back = compared(b, a).typesetting
    assert {(one.b, one.a) for one in back} == {(one.a, one.b) for one in found.typesetting}
    assert compared(a, a).typesetting == ()


def test_a_heading_in_another_place_is_told() -> None:
    text = "The council shall levy a tax of EUR 40 on every house."
    a, b = (assemble("", "", [Part("", text if first else ""), Part("Tax", "" if first else text)]) for first in (1, 0))
    found = compared(a, b)
    assert found.typesetting or any(change.state.value != "matched" for change in found.section_changes)
