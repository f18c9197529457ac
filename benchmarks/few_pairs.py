"""Measure what few labelled pairs teach a field profile, by how many there are.

    python benchmarks/few_pairs.py DATA... [--pairs 20,50,100] [--draws 200] [-o few.csv]

DATA are folders with `docs.jsonl.gz` and `pairs.jsonl.gz` (docs/training-data.md). The documents of the validation
pairs make a profile. Pairs are drawn at random, related and unrelated ones in the proportion of the set, and
`colde calibrate --field` fits threshold and probability to them; the other pairs judge. Figures are means over draws
with the range of 95 % of the draws. Beside them stand, on the same pairs,

- "diff": the verdict and the probability that `colde diff` gives without a field and without the labels;
- "weights": the parts of the score fitted anew to the same pairs, held near the weights of the profile. This is not in
  the package, because it does not help.

Needs the `evaluate` extra.
"""

from __future__ import annotations

import argparse
import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from colde_cli.encoder.cache import Cache
from colde_cli.encoder.encoder import Encoder
from colde_cli.evaluation.data import EvaluationSet, read_evaluation_sets
from colde_cli.evaluation.metrics import expected_calibration_error, reliability, weighted_auc
from colde_cli.evaluation.systems import DOCS, ModelSystem
from colde_cli.scoring.config import probability
from colde_cli.scoring.fit import fit_within_field
from colde_cli.scoring.profile import FieldProfile
from colde_cli.scoring.score import verdict

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]

PRIOR = 0.05
"""Variance of the change of a weight, in log-odds for a standard deviation of the part. Of .01, .05 and .2, none helps
more."""


@dataclass(frozen=True)
class Scored:
    """The pairs of a set: labels, scores and parts [P, k] within the field, and what diff says."""

    name: str
    related: Bools
    scores: Floats
    parts: Floats
    diff_called: Bools
    diff_probabilities: Floats
    profile: FieldProfile


def score(evaluation_set: EvaluationSet, encoder: Encoder) -> Scored:
    """Score the pairs of a set with and without the field."""
    system = ModelSystem("field", encoder, retrieval=False, field=DOCS)
    encodings, field = system.encodings(evaluation_set), system.field(evaluation_set)
    assert field is not None
    adapted = {name: field.adapt(item) for name, item in encodings.items()}
    pairs = evaluation_set.pairs
    inside = [verdict(adapted[pair.a], adapted[pair.b], encoder.config, field) for pair in pairs]
    outside = [
        verdict(encodings[pair.a], encodings[pair.b], encoder.config, encoder.domain_fields) for pair in pairs
    ]
    names = sorted({part.name for item in inside for part in item.parts})
    found = [{part.name: part.score for part in item.parts} for item in inside]
    return Scored(
        evaluation_set.name,
        np.array([pair.related for pair in pairs]),
        np.array([item.score for item in inside]),
        np.array([[parts.get(name, 0.0) for name in names] for parts in found]),
        np.array([item.threshold is not None and item.score >= item.threshold for item in outside]),
        np.array([item.probability or 0.0 for item in outside]),
        field.profile,
    )


def reweighed(scored: Scored, drawn: NDArray[np.int64]) -> Floats:
    """Scores of all pairs with weights fitted to some: log-odds with normal priors around the field's own score."""
    spread = scored.profile.scores.std()
    columns = np.column_stack([scored.scores / spread, scored.parts / np.maximum(scored.parts.std(0), 0.05)])
    usual = np.append(1.4, np.zeros(columns.shape[1] - 1))
    precision = 1 / np.append(0.25, np.full(columns.shape[1] - 1, PRIOR))
    x, y = columns[drawn], scored.related[drawn].astype(float)

    def loss(point: Floats) -> tuple[float, Floats]:
        weights, margins = point[:-1], x @ point[:-1] + point[-1]
        errors, away = 0.5 * (1 + np.tanh(margins / 2)) - y, weights - usual
        value = float((np.logaddexp(0, margins) - y * margins).sum() + (precision * away**2).sum() / 2)
        return value, np.append(x.T @ errors + precision * away, errors.sum())

    bounds = [(0.0, None)] * len(usual) + [(None, None)]
    found = minimize(loss, np.append(usual, -usual @ x.mean(0)), jac=True, method="L-BFGS-B", bounds=bounds).x
    scores: Floats = columns @ found[:-1]
    return scores


def figures(scored: Scored, count: int, seed: int) -> dict[str, float]:
    """The figures of one draw of so many pairs, on all other pairs."""
    generator, related = np.random.default_rng([seed, count]), scored.related
    wanted = round(count * related.mean())
    drawn = np.concatenate(
        [
            generator.permutation(np.flatnonzero(related))[:wanted],
            generator.permutation(np.flatnonzero(~related))[: count - wanted],
        ]
    )
    rest = np.ones(len(related), bool)
    rest[drawn] = False
    threshold, calibration = fit_within_field(related[drawn], scored.scores[drawn], scored.profile)
    truth, scores = related[rest], scored.scores[rest]
    new = reweighed(scored, drawn)[rest]
    ones = np.ones((1, len(truth)))
    auc = [float(weighted_auc(truth, values, ones)[0]) for values in (scores, new)]
    return {
        "auc": auc[0],
        "auc of weights - auc": auc[1] - auc[0],
        "ece": _ece(truth, probability(scores, calibration)),
        "ece of diff": _ece(truth, scored.diff_probabilities[rest]),
        "f1": _f1(truth, scores >= threshold),
        "f1 of diff": _f1(truth, scored.diff_called[rest]),
    }


def _ece(related: Bools, probabilities: Floats) -> float:
    return expected_calibration_error(reliability(related, probabilities))


def _f1(related: Bools, called: Bools) -> float:
    return float(2 * (related & called).sum() / max(1, related.sum() + called.sum()))


def main() -> None:
    """Measure, print, and write the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n", maxsplit=1)[0])
    parser.add_argument("data", nargs="+", type=Path)
    parser.add_argument("--pairs", default="20,50,100")
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--model", default="colde-minilm-l6")
    parser.add_argument("-o", "--output", type=Path)
    options = parser.parse_args()
    encoder = Encoder.load(options.model, device="cpu", cache=Cache.open())
    rows: list[tuple[str, int, str, str, str, str]] = []
    for folder in options.data:
        (evaluation_set,) = read_evaluation_sets(
            [folder / "docs.jsonl.gz"], [folder / "pairs.jsonl.gz"], [], "validation"
        )
        scored = score(evaluation_set, encoder)
        for count in map(int, options.pairs.split(",")):
            draws = [figures(scored, count, seed) for seed in range(options.draws)]
            for figure in draws[0]:
                values = np.array([draw[figure] for draw in draws])
                numbers = (values.mean(), *np.percentile(values, [2.5, 97.5]))
                mean, low, high = (f"{number:.4f}" for number in numbers)
                rows.append((folder.name, count, figure, mean, low, high))
                print(f"{folder.name:12} {count:4} pairs  {figure:22} {mean} ({low} to {high})", flush=True)
    if options.output:
        with options.output.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerows(
                [("set", "pairs", "figure", "mean", "low", "high"), *rows]
            )


if __name__ == "__main__":
    main()
