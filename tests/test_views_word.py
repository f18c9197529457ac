"""A comparison as a Word file: accepting all changes gives B, rejecting all gives A, in LibreOffice too."""

from __future__ import annotations

import io
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import docx
import pytest
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls, qn
from hypothesis import given, settings
from hypothesis import strategies as st
from libre_office import SOFFICE, settled
from test_similarity_tracked_changes import PIER, ROPE, SHORE, made
from word_changes import main_part, paragraph_texts, paragraphs_of

from colde_cli.documents.document import Document
from colde_cli.documents.plain_text import read_text
from colde_cli.documents.reading import read
from colde_cli.errors import OptionError
from colde_cli.similarity.alignment import align
from colde_cli.views.output import Format, choose_format
from colde_cli.views.word.earlier import resolve
from colde_cli.views.word.tracked_file import comparison_docx, read_resolved, redline_docx

if TYPE_CHECKING:
    from colde_cli.similarity.comparison import Comparison


def redline(a: Document, b: Document, *warnings: str) -> bytes:
    """The Word file of two documents, with these warnings: accepting all changes gives B, rejecting all gives A."""
    found = redline_docx(a, b, align(a, b, None))
    assert found.warnings == warnings
    in_layout = a.path.endswith(".docx") and not any("was not kept" in warning for warning in warnings)
    for accept, document in ((True, b), (False, a)):
        texts = (read_resolved if in_layout else paragraph_texts)(found.content, accept=accept)
        assert texts == paragraphs_of(document)
    return found.content


def comments(file: bytes) -> list[str]:
    return [comment.text for comment in docx.Document(io.BytesIO(file)).comments]


def test_the_examples(field_study: Comparison) -> None:
    file = comparison_docx(field_study).content
    assert paragraph_texts(file, accept=True) == paragraphs_of(field_study.b.document)
    assert paragraph_texts(file, accept=False) == paragraphs_of(field_study.a.document)
    assert any(sentence.startswith("Moved to the section “") for sentence in comments(file))
    assert any(" changed: “" in sentence for sentence in comments(file))


def test_headings_and_list_items_have_styles() -> None:
    file = redline(made(("1 Shore", [SHORE, "(a) A lamp."])), made(("1 Shore", [SHORE, "(a) A lantern."])))
    styles = [paragraph.style.name for paragraph in docx.Document(io.BytesIO(file)).paragraphs]
    assert styles == ["Heading 1", "Normal", "List Paragraph"]
    a, b = (read_text(f"The Harbour\n\n{text}\n".encode(), "a.txt", "a.txt") for text in (SHORE, PIER))
    styles = [paragraph.style.name for paragraph in docx.Document(io.BytesIO(redline(a, b))).paragraphs]
    assert styles == ["Title", "Normal"]


def test_a_change_has_author_and_date(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1767225600")
    root = main_part(redline(made(("", [SHORE, PIER])), made(("", [SHORE, ROPE]))))
    changes = list(root.iter(qn("w:ins"), qn("w:del")))
    assert {change.get(qn("w:author")) for change in changes} == {"colde"}
    assert {change.get(qn("w:date")) for change in changes} == {"2026-01-01T00:00:00Z"}
    numbers = [change.get(qn("w:id")) for change in changes]
    assert len(set(numbers)) == len(numbers)


def test_the_same_documents_give_the_same_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1767225600")
    a, b = made(("Shore", [SHORE, PIER])), made(("Coast", [PIER, ROPE]))
    assert redline(a, b) == redline(a, b)


def test_text_that_xml_cannot_hold() -> None:
    a, b = made(("", ["a\x07b\ud800"])), made(("", ["a\x07c\ufffe"]))
    file = redline_docx(a, b, align(a, b, None)).content
    assert paragraph_texts(file, accept=True) == ["a\ufffdc\ufffd"]


def test_a_word_file_goes_to_a_file(tmp_path: Path) -> None:
    assert choose_format(None, tmp_path / "redline.docx", (), tuple(Format)) is Format.DOCX
    with pytest.raises(OptionError, match="name a file for it with --output"):
        choose_format(Format.DOCX, None, (), tuple(Format))


@pytest.mark.slow
def test_the_markup_follows_the_schema(tmp_path: Path, field_study: Comparison) -> None:
    audit = pytest.importorskip("openxml_audit")
    a = layout(tmp_path / "a.docx", SHORE, "Town | Bells\nAyr | 12\nOban | 7", PIER, styles=("Heading 1",))
    b = layout(tmp_path / "b.docx", PIER, SHORE, "Town | Bells\nAyr | 14\nLeith | 3\nWick | 9", ROPE)
    files = {"new": comparison_docx(field_study).content, "kept": kept(a, b)}
    for name, content in files.items():
        path = tmp_path / f"{name}.docx"
        path.write_bytes(content)
        errors = [str(error) for error in audit.OpenXmlValidator().validate(str(path)).errors]
        # The template of python-docx holds a second copy of all styles, and so does the file of A.
        assert [error for error in errors if "stylesWithEffects" not in error] == []


@pytest.mark.skipif(SOFFICE is None, reason="needs LibreOffice")
def test_libre_office_accepts_and_rejects(tmp_path: Path, field_study: Comparison) -> None:
    a, b = made(("1 Shore", [SHORE, PIER])), made(("1 Shore", [ROPE, SHORE]), ("2 Rope", [ROPE + " " + PIER]))
    examples = (field_study.a.document, field_study.b.document)
    expected = {}
    for number, (left, right) in enumerate([(a, b), (b, a), examples]):
        file = tmp_path / f"{number}.docx"
        file.write_bytes(comparison_docx(field_study).content if number == 2 else redline(left, right))
        expected[file] = tuple("\n".join(paragraphs_of(one)) + "\n" for one in (right, left))
    found = {
        file: tuple(result.read_text(encoding="utf-8-sig") for result in both)
        for file, both in settled(expected, tmp_path).items()
    }
    assert found == expected


def layout(path: Path, *paragraphs: str, styles: tuple[str, ...] = ()) -> Path:
    """A Word file with a header; a word between stars is bold, a line with bars is a row of a table."""
    file = docx.Document()
    file.sections[0].header.paragraphs[0].text = "Harbour Company"
    for number, line in enumerate(paragraphs):
        if "|" in line:
            table = file.add_table(0, line.split("\n")[0].count("|") + 1)
            for row in line.split("\n"):
                cells = [cell.strip() for cell in row.split("|")]
                for cell, words in zip(table.add_row().cells, cells, strict=True):
                    cell.text = words
            continue
        made = file.add_paragraph(style=styles[number] if number < len(styles) else None)
        for place, words in enumerate(line.split("*")):
            made.add_run(words).bold = True if place % 2 else None
    file.save(str(path))
    return path


def kept(a: Path, b: Path) -> bytes:
    return redline(read(a), read(b))


LINES = st.lists(
    st.sampled_from(
        [
            *(SHORE, f"The *keeper* {PIER}", PIER.replace("Ten", "*Twelve*"), f"{SHORE} {ROPE}", "None."),
            *(
                "Town | Bells\nAyr | 12", "Town | Bells\nAyr | 14\nOban |", "Town | Bells | Keeper\nAyr | 3 | Osei",
            ),
        ]
    ),
    min_size=1,
    max_size=6,
)  # fmt: skip


@pytest.mark.slow
@settings(max_examples=10)
@given(LINES, LINES)
def test_any_two_word_files(of_a: list[str], of_b: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        a, b = (read(layout(Path(folder) / f"{name}.docx", *texts)) for name, texts in (("a", of_a), ("b", of_b)))
        warnings = redline_docx(a, b, align(a, b, None)).warnings
        redline(a, b, *warnings)


def test_the_layout_of_a_word_file_is_kept(tmp_path: Path) -> None:
    a = layout(tmp_path / "a.docx", f"The *keeper* rows out. {SHORE}", PIER, ROPE)
    b = layout(tmp_path / "b.docx", f"The *keeper* sails out. {SHORE}", PIER.replace("Ten", "Twelve"), ROPE)
    word = docx.Document(io.BytesIO(kept(a, b)))
    assert word.sections[0].header.paragraphs[0].text == "Harbour Company"
    assert [run.text for run in word.paragraphs[0].runs if run.bold] == ["keeper"]
    (deleted,) = word.paragraphs[1]._p.iter(qn("w:delText"))
    assert deleted.text == "Ten"


def test_bold_words_stay_bold_when_they_are_deleted(tmp_path: Path) -> None:
    a = layout(tmp_path / "a.docx", f"The *old keeper* rows out. {SHORE}", PIER)
    b = layout(tmp_path / "b.docx", f"The *young keeper* rows out. {SHORE}", PIER)
    file = kept(a, b)
    changed = [run for run in main_part(file).iter(qn("w:r")) if run.getparent().tag in (qn("w:ins"), qn("w:del"))]
    assert len(changed) == 2
    assert all(run.find(f"{qn('w:rPr')}/{qn('w:b')}") is not None for run in changed)


def test_new_paragraphs_have_the_style_of_a_neighbour(tmp_path: Path) -> None:
    styles = ("Heading 1", "Body Text", "List Bullet", "Body Text")
    a = layout(tmp_path / "a.docx", "Shore", SHORE, "A lamp.", ROPE, styles=styles)
    more = (*styles[:3], "List Bullet", "Heading 1", "Body Text")
    b = layout(tmp_path / "b.docx", "Shore", SHORE, "A lamp.", "A brass bell.", "Pier", ROPE, styles=more)
    file = kept(a, b)
    assert [one.style.name for one in docx.Document(io.BytesIO(file)).paragraphs] == list(more)


def test_cells_and_rows_of_a_table_are_changed_in_place(tmp_path: Path) -> None:
    a = layout(tmp_path / "a.docx", SHORE, "Town | Bells\nAyr | 12\nOban | 7\nWick | 9", PIER)
    b = layout(tmp_path / "b.docx", SHORE, "Town | Bells\nAyr | 14\nWick | 9\nLeith | 3", PIER)
    file = kept(a, b)
    (table,) = main_part(file).iter(qn("w:tbl"))
    rows = [[mark.tag for mark in row.iterfind(f"{qn('w:trPr')}/*")][-1:] for row in table.iter(qn("w:tr"))]
    assert rows == [[], [], [qn("w:del")], [], [qn("w:ins")]]
    assert "14" in [element.text for element in table.iter(qn("w:t"))]


def with_markup(path: Path, *paragraphs: str) -> Document:
    """A Word file with paragraphs in XML."""
    file = docx.Document()
    for markup in paragraphs:
        file.element.body[-1].addprevious(
            parse_xml(f"<w:p {nsdecls('w')} xmlns:v='urn:schemas-microsoft-com:vml'>{markup}</w:p>")
        )
    file.save(str(path))
    return read(path)


def r(text: str) -> str:
    return f"<w:r><w:t xml:space='preserve'>{text}</w:t></w:r>"


def test_the_layout_is_kept_beside_a_text_file(tmp_path: Path) -> None:
    a = read(layout(tmp_path / "a.docx", f"The *keeper* rows out. {SHORE}", PIER))
    b = read_text(f"The keeper sails out. {SHORE}\n\n{ROPE}\n\n{PIER}\n".encode(), "b.txt", "b.txt")
    word = docx.Document(io.BytesIO(redline(a, b)))
    assert word.sections[0].header.paragraphs[0].text == "Harbour Company"


BEGIN, END = (f"<w:r><w:fldChar w:fldCharType='{kind}'/></w:r>" for kind in ("begin", "end"))


def test_a_link_and_a_field_stay(tmp_path: Path) -> None:
    field = f"{BEGIN}<w:r><w:instrText>PAGE</w:instrText></w:r>{r('three')}{END}"
    link = f"<w:hyperlink w:anchor='shore'>{r('the shore')}</w:hyperlink>"
    a = with_markup(tmp_path / "a.docx", r(SHORE + " See ") + link + r(" on page ") + field + r(" of this."))
    b = with_markup(tmp_path / "b.docx", r(SHORE + " See ") + link + r(" below."))
    root = main_part(redline(a, b))
    resolve(root, accept=True)
    assert [link.get(qn("w:anchor")) for link in root.iter(qn("w:hyperlink"))] == ["shore"]
    assert not list(root.iter(qn("w:fldChar"), qn("w:instrText")))


def test_a_field_is_replaced_as_a_whole(tmp_path: Path) -> None:
    code = "<w:r><w:instrText>REF shore</w:instrText></w:r>"
    a, b = (
        with_markup(tmp_path / f"{number}.docx", f"{r(SHORE + ' See page ')}{BEGIN}{code}{r(number)}{END}{r('.')}")
        for number in ("3", "4")
    )
    root = main_part(redline(a, b))
    for name in ("w:del", "w:ins"):
        (change,) = root.iter(qn(name))
        assert [mark.get(qn("w:fldCharType")) for mark in change.iter(qn("w:fldChar"))] == ["begin", "end"]


def cells(*paragraphs: str) -> str:
    return "<w:tr>" + "".join(f"<w:tc><w:p>{paragraph}</w:p></w:tc>" for paragraph in paragraphs) + "</w:tr>"


def with_table(path: Path, *rows: str) -> Document:
    """A Word file with a paragraph and a table."""
    file = docx.Document()
    names = f"{nsdecls('w')} xmlns:m='http://schemas.openxmlformats.org/officeDocument/2006/math'"
    last = file.element.body[-1]
    last.addprevious(parse_xml(f"<w:p {names}>{r(SHORE)}</w:p>"))
    last.addprevious(parse_xml(f"<w:tbl {names}>{''.join(rows)}</w:tbl>"))
    file.save(str(path))
    return read(path)


FORMULA = "<m:oMath><m:sSup><m:e><m:r><m:t>x</m:t></m:r></m:e><m:sup><m:r><m:t>2</m:t></m:r></m:sup></m:sSup></m:oMath>"


def test_a_row_with_a_formula_goes(tmp_path: Path) -> None:
    rows = cells(r("Town"), r("Bells")), cells(r("Ayr is "), r("so ") + FORMULA), cells(r("Oban"), FORMULA)
    a, b = with_table(tmp_path / "a.docx", *rows), with_table(tmp_path / "b.docx", rows[0], rows[2])
    assert "Ayr is | so x^2" in a.text
    redline(a, b)
    back = redline_docx(b, a, align(b, a, None))
    assert read_resolved(back.content, accept=True) == paragraphs_of(a)


def test_a_cell_with_a_formula_changes(tmp_path: Path) -> None:
    a, b = (with_table(tmp_path / f"{text}.docx", cells(r(text) + FORMULA, r("Bells"))) for text in ("ten", "two"))
    (deleted,) = main_part(redline(a, b)).iter(qn("w:delText"))
    assert deleted.text == "ten"


def test_letters_at_other_heights_are_edited(tmp_path: Path) -> None:
    power = "<w:r><w:rPr><w:vertAlign w:val='superscript'/></w:rPr><w:t>6</w:t></w:r>"
    a, b = (
        with_markup(tmp_path / f"{number}.docx", r(f"The {town} has 10") + power + r(" cells."), r(PIER))
        for number, town in enumerate(("harbour", "lighthouse"))
    )
    assert "10^6 cells" in a.text
    assert len(list(main_part(redline(a, b)).iter(qn("w:vertAlign")))) == 1
    flat = with_markup(tmp_path / "flat.docx", r("The harbour has 106 cells."), r(PIER))
    found = redline_docx(a, flat, align(a, flat, None))
    assert paragraph_texts(found.content, accept=True) == paragraphs_of(flat)


def test_what_no_one_foresaw_costs_only_the_layout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise IndexError

    a, b = (read(layout(tmp_path / f"{number}.docx", text)) for number, text in enumerate((SHORE, PIER)))
    monkeypatch.setattr("colde_cli.views.word.tracked_file.write_changes", fail)
    redline(a, b, "The layout of 0.docx was not kept: it is built in an unknown way (IndexError).")


def test_a_text_box_changes(tmp_path: Path) -> None:
    box = "<w:r><w:pict><v:textbox><w:txbxContent><w:p>{}</w:p></w:txbxContent></v:textbox></w:pict></w:r>"
    a = with_markup(tmp_path / "a.docx", r(SHORE), box.format(r(PIER)), r(ROPE))
    b = with_markup(tmp_path / "b.docx", r(SHORE), box.format(r(PIER.replace("Ten", "Twelve"))), r(ROPE))
    (deleted,) = main_part(redline(a, b)).iter(qn("w:delText"))
    assert deleted.text == "Ten"
