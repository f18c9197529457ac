"""The merged text as pages of one column: marks, notes, letters of other scripts, hostile text."""

from __future__ import annotations

from pathlib import Path

import pypdfium2 as pdfium
import pytest
from command_line import OTHER, check_trouble, run
from hand_made import compared, document, hostile
from hypothesis import HealthCheck, given, settings

from colde_cli.commands import options
from colde_cli.similarity.comparison import Comparison

pytest.importorskip("reportlab")

from colde_cli.views import typeset
from colde_cli.views.page_marks import DELETED, INSERTED
from colde_cli.views.typeset import write_typeset

Capture = pytest.CaptureFixture[str]
OLD = "The supplier shall deliver all goods within thirty days, and the buyer pays in 45 days."
NEW = "The supplier may deliver all goods within thirty days, and the buyer pays in 60 days."


def text_of(path: Path) -> str:
    pages = pdfium.PdfDocument(path)
    text = "\n".join(page.get_textpage().get_text_range() for page in pages)
    pages.close()
    return text


def colours_of(path: Path, words: str) -> set[tuple[int, int, int]]:
    """The colours of the letters of some words."""
    import ctypes

    pages = pdfium.PdfDocument(path)
    text = pages[0].get_textpage()
    start = text.get_text_range().index(words)
    parts = [ctypes.c_uint() for _ in range(4)]
    found = set()
    for place in range(start, start + len(words)):
        pdfium.raw.FPDFText_GetFillColor(text.raw, place, *parts)
        red, green, blue = (part.value for part in parts[:3])
        found.add((red, green, blue))
    pages.close()
    return found


def test_deleted_and_inserted_words_have_their_colours(tmp_path: Path) -> None:
    path = tmp_path / "out.pdf"
    comparison = compared(document([("Duties", OLD)], path="a.md"), document([("Duties", NEW)], path="b.md"))
    assert write_typeset(comparison, path) == 0
    text = text_of(path)
    assert "Changes from a.md to b.md" in text
    assert "Duties" in text
    assert colours_of(path, "shall") == {DELETED.line}
    assert colours_of(path, "may") == {INSERTED.line}
    assert colours_of(path, "deliver all goods") == {(0, 0, 0)}
    assert "Notes" in text
    assert "A duty or permission changed: “shall” became “may”." in text


def test_letters_without_a_font_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(typeset, "_FONTS", ())
    a, b = (document([("Grüße", f"{text} Слово.")]) for text in (OLD, NEW))
    assert write_typeset(compared(a, b), tmp_path / "out.pdf") == 5
    text = text_of(tmp_path / "out.pdf")
    assert "?????." in text
    assert "Grüße" in text


@given(hostile())
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_text_can_be_set(tmp_path: Path, comparison: Comparison) -> None:
    write_typeset(comparison, tmp_path / "out.pdf")
    assert (tmp_path / "out.pdf").read_bytes().startswith(b"%PDF-")


def test_the_same_documents_give_the_same_bytes(tmp_path: Path) -> None:
    comparison = compared(document([("One", OLD)]), document([("One", NEW)]))
    for name in ("one.pdf", "two.pdf"):
        write_typeset(comparison, tmp_path / name)
    assert (tmp_path / "one.pdf").read_bytes() == (tmp_path / "two.pdf").read_bytes()


def test_the_command_sets_a_text_against_a_pdf(capsys: Capture, tmp_path: Path) -> None:
    text = tmp_path / "draft.md"
    text.write_text(run(capsys, "text", OTHER).out.replace("Ardenbeck", "Fernbeck"))
    result = run(capsys, "diff", text, OTHER, "-o", tmp_path / "redline.pdf")
    assert result.out == ""
    assert "Changes from draft.md to supply-agreement.pdf" in text_of(tmp_path / "redline.pdf")


def test_without_the_package_the_command_says_how_to_install_it(
    capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(options._EXTRAS, "pdf", "no_such_package")
    text = tmp_path / "a.txt"
    text.write_text("Words.")
    result = run(capsys, "diff", text, OTHER, "-o", tmp_path / "x.pdf")
    check_trouble(result)
    assert "pip install 'colde[pdf]'" in result.err
