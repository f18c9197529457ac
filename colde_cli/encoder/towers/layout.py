"""The folder of a tower: a siamese network that makes one vector of a text (every system but CoLDE).

    NAME/
      config.json         everything in `TowerConfig`
      tokenizer.json      of a BERT, or one word a token
      onnx/tower.onnx     fp32; one text a call
      model.safetensors   to export from and to train on from, fp32
      README.md           the card

Graph contract (R rows of L tokens, D = `TowerConfig.dim`, 0 is padding, a row of zeros is no row):

    in   rows [1, R, L] int64   (+ paragraphs [1, R] int64, where the network asks for them)
    out  vectors [1, D] float32, unit length

`TowerConfig.packing` names the way a text becomes rows (see `packing`).
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from colde_cli.encoder.layout import FORMAT, AnyFolder, check_format, config_file, config_of, config_values
from colde_cli.errors import ModelError
from colde_cli.scoring.calibration import Calibration

TOWER_GRAPH = "onnx/tower.onnx"

_SIZES = ("row_tokens", "max_rows", "dim", "vocab_size")
# Systems read more or less at once; the chunks that are compared have the size of CoLDE's.
_CHUNK_TOKENS = 512


@dataclass(frozen=True, slots=True)
class TowerConfig:
    """Everything that defines a tower beside its weights.

    Attributes:
        system: which network, a name of `colde train --system`.
        packing: how a text becomes rows: "flat", "blocks", "sentences" or "trigrams".
        row_tokens: L, tokens of a row at most, specials included.
        max_rows: R, rows of a text at most; the rest of the text is not read.
        dim: D, size of a vector.
        network: sizes and switches of the system, by the names its network gives them.
        backbone: fields of the Hugging Face configuration of its BERT; None where it has none.
        vocab_size: number of token ids, that of padding (0) included.
        backbone_name: where the backbone came from; "" where there is none.
        threshold: document score at which the verdict flips, fitted on validation pairs; None if not fitted.
        calibration: of the document score; None if not fitted.
        format: of the folder.
    """

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

    @property
    def model_type(self) -> str:
        """The kind of model, which `config.json` names: its system."""
        return self.system

    @property
    def chunk_tokens(self) -> int:
        """Tokens of a chunk, specials included: those of the row, or CoLDE's where a text has many rows."""
        return min(self.row_tokens, _CHUNK_TOKENS) if self.max_rows == 1 else _CHUNK_TOKENS

    @property
    def score_weights(self) -> None:
        """The score of a tower is the cosine of its vectors."""

    def fitted(self, threshold: float, calibration: Calibration) -> TowerConfig:
        """The same model with another threshold and calibration."""
        return replace(self, threshold=threshold, calibration=calibration)

    def to_json(self) -> str:
        """The text of `config.json`."""
        values = {"model_type": self.model_type, **asdict(self)}
        return json.dumps(values, indent=2, ensure_ascii=False) + "\n"

    @classmethod
    def from_json(cls, text: str, source: str) -> TowerConfig:
        """Parse `config.json`; `source` names it in errors.

        Raises:
            ModelError: not JSON, of another kind of model, incomplete, or of a later format.
        """
        values = config_values(text, source)
        kind = values.get("model_type")
        if not isinstance(kind, str) or kind == "colde" or values.get("system") != kind:
            raise ModelError(f"{source} describes a model of kind {kind!r}, which is no tower.")
        check_format(values, source)
        config = config_of(cls, values, source)
        config._check(source)
        return config

    def _check(self, source: str) -> None:
        for name in _SIZES:
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise ModelError(f"{source}: {name} must be a whole number above 0, not {value!r}.")
        if not isinstance(self.packing, str) or not isinstance(self.network, dict):
            raise ModelError(f"{source}: packing must be a name and network an object.")
        if self.backbone is not None and not isinstance(self.backbone, dict):
            raise ModelError(f"{source}: backbone must be an object or null.")


@dataclass(frozen=True, slots=True)
class TowerFolder(AnyFolder):
    """A tower on disk."""

    config: TowerConfig


def open_tower_folder(path: Path) -> TowerFolder:
    """Open the folder of a tower and check that it is one.

    Raises:
        ModelError: no such folder, no `config.json`, or a model of another kind.
    """
    config = config_file(path)
    return TowerFolder(
        path, TowerConfig.from_json(config.read_text(encoding="utf-8", errors="replace"), str(config))
    )


def is_tower(path: Path) -> bool:
    """Whether a folder holds a tower: only towers name a packing.

    Raises:
        ModelError: no such folder, or no `config.json`.
    """
    try:
        values = json.loads(config_file(path).read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError):
        return False
    return isinstance(values, dict) and "packing" in values
