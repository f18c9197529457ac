"""Fuzz every reader with atheris, and tell what was found: `python benchmarks/fuzz.py --minutes 20 --output FOLDER`.

Needs `pip install atheris` (libFuzzer for Python; Linux and macOS). Each target of `fuzzing/targets.py` runs in a
process of its own, for the given minutes of processor time, in rounds, so that a run that is stopped has tried all of
them. A run on the same FOLDER goes on with its inputs.

    FOLDER/NAME/inputs      inputs that reach other code than those before
    FOLDER/NAME/found       one input for each finding, named by the line of colde that is to blame
    FOLDER/NAME/state.json  runs, seconds of processor time, refusals by class

A finding is an error that is not one of colde's own, a broken promise of a document, more than 20 s of processor time
or 1 GB of memory for one input. To see the errors of inputs in FOLDER/NAME: `--check FOLDER`.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import random
import resource
import subprocess
import sys
import time
import traceback
from collections import Counter
from pathlib import Path

from script import arguments

HERE = Path(__file__).resolve().parent
MAX_SECONDS = 20.0
MAX_BYTES = 1 << 30
_ROUND = 150.0
_LONGEST = {"candidates": 40_000, "pdf": 60_000, "pdf-lines": 60_000, "model": 60_000}
"""Bytes of an input at most; for the others 12,000."""
_STACKS = ("RecursionError", "MemoryError")


class Record:
    """What one target did so far, kept in its folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "inputs").mkdir(parents=True, exist_ok=True)
        (folder / "found").mkdir(exist_ok=True)
        self._file = folder / "state.json"
        state = json.loads(self._file.read_text()) if self._file.exists() else {}
        self.runs: int = state.get("runs", 0)
        self.seconds: float = state.get("seconds", 0.0)
        self.refused: Counter[str] = Counter(state.get("refused", {}))
        self.found: dict[str, int] = state.get("found", {})

    def save(self) -> None:
        """Write it."""
        values = {"runs": self.runs, "seconds": round(self.seconds, 1), "refused": self.refused, "found": self.found}
        self._file.write_text(json.dumps(values, indent=1))

    def finding(self, key: str, data: bytes, text: str) -> None:
        """Keep the shortest input of a finding."""
        self.found[key] = self.found.get(key, 0) + 1
        name = hashlib.sha1(key.encode()).hexdigest()[:10]
        path = self.folder / "found" / name
        if not path.exists() or path.stat().st_size > len(data):
            path.write_bytes(data)
            path.with_suffix(".txt").write_text(f"{key}\n\n{text}")
        if self.found[key] == 1:
            print(f"FOUND {self.folder.name}: {key}", flush=True)
            self.save()


def blame(error: BaseException) -> str:
    """Name an error by its class and the innermost line of colde, or of a check of the targets."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if "colde_cli" in frame.filename or "fuzzing" in frame.filename]
    frame = own[0 if type(error).__name__ in _STACKS else -1] if own else frames[-1]
    return f"{type(error).__name__} {Path(frame.filename).name}:{frame.name}: {frame.line}"


def fuzz(name: str, folder: Path, seconds: float) -> None:
    """Fuzz one target in this process, until it used so much processor time."""
    import atheris

    with atheris.instrument_imports(include=["colde_cli"], enable_loader_override=False):
        from fuzzing.targets import TARGETS, words_of

        from colde_cli.errors import ColdeError

        target = TARGETS[name]
        seeds = list(target.seeds())
        for seed in seeds:  # what readers import when they are first used
            with contextlib.suppress(ColdeError):
                target.run(seed)
    record = Record(folder)
    began = time.process_time()

    def end() -> None:
        record.seconds += time.process_time() - began
        record.save()
        os._exit(0)

    def one(data: bytes) -> None:
        before, memory = time.process_time(), _memory()
        try:
            target.run(data)
        except ColdeError as error:
            record.refused[type(error).__name__] += 1
        except KeyboardInterrupt:
            end()
        except BaseException as error:  # errors of Rust are no `Exception`
            record.finding(blame(error), data, "".join(traceback.format_exception(error)))
        taken = time.process_time() - before
        if taken > MAX_SECONDS:
            record.finding("over 20 s", data, f"{taken:.1f} s of processor time")
        if _memory() - memory > MAX_BYTES:
            record.finding("over 1 GB", data, f"{(_memory() - memory) / 1e9:.1f} GB")
        record.runs += 1
        if time.process_time() - began > seconds:
            end()

    for seed in seeds:
        (folder / "inputs" / f"seed-{hashlib.sha1(seed).hexdigest()[:12]}").write_bytes(seed)
    words = folder / "words"
    words.write_text("".join(f'"{word}"\n' for word in words_of(name)))
    options = [
        sys.argv[0],
        str(folder / "inputs"),
        *([f"-dict={words}"] if words_of(name) else []),  # libFuzzer refuses an empty one
        f"-max_len={_LONGEST.get(name, 12_000)}",
        "-timeout=300",
        "-rss_limit_mb=6000",
        f"-artifact_prefix={folder / 'found'}/",
        "-print_final_stats=1",
        "-reload=0",
    ]
    if target.mutator is None:
        atheris.Setup(options, one)
    else:
        mutator = target.mutator

        def altered(data: bytes, most: int, seed: int) -> bytes:
            draw = random.Random(seed)
            for _ in range(draw.choice((1, 1, 2, 4))):
                data = mutator(data, most, draw, lambda part, size: atheris.Mutate(part, max(1, size)))
            return data

        atheris.Setup(options, one, custom_mutator=altered)
    resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
    atheris.Fuzz()


def _memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def check(folder: Path) -> int:
    """Run all inputs in FOLDER/NAME; print those that are findings, and return how many."""
    from fuzzing.targets import TARGETS

    from colde_cli.errors import ColdeError

    count = 0
    for path in sorted(path for path in folder.glob("*/*") if path.is_file()):
        began, memory = time.process_time(), _memory()
        try:
            TARGETS[path.parent.name].run(path.read_bytes())
        except ColdeError:
            pass
        except BaseException as error:
            count += 1
            print(f"{path}: {blame(error)}\n{''.join(traceback.format_exception(error))}")
        if time.process_time() - began > MAX_SECONDS or _memory() - memory > MAX_BYTES:
            count += 1
            print(f"{path}: {time.process_time() - began:.1f} s, {(_memory() - memory) / 1e9:.1f} GB")
    return count


def in_rounds(names: list[str], folder: Path, minutes: float) -> None:
    """Give each target its minutes, a round after the other, and print the table."""
    while True:
        waiting = [name for name in names if Record(folder / name).seconds < 60 * minutes]
        waiting.sort(key=lambda name: Record(folder / name).seconds)
        if not waiting:
            break
        for name in waiting:
            left = min(_ROUND, 60 * minutes - Record(folder / name).seconds)
            before = Record(folder / name).seconds
            command = [sys.executable, __file__, "--target", name, "--seconds", str(left), "--output", str(folder)]
            used = resource.getrusage(resource.RUSAGE_CHILDREN)
            with (folder / name / "log").open("ab") as log:
                status = subprocess.run(command, stdout=log, stderr=log, check=False).returncode
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            if status != 0:  # libFuzzer ended it: a crash or an endless input, which lies in found/
                record = Record(folder / name)
                record.seconds = before + after.ru_utime + after.ru_stime - used.ru_utime - used.ru_stime
                record.found[f"ended with status {status}"] = record.found.get(f"ended with status {status}", 0) + 1
                record.save()
        print(table(names, folder), flush=True)


def table(names: list[str], folder: Path) -> str:
    """The figures of all targets."""
    rows = ["| reader | runs | processor minutes | inputs kept | refused | findings |", "|---|---|---|---|---|---|"]
    for name in names:
        record = Record(folder / name)
        kept = len(list((folder / name / "inputs").iterdir()))
        refused = sum(record.refused.values())
        rows.append(
            f"| {name} | {record.runs:,} | {record.seconds / 60:.1f} | {kept} | {refused:,} | {len(record.found)} |"
        )
    return "\n".join(rows)


def main() -> None:
    """Fuzz all readers, or one."""
    options = arguments(__doc__, minutes=20.0, only=str, check=Path, output=Path("fuzzed"), target=str, seconds=0.0)
    sys.path.insert(0, str(HERE))
    folder = options.output.resolve()
    if options.target:
        fuzz(options.target, folder / options.target, options.seconds)
        return
    if options.check:
        sys.exit(1 if check(options.check) else 0)
    from fuzzing.targets import TARGETS

    names = options.only.split(",") if options.only else list(TARGETS)
    for name in names:
        Record(folder / name)
    in_rounds(names, folder, options.minutes)


if __name__ == "__main__":
    main()
