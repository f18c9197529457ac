"""Every system on every field: train what is not trained, measure what is not measured, write the tables.

    python benchmarks/systems.py DATA [--runs runs] [--table docs/results-systems.md] [--only NAME...]

DATA holds a folder for each of `FIELDS`, with docs.jsonl.gz and pairs.jsonl.gz. Systems learn from the five fields of
`TRAINING` together and never from the others; each at the size that `SYSTEMS` gives it, which is small enough for one
core. Models, logs and measurements stay under RUNS/systems, so that a run that was stopped goes on where it was; to
train or measure again, remove the model folder or the measurement.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from systems_table import write_tables

TRAINING = ("contracts", "court-cases", "patents", "pmc", "wiki")
FIELDS = ("aan", "wiki", "patents", "pmc", "court-cases", "contracts", "rfc")
SHIPPED = "colde-minilm-l6"
PAIRS = 90
"""Validation pairs of each field by which the best epoch is chosen; thresholds are fitted on all of them."""
_SMITH = (
    "--max-rows 24 --network hidden=128 --network intermediate=256 --network sentence_layers=2 "
    "--network document_layers=1"
)
_LASER3 = "--pretrain self-reference"


@dataclass(frozen=True, slots=True)
class Size:
    """How a system is trained.

    Attributes:
        name: row of the table and name of the model folder.
        system: of `colde train --system`.
        documents: of each field that train at most.
        options: further ones of `colde train`.
        seeds: how many runs, of seed 0, 1, ...
    """

    name: str
    system: str
    documents: int
    options: str
    seeds: int = 1

    def runs(self) -> list[tuple[str, int]]:
        """Name and seed of every run."""
        return [(f"{self.name}-seed{seed}" if seed else self.name, seed) for seed in range(self.seeds)]


# Cheapest first. What an option does not say is the system's own (docs/systems.md), the paper's.
SYSTEMS = (
    Size("dssm", "dssm", 400, "--epochs 3 --row-tokens 2000"),
    Size("arci", "arci", 200, "--epochs 2 --row-tokens 1024 --network channels=64,128,128"),
    Size("han", "han", 120, "--epochs 2 --max-rows 40 --row-tokens 30"),
    Size("smith-np", "smith", 120, f"--epochs 2 --lr 5e-4 {_SMITH}"),
    Size("smash", "smash", 80, "--epochs 1 --max-rows 20 --row-tokens 30"),
    Size("sbert", "sbert", 80, "--epochs 1 --row-tokens 128 --trainable-layers 2"),
    Size("matchbert", "matchbert", 80, "--epochs 1 --row-tokens 128 --trainable-layers 2"),
    Size("laser3-self", "sbert", 80, f"--epochs 0 --row-tokens 128 --trainable-layers 2 {_LASER3}"),
    Size("smith-short", "smith-short", 40, "--epochs 1 --max-rows 2 --row-tokens 64"),
    Size("slong", "slong", 40, "--epochs 1 --row-tokens 128 --network window=32 --trainable-layers 1"),
    Size("smith-wp", "smith", 120, f"--epochs 2 --lr 5e-4 --pretrain wp {_SMITH}"),
)


@dataclass(frozen=True, slots=True)
class Bench:
    """Where things are."""

    data: Path
    runs: Path

    @property
    def folder(self) -> Path:
        """Of all that is made here."""
        return self.runs / "systems"

    def sources(self, documents: int) -> list[Path]:
        """Training files with so many documents each, made when they are first asked for."""
        whole, part = self.runs / "shipped", self.folder / f"data-{documents}"
        scripts = Path(__file__).parent
        if not whole.is_dir():
            folders = [self.data / name for name in TRAINING]
            _run([sys.executable, scripts / "shipped_data.py", whole, *folders])
        names = [f"{name}.jsonl.gz" for name in TRAINING]
        if not part.is_dir():
            command = [sys.executable, scripts / "sampled_data.py", part, documents]
            chosen = ["--validation", whole / "validation.jsonl", "--pairs", PAIRS]
            _run([*command, *(whole / name for name in names), *chosen])
        return [part / name for name in names]

    def train(self, size: Size, name: str, seed: int) -> None:
        """Train a system that is not trained, and note the seconds and the options."""
        model = self.folder / "models" / name
        if (model / "config.json").is_file():
            return
        options = ["--seed", seed, "--patience", 0, *size.options.split(), "--quiet", "--overwrite"]
        command = ["train", *self.sources(size.documents), "-o", model, "--system", size.system, *options]
        validation = ["--validation", self.folder / f"data-{size.documents}" / "validation.jsonl"]
        facts = {"seconds": round(_colde([*command, *validation])), "options": size.options}
        facts |= {"documents": len(TRAINING) * size.documents, "seed": seed}
        self._note(name, "train", facts)

    def measure(self, name: str, model: str | Path, controls: bool) -> None:
        """Measure a model that is not measured on the test pairs of all fields, and note the seconds."""
        target = self.folder / f"{name}.json"
        if target.is_file():
            return
        files = [
            (self.data / field / "docs.jsonl.gz", self.data / field / "pairs.jsonl.gz") for field in FIELDS
        ]
        given = [part for docs, pairs in files for part in ("--docs", docs, "--pairs", pairs)]
        more = ["--control", "all"] if controls else []
        seconds = _colde(["evaluate", model, *given, *more, "--bootstrap", 500, "--quiet", "-o", target])
        self._note(name, "measure", {"seconds": round(seconds)})

    def _note(self, name: str, kind: str, facts: dict[str, object]) -> None:
        target = self.folder / f"{name}.{kind}.txt"
        target.write_text(json.dumps(facts) + "\n", encoding="utf-8")


def _colde(arguments: list[object]) -> float:
    """Seconds that a command of colde takes on one core."""
    start = time.perf_counter()
    _run([sys.executable, "-m", "colde_cli", *arguments])
    return time.perf_counter() - start


def _run(command: list[object]) -> None:
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "COLDE_THREADS": "1"}
    subprocess.run([str(part) for part in command], check=True, env=environment)


def main() -> None:
    """Train, measure, write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n", maxsplit=1)[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--runs", type=Path, default=Path("runs"))
    parser.add_argument("--table", type=Path, default=Path("docs/results-systems.md"))
    parser.add_argument("--only", nargs="*", default=[size.name for size in SYSTEMS], help="systems to train")
    options = parser.parse_args()
    bench = Bench(options.data, options.runs)
    bench.folder.mkdir(parents=True, exist_ok=True)
    for size in SYSTEMS:
        for name, seed in size.runs() if size.name in options.only else ():
            bench.train(size, name, seed)
            bench.measure(name, bench.folder / "models" / name, controls=False)
    bench.measure(SHIPPED, SHIPPED, controls=True)
    names = [name for size in SYSTEMS for name, _ in size.runs()]
    averages = {"the five": TRAINING, "all seven": FIELDS}
    write_tables(bench.folder, [SHIPPED, *names], FIELDS, averages, options.table)


if __name__ == "__main__":
    main()
