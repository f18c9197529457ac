"""All that decides how a model is trained, beside data and backbone."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import Any, Literal

from colde_cli.encoder.layout import ModelConfig
from colde_cli.errors import OptionError
from colde_cli.learning.augmentation import Elongation, ViewOptions
from colde_cli.learning.backbone import Backbone

LEARNING_RATE = 5e-5
"""The paper's, for a backbone that is trained."""
FROZEN_LEARNING_RATE = 1e-3
"""A head from scratch on vectors that stay: there is nothing pretrained to spoil."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """The options of a run; names and meaning as on the command line.

    Attributes:
        freeze_backbone: train the document head only, on chunk vectors that are computed once.
        trainable_layers: last Transformer layers to train; None for all of BERT.
        epochs: passes over the data at most.
        batch_size: documents in a batch.
        batches: "mixed" draws them from all documents, "by-file" each from one file of the data.
        learning_rate: AdamW's peak, after warm-up.
        weight_decay: AdamW's, decoupled.
        temperature: τ of SupCon.
        loss: "supcon" (the paper), "sincere", or "cosine".
        ablations: "no-aug" (no sections), "no-lstm" (no attention, no Bi-LSTM), "no-cl" (cosine loss, no sections).
        sections: S.
        window: most chunks of a section shown in training; 0 for all.
        chunk_position: where section and chunk embeddings are added.
        chunk_pool: which vector represents a chunk.
        heads: of the chunk-wise attention.
        projection: size of z.
        residual: "mean" puts the mean of the chunk vectors beside the head's vector.
        residual_share: weight of the head's cosine in the score, where there is a residual.
        dropout: of attention output and projection.
        combine: make the score of chunks and words too, beside CoLDE's cosine (`encoder.layout.ScoreWeights`).
        elongation: LA(SER)³ as a loss, as views, or not at all.
        elongation_weight: λ of L_len.
        precision: "fp32" or "bf16" (autocast).
        max_memory: bytes that a BERT which is trained may take, weights and optimiser included.
        seed: of everything random.
        patience: epochs without a better validation AUC before the run ends; 0 never ends it early.
    """

    freeze_backbone: bool = False
    trainable_layers: int | None = None
    epochs: int = 25
    batch_size: int = 50
    batches: Literal["mixed", "by-file"] = "mixed"
    learning_rate: float = LEARNING_RATE
    weight_decay: float = 0.01
    temperature: float = 0.5
    loss: Literal["supcon", "sincere", "cosine"] = "supcon"
    ablations: tuple[str, ...] = ()
    sections: int = 2
    window: int = 8
    chunk_position: Literal["input", "post"] = "post"
    chunk_pool: Literal["mean", "cls", "pooler"] = "mean"
    heads: int = 4
    projection: int = 256
    residual: Literal["none", "mean"] = "none"
    residual_share: float = 0.3
    dropout: float = 0.1
    combine: bool = True
    elongation: Elongation = "none"
    elongation_weight: float = 0.1
    precision: Literal["fp32", "bf16"] = "fp32"
    max_memory: int = 4 * 10**9
    seed: int = 0
    patience: int = 5

    def check(self) -> None:
        """Refuse options that contradict each other.

        Raises:
            OptionError: they do.
        """
        if not self.epochs:
            raise OptionError("--epochs 0 trains nothing; give it 1 at least.")
        if self.freeze_backbone and self.chunk_position == "input":
            raise OptionError(
                "--freeze-backbone needs --chunk-position post: with input, chunk vectors depend on their place."
            )
        if self.freeze_backbone and self.trainable_layers is not None:
            raise OptionError("--freeze-backbone trains no layer of BERT; leave out --trainable-layers.")
        if self.loss_used == "cosine" and self.elongation == "view":
            raise OptionError("--elongation view needs a contrastive loss; take --elongation loss.")

    @property
    def loss_used(self) -> Literal["supcon", "sincere", "cosine"]:
        """The loss, after the ablations."""
        return "cosine" if "no-cl" in self.ablations else self.loss

    @property
    def sections_used(self) -> int:
        """S, after the ablations: without augmentation or contrast a document is not cut."""
        return 1 if {"no-aug", "no-cl"} & set(self.ablations) else self.sections

    def model_config(self, backbone: Backbone) -> ModelConfig:
        """The model that this recipe trains.

        Raises:
            OptionError: the heads do not divide the backbone's hidden size, or it has too few layers.
        """
        hidden, layers = int(backbone.fields["hidden_size"]), int(backbone.fields["num_hidden_layers"])
        if hidden % self.heads:
            raise OptionError(f"--heads {self.heads} does not divide the backbone's {hidden} hidden units.")
        if self.trainable_layers is not None and self.trainable_layers > layers:
            raise OptionError(f"--trainable-layers {self.trainable_layers}, but the backbone has {layers}.")
        return ModelConfig(
            backbone=backbone.fields,
            backbone_name=backbone.name,
            chunk_tokens=min(512, int(backbone.fields["max_position_embeddings"])),
            chunk_pool=self.chunk_pool,
            chunk_position=self.chunk_position,
            sections=self.sections_used,
            attention_heads=self.heads,
            lstm_hidden=0 if "no-lstm" in self.ablations else 256,
            projection=self.projection,
            residual=self.residual,
            residual_share=self.residual_share,
            dropout=self.dropout,
        )

    def view_options(self, max_chunks: int) -> ViewOptions:
        """How documents are shown in training."""
        return ViewOptions(self.sections_used, self.window, max_chunks, self.elongation)

    def to_json(self) -> dict[str, Any]:
        """Every option by name."""
        return asdict(self)

    def digest(self) -> str:
        """Hash of every option: runs of one digest, on the same data, train the same model."""
        return hashlib.blake2b(json.dumps(self.to_json()).encode(), digest_size=16).hexdigest()
