"""A trained head as a model folder, so that attacks and comparisons run on the graphs that users run."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
from head_runs import Run, load_head
from paper_data import PaperSet

from colde_cli.encoder.cache import Cache
from colde_cli.encoder.encoder import Encoder
from colde_cli.encoder.layout import CONFIG, ENCODER_GRAPHS, HEAD_GRAPH, TOKENIZER, WEIGHTS
from colde_cli.learning.export.graphs import write_head
from colde_cli.scoring.fit import best_threshold


def serve(run: Run, paper_set: PaperSet, shipped: Encoder, cache: Cache) -> Encoder:
    """An encoder with the head of `run`, its threshold from the validation pairs, on the shipped chunk encoder.

    Args:
        run: a training run.
        paper_set: what it was trained on.
        shipped: whose chunk encoder the head was trained on, so that its vectors in the cache serve again.
        cache: of chunk vectors.
    """
    folder = Path(run.folder) / "served"
    if not (folder / CONFIG).is_file():
        _build(run, paper_set, shipped, folder)
    return Encoder.load(folder, device="cpu", cache=cache)


def _build(run: Run, paper_set: PaperSet, shipped: Encoder, folder: Path) -> None:
    _, model = load_head(run)
    for name in (ENCODER_GRAPHS["int8"], WEIGHTS, TOKENIZER):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(shipped.folder.file(name), folder / name)
    write_head(model.head, folder / HEAD_GRAPH)
    threshold = best_threshold(paper_set.related("validation"), np.array(run.validation))
    # Last, since it says that the folder is whole.
    (folder / CONFIG).write_text(replace(model.config, threshold=threshold).to_json(), encoding="utf-8")
