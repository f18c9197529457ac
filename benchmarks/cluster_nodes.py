"""Measure `colde index --cluster` on local nodes of one core, beside `colde index` on one core without a cluster.

    python benchmarks/cluster_nodes.py CORPUS [--nodes 1 2 4] [--repetitions 3]

Needs `pip install 'colde[cluster]'`. Nodes are processes of one machine: more nodes than cores share them. The cluster
is started before the clock; connecting to it and loading the models are measured. Prints the median seconds of each,
and the overhead of one node against none.
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
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def seconds(corpus: Path, nodes: int) -> float:
    """Time to index a corpus without a cache, on so many nodes; 0 uses no cluster."""
    from ray.cluster_utils import Cluster

    work = Path(tempfile.mkdtemp())
    command = [
        sys.executable,
        "-m",
        "colde_cli",
        "index",
        str(corpus),
        "-o",
        str(work / "a.colde"),
        "--quiet",
    ]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "COLDE_CACHE_DIR": str(work)}
    os.environ["PYTHONPATH"] = str(ROOT)
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0}) if nodes else None
    if cluster is None:
        command = [*command, "--threads", "1", "--no-cache"]
    else:
        for _ in range(nodes):
            cluster.add_node(num_cpus=1)
        command += ["--cluster", cluster.address]
    start = time.perf_counter()
    subprocess.run(command, check=True, env=environment)
    spent = time.perf_counter() - start
    if cluster is not None:
        cluster.shutdown()
    shutil.rmtree(work)
    return spent


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n", maxsplit=1)[0])
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--nodes", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--repetitions", type=int, default=3)
    options = parser.parse_args()
    print(f"{platform.platform()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    medians = {}
    for nodes in (0, *options.nodes):
        medians[nodes] = statistics.median(seconds(options.corpus, nodes) for _ in range(options.repetitions))
        print(f"{nodes} nodes: {medians[nodes]:.1f} s", flush=True)
    if 1 in medians:
        print(f"One node against none: {medians[1] / medians[0] - 1:+.0%}")


if __name__ == "__main__":
    main()
