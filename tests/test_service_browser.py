"""The page of the service in a real browser: by drag and drop, by keys, without scripts, light and dark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from command_line import V1
from served import HOSTILE, PATIENT, TITLE, running, small_corpus
from test_views_report_browser import CONTRASTS, NAMES, NARROW, PATIENCE, WIDE, browser, needs_browser

__all__ = ["browser"]

pytestmark = [needs_browser, pytest.mark.slow]

TOKEN = "correct horse battery"
DROP = """([name, text]) => {
  const moved = new DataTransfer();
  moved.items.add(new File([text], name));
  for (const kind of ["dragenter", "dragover", "drop"])
    document.body.dispatchEvent(new DragEvent(kind, { dataTransfer: moved, bubbles: true, cancelable: true }));
}"""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = small_corpus(tmp_path_factory.mktemp("served") / "papers")
    with running(folder, *PATIENT) as (found, _):
        yield found


class Visitor:
    """A page, what it said, and what it asked for."""

    def __init__(self, browser: Any, **options: Any) -> None:
        self.context = browser.new_context(**{"viewport": WIDE, **options})
        self.context.set_default_timeout(PATIENCE)
        self.said: list[str] = []
        self.asked: list[str] = []
        self.context.on("page", self._listen)
        self.page = self.context.new_page()

    def _listen(self, page: Any) -> None:
        page.on("console", lambda message: self.said.append(message.text))
        page.on("pageerror", lambda error: self.said.append(str(error)))
        page.on("dialog", lambda dialog: self.said.append(f"dialog {dialog.message}"))
        page.on("request", lambda request: self.asked.append(request.url))

    def search(self, address: str, file: str = V1) -> Any:
        self.page.goto(address)
        self.page.set_input_files("#file", file)
        self.page.get_by_role("button", name="Search").click()
        self.page.wait_for_selector(".hits")
        self.page.wait_for_load_state()  # Colours are those of the style sheet only when it is there.
        return self.page


@pytest.fixture
def visitor(browser: Any, address: str) -> Iterator[Visitor]:
    visitor = Visitor(browser)
    yield visitor
    assert visitor.said == []
    assert [url for url in visitor.asked if not url.startswith((address, "data:,"))] == []
    visitor.context.close()


def test_a_chosen_document_gives_hits_and_their_differences(visitor: Visitor, address: str) -> None:
    page = visitor.search(address)
    assert page.locator(".hit h3").first.inner_text().startswith("Sensors on the Sill")
    assert "p. " in page.locator(".matches li").first.inner_text()
    second = page.locator(".hit").nth(1)
    assert "field-study-v2.pdf" in second.inner_text()
    with visitor.context.expect_page() as opened:
        second.get_by_role("button").click()
    report = opened.value
    report.wait_for_load_state()
    assert report.locator("h1").inner_text().startswith("Comparison of")
    report.get_by_role("link", name="Side by side").click()  # its scripts run
    assert report.locator("#pane-b").is_visible()
    # As a stranger, it can ask the service for nothing.
    asked = "async (url) => { try { return (await fetch(url)).status } catch (error) { return error.name } }"
    visitor_said = list(visitor.said)
    assert report.evaluate(asked, f"{address}/v1/documents") == "TypeError"
    assert report.evaluate("() => self.origin") == "null"
    visitor.said[:] = visitor_said


def test_a_dropped_document_is_searched(visitor: Visitor, address: str) -> None:
    visitor.page.goto(address)
    with visitor.page.expect_navigation():
        visitor.page.evaluate(DROP, ["pumps.md", "# Pumps\n\nThe pump lifts water into the tower at night.\n"])
    assert visitor.page.locator("h2").first.inner_text().endswith("Pumps")
    assert visitor.page.locator(".hit").count() == 3


def test_markup_in_names_and_titles_is_text(visitor: Visitor, address: str, tmp_path: Path) -> None:
    file = tmp_path / HOSTILE
    file.write_text(f"# {TITLE}\n\nThe pump lifts water into the tower. {TITLE}\n")
    page = visitor.search(address, str(file))
    assert page.locator("img").count() == 0
    assert TITLE in page.locator("h2").first.inner_text()
    assert page.locator(".hit .facts").first.inner_text() == f"notes/{HOSTILE}"
    with visitor.context.expect_page() as opened:
        page.locator(".hit button").first.click()
    opened.value.wait_for_load_state()
    assert opened.value.locator("img").count() == 0


def test_an_error_is_shown_and_announced(browser: Any, address: str, tmp_path: Path) -> None:
    visitor = Visitor(browser)
    scan = tmp_path / "scan.pdf"
    scan.write_bytes(b"\x89PNG\r\n\x1a\n")
    visitor.page.goto(address)
    visitor.page.set_input_files("#file", str(scan))
    visitor.page.get_by_role("button", name="Search").click()
    alert = visitor.page.get_by_role("alert")
    alert.wait_for()
    assert "scan.pdf: it is no picture, or a damaged one" in alert.inner_text()
    assert visitor.page.locator("#file").get_attribute("aria-describedby") == "error"
    visitor.context.close()


def test_the_page_needs_no_scripts(browser: Any, address: str) -> None:
    visitor = Visitor(browser, java_script_enabled=False)
    page = visitor.search(address)
    assert page.locator(".hit").count() == 3
    with visitor.context.expect_page() as opened:
        page.locator(".hit button").nth(1).click()
    opened.value.wait_for_load_state()
    assert "Two versions of one paper" in opened.value.locator("#summary").inner_text()
    visitor.context.close()


def test_the_page_can_be_used_by_keys(visitor: Visitor, address: str) -> None:
    page = visitor.page
    page.goto(address)
    order = []
    for _ in range(4):
        page.keyboard.press("Tab")
        order.append(page.evaluate("() => document.activeElement.id || document.activeElement.localName"))
        assert page.evaluate("() => getComputedStyle(document.activeElement).outlineStyle") != "none"
    assert order == ["a", "file", "k", "button"]


@pytest.mark.parametrize(("scheme", "size"), [("light", WIDE), ("dark", NARROW)], ids=["wide", "narrow"])
def test_everything_can_be_read_and_is_named(browser: Any, address: str, scheme: str, size: dict[str, int]) -> None:
    visitor = Visitor(browser, color_scheme=scheme, viewport=size)
    page = visitor.search(address)
    for path in ("", "/docs", "/login"):
        if path:
            page.goto(address + path)
        assert page.evaluate(CONTRASTS)[0][0] >= 4.5
        unnamed = [item for item in page.evaluate(NAMES) if 'type="hidden"' not in item]
        assert unnamed == []
        assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    visitor.context.close()


@pytest.mark.slow
def test_a_visitor_signs_in_once(browser: Any, tmp_path: Path) -> None:
    with running(small_corpus(tmp_path / "papers"), *PATIENT, COLDE_TOKEN=TOKEN) as (address, _):
        visitor = Visitor(browser)
        visitor.page.goto(address)
        assert visitor.page.url == f"{address}/login"
        visitor.page.get_by_label("The token").fill("wrong")
        visitor.page.keyboard.press("Enter")
        visitor.page.get_by_role("alert").wait_for()
        visitor.page.get_by_label("The token").fill(TOKEN)
        visitor.page.keyboard.press("Enter")
        visitor.page.wait_for_url(f"{address}/")
        assert visitor.page.evaluate("() => document.cookie") == ""
        visitor.page.set_input_files("#file", V1)
        visitor.page.get_by_role("button", name="Search").click()
        visitor.page.wait_for_selector(".hits")
        visitor.context.close()
