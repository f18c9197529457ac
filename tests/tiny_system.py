"""A small S-BERT, or another system, on the small BERT of `tiny_backbone`, trained by nobody."""

from __future__ import annotations

from pathlib import Path

from tiny_backbone import write_backbone

from colde_cli.encoder.layout import SystemConfig
from colde_cli.learning.backbone import Backbone, load_backbone
from colde_cli.learning.recipe import Recipe
from colde_cli.systems.base import System, build_system, system_config, system_recipe


def tiny_backbone(folder: Path) -> Backbone:
    return load_backbone(str(write_backbone(folder)))


def recipe_of(system: str, **values: object) -> Recipe:
    """The recipe of a system, with these values."""
    return system_recipe(system, values)


def untrained(backbone: Backbone, system: str = "sbert", **values: object) -> tuple[System, SystemConfig]:
    """A system on BERT with the backbone's weights, in evaluation mode."""
    config = system_config(recipe_of(system, **values), backbone, backbone.fields["vocab_size"])
    network = build_system(config)
    network.load_pretrained(backbone.weights)
    return network.eval(), config


def write_system(folder: Path, backbone: Backbone, system: str = "sbert") -> Path:
    """The folder of an untrained system, with its graph."""
    from colde_cli.encoder.packing import Rows
    from colde_cli.learning.backbone import save_tensors
    from colde_cli.learning.graphs import new_folder
    from colde_cli.systems.base import export_system

    network, config = untrained(backbone, system)
    with new_folder(folder, config.to_json(), backbone.tokenizer) as staged:
        save_tensors(network.state_dict(), staged)
        export_system(staged, [Rows.of([[2, 5, 6, 3]])])
    return folder
