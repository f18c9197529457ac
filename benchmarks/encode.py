"""Measure tokens per second of the chunk encoder on the CPU: as colde runs it, and in other layouts.

    python benchmarks/encode.py [--model NAME] [--chunks 16] [--tokens 512] [--repetitions 5]

Layouts take turns on the same chunks of random token ids, so that all meet the same neighbours on the machine;
each repetition gives one ratio to the first layout, and the median of the ratios is printed.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from colde_cli import settings
from colde_cli.documents.document import Chunk, Span
from colde_cli.encoder.layout import ENCODER_GRAPHS, ModelFolder, open_folder
from colde_cli.encoder.runtime import ChunkRunner, Graph, encoder_contract, open_session

_BATCH = 8


def random_chunks(count: int, tokens: int, vocabulary: int) -> list[Chunk]:
    """Chunks of exactly `tokens` random ids; the speed of a graph does not depend on the ids."""
    ids = np.random.default_rng(0).integers(0, vocabulary, (count, tokens))
    return [Chunk(index, 0, index, Span(0, 1), tuple(row.tolist())) for index, row in enumerate(ids)]


def plain_graph(path: Path, operator_threads: int) -> Graph:
    """`plain_session` as a graph that colde runs."""
    session = plain_session(path, operator_threads)
    return Graph(path, session, frozenset(item.name for item in session.get_inputs()), cuda=False)


def plain_session(graph: Path, operator_threads: int) -> onnxruntime.InferenceSession:
    """A session with all fusions of ONNX Runtime and `operator_threads` threads within each operator."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = operator_threads
    return onnxruntime.InferenceSession(str(graph), options, providers=["CPUExecutionProvider"])


def layouts(folder: ModelFolder, chunks: list[Chunk], threads: int) -> dict[str, Callable[[], object]]:
    """Name to a function that encodes all `chunks`; the first is the one colde uses."""
    graph = folder.file(ENCODER_GRAPHS["int8"])
    hidden = folder.config.hidden_size
    opened = open_session(graph, encoder_contract(hidden))
    fused = plain_graph(graph, 1)
    wide = plain_session(graph, threads)
    ids = np.array([chunk.ids for chunk in chunks], np.int64)

    def in_batches(size: int, with_session: onnxruntime.InferenceSession) -> list[NDArray[np.float32]]:
        starts = range(0, len(ids), size)
        return [with_session.run(None, {"input_ids": ids[start : start + size]})[0] for start in starts]

    found: dict[str, Callable[[], object]] = {
        f"colde: {threads} threads, one chunk a call": lambda: ChunkRunner(
            opened, hidden, threads, False
        ).run(chunks),
        "one thread, one chunk a call": lambda: ChunkRunner(opened, hidden, 1, False).run(chunks),
        f"{threads} threads, skip + norm fused": lambda: ChunkRunner(fused, hidden, threads, False).run(
            chunks
        ),
        f"{threads} threads an operator": lambda: in_batches(1, wide),
        f"{threads} threads an operator, batches of {_BATCH}": lambda: in_batches(_BATCH, wide),
    }
    if folder.has(ENCODER_GRAPHS["fp16"]):
        half = open_session(folder.file(ENCODER_GRAPHS["fp16"]), encoder_contract(hidden))
        found["fp16 graph, as colde runs it"] = lambda: ChunkRunner(half, hidden, threads, False).run(chunks)
    return found


def measure(layout: Callable[[], object]) -> float:
    """Seconds of one run."""
    start = time.perf_counter()
    layout()
    return time.perf_counter() - start


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n", maxsplit=1)[0])
    parser.add_argument("--model", default=settings.DEFAULT_MODEL)
    parser.add_argument("--chunks", type=int, default=16)
    parser.add_argument("--tokens", type=int, default=512)
    parser.add_argument("--repetitions", type=int, default=5)
    options = parser.parse_args()
    folder = open_folder(settings.resolve_model(options.model))
    threads = settings.usable_cores()
    chunks = random_chunks(options.chunks, options.tokens, int(folder.config.backbone["vocab_size"]))
    runs = layouts(folder, chunks, threads)
    for layout in runs.values():
        layout()
    rounds = [{name: measure(layout) for name, layout in runs.items()} for _ in range(options.repetitions)]
    print(
        f"{platform.machine()}, {threads} of {os.cpu_count()} cores, onnxruntime {onnxruntime.__version__}; "
        f"{folder.name}, {options.chunks} chunks of {options.tokens} tokens; "
        f"medians of {options.repetitions} interleaved repetitions"
    )
    first = next(iter(runs))
    for name in runs:
        speed = options.chunks * options.tokens / statistics.median(times[name] for times in rounds)
        ratio = statistics.median(times[first] / times[name] for times in rounds)
        print(f"{name:46} {speed:8,.0f} tokens/s   {ratio:5.2f} ×")


if __name__ == "__main__":
    main()
