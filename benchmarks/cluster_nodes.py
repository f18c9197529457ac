"""Measure `colde index --cluster` on local nodes of one core, beside `colde index` on one core without a cluster.

    python benchmarks/cluster_nodes.py CORPUS [--nodes 1 2 4] [--repetitions 3] [--few 40]

Needs `pip install 'colde[cluster,lance]' psutil`. Nodes are processes of one machine: more nodes than cores share them.
The cluster is started before the clock; connecting to it and loading the models are measured. Everything is done with
all files of CORPUS and with the first few of them: the difference is the work itself, with no start. Prints medians of
seconds, and of processor seconds of the command that was called, of the processes that read and encode for it, and of
Ray's own.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import astuple, dataclass
from pathlib import Path

import psutil

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True, slots=True)
class Spent:
    """Seconds of a run, and processor seconds of the command, of those who read and encode, and of Ray."""

    wall: float
    command: float
    workers: float
    ray: float

    def less(self, other: Spent) -> Spent:
        """The difference to a smaller run."""
        return Spent(*(one - two for one, two in zip(astuple(self), astuple(other), strict=True)))


def spent(files: Sequence[Path], nodes: int) -> Spent:
    """What it costs to index files without a cache, on so many nodes; 0 uses no cluster."""
    from ray.cluster_utils import Cluster

    work = Path(tempfile.mkdtemp())
    names = [os.fspath(path.absolute()) for path in files]
    command = [sys.executable, "-m", "colde_cli", "index", *names, "-o", str(work / "a.lance"), "--quiet"]
    # The nodes inherit this: none has a cache from the run before.
    os.environ.update(PYTHONPATH=str(ROOT), COLDE_CACHE_DIR=str(work), OMP_NUM_THREADS="1")
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0}) if nodes else None
    if cluster is None:
        command = [*command, "--threads", "1", "--no-cache"]
    else:
        for _ in range(nodes):
            cluster.add_node(num_cpus=1)
        command += ["--cluster", cluster.address]
    before, start = processor_seconds(), time.perf_counter()
    process = subprocess.Popen(command)
    used: dict[int, tuple[str, float]] = {}
    while process.poll() is None:
        used.update(processor_seconds())
        time.sleep(0.1)
    seconds = time.perf_counter() - start
    if process.returncode:
        raise RuntimeError(command)
    if cluster is not None:
        cluster.shutdown()
    shutil.rmtree(work)
    return Spent(seconds, *(since(before, used, role) for role in ("command", "workers", "ray")))


def since(before: Mapping[int, tuple[str, float]], used: Mapping[int, tuple[str, float]], role: str) -> float:
    """Processor seconds of the processes of a role."""
    return sum(time - before.get(number, ("", 0.0))[1] for number, (found, time) in used.items() if found == role)


def processor_seconds() -> dict[int, tuple[str, float]]:
    """Role and processor seconds of all processes below this one."""
    found = {}
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            times, line = process.cpu_times(), " ".join(process.cmdline())
            if not line:  # it has ended, and its last times are known
                continue
            role = "command" if "colde_cli" in line else "workers" if "MapBatches" in line else "ray"
            found[process.pid] = (role, times.user + times.system)
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n", maxsplit=1)[0])
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--nodes", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--few", type=int, default=40)
    options = parser.parse_args()
    files = sorted(path for path in options.corpus.iterdir() if path.is_file())
    print(f"{platform.platform()}, {os.cpu_count()} cores, Python {platform.python_version()}; {len(files)} files")
    for nodes in (0, *options.nodes):
        few, whole = (
            median([spent(chosen, nodes) for _ in range(options.repetitions)])
            for chosen in (files[: options.few], files)
        )
        print(f"{nodes} nodes, {options.few} files: {few}")
        print(f"{nodes} nodes, all files: {whole}")
        print(f"{nodes} nodes, the work itself: {whole.less(few)}", flush=True)


def median(runs: Sequence[Spent]) -> Spent:
    """The median of each figure."""
    return Spent(*(round(statistics.median(values), 1) for values in zip(*map(astuple, runs), strict=True)))


if __name__ == "__main__":
    main()
