"""Compare an index of SQLite with a shared one of the same documents: bytes, processor time, memory, recall.

    python benchmarks/shared_index.py INDEX [--documents 10000 100000] [--queries 8] [--folder DIR]

INDEX is an index of some hundred real documents. They are repeated with noise on their vectors and their words until
there are enough, and sent to the shared index with the code of `colde index --to`. Queries are real documents. Recall
is the share of the ten best by exact scores of all documents that a ranking lists.
"""

from __future__ import annotations

import argparse
import os
import platform
import resource
import statistics
import tempfile
import time
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from index_scale import TEXT, learn, search

from colde_cli.corpus import side_file
from colde_cli.corpus.index_reader import Index
from colde_cli.corpus.index_writer import writing
from colde_cli.corpus.lance_store import LanceIndex
from colde_cli.corpus.lance_writer import send_index
from colde_cli.corpus.rank_corpus import rank_index
from colde_cli.corpus.records import pack, unpack
from colde_cli.encoder.encoding import DocumentEncoder, Encoding
from colde_cli.encoder.loading import open_encoder
from colde_cli.encoder.vector_cache import digest

RECORDS = """
SELECT c.headings, v.chunks, c.record, v.record FROM documents d JOIN contents c ON c.number = d.content
JOIN vectors v ON v.content = c.number
"""


def noisy(record: bytes, generator: np.random.Generator) -> bytes:
    """A record of vectors of a document that is like another."""
    parts = unpack(record)
    assert parts is not None
    arrays = dict(parts[1])
    vectors = arrays["chunk_values"].astype(np.float32)
    spread = np.abs(vectors).mean(1, keepdims=True) * generator.uniform(0.3, 1.5)
    vectors += generator.normal(size=vectors.shape).astype(np.float32) * spread
    scales = np.abs(vectors).max(1) / 127
    arrays["chunk_values"] = np.rint(vectors / scales[:, None]).astype(np.int8)
    arrays["chunk_scales"] = (arrays["chunk_scales"] * scales).astype(np.float32)
    for name in ("terms_weights", "opening_weights"):
        weights = arrays[name].astype(np.float32)
        weights *= generator.uniform(0.05, 1.5, len(weights))
        arrays[name] = (weights / np.linalg.norm(weights)).astype(np.float16)
    return pack({}, arrays)


def fill(folder: Path, real: list[tuple[Any, ...]], count: int, encoder: DocumentEncoder) -> None:
    """Make an index of SQLite of so many documents."""
    generator = np.random.default_rng(0)
    with writing(folder, make=True) as index:
        run = index.connection.execute
        run("BEGIN")
        centre = None if encoder.centre is None else encoder.centre.tobytes()
        model = (encoder.family, encoder.info.name, encoder.info.precision, centre)
        run("INSERT INTO models (number, family, name, precision, centre) VALUES (1, ?, ?, ?, ?)", model)
        run("INSERT OR REPLACE INTO meta VALUES ('model', 1)")
        run("INSERT INTO roots (number, path, glob) VALUES (1, ?, NULL)", (b"/made-up",))
        for number in range(1, count + 1):
            headings, chunks, text, vectors = real[number % len(real)]
            if number > len(real):
                vectors = noisy(vectors, generator)
            key = digest(number.to_bytes(8, "little"))
            content = (number, key, headings, zlib.crc32(text), text)
            run(
                "INSERT INTO contents (number, key, title, words, warnings, headings, reading, checksum, record)"
                " VALUES (?, ?, '\"\"', 100, '[]', ?, x'', ?, ?)",
                content,
            )
            run(
                "INSERT INTO documents (number, path, root, key, content, size, mtime_ns, checked_ns)"
                " VALUES (?, ?, 1, ?, ?, 1000, 0, 0)",
                (number, b"/made-up/%08d.txt" % number, key, number),
            )
            run("INSERT INTO vectors VALUES (1, ?, ?, ?, ?)", (number, chunks, zlib.crc32(vectors), vectors))
        run("COMMIT")
        learn(index, encoder)
    with Index.open(folder) as index:
        side_file.refresh(index, encoder)


def size(folder: Path) -> int:
    """Bytes of all files."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def recall(queries: list[Encoding], folder: Path, place: Path, encoder: DocumentEncoder) -> tuple[float, float]:
    """The mean recall of the ten best in both."""
    shares = []
    for query in queries:
        with Index.open(folder) as index, LanceIndex.open(place) as other:
            listed = [{hit.path for hit in rank_index(query, each, encoder).results} for each in (index, other)]
            before, side_file.EXACT = side_file.EXACT, 10**9
            exact = {hit.path for hit in rank_index(query, index, encoder).results}
            side_file.EXACT = before
        shares.append([len(found & exact) / len(exact) for found in listed])
    first, second = np.mean(shares, axis=0).tolist()
    return first, second


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n", maxsplit=1)[0])
    parser.add_argument("index", type=Path)
    parser.add_argument("--documents", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--queries", type=int, default=8)
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args()
    encoder = open_encoder("colde-minilm-l6", device="cpu")
    with Index.open(options.index) as index:
        real = index.connection.execute(RECORDS).fetchall()
        numbers = index.numbers()[:: max(1, len(real) // options.queries)][: options.queries]
        queries = [index.encoding(int(number), encoder) for number in numbers]
    print(f"{platform.platform()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.0f}; {len(real)} real documents")
    for count in options.documents:
        with tempfile.TemporaryDirectory(dir=options.folder) as work:
            folder, place, query = Path(work, "a.colde"), Path(work, "a.lance"), Path(work, "q.txt")
            query.write_text(TEXT, encoding="utf-8")
            fill(folder, real, count, encoder)
            started = time.process_time()
            send_index(folder, str(place), encoder)
            sent = time.process_time() - started
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
            print(f"{count:,} documents; sent: {1000 * sent / count:.2f} ms each, {peak:.0f} MB of memory")
            found = recall(queries, folder, place, encoder)
            for name, home, share in zip(("SQLite", "Lance"), (folder, place), found, strict=True):
                runs = [search(query, home) for _ in range(4)]
                seconds, processor = (statistics.median(run[place] for run in runs[1:]) for place in (0, 1))
                print(
                    f"  {name}: {size(home) / count:,.0f} bytes a document; recall {share:.3f}; a query {seconds:.2f} s"
                    f" by the clock, {processor:.2f} s of processor time, {max(run[2] for run in runs):.0f} MB"
                )


if __name__ == "__main__":
    main()
