"""Order the documents of a corpus by their score with one document: a `Ranking`, with the sections that match."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from colde_cli.corpus.finding import ALL, Filter, HalfRead, Skipped, file_identity
from colde_cli.corpus.index_reader import Index
from colde_cli.corpus.lance_store import LanceIndex
from colde_cli.corpus.pipeline import AS_IT_IS, Budget, Collector, CorpusReader, StageClock, StageTimes
from colde_cli.corpus.records import Card
from colde_cli.corpus.side_file import find_candidates
from colde_cli.documents.chunking import rows_of_sections
from colde_cli.documents.document import Document
from colde_cli.documents.selection import one_or_more
from colde_cli.documents.stages import stage
from colde_cli.encoder.encoding import DocumentEncoder, Encoding, RuntimeInfo
from colde_cli.scoring.config import ScoringConfig
from colde_cli.scoring.profile import Field, FieldInfo
from colde_cli.scoring.score import ACCURACY, ScorePart, cosines, for_rankings, scores_with_many, verdict
from colde_cli.settings import CORPUS
from colde_cli.similarity.chunk_scores import closest_sections, tables
from colde_cli.similarity.plain_data import field_data, fields_data, model_data, parts_data

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Progress = Callable[[int], None]

MATCHES = 3
"""Number of pairs of sections that explain a hit."""

_BLOCK = 256  # documents of an index that are read and scored together
_EXCERPT = 300
_PATH_SHOWN = 100


@dataclass(frozen=True, slots=True)
class MatchedSection:
    """A section of the query or of a hit: its heading, its first and last page, None where there are no pages.

    The text is the beginning of its chunk that matches best; "" for the query.
    """

    section: str
    pages: tuple[int, int] | None
    text: str = ""


@dataclass(frozen=True, slots=True)
class Match:
    """A section of the query and the section of a hit that is like it; `score` is that of `chunk_scores.tables`."""

    score: float
    query: MatchedSection
    hit: MatchedSection


@dataclass(frozen=True, slots=True)
class Hit:
    """A document of the corpus.

    Attributes:
        rank: from 1.
        title: as printed, else the file's name.
        probability: the score calibrated; None where the model, or the field, is not calibrated.
        matches: the sections that match, best first; empty unless asked for.
        parts: the score is their weighted mean.
        percentile: share of random pairs of the field with a lower score, in [0, 1]; None without a field.
    """

    rank: int
    path: str
    title: str
    score: float
    probability: float | None
    matches: tuple[Match, ...] = ()
    parts: tuple[ScorePart, ...] = ()
    percentile: float | None = None


@dataclass(frozen=True, slots=True, repr=False)
class Ranking:
    """The documents closest to a query.

    Attributes:
        results: best first.
        searched: how many documents got a score, listed or not; the query's own file is not among them.
        encoded: how many of them were not in the cache.
        skipped: files that could not be read.
        like: paths of documents whose text was left out of all.
        half_read: files that got a score although something of them could not be read; the query comes first.
        unencoded: how many documents got no score because a budget of time ended.
        times: of reading and encoding; None if nothing was, or with a budget.
        field: whose statistics the scores rest on; None for those of the model alone.
    """

    query_path: str
    query_title: str
    model: RuntimeInfo
    results: tuple[Hit, ...]
    searched: int
    encoded: int
    skipped: tuple[Skipped, ...] = ()
    like: tuple[str, ...] = ()
    half_read: tuple[HalfRead, ...] = ()
    field: FieldInfo | None = None
    unencoded: int = 0
    times: StageTimes | None = dataclasses.field(default=None, compare=False)

    def __len__(self) -> int:
        return len(self.results)

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.results)

    def __repr__(self) -> str:
        best = f", best={self.results[0].path[-_PATH_SHOWN:]!r}" if self.results else ""
        counts = f"results={len(self.results)}, searched={self.searched}, skipped={len(self.skipped)}"
        return f"Ranking(query={self.query_path[-_PATH_SHOWN:]!r}, {counts}{best}, model={self.model.name!r})"

    def to_dict(self) -> dict[str, Any]:
        """The ranking as schema colde.rank/1: what `colde rank --format json` writes."""
        return {
            "schema": "colde.rank/1",
            "query": {"path": self.query_path, "title": self.query_title},
            "model": model_data(self.model),
            "field": field_data(self.field),
            "results": [_hit_data(hit) for hit in self.results],
            **fields_data(self, "searched encoded unencoded skipped"),
            "ignored": {"like": list(self.like)},
            "warnings": fields_data(self, "half_read")["half_read"],
        }


def _hit_data(hit: Hit) -> dict[str, Any]:
    found = [
        {**fields_data(match, "score"), "query": fields_data(match.query, "section pages"), **fields_data(match, "hit")}
        for match in hit.matches
    ]
    scored = fields_data(hit, "rank path title score probability percentile")
    return {**scored, "matches": found, "parts": parts_data(hit.parts)}


def matches(query: Encoding, other: Encoding, config: ScoringConfig, field: Field | None = None) -> tuple[Match, ...]:
    """The best pairs of sections, as `closest_sections` finds them; what the field repeats counts little."""
    scores = np.asarray(tables(query, other, config)[0])
    if field is not None:
        scores = scores * np.sqrt(np.outer(*(_section_weights(side, field) for side in (query, other))))
    chosen: list[Match] = []
    for score, i, j in closest_sections(query.document, other.document, scores, MATCHES):
        first, second = query.document.sections[i], other.document.sections[j]
        hit = MatchedSection(second.heading, second.pages, _excerpt(query, i, other, j))
        chosen.append(Match(score, MatchedSection(first.heading, first.pages), hit))
    return tuple(chosen)


def _section_weights(encoding: Encoding, field: Field) -> Floats:
    """How much each section counts within the field, as its chunks do on average, [s]."""
    weights = field.chunk_weights(field.whitening.unit_vectors(encoding.chunk_vectors))
    rows = rows_of_sections(encoding.document, encoding.chunks)
    return np.array([1.0 if weights is None or not own else weights[own].mean() for own in rows])


def _excerpt(query: Encoding, section: int, other: Encoding, partner: int) -> str:
    """The beginning of the chunk of section `partner` that is most like a chunk of `section`."""
    rows = [chunk.index for chunk in query.chunks if chunk.section == section]
    columns = [chunk.index for chunk in other.chunks if chunk.section == partner]
    if not rows or not columns:
        return ""
    scores = cosines(query.centred_unit_vectors[rows], other.centred_unit_vectors[columns])
    best = other.chunks[columns[int(scores.max(axis=0).round(6).argmax())]]
    start = max(best.span.start, other.document.sections[partner].body_start)
    words = " ".join(other.document.text[start : best.span.end].split())
    return words if len(words) <= _EXCERPT else words[: _EXCERPT - 1].rstrip() + "…"


def encode_query(
    source: str | Path | Document | Encoding,
    encoder: DocumentEncoder,
    reader: CorpusReader = AS_IT_IS,
    *,
    progress: Progress | None = None,
) -> Encoding:
    """Encode a file, or standard input for "-", unless it is; a file that the encoder's cache knows is not read again.

    `progress` is called with the number of chunks just encoded, from any thread.

    Raises:
        DocumentError: it cannot be read, or nothing of it is left.
    """
    if isinstance(source, Encoding):
        return source
    if isinstance(source, Document):
        return encoder.encode(reader.without_boilerplate(source), progress)
    path, store = Path(source), reader.store(encoder)
    try:
        key = store.key(path) if source != "-" and path.is_file() else None
    except OSError:  # the error of reading it says what is wrong
        key = None
    known = None if key is None else store.encoding(path, key)
    if known is None:
        known = encoder.encode(reader.read(source), progress)
        if key is not None:
            store.keep(key, known)
    return known


@stage("searching")
def rank_files(
    query: Encoding,
    corpus: Path | Sequence[Path],
    encoder: DocumentEncoder,
    *,
    top: int = 10,
    min_score: float | None = None,
    explain: bool = False,
    reader: CorpusReader = AS_IT_IS,
    field: Field | Literal["corpus"] | None = CORPUS,
    budget: float | None = None,
    chosen: Filter | None = None,
    progress: Progress | None = None,
    clock: StageClock | None = None,
) -> Ranking:
    """Order documents by their score with the query, then by path.

    Files that cannot be read are skipped and listed. With a cache in `encoder`, files of an earlier run are not even
    read again. Arguments are those of `colde_cli.rank`; the corpus is a list of files such as `corpus.finding.walk`
    finds, `glob` of `chosen` counts where they are listed, not here, and `reader` reads all of them: the query should
    have been read by it, too. `clock` says meanwhile how far reading and encoding are.
    """
    chosen, clock = chosen or ALL, clock or StageClock()
    every, itself = one_or_more(corpus), file_identity(query.document.path)
    files = [path for path in every if itself is None or file_identity(path) != itself]
    # Whichever of its documents is the query, a corpus is the same field.
    own = [query] if len(files) < len(every) else []
    files = [path for path in files if chosen.takes_file(path)]
    limit = None if budget is None else Budget(query, budget)
    collector = Collector(encoder, reader, clock, limit)
    cards = collector.cards(files, progress)
    if field == CORPUS:
        field = collector.field(cards, *own)
    if chosen.section is not None:
        cards = [card for card in cards if chosen.takes_document(collector.encoding(card.path).document)]
    return _CorpusSearch(query, encoder, field, top, min_score).ranking(
        cards,
        collector.encoding if explain else None,
        sorted((card.path, card.warnings) for card in cards),
        searched=len(cards),
        encoded=collector.encoded,
        skipped=collector.skipped,
        like=reader.boilerplate.sources if reader.boilerplate is not None else (),
        unencoded=collector.unencoded,
        times=clock.times if collector.encoded and budget is None else None,
    )


@stage("searching")
def rank_index(
    query: Encoding,
    index: Index | LanceIndex,
    encoder: DocumentEncoder,
    *,
    chosen: Filter | None = None,
    top: int = 10,
    min_score: float | None = None,
    explain: bool = False,
    field: Field | Literal["corpus"] | None = CORPUS,
    progress: Progress | None = None,
) -> Ranking:
    """Order the documents of an index by their score with the query, then by path; no file is read.

    Arguments are those of `rank_files`; the encoder is the model of the index, and "corpus" is the field that it keeps.
    Of a large index, `half_read` lists only documents that got an exact score.

    Raises:
        BadIndexError: the index is damaged, out of reach or of another model.
    """
    chosen = chosen or ALL
    index.check_model(encoder)
    with index.reading():
        if field == CORPUS:
            field = index.field(encoder)
        search = _CorpusSearch(query, encoder, field, top, min_score)
        own = index.numbers_of(query.document.path)
        if isinstance(index, LanceIndex):
            likely = index.candidates(query, encoder, top, chosen, own)
        else:
            likely = find_candidates(query, index, encoder, top, chosen, own)
        half_read: Iterable[tuple[str, tuple[str, ...]]]
        if likely is not None:
            cards, searched = index.cards(likely.numbers), likely.searched
            half_read = sorted((card.path, card.warnings) for card in cards.values())
        else:
            others = ((number, card) for number, card in index.all_cards(chosen) if number not in own)
            numbers, searched = search.may_be_best(others, progress)
            cards, half_read = index.cards(numbers), index.half_read(chosen)
        by_path = {card.path: number for number, card in cards.items()}

        def encoding(path: str) -> Encoding:
            return index.encoding(by_path[path], encoder)

        explained = encoding if explain else None
        counts = {"searched": searched, "encoded": 0, "skipped": index.bad_files()}
        return search.ranking(list(cards.values()), explained, half_read, **counts)


@dataclass(frozen=True, slots=True)
class _CorpusSearch:
    """A query, how documents are scored with it, and how many of them are wanted."""

    query: Encoding
    encoder: DocumentEncoder
    field: Field | None
    top: int
    min_score: float | None

    def scores(self, cards: Sequence[Card]) -> Floats:
        """The scores of documents, [n]."""
        statistics = self.field or self.encoder.domain_fields
        return scores_with_many(self.query, cards, for_rankings(self.encoder.config), statistics)

    def may_be_best(self, cards: Iterator[tuple[int, Card]], progress: Progress | None) -> tuple[Ints, int]:
        """The numbers of the documents that may be among the best, and how many there are; one block is in memory."""
        numbers: list[int] = []
        scores = [np.zeros(0)]
        while block := list(islice(cards, _BLOCK)):
            numbers += [number for number, _ in block]
            scores.append(self.scores([card for _, card in block]))
            if progress is not None:
                progress(len(block))
        return np.array(numbers, np.int64)[_may_be_best(np.concatenate(scores), self.top)], len(numbers)

    def ranking(
        self,
        cards: Sequence[Card],
        encoding: Callable[[str], Encoding] | None,
        half_read: Iterable[tuple[str, tuple[str, ...]]],
        **counts: Any,  # noqa: ANN401 - fields of a ranking
    ) -> Ranking:
        """The best documents; `encoding` gives that of a path to explain hits with, None explains none."""
        document = self.query.document
        reports = ((document.path, document.report.warnings), *half_read)
        info = None if self.field is None else self.field.profile.info
        said = tuple(HalfRead(path, warnings) for path, warnings in reports if warnings)
        hits = tuple(self._hits(cards, encoding))
        return Ranking(document.path, document.title, self.encoder.info, hits, half_read=said, field=info, **counts)

    def _hits(self, cards: Sequence[Card], encoding: Callable[[str], Encoding] | None) -> Iterator[Hit]:
        config, statistics = self.encoder.config, self.field or self.encoder.domain_fields
        first = self.query if self.field is None else self.field.adapt(self.query)
        chosen = [cards[place] for place in _may_be_best(self.scores(cards), self.top)] if cards else []
        judged = [(verdict(first, card, for_rankings(config), statistics), card) for card in chosen]
        ordered = sorted(judged, key=lambda pair: (-pair[0].score, pair[1].path))
        listed = [pair for pair in ordered if self.min_score is None or pair[0].score >= self.min_score]
        for place, (judgement, card) in enumerate(listed[: self.top], 1):
            yield Hit(
                place,
                card.path,
                card.title,
                judgement.score,
                judgement.probability,
                matches(self.query, encoding(card.path), config, self.field) if encoding else (),
                judgement.parts,
                judgement.percentile,
            )


def _may_be_best(scores: Floats, top: int) -> Ints:
    """The places of the scores that can be among the `top` best, and few others.

    Scores of many documents at once differ from exact ones in the last digits. They choose the documents; exact scores
    order them.
    """
    if not len(scores):
        return np.zeros(0, np.int64)
    return np.flatnonzero(scores >= np.sort(scores)[-min(top, len(scores))] - 2 * ACCURACY)
