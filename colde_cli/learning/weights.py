"""Weights on disk: `model.safetensors`, or shards with an index, as Hugging Face writes them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from safetensors.torch import load_file, save_file
from torch import Tensor

from colde_cli.encoder.layout import WEIGHTS, WEIGHTS_INDEX, weight_files


def save_tensors(tensors: Mapping[str, Tensor], folder: Path, shard_bytes: int | None = None) -> None:
    """Write tensors into a model's folder.

    Args:
        tensors: by name.
        folder: of the model.
        shard_bytes: most bytes of tensors in a file, unless one tensor is larger; None for one file.
    """
    from huggingface_hub import split_torch_state_dict_into_shards

    every = sum(tensor.nbytes for tensor in tensors.values())
    size = every if shard_bytes is None else shard_bytes
    pattern = WEIGHTS.replace(".", "{suffix}.")
    plan = split_torch_state_dict_into_shards(dict(tensors), filename_pattern=pattern, max_shard_size=size)
    for name, held in plan.filename_to_tensors.items():
        chosen = {key: tensors[key].detach().cpu().contiguous() for key in held}
        save_file(chosen, folder / name, metadata={"format": "pt"})
        # safetensors makes it readable by its owner only; a model is there to be shared.
        (folder / name).chmod(0o644)
    if plan.is_sharded:
        index = {"metadata": plan.metadata, "weight_map": plan.tensor_to_filename}
        (folder / WEIGHTS_INDEX).write_text(json.dumps(index, indent=2) + "\n", encoding="utf-8")


def load_tensors(folder: Path) -> dict[str, Tensor]:
    """Read the tensors of a model's folder, of one file or of shards.

    Raises:
        ModelError: the folder lacks a file of its weights.
        SafetensorError: a file is damaged.
    """
    return {name: tensor for path in weight_files(folder) for name, tensor in load_file(path).items()}
