"""`colde evaluate`: figures of models and baselines on labelled pairs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from colde_cli.commands import options
from colde_cli.commands.options import DATA, Reporter, Runtime, format_option, option, require_extra
from colde_cli.errors import OptionError
from colde_cli.views.output import Format, choose_format, deliver, refuse_inputs, show

if TYPE_CHECKING:
    from collections.abc import Callable

    from colde_cli.evaluation.data import EvaluationSet
    from colde_cli.evaluation.measure import Attack, MeasurementPlan
    from colde_cli.evaluation.result import Evaluation, RobustnessResult
    from colde_cli.evaluation.systems import ModelSystem

_FIGURES = "Figures"
_FORMATS = (Format.TABLE, Format.JSON, Format.CSV, Format.HTML)


class BaselineName(StrEnum):
    """Systems that need no training."""

    TFIDF = "tfidf"
    BM25 = "bm25"
    MEAN = "mean"
    CENTRED_MEAN = "centred-mean"
    MAX_MEAN = "max-mean"
    PARTS = "parts"
    ALL = "all"


def evaluate(
    models: Annotated[list[str], typer.Argument(metavar="MODEL", help="Models to measure, by name or folder.")],
    pairs: options.PairsOption,
    docs: options.DocsOption,
    *,
    validation: Annotated[
        list[Path] | None,
        option(
            "--validation",
            panel=DATA,
            metavar="FILE",
            help="Pairs for thresholds. Default: validation split of --pairs.",
        ),
    ] = None,
    split: options.SplitOption = options.SplitName.TEST,
    baseline: Annotated[
        list[BaselineName] | None,
        option(
            "--baseline",
            panel=_FIGURES,
            metavar="NAME",
            help="Also measure tfidf, bm25, mean, centred-mean, max-mean or all of them;"
            " or parts, each part of the score alone, and the score without it; repeatable.",
        ),
    ] = None,
    field: Annotated[
        str | None, option("--field", panel=_FIGURES, metavar="docs|NAME|FOLDER", help=options.FIELD_HELP)
    ] = None,
    retrieval: Annotated[
        bool, option("--retrieval", panel=_FIGURES, help="Also search for each document's partners among all.")
    ] = False,
    robustness: Annotated[
        str | None,
        option(
            "--robustness",
            panel=_FIGURES,
            metavar="NAMES",
            help="Also score changed documents: length, shuffle, elongation; with commas between.",
        ),
    ] = None,
    bootstrap: Annotated[
        int,
        option(
            "--bootstrap",
            panel=_FIGURES,
            min=0,
            metavar="N",
            help="Bootstrap draws for intervals and tests; 0 for none.",
        ),
    ] = 2000,
    seed: options.SeedOption = 0,
    format: Annotated[Format | None, format_option("table|json|csv|html")] = None,
    output: options.OutputOption = None,
    reporter: Reporter,
    runtime: Runtime,
) -> None:
    """Measure models on labelled pairs, beside baselines.

    Thresholds come from validation pairs, never from the pairs that are
    measured. Every system is tested against the first. docs/evaluation.md
    explains the figures. Needs the evaluate extra.
    """
    require_extra("evaluate", "colde evaluate")
    from colde_cli.evaluation.data import read_evaluation_sets
    from colde_cli.evaluation.measure import MeasurementPlan

    chosen = choose_format(format, output, map(str, (*pairs, *docs, *(validation or []))), _FORMATS)
    if field is not None and robustness is not None:
        raise OptionError("--robustness is measured without a field; leave out one of the two options.")
    parts = BaselineName.PARTS in (baseline or ())
    if parts and retrieval:
        raise OptionError("The parts of a score are measured on pairs alone; leave out --retrieval.")
    attack = _make_attack(robustness, seed)
    sets = read_evaluation_sets(docs, pairs, validation or [], split.value)
    if split is not options.SplitName.TEST and all(item.split is None for item in sets):
        raise OptionError(f"No pair names a split, so --split {split.value} chooses none; leave it out.")
    # Documents can be files of their own, which the lines of --docs name.
    refuse_inputs(output, (document.path for item in sets for document in item.documents.values()))
    plan = MeasurementPlan(split.value, retrieval, bootstrap, seed)
    evaluation = _measure(models, baseline or [], sets, plan, reporter, runtime, attack, field, parts)
    deliver(show(evaluation, chosen, to_file=output is not None), output, chosen)


def _make_attack(names: str | None, seed: int) -> Attack | None:
    """Make the function that measures the robustness of a model on a set; None without names of protocols."""
    if names is None:
        return None
    from colde_cli.evaluation.robustness import PROTOCOLS

    chosen = list(dict.fromkeys(name.strip() for name in names.split(",")))
    unknown = [name for name in chosen if name not in PROTOCOLS]
    if unknown:
        raise OptionError(f"There is no robustness protocol {unknown[0]!r}; choose from {', '.join(PROTOCOLS)}.")

    def attack(model: ModelSystem, evaluation_set: EvaluationSet, threshold: float | None) -> RobustnessResult:
        from colde_cli.evaluation.result import RobustnessResult
        from colde_cli.evaluation.robustness import robustness

        report = robustness(
            model.encoder, evaluation_set.documents, evaluation_set.pairs, chosen, threshold=threshold, seed=seed
        )
        notes = tuple(note for protocol in report.protocols for note in protocol.notes)
        return RobustnessResult(report.to_json(), tuple(report.tables()), notes)

    return attack


def _measure(
    models: Sequence[str],
    baselines: Sequence[BaselineName],
    sets: Sequence[EvaluationSet],
    plan: MeasurementPlan,
    reporter: Reporter,
    runtime: Runtime,
    attack: Attack | None,
    field: str | None,
    parts: bool,
) -> Evaluation:
    from colde_cli.evaluation.measure import evaluate as measure
    from colde_cli.evaluation.systems import BASELINES, CHUNK_BASELINES, make_baselines, part_systems

    wanted = list(dict.fromkeys(item.value for item in baselines))
    names = list(BASELINES) if BaselineName.ALL.value in wanted else [name for name in wanted if name in BASELINES]
    # Changed documents are compared chunk by chunk; baselines use the chunks of the first model.
    chunks = len(models) if attack is not None else int(bool(set(names) & CHUNK_BASELINES))
    with reporter.progress("Encoding", "chunks") as advance:
        opened = _open_models(models, chunks, plan.retrieval, field, reporter, runtime, advance)
        for model in opened:
            for evaluation_set in sets:
                model.encodings(evaluation_set)
    of_parts = [system for model in opened for system in part_systems(model)] if parts else []
    systems = [*opened, *of_parts, *make_baselines(names, opened[0])]
    with reporter.progress("Measuring", "systems", len(systems) * len(sets)) as advance:
        return measure(systems, sets, plan, advance, attack)


def _open_models(
    models: Sequence[str],
    chunks: int,
    retrieval: bool,
    field: str | None,
    reporter: Reporter,
    runtime: Runtime,
    progress: Callable[[int], None],
) -> list[ModelSystem]:
    """Load every model once; its name is that of its folder, or as given if two folders share a name.

    The first `chunks` models also compute vectors of chunks.
    """
    from colde_cli.evaluation.systems import ModelSystem

    given = list(dict.fromkeys(models))
    encoders = [runtime.load(model, parts=number < chunks) for number, model in enumerate(given)]
    counts = Counter(encoder.folder.name for encoder in encoders)
    systems = []
    for model, encoder in zip(given, encoders, strict=True):
        reporter.about_model(encoder.info)
        name = encoder.folder.name if counts[encoder.folder.name] == 1 else model
        systems.append(ModelSystem(name, encoder, retrieval=retrieval, field=field, progress=progress))
    return systems
