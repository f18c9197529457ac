"""A trained model to a folder that `--model` opens; it appears whole or not at all."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from colde_cli.encoder.layout import CONFIG, TOKENIZER


@contextmanager
def new_folder(folder: Path, config: str, tokenizer: str) -> Iterator[Path]:
    """A folder with the first files of a model, to be filled; at the end of the context it is put where `folder` is.

    Args:
        folder: of the model.
        config: the text of `config.json`.
        tokenizer: the text of `tokenizer.json`.
    """
    staged = folder.with_name(folder.name + ".partial")
    shutil.rmtree(staged, ignore_errors=True)
    staged.mkdir(parents=True)
    for name, text in ((CONFIG, config), (TOKENIZER, tokenizer)):
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
