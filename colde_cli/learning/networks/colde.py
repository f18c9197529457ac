"""CoLDE as one module: chunk encoder and document head, and how their weights lie in `model.safetensors`."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import nn

from colde_cli.encoder.layout import WEIGHTS, ModelConfig, ModelFolder
from colde_cli.errors import ModelError
from colde_cli.learning.networks.chunk_encoder import ChunkEncoder
from colde_cli.learning.networks.document_head import DocumentHead, HeadTensors

__all__ = ["ChunkEncoder", "Colde", "DocumentHead", "HeadTensors", "load_colde", "save_weights"]

_BACKBONE = "encoder.bert."


class Colde(nn.Module):
    """The Contrastive Long Document Encoder: two modules that are trained together and exported apart."""

    def __init__(self, config: ModelConfig, attention: Literal["sdpa", "eager"] = "sdpa") -> None:
        super().__init__()
        self.config = config
        self.encoder = ChunkEncoder(config, attention)
        self.head = DocumentHead(config)


def save_weights(model: Colde, path: Path) -> None:
    """Write `model.safetensors`: the backbone in fp16, everything else in fp32."""
    tensors = {}
    for name, tensor in model.state_dict().items():
        narrow = name.startswith(_BACKBONE) and tensor.is_floating_point()
        tensors[name] = tensor.detach().cpu().to(torch.float16 if narrow else tensor.dtype).contiguous()
    save_file(tensors, path, metadata={"format": "pt"})
    path.chmod(0o644)  # safetensors makes it readable by its owner only; a model is there to be shared


def load_colde(folder: ModelFolder, attention: Literal["sdpa", "eager"] = "sdpa") -> Colde:
    """Build a model from its folder, in evaluation mode, all weights fp32.

    Raises:
        ModelError: the weights are missing, damaged, or do not fit `config.json`.
    """
    path = folder.file(WEIGHTS)
    try:
        model = Colde(folder.config, attention)
        model.load_state_dict({name: tensor.float() for name, tensor in load_file(path).items()})
    except (RuntimeError, ValueError, SafetensorError) as error:
        raise ModelError(f"{path} does not fit the model's config.json; train or fetch it again.") from error
    return model.eval()
