"""The parts of HAN and SMASH: GRU, attention, paragraphs, and how the networks put them together."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from colde_cli.encoder.layout import SystemConfig

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn
    from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

    from colde_cli.learning.colde import reverse_rows
    from colde_cli.systems.han import BiGru, Han, SequenceEncoder, StepAttention
    from colde_cli.systems.smash import PairHead, Smash, by_paragraph, without_gaps

pytestmark = pytest.mark.usefixtures("late_imports")

LENGTHS = st.lists(st.integers(1, 7), min_size=1, max_size=5)


def close(left: Tensor, right: Tensor) -> None:
    torch.testing.assert_close(left, right, atol=1e-6, rtol=0)


def padded_rows(lengths: list[int], size: int = 4) -> tuple[Tensor, Tensor]:
    """Random rows with rubbish in their padding, and the mask of what exists."""
    mask = torch.arange(max(lengths))[None, :] < torch.tensor(lengths)[:, None]
    return torch.randn(len(lengths), max(lengths), size), mask


# GRU and attention


@given(LENGTHS)
@settings(deadline=None, max_examples=25)
def test_gru_equals_the_packed_one(lengths: list[int]) -> None:
    torch.manual_seed(0)
    ours, packed = BiGru(4, 3), nn.GRU(4, 3, batch_first=True, bidirectional=True)
    state = {**ours.onward.state_dict()}
    state |= {f"{name}_reverse": weight for name, weight in ours.backward_.state_dict().items()}
    packed.load_state_dict(state)
    (rows, mask), sizes = padded_rows(lengths), torch.tensor(lengths)
    states, _ = packed(pack_padded_sequence(rows, sizes, batch_first=True, enforce_sorted=False))
    expected, _ = pad_packed_sequence(states, batch_first=True)
    close(ours(rows, sizes) * mask[:, :, None], expected)


def test_rows_are_reversed_within_their_length() -> None:
    rows = torch.tensor([[[1], [2], [3], [9]], [[4], [5], [9], [9]], [[9], [9], [9], [9]]])
    lengths = torch.tensor([3, 2, 0])
    reversed_ = reverse_rows(rows, lengths)
    assert reversed_[0, :3, 0].tolist() == [3, 2, 1]
    assert reversed_[1, :2, 0].tolist() == [5, 4]
    again = reverse_rows(reversed_, lengths)
    assert again[0, :3, 0].tolist() == [1, 2, 3]


def test_attention_is_a_softmax_over_what_exists() -> None:
    """u · u_w of 0 and log 3 are weights 1/4 and 3/4, however large what is masked would be."""
    attention = StepAttention(2)
    with torch.no_grad():
        attention.hidden.weight.copy_(torch.eye(2))
        attention.hidden.bias.zero_()
        attention.context.weight.copy_(torch.tensor([[2.0, 0.0]]))
    states = torch.tensor([[[0.0, 1.0], [math.atanh(math.log(3) / 2), 5.0], [50.0, 7.0]]])
    mask = torch.tensor([[True, True, False]])
    close(attention.weights(states, mask), torch.tensor([[0.25, 0.75, 0.0]]))
    close(attention(states, mask)[0, 1], torch.tensor(0.25 * 1 + 0.75 * 5))
    everything = attention.weights(states, torch.ones(1, 3, dtype=torch.bool))
    assert everything[0, 2] > everything[0, 1]


# Paragraphs and words


def test_sentences_are_grouped_by_paragraph() -> None:
    sentences = torch.arange(1.0, 11).reshape(2, 5, 1)
    paragraphs = torch.tensor([[0, 0, 1, 2, 2], [0, 1, 1, 0, 0]])
    exists = torch.tensor([[True] * 5, [True, True, True, False, False]])
    grouped, members = by_paragraph(sentences, paragraphs, exists)
    assert members.tolist() == [
        [[True, True], [True, False], [True, True]],
        [[True, False], [True, True], [False, False]],
    ]
    assert grouped.shape == (2, 3, 2, 1)
    assert grouped[members].flatten().tolist() == [1, 2, 3, 4, 5, 6, 7, 8]


def test_words_move_together() -> None:
    words = torch.tensor([[5, 6, 0, 7, 0, 0], [0, 0, 8, 0, 0, 9], [0] * 6])
    assert without_gaps(words).tolist() == [[5, 6, 7], [8, 9, 0], [0, 0, 0]]
    assert without_gaps(words[2:]).tolist() == [[0]]


# The networks


def han() -> Han:
    torch.manual_seed(6)
    config = SystemConfig("han", "sentences", 6, 9, 8, {"embedding": 5, "hidden": 4}, vocab_size=20)
    return Han(config).eval()


def smash() -> Smash:
    torch.manual_seed(6)
    config = SystemConfig("smash", "sentences", 6, 9, 24, {"embedding": 5, "hidden": 4}, vocab_size=20)
    return Smash(config).eval()


def text() -> tuple[Tensor, Tensor]:
    """The words of four sentences, and their paragraphs."""
    return torch.tensor([[[3, 4, 5], [6, 7, 0], [8, 0, 0], [9, 10, 11]]]), torch.tensor([[0, 0, 1, 1]])


def test_han_of_one_word_is_two_steps_of_each_gru() -> None:
    network = han()
    state = network.embedding.weight[None, 7:8]
    for encoder in (network.words, network.sentences):
        parts = [gru(state)[1].transpose(0, 1) for gru in (encoder.gru.onward, encoder.gru.backward_)]
        state = torch.cat(parts, dim=-1)
    close(network(torch.tensor([[[7, 0], [0, 0]]])), nn.functional.normalize(state[0], dim=-1))


def depths(vector: Tensor) -> np.ndarray:
    """The directions of the three depths within a vector of SMASH."""
    parts: np.ndarray = nn.functional.normalize(vector.reshape(3, -1), dim=1).detach().numpy()
    return parts


def test_paragraphs_change_the_deepest_reading_alone() -> None:
    network = smash()
    before, after = depths(network(*text())), depths(network(text()[0], torch.tensor([[0, 1, 2, 2]])))
    assert np.abs(after[0] - before[0]).max() > 1e-4
    np.testing.assert_allclose(after[1:], before[1:], atol=1e-6)


def test_each_depth_is_what_its_encoders_make_of_the_text() -> None:
    network = smash()

    def encoded(encoder: SequenceEncoder, sequence: Tensor) -> Tensor:
        vectors: Tensor = encoder(sequence[None], torch.ones(1, len(sequence), dtype=torch.bool))
        return vectors[0]

    words = [network.embedding(row[row != 0]) for row in text()[0][0]]
    sentences = torch.stack([encoded(network.sentence, sentence) for sentence in words])
    paragraphs = torch.stack([encoded(network.paragraph, part) for part in (sentences[:2], sentences[2:])])
    expected = torch.cat(
        [
            encoded(network.document_of_paragraphs, paragraphs),
            encoded(network.document_of_sentences, sentences),
            encoded(network.document_of_words, torch.cat(words)),
        ]
    )
    close(network(*text())[0], nn.functional.normalize(expected, dim=0))


def test_pair_head_by_hand() -> None:
    """[s; t; |s − t|; s ⊙ t] of (1, 2) and (3, −1) is (1, 2, 3, −1, 2, 3, 3, −2)."""
    head = PairHead(2)
    features = [1.0, 2, 3, -1, 2, 3, 3, -2]
    with torch.no_grad():
        head.hidden.weight.copy_(torch.stack([torch.arange(1.0, 9), -torch.arange(1.0, 9)]))
        head.hidden.bias.copy_(torch.tensor([0.5, 0.5]))
        head.output.weight.copy_(torch.tensor([[2.0, 7.0]]))
        head.output.bias.fill_(-1.0)
    total = sum(place * feature for place, feature in enumerate(features, 1))
    (logit,) = head(torch.tensor([[1.0, 2]]), torch.tensor([[3.0, -1]]))
    assert total > 0
    assert float(logit.detach()) == pytest.approx(2 * (total + 0.5) - 1)  # the second unit is below 0
