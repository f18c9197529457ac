"""Fit what turns the vectors of a trained model into verdicts: lexicon, domains, weights, thresholds, calibrations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from colde_cli.encoder.cache import Cache
from colde_cli.encoder.encoder import Encoder
from colde_cli.encoder.encoding import Encoding
from colde_cli.encoder.layout import CONFIG, DOMAINS, LEXICON, TOKENIZER, ModelConfig, open_folder
from colde_cli.evaluation.metrics import PairMetrics, pair_metrics
from colde_cli.learning.splits import TaskData
from colde_cli.learning.tokens import ChunkStore, word_continuations
from colde_cli.scoring.domains import Domains
from colde_cli.scoring.fit import USUAL, best_threshold, fit_calibration, fit_score_weights, part_table
from colde_cli.scoring.lexicon import Lexicon
from colde_cli.scoring.score import document_scores, verdict


@dataclass(frozen=True, slots=True)
class Served:
    """A model as it is served.

    Attributes:
        config: with weights, thresholds and calibrations.
        metrics: of its verdicts on the validation pairs.
    """

    config: ModelConfig
    metrics: PairMetrics


@dataclass(frozen=True, slots=True, eq=False)
class _ValidationPairs:
    """The validation pairs, encoded.

    Attributes:
        related: bool [P].
        domains: int [P], the training file of each pair, an index of `names`.
        names: of the files, without suffix.
    """

    left: list[Encoding]
    right: list[Encoding]
    related: NDArray[np.bool_]
    domains: NDArray[np.int64]
    names: tuple[str, ...]


def fit_served(staged: Path, read: TaskData, store: ChunkStore, *, combine: bool, device: str) -> Served:
    """Fit weights, thresholds and calibrations, and write them into a model's folder.

    Scores come from the exported graphs, so that the fit holds for what a user runs.

    Args:
        staged: the model's folder, with its graphs.
        read: documents, and the validation pairs.
        store: chunks of all documents.
        combine: whether the score has all parts; else it is the cosine of document vectors.
        device: as for `Encoder.load`.
    """
    config = open_folder(staged).config
    if combine:
        config = replace(config, score_weights=USUAL)
        _learn_lexicon(staged, read, store).save(staged / LEXICON)
        _write(config, staged)
    with Cache.open() as cache:
        pairs = _encode_pairs(Encoder.load(staged, device=device, cache=cache), read, store)
    if combine:
        config, pairs = _fit_weights(config, pairs, staged)
    else:
        scores = document_scores(pairs.left, pairs.right, config)
        config = config.fitted(best_threshold(pairs.related, scores), fit_calibration(pairs.related, scores))
    _write(config, staged)
    return Served(config, _measure(pairs, config))


def _measure(pairs: _ValidationPairs, config: ModelConfig) -> PairMetrics:
    """Measure the verdicts on the validation pairs, each at the threshold of its domains."""
    verdicts = [verdict(a, b, config) for a, b in zip(pairs.left, pairs.right, strict=True)]
    order = pair_metrics(pairs.related, [item.score for item in verdicts], fields=pairs.domains)
    margins = [item.score - (item.threshold or 0.0) for item in verdicts]
    called = pair_metrics(pairs.related, margins, 0.0)
    return replace(
        order,
        threshold=float(config.threshold or 0.0),
        precision=called.precision,
        recall=called.recall,
        f1=called.f1,
        accuracy=called.accuracy,
    )


def _fit_weights(
    config: ModelConfig, pairs: _ValidationPairs, staged: Path
) -> tuple[ModelConfig, _ValidationPairs]:
    """Fit weights and domains; the pairs come back with the domains of their documents."""
    table = part_table(pairs.left, pairs.right, USUAL)
    fit = fit_score_weights(pairs.related, table, pairs.domains, pairs.names)
    config = replace(
        config, score_weights=fit.score_weights, threshold=fit.threshold, calibration=fit.calibration
    )
    if fit.domains:
        domains = Domains.learn([_means(pairs, code) for code in fit.domains])
        domains.save(staged / DOMAINS)
        left, right = ([_with_domains(item, domains) for item in side] for side in (pairs.left, pairs.right))
        pairs = replace(pairs, left=left, right=right)
    return config, pairs


def _learn_lexicon(staged: Path, read: TaskData, store: ChunkStore) -> Lexicon:
    continues = word_continuations((staged / TOKENIZER).read_text(encoding="utf-8"))
    texts = (
        [store.tokens(int(chunk)).tolist() for chunk in store.chunks_of(int(number))]
        for number in read.split.training
    )
    return Lexicon.learn(texts, continues, USUAL.rarity)


def _encode_pairs(encoder: Encoder, read: TaskData, store: ChunkStore) -> _ValidationPairs:
    numbers = np.unique(read.split.pairs).tolist()
    documents = [read.data.documents[number].document for number in numbers]
    encoded = encoder.encode_chunked(documents, [store.chunks(number) for number in numbers])
    encodings = dict(zip(numbers, encoded, strict=True))
    left, right = read.split.pairs.T.tolist()
    return _ValidationPairs(
        [encodings[number] for number in left],
        [encodings[number] for number in right],
        read.split.related,
        np.array([read.data.documents[number].file for number in left], np.int64),
        tuple(Path(file.name).name.partition(".")[0] for file in read.data.files),
    )


def _means(pairs: _ValidationPairs, domain: int) -> NDArray[np.float32]:
    """The mean chunk vector of every document of a domain, each once: [N, H]."""
    sides: Sequence[list[Encoding]] = (pairs.left, pairs.right)
    chosen = np.flatnonzero(pairs.domains == domain)
    documents = {id(side[row]): side[row] for side in sides for row in chosen}
    return np.stack([item.chunk_vectors.mean(0) for item in documents.values()])


def _with_domains(encoding: Encoding, domains: Domains) -> Encoding:
    return replace(encoding, domains=domains.membership(encoding.chunk_vectors.mean(0)))


def _write(config: ModelConfig, staged: Path) -> None:
    (staged / CONFIG).write_text(config.to_json(), encoding="utf-8")
