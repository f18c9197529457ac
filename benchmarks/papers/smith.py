"""Measure SMITH's Tables 5 to 7 and Figure 4 (Yang et al. 2020) with a SMITH that one core trains in a minute.

    python benchmarks/papers/smith.py FOLDER [--seeds 3] [--most N] [--table 5|6|7|figure-4]
        [--pretrain wp+sp [--pretrain-epochs 3]]

    5         no pre-training (NP), masked words (WP), masked words and masked blocks (WP+SP)
    6         layers of the Transformer over words (L1) and of the one over blocks (L2)
    7         how block vectors and document vector are combined, and scored as the public code does
    figure-4  how many blocks are read

The paper's Tables 6 and 7 are of pre-trained models; `--pretrain` says with what all rows but those of Table 5 start.

Trains missing runs under runs/papers/smith/ and writes a table for each. Pairs are as in the paper, related and random
ones 1:1 in training, validation and test; AUC against hard negatives is measured separately. The threshold has the best
F1 on the validation pairs.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from paper_data import RUNS
from reporting import LabelledSplit, figures, spread, write_table
from smith_runs import SmithRun, SmithSet, Start, figure_4, load_smith_set, run_all, table_5, table_6, table_7

HEADER = ("set", "SMITH", "accuracy", "F1", "AUC", "AUC, hard", "steps", "validation AUC by epoch")
TABLES = {
    "5": ("SMITH, Table 5: pre-training", table_5),
    "6": ("SMITH, Table 6: layers", table_6),
    "7": ("SMITH, Table 7: combination", table_7),
    "figure-4": ("SMITH, Figure 4: length read", figure_4),
}


def row(data: SmithSet, name: str, runs: Sequence[SmithRun]) -> list[str]:
    """One row of a table: a setting over several seeds."""
    related = np.array([pair.related for pair in data.pairs])
    hard = np.array([pair.relation == "hard" for pair in data.pairs])
    validation = LabelledSplit(data.split.related, np.ones(len(data.split.related), bool))
    found = {
        kind: [
            figures(validation, LabelledSplit(related, chosen), (np.array(run.validation), np.array(run.test)))
            for run in runs
        ]
        for kind, chosen in (("even", ~hard), ("hard", related | hard))
    }
    return [
        data.name,
        name,
        *(spread([item[figure] for item in found["even"]]) for figure in ("accuracy", "f1", "auc")),
        spread([item["auc"] for item in found["hard"]]),
        ", ".join(str(run.steps) for run in runs),
        " ".join(f"{value:.2f}" for value in mean_curve(runs)),
    ]


def mean_curve(runs: Sequence[SmithRun]) -> list[float]:
    """Validation AUC before the first epoch and after each, seeds averaged."""
    return [float(value) for value in np.mean([[point["auc"] for point in run.curve] for run in runs], axis=0)]


def main() -> None:
    """Train what is missing, and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--most", type=int, help="training documents at most")
    parser.add_argument("--table", choices=list(TABLES), help="only this one")
    parser.add_argument("--pretrain", choices=("none", "wp", "wp+sp"), default="none")
    parser.add_argument("--pretrain-epochs", type=int, default=Start().epochs)
    options = parser.parse_args()
    data = load_smith_set(options.folder, options.most)
    for name in [options.table] if options.table else list(TABLES):
        title, settings = TABLES[name]
        after = options.pretrain if name != "5" and options.pretrain != "none" else ""
        chosen = {
            label: setting.after(after, options.pretrain_epochs) if after else setting
            for label, setting in settings().items()
        }
        runs = run_all(data, chosen, range(options.seeds))
        rows = [row(data, label, some) for label, some in runs.items()]
        epochs = options.pretrain_epochs
        ending, words = (f"-{after}-{epochs}", f", after {epochs} epochs of {after}") if after else ("", "")
        write_table(RUNS / f"smith-{name}{ending}.md", title + words, HEADER, rows)


if __name__ == "__main__":
    main()
