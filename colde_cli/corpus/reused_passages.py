"""Find the passages that stand in several documents of a corpus, such as a clause that was copied.

Seeds that documents of several groups hold are linked where most of those that hold one have the other
just after it, so that a sentence of common boilerplate does not glue the passages around it. What is linked is a
passage; it may be edited here and there. All is counted in sorted files, so that the time grows with the text and
nothing is left out for being frequent.
"""

from __future__ import annotations

import heapq
import re
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from colde_cli.corpus.near_pairs import SHINGLE, WINDOW, NearPairs, Words, text_words, word_numbers
from colde_cli.corpus.records import pack, unpack
from colde_cli.corpus.sorted_entries import Hashes, SortedEntries, told
from colde_cli.documents.document import Document, Span, document_header, document_of

Ints = NDArray[np.int64]

LEAST_WORDS = 30
"""A passage of so many words in a row is found; shorter ones only by chance."""
PLACES = 50
"""Maximum number of places listed for a passage."""

_REACH = 3  # a seed is linked to so many of the next: one that is common in other texts too does not part a passage
_GAP = 40  # words from a seed to the next one of a passage: what stands between was edited
_LEAST_SPAN = LEAST_WORDS - 2 * (WINDOW - 1)  # words from the first seed of such a passage to the last, at least
_HALF = np.uint64(32)
_LOW = np.uint64(2**32 - 1)


@dataclass(frozen=True, slots=True)
class PassagePlace:
    """Where a passage stands in a document.

    Attributes:
        section: its heading, with the number that a program counts; "" for none.
        pages: first and last, from 1; None where there are none.
        words: of the passage there, which may be edited.
    """

    path: str
    title: str
    section: str
    pages: tuple[int, int] | None
    words: int


@dataclass(frozen=True, slots=True)
class ReusedPassage:
    """A passage that stands in several documents.

    Attributes:
        text: as it stands in the first place.
        words: of the longest place.
        documents: how many hold it.
        places: the first `PLACES`, in the order of documents, but the longest one first.
    """

    text: str
    words: int
    documents: int
    places: tuple[PassagePlace, ...]


@dataclass(frozen=True, slots=True)
class Spot:
    """Where a passage stands: the number of a document, and the range of its words."""

    document: int
    start: int
    end: int


class Reuse:
    """Keeps documents, then finds the passages that several of them hold."""

    def __init__(self, texts: NearPairs) -> None:
        """`texts` gives the seeds of the documents; its folder takes temporary files."""
        self._seeds, self._folder = texts.seeds, texts.folder
        self._documents, self._ends = texts.folder / "documents", array("Q", [0])
        self.found = 0
        """How many passages there are, known when they have been read."""

    def add(self, document: Document) -> None:
        """Keep the document that was added to the texts.

        Raises:
            OptionError: the disk of the temporary files is full.
        """
        record = pack({**document_header(document, document.title), "path": document.path}, {}, 6)
        with told(self._folder), self._documents.open("ab") as file:
            file.write(record)
        self._ends.append(self._ends[-1] + len(record))

    def passages(self, groups: Ints, top: int, known: Callable[[frozenset[int]], bool]) -> list[list[Spot]]:
        """Places of passages that documents of several groups hold, the most words times further documents first.

        Args:
            groups: [N], the group of each document: versions of one document count as one.
            top: maximum number of passages.
            known: whether the groups that hold a passage are known to share it, so that it is left out.
        """
        self.found = 0
        first: list[tuple[int, int, list[Spot]]] = []
        for number, spots in enumerate(self._passages(groups)):
            if known(frozenset(groups[[spot.document for spot in spots]].tolist())):
                continue
            self.found += 1
            longest = max(spot.end - spot.start for spot in spots)
            weight = longest * (len({spot.document for spot in spots}) - 1)
            if len(first) < top or weight > first[0][0]:
                heapq.heappush(first, (weight, -number, spots))
                if len(first) > top:
                    heapq.heappop(first)
        return [spots for _, _, spots in sorted(first, key=lambda item: item[:2], reverse=True)]

    def passage(self, spots: Sequence[Spot]) -> ReusedPassage:
        """The passage at some places, with the words around them that the documents share."""
        longest = max(spots, key=lambda spot: spot.end - spot.start)
        some = [longest, *(spot for spot in spots if spot is not longest)][:PLACES]
        documents = [self._document(spot.document) for spot in some]
        words = [word_places(document.text) for document in documents]
        some = extended(some, [word_numbers([word for word, _ in held]) for held in words])
        places, text = [], ""
        for spot, document, held in zip(some, documents, words, strict=True):
            span = Span(held[spot.start][1].start, held[spot.end - 1][1].end)
            text = text or document.text[span.start : span.end]
            within = [section for section in document.sections if section.span.start <= span.start]
            heading = f"{within[-1].number} {within[-1].heading}".strip() if within else ""
            places.append(
                PassagePlace(document.path, document.title, heading, document.pages_of(span), spot.end - spot.start)
            )
        return ReusedPassage(text, places[0].words, len({spot.document for spot in spots}), tuple(places))

    def _document(self, number: int) -> Document:
        start, end = self._ends[number : number + 2]
        record = np.fromfile(self._documents, np.uint8, end - start, offset=start).tobytes()
        header, _ = unpack(record) or ({}, {})
        return document_of(header["path"], header["title"], header)

    def _passages(self, groups: Ints) -> Iterator[list[Spot]]:
        placed, holders = self._shared(groups)
        passage_of = connected(len(holders), *self._links(placed, holders, groups))
        spans = SortedEntries(self._folder / "spans")
        for found, seeds in placed.blocks(32):
            owned = (passage_of[seeds].astype(np.uint64) << _HALF) | (found >> _HALF)
            order = np.lexsort((found, owned))
            owned, at = owned[order], found[order] & _LOW
            parted = (owned[1:] != owned[:-1]) | (at[1:] - at[:-1] > _GAP)
            starts = np.flatnonzero(np.concatenate([[True], parted]))
            ends = np.append(starts[1:], len(at)) - 1
            long = at[ends] - at[starts] + np.uint64(SHINGLE) >= _LEAST_SPAN
            starts, ends = starts[long], ends[long]
            spans.add(owned[starts], (at[starts] << _HALF) | (at[ends] + np.uint64(SHINGLE)))
        for owned, places in spans.blocks(32):
            passages = owned >> _HALF
            starts = np.flatnonzero(np.concatenate([[True], passages[1:] != passages[:-1]]))
            held = groups[owned & _LOW]
            several = np.minimum.reduceat(held, starts) != np.maximum.reduceat(held, starts)
            ends = np.append(starts[1:], len(owned))
            for start, end in zip(starts[several].tolist(), ends[several].tolist(), strict=True):
                rows = zip(owned[start:end].tolist(), places[start:end].tolist(), strict=True)
                yield [Spot(owner & 0xFFFFFFFF, place >> 32, place & 0xFFFFFFFF) for owner, place in rows]

    def _shared(self, groups: Ints) -> tuple[SortedEntries, Ints]:
        """The seeds that several groups hold, numbered, by their places in documents; and how many groups hold each."""
        placed, holders, count = SortedEntries(self._folder / "placed"), [np.empty(0, np.int64)], 0
        for keys, at in self._seeds.blocks():
            seeds = np.unique(keys, return_inverse=True)[1]
            held = _different(seeds, groups[at >> _HALF])
            shared = held > 1
            kept, numbers = shared[seeds], np.cumsum(shared) - 1 + count
            placed.add(at[kept], numbers[seeds[kept]])
            holders.append(held[shared])
            count += int(shared.sum())
        return placed, np.concatenate(holders)

    def _links(self, placed: SortedEntries, holders: Ints, groups: Ints) -> tuple[Ints, Ints]:
        """Pairs of seeds that follow each other in most of the groups that hold one of them, and in two at least."""
        following = SortedEntries(self._folder / "links")
        for at, seeds in placed.blocks(32):
            for step in range(1, _REACH + 1):
                near = np.flatnonzero(at[step:] - at[:-step] <= _GAP)
                following.add((seeds[near] << _HALF) | seeds[near + step], groups[at[near] >> _HALF])
        linked: list[Hashes] = [np.empty(0, np.uint64)]
        for keys, held in following.blocks():
            pairs, numbers = np.unique(keys, return_inverse=True)
            support = _different(numbers, held.astype(np.int64))
            most = np.maximum(holders[pairs >> _HALF], holders[pairs & _LOW])
            linked.append(pairs[(support > 1) & (2 * support >= most)])
        links = np.concatenate(linked)
        return (links >> _HALF).astype(np.int64), (links & _LOW).astype(np.int64)


def word_places(text: str) -> list[tuple[str, Span]]:
    """The words of `text_words`, each with the span of the letters between blanks that it stands in."""
    return [(word, Span(*token.span())) for token in re.finditer(r"\S+", text) for word in text_words(token.group())]


def _different(numbers: Ints, groups: Ints) -> Ints:
    """How many different groups each number from 0 up comes with."""
    apart = int(groups.max(initial=0)) + 1
    return np.bincount(np.unique(numbers * apart + groups) // apart)


def connected(count: int, a: Ints, b: Ints) -> Ints:
    """The component of each of so many nodes, by the least of its nodes; `a` and `b` [M] are joined."""
    least = np.arange(count)
    while True:
        lower = np.minimum(least[a], least[b])
        if (lower == least[a]).all() and (lower == least[b]).all():
            return least
        for side in (a, b):
            np.minimum.at(least, least[side], lower)
            np.minimum.at(least, side, lower)
        while (least != (jumped := least[least])).any():
            least = jumped


def extended(spots: Sequence[Spot], texts: Sequence[Words]) -> list[Spot]:
    """Places of a passage with the words around them that two and at least half of them share.

    `texts` are those of the documents of `spots`.
    """
    bounds = [[spot.start, spot.end] for spot in spots]
    for side, step in ((0, -1), (1, 1)):
        going = list(range(len(spots)))
        while True:
            at = {number: bounds[number][side] - (step < 0) for number in going}
            words = {number: int(texts[number][at[number]]) for number in going if 0 <= at[number] < len(texts[number])}
            word, most = Counter(words.values()).most_common(1)[0] if words else (0, 0)
            if most < 2 or 2 * most < len(spots):
                break
            going = [number for number, held in words.items() if held == word]
            for number in going:
                bounds[number][side] += step
    return [Spot(spot.document, start, end) for spot, (start, end) in zip(spots, bounds, strict=True)]
