"""Annotated PDFs: marks on the changed words, their colours on the rendered page, notes, the outline."""

from __future__ import annotations

import io
import re
from pathlib import Path

import numpy as np
import pypdf
import pypdfium2 as pdfium
import pytest
from command_line import OTHER, V1, V2, run
from hand_made import compared
from pdf_pages import bounds, marks_of, titles, words_in

from colde_cli.documents.pdf.marking import Entry, write_marked
from colde_cli.documents.reading import read
from colde_cli.errors import CorruptFileError, OptionError
from colde_cli.similarity.comparison import Comparison
from colde_cli.views.annotated import annotated_paths, check_annotation, write_annotated
from colde_cli.views.page_marks import DELETED, EDITED_BAR, INSERTED, MOVED

Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, field_study: Comparison) -> Path:
    """The two versions in examples/, annotated."""
    folder = tmp_path_factory.mktemp("annotated") / "new"
    a, b = write_annotated(field_study, folder, None, None)
    assert (a.remark, b.remark) == ("", "")
    assert [one.written for one in (a, b)] == [folder / f"field-study-v{n}-annotated.pdf" for n in (1, 2)]
    return folder


def letters(text: str) -> str:
    return re.sub(r"[\W_]", "", text)


@pytest.mark.parametrize("side", ["a", "b"])
def test_every_changed_word_is_under_a_mark(folder: Path, field_study: Comparison, side: str) -> None:
    path = folder / f"field-study-v{1 if side == 'a' else 2}-annotated.pdf"
    pages = pdfium.PdfDocument(path)
    marked: set[str] = set()
    by_note: dict[str, str] = {}  # of an edit that runs over the end of a page
    for number, mark in marks_of(path):
        if mark["/Subj"] in (DELETED.name, INSERTED.name):
            points = [float(value) for value in mark["/QuadPoints"]]
            quads = [points[place : place + 8] for place in range(0, len(points), 8)]
            text = letters("".join(words_in(pages[number], quad) for quad in quads))
            marked.add(text)
            by_note[mark["/Contents"]] = by_note.get(mark["/Contents"], "") + text
    for pair in field_study.passages:
        text = pair.a_text if side == "a" else pair.b_text
        for edit in pair.edits:
            span = edit.a if side == "a" else edit.b
            if words := letters(text[span.start : span.end]):
                assert words in marked | set(by_note.values())
    pages.close()


def test_marks_are_seen_on_the_rendered_page(folder: Path) -> None:
    path = folder / "field-study-v2-annotated.pdf"
    number, mark = next((n, mark) for n, mark in marks_of(path) if "B: may" in mark["/Contents"])
    document = pdfium.PdfDocument(path)
    page = document[number]
    picture = np.asarray(page.render(scale=2, may_draw_forms=False).to_pil().convert("RGB")).astype(int)
    left, bottom, right, top = (2 * value for value in bounds([float(v) for v in mark["/QuadPoints"]]))
    height = picture.shape[0]
    box = picture[int(height - top) : int(height - bottom), int(left) : int(right)].reshape(-1, 3)
    same = (abs(box - np.array(INSERTED.fill)) < 4).all(axis=1)
    assert same.mean() > 0.3
    dark_green = (box[:, 1] > box[:, 0] + 40) & (box[:, 0] < 60)
    assert dark_green.any()
    document.close()


def test_notes_hold_both_texts_and_the_flags(folder: Path) -> None:
    notes = {str(mark["/Contents"]) for _, mark in marks_of(folder / "field-study-v1-annotated.pdf")}
    assert "Replaced\nA: must\nB: may\nFlag: obligation must → may" in notes
    assert any(note.startswith("Replaced\nA: 58\nB: 63\nFlag: amount EUR 58 → EUR 63") for note in notes)
    assert any(note.startswith("Only in A: An evening meeting") for note in notes)
    assert any(note.startswith("Only in B, p. ") for note in notes)
    assert any(re.match(r"Moved: in B, p\. \d", note) for note in notes)


def test_an_edited_passage_has_a_bar_and_a_moved_one_a_colour(folder: Path) -> None:
    names = [str(mark["/Subj"]) for _, mark in marks_of(folder / "field-study-v2-annotated.pdf")]
    assert {EDITED_BAR.name, MOVED.name, INSERTED.name, "Deleted here"} <= set(names)


def test_annotations_are_whole(folder: Path) -> None:
    for _, mark in marks_of(folder / "field-study-v1-annotated.pdf"):
        assert (mark["/Subtype"], mark["/F"]) == ("/Highlight", 4)
        assert len(mark["/QuadPoints"]) % 8 == 0
        assert b"/Multiply gs" in mark["/AP"]["/N"].get_object().get_data()
        assert "/P" in mark


def test_the_outline_lists_the_changes_and_keeps_its_own_entries(folder: Path) -> None:
    found = titles(folder / "field-study-v1-annotated.pdf")
    assert found[0] == "Changes"
    assert found[1][0] == "Amount EUR 58 → EUR 63; unit 2 minutes → 2 hours"
    assert found[2:] == titles(Path(V1))
    reader = pypdf.PdfReader(folder / "field-study-v1-annotated.pdf")
    first = reader.outline[1][0]
    assert reader.get_destination_page_number(first) == 2


def turned(name: str, folder: Path, turn: int = 90, password: str = "") -> Path:
    """A copy with turned and cropped pages."""
    writer = pypdf.PdfWriter(clone_from=name)
    for page in writer.pages:
        page.rotate(turn)
        page.cropbox = pypdf.generic.RectangleObject((30, 40, 560, 790))
    if password:
        writer.encrypt(password, algorithm="AES-256")
    path = folder / Path(name).name
    writer.write(path)
    return path


@pytest.mark.parametrize("turn", [90, 180])
def test_marks_fit_turned_and_cropped_pages(tmp_path: Path, turn: int) -> None:
    a, b = (read(str(turned(name, tmp_path, turn))) for name in (V1, V2))
    write_annotated(compared(a, b), tmp_path, None, None)
    path = tmp_path / "field-study-v2-annotated.pdf"
    document = pdfium.PdfDocument(path)
    number, mark = next((n, mark) for n, mark in marks_of(path) if "B: may" in mark["/Contents"])
    assert words_in(document[number], [float(value) for value in mark["/QuadPoints"]]) == "may"
    document.close()


def test_a_password_is_kept(tmp_path: Path) -> None:
    a, b = (read(str(turned(name, tmp_path, 0, "secret")), password="secret") for name in (V1, V2))
    write_annotated(compared(a, b), tmp_path, "secret", None)
    reader = pypdf.PdfReader(tmp_path / "field-study-v1-annotated.pdf")
    assert reader.is_encrypted
    assert reader.decrypt("secret")
    assert reader.outline[0].title == "Changes"


def test_chosen_pages_and_sections(tmp_path: Path) -> None:
    a, b = (read(name, pages=(3, 4)) for name in (V1, V2))
    write_annotated(compared(a, b), tmp_path, None, (3, 4))
    marked = {number for number, _ in marks_of(tmp_path / "field-study-v1-annotated.pdf")}
    assert marked == {2, 3}


def test_files_of_one_name_get_the_letter_of_their_document() -> None:
    names = [path.name for path in annotated_paths(Path("out"), "v1/terms.pdf", "v2/Terms.pdf")]
    assert names == ["terms-a-annotated.pdf", "Terms-b-annotated.pdf"]


def test_what_cannot_be_annotated_is_refused_before_the_work(tmp_path: Path) -> None:
    text = tmp_path / "a.txt"
    text.write_text("Words.")
    with pytest.raises(OptionError, match="neither document is a PDF"):
        check_annotation(tmp_path, str(text), "-", [])
    with pytest.raises(OptionError, match="is a file; name a folder"):
        check_annotation(text, V1, V2, [])
    original = tmp_path / "a-annotated.pdf"
    original.write_bytes(Path(V1).read_bytes())
    (tmp_path / "a.pdf").write_bytes(Path(V2).read_bytes())
    inputs = [str(tmp_path / "a.pdf"), str(original)]
    with pytest.raises(OptionError, match="is one of the documents to read"):
        check_annotation(tmp_path, *inputs, inputs)


def test_a_text_beside_a_pdf_is_left_out_with_a_word(
    capsys: Capture, tmp_path: Path, kept_cache: None
) -> None:
    text = tmp_path / "draft.txt"
    text.write_text(run(capsys, "text", OTHER).out.replace("thirty", "sixty"))
    result = run(capsys, "diff", text, OTHER, "--annotate", tmp_path / "out", "--format", "json")
    assert f"{text} is not annotated: it is no PDF file." in " ".join(result.err.split())
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["supply-agreement-annotated.pdf"]


def test_a_damaged_file_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(CorruptFileError, match=r"Cannot add marks to a\.pdf"):
        write_marked(io.BytesIO(b"%PDF-1.4 nothing"), "a.pdf", None, [], Entry("Changes", None), io.BytesIO())
