"""How an index grows: time to index and to search, memory and bytes, up to a million documents.

    python benchmarks/index_scale.py [--documents 500 1000 2000 5000 100000 1000000] [--chunks 20] [--folder DIR]
                                     [--plot scale.html]

Documents are made up: chunk vectors around one of 1,000 topics, words drawn by Zipf's law. They are written straight
into the tables of an index, as reading and encoding take the same time whatever the size. Measured are

    write       milliseconds a document to write the rows
    first       milliseconds a document to make the side file of the first stage
    query       seconds of `colde rank` in a fresh process, start included: the median of five
    processor   the same in user and system time, which other processes on the machine disturb less
    cold        seconds of the first query
    memory      peak of that process
    bytes       on disk a document: of the index, and of the side file
    recall      share of the ten best by exact scores of all documents that the ranking lists (up to 10,000 documents)
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from colde_cli.corpus import first_stage
from colde_cli.corpus.index import Index
from colde_cli.corpus.indexing import writing
from colde_cli.corpus.ranking import encode_query, rank_index
from colde_cli.corpus.records import pack, text_record, vector_record
from colde_cli.documents.document import Chunk, Span
from colde_cli.documents.text import read_text
from colde_cli.encoder.cache import Cache, digest
from colde_cli.encoder.encoding import DocumentEncoder, Encoding
from colde_cli.encoder.loading import learn_field, open_encoder
from colde_cli.scoring.lexicon import BUCKETS, Terms
from colde_cli.scoring.profile import ARRAYS

ROOT = Path(__file__).resolve().parent.parent
TEXT = "A well gives water, and a pump lifts it into the tower by night."
TOPICS, WORDS, TEMPLATES = 1_000, 600, 4_000


@dataclass(frozen=True, slots=True)
class Row:
    """The figures of one size."""

    documents: int
    write: float
    first: float
    query: float
    processor: float
    cold: float
    memory: float
    index_bytes: float
    side_bytes: float
    recall: float | None


class MadeUp:
    """Records of documents that nobody wrote."""

    def __init__(self, encoder: DocumentEncoder, chunks: int) -> None:
        self._generator = np.random.default_rng(0)
        self._chunks, self._size = chunks, encoder.config.hidden_size
        self._topics = self._generator.normal(size=(TOPICS, self._size)).astype(np.float32)
        self._document = read_text(TEXT.encode(), "made-up.txt", "made-up.txt")
        self._centre = encoder.centre
        self._templates = [self._template() for _ in range(TEMPLATES)]
        self.text = text_record(self._document, "", ())

    def _terms(self, words: int) -> Terms:
        buckets = np.unique(self._generator.zipf(1.3, words) * 7919 % (2 * BUCKETS)).astype(np.int32)
        weights = (self._generator.random(len(buckets)) ** 4 + 0.01).astype(np.float32)
        return Terms(buckets, weights / np.float32(np.linalg.norm(weights)))

    def _template(self) -> tuple[bytes, int]:
        """A record, and where its chunk vectors begin."""
        ids = tuple(range(256))
        chunks = tuple(Chunk(i, 0, i, Span(0, len(TEXT)), ids, None) for i in range(self._chunks))
        vectors = self._generator.normal(size=(self._chunks, self._size)).astype(np.float32)
        unit = vectors[:1] / np.linalg.norm(vectors[0])
        domains = np.array([1.0, 0, 0, 0, 0, 0], np.float32)
        words = self._terms(WORDS), self._terms(60)
        encoding = Encoding(
            self._document, chunks, vectors, vectors, unit, unit[0].astype(np.float32), *words, domains
        )
        centre = None if self._centre is None else np.zeros_like(self._centre)
        record = vector_record(encoding, centre)
        values = np.rint(vectors / (np.abs(vectors).max(1) / 127)[:, None]).astype(np.int8)
        return record, record.index(values.tobytes())

    def vectors(self, count: int) -> Iterator[bytes]:
        """Vector records of documents, each around a topic."""
        for _ in range(count):
            record, start = self._templates[self._generator.integers(TEMPLATES)]
            topic = self._topics[self._generator.integers(TOPICS)]
            noise = self._generator.integers(-60, 61, (self._chunks, self._size), dtype=np.int8)
            values = (np.clip(topic * 30, -60, 60).astype(np.int8) + noise).tobytes()
            yield record[:start] + values + record[start + len(values) :]


def fill(folder: Path, count: int, encoder: DocumentEncoder, chunks: int) -> float:
    """Write an index of so many documents; returns seconds."""
    made = MadeUp(encoder, chunks)
    started = time.perf_counter()
    with writing(folder, make=True) as index:
        connection = index.connection
        connection.execute("BEGIN")
        info, centre = encoder.info, None if encoder.centre is None else encoder.centre.tobytes()
        connection.execute(
            "INSERT INTO models (number, family, name, precision, centre) VALUES (1, ?, ?, ?, ?)",
            (encoder.family, info.name, info.precision, centre),
        )
        connection.execute("INSERT OR REPLACE INTO meta VALUES ('model', 1)")
        connection.execute("INSERT INTO roots (number, path, glob) VALUES (1, ?, NULL)", (b"/made-up",))
        text = (zlib.crc32(made.text), made.text)
        for number, record in enumerate(made.vectors(count), 1):
            key = digest(number.to_bytes(8, "little"))
            connection.execute(
                "INSERT INTO contents (number, key, title, words, pages, warnings, headings, reading, checksum, record)"
                " VALUES (?, ?, '\"\"', 100, NULL, '[]', '[]', ?, ?, ?)",
                (number, key, b"", *text),
            )
            connection.execute(
                "INSERT INTO documents (number, path, root, key, content, size, mtime_ns, checked_ns)"
                " VALUES (?, ?, 1, ?, ?, ?, 0, 0)",
                (number, b"/made-up/%08d.txt" % number, key, number, 1000 + number * 7919 % 1_000_000),
            )
            connection.execute(
                "INSERT INTO vectors (model, content, chunks, checksum, record) VALUES (1, ?, ?, ?, ?)",
                (number, chunks, zlib.crc32(record), record),
            )
            if number % 20_000 == 0:
                connection.execute("COMMIT")
                connection.execute("BEGIN")
        connection.execute("COMMIT")
        learn(index, encoder)
    return time.perf_counter() - started


def learn(index: Index, encoder: DocumentEncoder) -> None:
    """Write the profile of the field, learned from the first documents."""
    cards = list(index.cards(range(1, 501)).values())
    profile = learn_field("corpus", cards, encoder).profile
    record = zlib.compress(pack({}, {name: getattr(profile, name) for name in ARRAYS}), 1)
    values = (profile.fingerprint, b"", profile.documents, zlib.crc32(record), record)
    index.connection.execute("INSERT INTO profile VALUES (?, ?, ?, ?, ?)", values)


def search(query: Path, folder: Path) -> tuple[float, float, float]:
    """Seconds, seconds of processor time and peak megabytes of `colde rank` in a fresh process.

    Raises:
        RuntimeError: it failed.
    """
    command = [sys.executable, "-m", "colde_cli", "rank", str(query), str(folder), "--format", "json"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    started = time.perf_counter()
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=output)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.perf_counter() - started
        output.seek(0)
        if process.returncode or not json.loads(output.read())["results"]:
            raise RuntimeError(f"colde rank ended with status {process.returncode}")
    return seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1000


def recall(query: Path, folder: Path, encoder: DocumentEncoder) -> float:
    """The share of the ten best of all exact scores that the ranking lists."""
    encoding = encode_query(query, encoder)
    with Index.open(folder) as index:
        listed = {hit.path for hit in rank_index(encoding, index, encoder).results}
        before, first_stage.EXACT = first_stage.EXACT, 10**9
        exact = {hit.path for hit in rank_index(encoding, index, encoder).results}
        first_stage.EXACT = before
    return len(listed & exact) / len(exact)


def measure(count: int, base: Path, encoder: DocumentEncoder, chunks: int) -> Row:
    """Make an index, search in it and delete it."""
    folder, query = base / f"{count}.colde", base / "query.txt"
    query.write_text(TEXT, encoding="utf-8")
    try:
        write = fill(folder, count, encoder, chunks)
        started = time.perf_counter()
        with Index.open(folder) as index:
            first_stage.refresh(index, encoder)
        first = time.perf_counter() - started
        runs = [search(query, folder) for _ in range(6)]
        side = folder / first_stage.NAME
        return Row(
            count,
            1000 * write / count,
            1000 * first / count,
            statistics.median(seconds for seconds, _, _ in runs[1:]),
            statistics.median(seconds for _, seconds, _ in runs[1:]),
            runs[0][0],
            max(memory for _, _, memory in runs),
            (folder / "index.sqlite").stat().st_size / count,
            side.stat().st_size / count if side.exists() else 0,
            recall(query, folder, encoder) if count <= 10_000 else None,
        )
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def plot(rows: list[Row], path: Path) -> None:
    """Write a page with the time of a query and of indexing against the number of documents."""
    from colde_cli.views.evaluation.plots import Series, line_plot
    from colde_cli.views.pages import base_style

    largest = max(row.documents for row in rows)
    lines = []
    for title, values in (
        ("seconds a query", [row.query for row in rows]),
        ("seconds to index", [row.documents * (row.write + row.first) / 1000 for row in rows]),
    ):
        top = max(values)
        points = [(row.documents / largest, value / top) for row, value in zip(rows, values, strict=True)]
        axis = f"{title} (1.0 = {top:.2f})"
        across = f"documents (1.0 = {largest:,})"
        lines.append(line_plot(title, across, axis, [Series(title, 0, points)], diagonal=True, dots=True))
    style = base_style() + (ROOT / "colde_cli/views/evaluation/style.css").read_text(encoding="utf-8")
    figures = "".join(f'<figure class="wide">{line}</figure>' for line in lines)
    path.write_text(
        f'<!doctype html><meta charset="utf-8"><title>Scale</title><style>{style}</style><main>{figures}</main>',
        encoding="utf-8",
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n", maxsplit=1)[0])
    parser.add_argument("--documents", type=int, nargs="+", default=[500, 1000, 2000, 5000, 10**5, 10**6])
    parser.add_argument("--chunks", type=int, default=20)
    parser.add_argument("--folder", type=Path, help="where the indexes are made; default: a temporary folder")
    parser.add_argument("--plot", type=Path)
    parser.add_argument("--json", type=Path, help="also write the figures")
    options = parser.parse_args()
    encoder = open_encoder(cache=Cache.open())
    print(f"{platform.machine()}, {os.cpu_count()} cores; {options.chunks} chunks a document")
    names = "write first query processor cold MB index side".split()
    print(f"{'documents':>9} {' '.join(f'{name:>9}' for name in names)} recall")
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(dir=options.folder) as base:
        for count in options.documents:
            row = measure(count, Path(base), encoder, options.chunks)
            rows.append(row)
            found = "-" if row.recall is None else f"{row.recall:.2f}"
            print(
                f"{row.documents:9,} {row.write:9.2f} {row.first:9.2f} {row.query:9.2f} {row.processor:9.2f}"
                f" {row.cold:9.2f} {row.memory:9.0f} {row.index_bytes:9,.0f} {row.side_bytes:9,.0f} {found}",
                flush=True,
            )
    if options.plot is not None:
        plot(rows, options.plot)
    if options.json is not None:
        options.json.write_text(json.dumps([asdict(row) for row in rows], indent=2), encoding="utf-8")
    print(f"peak memory of indexing {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000:.0f} MB")


if __name__ == "__main__":
    main()
