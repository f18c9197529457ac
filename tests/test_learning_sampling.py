"""Batches: everybody meets a partner, everybody is seen."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_learning_splits import data, graphs

from colde_cli.errors import DataError
from colde_cli.evaluation.data import TrainingData
from colde_cli.learning.sampling import FieldSampler, GroupSampler, Positives


@given(graphs(), st.integers(2, 12), st.integers(0, 3), st.integers(0, 3))
def test_everybody_meets_a_partner_and_is_seen(items: TrainingData, size: int, seed: int, epoch: int) -> None:
    positives = Positives.of(items)
    count = len(items.documents)
    if not any(len(positives.partners(number)) for number in range(count)):
        with pytest.raises(DataError, match="belong together"):
            GroupSampler(positives, range(count), size, seed)
        return
    sampler = GroupSampler(positives, range(count), size, seed)
    seen: set[int] = set()
    for batch in sampler.epoch(epoch):
        members = batch.tolist()
        assert len(set(members)) == len(members) <= size
        for number in members:
            partners = set(positives.partners(number).tolist())
            assert not partners or partners & set(members)
        seen.update(members)
    assert {number for number in range(count) if len(positives.partners(number))} <= seen


def test_only_the_documents_named() -> None:
    items = data(*[("a", [])] * 4, *[("b", [])] * 4)
    batches = GroupSampler(Positives.of(items), [0, 1, 4, 5], 4, 0).epoch(0)
    assert [sorted(batch) for batch in batches] == [[0, 1, 4, 5]]


def test_documents_without_partner_fill_a_quarter() -> None:
    items = data(*[(f"class {number // 2}", []) for number in range(40)], *[(None, [])] * 40)
    batches = GroupSampler(Positives.of(items), range(80), 8, 0).epoch(0)
    assert all(sum(number >= 40 for number in batch) == 2 for batch in batches)
    assert all(len(batch) == 8 for batch in batches)


def test_epochs_differ_and_repeat() -> None:
    items = data(*[(f"class {number // 3}", []) for number in range(30)])
    one, same = (GroupSampler(Positives.of(items), range(30), 6, 5) for _ in range(2))
    other = GroupSampler(Positives.of(items), range(30), 6, 6)
    first = np.concatenate(one.epoch(1))
    assert np.array_equal(first, np.concatenate(same.epoch(1)))
    for different in (one.epoch(2), other.epoch(1)):
        assert not np.array_equal(first, np.concatenate(different))


def test_batches_of_one_field() -> None:
    items = data(
        *[(f"class {number // 2}", []) for number in range(24)], (None, []), ("odd", []), ("odd", [])
    )
    # A third field has no two documents that belong together, and the class "odd" lies in two fields.
    fields = np.array([0] * 14 + [1] * 10 + [2] * 2 + [1])
    positives = Positives.of(items)
    sampler = FieldSampler(positives, range(27), fields, 4, 0)
    batches = sampler.epoch(0)
    assert all(len(set(fields[batch])) == 1 for batch in batches)
    assert set(range(24)) <= set(np.concatenate(batches).tolist())
    assert 24 not in np.concatenate(batches)
    assert len({fields[batch[0]] for batch in batches[:4]}) == 2
    with pytest.raises(DataError, match="--batches mixed"):
        FieldSampler(positives, [24, 25, 26], fields, 4, 0)
