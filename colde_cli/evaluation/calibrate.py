"""Threshold and calibration of a model from somebody's own pairs, and what they are worth on pairs not seen."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from colde_cli.encoder.layout import CONFIG
from colde_cli.encoder.protocol import EncoderConfig
from colde_cli.errors import DataError, OptionError
from colde_cli.evaluation.metrics import (
    brier_scores,
    expected_calibration_error,
    reliability,
    threshold_figures,
)
from colde_cli.evaluation.systems import Stored
from colde_cli.scoring.calibration import Calibration, probability
from colde_cli.scoring.fit import best_threshold, fit_calibration

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]

FOLDS = 5


@dataclass(frozen=True, slots=True)
class Quality:
    """What a threshold and a calibration are worth; None where there is none to judge.

    Attributes:
        f1: at the threshold.
        accuracy: at the threshold.
        ece: of the probabilities, over 15 bins of equal mass.
        brier: of the probabilities.
    """

    f1: float | None
    accuracy: float | None
    ece: float | None
    brier: float | None


@dataclass(frozen=True, slots=True)
class Refit:
    """A threshold and a calibration, fitted anew.

    Attributes:
        pairs: how many they rest on.
        positives: how many of them are related.
        old_threshold: what the model had; None for none.
        threshold: fitted on all pairs: best F1.
        calibration: fitted on all pairs.
        before: of what the model had, on all pairs.
        after: of the new ones on pairs that took no part in their fit (5-fold cross-validation).
    """

    pairs: int
    positives: int
    old_threshold: float | None
    threshold: float
    calibration: Calibration
    before: Quality
    after: Quality


def refit(
    related: Bools, scores: Floats, threshold: float | None, stored: Stored | None, seed: int = 0
) -> Refit:
    """Fit threshold and calibration to judged pairs.

    Args:
        related: bool [P].
        scores: [P], of the model.
        threshold: what the model has now.
        stored: what the model says of the pairs now; None where it says nothing.
        seed: of the folds.

    Raises:
        DataError: fewer than five related or five unrelated pairs.
    """
    if min(related.sum(), (~related).sum()) < FOLDS:
        raise DataError(
            f"There are {int(related.sum())} related and {int((~related).sum())} unrelated pairs; "
            f"calibration needs {FOLDS} of each at least, and means little below a hundred."
        )
    return Refit(
        pairs=len(related),
        positives=int(related.sum()),
        old_threshold=threshold,
        threshold=best_threshold(related, scores),
        calibration=fit_calibration(related, scores),
        before=_quality(related, *((stored.called, stored.chances) if stored else (None, None))),
        after=_cross_validated(related, scores, seed),
    )


def _cross_validated(related: Bools, scores: Floats, seed: int) -> Quality:
    from sklearn.model_selection import StratifiedKFold

    verdicts, chances = np.zeros(len(related), bool), np.zeros(len(related))
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
    for fitting, held in folds.split(scores[:, None], related):
        verdicts[held] = scores[held] >= best_threshold(related[fitting], scores[fitting])
        chances[held] = probability(scores[held], fit_calibration(related[fitting], scores[fitting]))
    return _quality(related, verdicts, chances)


def _quality(related: Bools, verdicts: Bools | None, chances: Floats | None) -> Quality:
    ones = np.ones((1, len(related)))
    figures = {}
    if verdicts is not None:
        figures = threshold_figures(related, verdicts, ones)
    return Quality(
        f1=float(figures["f1"][0]) if figures else None,
        accuracy=float(figures["accuracy"][0]) if figures else None,
        ece=None if chances is None else expected_calibration_error(reliability(related, chances)),
        brier=None if chances is None else float(brier_scores(related, chances, ones)[0]),
    )


def check_target(model: Path, output: Path | None) -> None:
    """Say before the work, not after it, that its result has nowhere to go.

    Raises:
        OptionError: the model cannot be written to and there is no `output`, or `output` is in the way.
    """
    if output is None:
        if not (os.access(model, os.W_OK) and os.access(model / CONFIG, os.W_OK)):
            raise OptionError(
                f"The model {model} cannot be written to; add -o FOLDER to calibrate a copy of it."
            )
        return
    if output.exists():
        raise OptionError(f"{output} exists already; name a new folder for --output.")
    if not output.parent.is_dir():
        raise OptionError(f"There is no folder {output.parent} for {output.name}; make it first.")


def store(config: EncoderConfig, model: Path, output: Path | None) -> Path:
    """Write a configuration into the model's folder, or into a copy of it; returns the folder.

    Either appears whole or not at all.

    Raises:
        OptionError: it cannot be written.
    """
    try:
        if output is None:
            _replace(model / CONFIG, config.to_json())
            return model
        return _copy(model, output, lambda staged: _replace(staged / CONFIG, config.to_json()))
    except OSError as error:
        place = output or model
        raise OptionError(
            f"{place} cannot be written ({error.strerror}); add -o with another folder."
        ) from error


def _replace(path: Path, text: str) -> None:
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        Path(name).chmod(path.stat().st_mode & 0o777)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _copy(model: Path, output: Path, change: Callable[[Path], None]) -> Path:
    staged = Path(tempfile.mkdtemp(prefix=f".{output.name}.", dir=output.parent))
    try:
        shutil.copytree(model, staged, dirs_exist_ok=True, copy_function=shutil.copyfile)
        # A copy of a model that is read-only is not: its owner may change it again.
        for place in (staged, *(path for path in staged.rglob("*") if path.is_dir())):
            place.chmod(0o755)
        change(staged)
        staged.rename(output)
    except BaseException:
        shutil.rmtree(staged, ignore_errors=True)
        raise
    return output
