"""Chunks: within capacity, in order, all of the text, at sentences where it costs little."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from colde_cli.documents.chunking import Chunker, cut_points, sentence_starts
from colde_cli.documents.document import Part, Span, assemble, pages_of


@dataclass
class Encoded:
    ids: list[int]
    offsets: list[tuple[int, int]]


class Pieces:
    """Words cut into pieces of at most four letters, as a word-piece tokenizer does."""

    def encode(self, sequence: str, *, add_special_tokens: bool = True) -> Encoded:
        assert not add_special_tokens
        offsets = [found.span() for found in re.finditer(r"\w{1,4}|[^\w\s]", sequence)]
        return Encoded([10 + end - start for start, end in offsets], offsets)

    def token_to_id(self, token: str) -> int | None:
        return {"[CLS]": 1, "[SEP]": 2}.get(token)


prose = st.lists(
    st.sampled_from(["bell", "harbours", "e.g.", "Dr.", "Sand", "x", "ring.", "Why?", "\n\n"]), max_size=300
)


def offsets_of(text: str) -> list[tuple[int, int]]:
    return Pieces().encode(text, add_special_tokens=False).offsets


@given(prose.map(" ".join), st.integers(4, 60))
def test_cuts_cover_everything_in_order_within_capacity(text: str, capacity: int) -> None:
    offsets = offsets_of(text)
    cuts = cut_points(text, offsets, capacity)
    assert cuts[0] == 0
    assert cuts[-1] == len(offsets)
    assert all(0 < b - a <= capacity for a, b in pairwise(cuts))
    assert len(cuts) - 1 <= -(-len(offsets) // capacity) * 2


@given(st.integers(1, 400), st.integers(4, 60))
def test_a_single_endless_word_is_cut_anyway(length: int, capacity: int) -> None:
    text = "a" * length
    cuts = cut_points(text, offsets_of(text), capacity)
    assert cuts[-1] == -(-length // 4)
    assert all(0 < b - a <= capacity for a, b in pairwise(cuts))


def test_no_tokens_no_chunks() -> None:
    assert cut_points("", [], 10) == [0]


def test_cuts_fall_between_sentences_where_the_chunk_is_nearly_full() -> None:
    text = " ".join(["The bell rings when the water comes."] * 20)
    offsets = offsets_of(text)
    for cut in cut_points(text, offsets, 40)[1:-2]:
        assert text[offsets[cut - 1][0]] == "."


def test_a_short_rest_is_evened_out() -> None:
    text = "word " * 45
    cuts = cut_points(text, offsets_of(text), 40)
    assert cuts == [0, cuts[1], 45]
    assert 45 - cuts[1] >= 10


def test_chunks_belong_to_sections_and_know_their_place() -> None:
    document = assemble("", "t", [Part("Bells", "ring " * 30), Part("Sand", "moves.")])
    chunks = Chunker(Pieces(), chunk_tokens=12).chunk(document)
    assert [chunk.index for chunk in chunks] == list(range(len(chunks)))
    assert {chunk.section for chunk in chunks} == {0, 1}
    assert [chunk.position for chunk in chunks if chunk.section == 1] == [0]
    for chunk in chunks:
        assert chunk.ids[0] == 1
        assert chunk.ids[-1] == 2
        assert len(chunk.ids) <= 12
        span = document.sections[chunk.section].span
        assert span.start <= chunk.span.start < chunk.span.end <= span.end


@given(prose.map(" ".join))
def test_chunks_lose_no_word(text: str) -> None:
    document = assemble("", "t", [Part("", text)])
    chunks = Chunker(Pieces(), chunk_tokens=20).chunk(document)
    pieces = "".join(document.text[chunk.span.start : chunk.span.end] for chunk in chunks)
    assert "".join(pieces.split()) == "".join(text.split())


@given(prose.map(" ".join))
def test_sentences_begin_in_order_at_words(text: str) -> None:
    starts = sentence_starts(text)
    assert starts[0] == 0
    assert starts == sorted(set(starts))
    assert all(not text[start - 1].strip() and text[start].strip() for start in starts[1:])


def test_sentences() -> None:
    text = (
        'Dr. Vale saw it. "It moves," he said. See Fig. 3 for J. Kerrin et al. here. '
        "40 mornings passed\n\nnext"
    )
    starts = sentence_starts(text)
    found = [text[a:b].strip() for a, b in pairwise([*starts, len(text)])]
    assert found == [
        "Dr. Vale saw it.",
        '"It moves," he said.',
        "See Fig. 3 for J. Kerrin et al. here.",
        "40 mornings passed",
        "next",
    ]


def test_pages_of_spans() -> None:
    starts = (0, 10, 10, 30)
    assert pages_of(starts, Span(0, 5)) == (1, 1)
    assert pages_of(starts, Span(5, 12)) == (1, 3)
    assert pages_of(starts, Span(10, 30)) == (3, 3)
    assert pages_of(starts, Span(29, 31)) == (3, 4)
    assert pages_of((), Span(0, 5)) is None
