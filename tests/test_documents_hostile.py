"""Damaged, malicious and odd files: each gives a document or a sentence, soon, and within bounds.

Time is processor time of all of them: a machine that is busy is no failure.
"""

from __future__ import annotations

import os
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hostile_files import write_hostile_files

from colde_cli.documents.document import Document
from colde_cli.documents.reading import read
from colde_cli.documents.sandbox import end_idle
from colde_cli.errors import DocumentError, PasswordError, UnsupportedFormatError


def _outcome(path: Path) -> tuple[Path, Document | DocumentError]:
    try:
        return path, read(path)
    except DocumentError as error:
        return path, error


def _processor_seconds() -> float:
    """Processor time so far, that of all readers included."""
    end_idle()  # what a process took is told when it has ended
    return sum(os.times()[:4])


@pytest.mark.slow
@pytest.mark.shared
def test_every_hostile_file_ends_well(shared: Path) -> None:
    """Those made to be hostile, and of the others each third: `benchmarks/hostile.py` reads all of them."""
    every = sorted((shared / "pdfs" / "hostile").glob("*.pdf"))
    made = [path for path in every if path.name.startswith("synth__") and path.name != "synth__pages_20k.pdf"]
    paths = made + [path for path in every if not path.name.startswith("synth__")][::3]
    before = _processor_seconds()
    with ThreadPoolExecutor(2) as pool:
        outcomes = list(pool.map(_outcome, paths))
    # All take 20 seconds; one that never ends is given up after 120.
    assert _processor_seconds() - before < 100
    kinds = Counter(type(result).__name__ for _, result in outcomes)
    assert kinds["Document"] >= 0.6 * len(paths)
    for path, result in outcomes:
        if isinstance(result, Document):
            assert result.text.strip(), path.name
            assert len(result.page_starts) == result.report.pages, path.name
        else:
            assert str(path) in str(result)
            assert "\n" not in str(result)


@pytest.mark.shared
@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("synth__enc_AES-128_user.pdf", PasswordError), ("unstructured__password.pdf", PasswordError),
        ("synth__html_named.pdf", UnsupportedFormatError), ("synth__png_named.pdf", UnsupportedFormatError),
    ],
)  # fmt: skip
def test_reasons(shared: Path, name: str, kind: type[DocumentError]) -> None:
    with pytest.raises(kind):
        read(shared / "pdfs" / "hostile" / name)


@pytest.mark.shared
def test_fonts_without_a_character_map_are_counted(shared: Path) -> None:
    report = read(shared / "pdfs" / "hostile" / "synth__no_tounicode_type0.pdf").report
    assert report.unreadable_characters > 1000
    assert any("no meaning in Unicode" in warning for warning in report.warnings)
    guessed_right = read(shared / "pdfs" / "hostile" / "synth__glyphnames_g_nnn.pdf").report
    assert not any("no meaning in Unicode" in warning for warning in guessed_right.warnings)


@pytest.mark.slow
def test_every_hostile_file_of_another_format_ends_well(tmp_path: Path) -> None:
    """Those with hundreds of thousands of repetitions are left out: `python tests/hostile_files.py` writes them too."""
    paths = write_hostile_files(tmp_path, largest=10_000)
    assert len(paths) >= 200
    before = _processor_seconds()
    outcomes = [_outcome(path) for path in paths]
    # All take 3 seconds; one that never ends is given up after 20.
    assert _processor_seconds() - before < 20
    for path, result in outcomes:
        if isinstance(result, Document):
            assert result.text.strip(), path.name
            assert "root:" not in result.text, path.name
        else:
            assert str(path) in str(result)
            assert str(result).isprintable()
    kinds = Counter(path.suffix for path, result in outcomes if isinstance(result, Document))
    assert all(kinds[suffix] >= 5 for suffix in (".docx", ".odt", ".html", ".tex", ".md", ".txt")), kinds
    assert not (tmp_path / "hit").exists()
