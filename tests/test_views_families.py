"""Families in the terminal, as Markdown, CSV and HTML, whatever titles and file names hold."""

from __future__ import annotations

import csv
import re
from io import StringIO

import pytest
from hand_made import safe_page, safe_table, words
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import html
from markdown_it import MarkdownIt

from colde_cli.corpus.duplicates import Closest, Containment, Families, Family, Member, Relation
from colde_cli.corpus.finding import Skipped
from colde_cli.corpus.subjects import Cluster, ClusterMember, Clusters
from colde_cli.encoder.encoding import RuntimeInfo
from colde_cli.scoring.profile import FieldInfo
from colde_cli.views.csv import FAMILY_COLUMNS
from colde_cli.views.output import Format, show

GFM = MarkdownIt("gfm-like", {"html": True, "linkify": False})
shares = st.floats(0.01, 1)
closest = st.builds(Closest, words, st.sampled_from(Relation), shares, shares)
members = st.builds(Member, words, words, st.integers(0, 10**6), st.integers(0, 10**9))
followers = st.builds(Member, words, words, st.integers(0, 10**6), st.integers(0, 10**9), closest)
groups = st.builds(lambda first, rest: Family((first, *rest)), members, st.lists(followers, min_size=1, max_size=3))
found = st.builds(
    Families,
    st.lists(groups, max_size=3).map(tuple),
    st.lists(st.builds(Containment, members, members, shares, shares), max_size=3).map(tuple),
    st.integers(0, 10**6),
    st.lists(st.builds(Skipped, words, words), max_size=2).map(tuple),
    st.lists(st.tuples(words, st.lists(words, min_size=1, max_size=2).map(tuple)), max_size=2).map(tuple),
)


@pytest.mark.slow
@given(found, st.integers(60, 200))
@settings(max_examples=30)
def test_no_line_is_wider_than_the_terminal_or_steers_it(families: Families, width: int) -> None:
    text = safe_table(families, width)
    assert not set(re.findall(r"[\x00-\x08\x0b-\x1f\x7f]", text))


@given(found)
@settings(max_examples=30)
def test_markdown_holds_no_markup_of_names(families: Families) -> None:
    tokens = GFM.parse(show(families, Format.MARKDOWN))
    inner = [child for token in tokens for child in token.children or []]
    assert not {child.type for child in inner} & {"link_open", "image", "em_open", "code_inline"}
    assert sum(token.type == "table_open" for token in tokens) >= len(families.groups)


@given(found)
@settings(max_examples=30)
def test_csv_has_a_row_for_each_member_and_part_and_no_formula(families: Families) -> None:
    rows = list(csv.DictReader(StringIO(show(families, Format.CSV), newline="")))
    assert len(rows) == sum(len(group.members) for group in families.groups) + len(families.contained)
    assert not any(row[name].startswith(("=", "+", "-", "@")) for row in rows for name in FAMILY_COLUMNS)


@pytest.mark.slow
@given(found, st.booleans())
@settings(max_examples=30)
def test_the_page_is_valid_and_runs_nothing(families: Families, linked: bool) -> None:
    links = {pair: f"{place:04}.html" for place, pair in enumerate(families.pairs())} if linked else {}
    tree = safe_page(families, links=links)
    assert {address[0] for address in tree.xpath("//a/@href")} <= {"#", "0"}
    assert len(tree.xpath("//article")) == len(families.groups) + len({p.whole.path for p in families.contained})
    shown = len(tree.xpath("//a[@class='open']")), len(tree.xpath("//code"))
    assert shown == ((len(families.pairs()), 0) if linked else (0, len(families.pairs())))


def test_a_command_quotes_its_files() -> None:
    first = Member("-rf; <b>.txt", "T", 9, 9)
    second = Member("it's.txt", "T", 9, 9, Closest(first.path, Relation.VERSION, 0.5, 0.5))
    page = show(Families((Family((first, second)),), (), 2), Format.HTML)
    (command,) = html.fromstring(page).xpath("//code/text()")
    assert command == """colde diff -o diff.html -- '-rf; <b>.txt' 'it'"'"'s.txt'"""


members_of = st.builds(ClusterMember, words, words, st.none() | st.floats(-1, 1))
clustered = st.builds(
    Clusters,
    st.lists(
        st.builds(
            Cluster,
            st.lists(words, max_size=6).map(tuple),
            st.lists(members_of, min_size=2, max_size=4).map(tuple),
            st.floats(-1, 1),
        ),
        max_size=3,
    ).map(tuple),
    st.lists(members_of, max_size=3).map(tuple),
    st.just(RuntimeInfo("by-hand", "fp32", "cpu")),
    st.integers(0, 10**6),
    st.integers(0, 10**6),
    st.floats(-1, 1),
    st.lists(st.builds(Skipped, words, words), max_size=2).map(tuple),
    st.lists(st.tuples(words, st.lists(words, min_size=1, max_size=2).map(tuple)), max_size=2).map(tuple),
    st.none() | st.just(FieldInfo("corpus", 20)),
)


@pytest.mark.slow
@given(clustered, st.integers(60, 200))
@settings(max_examples=30)
def test_clusters_of_any_words_are_shown_safely(found: Clusters, width: int) -> None:
    safe_table(found, width, top=2)
    tree = safe_page(found)
    assert len(tree.xpath("//article")) == len(found.clusters)
    inner = [child for token in GFM.parse(show(found, Format.MARKDOWN)) for child in token.children or []]
    assert not {child.type for child in inner} & {"link_open", "image", "em_open", "code_inline"}
    rows = list(csv.DictReader(StringIO(show(found, Format.CSV), newline="")))
    assert len(rows) == sum(len(cluster.members) for cluster in found.clusters) + len(found.alone)
