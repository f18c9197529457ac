"""MatchBERT and S-BERT: a text's vector is its own, the graph's is the network's; LA(SER)³ teaches first."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from system_texts import text_on, word_tokenizer

from colde_cli.encoder.layout import SystemConfig, open_system_folder
from colde_cli.encoder.packing import Rows, stack
from colde_cli.errors import DataError, ModelError, OptionError
from colde_cli.learning.recipe import parse_settings

if TYPE_CHECKING:
    import torch
    from tiny_networks import Bag, on_circle
    from tiny_system import recipe_of, untrained, write_system

    from colde_cli.learning.backbone import Backbone, load_backbone
    from colde_cli.learning.losses import info_nce
    from colde_cli.systems.base import Pretraining, difference, export_system, load_system, system_class, system_config
    from colde_cli.systems.bert import OBJECTIVES as KNOWN
    from colde_cli.systems.bert import SBert, make_pair, pretrain_pairs, split_sentences


pytestmark = pytest.mark.usefixtures("late_imports")

TEXTS = [Rows.of([[2, *range(4, 4 + length), 3]]) for length in (1, 5, 30)]


@pytest.fixture(scope="module")
def backbone(backbone_folder: Path) -> Backbone:
    return load_backbone(str(backbone_folder))


def vectors(network: torch.nn.Module, rows: list[Rows]) -> np.ndarray:
    batch = stack(rows)
    with torch.no_grad():
        return np.asarray(network(torch.from_numpy(batch.ids), torch.from_numpy(batch.paragraphs)).numpy())


@pytest.mark.parametrize("system", ["sbert", "matchbert"])
def test_a_vector_depends_on_neither_padding_nor_company_nor_order(backbone: Backbone, system: str) -> None:
    network, _ = untrained(backbone, system)
    together = vectors(network, TEXTS)
    np.testing.assert_allclose(np.linalg.norm(together, axis=1), 1, atol=1e-5)
    np.testing.assert_allclose(vectors(network, TEXTS[::-1])[::-1], together, atol=1e-5)
    for place, rows in enumerate(TEXTS):
        np.testing.assert_allclose(vectors(network, [rows])[0], together[place], atol=1e-5)


def test_pools_differ(backbone: Backbone) -> None:
    found = [
        vectors(untrained(backbone, network=(("pool", pool),))[0], TEXTS[1:2]) for pool in ("mean", "cls", "pooler")
    ]
    assert np.abs(found[0] - found[1]).max() > 0.01
    assert np.abs(found[1] - found[2]).max() > 0.01
    matchbert, config = untrained(backbone, "matchbert")
    assert config.row_tokens == 48  # the paper's 256, cut to what the backbone reads
    np.testing.assert_array_equal(vectors(matchbert, TEXTS[1:2]), found[2])


@pytest.mark.parametrize("system", ["sbert", "matchbert"])
def test_the_graph_gives_what_the_network_gives(backbone: Backbone, tmp_path: Path, system: str) -> None:
    folder = write_system(tmp_path / "tiny", backbone, system)
    opened = open_system_folder(folder)
    graph = folder / "onnx" / "tower.onnx"
    assert difference(load_system(opened), opened.config, graph, TEXTS) < 1e-5


def test_a_graph_that_differs_is_not_shipped(backbone: Backbone, tmp_path: Path) -> None:
    folder = write_system(tmp_path / "tiny", backbone)
    opened = open_system_folder(folder)
    other = load_system(opened)
    words = other.state_dict()["encoder.bert.embeddings.word_embeddings.weight"]
    words[5] *= -3
    assert difference(other, opened.config, folder / "onnx" / "tower.onnx", TEXTS) > 1e-3
    words[5] = torch.nan
    assert difference(other, opened.config, folder / "onnx" / "tower.onnx", TEXTS) == float("inf")


def test_weights_that_do_not_fit_are_named(backbone: Backbone, tmp_path: Path) -> None:
    folder = write_system(tmp_path / "tiny", backbone)
    config = folder / "config.json"
    text = config.read_text(encoding="utf-8")
    config.write_text(text.replace('"hidden_size": 32', '"hidden_size": 16'), encoding="utf-8")
    with pytest.raises(ModelError, match="does not fit"):
        export_system(folder, TEXTS)
    config.write_text(text.replace('"sbert"', '"sbort"'), encoding="utf-8")
    with pytest.raises(ModelError, match="'sbort', which this version lacks"):
        export_system(folder, TEXTS)


def test_only_the_last_layers_are_trained(backbone: Backbone) -> None:
    network, _ = untrained(backbone)
    network.train_only(1)
    trained = {name for name, weight in network.named_parameters() if weight.requires_grad}
    assert trained
    assert all("layer.1." in name for name in trained)


def test_options_that_do_not_fit_are_named(backbone: Backbone) -> None:
    with pytest.raises(OptionError, match="the backbone reads 48"):
        system_config(recipe_of("sbert", row_tokens=64), backbone, 9)
    with pytest.raises(OptionError, match="the backbone has 2"):
        system_config(recipe_of("sbert", trainable_layers=3), backbone, 9)


def parsed(system: str, *texts: str) -> dict[str, object]:
    return parse_settings(texts, system, system_class(system).sizes)


def test_settings_have_the_kind_of_what_they_set() -> None:
    assert parsed("han", "hidden=7", "dropout=0.5") == {"network": (("dropout", 0.5), ("hidden", 7))}
    assert parsed("arci", "channels=8,16", "row_tokens=9") == {"row_tokens": 9, "network": (("channels", (8, 16)),)}
    assert parsed("smith", "paper_compat=true") == {"network": (("paper_compat", True),)}
    given = ["temperature=0.1", "residual=none", "head-learning-rate=3e-4", "memory_bank=9"]
    assert parse_settings(given, "colde", {}) == {
        "temperature": 0.1, "residual": "none", "head_learning_rate": 3e-4, "memory_bank": 9,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("system", "text", "message"),
    [
        ("han", "hidden", "NAME=VALUE"), ("han", "size=3", "hidden=50"),
        ("han", "temperature=1", "hidden=50"), ("han", "hidden=many", "a whole number"),
        ("han", "channels=8", "hidden=50"), ("smith", "paper_compat=perhaps", "true or false"),
    ],
)  # fmt: skip
def test_settings_that_mean_nothing_are_named(system: str, text: str, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        parsed(system, text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("temperature=0", "between 0.01 and 10"), ("average=1", "between 0 and 0.9999"),
        ("windows=-1", "between 0"), ("residual=some", "one of none, mean"), ("heads=2.5", "a whole number"),
        ("loss=sincere", "colde has"), ("epochs=3", "colde has"), ("row_tokens=9", "colde has"),
    ],
)  # fmt: skip
def test_settings_of_colde_that_are_wrong_are_named(text: str, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        parse_settings([text], "colde", {})


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
