"""Measure `colde diff` of two PDFs of a hundred pages: wall time and peak memory, nothing cached.

    python benchmarks/long_diff.py join LONG.pdf PART.pdf[:FIRST-LAST]...
    python benchmarks/long_diff.py measure A.pdf B.pdf [--repetitions 3] [--format json]

`join` makes a long PDF of pages of others, in the order given; two versions are made by leaving out, moving or
exchanging parts. `measure` runs the command in fresh processes and prints, of the median run, seconds and the most
memory that the process and its readers held at one time (resident, shared pages counted once for each). Seconds of
processors, all cores together, say more than those of the clock where other work runs. `colde diff -v` tells the
seconds of every step.
"""

from __future__ import annotations

import re
import statistics
import subprocess
import sys
import time
from pathlib import Path

import psutil
from pypdf import PdfReader, PdfWriter
from running import children_seconds
from script import arguments, machine

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
    start, before, peak = time.perf_counter(), children_seconds(), 0
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        watched = psutil.Process(process.pid)
        while process.poll() is None:
            peak = max(peak, _memory(watched))
            time.sleep(0.05)
    if process.returncode > 1:
        raise SystemExit(process.returncode)
    return time.perf_counter() - start, children_seconds() - before, peak / 1e6


def _memory(process: psutil.Process) -> int:
    total = 0
    try:
        for one in (process, *process.children(recursive=True)):
            total += one.memory_info().rss
    except psutil.Error:  # it ended meanwhile
        pass
    return total


def measure(a: str, b: str, repetitions: int, format: str) -> None:
    """Run and print."""
    command = [sys.executable, "-m", "colde_cli", "diff", a, b, "--no-cache", "--quiet", "--format", format]
    print(machine())
    found = [run(command) for _ in range(repetitions)]
    seconds, used, memory = (statistics.median(values) for values in zip(*found, strict=True))
    print(
        f"{Path(a).name} {Path(b).name}: {seconds:.1f} s, {used:.1f} s of processors, peak {memory:.0f} MB, "
        f"{repetitions} runs"
    )


def main() -> None:
    """Join or measure."""
    options = arguments(__doc__, "what", "files...", repetitions=3, format="json")
    first, *others = map(str, options.files)
    if str(options.what) == "join":
        print(f"{first}: {join(Path(first), others)} pages")
    else:
        measure(first, others[0], options.repetitions, options.format)


if __name__ == "__main__":
    main()
