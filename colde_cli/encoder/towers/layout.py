"""The configuration of a tower: a siamese network that makes one vector of a text."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from colde_cli.encoder.layout import FORMAT, Calibration


@dataclass(frozen=True, slots=True)
class TowerConfig:
    """All that defines a tower beside its weights."""

    system: str
    packing: str
    row_tokens: int
    max_rows: int
    dim: int
    network: dict[str, Any] = field(default_factory=dict)
    backbone: dict[str, Any] | None = None
    vocab_size: int = 0
    backbone_name: str = ""
    threshold: float | None = None
    calibration: Calibration | None = None
    format: int = FORMAT
