"""The folders of models: their files, and the fields of `config.json`. First those of a CoLDE model.

    NAME/
      config.json                    everything in `ModelConfig`
      tokenizer.json
      model.safetensors              the weights: backbone fp16, head fp32; or in shards,
                                     model-00001-of-0000N.safetensors with model.safetensors.index.json
      chunk_encoder.onnx             fp32, masked, written on demand by `colde export`
      chunk_encoder_quantized.onnx   int8, unmasked: one chunk a call at its exact length (CPU)
      chunk_encoder_fp16.onnx        fp16, masked: batches (GPU)
      document_head.onnx             chunk vectors -> section vectors, where the score has them
      domains.npz                    the prototypes of the domains; only where the score depends on them
      fields.npz                     the whitenings of the domains, as optional as these
      lexicon.npz                    how common words are; only where the score counts words
      README.md                      the card
      SHA256SUMS                     checksums of all these, see `checksums`

The weights stand once, in `model.safetensors`: the graphs refer to its tensors as ONNX external data, which is why
they lie beside it (ONNX Runtime refuses data outside a graph's folder). Only the int8 matrices are in their graph.

Graph contracts (H = hidden size, D = size of a document vector, int64 unless said):

    chunk encoder   in  input_ids [N, L]   (+ attention_mask [N, L] when masked)
                        (+ section_ids [N], chunk_ids [N] when chunk_position == "input": a document
                        is read whole, as section 0 with chunks 0, 1, ... up to max_chunks - 1)
                    out chunk_vectors [N, H] float32
    document head   in  chunk_vectors [S, C, H] float32 (zeros past a length), lengths [S],
                        partners [S] (row whose chunks are keys and values), section_ids [S], chunk_ids [S, C]
                    out vectors [S, D] float32, unit length; attention [S, C, C] float32, mean over heads,
                        rows sum to 1 over the partner's chunks; directions [S, C, H] float32, the centred
                        chunk vectors at unit length, whose dot products are the chunk scores

The graphs know no documents. A document is one section (S = 1, partner 0). Only training reads `attention`;
`document_head.Head` makes that of two documents, and all of `directions`, from the weights.

The folder of another system, a network that makes one vector of each text:

    NAME/
      config.json         everything in `SystemConfig`
      tokenizer.json      of a BERT, or one word a token
      onnx/tower.onnx     fp32; one text a call
      model.safetensors   to export from and to train on from, fp32
      README.md           the card
      SHA256SUMS          checksums of all these

Graph contract (R rows of L tokens, D = `SystemConfig.dim`, 0 is padding, a row of zeros is no row):

    in   rows [1, R, L] int64   (+ paragraphs [1, R] int64, where the network asks for them)
    out  vectors [1, D] float32, unit length

`SystemConfig.packing` names the way a text becomes rows (see `packing`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from colde_cli.encoder.validation import check_backbone, check_scoring, check_values, parsed
from colde_cli.errors import ModelError
from colde_cli.scoring.config import Calibration, ScoreWeights, calibration_of, score_weights_of

Config = TypeVar("Config")

FORMAT = 1
CONFIG = "config.json"
TOKENIZER = "tokenizer.json"
WEIGHTS = "model.safetensors"
WEIGHTS_INDEX = "model.safetensors.index.json"
"""Names the file of each tensor, where the weights are in shards."""
CARD = "README.md"
HEAD_GRAPH = "document_head.onnx"
LEXICON = "lexicon.npz"
DOMAINS = "domains.npz"
FIELDS = "fields.npz"
ENCODER_GRAPHS = {
    "int8": "chunk_encoder_quantized.onnx",
    "fp16": "chunk_encoder_fp16.onnx",
    "fp32": "chunk_encoder.onnx",
}

_TYPES = {"F16": np.float16, "F32": np.float32}
_MAX_BYTES = 4 << 20
"""Maximum size of `config.json` in bytes; that of a model with calibrations for ten domains has 12 kB."""


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """Everything that defines a CoLDE model except its weights; names as in the paper where it has one.

    Attributes:
        backbone: the Hugging Face `BertConfig` fields of the chunk encoder.
        chunk_tokens: tokens a chunk may hold, specials included (512).
        chunk_pool: the vector of a chunk: masked mean, first token, or BERT's tanh pooler.
        chunk_position: "input" adds section and chunk embeddings before BERT (the paper), "post" after it,
            which makes chunk vectors free of position: cacheable and comparable; "none" adds none (−Aug).
        sections: S, into how many contiguous parts a document is cut in training (Aug; 1 = −Aug).
        max_chunks: Q, rows of the chunk embedding; positions beyond are clamped.
        attention_heads: heads of the chunk-wise attention; 0 leaves it out.
        lstm_hidden: units per direction of the Bi-LSTM; 0 replaces attention and Bi-LSTM by the mean (−LSTM).
        projection: size of the projected vector (256).
        residual: "none" is the paper; "mean" puts a linear map of the centred mean of the chunk vectors beside
            the projected vector, so that the score is a weighted sum of two cosines.
        residual_share: weight of the projected vector's cosine in that sum; the mean's has the rest.
        dropout: of attention output and projection in training.
        threshold: document score at which the verdict flips, fitted on validation pairs; None if not fitted.
        calibration: of the document score; None if not fitted.
        score_weights: of the parts of the document score; None for the cosine of document vectors alone.
        system: "colde"; the other systems have a `SystemConfig`.
    """

    backbone: dict[str, Any]
    backbone_name: str
    chunk_tokens: int = 512
    chunk_pool: Literal["mean", "cls", "pooler"] = "mean"
    chunk_position: Literal["input", "post", "none"] = "post"
    sections: int = 2
    max_chunks: int = 64
    attention_heads: int = 4
    lstm_hidden: int = 256
    projection: int = 256
    residual: Literal["none", "mean"] = "none"
    residual_share: float = 0.5
    dropout: float = 0.1
    threshold: float | None = None
    calibration: Calibration | None = None
    score_weights: ScoreWeights | None = None
    system: Literal["colde"] = "colde"
    model_type: Literal["colde"] = field(default="colde")
    format: int = FORMAT

    @property
    def hidden_size(self) -> int:
        """H, the size of a chunk vector."""
        return int(self.backbone["hidden_size"])

    def fitted(self, threshold: float, calibration: Calibration) -> ModelConfig:
        """The same model with another threshold and calibration, for every domain."""
        score_weights = self.score_weights and self.score_weights.with_verdict(threshold, calibration)
        return replace(self, threshold=threshold, calibration=calibration, score_weights=score_weights)

    def to_json(self) -> str:
        """The text of `config.json`."""
        return json.dumps(asdict(self), indent=2, ensure_ascii=False) + "\n"

    @classmethod
    def from_json(cls, text: str, source: str) -> ModelConfig:
        """Parse `config.json`; `source` names it in errors.

        Raises:
            ModelError: not JSON, of another kind of model, or of a later format.
        """
        values = parsed(text, source)
        kind = values.get("model_type")
        if kind != "colde":
            raise ModelError(f"{source} describes a model of kind {kind!r}, not 'colde'.")
        check_format(values, source)
        config = config_of(cls, values, source)
        check_backbone(config.backbone, source)
        return config


def check_format(values: dict[str, Any], source: str) -> None:
    """Check the format of a configuration.

    Raises:
        ModelError: a later version wrote it.
    """
    written = values.get("format", 0)
    if not isinstance(written, int):
        raise ModelError(f"{source}: format must be a number, not {written!r}.")
    if written > FORMAT:
        raise ModelError(f"{source} was written by a later colde; upgrade with: pip install -U colde")


def config_of(cls: type[Config], values: dict[str, Any], source: str) -> Config:
    """Make a configuration of class `cls` from the values that it has fields for.

    Raises:
        ModelError: a value is missing, of the wrong kind or out of range.
    """
    check_values(values, cls, source)
    known = {item.name for item in fields(cls)}  # type: ignore[arg-type]  # a dataclass
    read = {name: value for name, value in values.items() if name in known}
    try:
        if read.get("calibration") is not None:
            read["calibration"] = calibration_of(read["calibration"])
        if read.get("score_weights") is not None:
            read["score_weights"] = score_weights_of(read["score_weights"])
        config = cls(**read)
    except (TypeError, LookupError) as error:
        raise ModelError(f"{source} is incomplete: {error}.") from error
    check_scoring(read.get("calibration"), read.get("score_weights"), source)
    return config


@dataclass(frozen=True, slots=True)
class AnyFolder:
    """The folder of a model of any system."""

    path: Path

    @property
    def name(self) -> str:
        """The folder's name, by which `--model` finds it."""
        return self.path.name

    def file(self, relative: str) -> Path:
        """Path of one of the model's files.

        Raises:
            ModelError: the folder lacks it.
        """
        if not self.has(relative):
            raise ModelError(f"The model {self.path} lacks {relative}.")
        return self.path / relative

    def has(self, relative: str) -> bool:
        """Whether the folder holds this file."""
        return (self.path / relative).is_file()


@dataclass(frozen=True, slots=True)
class ModelFolder(AnyFolder):
    """A CoLDE model on disk."""

    config: ModelConfig


def open_folder(path: Path) -> ModelFolder:
    """Open the folder of a CoLDE model and check that it is one.

    Raises:
        ModelError: no such folder, no `config.json`, or a model of another kind.
    """
    return ModelFolder(path, ModelConfig.from_json(*_config_text(path)))


def _config_text(path: Path) -> tuple[str, str]:
    """The text of `config.json` in a model folder, and its path as errors name it."""
    config = config_file(path)
    if config.stat().st_size > _MAX_BYTES:
        raise ModelError(f"{config} is larger than {_MAX_BYTES >> 20} MiB; it is not a file of this version.")
    return config.read_text(encoding="utf-8", errors="replace"), str(config)


def config_file(path: Path) -> Path:
    """The path of `config.json` in a model folder.

    Raises:
        ModelError: no such folder, or no `config.json`.
    """
    if not path.is_dir():
        raise ModelError(f"There is no model folder {path}.")
    config = path / CONFIG
    if not config.is_file():
        raise ModelError(f"{path} is not a model: it lacks {CONFIG}.")
    return config


SYSTEM_GRAPH = "onnx/tower.onnx"

# Systems read more or less at once; the chunks that are compared have the size of CoLDE's.
_CHUNK_TOKENS = 512


@dataclass(frozen=True, slots=True)
class SystemConfig:
    """Everything that defines a model of another system except its weights.

    Attributes:
        system: which network, a name of `colde train --system`.
        packing: how a text becomes rows: "flat", "blocks", "sentences" or "trigrams".
        row_tokens: L, tokens of a row at most, specials included.
        max_rows: R, rows of a text at most; the rest of the text is not read.
        network: sizes and switches of the system, by the names its network gives them.
        backbone: fields of the Hugging Face configuration of its BERT; None where it has none.
        vocab_size: number of token ids, that of padding (0) included.
        backbone_name: where the backbone came from; "" where there is none.
        threshold: document score at which the verdict flips, fitted on validation pairs; None if not fitted.
        calibration: of the document score; None if not fitted.
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
        """The score is the cosine of its vectors."""

    def fitted(self, threshold: float, calibration: Calibration) -> SystemConfig:
        """The same model with another threshold and calibration."""
        return replace(self, threshold=threshold, calibration=calibration)

    def to_json(self) -> str:
        """The text of `config.json`."""
        values = {"model_type": self.model_type, **asdict(self)}
        return json.dumps(values, indent=2, ensure_ascii=False) + "\n"

    @classmethod
    def from_json(cls, text: str, source: str) -> SystemConfig:
        """Parse `config.json`; `source` names it in errors.

        Raises:
            ModelError: not JSON, of another kind of model, incomplete, or of a later format.
        """
        values = parsed(text, source)
        kind = values.get("model_type")
        if not isinstance(kind, str) or kind == "colde" or values.get("system") != kind:
            raise ModelError(f"{source} describes a model of kind {kind!r}, not one of another system.")
        check_format(values, source)
        return config_of(cls, values, source)


@dataclass(frozen=True, slots=True)
class SystemFolder(AnyFolder):
    """A model of another system on disk."""

    config: SystemConfig


def open_system_folder(path: Path) -> SystemFolder:
    """Open the folder of a model of another system and check that it is one.

    Raises:
        ModelError: no such folder, no `config.json`, or a model of another kind.
    """
    return SystemFolder(path, SystemConfig.from_json(*_config_text(path)))


def is_other_system(path: Path) -> bool:
    """Whether a folder holds a model of another system: only these name a packing.

    Raises:
        ModelError: no such folder, or no `config.json`.
    """
    try:
        values = json.loads(_config_text(path)[0])
    except (ValueError, RecursionError):
        return False
    return isinstance(values, dict) and "packing" in values


def weights_file(folder: Path) -> Path:
    """The file that stands for a model's weights in messages: `model.safetensors`, or the index of the shards."""
    whole, index = folder / WEIGHTS, folder / WEIGHTS_INDEX
    return index if index.is_file() and not whole.is_file() else whole


def weight_files(folder: Path) -> list[Path]:
    """The files that hold a model's weights: `model.safetensors`, or the shards that its index names.

    Raises:
        ModelError: the folder lacks one of them, or the index is damaged.
    """
    index = weights_file(folder)
    names = [WEIGHTS]
    if index.name == WEIGHTS_INDEX:
        try:
            names = sorted(set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values()))
            inside = bool(names) and all(Path(name).name == name and len(name) < 200 for name in names)
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            raise ModelError(f"{index} is damaged; fetch the model again.") from error
        if not inside:
            raise ModelError(f"{index} names files of other folders, or none; fetch the model again.")
    for name in names:
        if not (folder / name).is_file():
            raise ModelError(f"The model {folder} lacks {name}.")
    return [folder / name for name in names]


def stored_tensors(path: Path) -> Iterator[tuple[str, NDArray[Any], int]]:
    """The fp16 and fp32 tensors of a safetensors file, mapped into memory: the name, values and offset of each.

    Raises:
        OSError: it cannot be read.
        ValueError, LookupError, TypeError: it is damaged.
    """
    data = np.memmap(path, np.uint8, mode="r")
    start = 8 + int.from_bytes(data[:8].tobytes(), "little")
    for name, entry in json.loads(data[8:start].tobytes()).items():
        if name != "__metadata__" and entry["dtype"] in _TYPES:
            first, end = (start + offset for offset in entry["data_offsets"])
            yield name, data[first:end].view(_TYPES[entry["dtype"]]).reshape(entry["shape"]), first


def model_tensors(folder: Path, prefix: str) -> dict[str, NDArray[np.float32]]:
    """The weights of a model whose names begin with `prefix`, by their names without it.

    Raises:
        ModelError: a file is missing or damaged.
    """
    found = {}
    for path in weight_files(folder):
        try:
            for name, values, _ in stored_tensors(path):
                if name.startswith(prefix):
                    found[name.removeprefix(prefix)] = np.array(values, np.float32)
                    if not np.isfinite(values).all():
                        raise ValueError("not a number")
        except (OSError, ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError) as error:
            raise ModelError(f"{path} is damaged; fetch the model again.") from error
    return found
