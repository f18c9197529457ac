"""CoLDE: a BERT that encodes chunks, and a document head over their vectors (CoLDE §3.2).

`colde_cli.encoder.layout` describes inputs and outputs, which these networks and their ONNX graphs share.

The parts of the document head come first. They take padded rows (one row = the chunks of one section), give the
same result whatever the padding, and export to ONNX with every size dynamic.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, NamedTuple

import torch
from safetensors import SafetensorError
from torch import Tensor, nn
from torch.nn import functional
from transformers import BertConfig, BertModel

from colde_cli.encoder.layout import ModelConfig, ModelFolder, weights_file
from colde_cli.errors import ModelError
from colde_cli.learning.backbone import load_tensors, save_tensors


def length_mask(lengths: Tensor, width: int) -> Tensor:
    """True where a row has a chunk: lengths [S] -> bool [S, width]."""
    return torch.arange(width, device=lengths.device)[None, :] < lengths[:, None]


def masked_mean(rows: Tensor, mask: Tensor) -> Tensor:
    """Mean over the chunks that exist: rows [S, C, H], mask bool [S, C] -> [S, H]."""
    weights = mask.unsqueeze(-1).to(rows.dtype)
    return (rows * weights).sum(1) / weights.sum(1).clamp(min=1.0)


def reverse_rows(rows: Tensor, lengths: Tensor) -> Tensor:
    """Every row backwards within its own length: rows [S, C, H], lengths [S] -> [S, C, H].

    Past a length stands a copy of the row's first vector. Doing it twice gives the row back.
    """
    steps = torch.arange(rows.shape[1], device=rows.device)[None, :]
    order = (lengths[:, None] - 1 - steps).clamp(min=0)[:, :, None].expand(-1, -1, rows.shape[2])
    return rows.gather(1, order)


def uniform_attention(mask: Tensor, partners: Tensor) -> Tensor:
    """Equal weights [S, C, C] for every chunk of the partner, for a model without attention; see `ChunkAttention`."""
    keys = mask.index_select(0, partners).to(torch.float32)
    weights = keys / keys.sum(1, keepdim=True).clamp(min=1.0)
    return weights[:, None, :] * mask.to(torch.float32)[:, :, None]


class ChunkAttention(nn.Module):
    """Multi-headed chunk-wise attention, A_p = MHA(H_p, H_partner, H_partner) (CoLDE §3.2).

    The paper uses the BERT output "along with" the attention without saying how; here it is
    U_p = LayerNorm(H_p + Dropout(A_p)).
    """

    def __init__(self, hidden: int, heads: int, dropout: float) -> None:
        super().__init__()
        if hidden % heads:
            raise ValueError(f"{hidden} hidden units cannot be shared by {heads} heads")
        self.heads = heads
        self.query = nn.Linear(hidden, hidden)
        self.key = nn.Linear(hidden, hidden)
        self.value = nn.Linear(hidden, hidden)
        self.output = nn.Linear(hidden, hidden)
        self.dropout = nn.Dropout(dropout)
        self.norm = nn.LayerNorm(hidden)

    def forward(self, rows: Tensor, mask: Tensor, partners: Tensor) -> tuple[Tensor, Tensor]:
        """Let the chunks of every row look at the chunks of its partner.

        Rows [S, C, H] and mask bool [S, C] to the combined chunks U [S, C, H] and the weights [S, C, C], mean over
        heads; rows of chunks that exist sum to 1, the others are zero. `partners` int64 [S] are the rows of keys and
        values.
        """
        others = rows.index_select(0, partners)
        query, key, value = self.query(rows), self.key(others), self.value(others)
        keys = mask.index_select(0, partners)[:, None, :]
        attend = _head_by_head if torch.onnx.is_in_onnx_export() else _all_heads
        attended, shown = attend((query, key, value), keys, self.query.out_features // self.heads)
        return self.norm(rows + self.dropout(self.output(attended))), shown * mask.to(shown.dtype)[:, :, None]


def _all_heads(projected: tuple[Tensor, Tensor, Tensor], keys: Tensor, size: int) -> tuple[Tensor, Tensor]:
    """Attend with all heads of a size at once.

    Queries, keys and values [S, C, H], and bool [S, 1, C] where the partner has a chunk, to what is attended, [S, C,
    H], and the weights [S, C, C], mean over heads.
    """
    query, key, value = (rows.view(*rows.shape[:-1], -1, size).transpose(1, 2) for rows in projected)
    scores = query @ key.transpose(-1, -2) / math.sqrt(size)
    weights = scores.masked_fill(~keys[:, None], torch.finfo(scores.dtype).min).softmax(-1)
    return (weights @ value).transpose(1, 2).flatten(2), weights.mean(1)


def _head_by_head(projected: tuple[Tensor, Tensor, Tensor], keys: Tensor, size: int) -> tuple[Tensor, Tensor]:
    """The same as `_all_heads`, for graphs: the weights of one head at a time are in memory.

    Runtimes order operations as they like and would keep the weights of all heads. So each head waits for the one
    before: it takes 0 times its results. The mask is added, which ONNX Runtime does in place.
    """
    absent = (~keys).to(projected[0].dtype) * torch.finfo(projected[0].dtype).min
    attended: list[Tensor] = []
    shown = before = torch.zeros(())
    for query, key, value in zip(*(torch.split(rows, size, -1) for rows in projected), strict=True):
        scores = (query + before) @ key.transpose(-1, -2) / math.sqrt(size)
        weights = (scores + absent).softmax(-1)
        attended.append(weights @ value)
        shown = shown + weights
        before = 0 * (attended[-1].mean((1, 2), keepdim=True) + shown.mean((1, 2), keepdim=True))
    return torch.cat(attended, -1), shown / len(attended)


class BiLSTM(nn.Module):
    """A bidirectional LSTM over rows of unequal length, equal to a packed one.

    The backward half reads every row reversed within its own length (a gather), so that padding never
    enters a state; unlike packing, that exports to ONNX.
    """

    def __init__(self, size: int, hidden: int) -> None:
        super().__init__()
        self.onward = nn.LSTM(size, hidden, batch_first=True)
        self.backward_ = nn.LSTM(size, hidden, batch_first=True)

    def forward(self, rows: Tensor, lengths: Tensor) -> Tensor:
        """[last forward state; last backward state]: rows [S, C, H], lengths [S] -> [S, 2 * hidden]."""
        onward, _ = self.onward(rows)
        backward, _ = self.backward_(reverse_rows(rows, lengths))
        last = lengths[:, None] - 1
        index = last[:, :, None].expand(-1, -1, onward.shape[2])
        return torch.cat([onward.gather(1, index), backward.gather(1, index)], dim=-1).squeeze(1)


class MeanResidual(nn.Module):
    """Puts a linear map of the centred mean of the chunk vectors beside z.

    cos(v_a, v_b) = (1 - g) * cos(W m_a, W m_b) + g * cos(z_a, z_b), with W the identity before training: where
    attention and Bi-LSTM have little to learn from, the mean carries the score. On frozen chunk vectors a fixed
    share g of one half trained better than a learned one, whose gradient shrinks z while it starts out small.
    """

    def __init__(self, hidden: int, share: float, dropout: float) -> None:
        super().__init__()
        self.share = share
        self.dropout = nn.Dropout(dropout)
        self.map = nn.Linear(hidden, hidden)
        nn.init.eye_(self.map.weight)
        nn.init.zeros_(self.map.bias)

    def forward(self, mean: Tensor, vector: Tensor) -> Tensor:
        """Mean [S, H] and z [S, D], which has unit length -> [S, H + D] of unit length."""
        mapped = self.map(self.dropout(functional.normalize(mean, dim=-1)))
        parts = [functional.normalize(mapped, dim=-1) * math.sqrt(1 - self.share), vector * math.sqrt(self.share)]
        return torch.cat(parts, dim=-1)


_SEGMENTS = "embeddings.token_type_embeddings.weight"


class ChunkEncoder(nn.Module):
    """A Hugging Face BERT and the pooling that makes one vector of a chunk.

    With `chunk_position="input"` a token enters as W[id] + C[q] + S[p] + position (the triple sum T̃ of the
    paper): S is BERT's own segment table, grown to as many rows as there are sections, and C starts at zero.
    With "post" this is a plain BERT, and its vectors can be cached by content.
    """

    def __init__(self, config: ModelConfig, attention: Literal["sdpa", "eager"] = "sdpa") -> None:
        """Build with random weights; `attention="eager"` is for export to ONNX."""
        super().__init__()
        self.config = config
        self.pool = config.chunk_pool
        fields = {key: value for key, value in config.backbone.items() if key != "model_type"}
        self.takes_positions = config.chunk_position == "input"
        if self.takes_positions:
            fields["type_vocab_size"] = max(2, config.sections, int(fields.get("type_vocab_size", 2)))
        bert = BertConfig(**fields, attn_implementation=attention)
        self.bert = BertModel(bert, add_pooling_layer=self.pool == "pooler")
        self.chunk_embedding = nn.Embedding(config.max_chunks, config.hidden_size) if self.takes_positions else None
        if self.chunk_embedding is not None:
            nn.init.zeros_(self.chunk_embedding.weight)

    def load_bert(self, weights: Mapping[str, Tensor]) -> None:
        """Take pretrained BERT weights; segment rows that they lack become copies of their last one.

        Raises:
            ValueError: a weight is missing or of another shape.
        """
        state = dict(weights)
        wanted = self.bert.embeddings.token_type_embeddings.num_embeddings
        table = state[_SEGMENTS][:wanted]
        state[_SEGMENTS] = torch.cat([table, table[-1:].expand(wanted - len(table), -1)])
        own = self.bert.state_dict()
        missing = [name for name in own if name not in state or state[name].shape != own[name].shape]
        if missing:
            raise ValueError(f"the pretrained weights lack {missing[0]} in the right shape")
        self.bert.load_state_dict({name: state[name] for name in own})

    def twin(self, attention: Literal["sdpa", "eager"]) -> ChunkEncoder:
        """Copy the encoder, with another implementation of attention; the same weights require gradients."""
        twin = ChunkEncoder(self.config, attention)
        twin.load_state_dict(self.state_dict())
        for copy, weight in zip(twin.parameters(), self.parameters(), strict=True):
            copy.requires_grad_(weight.requires_grad)
        return twin

    def train_only(self, layers: int) -> None:
        """Freeze everything below the last `layers` Transformer layers (0 freezes BERT as a whole)."""
        self.bert.requires_grad_(False)
        if layers:
            self.bert.encoder.layer[-layers:].requires_grad_(True)
        if self.bert.pooler is not None and layers:
            self.bert.pooler.requires_grad_(True)

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        section_ids: Tensor | None = None,
        chunk_ids: Tensor | None = None,
    ) -> Tensor:
        """Token ids int64 [N, L], `[CLS]` first, to chunk vectors [N, H] float32.

        `attention_mask` [N, L] is None if all rows are full. `section_ids` [N], p of the paper, and `chunk_ids` [N], q,
        clamped to Q - 1, only matter with `chunk_position="input"`.
        """
        inputs = self.embedding_inputs(input_ids, section_ids, chunk_ids)
        tokens = self.bert(**inputs, attention_mask=attention_mask).last_hidden_state
        return self.pooled(tokens, attention_mask).float()

    def embedding_inputs(
        self, input_ids: Tensor, section_ids: Tensor | None, chunk_ids: Tensor | None
    ) -> dict[str, Tensor]:
        """Make the input of BERT's embedding layer: token ids, or W[id] + C[q] with segment ids p."""
        table = self.chunk_embedding
        if table is None:
            return {"input_ids": input_ids}
        if section_ids is None or chunk_ids is None:
            raise ValueError('chunk_position="input" needs section_ids and chunk_ids')
        words = self.bert.embeddings.word_embeddings(input_ids)
        chunks = table(chunk_ids.clamp(0, table.num_embeddings - 1))
        rows = self.bert.embeddings.token_type_embeddings.num_embeddings
        segments = section_ids.clamp(0, rows - 1)[:, None].expand_as(input_ids)
        return {"inputs_embeds": words + chunks[:, None, :], "token_type_ids": segments}

    def pooled(self, tokens: Tensor, attention_mask: Tensor | None) -> Tensor:
        """Pool token states [N, L, H] to one vector a chunk, [N, H]."""
        if self.pool == "pooler":
            pooled: Tensor = self.bert.pooler(tokens)
            return pooled
        if self.pool == "cls":
            return tokens[:, 0]
        if attention_mask is None:
            return tokens.float().mean(1)
        weights = attention_mask.unsqueeze(-1).float()
        return (tokens.float() * weights).sum(1) / weights.sum(1).clamp(min=1.0)


class HeadTensors(NamedTuple):
    """Vectors [S, D], attention [S, C, C] and centred chunk vectors [S, C, H], zeros at padding.

    See `encoder.layout`.
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
    learning_rate: float

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
        """Run the head over S sections at once; see `encoder.layout`.

        What lies past a row's length is ignored; `section_ids` and `chunk_ids` are clamped to their tables.
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


_BACKBONE = "encoder.bert."


class Colde(nn.Module):
    """The Contrastive Long Document Encoder: two modules that are trained together and exported apart."""

    def __init__(self, config: ModelConfig, attention: Literal["sdpa", "eager"] = "sdpa") -> None:
        super().__init__()
        self.config = config
        self.encoder = ChunkEncoder(config, attention)
        self.head = DocumentHead(config)


def save_weights(model: Colde, folder: Path) -> None:
    """Write the weights into a folder, see `save_tensors`: the backbone in fp16, everything else in fp32."""
    tensors = {}
    for name, tensor in model.state_dict().items():
        narrow = name.startswith(_BACKBONE) and tensor.is_floating_point()
        tensors[name] = tensor.to(torch.float16 if narrow else tensor.dtype)
    save_tensors(tensors, folder)


def load_colde(folder: ModelFolder, attention: Literal["sdpa", "eager"] = "sdpa") -> Colde:
    """Build a model from its folder, in evaluation mode, all weights fp32.

    Raises:
        ModelError: the weights are missing, damaged, or do not fit `config.json`.
    """
    try:
        model = Colde(folder.config, attention)
        model.load_state_dict({name: tensor.float() for name, tensor in load_tensors(folder.path).items()})
    except (RuntimeError, ValueError, SafetensorError) as error:
        raise ModelError(
            f"{weights_file(folder.path)} does not fit the model's config.json; train or fetch it again."
        ) from error
    return model.eval()
