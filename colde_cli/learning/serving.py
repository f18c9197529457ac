"""What a trained model is served with, fitted on the graphs that serve it: lexicon, shares, threshold, calibration."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from colde_cli.encoder.cache import Cache
from colde_cli.encoder.encoder import Encoder
from colde_cli.encoder.encoding import Encoding
from colde_cli.encoder.layout import CONFIG, LEXICON, TOKENIZER, ModelConfig, ModelFolder, open_folder
from colde_cli.encoder.lexicon import Lexicon, continuations
from colde_cli.evaluation.calibration_fit import fit_calibration
from colde_cli.evaluation.combining import USUAL, fit_shares, part_table
from colde_cli.evaluation.metrics import PairMetrics, pair_metrics
from colde_cli.learning.job import TaskData
from colde_cli.learning.tokens import ChunkStore
from colde_cli.similarity.scoring import document_scores


@dataclass(frozen=True, slots=True)
class Served:
    """A model as it is served.

    Attributes:
        config: with shares, threshold and calibration.
        metrics: of its scores on the validation pairs.
    """

    config: ModelConfig
    metrics: PairMetrics


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
        config = replace(config, combination=USUAL)
        _learn_lexicon(staged, read, store).save(staged / LEXICON)
        _write(config, staged)
    with Cache.open() as cache:
        left, right = _encoded_pairs(Encoder.load(staged, device=device, cache=cache), read)
    related, fields = read.split.related, _fields(read)
    if config.combination is not None:
        table = part_table(left, right, config.combination)
        config = replace(config, combination=fit_shares(related, table, fields, config.combination))
    scores = document_scores(left, right, ModelFolder(staged, config))
    metrics = pair_metrics(related, scores, fields=fields)
    config = config.fitted(metrics.threshold, fit_calibration(related, scores))
    _write(config, staged)
    return Served(config, metrics)


def _learn_lexicon(staged: Path, read: TaskData, store: ChunkStore) -> Lexicon:
    tokenizer = Tokenizer.from_file(str(staged / TOKENIZER))
    pieces = [tokenizer.id_to_token(number) or "" for number in range(tokenizer.get_vocab_size())]
    texts = (
        [store.tokens(int(chunk)).tolist() for chunk in store.chunks_of(int(number))]
        for number in read.split.training
    )
    return Lexicon.learn(texts, continuations(pieces), USUAL.rarity)


def _encoded_pairs(encoder: Encoder, read: TaskData) -> tuple[list[Encoding], list[Encoding]]:
    numbers = np.unique(read.split.pairs).tolist()
    documents = [read.data.documents[number].document for number in numbers]
    encodings = dict(zip(numbers, encoder.encode_many(documents), strict=True))
    left, right = read.split.pairs.T.tolist()
    return [encodings[number] for number in left], [encodings[number] for number in right]


def _fields(read: TaskData) -> NDArray[np.int64]:
    return np.array([read.data.documents[int(number)].file for number in read.split.pairs[:, 0]], np.int64)


def _write(config: ModelConfig, staged: Path) -> None:
    (staged / CONFIG).write_text(config.to_json(), encoding="utf-8")
