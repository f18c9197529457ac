"""LA(SER)³ on unlabelled documents: pairs, InfoNCE, AdamW (Xiao et al. 2023)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import torch
from torch import Tensor, nn

from colde_cli.learning.objectives.info_nce import TEMPERATURE, info_nce
from colde_cli.learning.towers.descent import Descent, Told
from colde_cli.learning.towers.pairs import PairOptions, Sentences, pair_rows


@dataclass(frozen=True, slots=True)
class UnsupervisedRecipe:
    """The options of a run; the defaults are the paper's.

    Attributes:
        pairs: the objective, and how its pairs are made.
        epochs: passes over the documents.
        batch_size: documents in a batch, whose positives are each other's negatives.
        learning_rate: AdamW's peak.
        weight_decay: AdamW's, decoupled.
        temperature: τ of InfoNCE.
        precision: "fp32" or "bf16" (autocast).
        seed: of batches, pairs and dropout.
    """

    pairs: PairOptions = field(default_factory=PairOptions)
    epochs: int = 1
    batch_size: int = 64
    learning_rate: float = 3e-5
    weight_decay: float = 0.01
    temperature: float = TEMPERATURE
    precision: Literal["fp32", "bf16"] = "fp32"
    seed: int = 0


def train_unsupervised(
    network: nn.Module,
    documents: Sequence[Sentences],
    specials: tuple[int, int],
    recipe: UnsupervisedRecipe,
    device: torch.device,
    told: Told = lambda values: None,
) -> tuple[float, ...]:
    """Train `network` in place, and leave it in evaluation mode.

    Args:
        network: any tower that reads one row of word pieces, with its pretrained weights.
        documents: at least two; an anchor alone in its batch has no negative.
        specials: ids of [CLS] and [SEP].
        recipe: how.
        device: where.
        told: of step, loss, learning rate and gradient norm.

    Returns:
        The mean loss of each epoch.

    Raises:
        ValueError: fewer than two documents, or no epoch.
    """
    if len(documents) < 2 or recipe.epochs < 1:
        raise ValueError("unsupervised training needs two documents and one epoch at least")
    torch.manual_seed(recipe.seed)
    rng = np.random.default_rng(recipe.seed)
    network.to(device).train()
    # Of about equal size: a last batch of a few documents would have hardly any negatives.
    per_epoch = min(-(-len(documents) // recipe.batch_size), len(documents) // 2)
    descent = Descent(network, per_epoch * recipe.epochs, recipe.learning_rate, recipe.weight_decay)
    losses: list[float] = []
    for _ in range(recipe.epochs):
        for part in np.array_split(rng.permutation(len(documents)), per_epoch):
            batch = [documents[int(number)] for number in part]
            rows = pair_rows(batch, recipe.pairs, specials, rng)
            anchors, positives = (torch.from_numpy(side).to(device) for side in rows)
            loss = pair_loss(network, anchors, positives, recipe)
            losses.append(loss.item())
            told({"step": len(losses), "loss": losses[-1], **descent.step(loss)})
    network.eval()
    return tuple(np.reshape(losses, (recipe.epochs, per_epoch)).mean(1).tolist())


def pair_loss(network: nn.Module, anchors: Tensor, positives: Tensor, recipe: UnsupervisedRecipe) -> Tensor:
    """InfoNCE of rows int64 [N, 1, L] and [N, 1, L']; each side has a dropout mask of its own."""
    with torch.autocast(anchors.device.type, torch.bfloat16, enabled=recipe.precision == "bf16"):
        vectors = [network(rows, torch.zeros_like(rows[:, :, 0])) for rows in (anchors, positives)]
    return info_nce(vectors[0], vectors[1], recipe.temperature)
