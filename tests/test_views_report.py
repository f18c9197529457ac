"""The HTML report without a browser: valid, complete, safe whatever the documents hold, and not too large."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import html5lib
import numpy as np
import pytest
from hand_made import compared, document
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import html

from colde_cli.documents.document import Part, SectionKind, assemble
from colde_cli.encoder.encoder import Encoder
from colde_cli.scoring.score_table import ScoreTable
from colde_cli.similarity.alignment import align
from colde_cli.similarity.comparison import Comparison, compare_encodings
from colde_cli.similarity.pairs import State
from colde_cli.similarity.redline import IgnoreOptions, Operation
from colde_cli.views.changes import marked
from colde_cli.views.escaping import harmless
from colde_cli.views.report.overview import change_excerpt
from colde_cli.views.report.report_page import MAX_LINES, comparison_html, heat_maps

LONG = "The committee met on the second Tuesday and heard three reports about the harbour wall."


@pytest.fixture(scope="module")
def report(field_study: Comparison) -> str:
    return comparison_html(field_study)


def parsed(text: str) -> Any:
    """The page by a strict parser, then as a tree to ask."""
    html5lib.HTMLParser(strict=True).parse(text)
    return html.document_fromstring(text)


def data_of(page: Any) -> dict[str, object]:
    found: dict[str, object] = json.loads(page.get_element_by_id("data").text)
    return found


def words(text: str) -> str:
    """Text without white space: blocks of a page have none between them."""
    return "".join(harmless(text).split())


def body(page: Any, side: str) -> str:
    """What a pane says of its document, notes of the report left out."""
    pane = page.get_element_by_id(f"pane-{side}")
    for note in pane.xpath(".//*[@class]"):
        if {"tag", "became", "pb", "title"} & set(note.get("class").split()):
            note.drop_tree()
    return words(pane.text_content())


def test_the_page_is_valid_and_its_ids_are_unique(report: str) -> None:
    page = parsed(report)
    ids = page.xpath("//@id")
    assert len(ids) == len(set(ids))
    for target in page.xpath("//a/@href"):
        assert target[0] == "#"
        assert target[1:] in ids, target


def test_all_text_of_both_documents_is_there_once(report: str, field_study: Comparison) -> None:
    page = parsed(report)
    for side, encoding in (("a", field_study.a), ("b", field_study.b)):
        found = encoding.document
        front = "(frontmatter)"  # stands for the heading that a section lacks
        assert body(page, side).replace(front, "") == words(found.text)


def test_every_pair_can_be_linked_to(report: str, field_study: Comparison) -> None:
    page = parsed(report)
    assert len(str(data_of(page)["states"])) == len(field_study.passages)
    for number, pair in enumerate(field_study.passages):
        element = page.get_element_by_id(f"p{number}")
        pane = next(found.get("id") for found in element.iterancestors("article"))
        assert pane == ("pane-b" if pair.state is State.ONLY_B else "pane-a")


def test_the_redline_marks_every_edit_on_its_side(report: str, field_study: Comparison) -> None:
    page = parsed(report)
    for number, pair in enumerate(field_study.passages):
        for side, tag in (("a", "del"), ("b", "ins")):
            marks = page.xpath(f"//article[@id='pane-{side}']//*[@data-p='{number}']//{tag}")
            own = [(edit.a if side == "a" else edit.b) for edit in pair.edits]
            text = pair.a_text if side == "a" else pair.b_text
            expected = "".join(text[span.start : span.end] for span in own)
            assert words("".join(mark.text_content() for mark in marks)) == words(expected)


def test_pages_are_numbered_in_order(report: str) -> None:
    page = parsed(report)
    for side in "ab":
        labels = page.xpath(f"//article[@id='pane-{side}']//*[@role='doc-pagebreak']/@aria-label")
        assert labels == [f"page {number}" for number in range(1, 10)]


def test_what_matters_is_listed_first(report: str) -> None:
    first = parsed(report).get_element_by_id("summary").text_content()
    for words_of_it in (
        "Two versions of one paper",
        "of A's words are in B",
        "EUR 58",
        "EUR 63",
        "(none)",
        "27 %",
    ):
        assert words_of_it in first
    for heading in ("3 Instruments", "3 Measuring equipment", "4.4 Data protection", "4.3 Software"):
        assert heading in first


def test_a_document_has_one_number_of_words(report: str) -> None:
    # Passages alone have fewer words than the document with its headings: 3,068 and 3,191.
    summary = parsed(report).get_element_by_id("summary").text_content()
    assert re.findall(r"[\d,]+ words", summary) == ["3,150 words", "3,281 words"]


def test_versions_of_one_title_are_told_apart_by_their_files(report: str) -> None:
    page = parsed(report)
    assert page.xpath("//h1")[0].text_content() == "Comparison of field-study-v1.pdf and field-study-v2.pdf"
    assert "Sensors on the Sill" in page.get_element_by_id("summary").text_content()


def test_the_longest_passages_of_one_side_are_shown_in_order(report: str, field_study: Comparison) -> None:
    shown = parsed(report).xpath("//*[@id='longest-title']/following-sibling::ol//a/@href")
    alone = [n for n, pair in enumerate(field_study.passages) if not (pair.a and pair.b)]
    size = {n: len(field_study.passages[n].a_text or field_study.passages[n].b_text) for n in alone}
    assert shown == [f"#p{n}" for n in sorted(sorted(alone, key=lambda n: -size[n])[:4])]


def test_nothing_may_be_loaded_and_no_style_stands_in_the_markup(report: str) -> None:
    page = parsed(report)
    policy = page.xpath("//meta[@http-equiv='Content-Security-Policy']/@content")[0]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert not page.xpath("//@src | //@style | //link | //@*[starts-with(name(), 'on')]")
    assert "http" not in re.sub(r"http-equiv|http://www\.w3\.org/2000/svg", "", report)


def test_a_comparison_and_its_maps_are_in_the_data(report: str, field_study: Comparison) -> None:
    maps = data_of(parsed(report))
    for name, scores in (("sections", field_study.section_scores), ("chunks", field_study.chunk_scores)):
        found = maps[name]
        assert isinstance(found, dict)
        assert (found["rows"], found["columns"]) == scores.shape


def test_large_maps_show_the_highest_of_several_cells() -> None:
    found = compared(document([("", LONG)]), document([("", LONG)]))
    scores = np.zeros((2 * MAX_LINES + 1, 3), np.float32)
    scores[4, 1] = 0.5
    measured = replace(found.scores, sections=ScoreTable(scores.shape, [scores]))
    maps = heat_maps(replace(found, measure=lambda: measured))["sections"]
    assert (maps["rows"], maps["steps"]) == (667, [3, 1])


def test_identical_documents_say_so() -> None:
    same = document([("One", LONG)])
    page = parsed(comparison_html(compared(same, same, 1.0)))
    text = page.get_element_by_id("summary").text_content()
    assert "The texts are the same" in text
    assert "Nothing: no passage differs." in text
    assert not page.xpath("//ol[@id='list']")


def test_strangers_have_no_partners() -> None:
    a, b = document([("Boats", LONG)]), document([("Bread", "Knead flour, salt, yeast and warm water well.")])
    page = parsed(comparison_html(compared(a, b, 0.1)))
    assert "No passage of A matches a passage of B." in page.text_content()
    assert sorted(row.get("class") for row in page.xpath("//ol[@id='list']/li")) == ["a", "b"]


def test_of_two_different_texts_the_closest_places_are_shown_without_references(encoder: Encoder) -> None:
    references = Part("References", "A. Keeper. The pilot's handbook. Harbour Press, 1907.", 1, SectionKind.REFERENCES)
    a = Part(
        "Boats",
        f"{LONG} Its members found that the boats of the pilots leak and have to be tarred in spring.",
    )
    b = Part(
        "Vessels",
        "In spring the ships that guide others into port shall be made tight, said a panel on docks.",
    )
    both = [encoder.encode(assemble("", "", [part, references])) for part in (a, b)]
    page = parsed(comparison_html(compare_encodings(both[0], both[1], encoder)))
    assert "How did the sections change?" not in page.text_content()
    (row,) = page.xpath("//ul[contains(@class, 'scored')]/li")
    assert row.xpath(".//a/@href") == ["#as0", "#bs0"]
    (link,) = page.xpath("//a[@data-map='chunks']")
    assert (link.get("data-a"), link.get("data-b")) == ("0", "0")
    assert words(a.text[:60]) in words(link.text_content())


@pytest.mark.parametrize("swap", [False, True])
def test_an_empty_side_is_shown_as_such(swap: bool) -> None:
    a, b = document([]), document([("One", LONG)])
    page = parsed(comparison_html(compared(*((b, a) if swap else (a, b)))))
    assert f"{'B' if swap else 'A'} has no text." in page.text_content()
    assert "One of the documents has none." in page.text_content()


def test_headings_without_text_and_without_pages() -> None:
    bare = document([("Only a heading", ""), ("And one more", LONG)])
    page = parsed(comparison_html(compared(bare, document([("And one more", LONG)]))))
    assert not page.xpath("//*[@role='doc-pagebreak']")
    assert page.get_element_by_id("as0").text_content().startswith("Only a heading")


HOSTILE = (
    "</script><script>alert(1)</script>", "<!--<script>", "]]>&amp;&lt;{{ 7 * 7 }}{% raw %}",
    '" onmouseover="alert(1)" x="', "a\u202eevil\u202c b\u2066c\u2069 \u2028\u2029",
    "\x00\x1b[31m\ud800\ufffe\U0001ffff", "w" * 5000, "שלום עולם, هذا نص من اليمين إلى اليسار",
)  # fmt: skip


@pytest.mark.parametrize("evil", HOSTILE)
def test_hostile_text_stays_text(evil: str) -> None:
    a = document([(evil, f"{evil} {LONG}\n\n{evil}")], title=evil)
    b = document([(f"{evil}2", f"{LONG.replace('three', 'five')} {evil}")], title=evil)
    page = parsed(comparison_html(compared(a, b)))
    assert len(page.xpath("//script")) == 3
    assert not page.xpath("//@onmouseover")
    assert body(page, "a") == words(a.text)
    assert body(page, "b") == words(b.text)


text = st.text(st.characters(codec=None), max_size=60)
parts = st.lists(st.tuples(text, st.lists(text, max_size=4).map("\n\n".join)), max_size=4)


@pytest.mark.slow
@settings(max_examples=15)
@given(parts, parts, text)
def test_any_text_makes_a_valid_page(a: list[tuple[str, str]], b: list[tuple[str, str]], title: str) -> None:
    left, right = document(a, title), document(b, title)
    page = parsed(comparison_html(compared(left, right)))
    assert len(page.xpath("//script")) == 3
    assert len(page.xpath("//article")) == 2


def test_what_is_ignored_is_said() -> None:
    a, b = document([("", f"{LONG} It costs EUR 10.")]), document([("", f"{LONG} It costs EUR 20.")])
    ignore = IgnoreOptions(numbers=True)
    ignoring = replace(compared(a, b), ignore=ignore, alignment=align(a, b, None, ignore))
    text = parsed(comparison_html(ignoring)).get_element_by_id("summary").text_content()
    assert "Ignored: numbers" in text
    assert "Nothing: no passage differs apart from numbers." in text


def test_overrides_of_direction_are_made_visible() -> None:
    assert harmless("pay \u202e001\u202c now") == "pay \ufffd001 now"


def test_an_excerpt_shows_the_flagged_edit() -> None:
    a = f"{LONG} The fee is subject to review by the board, and the rent is EUR 580 a month."
    b = f"{LONG} The charge is subject to review by the board, and the rent is EUR 850 a month."
    pair = compared(document([("", a)]), document([("", b)])).passages[0]
    assert marked(change_excerpt(pair)).endswith("rent is EUR [-580-] {+850+} a month.")


def test_an_excerpt_shows_no_old_words_as_kept(field_study: Comparison) -> None:
    edited = [pair for pair in field_study.passages if pair.edits]
    for pair in edited:
        line = change_excerpt(pair)
        for text, other in ((pair.a_text, Operation.INSERTED), (pair.b_text, Operation.DELETED)):
            shown = "".join(" " * piece.gap + piece.text for piece in line if piece.kind != other)
            assert all(words(stretch) in words(text) for stretch in shown.split("…"))
    interval = next(pair for pair in edited if "95 % interval" in pair.a_text)
    shown = marked(change_excerpt(interval))
    assert "[-31-] {+27+} % (95 % interval: [-22-] {+18+} to [-39-] {+35+} %)" in shown


def test_an_excerpt_is_cut_where_the_next_edit_is_far() -> None:
    a = "One pump, and a fee of EUR 580 that nobody else in the town has to pay, runs at night."
    b = "Two pumps, and a fee of EUR 850 that nobody else in the town has to pay, runs by day."
    pair = compared(document([("", a)]), document([("", b)])).passages[0]
    line = marked(change_excerpt(pair))
    assert line.startswith("[-One pump-] {+Two pumps+}, and a fee of EUR [-580-] {+850+} that nobody")
    assert line.endswith("has to pay, runs…")


@pytest.mark.slow
def test_a_long_report_stays_small() -> None:
    paragraphs = [f"{LONG} It was item {number} of {number * 7} on the list." * 3 for number in range(600)]
    other = [words.replace("three", "four") if n % 5 == 0 else words for n, words in enumerate(paragraphs)]
    a, b = (document([("Minutes", "\n\n".join(side))]) for side in (paragraphs, other))
    page = comparison_html(compared(a, b))
    # Each text stands in the page once; the redline and the list add the rest.
    assert len(page.encode()) < 2.2 * (len(a.text) + len(b.text))
