"""The systems without training, scored on the pairs of a set; their scores are kept on disk."""

from __future__ import annotations

import json

from paper_data import RUNS, PaperSet

from colde_cli.encoder.encoder import Encoder
from colde_cli.evaluation.baselines import BASELINES, make_baselines
from colde_cli.evaluation.systems import ModelSystem

Scores = dict[str, dict[str, list[float]]]
"""Name of a control to split ("validation", "test") to scores."""


def control_scores(paper_set: PaperSet, encoder: Encoder) -> Scores:
    """Scores of every control; chunk vectors come from `encoder`."""
    path = RUNS / "controls" / f"{paper_set.name}.json"
    if path.is_file():
        found: Scores = json.loads(path.read_text(encoding="utf-8"))
        return found
    model = ModelSystem("vectors", encoder, retrieval=False)
    scores: Scores = {}
    for system in make_baselines(BASELINES, model):
        scorer = system.open(paper_set.field)
        scores[system.name] = {
            split: scorer.scores(paper_set.pairs(split)).tolist() for split in ("validation", "test")
        }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(scores), encoding="utf-8")
    return scores
