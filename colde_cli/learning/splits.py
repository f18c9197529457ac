"""Split documents into training and validation; no linked documents stand on both sides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from colde_cli.errors import DataError
from colde_cli.evaluation.data import DataFile, LabelledPair, TrainingData
from colde_cli.learning.sampling import Positives

# More pairs than this make the figures hardly more certain.
_MAX_POSITIVES = 5000
_SCALE = 3


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """The two sides of a run.

    Attributes:
        training: numbers of the documents that train, ascending.
        pairs: int64 [P, 2], validation pairs as document numbers.
        related: bool [P], True for pairs that belong together.
        judged: whether somebody judged the pairs; else they were made from labels and links.
    """

    training: NDArray[np.int64]
    pairs: NDArray[np.int64]
    related: NDArray[np.bool_]
    judged: bool


@dataclass(frozen=True, slots=True, eq=False)
class TaskData:
    """The data of a job, read and checked."""

    data: TrainingData
    files: tuple[DataFile, ...]
    positives: Positives
    split: Split


def split_by_pairs(data: TrainingData, pairs: Sequence[LabelledPair]) -> Split:
    """Validate on judged pairs; their documents do not train.

    Raises:
        DataError: all pairs have one judgement, or no document is left to train on.
    """
    numbers = data.numbers()
    related = np.array([pair.related for pair in pairs])
    if related.all() or not related.any():
        raise DataError("The validation pairs must hold related (1) and unrelated (0) ones; add the others.")
    rows = np.array([(numbers[pair.a], numbers[pair.b]) for pair in pairs], np.int64)
    training = np.setdiff1d(_named(data, "train"), rows)
    if not len(training):
        raise DataError("Every document is in a validation pair; none is left to train on.")
    return Split(training, rows, related, judged=True)


def split_by_fraction(data: TrainingData, positives: Positives, fraction: float, seed: int) -> Split:
    """Validate on pairs made from labels and links: as many random negatives as positives.

    If the data has a validation split, its documents are paired. Else whole groups of linked documents are drawn
    until they hold `fraction` of the documents.

    Raises:
        DataError: too few groups to hold any back.
    """
    generator = np.random.default_rng([seed, 0])
    held = _named(data, "validation") if _has_splits(data) else np.zeros(0, np.int64)
    candidates = _named(data, "train")
    if not len(held):
        held = _draw_groups(connected_groups(positives, candidates), fraction, generator)
    files = np.array([item.file for item in data.documents], np.int64)
    pairs, related = _make_pairs(positives, held, files, generator)
    return Split(np.setdiff1d(candidates, held), pairs, related, judged=False)


def connected_groups(positives: Positives, numbers: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Group the documents that are linked, directly or through others, in the order of their first documents."""
    parents = {int(number): int(number) for number in numbers}

    def root(number: int) -> int:
        while parents[number] != number:
            parents[number] = parents[parents[number]]
            number = parents[number]
        return number

    neighbours: list[list[int]] = [[int(other) for other in members] for members in positives.classes]
    neighbours += [[int(number), *positives.links[number]] for number in numbers]
    for members in neighbours:
        present = [member for member in members if member in parents]
        for one, other in pairwise(present):
            parents[root(one)] = root(other)
    groups: dict[int, list[int]] = {}
    for number in parents:
        groups.setdefault(root(number), []).append(number)
    return [np.array(sorted(members), np.int64) for members in groups.values()]


def _has_splits(data: TrainingData) -> bool:
    return any(item.split is not None for item in data.documents)


def _named(data: TrainingData, split: str) -> NDArray[np.int64]:
    """Return the documents of one split; without splits, all train."""
    if not _has_splits(data):
        return np.arange(len(data.documents) if split == "train" else 0)
    return np.array(
        [number for number, item in enumerate(data.documents) if item.split == split], dtype=np.int64
    )


def _draw_groups(
    groups: Sequence[NDArray[np.int64]], fraction: float, generator: np.random.Generator
) -> NDArray[np.int64]:
    """Draw whole groups with about `fraction` of the documents; at least two of them hold pairs."""
    wanted = max(2, round(fraction * sum(len(group) for group in groups)))
    held: list[NDArray[np.int64]] = []
    pairable = 0
    for place in generator.permutation(len(groups)):
        group = groups[place]
        size = sum(len(other) for other in held)
        enough = size >= wanted and pairable >= 2
        # A group that is far too large trains.
        if enough or len(group) > _SCALE * wanted or (size >= wanted and len(group) < 2):
            continue
        held.append(group)
        pairable += len(group) > 1
    left = len(groups) - len(held)
    if pairable < 2 or left < 2:
        raise DataError(_too_few_groups(groups, _SCALE * wanted))
    return np.sort(np.concatenate(held))


def _too_few_groups(groups: Sequence[NDArray[np.int64]], largest: int) -> str:
    """Say how many groups a validation needs, how many there are, and how many are too large to hold back."""
    linked = [len(group) for group in groups if len(group) > 1]
    large = sum(size > largest for size in linked)
    too_large = f", {large} of them too large to hold back (over {largest} documents)" if large else ""
    return (
        f"Validation needs at least 4 groups of 2 or more linked documents, 2 to hold back and 2 to train on; the data "
        f"has {len(linked)}{too_large}. Add documents with other labels or links, name judged pairs with --validation, "
        "or give documents a split."
    )


def _make_pairs(
    positives: Positives,
    held: NDArray[np.int64],
    files: NDArray[np.int64],
    generator: np.random.Generator,
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Pair the documents held back: all related pairs, and as many random unrelated ones.

    Both documents of an unrelated pair come from one file if there are enough such pairs. Telling a contract from a
    paper is easy, and does not show how well contracts are told apart.
    """
    together = positives.mask(held)
    upper = np.triu(np.ones_like(together), 1)
    one_file = files[held][:, None] == files[held][None, :]
    attracted, repelled = np.argwhere(together & upper), np.argwhere(~together & one_file & upper)
    if len(repelled) < min(len(attracted), _MAX_POSITIVES):
        repelled = np.argwhere(~together & upper)
    count = min(len(attracted), len(repelled), _MAX_POSITIVES)
    if not count:
        raise DataError(
            "The validation documents give no related and unrelated pairs; name some with --validation."
        )
    chosen = [rows[np.sort(generator.permutation(len(rows))[:count])] for rows in (attracted, repelled)]
    related = np.repeat([True, False], count)
    return held[np.concatenate(chosen)], related
