"""`colde calibrate`: threshold and probabilities of a model, fitted to pairs of one's own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from colde_cli.commands.evaluate import DATA, DocsOption, PairsOption, SplitName, option, read_fields
from colde_cli.commands.options import (
    DebugOption,
    DeviceOption,
    ModelChoice,
    NoCacheOption,
    PrecisionOption,
    QuietOption,
    Reporter,
    ThreadsOption,
    VerboseOption,
)
from colde_cli.errors import DataError

if TYPE_CHECKING:
    from colde_cli.encoder.protocol import DocumentEncoder
    from colde_cli.evaluation.calibrate import Quality, Refit
    from colde_cli.evaluation.evaluation_set import EvaluationSet


def calibrate(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="Name or folder of the model.")],
    pairs: PairsOption,
    docs: DocsOption,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            envvar="COLDE_OUTPUT",
            metavar="FOLDER",
            help="Calibrate a copy of the model in this new folder, and leave the model as it is.",
            rich_help_panel="Output",
        ),
    ] = None,
    split: Annotated[
        SplitName,
        option("--split", DATA, "Which side to fit on, where the pairs have sides.", metavar="NAME"),
    ] = SplitName.VALIDATION,
    seed: Annotated[int, option("--seed", DATA, "Of the folds.", min=0, metavar="N")] = 0,
    quiet: QuietOption = False,
    verbose: VerboseOption = False,
    debug: DebugOption = False,
    device: DeviceOption = "auto",
    precision: PrecisionOption = "auto",
    threads: ThreadsOption = None,
    no_cache: NoCacheOption = False,
) -> None:
    """Fit a model's threshold and probabilities to your pairs.

    The threshold with the best F1, and the calibration (Platt's sigmoid below
    1,000 pairs, isotonic regression above), are stored with the model. The
    figures after are of a 5-fold cross-validation. Needs the evaluate extra.
    """
    from colde_cli.commands.options import require_extra

    require_extra("evaluate", "colde calibrate")
    from colde_cli import settings
    from colde_cli.evaluation.calibrate import check_target, store

    folder = settings.resolve_model(model)
    check_target(folder, output)
    fields = read_fields(docs, pairs, [], split.value)
    reporter = Reporter(quiet, verbose)
    encoder = ModelChoice(model, device, precision, threads, no_cache).load(parts=False)
    reporter.about_model(encoder)
    found = _refit(encoder, fields, seed, reporter)
    config = encoder.config.fitted(found.threshold, found.calibration)
    typer.echo(_report(found, store(config, folder, output)))


def _refit(encoder: DocumentEncoder, fields: list[EvaluationSet], seed: int, reporter: Reporter) -> Refit:
    """Score the pairs of all fields and fit to them together."""
    import numpy as np

    from colde_cli.evaluation.calibrate import refit
    from colde_cli.evaluation.systems import ModelSystem, joined_verdicts
    from colde_cli.views.messages import progress

    related, scores, found = [], [], []
    with progress("Encoding", "chunks", show=not reporter.quiet) as advance:
        system = ModelSystem(encoder.folder.name, encoder, retrieval=False, progress=advance)
        for field in fields:
            scorer = system.open(field)
            ids = [(pair.a, pair.b) for pair in field.pairs]
            scores.append(scorer.scores(ids))
            found.append(scorer.stored(ids) if scorer.stored else None)
            related += [pair.related for pair in field.pairs]
    said = [item for item in found if item is not None]
    before = joined_verdicts(said) if len(said) == len(fields) else None
    try:
        return refit(np.array(related), np.concatenate(scores), encoder.config.threshold, before, seed)
    except DataError as error:
        raise DataError(f"{', '.join(field.name for field in fields)}: {error}") from error


def _report(found: Refit, folder: Path) -> str:
    old = "none" if found.old_threshold is None else f"{found.old_threshold:.3f}"
    lines = [
        f"{folder}: fitted on {found.pairs:,} pairs, {found.positives:,} of them related",
        f"threshold    {old} → {found.threshold:.3f}",
        f"calibration  {found.calibration.kind}",
        "",
        "             before   after (5-fold)",
    ]
    for title, name in (("F1", "f1"), ("accuracy", "accuracy"), ("ECE", "ece"), ("Brier", "brier")):
        lines.append(f"{title:<11}  {_value(found.before, name):<7}  {_value(found.after, name)}")
    return "\n".join(lines)


def _value(quality: Quality, name: str) -> str:
    value = getattr(quality, name)
    return "–" if value is None else f"{value:.3f}"
