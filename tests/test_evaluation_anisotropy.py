"""Anisotropy and intra-document similarity against values worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from colde_cli.evaluation.anisotropy import anisotropy, intra_document_similarity, part_similarity


def on_circle(*degrees: float) -> np.ndarray:
    angles = np.deg2rad(degrees)
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)


def test_anisotropy_by_hand() -> None:
    # cosines: 0-60 0.5, 0-180 -1, 60-180 -0.5
    assert anisotropy(on_circle(0, 60, 180)) == pytest.approx(-1 / 3)
    assert anisotropy(on_circle(20, 20, 20)) == pytest.approx(1)
    assert anisotropy(on_circle(0, 90)) == pytest.approx(0, abs=1e-12)


@given(st.integers(2, 12), st.integers(1, 5), st.integers(0, 2**31))
def test_anisotropy_is_the_mean_over_all_pairs(count: int, size: int, seed: int) -> None:
    vectors = np.random.default_rng(seed).normal(size=(count, size)) + 0.5
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    wanted = np.mean([units[i] @ units[j] for i in range(count) for j in range(count) if i != j])
    assert anisotropy(vectors) == pytest.approx(wanted)
    assert anisotropy(vectors * 7.0) == pytest.approx(wanted)


def test_part_similarity_by_hand() -> None:
    assert part_similarity(on_circle(0, 90), [1, 1]) == pytest.approx(math.sqrt(0.5))
    assert part_similarity(3 * on_circle(0, 60, 180), [5, 0]) == pytest.approx((1 + 0.5 - 1) / 3)


def test_intra_document_similarity_by_hand() -> None:
    parts = [on_circle(0, 60), on_circle(90, 90, 90)]
    documents = on_circle(0, 90)
    assert intra_document_similarity(parts, documents) == pytest.approx((0.75 + 1) / 2)
    assert intra_document_similarity(parts, documents, 0.25) == pytest.approx((0.75 + 1) / 2 - 0.25)
    # In a space where everything points one way, parts are as near as strangers are.
    one_way = on_circle(45, 45)
    assert intra_document_similarity([one_way, one_way], one_way) == pytest.approx(0)


def test_what_has_no_direction_is_refused() -> None:
    with pytest.raises(ValueError, match="two vectors"):
        anisotropy([[1.0, 0.0]])
    with pytest.raises(ValueError, match="length zero"):
        anisotropy([[1.0, 0.0], [0.0, 0.0]])
    with pytest.raises(ValueError, match="one part"):
        part_similarity(np.zeros((0, 2)), [1, 0])
    with pytest.raises(ValueError, match="longer"):
        intra_document_similarity([on_circle(0)], on_circle(0, 1))
