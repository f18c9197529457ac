"""Write the ONNX graph of a trained tower, and compare it with the network on real rows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from safetensors import SafetensorError
from torch import nn

from colde_cli.encoder.layout import TOWER_GRAPH, TowerConfig, TowerFolder, open_tower_folder, weights_file
from colde_cli.encoder.runtime import Contract, open_session
from colde_cli.encoder.towers.packing import Rows
from colde_cli.encoder.towers.tower_encoder import TowerRunner
from colde_cli.errors import ModelError
from colde_cli.files import atomic_file
from colde_cli.learning.backbone import load_tensors
from colde_cli.learning.export.export import write_graph
from colde_cli.learning.towers.registry import SYSTEMS

TOLERANCE = 1e-4
"""Largest difference of a number between the vectors of network and graph."""

# Sizes of the rows that are traced, where the system reads as much; no two alike, for the tracer's sake.
_ROWS, _TOKENS = 5, 37


def export_tower(folder: Path, samples: Sequence[Rows]) -> float:
    """Write the graph of a tower; one that fails leaves the old one.

    Args:
        folder: a tower with `model.safetensors`.
        samples: rows of texts on which graph and network must agree.

    Returns:
        The largest difference of a number of the samples' vectors.

    Raises:
        ModelError: the weights do not fit, or graph and network differ by more than `TOLERANCE`.
    """
    opened = open_tower_folder(folder)
    network = load_tower(opened, for_export=True)
    (folder / "onnx").mkdir(exist_ok=True)
    with atomic_file(folder / TOWER_GRAPH) as staged:
        write_tower_graph(network, opened.config, staged)
        gap = difference(network, opened.config, staged, samples)
        if gap > TOLERANCE:
            raise ModelError(
                f"The graph of {folder} differs from its network by {gap:.1e}; please report it."
            )
    return gap


def difference(network: nn.Module, config: TowerConfig, graph: Path, samples: Sequence[Rows]) -> float:
    """Return the largest difference of a number between the vectors of network and graph."""
    contract = Contract(frozenset(("rows", "paragraphs")), {"vectors": config.dim})
    runner = TowerRunner(open_session(graph, contract), config.dim, 1)
    gaps = [0.0]
    for rows, served in zip(samples, runner.run(samples), strict=True):
        with torch.no_grad():
            own = network(
                torch.from_numpy(rows.ids)[None].long(), torch.from_numpy(rows.paragraphs)[None].long()
            )
        gaps.append(float(np.abs(own[0].numpy() - served).max()))
    # `max` would pass over NaN.
    return float(np.max(gaps)) if np.isfinite(gaps).all() else float("inf")


def load_tower(folder: TowerFolder, *, for_export: bool = False) -> nn.Module:
    """Load the network of a tower, in evaluation mode.

    Raises:
        ModelError: a system that this version does not know, or weights that are damaged or do not fit.
    """
    system = SYSTEMS.get(folder.config.system)
    if system is None:
        raise ModelError(
            f"{folder.path} is of the system {folder.config.system!r}, which this version lacks."
        )
    try:
        network = system.build(folder.config, for_export=for_export)
        network.load_state_dict(load_tensors(folder.path))
    except (RuntimeError, KeyError, SafetensorError) as error:
        raise ModelError(
            f"{weights_file(folder.path)} does not fit the model's config.json; train it again."
        ) from error
    return network.eval()


def write_tower_graph(network: nn.Module, config: TowerConfig, target: Path) -> None:
    """Trace a network in evaluation mode on rows of its own kind; see `encoder.layout` for the contract."""
    count, length = min(config.max_rows, _ROWS), min(config.row_tokens, _TOKENS)
    places = torch.arange(count * length)
    rows = 1 + places.reshape(1, count, length) % (config.vocab_size - 1)
    # A last row that is not full: what is traced must mask.
    rows[0, -1, length - 2 :] = 0
    example = {"rows": rows, "paragraphs": torch.arange(count)[None] // 2}
    axes = {1: "blocks", 2: "tokens"} if config.max_rows > 1 else {2: "tokens"}
    inputs = {"rows": axes, "paragraphs": {1: "blocks"} if config.max_rows > 1 else {}}
    write_graph(network, example, inputs, {"vectors": {}}, target)
