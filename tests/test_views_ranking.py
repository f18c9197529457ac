"""A ranking in the terminal and as Markdown, whatever titles and file names hold."""

from __future__ import annotations

import csv
import json
import re
from io import StringIO

import pytest
from hand_made import safe_page, safe_table, words
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import html
from markdown_it import MarkdownIt

from colde_cli.corpus.finding import Skipped
from colde_cli.corpus.rank_corpus import HalfRead, Hit, Match, MatchedSection, Ranking
from colde_cli.encoder.encoding import RuntimeInfo
from colde_cli.scoring.score import ScorePart
from colde_cli.views.escaping import harmless
from colde_cli.views.json import ranking_jsonl
from colde_cli.views.output import Format, show

GFM = MarkdownIt("gfm-like", {"html": True, "linkify": False})
scores = st.floats(-1, 1)
pages = st.none() | st.tuples(st.integers(1, 99), st.integers(99, 2000))
matches = st.builds(
    Match, scores, st.builds(MatchedSection, words, pages), st.builds(MatchedSection, words, pages, words)
)
parts = st.just((ScorePart("colde", 0.4, 0.5), ScorePart("words", 0.6, 0.5)))
hits = st.builds(
    Hit,
    st.integers(1, 999),
    words,
    words,
    scores,
    st.none() | st.floats(0, 1),
    st.lists(matches, max_size=2).map(tuple),
    parts,
)
rankings = st.builds(
    Ranking,
    words,
    words,
    st.just(RuntimeInfo("by-hand", "fp32", "cpu")),
    st.lists(hits, max_size=4).map(tuple),
    st.integers(0, 10**6),
    st.integers(0, 10**6),
    st.lists(st.builds(Skipped, words, words), max_size=2).map(tuple),
    half_read=st.lists(st.builds(HalfRead, words, st.lists(words, min_size=1, max_size=2).map(tuple)), max_size=2).map(
        tuple
    ),
)


@pytest.mark.slow
@given(rankings, st.integers(60, 200), st.booleans())
@settings(max_examples=40)
def test_no_line_is_wider_than_the_terminal_or_steers_it(ranking: Ranking, width: int, coloured: bool) -> None:
    safe_table(ranking, width, coloured=coloured)


@pytest.mark.slow
@given(rankings)
@settings(max_examples=40)
def test_other_formats_hold_hostile_words_too(ranking: Ranking) -> None:
    page = GFM.render(show(ranking, Format.MARKDOWN))
    ours = set("p table thead tbody tr th td br strong span sub details summary".split())
    assert set(re.findall(r"<([a-z][a-z0-9]*)[^<>]*>", page)) <= ours
    assert page.count("<tr>") == bool(ranking.results) + len(ranking.results) + sum(
        1 + len(hit.matches) for hit in ranking.results if hit.matches
    ) + sum(1 + len(files) for files in (ranking.skipped, ranking.half_read) if files)
    assert show(ranking, Format.CSV).count("\r\n") == 1 + sum(max(1, len(hit.matches)) for hit in ranking.results)


def test_what_was_not_read_of_a_document_stands_in_every_format() -> None:
    half_read = (HalfRead("q.pdf", ("1 page has no text.",)), HalfRead("a=b.pdf", ("Cut.", "Old.")))
    hits = (Hit(1, "a=b.pdf", "A", 0.5, None), Hit(2, "c.pdf", "C", 0.4, None))
    ranking = Ranking("q.pdf", "Q", RuntimeInfo("by-hand", "fp32", "cpu"), hits, 2, 2, (), half_read=half_read)
    rows = list(csv.DictReader(StringIO(show(ranking, Format.CSV))))
    assert [row["warnings"] for row in rows] == ["Cut. Old.", ""]
    assert [row["query_warnings"] for row in rows] == ["1 page has no text."] * 2
    text = show(ranking, Format.MARKDOWN)
    assert "2 documents not read whole" in text
    assert "| q.pdf | 1 page has no text. |\n| a=b.pdf | Cut.<br>Old. |" in text
    assert [item["path"] for item in ranking.to_dict()["warnings"]] == ["q.pdf", "a=b.pdf"]


@given(rankings)
@settings(max_examples=40)
def test_lines_of_json_are_the_hits(ranking: Ranking) -> None:
    lines = ranking_jsonl(ranking).split("\n")
    assert lines.pop() == ""
    found = [json.loads(line) for line in lines]
    assert [{key: line[key] for key in line if key != "query"} for line in found] == ranking.to_dict()["results"]
    assert all(line["query"] == ranking.query_path for line in found)


@given(rankings)
@settings(max_examples=40)
def test_the_page_is_valid_and_holds_no_foreign_markup(ranking: Ranking) -> None:
    page = safe_page(ranking)
    tags = {element.tag for element in page.iter() if isinstance(element.tag, str)}
    ours = "html head meta title style body header h1 h2 p span bdi main ol li svg rect b details summary div table"
    assert tags <= {*ours.split(), *"thead tbody tr th td ul".split()}
    assert not page.xpath("//@href")
    assert len(page.xpath("//li[@class='card']")) == len(ranking.results)
    cells = page.xpath("//td[@dir='auto']")
    texts = [match.hit.text for hit in ranking.results for match in hit.matches]
    assert [cell.text_content().split() for cell in cells] == [harmless(text).split() for text in texts]


def test_the_page_loads_nothing() -> None:
    policy = "default-src 'none'; style-src 'sha256-"
    page = show(Ranking("q", "q", RuntimeInfo("by-hand", "fp32", "cpu"), (), 1, 0), Format.HTML)
    assert policy in html.document_fromstring(page).xpath("//meta/@content")[0]
    assert "script-src 'none'" in page or "script-src &#39;none&#39;" in page
    assert "No document is similar enough." in page
