"""What every tower over words or letters owes under the same tests, and what ARC-I and DSSM owe by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
import onnxruntime as ort
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from system_texts import VOCABULARY, padded, text_on, word_tokenizer

from colde_cli.documents.chunking import TextTokenizer
from colde_cli.encoder.layout import SystemConfig
from colde_cli.encoder.packing import Rows, pack_sentences, pack_trigrams, stack

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn

    from colde_cli.learning.graphs import write_graph
    from colde_cli.systems.arci import ArcI
    from colde_cli.systems.base import System
    from colde_cli.systems.dssm import Dssm
    from colde_cli.systems.han import Han
    from colde_cli.systems.smash import Smash

pytestmark = pytest.mark.usefixtures("late_imports")

TOKENIZER = word_tokenizer()


def pack_words(text: str, tokenizer: TextTokenizer, config: SystemConfig) -> Rows:
    """One row of all words, as the packing "flat" but for its specials."""
    return Rows.of([tokenizer.encode(text, add_special_tokens=False).ids[: config.row_tokens]])


@dataclass(frozen=True)
class Case:
    """A tower at tiny size and what it reads."""

    network: Callable[[], type[System]]
    pack: Callable[[str, TextTokenizer, SystemConfig], Rows]
    config: SystemConfig

    def build(self) -> nn.Module:
        torch.manual_seed(5)
        return self.network()(self.config).eval()

    def rows(self, text: str) -> Rows:
        return self.pack(text, TOKENIZER, self.config)

    def run(self, network: nn.Module, texts: Sequence[str], more_rows: int = 0, more_tokens: int = 0) -> Tensor:
        rows = padded(stack([self.rows(text) for text in texts]), more_rows, more_tokens)
        vectors: Tensor = network(torch.from_numpy(rows.ids), torch.from_numpy(rows.paragraphs))
        return vectors


def case(
    network: Callable[[], type[System]],
    pack: Callable[[str, TextTokenizer, SystemConfig], Rows],
    row_tokens: int,
    dim: int,
    vocab_size: int = VOCABULARY,
    **sizes: Any,
) -> Case:
    config = SystemConfig("test", pack.__name__, row_tokens, 20, dim, sizes, vocab_size=vocab_size)
    return Case(network, pack, config)


CASES = {
    "dssm": case(lambda: Dssm, pack_trigrams, 200, 12, vocab_size=501, hidden=(24, 16)),
    "arci": case(lambda: ArcI, pack_words, 200, 12, embedding=16, channels=(16, 20, 24)),
    "han": case(lambda: Han, pack_sentences, 6, 24, embedding=16, hidden=12),
    "smash": case(lambda: Smash, pack_sentences, 6, 48, embedding=16, hidden=8),
}
TEXTS = [
    text_on("bees", 0), "Sail.", text_on("boats", 1, paragraphs=4), text_on("birds", 2, paragraphs=1),
    "Hive queen.\n\nDough.",
]  # fmt: skip

every_tower = pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())


def close(left: Tensor, right: Tensor) -> None:
    torch.testing.assert_close(left, right, atol=1e-5, rtol=0)


@every_tower
def test_one_vector_of_unit_length_per_text(case: Case) -> None:
    vectors = case.run(case.build(), TEXTS)
    assert vectors.dtype == torch.float32
    assert vectors.shape == (len(TEXTS), case.config.dim)
    close(vectors.norm(dim=1), torch.ones(len(TEXTS)))
    assert (vectors[0] - vectors[2]).abs().max() > 1e-4


@every_tower
@given(random=st.randoms(use_true_random=False), more_rows=st.integers(0, 3), more_tokens=st.integers(0, 4))
@settings(deadline=None, max_examples=8)
def test_vector_ignores_padding_mates_and_order(case: Case, random: Random, more_rows: int, more_tokens: int) -> None:
    network = case.build()
    texts = [*TEXTS, ""]  # a text of nothing must not spoil its mates
    random.shuffle(texts)
    together = case.run(network, texts, more_rows, more_tokens)
    assert together.isfinite().all()
    for text, vector in zip(texts, together, strict=True):
        close(case.run(network, [text])[0], vector)


@every_tower
def test_every_word_counts(case: Case) -> None:
    network = case.build()
    text = text_on("bread", 3, paragraphs=3).removesuffix(".")
    words = text.split(" ")
    before = case.run(network, [text])
    for place in (0, len(words) // 2, len(words) - 1):
        changed = [*words[:place], "feather" + ("." if words[place].endswith(".") else ""), *words[place + 1 :]]
        assert (case.run(network, [" ".join(changed)]) - before).abs().max() > 1e-6


@every_tower
def test_gradient_reaches_every_weight(case: Case) -> None:
    network = case.build()
    vectors = case.run(network, TEXTS)
    scores = [(vectors[0] * vectors[2]).sum(), (vectors[1] * vectors[4]).sum()]
    if hasattr(network, "pair_logits"):
        scores.append(network.pair_logits(vectors, vectors.flip(0)).sum())  # type: ignore[operator]
    torch.stack(scores).sum().backward()  # type: ignore[no-untyped-call]
    for name, weight in network.named_parameters():
        assert weight.grad is not None, name
        assert weight.grad.abs().max() > 0, name
        assert weight.grad.isfinite().all(), name


@pytest.mark.slow
@every_tower
def test_graph_equals_pytorch_for_any_shape(case: Case, tmp_path: Path) -> None:
    network = case.build()
    rows = stack([case.rows(TEXTS[0])])
    example = {"rows": torch.from_numpy(rows.ids), "paragraphs": torch.from_numpy(rows.paragraphs)}
    axes = {"rows": {1: "rows", 2: "tokens"}, "paragraphs": {1: "rows"}}
    write_graph(network, example, axes, {"vectors": {}}, tmp_path / "tower.onnx")
    options = ort.SessionOptions()
    options.log_severity_level = 4
    session = ort.InferenceSession(tmp_path / "tower.onnx", options, providers=["CPUExecutionProvider"])
    wanted = {item.name for item in session.get_inputs()}
    for text in (*TEXTS, "", text_on("boats", 7, paragraphs=9)):
        for padding in (0, 3):
            rows = padded(stack([case.rows(text)]), padding, padding)
            feed = {"rows": rows.ids, "paragraphs": rows.paragraphs}
            (vectors,) = session.run(None, {name: feed[name] for name in wanted})
            expected = case.run(network, [text]).detach().numpy()
            assert vectors.shape == (1, case.config.dim)
            np.testing.assert_allclose(vectors, expected, atol=1e-5)


@pytest.mark.parametrize("name", ["arci", "han", "smash"])
def test_dropout_is_for_training_alone(name: str) -> None:
    sure = CASES[name]
    network = sure.network()(replace(sure.config, network={**sure.config.network, "dropout": 0.5}))
    assert (sure.run(network, TEXTS) - sure.run(network, TEXTS)).abs().max() > 1e-4
    close(sure.run(network.eval(), TEXTS), sure.run(network, TEXTS))


def test_sizes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="24 numbers, not 25"):
        Han(SystemConfig("han", "sentences", 6, 20, 25, {"hidden": 12}, vocab_size=9))
    with pytest.raises(ValueError, match="72 numbers, not 24"):
        Smash(SystemConfig("smash", "sentences", 6, 20, 24, {"hidden": 12}, vocab_size=9))


# ARC-I


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


# DSSM

DSSM = SystemConfig("dssm", "trigrams", 100, 2, 4, {"hidden": (6, 5)}, vocab_size=41)


def random_dssm() -> Dssm:
    torch.manual_seed(1)
    dssm = Dssm(DSSM)
    for weight in dssm.parameters():
        torch.nn.init.normal_(weight)
    return dssm.eval()


def vectors_of(dssm: Dssm, *texts: Rows) -> np.ndarray:
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
    dssm = random_dssm()
    texts = [pack_trigrams(text, None, DSSM) for text in ("good good wine", "The wine; a good, GOOD day")]
    for rows, vector in zip(texts, vectors_of(dssm, *texts), strict=True):
        counts = np.zeros(41)
        counts[rows.ids[0]] = rows.ids[1]
        np.testing.assert_allclose(vector, by_hand(dssm, counts), atol=1e-6)


def test_counts_weigh_by_their_logarithm() -> None:
    """tf 1 and 3 are log 2 and log 4, which are 1 : 2: together (1, 2) / √5 of the two rows of the table."""
    dssm = random_dssm()
    with torch.no_grad():
        dssm.trigrams.weight.zero_()
        dssm.trigrams.weight[7, 0], dssm.trigrams.weight[9, 1] = 1.0, 1.0
        dssm.bias.zero_()
    seen: list[torch.Tensor] = []
    dssm.layers[0].register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    vectors_of(dssm, Rows.of([[7, 9], [1, 3]]))
    expected = np.tanh([1 / np.sqrt(5), 2 / np.sqrt(5), 0, 0, 0, 0])
    np.testing.assert_allclose(seen[0].numpy()[0], expected, atol=1e-6)


def test_texts_are_told_apart_before_any_training() -> None:
    """Zero biases: an untrained tower is a random projection, and does not call all texts the same."""
    torch.manual_seed(1)
    dssm = Dssm(SystemConfig("dssm", "trigrams", 100, 2, 64, {"hidden": (64, 64)}, vocab_size=2**15 + 1))
    one, other, near = vectors_of(
        dssm.eval(),
        *(
            pack_trigrams(text, None, SystemConfig("dssm", "trigrams", 100, 2, 64, vocab_size=2**15 + 1))
            for text in ("queen of the hive", "a rudder and keel", "queens of a hive")
        ),
    )
    assert one @ near > 0.5
    assert abs(one @ other) < 0.5
