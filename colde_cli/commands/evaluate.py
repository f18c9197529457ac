"""`colde evaluate`: models and controls on judged pairs."""

from __future__ import annotations

from collections import Counter
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from colde_cli.commands.common import (
    DebugOption,
    DeviceOption,
    ModelChoice,
    NoCacheOption,
    OutputOption,
    PrecisionOption,
    QuietOption,
    Talk,
    ThreadsOption,
    VerboseOption,
    format_option,
)
from colde_cli.commands.judged import DATA, DocsOption, PairsOption, SplitName, option, read_fields
from colde_cli.views.output import Format, choose_format, deliver

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from colde_cli.evaluation.evaluate import Attack
    from colde_cli.evaluation.field import Field
    from colde_cli.evaluation.measuring import Plan
    from colde_cli.evaluation.result import Evaluation
    from colde_cli.evaluation.systems import ModelSystem

_FIGURES = "Figures"
_FORMATS = (Format.TABLE, Format.JSON, Format.CSV, Format.HTML)


class ControlName(StrEnum):
    """Systems that need no training."""

    TFIDF = "tfidf"
    BM25 = "bm25"
    MEAN = "mean"
    CENTRED_MEAN = "centred-mean"
    MAX_MEAN = "max-mean"
    ALL = "all"


def evaluate(
    models: Annotated[
        list[str], typer.Argument(metavar="MODEL...", help="Models to measure, by name or folder.")
    ],
    pairs: PairsOption,
    docs: DocsOption,
    validation: Annotated[
        list[Path] | None,
        option(
            "--validation",
            DATA,
            "Pairs that set the thresholds; those of the validation split of --pairs if not given.",
            metavar="FILE",
        ),
    ] = None,
    split: Annotated[
        SplitName,
        option("--split", DATA, "Which side to measure, where the data has sides.", metavar="NAME"),
    ] = SplitName.TEST,
    control: Annotated[
        list[ControlName] | None,
        option(
            "--control",
            _FIGURES,
            "Measure a control as well: tfidf, bm25, mean, centred-mean, max-mean or all; repeatable.",
            metavar="NAME",
        ),
    ] = None,
    retrieval: Annotated[
        bool, option("--retrieval", _FIGURES, "Search every document's partners among all.", metavar="")
    ] = False,
    robustness: Annotated[
        str | None,
        option(
            "--robustness",
            _FIGURES,
            "Change documents and score the models again: length, shuffle, elongation, or several with commas.",
            metavar="NAMES",
        ),
    ] = None,
    bootstrap: Annotated[
        int,
        option("--bootstrap", _FIGURES, "Draws for intervals and tests; 0 for none.", min=0, metavar="N"),
    ] = 2000,
    seed: Annotated[int, option("--seed", _FIGURES, "Of the bootstrap.", min=0, metavar="N")] = 0,
    format: Annotated[Format | None, format_option("table|json|csv|html")] = None,
    output: OutputOption = None,
    quiet: QuietOption = False,
    verbose: VerboseOption = False,
    debug: DebugOption = False,
    device: DeviceOption = "auto",
    precision: PrecisionOption = "auto",
    threads: ThreadsOption = None,
    no_cache: NoCacheOption = False,
) -> None:
    """Measure models on judged pairs, beside controls.

    Thresholds come from validation pairs, never from the pairs that are
    measured. Every system is tested against the first. What the figures mean
    is in docs/evaluation.md. Needs the evaluate extra.
    """
    from colde_cli.commands.extras import require_extra

    require_extra("evaluate", "colde evaluate")
    from colde_cli.commands.attacking import make_attack
    from colde_cli.evaluation.measuring import Plan

    chosen = choose_format(format, output, map(str, (*pairs, *docs, *(validation or []))), _FORMATS)
    attack = make_attack(robustness, seed)
    talk = Talk(quiet, verbose)
    fields = read_fields(docs, pairs, validation or [], split.value)
    plan = Plan(split.value, retrieval, bootstrap, seed)
    options = {"device": device, "precision": precision, "threads": threads, "no_cache": no_cache}
    found = _measure(models, control or [], fields, plan, talk, options, attack)
    deliver(_shown(found, chosen, output), output)


def _measure(
    models: Sequence[str],
    controls: Sequence[ControlName],
    fields: Sequence[Field],
    plan: Plan,
    talk: Talk,
    options: dict[str, Any],
    attack: Attack | None,
) -> Evaluation:
    from colde_cli.evaluation.controls import CHUNK_CONTROLS, CONTROLS, make_controls
    from colde_cli.evaluation.evaluate import evaluate as measure
    from colde_cli.views.messages import progress

    asked = list(dict.fromkeys(item.value for item in controls))
    names = list(CONTROLS) if ControlName.ALL.value in asked else asked
    show = not talk.quiet
    # Changed documents are compared chunk by chunk; controls take the chunks of the first model.
    chunks = len(models) if attack is not None else int(bool(set(names) & CHUNK_CONTROLS))
    with progress("Encoding", "chunks", show=show) as advance:
        opened = _open_models(models, chunks, plan.retrieval, talk, options, advance)
        for model in opened:
            for field in fields:
                model.encodings(field)
    systems = [*opened, *make_controls(names, opened[0])]
    with progress("Measuring", "systems", len(systems) * len(fields), show=show) as advance:
        return measure(systems, fields, plan, advance, attack)


def _open_models(
    models: Sequence[str],
    chunks: int,
    retrieval: bool,
    talk: Talk,
    options: dict[str, Any],
    progress: Callable[[int], None],
) -> list[ModelSystem]:
    """Every model once, named by its folder, or as it was given where two folders have one name.

    Of the first `chunks` models the vectors of chunks are needed as well.
    """
    from colde_cli.evaluation.systems import ModelSystem

    given = list(dict.fromkeys(models))
    encoders = [
        ModelChoice(model, **options).load(parts=number < chunks) for number, model in enumerate(given)
    ]
    counts = Counter(encoder.folder.name for encoder in encoders)
    systems = []
    for model, encoder in zip(given, encoders, strict=True):
        talk.about_model(encoder)
        name = encoder.folder.name if counts[encoder.folder.name] == 1 else model
        systems.append(ModelSystem(name, encoder, retrieval=retrieval, progress=progress))
    return systems


def _shown(found: Evaluation, chosen: Format, output: Path | None) -> str:
    if chosen is Format.JSON:
        from colde_cli.views.evaluation.json import evaluation_json

        return evaluation_json(found)
    if chosen is Format.CSV:
        from colde_cli.views.evaluation.csv import evaluation_csv

        return evaluation_csv(found)
    if chosen is Format.HTML:
        from colde_cli.views.evaluation.html import evaluation_html

        return evaluation_html(found)
    from colde_cli.views.evaluation.table import evaluation_table

    return evaluation_table(found, to_file=output is not None)
