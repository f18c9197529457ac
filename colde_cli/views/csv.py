"""Results as CSV (RFC 4180) for spreadsheets; no cell is taken for a formula."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from io import StringIO
from typing import TYPE_CHECKING

from colde_cli.documents.outside import OutsideText, UnreadPart
from colde_cli.documents.passages import whole_pages
from colde_cli.evaluation.result import Evaluation
from colde_cli.similarity.pairs import State
from colde_cli.similarity.triage import weight
from colde_cli.views.escaping import spreadsheet
from colde_cli.views.outside import TITLE
from colde_cli.views.redline import marked, pieces
from colde_cli.views.wording import flag_words, heading

if TYPE_CHECKING:
    from colde_cli.corpus.rank_corpus import Hit, Match, Ranking
    from colde_cli.documents.document import Document
    from colde_cli.documents.passages import Passage
    from colde_cli.similarity.comparison import Comparison
    from colde_cli.similarity.outside import OutsideComparison
    from colde_cli.similarity.pairs import PassagePair

_DECIMALS = 6
_SIDE = ("section", "first_page", "last_page", "text")
PASSAGE_COLUMNS = (
    *("state", "score", "weight", "flags", "flagged", "edits"),
    *(f"a_{name}" for name in _SIDE),
    *(f"b_{name}" for name in _SIDE),
    "redline",
)
_PLACE = ("section", "first_page", "last_page")
_MATCH_COLUMNS = (
    "match_score",
    *(f"query_{name}" for name in _PLACE),
    *(f"hit_{name}" for name in (*_PLACE, "text")),
)
RANKING_COLUMNS = (
    *("rank", "score", "probability", "title", "path"),
    *_MATCH_COLUMNS,
    *("percentile", "warnings", "query_warnings"),
)
EVALUATION_COLUMNS = ("field", "system", "figure", "value", "low", "high", "p", "p_holm")

Cell = str | int | float | None


def comparison_csv(comparison: Comparison) -> str:
    """A row for each pair of passages in the order of A, under `PASSAGE_COLUMNS`; then what differs outside."""
    a, b = comparison.a.document, comparison.b.document
    rows = [_pair(a, b, pair) for pair in comparison.passages]
    return quoted_table(PASSAGE_COLUMNS, [*rows, *_outside(comparison.outside)])


def _outside(outside: OutsideComparison) -> Iterator[Sequence[Cell]]:
    """Rows of texts outside and of parts: their kind stands for the section, a digest for the text of a part."""
    for change in outside.differences:
        state = State.ONLY_A if change.b is None else State.ONLY_B if change.a is None else State.EDITED
        sides = [cell for item in (change.a, change.b) for cell in _outside_side(item)]
        yield (state.value, None, None, "", "", len(change.edits), *sides, "")
    for kind in outside.reordered:
        yield (State.MOVED.value, None, None, "", "", 0, *(f"{TITLE}: {kind}", None, None, "") * 2, "")


def _outside_side(item: OutsideText | UnreadPart | None) -> Sequence[Cell]:
    if item is None:
        return ("", None, None, "")
    content = item.text if isinstance(item, OutsideText) else item.digest
    about = f" ({item.about})" if item.about else ""
    return (f"{TITLE}: {item.kind}{about}", *_pages(item.pages), content)


def ranking_csv(ranking: Ranking) -> str:
    """A row for each hit, or for each match of a hit that has some, under `RANKING_COLUMNS`."""
    warnings = {read.path: " ".join(read.warnings) for read in ranking.half_read}
    query = warnings.get(ranking.query_path, "")
    rows = ((*row, warnings.get(hit.path, ""), query) for hit in ranking.results for row in _hit_rows(hit))
    return quoted_table(RANKING_COLUMNS, rows)


def quoted_table(columns: Sequence[str], rows: Iterable[Sequence[Cell]]) -> str:
    """A table as CSV with every cell in quotation marks."""
    text = StringIO()
    # In quotation marks a semicolon or a tab cannot end a cell.
    writer = csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\r\n")
    writer.writerow(columns)
    writer.writerows([spreadsheet(cell) if isinstance(cell, str) else cell for cell in row] for row in rows)
    return text.getvalue()


def _pair(a: Document, b: Document, pair: PassagePair) -> Sequence[Cell]:
    return (
        pair.state.value,
        None if pair.score is None else round(pair.score, _DECIMALS),
        weight(pair),
        ", ".join(kind for kind, _ in flag_words(pair.flags)),
        "; ".join(f"{kind}: {change}" for kind, change in flag_words(pair.flags)),
        len(pair.edits),
        *_side(a, pair.a, pair.a_text),
        *_side(b, pair.b, pair.b_text),
        marked(pieces(pair, context=None, longest=None)) if pair.edits else "",
    )


def _side(document: Document, passages: Sequence[Passage], text: str) -> Sequence[Cell]:
    if not passages:
        return ("", None, None, "")
    return (heading(document.sections[passages[0].section]), *_pages(whole_pages(passages)), text)


def _pages(pages: tuple[int, int] | None) -> tuple[int | None, int | None]:
    return pages or (None, None)


def _hit_rows(hit: Hit) -> Iterator[Sequence[Cell]]:
    probability = None if hit.probability is None else round(hit.probability, _DECIMALS)
    first = (hit.rank, round(hit.score, _DECIMALS), probability, hit.title, hit.path)
    percentile = None if hit.percentile is None else round(hit.percentile, _DECIMALS)
    if not hit.matches:
        yield (*first, *(None for _ in _MATCH_COLUMNS), percentile)
    for match in hit.matches:
        yield (*first, *_match(match), percentile)


def _match(match: Match) -> Sequence[Cell]:
    here, there = match.query, match.hit
    score = round(match.score, _DECIMALS)
    return (score, here.section, *_pages(here.pages), there.section, *_pages(there.pages), there.text)


def evaluation_csv(evaluation: Evaluation) -> str:
    """A row for each figure; `auc_difference` is the difference to the first system, with its p values."""
    return quoted_table(EVALUATION_COLUMNS, _evaluation_rows(evaluation))


def _evaluation_rows(evaluation: Evaluation) -> Iterator[Sequence[Cell]]:
    for item in evaluation.blocks():
        for result in item.results:
            for name, figure in result.figures.items():
                yield item.name, result.system, name, figure.value, figure.low, figure.high, None, None
            if result.threshold is not None:
                yield item.name, result.system, "threshold", result.threshold, None, None, None, None
        for test in item.tests:
            shown = test.difference
            name = f"{test.figure}_difference"
            yield item.name, test.system, name, shown.value, shown.low, shown.high, test.p, test.p_holm
