"""The examples of docs/python.md run, and print what the page shows."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from colde_cli.errors import ColdeError

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```\n\n```text\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the examples in it, to work in."""
    (tmp_path / "examples").mkdir()
    for file in (ROOT / "examples").glob("*.pdf"):
        shutil.copy(file, tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def without_scores(text: str) -> tuple[str, list[float]]:
    """A text without its decimals, and those."""
    decimal = re.compile(r"\b\d\.\d{2,3}\b")
    return decimal.sub("#", text), [float(found) for found in decimal.findall(text)]


def test_every_example_is_run() -> None:
    assert len(BLOCKS) == PAGE.count("```python") >= 10


@pytest.mark.slow
@pytest.mark.parametrize(("code", "output"), BLOCKS)
def test_an_example_prints_what_the_page_shows(
    code: str, output: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    exec(compile(code, "docs/python.md", "exec"), {"__name__": "__main__"})
    said, scores = without_scores(capsys.readouterr().out)
    words, expected = without_scores(output)
    assert said == words
    # Another kind of processor rounds int8 vectors in another way.
    assert scores == pytest.approx(expected, abs=0.03)


def test_the_page_names_errors_that_exist() -> None:
    named = set(re.findall(r"\b[A-Z]\w+Error\b", PAGE))
    assert named <= {"ColdeError", *_below(ColdeError)}


def _below(error: type[ColdeError]) -> list[str]:
    return [name for one in error.__subclasses__() for name in (one.__name__, *_below(one))]
