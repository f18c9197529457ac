"""MatchBERT and S-BERT: a text's vector is its own, and the graph's is the network's."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from colde_cli.encoder.layout import open_system_folder
from colde_cli.encoder.packing import Rows, stack
from colde_cli.errors import ModelError, OptionError
from colde_cli.learning.recipe import parse_settings

if TYPE_CHECKING:
    import torch
    from tiny_system import recipe_of, untrained, write_system

    from colde_cli.learning.backbone import Backbone, load_backbone
    from colde_cli.systems.base import difference, export_system, load_system, system_class, system_config

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


def settings(system: str, *texts: str) -> dict[str, object]:
    return parse_settings(texts, system, system_class(system).sizes)


def test_settings_have_the_kind_of_what_they_set() -> None:
    assert settings("han", "hidden=7", "dropout=0.5") == {"network": (("dropout", 0.5), ("hidden", 7))}
    assert settings("arci", "channels=8,16", "row_tokens=9") == {"row_tokens": 9, "network": (("channels", (8, 16)),)}
    assert settings("smith", "paper_compat=true") == {"network": (("paper_compat", True),)}
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
        settings(system, text)


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
