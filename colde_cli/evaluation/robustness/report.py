"""The report of a robustness measurement: metrics of pairs under attack, and tables of text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from colde_cli.evaluation.metrics import weighted_auc, weighted_verdict_metrics

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class PairFigures:
    """How well scores under attack tell related pairs from unrelated ones, and how far they moved.

    Attributes:
        pairs: number of pairs.
        auc: None if all pairs have the same label.
        f1: at the threshold of the clean scores; None without a threshold.
        accuracy: at that threshold; None without one.
        moved_related: mean of score under attack minus clean score, over related pairs; None without related pairs.
        moved_unrelated: the same over unrelated pairs.
    """

    pairs: int
    auc: float | None
    f1: float | None
    accuracy: float | None
    moved_related: float | None
    moved_unrelated: float | None

    def to_json(self) -> Mapping[str, float | None]:
        """All metrics by name."""
        return asdict(self)


def pair_figures(
    related: NDArray[np.bool_], scores: Array, clean: Array, threshold: float | None
) -> PairFigures:
    """Measure scores under attack.

    Args:
        related: bool [P].
        scores: under attack, [P].
        clean: of the same pairs, unchanged, [P].
        threshold: the score from which a pair counts as related, chosen on clean scores; None without one.
    """
    moved = scores - clean
    f1, accuracy = (None, None) if threshold is None else _verdict_metrics(related, scores >= threshold)
    return PairFigures(
        pairs=len(scores),
        auc=auc(related, scores),
        f1=f1,
        accuracy=accuracy,
        moved_related=_mean(moved[related]),
        moved_unrelated=_mean(moved[~related]),
    )


def auc(related: NDArray[np.bool_], scores: Array) -> float | None:
    """Area under the ROC curve; None if all pairs have the same label."""
    if related.all() or not related.any():
        return None
    return float(weighted_auc(related, scores, np.ones((1, len(related))))[0])


def spearman(a: ArrayLike, b: ArrayLike) -> float | None:
    """Correlation of ranks in [-1, 1]; None if one of the two is constant."""
    left, right = ranks(np.asarray(a, np.float64)), ranks(np.asarray(b, np.float64))
    if not len(left) or not left.std() or not right.std():
        return None
    return float(np.corrcoef(left, right)[0, 1])


def ranks(values: Array) -> Array:
    """Ranks from 1; equal values share the mean of their ranks."""
    from scipy.stats import rankdata

    shared: Array = rankdata(values)
    return shared


def _verdict_metrics(related: NDArray[np.bool_], called: NDArray[np.bool_]) -> tuple[float, float]:
    figures = weighted_verdict_metrics(related, called, np.ones((1, len(related))))
    f1, accuracy = (float(figures[name][0]) for name in ("f1", "accuracy"))
    # F1 has no value if no pair is related and none is called related.
    return (0.0 if np.isnan(f1) else f1), accuracy


def _mean(values: Array) -> float | None:
    return float(values.mean()) if len(values) else None


Table = tuple[str, tuple[str, ...], tuple[tuple[str, ...], ...]]
"""Title, header, rows."""

_PAIR_TITLES = ("AUC", "F1", "accuracy", "Δ related", "Δ unrelated")


@dataclass(frozen=True, slots=True)
class SelfRow:
    """Documents compared with themselves under attack.

    Attributes:
        attack: in words.
        documents: number of documents.
        cosine_mean: mean change of the document vector z under attack f: cos(z(x), z(x)) − cos(z(x), z(f(x))).
        cosine_max: the largest such change.
        score_mean: mean change of the document score.
        score_max: the largest such change.
    """

    attack: str
    documents: int
    cosine_mean: float
    cosine_max: float
    score_mean: float
    score_max: float


@dataclass(frozen=True, slots=True)
class PairRow:
    """Pairs under attack.

    Attributes:
        attack: in words.
        side: "none" for clean scores, "one" if only the first document of a pair is attacked, "both".
        spearman: correlation over pairs of length ratio (longer by shorter, in tokens) and score; None if not
            measured or without a value.
    """

    attack: str
    side: str
    figures: PairFigures
    spearman: float | None = None


@dataclass(frozen=True, slots=True)
class ProtocolReport:
    """One protocol.

    Attributes:
        name: "length", "shuffle" or "elongation".
        title: of its tables.
        against_itself: one row for every attack; empty if the protocol has none.
        notes: whole sentences on limits and samples.
    """

    name: str
    title: str
    against_itself: tuple[SelfRow, ...]
    pairs: tuple[PairRow, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RobustnessReport:
    """The scores of a model under attack.

    Attributes:
        model: its name.
        threshold: the score from which a pair counts as related, chosen on clean scores; None without one.
        seed: of every draw.
        protocols: in the order of the request.
    """

    model: str
    threshold: float | None
    seed: int
    protocols: tuple[ProtocolReport, ...]

    def to_json(self) -> dict[str, Any]:
        """The report as objects, lists, strings, numbers and null."""
        return asdict(self)

    def tables(self) -> list[Table]:
        """Title, header and rows of every table, as text."""
        tables: list[Table] = []
        for protocol in self.protocols:
            if protocol.against_itself:
                tables.append(_self_table(protocol))
            if protocol.pairs:
                tables.append(_pair_table(protocol))
        return tables


def _self_table(protocol: ProtocolReport) -> Table:
    header = ("attack", "documents", "Δcos mean", "Δcos max", "Δscore mean", "Δscore max")
    rows = tuple(
        (
            row.attack,
            str(row.documents),
            *_numbers(row.cosine_mean, row.cosine_max),
            *_numbers(row.score_mean, row.score_max),
        )
        for row in protocol.against_itself
    )
    return f"{protocol.title}: a document and itself", header, rows


def _pair_table(protocol: ProtocolReport) -> Table:
    correlated = any(row.spearman is not None for row in protocol.pairs)
    header = ("attack", "side", "pairs", *_PAIR_TITLES, *(("Spearman",) if correlated else ()))
    rows = []
    for row in protocol.pairs:
        metrics = row.figures
        values = (metrics.auc, metrics.f1, metrics.accuracy, metrics.moved_related, metrics.moved_unrelated)
        extra = _numbers(row.spearman) if correlated else ()
        rows.append((row.attack, row.side, str(metrics.pairs), *_numbers(*values), *extra))
    return f"{protocol.title}: pairs", header, tuple(rows)


def _numbers(*values: float | None) -> Sequence[str]:
    return tuple("–" if value is None else f"{value:z.3f}" for value in values)
