"""Large files of text and Office are read in a reader process, as they are read elsewhere, and under limits."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from word_files import p, write_word

from colde_cli.documents import apart, reading
from colde_cli.documents.reading import read
from colde_cli.documents.sandbox import end_idle
from colde_cli.errors import LimitError, NoTextError, UnsupportedFormatError

_TEXTS = {
    "a.txt": "1 Lease\n\nIt ends in May.\n\n2 Rent\n\nIt is paid in advance.\n",
    "a.md": "# Lease\n\nIt ends in *May*.\n",
    "a.tex": "\\section{Lease}\nIt ends in May.\n",
}


@pytest.fixture(autouse=True)
def everything_is_large(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(reading, "LARGE_TEXT_BYTES", -1)
    monkeypatch.setattr(reading, "LARGE_OFFICE_BYTES", -1)
    yield
    end_idle()


def test_large_files_are_read_as_small_ones_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [tmp_path / name for name in _TEXTS]
    for path in paths:
        path.write_text(_TEXTS[path.name])
    paths.append(tmp_path / "a.docx")
    write_word(paths[-1], p("It ends in May."))
    large = [read(path) for path in paths]
    monkeypatch.undo()
    assert [read(path) for path in paths] == large


def test_refusals_keep_their_class_and_sentence(tmp_path: Path) -> None:
    blank, binary = tmp_path / "blank.txt", tmp_path / "binary.md"
    blank.write_text(" \n")
    binary.write_bytes(b"\0\1\2" * 100)
    with pytest.raises(NoTextError, match=r"blank\.txt: it holds no text"):
        read(blank)
    with pytest.raises(UnsupportedFormatError, match=r"binary\.md: it holds binary data"):
        read(binary)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="limits are those of POSIX")
def test_a_file_over_the_limit_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apart, "OTHER_SECONDS", 1)
    path = tmp_path / "brackets.md"
    path.write_text("![a](" * 400_000)
    with pytest.raises(LimitError, match=r"brackets\.md: it needs more memory or time"):
        read(path)
