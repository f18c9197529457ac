"""Measure CoLDE's Figure 8 (shuffled sections) and LA(SER)³'s length attack, by the code of `--robustness`.

    python benchmarks/papers/attacks.py FOLDER... [--seeds 3] [--most N...] [--pairs 60] [--attack shuffle|elongation]
        [--systems NAME...]

Shuffle: all test pairs. Chunks keep their numbers (as the paper claims to do) or are numbered anew (the real test).
Elongation: the first `--pairs` test pairs; every document is repeated m times, by its chunk vectors (chunk level) or by
its text (text level, 6 documents, each at most 12,288 tokens), on one side of a pair and on both. "AUC": of pairs under
attack. "Δ cosine": 1 minus the cosine of a document and itself under attack.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
from head_runs import open_encoder, run_all, serve
from paper_data import RUNS, PaperSet, load_sets
from recipes import TABLE_2
from reporting import spread, write_table

from colde_cli import settings
from colde_cli.encoder.encoder import Encoder
from colde_cli.encoder.vector_cache import Cache
from colde_cli.evaluation.data import LabelledPair
from colde_cli.evaluation.robustness import ElongationOptions, ProtocolReport, RobustnessOptions, robustness
from colde_cli.learning.recipe import Recipe

SHUFFLED = {name: TABLE_2[name] for name in ("CoLDE", "CoLDE, our recipe", "−LSTM")}
TIMES = (1, 2, 4, 8, 16, 100)
ELONGATION = ElongationOptions(TIMES, max_chunks=1024, text_documents=6, max_tokens=12_288)

Reports = Sequence[ProtocolReport]
"""The same protocol, a report for every seed."""


def attack(paper_set: PaperSet, encoder: Encoder, protocol: str, most: int | None) -> tuple[ProtocolReport, ...]:
    """Attack the documents of the first `most` test pairs; returns the reports of the protocol."""
    documents = {item.id: item.document for item in paper_set.data.documents}
    options = RobustnessOptions(elongation=ELONGATION)
    return robustness(
        encoder, documents, balanced(paper_set.evaluation_set.pairs)[:most], [protocol], options=options
    ).protocols


def balanced(pairs: Sequence[LabelledPair]) -> list[LabelledPair]:
    """Related and unrelated pairs by turns, so that the first ones hold both."""
    sides = [[pair for pair in pairs if pair.related is wanted] for wanted in (True, False)]
    turns = [pair for both in zip(*sides, strict=False) for pair in both]
    return [*turns, *(pair for pair in pairs if pair not in set(turns))]


def shuffle_rows(paper_set: PaperSet, name: str, reports: Reports) -> list[list[str]]:
    """Rows of AUC, clean and shuffled, and of the distance of a document from its shuffled self."""
    rows = []
    for place, moved in enumerate(reports[0].against_itself):
        clean, shaken = ([report.pairs[row].figures for report in reports] for row in (0, place + 1))
        change = [(after.auc or 0) - (before.auc or 0) for before, after in zip(clean, shaken, strict=True)]
        selves = [report.against_itself[place] for report in reports]
        rows.append(
            [
                paper_set.name,
                name,
                moved.attack,
                spread([item.auc or 0 for item in clean]),
                spread([item.auc or 0 for item in shaken]),
                f"{round(float(np.mean(change)), 3) + 0.0:+.3f}",
                spread([item.cosine_mean for item in selves]),
                spread([max(item.cosine_max for item in selves)]),
            ]
        )
    return rows


def elongation_rows(paper_set: PaperSet, name: str, reports: Reports) -> list[list[str]]:
    """Δ cosine by m, the mean over documents, seeds averaged; and the AUC of pairs with one or both sides longer."""
    selves = list(zip(*(report.against_itself for report in reports), strict=True))
    cosines = [spread([np.mean([item.cosine_mean for item in some])]) for some in selves]
    level = "text" if "text" in reports[0].title else "chunks"
    if level == "text":
        # An m that no document reaches repeats the row before it.
        rows = zip(cosines, selves, strict=True)
        cosines = ["–" if "reached by 0 " in some[0].attack else cosine for cosine, some in rows]
    # ×1 is the document as it is; at text level "cut anew" comes before it: once, as one section.
    cosines = cosines[:1] + cosines[2:] if level == "text" else ["–", *cosines[1:]]
    cells = [aucs(reports, m, side) for side in ("one", "both") for m in (16, 100)]
    clean = spread([report.pairs[0].figures.auc or 0 for report in reports])
    if level == "text":
        # Pairs of six documents have no area worth a number.
        clean, cells = "–", ["–"] * len(cells)
    return [[paper_set.name, name, level, *cosines, clean, *cells]]


def aucs(reports: Reports, times: int, side: str) -> str:
    """AUC of pairs under ×m, mean over seeds."""
    found = [
        row.figures.auc or 0
        for report in reports
        for row in report.pairs
        if row.side == side and row.attack.split()[0] == f"×{times}"
    ]
    return f"{np.mean(found):.3f}" if found else "–"


SHUFFLE_HEADER = (
    "set",
    "system",
    "chunk numbers",
    "AUC clean",
    "AUC shuffled",
    "change",
    "Δ cosine",
    "largest",
)
ELONGATION_HEADER = (
    "set",
    "system",
    "level",
    "Δcos cut anew",
    *(f"Δcos ×{m}" for m in TIMES[1:]),
    "AUC clean",
    *(f"AUC ×{m} {side}" for side in ("one", "both") for m in (16, 100)),
)


def measure(
    sets: Iterable[PaperSet],
    recipes: Mapping[str, Recipe],
    seeds: int,
    protocol: str,
    most: int | None,
    opened: tuple[Encoder, Cache],
) -> list[list[str]]:
    """Rows of all sets and systems."""
    rows = []
    render = shuffle_rows if protocol == "shuffle" else elongation_rows
    for paper_set in sets:
        for name, runs in run_all(paper_set, dict(recipes), range(seeds)).items():
            found = [attack(paper_set, serve(run, paper_set, *opened), protocol, most) for run in runs]
            for reports in zip(*found, strict=True):
                rows += render(paper_set, name, reports)
                print(" | ".join(rows[-1]), flush=True)
    return rows


def main() -> None:
    """Train what is missing, attack, and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--seeds", type=int, default=3, help="of shuffle; elongation takes 2 at most")
    parser.add_argument("--model", default=settings.DEFAULT_MODEL, help="gives the chunk vectors")
    parser.add_argument("--most", type=int, nargs="+", help="training documents at most; one number, or one a set")
    parser.add_argument("--pairs", type=int, default=60, help="of elongation")
    parser.add_argument("--systems", nargs="+", choices=list(SHUFFLED), default=list(SHUFFLED))
    parser.add_argument("--attack", choices=("shuffle", "elongation"), help="only this one")
    options = parser.parse_args()
    wanted = [options.attack] if options.attack else ["shuffle", "elongation"]
    with Cache.open() as cache:
        shipped = open_encoder(cache, options.model)
        sets = load_sets(options.folders, shipped, options.most)
        opened = (shipped, cache)
        if "shuffle" in wanted:
            chosen = {name: recipe for name, recipe in SHUFFLED.items() if name in options.systems}
            rows = measure(sets, chosen, options.seeds, "shuffle", None, opened)
            write_table(RUNS / "figure-8.md", "CoLDE, Figure 8: sections shuffled", SHUFFLE_HEADER, rows)
        if "elongation" in wanted:
            chosen = {name: SHUFFLED[name] for name in options.systems}
            rows = measure(sets, chosen, min(2, options.seeds), "elongation", options.pairs, opened)
            title = "LA(SER)³: documents m times over"
            write_table(RUNS / "elongation.md", title, ELONGATION_HEADER, rows)


if __name__ == "__main__":
    main()
