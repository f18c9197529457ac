"""Fit the probabilities of one domain of a model to its training and validation pairs, and measure them.

    python benchmarks/domain_calibration.py FOLDER [--model NAME] [--most 20] [--draws 60] [--write]

FOLDER holds `docs.jsonl.gz` and `pairs.jsonl.gz` (docs/training-data.md); its name is that of the domain. The
validation pairs of a domain may have too few groups for its probabilities: those of contracts are of five types.
Training pairs add more. Of the training documents of a label `--most` are taken, those in most pairs.

Each draw leaves out about a third of the labels (documents without one count alone), and all pairs with a document of
theirs. Of each kind of pair (related, random, hard) as many are drawn as of the rarest, on either side: so they stand
in the whole set. Their expected calibration error and log-loss are printed, for the probabilities of the model, for
Platt's sigmoid and for `scoring.fit.fit_domain_calibration`, the latter two fitted to the other pairs; "by chance" is
the error that exactly right probabilities would have. `--write` stores a fit to all pairs in the model's `config.json`.
"""

from __future__ import annotations

import argparse
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from colde_cli.encoder.encoder import Encoder
from colde_cli.encoder.layout import CONFIG
from colde_cli.encoder.vector_cache import Cache
from colde_cli.evaluation.data import LabelledPair, TrainingData, TrainingDocument, read_data, read_pairs
from colde_cli.evaluation.metrics import expected_calibration_error, reliability
from colde_cli.scoring.config import Calibration, probability
from colde_cli.scoring.fit import FitPairs, fit_calibration, fit_domain_calibration
from colde_cli.scoring.score import verdict

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]

SPLITS = ("train", "validation")
LONGEST = 8000
"""Words of a training document at most; longer ones take long to encode."""
_ENOUGH = 40
"""Related pairs on either side of a draw."""


@dataclass(frozen=True)
class Scored:
    """The pairs of a domain, with what the model says about them.

    Attributes:
        pairs: as the fit takes them.
        labels: of both documents, [P, 2].
        kinds: "related", "random" or "hard", [P].
        scores: [P].
        stored: probabilities by the model as it is, [P].
    """

    pairs: FitPairs
    labels: NDArray[np.str_]
    kinds: NDArray[np.str_]
    scores: Floats
    stored: Floats

    def even(self, rows: Bools, generator: np.random.Generator) -> Scored:
        """Of some pairs as many of each kind."""
        return self.part(np.flatnonzero(rows)[even(self.kinds[rows], generator)])

    def part(self, rows: NDArray[np.int64]) -> Scored:
        """Some of the pairs."""
        pairs = FitPairs(
            self.pairs.related[rows],
            self.pairs.documents[rows],
            self.pairs.domains[rows],
            self.pairs.names,
        )
        return Scored(pairs, self.labels[rows], self.kinds[rows], self.scores[rows], self.stored[rows])


def chosen(pairs: Sequence[LabelledPair], documents: Mapping[str, TrainingDocument], most: int) -> list[LabelledPair]:
    """The pairs of at most so many documents of each label; of a label those in fewest pairs are left out first."""
    partners: defaultdict[str, set[str]] = defaultdict(set)
    for pair in pairs:
        if all(len(documents[name].document.text.split()) < LONGEST for name in (pair.a, pair.b)):
            partners[pair.a].add(pair.b)
            partners[pair.b].add(pair.a)
    left = set(partners)
    count = Counter(label_of(documents[name]) for name in left)
    while over := [name for name in left if count[label_of(documents[name])] > most]:
        name = min(over, key=lambda name: (len(partners[name] & left), name))
        left.remove(name)
        count[label_of(documents[name])] -= 1
    return [pair for pair in pairs if {pair.a, pair.b} <= left]


def label_of(document: TrainingDocument) -> str:
    """Its label; a document without one counts alone."""
    return document.label or document.id


def even(kinds: NDArray[np.str_], generator: np.random.Generator) -> NDArray[np.int64]:
    """Draw as many pairs of each kind as there are of the rarest: their places, ascending."""
    names, counts = np.unique(kinds, return_counts=True)
    drawn = [generator.permutation(np.flatnonzero(kinds == name))[: counts.min()] for name in names]
    return np.sort(np.concatenate(drawn))


def scored(folder: Path, data: TrainingData, pairs: Sequence[LabelledPair], encoder: Encoder) -> Scored:
    """Score the pairs as `colde diff` does."""
    numbers = data.numbers()
    ends = np.array([(numbers[pair.a], numbers[pair.b]) for pair in pairs], np.int64)
    names = np.unique(ends).tolist()
    encoded = encoder.encode_many([data.documents[name].document for name in names])
    encodings = dict(zip(names, encoded, strict=True))
    found = [verdict(encodings[a], encodings[b], encoder.config, encoder.domain_fields) for a, b in ends.tolist()]
    related = np.array([pair.related for pair in pairs], bool)
    labels = [[label_of(data.documents[end]) for end in pair] for pair in ends.tolist()]
    return Scored(
        FitPairs(related, ends, np.zeros(len(pairs), np.int64), (folder.name,)),
        np.array(labels),
        np.array(["related" if pair.related else str(pair.relation) for pair in pairs]),
        np.array([item.score for item in found], np.float64),
        np.array([item.probability for item in found], np.float64),
    )


def fitted(some: Scored) -> Calibration:
    """What the package fits to these pairs."""
    return fit_domain_calibration(some.pairs, np.arange(len(some.scores)), some.scores)


def figures(related: Bools, likely: Floats) -> tuple[float, float]:
    """Expected calibration error and log-loss."""
    right = np.clip(np.where(related, likely, 1 - likely), 1e-6, 1.0)
    return expected_calibration_error(reliability(related, likely)), float(-np.log(right).mean())


def measure(some: Scored, draws: int) -> None:
    """Print the figures of labels left out."""
    generator, rows = np.random.default_rng(0), []
    labels = np.unique(some.labels)
    ceilings = []
    for _ in range(draws):
        out = labels[generator.random(len(labels)) < 1 / 3]
        held = np.asarray(np.isin(some.labels, out).any(1), bool)
        if min(some.pairs.related[held].sum(), some.pairs.related[~held].sum()) < _ENOUGH:
            continue
        test, rest = some.even(held, generator), some.even(~held, generator)
        related = test.pairs.related
        curves = fit_calibration(rest.pairs.related, rest.scores), fitted(rest)
        ceilings.append(curves[1].ceiling)
        tables = [test.stored, *(probability(test.scores, curve) for curve in curves)]
        # What the labels would be if the last were exactly right.
        drawn = generator.random(len(related)) < tables[-1]
        rows.append([*(figures(related, likely) for likely in tables), figures(drawn, tables[-1])])
    values = np.array(rows)
    print(f"{len(rows)} draws; ceilings {np.quantile(ceilings, [0, 0.5, 1]).round(2).tolist()}")
    for place, name in enumerate(("stored", "sigmoid", "fit_domain_calibration", "by chance")):
        errors, losses = values[:, place].T
        gap = values[:, 0, 0] - errors
        print(
            f"{name:24} ECE {errors.mean():.3f} ± {errors.std(ddof=1):.3f}, log-loss {losses.mean():.3f};"
            f" ECE lower than stored in {np.mean(gap > 0):.0%}"
        )


def store(encoder: Encoder, domain: str, calibration: Calibration) -> None:
    """Write the calibration of a domain into the model."""
    config = encoder.config
    assert config.score_weights is not None, "a model with domains"
    domains = tuple(
        replace(item, calibration=calibration) if item.name == domain else item for item in config.score_weights.domains
    )
    weights = replace(config.score_weights, domains=domains)
    path = encoder.folder.path / CONFIG
    path.write_text(replace(config, score_weights=weights).to_json(), encoding="utf-8")


def main() -> None:
    """Measure, print, and write on request."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--model", default="colde-minilm-l6")
    parser.add_argument("--most", type=int, default=20)
    parser.add_argument("--draws", type=int, default=60)
    parser.add_argument("--splits", nargs="+", default=list(SPLITS))
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    data = read_data([options.folder / "docs.jsonl.gz"], supervised=False)
    documents = {item.id: item for item in data.documents}
    pairs: list[LabelledPair] = []
    judged = read_pairs(options.folder / "pairs.jsonl.gz", data.numbers())
    for split in options.splits:
        some = [pair for pair in judged if pair.split == split]
        pairs += chosen(some, documents, options.most) if split == "train" else some
    with Cache.open() as cache:
        encoder = Encoder.load(options.model, device="cpu", cache=cache)
        found = scored(options.folder, data, pairs, encoder)
        print(f"{options.folder.name}: {len(pairs)} pairs, {int(found.pairs.related.sum())} related")
        measure(found, options.draws)
        calibration = fitted(found.even(np.ones(len(pairs), bool), np.random.default_rng(0)))
        print(calibration, "ceiling", calibration.ceiling)
        if options.write:
            store(encoder, options.folder.name, calibration)


if __name__ == "__main__":
    main()
