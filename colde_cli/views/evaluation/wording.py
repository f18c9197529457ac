"""The words and numbers of an evaluation in every view."""

from __future__ import annotations

from colde_cli.evaluation.result import Evaluation, Figure, PairedTest, SetResult, SystemResult
from colde_cli.views.wording import plural

LEVEL = "95 %"


def number(value: float) -> str:
    """Three decimals: `0.873`."""
    return f"{value:.3f}"


def signed(value: float) -> str:
    """Three decimals with a minus sign, not a hyphen: `−0.012`."""
    return f"{value:+.3f}".replace("-", "−")


def ends(figure: Figure) -> str:
    """The interval: `0.84–0.90`; "" without one."""
    if figure.low is None or figure.high is None:
        return ""
    return f"{figure.low:.2f}–{figure.high:.2f}"


def signed_ends(figure: Figure) -> str:
    """The interval of a difference: `−0.02 to +0.01`; "" without one."""
    if figure.low is None or figure.high is None:
        return ""
    return f"{figure.low:+.3f} to {figure.high:+.3f}".replace("-", "−")


def chance(p: float | None) -> str:
    """A p value: `0.031`, `<0.001`; `n/a` without one."""
    if p is None:
        return "n/a"
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def set_facts(item: SetResult) -> str:
    """The numbers of pairs, documents and queries, on one line."""
    facts = [f"{plural(item.pairs, 'pair')}, {item.positives:,} related", plural(item.documents, "document")]
    facts += [f"{count:,} {relation} negatives" for relation, count in item.relations.items() if relation]
    facts.append(f"{plural(item.validation_pairs, 'validation pair')}")
    if item.queries is not None:
        partners = {"links": "link", "labels": "class"}.get(item.relevance or "", "link")
        facts.append(f"{plural(item.queries, 'document')} with partners by {partners}")
    return " · ".join(facts)


def threshold_origin(item: SystemResult) -> str:
    """The threshold and its source: `0.533 (validation)`; `none`."""
    if item.threshold is None:
        return "none"
    return f"{item.threshold:.3f} ({item.threshold_from})".replace("-", "−")


def notes(item: SetResult) -> list[str]:
    """All notes on a data set; those on a system begin with its name."""
    of_systems = [(result.system, note) for result in item.results for note in result.notes]
    of_systems += [(name, note) for name, result in item.robustness.items() for note in result.notes]
    return [*item.notes, *(f"{name}: {note}" for name, note in of_systems)]


def verdict(test: PairedTest) -> str:
    """The result of a test at the 5 % level, after correction."""
    if test.p_holm is None:
        return "not tested"
    if test.p_holm >= 0.05:
        return "no clear difference"
    return "better" if test.difference.value > 0 else "worse"


def method(evaluation: Evaluation) -> str:
    """A paragraph on how intervals and tests were computed."""
    first = evaluation.systems[0].name
    intervals = (
        f"Intervals are {LEVEL}, from {evaluation.draws:,} draws of a bootstrap that reweights documents, because "
        "a document occurs in many pairs."
        if evaluation.draws
        else "No intervals were computed."
    )
    return (
        f"Split: {evaluation.split}. {intervals} Every system is tested against {first}: AUC with paired draws, "
        "accuracy with McNemar's exact test; p values are corrected for the number of systems (Holm). ECE uses up to "
        f"15 bins of equal mass. Seed {evaluation.seed}."
    )
