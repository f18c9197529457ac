"""Any source: what is read, and what is said about what cannot be."""

from __future__ import annotations

import gc
import io
import os
import shutil
import tempfile
from pathlib import Path

import pytest
from command_line import check_trouble, run_here
from permissions import POSIX, permissions_count

from colde_cli.documents.document import FileCopy
from colde_cli.documents.reading import read
from colde_cli.errors import MissingFileError, NoTextError, OptionError, UnsupportedFormatError

DATA = Path(__file__).parent / "data"
UNREADABLE = Path("/proc/self/mem")


def test_missing_file_and_folder(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match="Cannot find the file"):
        read(tmp_path / "none.pdf")
    with pytest.raises(MissingFileError, match="is a folder"):
        read(tmp_path)


def test_path_with_a_null_byte() -> None:
    with pytest.raises(MissingFileError):
        read("a\0b.txt")


@POSIX
def test_permission(tmp_path: Path) -> None:
    path = tmp_path / "mine.txt"
    path.write_text("secret")
    path.chmod(0)
    with permissions_count(), pytest.raises(MissingFileError, match="permission"):
        read(path)


@pytest.mark.parametrize("name", ["empty.pdf", "empty.txt", "empty.md", "empty.docx", "empty.html", "empty.tex"])
def test_empty_file(tmp_path: Path, name: str) -> None:
    (tmp_path / name).touch()
    with pytest.raises(NoTextError, match="is empty"):
        read(tmp_path / name)


@pytest.mark.parametrize("name", ["table.xlsx", "program.py"])
def test_other_kinds(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("words")
    with pytest.raises(
        UnsupportedFormatError,
        match=r"colde reads \.docx, \.htm, \.html, \.markdown, \.md, \.odt, \.pdf, \.tex, \.txt and, by OCR, pictures",
    ):
        read(tmp_path / name)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("picture.pdf", b"\x89PNG\r\n\x1a\n....", "it is a picture"),
        ("page.pdf", b"<!DOCTYPE html><html><body>404</body></html>", "web page"),
        ("archive.txt", b"PK\x03\x04....", "ZIP archive"),
        ("binary.txt", bytes(range(256)) * 20, "binary data"),
    ],
)
def test_names_that_lie(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UnsupportedFormatError, match=message):
        read(tmp_path / name)


def test_pdf_under_another_name(tmp_path: Path) -> None:
    path = tmp_path / "paper.txt"
    shutil.copy(DATA / "outline.pdf", path)
    assert read(path).report.pages == 4


@pytest.mark.parametrize("name", ["paper.pdf", "paper", "paper.pdf.1"])
def test_a_pdf_after_junk(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"HTTP/1.1 200 OK\r\n\r\n" + (DATA / "outline.pdf").read_bytes())
    assert read(tmp_path / name).report.pages == 4


@pytest.mark.parametrize("name", ["formats.md", "formats.markdown", "formats.txt", "formats"])
def test_a_text_that_says_how_a_pdf_begins(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("A PDF begins with %PDF-1.7 and ends with %%EOF.\n")
    assert read(tmp_path / name).text == "A PDF begins with %PDF-1.7 and ends with %%EOF."


def test_standard_input() -> None:
    document = read("-", stdin=io.BytesIO((DATA / "outline.pdf").read_bytes()))
    assert document.path == "-"
    assert document.title == "Bells That the Tide Rings"
    assert read("-", stdin=io.BytesIO(b"Only words.")).text == "Only words."
    with pytest.raises(NoTextError, match="standard input: it is empty"):
        read("-", stdin=io.BytesIO())


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
@pytest.mark.skipif(not UNREADABLE.exists(), reason="no such file on this system")
def test_a_file_that_opens_and_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match=r"^Cannot read /proc/self/mem: "):
        read(UNREADABLE)
    with (
        UNREADABLE.open("rb") as stdin,
        pytest.raises(MissingFileError, match=r"^Cannot read standard input: "),
    ):
        read("-", stdin=stdin)
    (tmp_path / "a.txt").write_text("Bells that the tide rings.")
    result = run_here("rank", UNREADABLE, tmp_path)
    check_trouble(result)
    assert "Cannot read /proc/self/mem: " in result.err


def test_named_pipe(tmp_path: Path) -> None:
    from threading import Thread

    pipe = tmp_path / "pipe.pdf"
    os.mkfifo(pipe)
    writer = Thread(target=lambda: pipe.write_bytes((DATA / "outline.pdf").read_bytes()))
    writer.start()
    assert read(pipe).report.pages == 4
    writer.join()


def test_pages_must_be_a_range(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="not a range"):
        read(DATA / "outline.pdf", pages=(3, 2))
    with pytest.raises(OptionError, match="has 4 pages"):
        read(DATA / "outline.pdf", pages=(9, 12))
    (tmp_path / "a.txt").write_text("words")
    with pytest.raises(OptionError, match="has no pages"):
        read(tmp_path / "a.txt", pages=(1, 2))


def test_a_copy_ends_with_its_document_in_a_circle_too() -> None:
    """As where an exception holds the frame that holds the copy; pytest makes an error of a file left open."""
    file = tempfile.TemporaryFile()  # noqa: SIM115 - the copy closes it
    circle: list[object] = [FileCopy(file), file.read]
    circle.append(circle)
    ends = file.fileno()
    del file, circle
    gc.collect()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(ends)
