"""Compare all systems on seven sets: train each of them, measure it on the test pairs, write CSV tables.

    python benchmarks/systems.py DATA [--runs runs] [--csv docs/data] [--only NAME...]

DATA holds a folder for each of `FIELDS`, with docs.jsonl.gz and pairs.jsonl.gz. Systems learn from the five sets of
`TRAINING` together and never from the others. `SYSTEMS` gives the size of each, small enough for one core. Models, logs
and measurements stay under RUNS/systems, and a stopped run continues there. To train or measure again, remove the model
folder or the measurement. Intervals: 500 draws; one run of each system, seed 0.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

TRAINING = ("contracts", "court-cases", "patents", "pmc", "wiki")
FIELDS = ("aan", "wiki", "patents", "pmc", "court-cases", "contracts", "rfc")
SHIPPED = "colde-minilm-l6"
PAIRS = 90
"""Validation pairs of each set that choose the best epoch; thresholds are fitted on all of them."""
_SMITH = (
    "--max-rows 24 --network hidden=128 --network intermediate=256 --network sentence_layers=2 "
    "--network document_layers=1"
)
_LASER3 = "--pretrain self-reference"


@dataclass(frozen=True, slots=True)
class Size:
    """The size of a system, and how it is trained.

    Attributes:
        name: row of the table and name of the model folder.
        system: of `colde train --system`.
        documents: training documents of each set, at most.
        options: further options of `colde train`.
        seeds: number of runs, with seeds 0, 1, ...
    """

    name: str
    system: str
    documents: int
    options: str
    seeds: int = 1

    def runs(self) -> list[tuple[str, int]]:
        """Name and seed of every run."""
        return [(f"{self.name}-seed{seed}" if seed else self.name, seed) for seed in range(self.seeds)]


# Cheapest first. All other options have the defaults of the system (docs/systems.md), which are those of its paper.
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
class Workspace:
    """The folders of data and runs, and the commands that fill them."""

    data: Path
    runs: Path

    @property
    def folder(self) -> Path:
        """The folder of models, logs and measurements."""
        return self.runs / "systems"

    def sources(self, documents: int) -> list[Path]:
        """Training files of so many documents each; written on the first call."""
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
        """Train a system unless its folder exists; note seconds and options."""
        model = self.folder / "models" / name
        if (model / "config.json").is_file():
            return
        options = ["--seed", seed, "--patience", 0, *size.options.split(), "--quiet", "--overwrite"]
        command = ["train", *self.sources(size.documents), "-o", model, "--system", size.system, *options]
        validation = ["--validation", self.folder / f"data-{size.documents}" / "validation.jsonl"]
        facts = {"seconds": round(_colde([*command, *validation])), "options": size.options}
        facts |= {"documents": len(TRAINING) * size.documents, "seed": seed}
        self._note(name, "train", facts)

    def measure(self, name: str, model: str | Path, baselines: bool) -> None:
        """Measure a model on the test pairs of all sets unless it was measured; note the seconds."""
        target = self.folder / f"{name}.json"
        if target.is_file():
            return
        files = [
            (self.data / field / "docs.jsonl.gz", self.data / field / "pairs.jsonl.gz") for field in FIELDS
        ]
        given = [part for docs, pairs in files for part in ("--docs", docs, "--pairs", pairs)]
        more = ["--baseline", "all"] if baselines else []
        seconds = _colde(["evaluate", model, *given, *more, "--bootstrap", 500, "--quiet", "-o", target])
        self._note(name, "measure", {"seconds": round(seconds)})

    def _note(self, name: str, kind: str, facts: dict[str, object]) -> None:
        target = self.folder / f"{name}.{kind}.txt"
        target.write_text(json.dumps(facts) + "\n", encoding="utf-8")


def _colde(arguments: list[object]) -> float:
    """Run a command of colde on one core; returns its seconds."""
    start = time.perf_counter()
    _run([sys.executable, "-m", "colde_cli", *arguments])
    return time.perf_counter() - start


def _run(command: list[object]) -> None:
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "COLDE_THREADS": "1"}
    subprocess.run([str(part) for part in command], check=True, env=environment)


FIGURES = {
    "auc": "AUC",
    "auc_random": "AUC random",
    "auc_hard": "AUC hard",
    "f1": "F1",
    "accuracy": "accuracy",
}
_SEED = "-seed"
_TRAINING = (
    "system",
    "documents",
    "options",
    "validation AUC before",
    "kept",
    "updates of these weights",
    "training, s",
    "measuring, s",
)

Values = dict[str, dict[str, list[float]]]
"""Of one system: column to figure to the value of every seed."""


def write_tables(
    folder: Path,
    names: Sequence[str],
    fields: Sequence[str],
    averages: Mapping[str, Sequence[str]],
    target: Path,
) -> None:
    """Write `systems-FIGURE.csv` for each figure, and `systems-training.csv`.

    Args:
        folder: of NAME.json (`colde evaluate`), NAME.train.txt and NAME.measure.txt.
        names: of the measured models; those without a measurement are left out.
        fields: in the order of the columns.
        averages: further columns, each the plain mean of some fields.
        target: folder of the CSV files.
    """
    target.mkdir(parents=True, exist_ok=True)
    values = dict(_rows(folder, names, fields, averages))
    columns = [*fields, *averages]
    for name, title in FIGURES.items():
        rows = [[system, *(_cell(row[column][name]) for column in columns)] for system, row in values.items()]
        _write_csv(target / f"systems-{title.lower().replace(' ', '-')}.csv", ["system", *columns], rows)
    _write_csv(target / "systems-training.csv", _TRAINING, list(_training(folder, names)))


def _write_csv(path: Path, header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([header, *rows])
    print(path)


def _rows(
    folder: Path, names: Sequence[str], fields: Sequence[str], averages: Mapping[str, Sequence[str]]
) -> Iterator[tuple[str, Values]]:
    """Name and values of every measured system, baselines first, then in the order of `names`."""
    found: dict[str, Values] = {}
    baselines: dict[str, Values] = {}
    for name in names:
        path = folder / f"{name}.json"
        if not path.is_file():
            continue
        report = json.loads(path.read_text(encoding="utf-8"))
        kinds = {item["name"]: item["kind"] for item in report["systems"]}
        measured = _measured(report)
        for system, kind in kinds.items():
            values = {field: measured[system, field] for field in fields}
            for column, some in averages.items():
                values[column] = {
                    figure: fmean(values[field][figure] for field in some) for figure in FIGURES
                }
            row = system if kind == "control" else _title(name)
            _add((baselines if kind == "control" else found).setdefault(row, {}), values)
    yield from baselines.items()
    yield from found.items()


def _title(name: str) -> str:
    """The row of a measured model; a name that begins with "colde-" is the shipped one."""
    return f"{name} (shipped)" if name.startswith("colde-") else name.partition(_SEED)[0]


def _measured(report: Mapping[str, Any]) -> dict[tuple[str, str], dict[str, float]]:
    """Figures by system and field."""
    return {
        (result["system"], field["name"]): {name: result["figures"][name]["value"] for name in FIGURES}
        for field in report["fields"]
        for result in field["results"]
    }


def _add(row: Values, values: Mapping[str, Mapping[str, float]]) -> None:
    """Add the values of one more seed."""
    for field, figures in values.items():
        for name, value in figures.items():
            row.setdefault(field, {}).setdefault(name, []).append(value)


def _cell(seeds: Sequence[float]) -> str:
    """The mean, and the standard deviation over seeds if there are several."""
    shown = f"{round(fmean(seeds), 3):.3f}".removeprefix("0")
    return f"{shown} ± {stdev(seeds):.3f}".replace("± 0.", "± .") if len(seeds) > 1 else shown


def _training(folder: Path, names: Sequence[str]) -> Iterator[list[object]]:
    for name in names:
        train, measure = (_facts(folder / f"{name}.{kind}.txt") for kind in ("train", "measure"))
        if train and measure:
            before, kept, steps = _validation(folder / "models" / f"{name}.training" / "metrics.jsonl")
            cells = [train["documents"], train["options"], before, kept, steps]
            yield [name, *cells, train["seconds"], measure["seconds"]]


def _validation(journal: Path) -> tuple[str, str, int]:
    """Validation AUC (mean of the sets) before training and of the kept weights, and the updates of these."""
    lines = map(json.loads, journal.read_text(encoding="utf-8").splitlines())
    events = [line for line in lines if line["event"] == "validation"]
    best = max(events, key=lambda event: event["field_auc"])
    return f"{events[0]['field_auc']:.3f}", f"{best['field_auc']:.3f}", int(best["step"])


def _facts(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return found


def main() -> None:
    """Train, measure and write the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n", maxsplit=1)[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--runs", type=Path, default=Path("runs"))
    parser.add_argument("--csv", type=Path, default=Path("docs/data"), help="folder of the tables")
    parser.add_argument("--only", nargs="*", default=[size.name for size in SYSTEMS], help="systems to train")
    options = parser.parse_args()
    workspace = Workspace(options.data, options.runs)
    print(f"{platform.machine()}, one of {os.cpu_count()} cores, {options.data}")
    workspace.folder.mkdir(parents=True, exist_ok=True)
    for size in SYSTEMS:
        for name, seed in size.runs() if size.name in options.only else ():
            workspace.train(size, name, seed)
            workspace.measure(name, workspace.folder / "models" / name, baselines=False)
    workspace.measure(SHIPPED, SHIPPED, baselines=True)
    names = [name for size in SYSTEMS for name, _ in size.runs()]
    averages = {"the five": TRAINING, "all seven": FIELDS}
    write_tables(workspace.folder, [SHIPPED, *names], FIELDS, averages, options.csv)


if __name__ == "__main__":
    main()
