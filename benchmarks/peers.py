"""Measure colde beside its peers, interleaved in one run.

    python benchmarks/peers.py FOLDER [--parts encode,read,diff,rank] [--rounds 5] [--files 10]

FOLDER holds PDFs. The peers get an environment of their own: a virtual environment over this one, with
sentence-transformers, fastembed and pdfminer.six, made once (`--environment`). Every contestant is a process that is
prepared before it is timed. In each round all run in turn, in a new order, so that they meet the same neighbours on the
machine; a ratio is that of one round.
"""

from __future__ import annotations

import json
import os
import random
import statistics
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from peers_worker import CONTESTANTS
from script import ROOT, arguments, machine

WORKER = Path(__file__).with_name("peers_worker.py")
PACKAGES = ("sentence-transformers>=5,<6", "fastembed", "pdfminer.six", "optimum-intel[openvino]", "nncf", "datasets")
PARTS = ("encode", "read", "diff", "rank")

_CHUNKS = 24
"""Chunks of the encoding part, all of full length."""


@dataclass
class Contestant:
    """Who runs what.

    Attributes:
        kind: its name in `peers_worker.py`.
        python: the interpreter.
        task: what the worker gets.
        seconds: one entry per round: wall and processor time.
    """

    name: str
    kind: str
    python: str
    task: dict[str, Any]
    seconds: list[dict[str, float]] = field(default_factory=list)

    def median(self) -> float:
        """Median wall time of a round."""
        return statistics.median(one["wall"] for one in self.seconds)


def environment(folder: Path) -> str:
    """Make the peers' environment, unless it is there; its interpreter."""
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    done = folder / "complete"
    if not done.exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        below = subprocess.run(
            [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        # PyTorch and what else is here already need not be installed again.
        (Path(below) / "base.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
        subprocess.run([python, "-m", "pip", "install", "--quiet", *PACKAGES], check=True)
        done.touch()
    return str(python)


@contextmanager
def started(contestant: Contestant, scratch: Path) -> Iterator[subprocess.Popen[str] | None]:
    """A contestant that is ready to run; None if it does not start here."""
    task = scratch / f"{abs(hash(contestant.name))}.json"
    task.write_text(json.dumps(contestant.task), encoding="utf-8")
    said = task.with_suffix(".txt")  # not a pipe: pypdf's warnings about many files would fill it
    threads = str(contestant.task["threads"])
    kept = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": threads, "MKL_NUM_THREADS": threads}
    with said.open("wb") as stderr:
        process = subprocess.Popen(
            [contestant.python, str(WORKER), contestant.kind, str(task)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            env={**kept, "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "true", "COLDE_THREADS": threads},
        )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        if process.stdout.readline() == "ready\n":
            yield process
            return
        process.stdin.close()
        process.wait()
        reason = (said.read_text(encoding="utf-8").strip().splitlines() or ["it said nothing"])[-1]
        print(f"{contestant.name} does not start: {reason}", file=sys.stderr)
        yield None
    finally:
        process.kill()
        process.communicate()


def play(contestants: Iterable[Contestant], rounds: int) -> list[Contestant]:
    """Let all run in turn; those that started."""
    chance = random.Random(0)
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        ready = [(one, stack.enter_context(started(one, scratch))) for one in contestants]
        running = [(one, process) for one, process in ready if process is not None]
        for _ in range(rounds):
            for one, process in chance.sample(running, len(running)):
                assert process.stdin is not None
                assert process.stdout is not None
                process.stdin.write("run\n")
                process.stdin.flush()
                one.seconds.append(json.loads(process.stdout.readline()))
    return [one for one, _ in running]


def table(title: str, found: list[Contestant], amount: float, unit: str) -> list[str]:
    """Rates, and times beside those of the first: the median with the least and the most, and processor time."""
    lines = [f"| {title} | {unit} | time, the first row's being 1 | processor time |", "|---|---|---|---|"]
    first = found[0]
    for one in found:
        rate = amount / one.median() if unit.endswith("/s") else one.median()
        shown = f"{rate:,.0f}" if rate >= 100 else f"{rate:.2f}"
        if one is first:
            lines.append(f"| {one.name} | {shown} | | |")
            continue
        walls = sorted(b["wall"] / a["wall"] for a, b in zip(first.seconds, one.seconds, strict=True))
        spent = statistics.median(
            b["processor"] / max(a["processor"], 1e-3) for a, b in zip(first.seconds, one.seconds, strict=True)
        )
        spread = f"{statistics.median(walls):.2f} ({walls[0]:.2f} to {walls[-1]:.2f})"
        lines.append(f"| {one.name} | {shown} | {spread} | {spent:.2f} |")
    return lines


@dataclass
class Bench:
    """What all parts need.

    Attributes:
        files: PDFs.
        peers: the peers' interpreter.
        backbone: folder of the sentence encoder that the model was trained from.
        tokens: of a chunk.
        threads: numbers of threads to measure with.
    """

    files: list[Path]
    peers: str
    backbone: str
    model: str
    tokens: int
    threads: tuple[int, ...]
    rounds: int

    def texts(self) -> list[str]:
        """The texts of `_CHUNKS` chunks of full length, of several files."""
        from colde_cli import read
        from colde_cli.types import open_encoder

        encoder = open_encoder(self.model, device="cpu")
        found: list[str] = []
        for path in self.files:
            document = read(path)
            full = [chunk for chunk in encoder.chunk(document) if len(chunk.ids) > 0.9 * self.tokens]
            found += [document.text[chunk.span.start : chunk.span.end] for chunk in full[:8]]
            if len(found) >= _CHUNKS:
                return found[:_CHUNKS]
        return found

    def encode(self) -> list[str]:
        """Text to vectors: the same chunks, one core and all."""
        texts, lines = self.texts(), []
        amount = self.tokens * len(texts)
        with tempfile.TemporaryDirectory() as scratch:
            exported = export(self.peers, self.backbone, self.tokens, texts, Path(scratch))
            for threads in self.threads:
                task = {"texts": texts, "tokens": self.tokens, "threads": threads, "warm": True}
                task |= {"model": self.model, "backbone": self.backbone, "exported": exported}
                kinds = [kind for kind in CONTESTANTS if kind.startswith("sentence-transformers")]
                others = [Contestant(kind, kind, self.peers, task) for kind in (*kinds, "fastembed")]
                colde = Contestant("colde, int8", "colde encode", sys.executable, task)
                found = play([colde, *others], self.rounds)
                cores = "1 core" if threads == 1 else f"{threads} cores"
                lines += [*table(f"Text to vectors, {cores}", found, amount, "tokens/s"), ""]
        return lines

    def read(self) -> list[str]:
        """Files to text, one after the other."""
        from colde_cli import read

        pages = sum(read(path).report.pages for path in self.files)
        task = {"files": [str(path) for path in self.files], "threads": max(self.threads), "warm": False}
        names = {"colde read": sys.executable, "pypdf": self.peers, "pdfminer.six": self.peers, "pdftotext": self.peers}
        found = play([Contestant(name, name, python, task) for name, python in names.items()], self.rounds)
        return [*table(f"Reading {len(self.files)} PDFs, {pages} pages", found, pages, "pages/s"), ""]

    def diff(self) -> list[str]:
        """`colde diff` of the two first files, started anew, beside a plain script; and what a start costs."""
        pair = [str(path) for path in self.files[:2]]
        return self._commands("Comparing two PDFs", ["diff", *pair], pair) + self._start()

    def _start(self) -> list[str]:
        colde = [sys.executable, "-m", "colde_cli"]
        commands = {"colde --help": [*colde, "--help"], "python -c pass": [sys.executable, "-c", "pass"]}
        found = play([self._command(name, command) for name, command in commands.items()], self.rounds)
        return [*table("A start", found, 1, "s"), ""]

    def _command(self, name: str, command: list[str], *, warm: bool = False) -> Contestant:
        task = {"command": command, "threads": max(self.threads), "warm": warm}
        return Contestant(name, "command", sys.executable, task)

    def rank(self) -> list[str]:
        """`colde rank` of all files with the first, beside a plain script."""
        paths = [str(path) for path in self.files]
        return self._commands(f"Ranking {len(paths)} PDFs", ["rank", paths[0], *paths], paths)

    def _commands(self, title: str, arguments: list[str], paths: list[str]) -> list[str]:
        with tempfile.TemporaryDirectory() as cache:
            colde = [sys.executable, "-m", "colde_cli", *arguments]
            plain = [self.peers, str(WORKER), "plain", self.backbone, str(self.tokens), *paths]
            commands = {
                "colde, nothing cached": [*colde, "--no-cache"],
                "colde, all cached": ["env", f"COLDE_CACHE_DIR={cache}", *colde],
                "a plain script with pypdf and sentence-transformers": plain,
            }
            contestants = [
                self._command(name, command, warm=name.endswith("all cached")) for name, command in commands.items()
            ]
            found = play(contestants, self.rounds)
        return [*table(title, found, 1, "s"), ""]


_EXPORT = """
import sys
from sentence_transformers import SentenceTransformer, export_dynamic_quantized_onnx_model, \\
    export_static_quantized_openvino_model
source, target, calibration = sys.argv[1:]
for backend in ("onnx", "openvino"):
    model = SentenceTransformer(source, backend=backend, device="cpu", model_kwargs={"export": True})
    model.save_pretrained(target)
    if backend == "onnx":
        export_dynamic_quantized_onnx_model(model, "avx512_vnni", target)
        continue
    texts = dict(dataset_name=calibration, dataset_config_name="default", dataset_split="train", column_name="text")
    export_static_quantized_openvino_model(model, None, target, **texts)
"""


def export(python: str, backbone: str, tokens: int, texts: list[str], folder: Path) -> str:
    """Write the backbone as ONNX and for OpenVINO, as it is and in int8, to read `tokens` tokens; "" if that fails."""
    calibration = folder / "calibration"
    calibration.mkdir()
    # The quantiser takes 128 texts; what it learns of them does not change its speed.
    lines = [json.dumps({"text": texts[number % len(texts)]}) + "\n" for number in range(128)]
    (calibration / "train.jsonl").write_text("".join(lines), encoding="utf-8")
    done = subprocess.run(
        [python, "-c", _EXPORT, backbone, str(folder), str(calibration)],
        env={**os.environ, "HF_HUB_OFFLINE": "1"},
        capture_output=True,
        check=False,
    )
    if done.returncode:
        return ""
    settings = folder / "tokenizer_config.json"
    told = json.loads(settings.read_text(encoding="utf-8"))
    settings.write_text(json.dumps(told | {"model_max_length": tokens, "max_length": tokens}), encoding="utf-8")
    return str(folder)


def main() -> None:
    """Measure and print."""
    options = arguments(
        __doc__, "folder",
        parts=",".join(PARTS), rounds=5, files=10, model="colde-minilm-l6",
        backbone="sentence-transformers/all-MiniLM-L6-v2", environment=Path(tempfile.gettempdir()) / "colde-peers",
    )  # fmt: skip
    from colde_cli.encoder.layout import open_folder
    from colde_cli.learning.backbone import locate
    from colde_cli.settings import resolve_model, usable_cores

    bench = Bench(
        sorted(options.folder.resolve().glob("*.pdf"))[: options.files],
        environment(options.environment),
        str(locate(options.backbone)[0]),
        options.model,
        open_folder(resolve_model(options.model)).config.chunk_tokens,
        tuple(sorted({1, usable_cores()})),
        options.rounds,
    )
    print(f"{machine()}; medians of {options.rounds} interleaved rounds.\n")
    for part in options.parts.split(","):
        print(*getattr(bench, part)(), sep="\n", flush=True)


if __name__ == "__main__":
    main()
