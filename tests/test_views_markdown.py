"""A comparison and a ranking as Markdown, read as GitHub would render it."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import pytest
from command_line import run
from hand_made import compared, document
from markdown_it import MarkdownIt

from colde_cli.corpus.finding import Skipped
from colde_cli.corpus.rank_corpus import Hit, Match, MatchedSection, Ranking
from colde_cli.encoder.encoding import RuntimeInfo
from colde_cli.similarity.comparison import Comparison
from colde_cli.views.output import Format, show

GFM = MarkdownIt("gfm-like", {"html": True, "linkify": False})
OURS = set("p table thead tbody tr th td strong h3 blockquote del ins span sub details summary br code".split())
PAYMENT = "The council shall not pay 58 dollars to anybody within the year.\n\nNothing else is due."
A = document([("1 Payment", PAYMENT)])
B = document(
    [
        ("1 Payment", "The council shall pay 63 dollars to anybody within the year."),
        ("2 Notice", "Notice is given by post to the <office> at the market."),
    ]
)


def elements(page: str) -> set[str]:
    return set(re.findall(r"<([a-z][a-z0-9]*)[^<>]*>", page))


def words(page: str) -> str:
    return unescape(re.sub(r"<[^<>]*>", "", page)).replace("\N{ZERO WIDTH SPACE}", "")


def test_the_order_is_verdict_counts_flagged_changes_sections_the_rest() -> None:
    page = GFM.render(show(compared(A, B), Format.MARKDOWN, level="all", top=10))
    parts = [
        "Two versions of one text: 1 passage edited, 1 added, 1 dropped; 1 change touches amounts or negations.",
        "Flagged</th>", "Flagged changes", "Only in A: 1 passage", "Only in B: 1 passage", "Section changes</h3>",
    ]  # fmt: skip
    places = [page.index(part) for part in parts]
    assert places == sorted(places)
    assert "<del>not</del>" in page
    assert "<del>58</del> <ins>63</ins> dollars" in page
    assert "<strong>amount</strong> 58 dollars → 63 dollars" in page
    assert "&lt;office&gt;" in page


def test_of_two_different_texts_the_closest_sections_are_listed(strangers: Comparison) -> None:
    found = strangers
    page = show(found, Format.MARKDOWN, level="all", top=10)
    assert "### Section changes" not in page
    rows = page.partition("### Closest sections")[2].strip().splitlines()[2:]
    score, i, j = found.closest_sections(1)[0]
    names = [side.document.sections[index].heading.split()[-1] for side, index in ((found.a, i), (found.b, j))]
    assert rows[0].startswith(f"| {score:.2f} |")
    assert all(name in rows[0] for name in names)


@pytest.mark.parametrize(
    ("level", "shown"),
    [
        ("document", ()), ("section", ("Section scores",)), ("passage", ("Flagged changes", "Only in B: 1 passage")),
        ("chunk", ("Chunks of A",)), ("all", ("Flagged changes", "Only in B: 1 passage")),
    ],
)  # fmt: skip
def test_the_level_says_what_is_shown(level: str, shown: tuple[str, ...]) -> None:
    text = show(compared(A, B), Format.MARKDOWN, level=level, top=10)
    parts = ("Section scores", "Flagged changes", "Only in B: 1 passage", "Chunks of A")
    assert [part for part in parts if part in text] == [part for part in parts if part in shown]


def test_top_limits_every_list_and_says_so() -> None:
    many, more = (
        "\n\n".join(f"Item number {n} of our list costs {n}{end} francs net." for n in range(5, 12))
        for end in ("00", "50")
    )
    a, b = (document([("Prices", text)]) for text in (many, more))
    text = show(compared(a, b), Format.MARKDOWN, level="all", top=2)
    assert "### Flagged changes (2 of 7)" in text
    assert text.count("<del>") == 2


def test_a_table_of_scores_too_large_for_a_comment_is_left_out() -> None:
    many = [(f"{n} Heading", f"Word{n} number {n}.") for n in range(60)]
    text = show(compared(document(many), document(many)), Format.MARKDOWN, level="section", top=10)
    assert "60 × 60" in text
    assert "too large" in text
    assert len(text) < 2000


def test_places_of_a_real_pair(field_study: Comparison) -> None:
    text = show(field_study, Format.MARKDOWN, level="passage", top=100)
    assert "edited · A p. 3 → B p. 3 · 3.1 The sensor unit" in text
    assert "A p. 2–3, 2.2 Where" not in text


def test_only_a_source_with_pages_has_a_page_in_a_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "plain.md"
    printed = Path(__file__).parent / "data" / "plain.pdf"
    file.write_text(run(capsys, "text", printed).out.replace("harbour", "haven"), encoding="utf-8")
    said = run(capsys, "diff", file, printed, "--format", "markdown").out
    assert "first in B p. 1 · 1" in said


def test_a_ranking_is_a_table_with_what_matches_folded() -> None:
    match = Match(0.9, MatchedSection("2 <Method>", (3, 4)), MatchedSection("", None, "a | b"))
    hits = (
        Hit(1, "corpus/x_y.pdf", "A *title*", 0.83, 0.98, (match,)),
        Hit(2, "z.pdf", "@octocat", 0.2, None),
    )
    skipped = (Skipped("bad|file.pdf", "It is damaged."),)
    info = RuntimeInfo("colde-minilm-l6", "int8", "cpu")
    page = GFM.render(show(Ranking("q.pdf", "Query", info, hits, 3, 1, skipped), Format.MARKDOWN))
    assert elements(page) <= OURS
    shown = words(page)
    for said in (
        "A *title*",
        "corpus/x_y.pdf",
        "98%",
        "p. 3–4 2 <Method>",
        "a | b",
        "bad|file.pdf",
        "3 documents",
    ):
        assert said in shown
    assert "No document is similar enough." in show(Ranking("q.pdf", "Query", info, (), 1, 0), Format.MARKDOWN)
    assert "There was no document" in show(Ranking("q.pdf", "Query", info, (), 0, 0), Format.MARKDOWN)
