"""LaTeX source to a `Document`."""

from __future__ import annotations

from dataclasses import replace

from colde_cli.documents.document import Document
from colde_cli.documents.gather import Gatherer
from colde_cli.documents.tex.scanner import Scanner
from colde_cli.documents.tex.source import prepare
from colde_cli.documents.text import decode

_BEGIN, _END = "\\begin{document}", "\\end{document}"


def read_tex(data: bytes, path: str, name: str) -> Document:
    r"""Read LaTeX: title, abstract, `\part` to `\subparagraph`, lists, tables, captions, footnotes, formulas.

    The source is read, not run: commands that the author defines are replaced, others vanish and leave the words in
    their arguments; citations and references vanish; formulas stay as the names and characters they are written with.
    Numbers that LaTeX counts are not part of the text. Files that `\input` names are not read.

    Args:
        data: of the file.
        path: as the user gave it, for messages.
        name: stands in for a missing title.

    Raises:
        UnsupportedFormatError: the bytes are no text.
        LimitError: it has more text or braces than colde reads.
        NoTextError: it has no text.
    """
    shown = "Standard input" if path == "-" else path
    text, warnings = decode(data, shown)
    scanner = Scanner(Gatherer(shown))
    source = scanner.source(prepare(text))
    begin = source.text.find(_BEGIN)
    if begin >= 0:
        scanner.muted = True
        scanner.scan(source, 0, begin)
        scanner.muted = False
        scanner.flush()
    end = source.text.find(_END, max(0, begin))
    scanner.scan(source, begin + len(_BEGIN) if begin >= 0 else 0, end if end >= 0 else len(source.text))
    scanner.end()
    document = scanner.gatherer.document(
        scanner.title, name, (*warnings, *_warnings(scanner)), _notes(scanner)
    )
    return replace(document, path=path)


def _warnings(scanner: Scanner) -> list[str]:
    names = list(dict.fromkeys(scanner.inputs))
    if not names:
        return []
    listed = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    return [
        f"Files named by \\input or \\include were not read: {listed}; join them first, e.g. with latexpand."
    ]


def _notes(scanner: Scanner) -> list[str]:
    notes = []
    if scanner.bibliography:
        notes.append("The references lie in a file of their own and were not read.")
    if scanner.drawings:
        notes.append(f"Left out {scanner.drawings} drawing{'s' if scanner.drawings > 1 else ''}.")
    return notes
