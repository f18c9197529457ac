"""Fit what turns the vectors of a trained model into verdicts: lexicon, domains, weights, thresholds, calibrations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from colde_cli.encoder.encoder import Encoder
from colde_cli.encoder.encoding import Encoding
from colde_cli.encoder.layout import CONFIG, DOMAINS, FIELDS, LEXICON, TOKENIZER, ModelConfig, open_folder
from colde_cli.encoder.vector_cache import Cache
from colde_cli.evaluation.metrics import PairMetrics, pair_metrics
from colde_cli.learning.sampling import TaskData
from colde_cli.learning.tokens import ChunkStore, word_continuations
from colde_cli.scoring.domains import Domains, shortness
from colde_cli.scoring.fit import USUAL, FitPairs, PartTables, fit_score_weights, fit_verdict, part_table
from colde_cli.scoring.lexicon import Lexicon
from colde_cli.scoring.profile import DomainFields, within
from colde_cli.scoring.score import document_scores, verdict

Floats = NDArray[np.float64]
FloatArray = NDArray[np.float32]

_DOMAIN_SAMPLE = 800  # training chunks of a file from which the centre and the covariance of its domain are learned


@dataclass(frozen=True, slots=True)
class Served:
    """A model as it is served."""

    config: ModelConfig  # with weights, thresholds and calibrations
    metrics: PairMetrics  # of its verdicts on the validation pairs


@dataclass(frozen=True, slots=True, eq=False)
class _ValidationPairs:
    """The validation pairs: labels, numbers of documents and files; and encodings by number of document."""

    judged: FitPairs
    encodings: dict[int, Encoding]

    @property
    def left(self) -> list[Encoding]:
        """The first document of each pair."""
        return [self.encodings[number] for number in self.judged.documents[:, 0].tolist()]

    @property
    def right(self) -> list[Encoding]:
        """The second document of each pair."""
        return [self.encodings[number] for number in self.judged.documents[:, 1].tolist()]

    def of_domain(self, code: int) -> list[Encoding]:
        """The documents of a domain, each once."""
        numbers = np.unique(self.judged.documents[self.judged.domains == code])
        return [self.encodings[number] for number in numbers.tolist()]


def fit_served(staged: Path, read: TaskData, store: ChunkStore, *, combine: bool, device: str) -> Served:
    """Fit weights, thresholds and calibrations, and write them into a model's folder, which has its graphs.

    Scores come from the exported graphs, so that the fit holds for what a user runs. With `combine` the score has all
    parts; else it is the cosine of document vectors. The folder may have been fitted before.
    """
    config = replace(open_folder(staged).config, score_weights=USUAL if combine else None)
    for name in (LEXICON, DOMAINS, FIELDS):
        (staged / name).unlink(missing_ok=True)
    if combine:
        _learn_lexicon(staged, read, store).save(staged / LEXICON)
    _write(config, staged)
    with Cache.open() as cache:
        encoder = Encoder.load(staged, device=device, cache=cache)
        pairs = _encode_pairs(encoder, read, store)
        domains = None
        if combine and pairs.judged.codes:
            domains = _learn_domains(pairs, _training_vectors(encoder, read, store, pairs), staged)
    if combine:
        config, pairs = _fit_weights(encoder.config, pairs, domains, staged)
    else:
        scores = document_scores(pairs.left, pairs.right, config)
        config = config.fitted(*fit_verdict(pairs.judged.related, scores))
    _write(config, staged)
    return Served(config, _measure(pairs, config, domains))


def _measure(pairs: _ValidationPairs, config: ModelConfig, fields: DomainFields | None) -> PairMetrics:
    """Measure the verdicts on the validation pairs, each at the threshold of its domains."""
    related = pairs.judged.related
    verdicts = [verdict(a, b, config, fields) for a, b in zip(pairs.left, pairs.right, strict=True)]
    order = pair_metrics(related, [item.score for item in verdicts], fields=pairs.judged.domains)
    margins = [item.score - (item.threshold or 0.0) for item in verdicts]
    called = pair_metrics(related, margins, 0.0)
    return replace(
        order,
        threshold=float(config.threshold or 0.0),
        precision=called.precision,
        recall=called.recall,
        f1=called.f1,
        accuracy=called.accuracy,
    )


def _training_vectors(
    encoder: Encoder, read: TaskData, store: ChunkStore, pairs: _ValidationPairs
) -> dict[int, list[FloatArray]]:
    """Vectors [1, H] of a sample of the training chunks of each domain that has any.

    The validation documents cannot serve here. Centred on themselves, unrelated ones look less alike than new documents
    will, and a threshold fitted to that would be too low.
    """
    files = np.array([item.file for item in read.data.documents], np.int64)
    by_file: dict[int, list[FloatArray]] = {}
    for file in np.intersect1d(files[read.split.training], pairs.judged.codes).tolist():
        numbers = [number for number in read.split.training.tolist() if files[number] == file]
        chunks = np.concatenate([store.chunks_of(number) for number in numbers])
        generator = np.random.default_rng([file, 5])
        sample = np.sort(generator.permutation(chunks)[:_DOMAIN_SAMPLE])
        vectors = encoder.encode_chunks([store.chunk(int(chunk)) for chunk in sample])
        by_file[file] = list(vectors[:, None])
    return by_file


def _learn_domains(pairs: _ValidationPairs, training: Mapping[int, list[FloatArray]], staged: Path) -> DomainFields:
    """Learn the prototypes and the statistics of the domains, and write them."""
    vectors = {code: [item.chunk_vectors for item in pairs.of_domain(code)] for code in pairs.judged.codes}
    Domains.learn([np.stack([chunks.mean(0) for chunks in item]) for item in vectors.values()]).save(staged / DOMAINS)
    # A file without training documents has its validation documents alone.
    DomainFields.learn([training.get(code) or own for code, own in vectors.items()]).save(staged / FIELDS)
    return DomainFields.load(staged / FIELDS)


def _fit_weights(
    config: ModelConfig, pairs: _ValidationPairs, domains: DomainFields | None, staged: Path
) -> tuple[ModelConfig, _ValidationPairs]:
    """Fit the weights; the pairs come back with the domains of their documents."""
    fit = fit_score_weights(pairs.judged, _part_tables(pairs, domains))
    score_weights = fit.score_weights
    if np.median([shortness(len(item.terms.buckets)) for item in pairs.encodings.values() if item.terms]) > 0:
        # The labelled pairs are of short texts themselves: what was fitted to them holds for these.
        score_weights = replace(score_weights, short=None)
    config = replace(config, score_weights=score_weights, threshold=fit.threshold, calibration=fit.calibration)
    if domains is None:
        return config, pairs
    prototypes = Domains.load(staged / DOMAINS)
    placed = {number: _with_domains(item, prototypes) for number, item in pairs.encodings.items()}
    return config, replace(pairs, encodings=placed)


def _part_tables(pairs: _ValidationPairs, domains: DomainFields | None) -> PartTables:
    """The parts of the pairs, under the statistics of the model and of their domain."""
    left, right = pairs.left, pairs.right
    plain = part_table(left, right, USUAL)
    tables = PartTables(plain, plain.copy())
    if domains is None:
        return tables
    for code, whitening in zip(pairs.judged.codes, domains.whitenings, strict=True):
        rows = np.flatnonzero(pairs.judged.domains == code)
        seen = [[within(side[row], whitening, side[row].terms) for row in rows] for side in (left, right)]
        tables.domain[rows] = part_table(seen[0], seen[1], USUAL)
    return tables


def _learn_lexicon(staged: Path, read: TaskData, store: ChunkStore) -> Lexicon:
    continues = word_continuations((staged / TOKENIZER).read_text(encoding="utf-8"))
    texts = (
        [store.tokens(int(chunk)).tolist() for chunk in store.chunks_of(int(number))] for number in read.split.training
    )
    return Lexicon.learn(texts, continues, USUAL.rarity)


def _encode_pairs(encoder: Encoder, read: TaskData, store: ChunkStore) -> _ValidationPairs:
    numbers = np.unique(read.split.pairs).tolist()
    documents = [read.data.documents[number].document for number in numbers]
    encoded = encoder.encode_chunked(documents, [store.chunks(number) for number in numbers])
    encodings = dict(zip(numbers, encoded, strict=True))
    files = [read.data.documents[number].file for number in read.split.pairs[:, 0].tolist()]
    names = tuple(Path(file.name).name.partition(".")[0] for file in read.data.files)
    judged = FitPairs(read.split.related, read.split.pairs, np.array(files, np.int64), names)
    return _ValidationPairs(judged, encodings)


def _with_domains(encoding: Encoding, domains: Domains) -> Encoding:
    membership = domains.membership(encoding.chunk_vectors.mean(0))
    return replace(encoding, source=replace(encoding.vectors, domains=membership))


def _write(config: ModelConfig, staged: Path) -> None:
    (staged / CONFIG).write_text(config.to_json(), encoding="utf-8")
