"""Which documents belong together: same label, or linked, unless somebody judged otherwise."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from colde_cli.errors import DataError
from colde_cli.evaluation.data import LabelledPair, TrainingData


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
    def of(cls, data: TrainingData, pairs: Iterable[LabelledPair] = ()) -> Positives:
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


# At most this share of a batch are documents without a partner, which only repel.
_LONERS = 0.25


class Sampler(Protocol):
    """Gives the batches of every epoch, which depend on nothing but its seed and the epoch's number."""

    def epoch(self, number: int) -> list[NDArray[np.int64]]:
        """The batches of one epoch, documents as numbers."""


class FieldSampler:
    """Batches that each hold documents of one field only, which are harder to tell apart.

    In a batch of patents and court cases most negatives are told apart by their style.
    """

    def __init__(
        self,
        positives: Positives,
        documents: Sequence[int] | NDArray[np.int64],
        fields: NDArray[np.int64],
        size: int,
        seed: int,
    ) -> None:
        """Sample from `documents`, whose fields are `fields[document]`, `size` to a batch.

        Raises:
            DataError: no two documents of one field belong together.
        """
        allowed = np.asarray(documents, np.int64)
        self.seed = seed
        self.samplers = []
        for field in np.unique(fields[allowed]).tolist():
            members = allowed[fields[allowed] == field]
            if any(np.isin(positives.partners(int(member)), members).any() for member in members):
                self.samplers.append(GroupSampler(positives, members, size, seed))
        if not self.samplers:
            raise DataError("No two documents of one file belong together; train with --batches mixed.")

    def epoch(self, number: int) -> list[NDArray[np.int64]]:
        """The batches of one epoch, fields in random order."""
        batches = [batch for sampler in self.samplers for batch in sampler.epoch(number)]
        order = np.random.default_rng([self.seed, 3, number]).permutation(len(batches))
        return [batches[place] for place in order]


class GroupSampler:
    """Fills batches with pairs of documents that belong together.

    In every epoch each document that has a partner is seen at least once, and never without one. Documents
    without a partner fill up to a quarter of every batch. The batches of an epoch depend on seed and epoch only,
    so that a run can be taken up anywhere.
    """

    def __init__(
        self, positives: Positives, documents: Sequence[int] | NDArray[np.int64], size: int, seed: int
    ) -> None:
        """Sample from `documents`, `size` to a batch.

        Raises:
            DataError: none of them has a partner.
        """
        allowed = np.asarray(documents, np.int64)
        every = {int(number): np.intersect1d(positives.partners(int(number)), allowed) for number in allowed}
        self.partners = {number: found for number, found in every.items() if len(found)}
        self.loners = np.array([number for number, found in every.items() if not len(found)], np.int64)
        self.seed = seed
        if not self.partners:
            raise DataError("No two training documents belong together; add labels, links or --pairs.")
        loners = min(len(self.loners), int(_LONERS * size))
        self._loners_per_batch = loners if size - loners >= 2 else 0
        self._room = max(2, size - self._loners_per_batch)

    def epoch(self, number: int) -> list[NDArray[np.int64]]:
        """The batches of one epoch, documents as numbers, none twice in a batch."""
        generator = np.random.default_rng([self.seed, 1, number])
        order = generator.permutation(list(self.partners))
        batches: list[NDArray[np.int64]] = []
        seen: set[int] = set()
        batch: dict[int, None] = {}
        for anchor in order.tolist():
            if anchor in seen:
                continue
            group = self._group(anchor, batch, seen, generator)
            if len(batch) + len(group) > self._room:
                batches.append(self._finished(batch, generator))
                batch = {}
                group = self._group(anchor, batch, seen, generator)
            batch.update(dict.fromkeys(group))
            seen.update(group)
        self._top_up(batch, generator)
        batches.append(self._finished(batch, generator))
        return batches

    def _group(
        self, anchor: int, batch: dict[int, None], seen: set[int], generator: np.random.Generator
    ) -> list[int]:
        """The anchor, and a partner if the batch holds none; one not yet seen in this epoch goes first."""
        partners = self.partners[anchor].tolist()
        if any(other in batch for other in partners):
            return [anchor]
        fresh = [other for other in partners if other not in seen] or partners
        return [anchor, fresh[generator.integers(len(fresh))]]

    def _top_up(self, batch: dict[int, None], generator: np.random.Generator) -> None:
        """Fill the last batch with documents seen before: a batch of two has nothing to tell apart."""
        for anchor in generator.permutation(list(self.partners)).tolist():
            if anchor in batch:
                continue
            group = self._group(anchor, batch, set(), generator)
            if len(batch) + len(group) <= self._room:
                batch.update(dict.fromkeys(group))

    def _finished(self, batch: dict[int, None], generator: np.random.Generator) -> NDArray[np.int64]:
        """The batch with its share of documents that have no partner."""
        loners = np.zeros(0, np.int64)
        if self._loners_per_batch:
            loners = generator.choice(self.loners, self._loners_per_batch, replace=False)
        return np.concatenate([np.array(list(batch), np.int64), loners])
