"""What the robustness protocols found: frozen rows, and the tables that every view shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from colde_cli.evaluation.robustness.figures import PairFigures

Table = tuple[str, tuple[str, ...], tuple[tuple[str, ...], ...]]
"""Title, header, rows."""

_PAIR_TITLES = ("AUC", "F1", "accuracy", "Δ related", "Δ unrelated")


@dataclass(frozen=True, slots=True)
class SelfRow:
    """Documents compared with themselves under attack.

    Attributes:
        attack: what was done, in words.
        documents: how many.
        cosine_mean: mean of cos(z(x), z(x)) − cos(z(x), z(f(x))), the change that the document vector sees.
        cosine_max: the largest of them.
        score_mean: the same of the document score.
        score_max: the largest of them.
    """

    attack: str
    documents: int
    cosine_mean: float
    cosine_max: float
    score_mean: float
    score_max: float


@dataclass(frozen=True, slots=True)
class PairRow:
    """Pairs under attack.

    Attributes:
        attack: what was done, in words.
        side: "none" for clean scores, "one" where only the first document of a pair is attacked, "both".
        figures: of the scores.
        spearman: correlation over pairs of length ratio (longer by shorter, in tokens) and score; None where it
            was not asked for or has no value.
    """

    attack: str
    side: str
    figures: PairFigures
    spearman: float | None = None


@dataclass(frozen=True, slots=True)
class ProtocolReport:
    """One protocol.

    Attributes:
        name: "length", "shuffle" or "elongation".
        title: of its tables.
        against_itself: one row for every attack; empty where the protocol has none.
        pairs: clean scores first.
        notes: what a reader of the figures must know (limits, samples), in whole sentences.
    """

    name: str
    title: str
    against_itself: tuple[SelfRow, ...]
    pairs: tuple[PairRow, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RobustnessReport:
    """What a model's scores do under attack.

    Attributes:
        model: its name.
        threshold: from which a pair counts as related, chosen on clean scores; None without one.
        seed: of every draw.
        protocols: in the order they were asked for.
    """

    model: str
    threshold: float | None
    seed: int
    protocols: tuple[ProtocolReport, ...]

    def to_json(self) -> dict[str, Any]:
        """All of it as objects, lists, strings, numbers and null."""
        return asdict(self)

    def tables(self) -> list[Table]:
        """Title, header and rows of every table, as text; notes are in the protocols."""
        tables: list[Table] = []
        for protocol in self.protocols:
            if protocol.against_itself:
                tables.append(_self_table(protocol))
            if protocol.pairs:
                tables.append(_pair_table(protocol))
        return tables


def _self_table(protocol: ProtocolReport) -> Table:
    header = ("attack", "documents", "Δcos mean", "Δcos max", "Δscore mean", "Δscore max")
    rows = tuple(
        (
            row.attack,
            str(row.documents),
            *_numbers(row.cosine_mean, row.cosine_max),
            *_numbers(row.score_mean, row.score_max),
        )
        for row in protocol.against_itself
    )
    return f"{protocol.title}: a document and itself", header, rows


def _pair_table(protocol: ProtocolReport) -> Table:
    correlated = any(row.spearman is not None for row in protocol.pairs)
    header = ("attack", "side", "pairs", *_PAIR_TITLES, *(("Spearman",) if correlated else ()))
    rows = []
    for row in protocol.pairs:
        found = row.figures
        values = (found.auc, found.f1, found.accuracy, found.moved_related, found.moved_unrelated)
        extra = _numbers(row.spearman) if correlated else ()
        rows.append((row.attack, row.side, str(found.pairs), *_numbers(*values), *extra))
    return f"{protocol.title}: pairs", header, tuple(rows)


def _numbers(*values: float | None) -> Sequence[str]:
    return tuple("–" if value is None else f"{value:z.3f}" for value in values)
