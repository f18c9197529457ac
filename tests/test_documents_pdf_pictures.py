"""Pictures as documents: every kind of pixels becomes the page that it shows, and hostile files end in a sentence."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pypdfium2 as pdfium
import pytest
from command_line import check_trouble, run
from pdf_pages import Printed, printed

from colde_cli.documents.document import Document
from colde_cli.documents.pdf import pictures, scans
from colde_cli.documents.pdf.pictures import read_picture
from colde_cli.documents.reading import read
from colde_cli.errors import CorruptFileError, UnsupportedFormatError

np = pytest.importorskip("numpy")
Image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
Capture = pytest.CaptureFixture[str]
needs_ocr = pytest.mark.skipif(not scans.available(), reason="colde[ocr] is not installed")
LINES = [
    Printed(72, 760, "Lease of the Old Pier", 18),
    Printed(72, 700, "The tenant pays a rent of EUR 5,860 on the first day of every month, in advance."),
]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Any:
    pdf = pdfium.PdfDocument(printed(tmp_path_factory.mktemp("page") / "lease.pdf", LINES))
    return pdf[0].render(scale=150 / 72).to_pil().convert("RGB")


def stored(image: Any, kind: str, **options: object) -> bytes:
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def as_pdf(data: bytes, monkeypatch: pytest.MonkeyPatch) -> pdfium.PdfDocument:
    """The PDF that a picture becomes; OCR does not run."""
    monkeypatch.setattr(pictures, "chosen", lambda ocr: "auto")
    monkeypatch.setattr(pictures, "available", lambda: True)
    made: list[bytes] = []

    def keep(file: Any, *_: object, **__: object) -> Document:
        file.seek(0)
        made.append(file.read())
        return Document("", "", "", ())

    monkeypatch.setattr(pictures, "read_pdf", keep)
    read_picture(io.BytesIO(data), "scan.png", "scan.png", None)
    return pdfium.PdfDocument(made[0])


def deep(image: Any) -> Any:
    return Image.fromarray(np.asarray(image.convert("L")).astype(np.uint16) * 257)


def clear(image: Any) -> Any:
    ink = Image.eval(image.convert("L"), lambda value: 255 - value)
    return Image.merge("LA", (Image.new("L", image.size, 0), ink))


ORIENTED = bytes.fromhex("4d4d002a000000080001011200030000000100060000") + b"\0\0\0\0"
FORMS: dict[str, Callable[[Any], bytes]] = {
    "grey": lambda image: stored(image.convert("L"), "PNG", dpi=(150, 150)),
    "colours": lambda image: stored(image, "PNG", dpi=(150, 150)),
    "palette": lambda image: stored(image.convert("P"), "PNG", dpi=(150, 150)),
    "two colours": lambda image: stored(image.convert("1"), "TIFF", compression="group4", dpi=(150, 150)),
    "16 bits": lambda image: stored(deep(image), "PNG", dpi=(150, 150)),
    "transparent": lambda image: stored(clear(image), "PNG", dpi=(150, 150)),
    "CMYK": lambda image: stored(image.convert("CMYK"), "JPEG", quality=95, dpi=(150, 150)),
    "JPEG": lambda image: stored(image, "JPEG", quality=95, dpi=(150, 150)),
    "WebP": lambda image: stored(image, "WEBP", quality=95),
    "BMP": lambda image: stored(image, "BMP", dpi=(150, 150)),
    "turned": lambda image: stored(image.rotate(90, expand=True), "JPEG", quality=95, exif=b"Exif\0\0" + ORIENTED),
}


@pytest.mark.parametrize("form", FORMS)
def test_the_page_shows_the_picture(form: str, page: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    pdf = as_pdf(FORMS[form](page), monkeypatch)
    assert len(pdf) == 1
    assert pdf[0].get_size() == pytest.approx((595, 842), abs=2)
    seen = pdf[0].render(scale=1).to_pil().convert("L")
    wanted = page.convert("L").resize(seen.size, Image.Resampling.BOX)
    assert np.abs(np.asarray(seen, float) - np.asarray(wanted, float)).mean() < 3
    assert np.asarray(seen).min() < 128


def test_a_damaged_page_is_missing_and_keeps_its_number(page: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    three = stored(page, "TIFF", save_all=True, append_images=[page, page], compression="tiff_deflate")
    with Image.open(io.BytesIO(three)) as image:
        image.seek(1)
        start, length = image.tag_v2[273][0], image.tag_v2[279][0]
    pdf = as_pdf(three[:start] + b"\xff" * length + three[start + length :], monkeypatch)
    assert len(pdf) == 3
    for number in (0, 2):
        assert pdf[number].get_size() == pytest.approx((595, 842), abs=2)
    with pytest.raises(pdfium.PdfiumError):
        pdf[1]


HOSTILE: dict[str, Callable[[Any], bytes]] = {
    "bomb": lambda image: stored(Image.new("1", (20_000, 20_000)), "PNG"),
    "half": lambda image: (whole := stored(image, "PNG"))[: len(whole) // 2],
    "half a JPEG": lambda image: (whole := stored(image, "JPEG"))[: len(whole) // 2],
    "no picture": lambda image: b"The tenant pays a rent.",
    "moving PNG": lambda image: stored(image, "PNG", save_all=True, append_images=[image.rotate(9)]),
    "moving WebP": lambda image: stored(image, "WEBP", save_all=True, append_images=[image.rotate(9)]),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_picture_ends_in_a_sentence(name: str, page: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(CorruptFileError, match=r"^Cannot read scan\.png: it is|it has more than 150 million pixels"):
        as_pdf(HOSTILE[name](page), monkeypatch)


def test_a_strip_of_pixels_is_a_page(monkeypatch: pytest.MonkeyPatch) -> None:
    assert as_pdf(stored(Image.new("L", (1, 100_000)), "PNG"), monkeypatch)[0].get_size() == pytest.approx((1, 842))


def test_without_ocr_a_picture_names_what_reads_it(
    tmp_path: Path,
    page: Any,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Capture,
) -> None:
    (tmp_path / "scan.png").write_bytes(stored(page, "PNG"))
    with pytest.raises(UnsupportedFormatError, match="choose --ocr auto"):
        read(tmp_path / "scan.png", ocr="never")
    monkeypatch.setenv("COLDE_OCR", "auto")
    monkeypatch.setattr(pictures, "available", lambda: False)
    said = run(capsys, "text", tmp_path / "scan.png")
    check_trouble(said)
    assert "pip install 'colde[ocr]'" in said.err


@needs_ocr
@pytest.mark.slow
def test_pictures_are_compared_as_documents(
    tmp_path: Path,
    page: Any,
    capsys: Capture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLDE_OCR", "auto")
    lease, tiff, png = tmp_path / "lease.pdf", tmp_path / "in" / "scan.tif", tmp_path / "in" / "scan.png"
    printed(lease, LINES, LINES)
    tiff.parent.mkdir()
    tiff.write_bytes(stored(page, "TIFF", save_all=True, append_images=[page], compression="tiff_lzw", dpi=(150, 150)))
    png.write_bytes(stored(page, "PNG", dpi=(150, 150)))
    assert read(tiff).text == read(lease).text
    assert read(tiff, pages=(2, 2)).text == read(png).text
    assert "EUR 5,860" in run(capsys, "text", png).out
    assert run(capsys, "verify", lease, tiff, "--allow", "ocr,pictures").status == 0
    assert run(capsys, "verify", png, png, "--allow", "ocr").status == 0
    said = run(capsys, "diff", tiff, png, "--annotate", tmp_path / "marked")
    assert said.status == 1
    assert len(list((tmp_path / "marked").glob("*-annotated.pdf"))) == 2
    ranked = run(capsys, "rank", lease, tiff.parent, "--glob", "*.tif")
    assert "scan.tif" in ranked.out
    assert run(capsys, "rank", lease, tiff.parent).status == 2  # a picture in a folder may be anything
