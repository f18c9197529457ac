"""The weights that are validated and kept: averaged over the steps, and drawn back to the pretrained ones."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

_BACKBONE = "encoder."


class KeptWeights:
    """Follows the weights that a run trains.

    - Averaging (Polyak & Juditsky 1992, as an exponential moving average): ā ← d ā + (1 - d) w after every step, where
      d is at most `decay` and smaller in the first steps, so that the start is soon forgotten.
    - Interpolation (WiSE-FT, Wortsman et al. 2022, eq. 1): (1 - α) ā + α w₀ for the backbone, whose weights before
      training are w₀. It keeps more of what the backbone knew about texts unlike the training data.
    """

    def __init__(self, network: nn.Module, decay: float = 0.0, pretrained: float = 0.0) -> None:
        """Follow the weights of `network` from where they are now; 0 and 0 keep them as they are.

        Args:
            network: its weights that require gradients are followed; those before training are these.
            decay: d; 0 for no average.
            pretrained: α; 0 for no interpolation.
        """
        self._weights = {name: weight for name, weight in network.named_parameters() if weight.requires_grad}
        self._decay, self._pretrained = decay, pretrained
        backbone = [name for name in self._weights if name.startswith(_BACKBONE)] if pretrained else []
        self._before = {name: self._weights[name].detach().clone() for name in backbone}
        followed = self._weights if decay else {}
        self.averages = {name: weight.detach().clone() for name, weight in followed.items()}

    @torch.no_grad()
    def follow(self, step: int) -> None:
        """Take the weights after step number `step`, counted from 1, into the averages."""
        decay = min(self._decay, step / (step + 9))
        for name, average in self.averages.items():
            average.lerp_(self._weights[name], 1 - decay)

    @torch.no_grad()
    def restore(self, averages: dict[str, Tensor]) -> None:
        """Take the averages of a checkpoint."""
        for name, average in self.averages.items():
            average.copy_(averages[name])

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """Give the network the weights to be kept, for as long as the context lasts."""
        changed = self._before.keys() | self.averages.keys()
        trained = {name: self._weights[name].detach().clone() for name in changed}
        self._set({name: self._kept(name) for name in changed})
        yield
        self._set(trained)

    def _kept(self, name: str) -> Tensor:
        weight = self.averages.get(name, self._weights[name]).detach()
        return weight.lerp(self._before[name], self._pretrained) if name in self._before else weight

    @torch.no_grad()
    def _set(self, weights: dict[str, Tensor]) -> None:
        for name, weight in weights.items():
            self._weights[name].copy_(weight)
