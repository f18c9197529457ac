"""LA(SER)³: elongation, pairs of every objective, InfoNCE by hand, and the loop."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from tokenizers import Tokenizer, models, pre_tokenizers
from torch import Tensor

from colde_cli.encoder.layout import TowerConfig
from colde_cli.learning.losses import info_nce
from colde_cli.learning.networks.bert import BertTower
from colde_cli.learning.towers.registry import LASER3
from colde_cli.learning.towers.unsupervised import (
    Objective,
    PairOptions,
    Sentences,
    UnsupervisedRecipe,
    elongate,
    intra_reference,
    make_pair,
    pair_loss,
    pair_rows,
    self_reference,
    simcse,
    specials_of,
    split_sentences,
    train_unsupervised,
    two_spans,
)

WORDS = 60
BACKBONE = {
    "model_type": "bert",
    "vocab_size": WORDS,
    "hidden_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 32,
    "max_position_embeddings": 32,
}
CPU = torch.device("cpu")
seeds = st.integers(0, 2**31)
counts = st.lists(st.integers(1, 9), min_size=1, max_size=8)


def on_circle(*degrees: float) -> Tensor:
    angles = torch.deg2rad(torch.tensor(degrees, dtype=torch.float64))
    return torch.stack([angles.cos(), angles.sin()], dim=1)


def document(lengths: list[int], first: int = 4) -> Sentences:
    """Sentences of these lengths, whose pieces count upwards."""
    starts = np.cumsum([0, *lengths[:-1]])
    return Sentences(np.arange(first, first + sum(lengths)), starts.astype(np.int64))


# Loss


def test_info_nce_by_hand() -> None:
    # cosines: 0-0 1, 0-90 0, 60-0 0.5, 60-90 0.866025
    loss = info_nce(on_circle(0, 60), on_circle(0, 90), 1.0)
    rows = [math.log(math.e + 1) - 1, math.log(math.exp(0.5) + math.exp(0.8660254)) - 0.8660254]
    assert rows == pytest.approx([0.313262, 0.526789], abs=1e-6)
    assert float(loss) == pytest.approx(sum(rows) / 2)
    sharp = info_nce(on_circle(0, 60), on_circle(0, 90))
    assert float(sharp) == pytest.approx(math.log1p(math.exp(-20)) / 2 + math.log1p(math.exp(-7.320508)) / 2)


def test_info_nce_of_twins_is_the_logarithm_of_their_number() -> None:
    assert float(info_nce(on_circle(*[30.0] * 8), on_circle(*[30.0] * 8))) == pytest.approx(math.log(8))
    assert float(info_nce(on_circle(10), on_circle(50))) == pytest.approx(0, abs=1e-12)


# Elongation


@given(st.integers(1, 300), st.integers(1, 254), seeds)
def test_elongation_never_exceeds_its_room(length: int, capacity: int, seed: int) -> None:
    pieces = np.arange(length)
    found = elongate(pieces, capacity, np.random.default_rng(seed))
    kept = min(length, capacity)
    assert kept <= len(found) <= capacity
    assert (found == np.arange(len(found)) % kept).all()
    assert len(elongate(pieces, capacity, np.random.default_rng(seed), "twice")) == kept * min(
        2, capacity // kept
    )


@pytest.mark.parametrize(("length", "most"), [(10, 25), (50, 5), (254, 1)])
def test_times_are_the_papers(length: int, most: int) -> None:
    rng = np.random.default_rng(0)
    times = {len(elongate(np.arange(length), 254, rng)) // length for _ in range(400)}
    assert times == set(range(1, most + 1))


def test_repeated_once_self_reference_is_simcse() -> None:
    pieces = np.arange(200)
    for pair in (self_reference(pieces, 254, np.random.default_rng(0)), simcse(pieces, 254)):
        assert [part.tolist() for part in pair] == [pieces.tolist()] * 2


# Pairs


def test_intra_reference_by_hand() -> None:
    rng = np.random.default_rng(1)
    anchor, positive = intra_reference(np.array([5, 6]), np.arange(7, 40), 8, rng, "twice")
    assert anchor.tolist() == [5, 6, 5, 6]
    assert positive.tolist() == list(range(7, 15))
    assert intra_reference(np.array([5]), np.zeros(0, np.int64), 1, rng)[1].tolist() == [5]


@given(counts, st.integers(1, 20), seeds)
def test_two_spans_are_apart_and_begin_with_sentences(lengths: list[int], capacity: int, seed: int) -> None:
    text = document(lengths)
    spans = two_spans(len(text.pieces), text.starts, capacity, np.random.default_rng(seed))
    first, second = sorted(spans, key=lambda span: span.start)
    assert all(1 <= span.stop - span.start <= capacity for span in spans)
    assert second.stop <= len(text.pieces)
    if len(text.pieces) > 1:
        assert first.stop <= second.start
    if len(lengths) > 1:
        assert {first.start, second.start} <= set(text.starts.tolist())


def test_two_spans_come_in_either_order() -> None:
    rng = np.random.default_rng(0)
    firsts = [two_spans(30, np.arange(0, 30, 3), 5, rng) for _ in range(60)]
    assert {a.start < b.start for a, b in firsts} == {True, False}


@given(counts, st.sampled_from(LASER3), st.sampled_from(["first", "random"]), seeds)
def test_every_pair_fits_and_comes_from_its_document(
    lengths: list[int], objective: Objective, anchor: Any, seed: int
) -> None:
    text = document(lengths)
    pair = make_pair(text, PairOptions(objective, 14, anchor), np.random.default_rng(seed))
    for side in pair:
        assert 1 <= len(side) <= 12
        assert set(side.tolist()) <= set(text.pieces.tolist())


def drawn(objective: Objective, seed: int, **options: Any) -> tuple[list[int], list[int]]:
    pair = make_pair(document([3, 4, 5]), PairOptions(objective, 16, **options), np.random.default_rng(seed))
    return pair[0].tolist(), pair[1].tolist()


def test_what_each_objective_pairs() -> None:
    sentence, rest = [4, 5, 6], list(range(7, 16))
    for seed in range(20):
        assert drawn("simcse", seed) == (sentence, sentence)
        anchor, positive = drawn("self-reference", seed)
        assert anchor == sentence
        assert positive == sentence * (len(positive) // 3)
        anchor, positive = drawn("intra-reference", seed)
        assert anchor == sentence * (len(anchor) // 3)
        assert positive == rest
    assert {len(drawn("self-reference", seed)[1]) for seed in range(40)} == {3, 6, 9, 12}


def test_plugged_into_two_spans_only_the_anchor_changes() -> None:
    text = document([3, 4, 5])
    for seed in range(30):
        spans = [
            text.pieces[span].tolist() for span in two_spans(12, text.starts, 14, np.random.default_rng(seed))
        ]
        plain = drawn("two-spans", seed)
        assert list(plain) == spans
        anchor, positive = drawn("self-reference+two-spans", seed)
        assert positive == spans[1]
        assert anchor == spans[0] * (len(anchor) // len(spans[0]))
        anchor, positive = drawn("intra-reference+two-spans", seed)
        place = text.starts.tolist().index(spans[0][0] - 4)
        first = text.sentence(place).tolist()
        assert positive == spans[1]
        assert anchor == first * (len(anchor) // len(first))


def test_a_random_anchor_may_be_any_sentence() -> None:
    firsts = {tuple(drawn("simcse", seed, anchor="random")[0]) for seed in range(40)}
    assert firsts == {(4, 5, 6), (7, 8, 9, 10), (11, 12, 13, 14, 15)}
    for seed in range(10):
        anchor, rest = drawn("intra-reference", seed, anchor="random")
        assert sorted(set(anchor) | set(rest)) == list(range(4, 16))
        assert not set(anchor) & set(rest)


def test_rows_carry_specials_once_and_each_side_has_its_own_width() -> None:
    documents = [document([2, 5]), document([3, 3], first=20)]
    rows = pair_rows(documents, PairOptions("self-reference", 12), (2, 3), np.random.default_rng(4))
    assert rows[0].tolist() == [[[2, 4, 5, 3, 0]], [[2, 20, 21, 22, 3]]]
    assert rows[1].shape[:2] == (2, 1)
    assert 5 < rows[1].shape[2] <= 12
    assert ((rows[1] == 2).sum(2) == 1).all()
    assert ((rows[1] == 3).sum(2) == 1).all()


def test_sentences_of_a_text() -> None:
    names = "[PAD] [UNK] [CLS] [SEP] . oak elm Ash Bay".split()
    tokenizer = Tokenizer(models.WordLevel({word: place for place, word in enumerate(names)}, "[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    found = split_sentences("Ash oak. Bay elm elm. Ash.", tokenizer)
    assert found is not None
    assert found.pieces.tolist() == [7, 5, 4, 8, 6, 6, 4, 7, 4]
    assert found.starts.tolist() == [0, 3, 7]
    assert found.sentence(1).tolist() == [8, 6, 6, 4]
    assert found.without(1).tolist() == [7, 5, 4, 7, 4]
    assert found.sentence(2).tolist() == [7, 4]
    cut = split_sentences("Ash oak. Bay elm elm. Ash.", tokenizer, limit=1)
    assert cut is not None
    assert cut.pieces.tolist() == [7, 5, 4]
    assert split_sentences(" ", tokenizer) is None
    assert specials_of(tokenizer) == (2, 3)


# The loop


def laser3_of() -> BertTower:
    torch.manual_seed(0)
    config = TowerConfig("laser3", "flat", 24, 1, 16, {"pool": "mean"}, BACKBONE, vocab_size=WORDS)
    network = BertTower(config)
    for weight in network.parameters():
        if weight.ndim > 1:
            torch.nn.init.normal_(weight, std=0.2)
    return network


def corpus(count: int = 24, seed: int = 0) -> list[Sentences]:
    """Documents whose sentences are of a few words of their own."""
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(count):
        words = rng.integers(4, WORDS, 4)
        lengths = rng.integers(3, 6, 4).tolist()
        starts = np.cumsum([0, *lengths[:-1]]).astype(np.int64)
        made.append(Sentences(rng.choice(words, sum(lengths)), starts))
    return made


@pytest.mark.parametrize("objective", ["self-reference", "intra-reference+two-spans"])
def test_training_lowers_the_loss_and_is_seeded(objective: Any) -> None:
    pairs = PairOptions(objective, 24)
    recipe = UnsupervisedRecipe(pairs, epochs=5, batch_size=8, learning_rate=5e-3, seed=2)
    told: list[dict[str, float]] = []
    first, second = laser3_of(), laser3_of()
    losses = train_unsupervised(first, corpus(), (2, 3), recipe, CPU, told.append)
    assert len(told) == 15
    assert set(told[0]) == {"step", "loss", "learning_rate", "gradient_norm"}
    assert losses[-1] < 0.7 * losses[0]
    assert not first.training
    assert train_unsupervised(second, corpus(), (2, 3), recipe, CPU) == losses
    state = second.state_dict()
    assert all(torch.equal(weight, state[name]) for name, weight in first.state_dict().items())


def test_simcse_has_two_dropout_masks() -> None:
    network = laser3_of().train()
    recipe = UnsupervisedRecipe(PairOptions("simcse", 24))
    rows = pair_rows(corpus(6), recipe.pairs, (2, 3), np.random.default_rng(0))
    anchors, positives = (torch.from_numpy(side) for side in rows)
    assert torch.equal(anchors, positives)
    with torch.no_grad():
        awake = network(anchors), network(positives)
        assert float((awake[0] - awake[1]).abs().max()) > 0.01
        network.eval()
        torch.testing.assert_close(network(anchors), network(positives))
        assert float(pair_loss(network, anchors, positives, recipe)) >= 0


@given(st.integers(2, 40), st.integers(1, 16))
@settings(deadline=None, max_examples=12)
def test_no_batch_is_larger_than_asked_and_none_is_alone(count: int, size: int) -> None:
    told: list[dict[str, float]] = []
    recipe = UnsupervisedRecipe(PairOptions("simcse", 8), batch_size=size)
    train_unsupervised(_Flat(), corpus(count), (2, 3), recipe, CPU, told.append)
    sizes = _Flat.seen[::2]
    assert sum(sizes) == count
    assert min(sizes) >= 2
    assert max(sizes) <= max(size, 3)
    assert len(sizes) == len(told)


class _Flat(torch.nn.Module):
    """A tower that notes how many documents it is shown."""

    seen: list[int]

    def __init__(self) -> None:
        super().__init__()
        self.table = torch.nn.Embedding(WORDS, 4)
        _Flat.seen = []

    def forward(self, rows: Tensor, paragraphs: Tensor) -> Tensor:
        _Flat.seen.append(len(rows))
        return torch.nn.functional.normalize(self.table(rows[:, 0]).mean(1), dim=-1)


def test_one_document_teaches_nothing() -> None:
    with pytest.raises(ValueError, match="two documents"):
        train_unsupervised(_Flat(), corpus(1), (2, 3), UnsupervisedRecipe(), CPU)
