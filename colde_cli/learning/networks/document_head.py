"""CoLDE's document head, chunk vectors to section and document vectors (CoLDE §3.2), and the whole network.

See `colde_cli.encoder.layout` for the contract of inputs and outputs, which this module and the ONNX graph share.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal, NamedTuple

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.nn import functional

from colde_cli.encoder.layout import WEIGHTS, ModelConfig, ModelFolder
from colde_cli.errors import ModelError
from colde_cli.learning.networks.chunk_encoder import ChunkEncoder
from colde_cli.learning.networks.layers import (
    BiLSTM,
    ChunkAttention,
    MeanResidual,
    length_mask,
    masked_mean,
    uniform_attention,
)


class HeadTensors(NamedTuple):
    """What the head returns.

    Attributes:
        vectors: [S, D], unit length.
        attention: [S, C, C], mean over heads, the partner's chunks as keys; uniform in a model without attention.
        centred_unit_vectors: [S, C, H], centred chunk vectors of unit length, zeros at padding.
    """

    vectors: Tensor
    attention: Tensor
    centred_unit_vectors: Tensor


class DocumentHead(nn.Module):
    """Chunk-wise attention with the partner section, Bi-LSTM, projection (CoLDE §3.2).

    `lstm_hidden=0` is the −LSTM ablation: neither attention nor Bi-LSTM, z = Proj(mean of the chunk vectors).
    With `chunk_position="post"` the section and chunk embeddings S_p and C_q are added here and not before BERT.
    """

    center: Tensor

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        hidden = config.hidden_size
        self.max_chunks = config.max_chunks
        self.register_buffer("center", torch.zeros(hidden))
        positioned = config.chunk_position == "post"
        self.section_embedding = _zeros(max(2, config.sections), hidden) if positioned else None
        self.chunk_embedding = _zeros(config.max_chunks, hidden) if positioned else None
        recurrent = config.lstm_hidden > 0
        heads = config.attention_heads if recurrent else 0
        self.attention = ChunkAttention(hidden, heads, config.dropout) if heads else None
        self.lstm = BiLSTM(hidden, config.lstm_hidden) if recurrent else None
        width = 2 * config.lstm_hidden if recurrent else hidden
        self.projection = nn.Sequential(nn.Dropout(config.dropout), nn.Linear(width, config.projection))
        residual = config.residual == "mean"
        self.residual = MeanResidual(hidden, config.residual_share, config.dropout) if residual else None

    def forward(
        self, chunk_vectors: Tensor, lengths: Tensor, partners: Tensor, section_ids: Tensor, chunk_ids: Tensor
    ) -> HeadTensors:
        """Run the head over S sections at once.

        Args:
            chunk_vectors: [S, C, H] float32; what lies past a row's length is ignored.
            lengths: int64 [S], chunks of each row, at least 1.
            partners: int64 [S], the row whose chunks are keys and values.
            section_ids: int64 [S], p of the paper; clamped to the table.
            chunk_ids: int64 [S, C], q of the paper; clamped to Q - 1.
        """
        mask = length_mask(lengths, chunk_vectors.shape[1])
        present = mask.unsqueeze(-1).to(chunk_vectors.dtype)
        centred = (chunk_vectors - self.center) * present
        rows = self._positioned(chunk_vectors, section_ids, chunk_ids) * present
        if self.attention is not None:
            rows, attention = self.attention(rows, mask, partners)
        else:
            attention = uniform_attention(mask, partners)
        summary = self.lstm(rows, lengths) if self.lstm is not None else masked_mean(rows, mask)
        vectors = functional.normalize(self.projection(summary), dim=-1)
        if self.residual is not None:
            vectors = self.residual(masked_mean(centred, mask), vectors)
        return HeadTensors(vectors, attention, functional.normalize(centred, dim=-1))

    def _positioned(self, chunk_vectors: Tensor, section_ids: Tensor, chunk_ids: Tensor) -> Tensor:
        if self.section_embedding is None or self.chunk_embedding is None:
            return chunk_vectors
        sections = self.section_embedding(section_ids.clamp(0, self.section_embedding.num_embeddings - 1))
        chunks = self.chunk_embedding(chunk_ids.clamp(0, self.max_chunks - 1))
        positioned: Tensor = chunk_vectors + sections[:, None, :] + chunks
        return positioned


def _zeros(rows: int, size: int) -> nn.Embedding:
    """An embedding table that changes nothing until it is trained."""
    table = nn.Embedding(rows, size)
    nn.init.zeros_(table.weight)
    return table


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
