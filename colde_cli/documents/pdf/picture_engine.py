"""Write pictures as the pages of a PDF, in a process of its own: they are then read, drawn and marked as scans are.

request   the limits; `step` is for a page
answer    JSON lines: `part`s of a PDF in base64, then `end`; or `refused` with a reason

A page of several that cannot be decoded is missing in the PDF, as a damaged one is; its number stays.
"""

from __future__ import annotations

import base64
import contextlib
import io
import math
import warnings
import zlib
from collections.abc import Iterator
from typing import Any, NamedTuple

from colde_cli.documents.worker import Request, limit_step, send

Handle = Any  # a picture of Pillow

MOST_PIXELS = 150_000_000
"""Maximum number of pixels of a page: A4 at 1,200 dpi has 139 million."""
_MOST_PAGES = 1_000
_FORMATS = ("PNG", "JPEG", "TIFF", "WEBP", "BMP")
_PAGED = "TIFF"
"""The format whose pictures are pages; those of others are an animation."""
_SIDES = (150.0, 1_300.0)  # points of the longer side of a page; others are of a resolution that nobody set
_A4 = 842.0
_PART = 3 << 18  # bytes; a multiple of three, so that pieces of base64 fit together
_SWAPPED = frozenset((5, 6, 7, 8))  # orientations of Exif in which width is height
_ORIENTATION = 0x0112


class _Page(NamedTuple):
    """A page: its sides in points, and its picture."""

    width: float
    height: float
    pixels: tuple[int, int]
    colours: str
    packing: str
    data: bytes


class RefusedError(Exception):
    """Says why a file is no document, to follow its name."""


def answer(request: Request, data: bytes) -> None:
    """Answer a request for a file."""
    limit_step(request["step"])
    try:
        for piece in as_pdf(data, request["step"]):
            for start in range(0, len(piece), _PART):
                send("part", data=base64.b64encode(piece[start : start + _PART]).decode())
    except RefusedError as error:
        send("refused", reason=str(error))
    else:
        send("end")


def as_pdf(data: bytes, step: float) -> Iterator[bytes]:
    """Write the pages of a file as a PDF, piece by piece; each may take `step` seconds of processor time.

    Raises:
        RefusedError: it is no picture, a damaged or too large one, or several that are no pages.
    """
    return _pdf(_pages(data, step))


def _pages(data: bytes, step: float) -> Iterator[_Page | None]:
    """Decode the pages of a file; None for one of several that is damaged, or too large."""
    from PIL import Image

    Image.MAX_IMAGE_PIXELS = None  # there are limits of our own
    warnings.simplefilter("ignore")
    try:
        image = Image.open(io.BytesIO(data), formats=_FORMATS)
        count = getattr(image, "n_frames", 1) if image.format != "MPO" else 1  # beside it are views of the same
    except Exception as error:  # Pillow raises anything, here and below
        raise RefusedError("it is no picture, or a damaged one; save it anew") from error
    if count > 1 and image.format != _PAGED:
        raise RefusedError("it is an animation; save the picture that counts")
    if count > _MOST_PAGES:
        raise RefusedError(f"it has more than {_MOST_PAGES:,} pages; split it")
    for number in range(count):
        limit_step(step)
        try:
            image.seek(number)
            if math.prod(image.size) > MOST_PIXELS:
                raise RefusedError(f"it has more than {MOST_PIXELS // 1_000_000} million pixels; save it smaller")
            page = _page(image, data)
        except Exception as error:
            if count == 1:
                damaged = RefusedError("it is damaged, or no whole picture; save it anew")
                raise (error if isinstance(error, RefusedError) else damaged) from error
            yield None
        else:
            yield page


def _page(image: Handle, data: bytes) -> _Page:
    from PIL import ImageOps

    orientation = image.getexif().get(_ORIENTATION, 1)
    width, height = _points(image)
    if orientation in _SWAPPED:
        width, height = height, width
    image.load()
    if image.format == "JPEG" and image.mode in ("L", "RGB") and orientation == 1:
        colours = "DeviceGray" if image.mode == "L" else "DeviceRGB"
        return _Page(width, height, image.size, colours, "DCTDecode", data)
    upright = _on_white(ImageOps.exif_transpose(image))
    colours = "DeviceGray" if upright.mode == "L" else "DeviceRGB"
    return _Page(width, height, upright.size, colours, "FlateDecode", zlib.compress(upright.tobytes(), 1))


def _points(image: Handle) -> tuple[float, float]:
    """Width and height in points, by the resolution that the file states; if it makes no page, A4 is as long."""
    sides = [float(side) for side in image.size]
    with contextlib.suppress(ArithmeticError, TypeError, ValueError):
        stated = [72 * side / float(dots) for side, dots in zip(sides, image.info.get("dpi", ()), strict=True)]
        if _SIDES[0] <= max(stated) <= _SIDES[1]:
            return max(1.0, stated[0]), max(1.0, stated[1])
    scale = _A4 / max(sides)
    return max(1.0, scale * sides[0]), max(1.0, scale * sides[1])


def _on_white(image: Handle) -> Handle:
    """The picture in eight bits of grey or of three colours, on white where it is transparent."""
    import numpy as np
    from PIL import Image

    if image.mode[:1] in "IF":  # more than eight bits of grey
        values = np.nan_to_num(np.asarray(image, np.float32))
        most = 65_535 if image.mode[:1] == "I" else max(float(values.max()), 1e-9)
        return Image.fromarray(np.clip(values * (255 / most), 0, 255).astype(np.uint8))
    if image.has_transparency_data:
        seen = image.convert("RGBA")
        return Image.alpha_composite(Image.new("RGBA", seen.size, "white"), seen).convert("RGB")
    return image.convert("L" if image.mode in ("1", "L") else "RGB")


def _pdf(pages: Iterator[_Page | None]) -> Iterator[bytes]:
    """Write pages as a PDF, each as soon as it is there (ISO 32000-1, 7.5)."""
    places: dict[int, int] = {}
    kids: list[str] = []
    header = b"%PDF-1.4\n"
    length = len(header)

    def numbered(number: int, head: str, stream: bytes | None = None) -> bytes:
        nonlocal length
        body = b"" if stream is None else b"\nstream\n%b\nendstream" % stream
        written = f"{number} 0 obj\n<< {head} >>".encode() + body + b"\nendobj\n"
        places[number] = length
        length += len(written)
        return written

    yield header
    for number, page in enumerate(pages):
        first = 3 * number + 3
        kids.append(f"{first} 0 R")
        if page is None:
            continue
        width, height = f"{page.width:.3f}", f"{page.height:.3f}"
        drawn = f"q {width} 0 0 {height} 0 0 cm /P Do Q".encode()
        named = f"/Resources << /XObject << /P {first + 2} 0 R >> >> /Contents {first + 1} 0 R"
        yield numbered(first, f"/Type /Page /Parent 2 0 R /MediaBox [0 0 {width} {height}] {named}")
        yield numbered(first + 1, f"/Length {len(drawn)}", drawn)
        yield numbered(
            first + 2,
            f"/Type /XObject /Subtype /Image /Width {page.pixels[0]} /Height {page.pixels[1]} /BitsPerComponent 8"
            f" /ColorSpace /{page.colours} /Filter /{page.packing} /Length {len(page.data)}",
            page.data,
        )
    yield numbered(2, f"/Type /Pages /Count {len(kids)} /Kids [{' '.join(kids)}]")
    yield numbered(1, "/Type /Catalog /Pages 2 0 R")
    rows = [f"{places[n]:010} 00000 n \n" if n in places else "0000000000 65535 f \n" for n in range(max(places) + 1)]
    size = len(rows)
    yield f"xref\n0 {size}\n{''.join(rows)}trailer\n<< /Size {size} /Root 1 0 R >>\n".encode()
    yield f"startxref\n{length}\n%%EOF\n".encode()
