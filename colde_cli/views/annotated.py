"""Write the PDFs of a comparison with highlights on the words that changed: each alone, or side by side in one file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from colde_cli.documents.appearance import reopened
from colde_cli.documents.document import shown_as
from colde_cli.documents.pdf.places import Entry, Quad, write_marked
from colde_cli.documents.reading import SNIFFED, kind_of_file
from colde_cli.errors import CorruptFileError, DocumentError, OptionError
from colde_cli.files import atomic_file
from colde_cli.similarity.matching import in_order
from colde_cli.similarity.pairs import PassagePair
from colde_cli.views.output import output_trouble, refuse_inputs
from colde_cli.views.page_marks import PageMarks, Side, outline, read_marks
from colde_cli.views.wording import names_apart, plural

if TYPE_CHECKING:
    from colde_cli.similarity.comparison import Comparison

PagePair = tuple[int, int]
"""A page of A and a page of B; 0 for none."""
_CHANGED = "it changed after it was read; compare it again."
_NO_PLACES = "the places of its words are not known; print it to a new PDF."


@dataclass(frozen=True, slots=True)
class Annotated:
    """What became of one of the two documents."""

    shown: str  # its name in messages
    written: Path | None  # the annotated file
    remark: str = ""  # a sentence on what is missing


def annotated_paths(folder: Path, a: str, b: str) -> tuple[Path, Path]:
    """Name the annotated files of two documents; files of one name get the letter of their document."""
    stems = Path(a).stem, Path(b).stem
    names = (f"{stems[0]}-a", f"{stems[1]}-b") if stems[0].casefold() == stems[1].casefold() else stems
    return folder / f"{names[0]}-annotated.pdf", folder / f"{names[1]}-annotated.pdf"


def check_annotation(folder: Path, a: str, b: str, inputs: Iterable[str]) -> None:
    """Find out before the work whether two documents can be annotated, given all files that are read.

    Raises:
        OptionError: neither is a PDF, or an annotated file would take the place of a document.
    """
    if all(why_no_pages(path) for path in (a, b)):
        raise OptionError("Leave out --annotate: neither document is a PDF file; -o report.html shows any pair.")
    if folder.exists() and not folder.is_dir():
        raise OptionError(f"{folder} is a file; name a folder for --annotate.")
    for path in annotated_paths(folder, a, b):
        refuse_inputs(path, inputs, "--annotate")


def why_no_pages(path: str) -> str:
    """Say why a document has no pages to mark; "" for a PDF or a picture, and for a file that reading will report."""
    if path == "-":
        return "it comes from standard input; save it to a file first."
    try:
        with Path(path).open("rb") as file:
            kind = kind_of_file(file.read(SNIFFED), Path(path).suffix.lower(), path)
    except (OSError, ValueError, DocumentError):
        return ""
    return "" if kind in ("pdf", "picture") else "it is no PDF file."


def write_annotated(
    comparison: Comparison, folder: Path, password: str | None, pages: tuple[int, int] | None
) -> tuple[Annotated, Annotated]:
    """Write both documents of a comparison with passages, read from files, as far as they are PDFs.

    Raises:
        CorruptFileError: a file cannot be written anew.
        OptionError: the folder cannot be written to.
    """
    targets = annotated_paths(folder, comparison.a.document.path, comparison.b.document.path)
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
    shown = shown_as(document.path)
    if reason := why_no_pages(document.path):
        return Annotated(shown, None, f"is not annotated: {reason}")
    with reopened(document) as file:
        if file is None:
            return Annotated(shown, None, f"is not annotated: {_CHANGED}")
        made = read_marks(comparison, side, file, password, pages)
        if made is None:
            return Annotated(shown, None, f"is not annotated: {_NO_PLACES}")
        with atomic_file(target) as staged, staged.open("wb") as written:
            entries = outline(comparison, made.places, made.headings)
            trouble = f"Cannot add marks to {shown}: it is damaged; print it to a new PDF."
            write_marked((file,), written, password, made.marks, entries, trouble)
    remark = f"lacks marks: {plural(made.unplaced, 'change')} could not be found on its pages."
    return Annotated(shown, target, remark if made.unplaced else "")


def write_side_by_side(
    comparison: Comparison, output: Path, password: str | None, pages: tuple[int, int] | None
) -> None:
    """Write the pages of two PDFs, compared with passages, on landscape sheets: A on the left and B on the right.

    Raises:
        CorruptFileError: the pages cannot be written anew.
        OptionError: the file cannot be written.
    """
    paths = comparison.a.document.path, comparison.b.document.path
    counts = [side.document.report.pages or 0 for side in (comparison.a, comparison.b)]
    first, last = pages or (1, max(counts))
    sheets = page_pairs(comparison.passages, *(range(first, min(last, count) + 1) for count in counts))
    shown = [
        (f"{letter}   {name}", f"p. {number} of {count}")
        for letter, name, count in zip("AB", names_apart(paths), counts, strict=True)
        for number in range(1, count + 1)
    ]
    with reopened(comparison.a.document) as a, reopened(comparison.b.document) as b:
        if a is None or b is None:
            raise CorruptFileError(f"Cannot show {shown_as(paths[a is not None])} side by side: {_CHANGED}")
        made = _marks(comparison, "a", a, password, pages)
        # The pages of B are counted after those of A.
        other = _shifted(_marks(comparison, "b", b, password, pages), counts[0])
        entries = outline(comparison, other.places | made.places, [*made.headings, *other.headings])
        both = " and ".join(map(shown_as, paths))
        trouble = f"Cannot show {both} side by side: one of them is damaged; print both to new PDFs."
        pairs = [(left, right and right + counts[0]) for left, right in sheets]
        marks = [*made.marks, *other.marks]
        with output_trouble(output), atomic_file(output) as staged, staged.open("wb") as target:
            write_marked((a, b), target, password, marks, entries, trouble, pairs, shown)


def _marks(
    comparison: Comparison, side: Side, file: BinaryIO, password: str | None, pages: tuple[int, int] | None
) -> PageMarks:
    made = read_marks(comparison, side, file, password, pages)
    if made is None:
        path = (comparison.a if side == "a" else comparison.b).document.path
        raise CorruptFileError(f"Cannot show the pages of {shown_as(path)}: {_NO_PLACES}")
    return made


def _shifted(made: PageMarks, pages: int) -> PageMarks:
    """The same marks on later pages."""

    def moved(quad: Quad) -> Quad:
        return replace(quad, page=quad.page + pages)

    return PageMarks(
        [replace(mark, quads=tuple(map(moved, mark.quads))) for mark in made.marks],
        {number: moved(quad) for number, quad in made.places.items()},
        [Entry(entry.title, entry.place and moved(entry.place)) for entry in made.headings],
    )


def page_pairs(pairs: Sequence[PassagePair], a: Sequence[int], b: Sequence[int]) -> tuple[PagePair, ...]:
    """Pair each page of A with the page of B that has most of its words, as far as both stay in order.

    A page that spreads over several of the other document is in several pairs. Pages without a partner are paired as
    they come. The pages to show ascend.
    """
    closest = _closest(pairs, set(a), set(b))
    places = sorted(closest)
    # Of pairs in this order, those with B in order as well stand in strict order by B and their own place.
    order = {place: other * len(places) + place for place, (_, other) in enumerate(places)}
    kept = in_order(order, [closest[pair] for pair in places])
    return tuple(_filled([places[place] for place in sorted(kept)], a, b))


def _closest(pairs: Sequence[PassagePair], a: set[int], b: set[int]) -> dict[PagePair, int]:
    """Find the closest page of each page, and the number of words that both share."""
    words: Counter[PagePair] = Counter()
    for pair in pairs:
        if pair.a and pair.b and pair.a[0].pages is not None and pair.b[0].pages is not None:
            page, other = pair.a[0].pages[0], pair.b[0].pages[0]
            if page in a and other in b:
                words[page, other] += 1 + len(pair.a_text.split())
    closest: dict[PagePair, int] = {}
    with_a, with_b = set(), set()
    for (page, other), count in words.most_common():
        if page not in with_a or other not in with_b:
            closest[page, other] = count
            with_a.add(page)
            with_b.add(other)
    return closest


def _filled(paired: Sequence[PagePair], a: Sequence[int], b: Sequence[int]) -> Iterator[PagePair]:
    """Insert the pages without a partner."""
    end = max(a, default=0) + 1, max(b, default=0) + 1
    for before, after in pairwise(((0, 0), *paired, end)):
        if before != (0, 0):
            yield before
        left = [page for page in a if before[0] < page < after[0]]
        right = [page for page in b if before[1] < page < after[1]]
        yield from zip_longest(left, right, fillvalue=0)
