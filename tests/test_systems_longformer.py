"""S-LONG: our attention is that of `transformers`, and a BERT made a Longformer still says what it said."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from colde_cli.encoder.layout import SystemConfig
from colde_cli.encoder.packing import Rows, stack

if TYPE_CHECKING:
    import torch
    from tiny_system import recipe_of, tiny_backbone, untrained

    from colde_cli.learning.backbone import load_backbone
    from colde_cli.systems.base import difference, system_config, write_system_graph
    from colde_cli.systems.longformer import SLong, longformer_of_bert

pytestmark = pytest.mark.usefixtures("late_imports")

# As of RoBERTa: id 0 is <s>, 1 is padding; windows of two widths, neither of which divides the lengths.
FIELDS = {
    "vocab_size": 50, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
    "intermediate_size": 64, "max_position_embeddings": 72, "attention_window": [8, 6], "pad_token_id": 1,
    "type_vocab_size": 1,
}  # fmt: skip
CONFIG = SystemConfig("slong", "flat", 70, 1, 32, {"window": 8, "id_shift": 1}, FIELDS, 50)
LENGTHS = (41, 17, 5)


@pytest.fixture(scope="module")
def network() -> SLong:
    torch.manual_seed(0)
    made = SLong(CONFIG).eval()
    with torch.no_grad():
        for name, weight in made.named_parameters():
            if "LayerNorm" not in name:
                weight.copy_(torch.randn_like(weight) * 0.4)
    return made


def batch() -> tuple[torch.Tensor, torch.Tensor]:
    """Token ids [3, 41] padded with 1, and which are none."""
    generator = torch.Generator().manual_seed(1)
    ids = torch.randint(2, 50, (3, 41), generator=generator)
    present = torch.arange(41)[None] < torch.tensor(LENGTHS)[:, None]
    return torch.where(present, ids, 1), present


def test_attention_is_that_of_transformers(network: SLong) -> None:
    ids, present = batch()
    everywhere = torch.zeros_like(ids)
    everywhere[:, 0] = 1
    with torch.no_grad():
        theirs = network.longformer(
            input_ids=ids, attention_mask=present.long(), global_attention_mask=everywhere
        ).last_hidden_state
        ours = network._states(ids, present)
    assert theirs[present].std() > 0.1
    torch.testing.assert_close(ours[present], theirs[present], atol=1e-5, rtol=0)


def test_a_token_far_away_is_seen_through_the_first_one_only(network: SLong) -> None:
    ids, present = batch()
    changed = ids.clone()
    changed[0, 40] = 2 + (ids[0, 40] + 7) % 40
    layer = network.longformer.encoder.layer[0].attention.self
    from colde_cli.systems.longformer import window_attention

    with torch.no_grad():
        seen = [
            window_attention(layer, network.longformer.embeddings(input_ids=given), present) for given in (ids, changed)
        ]
    moved = (seen[0] - seen[1])[0].abs().amax(-1) > 1e-6
    assert moved.nonzero().flatten().tolist() == [0, 36, 37, 38, 39, 40]


def test_a_vector_depends_on_neither_padding_nor_company(network: SLong) -> None:
    ids, present = batch()
    rows = torch.where(present, ids + 1, 0)[:, None]
    with torch.no_grad():
        together = network(rows)
        for place, length in enumerate(LENGTHS):
            alone = network(rows[place : place + 1, :, :length])
            torch.testing.assert_close(alone[0], together[place], atol=1e-5, rtol=0)
    assert torch.linalg.norm(together, dim=1).tolist() == pytest.approx([1, 1, 1], abs=1e-5)


@pytest.mark.slow
def test_the_graph_gives_what_the_network_gives_at_every_length(network: SLong, tmp_path: Path) -> None:
    graph = tmp_path / "tower.onnx"
    write_system_graph(network, CONFIG, graph)
    rows = [Rows.of([[1 + number % 49 for number in range(3, 3 + length)]]) for length in (1, 3, 8, 9, 33, 70)]
    assert difference(network, CONFIG, graph, rows) < 1e-5


def test_a_bert_made_a_longformer_says_the_same_of_a_short_text(tmp_path: Path) -> None:
    bert = tiny_backbone(tmp_path / "bert")
    longer = longformer_of_bert(bert, tokens=200, window=24)
    config = system_config(recipe_of("slong", row_tokens=150), longer, 73)
    made = SLong(config)
    made.load_pretrained(longer.weights)
    short = torch.tensor([[[2, 9, 30, 41, 17, 8, 22, 5, 11, 3]]])
    plain, _ = untrained(bert, network=(("pool", "cls"),))
    with torch.no_grad():
        torch.testing.assert_close(made.eval()(short), plain(short), atol=1e-5, rtol=0)
    table = longer.weights["embeddings.position_embeddings.weight"]
    own = bert.weights["embeddings.position_embeddings.weight"]
    assert len(table) == 201
    assert torch.equal(table[1 + 48 : 1 + 96], own)
    assert torch.equal(table[-8:], own[:8])
    text = torch.from_numpy(stack([Rows.of([[2, *([20, 21] * 70), 3]])]).ids)
    with torch.no_grad():
        assert np.isfinite(made(text).numpy()).all()


def test_a_longformer_is_taken_as_it_is(tmp_path: Path) -> None:
    from transformers import LongformerConfig, LongformerModel

    bert = tiny_backbone(tmp_path / "bert")
    theirs = LongformerModel(LongformerConfig(**FIELDS))
    theirs.save_pretrained(tmp_path / "long")
    (tmp_path / "long" / "tokenizer.json").write_text(bert.tokenizer, encoding="utf-8")
    found = load_backbone(str(tmp_path / "long"), longformer=True)
    config = system_config(recipe_of("slong"), found, 50)
    assert (config.row_tokens, config.network["id_shift"], config.dim) == (70, 1, 32)
    made = SLong(config)
    made.load_pretrained(found.weights)
    assert torch.equal(made.longformer.embeddings.word_embeddings.weight, theirs.embeddings.word_embeddings.weight)
    with pytest.raises(ValueError, match="lack"):
        made.load_pretrained({})
