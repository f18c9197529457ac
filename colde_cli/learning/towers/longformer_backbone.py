"""A BERT made a Longformer, by the recipe of its paper (Beltagy et al. 2020, §5)."""

from __future__ import annotations

import torch

from colde_cli.learning.backbone import Backbone

_SHARED = (
    "vocab_size hidden_size num_hidden_layers num_attention_heads intermediate_size hidden_act hidden_dropout_prob "
    "attention_probs_dropout_prob type_vocab_size initializer_range layer_norm_eps pad_token_id"
).split()
_POSITIONS = "embeddings.position_embeddings.weight"


def longformer_of_bert(bert: Backbone, tokens: int = 4096, window: int = 512) -> Backbone:
    """The Longformer that a BERT becomes: it reads `tokens`, and says of a text that fits into half a window the same.

    The position table is repeated until it is long enough; the projections of the global token start as copies of
    those of all tokens.

    Args:
        bert: the backbone.
        tokens: the most that the Longformer reads.
        window: how many tokens a token sees, half of them to either side; even.
    """
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
