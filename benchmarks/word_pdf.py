"""Measure the diff of one text as a Word file and as a PDF: every passage must be the same.

    python benchmarks/word_pdf.py DATA OUTPUT [--half tuned|held]

DATA holds `contracts/docs.jsonl.gz` and `doc-versions/docs.jsonl.gz` (docs/training-data.md). Of 16 contracts and 4
policies a .docx file is made, in five forms of headings (styled, numbered by Word, bold at the beginning of a
paragraph, bold paragraphs, centred capitals), with lists, a table, page headers and page numbers. LibreOffice prints
the file to PDF, and Chromium prints the same paragraphs, in one column or two. Files are kept in OUTPUT. Passages are
aligned by wording alone, without a model.

    one-sided   passages that the diff finds in one file only; all are false
    edited      passages that the diff calls edited; all are false
    moved       passages that the diff calls moved; all are false
    renumbered  clauses that the diff gives other numbers, and references that point elsewhere; all are false

Every second document of each sort is held back: readers and alignment were mended on the others, except for the numbers
that Word counts, which only the half held back has in its lists.
"""

from __future__ import annotations

import re
import shutil
import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from rich.console import Console
from rich.table import Table
from running import saved_by_office
from script import arguments, records, word_count

from colde_cli.documents.reading import read
from colde_cli.similarity.alignment import align
from colde_cli.similarity.pairs import State
from colde_cli.similarity.redline import NOTHING_IGNORED
from colde_cli.similarity.renumbering import renumbering

CONTRACTS, POLICIES = 16, 4
WORDS = (1200, 4500)
"""Fewest and most words of a document that is drawn."""
_PART = re.compile(r"\s*\(\d+/\d+\)$")  # a long section of the data is cut: "Preamble (2/5)"
_NEW_PARAGRAPH = re.compile(
    r"(?<!-)\n+|(?<=[.;:]) (?=(?:and )?\([a-z]{1,3}\) )|(?<=[.;]) (?=\d{1,2}\.\d{1,2}\.? [A-Z])"
)
_RUN_IN = re.compile(r"(?:\d{1,2}[A-Z]?\.?\d{0,2}\.?|\([a-z]\)) [A-Z][\w,’' -]{3,60}[.:](?= [A-Z])")
_ITEM = re.compile(r"\(([a-z])\) ")
_NUMBERED = re.compile(r"(?:(?:ARTICLE|Article|Section|SECTION) )?\d{1,2}[.)]? ?[-–—:]? ?(?=[A-Za-z])")
_MAIN = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
FONTS = "Liberation Serif", "Liberation Sans", "DejaVu Serif", "Carlito", "DejaVu Sans"
FEES = (
    ("Service", "Unit", "Fee"),
    ("Hosting of the platform", "per month", "$4,250.00"),
    ("Support outside of office hours", "per hour", "$185.00"),
    ("Training of staff", "per day", "$1,900.00"),
    ("Migration of older records", "once", "$12,000.00"),
)
BULLETS = (
    "the current price list and any discount that was agreed in writing",
    "a log of all requests for support",
    "the certificates of insurance named above",
)


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph: its kind ("title", "heading", "text", "item" that Word counts, "bullet"), and its bold opening."""

    kind: str
    text: str
    bold: str = ""


@dataclass(frozen=True, slots=True)
class Form:
    """How a document is written and printed.

    Attributes:
        headings: "styled", "automatic", "run-in", "bold" or "capitals".
        columns: of the page.
        header: text at the top of every page; the page number is at the bottom.
    """

    headings: str
    columns: int
    font: str
    size: float
    header: str
    automatic_items: bool


def blocks(sections: Sequence[dict[str, str]], title: str, form: Form) -> Iterator[Block]:
    """Make the paragraphs of a document."""
    yield Block("title", title)
    for section in sections:
        heading, opening = _PART.sub("", section["heading"]), ""
        if heading not in ("Preamble", "Introduction") and not section["heading"].endswith("/5)"):
            if form.headings == "automatic":
                heading = _NUMBERED.sub("", heading)
            if form.headings == "run-in":
                opening = heading if heading.endswith((".", ":")) else f"{heading}."
            else:
                yield Block("heading", heading.upper() if form.headings == "capitals" else heading)
        for text in filter(None, map(str.strip, _NEW_PARAGRAPH.split(section["text"]))):
            yield _paragraph(text, opening, form)
            opening = ""
    yield Block("text", "Each party keeps the following records and shows them to the other party on request:")
    yield from (Block("bullet", text) for text in BULLETS)
    yield Block("table", "")


def _paragraph(text: str, opening: str, form: Form) -> Block:
    if opening:
        return Block("text", f"{opening} {text}", opening)
    if form.automatic_items and _ITEM.match(text):
        return Block("item", _ITEM.sub("", text, count=1))
    run_in = _RUN_IN.match(text)
    return Block("text", text, run_in[0] if run_in else "")


def _run(text: str, bold: bool = False) -> str:
    weight = "<w:rPr><w:b/></w:rPr>" if bold else ""
    return f'<w:r>{weight}<w:t xml:space="preserve">{escape(text, quote=False)}</w:t></w:r>' if text else ""


def _number(identifier: int) -> str:
    return f'<w:numPr><w:ilvl w:val="0"/><w:numId w:val="{identifier}"/></w:numPr>'


def _word_block(block: Block, form: Form) -> str:
    if block.kind == "table":
        rows = "".join(
            "<w:tr>" + "".join(f"<w:tc><w:p>{_run(cell)}</w:p></w:tc>" for cell in row) + "</w:tr>" for row in FEES
        )
        width = '<w:tblPr><w:tblW w:w="0" w:type="auto"/></w:tblPr><w:tblGrid>' + "<w:gridCol/>" * 3 + "</w:tblGrid>"
        return f"<w:tbl>{width}{rows}</w:tbl><w:p/>"
    properties = {
        "title": '<w:pStyle w:val="Title"/>',
        "item": _number(2),
        "bullet": _number(3),
        "heading": {
            "styled": '<w:pStyle w:val="Heading1"/>',
            "automatic": f'<w:pStyle w:val="Heading1"/>{_number(1)}',
            "capitals": '<w:jc w:val="center"/>',
        }.get(form.headings, ""),
    }.get(block.kind, "")
    plain_heading = block.kind == "heading" and form.headings in ("bold", "capitals")
    runs = _run(block.text[: len(block.bold)], bold=True) + _run(block.text[len(block.bold) :], bold=plain_heading)
    return f"<w:p><w:pPr>{properties}</w:pPr>{runs}</w:p>"


def _page_part(kind: str, text: str) -> str:
    field = "".join(
        f"<w:r>{piece}</w:r>"
        for piece in (
            '<w:t xml:space="preserve">Page </w:t>',
            '<w:fldChar w:fldCharType="begin"/>',
            "<w:instrText>PAGE</w:instrText>",
            '<w:fldChar w:fldCharType="end"/>',
        )
    )
    inner = _run(text) if text else field
    return f'<w:{kind} xmlns:w="{_MAIN}"><w:p><w:pPr><w:jc w:val="center"/></w:pPr>{inner}</w:p></w:{kind}>'


def _styles(form: Form) -> str:
    fonts = f'<w:rFonts w:ascii="{form.font}" w:hAnsi="{form.font}" w:cs="{form.font}"/>'
    size = f'<w:sz w:val="{round(2 * form.size)}"/>'
    spacing = '<w:spacing w:after="120"/>'
    return (
        f'<w:styles xmlns:w="{_MAIN}"><w:docDefaults><w:rPrDefault><w:rPr>{fonts}{size}</w:rPr></w:rPrDefault>'
        f"<w:pPrDefault><w:pPr>{spacing}</w:pPr></w:pPrDefault></w:docDefaults>"
        '<w:style w:type="paragraph" w:default="1" w:styleId="Normal"><w:name w:val="Normal"/></w:style>'
        '<w:style w:type="paragraph" w:styleId="Title"><w:name w:val="Title"/><w:pPr><w:jc w:val="center"/></w:pPr>'
        '<w:rPr><w:b/><w:sz w:val="32"/></w:rPr></w:style>'
        '<w:style w:type="paragraph" w:styleId="Heading1"><w:name w:val="heading 1"/><w:pPr><w:keepNext/>'
        '<w:outlineLvl w:val="0"/></w:pPr><w:rPr><w:b/><w:sz w:val="24"/></w:rPr></w:style></w:styles>'
    )


def _numbering() -> str:
    kinds = (("decimal", "%1."), ("lowerLetter", "(%1)"), ("bullet", "•"))
    abstract = "".join(
        f'<w:abstractNum w:abstractNumId="{number}"><w:lvl w:ilvl="0"><w:start w:val="1"/><w:numFmt w:val="{form}"/>'
        f'<w:lvlText w:val="{text}"/><w:lvlJc w:val="left"/><w:pPr><w:ind w:left="720" w:hanging="360"/></w:pPr>'
        "</w:lvl></w:abstractNum>"
        for number, (form, text) in enumerate(kinds, 1)
    )
    used = "".join(f'<w:num w:numId="{n}"><w:abstractNumId w:val="{n}"/></w:num>' for n in (1, 2, 3))
    return f'<w:numbering xmlns:w="{_MAIN}">{abstract}{used}</w:numbering>'


def write_word(path: Path, content: Sequence[Block], form: Form) -> None:
    """Write a .docx file by hand: Office Open XML, ECMA-376 part 1."""
    parts = {"styles": _styles(form), "numbering": _numbering(), "footer": _page_part("ftr", "")}
    if form.header:
        parts["header"] = _page_part("hdr", form.header)
    references = "".join(
        f'<w:{kind}Reference w:type="default" r:id="{kind}"/>' for kind in ("header", "footer") if kind in parts
    )
    page = '<w:pgSz w:w="12240" w:h="15840"/><w:pgMar w:top="1440" w:right="1300" w:bottom="1440" w:left="1300"/>'
    columns = f'<w:cols w:num="{form.columns}" w:space="500"/>'
    body = "".join(_word_block(block, form) for block in content)
    document = (
        f'<w:document xmlns:w="{_MAIN}" xmlns:r="{_OFFICE}"><w:body>{body}'
        f"<w:sectPr>{references}{page}{columns}</w:sectPr></w:body></w:document>"
    )
    types = {"document": "document.main", **{kind: kind for kind in parts}}
    overrides = "".join(
        f'<Override PartName="/word/{part}.xml" ContentType="application/vnd.openxmlformats-officedocument.'
        f'wordprocessingml.{kind}+xml"/>'
        for part, kind in types.items()
    )
    relations = "".join(f'<Relationship Id="{kind}" Type="{_OFFICE}/{kind}" Target="{kind}.xml"/>' for kind in parts)
    package = "http://schemas.openxmlformats.org/package/2006"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(
            "[Content_Types].xml",
            f'<Types xmlns="{package}/content-types"><Default Extension="rels" ContentType="application/vnd.'
            f'openxmlformats-package.relationships+xml"/>{overrides}</Types>',
        )
        archive.writestr(
            "_rels/.rels",
            f'<Relationships xmlns="{package}/relationships"><Relationship Id="d" Type="{_OFFICE}/officeDocument" '
            'Target="word/document.xml"/></Relationships>',
        )
        archive.writestr(
            "word/_rels/document.xml.rels",
            f'<Relationships xmlns="{package}/relationships">{relations}</Relationships>',
        )
        archive.writestr("word/document.xml", document)
        for kind, text in parts.items():
            archive.writestr(f"word/{kind}.xml", text)


def _page_block(block: Block, form: Form) -> str:
    text = f"<b>{escape(block.text[: len(block.bold)])}</b>{escape(block.text[len(block.bold) :])}"
    if block.kind == "table":
        rows = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in FEES)
        return f"<table>{rows}</table>"
    if block.kind == "heading":
        return f'<h2 class="{form.headings}">{text}</h2>'
    if block.kind == "title":
        return f"<h1>{text}</h1>"
    return f'<p class="{block.kind}">{text}</p>'


def page(content: Sequence[Block], form: Form) -> str:
    """Make the HTML page that Chromium prints."""
    body = "\n".join(_page_block(block, form) for block in content)
    style = f"""
    body {{ font: {form.size}pt '{form.font}'; columns: {form.columns}; column-gap: 24pt; text-align: justify;
            counter-reset: section item }}
    h1 {{ font-size: 16pt; text-align: center }} h2 {{ font-size: 12pt; break-after: avoid }}
    h2.bold, h2.capitals {{ font-size: {form.size}pt }} h2.capitals {{ text-align: center }}
    h2.automatic::before {{ counter-increment: section; content: counter(section) '. ' }}
    p.item {{ padding-left: 24pt }}
    p.item::before {{ counter-increment: item; content: '(' counter(item, lower-alpha) ') ' }}
    p.bullet {{ padding-left: 24pt }} p.bullet::before {{ content: '• ' }}
    td {{ padding: 2pt 8pt; border: 0.5pt solid }}"""
    return f"<!doctype html><html lang=en><meta charset=utf-8><style>{style}</style><body>{body}</body></html>"


def forms(count: int) -> list[Form]:
    """Make the forms of the documents: all kinds of headings with one column and with two."""
    kinds = ("styled", "automatic", "run-in", "bold", "capitals")
    return [
        Form(
            kinds[(n // 2) % 5],
            1 + (n // 4) % 2,
            FONTS[(n // 3) % len(FONTS)],
            (10.0, 11.0, 12.0, 9.5)[n % 4],
            ("", "Confidential", "Execution version")[n % 3],
            (n // 2) % 3 == 1,
        )
        for n in range(count)
    ]


def drawn(data: Path) -> Iterator[tuple[str, list[dict[str, str]]]]:
    """Draw the documents, each as title and sections."""
    for name, count in (("contracts", CONTRACTS), ("doc-versions", POLICIES)):
        left, seen = count, set[str]()
        for row in records(data / name):
            group = row.get("group") or row["id"]
            named = [section for section in row["sections"] if not _PART.search(section["heading"])]
            if WORDS[0] <= word_count(row) <= WORDS[1] and len(named) >= 8 and group not in seen and left:
                seen.add(group)
                left -= 1
                yield row["title"], row["sections"]


def write_all(data: Path, output: Path) -> list[tuple[str, Path, Path, Form]]:
    """Write and print all files; return name, Word file, PDF and form of each pair."""
    output.mkdir(parents=True, exist_ok=True)
    documents = list(drawn(data))
    pages: list[tuple[Path, str, Form]] = []
    pairs = []
    for number, ((title, sections), form) in enumerate(zip(documents, forms(len(documents)), strict=True)):
        content = list(blocks(sections, title, form))
        word = output / f"{number:02d}.docx"
        write_word(word, content, form)
        pages.append((output / f"{number:02d}-chromium.pdf", page(content, form), form))
        pairs += [
            (f"{number:02d} {printer}", word, output / f"{number:02d}{end}", form)
            for printer, end in (("LibreOffice", ".pdf"), ("Chromium", "-chromium.pdf"))
        ]
    saved_by_office(sorted(output.glob("*.docx")), output, "pdf")
    _print_with_browser(pages)
    return pairs


def _print_with_browser(pages: Sequence[tuple[Path, str, Form]]) -> None:
    from playwright.sync_api import sync_playwright

    foot = '<div style="font-size:9px;width:100%;text-align:center">Page <span class=pageNumber></span></div>'
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        tab = browser.new_page()
        for path, html, form in pages:
            tab.set_content(html)
            tab.pdf(
                path=path,
                format="Letter",
                margin={"top": "1in", "bottom": "1in", "left": "0.9in", "right": "0.9in"},
                display_header_footer=True,
                header_template=f'<div style="font-size:9px;width:100%;text-align:center">{form.header}</div>',
                footer_template=foot,
            )
        browser.close()


def main() -> None:
    """Run the benchmark."""
    options = arguments(__doc__, "data", "output", half=("", "tuned", "held"))
    console = Console(width=180)
    table = Table(*("pair", "headings", "columns", "passages", "one-sided", "edited", "moved", "renumbered"))
    totals: dict[str, Counter[str]] = {"tuned": Counter(), "held": Counter()}
    for name, word, pdf, form in write_all(options.data, options.output):
        half = "held" if int(name[:2]) % 2 else "tuned"
        if options.half not in ("", half):
            continue
        a, b = read(word), read(pdf)
        found = align(a, b, None)
        numbers = renumbering(a, b, found, NOTHING_IGNORED)
        summary = found.summary
        counts = {
            "pairs": 1,
            "passages": len(found.pairs),
            "one-sided": summary[State.ONLY_A] + summary[State.ONLY_B],
            "edited": summary[State.EDITED],
            "moved": summary[State.MOVED],
            "renumbered": len(numbers.clauses) + len(numbers.references),
        }
        totals[half].update(counts)
        table.add_row(name, form.headings, str(form.columns), *map(str, list(counts.values())[1:]))
    for half, counted in totals.items():
        table.add_row(f"{half}, {counted['pairs']} pairs", "", "", *(str(n) for n in list(counted.values())[1:]))
    console.print(table)


if __name__ == "__main__":
    main()
