"""PyTorch modules to ONNX graphs, through optimum's exporter.

The contracts of the graphs are in `colde_cli.encoder.layout`.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import torch
from torch import Tensor, nn

OPSET = 17

Axes = dict[str, dict[int, str]]


class UnmaskedChunkEncoder(nn.Module):
    """Token ids of one chunk at its exact length to its vector, without a mask: the fast graph for CPUs.

    The embeddings and the encoder of BERT are called one after the other because `BertModel.forward` builds a
    mask even where none is given.
    """

    def __init__(self, bert: nn.Module, pool: str) -> None:
        super().__init__()
        self.bert = bert
        self.pool = pool

    def forward(self, input_ids: Tensor) -> Tensor:
        """`[N, L]` token ids to `[N, H]`."""
        hidden = self.bert.encoder(self.bert.embeddings(input_ids=input_ids)).last_hidden_state
        return pooled(self.bert, hidden, None, self.pool)


class MaskedChunkEncoder(nn.Module):
    """Token ids of several chunks, padded, with their mask, to vectors: the graph for batches on a GPU."""

    def __init__(self, bert: nn.Module, pool: str) -> None:
        super().__init__()
        self.bert = bert
        self.pool = pool

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """`[N, L]` token ids and mask to `[N, H]`."""
        hidden = self.bert(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        return pooled(self.bert, hidden, attention_mask, self.pool)


def pooled(bert: nn.Module, hidden: Tensor, mask: Tensor | None, pool: str) -> Tensor:
    """One vector per chunk from its token states `[N, L, H]`."""
    if pool == "cls":
        return hidden[:, 0]
    if pool == "pooler":
        return bert.pooler(hidden)  # type: ignore[no-any-return, operator]
    if mask is None:
        return hidden.mean(dim=1)
    weights = mask.unsqueeze(-1).to(hidden.dtype)
    return (hidden * weights).sum(dim=1) / weights.sum(dim=1).clamp(min=1e-9)


@dataclass(frozen=True, slots=True)
class _Graph:
    """What optimum's exporter asks of an `OnnxConfig`: names and axes of a graph, and tensors to trace it with.

    Its own `OnnxConfig` classes derive these from architectures that it knows, which ours are not.
    """

    example: Mapping[str, Tensor]
    inputs: Axes
    outputs: Axes
    values_override: None = None

    def generate_dummy_inputs(self, **_: object) -> dict[str, Tensor]:
        return dict(self.example)

    def rename_ambiguous_inputs(self, inputs: dict[str, Tensor]) -> dict[str, Tensor]:
        return inputs

    def ordered_inputs(self, _: nn.Module) -> Axes:
        return self.inputs

    def patch_model_for_export(self, _: nn.Module, **__: object) -> torch.no_grad:
        return torch.no_grad()


def write_graph(
    module: nn.Module, example: Mapping[str, Tensor], inputs: Axes, outputs: Axes, target: Path
) -> None:
    """Trace `module` on `example` and write an ONNX graph with the named inputs, outputs and free axes.

    Args:
        module: takes the example's tensors as keyword arguments, in the order of `inputs`.
        example: tensors whose free axes have distinct sizes of at least 3, which the tracer cannot mistake
            for constants.
        inputs: name to `{axis: name of the axis}`.
        outputs: the same, in the order the module returns them.
        target: the file to write.
    """
    from optimum.exporters.onnx.convert import export_pytorch

    module.config = SimpleNamespace(return_dict=True)  # type: ignore[assignment]
    target.parent.mkdir(parents=True, exist_ok=True)
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    export_pytorch(module, _Graph(example, inputs, outputs), opset=OPSET, output=target)


def write_chunk_encoder(bert: nn.Module, pool: str, target: Path, *, masked: bool) -> None:
    """Write the chunk encoder: token ids `[N, L]` (and mask) to chunk vectors `[N, H]`."""
    axes = {0: "chunks", 1: "tokens"}
    ids = torch.arange(3 * 7).reshape(3, 7) % int(bert.config.vocab_size)  # type: ignore[union-attr, arg-type]
    outputs: Axes = {"chunk_vectors": {0: "chunks"}}
    if masked:
        example = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
        module: nn.Module = MaskedChunkEncoder(bert, pool)
        write_graph(module, example, {"input_ids": axes, "attention_mask": axes}, outputs, target)
    else:
        module = UnmaskedChunkEncoder(bert, pool)
        write_graph(module, {"input_ids": ids}, {"input_ids": axes}, outputs, target)
