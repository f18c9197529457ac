"""Group the documents of a corpus by subject: neighbours by score, communities of neighbours, and words that name them.

Each document is linked to its closest others; Louvain (Blondel et al., "Fast unfolding of communities in large
networks", 2008) then divides the graph so that links lie inside the clusters. Connected components would chain
subjects together. Average linkage needs all pairs, and came out behind on 655 documents of known subjects when the
method was chosen, as did HDBSCAN.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, compress
from math import isqrt, log
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from colde_cli.corpus.finding import ALL, Filter, HalfRead, Skipped
from colde_cli.corpus.first_stage import Measure
from colde_cli.corpus.near_pairs import SHINGLE, shingles, text_words, word_numbers
from colde_cli.corpus.pipeline import AS_IT_IS, Collector, CorpusReader
from colde_cli.corpus.records import Card
from colde_cli.corpus.stores import DocumentStore
from colde_cli.encoder.encoding import DocumentEncoder, RuntimeInfo
from colde_cli.scoring.profile import Field, FieldInfo
from colde_cli.scoring.score import for_rankings, scores_with_many
from colde_cli.settings import CORPUS
from colde_cli.similarity.plain_data import field_data, fields_data, model_data

Ints = NDArray[np.int64]
Links = dict[tuple[int, int], float]
"""Scores of neighbours, by their numbers a < b."""

NEIGHBOURS = 15
"""Maximum number of neighbours of a document; in a small corpus the square root of the number of documents."""
CANDIDATES = 100
"""Number of documents scored for each, chosen by the cosine of mean chunk vectors."""
PERCENTILE = 0.9
"""Within a field, neighbours are closer than this share of random pairs, unless the user names a score."""

_BLOCK = 512
_CARDS = 5_000  # documents of an index in memory, of 20 chunks each about 500 MB
_NAMES = 6
_REPEATED, _REPEATED_SHARE = 3, 0.1  # documents that a run of boilerplate stands in, of those that name a cluster
_NAMED_BY = 30  # documents whose words name a cluster: those next to its centre


@dataclass(frozen=True, slots=True)
class ClusterMember:
    """A document of a cluster; `score` is that with the most central one, None for this itself."""

    path: str
    title: str
    score: float | None


@dataclass(frozen=True, slots=True)
class Cluster:
    """Documents of one subject, the most central first, then by their score with it.

    Its `words` are those that its documents use and others do not; `cohesion` is the mean score of neighbours in it.
    """

    words: tuple[str, ...]
    cohesion: float
    members: tuple[ClusterMember, ...]


@dataclass(frozen=True, slots=True, repr=False)
class Clusters:
    """The subjects of a corpus.

    Attributes:
        clusters: the largest first.
        alone: documents without a neighbour, by path.
        searched: how many documents were compared.
        encoded: how many of them were not in the cache.
        min_score: of neighbours.
        half_read: files that were read in part.
        field: whose statistics the scores rest on; None for those of the model alone.
    """

    clusters: tuple[Cluster, ...]
    alone: tuple[ClusterMember, ...]
    model: RuntimeInfo
    searched: int
    encoded: int
    min_score: float
    skipped: tuple[Skipped, ...] = ()
    half_read: tuple[HalfRead, ...] = ()
    field: FieldInfo | None = None

    def __bool__(self) -> bool:
        """Whether anything was found."""
        return bool(self.clusters)

    def __repr__(self) -> str:
        counts = f"clusters={len(self.clusters)}, alone={len(self.alone)}, searched={self.searched}"
        return f"Clusters({counts}, skipped={len(self.skipped)}, model={self.model.name!r})"

    def to_dict(self) -> dict[str, Any]:
        """The clusters as schema colde.clusters/1: what `colde clusters --format json` writes."""
        return {
            "schema": "colde.clusters/1",
            "model": model_data(self.model),
            "field": field_data(self.field),
            **fields_data(self, "clusters alone searched min_score skipped"),
            "warnings": fields_data(self, "half_read")["half_read"],
        }


def find_clusters(
    corpus: Sequence[Path] | DocumentStore,
    encoder: DocumentEncoder,
    *,
    chosen: Filter | None = None,
    min_score: float | None = None,
    resolution: float = 1.0,
    reader: CorpusReader = AS_IT_IS,
    field: Field | Literal["corpus"] | None = CORPUS,
    progress: Callable[[int], None] | None = None,
) -> Clusters:
    """Group documents by subject.

    Arguments are those of `colde_cli.clusters`; the corpus is a list of files such as `corpus.finding.walk` finds, or
    an open index, whose vectors and texts are taken, as far as `chosen` takes them. Without `min_score` neighbours are
    those above the `PERCENTILE` of the field, without a field above the model's threshold.

    Raises:
        BadIndexError: the index is damaged, out of reach or of another model.
    """
    if isinstance(corpus, DocumentStore):
        corpus.check_model(encoder)
        with corpus.reading():
            documents = sorted(corpus.documents(chosen or ALL), key=lambda item: item.path)
            numbers = [item.number for item in documents]
            members = [ClusterMember(item.path, item.title, None) for item in documents]
            known = corpus.field(encoder) if field == CORPUS else field
            half_read = corpus.half_read(chosen or ALL)

            def kept_text(place: int) -> str:
                return corpus.document(numbers[place]).text

            cards = _IndexCards(corpus, numbers)
            grouping = _Grouping(members, cards, kept_text, encoder, known, half_read, progress)
            return grouping.clusters(min_score, resolution, 0, corpus.bad_files())
    collector = Collector(encoder, reader)
    read = sorted(collector.cards(corpus, progress), key=lambda card: card.path)
    known = collector.field(read) if field == CORPUS else field
    half_read = tuple(HalfRead(card.path, card.warnings) for card in read if card.warnings)
    grouping = _Grouping(
        [ClusterMember(card.path, card.title, None) for card in read],
        lambda places: [read[place] for place in places],
        lambda place: collector.encoding(read[place].path).document.text,
        encoder,
        known,
        half_read,
    )
    return grouping.clusters(min_score, resolution, collector.encoded, collector.skipped)


class _IndexCards:
    """The cards of documents of an index, of which those that were used last are in memory."""

    def __init__(self, store: DocumentStore, numbers: Sequence[int]) -> None:
        self._store, self._numbers = store, numbers
        self._kept: OrderedDict[int, Card] = OrderedDict()

    def __call__(self, places: Iterable[int]) -> list[Card]:
        """The cards at some places among the numbers."""
        places = list(places)
        numbers = {place: self._numbers[place] for place in places if place not in self._kept}
        read = self._store.cards(list(numbers.values())) if numbers else {}
        self._kept.update({place: read[number] for place, number in numbers.items()})
        for place in places:
            self._kept.move_to_end(place)
        found = [self._kept[place] for place in places]
        while len(self._kept) > _CARDS:
            self._kept.popitem(last=False)
        return found


class _Grouping:
    """The documents of a corpus by path, ready to be scored; `cards` and `text` give those of some by their places."""

    def __init__(
        self,
        documents: Sequence[ClusterMember],
        cards: Callable[[Iterable[int]], list[Card]],
        text: Callable[[int], str],
        encoder: DocumentEncoder,
        field: Field | None,
        half_read: tuple[HalfRead, ...] = (),
        progress: Callable[[int], None] | None = None,
    ) -> None:
        self._documents, self._cards, self._text = documents, cards, text
        self._encoder, self._field, self._half_read = encoder, field, half_read
        self._progress = progress or (lambda number: None)

    def clusters(
        self, min_score: float | None, resolution: float, encoded: int, skipped: tuple[Skipped, ...]
    ) -> Clusters:
        """Divide them."""
        count, encoder, field = len(self._documents), self._encoder, self._field
        if min_score is not None:
            least = min_score
        elif field is not None and len(field.profile.scores):
            least = float(np.quantile(field.profile.scores, PERCENTILE))
        else:
            least = 0.5 if encoder.config.threshold is None else encoder.config.threshold
        links = self._links(least)
        groups = communities(count, links, resolution)
        made = [self._members(group, links) for group in groups]
        names = self._names([[place for _, place in ordered] for _, ordered in made])
        clusters = [
            Cluster(words, cohesion, tuple(replace(self._documents[place], score=score) for score, place in ordered))
            for words, (cohesion, ordered) in zip(names, made, strict=True)
        ]
        linked = {number for group in groups for number in group}
        return Clusters(
            tuple(sorted(clusters, key=lambda cluster: (-len(cluster.members), cluster.members[0].path))),
            tuple(self._documents[number] for number in range(count) if number not in linked),
            encoder.info,
            count,
            encoded,
            least,
            skipped,
            self._half_read,
            None if field is None else field.profile.info,
        )

    def _scores(self, number: int, others: Sequence[int]) -> NDArray[np.float64]:
        cards, statistics = self._cards([number, *others]), self._field or self._encoder.domain_fields
        return scores_with_many(cards[0], cards[1:], for_rankings(self._encoder.config), statistics)

    def _links(self, least: float) -> Links:
        """The neighbours of each document, with their exact scores."""
        limit = min(NEIGHBOURS, max(2, isqrt(len(self._documents))))
        links: Links = {}
        for number, candidates in enumerate(self._candidates()):
            scores = self._scores(number, candidates.tolist())
            for place in np.argsort(-scores, kind="stable")[:limit].tolist():
                if scores[place] >= least:
                    other = int(candidates[place])
                    links[min(number, other), max(number, other)] = float(scores[place])
        return links

    def _candidates(self) -> Iterator[Ints]:
        """For each document the others whose mean chunk vectors are closest, in ascending order."""
        measure = Measure.of(self._encoder, self._field)
        places = range(len(self._documents))
        starts = places[::_BLOCK]
        # In blocks: the chunk vectors of all documents together would stand in memory twice, or do not fit.
        blocks = []
        for start in starts:
            block = self._cards(places[start : start + _BLOCK])
            blocks.append(measure.vectors(block))
            self._progress(len(block))
        means = np.concatenate(blocks) if blocks else np.empty((0, 1), np.float32)
        limit = min(CANDIDATES, len(places) - 1)
        for start in starts:
            cosines = means[start : start + _BLOCK] @ means.T
            own = np.arange(len(cosines))
            cosines[own, own + start] = -np.inf
            # Without another document there is no place to divide at.
            order = np.argpartition(-cosines, limit - 1, axis=1) if limit else np.empty((len(own), 0), np.int64)
            yield from np.sort(order[:, :limit], axis=1)

    def _members(self, group: Sequence[int], links: Links) -> tuple[float, list[tuple[float | None, int]]]:
        """The cohesion of a cluster, and the scores and places of its members in their order."""
        weights = dict.fromkeys(group, 0.0)
        scores = []
        for (a, b), score in links.items():
            if a in weights and b in weights:
                weights[a] += score
                weights[b] += score
                scores.append(score)
        central = max(group, key=lambda number: (weights[number], -number))
        others = [number for number in group if number != central]
        known = self._scores(central, others).tolist()
        ordered = sorted(zip(known, others, strict=True), key=lambda pair: (-pair[0], pair[1]))
        return float(np.mean(scores)), [(None, central), *ordered]

    def _names(self, groups: Sequence[Sequence[int]]) -> list[tuple[str, ...]]:
        """The words that tell each cluster from the others, by the documents next to its centre."""
        texts = [[text_words(self._text(place)) for place in places[:_NAMED_BY]] for places in groups]
        return telling_words([Counter(chain.from_iterable(own_words(held))) for held in texts], list(map(len, texts)))


def own_words(texts: Sequence[list[str]]) -> list[set[str]]:
    """The words of each text outside of boilerplate, which is runs of words that several of the texts share.

    A text that is mostly such runs, such as a version of another text, keeps all its words.
    """
    runs = [shingles(word_numbers(words)) for words in texts]
    different, counts = np.unique(np.concatenate([np.unique(run) for run in runs]), return_counts=True)
    repeated = different[counts >= max(_REPEATED, len(texts) * _REPEATED_SHARE)]
    owned = []
    for words, run in zip(texts, runs, strict=True):
        lies_in = np.zeros(len(words), bool)
        for place in range(SHINGLE):
            lies_in[place : place + len(run)] |= np.isin(run, repeated)
        taken = words if lies_in.sum() > len(words) / 2 else compress(words, ~lies_in)
        owned.append({word for word in taken if word.isalpha() and len(word) > 3})
    return owned


def communities(count: int, links: Links, resolution: float = 1.0) -> list[list[int]]:
    """Divide documents into communities of two and more; documents without a link are in none.

    A weight that is not positive counts as a very small one. A resolution of the modularity above 1 makes more and
    smaller communities.
    """
    from networkx import Graph
    from networkx.algorithms.community import louvain_communities

    graph = Graph()
    graph.add_nodes_from(range(count))
    graph.add_weighted_edges_from((a, b, max(weight, 1e-3)) for (a, b), weight in sorted(links.items()))
    groups = louvain_communities(graph, weight="weight", resolution=resolution, seed=0)
    return sorted(sorted(group) for group in groups if len(group) > 1)


def telling_words(counts: Sequence[Counter[str]], documents: Sequence[int]) -> list[tuple[str, ...]]:
    """The words of each cluster that most of its documents hold and few of the others.

    For each cluster, `counts` has the number of its documents that hold a word, and `documents` that of all counted.
    """
    everywhere: Counter[str] = Counter()
    for held in counts:
        everywhere.update(held)
    total = sum(documents)
    named = []
    for held, size in zip(counts, documents, strict=True):

        def weight(word: str, held: Counter[str] = held, size: int = size) -> float:
            share = held[word] / size
            others = (everywhere[word] - held[word] + 0.5) / (total - size + 1)
            return share * log(share / others)

        common = [word for word in held if held[word] > 1 or size == 1]
        named.append(_different(sorted(common, key=lambda word: (-weight(word), word))))
    return named


def _different(words: Sequence[str]) -> tuple[str, ...]:
    """The first words, without other forms of one: `contract` and `contracts` say the same."""
    chosen: list[str] = []
    for word in words:
        if len(chosen) == _NAMES:
            break
        if not any(word.startswith(_stem(other)) or other.startswith(_stem(word)) for other in chosen):
            chosen.append(word)
    return tuple(chosen)


def _stem(word: str) -> str:
    return word[: max(4, len(word) - 2)]
