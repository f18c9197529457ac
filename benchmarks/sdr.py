"""Measure ranking against experts' recommendations: wines and video games of SDR (Ginzburg et al. 2021).

    python benchmarks/sdr.py FOLDER... [--model NAME] [--only SYSTEM...]

The texts are Wikipedia articles and are not ours to ship. FOLDER is a folder of `data/datasets/` in SDR's repository
(github.com/microsoft/SDR), `wines` or `video_games`, with two files:

    raw_data   CSV with a header: the title of an article, and its sections as a Python list of (heading, text). SDR's
               training downloads it from zenodo.org/record/4812960 (wines) and /4812962 (video games).
    gt         pickle, or JSON in gt.json: {title: {title of a recommended article: how many experts named it}}. Of a
               pickle only plain containers and numbers are read.

Each article with recommendations is a query, ranked against all others. Systems: the model within the field of all
articles, as `colde rank` scores, and as `colde diff` scores; TF-IDF, BM25, mean and max-mean. No label is used.
Figures are those of the paper, in percent, with 95 % intervals (1,000 bootstrap draws of queries):

    HR@10, HR@100   share of a query's recommendations among its first 10 or 100, mean over queries
    MRR             1 / rank of the first recommendation, mean over queries
    MRR, SDR's code the same with ranks from 0, where 0 counts as 1: a second place scores as a first; the published
                    figures come from it
    MPR             percentile of a recommendation, (rank - 1) / articles, mean over all, weighted by experts; 0 is best
"""

from __future__ import annotations

import argparse
import ast
import csv
import html
import io
import json
import pickle
import platform
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from colde_cli import settings
from colde_cli.documents.document import Document, Part, assemble
from colde_cli.encoder.cache import Cache
from colde_cli.encoder.loading import open_encoder
from colde_cli.errors import DataError
from colde_cli.evaluation.data import EvaluationSet
from colde_cli.evaluation.systems import DOCS, ModelSystem, PairScorer, ScoringSystem, make_baselines

Floats = NDArray[np.float64]
Recommended = Mapping[str, Mapping[str, int]]
"""Title of a query to the titles that experts recommend for it, and how many named each."""

PUBLISHED = {
    "wines": {"HR@10": 17.0, "HR@100": 59.0, "MRR, SDR's code": 50.9},
    "video_games": {"HR@10": 22.0, "HR@100": 54.0, "MRR, SDR's code": 64.0},
}
"""SDR's own figures (Ginzburg et al. 2021), in percent."""
FIGURES = ("HR@10", "HR@100", "MRR", "MRR, SDR's code", "MPR")
_DRAWS = 1000
_PLAIN = {
    ("collections", "defaultdict"),
    ("collections", "OrderedDict"),
    ("collections", "Counter"),
    *(("builtins", name) for name in ("dict", "list", "int", "float", "str")),
}


class _PlainUnpickler(pickle.Unpickler):
    """Reads containers and numbers; a pickle can otherwise run any code."""

    def find_class(self, module: str, name: str) -> Any:  # noqa: ANN401 - as pickle
        """Refuse everything else."""
        if (module, name) not in _PLAIN:
            raise pickle.UnpicklingError(f"it names {module}.{name}")
        return super().find_class(module, name)


def read_articles(path: Path) -> dict[str, Document]:
    """Read `raw_data`: articles by title, each with its sections; of two with one title the first counts.

    Raises:
        DataError: a line is not a title and a list of sections.
    """
    csv.field_size_limit(sys.maxsize)
    found: dict[str, Document] = {}
    with path.open(encoding="utf-8", newline="") as file:
        lines = csv.reader(file)
        next(lines, None)
        for number, line in enumerate(lines, start=2):
            try:
                title, sections = html.unescape(line[0]), ast.literal_eval(line[1])
                parts = [Part(str(heading), str(text), 1) for heading, text, *_ in sections if text.strip()]
            except (IndexError, ValueError, SyntaxError, AttributeError, TypeError) as error:
                raise DataError(f"{path}, record {number}: not a title and a list of sections.") from error
            if parts and title not in found:
                found[title] = assemble(title, title, parts)
    return found


def read_recommendations(path: Path) -> dict[str, dict[str, int]]:
    """Read `gt`, a pickle, or the same as JSON.

    Raises:
        DataError: it is neither, or holds more than containers and numbers.
    """
    data = path.read_bytes()
    try:
        loaded = json.loads(data) if path.suffix == ".json" else _PlainUnpickler(io.BytesIO(data)).load()
        return {
            html.unescape(query): {html.unescape(title): int(count) for title, count in others.items()}
            for query, others in loaded.items()
        }
    except (pickle.UnpicklingError, ValueError, TypeError, AttributeError, EOFError) as error:
        raise DataError(f"{path}: no recommendations can be read from it ({error}).") from error


@dataclass(frozen=True, slots=True, eq=False)
class SdrSet:
    """Articles and experts' recommendations.

    Attributes:
        articles: all articles, as a set without pairs.
        recommended: for every query that is an article, its recommendations, those without an article included.
    """

    articles: EvaluationSet
    recommended: Recommended


def load_sdr(folder: Path) -> SdrSet:
    """Read a folder of SDR's datasets.

    Raises:
        DataError: a file is not as expected, or no query with an article is left.
    """
    documents = read_articles(folder / "raw_data")
    plain = folder / "gt.json"
    found = read_recommendations(plain if plain.is_file() else folder / "gt")
    recommended = {query: others for query, others in found.items() if query in documents}
    relevant = {
        query: frozenset(title for title in others if title in documents and title != query)
        for query, others in recommended.items()
    }
    relevant = {query: titles for query, titles in relevant.items() if titles}
    if not relevant:
        raise DataError(f"{folder}: no query and recommendation have an article.")
    titles = tuple(sorted(documents))
    articles = EvaluationSet(
        name=folder.name,
        documents=documents,
        pairs=(),
        validation=(),
        background=titles,
        background_split="all",
        gallery=titles,
        relevant=relevant,
        relevance="links",
        contradictions=0,
    )
    return SdrSet(articles, {query: recommended[query] for query in relevant})


def ranks_of(scorer: PairScorer, data: SdrSet) -> dict[str, dict[str, int]]:
    """Rank all other articles for each query; returns the ranks of its recommendations, 1 for the closest.

    Of equal scores the title that sorts first is closer.
    """
    found = {}
    for query, wanted in data.articles.relevant.items():
        others = [title for title in data.articles.gallery if title != query]
        scores = scorer.scores([(query, title) for title in others])
        order = np.argsort(-scores, kind="stable")
        place = {others[number]: rank for rank, number in enumerate(order, start=1)}
        found[query] = {title: place[title] for title in wanted}
    return found


@dataclass(frozen=True, slots=True, eq=False)
class QueryFigures:
    """Figures of each of Q queries.

    Attributes:
        values: name of a figure to [Q] in [0, 1]; for MPR the weighted sum of percentiles.
        weights: [Q], of MPR: the number of experts' recommendations.
    """

    values: Mapping[str, Floats]
    weights: Floats

    def means(self, drawn: NDArray[np.int64]) -> dict[str, float]:
        """The figures over some queries, by their numbers."""
        means = {name: float(values[drawn].mean()) for name, values in self.values.items()}
        return {**means, "MPR": float(self.values["MPR"][drawn].sum() / self.weights[drawn].sum())}


def figures(ranks: Mapping[str, Mapping[str, int]], recommended: Recommended, articles: int) -> QueryFigures:
    """Compute the figures of each query.

    Args:
        ranks: for each query, ranks of those recommendations that have an article.
        recommended: for each query all recommendations with their weights; hit rates count the missing ones as missed,
            as SDR's code does.
        articles: number of articles a query is ranked against.
    """
    rows = [(list(places.values()), recommended[query], places) for query, places in ranks.items()]
    first = np.array([min(places) for places, *_ in rows], np.float64)
    values = {
        **{
            f"HR@{depth}": np.array(
                [sum(rank <= depth for rank in places) / len(all_) for places, all_, _ in rows]
            )
            for depth in (10, 100)
        },
        "MRR": 1 / first,
        "MRR, SDR's code": 1 / np.maximum(1, first - 1),
        "MPR": np.array(
            [
                sum(all_[title] * (rank - 1) / articles for title, rank in by_title.items())
                for _, all_, by_title in rows
            ]
        ),
    }
    weights = np.array([sum(all_[title] for title in by_title) for _, all_, by_title in rows], np.float64)
    return QueryFigures(values, weights)


def row(name: str, found: QueryFigures, seed: int = 0) -> list[str]:
    """A line of the table: each figure in percent with its interval."""
    count = len(found.weights)
    value = found.means(np.arange(count))
    generator = np.random.default_rng(seed)
    draws = [found.means(generator.integers(count, size=count)) for _ in range(_DRAWS)]
    ends = {figure: np.percentile([draw[figure] for draw in draws], (2.5, 97.5)) * 100 for figure in FIGURES}
    return [name, *(f"{100 * value[name]:.1f} ({ends[name][0]:.1f}–{ends[name][1]:.1f})" for name in FIGURES)]


def published(name: str) -> list[str] | None:
    """SDR's own line for a set; None for an unknown one."""
    known = PUBLISHED.get(name)
    return known and ["SDR, published", *(f"{known[item]:.1f}" if item in known else "–" for item in FIGURES)]


def measure(data: SdrSet, systems: Sequence[ScoringSystem]) -> list[list[str]]:
    """A line for each system."""
    rows = []
    for system in systems:
        ranks = ranks_of(system.open(data.articles), data)
        rows.append(row(system.name, figures(ranks, data.recommended, len(data.articles.gallery) - 1)))
    return rows


def main() -> None:
    """Read, rank, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--model", default=settings.DEFAULT_MODEL)
    parser.add_argument("--only", nargs="+", help="systems by name, e.g. rank BM25")
    options = parser.parse_args()
    console = Console()
    with Cache.open() as cache:
        encoder = open_encoder(options.model, device="cpu", cache=cache)
        for folder in options.folders:
            data = load_sdr(folder)
            field = ModelSystem("rank", encoder, retrieval=True, field=DOCS)
            served = ModelSystem("diff", encoder, retrieval=True)
            systems = [field, served, *make_baselines(("tfidf", "bm25", "mean", "max-mean"), served)]
            chosen = [system for system in systems if not options.only or system.name in options.only]
            table = Table("system", *FIGURES, title=f"{folder.name}, {platform.machine()}")
            for line in [*measure(data, chosen), *filter(None, [published(folder.name)])]:
                table.add_row(*line)
            console.print(table)
            print(f"{len(data.recommended)} queries, {len(data.articles.gallery):,} articles.")


if __name__ == "__main__":
    main()
