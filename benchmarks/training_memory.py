"""Memory of one fine-tuning step, with the gradient cache and without it.

    python benchmarks/training_memory.py [--model FOLDER] [--batches 10 50 200] [--plain 10 50]

A step is: BERT with all layers trained, document head, SupCon over the whole batch, AdamW. Every document has
two sections of eight chunks; its neighbour in the batch is its positive; token ids are random, which memory does
not notice. Prints one row per batch size, each measured once in a process of its own, after a step with two
documents has made the gradients and the optimiser's states, on the CPU:

    peak      the most memory that the process held (resident set), MiB
    step      how much of it came with the step, MiB
    vectors   chunk vectors and their gradients, the part that the gradient cache keeps for every chunk, MiB
    seconds   of the step, which say more about the machine than about the method

With the cache, what grows with the batch is the chunk vectors and the graph of the head; without it, BERT's.
"""

from __future__ import annotations

import argparse
import json
import platform
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from torch import Tensor

from colde_cli.encoder.layout import open_folder
from colde_cli.learning.gradient_cache import cached_backward, micro_batches
from colde_cli.learning.losses import supcon
from colde_cli.learning.networks.colde import Colde, load_colde

CHUNKS = 8
MIB = 2**20
MODEL = Path(__file__).resolve().parent.parent / "models" / "colde-minilm-l6"


def random_chunks(documents: int, tokens: int, vocabulary: int) -> list[NDArray[np.int32]]:
    """Chunks of `documents` documents, one document after the other."""
    rng = np.random.default_rng(0)
    return list(rng.integers(1, vocabulary, (documents * 2 * CHUNKS, tokens)).astype(np.int32))


def loss_of(model: Colde, vectors: Tensor) -> Tensor:
    """SupCon of a batch from its chunk vectors [documents * 2 * CHUNKS, H]."""
    rows = torch.arange(len(vectors) // CHUNKS)
    head = model.head(
        vectors.view(len(rows), CHUNKS, -1),
        torch.full_like(rows, CHUNKS),
        rows ^ 1,
        rows % 2,
        torch.arange(CHUNKS).expand(len(rows), -1),
    )
    pair = rows // 4
    return supcon(head.vectors, pair[:, None] == pair[None, :], 0.5)


def step(model: Colde, optimizer: torch.optim.Optimizer, documents: int, options: argparse.Namespace) -> None:
    """One update of all weights."""
    chunks = random_chunks(documents, options.tokens, model.config.backbone["vocab_size"])
    optimizer.zero_grad(set_to_none=False)
    if options.without_cache:
        (whole,) = micro_batches(model.encoder, chunks, len(chunks) * options.tokens)
        loss_of(model, model.encoder(**whole.inputs)).backward()  # type: ignore[no-untyped-call]
    else:
        budget = options.micro_tokens
        cached_backward(model.encoder, chunks, lambda vectors: loss_of(model, vectors), micro_tokens=budget)
    optimizer.step()


def peak_bytes() -> int:
    """The most memory that this process has held so far."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def measure(options: argparse.Namespace) -> dict[str, float]:
    """Run one step in this process."""
    torch.set_num_threads(options.threads)
    model = load_colde(open_folder(options.model)).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-5)
    step(model, optimizer, 2, options)
    before, start = peak_bytes(), time.perf_counter()
    step(model, optimizer, options.documents, options)
    seconds = time.perf_counter() - start
    vectors = 2 * options.documents * 2 * CHUNKS * model.config.hidden_size * 4
    return {"peak": peak_bytes(), "step": peak_bytes() - before, "vectors": vectors, "seconds": seconds}


def measured_apart(documents: int, cached: bool, options: argparse.Namespace) -> dict[str, float]:
    """`measure` in a fresh process, since a peak cannot be taken back."""
    command = [sys.executable, __file__, "--documents", str(documents), "--model", str(options.model)]
    for name in ("tokens", "micro_tokens", "threads"):
        command += [f"--{name.replace('_', '-')}", str(getattr(options, name))]
    if not cached:
        command.append("--without-cache")
    finished = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    values: dict[str, float] = json.loads(finished.stdout)
    return values


def parse() -> argparse.Namespace:
    """The command line; `--documents` is how this script calls itself."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--model", type=Path, default=MODEL, help="model folder with model.safetensors")
    parser.add_argument(
        "--batches", type=int, nargs="+", default=[10, 50, 200], help="documents, with the cache"
    )
    parser.add_argument("--plain", type=int, nargs="*", default=[10, 50], help="documents, without it")
    parser.add_argument("--tokens", type=int, default=8, help="tokens of a chunk")
    parser.add_argument("--micro-tokens", type=int, default=1024)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--documents", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--without-cache", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> None:
    """Print the table, or measure one row of it."""
    options = parse()
    if options.documents:
        print(json.dumps(measure(options)))
        return
    title = f"{options.model.name}, {options.tokens} tokens a chunk, {options.threads} thread(s), "
    table = Table(title=title + f"torch {torch.__version__}, {platform.machine()} {platform.system()}")
    for column in ("batch", "chunks", "micro tokens", "peak MiB", "step MiB", "vectors MiB", "seconds"):
        table.add_column(column, justify="right")
    for cached, documents in [(True, n) for n in options.batches] + [(False, n) for n in options.plain]:
        row = measured_apart(documents, cached, options)
        budget = str(options.micro_tokens) if cached else "no cache"
        sizes = [f"{row[name] / MIB:.1f}" for name in ("peak", "step", "vectors")]
        table.add_row(str(documents), str(documents * 2 * CHUNKS), budget, *sizes, f"{row['seconds']:.1f}")
    Console().print(table)


if __name__ == "__main__":
    main()
