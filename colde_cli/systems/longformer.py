"""S-LONG: the first 4,096 tokens through a Longformer (Beltagy et al. 2020), the first token's vector.

The embeddings, feed-forward layers and weights are those of `transformers`. Attention is written anew: theirs gathers
the global tokens into shapes that depend on the data, and an ONNX graph of free length cannot do that. Here only the
first token is global, the one that classifies, and nothing needs gathering. The tests compare both.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import torch
from torch import Tensor
from torch.nn import functional
from transformers import LongformerConfig, LongformerModel

from colde_cli.encoder.layout import SystemConfig
from colde_cli.errors import OptionError
from colde_cli.learning.backbone import Backbone
from colde_cli.systems.base import Attention, System, take_weights, transformer_layers


class SLong(System):
    """A Longformer over one row; every token sees a window and the first token, which sees all.

    `window` is that of a Longformer made of a BERT.
    """

    packing, start, row_tokens, rate = "flat", "longformer", 4096, 2e-5
    sizes: ClassVar[Mapping[str, Any]] = {"window": 512}

    def __init__(self, config: SystemConfig, attention: Attention = "sdpa") -> None:
        super().__init__()
        fields = {name: value for name, value in (config.backbone or {}).items() if name != "model_type"}
        self.shift = int(config.network.get("id_shift", 0))
        self.longformer = LongformerModel(LongformerConfig(**fields), add_pooling_layer=False)

    def load_pretrained(self, weights: Mapping[str, Tensor]) -> None:
        """See `System`."""
        take_weights(self.longformer, weights)

    def train_only(self, layers: int) -> None:
        """See `System`."""
        transformer_layers(self.longformer, layers)

    def forward(self, rows: Tensor, paragraphs: Tensor | None = None) -> Tensor:
        """Vectors [D, H] of texts: rows int64 [D, 1, L]; paragraphs are not read."""
        present = rows[:, 0] != 0
        padding = self.longformer.config.pad_token_id
        ids = torch.where(present, rows[:, 0] - self.shift, padding)
        return functional.normalize(self._states(ids, present)[:, 0].float(), dim=-1)

    def _states(self, ids: Tensor, present: Tensor) -> Tensor:
        """Token states [D, L, H] of token ids [D, L], of which `present` are no padding."""
        states: Tensor = self.longformer.embeddings(input_ids=ids)
        for layer in self.longformer.encoder.layer:
            seen = window_attention(layer.attention.self, states, present)
            states = layer.ff_chunk(layer.attention.output(seen, states))
        return states


def window_attention(attention: Any, states: Tensor, present: Tensor) -> Tensor:  # noqa: ANN401 - not typed there
    """Sliding-window attention with the first token global, in blocks of half a window.

    A token of a block of w tokens sees w tokens to either side: they lie in its block and the two beside it.

    Weights and sizes are those of a `LongformerSelfAttention`; states [D, L, H] and present bool [D, L] to [D, L, H].
    """
    half, heads = attention.one_sided_attn_window_size, attention.num_heads
    length = states.shape[1]
    filled = functional.pad(states, (0, 0, 0, -length % half))
    there = functional.pad(present, (0, -length % half))

    def split(projected: Tensor) -> Tensor:
        """[D, L, H] to [D, heads, L, H / heads]."""
        count, width = projected.shape[:2]
        return projected.reshape(count, width, heads, -1).transpose(1, 2)

    queries = split(attention.query(filled)) / math.sqrt(attention.head_dim)
    keys, values = split(attention.key(filled)), split(attention.value(filled))
    blocks = _in_blocks(queries, half)
    # The first token is seen by all as a global one, once, and not as a neighbour again.
    neighbour = there & (torch.arange(filled.shape[1], device=states.device) > 0)
    reach = _neighbours(neighbour[:, None, :, None], half)[..., 0].unsqueeze(-2)
    allowed = reach & _band(half).to(states.device)
    products = blocks @ _neighbours(keys, half).transpose(-1, -2)  # of fewer bits than the states under autocast
    near = products.masked_fill(~allowed, torch.finfo(products.dtype).min)
    first = blocks @ keys[:, :, None, :1].transpose(-1, -2)
    weights = torch.cat([first, near], -1).float().softmax(-1).to(states.dtype)
    weights = functional.dropout(weights, attention.dropout, attention.training)
    local = weights[..., 1:] @ _neighbours(values, half) + weights[..., :1] * values[:, :, None, :1]
    rest = local.flatten(2, 3).transpose(1, 2).flatten(2)[:, 1:length]
    return torch.cat([_global(attention, states, present, split), rest], 1)


def _global(attention: Any, states: Tensor, present: Tensor, split: Any) -> Tensor:  # noqa: ANN401
    """Attention of the first token to all tokens, with projections of its own: [D, 1, H]."""
    query = split(attention.query_global(states[:, :1])) / math.sqrt(attention.head_dim)
    keys, values = split(attention.key_global(states)), split(attention.value_global(states))
    scores = query @ keys.transpose(-1, -2)
    scores = scores.masked_fill(~present[:, None, None], torch.finfo(scores.dtype).min)
    weights = functional.dropout(scores.softmax(-1), attention.dropout, attention.training)
    seen: Tensor = (weights @ values).transpose(1, 2).flatten(2)
    return seen


def _neighbours(tokens: Tensor, half: int) -> Tensor:
    """Blocks with the block before and the block after: [D, h, n w, d] to [D, h, n, 3 w, d], zeros outside."""
    padded = _in_blocks(functional.pad(tokens, (0, 0, half, half)), half)
    return torch.cat([padded[:, :, :-2], padded[:, :, 1:-1], padded[:, :, 2:]], 3)


def _in_blocks(tokens: Tensor, half: int) -> Tensor:
    """[D, h, n w, d] to [D, h, n, w, d]."""
    count, heads, _, size = tokens.shape
    return tokens.reshape(count, heads, -1, half, size)


def _band(half: int) -> Tensor:
    """Which of the 3 w tokens around a block each of its w tokens may see, bool [w, 3 w]."""
    distance = torch.arange(3 * half)[None] - half - torch.arange(half)[:, None]
    return distance.abs() <= half


_SHARED = (
    "vocab_size hidden_size num_hidden_layers num_attention_heads intermediate_size hidden_act hidden_dropout_prob "
    "attention_probs_dropout_prob type_vocab_size initializer_range layer_norm_eps pad_token_id"
).split()
_POSITIONS = "embeddings.position_embeddings.weight"


def longformer_of_bert(bert: Backbone, tokens: int = 4096, window: int = 512) -> Backbone:
    """Turn a BERT into a Longformer that reads `tokens`; short texts, up to half a window, keep their vectors.

    The position table is repeated until it is long enough; the projections of the global token start as copies of
    those of all tokens.

    A token sees `window` tokens, half of them to either side.

    Raises:
        OptionError: the window is odd.
    """
    if window < 2 or window % 2:
        raise OptionError(f"--set window={window}: a window has an even number of tokens, 2 at least.")
    # Positions of a Longformer begin after the number of the padding token.
    first = int(bert.fields["pad_token_id"]) + 1
    fields = {
        **{name: bert.fields[name] for name in _SHARED},
        "model_type": "longformer",
        "max_position_embeddings": tokens + first,
        "attention_window": [window] * int(bert.fields["num_hidden_layers"]),
    }
    weights = {name: value for name, value in bert.weights.items() if not name.startswith("pooler.")}
    table = weights[_POSITIONS]
    repeated = table.repeat(-(-tokens // len(table)), 1)[:tokens]
    weights[_POSITIONS] = torch.cat([torch.zeros(first, table.shape[1]), repeated])
    for name in list(weights):
        for part in ("query", "key", "value"):
            if f".self.{part}." in name:
                weights[name.replace(f".{part}.", f".{part}_global.")] = weights[name].clone()
    return Backbone(bert.name, fields, weights, bert.tokenizer)
