"""LA(SER)³: pairs of every objective, InfoNCE by hand, and the loop."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from system_texts import text_on, word_tokenizer

from colde_cli.encoder.layout import SystemConfig
from colde_cli.errors import DataError

if TYPE_CHECKING:
    import torch
    from tiny_networks import Bag, on_circle

    from colde_cli.learning.losses import info_nce
    from colde_cli.systems.base import Pretraining
    from colde_cli.systems.bert import OBJECTIVES as KNOWN
    from colde_cli.systems.bert import SBert, make_pair, pretrain_pairs, split_sentences

pytestmark = pytest.mark.usefixtures("late_imports")

OBJECTIVES = ("simcse", "self-reference", "intra-reference")
TOKENIZER = word_tokenizer()
WORDS = TOKENIZER.get_vocab_size()
BACKBONE = {
    "model_type": "bert", "vocab_size": WORDS, "hidden_size": 16, "num_hidden_layers": 1,
    "num_attention_heads": 2, "intermediate_size": 32, "max_position_embeddings": 32,
}  # fmt: skip
SENTENCE, REST = np.array([4, 5, 6]), np.arange(7, 16)


def test_info_nce_by_hand() -> None:
    # cosines: 0-0 1, 0-90 0, 60-0 0.5, 60-90 0.866025
    loss = info_nce(on_circle(0, 60), on_circle(0, 90), 1.0)
    rows = [math.log(math.e + 1) - 1, math.log(math.exp(0.5) + math.exp(0.8660254)) - 0.8660254]
    assert float(loss) == pytest.approx(sum(rows) / 2)
    sharp = info_nce(on_circle(0, 60), on_circle(0, 90))
    assert float(sharp) == pytest.approx(math.log1p(math.exp(-20)) / 2 + math.log1p(math.exp(-7.320508)) / 2)
    assert float(info_nce(on_circle(*[30.0] * 8), on_circle(*[30.0] * 8))) == pytest.approx(math.log(8))


def drawn(objective: str, seed: int, capacity: int = 14) -> tuple[list[int], list[int]]:
    pair = make_pair((SENTENCE, REST), objective, capacity, np.random.default_rng(seed))
    return pair[0].tolist(), pair[1].tolist()


def test_what_each_objective_pairs() -> None:
    assert KNOWN == OBJECTIVES
    sentence, rest = SENTENCE.tolist(), REST.tolist()
    for seed in range(20):
        assert drawn("simcse", seed) == (sentence, sentence)
        anchor, positive = drawn("self-reference", seed)
        assert (anchor, positive) == (sentence, sentence * (len(positive) // 3))
        anchor, positive = drawn("intra-reference", seed)
        assert (anchor, positive) == (sentence * (len(anchor) // 3), rest)
    # m is drawn from all numbers that fit.
    assert {len(drawn("self-reference", seed)[1]) for seed in range(40)} == {3, 6, 9, 12}
    alone = make_pair((SENTENCE, REST[:0]), "intra-reference", 4, np.random.default_rng(0))
    assert [side.tolist() for side in alone] == [sentence, sentence]


@given(
    st.integers(1, 300), st.integers(0, 300), st.integers(1, 254), st.sampled_from(OBJECTIVES), st.integers(0, 2**31)
)
def test_every_pair_fits_and_comes_from_its_document(
    length: int, more: int, capacity: int, objective: str, seed: int
) -> None:
    document = np.arange(length), np.arange(length, length + more)
    for side in make_pair(document, objective, capacity, np.random.default_rng(seed)):
        assert 1 <= len(side) <= capacity
        assert set(side.tolist()) <= set(range(length + more))


def test_sentences_of_a_text() -> None:
    ids = [TOKENIZER.token_to_id(word) for word in "hive near . keel mast mast".split()]
    split = split_sentences("Hive near. Keel mast mast.", TOKENIZER)
    assert split is not None
    assert [part.tolist() for part in split] == [ids[:3], [*ids[3:], ids[2]]]
    assert split_sentences(" ", TOKENIZER) is None


def texts(count: int) -> list[str]:
    subjects = ("bees", "boats", "bread", "birds")
    return [text_on(subjects[number % 4], number) for number in range(count)]


def bert() -> SBert:
    torch.manual_seed(0)
    network = SBert(SystemConfig("sbert", "flat", 24, 1, 16, {"pool": "mean"}, BACKBONE, vocab_size=WORDS))
    for weight in network.parameters():
        if weight.ndim > 1:
            torch.nn.init.normal_(weight, std=0.2)
    return network


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_training_lowers_the_loss_and_is_seeded(objective: str) -> None:
    told: list[int] = []
    options = Pretraining(objective, 5, 8, 5e-3, seed=2, told=told.append)
    first, second = bert(), bert()
    losses = pretrain_pairs(first, texts(24), TOKENIZER, 24, options)
    assert sum(told) == 15
    # Two dropout masks of one sentence are near each other from the start.
    assert losses[-1] < 0.95 * losses[0]
    assert not first.training
    assert pretrain_pairs(second, texts(24), TOKENIZER, 24, options) == losses
    state = second.state_dict()
    assert all(torch.equal(weight, state[name]) for name, weight in first.state_dict().items())


@given(st.integers(2, 40), st.integers(1, 16))
@settings(deadline=None, max_examples=8)
def test_no_batch_is_larger_than_asked_and_none_is_alone(count: int, size: int) -> None:
    network, told = Bag(WORDS, 4), list[int]()
    options = Pretraining("simcse", 1, size, 3e-5, told=told.append)
    pretrain_pairs(network, texts(count), TOKENIZER, 24, options)
    sizes = [len(rows) for rows in network.seen[::2]]
    assert sum(sizes) == count
    assert min(sizes) >= 2
    assert max(sizes) <= max(size, 3)
    assert len(sizes) == len(told)


def test_rows_carry_specials_once_and_each_side_has_its_own_width() -> None:
    network = Bag(WORDS, 4)
    pretrain_pairs(network, texts(8), TOKENIZER, 40, Pretraining("self-reference", 1, 8, 3e-5))
    anchors, positives = network.seen
    assert anchors.shape[2] < positives.shape[2] <= 40
    for special in (2, 3):
        assert all(bool(((rows == special).sum(2) == 1).all()) for rows in (anchors, positives))


def test_one_document_teaches_nothing() -> None:
    options: Any = Pretraining("simcse", 1, 64, 3e-5)
    with pytest.raises(DataError, match="two training documents"):
        pretrain_pairs(Bag(WORDS, 4), ["", *texts(1)], TOKENIZER, 24, options)
