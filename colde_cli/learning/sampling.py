"""Which documents belong together, the split into training and validation, and the batches of a run.

The batches of an epoch depend on the seed and the number of the epoch only, so that a run can be resumed anywhere.

Hard negatives are the documents of the same field that are nearest by words and do not belong together. Random
negatives of a field are soon told apart; those that share rare words are what a search ranks too high.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

import networkx
import numpy as np
from numpy.typing import NDArray

from colde_cli.errors import DataError
from colde_cli.evaluation.data import DataFile, LabelledPair, TrainingData
from colde_cli.learning.tokens import ChunkStore, word_continuations
from colde_cli.scoring.fit import USUAL
from colde_cli.scoring.lexicon import BUCKETS, Lexicon, Terms


@dataclass(frozen=True, slots=True)
class Positives:
    """The relation "belongs together" among N documents: symmetric, but not transitive."""

    labels: NDArray[np.int32]  # int32 [N], the class of each document, -1 for none
    classes: tuple[NDArray[np.int64], ...]  # the documents of each class
    links: tuple[frozenset[int], ...]  # the documents that each document is linked to
    # the documents that each document was judged unrelated to, whatever labels and links say
    excluded: tuple[frozenset[int], ...]

    @classmethod
    def of(cls, data: TrainingData, pairs: Iterable[LabelledPair] = ()) -> Positives:
        """Read labels and links of the data, and judged pairs; a judgement outweighs both."""
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
        frozen = [tuple(frozenset(relation[number]) for number in count) for relation in (links, excluded)]
        return cls(labels, classes, frozen[0], frozen[1])

    def partners(self, number: int) -> NDArray[np.int64]:
        """Return the documents that belong with document `number`, ascending, without itself."""
        others = set(self.links[number])
        if self.labels[number] >= 0:
            others.update(self.classes[self.labels[number]].tolist())
        return np.array(sorted(others - self.excluded[number] - {number}), np.int64)

    def mask(self, numbers: Sequence[int] | NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which of these documents belong together, bool [B, B]; True on the diagonal."""
        documents = [int(number) for number in numbers]
        own = self.labels[documents]
        together = (own[:, None] == own[None, :]) & (own[:, None] >= 0)
        places = {number: place for place, number in enumerate(documents)}
        for place, number in enumerate(documents):
            for relation, value in ((self.links, True), (self.excluded, False)):
                others = [places[other] for other in relation[number] if other in places]
                together[place, others] = value
        np.fill_diagonal(together, True)
        return np.asarray(together)


def _join(relation: defaultdict[int, set[int]], one: int, other: int) -> None:
    relation[one].add(other)
    relation[other].add(one)


def require_pairs(positives: Positives, documents: Sequence[int] | NDArray[np.int64]) -> None:
    """Make sure that the documents of a training give pairs of both kinds.

    Raises:
        DataError: no two of them belong together, or all do; it says how many training needs.
    """
    training = {int(number) for number in documents}
    partners = (training.intersection(positives.partners(number).tolist()) for number in sorted(training))
    needed = "Training needs at least 2 documents that belong together and 1 that does not"
    if not any(partners):
        raise DataError(
            f"{needed}; no two of the {len(training)} training documents belong together. "
            "Give them labels, links or --pairs."
        )
    if all(len(training.intersection(positives.partners(number).tolist())) == len(training) - 1 for number in training):
        raise DataError(
            f"{needed}; all {len(training)} training documents belong together. Add some with other labels."
        )


# More pairs than this make the figures hardly more certain.
_MAX_POSITIVES = 5000
_SCALE = 3


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """The two sides of a run."""

    training: NDArray[np.int64]  # numbers of the documents that train, ascending
    pairs: NDArray[np.int64]  # int64 [P, 2], validation pairs as document numbers
    related: NDArray[np.bool_]  # bool [P], True for pairs that belong together
    judged: bool  # whether somebody judged the pairs; else they were made from labels and links


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
    linked = networkx.Graph()
    linked.add_nodes_from(numbers.tolist())
    related = [members.tolist() for members in positives.classes]
    related += [[number, *positives.links[number]] for number in numbers.tolist()]
    for members in related:
        linked.add_edges_from(pairwise(member for member in members if member in linked))
    return [np.array(sorted(members), np.int64) for members in networkx.connected_components(linked)]


def _has_splits(data: TrainingData) -> bool:
    return any(item.split is not None for item in data.documents)


def _named(data: TrainingData, split: str) -> NDArray[np.int64]:
    """Return the documents of one split; without splits, all train."""
    if not _has_splits(data):
        return np.arange(len(data.documents) if split == "train" else 0)
    return np.array([number for number, item in enumerate(data.documents) if item.split == split], dtype=np.int64)


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
    remaining = len(groups) - len(held)
    if pairable < 2 or remaining < 2:
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
    positives: Positives, held: NDArray[np.int64], files: NDArray[np.int64], generator: np.random.Generator
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
        raise DataError("The validation documents give no related and unrelated pairs; name some with --validation.")
    kept = [rows[np.sort(generator.permutation(len(rows))[:count])] for rows in (attracted, repelled)]
    related = np.repeat([True, False], count)
    return held[np.concatenate(kept)], related


# At most this share of a batch are documents without a partner, which only repel.
_LONERS = 0.25
# The share of draws that take a document judged unrelated, if there is one. The others are random.
_JUDGED = 0.5
# Draws of a negative before all unrelated documents are listed.
_DRAWS = 16


class FieldSampler:
    """Fills each batch with documents of one field only, which are harder to tell apart.

    In a batch of patents and court cases, style alone tells most negatives apart.
    """

    def __init__(
        self,
        positives: Positives,
        documents: Sequence[int] | NDArray[np.int64],
        fields: NDArray[np.int64],
        size: int,
        seed: int,
        hard: Mapping[int, NDArray[np.int64]] | None = None,
    ) -> None:
        """Sample from `documents`, whose fields are `fields[document]`, `size` to a batch.

        `hard` are the hard negatives of each document; see `GroupSampler`.

        Raises:
            DataError: no two documents of one field belong together.
        """
        allowed = np.asarray(documents, np.int64)
        self.seed = seed
        self.samplers = []
        for field in np.unique(fields[allowed]).tolist():
            members = allowed[fields[allowed] == field]
            if any(np.isin(positives.partners(int(member)), members).any() for member in members):
                self.samplers.append(GroupSampler(positives, members, size, seed, hard))
        if not self.samplers:
            raise DataError("No two documents of one file belong together; train with --set batches=mixed.")

    def epoch(self, number: int) -> list[NDArray[np.int64]]:
        """Return the batches of one epoch, fields in random order."""
        batches = [batch for sampler in self.samplers for batch in sampler.epoch(number)]
        order = np.random.default_rng([self.seed, 3, number]).permutation(len(batches))
        return [batches[place] for place in order]


class GroupSampler:
    """Fills batches with pairs of documents that belong together.

    In every epoch each document that has a partner is seen at least once, and never without one. Documents
    without a partner fill up to a quarter of every batch.

    A document brings one of its hard negatives along, if it has any. That one still has its own turn with a partner.
    """

    def __init__(
        self,
        positives: Positives,
        documents: Sequence[int] | NDArray[np.int64],
        size: int,
        seed: int,
        hard: Mapping[int, NDArray[np.int64]] | None = None,
    ) -> None:
        """Sample from `documents`, `size` to a batch; `hard` are the hard negatives of each document.

        Raises:
            DataError: none of them has a partner.
        """
        allowed = np.asarray(documents, np.int64)
        every = {int(number): np.intersect1d(positives.partners(int(number)), allowed) for number in allowed}
        self.partners = {number: others for number, others in every.items() if len(others)}
        self.loners = np.array([number for number, others in every.items() if not len(others)], np.int64)
        self.seed = seed
        if not self.partners:
            raise DataError("No two training documents belong together; add labels, links or --pairs.")
        loners = min(len(self.loners), int(_LONERS * size))
        self._loners_per_batch = loners if size - loners >= 2 else 0
        self._room = max(2, size - self._loners_per_batch)
        # A document, a partner and a hard negative must fit.
        self._hard = (hard or {}) if self._room >= 3 else {}

    def epoch(self, number: int) -> list[NDArray[np.int64]]:
        """Return the batches of one epoch, documents as numbers, none twice in a batch."""
        generator = np.random.default_rng([self.seed, 1, number])
        order = generator.permutation(list(self.partners))
        batches: list[NDArray[np.int64]] = []
        seen: set[int] = set()
        batch: dict[int, None] = {}
        for anchor in order.tolist():
            if anchor in seen:
                continue
            group = self._group(anchor, batch, seen, generator)
            hard = self._hard_negative(anchor, generator)
            if len(batch) + len(group) + len(hard) > self._room:
                batches.append(self._finished(batch, generator))
                batch = {}
                group = self._group(anchor, batch, seen, generator)
            batch.update(dict.fromkeys([*group, *hard]))
            seen.update(group)
        self._top_up(batch, generator)
        batches.append(self._finished(batch, generator))
        return batches

    def _group(self, anchor: int, batch: dict[int, None], seen: set[int], generator: np.random.Generator) -> list[int]:
        """Return the anchor, and a partner if the batch holds none; one not yet seen in this epoch goes first."""
        partners = self.partners[anchor].tolist()
        if any(other in batch for other in partners):
            return [anchor]
        fresh = [other for other in partners if other not in seen] or partners
        return [anchor, fresh[generator.integers(len(fresh))]]

    def _hard_negative(self, anchor: int, generator: np.random.Generator) -> list[int]:
        """Draw one of the hard negatives of a document; none where it has none."""
        near = self._hard.get(anchor, ())
        return [int(near[generator.integers(len(near))])] if len(near) else []

    def _top_up(self, batch: dict[int, None], generator: np.random.Generator) -> None:
        """Fill the last batch with documents seen before: a batch of two has nothing to tell apart."""
        for anchor in generator.permutation(list(self.partners)).tolist():
            if anchor in batch:
                continue
            group = self._group(anchor, batch, set(), generator)
            if len(batch) + len(group) <= self._room:
                batch.update(dict.fromkeys(group))

    def _finished(self, batch: dict[int, None], generator: np.random.Generator) -> NDArray[np.int64]:
        """Add its share of documents without a partner to the batch."""
        loners = np.zeros(0, np.int64)
        if self._loners_per_batch:
            # Some may be there already, as hard negatives.
            free = np.setdiff1d(self.loners, list(batch))
            loners = generator.choice(free, min(len(free), self._loners_per_batch), replace=False)
        return np.concatenate([np.array(list(batch), np.int64), loners])


class PairSampler:
    """Draws a related and an unrelated partner for every document that belongs with another.

    The related partner is random. Half of the unrelated ones were judged unrelated, if any were. The others are random
    documents of the same field, which are harder to tell apart.
    """

    def __init__(
        self,
        positives: Positives,
        documents: Sequence[int] | NDArray[np.int64],
        fields: NDArray[np.int64],
        size: int,
        seed: int,
    ) -> None:
        """Sample from `documents`, whose fields are `fields[document]`, `size` pairs to a batch.

        Raises:
            DataError: no two documents belong together, or no two do not.
        """
        require_pairs(positives, documents)
        self.documents = np.asarray(documents, np.int64)
        self.size, self.seed = size, seed
        training = set(self.documents.tolist())
        self.partners = {
            number: [other for other in positives.partners(number).tolist() if other in training]
            for number in sorted(training)
        }
        self.together = {number: set(others) for number, others in self.partners.items()}
        self.judged = {number: sorted(positives.excluded[number] & training) for number in sorted(training)}
        self.fields = {
            int(field): self.documents[fields[self.documents] == field] for field in np.unique(fields[self.documents])
        }
        self.field_of = {number: int(fields[number]) for number in sorted(training)}
        paired = [number for number, others in self.partners.items() if others]
        everyone = self.documents.tolist()
        anchors = [number for number in paired if any(self._apart(number, other) for other in everyone)]
        self.anchors = np.array(anchors, np.int64)

    def epoch(self, number: int) -> list[NDArray[np.int64]]:
        """Return the batches of one epoch, int64 [B, 3]: two documents, and 1 if they belong together, else 0."""
        generator = np.random.default_rng([self.seed, 1, number])
        order = generator.permutation(self.anchors)
        half = max(1, self.size // 2)
        return [self._batch(order[start : start + half], generator) for start in range(0, len(order), half)]

    def _batch(self, anchors: NDArray[np.int64], generator: np.random.Generator) -> NDArray[np.int64]:
        rows = []
        for anchor in anchors.tolist():
            partners = self.partners[anchor]
            rows.append((anchor, partners[generator.integers(len(partners))], 1))
            rows.append((anchor, self._negative(anchor, generator), 0))
        return np.array(rows, np.int64)

    def _negative(self, anchor: int, generator: np.random.Generator) -> int:
        judged = self.judged[anchor]
        if judged and generator.random() < _JUDGED:
            return int(judged[generator.integers(len(judged))])
        field = self.fields[self.field_of[anchor]]
        for other in field[generator.integers(len(field), size=_DRAWS)].tolist():
            if self._apart(anchor, other):
                return int(other)
        unrelated = self._unrelated(anchor)
        return unrelated[generator.integers(len(unrelated))]

    def _unrelated(self, anchor: int) -> list[int]:
        """Return the documents that do not belong with `anchor`: those of its field, or else all."""
        for candidates in (self.fields[self.field_of[anchor]], self.documents):
            unrelated = [int(other) for other in candidates.tolist() if self._apart(anchor, other)]
            if unrelated:
                break
        return unrelated

    def _apart(self, anchor: int, other: int) -> bool:
        return other != anchor and other not in self.together[anchor]


HardNegatives: TypeAlias = Mapping[int, NDArray[np.int64]]

# Rows of the table of scores that are held at once.
_BLOCK = 256


def hard_negatives(
    store: ChunkStore,
    tokenizer: str,
    positives: Positives,
    documents: NDArray[np.int64],
    fields: NDArray[np.int64],
    count: int,
) -> HardNegatives:
    """Find up to `count` hard negatives of every document of `documents`, the nearest first.

    Nearness is the cosine of weighted words, as in the score; word frequencies are those of the document's field.
    """
    continues = word_continuations(tokenizer)
    negatives: dict[int, NDArray[np.int64]] = {}
    for field in np.unique(fields[documents]):
        members = documents[fields[documents] == field]
        terms = _terms(store, members, continues)
        for number, row in zip(members.tolist(), _similarities(terms), strict=True):
            row[np.isin(members, [number, *positives.partners(number)])] = -1.0
            nearest = np.argsort(-row, kind="stable")[:count]
            negatives[number] = members[nearest[row[nearest] >= 0]]
    return negatives


def _terms(store: ChunkStore, members: NDArray[np.int64], continues: NDArray[np.bool_]) -> list[Terms]:
    documents = [store.chunks(number) for number in members.tolist()]
    texts = ([chunk.ids for chunk in chunks] for chunks in documents)
    lexicon = Lexicon.learn(texts, continues, USUAL.rarity)
    return [lexicon.terms(chunks) for chunks in documents]


def _similarities(terms: Sequence[Terms]) -> Iterator[NDArray[np.float32]]:
    """Yield the cosines of each document with all, float32 [n]."""
    from scipy.sparse import csr_matrix

    ends = np.cumsum([0, *(len(item.buckets) for item in terms)])
    weights = np.concatenate([item.weights for item in terms])
    buckets = np.concatenate([item.buckets for item in terms])
    table = csr_matrix((weights, buckets, ends), shape=(len(terms), 2 * BUCKETS))
    for start in range(0, len(terms), _BLOCK):
        yield from (table[start : start + _BLOCK] @ table.T).toarray()
