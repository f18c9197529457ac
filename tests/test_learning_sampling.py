"""What belongs together, splits that nothing linked crosses, and batches in which everybody meets a partner."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from colde_cli.documents.document import Part, assemble
from colde_cli.errors import DataError
from colde_cli.evaluation.data import LabelledPair, TrainingData, TrainingDocument
from colde_cli.learning.sampling import (
    FieldSampler,
    GroupSampler,
    PairSampler,
    Positives,
    connected_groups,
    hard_negatives,
    split_by_fraction,
    split_by_pairs,
)
from colde_cli.learning.tokens import chunk_documents


def data(*items: tuple[str | None, list[int]], splits: list[str] | None = None) -> TrainingData:
    """Documents "0", "1", ... with a label and links."""
    documents = tuple(
        TrainingDocument(
            str(number),
            assemble("", "", [Part("", "x")]),
            label,
            tuple(map(str, links)),
            splits[number] if splits else None,
            "",
        )
        for number, (label, links) in enumerate(items)
    )
    return TrainingData(documents, ())


@st.composite
def graphs(draw: st.DrawFn) -> TrainingData:
    count = draw(st.integers(4, 30))
    links = st.lists(st.integers(0, count - 1), max_size=2)
    label = st.sampled_from([None, None, "a", "b", "c"])
    return data(*[(draw(label), [n for n in draw(links) if n != own]) for own in range(count)])


def test_labels_links_and_judgements() -> None:
    items = data(("a", []), ("a", []), (None, [0]), ("b", []), (None, []))
    judged = [LabelledPair("0", "1", False), LabelledPair("3", "4", True)]
    positives = Positives.of(items, judged)
    assert [positives.partners(number).tolist() for number in range(5)] == [[2], [], [0], [4], [3]]
    assert Positives.of(items).partners(0).tolist() == [1, 2]
    mask = positives.mask([2, 0, 1])
    assert mask.tolist() == [[True, True, False], [True, True, False], [False, False, True]]


@given(graphs())
def test_mask_and_partners_agree_and_are_symmetric(items: TrainingData) -> None:
    positives = Positives.of(items)
    mask = positives.mask(range(len(items.documents)))
    assert (mask == mask.T).all()
    for number in range(len(items.documents)):
        assert np.flatnonzero(mask[number]).tolist() == sorted([number, *positives.partners(number)])


@given(graphs())
def test_groups_share_no_positive(items: TrainingData) -> None:
    positives = Positives.of(items)
    groups = connected_groups(positives, np.arange(len(items.documents)))
    assert sorted(np.concatenate(groups)) == list(range(len(items.documents)))
    for group in groups:
        for number in group:
            assert set(positives.partners(int(number))) <= set(group)


def test_a_chain_is_one_group() -> None:
    items = data((None, [1]), (None, [2]), (None, []), (None, []))
    found = connected_groups(Positives.of(items), np.arange(4))
    assert [group.tolist() for group in found] == [[0, 1, 2], [3]]


@given(st.integers(0, 50), st.sampled_from([0.1, 0.2, 0.5]))
def test_groups_stay_whole(seed: int, fraction: float) -> None:
    items = data(*[(f"class {number // 3}", []) for number in range(60)])
    positives = Positives.of(items)
    split = split_by_fraction(items, positives, fraction, seed)
    held = set(range(60)) - set(split.training.tolist())
    assert fraction * 60 <= len(held) <= fraction * 60 + 3
    assert all(set(positives.partners(number)) <= held for number in held)
    assert set(split.pairs.ravel()) <= held
    assert split.related.sum() == (~split.related).sum() > 0
    for (one, other), related in zip(split.pairs, split.related, strict=True):
        assert (one // 3 == other // 3) == related


@pytest.mark.parametrize(
    ("sizes", "fraction", "found"),
    [
        ((9, 2), 0.1, "the data has 2, 1 of them too large to hold back"),
        ((2, 2, 1), 0.5, r"the data has 2\. .*--validation"),
        ((50,) * 5, 0.01, "the data has 5, 5 of them too large"),
    ],
)
def test_too_few_groups_are_counted(sizes: tuple[int, ...], fraction: float, found: str) -> None:
    items = data(*[(f"class {number}", []) for number, size in enumerate(sizes) for _ in range(size)])
    with pytest.raises(DataError, match=f"needs at least 4 groups of 2 or more linked documents.*{found}"):
        split_by_fraction(items, Positives.of(items), fraction, 0)


def test_splits_of_the_data_are_kept() -> None:
    splits = ["train"] * 4 + ["validation"] * 4 + ["test"] * 2
    items = data(*[(f"class {number // 2}", []) for number in range(10)], splits=splits)
    split = split_by_fraction(items, Positives.of(items), 0.1, 0)
    assert split.training.tolist() == [0, 1, 2, 3]
    assert set(split.pairs.ravel()) <= {4, 5, 6, 7}
    assert not split.judged


def test_judged_documents_do_not_train() -> None:
    items = data(*[("a", [])] * 6)
    split = split_by_pairs(items, [LabelledPair("0", "1", True), LabelledPair("1", "5", False)])
    assert split.training.tolist() == [2, 3, 4]
    assert (split.pairs.tolist(), split.related.tolist()) == ([[0, 1], [1, 5]], [True, False])
    with pytest.raises(DataError, match="related"):
        split_by_pairs(items, [LabelledPair("0", "1", True)])
    with pytest.raises(DataError, match="none is left"):
        split_by_pairs(data(*[("a", [])] * 3), [LabelledPair("0", "1", True), LabelledPair("1", "2", False)])


# Batches


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
def test_with_hard_negatives_everybody_still_meets_a_partner(items: TrainingData, size: int, seed: int) -> None:
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
    items = data(*[(f"class {number // 2}", []) for number in range(24)], (None, []), ("odd", []), ("odd", []))
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


def test_the_nearest_by_words_that_do_not_belong_together(backbone_folder: Path) -> None:
    tokenizer = (backbone_folder / "tokenizer.json").read_text(encoding="utf-8")
    store = chunk_documents([assemble("", text, [Part("", text)]) for text in TEXTS], tokenizer, 48)
    positives = Positives.of(data(*[(label, []) for label in CLASSES]))
    documents = np.arange(6)
    found = hard_negatives(store, tokenizer, positives, documents, FILES, 2)
    assert found[0].tolist() == [2, 3]
    assert found[3].tolist()[0] == 2
    assert found[4].tolist() == [], "alone in its file"
    assert set(found) == set(range(6))
    assert all(len(near) <= 2 and number not in near for number, near in found.items())
