"""No format is broken by what texts, titles and names of files hold: results of hostile words, in every format."""

from __future__ import annotations

import csv
import json
import re
from io import StringIO
from typing import Any

import pytest
from command_line import validate
from hand_made import hostile, safe_page, safe_table, shows_as_stored, words
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from colde_cli.corpus.duplicates import Closest, Containment, Families, Family, Member, Relation
from colde_cli.corpus.finding import HalfRead, Skipped
from colde_cli.corpus.rank_corpus import Hit, Match, MatchedSection, Ranking
from colde_cli.corpus.subjects import Cluster, ClusterMember, Clusters
from colde_cli.encoder.encoding import RuntimeInfo
from colde_cli.scoring.profile import FieldInfo
from colde_cli.scoring.score import ScorePart
from colde_cli.similarity.comparison import Comparison
from colde_cli.similarity.pairs import State
from colde_cli.views.csv import FAMILY_COLUMNS, PASSAGE_COLUMNS
from colde_cli.views.escaping import harmless
from colde_cli.views.github import MAX_WARNINGS, comparison_annotations
from colde_cli.views.json import comparison_json, ranking_jsonl
from colde_cli.views.output import Format, show
from colde_cli.views.sentences import one_text
from colde_cli.views.summary import comparison_summary

Value = dict[str, Any]
GFM = MarkdownIt("gfm-like", {"html": True, "linkify": False})
OURS = set("p table thead tbody tr th td strong h3 blockquote del ins span sub details summary br code".split())
COMMAND = re.compile(r"::(warning|notice) ((?:\w+=[^:,\r\n]*)(?:,\w+=[^:,\r\n]*)*)::([^\r\n]*)")

pytestmark = pytest.mark.slow


def csv_rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(StringIO(text, newline=""), strict=True))


# Comparisons


@given(hostile(), st.integers(60, 200), st.booleans())
@settings(max_examples=40)
def test_a_comparison(comparison: Comparison, width: int, coloured: bool) -> None:
    for level in ("all", "chunk"):
        table = safe_table(comparison, width, coloured=coloured, level=level, top=5)
        assert ("\x1b" in table) is coloured
        check_markdown(show(comparison, Format.MARKDOWN, level=level, top=5))
    check_json(comparison)
    check_csv(comparison)
    check_annotations(comparison)
    check_summary(comparison)


def check_markdown(text: str) -> None:
    page = GFM.render(text)
    assert set(re.findall(r"<([a-z][a-z0-9]*)[^<>]*>", page)) <= OURS
    assert shows_as_stored(text.replace("\n", ""))
    for opened, closed in (("<del>", "</del>"), ("<ins>", "</ins>"), ("<details>", "</details>")):
        assert page.count(opened) == page.count(closed)
    tables = re.findall(r"<table>.*?</table>", page, re.DOTALL)
    for rows in (re.findall(r"<tr>.*?</tr>", found, re.DOTALL) for found in tables):
        assert len({row.count("</td>") + row.count("</th>") for row in rows}) == 1


def check_json(comparison: Comparison) -> None:
    """The contract of docs/schemas.txt."""
    value = json.loads(comparison_json(comparison))
    assert value == comparison.to_dict()
    validate(value, "colde.diff.2")
    for passage, pair in zip(value["passages"], comparison.passages, strict=True):
        assert passage["score"] == (None if pair.score is None else round(pair.score, 6))
    states = [passage["state"] for passage in value["passages"]]
    counted = {state.value: states.count(state.value) for state in State}
    assert {state: value["summary"][state] for state in counted} == counted
    listed = [number for change in value["changes"] for number in change["passages"]]
    assert sorted(listed) == [number for number, state in enumerate(states) if state != "same"]
    weights = [change["weight"] for change in value["changes"]]
    assert weights == sorted(weights, reverse=True)
    for passage in value["passages"]:
        check_passage(passage)


def check_passage(passage: Value) -> None:
    state, a, b = passage["state"], passage["a"], passage["b"]
    assert (a is None, b is None) == (state == "only_b", state == "only_a")
    assert (passage["score"] is None) is (a is None or b is None)
    assert passage["flags"] == list(dict.fromkeys(flag["kind"] for flag in passage["flagged"]))
    assert len(passage["redline"]) == passage["edits"]
    if state in ("same", "only_a", "only_b"):
        assert passage["edits"] == 0
        assert set(passage["flags"]) <= (set() if state == "same" else {"clause"})
    if state == "edited":
        assert passage["edits"] > 0
    for edit in passage["redline"]:
        deleted, inserted = a["text"][slice(*edit["a"])], b["text"][slice(*edit["b"])]
        assert deleted or inserted
        assert deleted == deleted.strip()
    for flag in passage["flagged"]:
        assert flag["a"] in (a or {"text": ""})["text"]
        assert flag["b"] in (b or {"text": ""})["text"]
        assert flag["a"] or flag["b"]


def check_csv(comparison: Comparison) -> None:
    """Text stays in its cell and is no formula."""
    text = show(comparison, Format.CSV)
    found = csv_rows(text)
    assert len(found) == len(comparison.passages) == text.count("\r\n") - 1
    for row in found:
        assert tuple(row) == PASSAGE_COLUMNS
        assert not any(cell.startswith(tuple("=+-@\t\r\n＝＋－＠")) for cell in row.values())
        assert all(shows_as_stored(cell) for cell in row.values())
    assert all(line.startswith('"') and line.endswith('"') for line in text.split("\r\n")[:-1])


def check_annotations(comparison: Comparison) -> None:
    """Every line is one command of a workflow."""
    lines = comparison_annotations(comparison).split("\n")
    assert lines.pop() == ""
    found = [COMMAND.fullmatch(line) for line in lines]
    assert all(found)
    kinds = [match[1] for match in found if match]
    warnings = min(MAX_WARNINGS, len(comparison.changes)) if one_text(comparison) else 0
    assert kinds == ["warning"] * warnings + ["notice"]


def check_summary(comparison: Comparison) -> None:
    lines = comparison_summary(comparison).splitlines()
    assert max(map(len, lines)) <= 78
    assert all(shows_as_stored(line) for line in lines)
    assert len(lines) <= 22  # names of 300 letters take several


# Results of a corpus

INFO = st.just(RuntimeInfo("by-hand", "fp32", "cpu"))
COUNTS = st.integers(0, 10**6)
scores, shares = st.floats(-1, 1), st.floats(0.01, 1)


def some(kind: type, *values: st.SearchStrategy[Any], least: int = 0, most: int = 2) -> st.SearchStrategy[Any]:
    """A tuple of things of a kind."""
    return st.lists(st.builds(kind, *values), min_size=least, max_size=most).map(tuple)


several_words = st.lists(words, min_size=1, max_size=2).map(tuple)
skipped = some(Skipped, words, words)

pages = st.none() | st.tuples(st.integers(1, 99), st.integers(99, 2000))
matches = some(Match, scores, st.builds(MatchedSection, words, pages), st.builds(MatchedSection, words, pages, words))
parts = st.just((ScorePart("colde", 0.4, 0.5), ScorePart("words", 0.6, 0.5)))
hits = some(Hit, st.integers(1, 999), words, words, scores, st.none() | st.floats(0, 1), matches, parts, most=4)
half_read = some(HalfRead, words, several_words)
rankings = st.builds(Ranking, words, words, INFO, hits, COUNTS, COUNTS, skipped, half_read=half_read)

closest = st.builds(Closest, words, st.sampled_from(Relation), shares, shares)
members = st.builds(Member, words, words, COUNTS, st.integers(0, 10**9))
followers = some(Member, words, words, COUNTS, st.integers(0, 10**9), closest, least=1, most=3)
groups = some(lambda first, rest: Family((first, *rest)), members, followers, most=3)  # type: ignore[arg-type]
contained = some(Containment, members, members, shares, shares, most=3)
families_of_any_words = st.builds(Families, groups, contained, COUNTS, skipped, half_read)

several = some(ClusterMember, words, words, st.none() | scores, least=2, most=4)
alone = some(ClusterMember, words, words, st.none() | scores, most=3)
cluster_list = some(Cluster, st.lists(words, max_size=6).map(tuple), scores, several, most=3)
fields = st.none() | st.just(FieldInfo("corpus", 20))
clustered = st.builds(Clusters, cluster_list, alone, INFO, COUNTS, COUNTS, scores, skipped, half_read, fields)


def check_no_markup(text: str) -> int:
    """No name makes anything of its own of Markdown; the number of tables."""
    tokens = GFM.parse(text)
    inner = [child for token in tokens for child in token.children or []]
    assert not {child.type for child in inner} & {"link_open", "image", "em_open", "code_inline"}
    return sum(token.type == "table_open" for token in tokens)


@given(rankings, st.integers(60, 200), st.booleans())
@settings(max_examples=40)
def test_a_ranking(ranking: Ranking, width: int, coloured: bool) -> None:
    safe_table(ranking, width, coloured=coloured)
    rendered = GFM.render(show(ranking, Format.MARKDOWN))
    assert set(re.findall(r"<([a-z][a-z0-9]*)[^<>]*>", rendered)) <= OURS - {"h3", "blockquote", "del", "ins", "code"}
    assert rendered.count("<tr>") == bool(ranking.results) + len(ranking.results) + sum(
        1 + len(hit.matches) for hit in ranking.results if hit.matches
    ) + sum(1 + len(files) for files in (ranking.skipped, ranking.half_read) if files)
    assert show(ranking, Format.CSV).count("\r\n") == 1 + sum(max(1, len(hit.matches)) for hit in ranking.results)
    *lines, last = ranking_jsonl(ranking).split("\n")
    found = [json.loads(line) for line in lines]
    assert [{key: line[key] for key in line if key != "query"} for line in found] == ranking.to_dict()["results"]
    assert all(line["query"] == ranking.query_path for line in found)
    assert last == ""

    page = safe_page(ranking)
    tags = {element.tag for element in page.iter() if isinstance(element.tag, str)}
    ours = "html head meta title style body header h1 h2 p span bdi main ol li svg rect b details summary div table"
    assert tags <= {*ours.split(), *"thead tbody tr th td ul".split()}
    assert not page.xpath("//@href")
    assert len(page.xpath("//li[@class='card']")) == len(ranking.results)
    cells = page.xpath("//td[@dir='auto']")
    texts = [match.hit.text for hit in ranking.results for match in hit.matches]
    assert [cell.text_content().split() for cell in cells] == [harmless(text).split() for text in texts]


@given(families_of_any_words, st.integers(60, 200), st.booleans())
@settings(max_examples=30)
def test_families(families: Families, width: int, linked: bool) -> None:
    assert not set(re.findall(r"[\x00-\x08\x0b-\x1f\x7f]", safe_table(families, width)))
    assert check_no_markup(show(families, Format.MARKDOWN)) >= len(families.groups)
    rows = csv_rows(show(families, Format.CSV))
    assert len(rows) == sum(len(group.members) for group in families.groups) + len(families.contained)
    assert not any(row[name].startswith(("=", "+", "-", "@")) for row in rows for name in FAMILY_COLUMNS)
    links = {pair: f"{place:04}.html" for place, pair in enumerate(families.pairs())} if linked else {}
    tree = safe_page(families, links=links)
    assert {address[0] for address in tree.xpath("//a/@href")} <= {"#", "0"}
    assert len(tree.xpath("//article")) == len(families.groups) + len({p.whole.path for p in families.contained})
    shown = len(tree.xpath("//a[@class='open']")), len(tree.xpath("//code"))
    assert shown == ((len(families.pairs()), 0) if linked else (0, len(families.pairs())))


@given(clustered, st.integers(60, 200))
@settings(max_examples=30)
def test_clusters(found: Clusters, width: int) -> None:
    safe_table(found, width, top=2)
    assert len(safe_page(found).xpath("//article")) == len(found.clusters)
    check_no_markup(show(found, Format.MARKDOWN))
    rows = csv_rows(show(found, Format.CSV))
    assert len(rows) == sum(len(cluster.members) for cluster in found.clusters) + len(found.alone)
