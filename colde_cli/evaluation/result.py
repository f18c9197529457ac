"""What a measurement found: one frozen object that every view shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from colde_cli.evaluation.metrics import Curves


@dataclass(frozen=True, slots=True)
class FigureKind:
    """What a figure is called and which way is better.

    Attributes:
        title: in tables.
        group: "pairs", "verdict", "retrieval" or "calibration".
        higher_is_better: False for errors.
        meaning: in one sentence.
    """

    title: str
    group: str
    higher_is_better: bool
    meaning: str


FIGURES: dict[str, FigureKind] = {
    "auc": FigureKind("AUC", "pairs", True, "How often a related pair scores above an unrelated one."),
    "auc_random": FigureKind("random", "pairs", True, "AUC against random negatives only."),
    "auc_hard": FigureKind("hard", "pairs", True, "AUC against hard negatives only."),
    "average_precision": FigureKind("AP", "pairs", True, "Area under the precision-recall curve."),
    "f1": FigureKind("F1", "verdict", True, "Harmonic mean of precision and recall at the threshold."),
    "precision": FigureKind("P", "verdict", True, "Share of the pairs called related that are."),
    "recall": FigureKind("R", "verdict", True, "Share of the related pairs that are called related."),
    "accuracy": FigureKind("Acc", "verdict", True, "Share of all verdicts that are right."),
    "recall_at_10": FigureKind(
        "R@10", "retrieval", True, "Share of a document's partners among the ten closest."
    ),
    "mrr": FigureKind("MRR", "retrieval", True, "1 / rank of the first partner, averaged."),
    "ndcg_at_10": FigureKind("nDCG@10", "retrieval", True, "Gain of the ten closest, discounted by rank."),
    "ece": FigureKind(
        "ECE", "calibration", False, "Mean distance of probability and share of related pairs."
    ),
    "ece_by_chance": FigureKind(
        "by chance", "calibration", False, "The ECE to be expected if every probability were exactly right."
    ),
    "brier": FigureKind("Brier", "calibration", False, "Mean squared distance of probability and judgement."),
}
"""Every figure there can be, in the order of the tables."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A measured value and its 95 % confidence interval.

    Attributes:
        value: as measured.
        low: lower end; None where no interval was made.
        high: upper end.
    """

    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Measured:
    """One system on one field, or on the average of all.

    Attributes:
        system: its name.
        figures: by the names of `FIGURES`, as far as they could be measured.
        threshold: from which a pair was called related; None where there was none.
        threshold_from: "validation" or "model"; None without a threshold.
        calibration_from: "model" or "validation"; None without a calibration.
        curves: for plots; None for an average.
        notes: what a reader of the figures must know, in whole sentences.
    """

    system: str
    figures: Mapping[str, Figure]
    threshold: float | None = None
    threshold_from: str | None = None
    calibration_from: str | None = None
    curves: Curves | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PairedTest:
    """A system against the first one, on the same pairs.

    Attributes:
        system: its name.
        against: the name of the first.
        figure: "auc" or "accuracy".
        method: "paired document bootstrap" or "McNemar, exact".
        difference: of the figure, system minus first.
        p: two-sided; None where the test could not be made.
        p_holm: corrected for all systems tested on this figure and field (Holm).
    """

    system: str
    against: str
    figure: str
    method: str
    difference: Figure
    p: float | None
    p_holm: float | None


@dataclass(frozen=True, slots=True)
class Attacked:
    """What the scores of one model do when documents are changed.

    Attributes:
        json: all of it as objects, lists, strings, numbers and null.
        tables: title, header and rows of text of every table.
        notes: what a reader of the tables must know, in whole sentences.
    """

    json: Mapping[str, Any]
    tables: tuple[tuple[str, tuple[str, ...], tuple[tuple[str, ...], ...]], ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FieldResult:
    """All systems on one field, or on the average of all fields.

    Attributes:
        name: of the field.
        pairs: how many were measured.
        positives: how many of them are related.
        documents: how many stand in them.
        relations: number of unrelated pairs by the way they came about; "" where the data does not say.
        validation_pairs: how many set thresholds.
        queries: documents with partners, for retrieval; None where it was not asked for.
        relevance: "links" or "labels": what makes a partner.
        results: one for every system, in their order.
        tests: of every further system against the first.
        notes: on the field.
        robustness: by the name of the model; empty where it was not asked for.
    """

    name: str
    pairs: int
    positives: int
    documents: int
    relations: Mapping[str, int]
    validation_pairs: int
    queries: int | None
    relevance: str | None
    results: tuple[Measured, ...]
    tests: tuple[PairedTest, ...]
    notes: tuple[str, ...] = ()
    robustness: Mapping[str, Attacked] = field(default_factory=dict)

    def best(self, figure: str) -> frozenset[str]:
        """Names of the systems with the best value of a figure, to three decimals; none of what is no merit."""
        known = {item.system: item.figures[figure].value for item in self.results if figure in item.figures}
        if len(known) < 2 or figure == "ece_by_chance":
            return frozenset()
        wanted = max if FIGURES[figure].higher_is_better else min
        top = wanted(round(value, 3) for value in known.values())
        return frozenset(name for name, value in known.items() if round(value, 3) == top)


@dataclass(frozen=True, slots=True)
class SystemFacts:
    """Where a system ran.

    Attributes:
        name: as in the tables.
        kind: "model" or "control".
        precision: "int8", "fp16" or "fp32"; None for a control.
        device: "cpu" or "cuda:N"; None for a control.
    """

    name: str
    kind: str
    precision: str | None = None
    device: str | None = None


@dataclass(frozen=True, slots=True)
class Evaluation:
    """All systems on all fields.

    Attributes:
        split: which side was measured.
        systems: all of them; the first is what the others are tested against.
        fields: one result each.
        macro: the unweighted mean over fields; None for a single one.
        draws: of the bootstrap.
        seed: of the bootstrap.
    """

    split: str
    systems: tuple[SystemFacts, ...]
    fields: tuple[FieldResult, ...]
    macro: FieldResult | None
    draws: int
    seed: int

    def blocks(self) -> tuple[FieldResult, ...]:
        """Every field, and their average where there is one."""
        return self.fields if self.macro is None else (*self.fields, self.macro)
