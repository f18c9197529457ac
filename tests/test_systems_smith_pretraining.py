"""Masked words and masked sentence blocks: what is hidden, the losses by hand, and the loop."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models

from colde_cli.encoder.layout import SystemConfig
from colde_cli.encoder.packing import Rows, stack
from colde_cli.errors import OptionError

if TYPE_CHECKING:
    import torch

    from colde_cli.learning.losses import block_means, masked_block_loss
    from colde_cli.systems.base import Pretraining
    from colde_cli.systems.smith import (
        MaskedBatch,
        MaskingVocabulary,
        Smith,
        SmithPretraining,
        draw_blocks,
        mask_words,
        pretrain_blocks,
    )

pytestmark = pytest.mark.usefixtures("late_imports")

WORDS, MASK = 30, 4
SIZES = {"hidden": 16, "heads": 2, "intermediate": 32, "sentence_layers": 1, "document_layers": 1}


def vocabulary() -> MaskingVocabulary:
    return MaskingVocabulary(WORDS, MASK, (0, 1, 2, 3, 4))


def blocks_of(lengths: list[int], seed: int = 0) -> np.ndarray:
    """int64 [B, L]: [CLS], so many words, [SEP], zeros."""
    rng = np.random.default_rng(seed)
    rows = np.zeros((len(lengths), max(lengths) + 2), np.int64)
    for row, length in zip(rows, lengths, strict=True):
        row[0] = 2
        row[1 : length + 1] = rng.integers(5, WORDS, length)
        row[length + 1] = 3
    return rows


# Masked words


@given(st.lists(st.integers(0, 30), min_size=1, max_size=12), st.integers(0, 2**31))
def test_fifteen_percent_of_each_blocks_words_are_chosen(lengths: list[int], seed: int) -> None:
    rows = blocks_of(lengths, seed)
    shown, chosen = mask_words(rows, vocabulary(), np.random.default_rng(seed))
    for length, count in zip(lengths, chosen.sum(1).tolist(), strict=True):
        assert count == (max(1, round(0.15 * length)) if length else 0)
    assert not (chosen & (rows < 5)).any()
    assert (shown[~chosen] == rows[~chosen]).all()
    assert set(shown[chosen].tolist()) <= {MASK, *range(5, WORDS)}


def test_of_the_chosen_words_eight_in_ten_are_masked_and_one_is_another_word() -> None:
    rows = blocks_of([20] * 4000)
    masked, chosen = mask_words(rows, vocabulary(), np.random.default_rng(1))
    shown, words = masked[chosen], rows[chosen]
    assert len(words) == 4000 * 3
    assert (shown == MASK).mean() == pytest.approx(0.8, abs=0.015)
    # A word drawn at random is the old one once in 25.
    assert (shown == words).mean() == pytest.approx(0.1 + 0.1 / 25, abs=0.012)
    places = np.nonzero(chosen)[1]
    assert np.bincount(places, minlength=22)[1:21] / 4000 == pytest.approx(0.15, abs=0.03)


def test_every_block_weighs_the_same() -> None:
    losses, blocks = torch.tensor([1.0, 3.0, 5.0, 8.0]), torch.tensor([0, 0, 2, 2])
    assert float(block_means(losses, blocks)) == pytest.approx((2 + 6.5) / 2)
    assert float(block_means(losses[:0], blocks[:0])) == 0


def test_the_vocabulary_of_a_tokenizer() -> None:
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "oak", "elm"]
    tokenizer = Tokenizer(models.WordLevel({word: place for place, word in enumerate(words)}, "[UNK]"))
    assert MaskingVocabulary.of(tokenizer, 7) == MaskingVocabulary(7, 4, (0, 1, 2, 3, 4))
    with pytest.raises(OptionError, match=r"\[MASK\]"):
        MaskingVocabulary.of(Tokenizer(models.WordLevel({"[PAD]": 0, "[UNK]": 1}, "[UNK]")), 2)


# Masked blocks


@given(st.lists(st.integers(1, 9), min_size=1, max_size=8), st.integers(0, 2**31))
def test_only_real_blocks_are_hidden_and_one_stays(counts: list[int], seed: int) -> None:
    present = np.arange(max(counts)) < np.array(counts)[:, None]
    hidden = draw_blocks(present, np.random.default_rng(seed))
    assert not (hidden & ~present).any()
    assert hidden.sum(1).tolist() == [min(2, count - 1) for count in counts]


def test_block_loss_by_hand() -> None:
    predictions = torch.tensor([[1.0, 0.0], [0.0, 2.0]])
    blocks = torch.eye(2)
    # Scores [[1, 0], [0, 2]]: log(1 + e^-1) = 0.313262 and log(1 + e^-2) = 0.126928
    assert float(masked_block_loss(predictions, blocks)) == pytest.approx(0.220095, abs=1e-6)
    # The wrong way round: log(1 + e) and log(1 + e^2)
    assert float(masked_block_loss(predictions.flip(0), blocks)) == pytest.approx(1.720095, abs=1e-6)
    third = torch.cat([predictions, torch.zeros(1, 2)]), torch.cat([blocks, torch.zeros(1, 2)])
    by_hand = (math.log(2 + math.e) - 1 + math.log(2 + math.e**2) - 2 + math.log(3)) / 3
    assert float(masked_block_loss(*third)) == pytest.approx(by_hand, abs=1e-6)


# The network with its heads, and the loop


def smith_of(std: float = 0.2, **changes: Any) -> Smith:
    torch.manual_seed(0)
    network = Smith(SystemConfig("smith", "blocks", 12, 8, 16, {**SIZES, **changes}, vocab_size=WORDS))
    for weight in network.parameters():
        # BERT's own beginning is for layers that are wider by far: in this one every text would look the same.
        if weight.ndim > 1:
            torch.nn.init.normal_(weight, std=std)
    return network


def texts(count: int = 12, seed: int = 0) -> list[Rows]:
    """Documents whose blocks are runs of a few words, so that there is something to guess."""
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(count):
        word = 5 + int(rng.integers(0, 6)) * 4
        rows = [[2, *(word + rng.integers(0, 2, 6)).tolist(), 3] for _ in range(int(rng.integers(3, 6)))]
        made.append(Rows.of(rows))
    return made


def heads_of(objective: Any, std: float = 0.2) -> tuple[SmithPretraining, tuple[Any, ...]]:
    batch = MaskedBatch.of(stack(texts()).ids.astype(np.int64), vocabulary(), objective, np.random.default_rng(0))
    heads = SmithPretraining(smith_of(std, dropout=0.0))
    return heads, tuple(None if array is None else torch.from_numpy(array) for array in batch)


def test_losses_of_an_untrained_network_are_those_of_guessing() -> None:
    heads, batch = heads_of("wp+sp", std=0.02)
    losses = heads(*batch)
    hidden = int(batch[3].sum())
    assert hidden == 24
    assert losses.words.item() == pytest.approx(math.log(WORDS), abs=0.1)
    assert losses.blocks.item() == pytest.approx(math.log(hidden), abs=0.1)


def test_gradients_reach_both_transformers_and_both_heads() -> None:
    heads, batch = heads_of("wp+sp")
    sum(heads(*batch)).backward()
    # These two make d, of which pre-training knows nothing.
    unused = ("smith.blocks.pooler.", "smith.document_dense.")
    lacking = {name for name, weight in heads.named_parameters() if weight.grad is None}
    assert all(name.startswith(unused) for name in lacking)
    assert heads.hidden_block.grad is not None
    assert heads.hidden_block.grad.abs().max() > 1e-6


def test_masked_words_alone_leave_the_document_transformer_alone() -> None:
    heads, batch = heads_of("wp")
    losses = heads(*batch)
    assert losses.blocks.item() == 0
    sum(losses).backward()
    assert all(weight.grad is None for weight in heads.smith.blocks.parameters())


def test_what_is_hidden_is_not_seen() -> None:
    """Another text in a hidden block changes what is to be found, not what is guessed."""
    heads, (shown, _, _, hidden) = heads_of("wp+sp")
    heads.eval()
    guessed = []
    for rows in (shown, torch.where(hidden[..., None] & (shown > 4), 5, shown)):
        found = heads.smith.encode_blocks(rows)
        vectors = torch.where(hidden[..., None], heads.hidden_block, found.vectors)
        guessed.append((heads.smith.document_states(vectors, found.present).last_hidden_state, found.vectors))
    torch.testing.assert_close(guessed[0][0], guessed[1][0], rtol=0, atol=1e-6)
    assert not torch.allclose(guessed[0][1], guessed[1][1], atol=1e-3)


def test_parts_of_the_word_loss_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    heads, batch = heads_of("wp+sp")
    whole = heads(*batch).words
    whole.backward()
    gradient = heads.head.bias.grad.clone()
    monkeypatch.setattr("colde_cli.systems.smith._TOGETHER", 5)
    heads.zero_grad()
    parts = heads(*batch).words
    parts.backward()
    torch.testing.assert_close(parts, whole)
    torch.testing.assert_close(heads.head.bias.grad, gradient)


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_pretraining_lowers_both_losses_and_is_seeded(precision: Any) -> None:
    told: list[int] = []
    options = Pretraining("wp+sp", 10, 8, 1e-2, precision, seed=1, told=told.append)
    first, second = smith_of(0.3, dropout=0.0), smith_of(0.3, dropout=0.0)
    words, blocks = pretrain_blocks(first, texts(24), vocabulary(), options).T
    assert sum(told) == 30
    assert words[-1] < words[0] - 1
    assert blocks[-1] < blocks[0] - 0.3
    assert not first.training
    again = pretrain_blocks(second, texts(24), vocabulary(), options)
    assert again.T.tolist() == [words.tolist(), blocks.tolist()]
    state = second.state_dict()
    assert all(torch.equal(weight, state[name]) for name, weight in first.state_dict().items())
