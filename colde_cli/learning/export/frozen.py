"""Chunk vectors of a backbone that is not trained, from the very graph that will serve it.

A head that learns on the vectors of the int8 graph knows them as they are at inference, and the graph is
several times faster than PyTorch; vectors that the cache knows are not computed again.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from colde_cli.encoder.cache import Cache
from colde_cli.encoder.encoder import Encoder
from colde_cli.encoder.layout import CONFIG, TOKENIZER, WEIGHTS
from colde_cli.learning.export.export import export_model
from colde_cli.learning.networks.colde import Colde, save_weights


@contextmanager
def frozen_encoder(
    model: Colde,
    tokenizer: str,
    calibration_ids: Sequence[Sequence[int]],
    *,
    device: str = "auto",
    cache: Cache | None = None,
) -> Iterator[Encoder]:
    """The runtime encoder of an untrained model, for as long as the context lasts.

    Args:
        model: the network as it stands; its backbone will not change any more.
        tokenizer: the text of `tokenizer.json`.
        calibration_ids: see `calibration_chunks`.
        device: as for `Encoder.load`.
        cache: where vectors are kept between runs.
    """
    with tempfile.TemporaryDirectory(prefix="colde-frozen-") as scratch:
        folder = Path(scratch) / "model"
        folder.mkdir()
        (folder / CONFIG).write_text(model.config.to_json(), encoding="utf-8")
        (folder / TOKENIZER).write_text(tokenizer, encoding="utf-8")
        save_weights(model, folder / WEIGHTS)
        export_model(folder, calibration_ids)
        yield Encoder.load(folder, device=device, cache=cache)
