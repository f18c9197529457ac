"""The encoder that LA(SER)³ trains without labels: a BERT and the mean of its word states (Xiao et al. 2023, §5)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from torch import Tensor, nn
from torch.nn import functional
from transformers import BertConfig, BertModel

from colde_cli.encoder.towers.layout import TowerConfig


class Laser3(nn.Module):
    """One row of word pieces to one vector.

    `network["pool"]` is "mean" over the words, [CLS] and [SEP] among them, or "cls" (the paper's table 5).
    """

    def __init__(self, config: TowerConfig, attention: Literal["sdpa", "eager"] = "sdpa") -> None:
        """Build with random weights; `attention="eager"` is for export to ONNX.

        Raises:
            ValueError: there is no backbone, or `dim` is not its hidden size.
        """
        super().__init__()
        if config.backbone is None or config.dim != config.backbone["hidden_size"]:
            raise ValueError("laser3 needs a backbone, and its hidden size as dim")
        self.pool = str(config.network.get("pool", "mean"))
        fields = {name: value for name, value in config.backbone.items() if name != "model_type"}
        bert = BertConfig(**fields, attn_implementation=attention)
        self.bert = BertModel(bert, add_pooling_layer=False)

    def load_bert(self, weights: Mapping[str, Tensor]) -> None:
        """Take pretrained weights (`BertModel`, names without prefix).

        Raises:
            ValueError: a weight is missing or of another shape.
        """
        own = self.bert.state_dict()
        missing = [name for name in own if name not in weights or weights[name].shape != own[name].shape]
        if missing:
            raise ValueError(f"the pretrained weights lack {missing[0]} in the right shape")
        self.bert.load_state_dict({name: weights[name] for name in own})

    def forward(self, rows: Tensor, paragraphs: Tensor | None = None) -> Tensor:
        """Encode texts.

        Args:
            rows: int64 [D, 1, L]; 0 is padding.
            paragraphs: not used.

        Returns:
            float32 [D, dim], unit length.
        """
        ids = rows[:, 0]
        mask = (ids != 0).long()
        states = self.bert(input_ids=ids, attention_mask=mask).last_hidden_state.float()
        return functional.normalize(states[:, 0] if self.pool == "cls" else _mean(states, mask), dim=-1)


def _mean(states: Tensor, mask: Tensor) -> Tensor:
    weights = mask.unsqueeze(-1).to(states.dtype)
    return (states * weights).sum(1) / weights.sum(1).clamp(min=1.0)
