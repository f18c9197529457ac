"""Two documents cut into passages with the same boundaries: paragraphs, rows of tables, headings in the text."""

from __future__ import annotations

import pytest
from hand_made import check_cover
from hypothesis import given, settings
from hypothesis import strategies as st

from colde_cli.documents.document import Document, Part, assemble
from colde_cli.documents.passages import Passage
from colde_cli.similarity.cutting import passages_of_both
from colde_cli.similarity.word_flow import WordFlow

NOUNS = "pump tower council tax choir river valley stove sensor lane roof winter street market".split()

sentence = st.lists(st.sampled_from(NOUNS), min_size=1, max_size=60).map(
    lambda words: f"{' '.join(words).capitalize()}."
)
row = st.lists(st.sampled_from([*NOUNS, "", "7", "✓"]), min_size=2, max_size=4).map(" | ".join)
paragraph = st.lists(sentence, min_size=1, max_size=12).map(" ".join) | st.lists(row, max_size=4).map("\n".join)
body = st.lists(paragraph, min_size=0, max_size=5).map("\n\n".join)
documents = st.lists(
    st.builds(Part, st.sampled_from(["", "1 Head", "Tail", "Pump tower"]), body), min_size=1, max_size=4
).map(lambda parts: assemble("", "", parts))


def cut(a: Document, b: Document) -> tuple[tuple[Passage, ...], tuple[Passage, ...]]:
    return passages_of_both(a, b, WordFlow.of(a.text, b.text))


def texts_of_both(a: Document, b: Document) -> tuple[list[str], list[str]]:
    left, right = (
        [document.text[one.span.start : one.span.end] for one in found]
        for document, found in zip((a, b), cut(a, b), strict=True)
    )
    return left, right


def written(*paragraphs: str) -> Document:
    return assemble("", "", [Part("", "\n\n".join(paragraphs))])


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(documents, documents)
def test_both_are_covered_whole_whichever_comes_first(a: Document, b: Document) -> None:
    left, right = cut(a, b)
    check_cover(a, left)
    check_cover(b, right)
    assert cut(b, a) == (right, left)
    assert len(set(cut(a, a))) == 1


def test_a_sentence_put_in_moves_only_the_cuts_beside_it() -> None:
    sentences = [f"The {noun} is number {number} of the list." for number in range(4) for noun in NOUNS]
    before = " ".join(sentences)
    after = " ".join([*sentences[:20], "Something else was said here by somebody.", *sentences[20:]])
    left, right = (set(texts) for texts in texts_of_both(written(before), written(after)))
    assert len(left - right) <= 1
    assert len(right - left) <= 2


def test_the_mark_of_a_list_item_is_no_passage() -> None:
    steps = ("Switch off the pump.", "Check the seal.", "Close the housing.")
    counted = [f"{n}. {step}" for n, step in enumerate(steps, 1)]
    assert texts_of_both(written("\n".join(counted)), written(*steps)) == (counted, list(steps))
    assert texts_of_both(written(" ".join(counted)), written(*steps)) == (counted, list(steps))


def test_rows_of_a_table_are_passages_in_both() -> None:
    rows = ["1.1 | Verify the log. Keep it. | | ✓ | 306", "1.2 | Verify the key. | ✓ | ✓ |", "| Not required | 7"]
    printed = ["Verify that:", "1.1 Verify the log. Keep it. ✓", "306 1.2 Verify the key. ✓ ✓ Not required 7"]
    left, right = texts_of_both(written("Verify that:", "\n".join(rows)), written(*printed))
    assert left == ["Verify that:", *rows]
    assert right == [*printed[:2], "306", "1.2 Verify the key. ✓ ✓", "Not required 7"]
    assert texts_of_both(written("\n".join(rows)), written("\n".join(rows)))[0] == rows


def test_a_row_that_changed_keeps_its_boundaries_in_two_pdfs() -> None:
    a = ("1.6 Verify that a threat model is there. 1.0", "1.7 Verify that the controls are in one place. 3.0")
    b = "1.6 Verify that a threat model is there. 2.0 1.7 Verify that the controls are in one place. 3.0"
    assert texts_of_both(written(*a), written(b)) == (list(a), [a[0].replace("1.0", "2.0"), a[1]])


def test_a_passage_that_moved_into_a_paragraph_is_cut_out_there() -> None:
    moved = "never enforce access controls on the client of a user"
    rest = [" ".join(f"{name}{number}" for number in "abcdefgh") for name in ("pump", "tax", "choir")]
    _, right = texts_of_both(
        written(rest[0], moved, rest[1], rest[2]), written(rest[0], f"{rest[1]} {rest[2]} {moved}")
    )
    assert moved in right


@pytest.mark.parametrize(
    ("a", "b", "cut_a", "cut_b"),
    [
        (  # a paragraph elsewhere
            [Part("", "Preamble."), Part("7.1 Term", "It lasts a year."), Part("Fees", "None.")],
            [Part("", "Preamble.\n\nTerm\n\nIt lasts a year."), Part("Fees", "None.")],
            ["Preamble.", "7.1 Term", "It lasts a year.", "None."],
            ["Preamble.", "Term", "It lasts a year.", "None."],
        ),
        (  # it opens a paragraph
            [Part("28A. Confidentiality", "Each party keeps the terms secret.")],
            [Part("", "28A. Confidentiality. Each party keeps the terms secret.")],
            ["28A. Confidentiality", "Each party keeps the terms secret."],
            ["28A. Confidentiality.", "Each party keeps the terms secret."],
        ),
        (  # divided in two
            [Part("Limits of liability", "No party is liable.")],
            [Part("Limits of", ""), Part("", "liability\n\nNo party is liable.")],
            ["Limits of liability", "No party is liable."],
            ["Limits of", "liability", "No party is liable."],
        ),
        (  # a sentence only begins like it
            [Part("Term", "It lasts a year.")],
            [Part("", "Term of this lease: ten years. It lasts a year.")],
            ["It lasts a year."],
            ["Term of this lease: ten years.", "It lasts a year."],
        ),
    ],
)
def test_a_heading_of_one_in_the_text_of_the_other(
    a: list[Part], b: list[Part], cut_a: list[str], cut_b: list[str]
) -> None:
    assert texts_of_both(assemble("", "", a), assemble("", "", b)) == (cut_a, cut_b)
