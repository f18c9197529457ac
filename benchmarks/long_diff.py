"""Measure `colde diff` of two PDFs of a hundred pages: wall time and peak memory, nothing cached.

    python benchmarks/long_diff.py join LONG.pdf PART.pdf[:FIRST-LAST]...
    python benchmarks/long_diff.py measure A.pdf B.pdf [--repetitions 3] [--format json]

`join` makes a long PDF of pages of others, in the order given; two versions are made by leaving out, moving or
exchanging parts. `measure` runs the command in fresh processes and prints, of the median run, seconds and the most
memory that the process and its readers held at one time (resident, shared pages counted once for each). Seconds of
processors, all cores together, say more than those of the clock where other work runs. Then the seconds of every step,
measured in one process.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path

import psutil
from pypdf import PdfReader, PdfWriter

_PART = re.compile(r"(?P<path>.+?\.pdf)(?::(?P<first>\d+)-(?P<last>\d+))?", re.IGNORECASE)


def join(target: Path, parts: list[str]) -> int:
    """Write the pages of all parts into one PDF; how many."""
    writer = PdfWriter()
    for part in parts:
        match = _PART.fullmatch(part)
        if match is None:
            raise SystemExit(f"{part}: write PART.pdf or PART.pdf:FIRST-LAST")
        reader = PdfReader(match["path"])
        first, last = int(match["first"] or 1), int(match["last"] or len(reader.pages))
        writer.append(reader, pages=(first - 1, min(last, len(reader.pages))), import_outline=False)
    writer.write(target)
    return len(writer.pages)


def run(command: list[str]) -> tuple[float, float, float]:
    """Run a command: seconds of the clock, seconds of processors, and peak memory with its children in MB."""
    start, before, peak = time.perf_counter(), _processors(), 0
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        watched = psutil.Process(process.pid)
        while process.poll() is None:
            peak = max(peak, _memory(watched))
            time.sleep(0.05)
    if process.returncode > 1:
        raise SystemExit(process.returncode)
    return time.perf_counter() - start, _processors() - before, peak / 1e6


def _processors() -> float:
    """Seconds that ended children, and theirs, have used of all processors."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _memory(process: psutil.Process) -> int:
    total = 0
    try:
        for one in (process, *process.children(recursive=True)):
            total += one.memory_info().rss
    except psutil.Error:  # it ended meanwhile
        pass
    return total


def steps(a: str, b: str) -> None:
    """Print the seconds of every step."""
    from colde_cli.documents.reading import read
    from colde_cli.encoder.encoder import Encoder
    from colde_cli.similarity.alignment import align
    from colde_cli.similarity.comparison import compare_encodings
    from colde_cli.views.json import comparison_json

    clock = _Clock()
    documents = [read(a), read(b)]
    clock.tell("read, one after the other")
    encoder = Encoder.load(device="cpu", cache=None)
    first, second = encoder.encode_many(documents)
    clock.tell(f"encode {first.tokens} + {second.tokens} tokens")
    compare_encodings(first, second, encoder, passages=False)
    clock.tell("scores")
    align(documents[0], documents[1], None)
    clock.tell("align by wording alone (once more than the command does)")
    comparison = compare_encodings(first, second, encoder)
    clock.tell(f"align {len(comparison.passages)} pairs, with meaning (and the scores once more)")
    changes = comparison.section_changes
    clock.tell(f"{len(changes)} changes of sections")
    clock.tell(f"JSON of {len(comparison_json(comparison))} characters")


class _Clock:
    def __init__(self) -> None:
        self._since = time.perf_counter(), time.process_time()

    def tell(self, what: str) -> None:
        wall, used = time.perf_counter() - self._since[0], time.process_time() - self._since[1]
        print(f"  {wall:6.2f} s, {used:6.2f} s of processors  {what}", flush=True)
        self._since = time.perf_counter(), time.process_time()


def measure(a: str, b: str, repetitions: int, format: str) -> None:
    """Run and print."""
    command = [sys.executable, "-m", "colde_cli", "diff", a, b, "--no-cache", "--quiet", "--format", format]
    print(f"{platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    found = [run(command) for _ in range(repetitions)]
    seconds, used, memory = (statistics.median(values) for values in zip(*found, strict=True))
    print(
        f"{Path(a).name} {Path(b).name}: {seconds:.1f} s, {used:.1f} s of processors, peak {memory:.0f} MB, "
        f"{repetitions} runs"
    )
    steps(a, b)


def main() -> None:
    """Join or measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="what", required=True)
    joining = commands.add_parser("join")
    joining.add_argument("target", type=Path)
    joining.add_argument("parts", nargs="+")
    measuring = commands.add_parser("measure")
    measuring.add_argument("a")
    measuring.add_argument("b")
    measuring.add_argument("--repetitions", type=int, default=3)
    measuring.add_argument("--format", default="json")
    options = parser.parse_args()
    if options.what == "join":
        print(f"{options.target}: {join(options.target, options.parts)} pages")
    else:
        measure(options.a, options.b, options.repetitions, options.format)


if __name__ == "__main__":
    main()
