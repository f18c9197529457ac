"""Measure how fast files are read and encoded: documents, pages and tokens a second, and the share of each stage.

    python benchmarks/throughput.py FOLDER [--read] [--files N] [--repeat N] [--other CHECKOUT]

`--read` only reads. `--other` runs the same with the code of another checkout in turn, and prints the ratios. Nothing
is taken from a cache. Each run is a process of its own, so that its peak memory is its own.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]

_RUN = """
import json, resource, sys, time
from pathlib import Path
from colde_cli.corpus.collecting import CorpusReader, Skipped, walk
from colde_cli.documents.sandbox import readers
from colde_cli.errors import DocumentError
from colde_cli.settings import usable_cores

folder, number, only_read = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3] == "read"
files = walk([folder])[:number]
reader = CorpusReader()
counts = dict(files=len(files), documents=0, pages=0, tokens=0)
stages = {}

def count(document, tokens=0):
    counts["documents"] += 1
    counts["pages"] += len(document.page_starts)
    counts["tokens"] += tokens

def attempt(path):
    try:
        return reader.read(path)
    except DocumentError:
        return None

if only_read:
    start = time.perf_counter()
    with readers(usable_cores()) as pool:
        for document in pool.map(attempt, files):
            if document is not None:
                count(document)
else:
    from colde_cli.encoder.loading import open_encoder
    encoder = open_encoder()
    encoder.head, encoder.encode_passages(["The model is open."])
    start = time.perf_counter()
    try:
        from colde_cli.corpus.collecting import encode_files
        from colde_cli.corpus.pipeline import StageClock
        clock = StageClock()
        for item in encode_files(files, encoder, reader, clock):
            if not isinstance(item, Skipped):
                count(item.document, item.tokens)
        times = clock.times
        stages = {name: times.share(name) for name in ("read", "chunk", "encode", "write", "wait")}
    except ImportError:  # a checkout without stages
        from colde_cli.corpus.collecting import Collector
        class Counted(Collector):
            pass
        collector = Counted(encoder, reader)
        collector._store.keep = lambda key, item: count(item.document, item.tokens)
        collector.cards(files, lambda n: None)
seconds = time.perf_counter() - start
children = resource.getrusage(resource.RUSAGE_CHILDREN)
memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps(counts | {"seconds": seconds, "memory": memory, "stages": stages}))
"""


def measure(checkout: Path, folder: Path, files: int, *, only_read: bool) -> dict[str, Any]:
    """Run once with the code of a checkout."""
    done = subprocess.run(
        [sys.executable, "-c", _RUN, str(folder), str(files), "read" if only_read else "encode"],
        env={**os.environ, "PYTHONPATH": str(checkout)},
        stdout=subprocess.PIPE,
        check=True,
        cwd=checkout,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def show(name: str, runs: list[dict[str, Any]]) -> None:
    """Print the medians of runs."""
    seconds = statistics.median(run["seconds"] for run in runs)
    first = runs[0]
    rates = ", ".join(
        f"{first[key] / seconds:.1f} {key}/s" for key in ("documents", "pages", "tokens") if first[key]
    )
    memory = max(run["memory"] for run in runs)
    print(
        f"{name}: {first['documents']} of {first['files']} files in {seconds:.2f} s (median of {len(runs)}): {rates};"
    )
    print(f"  peak memory of the process {memory:.0f} MB")
    stages = [run["stages"] for run in runs if run["stages"]]
    if stages:
        listed = (
            f"{stage} {100 * statistics.median(one[stage] for one in stages):.0f} %" for stage in stages[0]
        )
        print(f"  shares of the time: {', '.join(listed)} (reading sums over threads)")


def main() -> None:
    """Measure, in turn with another checkout if there is one."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--read", action="store_true", help="only read")
    parser.add_argument("--files", type=int, default=50)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--other", type=Path, help="checkout to compare with")
    options = parser.parse_args()
    print(
        f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    )
    checkouts = [ROOT, *([options.other.resolve()] if options.other else [])]
    runs: dict[Path, list[dict[str, Any]]] = {checkout: [] for checkout in checkouts}
    for number in range(options.repeat):
        for checkout in checkouts if number % 2 else checkouts[::-1]:
            found = measure(checkout, options.folder.resolve(), options.files, only_read=options.read)
            runs[checkout].append(found)
    for checkout, name in zip(checkouts, ("this checkout", "the other"), strict=False):
        show(name, runs[checkout])
    if options.other:
        pairs = zip(*runs.values(), strict=True)
        ratios = sorted(theirs["seconds"] / ours["seconds"] for ours, theirs in pairs)
        print(f"time of the other / of this: {', '.join(f'{ratio:.2f}' for ratio in ratios)}")


if __name__ == "__main__":
    main()
