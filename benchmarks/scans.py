"""Measure OCR on scans made of PDFs: words and changes found, false changes, seconds; and Word files against scans.

    python benchmarks/scans.py FILE.pdf... [--word FILE.docx...] [--pages 3] [--forms clean150,worn150] [--planted 6]
        [--folder SCANS] [--show]

Of each PDF the first pages are drawn at 150 or 200 dpi and stored as pictures: `clean`, or `worn`: turned by 1.2
degrees, blurred, noisy, JPEG quality 45. Some words are painted over and replaced: numbers by others, "shall" by "may".
Reported for each document and form:

    recall, precision   of the words of the PDF's own text with these changes, in and outside the body, each as often as
                        it occurs; quotation marks and dashes count as one kind each
    planted             changes that a comparison of the PDF with the scan shows, with certainty or without
    false               other passages that it shows as changed, a page; of these how many are called uncertain
    seconds             of processor time for the first page, on one core

`--folder` keeps the scans, `--show` prints every false change. A Word file is printed by LibreOffice, its pages are
scanned, and both are compared: words of it in the scan, and passages that only one of the two has. Passages are aligned
by wording alone, without a model.
"""

from __future__ import annotations

import io
import random
import re
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pypdfium2 as pdfium
from PIL import Image, ImageDraw, ImageFilter, ImageFont
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen import canvas
from rich.console import Console
from rich.table import Table
from running import saved_by_office
from script import arguments

from colde_cli.documents.document import Document
from colde_cli.documents.pdf import ocr_engine, scans
from colde_cli.documents.pdf.pdfium_engine import open_document
from colde_cli.documents.reading import read
from colde_cli.similarity.alignment import align
from colde_cli.similarity.pairs import State, extents

FORMS = {"clean150": (150, False), "clean200": (200, False), "worn150": (150, True), "worn200": (200, True)}
_FONT = "DejaVuSerif.ttf"
_SIGNS = str.maketrans({**dict.fromkeys("‘’`´", "'"), **dict.fromkeys("“”„″", '"'), **dict.fromkeys("–—−‐‑", "-")})


@dataclass(frozen=True, slots=True)
class Planted:
    """A word on a page (1-based) that another one replaced."""

    page: int
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Finding:
    """What was measured of one document in one form."""

    name: str
    form: str
    pages: int
    recall: float
    precision: float
    planted: int
    certain: int
    uncertain: int
    false: int
    false_uncertain: int
    seconds: float


def worn(image: Image.Image, seed: int) -> Image.Image:
    """Turn, blur and blot a page."""
    turned = image.rotate(1.2, Image.Resampling.BICUBIC, fillcolor=255).filter(ImageFilter.GaussianBlur(0.7))
    noise = np.random.default_rng(seed).normal(0, 12, (turned.height, turned.width))
    spoilt = Image.fromarray(np.clip(np.asarray(turned, np.float32) + noise, 0, 255).astype(np.uint8))
    stored = io.BytesIO()
    spoilt.save(stored, "JPEG", quality=45)
    return Image.open(stored)


def words_on(page: pdfium.PdfPage) -> Iterator[tuple[str, tuple[float, float, float, float]]]:
    """Words of a page with their boxes: left, foot, right, top."""
    text = page.get_textpage()
    whole = text.get_text_range()
    for found in re.finditer(r"\S+", whole):
        boxes = [text.get_charbox(index) for index in range(*found.span())]
        left, foot, right, top = zip(*boxes, strict=True)
        yield found.group(), (min(left), min(foot), max(right), max(top))
    text.close()


def other_word(word: str, generator: random.Random) -> str | None:
    """What a word becomes; None for one that stays."""
    if word == "shall":
        return "may"
    if re.fullmatch(r"[1-9]\d{1,3}", word):
        place = generator.randrange(len(word))
        digit = generator.choice([one for one in "123456789" if one != word[place]])
        return word[:place] + digit + word[place + 1 :]
    return None


def draw(path: Path, target: Path, form: str, pages: int, planted: int, seed: int) -> list[Planted]:
    """Write the scan of a PDF, with so many words replaced."""
    dots, is_worn = FORMS[form]
    scale, generator, done = dots / 72, random.Random(seed), []
    pdf, sheet = pdfium.PdfDocument(path), canvas.Canvas(str(target), invariant=1)
    for number in range(min(pages, len(pdf))):
        page = pdf[number]
        image = page.render(scale=scale).to_pil().convert("L")
        width, height = page.get_size()
        candidates = [(word, box, new) for word, box in words_on(page) if (new := other_word(word, generator))]
        generator.shuffle(candidates)
        each = -(-planted // min(pages, len(pdf)))
        for word, (left, foot, right, top), new in candidates[: min(each, planted - len(done))]:
            pen = ImageDraw.Draw(image)
            corner = (left * scale, (height - top) * scale, right * scale, (height - foot) * scale)
            pen.rectangle([corner[0] - 1, corner[1] - 1, corner[2] + 1, corner[3] + 1], fill=255)
            size = 8
            while size < 90 and ImageFont.truetype(_FONT, size + 1).getlength(new) <= corner[2] - corner[0]:
                size += 1
            size = min(size, round(1.4 * (corner[3] - corner[1])))
            pen.text((corner[0], corner[3]), new, fill=0, font=ImageFont.truetype(_FONT, size), anchor="ls")
            done.append(Planted(number + 1, word, new))
        if is_worn:
            image = worn(image, seed + number)
        stored = io.BytesIO()
        image.save(stored, "JPEG" if is_worn else "PNG", quality=45)
        stored.seek(0)
        sheet.setPageSize((width, height))
        sheet.drawImage(ImageReader(stored), 0, 0, width, height)
        sheet.showPage()
    sheet.save()
    return done


def counted(document: Document) -> Counter[str]:
    """The words of a document, in the body and on the edges of its pages."""
    beside = [text.text for text in document.outside if text.kind in ("headers", "footers", "contents", "rotated-text")]
    whole = " ".join([document.text, *beside]).translate(_SIGNS).replace("#", "")
    return Counter(whole.split())


def seconds_of_a_page(path: Path) -> float:
    """Processor time to draw and read the first page, the models loaded."""
    data = path.read_bytes()
    document = open_document(data, None)
    form = pdfium.raw.FPDFDOC_InitFormFillEnvironment(document, info := pdfium.raw.FPDF_FORMFILLINFO(version=2))
    before = time.process_time()
    picture = ocr_engine.draw(document, form, 1)
    assert picture is not None
    ocr_engine.lines_of(picture, reader())
    seconds = time.process_time() - before
    pdfium.raw.FPDFDOC_ExitFormFillEnvironment(form)
    pdfium.raw.FPDF_CloseDocument(document)
    del info
    return seconds


@cache
def reader() -> ocr_engine.WordReader:
    """The models, on one core."""
    return ocr_engine.WordReader(1)


def holds(text: str, word: str) -> bool:
    """Whether a number or a word stands in a text, perhaps joined with the next word."""
    return re.search(rf"(?<!\d){re.escape(word)}(?!\d)", text) is not None


def measure(path: Path, form: str, pages: int, planted: int, folder: Path, *, show: bool = False) -> Finding:
    """Measure one document in one form."""
    target = folder / f"{path.stem}-{form}.pdf"
    edits = draw(path, target, form, pages, planted, 1)
    count = len(pdfium.PdfDocument(target))
    truth, scan = read(path, pages=(1, count), ocr="never"), read(target, ocr="always")
    there, here = counted(truth), counted(scan)
    there.subtract(edit.old for edit in edits)
    there.update(edit.new for edit in edits)
    common = (there & here).total()
    pairs = align(truth, scan, None).pairs
    found = {"certain": 0, "uncertain": 0}
    for edit in edits:
        shown = [pair for pair in pairs if pair.state is not State.SAME and holds(pair.b_text, edit.new)]
        held = [
            pair for pair in shown if not pair.a or any(holds(pair.words_of(one)[1], edit.new) for one in pair.edits)
        ]
        if held:
            found["uncertain" if held[0].uncertain else "certain"] += 1
    false = [
        pair
        for pair in pairs
        if pair.state is not State.SAME and not any(holds(pair.b_text, edit.new) for edit in edits)
    ]
    for pair in false if show else ():
        words = [" -> ".join(pair.words_of(edit)) for edit in pair.edits if pair.a and pair.b]
        print(f"  {pair.state} {'uncertain' if pair.uncertain else ''} {words or (pair.a_text, pair.b_text)}")
    return Finding(
        path.stem,
        form,
        count,
        common / max(1, there.total()),
        common / max(1, here.total()),
        len(edits),
        found["certain"],
        found["uncertain"],
        len(false),
        sum(pair.uncertain for pair in false),
        seconds_of_a_page(target),
    )


def measure_word(path: Path, form: str, folder: Path) -> tuple[str, ...]:
    """Compare a Word file with the scan of its print."""
    saved_by_office([path], folder, "pdf")
    printed, scan = folder / f"{path.stem}.pdf", folder / f"{path.stem}-{form}.pdf"
    draw(printed, scan, form, 10_000, 0, 1)
    word = read(path)
    rows = []
    for other in (read(printed, ocr="never"), read(scan, ocr="always")):
        alignment = align(word, other, None)
        a, b = extents(alignment.pairs)
        alone = sum(pair.state in (State.ONLY_A, State.ONLY_B) for pair in alignment.pairs)
        rows += [f"{a.share_kept:.1%} / {b.share_kept:.1%}", str(alone)]
    return (path.stem, form, str(len(pdfium.PdfDocument(printed))), *rows)


def main() -> None:
    """Measure and print."""
    options = arguments(
        __doc__, "files?", word=[Path()], pages=3, forms="clean150,worn150", planted=6, folder=Path, show=False
    )
    console = Console(width=150)
    if not scans.available():
        raise SystemExit("This needs the extra: pip install 'colde[ocr,pdf]'")
    forms = options.forms.split(",")
    with tempfile.TemporaryDirectory() as name:
        folder, findings = options.folder or Path(name), list[Finding]()
        for file in options.files:
            for form in forms:
                findings.append(measure(file, form, options.pages, options.planted, folder, show=options.show))
                console.print(findings[-1], soft_wrap=True)
        for form in forms:
            of_form = [one for one in findings if one.form == form]
            if of_form:
                pages, planted = sum(one.pages for one in of_form), sum(one.planted for one in of_form)
                shown = sum(one.certain + one.uncertain for one in of_form)
                console.print(
                    f"{form}: {len(of_form)} documents, {pages} pages; recall"
                    f" {np.mean([one.recall for one in of_form]):.2%}, precision"
                    f" {np.mean([one.precision for one in of_form]):.2%}; planted {shown} of {planted}"
                    f" ({sum(one.uncertain for one in of_form)} uncertain); false a page"
                    f" {sum(one.false for one in of_form) / pages:.2f}, of these uncertain"
                    f" {sum(one.false_uncertain for one in of_form) / pages:.2f};"
                    f" {np.mean([one.seconds for one in of_form]):.1f} s a page"
                )
        if options.word != [Path()]:
            shown_words = Table("Word file", "form", "pages", "words in print", "alone", "words in scan", "alone")
            for file in options.word:
                for form in forms:
                    shown_words.add_row(*measure_word(file, form, folder))
            console.print(shown_words)


if __name__ == "__main__":
    main()
