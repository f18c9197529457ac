"""Measure annotated PDFs: are the highlighted words the words that changed?

    python benchmarks/annotated_pdf.py DATA PDFS [--seed 0] [--keep FOLDER]

DATA holds data sets with `docs.jsonl.gz` (docs/training-data.md), PDFS is a folder of PDF files. Needs Chromium,
`playwright` and `pip install 'typst>=0.15,<0.16'`.

Planted edits: parts of documents are typeset twice, in the layouts below, the second time with one edit in every other
paragraph: words replaced, deleted or inserted, or a number changed. `colde diff --annotate` marks both PDFs. PDFium
reads back the letters whose middle lies inside the highlights.

    exact     a highlight holds the letters of the planted words, and nothing else
    touched   the same with all letters that touch the highlight (PDFium's get_text_bounded): the tail of a "y" in the
              line above counts as well
    points    where one of the two has no words: it has a narrow mark whose note holds the words of the other
    pixels    page rendered with and without marks: what differs lies inside the marks, and every mark shows its colour

Versions of papers: whatever edits colde finds, each is compared with the words inside its own highlights.
"""

from __future__ import annotations

import json
import random
import re
import shutil
import tempfile
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pypdf
import pypdfium2 as pdfium
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from script import arguments, records

from colde_cli import Model
from colde_cli.encoder.encoding import DocumentEncoder
from colde_cli.encoder.loading import open_encoder
from colde_cli.encoder.vector_cache import Cache
from colde_cli.similarity.comparison import Comparison
from colde_cli.views.annotated import write_annotated
from colde_cli.views.page_marks import DELETED, DELETED_HERE, INSERTED, INSERTED_HERE

SETS = ("contracts", "wiki", "patents", "court-cases", "pmc")
VERSIONS = (
    *(("mooc_d1", "mooc_v1"), ("mooc_v1", "mooc_v2"), ("mooc_v2", "mooc_final")),
    *(("ftp_v1", "ftp_v3"), ("ftp_v3", "ftp_v4"), ("robio_v1", "robio_v3")),
    *(("ght_draft", "ght_cr"), ("ioprf_eprint", "ioprf_cr")),
)
WORDS = 2600
"""Words that are taken of each document."""
EDITS = 24
SAMPLE = 5
"""Documents of each layout that are drawn; every one is rendered."""
SCALE = 2.0
_NEW = "amber kettle northern seventeen quiet harbour window lantern modest gravel timber velvet copper".split()
_NUMBER = re.compile(r"\d+")
_WORD = re.compile(r"[a-z]{3,12}")

TYPST = """
#let content = json("content.json")
#set page(paper: "a4", margin: 22mm, columns: {columns}, numbering: "1 / 1", header: [Working draft])
#set text(size: {size}pt, lang: "en", hyphenate: true)
#set par(justify: true)
#show heading: set text(size: 1.1em)
#for part in content {{
  if part.heading != "" {{ heading(level: 1, part.heading) }}
  for paragraph in part.paragraphs {{ par(paragraph) }}
}}
"""
STYLE = """@page { size: A4; margin: 20mm } body { font: 10.5pt/1.4 "DejaVu Serif", serif; text-align: justify }
main { columns: COLUMNS; column-gap: 8mm } h2 { font-size: 12pt }"""

Handle = Any  # an object of pypdfium2
Part = dict[str, Any]
"""A heading and its paragraphs."""


@dataclass(frozen=True)
class Planted:
    """An edit: words of the first text became words of the second; one of them may be ""."""

    kind: str
    old: str
    new: str


@dataclass(frozen=True)
class Layout:
    """How two versions are typeset, with columns of the first and the second."""

    name: str
    printer: str
    columns: tuple[int, int]
    turned: bool = False


LAYOUTS = (
    Layout("one column", "typst", (1, 1)),
    Layout("two columns", "typst", (2, 2)),
    Layout("one column against two", "typst", (1, 2)),
    Layout("browser, one column", "chromium", (1, 1)),
    Layout("browser, two columns", "chromium", (2, 2)),
    Layout("turned and cropped", "typst", (2, 2), turned=True),
)


# Texts and edits


def drawn(data: Path, chance: random.Random) -> Iterator[list[Part]]:
    """Draw documents, one of each set in turn, cut to the same length."""
    rows = []
    for name in SETS:
        found = list(islice(records(data / name), 150))
        rows.append(chance.sample(found, len(found)))
    for row in (row for together in zip(*rows, strict=False) for row in together):
        parts, words = [], 0
        for section in row["sections"]:
            paragraphs = [" ".join(text.split()) for text in section["text"].split("\n\n") if text.strip()]
            words += sum(len(text.split()) for text in paragraphs)
            parts.append({"heading": " ".join(section["heading"].split()), "paragraphs": paragraphs})
            if words > WORDS:
                break
        long = [text for part in parts for text in part["paragraphs"] if 30 <= len(text.split()) <= 300]
        if words > WORDS and len(long) >= EDITS:
            yield parts


def planted(parts: Sequence[Part], chance: random.Random) -> tuple[list[Part], list[Planted]]:
    """Copy a document with edits, at most one in a paragraph."""
    places = [
        (p, q)
        for p, part in enumerate(parts)
        for q, text in enumerate(part["paragraphs"])
        if 30 <= len(text.split()) <= 300
    ]
    copy = [{**part, "paragraphs": list(part["paragraphs"])} for part in parts]
    made = []
    for p, q in sorted(chance.sample(places, EDITS)):
        edit = edited(copy[p]["paragraphs"][q], chance)
        if edit is not None:
            copy[p]["paragraphs"][q], one = edit
            made.append(one)
    return copy, made


def edited(text: str, chance: random.Random) -> tuple[str, Planted] | None:
    """Change a few words between two plain words; None if the paragraph has no place for it."""
    words = text.split(" ")
    kind = chance.choice(("replaced", "deleted", "inserted", "number"))
    count = 0 if kind == "inserted" else 1 if kind == "number" else chance.randint(1, 4)
    fits = [
        at
        for at in range(4, len(words) - count - 4)
        if _WORD.fullmatch(words[at - 1])
        and _WORD.fullmatch(words[at + count])
        and all((_NUMBER if kind == "number" else _WORD).fullmatch(word) for word in words[at : at + count])
        # A deletion next to the same word has two readings.
        and not {words[at - 1], words[at + count]} & set(words[at : at + count])
    ]
    if not fits:
        return None
    at = chance.choice(fits)
    old = words[at : at + count]
    new = [] if kind == "deleted" else chance.sample(_NEW, max(1, count) if kind == "replaced" else 2)
    if kind == "number":
        new = [str(int(old[0]) + chance.randint(1, 9))]
    changed = [*words[:at], *new, *words[at + count :]]
    return " ".join(changed), Planted(kind, " ".join(old), " ".join(new))


# Pages


def typeset(parts: Sequence[Part], path: Path, layout: Layout, columns: int) -> None:
    """Write a document as a PDF."""
    if layout.printer == "typst":
        import typst

        folder = path.parent
        (folder / "content.json").write_text(json.dumps(parts), encoding="utf-8")
        (folder / "page.typ").write_text(TYPST.format(columns=columns, size=10 if columns == 1 else 9))
        path.write_bytes(typst.compile(folder / "page.typ", ignore_system_fonts=True))
    else:
        _print(page(parts, columns), path)
    if layout.turned:
        writer = pypdf.PdfWriter(clone_from=path)
        for sheet in writer.pages:  # a reader sees them upright: the content is turned the other way
            sheet.add_transformation(pypdf.Transformation().rotate(90).translate(842, 0))
            sheet.mediabox = pypdf.generic.RectangleObject((0, 0, 842, 595))
            sheet.cropbox = pypdf.generic.RectangleObject((20, 30, 820, 580))
            sheet.rotate(90)
        writer.write(path)


def page(parts: Sequence[Part], columns: int) -> str:
    """Write a document as a web page."""
    from html import escape

    body = "".join(
        f"<h2>{escape(part['heading'])}</h2>" + "".join(f"<p>{escape(text)}</p>" for text in part["paragraphs"])
        for part in parts
    )
    style = STYLE.replace("COLUMNS", str(columns))
    return f"<!doctype html><html lang=en><meta charset=utf-8><style>{style}</style><main>{body}</main>"


def _print(content: str, path: Path) -> None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        tab = browser.new_page()
        tab.set_content(content)
        tab.pdf(path=path, prefer_css_page_size=True)
        browser.close()


# Marks


@dataclass(frozen=True)
class Read:
    """A mark as it is read back: its look, its note, its pieces of lines and the letters inside them."""

    look: str
    note: str
    page: int
    quads: tuple[tuple[float, ...], ...]
    inside: str
    touched: str


def letters(text: str) -> str:
    """Keep letters and digits; those of formulas and ligatures as plain letters, as colde reads them."""
    return "".join(sign for sign in unicodedata.normalize("NFKC", text) if sign.isalnum())


def marks(path: Path) -> list[Read]:
    """Read back the marks of an annotated PDF with the letters that PDFium finds inside them."""
    document = pdfium.PdfDocument(path)
    found = []
    for number, sheet in enumerate(pypdf.PdfReader(path).pages):
        items = [item.get_object() for item in sheet.get("/Annots") or ()]
        text = document[number].get_textpage()
        printed = _printed(text) if items else ([], np.empty((0, 2)))
        for item in items:
            if item.get("/T") == "colde":
                points = [float(value) for value in item["/QuadPoints"]]
                quads = tuple(tuple(points[at : at + 8]) for at in range(0, len(points), 8))
                inside = letters("".join(_inside(printed, quad) for quad in quads))
                touched = letters("".join(_touched(text, quad) for quad in quads))
                found.append(Read(item["/Subj"], item["/Contents"], number, quads, inside, touched))
    document.close()
    return found


Printed = tuple[list[str], NDArray[np.float64]]
"""The letters of a page, and the middle of each."""


def _printed(text: Handle) -> Printed:
    shown, middles = [], []
    for index in range(text.count_chars()):
        left, foot, right, top = text.get_charbox(index)
        code = pdfium.raw.FPDFText_GetUnicode(text.raw, index)
        shown.append(chr(code) if code < 0x110000 else "")
        middles.append(((left + right) / 2, (foot + top) / 2))
    return shown, np.array(middles).reshape(-1, 2)


def _inside(printed: Printed, quad: Sequence[float]) -> str:
    """The letters with their middle inside a quad: a neighbour's tail may reach into it."""
    shown, middles = printed
    low, high = (min(quad[::2]), min(quad[1::2])), (max(quad[::2]), max(quad[1::2]))
    here = np.flatnonzero(((middles > low) & (middles < high)).all(axis=1))
    pairs = "".join(shown[index] for index in here)
    return pairs.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _touched(text: Handle, quad: Sequence[float]) -> str:
    return str(text.get_text_bounded(min(quad[::2]), min(quad[1::2]), max(quad[::2]), max(quad[1::2])))


def texts_of(found: Sequence[Read], look: str, *, touched: bool = False) -> set[str]:
    """The letters of each mark of one look, and of all with one note: an edit may run over the end of a page."""
    single, joined = set(), defaultdict(str)
    for mark in found:
        if mark.look == look:
            text = mark.touched if touched else mark.inside
            single.add(text)
            joined[mark.note] += text
    return single | set(joined.values())


# Checks


@dataclass
class Counts:
    """What was checked and what was right."""

    checked: Counter[str]
    right: Counter[str]

    def count(self, kind: str, *, right: bool) -> None:
        """Count a check."""
        self.checked[kind] += 1
        self.right[kind] += right


def check_planted(edits: Sequence[Planted], found: tuple[list[Read], list[Read]], counts: Counts) -> None:
    """Compare planted edits with what is highlighted in A and B."""
    sides = ((found[0], DELETED.name, INSERTED_HERE.name), (found[1], INSERTED.name, DELETED_HERE.name))
    for edit in edits:
        for (side, look, gap), own, other in zip(sides, (edit.old, edit.new), (edit.new, edit.old), strict=True):
            if own:
                counts.count("exact", right=letters(own) in texts_of(side, look))
                counts.count("touched", right=letters(own) in texts_of(side, look, touched=True))
            else:
                name = "A" if look == INSERTED.name else "B"
                notes = {letters(mark.note) for mark in side if mark.look == gap}
                counts.count("points", right=any(letters(f"{name}: {other}") in note for note in notes))


def check_pixels(original: Path, annotated: Path, found: Sequence[Read], counts: Counts) -> None:
    """Render both files: count the marks that show a colour, and the changed pixels that are inside marks."""
    plain, marked = pdfium.PdfDocument(original), pdfium.PdfDocument(annotated)
    for number in sorted({mark.page for mark in found}):
        before, after = (_picture(document[number]) for document in (plain, marked))
        changed = (abs(before - after) > 8).any(axis=2)
        covered = np.zeros_like(changed)
        for mark in (mark for mark in found if mark.page == number):
            for quad in mark.quads:
                rows, columns = _pixels(marked[number], quad)
                counts.count("marks seen", right=bool(changed[rows, columns].mean() > 0.3))
                covered[max(0, rows.start - 2) : rows.stop + 2, max(0, columns.start - 2) : columns.stop + 2] = True
        counts.checked["changed pixels"] += int(changed.sum())
        counts.right["changed pixels"] += int((changed & covered).sum())
    plain.close()
    marked.close()


def _picture(sheet: Handle) -> NDArray[np.int16]:
    return np.asarray(sheet.render(scale=SCALE).to_pil().convert("RGB")).astype(np.int16)


def _pixels(sheet: Handle, quad: Sequence[float]) -> tuple[slice, slice]:
    """The rows and columns of a rendered page that a quad takes, whichever way the page is turned."""
    left, foot, right, top = sheet.get_cropbox()
    turn = sheet.get_rotation()
    points = [(x - left, y - foot) for x, y in zip(quad[::2], quad[1::2], strict=True)]
    wide, high = right - left, top - foot
    seen = {
        0: lambda x, y: (x, high - y),
        90: lambda x, y: (y, x),
        180: lambda x, y: (wide - x, y),
        270: lambda x, y: (high - y, wide - x),
    }[turn]
    xs, ys = zip(*(seen(*point) for point in points), strict=True)
    columns = slice(round(SCALE * min(xs)), max(round(SCALE * max(xs)), round(SCALE * min(xs)) + 1))
    return slice(round(SCALE * min(ys)), round(SCALE * max(ys))), columns


def check_versions(comparison: Comparison, found: tuple[list[Read], list[Read]], counts: Counts) -> None:
    """Compare the words of each edit that colde found with the words inside its highlights."""
    for side, look, name in ((found[0], DELETED.name, "a"), (found[1], INSERTED.name, "b")):
        inside, touched = texts_of(side, look), texts_of(side, look, touched=True)
        for pair in comparison.passages:
            whole = pair.a_text if name == "a" else pair.b_text
            spans = [edit.a if name == "a" else edit.b for edit in pair.edits]
            for span in spans:
                if words := letters(whole[span.start : span.end]):
                    counts.count("touched", right=words in touched)
                    counts.count("exact", right=words in inside)


# The runs


def annotated(
    a: Path, b: Path, folder: Path, encoder: DocumentEncoder
) -> tuple[Comparison, tuple[list[Read], list[Read]], tuple[Path, Path]]:
    """Compare and annotate two PDFs, and read the marks back."""
    comparison = Model(encoder).compare(a, b)
    one, two = write_annotated(comparison, folder, None, None)
    assert one.written is not None
    assert two.written is not None
    return comparison, (marks(one.written), marks(two.written)), (one.written, two.written)


def main() -> None:
    """Measure planted edits and versions of papers, and print two tables."""
    options = arguments(__doc__, "data", "pdfs", seed=0, keep=Path)
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        encoder = open_encoder("colde-minilm-l6", device="cpu", cache=Cache.open())
        console = Console(width=110)
        chance = random.Random(options.seed)
        documents = drawn(options.data, chance)
        rows = [(layout.name, _layout(layout, documents, chance, folder, encoder)) for layout in LAYOUTS]
        console.print(_table("Planted edits", rows, planted_columns))
        papers = [(f"{a} → {b}", _papers(options.pdfs, a, b, folder, encoder)) for a, b in VERSIONS]
        console.print(_table("Versions of papers", papers, paper_columns))


def _layout(
    layout: Layout, documents: Iterator[list[Part]], chance: random.Random, folder: Path, encoder: DocumentEncoder
) -> Counts:
    counts = Counts(Counter(), Counter())
    for number in range(SAMPLE):
        parts = next(documents)
        changed, edits = planted(parts, chance)
        place = folder / f"{layout.name.replace(' ', '-').replace(',', '')}-{number}"
        place.mkdir(exist_ok=True)
        a, b = place / "old.pdf", place / "new.pdf"
        typeset(parts, a, layout, layout.columns[0])
        typeset(changed, b, layout, layout.columns[1])
        _, found, written = annotated(a, b, place, encoder)
        check_planted(edits, found, counts)
        counts.checked["edits"] += len(edits)
        for original, target, side in zip((a, b), written, found, strict=True):
            check_pixels(original, target, side, counts)
    return counts


def _papers(pdfs: Path, a: str, b: str, folder: Path, encoder: DocumentEncoder) -> Counts:
    counts = Counts(Counter(), Counter())
    place = folder / f"{a}-{b}"
    comparison, found, _ = annotated(pdfs / f"{a}.pdf", pdfs / f"{b}.pdf", place, encoder)
    check_versions(comparison, found, counts)
    return counts


planted_columns = ("edits", "exact", "touched", "points", "marks seen", "changed pixels")
paper_columns = ("exact", "touched")


def _table(title: str, rows: Sequence[tuple[str, Counts]], columns: Sequence[str]) -> Table:
    table = Table(title=title)
    table.add_column("")
    for name in columns:
        table.add_column(name, justify="right")
    whole = Counts(Counter(), Counter())
    for _, counts in rows:
        whole.checked.update(counts.checked)
        whole.right.update(counts.right)
    for name, counts in (*rows, ("all", whole)):
        table.add_row(name, *(_cell(counts, column) for column in columns))
    return table


def _cell(counts: Counts, column: str) -> str:
    checked, right = counts.checked[column], counts.right[column]
    if column == "edits":
        return f"{checked:,}"
    return f"{right / checked:.1%} of {checked:,}" if checked else "–"


if __name__ == "__main__":
    main()
