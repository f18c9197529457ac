"""Chunks: within capacity, in order, all of the text, at sentences where it costs little."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from colde_cli.documents.chunking import (
    Chunker,
    cut_at,
    cut_points,
    plain_tokenizer,
    sentence_starts,
    special_token,
    whole_sentence_starts,
)
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
    text = 'Dr. Vale saw it. "It moves," he said. See Fig. 3 for J. Kerrin et al. here. 40 mornings passed\n\nnext'
    starts = sentence_starts(text)
    found = [text[a:b].strip() for a, b in pairwise([*starts, len(text)])]
    assert found == [
        *("Dr. Vale saw it.", '"It moves," he said.', "See Fig. 3 for J. Kerrin et al. here."),
        *("40 mornings passed", "next"),
    ]


def test_the_mark_of_a_list_item_is_no_sentence_of_its_own() -> None:
    text = "1. Open it. Wait.\n2.1. Shut it in 1998. (3) Go. It was 4. (4) Then stop."
    starts = whole_sentence_starts(text)
    assert [text[a:b].strip() for a, b in pairwise([*starts, len(text)])] == [
        "1. Open it.",
        "Wait.",
        "2.1. Shut it in 1998.",
        "(3) Go.",
        "It was 4.",
        "(4) Then stop.",
    ]


@given(prose.map(" ".join))
def test_whole_sentences_begin_where_sentences_do(text: str) -> None:
    starts = whole_sentence_starts(text)
    assert starts[0] == 0
    assert set(starts) <= set(sentence_starts(text))


def test_pages_of_spans() -> None:
    starts = (0, 10, 10, 30)
    assert pages_of(starts, Span(0, 5)) == (1, 1)
    assert pages_of(starts, Span(5, 12)) == (1, 3)
    assert pages_of(starts, Span(10, 30)) == (3, 3)
    assert pages_of(starts, Span(29, 31)) == (3, 4)
    assert pages_of((), Span(0, 5)) is None


@pytest.mark.parametrize(
    "short",
    (
        "al approx art arts assn ca cf ch chap cl co corp dept dr ed eds e.g eq eqs esp est etc ex fig figs i.e inc jr "
        "ltd mr mrs ms no nos op p para paras pat pp prof reg rev ref refs sec secs sect st ser u.s u.k v viz vol vols "
        "vs J"
    ).split(),
)
def test_a_short_form_ends_no_sentence(short: str) -> None:
    for written in (short, short.capitalize(), f"({short}", f"“{short}"):
        assert sentence_starts(f"It saw {written}. Kerrin there.") == [0]
    assert len(sentence_starts(f"It saw {short}x. Kerrin there.")) == 2
    assert len(sentence_starts(f"It saw {short}! Kerrin there.")) == 2


@pytest.mark.parametrize(
    ("text", "starts"),
    [
        *(("One. Two? Three! Four… Five", [0, 5, 10, 17, 23]), ("One.) “Two.” [3] four", [0, 6, 13])),
        *(("One. two. 3 three.", [0, 10]), ("One.Two", [0]), ("One  \n \n two", [0, 9]), ("One\ntwo", [0])),
        *(("One.  ", [0]), ("One\n\n", [0]), ("", [0]), ("It is 5. Then 6.", [0, 9])),
        (f"{'w' * 60}. Then", [0, 62]),
    ],
)
def test_where_sentences_begin(text: str, starts: list[int]) -> None:
    assert sentence_starts(text) == starts


def test_the_first_chunk_of_a_text() -> None:
    chunker = Chunker(Pieces(), chunk_tokens=12)
    chunk = chunker.first_chunk("  ring " * 30)
    assert chunk is not None
    assert (chunk.index, chunk.section, chunk.position, chunk.span) == (0, 0, 0, Span(2, 2 + 9 * 7 + 4))
    assert chunk.ids == (1, *[14] * 10, 2)
    short = chunker.first_chunk("ring")
    assert short is not None
    assert (short.ids, short.span) == ((1, 14, 2), Span(0, 4))
    assert chunker.first_chunk(" ") is None


def test_special_tokens_have_either_name() -> None:
    class Other(Pieces):
        def token_to_id(self, token: str) -> int | None:
            return {"<s>": 5, "</s>": 6}.get(token)

    assert [special_token(Pieces(), token) for token in ("[CLS]", "[SEP]")] == [1, 2]
    assert [special_token(Other(), token) for token in ("[CLS]", "[SEP]")] == [5, 6]


def test_a_tokenizer_is_read_without_its_limits(model_folder: Path) -> None:
    from tokenizers import Tokenizer

    limited = Tokenizer.from_file(str(model_folder / "tokenizer.json"))
    limited.enable_truncation(8)
    limited.enable_padding(length=2000)
    plain = plain_tokenizer(limited.to_str())
    assert len(plain.encode("word " * 1000, add_special_tokens=False).ids) == 1000


@pytest.mark.parametrize(
    ("count", "sentences", "capacity", "cuts"),
    [
        (10, [], 10, [0, 10]),
        (20, [], 10, [0, 10, 20]),
        (20, [8], 10, [0, 8, 14, 20]),
        (22, [], 10, [0, 10, 16, 22]),  # the last would be nearly empty: it shares with the one before it
        (23, [], 10, [0, 10, 20, 23]),
        (19, [7], 10, [0, 10, 19]),  # a sentence that ends too early
        (18, [8, 10], 10, [0, 10, 18]),
        (0, [], 10, [0]),
    ],
)
def test_cuts(count: int, sentences: list[int], capacity: int, cuts: list[int]) -> None:
    assert cut_at(count, sentences, lambda _: True, capacity) == cuts


def test_a_word_is_not_cut_where_another_place_is_near() -> None:
    for place, cuts in ((9, [0, 9, 18]), (8, [0, 8, 18]), (7, [0, 10, 18])):
        assert cut_at(18, [], place.__eq__, 10) == cuts
