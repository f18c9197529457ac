"""Files of documents and judged pairs to the fields that are measured: what evaluate and calibrate share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from colde_cli.commands.options import (
    DebugOption,
    DeviceOption,
    ModelChoice,
    NoCacheOption,
    OutputOption,
    PrecisionOption,
    QuietOption,
    Reporter,
    ThreadsOption,
    VerboseOption,
    format_option,
)
from colde_cli.errors import OptionError
from colde_cli.views.output import Format, choose_format, deliver

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from colde_cli.evaluation.evaluate import Attack, MeasurementPlan
    from colde_cli.evaluation.evaluation_set import EvaluationSet
    from colde_cli.evaluation.result import Evaluation, RobustnessResult
    from colde_cli.evaluation.systems import ModelSystem

DATA = "Data"
"""Panel of the help for options that name data."""

_SAYS_NOTHING = ("docs", "documents", "data")


class SplitName(StrEnum):
    """Sides of a data set."""

    TRAIN = "train"
    VALIDATION = "validation"
    TEST = "test"


def option(name: str, panel: str, help: str, **more: Any) -> Any:  # noqa: ANN401
    """An option, which the environment may give as COLDE_<OPTION> as well."""
    variable = "COLDE_" + name.lstrip("-").replace("-", "_").upper()
    return typer.Option(name, rich_help_panel=panel, help=help, envvar=variable, show_envvar=False, **more)


PairsOption = Annotated[
    list[Path],
    option("--pairs", DATA, "Judged pairs, JSON Lines; repeatable, in the order of --docs.", metavar="FILE"),
]
DocsOption = Annotated[
    list[Path],
    option(
        "--docs",
        DATA,
        "Their documents, as colde train reads them; repeatable: each file is a field.",
        metavar="FILE",
    ),
]


def read_fields(
    docs: Sequence[Path], pairs: Sequence[Path], validation: Sequence[Path], split: str
) -> list[EvaluationSet]:
    """One field per file of documents, its pairs the file of the same place.

    Raises:
        OptionError: not as many files of pairs as of documents.
        DataError, MissingFileError: a file is not valid, or not there.
    """
    from colde_cli.evaluation.data import read_data, read_pairs
    from colde_cli.evaluation.evaluation_set import make_evaluation_set

    _check_numbers(docs, pairs, validation)
    fields = []
    for number, (name, path) in enumerate(zip(field_names(docs), docs, strict=True)):
        data = read_data([path], supervised=False)
        known = data.numbers()
        held = read_pairs(validation[number], known) if validation else None
        fields.append(
            make_evaluation_set(name, data.documents, read_pairs(pairs[number], known), held, split)
        )
    return fields


def _check_numbers(docs: Sequence[Path], pairs: Sequence[Path], validation: Sequence[Path]) -> None:
    if len(pairs) != len(docs):
        raise OptionError(
            f"There are {len(docs)} --docs and {len(pairs)} --pairs; give both for every field, in the same order."
        )
    if validation and len(validation) != len(docs):
        raise OptionError(
            f"There are {len(docs)} --docs and {len(validation)} --validation; give one for every field or none."
        )


def field_names(docs: Sequence[Path]) -> list[str]:
    """A name for every file: its own, or its folder's where its own says nothing; the whole path if two are alike."""
    names = []
    for path in docs:
        stem = path.name.partition(".")[0]
        names.append(path.resolve().parent.name if stem in _SAYS_NOTHING else stem)
    counts = Counter(names)
    return [name if counts[name] == 1 and name else str(path) for name, path in zip(names, docs, strict=True)]


def make_attack(names: str | None, seed: int) -> Attack | None:
    """What `evaluate` calls for every model and field; None where nothing was asked for.

    Args:
        names: of protocols, with commas between them.
        seed: of every draw.

    Raises:
        OptionError: not a protocol.
    """
    if names is None:
        return None
    from colde_cli.evaluation.robustness import PROTOCOLS

    chosen = list(dict.fromkeys(name.strip() for name in names.split(",")))
    unknown = [name for name in chosen if name not in PROTOCOLS]
    if unknown:
        raise OptionError(
            f"There is no robustness protocol {unknown[0]!r}; choose from {', '.join(PROTOCOLS)}, with commas between."
        )

    def attack(model: ModelSystem, field: EvaluationSet, threshold: float | None) -> RobustnessResult:
        from colde_cli.evaluation.result import RobustnessResult
        from colde_cli.evaluation.robustness import robustness

        found = robustness(
            model.encoder, field.documents, field.pairs, chosen, threshold=threshold, seed=seed
        )
        notes = tuple(note for protocol in found.protocols for note in protocol.notes)
        return RobustnessResult(found.to_json(), tuple(found.tables()), notes)

    return attack


_FIGURES = "Figures"
_FORMATS = (Format.TABLE, Format.JSON, Format.CSV, Format.HTML)


class BaselineName(StrEnum):
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
        list[BaselineName] | None,
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
    from colde_cli.commands.options import require_extra

    require_extra("evaluate", "colde evaluate")
    pass  # MERGED
    from colde_cli.evaluation.evaluate import MeasurementPlan

    chosen = choose_format(format, output, map(str, (*pairs, *docs, *(validation or []))), _FORMATS)
    attack = make_attack(robustness, seed)
    reporter = Reporter(quiet, verbose)
    fields = read_fields(docs, pairs, validation or [], split.value)
    plan = MeasurementPlan(split.value, retrieval, bootstrap, seed)
    options = {"device": device, "precision": precision, "threads": threads, "no_cache": no_cache}
    found = _measure(models, control or [], fields, plan, reporter, options, attack)
    deliver(_shown(found, chosen, output), output)


def _measure(
    models: Sequence[str],
    controls: Sequence[BaselineName],
    fields: Sequence[EvaluationSet],
    plan: MeasurementPlan,
    reporter: Reporter,
    options: dict[str, Any],
    attack: Attack | None,
) -> Evaluation:
    from colde_cli.evaluation.baselines import BASELINES, CHUNK_BASELINES, make_baselines
    from colde_cli.evaluation.evaluate import evaluate as measure
    from colde_cli.views.messages import progress

    asked = list(dict.fromkeys(item.value for item in controls))
    names = list(BASELINES) if BaselineName.ALL.value in asked else asked
    show = not reporter.quiet
    # Changed documents are compared chunk by chunk; controls take the chunks of the first model.
    chunks = len(models) if attack is not None else int(bool(set(names) & CHUNK_BASELINES))
    with progress("Encoding", "chunks", show=show) as advance:
        opened = _open_models(models, chunks, plan.retrieval, reporter, options, advance)
        for model in opened:
            for field in fields:
                model.encodings(field)
    systems = [*opened, *make_baselines(names, opened[0])]
    with progress("Measuring", "systems", len(systems) * len(fields), show=show) as advance:
        return measure(systems, fields, plan, advance, attack)


def _open_models(
    models: Sequence[str],
    chunks: int,
    retrieval: bool,
    reporter: Reporter,
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
        reporter.about_model(encoder)
        name = encoder.folder.name if counts[encoder.folder.name] == 1 else model
        systems.append(ModelSystem(name, encoder, retrieval=retrieval, progress=progress))
    return systems


def _shown(found: Evaluation, chosen: Format, output: Path | None) -> str:
    if chosen is Format.JSON:
        from colde_cli.views.json import evaluation_json

        return evaluation_json(found)
    if chosen is Format.CSV:
        from colde_cli.views.csv import evaluation_csv

        return evaluation_csv(found)
    if chosen is Format.HTML:
        from colde_cli.views.evaluation.html import evaluation_html

        return evaluation_html(found)
    from colde_cli.views.evaluation.table import evaluation_table

    return evaluation_table(found, to_file=output is not None)
