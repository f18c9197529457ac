"""MatchBERT and S-BERT: a text's vector is its own, and the graph's is the network's."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from tiny_tower import tiny_backbone, untrained, write_tower

from colde_cli.encoder.layout import open_tower_folder
from colde_cli.encoder.towers.packing import Rows, stack
from colde_cli.errors import ModelError, OptionError
from colde_cli.learning.backbone import Backbone
from colde_cli.learning.export.export import difference, export_tower, load_tower
from colde_cli.learning.towers.registry import SYSTEMS, parse_sizes
from colde_cli.recipes import TowerRecipe

TEXTS = [Rows.of([[2, *range(4, 4 + length), 3]]) for length in (1, 5, 30)]


@pytest.fixture(scope="module")
def backbone(tmp_path_factory: pytest.TempPathFactory) -> Backbone:
    return tiny_backbone(tmp_path_factory.mktemp("backbone"))


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
        vectors(untrained(backbone, network=(("pool", pool),))[0], TEXTS[1:2])
        for pool in ("mean", "cls", "pooler")
    ]
    assert np.abs(found[0] - found[1]).max() > 0.01
    assert np.abs(found[1] - found[2]).max() > 0.01
    matchbert, config = untrained(backbone, "matchbert")
    assert config.row_tokens == 48  # the paper's 256, cut to what the backbone reads
    np.testing.assert_array_equal(vectors(matchbert, TEXTS[1:2]), found[2])


@pytest.mark.parametrize("system", ["sbert", "matchbert"])
def test_the_graph_gives_what_the_network_gives(backbone: Backbone, tmp_path: Path, system: str) -> None:
    folder = write_tower(tmp_path / "tiny", backbone, system)
    opened = open_tower_folder(folder)
    graph = folder / "onnx" / "tower.onnx"
    assert difference(load_tower(opened), opened.config, graph, TEXTS) < 1e-5


def test_a_graph_that_differs_is_not_shipped(backbone: Backbone, tmp_path: Path) -> None:
    folder = write_tower(tmp_path / "tiny", backbone)
    opened = open_tower_folder(folder)
    other = load_tower(opened)
    with torch.no_grad():
        other.encoder.bert.embeddings.word_embeddings.weight[5] *= -3  # type: ignore[union-attr, operator]
    assert difference(other, opened.config, folder / "onnx" / "tower.onnx", TEXTS) > 1e-3
    with torch.no_grad():
        other.encoder.bert.embeddings.word_embeddings.weight[5] = torch.nan  # type: ignore[union-attr, operator]
    assert difference(other, opened.config, folder / "onnx" / "tower.onnx", TEXTS) == float("inf")


def test_weights_that_do_not_fit_are_named(backbone: Backbone, tmp_path: Path) -> None:
    folder = write_tower(tmp_path / "tiny", backbone)
    config = folder / "config.json"
    text = config.read_text(encoding="utf-8")
    config.write_text(text.replace('"hidden_size": 32', '"hidden_size": 16'), encoding="utf-8")
    with pytest.raises(ModelError, match="does not fit"):
        export_tower(folder, TEXTS)
    config.write_text(text.replace('"sbert"', '"sbort"'), encoding="utf-8")
    with pytest.raises(ModelError, match="'sbort', which this version lacks"):
        export_tower(folder, TEXTS)


def test_only_the_last_layers_are_trained(backbone: Backbone) -> None:
    network, _ = untrained(backbone)
    network.train_only(1)  # type: ignore[operator]
    trained = {name for name, weight in network.named_parameters() if weight.requires_grad}
    assert trained
    assert all("layer.1." in name for name in trained)


def test_options_that_do_not_fit_are_named(backbone: Backbone) -> None:
    sbert = SYSTEMS["sbert"]
    with pytest.raises(OptionError, match="the backbone reads 48"):
        sbert.config(TowerRecipe("sbert", row_tokens=64), backbone, 9)
    with pytest.raises(OptionError, match="the backbone has 2"):
        sbert.config(TowerRecipe("sbert", trainable_layers=3), backbone, 9)
    assert parse_sizes(SYSTEMS["han"], ["hidden=7", "dropout=0.5"]) == (("dropout", 0.5), ("hidden", 7))
    assert parse_sizes(SYSTEMS["arci"], ["channels=8,16"]) == (("channels", (8, 16)),)
    assert parse_sizes(SYSTEMS["smith"], ["paper_compat=true"]) == (("paper_compat", True),)
    for text, said in (("hidden", "NAME=VALUE"), ("size=3", "hidden=50"), ("hidden=many", "a number")):
        with pytest.raises(OptionError, match=said):
            parse_sizes(SYSTEMS["han"], [text])
    with pytest.raises(OptionError, match="true or false"):
        parse_sizes(SYSTEMS["smith"], ["paper_compat=perhaps"])
