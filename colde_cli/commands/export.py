"""`colde export`: write a model's ONNX graphs again from its weights."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class ExportPrecision(StrEnum):
    """What a chunk encoder can be exported to."""

    INT8 = "int8"
    FP16 = "fp16"
    FP32 = "fp32"


def export(
    model: Annotated[str, typer.Argument(help="Name or folder of a model with weights (model.safetensors).")],
    precision: Annotated[
        list[ExportPrecision] | None,
        typer.Option("--precision", help="Which chunk encoders to write; repeatable. [default: int8, fp16]"),
    ] = None,
    calibration: Annotated[
        list[Path] | None,
        typer.Option(
            "--calibration",
            help="Documents, or training files (.jsonl), whose text shows int8 the range of every channel.",
        ),
    ] = None,
) -> None:
    """Write a model's ONNX graphs from its weights.

    The document head is always written. int8 is for CPUs and needs typical text with --calibration; fp16 is for
    GPUs; fp32 is the reference.
    """
    from colde_cli import settings
    from colde_cli.learning.extra import require_train_extra

    require_train_extra("colde export")
    from colde_cli.encoder.layout import ENCODER_GRAPHS
    from colde_cli.learning.export.calibration import calibration_chunks
    from colde_cli.learning.export.export import SHIPPED, export_model

    folder = settings.resolve_model(model)
    precisions = [item.value for item in precision] if precision else list(SHIPPED)
    ids = calibration_chunks(_chunk_ids(folder, calibration or []))
    export_model(folder, ids, precisions)
    for name in precisions:
        path = folder / ENCODER_GRAPHS[name]
        typer.echo(f"{path}  {path.stat().st_size / 1e6:.1f} MB")


def _chunk_ids(folder: Path, sources: Sequence[Path]) -> Iterator[Sequence[int]]:
    """Token ids of every chunk of the calibration documents."""
    if not sources:
        return
    from colde_cli.documents.chunking import Chunker, plain_tokenizer
    from colde_cli.documents.reading import read
    from colde_cli.encoder.layout import TOKENIZER, open_folder
    from colde_cli.learning.data import read_data

    model = open_folder(folder)
    tokenizer = plain_tokenizer(model.file(TOKENIZER).read_text(encoding="utf-8"))
    chunker = Chunker(tokenizer, model.config.chunk_tokens)
    for source in sources:
        rows = source.name.endswith((".jsonl", ".jsonl.gz"))
        documents = [item.document for item in read_data([source]).documents] if rows else [read(source)]
        for document in documents:
            yield from (chunk.ids for chunk in chunker.chunk(document))
