"""What belongs together, and that nothing linked stands on both sides of a split."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from colde_cli.documents.document import Part, assemble
from colde_cli.errors import DataError
from colde_cli.evaluation.data import LabelledPair, TrainingData, TrainingDocument
from colde_cli.learning.sampling import Positives, connected_groups, split_by_fraction, split_by_pairs


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
