"""Find the nearest of many key vectors: the scan of the first stage beside a graph of usearch (pip install usearch).

    python benchmarks/nearest_vectors.py INDEX [--vectors 100000 1000000] [--queries 50]

The key vectors of the documents of INDEX are repeated with noise. Both keep 8 bits a number. Times are of one thread,
in processor time; recall is the share of the 10 and the 300 nearest by exact products that are found.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from script import arguments

from colde_cli.corpus.first_stage import NO_TERMS, Measure, Segment, best
from colde_cli.corpus.index_reader import Index
from colde_cli.encoder.loading import open_encoder
from colde_cli.scoring.score import COSINE_ALONE
from colde_cli.scoring.whitening import unit_rows

_BLOCK = 1 << 15
DEPTHS = (10, 300)
Found = Callable[[np.ndarray], np.ndarray]


def real_vectors(place: Path) -> np.ndarray:
    """The key vectors of an index, [N, H]."""
    encoder = open_encoder("colde-minilm-l6", device="cpu")
    with Index.open(place) as index:
        cards = [card for _, card in index.all_cards()]
        return Measure(index.field(encoder), encoder.config.score_weights or COSINE_ALONE).vectors(cards)


def noisy(real: np.ndarray, count: int, generator: np.random.Generator) -> np.ndarray:
    """Unit vectors [count, H] around the real ones; the cosine with the real one is .55 to .95."""
    chosen = real[generator.integers(len(real), size=count)]
    noise = unit_rows(generator.normal(size=chosen.shape).astype(np.float32))
    return unit_rows(chosen + noise * generator.uniform(0.3, 1.5, (count, 1)).astype(np.float32))


def report(name: str, wanted: list[list[int]], queries: np.ndarray, found: Found) -> None:
    """Print time and recall of a way to find the nearest."""
    started = time.process_time()
    listed = [found(query).tolist() for query in queries]
    spent = 1000 * (time.process_time() - started) / len(queries)
    shares = [
        np.mean([len({*got[:depth]} & {*want[:depth]}) / depth for got, want in zip(listed, wanted, strict=True)])
        for depth in DEPTHS
    ]
    print(f"  {name}: {spent:.2f} ms a query, recall of {DEPTHS[0]} {shares[0]:.3f}, of {DEPTHS[1]} {shares[1]:.3f}")


def memory() -> float:
    """Megabytes of this process."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def measure(real: np.ndarray, count: int, queries: np.ndarray) -> None:
    """Build both and print their figures."""
    from usearch.index import Index as Graph  # late: ONNX Runtime crashes when it is imported after usearch 2.26

    generator, size = np.random.default_rng(1), real.shape[1]
    segments: list[Segment] = []
    products, graph = [], Graph(ndim=size, metric="ip", dtype="i8", connectivity=16)
    scanned = built = 0.0
    begun = memory()
    for start in range(0, count, _BLOCK):
        ids = np.arange(start, min(count, start + _BLOCK))
        block = noisy(real, len(ids), generator)
        products.append((block @ queries.T).T)
        started = time.process_time()
        segments.append(Segment.of(ids.tolist(), [block], [NO_TERMS] * len(ids)))
        scanned += time.process_time() - started
        started = time.process_time()
        graph.add(ids, block, threads=1)
        built += time.process_time() - started
    exact = np.concatenate(products, axis=1)
    wanted = [np.argsort(-row)[: DEPTHS[1]].tolist() for row in exact]
    print(f"{count:,} vectors, load {os.getloadavg()[0]:.0f}; memory of both {memory() - begun:.0f} MB")
    print(f"  scan: built in {scanned:.1f} s, {count * (size + 4) / 1e6:.0f} MB")

    def scan(query: np.ndarray) -> np.ndarray:
        scores = np.concatenate([segment.products(query) for segment in segments])
        places = best(scores, DEPTHS[1])
        return places[np.argsort(-scores[places])]

    report("scan", wanted, queries, scan)
    with tempfile.NamedTemporaryFile() as file:
        graph.save(file.name)
        started = time.process_time()
        viewed = Graph.restore(file.name, view=True)
        opened = time.process_time() - started
        size_mb = Path(file.name).stat().st_size / 1e6
        print(f"  usearch: built in {built:.0f} s, {size_mb:.0f} MB, opened in {1000 * opened:.1f} ms")
        for expansion in (64, 300, 1200):
            viewed.expansion_search = expansion
            report(
                f"usearch, {expansion} looked at",
                wanted,
                queries,
                lambda query: np.asarray(viewed.search(query, DEPTHS[1], threads=1).keys, np.int64),
            )


def main() -> None:
    """Measure and print."""
    options = arguments(__doc__, "index", vectors=[100_000, 1_000_000], queries=50)
    real = real_vectors(options.index)
    print(f"{len(real)} real vectors, {os.cpu_count()} cores")
    queries = noisy(real, options.queries, np.random.default_rng(0))
    for count in options.vectors:
        measure(real, count, queries)


if __name__ == "__main__":
    main()
