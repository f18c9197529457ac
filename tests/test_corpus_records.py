"""Records of an index: what is written is read again, to the accuracy that is promised."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from colde_cli.corpus.records import (
    chunk_vectors_of,
    encoding_of,
    pack,
    passages_of,
    section_vectors_of,
    shares_of,
    terms_of,
    text_record,
    unpack,
    vector_record,
)
from colde_cli.documents.document import Chunk, Part, ReadReport, Span, assemble, document_of
from colde_cli.documents.passages import passages
from colde_cli.encoder.encoding import Encoding
from colde_cli.scoring.lexicon import BUCKETS, Terms

SIZE = 8
values = st.floats(-2, 2, width=32, allow_nan=False)
words = st.text(st.characters(codec="utf-16", exclude_categories=()), max_size=40)


@st.composite
def terms(draw: st.DrawFn) -> Terms:
    buckets = sorted(draw(st.sets(st.integers(0, 2 * BUCKETS - 1), min_size=1, max_size=30)))
    weights = draw(arrays(np.float32, len(buckets), elements=st.floats(0.125, 1, width=32)))
    return Terms(np.array(buckets, np.int32), (weights / np.linalg.norm(weights)).astype(np.float32))


@st.composite
def encodings(draw: st.DrawFn) -> Encoding:
    count, sections = draw(st.integers(1, 6)), draw(st.integers(1, 4))
    text = "One sentence. " * count
    chunks = tuple(
        Chunk(i, 0, i, Span(i, i + 1), tuple(range(draw(st.integers(3, 9))))) for i in range(count)
    )
    vectors = [draw(arrays(np.float32, (rows, SIZE), elements=values)) for rows in (count, sections, 1)]
    words = draw(st.none() | terms())
    document = assemble("a.txt", "a.txt", [Part("", text)])
    return Encoding(document, chunks, vectors[0], vectors[0], vectors[1], vectors[2][0], words, words)


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
    assert section_vectors_of(kept).shape == encoding.section_vectors.shape
    np.testing.assert_array_equal(shares_of(kept), encoding.shares)
    found = terms_of("terms", kept)
    assert (found is None) == (encoding.terms is None)
    if found is not None and encoding.terms is not None:
        np.testing.assert_array_equal(found.buckets, encoding.terms.buckets)
        np.testing.assert_allclose(found.weights, encoding.terms.weights, atol=1e-3)
    whole = encoding_of(encoding.document, encoding.chunks, kept, centre)
    np.testing.assert_array_equal(whole.document_vector, encoding.document_vector)


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


@given(st.binary(max_size=60), st.integers(0, 200), st.integers(1, 255))
def test_a_damaged_record_is_none_or_something_but_no_error(blob: bytes, place: int, change: int) -> None:
    unpack(blob)
    record = bytearray(pack({"a": [1, "b"]}, {"values": np.arange(9, dtype=np.float32)}))
    record[place % len(record)] ^= change
    unpack(bytes(record))
