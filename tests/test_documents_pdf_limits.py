"""Pages that would take for ever or fill the memory are given up; the others are read."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import pypdf
import pytest
from command_line import V1
from pdf_forms import Form

from colde_cli.documents.pdf import read_pdf as process
from colde_cli.documents.reading import read
from colde_cli.errors import LimitError


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "STEP_SECONDS", 1.5)


@pytest.mark.slow
def test_a_page_that_never_ends_is_given_up(tmp_path: Path) -> None:
    # It would draw two words 2^28 times; the other page has plain words.
    endless = Form(("",)).laugh(28).write(tmp_path / "laughs.pdf")
    writer = pypdf.PdfWriter(clone_from=endless)
    writer.append(Form(("Only these words can be read.",)).write(tmp_path / "plain.pdf"))
    writer.write(endless)
    document = read(endless)
    assert document.text == "Only these words can be read."
    assert document.report.pages_without_text == (1,)
    assert document.page_starts == (0, 0)
    assert any(warning.startswith("Page 1 could not be read") for warning in document.report.warnings)


@pytest.mark.slow
def test_a_file_whose_pages_never_end_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LimitError, match="print it to a new PDF"):
        read(Form(("These words stand on a page that never ends.",)).laugh(28).write(tmp_path / "laughs.pdf"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("limit", "remedy"), [("PAGE_CHARACTERS", "more memory or time"), ("MAX_CHARACTERS", "--pages")]
)
def test_too_much_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, remedy: str) -> None:
    monkeypatch.setattr(process, limit, 1000)
    path = Form([f"line {line} of many that flood the page" for line in range(100)]).write(tmp_path / "flood.pdf")
    with pytest.raises(LimitError, match=remedy):
        read(path)


@pytest.mark.parametrize(
    "nonsense",
    [
        *({}, [], {"kind": "document"}, {"kind": "begin", "number": None}, {"kind": "page", "number": 1}),
        {"kind": "document", "pages": 1, "title": "", "outline": [["one"]]},
    ],
)
def test_a_process_that_sends_nonsense_counts_as_crashed(nonsense: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "sandboxed", lambda *_: nullcontext(iter([nonsense])))
    with pytest.raises(LimitError, match="more memory or time"):
        read(V1)
