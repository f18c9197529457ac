"""How an index grows: time to index and to search, memory and bytes, up to a million documents.

    python benchmarks/index_scale.py [--documents 500 1000 2000 5000 100000 1000000] [--chunks 20] [--folder DIR]
                                     [--plot scale.svg]

Documents are made up: chunk vectors around one of 1,000 topics, words drawn by Zipf's law. They are written straight
into the tables of an index, as reading and encoding take the same time whatever the size. Measured are

    write       milliseconds of processor time a document to write the rows
    first       the same to make the side file of the first stage
    query       seconds of `colde rank` in a fresh process, start included: the median of five
    processor   the same in user and system time, which other processes on the machine disturb less
    cold        seconds of the first query
    memory      peak of that process
    bytes       on disk a document: of the index, and of the side file
    recall      share of the ten best by exact scores of all documents that the ranking lists (up to 10,000 documents)
"""

from __future__ import annotations

import json
import math
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from script import ROOT, arguments, machine

from colde_cli.corpus import side_file
from colde_cli.corpus.index_reader import Index
from colde_cli.corpus.index_writer import writing
from colde_cli.corpus.rank_corpus import encode_query, rank_index
from colde_cli.corpus.records import pack, text_record, vector_record
from colde_cli.documents.document import Chunk, Span
from colde_cli.documents.plain_text import read_text
from colde_cli.encoder.encoding import DocumentEncoder, Encoding, Vectors
from colde_cli.encoder.loading import learn_field, open_encoder
from colde_cli.encoder.vector_cache import Cache, digest
from colde_cli.scoring.lexicon import BUCKETS, Terms
from colde_cli.scoring.profile import ARRAYS

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
        domains = np.array([1.0, 0, 0, 0, 0, 0], np.float32)
        words = self._terms(WORDS), self._terms(60)
        made = Vectors(vectors, vectors, None, *words, domains)
        encoding = Encoding(self._document, chunks, made)
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


Rows = Iterable[tuple[bytes | str, int, bytes, bytes]]
"""Of each document the headings, the number of its chunks, the record of its text and that of its vectors."""


def fill(folder: Path, rows: Rows, encoder: DocumentEncoder) -> None:
    """Write documents straight into an index."""
    with writing(folder, make=True) as index:
        run = index.connection.execute
        run("BEGIN")
        info, centre = encoder.info, None if encoder.centre is None else encoder.centre.tobytes()
        run(
            "INSERT INTO models (number, family, name, precision, centre) VALUES (1, ?, ?, ?, ?)",
            (encoder.family, info.name, info.precision, centre),
        )
        run("INSERT OR REPLACE INTO meta VALUES ('model', 1)")
        run("INSERT INTO roots (number, path, glob) VALUES (1, ?, NULL)", (b"/made-up",))
        for number, (headings, chunks, text, vectors) in enumerate(rows, 1):
            key = digest(number.to_bytes(8, "little"))
            run(
                "INSERT INTO contents (number, key, title, words, pages, warnings, headings, reading, checksum, record)"
                " VALUES (?, ?, '\"\"', 100, NULL, '[]', ?, x'', ?, ?)",
                (number, key, headings, zlib.crc32(text), text),
            )
            run(
                "INSERT INTO documents (number, path, root, key, content, size, mtime_ns, checked_ns)"
                " VALUES (?, ?, 1, ?, ?, ?, 0, 0)",
                (number, b"/made-up/%08d.txt" % number, key, number, 1000 + number * 7919 % 1_000_000),
            )
            run("INSERT INTO vectors VALUES (1, ?, ?, ?, ?)", (number, chunks, zlib.crc32(vectors), vectors))
            if number % 20_000 == 0:
                run("COMMIT")
                run("BEGIN")
        run("COMMIT")
        learn(index, encoder)


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
        memory, ended = 0.0, 0
        while not ended:
            memory = max(memory, peak_memory(process.pid))
            time.sleep(0.01)
            ended, status, usage = os.wait4(process.pid, os.WNOHANG)
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.perf_counter() - started
        output.seek(0)
        if process.returncode or not json.loads(output.read())["results"]:
            raise RuntimeError(f"colde rank ended with status {process.returncode}")
    return seconds, usage.ru_utime + usage.ru_stime, memory


def peak_memory(number: int) -> float:
    """Most megabytes of a process so far. What `wait4` says begins with those of the process that started it."""
    with suppress(OSError), Path(f"/proc/{number}/status").open(encoding="utf-8") as lines:
        return max((int(line.split()[1]) / 1000 for line in lines if line.startswith("VmHWM")), default=0.0)
    return 0.0


def recall(query: Path, folder: Path, encoder: DocumentEncoder) -> float:
    """The share of the ten best of all exact scores that the ranking lists."""
    encoding = encode_query(query, encoder)
    with Index.open(folder) as index:
        listed = {hit.path for hit in rank_index(encoding, index, encoder).results}
        before, side_file.EXACT = side_file.EXACT, 10**9
        exact = {hit.path for hit in rank_index(encoding, index, encoder).results}
        side_file.EXACT = before
    return len(listed & exact) / len(exact)


def measure(count: int, base: Path, encoder: DocumentEncoder, chunks: int) -> Row:
    """Make an index, search in it and delete it."""
    folder, query = base / f"{count}.colde", base / "query.txt"
    query.write_text(TEXT, encoding="utf-8")
    try:
        made = MadeUp(encoder, chunks)
        started = time.process_time()
        fill(folder, (("[]", chunks, made.text, record) for record in made.vectors(count)), encoder)
        write, started = time.process_time() - started, time.process_time()
        with Index.open(folder) as index:
            side_file.refresh(index, encoder)
        first = time.process_time() - started
        runs = [search(query, folder) for _ in range(6)]
        side = folder / side_file.NAME
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


WIDTH, HEIGHT, LEFT, TOP, DECADE = 560, 330, 60, 20, 130
COLOURS = {"index, write and make searchable": "#b35c00", "one query, start included": "#1f5fa8"}


def plot(rows: list[Row], path: Path) -> None:
    """Draw processor seconds against documents, both axes by powers of ten, as a picture (SVG)."""
    lines = zip(
        COLOURS,
        ([row.documents * (row.write + row.first) / 1000 for row in rows], [row.processor for row in rows]),
        strict=True,
    )
    lowest = math.floor(math.log10(min(min(row.processor, row.documents * row.write / 1000) for row in rows)))
    highest = math.ceil(math.log10(max(row.documents * (row.write + row.first) / 1000 for row in rows)))
    high = (HEIGHT - TOP - 50) / (highest - lowest)

    def place(documents: float, seconds: float) -> tuple[float, float]:
        across = LEFT + DECADE * (math.log10(documents) - math.log10(500))
        return across, TOP + high * (highest - math.log10(seconds))

    parts = ['<rect width="100%" height="100%" fill="white"/>']
    for power in range(lowest, highest + 1):
        x, y = place(500, 10.0**power)
        parts.append(f'<path d="M{x:.0f} {y:.1f}H{WIDTH - 20}" stroke="#ccc"/>')
        parts.append(f'<text x="{x - 6:.0f}" y="{y + 4:.1f}" text-anchor="end">{10.0**power:g} s</text>')
    for row in rows:
        x, _ = place(row.documents, 1)
        parts.append(f'<text x="{x:.1f}" y="{HEIGHT - 32}" text-anchor="middle">{short(row.documents)}</text>')
    for number, (name, seconds) in enumerate(lines):
        places = [place(row.documents, value) for row, value in zip(rows, seconds, strict=True)]
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        parts.append(f'<polyline points="{points}" fill="none" stroke="{COLOURS[name]}" stroke-width="2"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{COLOURS[name]}"/>' for x, y in places]
        x = LEFT + 230 * number
        parts.append(f'<text x="{x}" y="{HEIGHT - 8}" fill="{COLOURS[name]}">{name}</text>')
    box = f'viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}"'
    style = 'font-family="sans-serif" font-size="12"'
    drawn = "\n".join(parts)
    path.write_text(f'<svg xmlns="http://www.w3.org/2000/svg" {box} {style}>\n{drawn}\n</svg>\n', encoding="utf-8")


def short(number: int) -> str:
    """A number of documents for an axis, such as 5k."""
    return f"{number // 10**6}M" if number >= 10**6 else f"{number // 1000}k" if number >= 1000 else str(number)


def main() -> None:
    """Measure and print."""
    sizes = [500, 1000, 2000, 5000, 10**5, 10**6]
    options = arguments(__doc__, documents=sizes, chunks=20, folder=Path, plot=Path)
    rows: list[Row] = []
    encoder = open_encoder(cache=Cache.open())
    print(f"{machine()}; {options.chunks} chunks a document")
    names = "write first query processor cold MB index side".split()
    print(f"{'documents':>9} {' '.join(f'{name:>9}' for name in names)} recall")
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
    print(f"peak memory of indexing {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000:.0f} MB")


if __name__ == "__main__":
    main()
