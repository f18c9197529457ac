"""Tests of formatting changes in redlines of two Word files: words that stay and look different."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any

import docx
import pytest
from docx.enum.text import WD_ALIGN_PARAGRAPH
from docx.oxml.ns import qn
from docx.shared import Pt
from test_views_word_earlier import redline

from colde_cli.views.word.earlier import resolve
from colde_cli.views.word.tracked_file import COLDE

WORDS = ("The tenant ", "shall ", "pay the rent ", "on the first day ", "of each month.")


def write(path: Path, words: tuple[str, ...] = WORDS, **looks: dict[int, Any]) -> Path:
    """A file of one paragraph with a run for each piece; looks such as `bold={1: True}` go by the numbers of runs."""
    file = docx.Document()
    paragraph = file.add_paragraph()
    for number, text in enumerate(words):
        run = paragraph.add_run(text)
        for name, of_runs in looks.items():
            setattr(run.font, name, of_runs.get(number))
    file.save(str(path))
    return path


def looks(content: bytes, *, accept: bool) -> list[tuple[str, str]]:
    """The text of each run and the properties of its letters, after all changes are accepted or rejected."""
    body = docx.Document(BytesIO(content)).element.body
    resolve(body, accept=accept)
    found: list[tuple[str, str]] = []
    for run in body.iter(qn("w:r")):
        names = " ".join(item.tag.rpartition("}")[2] for item in run.iterfind(f"{qn('w:rPr')}/*"))
        text = "".join(part.text or "" for part in run.iter(qn("w:t")))
        if found and found[-1][1] == names:
            found[-1] = found[-1][0] + text, names
        elif text:
            found.append((text, names))
    return found


@pytest.mark.parametrize(
    ("a", "b", "count"),
    [
        ({}, {"bold": {1: True}}, 1),
        ({"bold": {1: True}, "italic": {2: True}}, {"italic": {1: True}}, 2),
        ({"size": {0: Pt(9)}}, {"size": {0: Pt(12), 4: Pt(9)}}, 2),
        ({"bold": {1: False}}, {}, 0),  # switched off is as not stated
    ],
)
def test_letters_look_as_in_b_if_accepted_and_as_in_a_if_rejected(
    tmp_path: Path, a: dict[str, Any], b: dict[str, Any], count: int
) -> None:
    """Each run whose look changed has a record; the note counts them; B has an edit of words beside them."""
    edited = (*WORDS[:3], "on the last day ", WORDS[4])
    files = write(tmp_path / "a.docx", **a), write(tmp_path / "b.docx", edited, **b)
    found = redline(*files, COLDE)
    assert not found.warnings
    assert [note.split()[0] for note in found.notes] == ([str(count)] if count else [])
    expected = looks(files[0].read_bytes(), accept=True), looks(files[1].read_bytes(), accept=True)
    if count:
        assert (looks(found.content, accept=False), looks(found.content, accept=True)) == expected


def test_alignment_and_indents_of_a_paragraph(tmp_path: Path) -> None:
    """A paragraph with the same words that is centred and indented in B has one record of what it was."""
    a, b = write(tmp_path / "a.docx"), write(tmp_path / "b.docx")
    file = docx.Document(str(b))
    file.paragraphs[0].alignment = WD_ALIGN_PARAGRAPH.CENTER
    file.paragraphs[0].paragraph_format.left_indent = Pt(30)
    file.save(str(b))
    found = redline(a, b, COLDE)
    assert found.notes == ("1 formatting change is tracked, too.",)
    paragraph = docx.Document(BytesIO(found.content)).paragraphs[0]
    assert (paragraph.alignment, paragraph.paragraph_format.left_indent) == (WD_ALIGN_PARAGRAPH.CENTER, Pt(30))
    body = docx.Document(BytesIO(found.content)).element.body
    resolve(body, accept=False)
    assert body.find(f"{qn('w:p')}/{qn('w:pPr')}/{qn('w:jc')}") is None
