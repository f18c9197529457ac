"""Measure colde beside its peers, interleaved in one run, and how close the processor's limits are.

    python benchmarks/peers.py FOLDER [--parts encode,read,diff,rank,roofline] [--rounds 5] [--write]

FOLDER holds PDFs. The peers get an environment of their own: a virtual environment over this one, with
sentence-transformers, fastembed and pdfminer.six, made once (`--environment`). Every contestant is a process that is
prepared before it is timed. In each round all run in turn, in a new order, so that they meet the same neighbours on the
machine; a ratio is that of one round. `--write` puts the tables into results/laboratory.md.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import statistics
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import thread_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parent.parent
WORKER = Path(__file__).with_name("peers_worker.py")
SEARCH = Path(__file__).with_name("peers_search.py")
PACKAGES = ("sentence-transformers>=5,<6", "fastembed", "pdfminer.six")
PARTS = ("encode", "read", "diff", "rank", "roofline")
BEGIN, END = "<!-- peers -->", "<!-- end peers -->"

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
            exported = export(self.peers, self.backbone, self.tokens, Path(scratch))
            for threads in self.threads:
                task = {"texts": texts, "tokens": self.tokens, "threads": threads, "warm": True}
                task |= {"model": self.model, "backbone": self.backbone, "exported": exported}
                kinds = ("sentence-transformers", "sentence-transformers bf16", "sentence-transformers ONNX")
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
        names = {
            "colde read": sys.executable,
            "pypdf": self.peers,
            "pdfminer.six": self.peers,
            "pdftotext": self.peers,
        }
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
            plain = [self.peers, str(SEARCH), self.backbone, str(self.tokens), *paths]
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

    def roofline(self) -> list[str]:
        """The processor's limits on one core, measured here, and the share of them that encoding reaches."""
        from colde_cli.encoder.layout import open_folder
        from colde_cli.settings import resolve_model

        backbone = open_folder(resolve_model(self.model)).config.backbone
        hidden, inner, layers = (
            int(backbone[name]) for name in ("hidden_size", "intermediate_size", "num_hidden_layers")
        )
        weights = 2 * layers * (4 * hidden * hidden + 2 * hidden * inner)
        attention = 2 * layers * 2 * self.tokens * hidden
        int8, fp32 = peak_int8(), peak_fp32()
        texts = self.texts()
        task = {"texts": texts, "tokens": self.tokens, "threads": 1, "warm": True, "model": self.model}
        (colde,) = play([Contestant("colde", "colde encode", sys.executable, task)], self.rounds)
        spent = statistics.median(one["processor"] for one in colde.seconds) / (self.tokens * len(texts))
        least = weights / int8 + attention / fp32
        return [
            "| One core, at full chunks | |",
            "|---|---|",
            f"| int8 matrices, best of this machine | {int8 / 1e9:,.0f} GOP/s |",
            f"| fp32 matrices, best of this machine | {fp32 / 1e9:,.0f} GFLOP/s |",
            f"| weights of a token | {weights / 1e6:.1f} MOP, {1e6 * weights / int8:.1f} µs at the int8 limit |",
            f"| attention of a token, {self.tokens} tokens | {attention / 1e6:.2f} MFLOP, "
            f"{1e6 * attention / fp32:.1f} µs at the fp32 limit |",
            f"| text to vectors | {1e6 * spent:.1f} µs of processor time a token |",
            f"| share of the limit | {least / spent:.0%} |",
            "",
        ]


def export(python: str, backbone: str, tokens: int, folder: Path) -> str:
    """Write the backbone as ONNX for fastembed, to read `tokens` tokens of a text; the folder, "" if that fails."""
    code = (
        "import sys; from sentence_transformers import SentenceTransformer as S;"
        "S(sys.argv[1], backend='onnx', device='cpu', model_kwargs={'export': True}).save_pretrained(sys.argv[2])"
    )
    done = subprocess.run(
        [python, "-c", code, backbone, str(folder)],
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


def best_rate(run: Callable[[], object], operations: float) -> float:
    """Operations a second of processor time, of the fastest of many runs."""
    run()
    times = []
    for _ in range(25):
        start = thread_time()
        run()
        times.append(thread_time() - start)
    return operations / min(times)


def peak_fp32(size: int = 1024) -> float:
    """FLOP/s of an fp32 product on one core, in ONNX Runtime."""
    return _product("MatMul", np.ones((size, size), np.float32), size)


def peak_int8(size: int = 1024) -> float:
    """OP/s of a product of uint8 and int8 on one core, in ONNX Runtime."""
    return _product("MatMulInteger", np.ones((size, size), np.int8), size)


def _product(operator: str, weight: NDArray[np.generic], size: int) -> float:
    import onnxruntime
    from onnx import TensorProto, helper, numpy_helper

    given, made = TensorProto.FLOAT, TensorProto.FLOAT
    if operator == "MatMulInteger":
        given, made = TensorProto.UINT8, TensorProto.INT32
    graph = helper.make_graph(
        [helper.make_node(operator, ["x", "w"], ["y"])],
        "peak",
        [helper.make_tensor_value_info("x", given, [size, size])],
        [helper.make_tensor_value_info("y", made, [size, size])],
        [numpy_helper.from_array(weight, "w")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    x = np.ones((size, size), np.uint8 if given == TensorProto.UINT8 else np.float32)
    return best_rate(lambda: session.run(None, {"x": x}), 2.0 * size**3)


def machine() -> str:
    """The processor by its name, its cores, and the versions that matter."""
    cpu = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    names = [line for line in info.read_text().splitlines() if "model name" in line] if info.exists() else []
    cpu = names[0].partition(":")[2].strip() if names else cpu
    load = f", load {os.getloadavg()[0]:.1f} at the start" if hasattr(os, "getloadavg") else ""
    return f"{cpu}, {len(os.sched_getaffinity(0))} cores, Python {platform.python_version()}{load}"


def write(page: Path, parts: Mapping[str, list[str]]) -> None:
    """Replace the tables between the markers of a page."""
    text = page.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    body = "\n".join(line for lines in parts.values() for line in lines).strip()
    page.write_text(f"{before}{BEGIN}\n{body}\n{END}{after}", encoding="utf-8")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n", maxsplit=1)[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--files", type=int, default=10)
    parser.add_argument("--model", default="colde-minilm-l6")
    parser.add_argument("--backbone", default="sentence-transformers/all-MiniLM-L6-v2")
    parser.add_argument("--environment", type=Path, default=Path(tempfile.gettempdir()) / "colde-peers")
    parser.add_argument("--write", action="store_true", help="put the tables into results/laboratory.md")
    options = parser.parse_args()
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
    parts = {"machine": [f"{machine()}; medians of {options.rounds} interleaved rounds.", ""]}
    print(*parts["machine"], sep="\n")
    for part in options.parts.split(","):
        parts[part] = getattr(bench, part)()
        print(*parts[part], sep="\n", flush=True)
    if options.write:
        write(ROOT / "benchmarks" / "results" / "laboratory.md", parts)


if __name__ == "__main__":
    main()
