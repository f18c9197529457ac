"""ARC-I on values that can be worked out by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from colde_cli.encoder.layout import SystemConfig

if TYPE_CHECKING:
    import torch

    from colde_cli.systems.arci import ArcI

pytestmark = pytest.mark.usefixtures("late_imports")


def summing(bias: float = 0.0) -> ArcI:
    """Every word is 1, every convolution adds three neighbours, and the vector is (value, 6), normalised."""
    sizes = {"embedding": 1, "channels": (1, 1, 1)}
    arci = ArcI(SystemConfig("arci", "flat", 20, 1, 2, sizes, vocab_size=5)).eval()
    with torch.no_grad():
        arci.embedding.weight.fill_(1.0)  # padding too: the mask must keep it out
        for name, weight in arci.convolutions.named_parameters():
            weight.fill_(bias if name.endswith("bias") else 1.0)
        arci.output.weight.copy_(torch.tensor([[1.0], [0.0]]))
        arci.output.bias.copy_(torch.tensor([0.0, 6.0]))
    return arci


def value_of(arci: ArcI, words: int, padding: int = 0) -> float:
    rows = torch.tensor([[[*[3] * words, *[0] * padding]]])
    with torch.no_grad():
        (vector,) = arci(rows, torch.zeros(1, 1, dtype=torch.int64))
    return float(6 * vector[0] / vector[1])


@pytest.mark.parametrize("padding", [0, 1, 2, 7])
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (1, 1),  # 1 -> 1 -> 1
        (2, 2),  # 2 2 | 2 -> 2 -> 2
        (3, 5),  # 2 3 2 | 3 2 -> 5 5 | 5 -> 5
        (4, 6),  # 2 3 3 2 | 3 3 -> 6 6 | 6 -> 6
        (5, 13),  # 2 3 3 3 2 | 3 3 2 -> 6 8 5 | 8 5 -> 13 13 | 13
        (8, 18),  # 2 3 3 3 3 3 3 2 | 3 3 3 3 -> 6 9 9 6 | 9 9 -> 18 18 | 18
    ],
)
def test_convolution_of_a_constant(words: int, expected: float, padding: int) -> None:
    assert value_of(summing(), words, padding) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("padding", [0, 1, 5])
def test_a_bias_does_not_leak_out_of_padding(padding: int) -> None:
    """One word: 1 + 10, 11 + 10, 21 + 10; a biased padding position beside it would add to that."""
    assert value_of(summing(bias=10.0), 1, padding) == pytest.approx(31, rel=1e-5)


def test_a_phrase_counts_the_same_wherever_it_stands() -> None:
    torch.manual_seed(2)
    sizes = {"embedding": 4, "channels": (8,)}
    arci = ArcI(SystemConfig("arci", "flat", 20, 1, 6, sizes, vocab_size=9)).eval()
    filler, phrase = [1] * 4, [5, 6, 7, 8]
    early, late = [*filler, *phrase, *filler, *filler], [*filler, *filler, *phrase, *filler]
    other = [*filler, *filler, *reversed(phrase), *filler]
    with torch.no_grad():
        vectors = arci(torch.tensor([[early], [late], [other]]))
    torch.testing.assert_close(vectors[0], vectors[1])
    assert (vectors[0] - vectors[2]).abs().max() > 1e-3
