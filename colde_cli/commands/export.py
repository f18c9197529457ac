"""`colde export`: write a model's ONNX graphs from its weights."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from colde_cli.commands.options import DebugOption, option, require_extra

if TYPE_CHECKING:
    from colde_cli.documents.document import Document

# The text on which a graph is checked without --calibration.
_SENTENCE = "A short sentence shows whether network and graph agree. Two are better than one."


class ExportPrecision(StrEnum):
    """Precisions of an exported chunk encoder."""

    INT8 = "int8"
    FP16 = "fp16"
    FP32 = "fp32"


def export(
    model: Annotated[
        str, typer.Argument(metavar="MODEL", help="Name or folder of a model with weights (model.safetensors).")
    ],
    precision: Annotated[
        list[ExportPrecision] | None,
        option(
            "--precision",
            envvar=None,  # COLDE_PRECISION chooses the graph to run
            metavar="int8|fp16|fp32",
            help="Chunk encoder to write; repeatable.",
            show_default="int8 and fp16",
        ),
    ] = None,
    calibration: Annotated[
        list[Path] | None,
        option(
            "--calibration",
            metavar="FILE",
            help="Document, or training file (.jsonl), with typical text for int8; repeatable.",
        ),
    ] = None,
    debug: DebugOption = False,
) -> None:
    """Write a model's ONNX graphs from its weights.

    The document head is always written. int8 is for CPUs and needs typical
    text (--calibration), fp16 is for GPUs, fp32 is the reference. Models of
    other systems have one fp32 graph, which is compared with the network on
    the text of --calibration. Needs the train extra.
    """
    require_extra("train", "colde export")
    from colde_cli import settings
    from colde_cli.encoder.checksums import record_checksums
    from colde_cli.encoder.layout import ENCODER_GRAPHS, HEAD_GRAPH, is_other_system
    from colde_cli.learning.graphs import SHIPPED, calibration_chunks, export_model

    folder = settings.resolve_model(model)
    if is_other_system(folder):
        graph = _export_system(folder, [item.value for item in precision or ()], calibration or [])
        record_checksums(folder, [graph])
        _report(folder / graph)
        return
    precisions = [item.value for item in precision] if precision else list(SHIPPED)
    ids = calibration_chunks(_chunk_ids(folder, calibration or []))
    export_model(folder, ids, precisions)
    graphs = [ENCODER_GRAPHS[name] for name in precisions]
    record_checksums(folder, [HEAD_GRAPH, *graphs])
    for graph in graphs:
        _report(folder / graph)


def _report(path: Path) -> None:
    from colde_cli.views.escaping import visible

    typer.echo(f"{visible(str(path))}  {path.stat().st_size / 1e6:.1f} MB")


def _export_system(folder: Path, precisions: Sequence[str], sources: Sequence[Path]) -> str:
    """Write the graph of a tower and return its path within the folder."""
    from colde_cli.documents.chunking import plain_tokenizer
    from colde_cli.documents.document import document_text
    from colde_cli.encoder.layout import SYSTEM_GRAPH, TOKENIZER, open_system_folder
    from colde_cli.encoder.packing import packing
    from colde_cli.errors import OptionError
    from colde_cli.systems.base import export_system

    model = open_system_folder(folder)
    if any(name != "fp32" for name in precisions):
        raise OptionError(f"{model.name} is a {model.config.system}, which can only be exported to fp32.")
    tokenizer = plain_tokenizer(model.file(TOKENIZER).read_text(encoding="utf-8"))
    pack = packing(model.config.packing, str(folder))
    texts = [document_text(document) for document in _documents(sources)] or [_SENTENCE]
    export_system(folder, [pack(text, tokenizer, model.config) for text in texts])
    return SYSTEM_GRAPH


def _documents(sources: Sequence[Path]) -> Iterator[Document]:
    from colde_cli.documents.reading import read
    from colde_cli.evaluation.data import read_data

    for source in sources:
        if source.name.endswith((".jsonl", ".jsonl.gz")):
            yield from (item.document for item in read_data([source]).documents)
        else:
            yield read(source)


def _chunk_ids(folder: Path, sources: Sequence[Path]) -> Iterator[Sequence[int]]:
    """Token ids of every chunk of the calibration documents."""
    if not sources:
        return
    from colde_cli.documents.chunking import Chunker, plain_tokenizer
    from colde_cli.encoder.layout import TOKENIZER, open_folder

    model = open_folder(folder)
    tokenizer = plain_tokenizer(model.file(TOKENIZER).read_text(encoding="utf-8"))
    chunker = Chunker(tokenizer, model.config.chunk_tokens)
    for document in _documents(sources):
        yield from (chunk.ids for chunk in chunker.chunk(document))
