"""Chunks: within capacity, in order, all of the text, at sentences where it costs little."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

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
from colde_cli.encoder.tokenizer import open_tokenizer
from colde_cli.errors import LimitError


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
    cuts = cut_points(sentence_starts(text), offsets, capacity)
    assert cuts[0] == 0
    assert cuts[-1] == len(offsets)
    assert all(0 < b - a <= capacity for a, b in pairwise(cuts))
    assert len(cuts) - 1 <= -(-len(offsets) // capacity) * 2


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
        "1. Open it.", "Wait.", "2.1. Shut it in 1998.", "(3) Go.", "It was 4.", "(4) Then stop.",
    ]  # fmt: skip


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


SLICED = {
    "bert": (normalizers.BertNormalizer(lowercase=True), pre_tokenizers.BertPreTokenizer()),
    "words": (normalizers.Sequence([normalizers.NFKC(), normalizers.Lowercase()]), pre_tokenizers.Whitespace()),
    "bytes": (None, pre_tokenizers.ByteLevel(add_prefix_space=True)),
}


def opened(kind: str, folder: Path) -> Any:
    """A tokenizer of a kind that can be sliced, with one token for each sign."""
    alphabet = sorted({*pre_tokenizers.ByteLevel.alphabet(), *"abcdefghijklmnopqrstuvwxyz.,"})
    ids = {sign: number for number, sign in enumerate(["[UNK]", "[CLS]", "[SEP]", "[MASK]", *alphabet])}
    model = (
        models.BPE({**ids, "Ġt": len(ids)}, [("Ġ", "t")], unk_token="[UNK]")
        if kind == "bytes"
        else models.WordPiece(
            vocab={**ids, **{f"##{sign}": len(ids) + n for n, sign in enumerate(alphabet)}}, unk_token="[UNK]"
        )
    )
    tokenizer = Tokenizer(model)
    if SLICED[kind][0] is not None:
        tokenizer.normalizer = SLICED[kind][0]
    tokenizer.pre_tokenizer = SLICED[kind][1]
    tokenizer.add_special_tokens(["[MASK]"])
    path = folder / "tokenizer.json"
    tokenizer.save(str(path))
    return open_tokenizer(path)


signs = st.text(st.sampled_from("abt .,\n\t[MASK]\u0301\u00a8\u4e2d\u00a0\u200bé"), max_size=80)


@pytest.mark.parametrize("kind", SLICED)
@given(text=st.lists(st.one_of(signs, st.sampled_from([" the tide.", "  [MASK]  ", ". The "]))).map("".join))
def test_slices_of_a_text_give_the_chunks_of_the_whole(kind: str, text: str, tmp_path_factory: Any) -> None:
    if kind not in KNOWN:
        KNOWN[kind] = opened(kind, tmp_path_factory.mktemp(kind))
    tokenizer = KNOWN[kind]
    assert tokenizer.breaks
    document = assemble("", "t", [Part("A", text)])
    whole = Chunker(replace(tokenizer, breaks=None), 12).chunk(document)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("colde_cli.documents.chunking._SLICE", 3)
        assert Chunker(tokenizer, 12).chunk(document) == whole


KNOWN: dict[str, Any] = {}


@pytest.mark.parametrize(
    ("normalizer", "cutter"),
    [
        (None, pre_tokenizers.Metaspace()),
        (normalizers.Replace(" +", "_"), pre_tokenizers.Whitespace()),
        (None, pre_tokenizers.ByteLevel(use_regex=False)),
    ],
)
def test_a_tokenizer_that_may_see_past_a_blank_gets_the_whole_text(
    normalizer: Any, cutter: Any, tmp_path: Path
) -> None:
    tokenizer = Tokenizer(models.WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = cutter
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    opened: Any = open_tokenizer(tmp_path / "tokenizer.json")
    assert opened.breaks is None


class Counting(Pieces):
    """Counts the characters that were made into tokens."""

    breaks = re.compile(r"(?<=\S) ")

    def __init__(self) -> None:
        self.asked: list[int] = []

    def encode(self, sequence: str, *, add_special_tokens: bool = True) -> Encoded:
        self.asked.append(len(sequence))
        return super().encode(sequence, add_special_tokens=add_special_tokens)


def test_of_a_long_text_only_what_is_wanted_is_made_into_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("colde_cli.documents.chunking._SLICE", 1000)
    tokenizer = Counting()
    document = assemble("", "t", [Part("A", "ring the bell " * 10_000)])
    looked = list[int]()
    assert len(list(islice(Chunker(tokenizer, 52).chunks(document, looked.append), 9))) == 9
    assert max(tokenizer.asked) < 1020
    assert sum(tokenizer.asked) < 5000
    assert len(looked) == len(tokenizer.asked) - 1


def test_a_text_that_cannot_be_sliced_is_refused_before_it_fills_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("colde_cli.documents.chunking._LONGEST_SLICE", 10_000)
    for tokenizer, text in ((Pieces(), "ring the bell " * 1000), (Counting(), "x" * 100_000)):
        with pytest.raises(LimitError, match=r"a\.txt has 1\d*,\d{3} characters"):
            Chunker(tokenizer, 52).chunk(assemble("a.txt", "t", [Part("A", text)]))
