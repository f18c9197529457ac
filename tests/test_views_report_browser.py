"""The HTML report as people use it: in a real browser, by mouse and keys, wide and narrow, light and dark, on paper."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pypdfium2
import pytest
from command_line import OTHER, V1
from hand_made import compared, document

from colde_cli.documents.reading import read
from colde_cli.encoder.encoder import Encoder
from colde_cli.similarity.comparison import Comparison, compare_encodings
from colde_cli.similarity.pairs import State
from colde_cli.views.report.report_page import comparison_html

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

BROWSER = next(
    (
        found
        for name in ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
        if (found := shutil.which(name))
    ),
    None,
)
needs_browser = pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed")
pytestmark = [needs_browser, pytest.mark.slow]
WIDE, NARROW = {"width": 1400, "height": 900}, {"width": 360, "height": 740}
PATIENCE = 120_000
"""Milliseconds to wait for what a page must show in the end: a busy machine is no failure."""
playwright.expect.set_options(timeout=PATIENCE)

# The colours of every text on the screen against what lies behind it (WCAG 2.2, 1.4.3), the worst first.
CONTRASTS = """() => {
  const pen = Object.assign(document.createElement("canvas"), { width: 1, height: 1 })
    .getContext("2d", { willReadFrequently: true });
  const bytes = (colour, under) => {
    pen.fillStyle = `rgb(${under.join(" ")})`;
    pen.fillRect(0, 0, 1, 1);
    pen.fillStyle = colour;
    pen.fillRect(0, 0, 1, 1);
    return [...pen.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const light = (rgb) => rgb.map((value) => value / 255)
    .map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4))
    .reduce((sum, value, place) => sum + value * [0.2126, 0.7152, 0.0722][place], 0);
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const owner = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || owner.closest("script, style, .unseen, [hidden], :disabled")) continue;
    if (!owner.checkVisibility() || owner.closest("svg, canvas")) continue;
    const behind = [];
    for (let at = owner; at; at = at.parentElement) behind.unshift(getComputedStyle(at).backgroundColor);
    const back = behind.reduce((under, colour) => bytes(colour, under), [255, 255, 255]);
    const [a, b] = [light(bytes(getComputedStyle(owner).color, back)), light(back)];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    found.push([Math.round(100 * ratio) / 100, owner.className || owner.localName, owner.textContent.slice(0, 30)]);
  }
  return found.sort((one, other) => one[0] - other[0]).slice(0, 5);
}"""

# Everything that takes the focus, and what a screen reader would call it.
NAMES = """() => [...document.querySelectorAll("a, button, input, canvas, summary, [tabindex], dialog, nav, article")]
  .filter((element) => !(element.getAttribute("aria-label") || element.textContent.trim() || element.labels?.length
    || document.getElementById(element.getAttribute("aria-labelledby"))?.textContent.trim()))
  .map((element) => element.outerHTML.slice(0, 80))"""

LEVELS = """(number) => ["p", "q"].map((id) => document.getElementById(id + number).getBoundingClientRect().top)"""


@pytest.fixture(scope="module")
def address(field_study: Comparison, tmp_path_factory: pytest.TempPathFactory) -> str:
    target = tmp_path_factory.mktemp("report") / "report.html"
    target.write_text(comparison_html(field_study), encoding="utf-8")
    return target.as_uri()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as engine:
        launched = engine.chromium.launch(
            executable_path=BROWSER,
            args=["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
            timeout=PATIENCE,
        )
        yield launched
        launched.close()


class Visit:
    """A page, and what it said and asked for."""

    def __init__(self, browser: Any, size: dict[str, int], **options: Any) -> None:
        self.context = browser.new_context(viewport=size, **options)
        self.context.set_default_timeout(PATIENCE)
        self.page = self.context.new_page()
        self.said: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))

    def open(self, address: str) -> Any:
        # A new fragment alone would not load the page again.
        self.page.goto("about:blank")
        self.page.goto(address)
        self.settle()
        return self.page

    def settle(self) -> None:
        """Until the page has drawn what the last action asked for."""
        self.page.evaluate("async () => { for (let n = 0; n < 8; n++) await new Promise(requestAnimationFrame); }")

    def wait_until(self, shown: str, argument: Any = None) -> None:
        """Wait for what a script says of the page, asked from outside.

        Playwright's own `wait_for_function` asks again from inside the page, where the report's Content Security
        Policy forbids it: it works only if the first answer is yes.
        """
        start = time.monotonic()
        while not self.page.evaluate(shown, argument):
            assert time.monotonic() - start < PATIENCE / 1000, f"the page never came to {shown}"
            self.settle()


@pytest.fixture
def wide(browser: Any) -> Iterator[Visit]:
    visit = Visit(browser, WIDE)
    yield visit
    assert visit.said == []
    visit.context.close()


@pytest.fixture
def narrow(browser: Any) -> Iterator[Visit]:
    visit = Visit(browser, NARROW)
    yield visit
    assert visit.said == []
    visit.context.close()


def flagged(field_study: Comparison) -> list[int]:
    return [number for number, pair in enumerate(field_study.passages) if pair.flags]


def changed(field_study: Comparison) -> list[int]:
    return [number for number, pair in enumerate(field_study.passages) if pair.state is not State.SAME]


def test_the_page_is_alone_and_quiet(wide: Visit, address: str) -> None:
    page = wide.open(address)
    for key in "123t4u23nnppul?":
        page.keyboard.press(key)
        wide.settle()
    assert page.evaluate("document.getElementById('help').open")
    assert wide.asked == [address]


def test_the_first_screen_answers_first(browser: Any, address: str) -> None:
    visit = Visit(browser, {"width": 1280, "height": 800})
    page = visit.open(address)
    for words in (
        "Two versions of one paper",
        "of A's words are in B",
        "EUR 58",
        "must",
        "3 Measuring equipment",
    ):
        place = page.get_by_text(words).first.bounding_box()
        assert place is not None
        assert place["y"] + place["height"] <= 800, words
    visit.context.close()


def test_keys_go_through_the_changes_and_around(wide: Visit, address: str, field_study: Comparison) -> None:
    page = wide.open(address)
    numbers = changed(field_study)
    for number in numbers[:3]:
        page.keyboard.press("n")
        assert page.evaluate("location.hash") == f"#p{number}"
    page.keyboard.press("k")
    assert page.evaluate("location.hash") == f"#p{numbers[1]}"
    assert page.locator("#count").text_content() == f"2 of {len(numbers)} changes"
    for _ in range(2):
        page.keyboard.press("p")
    assert page.evaluate("location.hash") == f"#p{numbers[-1]}"


def test_keys_can_be_switched_off_and_stay_off(wide: Visit, address: str) -> None:
    page = wide.open(address)
    page.locator("#help-open").click()
    page.locator("#keys").uncheck()
    page.locator("#help-close").click()
    for _ in range(2):
        page.keyboard.press("n")
        assert page.evaluate("location.hash") == ""
        page.reload()
        # The browser stores the choice beside the page: under load after the reload has read it.
        playwright.expect(page.locator("#keys")).not_to_be_checked()


def test_keys_switched_off_in_one_report_are_off_in_another(wide: Visit, address: str) -> None:
    page, other = wide.open(address), wide.context.new_page()
    other.goto(address)
    other.locator("#help-open").click()
    other.locator("#keys").uncheck()
    playwright.expect(page.locator("#keys")).not_to_be_checked()
    page.keyboard.press("n")
    assert page.evaluate("location.hash") == ""


def test_filters_narrow_list_and_keys(wide: Visit, address: str, field_study: Comparison) -> None:
    page = wide.open(f"{address}#text")
    page.get_by_role("button", name="percentage").click()
    expected = [
        n for n in flagged(field_study) if "percentage" in {flag.kind.value for flag in field_study.passages[n].flags}
    ]
    shown = page.locator("#list li:visible").evaluate_all("rows => rows.map(row => Number(row.dataset.p))")
    assert shown == expected
    page.keyboard.press("n")
    page.keyboard.press("n")
    assert page.evaluate("location.hash") == f"#p{expected[1]}"
    page.get_by_role("button", name="moved").click()
    assert page.locator("#list li:visible").count() == 0
    assert page.locator(".empty").is_visible()


def test_the_weightiest_changes_can_come_first(wide: Visit, address: str, field_study: Comparison) -> None:
    page = wide.open(f"{address}#text")
    page.get_by_role("button", name="Weightiest first").click()
    rows = page.locator("#list li:visible").evaluate_all("rows => rows.map(row => Number(row.dataset.p))")
    assert rows == [n for change in field_study.changes for n in change.pairs]
    assert set(rows[: len(flagged(field_study))]) == set(flagged(field_study))
    for number in rows[:2]:
        page.keyboard.press("n")
        assert page.evaluate("location.hash") == f"#p{number}"


def test_counts_of_the_summary_lead_to_their_changes(wide: Visit, address: str, field_study: Comparison) -> None:
    page = wide.open(address)
    page.locator(".counts").get_by_role("link", name="only in B").click()
    only_b = [n for n in changed(field_study) if field_study.passages[n].state is State.ONLY_B]
    assert page.locator("#list li:visible").count() == len(only_b)
    page.keyboard.press("1")
    page.get_by_role("link", name="negation 1").click()
    assert page.locator("#list li:visible").count() == 1


def test_a_permalink_survives_reload_and_partners_are_level(wide: Visit, address: str, field_study: Comparison) -> None:
    number = flagged(field_study)[-2]
    page = wide.open(f"{address}#p{number}")
    for _ in range(2):
        assert page.locator(f"#p{number}.on, #q{number}.on").count() == 2
        tops = page.evaluate(LEVELS, number)
        assert abs(tops[0] - tops[1]) < 3
        assert 0 < tops[0] < 900
        assert page.locator("#list a[aria-current]").count() == 1
        page.reload()
        wide.settle()
    page = wide.open(f"{address}#q{number}")
    assert page.locator(f"#p{number}.on").count() == 1


def test_back_returns_to_the_summary(wide: Visit, address: str) -> None:
    page = wide.open(address)
    page.locator(".flagged a").first.click()
    assert page.locator("#pane-a").is_visible()
    page.keyboard.press("n")
    page.go_back()
    wide.settle()
    assert page.locator("#summary").is_visible()


def turn_wheel(visit: Visit, distance: int) -> None:
    """Scroll text A with the wheel; the browser does so some time after it was told."""
    top = visit.page.evaluate("document.getElementById('pane-a').scrollTop")
    visit.page.mouse.wheel(0, distance)
    visit.wait_until(
        """([top, down]) => {
          const pane = document.getElementById("pane-a");
          const ends = pane.scrollTop + pane.clientHeight >= pane.scrollHeight - 1;
          return pane.scrollTop !== top || (down && ends);
        }""",
        [top, distance > 0],
    )
    visit.settle()


def test_texts_scroll_together_until_told_not_to(wide: Visit, address: str, field_study: Comparison) -> None:
    page = wide.open(f"{address}#text")
    same = [n for n, pair in enumerate(field_study.passages) if pair.state is State.SAME]
    page.mouse.move(500, 500)
    seen = 0
    for _ in range(12):
        turn_wheel(wide, 450)
        box = page.locator("#pane-a").bounding_box()
        line = box["y"] + box["height"] / 3
        found = page.evaluate("line => document.elementFromPoint(600, line)?.closest('#pane-a .p')?.dataset.p", line)
        if found is not None and int(found) in same:
            tops = page.evaluate(LEVELS, int(found))
            assert abs(tops[0] - tops[1]) < 30
            seen += 1
    assert seen >= 3
    page.keyboard.press("l")
    before = page.evaluate("document.getElementById('pane-b').scrollTop")
    turn_wheel(wide, -900)
    assert page.evaluate("document.getElementById('pane-b').scrollTop") == before


def test_links_are_drawn_for_what_is_visible(wide: Visit, address: str, field_study: Comparison) -> None:
    moved = next(n for n in changed(field_study) if field_study.passages[n].state is State.MOVED)
    page = wide.open(f"{address}#p{moved}")
    paths = page.locator("#gutter path").evaluate_all("all => all.map(path => path.getAttribute('class'))")
    assert "m on" in paths
    assert 2 < len(paths) < len(field_study.passages) / 2
    page.locator("#gutter path.e").first.dispatch_event("click")
    assert page.evaluate("location.hash") != f"#p{moved}"


def test_the_detail_shows_one_redline(wide: Visit, address: str, field_study: Comparison) -> None:
    number = next(n for n in flagged(field_study) if len(field_study.passages[n].edits) > 1)
    pair = field_study.passages[number]
    page = wide.open(f"{address}#p{number}")
    shown = page.locator("#detail .words")
    deleted = "".join(shown.locator("del").all_text_contents())
    inserted = "".join(shown.locator("ins").all_text_contents())
    assert deleted == "".join(pair.a_text[edit.a.start : edit.a.end] for edit in pair.edits)
    assert inserted == "".join(pair.b_text[edit.b.start : edit.b.end] for edit in pair.edits)


def test_closing_a_change_keeps_the_focus_near_it(
    wide: Visit, narrow: Visit, address: str, field_study: Comparison
) -> None:
    focus = "document.activeElement.closest('[data-p]')?.dataset.p ?? document.activeElement.id"
    number = flagged(field_study)[0]
    for visit, tab, place in (
        (wide, "list", str(number)),
        (narrow, "list", str(number)),
        (narrow, "b", "pane-b"),
    ):
        page = visit.open(f"{address}#p{number}")
        if visit is narrow:
            page.locator(f".tabs [data-tab={tab}]").click()
        page.get_by_role("button", name="Close").click()
        assert not page.locator("#detail").is_visible()
        assert page.evaluate(focus) == place


def test_a_link_can_be_copied(wide: Visit, address: str, field_study: Comparison) -> None:
    page = wide.open(f"{address}#p{flagged(field_study)[0]}")
    page.locator("#copy").click()
    playwright.expect(page.locator("#copy")).to_have_text("Copied")


def test_a_cell_of_a_map_leads_to_the_texts(wide: Visit, address: str, field_study: Comparison) -> None:
    page = wide.open(f"{address}#maps")
    canvas = page.locator("#map-sections")
    canvas.focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowRight"):
        page.keyboard.press(key)
    said = page.locator("#at-sections").text_content()
    assert said.startswith(f"{field_study.section_scores[2, 1]:.2f}: ")
    for side, section in ((field_study.a, 2), (field_study.b, 1)):
        assert side.document.sections[section].heading in said
    page.keyboard.press("Enter")
    wide.settle()
    assert page.locator("#as2.on").is_visible()
    assert page.locator("#bs1.on").is_visible()
    tops = page.evaluate("['as2', 'bs1'].map(id => document.getElementById(id).getBoundingClientRect().top)")
    assert abs(tops[0] - tops[1]) < 3


def test_the_closest_chunks_lead_to_both_texts(wide: Visit, tmp_path: Path, encoder: Encoder) -> None:
    a, b = (encoder.encode(read(path)) for path in (V1, OTHER))
    report = tmp_path / "report.html"
    report.write_text(comparison_html(compare_encodings(a, b, encoder)), encoding="utf-8")
    page = wide.open(report.as_uri())
    link = page.locator("a[data-map=chunks]").first
    places = [int(link.get_attribute(name)) for name in ("data-a", "data-b")]
    link.click()
    wide.settle()
    assert page.evaluate("location.hash") == "#text"
    for side, encoding, place in (("a", a, places[0]), ("b", b, places[1])):
        shown = page.locator(f"#pane-{side} .on")
        assert shown.is_visible()
        assert shown.locator("p").text_content()[:20] in encoding.document.text
        assert encoding.chunks[place].span.start <= encoding.document.text.index(shown.locator("p").text_content()[:20])


def test_a_map_takes_the_colours_of_the_theme(wide: Visit, address: str) -> None:
    page = wide.open(f"{address}#maps")
    # A cell below the middle, copied: the map itself is not made for being read.
    cell = """() => {
      const [map, pen] = [document.getElementById("map-sections"), document.createElement("canvas")
        .getContext("2d", { willReadFrequently: true })];
      pen.drawImage(map, -map.width / 2, -map.height * 0.75);
      return [...pen.getImageData(0, 0, 1, 1).data].join();
    }"""
    first = page.evaluate(cell)
    page.locator("#theme").click()
    wide.settle()
    second = page.evaluate(cell)
    page.locator("#theme").click()
    wide.settle()
    assert first == page.evaluate(cell) != second


def test_a_click_into_the_chunk_map_leads_to_its_passages(wide: Visit, address: str) -> None:
    page = wide.open(f"{address}#maps")
    canvas = page.locator("#map-chunks")
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    canvas.hover(position={"x": box["width"] * 0.6, "y": box["height"] * 0.6})
    assert page.locator(".tip").text_content().count("chunk") == 2
    canvas.click(position={"x": box["width"] * 0.6, "y": box["height"] * 0.6})
    wide.settle()
    assert page.locator("#pane-a .p.on").is_visible()
    assert page.locator("#pane-b .p.on").is_visible()


def background(page: Any) -> str:
    found: str = page.evaluate("getComputedStyle(document.body).backgroundColor")
    return found


def test_dark_follows_the_system_and_the_choice_is_remembered(browser: Any, address: str) -> None:
    visit = Visit(browser, WIDE, color_scheme="dark")
    page = visit.open(address)
    dark = background(page)
    assert page.locator("#theme").get_attribute("aria-pressed") == "true"
    page.locator("#theme").click()
    light = background(page)
    assert dark != light
    page.reload()
    page.wait_for_selector("#theme[aria-pressed=false]")
    assert background(page) == light
    visit.context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_contrast_and_controls_have_names(
    browser: Any, address: str, field_study: Comparison, scheme: str
) -> None:
    visit = Visit(browser, WIDE, color_scheme=scheme)
    for view in ("summary", "maps", "redline", "redline,changes", f"p{flagged(field_study)[0]}"):
        page = visit.open(f"{address}#{view}")
        if view.startswith("p"):
            page.locator(".chip").first.click()
        worst = page.evaluate(CONTRASTS)
        assert worst[0][0] >= 4.5, worst
        assert page.evaluate(NAMES) == []
    visit.context.close()


def test_a_narrow_screen_needs_no_sideways_scrolling(narrow: Visit, address: str, field_study: Comparison) -> None:
    for view in ("summary", "maps", "text", "redline", "redline,changes", f"p{flagged(field_study)[0]}"):
        page = narrow.open(f"{address}#{view}")
        assert page.evaluate("document.documentElement.scrollWidth") <= 360, view
    for tab in ("a", "b", "list"):
        page.locator(f".tabs [data-tab={tab}]").click()
        assert page.evaluate("document.documentElement.scrollWidth") <= 360, tab
        shown = "#changes" if tab == "list" else f"#pane-{tab}"
        box = page.locator(shown).bounding_box()
        assert box["width"] > 330
        assert box["height"] > 150
    page.locator(".tabs [data-tab=b]").click()
    narrow.settle()
    assert page.locator(f"#q{flagged(field_study)[0]}").is_visible()


def test_tabs_keep_the_place_and_follow_the_change(narrow: Visit, address: str, field_study: Comparison) -> None:
    only_b = [n for n in changed(field_study) if field_study.passages[n].state is State.ONLY_B]
    page = narrow.open(f"{address}#p{only_b[2]}")
    page.locator(".tabs [data-tab=a]").click()
    narrow.settle()
    # A lacks it: what precedes it there is shown.
    assert page.evaluate("document.getElementById('pane-a').scrollTop") > 0
    page.locator("#next").click()
    narrow.settle()
    following = changed(field_study)[changed(field_study).index(only_b[2]) + 1]
    side = "a" if field_study.passages[following].a else "b"
    assert page.locator(f"#pane-{side}").is_visible()
    assert page.locator(f"#pane-{side} .p.on").first.is_visible()


def test_paper_shows_the_changes_first_and_the_redline(browser: Any, address: str) -> None:
    visit = Visit(browser, WIDE, color_scheme="dark")
    page = visit.open(address)
    page.emulate_media(media="print")
    visit.settle()
    tops = [page.locator(part).bounding_box()["y"] for part in ("#summary", "#list", "#pane-m", "#map-sections")]
    assert tops == sorted(tops)
    for part in ("#theme", ".tools", "nav", "#pane-a", "#pane-b"):
        assert not page.locator(part).is_visible(), part
    assert background(page) == "rgb(255, 255, 255)"
    assert page.evaluate("document.getElementById('map-chunks').width") > 100
    heights = page.evaluate("(p => [p.scrollHeight, p.clientHeight])(document.getElementById('pane-m'))")
    assert heights[0] <= heights[1] + 1
    page.emulate_media(media="screen")
    visit.settle()
    assert background(page) != "rgb(255, 255, 255)"
    visit.context.close()


def test_paper_keeps_passages_whole(wide: Visit, address: str, tmp_path: Path) -> None:
    target = tmp_path / "report.pdf"
    wide.open(f"{address}#redline,changes").pdf(path=target, format="A4")
    pages = [page.get_textpage().get_text_bounded() for page in pypdfium2.PdfDocument(target)]
    assert "Two versions of one paper" in pages[0]
    assert "unchanged passages" in "".join(pages)
    assert not any("Side by side" in page for page in pages)
    kept = "Would you take part again? What should we do better?"
    assert any(kept in " ".join(page.split()) for page in pages)


@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
def test_it_can_be_read_without_scripts(browser: Any, address: str, size: dict[str, int]) -> None:
    visit = Visit(browser, size, java_script_enabled=False)
    page = visit.page
    page.goto(address)
    for part in (
        *("#summary", "#list", "#pane-a", "#pane-b", ".plain"),
        *("#pane-a del >> nth=0", "#pane-b ins >> nth=0"),
    ):
        assert page.locator(part).is_visible(), part
    assert not page.locator("#pane-m").is_visible()
    assert not page.locator("#next").is_visible()
    assert not page.locator("#map-sections").is_visible()
    assert page.locator("main").bounding_box()["width"] <= size["width"]
    visit.context.close()


def test_no_other_script_runs(browser: Any, address: str) -> None:
    visit = Visit(browser, WIDE)
    page = visit.open(address)
    page.evaluate("document.body.append(Object.assign(document.createElement('script'), {text: 'window.evil = 1'}))")
    assert page.evaluate("window.evil") is None
    visit.context.close()


def test_a_long_list_is_laid_out_in_part_and_followed(wide: Visit, tmp_path: Path) -> None:
    a = [f"{LONG} The fee for berth {n} is EUR {n + 100} a week." for n in range(700)]
    b = [words.replace("EUR 1", "EUR 9") for words in a]
    target = tmp_path / "long.html"
    found = compared(document([("Berths", "\n\n".join(a))]), document([("Berths", "\n\n".join(b))]))
    target.write_text(comparison_html(found), encoding="utf-8")
    last = max(n for n, pair in enumerate(found.passages) if pair.state is not State.SAME)
    page = wide.open(f"{target.as_uri()}#text")
    assert 0 < page.locator("#list li:visible").count() <= 200
    page.keyboard.press("p")
    wide.settle()
    row = page.locator(f"#list li[data-p='{last}']")
    assert row.is_visible()
    assert row.bounding_box()["y"] < WIDE["height"]
    tops = page.evaluate(LEVELS, last)
    assert abs(tops[0] - tops[1]) < 3
    assert page.locator("#gutter path").count() < 60


LONG = "The committee met on the second Tuesday and heard three reports about the harbour wall."


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ([("One", LONG)], [("One", LONG)]),
        ([("One", LONG)], [("Two", "Knead flour, salt, yeast and warm water well.")]),
        ([], [("One", LONG)]),
        (
            [("</script><script>window.evil = 1</script>", LONG + " w" + "w" * 3000)],
            [("ב", f"שלום עולם {LONG}")],
        ),
    ],
    ids=["identical", "strangers", "empty", "hostile"],
)
def test_odd_documents_work_too(
    narrow: Visit, tmp_path: Path, a: list[tuple[str, str]], b: list[tuple[str, str]]
) -> None:
    target = tmp_path / "odd.html"
    target.write_text(comparison_html(compared(document(a), document(b))), encoding="utf-8")
    page = narrow.open(target.as_uri())
    for key in "2n3npu2u4p1tt":
        page.keyboard.press(key)
        narrow.settle()
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert page.evaluate("window.evil") is None
