"""Kill commands that write at random moments, and see what they leave and whether the next run makes it right.

    python benchmarks/kills.py [DATA] [--commands make,update,encode-anew,compact,rank,adapt,train] [--moments 50]
        [--documents 60] [--seed 0]

The first four are `colde index`: making an index, updating one whose files were changed, renamed, added and deleted,
encoding one anew with another model, and compacting one; a transaction is committed every 20 ms instead of every few
seconds, so that many moments lie within and between two. `train` needs DATA, with `train.jsonl` and `backbone`
(tests/tiny_backbone.py writes them). Processes are forked after the libraries are loaded, and get SIGKILL at a random
time of the span that an undisturbed run works. Then what the command writes is looked at: an index must be whole, a
file or a folder in the earlier state or the new one. The command is run again to its end, `train` with --resume, and
must leave what the undisturbed run left: the contents of the index, the bytes of files.
"""

from __future__ import annotations

import hashlib
import os
import random
import shutil
import signal
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

from running import forked, load, made_up_corpus, made_up_text
from script import ROOT, arguments, machine

from colde_cli.corpus import index_update
from colde_cli.corpus.index_reader import Index
from colde_cli.corpus.index_writer import verify_index
from colde_cli.errors import BadIndexError

OF_INDEX = ("make", "update", "encode-anew", "compact")
_FOR_TRAINING = ("torch", "transformers", "safetensors.torch", "colde_cli.learning.run", "onnx")
_QUICK = "--epochs 3 --batch-size 8 --set projection=16 --validation 0.4 --device cpu".split()
_VARYING = {"README.md", "SHA256SUMS", "metrics.jsonl", "run.json"}
"""Files of a training run that say how long it took, and the checksums of those."""


def change_corpus(folder: Path, generator: random.Random) -> None:
    """Change, rename, add and delete a sixth of the documents each."""
    for place, path in enumerate(sorted(folder.glob("*.md"))):
        if place % 6 == 0:
            path.write_text(made_up_text(generator), encoding="utf-8")
        elif place % 6 == 1:
            path.rename(path.with_name(f"renamed-{path.name}"))
        elif place % 6 == 2:
            path.with_name(f"added-{path.name}").write_text(made_up_text(generator), encoding="utf-8")
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


def state(path: Path) -> str:
    """Hash of an index, a file or a folder, without what varies; "" if it is not there."""
    if path.suffix == ".colde":
        return hashlib.sha256(repr(snapshot(path)).encode()).hexdigest() if holds_anything(path) else ""
    if path.is_file():
        return hashlib.sha256(path.read_bytes()).hexdigest()
    files = sorted(file for file in path.rglob("*") if file.is_file() and file.name not in _VARYING)
    whole = hashlib.sha256()
    for file in files:
        whole.update(str(file.relative_to(path)).encode() + hashlib.sha256(file.read_bytes()).digest())
    return whole.hexdigest() if files else ""


def holds_anything(folder: Path) -> bool:
    """Whether there is an index: a kill may come before its tables are made."""
    try:
        Index.open(folder).close()
    except BadIndexError as error:
        if folder.exists():
            print(error, file=sys.stderr)
        return False
    return True


def is_whole(folder: Path) -> bool:
    """Whether a check of the index finds nothing."""
    problems = verify_index(folder).problems
    for problem in problems:
        print(problem, file=sys.stderr)
    return not problems


def start(folder: Path, command: list[object]) -> int:
    """Start `colde` in a folder; the number of its process."""
    said = os.open(folder / "said", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    process = forked(command, said, said, partial(_prepare, folder))
    os.close(said)
    return process


def _prepare(folder: Path) -> None:
    os.chdir(folder)
    os.environ["COLDE_CACHE_DIR"] = str(folder.parent / "cache")
    index_update._COMMIT_SECONDS = 0.02


def finish(process: int) -> int:
    """Wait for a process; its status."""
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


class Bench:
    """A command, with the states before and after it.

    Attributes:
        out: what it writes.
        seconds: that an undisturbed run works.
    """

    def __init__(self, name: str, folder: Path, data: Path | None, documents: int, seed: int) -> None:
        self.name, self.folder, generator = name, folder, random.Random(seed)
        made_up_corpus(folder / "old", max(6, documents // 10), generator)
        made_up_corpus(folder / "new", 12, generator)
        (folder / "query.md").write_text(made_up_text(generator), encoding="utf-8")
        self.out = folder / {"rank": "out.csv", "adapt": "out", "train": "out"}.get(name, "out.colde")
        self.again: list[object] = []
        self._run_first(documents, generator)
        self.command: list[object] = {
            "update": ["index", self.out],
            "encode-anew": ["index", self.out, "--model", folder / "other-model"],
            "compact": ["index", self.out, "--compact"],
            "make": ["index", "corpus", "-o", self.out],
            "rank": ["rank", "query.md", "new", "-o", self.out],
            "adapt": ["adapt", "new", "-o", self.out],
            "train": ["train", f"{data}/train.jsonl", "--backbone", f"{data}/backbone", *_QUICK, "-o", self.out],
        }[name]
        if name == "train":
            self.again = ["--resume"]
        self.before = state(self.out)
        self._kept = folder.with_name(f"{folder.name}-kept")
        shutil.copytree(folder, self._kept)
        self._run(self.command)  # fills the cache, so that the second run is as fast as those that are killed
        self._restore()
        started = time.monotonic()
        self._run(self.command)
        self.seconds, self.after = time.monotonic() - started, state(self.out)
        if not self.after or (self.after == self.before and name != "compact"):
            raise SystemExit(f"{name} failed: {(folder / 'said').read_text(encoding='utf-8')}")

    def _run_first(self, documents: int, generator: random.Random) -> None:
        """Bring output and corpus into the state before the command."""
        if self.name in OF_INDEX:
            corpus = self.folder / "corpus"
            made_up_corpus(corpus, documents, generator)
            if self.name == "make":
                return
            self._run(["index", "corpus", "-o", self.out])
            if self.name != "encode-anew":
                change_corpus(corpus, generator)
            if self.name == "compact":
                self._run(["index", self.out])
            if self.name == "encode-anew":
                self._other_model()
        elif self.name == "rank":
            self._run(["rank", "query.md", "old", "-o", self.out])
        elif self.name == "adapt":
            self._run(["adapt", "old", "-o", self.out])

    def _other_model(self) -> None:
        """The shipped model with another length of chunks, which is another model."""
        config = shutil.copytree(ROOT / "models" / "colde-minilm-l6", self.folder / "other-model") / "config.json"
        text = config.read_text(encoding="utf-8")
        changed = text.replace('"chunk_tokens": 256', '"chunk_tokens": 128')
        assert changed != text, "config.json names the length of chunks"
        config.write_text(changed, encoding="utf-8")

    def _run(self, command: list[object]) -> None:
        if finish(start(self.folder, command)) not in (0, 1):
            raise SystemExit(f"{command} failed: {(self.folder / 'said').read_text(encoding='utf-8')}")

    def _restore(self) -> None:
        shutil.rmtree(self.folder)
        shutil.copytree(self._kept, self.folder)  # keeps times

    def one_moment(self, delay: float) -> Counter[str]:
        """Kill the command once, and see what comes of it."""
        counts = Counter[str]()
        self._restore()
        process = start(self.folder, self.command)
        time.sleep(delay)
        os.kill(process, signal.SIGKILL)
        counts["killed" if finish(process) < 0 else "had ended"] += 1
        unfinished = (self.folder / "out.training").exists()
        counts["with an unfinished run"] += unfinished
        counts["with a hidden file left"] += bool(list(self.folder.rglob(".colde-*")))
        left = ""
        if self.name in OF_INDEX:
            counts["within a transaction"] += any(self.out.glob("index.sqlite-[jw]*"))
            counts += self._checked("verified")
        else:
            left = state(self.out)
            counts[{self.before: "earlier state", self.after: "new state"}.get(left, "OTHER STATE")] += 1
        done = left == self.after
        status = 0 if done else finish(start(self.folder, [*self.command, *(self.again if unfinished else ())]))
        if status and unfinished:  # it was killed before there was anything to resume, and is told so
            counts["started anew"] += 1
            status = finish(start(self.folder, self.command))
        if self.name in OF_INDEX:
            counts += self._checked("")
        same = state(self.out) == self.after and status in (0, 1)
        counts["then the same" if same else "THEN ANOTHER"] += 1
        if not same:
            print((self.folder / "said").read_text(encoding="utf-8")[-300:], file=sys.stderr)
        counts["hidden file left at the end"] += bool(list(self.folder.rglob(".colde-*")))
        return +counts

    def _checked(self, word: str) -> Counter[str]:
        if not holds_anything(self.out):
            return Counter()
        return Counter({word: 1} if word and is_whole(self.out) else {} if is_whole(self.out) else {"DAMAGED": 1})


def main() -> None:
    """Kill and print; status 1 if something was lost."""
    options = arguments(
        __doc__, "data?", commands=",".join((*OF_INDEX, "rank", "adapt")), moments=50, documents=60, seed=0
    )
    commands, data = options.commands.split(","), options.data[0].resolve() if options.data else None
    load(_FOR_TRAINING if "train" in commands else ())
    generator, lost = random.Random(options.seed), False
    print(f"{machine()}; {options.documents} documents")
    for name in commands:
        counts = Counter[str]()
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "work").mkdir()
            bench = Bench(name, Path(folder) / "work", data, options.documents, options.seed)
            for _ in range(options.moments):
                counts += bench.one_moment(generator.uniform(0, bench.seconds))
                print(f"{name}: {dict(counts)}", file=sys.stderr, flush=True)
        print(f"{name} ({bench.seconds:.1f} s undisturbed): {dict(counts)}", flush=True)
        lost |= any(key.isupper() for key in counts)
    sys.exit(lost)


if __name__ == "__main__":
    main()
