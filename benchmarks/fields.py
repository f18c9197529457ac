"""Measure whether the percentiles of a field are uniform.

    python benchmarks/fields.py DATA... [--split test] [--model NAME] [--splits 20]

DATA are folders with `docs.jsonl.gz` and `pairs.jsonl.gz` (docs/training-data.md).
The documents of the pairs are cut in two at random, many times. One half makes a profile, and the other half is
paired off: every document stands in one pair, so pairs are independent. If percentiles mean what they say, they are
uniform (Kolmogorov-Smirnov). So few pairs would hide a small departure. Therefore the distance is also given for all
pairs of the other half, which are not independent and have no p, with the share of pairs that are said to be "closer
than 95 %" and "closer than 99 %" of pairs. No label is used. Needs the `evaluate` extra.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import kstest
from script import arguments

from colde_cli.encoder.encoder import Encoder
from colde_cli.encoder.encoding import Encoding
from colde_cli.encoder.loading import learn_field
from colde_cli.encoder.vector_cache import Cache
from colde_cli.evaluation.data import EvaluationSet, read_evaluation_sets
from colde_cli.evaluation.systems import ModelSystem
from colde_cli.scoring.profile import Field
from colde_cli.scoring.score import scores_with_many


def print_uniformity(evaluation_set: EvaluationSet, system: ModelSystem, splits: int) -> None:
    """Kolmogorov-Smirnov distances of percentiles of held-out pairs from the uniform distribution."""
    documents = list(system.encodings(evaluation_set).values())
    generator, rows = np.random.default_rng(0), []
    half = len(documents) // 2
    for _ in range(splits):
        order = generator.permutation(len(documents)).tolist()
        field = learn_field("half", [documents[number] for number in order[:half]], system.encoder)
        found = percentiles([documents[number] for number in order[half:]], field, system.encoder)
        # Documents stand in random order: first with second, third with fourth.
        paired_off = np.diagonal(found, 1)[::2]
        test, among_all = kstest(paired_off, "uniform"), found[np.triu_indices(len(found), 1)]
        distance = kstest(among_all, "uniform").statistic
        rows.append((test.statistic, test.pvalue, distance, (among_all > 0.95).mean(), (among_all > 0.99).mean()))
    single, chance, distance, five, one = np.median(rows, axis=0)
    rejected = sum(row[1] < 0.05 for row in rows)
    print(
        f"  percentiles, {half} documents in a profile, {len(paired_off)} held-out pairs:"
        f" distance from uniform {single:.3f} (median), p {chance:.2f} (median),"
        f" p < .05 in {rejected} of {splits} splits"
    )
    print(
        f"  all {len(among_all)} pairs of the other half: distance {distance:.3f} (medians);"
        f" {five:.1%} said to be closer than 95 %, {one:.1%} closer than 99 %"
    )


def percentiles(documents: list[Encoding], field: Field, encoder: Encoder) -> NDArray[np.float64]:
    """The percentiles of all pairs of documents [n, n]; 0 below the diagonal."""
    found = np.zeros((len(documents), len(documents)))
    for row, document in enumerate(documents[:-1]):
        scores = scores_with_many(document, documents[row + 1 :], encoder.config, field)
        found[row, row + 1 :] = [field.profile.percentile(score) for score in scores.tolist()]
    return found


def main() -> None:
    """Measure and print."""
    options = arguments(__doc__, "data...", split="test", model="colde-minilm-l6", splits=20)
    encoder = Encoder.load(options.model, device="cpu", cache=Cache.open())
    for folder in options.data:
        (labelled,) = read_evaluation_sets([folder / "docs.jsonl.gz"], [folder / "pairs.jsonl.gz"], [], options.split)
        system = ModelSystem("field", encoder, retrieval=False)
        print(f"{folder.name}, {len(system.encodings(labelled))} documents")
        print_uniformity(labelled, system, options.splits)


if __name__ == "__main__":
    main()
