"""The card of a trained model: its data, its recipe, and its figures beside those of the untrained model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from colde_cli.encoder.encoding import EncoderConfig
from colde_cli.evaluation.data import DataFile
from colde_cli.evaluation.metrics import PairMetrics
from colde_cli.learning.loop import Outcome
from colde_cli.learning.recipe import Recipe

_FIGURES = (
    ("ROC-AUC", "auc"),
    ("ROC-AUC, mean of the files", "field_auc"),
    ("average precision", "average_precision"),
    ("F1", "f1"),
    ("precision", "precision"),
    ("recall", "recall"),
    ("accuracy", "accuracy"),
    ("threshold", "threshold"),
)


@dataclass(frozen=True, slots=True)
class CardFacts:
    """What the card says beyond recipe and figures."""

    name: str  # of the model
    command: str  # the command line
    files: Sequence[DataFile]
    training_documents: int  # number of documents that trained
    judged: bool  # whether somebody judged the validation pairs; else labels and links made them
    note: str = ""  # of the person who trained it (licence, purpose)
    # figures of the finished model, where its score has more parts than the trained cosine
    served: PairMetrics | None = None
    start: str = ""  # name of the model that the run continued from; "" without


def write_card(facts: CardFacts, config: EncoderConfig, recipe: Recipe, outcome: Outcome) -> str:
    """Write the text of `README.md`."""
    parts = [
        "---\nlibrary_name: colde\npipeline_tag: sentence-similarity\ntags: [colde, long-documents]\n---",
        f"# {facts.name}",
        f"{_kind(config)}, for `colde diff --model` and `colde rank --model`.",
        *([facts.note] if facts.note else ["The licence of the weights was not stated when it was trained."]),
        "## Data",
        _data(facts),
        "## Validation",
        _figures(facts, outcome),
        "## Recipe",
        f"```\n{facts.command}\n```",
        _recipe(recipe, outcome),
        "## Limits",
        _limits(outcome),
    ]
    return "\n\n".join(parts) + "\n"


def _kind(config: EncoderConfig) -> str:
    kind = "A CoLDE model" if config.system == "colde" else f"A model of the system {config.system}"
    return f"{kind} on {config.backbone_name}" if config.backbone_name else kind


def _data(facts: CardFacts) -> str:
    rows = [f"| {item.name} | {item.count:,} |" for item in facts.files]
    table = "\n".join(["| file | lines |", "|---|---|", *rows])
    return f"{table}\n\n{facts.training_documents:,} documents trained."


def _figures(facts: CardFacts, outcome: Outcome) -> str:
    origin = "judged pairs" if facts.judged else "pairs made from labels and links, negatives drawn at random"
    trained, untrained = outcome.trained, outcome.untrained
    columns = [("this model", facts.served or trained), ("its vectors alone", trained)]
    columns = columns if facts.served else columns[:1]
    if outcome.progress.epoch:
        columns = [*columns, (f"{facts.start}, before" if facts.start else "the same, untrained", untrained)]
    rows = [" | ".join([f"| {name}", *(_value(metrics, key) for _, metrics in columns)]) for name, key in _FIGURES]
    titles = " | ".join(title for title, _ in columns)
    table = "\n".join([f"| | {titles} |", "|---" * (len(columns) + 1) + "|", *(f"{row} |" for row in rows)])
    return (
        f"{trained.pairs:,} {origin}, {trained.positives:,} of them related. "
        f"{'The epoch was chosen and the threshold' if outcome.progress.epoch else 'The threshold was'} fitted on "
        "these very pairs, so the figures flatter; measure on pairs of your own."
        f"\n\n{table}"
    )


def _value(metrics: PairMetrics, key: str) -> str:
    return f"{getattr(metrics, key):.3f}"


def _recipe(recipe: Recipe, outcome: Outcome) -> str:
    rows = [f"| {name} | {_shown(value)} |" for name, value in recipe.to_json().items()]
    progress = outcome.progress
    ended = (
        "Nothing was trained: the weights are those of the model that the run started from."
        if not progress.epoch
        else f"Best after epoch {progress.best_epoch} of {progress.epoch}, which is what this is: "
        f"{progress.best_step:,} of {progress.step:,} updates."
        if progress.best_epoch
        else f"No epoch of {progress.epoch} was better than the model before training, which is what this is."
    )
    return "\n".join(["| option | value |", "|---|---|", *rows]) + f"\n\n{ended}"


def _shown(value: object) -> str:
    if isinstance(value, tuple | list):
        return ", ".join(map(str, value)) or "none"
    return "none" if value is None else str(value)


def _limits(outcome: Outcome) -> str:
    few = (
        "There were fewer than 100 validation pairs: take the figures as a sign of life.\n\n"
        if outcome.trained.pairs < 100
        else ""
    )
    return few + (
        "Scores say how alike documents are in the sense of the training data, in its language and its kind of "
        "text. Elsewhere the threshold and the probabilities do not hold."
    )
