"""Whitening of chunk vectors, and the fields of a model's domains."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from made_up import SIZE, domain_fields, made

from colde_cli.errors import ModelError
from colde_cli.scoring.profile import DomainFields
from colde_cli.scoring.whitening import (
    RANK,
    Whitening,
    blended_covariance,
    composed,
    covariance_of,
    isotropic,
    mean_of_means,
    principal,
)


def drawn(size: int, count: int = 400, seed: int = 0) -> np.ndarray:
    """Vectors that vary most along their first axes, around 2."""
    spreads = 1 / (1 + np.arange(size))
    return (np.random.default_rng(seed).normal(size=(count, size)) * spreads + 2).astype(np.float32)


def test_whitening_evens_out_the_directions() -> None:
    vectors = drawn(5, 4000)
    centre = mean_of_means([vectors])
    whitened = Whitening.learn(centre, covariance_of([vectors], centre)).apply(vectors)
    before, after = vectors.std(0), whitened.std(0)
    assert whitened.mean(0) == pytest.approx(np.zeros(5), abs=1e-4)
    assert before[0] / before[-1] > 4
    assert 1 < after[0] / after[-1] < before[0] / before[-1] / 1.5


def test_directions_that_are_not_kept_share_one_gain() -> None:
    size = RANK + 8
    vectors = drawn(size, 2000)
    whitening = Whitening.learn(mean_of_means([vectors]), covariance_of([vectors], vectors.mean(0)))
    assert whitening.directions.shape == (RANK, size)
    assert (whitening.gains <= 1 + 1e-6).all()
    across = np.linalg.svd(whitening.directions)[2][-1].astype(np.float32)
    assert whitening.apply((whitening.centre + across)[None])[0] == pytest.approx(across, abs=1e-2)


def test_every_document_counts_the_same() -> None:
    one, other = drawn(4, 10, seed=1), drawn(4, 500, seed=2) + 1
    assert mean_of_means([one, other]) == pytest.approx((one.mean(0) + other.mean(0)) / 2, abs=1e-5)
    tripled = [np.tile(one, (3, 1)), other]
    assert covariance_of(tripled, np.zeros(4, np.float32)) == pytest.approx(
        covariance_of([one, other], np.zeros(4, np.float32)), abs=1e-6
    )


def test_a_covariance_is_put_together_again() -> None:
    covariance = covariance_of([drawn(6)], drawn(6).mean(0))
    assert np.trace(covariance) == pytest.approx(1)
    assert composed(*principal(covariance)) == pytest.approx(covariance, abs=1e-3)


def test_where_vectors_lie_in_memory_does_not_matter() -> None:
    """The same numbers, as a cache gives them and four bytes further on, where products of float32 would differ."""
    kept = drawn(48, 300)
    moved = np.frombuffer(b"\0" * 4 + kept.tobytes(), np.float32, offset=4).reshape(kept.shape)
    centre = mean_of_means([kept])
    assert covariance_of([moved], centre) == pytest.approx(covariance_of([kept], centre), rel=1e-12, abs=1e-18)


def test_one_point_has_no_direction() -> None:
    alone = np.ones((1, 3), np.float32)
    assert covariance_of([alone], alone[0]).tolist() == isotropic(3).tolist()


def test_a_large_field_decides_its_covariance() -> None:
    field, model = np.diag([0.9, 0.1]), isotropic(2)
    assert blended_covariance(field, 50, model)[0, 0] == pytest.approx(0.7)
    assert blended_covariance(field, 10**6, model)[0, 0] == pytest.approx(0.9, abs=1e-3)


def test_a_pair_is_whitened_in_a_domain_of_both() -> None:
    fields = domain_fields()
    law, other = made(1, law=1.0), made(2, law=0.0)
    assert fields.row(law, law) == 1
    assert fields.row(law, other) == 0
    assert fields.adapt_pair(law, other) == (law, other)
    inside = fields.adapt_pair(law, replace(other, domains=law.domains))[0]
    assert np.linalg.norm(inside.centred_unit_vectors, axis=1) == pytest.approx(1, abs=1e-5)
    assert not np.allclose(inside.centred_unit_vectors, law.centred_unit_vectors)


def test_fields_are_read_as_they_were_written(tmp_path: Path) -> None:
    fields, path = domain_fields(), tmp_path / "fields.npz"
    fields.save(path)
    again = DomainFields.load(path)
    for one, other in zip(fields.whitenings, again.whitenings, strict=True):
        assert all(
            np.array_equal(getattr(one, name), getattr(other, name)) for name in ("centre", "directions", "gains")
        )
    assert again.covariance == pytest.approx(fields.covariance, abs=2e-3)
    assert again.covariance.shape == (SIZE, SIZE)
    path.write_bytes(path.read_bytes()[:40])
    with pytest.raises(ModelError, match="is damaged"):
        DomainFields.load(path)
