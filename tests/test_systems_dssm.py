"""DSSM against the sum over all trigrams that its sparse first layer stands for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from colde_cli.encoder.layout import SystemConfig
from colde_cli.encoder.packing import Rows, pack_trigrams, stack

if TYPE_CHECKING:
    import torch

    from colde_cli.systems.dssm import Dssm

pytestmark = pytest.mark.usefixtures("late_imports")

CONFIG = SystemConfig("dssm", "trigrams", 100, 2, 4, {"hidden": (6, 5)}, vocab_size=41)


def network() -> Dssm:
    torch.manual_seed(1)
    dssm = Dssm(CONFIG)
    for weight in dssm.parameters():
        torch.nn.init.normal_(weight)
    return dssm.eval()


def vectors(dssm: Dssm, *texts: Rows) -> np.ndarray:
    batch = stack(texts)
    with torch.no_grad():
        found: np.ndarray = dssm(torch.from_numpy(batch.ids), torch.from_numpy(batch.paragraphs)).numpy()
    return found


def by_hand(dssm: Dssm, counts: np.ndarray) -> np.ndarray:
    """The paper's dense network over counts [41] of all trigrams, weighted by log(1 + tf)."""
    weights = {name: weight.detach().numpy() for name, weight in dssm.named_parameters()}
    values: np.ndarray = np.log(1 + counts)
    values = np.tanh(values / np.linalg.norm(values) @ weights["trigrams.weight"] + weights["bias"])
    for layer in range(2):
        values = np.tanh(weights[f"layers.{layer}.weight"] @ values + weights[f"layers.{layer}.bias"])
    values /= np.linalg.norm(values)
    return values


def test_equals_the_dense_network() -> None:
    dssm = network()
    texts = [pack_trigrams(text, None, CONFIG) for text in ("good good wine", "The wine; a good, GOOD day")]
    for rows, vector in zip(texts, vectors(dssm, *texts), strict=True):
        counts = np.zeros(41)
        counts[rows.ids[0]] = rows.ids[1]
        np.testing.assert_allclose(vector, by_hand(dssm, counts), atol=1e-6)


def test_counts_weigh_by_their_logarithm() -> None:
    """tf 1 and 3 are log 2 and log 4, which are 1 : 2: together (1, 2) / √5 of the two rows of the table."""
    dssm = network()
    with torch.no_grad():
        dssm.trigrams.weight.zero_()
        dssm.trigrams.weight[7, 0], dssm.trigrams.weight[9, 1] = 1.0, 1.0
        dssm.bias.zero_()
    seen: list[torch.Tensor] = []
    dssm.layers[0].register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    vectors(dssm, Rows.of([[7, 9], [1, 3]]))
    expected = np.tanh([1 / np.sqrt(5), 2 / np.sqrt(5), 0, 0, 0, 0])
    np.testing.assert_allclose(seen[0].numpy()[0], expected, atol=1e-6)


def test_texts_are_told_apart_before_any_training() -> None:
    """Zero biases: an untrained tower is a random projection, and does not call all texts the same."""
    torch.manual_seed(1)
    dssm = Dssm(SystemConfig("dssm", "trigrams", 100, 2, 64, {"hidden": (64, 64)}, vocab_size=2**15 + 1))
    one, other, near = vectors(
        dssm.eval(),
        *(
            pack_trigrams(text, None, SystemConfig("dssm", "trigrams", 100, 2, 64, vocab_size=2**15 + 1))
            for text in ("queen of the hive", "a rudder and keel", "queens of a hive")
        ),
    )
    assert one @ near > 0.5
    assert abs(one @ other) < 0.5
