"""Pairs of an epoch: balanced, true to labels and judgements, within a field where that is possible."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from colde_cli.errors import DataError
from colde_cli.learning.sampling import Positives
from colde_cli.learning.towers.trainer import PairSampler

# Two fields of two classes of three documents, and one document that belongs with none.
LABELS = np.array([0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, -1], np.int32)
FIELDS = np.array([0] * 6 + [1] * 7, np.int64)
NOBODY: tuple[frozenset[int], ...] = tuple(frozenset() for _ in LABELS)


def positives(labels: np.ndarray = LABELS, excluded: dict[int, set[int]] | None = None) -> Positives:
    classes = tuple(np.flatnonzero(labels == code) for code in range(labels.max() + 1))
    apart = [frozenset((excluded or {}).get(number, ())) for number in range(len(labels))]
    return Positives(labels, classes, NOBODY[: len(labels)], tuple(apart))


def sampler(**changes: object) -> PairSampler:
    given = {"positives": positives(), "documents": range(13), "fields": FIELDS, "size": 8, "seed": 0}
    return PairSampler(**{**given, **changes})  # type: ignore[arg-type]


def test_every_batch_is_balanced_and_every_pair_true() -> None:
    made = sampler()
    for epoch in range(5):
        batches = made.epoch(epoch)
        assert [len(batch) for batch in batches] == [8, 8, 8]
        for batch in batches:
            assert batch[:, 2].mean() == 0.5
            a, b, related = batch.T
            assert (a != b).all()
            assert ((LABELS[a] == LABELS[b]) == related.astype(bool)).all()
        anchors = np.concatenate([batch[batch[:, 2] == 1, 0] for batch in batches])
        assert sorted(anchors.tolist()) == list(range(12))


def test_negatives_are_of_the_same_field() -> None:
    rows = np.concatenate([batch for epoch in range(20) for batch in sampler().epoch(epoch)])
    negatives = rows[rows[:, 2] == 0]
    assert (FIELDS[negatives[:, 0]] == FIELDS[negatives[:, 1]]).all()
    assert 12 in negatives[:, 1]
    mixed = sampler(fields=np.zeros_like(FIELDS))
    rows = np.concatenate([batch for epoch in range(20) for batch in mixed.epoch(epoch)])
    assert (FIELDS[rows[:, 0]] != FIELDS[rows[:, 1]]).any()


def test_a_field_of_one_class_takes_its_negatives_elsewhere() -> None:
    made = sampler(fields=(LABELS + 1).astype(np.int64))
    rows = np.concatenate(made.epoch(0))
    assert ((LABELS[rows[:, 0]] == LABELS[rows[:, 1]]) == rows[:, 2].astype(bool)).all()


def test_judged_negatives_are_taken_in_half_of_the_draws() -> None:
    made = sampler(positives=positives(excluded={0: {1, 9}, 1: {0}, 9: {0}}))
    rows = np.concatenate([batch for epoch in range(200) for batch in made.epoch(epoch)])
    of_first = rows[(rows[:, 0] == 0)]
    assert set(of_first[of_first[:, 2] == 1, 1].tolist()) == {2}
    negatives = of_first[of_first[:, 2] == 0, 1]
    judged = np.isin(negatives, [1, 9]).mean()
    assert 0.5 < judged < 0.75  # one of the draws at random may hit document 1 too
    assert set(negatives.tolist()) >= {1, 3, 4, 5, 9}


def test_epochs_differ_and_seeds_repeat() -> None:
    first, again, next_one, other = (
        sampler().epoch(0),
        sampler().epoch(0),
        sampler().epoch(1),
        sampler(seed=1).epoch(0),
    )
    assert all((one == two).all() for one, two in zip(first, again, strict=True))
    assert any((one != two).any() for one, two in zip(first, next_one, strict=True))
    assert any((one != two).any() for one, two in zip(first, other, strict=True))


def test_documents_that_do_not_train_are_not_drawn() -> None:
    rows = np.concatenate(sampler(documents=[0, 1, 3, 4, 6]).epoch(0))
    assert set(rows[:, :2].ravel().tolist()) <= {0, 1, 3, 4, 6}
    assert set(rows[:, 0].tolist()) == {0, 1, 3, 4}


def test_what_cannot_be_paired_is_refused() -> None:
    with pytest.raises(DataError, match="No two training documents belong together"):
        sampler(documents=[0, 3, 6])
    with pytest.raises(DataError, match="All training documents belong together"):
        sampler(documents=[0, 1, 2])
