"""Hostile scans and pictures: `python tests/hostile_scans.py FOLDER` writes them; needs reportlab and Pillow.

Huge and narrow pages, thousands of pictures or lines, noise; pictures that are damaged, moving, deep or endless.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen import canvas

Placed = tuple[Any, float, float, float, float]
"""A picture and where it stands on a page: left, foot, width and height."""


def noise(width: int, height: int) -> Any:
    """A picture of nothing."""
    return Image.fromarray(np.random.default_rng(1).integers(0, 256, (height, width), np.uint8))


def pdf(path: Path, width: float, height: float, *pages: list[Placed]) -> None:
    """Write pages with pictures."""
    sheet = canvas.Canvas(str(path), pagesize=(width, height), invariant=1)
    for page in pages:
        readers = {id(image): ImageReader(image) for image in {id(image): image for image, *_ in page}.values()}
        for image, *place in page:
            sheet.drawImage(readers[id(image)], *place)
        sheet.showPage()
    sheet.save()


def scans(folder: Path) -> None:
    """Write PDFs."""
    black, page = Image.new("1", (20_000, 20_000)), noise(1240, 1755)
    pdf(folder / "huge.pdf", 14_400, 14_400, [(black, 0, 0, 14_400, 14_400)])
    pdf(folder / "noise.pdf", 595, 842, [(page, 0, 0, 595, 842)])
    pdf(folder / "strip.pdf", 6_000, 20, [(noise(12_000, 40), 0, 0, 6_000, 20)])
    tiny = noise(12, 45)
    small = [(tiny, 5.0 * (place % 100), 20.0 * (place // 100), 4.0, 15.0) for place in range(4_000)]
    pdf(folder / "pictures_4000.pdf", 595, 842, small)
    pdf(
        folder / "pages_60.pdf",
        595,
        842,
        *[[(Image.new("L", (50, 50), 255 - n), 0.0, 0.0, 595.0, 842.0)] for n in range(60)],
    )
    sheet = canvas.Canvas(str(folder / "lines_5000.pdf"), pagesize=(595, 842), invariant=1)
    sheet.setFont("Helvetica", 2)
    for place in range(5_000):
        sheet.drawString(5 + 60 * (place % 10), 5 + 1.65 * (place // 10), "The tenant pays the rent in May.")
    sheet.save()


def pictures(page: Any) -> Iterator[tuple[str, bytes]]:
    """Name and bytes of pictures."""

    def stored(image: Any, kind: str, **options: object) -> bytes:
        file = io.BytesIO()
        image.save(file, kind, **options)
        return file.getvalue()

    more = {"save_all": True, "append_images": [page.rotate(9)]}
    yield "bomb.png", stored(Image.new("1", (30_000, 30_000)), "PNG")
    yield "large.png", stored(Image.new("L", (12_000, 12_000), 255), "PNG")
    yield "strip.png", stored(Image.new("L", (1, 100_000)), "PNG")
    yield "row.png", stored(noise(100_000, 1), "PNG")
    yield "half.jpg", stored(page, "JPEG")[:60_000]
    yield "half.png", stored(page, "PNG")[:60_000]
    yield "flipped.tif", bytes(byte ^ (place % 997 == 0) for place, byte in enumerate(stored(page, "TIFF")))
    yield "colours.jpg", stored(page.convert("CMYK"), "JPEG")
    yield "deep.png", stored(Image.fromarray(np.asarray(page).astype(np.uint16) * 257), "PNG")
    yield "real.tif", stored(Image.fromarray(np.asarray(page, np.float32) / 255), "TIFF")
    yield "moving.png", stored(page, "PNG", **more)
    yield "moving.webp", stored(page, "WEBP", **more)
    yield "pages_1001.tif", stored(page, "TIFF", save_all=True, append_images=[Image.new("1", (9, 9))] * 1_000)
    yield "text.png", b"The tenant pays the rent in May. " * 1_000
    yield "empty.png", b""


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    scans(target)
    for name, content in pictures(noise(620, 877)):
        (target / name).write_bytes(content)
