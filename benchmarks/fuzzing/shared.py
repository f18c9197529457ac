"""What the targets share: where files lie, and what every document must be."""

from __future__ import annotations

import atexit
import shutil
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]
FOLDER = Path(tempfile.mkdtemp(prefix="colde-fuzz-"))
"""Where targets that read files have them."""
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)

from colde_cli.documents.document import Document  # noqa: E402 - from this checkout
from colde_cli.documents.passages import passages  # noqa: E402


def check_document(document: Document) -> None:
    """Check what every reader promises: sections in order that cover the text, and text that can be written."""
    document.text.encode()
    document.title.encode()
    end = 0
    for number, section in enumerate(document.sections):
        assert section.index == number, "sections are numbered in order"
        assert end <= section.span.start <= section.body_start <= section.span.end, "spans are in order"
        assert not document.text[end : section.span.start].strip(), "no text stands between sections"
        end = section.span.end
    assert end == len(document.text), "sections cover the text"
    assert document.text.strip(), "a document has text"
    for passage in passages(document):
        assert document.text[passage.span.start : passage.span.end].strip(), "a passage has text"


def file(name: str, data: bytes) -> Path:
    """A file that holds the input."""
    path = FOLDER / name
    path.write_bytes(data)
    return path
