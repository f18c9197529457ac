"""Time of `colde rank` on a corpus that the cache knows, as a user meets it: a fresh process.

    python benchmarks/rank_time.py QUERY CORPUS [--against CHECKOUT] [--repetitions 9]

Runs `colde rank QUERY CORPUS` with the statistics of the corpus, and with `--field none`. With `--against`, the same
with the colde of another checkout (a folder that holds `colde_cli` and `models`). All run in turn, so that they meet
the same neighbours on the machine. Prints the median user and system time of each, and the median of the ratios to the
first. One run of each before fills the cache.
"""

from __future__ import annotations

import argparse
import os
import platform
import resource
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def processor_time(checkout: Path, arguments: list[str]) -> float:
    """Seconds of user and system time that `colde rank` takes.

    Raises:
        RuntimeError: it ended with trouble (status 2 or above).
    """
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-m", "colde_cli", "rank", *arguments, "--quiet"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        check=False,
        cwd=checkout,
        env={**os.environ, "PYTHONPATH": str(checkout)},
    )
    if done.returncode > 1:
        raise RuntimeError(done.stderr.decode())
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n", maxsplit=1)[0])
    parser.add_argument("query", type=Path)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--against", type=Path)
    parser.add_argument("--repetitions", type=int, default=9)
    options = parser.parse_args()
    arguments = [str(options.query.resolve()), str(options.corpus.resolve())]
    runs = {"here": (ROOT, arguments), "here, --field none": (ROOT, [*arguments, "--field", "none"])}
    if options.against is not None:
        other = options.against.resolve()
        runs |= {
            "there": (other, arguments),
            "there, --field none": (other, [*arguments, "--field", "none"]),
        }
    for run in runs.values():
        processor_time(*run)
    times = {name: [0.0] * options.repetitions for name in runs}
    for repetition in range(options.repetitions):
        for name, run in runs.items():
            times[name][repetition] = processor_time(*run)
    print(f"{platform.machine()}, {os.cpu_count()} cores, {options.repetitions} repetitions, interleaved")
    for name, values in times.items():
        ratios = [value / first for value, first in zip(values, times["here"], strict=True)]
        print(f"{name:20} median {statistics.median(values):.2f} s, ratio {statistics.median(ratios):.2f}")


if __name__ == "__main__":
    main()
