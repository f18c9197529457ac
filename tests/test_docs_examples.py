"""The answers that README.md and docs/service.md show are those that colde gives."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from command_line import ROOT, run

from colde_cli.similarity.comparison import Comparison
from colde_cli.views.agent import comparison_answer

_NUMBER = re.compile(r"\b\d+\.\d\d\b|\b\d+%")


def shown(page: str, before: str) -> str:
    """The block of text that follows some words of a page."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return text[text.index(before) :].split("```text\n")[1].split("```")[0]


def numbers(text: str) -> list[float]:
    """Scores, and per cent as shares."""
    found = _NUMBER.findall(text)
    return [float(number.rstrip("%")) / (100 if number.endswith("%") else 1) for number in found]


def test_the_readme_shows_what_rank_prints(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "100")
    said = run(capsys, "rank", Path("examples/field-study-v1.pdf"), "examples", "--glob", "*.pdf").out
    hits, example = said.split("\n\n", 1)[1], shown("README.md", "colde rank examples/")
    words = [_NUMBER.sub("#", text).split() for text in (hits, example)]
    assert words[0] == words[1]
    # Another kind of processor rounds int8 vectors in another way.
    assert numbers(hits) == pytest.approx(numbers(example), abs=0.02)


def test_the_page_of_the_service_shows_how_an_agents_answer_begins(field_study: Comparison) -> None:
    example = shown("docs/service.md", "This is how `compare` begins")
    assert str(comparison_answer(field_study, 6000)).startswith(example.rstrip("\n"))
