"""Encoding as far as vectors are asked for."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from command_line import OTHER, V1, V2

from colde_cli import Model
from colde_cli.documents.document import Chunk
from colde_cli.documents.reading import read
from colde_cli.encoder.encoder import Encoder, rearranged
from colde_cli.encoder.encoding import warm
from colde_cli.encoder.runtime import ChunkRunner, FloatArray, Progress
from colde_cli.errors import NoTextError
from colde_cli.views.json import comparison_json

PAGES = (1, 3)
"""Enough for chunks of several sections."""


class Counting(Encoder):
    """An encoder that remembers the token ids of the chunks it was given."""

    encoded: list[tuple[int, ...]]

    def encode_chunks(self, chunks: Sequence[Chunk], progress: Progress | None = None) -> FloatArray:
        self.encoded.extend(chunk.ids for chunk in chunks)
        return super().encode_chunks(chunks, progress)


@pytest.fixture
def encoder(model_folder: Path) -> Counting:
    opened = Counting.load(model_folder, device="cpu")
    assert isinstance(opened, Counting)
    opened.encoded = []
    return opened


@pytest.mark.slow
def test_chunks_are_encoded_when_asked_for_and_once(encoder: Counting) -> None:
    documents = [read(path, pages=PAGES) for path in (V1, V2)]
    now = encoder.encode_many(documents)
    encoder.encoded.clear()
    a, b = encoder.encode_later(documents)
    assert (a.document, a.chunks, a.tokens) == (documents[0], now[0].chunks, now[0].tokens)
    assert encoder.encoded == []
    some = a.vectors_of([2, 0])
    assert encoder.encoded == [now[0].chunks[2].ids, now[0].chunks[0].ids]
    np.testing.assert_allclose(some, now[0].vectors_of([2, 0]), atol=1e-6)
    for later, known in zip((a, b), now, strict=True):
        np.testing.assert_array_equal(later.chunk_vectors, known.chunk_vectors)
        np.testing.assert_array_equal(later.document_vector, known.document_vector)
        np.testing.assert_array_equal(later.section_vectors, known.section_vectors)
        assert later.domains.tolist() == known.domains.tolist()
    assert len(encoder.encoded) == len(a.chunks) + len(b.chunks)


@pytest.mark.slow
def test_a_field_may_be_replaced(encoder: Counting) -> None:
    document = read(V1, pages=PAGES)
    (later,), (now,) = encoder.encode_later([document]), encoder.encode_many([document])
    other = replace(later, document=replace(document, title="Another"))
    assert other.document.title == "Another"
    np.testing.assert_array_equal(other.vectors_of([1]), now.vectors_of([1]))
    np.testing.assert_array_equal(
        rearranged(later, [1, 0], encoder).document_vector, rearranged(now, [1, 0], encoder).document_vector
    )


@pytest.mark.slow
def test_chunks_of_both_documents_are_encoded_together(encoder: Counting, monkeypatch: pytest.MonkeyPatch) -> None:
    documents = [read(path, pages=PAGES) for path in (V1, V2)]
    a, b = encoder.encode_later(documents)
    now = encoder.encode_many(documents)
    calls: list[int] = []
    run = ChunkRunner.run

    def counted(self: ChunkRunner, chunks: Sequence[Chunk], progress: Progress | None = None) -> list[FloatArray]:
        calls.append(len(chunks))
        return run(self, chunks, progress)

    monkeypatch.setattr(ChunkRunner, "run", counted)
    warm((a, [0]), (now[1], [1]))
    warm((now[0], [0]), (b, [1]))  # only one of two waits
    assert calls == [1, 1]
    warm((a, [0, 2]), (b, [2, 1]))
    assert calls == [1, 1, 2]
    np.testing.assert_allclose(a.vectors_of([0, 2]), now[0].vectors_of([0, 2]), atol=1e-6)
    np.testing.assert_allclose(b.vectors_of([2, 1]), now[1].vectors_of([2, 1]), atol=1e-6)
    assert calls == [1, 1, 2]


@pytest.mark.slow
def test_two_different_texts_are_scored_in_any_case(encoder: Counting) -> None:
    model = Model(encoder)
    part, whole = (model.compare(V1, OTHER, scores=scores, pages=PAGES) for scores in (False, True))
    assert "scores" in vars(part)
    assert not part.versions
    assert comparison_json(part) == comparison_json(whole)


def test_a_document_without_text_is_refused_at_once(encoder: Counting) -> None:
    from hand_made import document

    with pytest.raises(NoTextError):
        encoder.encode_later([document([("", " ")])])


@pytest.mark.slow
def test_of_versions_only_what_words_do_not_settle_is_encoded(encoder: Counting) -> None:
    model = Model(encoder)
    whole = model.compare(V1, V2)
    chunks = len(whole.a.chunks) + len(whole.b.chunks)
    assert len(encoder.encoded) >= chunks
    encoder.encoded.clear()
    part = model.compare(V1, V2, scores=False)
    longest = {chunk.ids for side in (whole.a, whole.b) for chunk in side.chunks}
    assert 0 < len(longest & set(encoder.encoded)) < chunks / 2
    assert part.passages == whole.passages
    assert "scores" not in vars(part)
    copy = pickle.loads(pickle.dumps(part))
    assert comparison_json(part) == comparison_json(whole) == comparison_json(copy)


def test_the_same_text_is_not_encoded(encoder: Counting) -> None:
    assert Model(encoder).compare(V1, V1, scores=False).same_content
    assert encoder.encoded == []
