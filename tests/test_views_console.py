"""Links from the terminal to pages."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from command_line import V1, V2, run
from rich.style import Style
from rich.text import Text

from colde_cli.views.console import file_link, link_pages

LINK = re.compile(r"\x1b\]8;id=\d+;([^\x1b]*)\x1b\\(?:\x1b\[[\d;]*m)?([^\x1b]*)")


def test_a_page_of_a_file_is_a_link_and_its_name_cannot_steer_the_terminal(tmp_path: Path) -> None:
    file = tmp_path / "a b\x1b]0;x\x07#1.pdf"
    file.write_text("")
    assert file_link(str(file), (3, 5)).link == file_link(str(file)).link + "#page=3"  # type: ignore[operator]
    assert re.fullmatch(r"file:///[\w/.%~-]+a%20b%1B%5D0%3Bx%07%231\.pdf", file_link(str(file)).link or "")


@pytest.mark.parametrize("path", ["", "-", "nowhere.pdf", "x" * 300, "a\0b"])
def test_what_is_no_file_has_no_link(path: str) -> None:
    assert file_link(path, (1, 1)) == Style.null()


def test_each_page_of_a_line_leads_to_its_own_file() -> None:
    line = link_pages(Text("A p. 1 → B p. 1 · Costs of p. 1"), (V1, (1, 1)), (V2, (1, 1)))
    linked = [(line.plain[span.start : span.end], span.style.link) for span in line.spans]  # type: ignore[union-attr]
    assert [text for text, _ in linked] == ["p. 1", "p. 1"]
    assert [Path(link or "").name for _, link in linked] == [
        "field-study-v1.pdf#page=1",
        "field-study-v2.pdf#page=1",
    ]


@pytest.mark.slow
def test_diff_links_files_and_pages_on_a_terminal_alone(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "\x1b" not in run(capsys, "diff", V1, V2).out
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    links = LINK.findall(run(capsys, "diff", V1, V2).out)
    assert (f"{Path(V1).resolve().as_uri()}", "field-study-v1.pdf") in links
    pages = [(address.rpartition("#page=")[2], text) for address, text in links if "#page=" in address]
    assert len(pages) >= 10
    assert all(re.match(rf"p\. {page}\b", text) for page, text in pages)
