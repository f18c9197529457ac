"""What a network learns of the documents that train before it is shown which belong together (`--pretrain`).

SMITH guesses masked words and masked blocks (Yang et al. 2020, §4.2); a BERT over one row learns LA(SER)³'s positives
(Xiao et al. 2023, §4). The two are written in `pretraining` and `unsupervised`, with their own batch sizes and rates.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import nn

from colde_cli.documents.chunking import plain_tokenizer
from colde_cli.encoder.towers.layout import TowerConfig
from colde_cli.encoder.towers.rows import Rows
from colde_cli.errors import DataError
from colde_cli.learning.job import Reporter
from colde_cli.learning.towers.pairs import PairOptions, specials_of, split_sentences
from colde_cli.learning.towers.pretraining import PretrainingRecipe, masking_vocabulary, pretrain
from colde_cli.learning.towers.recipe import TowerRecipe
from colde_cli.learning.towers.registry import MASKING
from colde_cli.learning.towers.unsupervised import UnsupervisedRecipe, train_unsupervised


def learn_unlabelled(
    network: nn.Module,
    config: TowerConfig,
    tokenizer: str,
    documents: Sequence[tuple[str, Rows]],
    recipe: TowerRecipe,
    device: torch.device,
    reporter: Reporter,
) -> None:
    """Train `network` in place by `recipe.pretrain`.

    Args:
        network: with the weights that it starts from.
        config: its sizes.
        tokenizer: the text of `tokenizer.json`.
        documents: text and rows of each document that trains.
        recipe: says which objective, and for how long.
        device: where.
        reporter: told of every batch.

    Raises:
        DataError: too few documents.
        OptionError: the tokenizer lacks what the objective needs.
    """
    if len(documents) < 2:
        raise DataError("--pretrain needs two training documents at least.")
    reporter.phase(f"Learning {recipe.pretrain} from {len(documents):,} documents")
    options: dict[str, Any] = {
        "epochs": recipe.pretrain_epochs,
        "seed": recipe.seed,
        "precision": recipe.precision,
    }
    plain = plain_tokenizer(tokenizer)

    def told(values: dict[str, float]) -> None:
        reporter.advance(1)

    objective: Any = recipe.pretrain
    learner: Any = network
    if objective in MASKING:
        vocabulary = masking_vocabulary(plain, config.vocab_size)
        masking = PretrainingRecipe(objective=objective, **options)
        pretrain(learner, [rows for _, rows in documents], vocabulary, masking, device, told)
        return
    laser = UnsupervisedRecipe(
        pairs=PairOptions(objective=objective, row_tokens=config.row_tokens), **options
    )
    sentences = [found for text, _ in documents if (found := split_sentences(text, plain)) is not None]
    train_unsupervised(network, sentences, specials_of(plain), laser, device, told)
