"""Encodings kept by what files hold."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from colde_cli.corpus.rank_corpus import rank_files
from colde_cli.corpus.records import (
    Card,
    Store,
    chunk_vectors_of,
    encoding_of,
    own_vectors_of,
    pack,
    passages_of,
    shares_of,
    terms_of,
    text_record,
    unpack,
    vector_record,
)
from colde_cli.documents.document import Chunk, Part, ReadReport, Span, assemble, document_header, document_of
from colde_cli.documents.passages import passages
from colde_cli.documents.reading import read
from colde_cli.encoder.encoder import Encoder
from colde_cli.encoder.encoding import Encoding, OwnVectors, Vectors
from colde_cli.encoder.vector_cache import Cache
from colde_cli.scoring.lexicon import BUCKETS, Terms
from colde_cli.similarity.comparison import compare_encodings

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
PDF = EXAMPLES / "supply-agreement.pdf"
SIZE = 8
values = st.floats(-2, 2, width=32, allow_nan=False)
words = st.text(st.characters(codec="utf-16", exclude_categories=()), max_size=40)


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[Cache]:
    with Cache(tmp_path / "cache", 10**9) as opened:
        yield opened


def same(one: Encoding, other: Encoding) -> bool:
    arrays = ("chunk_vectors", "centred_unit_vectors", "domains")
    return (
        (one.document, one.chunks) == (other.document, other.chunks)
        and all(np.array_equal(getattr(one, name), getattr(other, name)) for name in arrays)
        and same_terms(one, other)
    )


def same_terms(one: Encoding | Card, other: Encoding | Card) -> bool:
    """Words of both, and the same ones."""
    pairs = ((one.terms, other.terms), (one.opening, other.opening))
    return all(
        a is not None
        and b is not None
        and a.buckets.tobytes() == b.buckets.tobytes()
        and a.weights.tobytes() == b.weights.tobytes()
        for a, b in pairs
    )


def test_an_encoding_comes_back_as_it_was(encoder: Encoder, cache: Cache) -> None:
    assert {field.name for field in fields(Vectors)} == {
        *("chunk_vectors", "centred_unit_vectors", "own"),
        *("terms", "opening", "domains"),
    }
    store = Store(cache, encoder)
    encoding = encoder.encode(read(PDF))
    key = store.key(PDF)
    store.keep(key, encoding)
    found = store.encoding(PDF, key)
    assert found is not None
    assert same(found, encoding)
    card = store.cards({PDF: key})[PDF]
    assert (card.path, card.title) == (str(PDF), encoding.document.title)
    assert card.document_vector is None, "no score needs it"
    assert found.kept_own is None
    assert np.array_equal(card.centred_unit_vectors, encoding.centred_unit_vectors)
    assert np.array_equal(card.shares, encoding.shares)
    assert np.array_equal(card.domains, encoding.domains)
    assert same_terms(card, encoding)


@pytest.mark.slow
def test_a_card_scores_as_the_encoding_does(encoder: Encoder, cache: Cache, tmp_path: Path) -> None:
    """To the last bit, fresh or from the cache: the score of `colde rank` is that of `colde diff`."""
    query = encoder.encode(read(EXAMPLES / "field-study-v1.pdf"))
    paths = write_corpus(tmp_path)
    for kept in (cache, None):
        with_cache = Encoder.load(encoder.folder.path, device="cpu", cache=kept)
        wanted = {
            str(path): compare_encodings(query, with_cache.encode(read(path)), with_cache, passages=False)
            for path in paths
        }
        for run in range(2 if kept else 1):
            found = rank_files(query, paths, with_cache)
            assert found.encoded == (0 if run else len(paths))
            assert {hit.path for hit in found.results} == set(wanted)
            for hit in found.results:
                said = wanted[hit.path]
                assert (hit.score, hit.probability) == (said.score, said.probability)
                assert hit.parts == said.parts


def write_corpus(folder: Path) -> list[Path]:
    """Texts of several lengths; the last is the first many times over."""
    contract = read(PDF)
    texts = ["A sensor on a sill.", contract.text[:6000], contract.text[6000:7500], contract.text[:900] * 12]
    paths = [folder / f"{number}.txt" for number in range(len(texts))]
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text, encoding="utf-8")
    return paths


def test_the_same_content_is_known_under_another_name(encoder: Encoder, cache: Cache, tmp_path: Path) -> None:
    store = Store(cache, encoder)
    one, two = tmp_path / "one.txt", tmp_path / "two.txt"
    for path in (one, two):
        path.write_text("the pump runs at night, and nobody hears it because the town sleeps")
    store.keep(store.key(one), encoder.encode(read(one)))
    found = store.encoding(two, store.key(two))
    assert found is not None
    assert (found.document.path, found.document.title) == (str(two), read(two).title)


def test_other_bytes_suffixes_and_options_are_other_keys(encoder: Encoder, cache: Cache, tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("a.txt", "b.txt", "a.md")]
    for path, text in zip(paths, ("one", "two", "one"), strict=True):
        path.write_text(text)
    keys = {Store(cache, encoder, options).key(path) for path in paths for options in ((), ("skip",))}
    assert len(keys) == 6


def other_layout(value: bytes) -> bytes:
    unpacked = unpack(value)
    assert unpacked is not None
    header, found = unpacked
    return pack(header, {f"old_{array}": values for array, values in found.items()})


@pytest.mark.parametrize("damaged", [lambda value: value[: len(value) // 2], other_layout])
def test_a_damaged_record_or_one_of_another_layout_is_as_good_as_none(
    encoder: Encoder, cache: Cache, damaged: Callable[[bytes], bytes]
) -> None:
    store = Store(cache, encoder)
    key = store.key(PDF)
    store.keep(key, encoder.encode(read(PDF)))
    kept = store._get(_all_keys(cache))
    assert len(kept) >= 2
    cache.put({name: damaged(value) if unpack(value) else value for name, value in kept.items()})
    assert store.encoding(PDF, key) is None
    assert store.cards({PDF: key}) == {}


def _all_keys(cache: Cache) -> list[bytes]:
    with cache._guarded() as connection:
        return [key for (key,) in connection.execute("SELECT key FROM items")]


def test_without_a_cache_nothing_is_known(encoder: Encoder) -> None:
    store = Store(None, encoder)
    key = store.key(PDF)
    store.keep(key, encoder.encode(read(PDF)))
    assert store.encoding(PDF, key) is None


@pytest.mark.parametrize("blob", [b"", b"\x00", b"\xff\xff\xff\xff1234", pack({}, {"a": np.ones(2, np.float32)})[:-1]])
def test_what_is_no_record_is_nothing(blob: bytes) -> None:
    assert unpack(blob) is None


@st.composite
def terms(draw: st.DrawFn) -> Terms:
    buckets = sorted(draw(st.sets(st.integers(0, 2 * BUCKETS - 1), min_size=1, max_size=30)))
    weights = draw(arrays(np.float32, len(buckets), elements=st.floats(0.125, 1, width=32)))
    return Terms(np.array(buckets, np.int32), (weights / np.linalg.norm(weights)).astype(np.float32))


@st.composite
def encodings(draw: st.DrawFn) -> Encoding:
    count, sections = draw(st.integers(1, 6)), draw(st.integers(1, 4))
    text = "One sentence. " * count
    chunks = tuple(Chunk(i, 0, i, Span(i, i + 1), tuple(range(draw(st.integers(3, 9))))) for i in range(count))
    vectors = [draw(arrays(np.float32, (rows, SIZE), elements=values)) for rows in (count, sections, 1)]
    words = draw(st.none() | terms())
    document = assemble("a.txt", "a.txt", [Part("", text)])
    return Encoding(
        document, chunks, Vectors(vectors[0], vectors[0], OwnVectors(vectors[2][0], vectors[1]), words, words)
    )


@given(encodings(), st.none() | arrays(np.float32, SIZE, elements=values))
def test_vectors_and_words_come_back(encoding: Encoding, centre: np.ndarray | None) -> None:
    unpacked = unpack(vector_record(encoding, centre))
    assert unpacked is not None
    kept = unpacked[1]
    chunk_vectors, centred = chunk_vectors_of(kept, centre)
    exact = encoding.chunk_vectors - (0 if centre is None else centre)
    # Half a step of int8 with the scale of each vector, and the rounding of float32.
    steps = np.abs(exact).max(1, keepdims=True) / 127
    assert (np.abs(chunk_vectors - encoding.chunk_vectors) <= 0.51 * steps + 1e-6).all()
    if centre is not None:
        lengths = np.linalg.norm(centred, axis=1)
        assert np.all((np.abs(lengths - 1) < 1e-5) | (lengths < 1e-5))
    own = own_vectors_of(kept)
    assert own is not None
    assert own.sections.shape == encoding.section_vectors.shape
    np.testing.assert_array_equal(shares_of(kept), encoding.shares)
    found = terms_of("terms", kept)
    assert (found is None) == (encoding.terms is None)
    if found is not None and encoding.terms is not None:
        np.testing.assert_array_equal(found.buckets, encoding.terms.buckets)
        np.testing.assert_allclose(found.weights, encoding.terms.weights, atol=1e-3)
    whole = encoding_of(encoding.document, encoding.chunks, kept, centre)
    np.testing.assert_array_equal(whole.document_vector, encoding.document_vector)


@pytest.mark.slow
@given(st.lists(st.tuples(words, words), min_size=1, max_size=5), st.lists(words, max_size=2))
def test_any_text_comes_back(parts: list[tuple[str, str]], warnings: list[str]) -> None:
    report = ReadReport(warnings=tuple(warnings), pages_without_text=(2,))
    document = assemble("a.txt", "A title", [Part(heading, text) for heading, text in parts], report)
    cut = passages(document)
    unpacked = unpack(text_record(document, document.title, cut))
    assert unpacked is not None
    kept = document_of("a.txt", "a.txt", unpacked[0])
    assert kept == document
    assert passages_of(kept, unpacked[1]) == cut


def test_a_record_of_an_earlier_version_names_a_limit_that_there_never_was() -> None:
    document = assemble("a.txt", "A title", [Part("1 Rent", "The tenant pays.")])
    header = document_header(document, document.title)
    header["report"]["truncated_tokens"] = 0
    assert document_of("a.txt", "a.txt", header) == document


@given(st.binary(max_size=60), st.integers(0, 200), st.integers(1, 255))
def test_a_damaged_record_is_none_or_something_but_no_error(blob: bytes, place: int, change: int) -> None:
    unpack(blob)
    record = bytearray(pack({"a": [1, "b"]}, {"values": np.arange(9, dtype=np.float32)}))
    record[place % len(record)] ^= change
    unpack(bytes(record))
