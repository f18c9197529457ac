"""The domains of documents, by made-up chunk vectors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from colde_cli.errors import ModelError
from colde_cli.scoring.domains import Domains

SIZE = 16
COMMON = np.full(SIZE, 3.0)


def documents(axis: int, count: int = 30, seed: int = 0) -> np.ndarray:
    """Mean chunk vectors of one domain: what all texts have in common, an axis of its own, and noise."""
    generator = np.random.default_rng([seed, axis])
    vectors: np.ndarray = COMMON + 2 * np.eye(SIZE)[axis] + generator.normal(0, 0.2, (count, SIZE))
    return vectors.astype(np.float32)


@pytest.fixture(scope="module")
def domains() -> Domains:
    return Domains.learn([documents(axis) for axis in range(3)])


def test_a_document_is_of_the_domain_that_it_is_like(domains: Domains) -> None:
    for axis in range(3):
        for vector in documents(axis, 5, seed=1):
            shares = domains.membership(vector)
            assert shares.dtype == np.float32
            assert shares.shape == (4,)
            assert float(shares.sum()) == pytest.approx(1, abs=1e-6)
            assert int(shares.argmax()) == 1 + axis
            assert shares.max() > 0.9


def test_a_document_like_none_is_of_none(domains: Domains) -> None:
    for axis in range(3, 8):
        assert domains.membership(documents(axis, 1)[0]).argmax() == 0
    # In the very middle of all domains there is no direction at all.
    middle = domains.membership(domains.centre)
    assert middle[0] == middle.max()


def test_between_two_domains_is_some_of_both(domains: Domains) -> None:
    shares = domains.membership(domains.centre + domains.prototypes[0] + domains.prototypes[1])
    assert shares[1] == pytest.approx(shares[2], abs=1e-4)
    assert shares[1] + shares[2] > 0.9


def test_each_domain_counts_the_same_however_many_documents_it_has() -> None:
    even = Domains.learn([documents(0), documents(1), documents(2)])
    uneven = Domains.learn([np.repeat(documents(0), 9, axis=0), documents(1), documents(2)])
    np.testing.assert_allclose(even.centre, uneven.centre, atol=1e-5)
    np.testing.assert_allclose(even.prototypes, uneven.prototypes, atol=1e-5)


def test_what_is_saved_comes_back(domains: Domains, tmp_path: Path) -> None:
    path, other = tmp_path / "domains.npz", tmp_path / "other.npz"
    domains.save(path)
    again = Domains.load(path)
    again.save(other)
    assert path.read_bytes() == other.read_bytes()
    vector = documents(1)[0]
    assert np.array_equal(again.membership(vector), domains.membership(vector))


@pytest.mark.parametrize("content", [b"", b"no archive", None])
def test_what_is_damaged_is_named(domains: Domains, tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "domains.npz"
    domains.save(path)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2] if content is None else content)
    with pytest.raises(ModelError, match="fetch or train the model again"):
        Domains.load(path)


def test_a_field_lies_near_the_domain_of_its_documents(domains: Domains) -> None:
    means = np.concatenate([documents(0, 12, seed=2), documents(1, 8, seed=2)])
    near = domains.nearness(means, np.stack([domains.membership(mean) for mean in means]))
    assert near.shape == (3,)
    assert near[:2].min() > 0.95
    assert near[2] < 0.5


def test_a_field_of_another_kind_lies_near_no_domain(domains: Domains) -> None:
    # Half of what a domain has of its own, and more of another thing.
    means = (documents(5, 12) + (documents(0, 12) - COMMON) / 2).astype(np.float32)
    shares = np.stack([domains.membership(mean) for mean in means])
    assert shares[:, 1].mean() > 0.5
    assert domains.nearness(means, shares)[0] < 0.75
