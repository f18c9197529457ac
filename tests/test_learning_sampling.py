"""Batches: everybody meets a partner, everybody is seen."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_learning_splits import data, graphs
from tiny_backbone import write_backbone

from colde_cli.documents.document import Part, assemble
from colde_cli.errors import DataError
from colde_cli.evaluation.data import TrainingData
from colde_cli.learning.sampling import FieldSampler, GroupSampler, PairSampler, Positives, hard_negatives
from colde_cli.learning.tokens import chunk_documents

pytestmark = pytest.mark.skipif(find_spec("torch") is None, reason="needs colde[train]")


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


@given(graphs(), st.integers(3, 12), st.integers(0, 3))
def test_with_hard_negatives_everybody_still_meets_a_partner(
    items: TrainingData, size: int, seed: int
) -> None:
    positives = Positives.of(items)
    count = len(items.documents)
    mask = positives.mask(range(count))
    if mask.sum() == count:
        return
    hard = {number: np.flatnonzero(~mask[number])[:3] for number in range(count)}
    plain, sampler = (GroupSampler(positives, range(count), size, seed, found) for found in (None, hard))
    batches = [batch.tolist() for batch in sampler.epoch(1)]
    assert batches == [batch.tolist() for batch in sampler.epoch(1)]
    met: set[int] = set()
    for batch in batches:
        assert len(set(batch)) == len(batch) <= size
        met.update(one for one in batch if mask[one, batch].sum() > 1)
    assert met == set(plain.partners)


def test_every_batch_holds_a_hard_negative() -> None:
    """Ten classes of two; the hard negative of both documents of a class is the first of the next class."""
    items = data(*[(f"class {number // 2}", []) for number in range(20)])
    hard = {number: np.array([(number // 2 * 2 + 2) % 20]) for number in range(20)}
    for batch in GroupSampler(Positives.of(items), range(20), 6, 0, hard).epoch(0):
        assert any(int(hard[one][0]) in batch for one in batch.tolist())


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
    with pytest.raises(DataError, match="--set batches=mixed"):
        FieldSampler(positives, [24, 25, 26], fields, 4, 0)


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


def test_documents_that_do_not_train_are_not_drawn() -> None:
    rows = np.concatenate(sampler(documents=[0, 1, 3, 4, 6]).epoch(0))
    assert set(rows[:, :2].ravel().tolist()) <= {0, 1, 3, 4, 6}
    assert set(rows[:, 0].tolist()) == {0, 1, 3, 4}


def test_what_cannot_be_paired_is_refused() -> None:
    needed = "at least 2 documents that belong together and 1 that does not; "
    with pytest.raises(DataError, match=f"{needed}no two of the 3 training documents"):
        sampler(documents=[0, 3, 6])
    with pytest.raises(DataError, match=f"{needed}all 3 training documents"):
        sampler(documents=[0, 1, 2])


TEXTS = (
    "queen brood honey frame swarm",
    "queen brood honey frame comb",  # the nearest, but of the same class
    "queen brood honey keel mast",
    "queen keel mast sail hull",
    "queen brood honey frame swarm",  # the same text in another file
    "dough yeast crust oven flour",
    "queen brood honey frame swarm",  # the same text, and not for training
)
CLASSES = ("a", "a", "b", "c", "d", "e", "f")
FILES = np.array([0, 0, 0, 0, 1, 0, 0])


def test_the_nearest_by_words_that_do_not_belong_together(tmp_path: Path) -> None:
    tokenizer = (write_backbone(tmp_path / "tiny") / "tokenizer.json").read_text(encoding="utf-8")
    store = chunk_documents([assemble("", text, [Part("", text)]) for text in TEXTS], tokenizer, 48)
    positives = Positives.of(data(*[(label, []) for label in CLASSES]))
    documents = np.arange(6)
    found = hard_negatives(store, tokenizer, positives, documents, FILES, 2)
    assert found[0].tolist() == [2, 3]
    assert found[3].tolist()[0] == 2
    assert found[4].tolist() == [], "alone in its file"
    assert set(found) == set(range(6))
    assert all(len(near) <= 2 and number not in near for number, near in found.items())
