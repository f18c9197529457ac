"""Results as CSV (RFC 4180) for spreadsheets; no cell is taken for a formula."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from io import StringIO
from typing import TYPE_CHECKING, Any

from colde_cli.documents.outside import OutsideText, UnreadPart
from colde_cli.documents.passages import whole_pages
from colde_cli.evaluation.result import Evaluation
from colde_cli.similarity.pairs import State
from colde_cli.similarity.plain_data import rounded
from colde_cli.similarity.triage import weight
from colde_cli.views.changes import TITLE, marked, outside_state, pieces
from colde_cli.views.escaping import spreadsheet
from colde_cli.views.sentences import weightiest_change
from colde_cli.views.wording import flag_words, section_name

if TYPE_CHECKING:
    from colde_cli.corpus.duplicates import Families
    from colde_cli.corpus.folder_pairs import FileChange, FolderComparison
    from colde_cli.corpus.rank_corpus import Hit, Ranking
    from colde_cli.corpus.subjects import Clusters
    from colde_cli.documents.document import Document
    from colde_cli.documents.passages import Passage
    from colde_cli.similarity.answers import Answers
    from colde_cli.similarity.comparison import Comparison
    from colde_cli.similarity.outside_changes import OutsideComparison
    from colde_cli.similarity.pairs import PassagePair

_SIDE = ("section", "first_page", "last_page", "text")
PASSAGE_COLUMNS = (
    *("state", "score", "weight", "flags", "flagged", "edits"),
    *(f"a_{name}" for name in _SIDE),
    *(f"b_{name}" for name in _SIDE),
    "redline",
)
_PLACE = ("section", "first_page", "last_page")
_MATCH_COLUMNS = ("match_score", *(f"query_{name}" for name in _PLACE), *(f"hit_{name}" for name in (*_PLACE, "text")))
RANKING_COLUMNS = (
    *("rank", "score", "probability", "title", "path"),
    *_MATCH_COLUMNS,
    *("percentile", "warnings", "query_warnings"),
)
FAMILY_COLUMNS = (
    *("group", "path", "title", "words", "size", "relation", "other", "share", "share_back"),
    *("other_words", "text"),
)
CLUSTER_COLUMNS = ("cluster", "words", "cohesion", "path", "title", "score")
FILE_COLUMNS = (
    *("state", "a", "b", "changes", "flagged", "weight", "score", *(state.value for state in State)),
    *("weightiest", "place", "reason"),
)
REMARK_COLUMNS = (
    *("number", "label", "author", "date", "remark", "on", "done", "verdict", "basis"),
    *(f"a_{name}" for name in _SIDE),
    *(f"b_{name}" for name in _SIDE),
    *("redline", "added"),
)
EVALUATION_COLUMNS = ("field", "system", "figure", "value", "low", "high", "p", "p_holm")

_HEADING = 1000
"""Maximum number of characters of a heading."""

Cell = str | int | float | None


def result_csv(result: Any, **_: Any) -> str:  # noqa: ANN401 - of any kind
    """A result of any kind in `_VIEWS` as CSV."""
    return _VIEWS[type(result).__name__](result)


def comparison_csv(comparison: Comparison) -> str:
    """A row for each pair of passages in the order of A, under `PASSAGE_COLUMNS`; then what differs outside."""
    a, b = comparison.a.document, comparison.b.document
    rows = [_pair(a, b, pair) for pair in comparison.passages]
    return quoted_table(PASSAGE_COLUMNS, [*rows, *_outside(comparison.outside)])


def _outside(outside: OutsideComparison) -> Iterator[Sequence[Cell]]:
    """Rows of texts outside and of parts: their kind stands for the section, a digest for the text of a part."""
    for change in outside.differences:
        sides = [cell for item in (change.a, change.b) for cell in _outside_side(item)]
        yield (outside_state(change).value, None, None, "", "", len(change.edits), *sides, "")
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
        *_rounded(pair.score),
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
    return (section_name(document, passages, _HEADING), *_pages(whole_pages(passages)), text)


def _pages(pages: tuple[int, int] | None) -> tuple[int | None, int | None]:
    return pages or (None, None)


def _hit_rows(hit: Hit) -> Iterator[Sequence[Cell]]:
    first = (hit.rank, *_rounded(hit.score, hit.probability), hit.title, hit.path)
    (percentile,) = _rounded(hit.percentile)
    if not hit.matches:
        yield (*first, *(None for _ in _MATCH_COLUMNS), percentile)
    for match in hit.matches:
        here = (match.query.section, *_pages(match.query.pages))
        there = (match.hit.section, *_pages(match.hit.pages), match.hit.text)
        yield (*first, *_rounded(match.score), *here, *there, percentile)


def families_csv(families: Families) -> str:
    """Rows of members of groups, of parts in wholes, and of places of passages, under `FAMILY_COLUMNS`."""
    rows: list[Sequence[Cell]] = []
    for number, group in enumerate(families.groups, 1):
        for member in group.members:
            close = member.closest
            other: Sequence[Cell] = ("", "", None, None)
            if close is not None:
                other = (close.relation.value, close.path, *_rounded(close.share, close.share_back))
            rows.append((number, member.path, member.title, member.words, member.size, *other, None, ""))
    for item in families.contained:
        part, whole = item.part, item.whole
        shares = _rounded(item.share, item.share_back)
        first = (None, part.path, part.title, part.words, part.size)
        rows.append((*first, "contained", whole.path, *shares, whole.words, ""))
    for number, passage in enumerate(families.passages or (), 1):
        for place in passage.places:
            other = ("passage", passage.places[0].path, None, None, passage.words)
            rows.append((number, place.path, place.title, place.words, None, *other, passage.text))
    return quoted_table(FAMILY_COLUMNS, rows)


def clusters_csv(clusters: Clusters) -> str:
    """A row for each document under `CLUSTER_COLUMNS`; one that is alone has no cluster."""
    rows = [
        (number, ", ".join(cluster.words), cohesion, member.path, member.title, score)
        for number, cluster in enumerate(clusters.clusters, 1)
        for member in cluster.members
        for cohesion, score in [_rounded(cluster.cohesion, member.score)]
    ]
    alone = [(None, "", None, member.path, member.title, None) for member in clusters.alone]
    return quoted_table(CLUSTER_COLUMNS, [*rows, *alone])


def answers_csv(answers: Answers) -> str:
    """A row for each remark and passage at its place, under `REMARK_COLUMNS`; one without a place has a row, too."""
    a, b = answers.comparison.a.document, answers.comparison.b.document
    passages = answers.comparison.passages
    rows: list[Sequence[Cell]] = []
    for number, one in enumerate(answers.remarks, 1):
        remark = one.remark
        said = (remark.label, remark.author, remark.date, remark.text, remark.on, "done" * remark.done)
        added = "\n\n".join(passages[place].b_text for place in one.added)
        first = (number, *said, one.verdict.value, one.basis.value)
        if not one.pairs:
            rows.append((*first, *_side(a, (), ""), *_side(b, (), ""), "", added))
        for pair in (passages[place] for place in one.pairs):
            redline = marked(pieces(pair, context=None, longest=None)) if pair.edits else ""
            rows.append((*first, *_side(a, pair.a, pair.a_text), *_side(b, pair.b, pair.b_text), redline, added))
    return quoted_table(REMARK_COLUMNS, rows)


def folders_csv(folders: FolderComparison) -> str:
    """A row for each file, under `FILE_COLUMNS`."""
    return quoted_table(FILE_COLUMNS, map(_file, folders.files))


def _file(change: FileChange) -> Sequence[Cell]:
    digest = change.digest
    words, where = weightiest_change(digest)
    first = (change.state.value, change.a, change.b, change.changes)
    if digest is None:
        return (*first, 0, 0.0, None, *(None for _ in State), words, where, change.reason)
    counts = (digest.summary[state] for state in State)
    return (*first, digest.flagged, digest.weight, *_rounded(digest.score), *counts, words, where, "")


def _rounded(*numbers: float | None) -> tuple[float | None, ...]:
    return tuple(map(rounded, numbers))


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


_VIEWS: Mapping[str, Callable[[Any], str]] = {
    "Answers": answers_csv,
    "Clusters": clusters_csv,
    "Comparison": comparison_csv,
    "Evaluation": evaluation_csv,
    "Families": families_csv,
    "FolderComparison": folders_csv,
    "Ranking": ranking_csv,
}
