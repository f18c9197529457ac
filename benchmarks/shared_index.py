"""Compare an index of SQLite with a shared one of the same documents: bytes, processor time, memory, recall.

    python benchmarks/shared_index.py INDEX [--documents 10000 100000] [--queries 8] [--folder DIR] [--short]

INDEX is an index of some hundred real documents. They are repeated with noise on their vectors and their words until
there are enough, and sent to the shared index with the code of `colde index --to`. Queries are real documents. Recall
is the share of the ten best by exact scores of all documents that a ranking lists. A query is `colde rank` in a new
process; before the cold one the pages of the index are dropped from memory. With `--folder`, what an earlier run made
there is measured again. With `--short`, each document keeps a sentence of text and six chunks: a disk holds ten times
as many.
"""

from __future__ import annotations

import os
import resource
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from heapq import nlargest
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from index_scale import TEXT, fill, search
from script import arguments, machine

from colde_cli.corpus import side_file
from colde_cli.corpus.index_reader import Index
from colde_cli.corpus.lance_store import LanceIndex
from colde_cli.corpus.lance_writer import send_index
from colde_cli.corpus.rank_corpus import rank_index
from colde_cli.corpus.records import Arrays, pack, text_record, unpack
from colde_cli.documents.plain_text import read_text
from colde_cli.encoder.encoding import DocumentEncoder, Encoding
from colde_cli.encoder.loading import open_encoder
from colde_cli.scoring.score import for_rankings, scores_with_many

_FEW = 6  # chunks of a document of `--short`
RECORDS = """
SELECT c.headings, v.chunks, c.record, v.record FROM documents d JOIN contents c ON c.number = d.content
JOIN vectors v ON v.content = c.number
"""


def noisy(arrays: Arrays, generator: np.random.Generator) -> bytes:
    """A record of vectors of a document that is like another."""
    values, made = arrays["chunk_values"], dict(arrays)
    most = int(np.abs(values).mean() * generator.uniform(0.5, 2.5))
    noise = generator.integers(-most, most + 1, values.shape, np.int8)
    made["chunk_values"] = np.clip(values.astype(np.int16) + noise, -127, 127).astype(np.int8)
    for name in ("terms_weights", "opening_weights"):
        weights = arrays[name] * generator.uniform(0.05, 1.5, len(arrays[name])).astype(np.float32)
        made[name] = (weights / np.linalg.norm(weights)).astype(np.float16)
    return pack({}, made)


def begun(record: bytes, most: int) -> Arrays:
    """The arrays of a record, with so many chunks at most."""
    parts = unpack(record)
    assert parts is not None
    cut = ("chunks", "chunk_values", "chunk_scales")
    return {name: values[:most] if name in cut else values for name, values in parts[1].items()}


def repeated(real: list[tuple[Any, ...]], count: int) -> Iterator[tuple[bytes | str, int, bytes, bytes]]:
    """The rows of so many documents: the real ones, and then others that are like them."""
    generator = np.random.default_rng(0)
    for number in range(1, count + 1):
        headings, chunks, text, arrays = real[number % len(real)]
        yield headings, chunks, text, noisy(arrays, generator) if number > len(real) else pack({}, arrays)


def size(folder: Path) -> int:
    """Bytes of all files."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def exact(queries: list[Encoding], index: Index, encoder: DocumentEncoder) -> list[set[str]]:
    """The ten best of all documents for each query, in one pass over the index."""
    field = index.field(encoder) or encoder.domain_fields
    cards, best = index.all_cards(), [list[tuple[float, str]]() for _ in queries]
    while block := [card for _, card in islice(cards, 256)]:
        for query, listed in zip(queries, best, strict=True):
            scores = scores_with_many(query, block, for_rankings(encoder.config), field)
            paths = [card.path for card in block]
            listed[:] = nlargest(10, [*listed, *zip(scores.tolist(), paths, strict=True)])
    return [{path for _, path in listed} for listed in best]


def recall(queries: list[Encoding], folder: Path, place: Path, encoder: DocumentEncoder) -> tuple[float, float]:
    """The mean recall of the ten best in both, scored within one field."""
    shares = []
    with Index.open(folder) as index, LanceIndex.open(place) as other:
        field = index.field(encoder)  # each learns its own, and orders documents that are all but the same by it
        for query, wanted in zip(queries, exact(queries, index, encoder), strict=True):
            listed = [
                {hit.path for hit in rank_index(query, each, encoder, field=field).results} for each in (index, other)
            ]
            shares.append([len(found & wanted) / len(wanted) for found in listed])
    first, second = np.mean(shares, axis=0).tolist()
    return first, second


def forget(folder: Path) -> None:
    """Drop the pages of all files of a folder from memory."""
    for path in folder.rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def timed(name: str, work: Callable[[], object], count: int) -> None:
    """Do a piece of work, and print its processor time for each document."""
    started = time.process_time()
    work()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    print(f"  {name}: {1000 * (time.process_time() - started) / count:.2f} ms each, {peak:.0f} MB", flush=True)


def refresh(folder: Path, encoder: DocumentEncoder) -> None:
    """Make the side file."""
    with Index.open(folder) as index:
        side_file.refresh(index, encoder)


def measure(
    home: Path, count: int, real: list[tuple[Any, ...]], queries: list[Encoding], encoder: DocumentEncoder
) -> None:
    """Make both kinds where they are not there yet, and print their figures."""
    folder, place, query = home / "a.colde", home / "a.lance", home / "q.txt"
    query.write_text(TEXT, encoding="utf-8")
    print(f"{count:,} documents, load {os.getloadavg()[0]:.0f}", flush=True)
    if not folder.exists():
        timed("filled", lambda: fill(folder, repeated(real, count), encoder), count)
    timed("side file", lambda: refresh(folder, encoder), count)
    if not place.exists():
        timed("sent", lambda: send_index(folder, str(place), encoder), count)
    for name, one in (("SQLite", folder), ("Lance", place)):
        forget(one)
        runs = [search(query, one) for _ in range(6)]
        seconds, processor = (statistics.median(run[place] for run in runs[1:]) for place in (0, 1))
        print(
            f"  {name}: {size(one) / count:,.0f} bytes a document; cold {runs[0][0]:.2f} s by the clock,"
            f" {runs[0][1]:.2f} s of processor time; then {seconds:.2f} and {processor:.2f} s,"
            f" {max(run[2] for run in runs):.0f} MB",
            flush=True,
        )
    print("  recall of the first ten: SQLite {:.3f}, Lance {:.3f}".format(*recall(queries, folder, place, encoder)))


def main() -> None:
    """Measure and print."""
    options = arguments(__doc__, "index", documents=[10_000, 100_000], queries=8, folder=Path, short=False)
    encoder = open_encoder("colde-minilm-l6", device="cpu")
    with Index.open(options.index) as index:
        real = index.connection.execute(RECORDS).fetchall()
        numbers = index.numbers()[:: max(1, len(real) // options.queries)][: options.queries]
        queries = [index.encoding(int(number), encoder) for number in numbers]
    if options.short:
        text = text_record(read_text(TEXT.encode(), "made-up.txt", "made-up.txt"), "", ())
        real = [(headings, min(chunks, _FEW), text, vectors) for headings, chunks, _, vectors in real]
    real = [(*row[:3], begun(row[3], row[1])) for row in real]
    chunks = np.mean([row[1] for row in real])
    print(f"{machine()}; {len(real)} real documents of {chunks:.1f} chunks")
    for count in options.documents:
        if options.folder is None:
            with tempfile.TemporaryDirectory() as work:
                measure(Path(work), count, real, queries, encoder)
        else:
            home = options.folder / str(count)
            home.mkdir(parents=True, exist_ok=True)
            measure(home, count, real, queries, encoder)


if __name__ == "__main__":
    main()
