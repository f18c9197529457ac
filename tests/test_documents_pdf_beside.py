"""What a PDF holds beside the text of its pages: read, or told by a digest."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any

import pypdf
import pytest
from pdf_forms import Form, packed
from pypdf.generic import ArrayObject, DictionaryObject, NameObject, NumberObject, TextStringObject

from colde_cli.documents.document import Document
from colde_cli.documents.outside import OutsideKind, PartKind
from colde_cli.documents.pdf.read_pdf import PDFIUM, PYPDF, run_reader
from colde_cli.documents.reading import read
from colde_cli.similarity.outside import compare_outside

LINES = ("The tenant pays rent.", "The end of the page.")
TINY = "BI /W 1 /H 1 /CS /G /BPC 8 ID %s EI"
"""A picture of one pixel, in the content of the page."""
RED, BLUE = b"\xc8\x14\x14" * 64, b"\x14\x14\xc8" * 64


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "file.pdf"


def texts_of(document: Document) -> list[tuple[str, str, str]]:
    return [(text.kind.value, text.text, text.about) for text in document.outside]


def parts_of(document: Document) -> list[tuple[str, str]]:
    return [(part.kind.value, part.about) for part in document.parts]


def page() -> Form:
    return Form(LINES)


@pytest.mark.parametrize(
    ("kind", "values", "wanted"),
    [
        ("/Text", {"T": "Ada", "Contents": "Is this true?"}, "Ada: Is this true?"),
        ("/Text", {"State": "Accepted"}, "Accepted"),
        ("/Highlight", {"Contents": "Check"}, "Check [highlighted: The tenant pays rent.]"),
        ("/StrikeOut", {"T": "Ada"}, "Ada: [struck out: The tenant pays rent.]"),
        ("/Caret", {"Contents": "not"}, "not [insertion]"),
        ("/Redact", {"OverlayText": "X"}, "[to be redacted: The tenant pays rent., overwritten with: X]"),
        ("/FreeText", {"RC": "<body><p>Five &amp; six</p><p>seven</p></body>"}, "Five & six seven"),
        ("/Square", {"T": "Ada"}, "Ada: [box]"),
        ("/Stamp", {"Name": NameObject("/Approved"), "Contents": "by me"}, "by me [stamp: Approved]"),
    ],
)
def test_comments_say_who_wrote_them_and_what_they_mark(
    path: Path, kind: str, values: dict[str, Any], wanted: str
) -> None:
    document = read(page().note(kind, **values).write(path))
    assert texts_of(document) == [("comments", wanted, "")]
    assert document.outside[0].pages == (1, 1)


def test_a_mark_takes_the_words_of_its_own_lines_only(path: Path) -> None:
    points = ArrayObject(map(NumberObject, (97, 712, 129, 712, 97, 696, 129, 696)))
    document = read(page().note("/StrikeOut", box=(0, 0, 600, 800), QuadPoints=points).write(path))
    assert texts_of(document) == [("comments", "[struck out: tenant]", "")]


def test_a_hidden_comment_is_hidden_text(path: Path) -> None:
    document = read(page().note("/Text", flags=2, T="Ada", Contents="Not for them").write(path))
    assert texts_of(document) == [("hidden-text", "Ada: Not for them", "comment")]


def test_the_contents_of_a_text_box_that_shows_other_words_are_a_comment(path: Path) -> None:
    document = read(page().text_box("Five euros", "Nine euros").write(path))
    assert "Nine euros" in document.text
    assert texts_of(document) == [("comments", "Five euros", "text box")]


def test_links_lead_out_of_the_document(path: Path) -> None:
    inside = DictionaryObject(
        {NameObject("/S"): NameObject("/GoTo"), NameObject("/D"): TextStringObject("x")}
    )
    away = DictionaryObject(
        {NameObject("/S"): NameObject("/GoToR"), NameObject("/F"): TextStringObject("b.pdf")}
    )
    form = page().link("https://a.example").note("/Link", A=inside)
    document = read(form.note("/Link", box=(72, 494, 300, 514), A=away).write(path))
    assert texts_of(document) == [
        ("links", "https://a.example", "The tenant pays rent."),
        ("links", "b.pdf", "The end of the page."),
    ]


def test_words_keep_their_full_stops(path: Path) -> None:
    document = read(Form(("Pay 1.250,50 now.", "More")).link("https://a.example").write(path))
    assert texts_of(document) == [("links", "https://a.example", "Pay 1.250,50 now.")]


def test_a_link_over_two_lines_is_one_link(path: Path) -> None:
    first, second = (200, 694, 300, 706), (72, 680, 150, 692)
    one = read(page().link("https://a.example", first).link("https://a.example", second).write(path))
    assert len(one.outside) == 1
    apart = read(
        page().link("https://a.example", first).link("https://a.example", (72, 300, 99, 312)).write(path)
    )
    assert len(apart.outside) == 2


def test_an_address_that_is_shown_needs_no_words(path: Path) -> None:
    document = read(Form(("https://a.example/x", "More")).link("https://a.example/x").write(path))
    assert texts_of(document) == [("links", "https://a.example/x", "")]


def test_facts_of_fields_are_read(path: Path) -> None:
    form = page().text_field("9000", TU=TextStringObject("In euros"), DV=TextStringObject("1000"))
    form.text_field("secret", flags=2, box=(400, 10, 500, 30))
    form.choice("b", [("a", "Apples"), ("b", "Bread")], box=(400, 40, 500, 60))
    form.value_on_no_page("code", "0815")
    document = read(form.write(path))
    assert texts_of(document) == [
        ("form-values", "In euros", "tooltip of field 0"),
        ("form-values", "1000", "default of field 0"),
        ("form-values", "secret", "hidden field field 1"),
        ("form-values", "Apples; Bread", "choices of field 2"),
        ("form-values", "0815", "field code on no page"),
    ]


def test_what_belongs_to_the_whole_document_is_read(path: Path) -> None:
    form = page().titled("A lease", shown=True).bookmark("Rent").layer_off("Draft").attach("a.txt", b"one")
    document = read(form.write(path))
    assert texts_of(document) == [
        ("navigation", "Rent", "bookmark"),
        ("metadata", "A lease", "title"),
        ("hidden-text", "Draft", "layer that is off"),
    ]
    assert parts_of(document) == [("attachments", "a.txt")]


def test_a_title_that_no_viewer_shows_makes_no_difference(path: Path) -> None:
    assert texts_of(read(page().titled("A lease", shown=False).write(path))) == []


def _packet(words: bytes) -> Form:
    stream = pypdf.generic.DecodedStreamObject()
    stream.set_data(words)
    form = page().text_field("x")
    reference = form._writer._add_object(stream)
    fields = DictionaryObject({NameObject("/Fields"): form._fields, NameObject("/XFA"): reference})
    return form.catalog(AcroForm=fields)


def _action(words: str) -> Form:
    action = {NameObject("/S"): NameObject("/JavaScript"), NameObject("/JS"): TextStringObject(words)}
    return page().catalog(OpenAction=DictionaryObject(action))


@pytest.mark.parametrize(
    ("kind", "first", "second"),
    [
        (PartKind.ATTACHMENTS, page().attach("a", b"1"), page().attach("a", b"2")),
        (PartKind.MEDIA, page().sound(b"1"), page().sound(b"2")),
        (PartKind.FORMS, _packet(b"<a>1</a>"), _packet(b"<a>2</a>")),
        (PartKind.SCRIPTS, _action("x = 1"), _action("x = 2")),
        (PartKind.PICTURES, page().picture(RED, 8), page().picture(BLUE, 8)),
        (PartKind.PICTURES, page().draw(TINY % "a"), page().draw(TINY % "b")),
        (PartKind.DRAWINGS, page().note("/Ink", looks="a"), page().note("/Ink", looks="b")),
    ],
)
def test_parts_are_told_apart_by_their_digests(
    tmp_path: Path, kind: PartKind, first: Form, second: Form
) -> None:
    a, b = (read(form.write(tmp_path / name)) for form, name in ((first, "a.pdf"), (second, "b.pdf")))
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


def test_what_another_program_saved_is_the_same(tmp_path: Path) -> None:
    form = page().titled("A lease", shown=True).bookmark("Rent").layer_off("Draft").attach("a.txt", b"one")
    form.link("https://a.example").note("/Highlight", Contents="Check").text_field(
        "x", TU=TextStringObject("?")
    )
    form.picture(RED, 8).sound(b"1").value_on_no_page("code", "0815")
    a = read(form.write(tmp_path / "a.pdf"))
    b = read(_saved_again(tmp_path / "a.pdf"))
    assert len(a.outside) > 5
    assert (a.outside, a.parts) == (b.outside, b.parts)


def test_files_compressed_whole_say_the_same(tmp_path: Path) -> None:
    # The catalog then stands in a stream of objects.
    plain = page().titled("A lease", shown=True).layer_off("Draft").write(tmp_path / "plain.pdf")
    assert texts_of(read(packed(plain))) == texts_of(read(plain)) != []


def test_both_readers_find_comments_and_links(path: Path) -> None:
    page().link("https://a.example", (72, 0, 73, 1)).note("/Text", T="Ada", Contents="True?").write(path)
    for engine in (PDFIUM, PYPDF):
        with path.open("rb") as file:
            found = run_reader(engine, file, None, 1, 0).texts
        assert [(text.kind, text.text) for text in found] == [
            (OutsideKind.LINKS, "https://a.example"),
            (OutsideKind.COMMENTS, "Ada: True?"),
        ]


def test_an_attachment_of_any_size_costs_no_page(path: Path) -> None:
    # Two gigabytes, once unpacked: more than a reader process may take.
    packer = zlib.compressobj(9)
    packed = b"".join(packer.compress(bytes(1 << 24)) for _ in range(128)) + packer.flush()
    form = page().attach("a.bin", b"x")
    (held,) = (
        item for item in form._writer._objects if getattr(item, "get", {}.get)("/Type") == "/EmbeddedFile"
    )
    stream = pypdf.generic.EncodedStreamObject()
    stream.update({**held, NameObject("/Filter"): NameObject("/FlateDecode")})
    stream._data = packed
    form._writer._objects[form._writer._objects.index(held)] = stream
    document = read(form.write(path))
    assert document.text.startswith("The tenant pays rent.")
    assert parts_of(document) in (
        [("attachments", "a.bin")],
        [("other-parts", "attachments and forms that cannot be read")],
    )
