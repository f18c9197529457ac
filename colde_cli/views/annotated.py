"""Write the PDFs of a comparison with highlights on the words that changed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from colde_cli.documents.pdf.marking import write_marked
from colde_cli.documents.reading import SNIFFED, kind_of_file
from colde_cli.documents.text import shown_as
from colde_cli.errors import DocumentError, OptionError
from colde_cli.files import atomic_file
from colde_cli.views.output import refuse_inputs
from colde_cli.views.page_marks import NO_PLACES, PageMarks, Side, outline, read_marks
from colde_cli.views.wording import plural

if TYPE_CHECKING:
    from colde_cli.similarity.comparison import Comparison


@dataclass(frozen=True, slots=True)
class Annotated:
    """What became of one of the two documents.

    Attributes:
        shown: name of the document in messages.
        written: the annotated file; None if there is none.
        remark: a sentence on what is missing; "" if nothing is.
    """

    shown: str
    written: Path | None
    remark: str = ""


def annotated_paths(folder: Path, a: str, b: str) -> tuple[Path, Path]:
    """Name the annotated files of two documents; files of one name get the letter of their document."""
    stems = Path(a).stem, Path(b).stem
    names = (f"{stems[0]}-a", f"{stems[1]}-b") if stems[0].casefold() == stems[1].casefold() else stems
    return folder / f"{names[0]}-annotated.pdf", folder / f"{names[1]}-annotated.pdf"


def check_annotation(folder: Path, a: str, b: str, inputs: Iterable[str]) -> None:
    """Find out before the work whether two documents can be annotated.

    Args:
        folder: of the annotated files.
        a: path of the first document.
        b: path of the second.
        inputs: all files that are read.

    Raises:
        OptionError: neither is a PDF, or an annotated file would take the place of a document.
    """
    if all(why_no_pages(path) for path in (a, b)):
        raise OptionError(
            "Leave out --annotate: neither document is a PDF file; -o report.html shows any pair."
        )
    if folder.exists() and not folder.is_dir():
        raise OptionError(f"{folder} is a file; name a folder for --annotate.")
    for path in annotated_paths(folder, a, b):
        refuse_inputs(path, inputs, "--annotate")


def why_no_pages(path: str) -> str:
    """Say why a document has no pages to mark; "" for a PDF, and for a file that reading will report."""
    if path == "-":
        return "it comes from standard input; save it to a file first."
    try:
        with Path(path).open("rb") as file:
            kind = kind_of_file(file.read(SNIFFED), Path(path).suffix.lower(), path)
    except (OSError, ValueError, DocumentError):
        return ""
    return "" if kind == "pdf" else "it is no PDF file."


def write_annotated(
    comparison: Comparison, folder: Path, password: str | None, pages: tuple[int, int] | None
) -> tuple[Annotated, Annotated]:
    """Write both documents of a comparison, as far as they are PDFs, with their changes.

    Args:
        comparison: with passages, of documents that were read from files.
        folder: is made if it does not exist.
        password: of encrypted files.
        pages: that were read; None for all.

    Raises:
        CorruptFileError: a file cannot be written anew.
        OptionError: the folder cannot be written to.
    """
    documents = comparison.a.document, comparison.b.document
    targets = annotated_paths(folder, documents[0].path, documents[1].path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return (
            _write(comparison, "a", targets[0], password, pages),
            _write(comparison, "b", targets[1], password, pages),
        )
    except OSError as error:
        raise OptionError(f"{folder} cannot be written to: {error.strerror or error}.") from error


def _write(
    comparison: Comparison, side: Side, target: Path, password: str | None, pages: tuple[int, int] | None
) -> Annotated:
    document = (comparison.a if side == "a" else comparison.b).document
    if reason := why_no_pages(document.path):
        return Annotated(shown_as(document.path), None, f"is not annotated: {reason}")
    with Path(document.path).open("rb") as file:
        made = read_marks(comparison, side, file, password, pages)
        if made is None:
            return Annotated(shown_as(document.path), None, f"is not annotated: {NO_PLACES}")
        with atomic_file(target) as staged, staged.open("wb") as written:
            entries = outline(comparison, made.places, made.headings)
            write_marked(file, shown_as(document.path), password, made.marks, entries, written)
    return Annotated(shown_as(document.path), target, _unplaced(made))


def _unplaced(made: PageMarks) -> str:
    if not made.unplaced:
        return ""
    return f"lacks marks: {plural(made.unplaced, 'change')} could not be found on its pages."
