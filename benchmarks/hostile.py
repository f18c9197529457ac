"""Run `colde` on hostile files and model folders: what was opened and refused, in what time and memory.

    python tests/hostile_files.py FILES && python benchmarks/hostile.py FILES
    python tests/hostile_scans.py SCANS && python benchmarks/hostile.py SCANS --ocr always
    python tests/hostile_models.py models/colde-minilm-l6 MODELS && python benchmarks/hostile.py MODELS

Each file is read by `colde text`, each folder used by `colde diff --model` and described by `colde models`, each in a
process of its own, without rights beyond the permissions of files and with 4 GB of address space. A run ends well with
a document or a score, or with status 2 and one line that names the file. Everything else is listed: a crash, a
traceback, "colde failed", a character that steers a terminal, more than 20 seconds or 1 GB (with `--ocr`, 240 seconds
or 4 GB). Seconds are those of processors, of a command and its readers together; memory is that of the largest process.
"""

from __future__ import annotations

import os
import re
import resource
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from running import drop_rights, forked, load
from script import arguments

MAX_SECONDS, MAX_SECONDS_OF_OCR = 20.0, 240.0
MAX_MEGABYTES, MAX_MEGABYTES_OF_OCR = 1024.0, 4096.0
_HANGS = 900.0
_MAX_PROCESSOR, _MAX_PROCESSOR_OF_OCR = 60, 600
_ADDRESS_SPACE, _ADDRESS_SPACE_OF_OCR = 4 << 30, 8 << 30
_TEXTS = (
    "# Rent\n\nThe tenant pays rent of 900 euros a month to the landlord.\n\n# Term\n\nThe lease ends in May.\n",
    "# Method\n\nWe sampled the water of nine lakes.\n\n# Result\n\nMost fish live near the shore.\n",
)
_STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


@dataclass(frozen=True)
class Run:
    """What a command did.

    Attributes:
        status: negative for a signal.
        seconds: of processors.
        megabytes: of its largest process.
        by_ocr: it had time and memory for OCR.
    """

    status: int
    out: str
    err: str
    seconds: float
    megabytes: float
    by_ocr: bool

    @property
    def problems(self) -> Iterator[str]:
        """What should not be."""
        if self.status not in (0, 1, 2):
            yield f"status {self.status}"
        for words in ("Traceback (most", "colde failed"):
            if words in self.out + self.err:
                yield words
        if self.seconds > (MAX_SECONDS_OF_OCR if self.by_ocr else MAX_SECONDS):
            yield f"{self.seconds:.1f} s"
        if self.megabytes > (MAX_MEGABYTES_OF_OCR if self.by_ocr else MAX_MEGABYTES):
            yield f"{self.megabytes:.0f} MB"
        if found := _STEERING.search(self.out + self.err):
            yield f"raw {found[0]!r}"
        if self.status == 2 and len([line for line in self.err.splitlines() if line.startswith("Error: ")]) != 1:
            yield "not one line of error"


def run(*arguments: str | Path) -> Run:
    """Run `colde` in a process of its own, forked after the libraries are loaded; one that hangs is killed."""
    by_ocr = "--ocr" in arguments
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = forked(arguments, out.fileno(), err.fileno(), partial(confine, by_ocr))
        watchdog = threading.Timer(_HANGS, os.kill, (process, signal.SIGKILL))
        watchdog.start()
        _, status, used = os.wait4(process, 0)
        watchdog.cancel()
        watchdog.join()
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read().decode(errors="replace"))
    seconds, megabytes = used.ru_utime + used.ru_stime, used.ru_maxrss / 1024
    return Run(os.waitstatus_to_exitcode(status), *texts, seconds, megabytes, by_ocr)


def confine(by_ocr: bool) -> None:
    """Take root's right to pass over permissions, and limit the address space and the processor time."""
    most, seconds = (_ADDRESS_SPACE_OF_OCR, _MAX_PROCESSOR_OF_OCR) if by_ocr else (_ADDRESS_SPACE, _MAX_PROCESSOR)
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    drop_rights()


@dataclass
class Row:
    """A row of the table: all files of a kind."""

    files: int = 0
    opened: int = 0
    refused: int = 0
    seconds: float = 0.0
    megabytes: float = 0.0

    def add(self, runs: list[Run]) -> None:
        """Count a file that was used in one run or several."""
        self.files += 1
        self.opened += runs[0].status in (0, 1)
        self.refused += runs[0].status == 2
        self.seconds = max(self.seconds, *(one.seconds for one in runs))
        self.megabytes = max(self.megabytes, *(one.megabytes for one in runs))


def model_runs(folder: Path, work: Path) -> list[Run]:
    """Compare with a model, and describe it."""
    a, b = work / "a.md", work / "b.md"
    for path, text in zip((a, b), _TEXTS, strict=True):
        path.write_text(text, encoding="utf-8")
    commands = (("diff", a, b, "--model", folder, "--no-cache", "--format", "json"), ("models", folder))
    return [run(*command) for command in commands]


def main() -> None:
    """Run everything and print the table; status 1 if something did not end well."""
    options = arguments(__doc__, "folder", only="", ocr=str, verbose=False)
    load()
    rows: dict[str, Row] = {}
    bad = 0
    with tempfile.TemporaryDirectory() as work:
        for path in sorted(options.folder.iterdir()):
            if not re.search(options.only, path.name) or path.name.startswith("."):
                continue
            is_model = path.is_dir()
            kind = path.name.partition("_")[0] if is_model else path.suffix or "none"
            runs = (
                model_runs(path, Path(work))
                if is_model
                else [run("text", path, *(("--ocr", options.ocr) if options.ocr else ()))]
            )
            rows.setdefault(kind, Row()).add(runs)
            problems = [problem for one in runs for problem in one.problems]
            if runs[0].status == 2 and path.name.isprintable() and path.name not in runs[0].err:
                problems.append("does not name the file")
            if problems or options.verbose:
                said = " | ".join((one.err or one.out).strip()[-300:] for one in runs)
                print(f"{path.name!a}: {', '.join(problems)}: {said!a}", flush=True)
            bad += bool(problems)
    print(f"{'kind':12} {'files':>5} {'opened':>6} {'refused':>7} {'worst s':>7} {'worst MB':>8}")
    for kind, row in sorted(rows.items()):
        print(f"{kind:12} {row.files:5} {row.opened:6} {row.refused:7} {row.seconds:7.1f} {row.megabytes:8.0f}")
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
