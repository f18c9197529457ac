"""A small CoLDE, a batch for it and its gradients. Needs torch: import it late."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from colde_cli.encoder.layout import ModelConfig
from colde_cli.learning.colde import Colde
from colde_cli.learning.gradient_cache import cached_backward
from colde_cli.learning.losses import supcon
from colde_cli.learning.processes import Processes

LENGTHS = (5, 3, 9, 9, 4, 7, 6, 3)
SECTIONS = torch.tensor([0, 0, 1, 1, 0, 0, 1, 1])
NUMBERS = torch.tensor([0, 1] * 4)


def model(dropout: float, chunk_position: str = "post") -> Colde:
    backbone = {
        "model_type": "bert", "vocab_size": 40, "hidden_size": 16, "num_hidden_layers": 2,
        "num_attention_heads": 2, "intermediate_size": 32, "hidden_dropout_prob": dropout,
        "attention_probs_dropout_prob": dropout, "max_position_embeddings": 16, "type_vocab_size": 2,
        "pad_token_id": 0,
    }  # fmt: skip
    torch.manual_seed(1)
    config = ModelConfig(
        backbone=backbone,
        backbone_name="test",
        chunk_position=chunk_position,  # type: ignore[arg-type]
        attention_heads=2,
        lstm_hidden=8,
        projection=8,
        dropout=dropout,
    )
    return Colde(config).train()


def batch(lengths: tuple[int, ...] = LENGTHS) -> list[NDArray[np.int32]]:
    generator = np.random.default_rng(2)
    return [generator.integers(1, 40, length).astype(np.int32) for length in lengths]


def loss_with(colde: Colde) -> Callable[[Tensor], Tensor]:
    """SupCon over two documents of two sections of two chunks each; the sections attend to one another."""

    def loss_of(vectors: Tensor) -> Tensor:
        head = colde.head(
            vectors.view(4, 2, -1),
            torch.full((4,), 2),
            torch.tensor([1, 0, 3, 2]),
            torch.tensor([0, 1, 0, 1]),
            torch.arange(2).expand(4, 2),
        )
        document = torch.tensor([0, 0, 1, 1])
        return supcon(head.vectors, document[:, None] == document[None, :], 0.5)

    return loss_of


def positions(colde: Colde) -> dict[str, Any]:
    return {"section_ids": SECTIONS, "chunk_ids": NUMBERS} if colde.encoder.takes_positions else {}


def write_gradients(path: Path, dropout: float, processes: Processes) -> None:
    """Write down what one batch gives, of a gradient that holds ones already."""
    colde = model(dropout, "input")
    for weight in colde.encoder.parameters():
        weight.grad = torch.ones_like(weight)
    torch.manual_seed(3)
    loss = cached_backward(
        colde.encoder, batch(), loss_with(colde), micro_tokens=20, processes=processes, **positions(colde)
    )
    found = {name: weight.grad.numpy() for name, weight in colde.named_parameters() if weight.grad is not None}
    np.savez(path, allow_pickle=False, loss=loss.numpy(), after=torch.rand(4).numpy(), **found)
