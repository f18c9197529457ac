"""Read LaTeX as a document: the preamble, the text, and what stands after its end."""

from __future__ import annotations

from dataclasses import replace

from colde_cli.documents.builder import DocumentBuilder
from colde_cli.documents.document import Document
from colde_cli.documents.outside import OutsideKind
from colde_cli.documents.tex.beside import SourceAccount
from colde_cli.documents.tex.handlers import HANDLERS
from colde_cli.documents.tex.scanner import Scanner
from colde_cli.documents.tex.source import prepare
from colde_cli.documents.text import decode, shown_as

_BEGIN, _END = "\\begin{document}", "\\end{document}"


def read_tex(data: bytes, path: str, name: str) -> Document:
    r"""Read LaTeX: title, abstract, `\part` to `\subparagraph`, lists, tables, captions, footnotes, formulas.

    The source is read, not run. Commands that the author defines are expanded. Unknown ones are accounted for, and
    leave the words in their arguments; without an argument they are read as their names. Citations and references are
    read as their keys. What conditions leave out, pictures, drawings and files that the source names stand outside the
    text. Numbers that LaTeX counts are not part of the text.

    Args:
        data: of the file.
        path: as the user gave it, for messages.
        name: replaces a missing title.

    Raises:
        UnsupportedFormatError: the bytes are no text.
        LimitError: it has more text or braces than colde reads.
        NoTextError: it has no text.
    """
    shown = shown_as(path)
    text, warnings = decode(data, shown)
    builder = DocumentBuilder(shown)
    scanner = Scanner(builder, HANDLERS, SourceAccount(builder.account))
    _scan(scanner, prepare(text))
    bibliography = ("The references lie in a file of their own and were not read.",)
    document = builder.build(
        scanner.title,
        name,
        (*warnings, *_warnings(scanner.beside.inputs)),
        bibliography if scanner.beside.bibliography else (),
    )
    return replace(document, path=path)


def _scan(scanner: Scanner, text: str) -> None:
    source = scanner.source(text)
    begin = source.text.find(_BEGIN)
    if begin >= 0:
        scanner.muted = True
        scanner.scan(source, 0, begin)
        scanner.muted = False
        scanner.flush()
    end = source.text.find(_END, max(0, begin))
    scanner.scan(source, begin + len(_BEGIN) if begin >= 0 else 0, end if end >= 0 else len(source.text))
    scanner.end_blocks()
    if end >= 0:
        scanner.beside.text(OutsideKind.HIDDEN, source.text[end + len(_END) :], "after the end")


def _warnings(inputs: list[str]) -> list[str]:
    names = list(dict.fromkeys(inputs))
    if not names:
        return []
    listed = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    return [
        f"Files named by \\input or \\include were not read: {listed}; join them first, e.g. with latexpand."
    ]
