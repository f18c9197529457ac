"""Curves behind the figures, thinned to what a plot can show."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from colde_cli.evaluation.reliability import Bin

Points = tuple[tuple[float, float], ...]
Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]

_MOST = 120
_BARS = 24


@dataclass(frozen=True, slots=True)
class Histogram:
    """Scores of related and unrelated pairs in bars of equal width.

    Attributes:
        edges: of the bars, one more than there are bars.
        related: pairs in each bar.
        unrelated: pairs in each bar.
    """

    edges: tuple[float, ...]
    related: tuple[int, ...]
    unrelated: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Curves:
    """What is plotted of one system on one field.

    Attributes:
        roc: false alarms and hits, both in parts of 1, from (0, 0) to (1, 1).
        precision_recall: recall and precision, recall ascending.
        reliability: bins of probabilities; empty where there is no calibration.
        histogram: of the scores.
    """

    roc: Points
    precision_recall: Points
    reliability: tuple[Bin, ...]
    histogram: Histogram


def make_curves(related: Bools, scores: Floats, bins: tuple[Bin, ...]) -> Curves:
    """Curves of scored pairs; both judgements are present."""
    order = np.argsort(-scores, kind="stable")
    ranked, truth = scores[order], related[order]
    last = np.append(ranked[:-1] > ranked[1:], True)
    hits, alarms = np.cumsum(truth)[last], np.cumsum(~truth)[last]
    recall, false_alarms = hits / truth.sum(), alarms / (~truth).sum()
    roc = ((0.0, 0.0), *_thinned(false_alarms, recall))
    return Curves(roc, _thinned(recall, hits / (hits + alarms)), bins, _histogram(related, scores))


def _thinned(x: Floats, y: Floats) -> Points:
    """At most so many points of a curve, its ends among them."""
    kept = np.unique(np.linspace(0, len(x) - 1, min(_MOST, len(x))).round().astype(int))
    return tuple((float(x[place]), float(y[place])) for place in kept)


def _histogram(related: Bools, scores: Floats) -> Histogram:
    low, high = float(scores.min()), float(scores.max())
    edges = np.linspace(low, high if high > low else low + 1, _BARS + 1)
    counts = [np.histogram(scores[chosen], edges)[0] for chosen in (related, ~related)]
    yes, no = (tuple(int(count) for count in found) for found in counts)
    return Histogram(tuple(float(edge) for edge in edges), yes, no)
