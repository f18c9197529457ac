"""Read the paragraphs of a Word file with all tracked changes accepted, or all rejected."""

from __future__ import annotations

import io
import zipfile
from typing import Any

from docx.oxml import parse_xml
from docx.oxml.ns import qn

from colde_cli.documents.document import Document
from colde_cli.similarity.tracked_changes import Flow
from colde_cli.views.word.earlier import resolve

_BLANKS = {qn("w:br"): "\n", qn("w:tab"): "\t"}


def main_part(file: bytes) -> Any:
    with zipfile.ZipFile(io.BytesIO(file)) as archive:
        return parse_xml(archive.read("word/document.xml"))


def paragraph_texts(file: bytes, *, accept: bool) -> list[str]:
    root = main_part(file)
    resolve(root, accept=accept)
    return [_text(paragraph) for paragraph in root.iter(qn("w:p"))]


def _text(paragraph: Any) -> str:
    texts = paragraph.iter(qn("w:t"), *_BLANKS)
    return "".join(_BLANKS.get(element.tag) or element.text or "" for element in texts)


def paragraphs_of(document: Document) -> list[str]:
    """What `colde text` prints: headings and paragraphs."""
    return [block.text for block in Flow.of(document).blocks]
