"""A trained model to a folder that `--model` opens; it appears whole or not at all."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from colde_cli.encoder.layout import CARD, CONFIG, TOKENIZER, WEIGHTS
from colde_cli.learning.export.export import export_model
from colde_cli.learning.networks.colde import Colde, save_weights


def write_model(
    model: Colde, tokenizer: str, card: str, calibration_ids: Sequence[Sequence[int]], folder: Path
) -> None:
    """Write weights, configuration, tokenizer, card and graphs; a folder of that name is replaced at the end.

    Args:
        model: with its best weights, threshold and calibration in its configuration.
        tokenizer: the text of `tokenizer.json`.
        card: the text of `README.md`.
        calibration_ids: see `export_model`.
        folder: of the model.
    """
    with new_folder(folder, model.config.to_json(), tokenizer, card) as staged:
        save_weights(model, staged / WEIGHTS)
        export_model(staged, calibration_ids)


@contextmanager
def new_folder(folder: Path, config: str, tokenizer: str, card: str) -> Iterator[Path]:
    """A folder with the texts of a model, to be filled; at the end of the context it is put where `folder` is.

    Args:
        folder: of the model.
        config: the text of `config.json`.
        tokenizer: the text of `tokenizer.json`.
        card: the text of `README.md`.
    """
    staged = folder.with_name(folder.name + ".partial")
    shutil.rmtree(staged, ignore_errors=True)
    staged.mkdir(parents=True)
    for name, text in ((CONFIG, config), (TOKENIZER, tokenizer), (CARD, card)):
        (staged / name).write_text(text, encoding="utf-8")
    yield staged
    _replace(staged, folder)


def _replace(staged: Path, folder: Path) -> None:
    """Put `staged` where `folder` is; a folder cannot be renamed onto one that holds something."""
    if not folder.exists():
        staged.rename(folder)
        return
    old = folder.with_name(folder.name + ".old")
    shutil.rmtree(old, ignore_errors=True)
    folder.rename(old)
    staged.rename(folder)
    shutil.rmtree(old)
