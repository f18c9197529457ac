"""Kill `colde index` at random moments, and see whether the index is whole and the next run makes it right.

    python benchmarks/index_kills.py [--moments 50] [--documents 60] [--seed 0]

A moment belongs in turn to making an index, updating one whose files were changed, renamed, added and deleted, encoding
one anew with another model, and compacting one. The process gets SIGKILL at a random time of the span that an
undisturbed run works. The index is then verified, the work done to its end, the index verified again, and its contents
compared with those that an undisturbed run left. Documents are made up, of a few hundred words. A transaction
is committed every 20 ms instead of every few seconds, so that many moments lie within and between two.
"""

from __future__ import annotations

import argparse
import os
import platform
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from colde_cli.corpus.index_reader import Index
from colde_cli.corpus.index_update import update_index
from colde_cli.corpus.index_writer import LOCK, compact_index, verify_index
from colde_cli.encoder.loading import open_encoder
from colde_cli.encoder.vector_cache import Cache
from colde_cli.errors import BadIndexError
from colde_cli.settings import DEFAULT_MODEL as MODEL

ROOT = Path(__file__).resolve().parent.parent
WORDS = "ba ke li mo nu ra se ti vo za pel dar gon fis".split()
_CHILD = """
import colde_cli.corpus.index_update as indexing
from colde_cli.commands.app import main
indexing._COMMIT_SECONDS = 0.02
main()
"""


def make_text(generator: random.Random) -> str:
    """A made-up document with headings."""
    parts = []
    for number in range(1, 4):
        words = ["".join(generator.choices(WORDS, k=2)) for _ in range(120)]
        parts.append(f"# {number} {words[0]}\n\n{' '.join(words)}.\n")
    return "\n".join(parts)


def make_corpus(folder: Path, documents: int, generator: random.Random) -> None:
    """Write documents into a folder; one of them is a PDF that cannot be read."""
    folder.mkdir(parents=True)
    for number in range(documents):
        (folder / f"{number:03}.md").write_text(make_text(generator), encoding="utf-8")
    (folder / "bad.pdf").write_bytes(b"%PDF-1.7 and nothing more")


def change_corpus(folder: Path, generator: random.Random) -> None:
    """Change, rename, add and delete a sixth of the documents each."""
    paths = sorted(folder.glob("*.md"))
    for place, path in enumerate(paths):
        if place % 6 == 0:
            path.write_text(make_text(generator), encoding="utf-8")
        elif place % 6 == 1:
            path.rename(path.with_name(f"renamed-{path.name}"))
        elif place % 6 == 2:
            path.with_name(f"added-{path.name}").write_text(make_text(generator), encoding="utf-8")
        elif place % 6 == 3:
            path.unlink()


def snapshot(folder: Path) -> dict[str, list[Any]]:
    """All that an index holds, but for numbers of rows and the time of the last look."""
    with sqlite3.connect(folder / "index.sqlite") as connection:
        queries = {
            "documents": "SELECT d.path, d.key, c.key, d.size, d.mtime_ns, d.reason FROM documents d"
            " LEFT JOIN contents c ON c.number = d.content",
            "contents": "SELECT key, title, words, pages, warnings, checksum, record FROM contents",
            "vectors": "SELECT c.key, m.family, v.chunks, v.checksum, v.record FROM vectors v"
            " JOIN contents c ON c.number = v.content JOIN models m ON m.number = v.model",
            "profile": "SELECT fingerprint, learned_from, documents, checksum, record FROM profile",
            "roots": "SELECT path, glob FROM roots",
        }
        found = {table: sorted(connection.execute(query), key=repr) for table, query in queries.items()}
    connection.close()
    return found


def start(*arguments: str | Path) -> subprocess.Popen[bytes]:
    """Start `colde index`."""
    return subprocess.Popen(
        [sys.executable, "-c", _CHILD, "index", *map(str, arguments), "--quiet"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


def working(process: subprocess.Popen[bytes], folder: Path) -> None:
    """Wait until a process has the lock of an index, that is, until it has started and loaded its model."""
    while process.poll() is None and not (folder / f"{LOCK}-journal").exists():
        time.sleep(0.002)


class Bench:
    """A corpus, an index of it in each state, and the commands that lead from one to the next."""

    def __init__(self, folder: Path, documents: int, seed: int) -> None:
        self.folder, generator = folder, random.Random(seed)
        self.corpus, self.index = folder / "corpus", folder / "papers.colde"
        make_corpus(self.corpus, documents, generator)
        corpora = {"make": self._copy(self.corpus, "corpus-make")}
        change_corpus(self.corpus, generator)
        corpora |= dict.fromkeys(("update", "encode anew", "compact"), self._copy(self.corpus, "corpus-update"))
        self._corpora = corpora
        other = self._other_model()
        cache = Cache.open()
        self._models = {name: open_encoder(other if name == "encode anew" else MODEL, cache=cache) for name in corpora}
        self.commands: dict[str, list[str | Path]] = {
            "make": [self.corpus, "-o", self.index],
            "update": [self.index],
            "encode anew": [self.index, "--model", other],
            "compact": [self.index, "--compact"],
        }
        self.seconds: dict[str, float] = {}
        self.before: dict[str, Path | None] = {}
        self.after: dict[str, dict[str, list[Any]]] = {}
        self._run_undisturbed()

    def _copy(self, source: Path, name: str) -> Path:
        target = self.folder / name
        shutil.copytree(source, target)
        return target

    def _other_model(self) -> Path:
        """The shipped model with another length of chunks, which is another model."""
        target = self.folder / "other-model"
        shutil.copytree(ROOT / "models" / "colde-minilm-l6", target)
        config = target / "config.json"
        text = config.read_text(encoding="utf-8")
        changed = text.replace('"chunk_tokens": 256', '"chunk_tokens": 128')
        assert changed != text, "config.json names the length of chunks"
        config.write_text(changed, encoding="utf-8")
        return target

    def _run_undisturbed(self) -> None:
        last: Path | None = None
        for name, command in self.commands.items():
            self.before[name] = last
            self.prepare(name)
            self.finish(name)  # fills the cache, so that the second run is as fast as those that are killed
            self.prepare(name)
            process = start(*command)
            working(process, self.index)
            started = time.monotonic()
            process.communicate()
            self.seconds[name] = time.monotonic() - started
            self.after[name] = snapshot(self.index)
            last = self._copy(self.index, f"after-{name.replace(' ', '-')}.colde")

    def finish(self, name: str) -> None:
        """Do what a command does, in this process."""
        if name == "compact":
            compact_index(self.index)
        else:
            update_index(self.index, [self.corpus] if name == "make" else [], self._models[name])

    def prepare(self, name: str) -> None:
        """Bring corpus and index into the state before a command."""
        for target, source in ((self.corpus, self._corpora[name]), (self.index, self.before[name])):
            shutil.rmtree(target, ignore_errors=True)
            if source is not None:
                shutil.copytree(source, target)  # keeps times


def killed(process: subprocess.Popen[bytes], delay: float) -> bool:
    """Kill a process after some seconds; whether it was still running."""
    try:
        process.wait(delay)
    except subprocess.TimeoutExpired:
        process.kill()
    process.communicate()
    return process.returncode < 0


def main() -> None:
    """Measure and print; status 1 if an index was not whole or not equal."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n", maxsplit=1)[0])
    parser.add_argument("--moments", type=int, default=50)
    parser.add_argument("--documents", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    generator, counts = random.Random(options.seed), Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder), options.documents, options.seed)
        print(f"{platform.machine()}, {os.cpu_count()} cores; {options.documents} documents; undisturbed:")
        print("  " + ", ".join(f"{name} {seconds:.2f} s" for name, seconds in bench.seconds.items()))
        names = list(bench.commands)
        for moment in range(options.moments):
            name = names[moment % len(names)]
            found = one_moment(bench, name, generator.uniform(0, 1) * bench.seconds[name])
            print(f"{moment + 1:3} {'; '.join(found)}", file=sys.stderr, flush=True)
            counts += found
    for name in names:
        found = {key.split(": ")[1]: count for key, count in counts.items() if key.startswith(f"{name}: ")}
        print(f"{name}: {found}")
    sys.exit(any(key.endswith(("damaged", "other contents")) for key in counts))


def one_moment(bench: Bench, name: str, delay: float) -> Counter[str]:
    """Kill a command once, and see what comes of it."""
    counts = Counter[str]()
    bench.prepare(name)
    process = start(*bench.commands[name])
    working(process, bench.index)
    counts[f"{name}: {'killed' if killed(process, delay) else 'had ended'}"] += 1
    if (bench.index / "index.sqlite-journal").exists():
        counts[f"{name}: within a transaction"] += 1
    if holds_anything(bench.index):
        counts[f"{name}: verified"] += 1
        counts[f"{name}: damaged"] += not is_whole(bench.index)
    bench.finish(name)
    counts[f"{name}: damaged"] += not is_whole(bench.index)
    same = snapshot(bench.index) == bench.after[name]
    counts[f"{name}: {'the same contents' if same else 'other contents'}"] += 1
    return +counts


def holds_anything(folder: Path) -> bool:
    """Whether there is an index: a kill may come before its tables are made."""
    try:
        Index.open(folder).close()
    except BadIndexError as error:
        print(error, file=sys.stderr)
        return False
    return True


def is_whole(folder: Path) -> bool:
    """Whether a check of the index finds nothing."""
    problems = verify_index(folder).problems
    for problem in problems:
        print(problem, file=sys.stderr)
    return not problems


if __name__ == "__main__":
    main()
