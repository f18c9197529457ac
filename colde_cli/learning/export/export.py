"""Which chunks show the quantiser the range of every channel."""

from __future__ import annotations

import hashlib
import heapq
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from colde_cli.encoder.cache import Cache
from colde_cli.encoder.encoder import Encoder
from colde_cli.encoder.layout import (
    CONFIG,
    EARLIER_GRAPHS,
    ENCODER_GRAPHS,
    HEAD_GRAPH,
    TOKENIZER,
    WEIGHTS,
    open_folder,
)
from colde_cli.errors import OptionError
from colde_cli.files import atomic_folder
from colde_cli.learning.export.graphs import halve, write_chunk_encoder, write_head
from colde_cli.learning.export.shared_weights import share_weights
from colde_cli.learning.export.smooth_quant import quantize
from colde_cli.learning.networks.colde import ChunkEncoder, Colde, load_colde, save_weights

COUNT = 64
# Short chunks say little: their few tokens rarely reach the extremes.
_SHORTEST = 128


def calibration_chunks(chunks: Iterable[Sequence[int]], count: int = COUNT) -> list[list[int]]:
    """A sample of chunks that depends on nothing but the set of chunks: those with the smallest hashes.

    The same documents in any order thus give the same int8 graph to the byte, and cached vectors stay valid.

    Args:
        chunks: token ids of each chunk, specials included.
        count: size of the sample; all chunks are taken where there are not more.

    Returns:
        Token ids, ordered by hash; chunks of 128 tokens and more only, unless there are none.
    """
    listed = list(chunks)
    long = [ids for ids in listed if len(ids) >= _SHORTEST]
    return [list(ids) for ids in heapq.nsmallest(count, long or listed, key=_hash)]


def _hash(ids: Sequence[int]) -> bytes:
    return hashlib.blake2b(np.asarray(ids, np.int32).tobytes(), digest_size=16).digest()


@contextmanager
def frozen_encoder(
    model: Colde,
    tokenizer: str,
    calibration_ids: Sequence[Sequence[int]],
    *,
    device: str = "auto",
    cache: Cache | None = None,
) -> Iterator[Encoder]:
    """The runtime encoder of an untrained model, for as long as the context lasts.

    Args:
        model: the network as it stands; its backbone will not change any more.
        tokenizer: the text of `tokenizer.json`.
        calibration_ids: see `calibration_chunks`.
        device: as for `Encoder.load`.
        cache: where vectors are kept between runs.
    """
    with tempfile.TemporaryDirectory(prefix="colde-frozen-") as scratch:
        folder = Path(scratch) / "model"
        folder.mkdir()
        (folder / CONFIG).write_text(model.config.to_json(), encoding="utf-8")
        (folder / TOKENIZER).write_text(tokenizer, encoding="utf-8")
        save_weights(model, folder / WEIGHTS)
        export_model(folder, calibration_ids)
        yield Encoder.load(folder, device=device, cache=cache)


SHIPPED = ("int8", "fp16")


def export_model(
    folder: Path,
    calibration_ids: Sequence[Sequence[int]] = (),
    precisions: Sequence[str] = SHIPPED,
) -> None:
    """Write the document head, and the chunk encoder in every precision, all referring to `model.safetensors`.

    Each graph is written beside its place and renamed into it, so that a failed run leaves the old one.

    Args:
        folder: a model folder with `model.safetensors`.
        calibration_ids: token ids of about 64 typical chunks, specials included; int8 needs them to learn the
            range of every channel.
        precisions: of "int8" (unmasked, for CPUs), "fp16" (masked, for GPUs) and "fp32" (masked).

    Raises:
        ModelError: the folder is not a model or its weights do not fit.
        OptionError: int8 without calibration chunks.
    """
    if "int8" in precisions and not calibration_ids:
        raise OptionError("int8 needs calibration text: name documents with --calibration.")
    model = load_colde(open_folder(folder), attention="eager")
    graphs = (HEAD_GRAPH, *(ENCODER_GRAPHS[precision] for precision in precisions))
    with tempfile.TemporaryDirectory(dir=folder, prefix=".export-") as scratch:
        staged = Path(scratch)
        write_head(model.head, staged / HEAD_GRAPH)
        for precision in precisions:
            write_encoder(model.encoder, precision, calibration_ids, staged / ENCODER_GRAPHS[precision])
        for graph in graphs:
            share_weights(staged / graph, folder / WEIGHTS)
        for graph in graphs:
            (staged / graph).replace(folder / graph)
            (folder / EARLIER_GRAPHS / graph).unlink(missing_ok=True)


def write_encoder(
    encoder: ChunkEncoder, precision: str, calibration_ids: Sequence[Sequence[int]], target: Path
) -> None:
    """Write one chunk encoder; int8 and fp16 are derived from the fp32 graph, which is then removed."""
    if precision == "fp32":
        write_chunk_encoder(encoder, target, masked=True)
        return
    full = target.with_suffix(".full.onnx")
    write_chunk_encoder(encoder, full, masked=precision == "fp16")
    if precision == "fp16":
        halve(full, target)
    else:
        quantize(full, target, calibration_ids)
    full.unlink()


@contextmanager
def new_folder(folder: Path, config: str, tokenizer: str) -> Iterator[Path]:
    """Fill a folder with a model, which then takes the place of `folder`; see `atomic_folder`.

    Args:
        folder: of the model.
        config: the text of `config.json`.
        tokenizer: the text of `tokenizer.json`.
    """
    with atomic_folder(folder) as staged:
        for name, text in ((CONFIG, config), (TOKENIZER, tokenizer)):
            (staged / name).write_text(text, encoding="utf-8")
        yield staged
