"""Robustness of scores: read only the first tokens, shuffle the sections, or repeat the text of documents.

A `Bench` encodes documents once, and scores pairs of them as they are and under attack.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, replace
from functools import partial
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from colde_cli.documents.document import Document, Part, Span, assemble
from colde_cli.documents.selection import one_or_more
from colde_cli.encoder.encoder import Encoder, Numbering, rearranged
from colde_cli.encoder.encoding import DocumentEncoder, Encoding, OwnVectors
from colde_cli.errors import OptionError
from colde_cli.evaluation.data import LabelledPair, members
from colde_cli.evaluation.metrics import auc, weighted_verdict_metrics
from colde_cli.scoring.score import cosine, document_scores

Array = NDArray[np.float64]
FloatArray = NDArray[np.float32]
Encoded = Callable[[str], Encoding]
"""Id of a document to its encoding, as it is or under attack."""
Table = tuple[str, tuple[str, ...], tuple[tuple[str, ...], ...]]
"""Title, header, rows."""

_BLOCK = 8  # pairs scored at once. Encodings under attack may be long, so that few are kept in memory.


@dataclass(frozen=True, slots=True)
class PairFigures:
    """How well scores under attack tell related pairs from unrelated ones, and how far they moved."""

    pairs: int
    auc: float | None  # None if all pairs have the same label
    f1: float | None  # at the threshold of the clean scores; None without a threshold
    accuracy: float | None  # at that threshold; None without one
    # mean of score under attack minus clean score, over related pairs; None without related pairs
    moved_related: float | None
    moved_unrelated: float | None


def pair_figures(related: NDArray[np.bool_], scores: Array, clean: Array, threshold: float | None) -> PairFigures:
    """Measure scores under attack [P] beside the `clean` ones of the same pairs; their labels are `related`."""
    moved = scores - clean
    area = None if related.all() or not related.any() else auc(related, scores)
    f1 = accuracy = None
    if threshold is not None:
        figures = weighted_verdict_metrics(related, scores >= threshold, np.ones((1, len(scores))))
        # F1 has no value if no pair is related and none is called related.
        f1, accuracy = float(np.nan_to_num(figures["f1"][0])), float(figures["accuracy"][0])
    sides = [float(moved[side].mean()) if side.any() else None for side in (related, ~related)]
    return PairFigures(len(scores), area, f1, accuracy, *sides)


def spearman(a: ArrayLike, b: ArrayLike) -> float | None:
    """Correlation of ranks in [-1, 1]; None if one of the two is constant."""
    from scipy.stats import spearmanr

    return float(spearmanr(a, b)[0]) if np.ptp(a) and np.ptp(b) else None


@dataclass(frozen=True, slots=True)
class SelfRow:
    """Documents compared with themselves under attack."""

    attack: str
    documents: int
    cosine_mean: float  # mean change of the document vector z under attack f: cos(z(x), z(x)) − cos(z(x), z(f(x)))
    cosine_max: float
    score_mean: float  # mean change of the document score
    score_max: float


@dataclass(frozen=True, slots=True)
class PairRow:
    """Pairs under attack.

    Attributes:
        side: "none" for clean scores, "one" if only the first document of a pair is attacked, "both".
        spearman: correlation over pairs of length ratio (longer by shorter, in tokens) and score; None if not
            measured or without a value.
    """

    attack: str
    side: str
    figures: PairFigures
    spearman: float | None = None


@dataclass(frozen=True, slots=True)
class ProtocolReport:
    """One protocol."""

    name: str  # "length", "shuffle" or "elongation"
    title: str
    against_itself: tuple[SelfRow, ...]  # one row for every attack; empty if the protocol has none
    pairs: tuple[PairRow, ...]
    notes: tuple[str, ...] = ()  # whole sentences on limits and samples


@dataclass(frozen=True, slots=True)
class RobustnessReport:
    """The scores of a model under attack."""

    model: str
    threshold: float | None  # the score from which a pair counts as related, chosen on clean scores; None without one
    seed: int
    protocols: tuple[ProtocolReport, ...]  # in the order of the request

    def to_json(self) -> dict[str, Any]:
        """The report as objects, lists, strings, numbers and null."""
        return asdict(self)

    def tables(self) -> list[Table]:
        """Title, header and rows of every table, as text."""
        both = ((_self_table, "against_itself"), (_pair_table, "pairs"))
        return [make(protocol) for protocol in self.protocols for make, rows in both if getattr(protocol, rows)]


def _self_table(protocol: ProtocolReport) -> Table:
    header = ("attack", "documents", "Δcos mean", "Δcos max", "Δscore mean", "Δscore max")
    rows = tuple(
        (row.attack, str(row.documents), *_numbers(row.cosine_mean, row.cosine_max, row.score_mean, row.score_max))
        for row in protocol.against_itself
    )
    return f"{protocol.title}: a document and itself", header, rows


def _pair_table(protocol: ProtocolReport) -> Table:
    correlated = any(row.spearman is not None for row in protocol.pairs)
    titles = ("AUC", "F1", "accuracy", "Δ related", "Δ unrelated")
    header = ("attack", "side", "pairs", *titles, *(("Spearman",) if correlated else ()))
    rows = []
    for row in protocol.pairs:
        pairs, *values = astuple(row.figures)
        extra = _numbers(row.spearman) if correlated else ()
        rows.append((row.attack, row.side, str(pairs), *_numbers(*values), *extra))
    return f"{protocol.title}: pairs", header, tuple(rows)


def _numbers(*values: float | None) -> tuple[str, ...]:
    return tuple("–" if value is None else f"{value:z.3f}" for value in values)


@dataclass(frozen=True, slots=True, eq=False)
class Bench:
    """A model with the documents and pairs that every protocol works on."""

    encoder: DocumentEncoder
    documents: Mapping[str, Document]  # the documents in pairs, by id
    encodings: Mapping[str, Encoding]  # of the unchanged documents, by id
    pairs: tuple[LabelledPair, ...]
    clean: Array  # scores of the unchanged pairs, [P]
    threshold: float | None  # the score from which a pair counts as related; None without one
    seed: int

    @property
    def by_chunks(self) -> Encoder | None:
        """The model if it has a document head that can be run again over other chunks; else None."""
        return self.encoder if isinstance(self.encoder, Encoder) else None

    def generator(self, name: str, number: int = 0) -> np.random.Generator:
        """Random numbers for one document, the same whatever else is measured."""
        return np.random.default_rng([self.seed, number, *name.encode("utf-8")])

    def pair_row(self, attack: str, side: str, left: Encoded, right: Encoded, *, ratios: bool = False) -> PairRow:
        """Score every pair with `left` for its first document and `right` for its second."""
        scores, tokens = pair_scores(self.encoder, self.pairs, left, right)
        related = np.array([pair.related for pair in self.pairs], bool)
        figures = pair_figures(related, scores, self.clean, self.threshold)
        ratio = tokens.max(axis=1) / np.maximum(1, tokens.min(axis=1))
        return PairRow(attack, side, figures, spearman(ratio, scores) if ratios else None)

    def clean_row(self, *, ratios: bool = False) -> PairRow:
        """Score every unchanged pair."""
        return self.pair_row("clean", "none", self.clean_encoding, self.clean_encoding, ratios=ratios)

    def clean_encoding(self, name: str) -> Encoding:
        """The encoding of an unchanged document."""
        return self.encodings[name]

    def self_row(self, attack: str, attacked: Encoded) -> SelfRow:
        """Compare all documents with themselves under attack."""
        changes = []
        for name, clean in self.encodings.items():
            changed, vector = attacked(name), clean.document_vector
            before, after = document_scores(
                [clean, clean], [clean, changed], self.encoder.config, self.encoder.domain_fields
            )
            cosines = cosine(vector, vector) - cosine(vector, changed.document_vector)
            changes.append((cosines, float(before - after)))
        (cosine_mean, score_mean), (cosine_max, score_max) = np.mean(changes, 0), np.max(changes, 0)
        return SelfRow(attack, len(changes), *map(float, (cosine_mean, cosine_max, score_mean, score_max)))


def make_bench(
    encoder: DocumentEncoder,
    documents: Mapping[str, Document],
    pairs: Sequence[LabelledPair],
    threshold: float | None,
    seed: int,
) -> Bench:
    """Encode the documents of the pairs and score the unchanged pairs."""
    names = sorted(members(pairs))
    used = {name: documents[name] for name in names}
    encodings = dict(zip(names, encoder.encode_many(list(used.values())), strict=True))
    clean, _ = pair_scores(encoder, pairs, encodings.__getitem__, encodings.__getitem__)
    return Bench(encoder, used, encodings, tuple(pairs), clean, threshold, seed)


def pair_scores(
    encoder: DocumentEncoder, pairs: Sequence[LabelledPair], left: Encoded, right: Encoded
) -> tuple[Array, NDArray[np.int64]]:
    """Scores of the pairs, [P], and the numbers of tokens of their documents, [P, 2]; a few pairs at a time."""
    scores, tokens = [], []
    for start in range(0, len(pairs), _BLOCK):
        some = pairs[start : start + _BLOCK]
        firsts, seconds = [left(pair.a) for pair in some], [right(pair.b) for pair in some]
        scores.append(document_scores(firsts, seconds, encoder.config, encoder.domain_fields))
        tokens += [(a.tokens, b.tokens) for a, b in zip(firsts, seconds, strict=True)]
    return np.concatenate(scores), np.array(tokens, np.int64)


def length(bench: Bench, caps: Sequence[int]) -> ProtocolReport:
    """Truncate both documents of every pair to each of these numbers of tokens (the caps of CoLDE's Figure 7)."""
    against_itself, pairs = [], []
    for cap in caps:
        counts = {name: chunks_within(encoding, cap) for name, encoding in bench.encodings.items()}
        encodings = {name: _first(bench, name, count) for name, count in counts.items()}
        cut = sum(len(bench.encodings[name].chunks) > count for name, count in counts.items())
        title = f"first {cap:,} ({cut} of {len(encodings)} cut)"
        against_itself.append(bench.self_row(title, encodings.__getitem__))
        pairs.append(bench.pair_row(title, "both", encodings.__getitem__, encodings.__getitem__))
    pairs.append(replace(bench.clean_row(), attack="all"))
    note = "Whole chunks are kept: those that end within the cap, and the first one always."
    return ProtocolReport("length", "First tokens only", tuple(against_itself), tuple(pairs), (note,))


def chunks_within(encoding: Encoding, cap: int) -> int:
    """Count the chunks that end within the first `cap` tokens of a document; at least 1."""
    ends = np.cumsum([len(chunk.ids) - 2 for chunk in encoding.chunks])
    return max(1, int((ends <= cap).sum()))


def shortened(document: Document, end: int) -> Document:
    """Cut a document at an offset of its text."""
    kept = [section for section in document.sections if section.span.start < end]
    sections = tuple(
        replace(
            section, span=Span(section.span.start, min(end, section.span.end)), body_start=min(end, section.body_start)
        )
        for section in kept
    )
    return replace(document, text=document.text[:end], sections=sections)


def _first(bench: Bench, name: str, count: int) -> Encoding:
    encoding = bench.encodings[name]
    if len(encoding.chunks) <= count:
        return encoding
    if bench.by_chunks is None:
        return bench.encoder.encode(shortened(bench.documents[name], encoding.chunks[count - 1].span.end))
    return rearranged(encoding, range(count), bench.by_chunks)


_TITLES: dict[Numbering, str] = {"kept": "numbered before", "anew": "numbered after"}


def shuffle(bench: Bench, rounds: int) -> ProtocolReport:
    """Shuffle the sections of both documents of every pair, `rounds` times."""
    against_itself, pairs = [], [bench.clean_row()]
    numberings: tuple[Numbering, ...] = ("kept", "anew") if bench.by_chunks else ("anew",)
    for numbering in numberings:
        for number in range(rounds):
            title = _TITLES[numbering] + (f", order {number + 1}" if rounds > 1 else "")
            shuffled = {name: _shuffled(bench, name, number, numbering) for name in bench.encodings}
            encoding: Callable[[str], Encoding] = shuffled.__getitem__
            against_itself.append(bench.self_row(title, encoding))
            pairs.append(bench.pair_row(title, "both", encoding, encoding))
    alone = sum(len(_sections(item)) < 2 for item in bench.encodings.values())
    note = f"{alone} of {len(bench.encodings)} documents have one section only, so that nothing moves."
    return ProtocolReport("shuffle", "Sections shuffled", tuple(against_itself), tuple(pairs), (note,))


def shuffled_rows(encoding: Encoding, generator: np.random.Generator) -> list[int]:
    """Indices of the chunks with the sections in random order; chunks keep their order within a section."""
    groups = _sections(encoding)
    return [row for place in generator.permutation(len(groups)) for row in groups[int(place)]]


def shuffled_document(document: Document, generator: np.random.Generator) -> Document:
    """Put the sections of a document in random order."""
    order = generator.permutation(len(document.sections))
    sections = [document.sections[int(place)] for place in order]
    parts = [
        Part(item.heading, document.text[item.body_start : item.span.end], item.level, item.kind) for item in sections
    ]
    return assemble(document.path, document.title, parts, document.report)


def _shuffled(bench: Bench, name: str, number: int, numbering: Numbering) -> Encoding:
    generator = bench.generator(name, number)
    if bench.by_chunks is None:
        return bench.encoder.encode(shuffled_document(bench.documents[name], generator))
    encoding = bench.encodings[name]
    rows = shuffled_rows(encoding, generator)
    if rows == list(range(len(rows))):
        return encoding
    return rearranged(encoding, rows, bench.by_chunks, numbering)


def _sections(encoding: Encoding) -> list[list[int]]:
    """Rows of the chunks of each section."""
    rows = groupby(range(len(encoding.chunks)), lambda row: encoding.chunks[row].section)
    return [list(group) for _, group in rows]


@dataclass(frozen=True, slots=True)
class RobustnessOptions:
    """How hard the attacks are."""

    # numbers of tokens to read, for "length", `[CLS]` and `[SEP]` not counted
    first_tokens: tuple[int, ...] = (1024, 2048, 4096, 8192)
    shuffles: int = 1  # number of random orders of the sections of every document
    times: tuple[int, ...] = (1, 2, 4, 8, 16, 100)  # the values of m, the number of repetitions, for "elongation"
    max_chunks: int = 2048  # the longest document at chunk level; a document that would be longer gets a smaller m
    # number of documents to elongate at text level, which encodes every repetition; those of the first pairs
    text_documents: int = 20
    max_tokens: int = 32_768  # the longest document at text level


def elongation(bench: Bench, options: RobustnessOptions) -> Iterable[ProtocolReport]:
    """Repeat one document of every pair, then both; yield a report for chunk level and one for text level."""
    if bench.by_chunks is not None:
        yield _chunk_level(bench, bench.by_chunks, options)
    if options.text_documents > 0:
        yield _text_level(_sample(bench, options.text_documents), options)


def tiled(encoding: Encoding, times: int, document_vector: FloatArray) -> Encoding:
    """Repeat the chunks of an encoding; `document_vector` is the head's for the repeated chunks."""
    rows = np.tile(np.arange(len(encoding.chunks)), times)
    vectors = replace(
        encoding.vectors,
        chunk_vectors=encoding.chunk_vectors[rows],
        centred_unit_vectors=encoding.centred_unit_vectors[rows],
        own=OwnVectors(document_vector, encoding.section_vectors),
    )
    return Encoding(encoding.document, encoding.chunks * times, vectors)


def elongated(document: Document, times: int) -> Document:
    """Repeat the text of a document, as one section."""
    return assemble(document.path, document.title, [Part("", "\n\n".join([document.text] * times))])


def _chunk_level(bench: Bench, model: Encoder, options: RobustnessOptions) -> ProtocolReport:
    against_itself, pairs = [], [bench.clean_row(ratios=True)]
    sizes = {name: len(encoding.chunks) for name, encoding in bench.encodings.items()}
    for times in options.times:
        allowed, title = _allowed(times, options.max_chunks, sizes)
        vectors = {name: _tiled_vector(model, bench.encodings[name], count) for name, count in allowed.items()}
        attacked = partial(_tiled_encoding, bench, allowed, vectors)
        against_itself.append(bench.self_row(title, attacked))
        pairs += _pair_rows(bench, title, attacked)
    note = f"No document is made longer than {options.max_chunks} chunks; its m is then smaller (“reached by”)."
    return ProtocolReport("elongation", "Elongation ×m, chunks", tuple(against_itself), tuple(pairs), (note,))


def _tiled_vector(model: Encoder, encoding: Encoding, times: int) -> FloatArray:
    if times == 1:
        return encoding.document_vector
    # Chunk vectors of a model that adds positions before BERT contain them; copies share these vectors.
    kept = model.config.chunk_position == "input"
    rows = list(range(len(encoding.chunks))) * times
    return rearranged(encoding, rows, model, "kept" if kept else "anew").document_vector


def _tiled_encoding(bench: Bench, times: Mapping[str, int], vectors: Mapping[str, FloatArray], name: str) -> Encoding:
    return tiled(bench.encodings[name], times[name], vectors[name])


def _text_level(bench: Bench, options: RobustnessOptions) -> ProtocolReport:
    names = list(bench.encodings)
    cut = _text_encodings(bench, dict.fromkeys(names, 1)).__getitem__
    against_itself = [bench.self_row("cut anew", cut)]
    pairs = [bench.clean_row(ratios=True), bench.pair_row("cut anew", "both", cut, cut, ratios=True)]
    sizes = {name: encoding.tokens for name, encoding in bench.encodings.items()}
    for times in options.times:
        allowed, title = _allowed(times, options.max_tokens, sizes)
        longer = {name: count for name, count in allowed.items() if count > 1}
        attacked = {**bench.encodings, **_text_encodings(bench, longer)}.__getitem__
        against_itself.append(bench.self_row(title, attacked))
        pairs += _pair_rows(bench, title, attacked)
    notes = (
        f"{len(names)} documents, those of {len(bench.pairs)} pairs; none is made longer than "
        f"{options.max_tokens} tokens; its m is then smaller (“reached by”).",
        "“Cut anew” is the document once, as one section: what other chunks alone change.",
    )
    return ProtocolReport("elongation", "Elongation ×m, text", tuple(against_itself), tuple(pairs), notes)


def _text_encodings(bench: Bench, times: Mapping[str, int]) -> dict[str, Encoding]:
    documents = [elongated(bench.documents[name], count) for name, count in times.items()]
    return dict(zip(times, bench.encoder.encode_many(documents), strict=True))


def _pair_rows(bench: Bench, title: str, attacked: Encoded) -> list[PairRow]:
    return [
        bench.pair_row(title, "one", attacked, bench.clean_encoding, ratios=True),
        bench.pair_row(title, "both", attacked, attacked, ratios=True),
    ]


def _allowed(times: int, most: int, sizes: Mapping[str, int]) -> tuple[dict[str, int], str]:
    """How often each document is repeated, so that none is longer than `most`; and the title of the row."""
    allowed = {name: min(times, max(1, most // max(1, size))) for name, size in sizes.items()}
    reached = sum(count == times for count in allowed.values())
    return allowed, f"×{times}" + (f" (reached by {reached} of {len(allowed)})" if reached < len(allowed) else "")


def _sample(bench: Bench, count: int) -> Bench:
    """Keep pairs of at most `count` documents (at least one pair), related and unrelated ones by turns."""
    chosen: set[str] = set()
    kept: list[int] = []
    for index in _by_turns([pair.related for pair in bench.pairs]):
        both = members([bench.pairs[index]])
        if not kept or len(chosen | both) <= count:
            chosen |= both
            kept.append(index)
    return replace(
        bench,
        documents={name: bench.documents[name] for name in sorted(chosen)},
        encodings={name: bench.encodings[name] for name in sorted(chosen)},
        pairs=tuple(bench.pairs[index] for index in kept),
        clean=bench.clean[kept],
    )


def _by_turns(related: Sequence[bool]) -> list[int]:
    """Indices of related and unrelated pairs by turns, so that a sample holds both."""
    turns = [[index for index, value in enumerate(related) if value is wanted] for wanted in (True, False)]
    order = {index: place for group in turns for place, index in enumerate(group)}
    return sorted(order, key=lambda index: (order[index], index))


PROTOCOLS = ("length", "shuffle", "elongation")
"""The names of the protocols."""


def robustness(
    encoder: DocumentEncoder,
    documents: Mapping[str, Document],
    pairs: Sequence[LabelledPair],
    protocols: str | Sequence[str] = PROTOCOLS,
    *,
    threshold: float | None = None,
    seed: int = 0,
    options: RobustnessOptions | None = None,
) -> RobustnessReport:
    """Change documents and measure how the scores of pairs change.

    For a model without a document head over chunk vectors, the text of the documents is changed and encoded anew.

    `documents` are those of the pairs at least; `threshold` was chosen on clean scores, and is the model's own if None.

    Raises:
        OptionError: an unknown protocol, or no pairs.
        NoTextError: a document has no text.
        ModelError: a graph is damaged or does not fit the tokenizer.
    """
    protocols = one_or_more(protocols)
    unknown = [name for name in protocols if name not in PROTOCOLS]
    if unknown:
        raise OptionError(f"There is no robustness protocol {unknown[0]!r}; choose from {', '.join(PROTOCOLS)}.")
    if not pairs:
        raise OptionError("Robustness needs labelled pairs, and there are none.")
    known = encoder.config.threshold if threshold is None else threshold
    bench = make_bench(encoder, documents, pairs, known, seed)
    chosen = options or RobustnessOptions()
    run: dict[str, Callable[[], Iterable[ProtocolReport]]] = {
        "length": lambda: [length(bench, chosen.first_tokens)],
        "shuffle": lambda: [shuffle(bench, chosen.shuffles)],
        "elongation": lambda: elongation(bench, chosen),
    }
    reports = [report for name in protocols for report in run[name]()]
    return RobustnessReport(encoder.info.name, known, seed, tuple(reports))
