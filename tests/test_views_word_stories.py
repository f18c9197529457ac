"""Edits of Word files with tables, notes, boxes, pictures, formulas and fields: accepting gives B, rejecting A.

The results are read by the reader of benchmarks/word_redlines.py, which shares no code with colde.
"""

from __future__ import annotations

import importlib
import io
import sys
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import docx
import pytest
from docx.opc.constants import CONTENT_TYPE, RELATIONSHIP_TYPE
from docx.opc.packuri import PackURI
from docx.opc.part import Part
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls, qn
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml.etree import tostring
from pdf_pages import Printed, printed
from PIL import Image

from colde_cli.documents.plain_text import read_text
from colde_cli.documents.reading import read
from colde_cli.similarity.alignment import align
from colde_cli.similarity.tracked_changes import Flow
from colde_cli.views.word.markup import Marker
from colde_cli.views.word.tracked_file import redline_docx
from colde_cli.views.word.whole_file import write_changes

NAMES = (
    nsdecls("w", "r", "wp", "a", "pic")
    + " xmlns:m='http://schemas.openxmlformats.org/officeDocument/2006/math' xmlns:v='urn:schemas-microsoft-com:vml'"
)
Piece = tuple[str, str]
"""The kind of a piece of a paragraph, and its text."""
Blocks = list[Any]
"""Paragraphs, each a list of pieces, and tables, each a list of rows of cells with blocks."""

BEGIN, END = (f"<w:r><w:fldChar w:fldCharType='{kind}'/></w:r>" for kind in ("begin", "end"))
MARKUP = {
    "tag": "<w:smartTag>{}</w:smartTag>",
    "link": "<w:hyperlink w:anchor='shore'>{}</w:hyperlink>",
    "field": f"{BEGIN}<w:r><w:instrText>REF shore</w:instrText></w:r>{{}}{END}",
    "formula": "<m:oMath><m:r><m:t>x</m:t></m:r></m:oMath>{}",
    "break": "<w:r><w:br/></w:r>",
    "box": "<w:r><w:pict><v:shape><v:textbox><w:txbxContent><w:p>{}</w:p></w:txbxContent></v:textbox></v:shape>"
    "</w:pict></w:r>",
}
WORDS = st.sampled_from(["The keeper", "rows out at dusk", "ten bells", "twelve bells", "a lamp, and", "Annex 3a", "9"])
PIECES = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["text", "text", "tag", "link"]), WORDS),
        st.tuples(st.sampled_from(["note", "box", "field", "formula"]), WORDS),
        st.tuples(st.sampled_from(["picture", "break", "bookmark"]), st.sampled_from(["red", "blue"])),
    ),
    max_size=4,
)
CELLS = st.lists(PIECES, min_size=1, max_size=2)
TABLES = st.integers(1, 3).flatmap(
    lambda columns: st.lists(st.lists(CELLS, min_size=columns, max_size=columns), min_size=1, max_size=3)
)
BLOCKS = st.lists(st.one_of(PIECES, PIECES, st.builds(lambda rows: ("table", rows), TABLES)), max_size=5)


class Writer:
    """Writes blocks into a Word file."""

    def __init__(self, path: Path) -> None:
        self._path, self._file = path, docx.Document()
        self._notes: list[str] = []
        self._marks = 0

    def write(self, blocks: Blocks) -> Path:
        """Write the file, with one paragraph of text before the blocks and one after them."""
        body = self._file.element.body
        first, last = (f"<w:p>{run(words)}</w:p>" for words in ("Of the harbour.", "No more of it."))
        for element in parse_xml(f"<w:body {NAMES}>{first}{self._blocks(blocks)}{last}</w:body>"):
            body[-1].addprevious(element)
        if self._notes:
            notes = f"<w:footnotes {NAMES}>{''.join(self._notes)}</w:footnotes>".encode()
            part = Part(PackURI("/word/footnotes.xml"), CONTENT_TYPE.WML_FOOTNOTES, notes, self._file.part.package)
            self._file.part.relate_to(part, RELATIONSHIP_TYPE.FOOTNOTES)
        self._file.save(str(self._path))
        return self._path

    def _blocks(self, blocks: Blocks) -> str:
        return "".join(
            self._table(block[1]) if isinstance(block, tuple) else f"<w:p>{''.join(map(self._piece, block))}</w:p>"
            for block in blocks
        )

    def _table(self, rows: Sequence[Sequence[Blocks]]) -> str:
        cells = ["".join(f"<w:tc>{self._blocks(cell)}</w:tc>" for cell in row) for row in rows]
        grid = "<w:gridCol/>" * len(rows[0])
        return (
            f"<w:tbl><w:tblPr/><w:tblGrid>{grid}</w:tblGrid>{''.join(f'<w:tr>{row}</w:tr>' for row in cells)}</w:tbl>"
        )

    def _piece(self, piece: Piece) -> str:
        kind, words = piece
        made = {"note": self._note, "bookmark": self._bookmark, "picture": self._picture}.get(kind)
        return made(words) if made else MARKUP.get(kind, "{}").format(run(words))

    def _note(self, words: str) -> str:
        self._notes.append(f"<w:footnote w:id='{len(self._notes) + 1}'><w:p>{run(words)}</w:p></w:footnote>")
        return f"<w:r><w:footnoteReference w:id='{len(self._notes)}'/></w:r>"

    def _bookmark(self, name: str) -> str:
        self._marks += 1
        number = f"w:id='{self._marks}'"
        return f"<w:bookmarkStart {number} w:name='{name}'/>{run(name)}<w:bookmarkEnd {number}/>"

    def _picture(self, colour: str) -> str:
        stored = io.BytesIO()
        Image.new("RGB", (4, 4), colour).save(stored, "PNG")
        shape = self._file.part.new_pic_inline(io.BytesIO(stored.getvalue()), 9525, 9525)
        return f"<w:r><w:drawing>{tostring(shape, encoding='unicode')}</w:drawing></w:r>"


def run(words: str) -> str:
    return f"<w:r><w:t xml:space='preserve'>{words} </w:t></w:r>"


@pytest.fixture(scope="module")
def other_reader(repository: Path) -> Any:
    """The module of the independent reader."""
    sys.path.insert(0, str(repository / "benchmarks"))
    try:
        return importlib.import_module("redline_reader")
    finally:
        sys.path.pop(0)


def edited(blocks: Blocks, others: Blocks, choices: Sequence[int]) -> Blocks:
    """Drop, add and replace some of the blocks."""
    made: Blocks = []
    for block, choice in zip(blocks, choices, strict=False):
        if choice == 1:
            continue
        if choice == 2 and others:
            made.append(others[0])
        if choice == 3 and isinstance(block, list):
            made += [block[:1], block[1:]]
        elif choice == 4 and isinstance(block, list):
            made.append([*block[:-1], ("text", "three bells")])
        elif choice == 5 and isinstance(block, tuple) and len(block[1]) > 1:
            made.append(("table", block[1][1:]))
        else:
            made.append(block)
    return made


def redline(folder: Path, of_a: Blocks, of_b: Blocks) -> Path:
    """Write a redline of `a.docx` and `b.docx` in a folder, with the layout of A."""
    a, b = (read(Writer(folder / f"{name}.docx").write(blocks)) for name, blocks in (("a", of_a), ("b", of_b)))
    found = redline_docx(a, b, align(a, b, None))
    assert found.warnings == ()
    path = folder / "redline.docx"
    path.write_bytes(found.content)
    return path


def assert_exact(other_reader: Any, folder: Path) -> None:
    for accept, name in ((True, "b"), (False, "a")):
        one, other = (
            other_reader.read_word(other_reader.Package(folder / f"{file}.docx"), lambda _, accept=accept: accept)
            for file in ("redline", name)
        )
        assert one.body.lines == other.body.lines


@pytest.mark.slow
@settings(max_examples=15)
@given(BLOCKS, BLOCKS, st.lists(st.integers(0, 5), min_size=5, max_size=5))
def test_accepting_gives_b_and_rejecting_gives_a_with_all_they_hold(
    other_reader: Any, of_a: Blocks, others: Blocks, choices: list[int]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        redline(Path(folder), of_a, edited(of_a, others, choices))
        assert_exact(other_reader, Path(folder))


TEXTS = (qn("w:t"), qn("w:delText"))
SAID = ("text", "The keeper rows out")
LAMP = ("text", "with a lamp")


@pytest.mark.parametrize(
    ("of_a", "of_b", "changes"),
    [
        pytest.param([[SAID, ("picture", "red")]], [[SAID]], "del", id="a picture went"),
        pytest.param([[SAID, ("picture", "red")]], [[SAID, ("picture", "blue")]], "del ins", id="another picture"),
        pytest.param([[SAID]], [[SAID, ("note", "Ten bells")]], "ins ins", id="a note came, with its text"),
        pytest.param([[SAID, ("note", "Ten")]], [[SAID, ("note", "Two")]], "del ins", id="a note changed"),
        pytest.param([[SAID, ("box", "Ten")]], [[SAID, ("box", "Two")]], "del ins", id="a text box changed"),
        pytest.param([[SAID]], [[SAID, ("break", "")]], "ins", id="a break came"),
        pytest.param([("table", [[[[SAID]]]])], [("table", [[[[LAMP]]]])], "del ins", id="a cell changed"),
    ],
)
def test_what_is_no_text_of_the_body_is_shown(
    tmp_path: Path, other_reader: Any, of_a: Blocks, of_b: Blocks, changes: str
) -> None:
    package = other_reader.Package(redline(tmp_path, of_a, of_b))
    roots = [package.root(part) for part in package.text_parts()]
    assert_exact(other_reader, tmp_path)
    marks = [element for root in roots for element in root.iter(qn("w:del"), qn("w:ins"))]
    assert [element.tag for element in marks] == [qn(f"w:{name}") for name in changes.split()]


def test_a_header_that_changed_or_came_is_shown(tmp_path: Path) -> None:
    for name, header, footer in (("a", "Harbour Company", ""), ("b", "Harbour Society", "Confidential")):
        file = docx.Document()
        file.add_paragraph("The keeper rows out at dusk.")
        file.sections[0].header.paragraphs[0].text = header
        if footer:
            file.sections[0].footer.paragraphs[0].text = footer
        file.save(str(tmp_path / f"{name}.docx"))
    a, b = (read(tmp_path / f"{name}.docx") for name in "ab")
    section = docx.Document(io.BytesIO(redline_docx(a, b, align(a, b, None)).content)).sections[0]
    marks = list(section.header._element.iter(qn("w:del"), qn("w:ins")))
    assert [word.text for mark in marks for word in mark.iter(*TEXTS)] == ["Company", "Society"]
    assert [word.text for mark in section.footer._element.iter(qn("w:ins")) for word in mark.iter(*TEXTS)] == [
        "Confidential"
    ]


def test_a_reference_whose_target_goes_is_replaced(tmp_path: Path, other_reader: Any) -> None:
    shore, field = ("bookmark", "shore"), ("field", "see there")
    of_a = [[shore, ("text", "is in the north of the old harbour")], [field, SAID]]
    of_b = [[("text", "Ten bells ring. "), shore, LAMP, ("text", "at noon, not at dusk")], [field, SAID]]
    for old, new in ((of_a, of_b), (of_a, [of_b[1], of_b[0]])):
        package = other_reader.Package(redline(tmp_path, old, new))
        assert_exact(other_reader, tmp_path)
        for accept in (True, False):
            assert other_reader.read_word(package, lambda _, accept=accept: accept).dangling() == set()


def test_comments_are_about_what_changed_and_begin_before_they_end(tmp_path: Path) -> None:
    def blocks(amount: str) -> Blocks:
        said = ("text", f"The Supplier shall pay {amount} euro to the Customer within {amount} days.")
        return [[said], [SAID, ("box", f"{amount} euro")], ("table", [[[[("text", f"{amount} pounds")]]]])]

    root = docx.Document(str(redline(tmp_path, blocks("500"), blocks("900")))).element.body
    marks = list(root.iter(qn("w:commentRangeStart"), qn("w:commentRangeEnd"), qn("w:commentReference")))
    numbers = [mark.get(qn("w:id")) for mark in marks]
    assert len(set(numbers)) == len(numbers) // 3 >= 4
    for number in set(numbers):
        names = [mark.tag.rpartition("}")[2] for mark in marks if mark.get(qn("w:id")) == number]
        assert names == ["commentRangeStart", "commentRangeEnd", "commentReference"]


def test_a_paragraph_can_be_replaced_as_a_whole(tmp_path: Path, other_reader: Any) -> None:
    redline(tmp_path, [[SAID, LAMP]], [[SAID, ("text", "with a bell")]])
    a, b = (read(tmp_path / f"{name}.docx") for name in "ab")
    flows = Flow.of(a), Flow.of(b)
    number = frozenset({1})  # the paragraph after the first one
    kept = write_changes(a, b, align(a, b, None), (), flows, Marker(datetime(2026, 1, 1, tzinfo=UTC)), (number, number))
    kept.file.save(str(tmp_path / "redline.docx"))
    assert_exact(other_reader, tmp_path)
    deleted = [word.text for mark in kept.file.element.body.iter(qn("w:del")) for word in mark.iter(*TEXTS)]
    assert "".join(deleted) == "The keeper rows out with a lamp "


def test_a_document_inside_the_document_that_changed_is_said(tmp_path: Path) -> None:
    for name, words in (("a", "Ten bells"), ("b", "Two bells")):
        file = docx.Document()
        file.add_paragraph("The keeper rows out at dusk.")
        page = f"<html><body><p>{words}</p></body></html>".encode()
        part = Part(PackURI("/word/inner.html"), "text/html", page, file.part.package)
        number = file.part.relate_to(part, RELATIONSHIP_TYPE.A_F_CHUNK)
        file.element.body[-1].addprevious(parse_xml(f"<w:altChunk {NAMES} r:id='{number}'/>"))
        file.save(str(tmp_path / f"{name}.docx"))
    a, b = (read(tmp_path / f"{name}.docx") for name in "ab")
    (warning,) = redline_docx(a, b, align(a, b, None)).warnings
    assert warning == "The layout of a.docx was not kept: a document inside it changed."


def test_beside_a_text_file_notes_and_boxes_are_edited_and_objects_stay(tmp_path: Path, other_reader: Any) -> None:
    of_a = [[SAID, ("note", "Ten bells ring at noon")], [LAMP, ("box", "Ten lamps burn all night"), ("picture", "red")]]
    a = read(Writer(tmp_path / "a.docx").write(of_a))
    text = (
        a.text.replace("Ten bells", "Two bells").replace("Ten lamps", "Six lamps").replace("No more", "Not much more")
    )
    b = read_text(text.encode(), "b.txt", "b.txt")
    found = redline_docx(a, b, align(a, b, None))
    assert found.warnings == ()
    (tmp_path / "redline.docx").write_bytes(found.content)
    package = other_reader.Package(tmp_path / "redline.docx")
    marks = [mark for part in package.text_parts() for mark in package.root(part).iter(qn("w:del"), qn("w:ins"))]
    words = {word.text for mark in marks for word in mark.iter(*TEXTS)}
    assert words == {"Ten", "Two", "Six", "No", "Not much"}
    rejected = other_reader.read_word(package, lambda _: False)
    assert rejected.body.lines == other_reader.read_word(other_reader.Package(tmp_path / "a.docx")).body.lines


def test_beside_a_pdf_lists_and_tables_stay_as_word_has_them(tmp_path: Path, other_reader: Any) -> None:
    """The marks of list items, and a table that the PDF's reader takes for lines of text, are typesetting."""
    file = docx.Document()
    file.add_paragraph("The keeper of the harbour rows out to the lamp at dusk.")
    for words, style in (
        ("Oars lie in the boat of the harbour, and so does a rope.", "List Bullet"),
        ("Sails hang in the shed, where nobody takes them from.", "List Bullet"),
        ("He rings ten bells at noon, when a ship lies at the pier,", "List Number"),
        ("he paints the rail of the pier green in May.", "List Number"),
    ):
        file.add_paragraph(words, style=style)
    table = file.add_table(2, 2)
    for cell, words in zip(table._cells, ("Town", "Bells", "Ayr", "12"), strict=True):
        cell.text = words
    file.add_paragraph("No more of it is said here, or anywhere else.")
    file.save(str(tmp_path / "a.docx"))
    lines = [
        "The keeper of the harbour rows out to the lamp at dusk.",
        "• Oars lie in the boat of the harbour, and so does a rope.",
        "• Sails hang in the house, where nobody takes them from.",
        "1. He rings ten bells at noon, when a ship lies at the pier,",
        "2. he paints the rail of the pier red in May.",
        "Town Bells Ayr 12 No more of it is said here, or anywhere else.",
    ]
    printed(tmp_path / "b.pdf", [Printed(72, 760 - 30 * number, line) for number, line in enumerate(lines)])
    a, b = read(tmp_path / "a.docx"), read(tmp_path / "b.pdf")
    found = redline_docx(a, b, align(a, b, None))
    assert found.warnings == ()
    (tmp_path / "redline.docx").write_bytes(found.content)
    package = other_reader.Package(tmp_path / "redline.docx")
    marks = package.root(package.main).iter(qn("w:del"), qn("w:ins"))
    assert [word.text for mark in marks for word in mark.iter(*TEXTS)] == ["shed", "house", "green", "red"]


def test_a_number_in_a_formula_that_changes_replaces_the_formula(tmp_path: Path, other_reader: Any) -> None:
    formula = "<m:oMath><m:r><m:t>x=2</m:t></m:r></m:oMath>"
    file = docx.Document()
    file.add_paragraph("The keeper rows out at dusk.")
    file.add_paragraph("The load is ")._p.append(parse_xml(formula.replace("<m:oMath>", f"<m:oMath {NAMES}>")))
    file.save(str(tmp_path / "a.docx"))
    a = read(tmp_path / "a.docx")
    b = read_text(b"The keeper rows out at dusk.\n\nThe load is x=3\n", "b.txt", "b.txt")
    found = redline_docx(a, b, align(a, b, None))
    assert found.warnings == ()
    (tmp_path / "redline.docx").write_bytes(found.content)
    package = other_reader.Package(tmp_path / "redline.docx")
    for accept, load in ((True, "x=3"), (False, "⟦formula x=2⟧")):
        lines = other_reader.read_word(package, lambda _, accept=accept: accept).body.lines
        assert lines == ["The keeper rows out at dusk.", f"The load is {load}"]


def test_a_body_that_ends_with_a_table_still_does(tmp_path: Path) -> None:
    for name, words in (("a", "Ten bells"), ("b", "Two bells")):
        file = docx.Document()
        file.add_paragraph("The keeper rows out at dusk.")
        file.add_table(1, 1).cell(0, 0).text = words
        file.save(str(tmp_path / f"{name}.docx"))
    a, b = (read(tmp_path / f"{name}.docx") for name in "ab")
    body = docx.Document(io.BytesIO(redline_docx(a, b, align(a, b, None)).content)).element.body
    assert [child.tag for child in body] == [qn("w:p"), qn("w:tbl"), qn("w:sectPr")]
