"""Learn and open field profiles for a model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from colde_cli import settings
from colde_cli.encoder.protocol import DocumentEncoder
from colde_cli.errors import OptionError
from colde_cli.scoring.adapt import learn_profile
from colde_cli.scoring.profile import Field, FieldProfile, ModelStatistics
from colde_cli.scoring.score import Scorable


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
            f"The model {encoder.info.name} counts no words, which field profiles need; use another --model."
        )
    return encoder.statistics
