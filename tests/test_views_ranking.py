"""Rankings and families: what the pages and tables say of files."""

from __future__ import annotations

import csv
from io import StringIO

from lxml import html

from colde_cli.corpus.duplicates import Closest, Families, Family, Member, Relation
from colde_cli.corpus.finding import HalfRead
from colde_cli.corpus.rank_corpus import Hit, Ranking
from colde_cli.encoder.encoding import RuntimeInfo
from colde_cli.views.output import Format, show


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


def test_the_page_loads_nothing() -> None:
    policy = "default-src 'none'; style-src 'sha256-"
    page = show(Ranking("q", "q", RuntimeInfo("by-hand", "fp32", "cpu"), (), 1, 0), Format.HTML)
    assert policy in html.document_fromstring(page).xpath("//meta/@content")[0]
    assert "script-src 'none'" in page or "script-src &#39;none&#39;" in page
    assert "No document is similar enough." in page


def test_a_command_quotes_its_files() -> None:
    first = Member("-rf; <b>.txt", "T", 9, 9)
    second = Member("it's.txt", "T", 9, 9, Closest(first.path, Relation.VERSION, 0.5, 0.5))
    page = show(Families((Family((first, second)),), (), 2), Format.HTML)
    (command,) = html.fromstring(page).xpath("//code/text()")
    assert command == """colde diff -o diff.html -- '-rf; <b>.txt' 'it'"'"'s.txt'"""
