"""Passages: every body whole, nothing twice, never across a section."""

from __future__ import annotations

from hand_made import check_cover
from hypothesis import given, settings
from hypothesis import strategies as st

from colde_cli.documents.document import Document, Part, assemble
from colde_cli.documents.passages import MAX_WORDS, passages

NOUNS = "pump tower council tax choir river valley stove sensor lane roof winter street market".split()

sentence = st.lists(st.sampled_from(NOUNS), min_size=1, max_size=60).map(
    lambda words: f"{' '.join(words).capitalize()}."
)
paragraph = st.lists(sentence, min_size=1, max_size=12).map(" ".join)
body = st.lists(paragraph, min_size=0, max_size=5).map("\n\n".join)
documents = st.lists(st.builds(Part, st.sampled_from(["", "1 Head", "Tail"]), body), min_size=1, max_size=4).map(
    lambda parts: assemble("", "", parts)
)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from(NOUNS), min_size=3, max_size=9), st.integers(20, 60))
def test_passages_of_ordinary_sentences_are_of_readable_length(words: list[str], count: int) -> None:
    text = " ".join(f"Sentence {number} says {' '.join(words)}." for number in range(count))
    found = passages(assemble("", "", [Part("", text)]))
    assert len(found) > 1
    assert all(len(text[p.span.start : p.span.end].split()) <= MAX_WORDS for p in found)


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
