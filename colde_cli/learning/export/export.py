"""A trained model folder gets its ONNX graphs: two chunk encoders and the document head."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from colde_cli.encoder.layout import ENCODER_GRAPHS, HEAD_GRAPH, open_folder
from colde_cli.errors import OptionError
from colde_cli.learning.export.graphs import write_chunk_encoder, write_head
from colde_cli.learning.export.half import halve
from colde_cli.learning.export.smooth_quant import quantize
from colde_cli.learning.networks.chunk_encoder import ChunkEncoder
from colde_cli.learning.networks.colde import load_colde

SHIPPED = ("int8", "fp16")


def export_model(
    folder: Path,
    calibration_ids: Sequence[Sequence[int]] = (),
    precisions: Sequence[str] = SHIPPED,
) -> None:
    """Write the document head and the chunk encoder in every precision asked for.

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
    (folder / "onnx").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".export-") as scratch:
        staged = Path(scratch)
        write_head(model.head, staged / Path(HEAD_GRAPH).name)
        for precision in precisions:
            target = staged / Path(ENCODER_GRAPHS[precision]).name
            write_encoder(model.encoder, precision, calibration_ids, target)
        for name in (HEAD_GRAPH, *(ENCODER_GRAPHS[precision] for precision in precisions)):
            (staged / Path(name).name).replace(folder / name)


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
