"""Weigh two stores for an index: SQLite with a memory-mapped side file, and LanceDB; on the same documents.

    python benchmarks/index_stores.py CORPUS [--documents 2000] [--rounds 10] [--work FOLDER]

Needs `pip install lancedb`. Reads and encodes documents once (the cache of vectors serves), and keeps what both stores
take in FOLDER. Each store holds, for each document: path, text, document vector, int8 chunk vectors and weighted words.
A query finds 200 candidates by vector and by words, and reads their chunk vectors. Prints, for each store:

    import      seconds to import it, fresh process, median of 5, less those of an empty interpreter with NumPy
    build       seconds to write all documents in transactions of 100, and to make the indexes
    size        bytes on disk a document
    fresh       seconds of a query in a fresh process, start included, median of 5
    warm        seconds of a query in an open process, median of 20
    add 1 %     seconds to add so many documents and to make them searchable
    kill -9     of ROUNDS writers killed at a random moment: stores that open with every committed document
    two writers documents that both wrote, and errors
"""

from __future__ import annotations

import argparse
import importlib.metadata
import io
import json
import os
import pickle
import platform
import random
import re
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from colde_cli.scoring.lexicon import Terms

CANDIDATES = 200
BATCH = 100
SMALL_BATCH = 10  # of the writers that are killed


@dataclass(frozen=True, slots=True, eq=False)
class Content:
    """A document as both stores take it; it is also `Scorable` as far as the first stage asks."""

    path: str
    text: str
    document_vector: NDArray[np.float32]
    chunk_vectors: NDArray[np.float32]
    centred_unit_vectors: NDArray[np.float32]
    shares: NDArray[np.float32]
    domains: NDArray[np.float32]
    terms: Terms | None
    opening: Terms | None

    def vectors(self) -> bytes:
        """The chunk vectors as int8 with a scale each, and the weighted words."""
        scales = np.abs(self.chunk_vectors).max(1).astype(np.float32) / 127
        rounded = np.rint(self.chunk_vectors / scales[:, None]).astype(np.int8)
        file = io.BytesIO()
        words = self.terms or Terms(np.zeros(0, np.int32), np.zeros(0, np.float32))
        np.savez(file, rounded, scales, words.buckets, words.weights.astype(np.float16))
        return file.getvalue()


class Store(Protocol):
    """What is measured of a store."""

    def add(self, contents: Sequence[Content]) -> None:
        """Add documents in one transaction."""

    def make_searchable(self) -> None:
        """Bring the indexes up to date."""

    def query(self, content: Content) -> int:
        """Find the candidates of a document and read their chunk vectors; returns the bytes read."""

    def paths(self) -> list[str]:
        """All documents, whose records are read and checked."""


class Sqlite:
    """Records as blobs in SQLite; candidate vectors and inverted lists in a memory-mapped side file."""

    packages = ()
    module = "sqlite3"

    def __init__(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        self._side = folder / "candidates.bin"
        self._connection = sqlite3.connect(folder / "index.sqlite", timeout=30)
        columns = (
            "id INTEGER PRIMARY KEY, path TEXT UNIQUE, text BLOB, vector BLOB, vectors BLOB, crc INTEGER"
        )
        self._connection.execute(f"CREATE TABLE IF NOT EXISTS documents ({columns})")
        self._open: Any = None

    def add(self, contents: Sequence[Content]) -> None:
        """Add documents in one transaction."""
        rows = []
        for item in contents:
            vectors = item.vectors()
            vector = item.document_vector.tobytes()
            row = (item.path, zlib.compress(item.text.encode(), 6), vector, vectors, zlib.crc32(vectors))
            rows.append(row)
        with self._connection:
            into = "INSERT INTO documents (path, text, vector, vectors, crc) VALUES (?, ?, ?, ?, ?)"
            self._connection.executemany(into, rows)

    def make_searchable(self) -> None:
        """Bring the indexes up to date."""
        from colde_cli.corpus.first_stage import build

        build(self._side, "benchmark", self._blocks(), None)

    def _blocks(self) -> Iterator[list[tuple[int, Any]]]:
        rows = self._connection.execute("SELECT id, vectors FROM documents ORDER BY id")
        while block := list(islice(rows, 512)):
            yield [(number, _Stored(vectors)) for number, vectors in block]

    def query(self, content: Content) -> int:
        """Find candidates; returns the bytes of their vectors."""
        from colde_cli.corpus.candidates import FirstQuery, candidates
        from colde_cli.corpus.first_stage import CandidateFile

        if self._open is None:
            self._open = CandidateFile.open(self._side, "benchmark")
        first = FirstQuery.of(content, None, 0.03)
        found = candidates(first, [self._open.segment], CANDIDATES).tolist()
        marks = ",".join("?" * len(found))
        rows = self._connection.execute(f"SELECT vectors FROM documents WHERE id IN ({marks})", found)
        return sum(len(blob) for (blob,) in rows)

    def paths(self) -> list[str]:
        """All documents, checked."""
        if self._connection.execute("PRAGMA integrity_check").fetchone() != ("ok",):
            raise RuntimeError("integrity_check failed")
        paths = []
        for path, vectors, crc in self._connection.execute("SELECT path, vectors, crc FROM documents"):
            if zlib.crc32(vectors) != crc:
                raise RuntimeError(f"{path} is damaged")
            paths.append(path)
        return paths


class _Stored:
    """The vectors of a record, as the first stage takes them."""

    def __init__(self, blob: bytes) -> None:
        with np.load(io.BytesIO(blob)) as arrays:
            values, scales, buckets, weights = (arrays[f"arr_{number}"] for number in range(4))
        vectors = values.astype(np.float32) * scales[:, None]
        self.centred_unit_vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        self.chunk_vectors = vectors
        self.shares = np.full(len(vectors), 1 / len(vectors), np.float32)
        self.terms = Terms(buckets, weights.astype(np.float32))


class Lance:
    """One table of LanceDB with its vector index and its full-text index."""

    packages = ("lancedb", "lance-namespace", "lance-namespace-urllib3-client", "pyarrow")
    module = "lancedb"

    def __init__(self, folder: Path) -> None:
        import lancedb
        import pyarrow as pa

        self._pa = pa
        self._database = lancedb.connect(str(folder))
        self._table: Any = None
        if "documents" in list(self._database.list_tables().tables):
            self._table = self._database.open_table("documents")

    def add(self, contents: Sequence[Content]) -> None:
        """Add documents in one transaction."""
        pa = self._pa
        vectors = [item.vectors() for item in contents]
        flat = pa.array(np.concatenate([item.document_vector for item in contents]), pa.float32())
        columns = {
            "path": [item.path for item in contents],
            "text": [item.text for item in contents],
            "vector": pa.FixedSizeListArray.from_arrays(flat, len(contents[0].document_vector)),
            "vectors": pa.array(vectors, pa.large_binary()),
            "crc": pa.array([zlib.crc32(blob) for blob in vectors], pa.int64()),
        }
        table = pa.table(columns)
        if self._table is None:
            self._table = self._database.create_table("documents", table, exist_ok=True)
            if self._table.count_rows():
                return
        self._table.add(table)

    def make_searchable(self) -> None:
        """Bring the indexes up to date."""
        if self._table.list_indices():
            self._table.optimize()
            return
        self._table.create_index(metric="cosine", vector_column_name="vector", index_type="IVF_HNSW_SQ")
        self._table.create_fts_index("text")

    def query(self, content: Content) -> int:
        """Find candidates; returns the bytes of their vectors."""
        if self._table.count_rows() == 0:
            raise RuntimeError("empty")
        words = " ".join(re.findall(r"[A-Za-z]{4,}", content.text)[:128])
        near = self._table.search(content.document_vector, vector_column_name="vector")
        by_words = self._table.search(words, query_type="fts", fts_columns="text")
        found = set()
        for search in (near, by_words):
            rows = search.select(["path"]).limit(CANDIDATES // 2).to_arrow()
            found.update(rows["path"].to_pylist())
        listed = ",".join("'" + path.replace("'", "''") + "'" for path in sorted(found))
        table = self._table.search().where(f"path IN ({listed})").select(["vectors"]).limit(CANDIDATES)
        return sum(len(blob) for blob in table.to_arrow()["vectors"].to_pylist())

    def paths(self) -> list[str]:
        """All documents, checked."""
        if self._table is None:
            return []
        table = self._table.to_arrow()
        for blob, crc in zip(table["vectors"].to_pylist(), table["crc"].to_pylist(), strict=True):
            if zlib.crc32(blob) != crc:
                raise RuntimeError("a record is damaged")
        found: list[str] = table["path"].to_pylist()
        return found


STORES: dict[str, type[Sqlite] | type[Lance]] = {"SQLite": Sqlite, "LanceDB": Lance}


def contents_of(corpus: Path, count: int, kept: Path) -> list[Content]:
    """The contents of `count` documents, read and encoded the first time, kept in a file of our own."""
    if not kept.exists():
        from colde_cli.corpus.collecting import CorpusReader, Skipped, encode_files, walk
        from colde_cli.encoder.cache import Cache
        from colde_cli.encoder.loading import open_encoder
        from colde_cli.settings import DEFAULT_MODEL

        files = walk([corpus])
        random.Random(0).shuffle(files)
        found: list[Content] = []
        with Cache.open() as cache:
            encoder = open_encoder(DEFAULT_MODEL, cache=cache)
            with closing(encode_files(files[:count], encoder, CorpusReader())) as items:
                found.extend(_content(item) for item in items if not isinstance(item, Skipped))
        kept.write_bytes(pickle.dumps(found))
    contents: list[Content] = pickle.loads(kept.read_bytes())  # our own file
    return contents


def _content(item: Any) -> Content:  # noqa: ANN401 - an encoding, whose class is imported late
    copied = [
        np.array(getattr(item, name)) for name in ("document_vector", "chunk_vectors", "centred_unit_vectors")
    ]
    return Content(
        item.document.path, item.document.text, *copied, item.shares, item.domains, item.terms, item.opening
    )


def run_worker(store: str, folder: Path, kept: Path, action: str) -> None:
    """What a process of its own does: one query, or writing in small batches, a line for each."""
    contents: list[Content] = pickle.loads(kept.read_bytes())
    opened = STORES[store](folder)
    if action == "query":
        opened.query(contents[0])
        return
    first, last = map(int, action.split("-"))
    for start in range(first, last, SMALL_BATCH):
        batch = contents[start : min(last, start + SMALL_BATCH)]
        for _ in range(20):  # A store may ask a second writer to try again.
            try:
                opened.add(batch)
                break
            except Exception as error:
                print("error", str(error)[:100].replace("\n", " "), flush=True)
        for item in batch:
            print("added", item.path, flush=True)


def worker(store: str, folder: Path, kept: Path, action: str) -> subprocess.Popen[str]:
    """Start `run_worker` in a process."""
    command = [sys.executable, __file__, "--worker", store, str(folder), str(kept), action]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def timed(action: Callable[[], object], times: int = 1) -> float:
    """Median seconds."""
    seconds = []
    for _ in range(times):
        start = time.perf_counter()
        action()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


def import_seconds(module: str) -> float:
    """What importing a module adds to the start of Python with NumPy."""
    with_it = timed(lambda: subprocess.run([sys.executable, "-c", f"import numpy, {module}"], check=True), 5)
    return with_it - timed(lambda: subprocess.run([sys.executable, "-c", "import numpy"], check=True), 5)


def installed_bytes(packages: Sequence[str]) -> int:
    """Bytes of the files of installed packages."""
    total = 0
    for name in packages:
        for file in importlib.metadata.files(name) or ():
            path = Path(str(file.locate()))
            total += path.stat().st_size if path.is_file() else 0
    return total


def folder_bytes(folder: Path) -> int:
    """Bytes of all files below."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def killed(name: str, folder: Path, kept: Path, count: int, rounds: int) -> str:
    """Kill writers at random moments; the store must open with all that they reported, and take more."""
    whole, lost, seconds = 0, 0, random.Random(1)
    for _ in range(rounds):
        shutil.rmtree(folder, ignore_errors=True)
        process = worker(name, folder, kept, f"0-{count}")
        assert process.stdout is not None
        lines = [process.stdout.readline()]  # The first batch is written.
        time.sleep(seconds.uniform(0.0, 0.4))
        process.kill()
        lines += process.stdout.readlines()
        process.wait()
        reported = {line.split()[1] for line in lines if line.startswith("added") and line.endswith("\n")}
        try:
            paths = STORES[name](folder).paths()
            lost += len(reported - set(paths))
            whole += (
                not reported - set(paths) and len(paths) == len(set(paths)) and not len(paths) % SMALL_BATCH
            )
        except Exception as error:
            print(f"{name}: {error}", file=sys.stderr)
    return f"{whole} of {rounds} whole, {lost} committed documents lost"


def two_writers(name: str, folder: Path, kept: Path, count: int) -> str:
    """Two processes write different documents at the same time."""
    shutil.rmtree(folder, ignore_errors=True)
    worker(name, folder, kept, f"0-{SMALL_BATCH}").communicate()  # LanceDB makes its table now.
    half = (count - SMALL_BATCH) // 2
    starts = (SMALL_BATCH, SMALL_BATCH + half)
    processes = [worker(name, folder, kept, f"{start}-{start + half}") for start in starts]
    lines = [line for process in processes for line in process.communicate()[0].splitlines()]
    errors = [line for line in lines if line.startswith("error")]
    paths = STORES[name](folder).paths()
    once = len(set(paths))
    return f"{once} of {SMALL_BATCH + 2 * half} documents, {len(paths) - once} twice, {len(errors)} errors"


def measure(name: str, contents: list[Content], work: Path, rounds: int) -> dict[str, object]:
    """All figures of a store."""
    kind, folder = STORES[name], work / f"store-{name}"
    shutil.rmtree(folder, ignore_errors=True)
    more = max(1, len(contents) // 100)
    base, added = contents[:-more], contents[-more:]
    store = kind(folder)

    def write_all() -> None:
        for start in range(0, len(base), BATCH):
            store.add(base[start : start + BATCH])

    figures: dict[str, object] = {
        "installed, MB": round(installed_bytes(kind.packages) / 1e6),
        "import, s": round(import_seconds(kind.module), 3),
        "write, s": round(timed(write_all), 2),
        "make searchable, s": round(timed(store.make_searchable), 2),
    }
    figures["bytes a document"] = folder_bytes(folder) // len(base)
    # As often as the median needs; a tiny folder holds the one query.
    single = work / "query.pickle"
    single.write_bytes(pickle.dumps(contents[:1]))
    figures["query, fresh process, s"] = round(
        timed(lambda: worker(name, folder, single, "query").communicate(), 5), 3
    )
    queries = iter(base[:21])
    store.query(next(queries))
    figures["query, warm, s"] = round(timed(lambda: store.query(next(queries)), 20), 4)
    figures["add 1 %, s"] = round(timed(lambda: store.add(added)), 3)
    figures["make 1 % searchable, s"] = round(timed(store.make_searchable), 3)
    scratch = work / f"scratch-{name}"
    count = min(400, len(contents))
    few = work / "few.pickle"
    few.write_bytes(pickle.dumps(contents[:count]))
    figures["kill -9"] = killed(name, scratch, few, count, rounds)
    figures["two writers"] = two_writers(name, scratch, few, count)
    shutil.rmtree(scratch, ignore_errors=True)
    return figures


def main() -> None:
    """Measure and print."""
    if sys.argv[1:2] == ["--worker"]:
        store, folder, kept, action = sys.argv[2:]
        run_worker(store, Path(folder), Path(kept), action)
        return
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n", maxsplit=1)[0])
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--documents", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--work", type=Path)
    os.environ.setdefault("LANCE_LOG", "error")
    os.environ.setdefault("RUST_LOG", "error")
    options = parser.parse_args()
    work = options.work or Path(tempfile.mkdtemp())
    work.mkdir(exist_ok=True)
    kept = work / f"contents-{options.documents}.pickle"
    contents = contents_of(options.corpus, options.documents, kept)
    chunks = sum(len(item.chunk_vectors) for item in contents)
    print(f"{platform.platform()}, {os.cpu_count()} cores, Python {platform.python_version()}; ", end="")
    print(f"{len(contents)} documents, {chunks} chunks")
    figures = {name: measure(name, contents, work, options.rounds) for name in STORES}
    print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
