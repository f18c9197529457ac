"""Annotated PDFs: marks on the changed words, their colours on the rendered page, notes, the outline."""

from __future__ import annotations

import io
import re
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pypdf
import pypdfium2 as pdfium
import pytest
from command_line import OTHER, V1, V2, check_trouble, run
from hand_made import compared
from hypothesis import given
from hypothesis import strategies as st
from pdf_forms import Form
from pdf_pages import bounds, marks_of, titles, words_in
from permissions import POSIX, permissions_count

from colde_cli.documents.document import Span
from colde_cli.documents.passages import Passage
from colde_cli.documents.pdf.places import Entry, write_marked
from colde_cli.documents.reading import read
from colde_cli.errors import CorruptFileError, OptionError
from colde_cli.similarity.comparison import Comparison
from colde_cli.similarity.pairs import PassagePair, State
from colde_cli.views.annotated import (
    annotated_paths,
    check_annotation,
    page_pairs,
    write_annotated,
    write_side_by_side,
)
from colde_cli.views.page_marks import DELETED, EDITED_BAR, INSERTED, MOVED

Capture = pytest.CaptureFixture[str]
PAGES = st.integers(1, 8)


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


def points_of(mark: Any) -> list[float]:
    return [float(value) for value in mark["/QuadPoints"]]


def words_under(path: Path, note: str) -> dict[str, list[float]]:
    """The words under the marks with a note, and the corners of each mark."""
    with closing(pdfium.PdfDocument(path)) as pages:
        marks = [(pages[number], points_of(mark)) for number, mark in marks_of(path) if note in mark["/Contents"]]
        return {words_in(page, points): points for page, points in marks}


@pytest.mark.parametrize("side", ["a", "b"])
def test_every_changed_word_is_under_a_mark(folder: Path, field_study: Comparison, side: str) -> None:
    path = folder / f"field-study-v{1 if side == 'a' else 2}-annotated.pdf"
    pages = pdfium.PdfDocument(path)
    marked: set[str] = set()
    by_note: dict[str, str] = {}  # of an edit that runs over the end of a page
    for number, mark in marks_of(path):
        if mark["/Subj"] in (DELETED.name, INSERTED.name):
            points = points_of(mark)
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
    left, bottom, right, top = (2 * value for value in bounds(points_of(mark)))
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


def test_annotations_are_whole_and_named_after_their_changes(folder: Path) -> None:
    marks = [mark for _, mark in marks_of(folder / "field-study-v2-annotated.pdf")]
    assert {EDITED_BAR.name, MOVED.name, INSERTED.name, "Deleted here"} <= {str(one["/Subj"]) for one in marks}
    for mark in marks:
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
    first: Any = reader.outline[1][0]
    assert reader.get_destination_page_number(first) == 2


def turned(name: str, folder: Path, turn: int, password: str = "") -> Path:
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


@pytest.mark.slow
def test_marks_fit_turned_and_cropped_pages(tmp_path: Path) -> None:
    a, b = (read(str(turned(name, tmp_path, 90))) for name in (V1, V2))
    write_annotated(compared(a, b), tmp_path, None, None)
    path = tmp_path / "field-study-v2-annotated.pdf"
    assert "may" in words_under(path, "B: may")


@pytest.mark.slow
def test_a_password_is_kept(tmp_path: Path) -> None:
    a, b = (read(str(turned(name, tmp_path, 0, "secret")), password="secret") for name in (V1, V2))
    write_annotated(compared(a, b), tmp_path, "secret", None)
    reader = pypdf.PdfReader(tmp_path / "field-study-v1-annotated.pdf")
    assert reader.is_encrypted
    assert reader.decrypt("secret")
    first: Any = reader.outline[0]
    assert first.title == "Changes"


@pytest.mark.slow
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
        check_annotation(tmp_path, inputs[0], inputs[1], inputs)


@pytest.mark.slow
def test_a_text_beside_a_pdf_is_left_out_with_a_word(capsys: Capture, tmp_path: Path) -> None:
    text = tmp_path / "draft.txt"
    text.write_text(run(capsys, "text", OTHER).out.replace("thirty", "sixty"))
    result = run(capsys, "diff", text, OTHER, "--annotate", tmp_path / "out", "--format", "json")
    assert f"{text} is not annotated: it is no PDF file." in " ".join(result.err.split())
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["supply-agreement-annotated.pdf"]


def test_a_damaged_file_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(CorruptFileError, match="Cannot add marks"):
        write_marked(
            (io.BytesIO(b"%PDF-1.4 nothing"),),
            io.BytesIO(),
            None,
            [],
            Entry("Changes", None),
            "Cannot add marks",
        )


@pytest.fixture(scope="module")
def sheets(tmp_path_factory: pytest.TempPathFactory, field_study: Comparison) -> Path:
    """The two versions in examples/, side by side."""
    path = tmp_path_factory.mktemp("sheets") / "redline.pdf"
    write_side_by_side(field_study, path, None, None)
    return path


@POSIX
@pytest.mark.parametrize("kind", ["side by side", "typeset"])
def test_a_folder_that_may_not_be_written_is_told_with_the_name_of_the_output(
    capsys: Capture, tmp_path: Path, kind: str
) -> None:
    other, closed = Path(V2), tmp_path / "closed"
    if kind == "typeset":
        pytest.importorskip("reportlab", reason="reportlab is not installed")
        other = tmp_path / "other.txt"
        other.write_text("The sensors on the sill measure fine particles. The volunteers read them each evening.\n")
    closed.mkdir(mode=0o500)
    with permissions_count():
        written = run(capsys, "diff", V1, other, "-o", closed / "out.pdf")
    check_trouble(written)
    assert f"{closed / 'out.pdf'} cannot be written: Permission denied." in " ".join(written.err.split())


def test_sheets_are_landscape_and_show_both_pages(sheets: Path) -> None:
    with closing(pdfium.PdfDocument(sheets)) as document:
        assert len(document) >= 9
        page = document[2]
        assert page.get_width() > page.get_height()
        text = page.get_textpage().get_text_range()
    assert all(shown in text for shown in ("field-study-v1.pdf", "field-study-v2.pdf", "p. 3 of 9"))
    assert text.count("2.3 The volunteers") == 2


def test_marks_are_on_their_words_in_both_halves(sheets: Path) -> None:
    found = words_under(sheets, "Replaced\nA: must\nB: may")
    assert set(found) == {"must", "may"}
    assert found["must"][0] < 595 < found["may"][0]


def test_the_outline_leads_to_the_sheets(sheets: Path) -> None:
    (name, entries) = titles(sheets)
    assert name == "Changes"
    assert entries[0] == "Amount EUR 58 → EUR 63; unit 2 minutes → 2 hours"
    reader = pypdf.PdfReader(sheets)
    first: Any = reader.outline[1][0]
    page = reader.get_destination_page_number(first)
    assert page is not None
    assert "The parts cost EUR" in reader.pages[page].extract_text()


@pytest.mark.parametrize("turn", [90, 180])
def test_turned_and_cropped_pages_are_upright(tmp_path: Path, turn: int) -> None:
    paths = []
    for name in (V1, V2):
        # The text is turned back by the content, so that a reader sees it upright.
        writer = pypdf.PdfWriter()
        source = writer.add_page(pypdf.PdfReader(name).pages[2])
        shift = {90: (842, 0), 180: (595, 842), 270: (0, 595)}[turn]
        source.add_transformation(pypdf.Transformation().rotate(turn).translate(*shift))
        wide, high = (595, 842) if turn == 180 else (842, 595)
        source.mediabox = source.cropbox = pypdf.generic.RectangleObject((0, 0, wide, high))
        source.rotate(turn)
        paths.append(tmp_path / Path(name).name)
        writer.write(paths[-1])
    a, b = (read(str(path)) for path in paths)
    write_side_by_side(compared(a, b), tmp_path / "out.pdf", None, None)
    found = words_under(tmp_path / "out.pdf", "B: may")
    assert list(found) == ["must", "may"]
    assert all(abs(quad[1] - quad[3]) < 0.1 for quad in found.values()), "the words run from left to right"


def test_values_of_forms_are_shown(tmp_path: Path) -> None:
    a, b = (
        Form(("Amount:", "The end of the page.")).text_field(value).write(tmp_path / f"{value}.pdf")
        for value in ("9000", "8000")
    )
    write_side_by_side(compared(read(a), read(b)), tmp_path / "out.pdf", None, None)
    document = pdfium.PdfDocument(tmp_path / "out.pdf")
    text = document[0].get_textpage().get_text_range()
    assert {"9000", "8000"} <= set(text.split())
    document.close()


def test_the_command_writes_it(capsys: Capture, tmp_path: Path) -> None:
    target = tmp_path / "redline.pdf"
    result = run(capsys, "diff", V1, V2, "--pages", "2-4", "-o", target)
    assert (result.status, result.out) == (1, "")
    assert len(pypdf.PdfReader(target).pages) >= 3


def shared(page: int, other: int, words: int = 10) -> PassagePair:
    a, b = (Passage(0, 0, Span(0, 1), (number, number)) for number in (page, other))
    text = "word " * words
    return PassagePair(State.SAME, (a,), (b,), 1.0, (), (), text, text)


EQUAL = [shared(1, 1), shared(2, 2), shared(3, 3)]
NEW_PAGE = [shared(1, 1), shared(2, 3)]
SPREAD = [shared(1, 1), shared(1, 2), shared(2, 3)]
MOVED_PAGES = [shared(1, 3, 5), shared(2, 1, 50), shared(3, 2, 50)]


@pytest.mark.parametrize(
    ("pairs", "counts", "wanted"),
    [
        (EQUAL, (3, 3), "11 22 33"), (NEW_PAGE, (2, 3), "11 02 23"), (SPREAD, (2, 3), "11 12 23"),
        (MOVED_PAGES, (3, 3), "10 21 32 03"), ([], (2, 3), "11 22 03"), ([], (1, 0), "10"),
    ],
)  # fmt: skip
def test_pages_are_paired(pairs: list[PassagePair], counts: tuple[int, int], wanted: str) -> None:
    found = page_pairs(pairs, *(range(1, count + 1) for count in counts))
    assert " ".join(f"{left}{right}" for left, right in found) == wanted


@given(st.lists(st.tuples(PAGES, PAGES, st.integers(1, 60)), max_size=40))
def test_every_page_is_shown_and_pages_stay_in_order(links: list[tuple[int, int, int]]) -> None:
    found = page_pairs([shared(*link) for link in links], range(1, 7), range(1, 8))
    for side, count in ((0, 6), (1, 7)):
        shown = [pair[side] for pair in found if pair[side]]
        assert shown == sorted(shown)
        assert set(shown) == set(range(1, count + 1))
    assert len(set(found)) == len(found)
