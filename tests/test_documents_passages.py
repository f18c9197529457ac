"""Passages: every body whole, nothing twice, never across a section; cut at the same places in two versions."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from colde_cli.documents.document import Document, Part, Span, assemble
from colde_cli.documents.passages import MAX_WORDS, Passage, passages, passages_of_both

NOUNS = "pump tower council tax choir river valley stove sensor lane roof winter street market".split()

sentence = st.lists(st.sampled_from(NOUNS), min_size=1, max_size=60).map(
    lambda words: f"{' '.join(words).capitalize()}."
)
paragraph = st.lists(sentence, min_size=1, max_size=12).map(" ".join)
body = st.lists(paragraph, min_size=0, max_size=5).map("\n\n".join)
documents = st.lists(st.builds(Part, st.sampled_from(["", "1 Head", "Tail"]), body), min_size=1, max_size=4).map(
    lambda parts: assemble("", "", parts)
)


def check_cover(document: Document, found: tuple[Passage, ...]) -> None:
    """Every letter of every body once, in order, under its section; perhaps its heading before it."""
    assert [passage.index for passage in found] == list(range(len(found)))
    for section in document.sections:
        own = [passage for passage in found if passage.section == section.index]
        start = section.span.start
        if own and own[0].span == Span(start, start + len(section.heading)):
            del own[0]
        ends = [section.body_start, *(passage.span.end for passage in own)]
        starts = [*(passage.span.start for passage in own), section.span.end]
        for end, start in zip(ends, starts, strict=True):
            assert end <= start
            assert not document.text[end:start].strip()
        for passage in own:
            text = document.text[passage.span.start : passage.span.end]
            assert text
            assert text == text.strip()


@settings(max_examples=60, deadline=None)
@given(documents)
def test_passages_cover_every_body_without_overlap(document: Document) -> None:
    check_cover(document, passages(document))


@settings(max_examples=40, deadline=None)
@given(documents, documents)
def test_so_do_those_cut_for_another_document(a: Document, b: Document) -> None:
    for document, found in zip((a, b), passages_of_both(a, b), strict=True):
        check_cover(document, found)
    assert passages_of_both(a, a) == (passages_of_both(a, a)[1],) * 2


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from(NOUNS), min_size=3, max_size=9), st.integers(20, 60))
def test_passages_of_ordinary_sentences_are_of_readable_length(words: list[str], count: int) -> None:
    text = " ".join(f"Sentence {number} says {' '.join(words)}." for number in range(count))
    found = passages(assemble("", "", [Part("", text)]))
    assert len(found) > 1
    assert all(len(text[p.span.start : p.span.end].split()) <= MAX_WORDS for p in found)


def test_a_sentence_put_in_moves_only_the_cuts_beside_it() -> None:
    sentences = [f"The {noun} is number {number} of the list." for number in range(4) for noun in NOUNS]
    before = " ".join(sentences)
    after = " ".join([*sentences[:20], "Something else was said here by somebody.", *sentences[20:]])
    first, second = (assemble("", "", [Part("", text)]) for text in (before, after))
    left, right = (
        {document.text[p.span.start : p.span.end] for p in cut}
        for document, cut in zip((first, second), passages_of_both(first, second), strict=True)
    )
    assert len(left - right) <= 1
    assert len(right - left) <= 2


def test_pages_are_those_of_the_span() -> None:
    document = Document("", "", "One.\n\nTwo.", assemble("", "", [Part("", "One.\n\nTwo.")]).sections, (0, 6))
    assert [passage.pages for passage in passages(document)] == [(1, 1), (2, 2)]


def test_a_paragraph_of_one_sentence_again_and_again_is_cut() -> None:
    """In time: if every cut looked at all that is left of it, this would take minutes."""
    document = assemble("", "", [Part("", "Six words of a short sentence. " * 30_000)])
    found = passages(document)
    check_cover(document, found)
    lengths = [len(document.text[one.span.start : one.span.end].split()) for one in found]
    assert max(lengths) <= MAX_WORDS
    assert min(lengths) >= 25


def texts_of_both(a: Document, b: Document) -> tuple[list[str], list[str]]:
    left, right = (
        [document.text[one.span.start : one.span.end] for one in cut]
        for document, cut in zip((a, b), passages_of_both(a, b), strict=True)
    )
    return left, right


def test_the_mark_of_a_list_item_is_no_passage() -> None:
    steps = ("Switch off the pump.", "Check the seal.", "Close the housing.")
    counted = assemble("", "", [Part("", "\n".join(f"{n}. {step}" for n, step in enumerate(steps, 1)))])
    plain = assemble("", "", [Part("", "\n\n".join(steps))])
    found = passages_of_both(counted, plain, lambda text: text.strip().lstrip("123. "))
    for document, of_document in zip((counted, plain), found, strict=True):
        texts = [document.text[passage.span.start : passage.span.end] for passage in of_document]
        assert texts == [line for line in document.text.splitlines() if line]


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
