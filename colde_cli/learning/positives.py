"""Which documents belong together: same label, or linked, unless somebody judged otherwise."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from colde_cli.learning.data import JudgedPair, TrainingData


@dataclass(frozen=True, slots=True)
class Positives:
    """The relation "belongs together" among N documents: symmetric, and not transitive (§3.3 with a mask).

    Attributes:
        labels: int32 [N], the class of each document, -1 for none.
        classes: the documents of each class.
        links: for each document those it is linked to.
        excluded: for each document those judged unrelated, whatever labels and links say.
    """

    labels: NDArray[np.int32]
    classes: tuple[NDArray[np.int64], ...]
    links: tuple[frozenset[int], ...]
    excluded: tuple[frozenset[int], ...]

    @classmethod
    def of(cls, data: TrainingData, pairs: Iterable[JudgedPair] = ()) -> Positives:
        """From labels and links of the data and judged pairs; a judgement outweighs both."""
        numbers = data.numbers()
        names = sorted({item.label for item in data.documents if item.label is not None})
        codes = {name: code for code, name in enumerate(names)}
        labels = np.array([codes.get(item.label or "", -1) for item in data.documents], np.int32)
        links: defaultdict[int, set[int]] = defaultdict(set)
        excluded: defaultdict[int, set[int]] = defaultdict(set)
        for number, item in enumerate(data.documents):
            for other in item.related:
                _join(links, number, numbers[other])
        for pair in pairs:
            _join(links if pair.related else excluded, numbers[pair.a], numbers[pair.b])
        count = range(len(labels))
        classes = tuple(np.flatnonzero(labels == code) for code in range(len(names)))
        frozen = [tuple(frozenset(found[number]) for number in count) for found in (links, excluded)]
        return cls(labels, classes, frozen[0], frozen[1])

    def partners(self, number: int) -> NDArray[np.int64]:
        """Documents that belong with document `number`, ascending, itself not among them."""
        found = set(self.links[number])
        if self.labels[number] >= 0:
            found.update(self.classes[self.labels[number]].tolist())
        return np.array(sorted(found - self.excluded[number] - {number}), np.int64)

    def mask(self, numbers: Sequence[int] | NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which of these documents belong together, bool [B, B]; True on the diagonal."""
        chosen = [int(number) for number in numbers]
        own = self.labels[chosen]
        together = (own[:, None] == own[None, :]) & (own[:, None] >= 0)
        places = {number: place for place, number in enumerate(chosen)}
        for place, number in enumerate(chosen):
            for relation, value in ((self.links, True), (self.excluded, False)):
                others = [places[other] for other in relation[number] if other in places]
                together[place, others] = value
        np.fill_diagonal(together, True)
        return np.asarray(together)


def _join(relation: defaultdict[int, set[int]], one: int, other: int) -> None:
    relation[one].add(other)
    relation[other].add(one)
