"""The result of an evaluation: frozen objects that every view shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, cast

from colde_cli.evaluation.metrics import Curves
from colde_cli.similarity.plain_data import rounded


@dataclass(frozen=True, slots=True)
class FigureKind:
    """A metric: its title in tables, its group, its direction and its meaning."""

    title: str
    group: str  # "pairs", "verdict", "retrieval" or "calibration"
    higher_is_better: bool  # False for errors
    meaning: str


FIGURES: dict[str, FigureKind] = {
    "auc": FigureKind("AUC", "pairs", True, "How often a related pair scores above an unrelated one."),
    "auc_random": FigureKind("random", "pairs", True, "AUC against random negatives only."),
    "auc_hard": FigureKind("hard", "pairs", True, "AUC against hard negatives only."),
    "average_precision": FigureKind("AP", "pairs", True, "Area under the precision-recall curve."),
    "share": FigureKind("share", "pairs", True, "Mean weight of this part in the score of the model."),
    "f1": FigureKind("F1", "verdict", True, "Harmonic mean of precision and recall at the threshold."),
    "precision": FigureKind("P", "verdict", True, "Share of the pairs called related that are."),
    "recall": FigureKind("R", "verdict", True, "Share of the related pairs that are called related."),
    "accuracy": FigureKind("Acc", "verdict", True, "Share of all verdicts that are right."),
    "recall_at_10": FigureKind("R@10", "retrieval", True, "Share of a document's partners among the ten closest."),
    "mrr": FigureKind("MRR", "retrieval", True, "1 / rank of the first partner, averaged."),
    "ndcg_at_10": FigureKind("nDCG@10", "retrieval", True, "Gain of the ten closest, discounted by rank."),
    "ece": FigureKind("ECE", "calibration", False, "Mean distance of probability and share of related pairs."),
    "ece_by_chance": FigureKind(
        "by chance",
        "calibration",
        False,
        "The ECE that sampling alone would give if every probability were exactly right.",
    ),
    "brier": FigureKind("Brier", "calibration", False, "Mean squared distance of probability and label."),
}
"""All figures, in the order of the tables."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A measured value and its 95 % confidence interval; the ends are None without one."""

    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class SystemResult:
    """One system on one evaluation set, or on the average of all."""

    system: str
    figures: Mapping[str, Figure]  # by the names of `FIGURES`; those that could not be measured are missing
    threshold: float | None = None  # the score from which a pair was called related; None without one
    threshold_from: str | None = None  # "validation" or "model"; None without a threshold
    calibration_from: str | None = None  # "model" or "validation"; None without a calibration
    curves: Curves | None = None  # for plots; None for an average
    notes: tuple[str, ...] = ()  # whole sentences that a reader of the figures must know


@dataclass(frozen=True, slots=True)
class PairedTest:
    """A test of one system against the first, on the same pairs."""

    system: str
    against: str  # the name of the first system
    figure: str  # "auc" or "accuracy"
    method: str  # "paired document bootstrap" or "McNemar, exact"
    difference: Figure
    p: float | None  # two-sided; None if the test could not be made
    p_holm: float | None  # corrected for the number of systems tested (Holm)


@dataclass(frozen=True, slots=True)
class RobustnessResult:
    """The scores of one model on changed documents, ready to be shown."""

    json: Mapping[str, Any]  # the report as objects, lists, strings, numbers and null
    # title, header and rows of text of every table
    tables: tuple[tuple[str, tuple[str, ...], tuple[tuple[str, ...], ...]], ...]
    notes: tuple[str, ...] = ()  # whole sentences that a reader of the tables must know


@dataclass(frozen=True, slots=True)
class SetResult:
    """All systems on one evaluation set, or on the average of all sets."""

    name: str
    pairs: int
    positives: int  # number of related ones among them
    documents: int
    relations: Mapping[str, int]  # number of unrelated pairs by how they were chosen ("random", "hard"); "" if unknown
    validation_pairs: int  # number of pairs that set thresholds
    queries: int | None  # number of documents with partners; None without retrieval
    relevance: str | None  # "links" or "labels": what makes two documents partners; None without retrieval
    results: tuple[SystemResult, ...]  # one for every system, in their order
    tests: tuple[PairedTest, ...]  # of every further system against the first
    notes: tuple[str, ...] = ()
    # by the name of the model; empty if not measured
    robustness: Mapping[str, RobustnessResult] = field(default_factory=dict)
    # of the measured pairs; None where no pair names one, so that all are measured, and for an average
    split: str | None = None

    def best(self, figure: str) -> frozenset[str]:
        """Names of the systems with the best value of a figure, to three decimals.

        Empty for fewer than two systems, and for figures that have no best: shares, and the error by chance.
        """
        known = {item.system: item.figures[figure].value for item in self.results if figure in item.figures}
        if len(known) < 2 or figure in ("ece_by_chance", "share"):
            return frozenset()
        wanted = max if FIGURES[figure].higher_is_better else min
        top = wanted(round(value, 3) for value in known.values())
        return frozenset(name for name, value in known.items() if round(value, 3) == top)


@dataclass(frozen=True, slots=True)
class SystemFacts:
    """A system of an evaluation, and where it ran."""

    name: str
    kind: str  # "model", "part" (of a model's score) or "control" (a baseline)
    precision: str | None = None  # "int8", "fp16" or "fp32"; None for a baseline
    device: str | None = None  # "cpu" or "cuda:N"; None for a baseline


@dataclass(frozen=True, slots=True)
class Evaluation:
    """All systems on all evaluation sets."""

    split: str  # the split that was asked for; sets without splits are measured whole
    systems: tuple[SystemFacts, ...]  # the others are tested against the first
    sets: tuple[SetResult, ...]
    macro: SetResult | None  # the unweighted mean over the sets; None for a single set
    draws: int  # number of draws of the bootstrap; 0 for none
    seed: int

    def blocks(self) -> tuple[SetResult, ...]:
        """Every set, then their average if there is one."""
        return self.sets if self.macro is None else (*self.sets, self.macro)

    def to_dict(self) -> dict[str, Any]:
        """Build schema colde.evaluation/1: all figures, tests and curves."""
        return {
            "schema": "colde.evaluation/1",
            "split": self.split,
            "seed": self.seed,
            "bootstrap": {"draws": self.draws, "level": 0.95, "unit": "document"},
            "systems": [asdict(item) for item in self.systems],
            "fields": [{**_set_data(item), "split": item.split} for item in self.sets],
            "macro": None if self.macro is None else _set_data(self.macro),
        }


def _set_data(item: SetResult) -> dict[str, Any]:
    data = asdict(item)
    data["robustness"] = {name: found.json for name, found in item.robustness.items()}
    del data["split"]
    return cast("dict[str, Any]", _rounded(data))


def _rounded(value: Any) -> Any:  # noqa: ANN401 - whatever a curve is made of
    if isinstance(value, float):
        return rounded(value)
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    return [_rounded(item) for item in value] if isinstance(value, list | tuple) else value
