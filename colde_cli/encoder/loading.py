"""Open models and field profiles by name or folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from colde_cli import settings
from colde_cli.encoder.encoding import DocumentEncoder
from colde_cli.encoder.layout import ModelFolder, SystemFolder, is_other_system, open_folder, open_system_folder
from colde_cli.encoder.vector_cache import Cache
from colde_cli.errors import OptionError, called
from colde_cli.scoring.config import Scorable
from colde_cli.scoring.profile import Field, FieldProfile, ModelStatistics
from colde_cli.scoring.profile_learning import learn_profile


def open_model(path: Path) -> ModelFolder | SystemFolder:
    """Open a model folder of any system.

    Raises:
        ModelError: there is no such folder, or it holds no model that this version knows.
    """
    return open_system_folder(path) if is_other_system(path) else open_folder(path)


def open_encoder(
    model: str | Path = settings.DEFAULT_MODEL,
    *,
    device: str = "auto",
    precision: str = "auto",
    cache: Cache | None = None,
    threads: int | None = None,
    parts: bool = True,
    ahead: bool = True,
) -> DocumentEncoder:
    """Open a model of any system by name or folder.

    Args:
        device: "auto", "cpu", "cuda" or "cuda:N".
        precision: "auto", "int8", "fp16" or "fp32"; other systems than CoLDE have fp32 only.
        cache: keeps vectors between runs; None keeps none.
        threads: texts encoded at the same time on the CPU; one per usable core if None.
        parts: False skips the section and chunk vectors of another system, which saves most of the work. CoLDE needs
            its chunk vectors in any case.
        ahead: open all of CoLDE now, which False does not where the cache or an index may know all documents.

    Raises:
        ModelError: there is no such model, or a file of it is missing.
        DeviceError: the device is not usable.
        OptionError: there is no such device or precision.
    """
    folder = settings.resolve_model(model)
    if is_other_system(folder):
        from colde_cli.encoder.system_encoder import SystemEncoder

        return SystemEncoder.load(folder, device=device, precision=precision, cache=cache, threads=threads, parts=parts)
    from colde_cli.encoder.encoder import Encoder

    return Encoder.load(folder, device=device, precision=precision, cache=cache, threads=threads, ahead=ahead)


def learn_field(name: str, documents: Sequence[Scorable], encoder: DocumentEncoder) -> Field:
    """Learn the field of documents that `encoder` has encoded, at least one.

    Raises:
        OptionError: the model can have no profiles.
    """
    statistics, score_weights = model_statistics(encoder), encoder.config.score_weights
    assert score_weights is not None, "a model with a lexicon has weights"
    return Field(learn_profile(name, documents, statistics, score_weights), statistics)


def open_field(name_or_folder: str | Path, encoder: DocumentEncoder) -> Field:
    """Open a field profile for a model.

    Raises:
        ModelError: there is no such profile, it is damaged, or another model made it.
        OptionError: the model can have no profiles.
    """
    return Field(FieldProfile.load(settings.resolve_profile(name_or_folder)), model_statistics(encoder))


def model_statistics(encoder: DocumentEncoder) -> ModelStatistics:
    """What profiles are blended with.

    Raises:
        OptionError: the model has none.
    """
    if encoder.statistics is None:
        raise OptionError(
            f"The model {encoder.info.name} counts no words, which field profiles need; use another {called('model')}."
        )
    return encoder.statistics
