"""What is filled in on a PDF's pages, and what its fonts cannot say: read, or told."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import run
from pdf_forms import LETTERS, Form

from colde_cli.documents.pdf.lines import PdfPage
from colde_cli.documents.pdf.read_pdf import PDFIUM, PYPDF, run_reader
from colde_cli.documents.reading import read

LABELS = ("Amount:", "The end of the page.")
ENGINES = pytest.mark.parametrize("engine", [PDFIUM, PYPDF], ids=["pdfium", "pypdf"])


def filled_in(path: Path, engine: str) -> list[str]:
    return [line.text for line in page_of(path, engine).entries]


def page_of(path: Path, engine: str) -> PdfPage:
    with path.open("rb") as file:
        answer = run_reader(engine, file, None, 1, 0)
    assert not answer.died
    return answer.read[0]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "form.pdf"


@ENGINES
@pytest.mark.parametrize("shown", ["", None])
def test_fields_and_text_boxes_are_read_with_and_without_appearance(
    path: Path, engine: str, shown: str | None
) -> None:
    Form(LABELS).text_field("9000", shown).text_box("A note", shown).write(path)
    assert sorted(filled_in(path, engine)) == ["9000", "A note"]
    assert [line.text for line in page_of(path, engine).lines] == list(LABELS)


def test_a_value_stands_beside_its_label_and_a_text_box_after_the_page(path: Path) -> None:
    Form(LABELS).text_field("9000").text_box("A note").write(path)
    assert read(path).text == "Amount: 9000\n\nThe end of the page.\n\nA note"


@ENGINES
def test_a_value_is_taken_from_the_field_that_it_is_part_of(path: Path, engine: str) -> None:
    Form(LABELS).child_field("9000").write(path)
    assert filled_in(path, engine) == ["9000"]


@ENGINES
def test_where_the_appearance_shows_another_value_both_are_read(path: Path, engine: str) -> None:
    Form(LABELS).text_field("9000", "1000").write(path)
    assert sorted(filled_in(path, engine)) == ["1000", "9000"]


@ENGINES
def test_lists_say_what_was_chosen_and_boxes_whether_they_are_on(path: Path, engine: str) -> None:
    form = Form(LABELS).choice("b", [("a", "Apples"), ("b", "Bread")], (72, 300, 200, 320))
    form.checkbox(on=True, box=(72, 260, 84, 272)).checkbox(on=False, box=(72, 240, 84, 252)).write(path)
    assert sorted(filled_in(path, engine)) == ["Bread", "[x]"]


@ENGINES
@pytest.mark.parametrize("flags", [2, 32])
def test_what_is_hidden_is_not_read(path: Path, engine: str, flags: int) -> None:
    Form(LABELS).text_field("9000", flags=flags).text_box("A note", flags=flags).write(path)
    assert filled_in(path, engine) == []


def test_what_the_page_says_itself_is_not_doubled(path: Path) -> None:
    Form(("9000",)).text_field("9000", box=(70, 696, 270, 716)).write(path)
    assert read(path).text == "9000"


def test_a_form_of_nothing_but_fields_is_read(path: Path) -> None:
    Form().text_field("9000").write(path)
    document = read(path)
    assert document.text == "9000"
    assert (document.report.warnings, document.report.pages_without_text) == ((), ())


def test_forms_with_other_values_are_not_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a = Form(LABELS).text_field("1000").write(tmp_path / "a.pdf")
    b = Form(LABELS).text_field("9000").write(tmp_path / "b.pdf")
    assert run(capsys, "diff", a, a).status == 0
    assert run(capsys, "diff", a, b).status == 1


def test_forms_whose_values_cannot_be_read_are_never_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a = Form(("Please wait ...",)).dynamic().write(tmp_path / "a.pdf")
    done = run(capsys, "diff", a, a)
    assert done.status == 1
    assert done.err.count("Values of its form could not be read") == 2


@ENGINES
def test_dynamic_forms_are_told(path: Path, engine: str) -> None:
    Form(("Please wait ...",)).dynamic().write(path)
    with path.open("rb") as file:
        assert run_reader(engine, file, None, 1, 0).dynamic


@pytest.mark.parametrize("meaning", ["E0%02X", "FFFD", "0000"])
def test_a_short_text_without_a_readable_letter_is_told(path: Path, meaning: str) -> None:
    said = {code: meaning % code if "%" in meaning else meaning for code in range(33, 127)}
    Form(("Short text",), said).write(path)
    assert any("no meaning in Unicode" in warning for warning in read(path).report.warnings)


@pytest.mark.parametrize("meaning", ["E001", "FFFD", "0000"])
def test_words_that_lack_a_ligature_are_told(path: Path, meaning: str) -> None:
    long = (
        "The council has its seat in the old hall by the river, and it meets on the first day of every month."
    )
    Form((f"The e1cient o1ce. {long}", long), LETTERS | {ord("1"): meaning}).write(path)
    assert read(path).report.warnings[0].startswith("2 words lack letters")


def test_letters_called_by_the_names_of_others_are_told(path: Path) -> None:
    turned = {code: f"{(code - 97 + 1) % 26 + 97:04X}" for code in range(97, 123)}
    words = "The council shall pay the sum for every night on which the pump has lifted water from the well. "
    lines = tuple([words] * 3)
    Form(lines, LETTERS).write(path)
    assert read(path).report.warnings == ()
    Form(lines, LETTERS | turned).write(path)
    assert any("make no words" in warning for warning in read(path).report.warnings)
