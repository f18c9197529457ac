"""Wall time of the command as a user meets it: a fresh process, nothing cached.

    python benchmarks/wall_time.py A.pdf B.pdf [--field NAME] [--repetitions 7]

Runs `python -c pass`, `colde --help` and `colde diff A.pdf B.pdf --no-cache` in turn, so that all meet the same
neighbours on the machine, and prints the median and the fastest of each. With `--field`, also the diff within this
field, and the median of its ratios to the diff without, in processor time.
"""

from __future__ import annotations

import argparse
import os
import platform
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path


def times_of(command: list[str]) -> tuple[float, float]:
    """Seconds from start to end of a process, and its processor time.

    Raises:
        RuntimeError: it ended with trouble (status 2 or above).
    """
    start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    seconds, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode > 1:
        raise RuntimeError(done.stderr.decode())
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n", maxsplit=1)[0])
    parser.add_argument("a", type=Path)
    parser.add_argument("b", type=Path)
    parser.add_argument("--field")
    parser.add_argument("--repetitions", type=int, default=7)
    options = parser.parse_args()
    colde = [sys.executable, "-m", "colde_cli"]
    commands = {
        "python -c pass": [sys.executable, "-c", "pass"],
        "colde --help": [*colde, "--help"],
        "colde diff": [*colde, "diff", str(options.a), str(options.b), "--no-cache"],
    }
    if options.field is not None:
        commands["colde diff --field"] = [*commands["colde diff"], "--field", options.field]
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
    for _ in range(options.repetitions):
        for name, command in commands.items():
            times[name].append(times_of(command))
    print(f"{platform.machine()}, {os.cpu_count()} cores, {options.repetitions} repetitions, interleaved")
    for name, both in times.items():
        values = [wall for wall, _ in both]
        print(f"{name:18} median {statistics.median(values):.2f} s, fastest {min(values):.2f} s")
    if options.field is not None:
        pairs = zip(times["colde diff --field"], times["colde diff"], strict=True)
        ratio = statistics.median(within[1] / without[1] for within, without in pairs)
        print(f"processor time of colde diff --field / colde diff: median ratio {ratio:.3f}")


if __name__ == "__main__":
    main()
