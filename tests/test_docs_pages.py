"""The pages of the documentation: what they name is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
ROOMS = "|".join(sorted(path.stem for path in (ROOT / "colde_cli").iterdir() if path.suffix != ".typed"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_to_a_file(page: Path) -> None:
    links = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    local = [link for link in links if not link.startswith(("http://", "https://", "mailto:"))]
    assert [link for link in local if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_source_file_that_is_named_exists(page: Path) -> None:
    named = re.findall(rf"`((?:{ROOMS})(?:/\w+)*\.py|(?:{ROOMS})(?:/\w+)*/)`", page.read_text(encoding="utf-8"))
    assert [path for path in named if not (ROOT / "colde_cli" / path).exists()] == []


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").split()) < 900
