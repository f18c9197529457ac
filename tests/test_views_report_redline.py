"""The redline of the HTML report in a real browser: all of both texts, folded passages, and what a search finds."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from hand_made import compared, document
from test_views_report_browser import (
    Visit,
    address,
    browser,
    changed,
    narrow,
    playwright,
    pytestmark,
    wide,
)

from colde_cli.similarity.comparison import Comparison
from colde_cli.similarity.pairs import State
from colde_cli.views.escaping import harmless
from colde_cli.views.report.report_page import comparison_html

__all__ = ["address", "browser", "narrow", "pytestmark", "wide"]

# The words of each passage as A, and as B, has them.
WORDS = """() => [...document.querySelectorAll("#pane-m .p")].map((row) => {
  const without = (name) => {
    const copy = row.querySelector("p").cloneNode(true);
    copy.querySelectorAll(name).forEach((part) => part.remove());
    return copy.textContent;
  };
  return [Number(row.dataset.p), without("ins"), without("del")];
})"""
SHOWN = """(pane) => [...document.querySelectorAll(`${pane} .p`)]
  .filter((passage) => !passage.hidden).map((passage) => Number(passage.dataset.p))"""


def squeezed(text: str) -> str:
    return "".join(harmless(text).split())


def test_the_redline_holds_both_texts(wide: Visit, address: str, field_study: Comparison) -> None:
    rows = wide.open(f"{address}#redline").evaluate(WORDS)
    assert sorted(number for number, _, _ in rows) == list(range(len(field_study.passages)))
    for number, a, b in rows:
        pair = field_study.passages[number]
        assert squeezed(b) == squeezed(pair.b_text)
        assert squeezed(a) == squeezed(pair.a_text if pair.state is not State.SAME else pair.b_text)


def test_its_order_is_that_of_b_and_what_a_has_alone_follows_its_neighbour(
    wide: Visit, address: str, field_study: Comparison
) -> None:
    numbers = [row[0] for row in wide.open(f"{address}#redline").evaluate(WORDS)]
    of_b = sorted((pair.b[0].index, number) for number, pair in enumerate(field_study.passages) if pair.b)
    assert [number for number in numbers if field_study.passages[number].b] == [number for _, number in of_b]
    kept = [n for n in numbers if field_study.passages[n].state in {State.SAME, State.EDITED, State.ONLY_A}]
    assert kept == sorted(kept, key=lambda n: field_study.passages[n].a[0].index)


def test_headings_and_moved_passages_say_what_became_of_them(
    wide: Visit, address: str, field_study: Comparison
) -> None:
    page = wide.open(f"{address}#redline")
    renamed = page.locator("#pane-m .h", has_text="3 Measuring equipment")
    assert renamed.locator("del").text_content() == "3 Instruments"
    assert page.locator("#pane-m .h", has_text="4.3 Software").locator("del").count() == 1
    assert page.locator("#pane-m .h", has_text="2.2 Where the sensors stood").locator("del, ins").count() == 0
    moved = next(n for n in changed(field_study) if field_study.passages[n].state is State.MOVED)
    assert "from A, p. " in page.locator(f"#r{moved} .note").text_content()
    page.locator(".away a").click()
    wide.settle()
    assert page.evaluate("location.hash") == f"#r{moved}"
    assert page.locator(f"#r{moved}.on").is_visible()


def test_pages_of_both_texts_stand_in_the_margin(wide: Visit, address: str) -> None:
    page = wide.open(f"{address}#redline")
    shown = page.locator("#pane-m .leaves > :not(.again)").evaluate_all("all => all.map(leaf => leaf.dataset.n)")
    for side in "AB":
        last = [int(name.split("–")[-1].removeprefix(f"{side} ")) for name in shown if name[0] == side]
        assert last == sorted(last)
        assert (last[0], last[-1]) == (1, 9)


@pytest.mark.slow
def test_the_address_keeps_the_view(wide: Visit, address: str, field_study: Comparison) -> None:
    page = wide.open(f"{address}#redline")
    first, second = changed(field_study)[:2]
    page.keyboard.press("n")
    page.locator(f"#list li[data-p='{second}'] a").click()
    assert page.evaluate("location.hash") == f"#r{second}"
    page.locator(f"#r{second} button").click()
    playwright.expect(page.locator("#copy")).to_have_text("Copied")
    page.reload()
    wide.settle()
    assert page.locator(f"#r{second}.on").is_visible()
    assert not page.locator("#pane-a").is_visible()
    page.get_by_role("link", name="Side by side").focus()
    page.keyboard.press("Enter")
    wide.settle()
    # The change stays on the screen in the other view.
    assert page.locator(f"#p{second}.on").is_visible()
    assert page.locator(f"#p{second}").bounding_box()["y"] < 900
    page.go_back()
    wide.settle()
    assert page.locator(f"#r{second}").is_visible()
    assert first != second


@pytest.mark.parametrize("view", ["text", "redline"])
def test_only_changes_can_be_shown(wide: Visit, address: str, field_study: Comparison, view: str) -> None:
    page = wide.open(f"{address}#{view}")
    panes = ["#pane-m"] if view == "redline" else ["#pane-a", "#pane-b"]
    page.get_by_role("button", name="Changes only").click()
    wide.settle()
    for _ in range(2):
        assert page.evaluate("location.hash") == f"#{view},changes"
        for pane in panes:
            for number in page.evaluate(SHOWN, pane):
                assert field_study.passages[number].state is not State.SAME
            lines = page.locator(f"{pane} .fold").all_text_contents()
            same = [pair for pair in field_study.passages if pair.state is State.SAME]
            assert sum(int(line.split()[0]) for line in lines) == len(same)
        page.reload()
        wide.settle()
    line = page.locator(f"{panes[0]} .fold").nth(1)
    line.click()
    assert line.get_attribute("aria-expanded") == "true"
    opened = page.evaluate(SHOWN, panes[0])
    assert sum(field_study.passages[n].state is State.SAME for n in opened) == int(line.text_content().split()[0])
    if view == "text":
        assert set(opened) & set(page.evaluate(SHOWN, "#pane-b")) >= {
            n for n in opened if field_study.passages[n].state is State.SAME
        }
    page.keyboard.press("u")
    assert page.locator(".fold").count() == 0
    assert page.evaluate("location.hash") == f"#{view}"


def test_an_unchanged_passage_with_a_link_is_unfolded(wide: Visit, address: str, field_study: Comparison) -> None:
    same = [n for n, pair in enumerate(field_study.passages) if pair.state is State.SAME][-3]
    for letter in "pr":
        page = wide.open(f"{address}#{letter}{same},changes")
        assert page.locator(f"#{letter}{same}").bounding_box()["height"] > 10


def find(visit: Visit, address: str, words: str, shown: str) -> Any:
    """Have the browser look for words, as its search does, until it has `shown` what is hidden until found."""
    visit.page.goto("about:blank")
    visit.page.goto(f"{address}:~:text={quote(words)}")
    visit.wait_until(shown)
    visit.settle()
    return visit.page


def a_same_passage(field_study: Comparison) -> tuple[int, str]:
    """A passage that is the same in both, with words that stand nowhere else."""
    text = field_study.b.document.text
    for number, pair in enumerate(field_study.passages):
        words = " ".join(pair.b_text.split()[:8])
        if pair.state is State.SAME and len(pair.b_text) > 300 and text.count(words) == 1:
            return number, words
    raise AssertionError("no passage will do")


def test_a_search_finds_what_is_hidden(wide: Visit, address: str, field_study: Comparison) -> None:
    number, words = a_same_passage(field_study)
    page = find(wide, f"{address}#redline,changes", words, f"document.getElementById('r{number}')?.offsetHeight > 10")
    assert page.locator(f"#r{number}").bounding_box()["height"] > 10
    assert page.evaluate(SHOWN, "#pane-m").count(number) == 1
    page = find(wide, f"{address}#summary", words, "document.documentElement.dataset.view === 'text'")
    assert page.evaluate("document.documentElement.dataset.view") == "text"
    assert page.locator(f"#q{number}").is_visible()


def test_hidden_views_hold_no_words_twice(wide: Visit, address: str, field_study: Comparison) -> None:
    _, words = a_same_passage(field_study)
    # What neither is displayed nor could be found is left out.
    count = """(words) => {
      const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
      let found = 0;
      while (walker.nextNode()) {
        const owner = walker.currentNode.parentElement;
        if (owner.closest("script")) continue;
        let displayed = true;
        for (let at = owner; at; at = at.parentElement) displayed &&= getComputedStyle(at).display !== "none";
        if (displayed && walker.currentNode.data.replace(/\\s+/g, " ").includes(words)) found += 1;
      }
      return found;
    }"""
    for view, expected in (("summary", 1), ("redline", 1), ("redline,changes", 1), ("text", 2)):
        page = wide.open(f"{address}#{view}")
        assert page.evaluate(count, words) == expected, view


def test_a_phone_leads_from_the_summary_to_the_redline(narrow: Visit, address: str, field_study: Comparison) -> None:
    page = narrow.open(address)
    page.locator(".flagged a").first.click()
    narrow.settle()
    first = field_study.changes[0].pairs[0]
    assert page.evaluate("location.hash") == f"#r{first}"
    assert page.locator(f"#r{first}").bounding_box()["width"] > 250
    assert 0 < page.locator(f"#r{first}").bounding_box()["y"] < 740
    page.locator(".tabs [data-tab=list]").click()
    second = changed(field_study)[1]
    page.locator(f"#list li[data-p='{second}'] a").click()
    narrow.settle()
    assert 0 < page.locator(f"#r{second}").bounding_box()["y"] < 740


def test_strangers_follow_one_another(wide: Visit, tmp_path: Path) -> None:
    a = document([("Boats", "The committee met on the second Tuesday and heard reports about the harbour.")])
    b = document([("Bread", "Knead flour, salt, yeast and warm water well, and let it rise for an hour.")])
    target = tmp_path / "strangers.html"
    target.write_text(comparison_html(compared(a, b, 0.1)), encoding="utf-8")
    page = wide.open(f"{target.as_uri()}#redline")
    texts = page.locator("#pane-m :is(del, ins)").all_text_contents()[2:]
    assert texts == ["Boats", a.text.split("\n\n")[-1], "Bread", b.text.split("\n\n")[-1]]
