"""Annotations, form fields and other parts of a PDF: read as text, beside it, or told by a digest."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any

import pypdf
import pytest
from command_line import run
from pdf_forms import LETTERS, Form, entries, packed
from pypdf.generic import TextStringObject

from colde_cli.documents.document import Document
from colde_cli.documents.outside import OutsideKind, PartKind
from colde_cli.documents.pdf.read_pdf import Answer, run_reader
from colde_cli.documents.reading import read
from colde_cli.similarity.outside_changes import compare_outside

LABELS = ("Amount:", "The end of the page.")
LINES = ("The tenant pays rent.", "The end of the page.")
TINY = "BI /W 1 /H 1 /CS /G /BPC 8 ID %s EI"
"""A picture of one pixel, in the content of the page."""
RED, BLUE = b"\xc8\x14\x14" * 64, b"\x14\x14\xc8" * 64


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "file.pdf"


def answered(path: Path) -> Answer:
    with path.open("rb") as file:
        answer = run_reader(file, None, 1, 0)
    assert not answer.died
    return answer


def filled_in(path: Path) -> list[str]:
    return sorted(line.text for line in answered(path).read[0].entries)


def texts_of(document: Document) -> list[tuple[str, str, str]]:
    return [(text.kind.value, text.text, text.about) for text in document.outside]


def parts_of(document: Document) -> list[tuple[str, str]]:
    return [(part.kind.value, part.about) for part in document.parts]


def form() -> Form:
    return Form(LABELS)


def page() -> Form:
    return Form(LINES)


@pytest.mark.parametrize(
    ("made", "wanted"),
    [
        *((form().text_field("9000", shown).text_box("A note", shown), "9000 A note") for shown in ("", None)),
        (form().child_field("9000"), "9000"),
        (form().text_field("9000", "1000"), "1000 9000"),
        (form().choice("b", [("a", "Apples"), ("b", "Bread")]), "Bread"),
        (form().checkbox(on=True, box=(9, 9, 20, 20)).checkbox(on=False, box=(9, 40, 20, 52)), "[x]"),
        *((form().text_field("9000", flags=flags).text_box("A note", flags=flags), "") for flags in (2, 32)),
    ],
    ids=["shown", "unshown", "of parent", "two values", "choice", "boxes", "hidden", "no view"],
)
def test_what_is_filled_in_is_read_unless_it_is_hidden(path: Path, made: Form, wanted: str) -> None:
    assert " ".join(filled_in(made.write(path))) == wanted
    assert [line.text for line in answered(path).read[0].lines] == list(LABELS)


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (form().text_field("9000").text_box("A note"), "Amount: 9000\n\nThe end of the page.\n\nA note"),
        (Form(("9000",)).text_field("9000", box=(70, 696, 270, 716)), "9000"),
        (Form().text_field("9000"), "9000"),
    ],
    ids=["beside its label", "said by the page", "of nothing but fields"],
)
def test_values_stand_in_the_text_once(path: Path, made: Form, text: str) -> None:
    document = read(made.write(path))
    assert document.text == text
    assert (document.report.warnings, document.report.pages_without_text) == ((), ())


def test_forms_with_other_values_are_not_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a, b = (form().text_field(value).write(tmp_path / f"{value}.pdf") for value in ("1000", "9000"))
    assert run(capsys, "diff", a, a).status == 0
    assert run(capsys, "diff", a, b).status == 1


def test_forms_whose_values_cannot_be_read_are_never_the_same(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Form(("Please wait ...",)).dynamic().write(path)
    assert answered(path).dynamic
    done = run(capsys, "diff", path, path)
    assert done.status == 1
    assert done.err.count("Values of its form could not be read") == 2


@pytest.mark.parametrize("meaning", ["E0%02X", "FFFD", "0000"])
def test_a_short_text_without_a_readable_letter_is_told(path: Path, meaning: str) -> None:
    said = {code: meaning % code if "%" in meaning else meaning for code in range(33, 127)}
    Form(("Short text",), said).write(path)
    assert any("no meaning in Unicode" in warning for warning in read(path).report.warnings)


@pytest.mark.parametrize("meaning", ["E001", "FFFD", "0000"])
def test_words_that_lack_a_ligature_are_told(path: Path, meaning: str) -> None:
    long = "The council has its seat in the old hall by the river, and it meets on the first day of every month."
    Form((f"The e1cient o1ce. {long}", long), LETTERS | {ord("1"): meaning}).write(path)
    assert read(path).report.warnings[0].startswith("2 words lack letters")


def test_letters_called_by_the_names_of_others_are_told(path: Path) -> None:
    turned = {code: f"{(code - 97 + 1) % 26 + 97:04X}" for code in range(97, 123)}
    words = "The council shall pay the sum for every night on which the pump has lifted water from the well. "
    assert read(Form((words,) * 3, LETTERS).write(path)).report.warnings == ()
    warnings = read(Form((words,) * 3, LETTERS | turned).write(path)).report.warnings
    assert any("make no words" in warning for warning in warnings)


@pytest.mark.parametrize(
    ("kind", "values", "wanted"),
    [
        ("/Text", {"T": "Ada", "Contents": "Is this true?"}, "Ada: Is this true?"),
        ("/Text", {"State": "Accepted"}, "Accepted"),
        ("/Text", {"Contents": "By Ada", "State": "Accepted"}, "By Ada Accepted"),
        ("/Text", {"Contents": "Accepted by Ada", "State": "Accepted"}, "Accepted by Ada"),
        ("/Highlight", {"Contents": "Check"}, "Check [highlighted: The tenant pays rent.]"),
        ("/StrikeOut", {"T": "Ada"}, "Ada: [struck out: The tenant pays rent.]"),
        ("/StrikeOut", {"QuadPoints": [97, 712, 129, 712, 97, 696, 129, 696]}, "[struck out: tenant]"),
        ("/Caret", {"Contents": "not"}, "not [insertion]"),
        ("/Redact", {"OverlayText": "X"}, "[to be redacted: The tenant pays rent., overwritten with: X]"),
        ("/FreeText", {"RC": "<body><p>Five &amp; six</p><p>seven</p></body>"}, "Five & six seven"),
        ("/Square", {"T": "Ada"}, "Ada: [box]"),
        ("/Stamp", {"Name": "/Approved", "Contents": "by me"}, "by me [stamp: Approved]"),
    ],
)
def test_comments_say_who_wrote_them_and_what_they_mark(
    path: Path, kind: str, values: dict[str, Any], wanted: str
) -> None:
    document = read(page().note(kind, **values).write(path))
    assert texts_of(document) == [("comments", wanted, "")]
    assert document.outside[0].pages == (1, 1)


def test_a_hidden_comment_is_hidden_text(path: Path) -> None:
    document = read(page().note("/Text", flags=2, T="Ada", Contents="Not for them").write(path))
    assert texts_of(document) == [("hidden-text", "Ada: Not for them", "comment")]


def test_the_contents_of_a_text_box_that_shows_other_words_are_a_comment(path: Path) -> None:
    document = read(page().text_box("Five euros", "Nine euros").write(path))
    assert "Nine euros" in document.text
    assert texts_of(document) == [("comments", "Five euros", "text box")]


ACTIONS = [entries(S="/GoTo", D=TextStringObject("x")), entries(S="/GoToR", F=TextStringObject("b.pdf"))]
HIGH, LOW = (72, 694, 300, 714), (72, 494, 300, 514)


@pytest.mark.parametrize(
    ("lines", "links", "wanted"),
    [
        (
            LINES,
            [("https://a.example", HIGH), (ACTIONS[0], HIGH), (ACTIONS[1], LOW)],
            [("https://a.example", "The tenant pays rent."), ("b.pdf", "The end of the page.")],
        ),
        (
            ("Pay 1.250,50 now.", "-"), [("https://a.example", HIGH)], [("https://a.example", "Pay 1.250,50 now.")],
        ),
        (("https://a.example/x", "-"), [("https://a.example/x", HIGH)], [("https://a.example/x", "")]),
        (LINES, [("https://a.example", (200, 694, 300, 706)), ("https://a.example", (72, 680, 150, 692))], 1),
        (LINES, [("https://a.example", (200, 694, 300, 706)), ("https://a.example", (72, 300, 99, 312))], 2),
    ],
    ids=["out of the document", "full stops", "shown address", "over two lines", "two"],
)  # fmt: skip
def test_links(path: Path, lines: tuple[str, str], links: list[tuple[Any, Any]], wanted: Any) -> None:
    made = Form(lines)
    for target, box in links:
        _ = made.link(target, box) if isinstance(target, str) else made.note("/Link", box, A=target)
    texts = texts_of(read(made.write(path)))
    assert {kind for kind, _, _ in texts} == {"links"}
    assert (len(texts) if isinstance(wanted, int) else [text[1:] for text in texts]) == wanted


def test_facts_of_fields_are_read(path: Path) -> None:
    made = page().text_field("9000", TU=TextStringObject("In euros"), DV=TextStringObject("1000"))
    made.text_field("secret", flags=2, box=(400, 10, 500, 30))
    made.choice("b", [("a", "Apples"), ("b", "Bread")], box=(400, 40, 500, 60))
    assert texts_of(read(made.value_on_no_page("code", "0815").write(path))) == [
        ("form-values", "In euros", "tooltip of field 0"), ("form-values", "1000", "default of field 0"),
        ("form-values", "secret", "hidden field field 1"), ("form-values", "Apples; Bread", "choices of field 2"),
        ("form-values", "0815", "field code on no page"),
    ]  # fmt: skip


def test_what_belongs_to_the_whole_document_is_read(path: Path) -> None:
    made = page().titled("A lease", shown=True).bookmark("Rent").layer("Draft").attach("a.txt", b"one")
    document = read(made.write(path))
    assert texts_of(document) == [
        ("navigation", "Rent", "bookmark"),
        ("metadata", "A lease", "title"),
        ("hidden-text", "Draft", "layer that is off"),
    ]
    assert parts_of(document) == [("attachments", "a.txt")]
    assert texts_of(read(page().titled("A lease", shown=False).write(path))) == []


def test_a_bookmark_to_another_place_is_a_link(path: Path) -> None:
    made = page().bookmark("Rent", entries(S="/URI", URI=TextStringObject("https://a.example")))
    assert texts_of(read(made.write(path))) == [
        ("navigation", "Rent", "bookmark"),
        ("links", "https://a.example", "Rent"),
    ]


@pytest.mark.parametrize("on", [True, False])
def test_a_layer_that_prints_otherwise_than_it_is_shown_is_told(path: Path, *, on: bool) -> None:
    printed = {"Usage": entries(Print=entries(PrintState="/ON" if on else "/OFF"))}
    made = page().layer("Draft", off=on, **printed)
    state = "Draft: printed" if on else "Draft: not printed"
    assert ("hidden-text", state, "layer that prints otherwise") in texts_of(read(made.write(path)))
    made = page().layer("Draft", Usage=entries(Print=entries(PrintState="/OFF")))
    assert texts_of(read(made.write(path))) == [("hidden-text", "Draft", "layer that is off")]


def test_what_a_page_with_filled_in_fields_holds_besides_is_read(path: Path) -> None:
    # Annotations are taken off the page to read its fields, and with them what only they refer to.
    made = form().text_box("A note").signature(b"Ada").pinned(b"one").write(path)
    assert parts_of(read(made)) == [("other-parts", "digital signature"), ("attachments", "")]
    assert parts_of(read(form().text_box("A note").signature(b"").write(path))) == []


def _done(words: str) -> Any:
    return entries(S="/JavaScript", JS=TextStringObject(words))


def _line(end: int) -> Form:
    return page().note("/Line", L=[72, 700, end, 700])


def _shape(end: int) -> Form:
    return page().note("/Polygon", Vertices=[72, 700, end, 700, 80, 650])


@pytest.mark.parametrize(
    ("kind", "first", "second"),
    [
        (PartKind.ATTACHMENTS, page().attach("a", b"1"), page().attach("a", b"2")),
        (PartKind.ATTACHMENTS, page().attach("a", b"1"), page().attach("b", b"1")),
        (PartKind.ATTACHMENTS, page().associated(b"1"), page().associated(b"2")),
        (PartKind.OTHER, page().signature(b"1"), page().signature(b"2")),
        (PartKind.MEDIA, page().sound(b"1"), page().sound(b"2")),
        (
            PartKind.FORMS, page().text_field("x").packet(b"<a>1</a>"), page().text_field("x").packet(b"<a>2</a>"),
        ),
        (PartKind.SCRIPTS, page().catalog(OpenAction=_done("1")), page().catalog(OpenAction=_done("2"))),
        (PartKind.SCRIPTS, page().note("/Link", A=_done("1")), page().note("/Link", A=_done("2"))),
        (
            PartKind.SCRIPTS,
            page().note("/Link", A=entries(S="/SubmitForm", F=TextStringObject("a"))),
            page().note("/Link", A=entries(S="/SubmitForm", F=TextStringObject("b"))),
        ),
        (
            PartKind.SCRIPTS,
            page().text_field("x", AA=entries(E=_done("1"))),
            page().text_field("x", AA=entries(E=_done("2"))),
        ),
        (PartKind.PICTURES, page().picture(RED, 8), page().picture(BLUE, 8)),
        (PartKind.PICTURES, page().draw(TINY % "a"), page().draw(TINY % "b")),
        (PartKind.DRAWINGS, page().note("/Ink", looks="a"), page().note("/Ink", looks="b")),
        (PartKind.DRAWINGS, _line(200), _line(300)),
        (PartKind.DRAWINGS, _shape(200), _shape(300)),
    ],
)  # fmt: skip
def test_parts_are_told_apart_by_their_digests(tmp_path: Path, kind: PartKind, first: Form, second: Form) -> None:
    a, b = (read(made.write(tmp_path / name)) for made, name in ((first, "a.pdf"), (second, "b.pdf")))
    (change,) = compare_outside(a, b).parts
    assert change.kind is kind
    again = read(_saved_again(tmp_path / "a.pdf"))
    assert compare_outside(a, again).changes == 0


def _saved_again(path: Path) -> Path:
    """Save a file as another program does: other numbers of objects, other compression."""
    writer = pypdf.PdfWriter(clone_from=path)
    for one in writer.pages:
        one.compress_content_streams()
    again = path.with_name("again.pdf")
    writer.write(again)
    return again


def test_pictures_are_numbered_on_their_page(path: Path) -> None:
    document = read(page().picture(RED, 8).picture(BLUE, 8).picture(RED, 8).write(path))
    assert [part.source for part in document.parts] == [f"page 1 image {number}" for number in (1, 2, 3)]
    digests = [part.digest for part in document.parts]
    assert digests[0] == digests[2] != digests[1]
    assert document.parts[0].pages == (1, 1)


def test_what_another_program_saved_is_the_same(path: Path) -> None:
    made = page().titled("A lease", shown=True).bookmark("Rent").layer("Draft").attach("a.txt", b"one")
    made.link("https://a.example").note("/Highlight", Contents="Check").picture(RED, 8).sound(b"1")
    made.text_field("x", TU=TextStringObject("?")).value_on_no_page("code", "0815")
    a = read(made.write(path))
    b = read(_saved_again(path))
    assert len(a.outside) > 5
    assert (a.outside, a.parts) == (b.outside, b.parts)


def test_files_compressed_whole_say_the_same(path: Path) -> None:
    # The catalog then stands in a stream of objects.
    plain = page().titled("A lease", shown=True).layer("Draft").write(path)
    assert texts_of(read(packed(plain))) == texts_of(read(plain)) != []


def test_comments_and_links_are_found(path: Path) -> None:
    page().link("https://a.example", (72, 0, 73, 1)).note("/Text", T="Ada", Contents="True?").write(path)
    assert [(text.kind, text.text) for text in answered(path).texts] == [
        (OutsideKind.LINKS, "https://a.example"),
        (OutsideKind.COMMENTS, "Ada: True?"),
    ]


@pytest.mark.slow
def test_an_attachment_of_any_size_costs_no_page(path: Path) -> None:
    # Two gigabytes, once unpacked: more than a reader process may take.
    packer = zlib.compressobj(9, wbits=-15)
    block = packer.compress(bytes(1 << 24)) + packer.flush(zlib.Z_FULL_FLUSH)
    checksum = (1 << 31) % 65_521 << 16 | 1
    data = b"\x78\xda" + 128 * block + packer.flush() + checksum.to_bytes(4, "big")
    made = page().attach("a.bin", b"x")
    objects = [item for item in made._writer._objects if isinstance(item, pypdf.generic.DictionaryObject)]
    (held,) = (item for item in objects if item.get("/Type") == "/EmbeddedFile")
    stream = pypdf.generic.EncodedStreamObject()
    stream.update(held)
    stream.update(entries(Filter="/FlateDecode"))
    stream._data = data
    made._writer._objects[made._writer._objects.index(held)] = stream
    document = read(made.write(path))
    assert document.text.startswith("The tenant pays rent.")
    assert parts_of(document) in (
        [("attachments", "a.bin")],
        [("other-parts", "attachments and forms that cannot be read")],
    )
