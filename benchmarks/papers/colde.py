"""Measure CoLDE's Table 2 on two CPU cores: heads on frozen MiniLM chunk vectors, one model for every set.

    python benchmarks/papers/colde.py FOLDER... [--seeds 3] [--most N...] [--model NAME] [--windows N] [--epochs N]

Trains CoLDE (the paper's recipe and ours) and its ablations −Aug, −LSTM and −CL on every set, a run for every seed,
and scores the baselines, the untrained heads among them. Two tables go to runs/papers/: pairs as the paper has them
(related and random ones), and all pairs. The threshold is the one with the best F1 on the validation pairs of the same
kind. "kept": updates of the weights that were kept, for every seed. "loss": of the first epoch, before the last tenth
of the epochs, and in it. Chunk vectors come from colde's cache; those it lacks are encoded. The paper's other rows are
trained by `colde train --system`; see benchmarks/results/papers.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from head_runs import Run, baseline_scores, mean_curve, of_split, open_encoder, run_all, untrained
from numpy.typing import NDArray
from paper_data import RUNS, PaperSet, load_sets
from recipes import PAPER, TABLE_2
from reporting import (
    FIGURES,
    LabelledSplit,
    figures,
    p_value,
    pairs_p,
    seeds_p,
    settling,
    spread,
    write_table,
)

from colde_cli import settings
from colde_cli.encoder.vector_cache import Cache

Scores = Mapping[str, tuple[NDArray[np.float64], NDArray[np.float64]]]
"""Name of a system to its scores of the validation pairs [seeds, P] and of the test pairs [seeds, P]."""

REFERENCE = "−LSTM"
PAPER_HEADER = ("set", "system", "kept", "precision", "recall", "F1", "accuracy", "AUC")
HEADER = (
    "set",
    "system",
    "kept",
    "of",
    "loss",
    "F1",
    "accuracy",
    "AUC",
    "AUC, random",
    "AUC, hard",
    "p, seeds",
    "p, pairs",
)


def measure(paper_set: PaperSet, scores: Scores, negatives: str) -> dict[str, dict[str, list[float]]]:
    """System to metric to its values, one for every seed, against these negatives."""
    validation, test = (
        LabelledSplit(paper_set.related(split), paper_set.among(split, negatives)) for split in ("validation", "test")
    )
    found: dict[str, dict[str, list[float]]] = {}
    for name, (held, measured) in scores.items():
        rows = [figures(validation, test, pair) for pair in zip(held, measured, strict=True)]
        found[name] = {figure: [row[figure] for row in rows] for figure in FIGURES}
    return found


def paper_rows(paper_set: PaperSet, scores: Scores, steps: Mapping[str, str]) -> list[list[str]]:
    """Rows as in the paper: as many random negatives as related pairs."""
    found = measure(paper_set, scores, "random")
    return [
        [paper_set.name, name, steps.get(name, "–"), *(spread(values[figure]) for figure in FIGURES)]
        for name, values in found.items()
    ]


def full_rows(
    paper_set: PaperSet,
    scores: Scores,
    steps: Mapping[str, str],
    runs: Mapping[str, Sequence[Run]],
) -> list[list[str]]:
    """Rows of all pairs, with the tests against −LSTM."""
    found = {kind: measure(paper_set, scores, kind) for kind in ("all", "random", "hard")}
    base, base_auc = scores[REFERENCE][1], found["all"][REFERENCE]["auc"]
    rows = []
    for name, values in found["all"].items():
        seeds = seeds_p(values["auc"], base_auc) if len(values["auc"]) == len(base_auc) else None
        pairs = None if name == REFERENCE else pairs_p(paper_set.evaluation_set.pairs, scores[name][1], base)
        kinds = [spread(found[kind][name]["auc"]) for kind in ("all", "random", "hard")]
        figured = [spread(values["f1"]), spread(values["accuracy"]), *kinds]
        tested = [p_value(seeds), p_value(pairs)]
        trained = ["–", "–"]
        if name in runs:
            losses = mean_curve(runs[name], "loss")[1:]
            trained = [str(runs[name][0].updates), settling(losses, first=1)]
        rows.append([paper_set.name, name, steps.get(name, "–"), *trained, *figured, *tested])
    return rows


def main() -> None:
    """Train what is missing, and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--model", default=settings.DEFAULT_MODEL, help="gives the chunk vectors")
    parser.add_argument("--most", type=int, nargs="+", help="training documents at most; one number, or one a set")
    parser.add_argument(
        "--windows", type=int, default=0, help="read so many chunks of a document, spread over it; 0: all"
    )
    parser.add_argument("--epochs", type=int, default=PAPER.epochs)
    options = parser.parse_args()
    notes, paper, full = [], [], []
    with Cache.open() as cache:
        encoder = open_encoder(cache, options.model)
        for paper_set in load_sets(options.folders, encoder, options.most, options.windows):
            recipes = {name: replace(recipe, epochs=options.epochs) for name, recipe in TABLE_2.items()}
            runs = run_all(paper_set, recipes, range(options.seeds))
            scores = {name: (of_split(some, "validation"), of_split(some, "test")) for name, some in runs.items()}
            steps = {name: ", ".join(str(run.steps) for run in some) for name, some in runs.items()}
            for name in ("CoLDE", "CoLDE, our recipe"):
                steps[f"{name}, untrained"] = "0"
                scores[f"{name}, untrained"] = (
                    untrained(runs[name], "validation"),
                    untrained(runs[name], "test"),
                )
            for name, kept in baseline_scores(paper_set, encoder).items():
                scores[name] = (np.array([kept["validation"]]), np.array([kept["test"]]))
            seconds = np.mean([run.seconds for some in runs.values() for run in some])
            documents = len(paper_set.task.split.training)
            notes.append(
                f"{paper_set.name}: {documents:,} training documents, {paper_set.related('test').sum()} related of "
                f"{len(paper_set.evaluation_set.pairs)} test pairs, {options.seeds} seeds, {seconds:.0f} s a run."
            )
            paper += paper_rows(paper_set, scores, steps)
            full += full_rows(paper_set, scores, steps, runs)
    listed = "\n".join(f"- {note}" for note in notes)
    title = "CoLDE, Table 2: pairs as in the paper (related and random, 1:1)"
    write_table(RUNS / "table2-paper.md", title, PAPER_HEADER, paper, f"\n{listed}\n")
    title = "CoLDE, Table 2: all pairs (related, random, hard, 1:1:1)"
    write_table(RUNS / "table2-all.md", title, HEADER, full)


if __name__ == "__main__":
    main()
