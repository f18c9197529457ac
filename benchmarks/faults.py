"""Every fault with every command: what the user sees, and what is left behind. Linux only; a full disk needs root.

    python benchmarks/faults.py [--only FAULT] [--commands NAME,...] [--data FOLDER]

Each command works on small made-up documents, with its output, cache and temporary files in a folder of its own. A row
is good if the command ends by itself, with a status that its manual names; if it says what is wrong in lines that are
no traceback, are no "colde failed" and cannot steer a terminal; and if nothing is left but whole files. `--data` is a
folder with `docs.jsonl.gz`, `pairs.jsonl.gz`, `train.jsonl` and `backbone` (tests/labelled_set.py and
tests/tiny_backbone.py write them); without it the commands that need labels are left out.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from running import drop_rights, made_up_text
from script import ROOT, arguments

MODEL = ROOT / "models" / "colde-minilm-l6"
_STEERING = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_SECONDS = 300.0
_OUT = {  # the output of each command, in the folder `out`
    **dict.fromkeys(("diff", "diff of versions", "rank", "dupes", "clusters", "evaluate"), "out.json"),
    **{"diff of folders": "out.html", "index": "out.colde", "text": "out.md"},
    **{"train": "trained", "adapt": "profile", "calibrate": "calibrated"},
    **dict.fromkeys(("verify", "export", "models", "cache", "doctor", "serve"), ""),
}


@dataclass
class Place:
    """A folder with documents, a folder for output, and the surroundings of a command."""

    folder: Path
    data: Path | None
    environment: dict[str, str] = field(default_factory=dict)
    names: tuple[str, str, str] = ("a.md", "b.md", "c.md")

    def __post_init__(self) -> None:
        generator = random.Random(0)
        text = made_up_text(generator)
        for number, name in enumerate(self.names):
            (self.folder / name).write_text(f"{text}\nThe price of this is {number} euros.\n", encoding="utf-8")
        for folder in ("corpus", "other"):
            (self.folder / folder).mkdir()
            for number in range(8):
                changed = f"{made_up_text(generator)}\nThe {folder} costs 9 euros.\n"
                (self.folder / folder / f"{number}{self.names[0]}").write_text(changed, encoding="utf-8")
        for name in ("out", "cache", "tmp"):
            (self.folder / name).mkdir()
        if self.data is not None:
            self.data = Path(shutil.copytree(self.data, self.folder / "data"))

    def command(self, name: str, *, output: bool = True, out: str | None = None) -> list[str]:
        """The arguments of a command; without `output` it prints."""
        a, b, c = (str(self.folder / name) for name in self.names)
        corpus, other = str(self.folder / "corpus"), str(self.folder / "other")
        labels = ["--docs", f"{self.data}/docs.jsonl.gz", "--pairs", f"{self.data}/pairs.jsonl.gz", "--device", "cpu"]
        found = {
            "diff": ["diff", a, b],
            "diff of folders": ["diff", corpus, other],
            "diff of versions": ["diff", a, b, c],
            "rank": ["rank", a, corpus],
            "index": ["index", corpus],
            "text": ["text", a],
            "verify": ["verify", a, b],
            "dupes": ["dupes", corpus],
            "clusters": ["clusters", corpus],
            "train": ["train", f"{self.data}/train.jsonl", "--backbone", f"{self.data}/backbone", *_QUICK],
            "adapt": ["adapt", corpus],
            "calibrate": ["calibrate", str(MODEL), *labels],
            "evaluate": ["evaluate", str(MODEL), *labels, "--bootstrap", "10"],
            "export": ["export", str(self.folder / "model"), "--precision", "fp16"],
            "models": ["models"],
            "cache": ["cache", "size"],
            "doctor": ["doctor"],
            "serve": ["serve", corpus, "--port", "0"],
        }[name]
        if name == "export" and not (self.folder / "model").exists():
            shutil.copytree(MODEL, self.folder / "model")
        target = out if out is not None else _OUT[name] and str(self.folder / "out" / _OUT[name])
        needed = name in ("index", "train", "adapt", "calibrate")
        return found + (["-o", target] if target and (output or needed) else [])

    def read_by(self, name: str) -> list[Path]:
        """Files that a command reads."""
        own = {"train": "data/train.jsonl", "export": "model/model.safetensors"}
        own |= dict.fromkeys(("evaluate", "calibrate"), "data/docs.jsonl.gz")
        found = [own[name]] if name in own else [self.names[0], f"corpus/0{self.names[0]}"]
        return [self.folder / path for path in found]

    def start(
        self, arguments: Sequence[str], prepare: Callable[[], None] | None = None, **streams: int
    ) -> subprocess.Popen[bytes]:
        """Start a command in this place."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith("COLDE_")}
        environment |= {"PYTHONPATH": str(ROOT), "TMPDIR": str(self.folder / "tmp"), "OMP_NUM_THREADS": "1"}
        environment |= {"COLDE_CACHE_DIR": str(self.folder / "cache"), **self.environment}
        return subprocess.Popen(
            [sys.executable, "-m", "colde_cli", *arguments],
            env={name: value for name, value in environment.items() if value},
            cwd=self.folder,
            preexec_fn=prepare,  # noqa: PLW1509 - no other thread of this process holds a lock then
            **{"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **streams},
        )


_QUICK = "--epochs 1 --batch-size 8 --set projection=16 --validation 0.4 --device cpu".split()


@dataclass(frozen=True)
class Outcome:
    """What a command did; `note` says more of the state that it left."""

    status: int
    out: str
    err: str
    note: str = ""


def finish(process: subprocess.Popen[bytes], note: str = "") -> Outcome:
    """Wait for a command. `serve` works until it is told to stop, so it is told."""
    if "serve" in process.args[3:4]:  # type: ignore[index]
        threading.Timer(_SERVES, lambda: process.poll() is None and process.terminate()).start()
    try:
        out, err = process.communicate(timeout=_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        note = "HANGS"
    return Outcome(
        process.returncode, (out or b"").decode(errors="replace"), (err or b"").decode(errors="replace"), note
    )


_SERVES = 12.0


Fault = Callable[[Place, str], Outcome]


def full_disk(place: Place, name: str) -> Outcome:
    """Output, cache and temporary files on a disk of 64 kB."""
    disk = place.folder / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)], check=True)
    try:
        (disk / "fill").write_bytes(bytes(60_000))
        place.environment |= {"COLDE_CACHE_DIR": str(disk / "cache"), "TMPDIR": str(disk)}
        target = str(disk / _OUT[name]) if _OUT[name] else None
        done = finish(place.start(place.command(name, out=target)))
        left = sorted(path.name for path in disk.rglob("*") if path.name.startswith((".colde", "tmp")))
        return Outcome(done.status, done.out, done.err, f"stray: {left}" if left else "")
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


def read_only(place: Place, name: str) -> Outcome:
    """Output and cache in folders that may not be written."""
    command = place.command(name)
    for folder in ("out", "cache"):
        (place.folder / folder).chmod(0o555)
    try:
        return finish(place.start(command, drop_rights))
    finally:
        for folder in ("out", "cache"):
            (place.folder / folder).chmod(0o755)


def no_home(place: Place, name: str) -> Outcome:
    """HOME is a folder that is not there; nothing names a cache."""
    place.environment |= dict.fromkeys(("COLDE_CACHE_DIR", "XDG_CACHE_HOME", "XDG_DATA_HOME"), "")
    place.environment["HOME"] = "/proc/nonexistent"
    return finish(place.start(place.command(name), drop_rights))


def locale_c(place: Place, name: str) -> Outcome:
    """The locale C, without UTF-8."""
    place.environment |= {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    return finish(place.start(place.command(name, output=False)))


def closed_stdin(place: Place, name: str) -> Outcome:
    """Standard input is closed."""
    return finish(place.start(place.command(name), lambda: os.close(0)))


def closed_stdout(place: Place, name: str) -> Outcome:
    """Standard output is closed."""
    return finish(place.start(place.command(name, output=False), lambda: os.close(1)))


def full_stdout(place: Place, name: str) -> Outcome:
    """Standard output is a full disk."""
    with open("/dev/full", "wb") as full:  # noqa: PTH123
        return finish(place.start(place.command(name, output=False), stdout=full.fileno()))


def head(place: Place, name: str) -> Outcome:
    """`| head -1`: the reader of standard output goes after a line."""
    process = place.start(place.command(name, output=False))
    assert process.stdout is not None
    if name != "serve":
        process.stdout.readline()
    process.stdout.close()
    process.stdout = None
    return finish(process)


def _signal(number: int) -> Fault:
    def fault(place: Place, name: str) -> Outcome:
        delay = random.Random(name + str(number)).uniform(0.1, 0.6) * _usual_seconds(name)
        process = place.start(place.command(name))
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(delay)
        ran = process.poll() is None
        if ran:
            process.send_signal(number)
        return finish(process, "" if ran else "had ended")

    return fault


def _usual_seconds(name: str) -> float:
    """About the seconds that a command takes, as measured once in this run."""
    if name not in _measured:
        with tempfile.TemporaryDirectory() as folder:
            place = Place(Path(folder), _data)
            started = time.monotonic()
            finish(place.start(place.command(name)))
            _measured[name] = time.monotonic() - started
    return _measured[name]


_measured: dict[str, float] = {}
_data: Path | None = None


def two_at_once(place: Place, name: str) -> Outcome:
    """Two processes with the same cache and the same output."""
    first, second = place.start(place.command(name)), place.start(place.command(name))
    one, other = finish(first), finish(second)
    return Outcome(
        max(one.status, other.status), one.out, one.err + other.err, f"statuses {one.status}, {other.status}"
    )


def changing(place: Place, name: str) -> Outcome:
    """What is read is written anew all the time, longer and shorter."""
    over = threading.Event()
    command, paths = place.command(name), place.read_by(name)

    def write() -> None:
        generator = random.Random(1)
        while not over.is_set():
            for path in paths:
                path.write_text(made_up_text(generator)[: generator.randrange(2_000)], encoding="utf-8")
            time.sleep(0.001)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        return finish(place.start(command))
    finally:
        over.set()
        thread.join()


def deleted(place: Place, name: str) -> Outcome:
    """What is read is deleted while the command works."""
    delay = 0.4 * _usual_seconds(name)
    process = place.start(place.command(name))
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(delay)
    for path in place.read_by(name):
        path.unlink(missing_ok=True)
    return finish(process)


def onto_input(place: Place, name: str) -> Outcome:
    """The output is a document that is read."""
    inside = name in ("index", "dupes", "clusters", "adapt", "diff of folders")
    target = place.folder / ("corpus" if inside else "") / (("0" if inside else "") + place.names[0])
    if name in ("train", "evaluate"):
        (target,) = place.read_by(name)
    before = target.read_bytes()
    done = finish(place.start(place.command(name, out=str(target))))
    return Outcome(done.status, done.out, done.err, "input whole" if target.read_bytes() == before else "INPUT LOST")


def _columns(count: int) -> Fault:
    def fault(place: Place, name: str) -> Outcome:
        place.environment |= {"COLUMNS": str(count)}
        done = finish(place.start(place.command(name, output=False)))
        widest = max(map(len, done.out.splitlines()), default=0)
        return Outcome(done.status, done.out, done.err, f"widest line {widest}")

    return fault


FAULTS: dict[str, Fault] = {
    "full disk": full_disk,
    "read-only": read_only,
    "no HOME": no_home,
    "locale C": locale_c,
    "stdin closed": closed_stdin,
    "stdout closed": closed_stdout,
    "stdout full": full_stdout,
    "| head -1": head,
    "Ctrl-C": _signal(signal.SIGINT),
    "SIGTERM": _signal(signal.SIGTERM),
    "two at once": two_at_once,
    "file changes": changing,
    "file deleted": deleted,
    "output is input": onto_input,
    "20 columns": _columns(20),
    "400 columns": _columns(400),
    "hostile names": lambda place, name: finish(place.start(place.command(name, output=False))),
}
_NO_OUTPUT = tuple(name for name, out in _OUT.items() if not out)
_NAMES = ("\u202egnp.\x1b[31m\x07a.md", "b\u2066\x9b1m.md", "c\r.md")


def problems(fault: str, name: str, done: Outcome, place: Place) -> Iterator[str]:
    """What should not be."""
    text = done.out + done.err
    for words in ("Traceback (most", "colde failed", "Exception ignored"):
        if words in text:
            yield words
    if _STEERING.search(text):
        yield f"raw {_STEERING.search(text)[0]!r}"  # type: ignore[index]
    signalled = {"Ctrl-C": (130,), "SIGTERM": (-signal.SIGTERM, 143)}.get(fault, ())
    served = (0, -signal.SIGTERM, 143) if name == "serve" else ()
    if done.status not in (0, 1, 2, *signalled, *served):
        yield f"status {done.status}"
    if done.status == 2 and not done.err.strip() and fault not in ("| head -1",):
        yield "silent"
    if "HANGS" in done.note or "LOST" in done.note or "stray" in done.note:
        yield done.note
    left = [path.name for path in place.folder.rglob("*") if path.name.startswith(".colde-")]
    # PyTorch makes an empty folder for its own cache when it is imported, one for each user.
    left += [path.name for path in (place.folder / "tmp").iterdir() if path.name[:14] != "torchinductor_"]
    if left:
        yield f"stray {left}"
    for path in (place.folder / "out").glob("*.json"):
        try:
            json.loads(path.read_text(encoding="utf-8"))
        except ValueError:
            yield f"half of {path.name}"


@contextmanager
def a_place(fault: str, data: Path | None) -> Iterator[Place]:
    """A fresh place."""
    folder = Path(tempfile.mkdtemp(prefix="colde-faults-"))
    try:
        yield Place(folder, data, names=_NAMES) if fault == "hostile names" else Place(folder, data)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main() -> None:
    """Run and print; status 1 if a row is not good."""
    global _data  # noqa: PLW0603 - of the whole program
    options = arguments(__doc__, only="", commands=",".join(_OUT), data=Path)
    _data = options.data and options.data.resolve()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell ignores it for what runs in the background
    bad = 0
    print("| Fault | Command | Status | What the user sees | After |\n|---|---|---|---|---|")
    for fault, run in FAULTS.items():
        for name in options.commands.split(","):
            labelled = name in ("train", "calibrate", "evaluate")
            if not re.search(options.only, fault) or (labelled and _data is None):
                continue
            if fault == "output is input" and name in _NO_OUTPUT:
                continue
            with a_place(fault, _data) as place:
                done = run(place, name)
                found = list(problems(fault, name, done, place))
                left = sorted(path.name for path in (place.folder / "out").iterdir())
                lines = [line for line in (done.err or done.out).splitlines() if line.strip()]
                said = ascii(lines[-1].replace(str(place.folder), "").replace("|", "/"))[1:121] if lines else ""
            state = "; ".join(filter(None, [done.note, ", ".join(left), *(f"**{item}**" for item in found)]))
            print(f"| {fault} | {name} | {done.status} | {said} | {state} |", flush=True)
            bad += bool(found)
    print(f"\n{bad} rows are not good.")
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
