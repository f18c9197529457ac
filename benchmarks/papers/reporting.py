"""Report metrics of several seeds: mean and spread, p values, and tables as Markdown and CSV files."""

from __future__ import annotations

import csv
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from colde_cli.evaluation.data import LabelledPair
from colde_cli.evaluation.metrics import Draws, PairBootstrap, bootstrap_p, pair_metrics, weighted_auc
from colde_cli.scoring.fit import best_threshold

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
FIGURES = ("precision", "recall", "f1", "accuracy", "auc")
_BARS = "▁▂▃▄▅▆▇█"


@dataclass(frozen=True, slots=True)
class LabelledSplit:
    """Pairs of one split as figures need them.

    Attributes:
        related: bool [P].
        chosen: bool [P], the pairs that count.
    """

    related: Bools
    chosen: Bools


def figures(validation: LabelledSplit, test: LabelledSplit, scores: tuple[Floats, Floats]) -> dict[str, float]:
    """Figures of one system on test pairs, at the threshold whose F1 is best on validation pairs.

    Args:
        validation: pairs that set the threshold.
        test: pairs that are measured.
        scores: of all validation and of all test pairs.
    """
    held, measured = scores
    cut = best_threshold(validation.related[validation.chosen], held[validation.chosen])
    found = pair_metrics(test.related[test.chosen], measured[test.chosen], cut)
    return {name: float(getattr(found, name)) for name in FIGURES}


def spread(values: Sequence[float]) -> str:
    """Mean ± standard deviation of the sample (n − 1); the value alone where there is one."""
    array = np.asarray(values, np.float64)
    if not len(array):
        return "–"
    # Plus zero, so that nothing that rounds to zero has a sign.
    mean = f"{round(float(array.mean()), 3) + 0.0:.3f}"
    return mean if len(array) == 1 else f"{mean} ± {array.std(ddof=1):.3f}"


def settling(losses: Sequence[float] | Floats, first: int = 0) -> str:
    """How a loss went: its mean at the start, in the last tenth but one, and in the last tenth.

    Args:
        losses: of the updates or the epochs, in order.
        first: how many make the start; a tenth if 0.
    """
    tenth = max(1, len(losses) // 10)
    stages = losses[: first or tenth], losses[-2 * tenth : -tenth], losses[-tenth:]
    return " → ".join(f"{np.mean(stage):.3f}" for stage in stages)


def p_value(value: float | None) -> str:
    """A p in a table."""
    if value is None or not np.isfinite(value):
        return "–"
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def seeds_p(values: Sequence[float], others: Sequence[float]) -> float | None:
    """Two-sided p of the paired t-test over seeds, as in the paper; None with fewer than two, or no spread."""
    from scipy.stats import ttest_rel

    differences = np.subtract(values, others)
    if len(differences) < 2 or np.ptp(differences) < 1e-9:
        return None
    return float(ttest_rel(values, others).pvalue)


def pairs_p(pairs: Sequence[LabelledPair], scores: Floats, others: Floats, draws: int = 1000) -> float | None:
    """Two-sided p that two systems have the same AUC, pairs and documents resampled; seeds averaged.

    Args:
        pairs: measured ones.
        scores: [seeds, P].
        others: [seeds, P] of the other system; the numbers of seeds may differ.
        draws: of the bootstrap.
    """
    related = np.array([pair.related for pair in pairs], bool)
    bootstrap = PairBootstrap(pairs, draws, [0])
    sides = []
    for weightings in (bootstrap.by_documents, bootstrap.by_pairs):
        parts = [_mean_auc(related, scores, weights) - _mean_auc(related, others, weights) for weights in weightings()]
        sides.append(np.concatenate(parts))
    once = np.ones((1, len(related)))
    observed = float(_mean_auc(related, scores, once)[0] - _mean_auc(related, others, once)[0])
    return bootstrap_p(Draws(sides[0], sides[1]).around(observed))


def _mean_auc(related: Bools, scores: Floats, weights: Floats) -> Floats:
    return np.asarray(np.mean([weighted_auc(related, row, weights) for row in scores], axis=0))


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table, the first column to the left and the others to the right.

    Raises:
        ValueError: a row is of another length.
    """
    if any(len(row) != len(header) for row in rows):
        raise ValueError("every row needs as many cells as the header")
    lines = [header, [":--", *["--:"] * (len(header) - 1)], *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def sparkline(values: Sequence[float]) -> str:
    """Values as bars between their lowest and highest."""
    array = np.asarray(values, np.float64)
    width = array.max() - array.min()
    steps = (array - array.min()) / width if width else np.zeros(len(array))
    return "".join(_BARS[round(step * (len(_BARS) - 1))] for step in steps)


def write(path: Path, title: str, body: str) -> None:
    """Write a fragment of Markdown, and print it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = f"### {title}\n\n{body}\n<!-- {platform.machine()}, {path.name} -->\n"
    path.write_text(text, encoding="utf-8")
    print(text)


def write_table(path: Path, title: str, header: Sequence[str], rows: Sequence[Sequence[str]], notes: str = "") -> None:
    """Write a table as `path` (Markdown, with notes, printed) and beside it as a CSV file with a header row.

    Raises:
        ValueError: a row has another length than the header.
    """
    write(path, title, markdown(header, rows) + notes)
    with path.with_suffix(".csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([header, *rows])
