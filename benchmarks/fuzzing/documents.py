"""Readers of documents, and what a careful program would write for them.

Readers that colde runs in a process of their own run in this one, so that their code is followed.
"""

from __future__ import annotations

import io
import json
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, BinaryIO
from unittest.mock import patch

from fuzzing.changes import packed, unpacked
from fuzzing.shared import FOLDER, ROOT, check_document

# Texts: the bytes of the file.


def run_text(data: bytes) -> None:
    """Plain text."""
    from colde_cli.documents.plain_text import read_text

    check_document(read_text(data, "a.txt", "a.txt"))


def run_markdown(data: bytes) -> None:
    """Markdown."""
    from colde_cli.documents.markdown import read_markdown

    check_document(read_markdown(data, "a.md", "a.md"))


def run_tex(data: bytes) -> None:
    """LaTeX."""
    from colde_cli.documents.tex.read_tex import read_tex

    check_document(read_tex(data, "a.tex", "a.tex"))


def run_html(data: bytes) -> None:
    """Web pages, with Lexbor in this process."""
    from colde_cli.documents.html.read_html import read_html

    check_document(read_html(data, "a.html", "a.html"))


def text_seeds() -> Iterator[bytes]:
    """Passages of this repository, and encodings."""
    plain = (ROOT / "LICENSE").read_text(encoding="utf-8")
    yield plain[:3000].encode()
    yield (
        b"1 INTRODUCTION\n\n1.1 Scope\n\nThe keeper rows out.\n\n   (a) oars\n   (b) ropes\n\n"
        b"TITLE\n=====\n\n  a | b\n  1 | 2\n"
    )
    yield (
        b"Page one ends here\n\n[Page 1]\n\x0cRFC 1    Head    1999\n\ngoes on.\n\n[Page 2]\n"
        b"\x0cRFC 1    Head    1999\n\nend-\ning words.\n"
    )
    for encoding in ("utf-16", "utf-32", "utf-8-sig", "cp1252", "koi8-r", "gb18030", "shift_jis"):
        yield "Überschrift\n\nДоговор 關係者は三十日以内に naïve café.\n".encode(encoding, "ignore")


def markdown_seeds() -> Iterator[bytes]:
    """Pages of the documentation, in pieces."""
    for page in sorted((ROOT / "docs").glob("*.md"))[:12]:
        yield page.read_bytes()[:2500].decode("utf-8", "ignore").encode()
    yield (
        b"---\ntitle: T\n---\n# A\n\n> q\n> > r\n\n1. a\n   - b\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n"
        b"```\ncode\n```\n\nT\n===\n[^1]: note\n"
    )
    yield b"<h1>x</h1>\n<!-- c -->\n![alt](u) [l](<u> 't') `c` **b** ~~s~~ &amp; &#9; \\* a  \nb<br>\n"


def tex_seeds() -> Iterator[bytes]:
    """Articles."""
    yield rb"""\documentclass{article}\title{On \emph{oars}}\newcommand{\rope}[2][x]{#1 and #2}\def\a#1{b#1}
\begin{document}\maketitle\begin{abstract}Words.\end{abstract}\section{One \label{a}}
Text~\cite{x} with $a+b$ and \rope[y]{z}, ``quoted'' --- \'e \"o \ss. % comment
\begin{itemize}\item one\item[two] three\end{itemize}\begin{tabular}{ll}a&b\\c&d\end{tabular}
\begin{verbatim}\section{no}\end{verbatim}\subsection*{Two}\footnote{Note.}\verb|x| \begin{equation}a\end{equation}
\appendix\section{Three}\input{other}\bibliography{x}\end{document}"""
    yield rb"\section{a}\if0 gone\else here\fi \let\b\a {\bf x} \textbf{y} \href{u}{v} \\[2pt] \(z\) \[w\] $$v$$"


def html_seeds() -> Iterator[bytes]:
    """Pages."""
    yield (
        b"<!doctype html><html><head><meta charset=utf-8><title>T</title></head><body><nav>n</nav><main><h1>One</h1>"
        b"<p>Words <b>bold</b><br><br>more</p><ol start=3><li>a<li>b<ul><li>c</ul></ol><pre>x\n y</pre>"
        b"<table><caption>C</caption><tr><th>a<td>b<tr><td>c</table><h2 class=mw-editsection>Two</h2>"
        b"<div role=heading aria-level=3>Three</div><img alt=pic><del>gone</del><p hidden>h</p></main></body></html>"
    )
    yield b"<meta charset=shift_jis><article><h1>A</h1>\x83\x65<p style='display:none'>x</p></article><footer>f"
    yield b"<table><tr><td><table><tr><td>in</table><h3>h</h3></table><details><summary>s</summary>d</details>"


# Archives of XML: an input is the archive; what is altered is one of its parts.


def run_docx(data: bytes) -> None:
    """Word."""
    from colde_cli.documents.office.docx import read_docx

    check_document(read_docx(io.BytesIO(data), "a.docx", "a.docx"))


def run_odt(data: bytes) -> None:
    """OpenDocument."""
    from colde_cli.documents.office.odt import read_odt

    check_document(read_odt(io.BytesIO(data), "a.odt", "a.odt"))


def docx_seeds() -> Iterator[bytes]:
    """Word files with everything that the reader knows."""
    from word_files import p, relations, root, row, write_word

    text = "The keeper rows out at dawn."
    rich = (
        p("One", "berschrift1") + p(text) + p("Two", "Clause") + p("Three", "Outline") + p("T", "Titel")
        + p(text, "", '<w:numPr><w:ilvl w:val="1"/><w:numId w:val="2"/></w:numPr>')
        + "<w:p><w:ins><w:r><w:t>in</w:t></w:r></w:ins><w:del><w:r><w:delText>out</w:delText></w:r></w:del>"
        '<w:r><w:rPr><w:vanish/></w:rPr><w:t>hidden</w:t><w:tab/><w:br w:type="page"/><w:noBreakHyphen/></w:r>'
        '<w:r><w:footnoteReference w:id="2"/><w:fldChar w:fldCharType="begin"/><w:instrText>TOC</w:instrText>'
        '<w:fldChar w:fldCharType="separate"/><w:t>5</w:t><w:fldChar w:fldCharType="end"/></w:r></w:p>'
        "<mc:AlternateContent><mc:Choice><w:p><w:r><w:t>c</w:t></w:r></w:p></mc:Choice><mc:Fallback>"
        "<w:p><w:r><w:t>f</w:t></w:r></w:p></mc:Fallback></mc:AlternateContent>"
        "<w:p><m:oMath><m:r><m:t>x</m:t></m:r></m:oMath><w:moveFrom><w:r><w:t>m</w:t></w:r></w:moveFrom></w:p>"
        "<w:sdt><w:sdtPr><w:docPartObj><w:docPartGallery w:val='Table of Contents'/></w:docPartObj></w:sdtPr>"
        "<w:sdtContent>" + p("toc") + "</w:sdtContent></w:sdt>"
        + "<w:tbl>" + row("a", "b") + row("c", "d") + "</w:tbl>" + p("entry", "Verzeichnis1")
    )  # fmt: skip
    notes = '<w:footnote w:id="2">' + p("A note.") + "</w:footnote>"
    numbering = root(
        "numbering",
        '<w:abstractNum w:abstractNumId="1"><w:lvl w:ilvl="0"><w:numFmt w:val="decimal"/>'
        '<w:pStyle w:val="berschrift1"/></w:lvl></w:abstractNum>'
        '<w:num w:numId="2"><w:abstractNumId w:val="1"/></w:num>',
    )
    links = relations("styles", "footnotes", "numbering", "endnotes")
    extra = {"word/_rels/document.xml.rels": links, "word/numbering.xml": numbering.encode()}
    for number, parts in enumerate(({}, extra)):
        yield packed(unpacked(write_word(FOLDER / f"{number}.docx", rich, notes, parts=parts).read_bytes()))


def odt_seeds() -> Iterator[bytes]:
    """OpenDocument texts."""
    from odt_files import h, p, table, write_odt

    rich = (
        h("One") + p("Words <text:s text:c='3'/>and<text:tab/>more<text:line-break/>") + h("Two", 2)
        + table((p("a"), p("b")), (p("c"), p("d")))
        + "<text:list><text:list-item>" + p("item") + "<text:list><text:list-item>" + p("inner")
        + "</text:list-item></text:list></text:list-item></text:list>"
        + "<text:p>x<text:note text:note-class='footnote'><text:note-citation>1</text:note-citation><text:note-body>"
        + p("note") + "</text:note-body></text:note></text:p>"
        + "<text:tracked-changes><text:changed-region text:id='c1'><text:deletion>" + p("gone")
        + "</text:deletion></text:changed-region></text:tracked-changes><text:section text:display='none'>"
        + p("hidden") + "</text:section><text:table-of-content>" + p("toc") + "</text:table-of-content>"
    )  # fmt: skip
    yield packed(unpacked(write_odt(FOLDER / "1.odt", rich).read_bytes()))


# PDF: what pypdf reads for PDFium, in this process; and lines that no PDF would have.


class _TooLongError(Exception):
    """The limit of the reader's process is reached; colde would refuse the file."""


def _through(inside: Callable[..., Any], data: bytes) -> None:
    from colde_cli.documents.pdf import read_pdf as reader

    with patch.object(reader, "sandboxed", inside):
        check_document(reader.read_pdf(io.BytesIO(data), "a.pdf", "a.pdf", None, None))


def run_pdf(data: bytes) -> None:
    """PDF: the objects of it that pypdf reads; PDFium itself could end this process."""
    import logging
    import signal

    from colde_cli.documents.pdf.pypdf_engine import ObjectReader

    logging.disable(logging.CRITICAL)

    def late(*_: object) -> None:
        raise _TooLongError

    signal.signal(signal.SIGVTALRM, late)
    signal.setitimer(signal.ITIMER_VIRTUAL, 3)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            reader = ObjectReader(data, None)
            found = [*reader.texts(), *reader.parts(), *reader.media(1)]
        assert all(isinstance(value, str) for values in found for value in values)
    except AssertionError:
        raise
    except Exception:
        pass
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def run_pdf_lines(data: bytes) -> None:
    """The lines, bookmarks and form fields that a reader of PDFs may send: JSON."""
    try:
        messages = [json.loads(line) for line in data.splitlines()]
        kinds = [one["kind"] for one in messages]
        sound = all(map(_is_sent, messages))
    except Exception:  # no reader sends that
        return
    if not sound or kinds[:1] != ["document"]:
        return

    for message in messages:
        if message["kind"] == "page":
            message["lines"], message["entries"] = map(_packed, (message["lines"], message.get("entries", ())))

    @contextmanager
    def inside(program: str, file: BinaryIO, request: dict[str, Any], seconds: float) -> Iterator[Any]:
        yield iter(messages)

    _through(inside, b"%PDF-")


def _packed(lines: Iterable[list[Any]]) -> list[Any]:
    """Lines as a reader sends them; here the runs of letters are flat, so that numbers can be altered."""
    return [(*line[:7], [(tuple(run[:6]), run[6]) for run in line[7]]) for line in lines]


def _unpacked(lines: list[list[Any]]) -> list[list[Any]]:
    return [[*line[:7], [[*style, count] for style, count in line[7]]] for line in lines]


def _is_sent(message: dict[str, Any]) -> bool:
    """Whether a reader could send this: right kinds of values, any numbers."""
    match message["kind"]:
        case "document":
            sound = all(
                [type(part) for part in entry] == [int, str, int] and 0 < entry[0] < 40 and entry[2] >= 0
                for entry in message["outline"]
            )
            return (
                sound
                and type(message["title"]) is str
                and type(message["pages"]) is int
                and 0 < message["pages"] < 1000
            )
        case "page":
            lines = [*message["lines"], *message.get("entries", ())]
            return (
                type(message["number"]) is int
                and 0 < message["number"] < 1000
                and all(isinstance(message[name], int | float) for name in ("width", "height"))
                and all(type(message[name]) is int for name in ("unreadable", "suspect"))
                and type(message["unread"]) is int
                and not message.get("boxes")
                and all(map(_is_line, lines))
            )
        case kind:
            return kind in ("begin", "end") and (kind == "end" or type(message["number"]) is int)


def _is_line(line: list[Any]) -> bool:
    text, x0, base, x1, angle, mark, ruled, runs = line
    places = all(isinstance(one, int | float) and not isinstance(one, bool) for one in (x0, base, x1))
    rest = type(angle) is int and type(mark) is int and 0 <= mark <= len(text) and type(ruled) is bool
    styles = all(
        isinstance(size, int | float) and type(font) is str and type(weight) is int and type(count) is int and count > 0
        and isinstance(italic, bool) and type(turned) is int and isinstance(hidden, bool)
        for size, font, weight, italic, turned, hidden, count in runs
    )  # fmt: skip
    return type(text) is str and bool(runs) and places and rest and styles


def pdf_seeds() -> Iterator[bytes]:
    """The PDFs of the tests that are small."""
    for path in sorted((ROOT / "tests" / "data").glob("*.pdf")):
        if path.stat().st_size < 60_000:
            yield path.read_bytes()


def pdf_line_seeds() -> Iterator[bytes]:
    """What PDFium sends of the PDFs of the tests."""
    from colde_cli.documents.pdf import read_pdf as reader

    for path in sorted((ROOT / "tests" / "data").glob("*.pdf")):
        with path.open("rb") as file:
            request = {"password": "", "first": 1, "last": 3, "boxes": []}
            with reader.reader_process(reader.PDFIUM, file, request) as messages:
                found = [message for message in messages if message["kind"] != "begin"]
        if found[:1] and found[0]["kind"] == "document":
            for page in found[1:]:
                for name in ("lines", "entries"):
                    page[name] = _unpacked(page[name])[:30] if name in page else []
            yield b"\n".join(json.dumps(message).encode() for message in found)


# Pictures


def run_picture(data: bytes) -> None:
    """The PDF that a picture becomes, with Pillow in this process."""
    from colde_cli.documents.pdf.picture_engine import RefusedError, as_pdf

    with suppress(RefusedError):
        written = b"".join(as_pdf(data, 0))
        assert written.startswith(b"%PDF-"), "no PDF"


def picture_seeds() -> Iterator[bytes]:
    """A small picture in every format and some kinds of pixels."""
    from PIL import Image

    image = Image.linear_gradient("L").resize((40, 30))
    kinds = (
        ("PNG", "RGBA"),
        ("PNG", "P"),
        ("PNG", "1"),
        ("JPEG", "CMYK"),
        ("JPEG", "L"),
        ("TIFF", "1"),
        ("TIFF", "RGB"),
    )
    for kind, mode in (*kinds, ("WEBP", "RGB"), ("BMP", "RGB")):
        file = io.BytesIO()
        image.convert(mode).save(file, kind)
        yield file.getvalue()
