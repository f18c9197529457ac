"""`colde calibrate`: fit a model's threshold and probabilities to your own pairs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from colde_cli.commands.options import (
    DATA,
    OUTPUT,
    DebugOption,
    DeviceOption,
    DocsOption,
    ModelChoice,
    NoCacheOption,
    PairsOption,
    PrecisionOption,
    QuietOption,
    Reporter,
    SplitName,
    ThreadsOption,
    VerboseOption,
    require_extra,
)
from colde_cli.errors import DataError
from colde_cli.recipes import option

if TYPE_CHECKING:
    from colde_cli.encoder.encoding import DocumentEncoder
    from colde_cli.evaluation.calibrate import Quality, Refit
    from colde_cli.evaluation.evaluation_set import EvaluationSet


def calibrate(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="Name or folder of the model.")],
    pairs: PairsOption,
    docs: DocsOption,
    output: Annotated[
        Path | None,
        option(
            "--output",
            "-o",
            panel=OUTPUT,
            metavar="FOLDER",
            help="Write a calibrated copy to this new folder, and leave the model unchanged.",
        ),
    ] = None,
    split: Annotated[
        SplitName,
        option("--split", panel=DATA, metavar="NAME", help="Split to fit on, if the data has splits."),
    ] = SplitName.VALIDATION,
    seed: Annotated[
        int, option("--seed", panel=DATA, min=0, metavar="N", help="Seed of the cross-validation.")
    ] = 0,
    quiet: QuietOption = False,
    verbose: VerboseOption = False,
    debug: DebugOption = False,
    device: DeviceOption = "auto",
    precision: PrecisionOption = "auto",
    threads: ThreadsOption = None,
    no_cache: NoCacheOption = False,
) -> None:
    """Fit a model's threshold and probabilities to your pairs.

    The threshold with the best F1 and a calibration (Platt's sigmoid below
    1,000 pairs, isotonic regression above) are stored with the model. The
    figures "after" come from a 5-fold cross-validation. Needs the evaluate
    extra.
    """
    require_extra("evaluate", "colde calibrate")
    from colde_cli import settings
    from colde_cli.evaluation.calibrate import check_target, store
    from colde_cli.evaluation.evaluation_set import read_evaluation_sets

    folder = settings.resolve_model(model)
    check_target(folder, output)
    sets = read_evaluation_sets(docs, pairs, [], split.value)
    reporter = Reporter(quiet, verbose)
    encoder = ModelChoice(model, device, precision, threads, no_cache).load(parts=False)
    reporter.about_model(encoder)
    refit = _refit(encoder, sets, seed, reporter)
    config = encoder.config.fitted(refit.threshold, refit.calibration)
    typer.echo(_report(refit, store(config, folder, output)))


def _refit(encoder: DocumentEncoder, sets: list[EvaluationSet], seed: int, reporter: Reporter) -> Refit:
    """Score the pairs of all data sets and fit to them together."""
    import numpy as np

    from colde_cli.evaluation.calibrate import refit
    from colde_cli.evaluation.systems import ModelSystem, joined_verdicts
    from colde_cli.views.output import progress

    related, scores, stored = [], [], []
    with progress("Encoding", "chunks", show=not reporter.quiet) as advance:
        system = ModelSystem(encoder.folder.name, encoder, retrieval=False, progress=advance)
        for evaluation_set in sets:
            scorer = system.open(evaluation_set)
            ids = [(pair.a, pair.b) for pair in evaluation_set.pairs]
            scores.append(scorer.scores(ids))
            stored.append(scorer.stored(ids) if scorer.stored else None)
            related += [pair.related for pair in evaluation_set.pairs]
    verdicts = [item for item in stored if item is not None]
    before = joined_verdicts(verdicts) if len(verdicts) == len(sets) else None
    try:
        return refit(np.array(related), np.concatenate(scores), encoder.config.threshold, before, seed)
    except DataError as error:
        raise DataError(f"{', '.join(item.name for item in sets)}: {error}") from error


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
