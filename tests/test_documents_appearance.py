"""Two documents are settled: pictures by their pixels, and PDFs of equal text by how their pages look."""

from __future__ import annotations

import copy
import io
import os
import pickle
import threading
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pypdf
import pytest
from pdf_forms import Form, entries
from PIL import Image
from pypdf.constants import PageLabelStyle
from pypdf.generic import TextStringObject

from colde_cli.documents import appearance
from colde_cli.documents.appearance import settled
from colde_cli.documents.document import Document
from colde_cli.documents.outside import PartKind, UnreadPart, digest_of
from colde_cli.documents.reading import read
from colde_cli.similarity.outside_changes import compare_outside

LINES = ("The tenant pays rent.", "The end of the page.")
RED, BLUE = b"\xc8\x14\x14" * 64, b"\x14\x14\xc8" * 64


def page(lines: tuple[str, ...] = LINES) -> Form:
    return Form(lines)


def both(tmp_path: Path, first: Form, second: Form) -> tuple[Document, Document]:
    return read(first.write(tmp_path / "a.pdf")), read(second.write(tmp_path / "b.pdf"))


def looks(a: Document, b: Document, *, same_body: bool = True) -> list[tuple[str, tuple[int, int] | None]]:
    """Kinds and pages of the parts that differ once two documents are settled."""
    changes = compare_outside(*settled(a, b, same_body=same_body)).parts
    return [(change.kind.value, (change.a or change.b).pages) for change in changes]  # type: ignore[union-attr]


def test_a_picture_that_was_only_stored_anew_is_the_same(tmp_path: Path) -> None:
    a, b = both(tmp_path, page().picture(RED, 8), page().picture(RED, 8, level=0))
    assert compare_outside(a, b).parts
    assert looks(a, b) == []
    first, second = settled(a, b, same_body=False)
    assert first.parts[0].digest == second.parts[0].digest
    assert first.parts[0].digest.startswith("pixels:")


def test_another_picture_differs_and_its_page_is_not_told_twice(tmp_path: Path) -> None:
    a, b = both(tmp_path, page().picture(RED, 8), page().picture(BLUE, 8))
    assert looks(a, b) == [("pictures", (1, 1))]


def test_a_picture_that_both_hold_keeps_its_equal(tmp_path: Path) -> None:
    first = page().picture(RED, 8).picture(RED, 8).picture(BLUE, 8)
    a, b = both(tmp_path, first, page().picture(RED, 8).picture(RED, 8, level=0).picture(BLUE, 8))
    assert looks(a, b) == []


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("", "0 0 0 rg 70 690 200 20 re f"),  # covers the words
        ("", "72 300 m 400 300 l S"),
        ("", "1 0 0 rg 300 300 2 2 re f"),
        ("1 0 0 rg 9 9 9 9 re f", "0 .509 0 rg 9 9 9 9 re f"),  # equally bright: the same on a grey page
    ],
)
def test_what_is_only_drawn_is_told_by_the_look_of_its_page(tmp_path: Path, first: str, second: str) -> None:
    a, b = both(tmp_path, page().draw(first), page().draw(second))
    assert a.text == b.text
    assert looks(a, b) == [("appearance", (1, 1))]
    assert looks(a, b, same_body=False) == []


def test_comments_and_fields_are_drawn(tmp_path: Path) -> None:
    a, b = both(tmp_path, page().text_field("9000"), page().text_field("9000", box=(150, 500, 350, 520)))
    assert looks(a, b) == [("appearance", (1, 1))]


@pytest.mark.parametrize("change", ["saved", "script", "title", "bookmark", "labels"])
def test_what_no_page_shows_changes_no_look(tmp_path: Path, change: str) -> None:
    action = entries(S="/JavaScript", JS=TextStringObject("this.x = 1"))

    def save(writer: pypdf.PdfWriter) -> None:
        for one in writer.pages:
            one.compress_content_streams()

    made: dict[str, Callable[[pypdf.PdfWriter], object]] = {
        "saved": save,
        "script": lambda writer: writer.root_object.update(entries(OpenAction=action)),
        "title": lambda writer: writer.add_metadata({"/Title": "Another"}),
        "bookmark": lambda writer: writer.add_outline_item(title="Rent", page_number=0),
        "labels": lambda writer: writer.set_page_label(0, 0, style=PageLabelStyle.LOWERCASE_ROMAN),
    }
    form = page().picture(RED, 8).text_field("9000").note("/Highlight", Contents="Check")
    path = form.write(tmp_path / "a.pdf")
    writer = pypdf.PdfWriter(clone_from=path)
    made[change](writer)
    writer.write(tmp_path / "b.pdf")
    a, b = read(path), read(tmp_path / "b.pdf")
    first, second = settled(a, b, same_body=True)
    assert [part for part in first.parts if part.kind is PartKind.APPEARANCE]
    assert {change.kind for change in compare_outside(first, second).parts} <= {PartKind.SCRIPTS}


def test_pages_that_cannot_be_drawn_are_equal_to_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(appearance, "MEMORY", 1 << 20)
    a, b = both(tmp_path, page(), page().titled("Another", shown=False))
    assert looks(a, b) == [("appearance", (1, 1))]


def test_equal_files_and_changed_files_are_left_as_they_are(tmp_path: Path) -> None:
    a, b = both(tmp_path, page(), page().draw("9 9 9 9 re f"))
    assert settled(a, a, same_body=True) == (a, a)
    page().draw("1 1 1 1 re f").write(tmp_path / "b.pdf")
    assert settled(a, b, same_body=True) == (a, b)
    (tmp_path / "b.pdf").unlink()
    assert settled(a, b, same_body=True) == (a, b)


def test_other_numbers_of_pages_are_not_drawn(tmp_path: Path) -> None:
    a, b = both(tmp_path, page(), page().draw("9 9 9 9 re f"))
    other = replace(b, report=replace(b.report, pages=2))
    assert settled(a, other, same_body=True) == (a, other)


@pytest.mark.parametrize("kind", ["standard input", "upload", "pipe"])
def test_what_cannot_be_opened_again_is_kept_for_it(tmp_path: Path, kind: str) -> None:
    data = page().draw("9 9 9 9 re f").write(tmp_path / "b.pdf").read_bytes()
    a = read(page().write(tmp_path / "a.pdf"))
    if kind == "standard input":
        b = read("-", stdin=io.BytesIO(data))
    elif kind == "upload":
        b = read("b.pdf", stream=io.BytesIO(data))
    else:
        os.mkfifo(tmp_path / "pipe.pdf")
        threading.Thread(target=(tmp_path / "pipe.pdf").write_bytes, args=(data,)).start()
        b = read(tmp_path / "pipe.pdf")
    assert looks(a, b) == [("appearance", (1, 1))]
    assert b == read(tmp_path / "b.pdf") or replace(b, path="", title="") == replace(
        read(tmp_path / "b.pdf"), path="", title=""
    )
    assert pickle.loads(pickle.dumps(b)) == copy.deepcopy(b) == b


def test_a_text_keeps_no_copy() -> None:
    assert read("-", stdin=io.BytesIO(b"The tenant pays rent.")).copy is None


def test_an_encrypted_file_is_opened_with_its_password(tmp_path: Path) -> None:
    documents = []
    for name, form in (("a", page()), ("b", page().draw("9 9 9 9 re f"))):
        writer = pypdf.PdfWriter(clone_from=form.write(tmp_path / f"{name}.pdf"))
        writer.encrypt("sesame", algorithm="AES-256")
        writer.write(tmp_path / f"{name}.pdf")
        documents.append(read(tmp_path / f"{name}.pdf", password="sesame"))
    changed = compare_outside(*settled(*documents, same_body=True, password="sesame")).parts
    assert [change.kind for change in changed] == [PartKind.APPEARANCE]


def office(path: Path, pictures: dict[str, bytes]) -> Document:
    """An Office file with nothing but pictures, as a reader would describe it."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in pictures.items():
            archive.writestr(name, data)
    parts = tuple(UnreadPart(PartKind.PICTURES, digest_of(data), source=name) for name, data in pictures.items())
    digest = digest_of(path.read_bytes())
    return Document(str(path), "", "A.", (), format="docx", digest=digest, parts=parts)


def stored(image: Image.Image, form: str = "PNG", **options: object) -> bytes:
    out = io.BytesIO()
    image.save(out, form, **options)
    return out.getvalue()


SEAL = Image.linear_gradient("L").resize((64, 40)).convert("RGB")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("other", "same"),
    [
        (stored(SEAL, compress_level=0), True), (stored(SEAL, optimize=True), True), (stored(SEAL, "BMP"), True),
        (stored(SEAL, "TIFF"), True), (stored(SEAL, "WEBP", lossless=True), True), (stored(SEAL.convert("RGBA")), True),
        (stored(SEAL.convert("L")), True), (stored(SEAL.rotate(180)), False), (stored(SEAL.resize((40, 64))), False),
        (stored(SEAL, "JPEG", quality=20), False),
        (stored(SEAL, "GIF", save_all=True, append_images=[SEAL.rotate(180)]), False),
        (b"\x01\x00\x00\x00 an EMF file, which nobody decodes", False), (stored(SEAL)[:100], False),
    ],
)  # fmt: skip
def test_a_picture_of_an_office_file_counts_by_its_pixels(tmp_path: Path, other: bytes, same: bool) -> None:
    a = office(tmp_path / "a.docx", {"media/1.png": stored(SEAL)})
    b = office(tmp_path / "b.docx", {"media/2.png": other})
    assert looks(a, b) == ([] if same else [("pictures", None)])


def test_depth_beyond_eight_bits_counts(tmp_path: Path) -> None:
    deep = [Image.new("I;16", (8, 8), value) for value in (256, 257)]
    a, b = (office(tmp_path / f"{n}.docx", {"1.png": stored(image)}) for n, image in enumerate(deep))
    assert looks(a, b) == [("pictures", None)]


@pytest.mark.slow
def test_a_bomb_is_not_decoded(tmp_path: Path) -> None:
    bomb = stored(Image.new("1", (11_000, 11_000)))
    a = office(tmp_path / "a.docx", {"1.png": bomb, "2.png": stored(SEAL)})
    b = office(tmp_path / "b.docx", {"1.png": bomb + b"\0", "2.png": stored(SEAL, "BMP")})
    first, second = settled(a, b, same_body=True)
    assert [part.digest.startswith("pixels:") for part in first.parts] == [False, True]
    assert first.parts[1] == replace(second.parts[1])
