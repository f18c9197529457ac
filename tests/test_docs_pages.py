"""The pages of the documentation: what they name is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
ROOMS = "|".join(sorted(path.stem for path in (ROOT / "colde_cli").iterdir() if path.suffix != ".typed"))


def anchors(page: Path) -> set[str]:
    """The addresses of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_link_leads_to_a_heading_or_a_file(page: Path) -> None:
    links = re.findall(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)", page.read_text(encoding="utf-8"))
    broken = []
    for file, anchor in links:
        target = page.parent / file if file else page
        if file.startswith(("http://", "https://", "mailto:")):
            continue
        if not target.exists() or (anchor and target.suffix == ".md" and anchor not in anchors(target)):
            broken.append(f"{file}#{anchor}")
    assert broken == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_source_file_that_is_named_exists(page: Path) -> None:
    named = re.findall(rf"`((?:{ROOMS})(?:/\w+)*\.py|(?:{ROOMS})(?:/\w+)*/)`", page.read_text(encoding="utf-8"))
    assert [path for path in named if not (ROOT / "colde_cli" / path).exists()] == []


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").split()) < 900
