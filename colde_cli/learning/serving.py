"""What a trained model is served with, fitted on the graphs that serve it: lexicon, kinds of text, shares, verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from colde_cli.encoder.cache import Cache
from colde_cli.encoder.encoder import Encoder
from colde_cli.encoder.layout import (
    CONFIG,
    DOMAINS,
    LEXICON,
    TOKENIZER,
    ModelConfig,
    ModelFolder,
    open_folder,
)
from colde_cli.encoder.protocol import Encoding
from colde_cli.evaluation.metrics import PairMetrics, pair_metrics
from colde_cli.learning.job import TaskData
from colde_cli.learning.tokens import ChunkStore
from colde_cli.scoring.domains import Domains
from colde_cli.scoring.fit import USUAL, best_threshold, fit_calibration, fit_combination, part_table
from colde_cli.scoring.lexicon import Lexicon, continuations
from colde_cli.scoring.score import document_scores, verdict


@dataclass(frozen=True, slots=True)
class Served:
    """A model as it is served.

    Attributes:
        config: with shares, thresholds and calibrations.
        metrics: of its scores on the validation pairs.
    """

    config: ModelConfig
    metrics: PairMetrics


@dataclass(frozen=True, slots=True, eq=False)
class _Judged:
    """The validation pairs, encoded.

    Attributes:
        left: the first document of each pair.
        right: the second.
        related: bool [P].
        fields: int [P], the training file that each pair is of.
        names: of the files.
    """

    left: list[Encoding]
    right: list[Encoding]
    related: NDArray[np.bool_]
    fields: NDArray[np.int64]
    names: tuple[str, ...]


def fit_served(staged: Path, read: TaskData, store: ChunkStore, *, combine: bool, device: str) -> Served:
    """Fit what turns the vectors of a model into verdicts, and write it into its folder.

    Scores come from the exported graphs, so that what is fitted is what a user gets.

    Args:
        staged: the model's folder, its graphs written.
        read: documents, and the validation pairs.
        store: chunks of all documents.
        combine: make the score of all parts; else it is CoLDE's cosine.
        device: as for `Encoder.load`.
    """
    config = open_folder(staged).config
    if combine:
        config = replace(config, score_weights=USUAL)
        _learn_lexicon(staged, read, store).save(staged / LEXICON)
        _write(config, staged)
    with Cache.open() as cache:
        judged = _judged(Encoder.load(staged, device=device, cache=cache), read)
    if combine:
        config, judged = _combined(config, judged, staged)
    else:
        scores = document_scores(judged.left, judged.right, ModelFolder(staged, config))
        config = config.fitted(
            best_threshold(judged.related, scores), fit_calibration(judged.related, scores)
        )
    _write(config, staged)
    return Served(config, _figures(judged, ModelFolder(staged, config)))


def _figures(judged: _Judged, folder: ModelFolder) -> PairMetrics:
    """Of the validation pairs, at the thresholds that the model holds for what kinds of text they are."""
    said = [verdict(a, b, folder) for a, b in zip(judged.left, judged.right, strict=True)]
    order = pair_metrics(judged.related, [item.score for item in said], fields=judged.fields)
    margins = [item.score - (item.threshold or 0.0) for item in said]
    called = pair_metrics(judged.related, margins, 0.0)
    return replace(
        order,
        threshold=float(folder.config.threshold or 0.0),
        precision=called.precision,
        recall=called.recall,
        f1=called.f1,
        accuracy=called.accuracy,
    )


def _combined(config: ModelConfig, judged: _Judged, staged: Path) -> tuple[ModelConfig, _Judged]:
    """Shares and verdicts, and the pairs with what kinds of text they are of."""
    table = part_table(judged.left, judged.right, USUAL)
    fit = fit_combination(judged.related, table, judged.fields, judged.names)
    config = replace(
        config, score_weights=fit.score_weights, threshold=fit.threshold, calibration=fit.calibration
    )
    if fit.domains:
        domains = Domains.learn([_means(judged, kind) for kind in fit.domains])
        domains.save(staged / DOMAINS)
        left, right = ([_of_kinds(item, domains) for item in side] for side in (judged.left, judged.right))
        judged = replace(judged, left=left, right=right)
    return config, judged


def _learn_lexicon(staged: Path, read: TaskData, store: ChunkStore) -> Lexicon:
    tokenizer = Tokenizer.from_file(str(staged / TOKENIZER))
    pieces = [tokenizer.id_to_token(number) or "" for number in range(tokenizer.get_vocab_size())]
    texts = (
        [store.tokens(int(chunk)).tolist() for chunk in store.chunks_of(int(number))]
        for number in read.split.training
    )
    return Lexicon.learn(texts, continuations(pieces), USUAL.rarity)


def _judged(encoder: Encoder, read: TaskData) -> _Judged:
    numbers = np.unique(read.split.pairs).tolist()
    documents = [read.data.documents[number] for number in numbers]
    encodings = dict(zip(numbers, encoder.encode_many([item.document for item in documents]), strict=True))
    left, right = read.split.pairs.T.tolist()
    return _Judged(
        [encodings[number] for number in left],
        [encodings[number] for number in right],
        read.split.related,
        np.array([read.data.documents[number].file for number in left], np.int64),
        tuple(Path(file.name).name.partition(".")[0] for file in read.data.files),
    )


def _means(judged: _Judged, field: int) -> NDArray[np.float32]:
    """The mean chunk vectors of the documents of a field, each once: [N, H]."""
    sides: Sequence[list[Encoding]] = (judged.left, judged.right)
    chosen = np.flatnonzero(judged.fields == field)
    documents = {id(side[row]): side[row] for side in sides for row in chosen}
    return np.stack([item.chunk_vectors.mean(0) for item in documents.values()])


def _of_kinds(encoding: Encoding, domains: Domains) -> Encoding:
    return replace(encoding, domains=domains.membership(encoding.chunk_vectors.mean(0)))


def _write(config: ModelConfig, staged: Path) -> None:
    (staged / CONFIG).write_text(config.to_json(), encoding="utf-8")
