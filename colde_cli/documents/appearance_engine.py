"""Decode pictures and draw pages, in a process of its own.

request   task ("pictures" or "pages"), format, password, step, and the limits; `wanted`: numbers of pages (1-based), or
          digests of pictures with their places: page and number in a PDF, or the name of a part of an Office file
answer    JSON lines: per page or picture `begin` (of) and `look` (of, digest), then `end`; what cannot be decoded or
          drawn has no digest

If the process dies, what it began last is to blame.
"""

from __future__ import annotations

import ctypes
import hashlib
import io
import math
import zipfile
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pypdfium2_raw as pdfium

from colde_cli.documents.pdf.parts import pictures_of
from colde_cli.documents.pdf.pdfium_engine import from_head, open_document
from colde_cli.documents.worker import Request, limit_step, send

Handle = Any  # a pointer of ctypes, or an object of Pillow

_MAX_PIXELS = 100_000_000
_MAX_FRAMES = 1_000
_MAX_BYTES = 1 << 28  # of a part of an Office file
_MAX_SIDE = 1_600  # pixels of a drawn page
_ROWS = 64  # of a picture that are taken at a time
_WHITE = 0xFFFFFFFF
_FORMATS = ("PNG", "JPEG", "GIF", "BMP", "DIB", "TIFF", "WEBP", "ICO", "PCX", "PPM", "TGA", "JPEG2000")
_DEEP = ("I", "F", "I;16", "I;16B", "I;16L", "I;16N")  # kinds of pixels that eight bits cannot hold
_ORIENTATION = 0x0112


def answer(request: Request, data: bytes) -> None:
    """Answer a request for a file."""
    limit_step(request["step"])
    if request["format"] == "pdf":
        data = from_head(data)
        document = open_document(data, request["password"])
        if document:
            (send_pages if request["task"] == "pages" else send_pictures)(document, request)
            if request["kept"]:
                pdfium.FPDF_CloseDocument(document)
    else:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for digest, name in request["wanted"]:
                send_look(request, digest, decoded_part, archive, name)
    send("end")


def send_look(request: Request, of: object, look: Callable[..., str | None], *arguments: Any) -> None:  # noqa: ANN401
    """Send the digest of a page or a picture, within the limit of a step."""
    limit_step(request["step"])
    send("begin", of=of)
    send("look", of=of, digest=look(*arguments))


def send_pages(document: Handle, request: Request) -> None:
    """Draw pages and send the digests of their pixels."""
    form = pdfium.FPDFDOC_InitFormFillEnvironment(document, info := pdfium.FPDF_FORMFILLINFO(version=2))
    pdfium.FPDF_SetFormFieldHighlightAlpha(form, 0)
    for number, _ in request["wanted"]:
        send_look(request, number, drawn, document, form, number)
    if request["kept"]:
        pdfium.FPDFDOC_ExitFormFillEnvironment(form)
    del info


def drawn(document: Handle, form: Handle, number: int) -> str | None:
    """Draw a page with one pixel for a point; return a digest of it."""
    made = draw_page(document, form, number, 1.0, _MAX_SIDE)
    if made is None:
        return None
    page, bitmap, size = made
    digest = hashlib.sha256(f"{size[0]:.2f} {size[1]:.2f} ".encode())
    digest.update(bytes_of(bitmap))
    pdfium.FPDFBitmap_Destroy(bitmap)
    pdfium.FPDF_ClosePage(page)
    return digest.hexdigest()


def draw_page(
    document: Handle, form: Handle, number: int, dots: float, longest: int
) -> tuple[Handle, Handle, tuple[float, float]] | None:
    """Draw a page on white, with its annotations and fields; the caller frees the page and its bitmap.

    Args:
        document: of PDFium.
        form: its fields.
        number: of the page, 1-based.
        dots: pixels for a point.
        longest: maximum number of pixels of a side; larger pages are drawn smaller.

    Returns:
        The page, its bitmap, and its width and height in points; None if PDFium cannot draw it.
    """
    page = pdfium.FPDF_LoadPage(document, number - 1)
    if not page:
        return None
    size = pdfium.FPDF_GetPageWidthF(page), pdfium.FPDF_GetPageHeightF(page)
    scale = min(dots, longest / max(*size, 1))
    width, height = (max(1, math.ceil(side * scale)) for side in size)
    bitmap = pdfium.FPDFBitmap_CreateEx(width, height, pdfium.FPDFBitmap_BGRx, None, 0)
    if not bitmap:
        return None
    pdfium.FPDFBitmap_FillRect(bitmap, 0, 0, width, height, _WHITE)
    area = (0, 0, width, height, 0, pdfium.FPDF_ANNOT)
    pdfium.FPDF_RenderPageBitmap(bitmap, page, *area)
    pdfium.FPDF_FFLDraw(form, bitmap, page, *area)
    return page, bitmap, size


def bytes_of(bitmap: Handle) -> Handle:
    """All bytes of a bitmap of PDFium, row by row, without copying them."""
    size = pdfium.FPDFBitmap_GetStride(bitmap) * pdfium.FPDFBitmap_GetHeight(bitmap)
    address = ctypes.cast(pdfium.FPDFBitmap_GetBuffer(bitmap), ctypes.c_void_p).value
    return memoryview((ctypes.c_ubyte * size).from_address(address or 0)).cast("B")


def send_pictures(document: Handle, request: Request) -> None:
    """Decode pictures of a PDF and send the digests of their pixels."""
    wanted: dict[int, dict[int, str]] = {}
    for digest, (number, place) in request["wanted"]:
        wanted.setdefault(number, {})[place - 1] = digest
    for number, places in wanted.items():
        page = pdfium.FPDF_LoadPage(document, number - 1)
        if not page:
            continue
        for place, picture in enumerate(pictures_of(page)):
            if place in places:
                send_look(request, places[place], decoded, ctypes.cast(picture, pdfium.FPDF_PAGEOBJECT))
        pdfium.FPDF_ClosePage(page)


def decoded(picture: Handle) -> str | None:
    """Decode a picture of a PDF; return the digest of its pixels."""
    width, height = ctypes.c_uint(), ctypes.c_uint()
    pdfium.FPDFImageObj_GetImagePixelSize(picture, width, height)
    if not 0 < width.value * height.value <= _MAX_PIXELS:
        return None
    bitmap = pdfium.FPDFImageObj_GetBitmap(picture)
    if not bitmap:
        return None
    columns, rows = pdfium.FPDFBitmap_GetWidth(bitmap), pdfium.FPDFBitmap_GetHeight(bitmap)
    digest = digest_of_pixels(columns, rows, blocks_of(bitmap, columns))
    pdfium.FPDFBitmap_Destroy(bitmap)
    return digest


def blocks_of(bitmap: Handle, columns: int) -> Iterator[bytes]:
    """Yield the pixels of a bitmap of PDFium as red, green, blue and opacity, some rows at a time."""
    from PIL import Image

    mode, order = {
        pdfium.FPDFBitmap_Gray: ("L", "L"),
        pdfium.FPDFBitmap_BGR: ("RGB", "BGR"),
        pdfium.FPDFBitmap_BGRx: ("RGB", "BGRX"),
    }.get(pdfium.FPDFBitmap_GetFormat(bitmap), ("RGBA", "BGRA"))
    stride, data = pdfium.FPDFBitmap_GetStride(bitmap), bytes_of(bitmap)
    for top in range(0, len(data), stride * _ROWS):
        block = data[top : top + stride * _ROWS]
        rows = Image.frombuffer(mode, (columns, len(block) // stride), block, "raw", order, stride, 1)
        yield rows.convert("RGBA").tobytes()


def digest_of_pixels(width: int, height: int, blocks: Iterable[bytes], kind: str = "") -> str:
    """The digest of a picture, whatever it was stored in: its size, and four bytes for each pixel."""
    digest = hashlib.sha256(f"{width} {height} {kind}".encode())
    for block in blocks:
        digest.update(block)
    return digest.hexdigest()


def decoded_part(archive: zipfile.ZipFile, name: str) -> str | None:
    """Decode a picture of an Office file; return the digest of its pixels, None if Pillow does not know it."""
    from PIL import Image

    Image.MAX_IMAGE_PIXELS = None  # its size is looked at below
    Image.init()
    known = [name for name in _FORMATS if name in Image.OPEN]
    try:
        with archive.open(name) as part:
            content = part.read(_MAX_BYTES + 1)
        if len(content) > _MAX_BYTES:
            return None
        with Image.open(io.BytesIO(content), formats=known) as image:
            return digest_of_frames(image)
    except MemoryError:
        raise
    except Exception:  # Pillow raises untyped errors on damaged pictures
        return None


def digest_of_frames(image: Handle) -> str | None:
    """The digest of all frames of a picture, of which most have one."""
    count = getattr(image, "n_frames", 1)
    if count > _MAX_FRAMES or not 0 < image.width * image.height * count <= _MAX_PIXELS:
        return None
    turned = image.getexif().get(_ORIENTATION, 1)
    frames = []
    for number in range(count):
        image.seek(number)
        kind = image.mode if image.mode in _DEEP else ""
        frames.append(digest_of_pixels(image.width, image.height, rows_of(image, deep=bool(kind)), kind))
    if len(frames) == 1 and turned == 1:
        return frames[0]
    return hashlib.sha256(f"{turned} {frames}".encode()).hexdigest()


def rows_of(image: Handle, *, deep: bool) -> Iterator[bytes]:
    """Yield the pixels of a picture of Pillow as red, green, blue and opacity, some rows at a time."""
    image.load()
    for top in range(0, image.height, _ROWS):
        rows = image.crop((0, top, image.width, min(top + _ROWS, image.height)))
        if deep:
            yield rows.tobytes()
        elif image.mode in ("RGBA", "LA", "PA", "RGBa", "La") or "transparency" in image.info:
            yield rows.convert("RGBA").tobytes()
        else:
            yield rows.convert("RGB").convert("RGBA").tobytes()
