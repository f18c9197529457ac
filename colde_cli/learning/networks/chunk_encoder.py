"""CoLDE's chunk encoder, token ids to chunk vectors: BERT with section and chunk embeddings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import torch
from torch import Tensor, nn
from transformers import BertConfig, BertModel

from colde_cli.encoder.layout import ModelConfig

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
        self.pool = config.chunk_pool
        fields = {key: value for key, value in config.backbone.items() if key != "model_type"}
        self.takes_positions = config.chunk_position == "input"
        if self.takes_positions:
            fields["type_vocab_size"] = max(2, config.sections, int(fields.get("type_vocab_size", 2)))
        bert = BertConfig(**fields, attn_implementation=attention)
        self.bert = BertModel(bert, add_pooling_layer=self.pool == "pooler")
        self.chunk_embedding = (
            nn.Embedding(config.max_chunks, config.hidden_size) if self.takes_positions else None
        )
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
        """Encode chunks.

        Args:
            input_ids: int64 [N, L], `[CLS]` first.
            attention_mask: int64 [N, L], 1 for tokens and 0 for padding; None if all rows are full.
            section_ids: int64 [N], p of the paper; only with `chunk_position="input"`.
            chunk_ids: int64 [N], q of the paper, clamped to Q - 1; only with `chunk_position="input"`.

        Returns:
            [N, H] float32.
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


def bert_fields(config: BertConfig) -> dict[str, object]:
    """Return the fields of a `BertConfig` that define the network, for `ModelConfig.backbone`."""
    names = (
        "model_type vocab_size hidden_size num_hidden_layers num_attention_heads intermediate_size hidden_act "
        "hidden_dropout_prob attention_probs_dropout_prob max_position_embeddings type_vocab_size "
        "initializer_range layer_norm_eps pad_token_id position_embedding_type"
    ).split()
    return {name: getattr(config, name) for name in names}
