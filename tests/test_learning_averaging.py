"""Averaged weights and weights drawn back to the pretrained ones."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from torch import nn

from colde_cli.learning.averaging import KeptWeights


def network() -> nn.ModuleDict:
    made = nn.ModuleDict({"encoder": nn.Linear(2, 2), "head": nn.Linear(2, 2)})
    with torch.no_grad():
        for weight in made.parameters():
            weight.fill_(1.0)
    made["encoder"].bias.requires_grad_(False)
    return made


def values(made: nn.ModuleDict) -> dict[str, float]:
    return {name: weight.detach().flatten()[0].item() for name, weight in made.named_parameters()}


def step(made: nn.ModuleDict, kept: KeptWeights, number: int) -> None:
    """Every trained weight grows by 1."""
    with torch.no_grad():
        for weight in made.parameters():
            weight.add_(float(weight.requires_grad))
    kept.follow(number)


def test_the_average_and_the_mix_by_hand() -> None:
    """Weights 1, 2, 3, 4 with d = 1/10, 2/11 and 1/5: averages 1, 1.9, 2.8, then 3.76."""
    made = network()
    kept = KeptWeights(made, decay=0.2, pretrained=0.25)
    for number in (1, 2, 3):
        step(made, kept, number)
    average = 1.0
    for weight, decay in ((2, 1 / 10), (3, 2 / 11), (4, 1 / 5)):
        average = decay * average + (1 - decay) * weight
    before = {name: weight.clone() for name, weight in made.state_dict().items()}
    with kept.in_place():
        shown = values(made)
    assert shown["head.weight"] == pytest.approx(average)
    assert shown["encoder.weight"] == pytest.approx(0.75 * average + 0.25 * 1.0)
    assert shown["encoder.bias"] == 1.0
    for name, weight in made.state_dict().items():
        assert torch.equal(weight, before[name]), name


def test_without_either_nothing_is_touched() -> None:
    made = network()
    kept = KeptWeights(made)
    step(made, kept, 1)
    assert not kept.averages
    with kept.in_place():
        assert values(made)["head.weight"] == values(made)["encoder.weight"] == 2.0


def test_the_mix_alone_takes_the_last_weights() -> None:
    made = network()
    kept = KeptWeights(made, pretrained=0.5)
    step(made, kept, 1)
    with kept.in_place():
        assert values(made)["encoder.weight"] == 1.5
        assert values(made)["head.weight"] == 2.0


def test_averages_go_on_from_a_checkpoint() -> None:
    made, other = network(), network()
    kept, resumed = KeptWeights(made, decay=0.9), KeptWeights(other, decay=0.9)
    for number in (1, 2):
        step(made, kept, number)
    other.load_state_dict(made.state_dict())
    resumed.restore({name: average.clone() for name, average in kept.averages.items()})
    step(made, kept, 3)
    step(other, resumed, 3)
    for name, average in kept.averages.items():
        assert torch.equal(average, resumed.averages[name])
