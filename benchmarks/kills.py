"""Kill `rank`, `adapt` and `train` at random moments, and see what they leave (`index_kills.py` does it for `index`).

    python benchmarks/kills.py DATA [--moments 50] [--commands rank,adapt,train] [--seed 0]

DATA holds `train.jsonl` and `backbone` (tests/tiny_backbone.py writes them). Each command replaces what an earlier run
wrote. It gets SIGKILL at a random time of the span that an undisturbed run works; processes are forked after the
libraries are loaded, so that the span is work. Then what it writes is looked at: the earlier state or the new one, no
other. The command is run again to its end, `train` with --resume, and must leave the bytes of the undisturbed run.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from index_kills import make_corpus, make_text

from colde_cli.commands.app import main as main_of_colde
from colde_cli.documents.sandbox import end_idle

_LOADED = (
    "numpy",
    "onnxruntime",
    "tokenizers",
    "rich.console",
    "colde_cli.model_api",
    "colde_cli.views.json",
)
_FOR_TRAINING = ("torch", "transformers", "safetensors.torch", "colde_cli.learning.run", "onnx")
_QUICK = [
    "--epochs",
    "3",
    "--batch-size",
    "8",
    "--set",
    "projection=16",
    "--validation",
    "0.4",
    "--device",
    "cpu",
]
_VARYING = {"README.md", "SHA256SUMS", "metrics.jsonl", "run.json"}
"""Files of a training run that say how long it took, and the checksums of those."""


def start(folder: Path, *arguments: str | Path) -> int:
    """Start `colde` in a folder; the number of its process."""
    process = os.fork()
    if process:
        return process
    status = 1
    try:
        quiet = os.open(folder / "said", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        os.chdir(folder)
        os.environ["COLDE_CACHE_DIR"] = str(folder / "cache")
        sys.argv = ["colde", *map(str, arguments)]
        main_of_colde()
        status = 0
    except SystemExit as ended:
        status = int(ended.code or 0)
    finally:
        sys.stdout.flush()
        end_idle()
        os._exit(status)


def finish(process: int) -> int:
    """Wait for a process; its status."""
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def state(path: Path) -> str:
    """Hash of a file or a folder, without what varies; "" if it is not there."""
    if path.is_file():
        return hashlib.sha256(path.read_bytes()).hexdigest()
    files = sorted(file for file in path.rglob("*") if file.is_file() and file.name not in _VARYING)
    whole = hashlib.sha256()
    for file in files:
        whole.update(str(file.relative_to(path)).encode() + hashlib.sha256(file.read_bytes()).digest())
    return whole.hexdigest() if files else ""


def stray(folder: Path) -> list[str]:
    """Files that nobody asked for."""
    return [str(path.relative_to(folder)) for path in folder.rglob(".colde-*")]


class Bench:
    """A command, with the states before and after it."""

    def __init__(self, name: str, folder: Path, data: Path) -> None:
        self.name, self.folder = name, folder
        generator = random.Random(0)
        make_corpus(folder / "old", 6, generator)
        make_corpus(folder / "new", 12, generator)
        (folder / "query.md").write_text(make_text(generator), encoding="utf-8")
        out = "out.csv" if name == "rank" else "out"
        self.out = folder / out
        training = ["train", data / "train.jsonl", "--backbone", data / "backbone", *_QUICK, "-o", out]
        before, self.command, self.again = {
            "rank": (["rank", "query.md", "old", "-o", out], ["rank", "query.md", "new", "-o", out], []),
            "adapt": (["adapt", "old", "-o", folder / out], ["adapt", "new", "-o", folder / out], []),
            "train": ([], training, ["--resume"]),
        }[name]
        if before:
            finish(start(folder, *before))
        self.before = state(self.out)
        self._kept = folder.with_name(f"{folder.name}-kept")
        shutil.copytree(folder, self._kept)
        started = time.monotonic()
        status = finish(start(folder, *self.command))
        self.seconds = time.monotonic() - started
        self.after = state(self.out)
        if status or not self.after or self.after == self.before:
            raise SystemExit(f"{name} failed: {(folder / 'said').read_text(encoding='utf-8')}")

    def one_moment(self, delay: float) -> Counter[str]:
        """Kill the command once, and see what comes of it."""
        found = Counter[str]()
        shutil.rmtree(self.folder)
        shutil.copytree(self._kept, self.folder)
        process = start(self.folder, *self.command)
        time.sleep(delay)
        os.kill(process, signal.SIGKILL)
        found["killed" if finish(process) < 0 else "had ended"] += 1
        left = state(self.out)
        known = {self.before: "earlier state", self.after: "new state"}
        found[known.get(left, "OTHER STATE")] += 1
        found["with an unfinished run"] += (self.folder / "out.training").exists()
        found["with a hidden file left"] += bool(stray(self.folder))
        done = left == self.after
        unfinished = (self.folder / "out.training").exists()
        status = 0 if done else finish(start(self.folder, *self.command, *(self.again if unfinished else ())))
        if status and unfinished:  # it was killed before there was anything to resume, and is told so
            found["started anew"] += 1
            status = finish(start(self.folder, *self.command))
        same = state(self.out) == self.after
        found["then the same bytes" if same and not status else "THEN OTHER BYTES"] += 1
        if not same or status:
            print((self.folder / "said").read_text(encoding="utf-8")[-300:], file=sys.stderr)
        found["hidden file left at the end"] += bool(stray(self.folder))
        return +found


def main() -> None:
    """Kill and print; status 1 if something was lost."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n", maxsplit=1)[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--moments", type=int, default=50)
    parser.add_argument("--commands", default="rank,adapt,train")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    commands = options.commands.split(",")
    for name in (*_LOADED, *(_FOR_TRAINING if "train" in commands else ())):
        importlib.import_module(name)
    generator, lost = random.Random(options.seed), False
    for name in commands:
        counts = Counter[str]()
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "work").mkdir()
            bench = Bench(name, Path(folder) / "work", options.data.resolve())
            for _ in range(options.moments):
                counts += bench.one_moment(generator.uniform(0, bench.seconds))
                print(f"{name}: {dict(counts)}", file=sys.stderr, flush=True)
        print(f"{name} ({bench.seconds:.1f} s undisturbed): {dict(counts)}", flush=True)
        lost |= any(key.isupper() for key in counts)
    sys.exit(lost)


if __name__ == "__main__":
    main()
