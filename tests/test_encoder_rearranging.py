"""Chunks left out and put in another order: what follows from them follows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from colde_cli.documents.reading import read
from colde_cli.encoder.encoder import Encoder
from colde_cli.encoder.encoding import Encoding
from colde_cli.encoder.rearranging import rearranged, without
from colde_cli.scoring.lexicon import Terms, overlap
from colde_cli.scoring.score import document_score


@pytest.fixture(scope="module")
def encoder(model_folder: Path) -> Encoder:
    return Encoder.load(model_folder, device="cpu")


@pytest.fixture(scope="module")
def contract(encoder: Encoder, repository: Path) -> Encoding:
    return encoder.encode(read(repository / "examples" / "supply-agreement.pdf"))


def words(encoding: Encoding) -> tuple[Terms, Terms]:
    assert encoding.terms is not None
    assert encoding.opening is not None
    return encoding.terms, encoding.opening


def test_the_same_rows_give_the_same_encoding(encoder: Encoder, contract: Encoding) -> None:
    same = rearranged(contract, range(len(contract.chunks)), encoder)
    for found, wanted in zip(words(same), words(contract), strict=True):
        assert np.array_equal(found.buckets, wanted.buckets)
        assert found.weights.tobytes() == wanted.weights.tobytes()
    assert np.array_equal(same.domains, contract.domains)
    assert same.document_vector == pytest.approx(contract.document_vector, abs=1e-6)
    assert np.array_equal(same.shares, contract.shares)


def test_words_are_those_of_the_chunks_that_are_left(encoder: Encoder, contract: Encoding) -> None:
    part = rearranged(contract, [3, 4], encoder)
    alone = encoder.words(part.chunks)
    for found, wanted in zip(words(part), alone, strict=True):
        assert wanted is not None
        assert np.array_equal(found.buckets, wanted.buckets)
    whole, few = words(contract)[0], words(part)[0]
    assert set(few.buckets.tolist()) < set(whole.buckets.tolist())
    assert part.domains.shape == contract.domains.shape
    assert not np.array_equal(part.domains, contract.domains)
    assert float(part.domains.sum()) == pytest.approx(1, abs=1e-6)
    assert float(part.shares.sum()) == pytest.approx(1, abs=1e-6)


def test_another_order_opens_with_other_words_but_holds_the_same(
    encoder: Encoder, contract: Encoding
) -> None:
    rows = list(reversed(range(len(contract.chunks))))
    turned = rearranged(contract, rows, encoder)
    assert overlap(words(turned)[0], words(contract)[0]) > 0.99
    assert overlap(words(turned)[1], words(contract)[1]) < 0.5
    assert turned.domains == pytest.approx(contract.domains, abs=1e-5)


def test_several_times_over_scores_as_once(encoder: Encoder, contract: Encoding) -> None:
    """But for the pair of words at each seam, and the head, which counts chunks."""
    rows = list(range(len(contract.chunks)))
    once, tiled = contract, rearranged(contract, rows * 3, encoder, "anew")
    assert overlap(words(once)[0], words(tiled)[0]) > 0.999
    assert overlap(words(once)[1], words(tiled)[1]) == pytest.approx(1, abs=1e-6)
    assert tiled.domains == pytest.approx(once.domains, abs=1e-5)
    assert float(tiled.shares.sum()) == pytest.approx(1, abs=1e-5)
    headless = replace(tiled, document_vector=once.document_vector)
    assert document_score(once, headless, encoder.config) == pytest.approx(1, abs=1e-3)


def test_without_a_chunk_its_words_are_gone(encoder: Encoder, contract: Encoding) -> None:
    row = len(contract.chunks) - 1
    rest = without(contract, row, encoder)
    assert len(rest.chunks) == row
    gone = set(words(contract)[0].buckets.tolist()) - set(words(rest)[0].buckets.tolist())
    (own, _) = encoder.words([contract.chunks[row]])
    assert own is not None
    assert gone
    assert len(gone - set(own.buckets.tolist())) <= 1, "the pair at the seam"
    assert np.array_equal(words(rest)[1].buckets, words(contract)[1].buckets)
    assert rest.section_vectors is contract.section_vectors
