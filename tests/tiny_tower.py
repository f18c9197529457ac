"""A small S-BERT on the small BERT of `tiny_backbone`, trained by nobody."""

from __future__ import annotations

from pathlib import Path

from tiny_backbone import write_backbone
from torch import nn

from colde_cli.encoder.layout import TowerConfig
from colde_cli.learning.backbone import Backbone, load_backbone
from colde_cli.learning.towers.registry import SYSTEMS
from colde_cli.recipes import TowerRecipe


def tiny_backbone(folder: Path) -> Backbone:
    return load_backbone(str(write_backbone(folder)))


def untrained(backbone: Backbone, system: str = "sbert", **recipe: object) -> tuple[nn.Module, TowerConfig]:
    """A BERT tower with the backbone's weights, in evaluation mode."""
    found = SYSTEMS[system]
    config = found.config(TowerRecipe(system, **recipe), backbone, backbone.fields["vocab_size"])  # type: ignore[arg-type]
    network = found.build(config)
    network.load_bert(backbone.weights)  # type: ignore[operator]
    return network.eval(), config


def write_tower(folder: Path, backbone: Backbone, system: str = "sbert") -> Path:
    """The folder of an untrained tower, with its graph."""
    from colde_cli.encoder.towers.packing import Rows
    from colde_cli.learning.backbone import save_tensors
    from colde_cli.learning.export.export import export_tower, new_folder

    network, config = untrained(backbone, system)
    with new_folder(folder, config.to_json(), backbone.tokenizer) as staged:
        save_tensors(network.state_dict(), staged)
        export_tower(staged, [Rows.of([[2, 5, 6, 3]])])
    return folder
