"""`colde calibrate`: fit the threshold and probabilities of a model or a field profile to your own pairs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from colde_cli.commands import options
from colde_cli.commands.options import DATA, Reporter, Runtime, option, require_extra
from colde_cli.errors import DataError, OptionError

if TYPE_CHECKING:
    from collections.abc import Callable

    from colde_cli.encoder.encoding import DocumentEncoder
    from colde_cli.evaluation.data import EvaluationSet
    from colde_cli.evaluation.refit import Quality, Refit
    from colde_cli.evaluation.systems import ModelSystem

    Writer = Callable[[ModelSystem, EvaluationSet, Refit], Path]


def calibrate(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="Name or folder of the model.")],
    pairs: options.PairsOption,
    docs: options.DocsOption,
    *,
    field: Annotated[
        str | None,
        option(
            "--field",
            panel=DATA,
            metavar="docs|NAME|FOLDER",
            help="Calibrate a field profile, not the model: a new one (docs) or one of colde adapt.",
        ),
    ] = None,
    output: options.FolderOption = None,
    split: options.SplitOption = options.SplitName.VALIDATION,
    seed: options.SeedOption = 0,
    reporter: Reporter,
    runtime: Runtime,
) -> None:
    """Fit the threshold and probabilities of a model or a field to your pairs.

    The threshold with the best F1 and a calibration (Platt's sigmoid below
    1,000 pairs, isotonic regression above) are stored with the model. With
    --field they are fitted so that 20 to 100 pairs of a field can do, and
    stored with its profile. The figures "after" come from a 5-fold
    cross-validation. Needs the evaluate extra.
    """
    require_extra("evaluate", "colde calibrate")
    from colde_cli.evaluation.data import read_evaluation_sets
    from colde_cli.evaluation.systems import DOCS

    write = _writer(model, output) if field is None else _profile_writer(field, output)
    sets = read_evaluation_sets(docs, pairs, [], split.value)
    if field == DOCS and len(sets) > 1:
        raise OptionError("--field docs makes one profile, of one data set; give one file with --docs.")
    encoder = runtime.load(model, parts=False)
    reporter.about_model(encoder.info)
    system, refit = _refit(encoder, sets, field, seed, reporter)
    typer.echo(_report(refit, write(system, sets[0], refit)))


def _writer(model: str, output: str | None) -> Writer:
    """Check that the model can be written, before any work; what is returned writes it."""
    from colde_cli.evaluation.refit import check_target, store
    from colde_cli.settings import resolve_model

    folder, target = resolve_model(model), None if output is None else Path(output)
    check_target(folder, target)

    def write(system: ModelSystem, evaluation_set: EvaluationSet, refit: Refit) -> Path:
        return store(system.encoder.config.fitted(refit.threshold, refit.calibration), folder, target)

    return write


def _profile_writer(field: str, output: str | None) -> Writer:
    """The same for a field profile."""
    from dataclasses import replace

    from colde_cli.corpus.records import check_profile_folder, save_profile
    from colde_cli.evaluation.systems import DOCS
    from colde_cli.scoring.profile import FieldCalibration
    from colde_cli.settings import profile_folder, resolve_profile

    if field == DOCS and output is None:
        raise OptionError("--field docs makes a new profile; name it with -o NAME.")
    folder = resolve_profile(field) if output is None else profile_folder(output)
    check_profile_folder(folder)

    def write(system: ModelSystem, evaluation_set: EvaluationSet, refit: Refit) -> Path:
        found = system.field(evaluation_set)
        assert found is not None, "scored within a field"
        fitted = FieldCalibration(refit.threshold, refit.calibration, refit.pairs)
        name = found.profile.name if output is None else folder.name
        save_profile(replace(found.profile, name=name, calibrated=fitted), folder)
        return folder

    return write


def _refit(
    encoder: DocumentEncoder, sets: list[EvaluationSet], field: str | None, seed: int, reporter: Reporter
) -> tuple[ModelSystem, Refit]:
    """Score the pairs of all data sets and fit to them together."""
    import numpy as np

    from colde_cli.evaluation.refit import fit_to_field, refit
    from colde_cli.evaluation.systems import ModelSystem, joined_verdicts
    from colde_cli.scoring.fit import fit_verdict

    related, scores, stored = [], [], []
    with reporter.progress("Encoding", "chunks") as advance:
        system = ModelSystem(encoder.folder.name, encoder, retrieval=False, field=field, progress=advance)
        for evaluation_set in sets:
            scorer = system.open(evaluation_set)
            ids = [(pair.a, pair.b) for pair in evaluation_set.pairs]
            scores.append(scorer.scores(ids))
            stored.append(scorer.stored(ids) if scorer.stored else None)
            related += [pair.related for pair in evaluation_set.pairs]
    verdicts = [item for item in stored if item is not None]
    before = joined_verdicts(verdicts) if len(verdicts) == len(sets) else None
    within = system.field(sets[0])
    fit = fit_verdict if within is None else fit_to_field(within.profile)
    try:
        found = refit(np.array(related), np.concatenate(scores), system.threshold, before, seed, fit)
    except DataError as error:
        raise DataError(f"{', '.join(item.name for item in sets)}: {error}") from error
    return system, found


def _report(refit: Refit, folder: Path) -> str:
    from colde_cli.views.escaping import visible

    old = "none" if refit.old_threshold is None else f"{refit.old_threshold:.3f}"
    lines = [
        f"{visible(str(folder))}: fitted on {refit.pairs:,} pairs, {refit.positives:,} of them related",
        f"threshold    {old} → {refit.threshold:.3f}",
        f"calibration  {refit.calibration.kind}",
        "",
        "             before   after (5-fold)",
    ]
    for title, name in (("F1", "f1"), ("accuracy", "accuracy"), ("ECE", "ece"), ("Brier", "brier")):
        lines.append(f"{title:<11}  {_value(refit.before, name):<7}  {_value(refit.after, name)}")
    return "\n".join(lines)


def _value(quality: Quality, name: str) -> str:
    value = getattr(quality, name)
    return "–" if value is None else f"{value:.3f}"
