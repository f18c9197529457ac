"""Measure CoLDE's Figures 6 and 7 and the number of sections: batch size, tokens of a section that training reads.

    python benchmarks/papers/curves.py FOLDER... [--seeds 3] [--most N...] [--model NAME] [--windows N] [--epochs N]
        [--figure 6|7|sections]

Trains CoLDE with the paper's recipe, one option changed at a time. Test documents are read whole, not split. Metrics
are of all test pairs, at the threshold with the best F1 on the validation pairs; curves are of the validation pairs.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from head_runs import Run, mean_curve, open_encoder, run_all
from paper_data import RUNS, PaperSet, load_sets
from recipes import PAPER, figure_6, figure_7, sections
from reporting import LabelledSplit, figures, settling, sparkline, spread, write_table

from colde_cli import settings
from colde_cli.encoder.vector_cache import Cache
from colde_cli.learning.recipe import Recipe

FIGURES = {
    "6": "CoLDE, Figure 6: batch size",
    "7": "CoLDE, Figure 7: sections truncated in training",
    "sections": "CoLDE: sections in training",
}
HEADER = ("set", "training", "accuracy", "F1", "AUC", "kept", "of", "loss", "validation accuracy", "by epoch")
SHOWN = 8
"""Of the validation accuracy by epoch, every eighth is written; the bars show all."""


def row(paper_set: PaperSet, name: str, runs: Sequence[Run]) -> list[str]:
    """One line of a table, of several seeds."""
    validation, test = (
        LabelledSplit(paper_set.related(split), paper_set.among(split, "all")) for split in ("validation", "test")
    )
    found = [figures(validation, test, (np.array(run.validation), np.array(run.test))) for run in runs]
    curve = mean_curve(runs, "accuracy")
    return [
        paper_set.name,
        name,
        *(spread([item[figure] for item in found]) for figure in ("accuracy", "f1", "auc")),
        ", ".join(str(run.steps) for run in runs),
        str(runs[0].updates),
        settling(mean_curve(runs, "loss")[1:], first=1),
        " ".join(f"{value:.2f}" for value in curve[::SHOWN]),
        sparkline(curve),
    ]


def recipes_of(name: str, chunk_tokens: int, epochs: int) -> dict[str, Recipe]:
    """What one of `FIGURES` trains, by label."""
    found = {"6": figure_6, "7": lambda: figure_7(chunk_tokens), "sections": sections}[name]()
    return {label: replace(recipe, epochs=epochs) for label, recipe in found.items()}


def write_figure(name: str, rows: Mapping[str, list[list[str]]]) -> None:
    """Write the table of one figure, all sets in it."""
    listed = [line for lines in rows.values() for line in lines]
    write_table(RUNS / f"figure-{name}.md", FIGURES[name], HEADER, listed)


def main() -> None:
    """Train what is missing, and write a table for every figure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--model", default=settings.DEFAULT_MODEL, help="gives the chunk vectors")
    parser.add_argument("--most", type=int, nargs="+", help="training documents at most; one number, or one a set")
    parser.add_argument(
        "--windows", type=int, default=0, help="read so many chunks of a document, spread over it; 0: all"
    )
    parser.add_argument("--epochs", type=int, default=PAPER.epochs)
    parser.add_argument("--figure", choices=list(FIGURES), help="only this one")
    options = parser.parse_args()
    chosen = [options.figure] if options.figure else list(FIGURES)
    with Cache.open() as cache:
        encoder = open_encoder(cache, options.model)
        sets = load_sets(options.folders, encoder, options.most, options.windows)
    for name in chosen:
        recipes = recipes_of(name, encoder.config.chunk_tokens, options.epochs)
        rows = {
            paper_set.name: [
                row(paper_set, label, runs) for label, runs in run_all(paper_set, recipes, range(options.seeds)).items()
            ]
            for paper_set in sets
        }
        write_figure(name, rows)


if __name__ == "__main__":
    main()
