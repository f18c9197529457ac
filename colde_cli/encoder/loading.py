"""Open a model of any system by name or folder."""

from __future__ import annotations

from pathlib import Path

from colde_cli import settings
from colde_cli.encoder.cache import Cache
from colde_cli.encoder.layout import ModelFolder, open_folder
from colde_cli.encoder.protocol import DocumentEncoder
from colde_cli.encoder.towers.layout import TowerFolder, is_tower, open_tower_folder


def open_model(path: Path) -> ModelFolder | TowerFolder:
    """Open a model folder of any system.

    Raises:
        ModelError: there is no such folder, or it holds no model that this version knows.
    """
    return open_tower_folder(path) if is_tower(path) else open_folder(path)


def open_encoder(
    model: str | Path = settings.DEFAULT_MODEL,
    *,
    device: str = "auto",
    precision: str = "auto",
    cache: Cache | None = None,
    threads: int | None = None,
    parts: bool = True,
) -> DocumentEncoder:
    """Open a model of any system by name or folder.

    Args:
        model: name on the model path, or a folder.
        device: "auto", "cpu", "cuda" or "cuda:N".
        precision: "auto", "int8", "fp16" or "fp32"; towers have fp32 only.
        cache: keeps vectors between runs; None keeps none.
        threads: texts encoded at the same time on the CPU; one per usable core if None.
        parts: False skips the section and chunk vectors of a tower, which saves most of the work. CoLDE needs its
            chunk vectors in any case.

    Raises:
        ModelError: there is no such model, or a file of it is missing.
        DeviceError: the device is not usable.
        OptionError: there is no such device or precision.
    """
    folder = settings.resolve_model(model)
    if is_tower(folder):
        from colde_cli.encoder.towers.tower_encoder import TowerEncoder

        return TowerEncoder.load(
            folder, device=device, precision=precision, cache=cache, threads=threads, parts=parts
        )
    from colde_cli.encoder.encoder import Encoder

    return Encoder.load(folder, device=device, precision=precision, cache=cache, threads=threads)
