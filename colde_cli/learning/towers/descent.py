"""One step of training, for the loops that have no validation pairs: AdamW, warm-up, clipping."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from colde_cli.learning.loop import CLIP, parameter_groups, rate_factor

Told = Callable[[dict[str, float]], None]
"""Told of every step by the names of its figures."""


class Descent:
    """AdamW over what of a module is trained: 10 % of the steps warm up, the rest falls to zero."""

    def __init__(self, module: nn.Module, steps: int, learning_rate: float, weight_decay: float) -> None:
        self._weights = [weight for weight in module.parameters() if weight.requires_grad]
        groups = parameter_groups(module, weight_decay)
        self._optimiser = torch.optim.AdamW(groups, learning_rate, betas=(0.9, 0.999), eps=1e-6)
        self._schedule = torch.optim.lr_scheduler.LambdaLR(self._optimiser, rate_factor(steps))

    def step(self, loss: Tensor) -> dict[str, float]:
        """Go down the gradient of `loss`; the learning rate and the norm of the gradient before clipping."""
        loss.backward()  # type: ignore[no-untyped-call]
        norm = nn.utils.clip_grad_norm_(self._weights, CLIP)
        rate = float(self._schedule.get_last_lr()[0])
        self._optimiser.step()
        self._schedule.step()
        self._optimiser.zero_grad(set_to_none=True)
        return {"learning_rate": rate, "gradient_norm": float(norm)}
