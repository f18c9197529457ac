"""Words of documents, weighted by how rare they are."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from colde_cli.documents.document import Chunk, Span
from colde_cli.errors import ModelError
from colde_cli.scoring.lexicon import BUCKETS, Lexicon, Terms, agreement, continuations, overlap

CLS, SEP = 0, 1
PIECES = ["[CLS]", "[SEP]", "play", "##ing", "##s", "the", "a", "dog", "cat", "axolotl", "runs", "sees"]
IDS = {piece: number for number, piece in enumerate(PIECES)}
CONTINUES = continuations(PIECES)


def ids(text: str) -> tuple[int, ...]:
    """A chunk of these word pieces."""
    return (CLS, *(IDS[piece] for piece in text.split()), SEP)


def chunks(*texts: str) -> list[Chunk]:
    return [Chunk(place, 0, place, Span(place, place + 1), ids(text)) for place, text in enumerate(texts)]


@pytest.fixture(scope="module")
def lexicon() -> Lexicon:
    """ "the" stands in all of 20 documents, "dog" and "cat" in half, "axolotl" in two, nothing else."""
    texts = ["the dog"] * 8 + ["the cat"] * 10 + ["the dog axolotl"] * 2
    return Lexicon.learn([[ids(text)] for text in texts], CONTINUES, 2.0)


def words(terms: Terms) -> list[int]:
    return [bucket for bucket in terms.buckets.tolist() if bucket < BUCKETS]


def weight(lexicon: Lexicon, terms: Terms, word: str) -> float:
    (bucket,) = words(lexicon.terms(chunks(word)))
    return float(terms.weights[terms.buckets.tolist().index(bucket)])


def same(one: Terms, other: Terms) -> bool:
    return np.array_equal(one.buckets, other.buckets) and np.allclose(one.weights, other.weights, atol=1e-6)


def test_pieces_that_go_on() -> None:
    assert continuations(["the", "##ing", "a"]).tolist() == [False, True, False]
    # Byte-level BPE and SentencePiece mark beginnings; specials begin too.
    assert continuations(["<s>", "Ġthe", "ing", "Ċ"]).tolist() == [False, False, True, True]
    assert continuations(["[CLS]", "▁the", "ing"]).tolist() == [False, False, True]
    assert continuations(["the", "dog"]).tolist() == [False, False], "a vocabulary of whole words"
    assert continuations([]).shape == (0,)


def test_words_are_joined_from_their_pieces(lexicon: Lexicon) -> None:
    terms = lexicon.terms(chunks("the dog play ##ing"))
    assert len(words(terms)) == 3
    assert len(terms.buckets) == 3 + 2, "three words and two pairs of neighbours"
    found = {text: tuple(words(lexicon.terms(chunks(text)))) for text in ("play", "play ##ing", "play ##s")}
    found["play ##ing ##s"] = tuple(words(lexicon.terms(chunks("play ##ing ##s"))))
    found["play ##s ##ing"] = tuple(words(lexicon.terms(chunks("play ##s ##ing"))))
    assert all(len(buckets) == 1 for buckets in found.values())
    assert len(set(found.values())) == 5


def test_where_chunks_end_does_not_matter(lexicon: Lexicon) -> None:
    whole = lexicon.terms(chunks("the dog play ##ing a cat runs"))
    for parts in (("the dog", "play ##ing a cat runs"), ("the dog play", "##ing a", "cat runs")):
        assert same(lexicon.terms(chunks(*parts)), whole)


def test_order_matters_to_pairs_and_not_to_words(lexicon: Lexicon) -> None:
    one, other = lexicon.terms(chunks("dog sees cat")), lexicon.terms(chunks("cat sees dog"))
    assert words(one) == words(other)
    assert set(one.buckets.tolist()) & set(other.buckets.tolist()) == set(words(one))


def test_terms_are_of_unit_length_and_in_order(lexicon: Lexicon) -> None:
    terms = lexicon.terms(chunks("the axolotl sees the cat", "a dog runs"))
    assert [terms.buckets.dtype, terms.weights.dtype] == [np.int32, np.float32]
    assert np.all(np.diff(terms.buckets) > 0)
    assert np.all(terms.weights > 0)
    assert float(np.linalg.norm(terms.weights)) == pytest.approx(1, abs=1e-6)
    assert overlap(terms, terms) == pytest.approx(1, abs=1e-6)


def test_nothing_has_no_terms_and_is_like_nothing(lexicon: Lexicon) -> None:
    nothing = lexicon.terms(chunks(""))
    assert len(nothing.buckets) == 0
    assert overlap(nothing, lexicon.terms(chunks("the dog"))) == 0
    assert agreement(nothing, lexicon.terms(chunks("the dog"))) == agreement(nothing, nothing) == 0


def test_agreement_is_the_share_of_words_and_pairs_that_both_hold(lexicon: Lexicon) -> None:
    one, other = lexicon.terms(chunks("the dog sees the cat")), lexicon.terms(chunks("the dog runs"))
    # Both have "the", "dog" and "the dog"; there are five words in all, and five pairs.
    assert agreement(one, other) == agreement(other, one) == pytest.approx(3 / 10)
    assert agreement(one, one) == 1
    assert agreement(one, lexicon.terms(chunks("the dog sees the cat"), 2)) == pytest.approx(3 / 8)


def test_a_document_many_times_over_has_the_same_terms(lexicon: Lexicon) -> None:
    text = "the axolotl sees the cat a dog play ##s the dog runs"
    once = lexicon.terms(chunks(text))
    for times in (2, 3, 10):
        tiled = lexicon.terms(chunks(*[text] * times))
        assert words(tiled) == words(once)
        # At each seam "runs the" stands, a pair that the text once does not have.
        (seam,) = set(tiled.buckets.tolist()) - set(once.buckets.tolist())
        assert seam >= BUCKETS
        assert overlap(tiled, once) > 0.94
        kept = np.isin(tiled.buckets, words(once))
        alone = np.isin(once.buckets, words(once))
        ratios = tiled.weights[kept] / once.weights[alone]
        assert np.allclose(ratios, ratios[0], atol=1e-6), "words among themselves weigh the same"


def test_rare_words_outweigh_common_ones(lexicon: Lexicon) -> None:
    terms = lexicon.terms(chunks("the cat axolotl"))
    rare, usual, common = (weight(lexicon, terms, word) for word in ("axolotl", "cat", "the"))
    assert rare > usual > common > 0
    # Every word once: what is left is (ln(21 / (1 + documents)) + 1) squared.
    assert rare / common == pytest.approx((np.log(21 / 3) + 1) ** 2, rel=1e-5)
    assert usual / common == pytest.approx((np.log(21 / 11) + 1) ** 2, rel=1e-5)


def test_a_word_never_seen_weighs_as_one_of_two_documents(lexicon: Lexicon) -> None:
    terms = lexicon.terms(chunks("axolotl runs"))
    assert weight(lexicon, terms, "runs") == pytest.approx(weight(lexicon, terms, "axolotl"), rel=1e-6)


def test_the_power_sharpens(lexicon: Lexicon) -> None:
    sharper = Lexicon(lexicon.frequencies, lexicon.documents, lexicon.continues, 4.0)
    ratios = []
    for one in (lexicon, sharper):
        terms = one.terms(chunks("the axolotl"))
        ratios.append(weight(one, terms, "axolotl") / weight(one, terms, "the"))
    assert ratios[1] == pytest.approx(ratios[0] ** 2, rel=1e-5)


def test_a_word_said_often_counts_more_and_less_than_in_proportion(lexicon: Lexicon) -> None:
    terms = lexicon.terms(chunks("dog dog dog cat"))
    ratio = weight(lexicon, terms, "dog") / weight(lexicon, terms, "cat")
    assert ratio == pytest.approx(np.log1p(3 / 2) / np.log1p(1 / 2), rel=1e-5)
    assert 1 < ratio < 3


def test_an_opening_is_the_first_words(lexicon: Lexicon) -> None:
    texts = chunks("the dog play ##ing", "a cat runs")
    assert same(lexicon.terms(texts, 3), lexicon.terms(chunks("the dog play ##ing")))
    assert same(lexicon.terms(texts, 5), lexicon.terms(chunks("the dog play ##ing a cat")))
    assert same(lexicon.terms(texts, 100), lexicon.terms(texts))


@pytest.mark.parametrize(
    ("tokens", "buckets"),
    [
        ((7,), [247431]), ((7, 3), [400606]), ((7, 8), [247431, 324053, 663580]),
        ((11, 10, 9), [45109, 54029, 357060, 618011, 998395]),
    ],
)  # fmt: skip
def test_hashes_stay_as_they_are(tokens: Sequence[int], buckets: list[int]) -> None:
    """A lexicon on disk counts by hash: another hash would make every one that was ever written worthless."""
    empty = Lexicon.learn([], CONTINUES, 1.0)
    terms = empty.terms([Chunk(0, 0, 0, Span(0, 1), (CLS, *tokens, SEP))])
    assert terms.buckets.tolist() == buckets


def test_what_is_saved_comes_back(lexicon: Lexicon, tmp_path: Path) -> None:
    path = tmp_path / "lexicon.npz"
    lexicon.save(path)
    again = Lexicon.load(path, lexicon.power)
    assert (again.documents, again.power) == (20, 2.0)
    assert np.array_equal(again.frequencies, lexicon.frequencies)
    assert again.frequencies.dtype == np.uint16
    assert np.array_equal(again.continues, CONTINUES)
    text = chunks("the axolotl sees the cat", "play ##ing")
    assert again.terms(text).weights.tobytes() == lexicon.terms(text).weights.tobytes()


def test_the_same_content_gives_the_same_bytes(lexicon: Lexicon, tmp_path: Path) -> None:
    one, two = tmp_path / "one.npz", tmp_path / "two.npz"
    lexicon.save(one)
    again = Lexicon.load(one, lexicon.power)
    again.save(two)
    assert one.read_bytes() == two.read_bytes()
    with zipfile.ZipFile(one) as archive:
        assert {item.date_time for item in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}


def archive(**arrays: object) -> bytes:
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)  # type: ignore[arg-type]
    return file.getvalue()


def array(values: object) -> bytes:
    file = io.BytesIO()
    np.save(file, np.asarray(values))
    return file.getvalue()


def test_what_is_no_lexicon_is_named(lexicon: Lexicon, tmp_path: Path) -> None:
    path = tmp_path / "lexicon.npz"
    lexicon.save(path)
    whole = path.read_bytes()
    parts = {"frequencies": lexicon.frequencies, "documents": np.int64(3), "continues": lexicon.continues}
    for content in (
        b"",
        b"version https://git-lfs.github.com/spec/v1\n",
        whole[: len(whole) // 2],
        array(np.zeros(3)),
        archive(**{name: parts[name] for name in ("frequencies", "documents")}),
        archive(**(parts | {"frequencies": np.zeros(8, np.uint16)})),
        archive(**(parts | {"documents": np.arange(3)})),
        archive(**(parts | {"continues": np.array([{}], object)})),
    ):
        path.write_bytes(content)
        with pytest.raises(ModelError, match="fetch or train the model again") as caught:
            Lexicon.load(path, 1.0)
        assert str(path) in str(caught.value)
    path.unlink()
    with pytest.raises(ModelError):
        Lexicon.load(path, 1.0)


def test_a_flipped_bit_is_seen_or_says_nothing(lexicon: Lexicon, tmp_path: Path) -> None:
    path = tmp_path / "lexicon.npz"
    lexicon.save(path)
    whole = path.read_bytes()
    places = range(0, len(whole), max(1, len(whole) // 50))
    refused = 0
    for place in places:
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x10]) + whole[place + 1 :])
        try:
            read = Lexicon.load(path, lexicon.power)
        except ModelError:
            refused += 1
        else:  # a zip file has bytes that nobody reads
            assert np.array_equal(read.frequencies, lexicon.frequencies)
            assert np.array_equal(read.continues, lexicon.continues)
    assert refused > len(places) / 2
