"""Fit threshold and calibration of a model to labelled pairs, measure them on unseen pairs, and store them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from colde_cli.encoder.checksums import record_checksums
from colde_cli.encoder.encoding import EncoderConfig
from colde_cli.encoder.layout import CONFIG
from colde_cli.errors import DataError, OptionError
from colde_cli.evaluation.metrics import (
    expected_calibration_error,
    reliability,
    weighted_brier,
    weighted_verdict_metrics,
)
from colde_cli.evaluation.systems import StoredVerdicts
from colde_cli.files import atomic_file, atomic_folder
from colde_cli.scoring.config import Calibration, probability
from colde_cli.scoring.fit import fit_verdict, fit_within_field
from colde_cli.scoring.profile import FieldProfile

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]

Fit = Callable[[Bools, Floats], tuple[float, Calibration]]
"""Fits threshold and calibration to labels and scores of pairs."""

FOLDS = 5


@dataclass(frozen=True, slots=True)
class Quality:
    """Metrics of a threshold and a calibration; None without one."""

    f1: float | None
    accuracy: float | None
    ece: float | None  # expected calibration error of the probabilities, over 15 bins of equal size
    brier: float | None


@dataclass(frozen=True, slots=True)
class Refit:
    """A new threshold and calibration."""

    pairs: int  # number of pairs that they are fitted to
    positives: int  # number of related ones among them
    old_threshold: float | None  # of the model; None without one
    threshold: float
    calibration: Calibration
    before: Quality  # quality of the old ones on all pairs
    after: Quality  # quality of new ones on pairs outside their fit (5-fold cross-validation)


def fit_to_field(profile: FieldProfile) -> Fit:
    """What fits threshold and calibration to few pairs of a field."""
    return partial(fit_within_field, profile=profile)


def refit(
    related: Bools,
    scores: Floats,
    threshold: float | None,
    stored: StoredVerdicts | None,
    seed: int = 0,
    fit: Fit = fit_verdict,
) -> Refit:
    """Fit threshold and calibration to labelled pairs.

    Args:
        related: bool [P].
        scores: [P], of the model.
        stored: the model's present verdicts on the pairs; None without a stored threshold.

    Raises:
        DataError: fewer than five related or five unrelated pairs.
    """
    if min(related.sum(), (~related).sum()) < FOLDS:
        raise DataError(
            f"There are {int(related.sum())} related and {int((~related).sum())} unrelated pairs; "
            f"calibration needs {FOLDS} of each at least."
        )
    from sklearn.model_selection import StratifiedKFold

    new_threshold, calibration = fit(related, scores)
    called, probabilities = np.zeros(len(related), bool), np.zeros(len(related))
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
    for fitting, held in folds.split(scores[:, None], related):
        of_fold, curve = fit(related[fitting], scores[fitting])
        called[held] = scores[held] >= of_fold
        probabilities[held] = probability(scores[held], curve)
    return Refit(
        pairs=len(related),
        positives=int(related.sum()),
        old_threshold=threshold,
        threshold=new_threshold,
        calibration=calibration,
        before=_quality(related, *((stored.called, stored.probabilities) if stored else (None, None))),
        after=_quality(related, called, probabilities),
    )


def _quality(related: Bools, called: Bools | None, probabilities: Floats | None) -> Quality:
    once = np.ones((1, len(related)))
    f1 = accuracy = ece = brier = None
    if called is not None:
        figures = weighted_verdict_metrics(related, called, once)
        f1, accuracy = float(figures["f1"][0]), float(figures["accuracy"][0])
    if probabilities is not None:
        ece = expected_calibration_error(reliability(related, probabilities))
        brier = float(weighted_brier(related, probabilities, once)[0])
    return Quality(f1, accuracy, ece, brier)


def check_target(model: Path, output: Path | None) -> None:
    """Check, before any work, that the result can be written.

    Raises:
        OptionError: the model is read-only and there is no `output`, or `output` exists or has no parent folder.
    """
    if output is None:
        if not (os.access(model, os.W_OK) and os.access(model / CONFIG, os.W_OK)):
            raise OptionError(f"The model {model} cannot be written to; add -o FOLDER to calibrate a copy of it.")
        return
    if output.exists():
        raise OptionError(f"{output} exists already; name a new folder for --output.")
    if not output.parent.is_dir():
        raise OptionError(f"There is no folder {output.parent} for {output.name}; make it first.")


def store(config: EncoderConfig, model: Path, output: Path | None) -> Path:
    """Write a configuration into the model's folder, or into a copy at `output`; returns the folder.

    A failed write leaves nothing behind.

    Raises:
        OptionError: it cannot be written.
    """
    try:
        if output is None:
            with atomic_file(model / CONFIG) as staged:
                staged.write_text(config.to_json(), encoding="utf-8")
            record_checksums(model, [CONFIG])
            return model
        with atomic_folder(output) as folder:
            # The copy of a read-only model is writable.
            shutil.copytree(model, folder, dirs_exist_ok=True, copy_function=shutil.copyfile)
            for place in (folder, *(path for path in folder.rglob("*") if path.is_dir())):
                place.chmod(0o755)
            (folder / CONFIG).write_text(config.to_json(), encoding="utf-8")
            record_checksums(folder, [CONFIG])
        return output
    except OSError as error:
        reason = error.strerror
        if isinstance(error, shutil.Error):
            # Copying goes on after an error and raises a list of all: from where, to where, and the error as text.
            reason = str(error.args[0][0][2]).partition("] ")[2].partition(": ")[0]
        place = output or model
        raise OptionError(f"{place} cannot be written ({reason}); add -o with another folder.") from error
