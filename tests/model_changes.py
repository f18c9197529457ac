"""Changes of a model's folder, which tests of damaged and hostile models are made of."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

Alteration = Callable[[Path], None]
Case = tuple[str, Alteration]

CONFIG, TOKENIZER, CARD = "config.json", "tokenizer.json", "README.md"
ENCODER, HEAD, TOWER = "chunk_encoder_quantized.onnx", "document_head.onnx", "onnx/tower.onnx"
LEXICON, DOMAINS, FIELDS, WEIGHTS = "lexicon.npz", "domains.npz", "fields.npz", "model.safetensors"
STEERING = "\x1b]52;c;aGE=\x07\x1b[31mred\x9b1m\u202egnitirw[/red][bold]"
HIDDEN = 384


def put(folder: Path, name: str, content: bytes | str) -> None:
    """Write a file anew; the file of the model that it was linked to stays as it is."""
    target = folder / name
    target.unlink(missing_ok=True)
    target.parent.mkdir(exist_ok=True)
    target.write_bytes(content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content)


def linked_model(model_folder: Path, target: Path) -> Path:
    """A copy of a model, its files as links."""
    shutil.copytree(model_folder.resolve(), target, copy_function=lambda source, to: Path(to).symlink_to(source))
    return target


def written(name: str, content: bytes | str | Callable[[], bytes | str]) -> Alteration:
    """Puts this content into a file, or what the function makes when it is needed."""
    return lambda folder: put(folder, name, content() if callable(content) else content)


def cut(name: str, share: float) -> Alteration:
    """Keeps only the beginning of a file."""

    def alter(folder: Path) -> None:
        content = (folder / name).read_bytes()
        put(folder, name, content[: int(len(content) * share)])

    return alter


def gone(name: str) -> Alteration:
    """Deletes a file."""
    return lambda folder: (folder / name).unlink()


def linked(name: str, target: str) -> Alteration:
    """Puts a link in place of a file."""

    def alter(folder: Path) -> None:
        (folder / name).unlink()
        (folder / name).symlink_to(target)

    return alter


def piped(name: str) -> Alteration:
    """Puts a named pipe in place of a file: whoever opens it waits for ever."""

    def alter(folder: Path) -> None:
        (folder / name).unlink()
        os.mkfifo(folder / name)

    return alter


def foldered(name: str) -> Alteration:
    """Puts a folder in place of a file."""

    def alter(folder: Path) -> None:
        (folder / name).unlink()
        (folder / name).mkdir()

    return alter


def locked(name: str) -> Alteration:
    """Takes all permissions from a file, or from the folder itself."""

    def alter(folder: Path) -> None:
        if name:
            put(folder, name, (folder / name).read_bytes())  # or the model would lose them too
        (folder / name).chmod(0)

    return alter


def changed(name: str, change: Callable[[Any], object]) -> Alteration:
    """Changes the values of a file of JSON in place."""

    def alter(folder: Path) -> None:
        values = json.loads((folder / name).read_text(encoding="utf-8"))
        change(values)
        put(folder, name, json.dumps(values))

    return alter


def valued(value: object, *place: str | int, name: str = CONFIG) -> Alteration:
    """Puts a value into a file of JSON."""

    def change(values: Any) -> None:
        for entry in place[:-1]:
            values = values[entry]
        values[place[-1]] = value

    return changed(name, change)


def lacking(*place: str, name: str = CONFIG) -> Alteration:
    """Takes a value out of a file of JSON."""

    def change(values: Any) -> None:
        for entry in place[:-1]:
            values = values[entry]
        del values[place[-1]]

    return changed(name, change)
