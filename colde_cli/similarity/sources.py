"""What comparing takes: sources of documents, which parts of them to read, and a test of each argument.

Two documents are read at the same time, each in a process of its own, while the model loads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final, ParamSpec, TypedDict, TypeVar, Unpack

from colde_cli.documents.appearance import settled
from colde_cli.documents.document import Document
from colde_cli.documents.outside import PartKind, Tracked, kinds_of
from colde_cli.documents.reading import read as read_file
from colde_cli.documents.reading import start_readers
from colde_cli.documents.sandbox import readers
from colde_cli.documents.selection import select, with_unmatched_patterns
from colde_cli.documents.stages import stage
from colde_cli.errors import OptionError, called
from colde_cli.similarity.redline import NOTHING_IGNORED, IgnoreOptions

if TYPE_CHECKING:
    from colde_cli.similarity.boilerplate import Boilerplate

Options = ParamSpec("Options")
Result = TypeVar("Result")
Places = str | Path | Sequence[str | Path]
"""One folder, file or pattern such as "papers/**/*.pdf", or several; or an index, or the URL of one."""
Source = str | Path | Document
"""The path of a file, "-" for standard input, or what `read` returned."""
Patterns = str | Sequence[str]
Pages = tuple[int, int]
Progress = Callable[[int], None]
OnRead = Callable[[Document], object]


class Reading(TypedDict, total=False):
    """Which parts of a document to read; see `read`."""

    password: str | None
    pages: Pages | None
    skip_sections: Patterns
    only_sections: Patterns
    tracked: Tracked
    ocr: str | None


class Comparing(Reading, total=False):
    """What counts in a comparison; see `Model.compare`."""

    ignore: IgnoreOptions
    field: str | Path | None


def _is(*kinds: type) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, kinds)


def _are(*kinds: type) -> Callable[[Any], bool]:
    """One thing of these kinds, or several."""
    return lambda value: (
        isinstance(value, kinds)
        or (
            (not isinstance(value, str | bytes) and isinstance(value, Iterable))
            and all(isinstance(item, kinds) for item in value)
        )
    )


def _is_source(value: Any) -> bool:  # noqa: ANN401 - of a caller
    return isinstance(value, str | Path | Document) or hasattr(type(value), "document")


def _is_range(value: Any) -> bool:  # noqa: ANN401 - of a caller
    return value is None or (_are(int)(value) and not isinstance(value, int) and len(value) == 2)


_NONE = type(None)
_TAKES: Final[dict[str, tuple[Callable[[Any], bool], str]]] = {
    name: (takes, wanted)
    for names, takes, wanted in (
        ("a b base path query source", _is_source, 'a path, "-", or what read() or encode() returned'),
        ("corpus documents forget", _are(str, Path), "paths"),
        ("versions reviewers", _are(str, Path, Document), "paths, or what read() returned"),
        ("skip_sections only_sections allow", _are(str), "patterns"),
        ("names", _are(str), "texts"),
        ("folder name_or_folder review", _is(str, Path), "a path"),
        ("tracked", lambda value: value in list(Tracked), '"keep", "accept" or "reject"'),
        ("pages", _is_range, "the first and the last, such as (3, 17)"),
        ("ignore", _is(IgnoreOptions), "IgnoreOptions, such as IgnoreOptions(case=True)"),
        ("password glob ocr", _is(str, _NONE), "a text"),
        ("field", _is(str, Path, _NONE), "the name or the folder of a field profile"),
        ("top", _is(int), "a whole number"),
        ("min_score budget", _is(int, float, _NONE), "a number"),
        ("min_share min_contained resolution", _is(int, float), "a number"),
    )
    for name in names.split()
}
"""What an argument takes: a test of its value, and what an error asks for."""


def checked(function: Callable[Options, Result]) -> Callable[Options, Result]:
    """Refuse arguments of a wrong type before any work: they would fail far from where they were given."""
    names = tuple(signature(function).parameters)

    @wraps(function)
    def call(*given: Options.args, **named: Options.kwargs) -> Result:
        for name, value in (*zip(names, given, strict=False), *named.items()):
            if name in _TAKES and not _TAKES[name][0](value):
                raise wrong_argument(name, value, _TAKES[name][1])
        return function(*given, **named)

    return call


def wrong_argument(name: str, value: object, wanted: str) -> OptionError:
    """The error of an argument that is none of what it takes."""
    return OptionError(f"{called(name)} is {f'{value!r}'[:80]}; give {wanted}.")


@checked
def read(
    path: Source,
    *,
    password: str | None = None,
    pages: Pages | None = None,
    skip_sections: Patterns = (),
    only_sections: Patterns = (),
    tracked: Tracked = Tracked.KEEP,
    ocr: str | None = None,
    stream: BinaryIO | None = None,
) -> Document:
    """Read a PDF, Word, OpenDocument, HTML, LaTeX, Markdown or text file.

    Args:
        path: of a file; "-" for standard input; or a document that has been read, to take sections of it.
        password: of an encrypted PDF.
        pages: first and last page of a PDF to read, 1-based and inclusive; None for all.
        skip_sections: patterns of sections to leave out: a regular expression searched in the heading, or the name of a
            kind ("references", "abstract", "appendix", "front"), case ignored.
        only_sections: patterns of the sections to keep; empty keeps all. One pattern stands for a list of one.
        tracked: "reject" reads tracked changes of Word and OpenDocument files as rejected, all else as accepted.
        ocr: which pages of a PDF to read by OCR: "auto" (those without a readable text, where `colde[ocr]` is
            installed), "always" or "never"; None for COLDE_OCR, else "auto".
        stream: read this in place of the file, whose name then only shows its kind and stands in messages.

    Raises:
        DocumentError: the file cannot be read; the class says why.
        OptionError: the pages or sections are not in it.
    """
    how: dict[str, Any] = {"password": password, "pages": pages, "ocr": ocr, "tracked": tracked}
    return _read(path, stream, skip_sections=skip_sections, only_sections=only_sections, **how)


def _read(
    source: Source,
    stream: BinaryIO | None = None,
    *,
    textless: bool = False,
    skip_sections: Patterns = (),
    only_sections: Patterns = (),
    tracked: Tracked = Tracked.KEEP,
    **how: Any,  # noqa: ANN401 - as `read_file` takes them
) -> Document:
    """Read a document; where `textless`, a file without text is a document without sections, and no error."""
    if not isinstance(source, Document):
        rejects = tracked == Tracked.REJECT
        source = read_file(source, stream=stream, textless=textless, rejects=rejects, **how)
    elif how.get("pages") is not None:
        raise OptionError("Pages are chosen when a file is read; pass pages to read().")
    return select(source, skip_sections, only_sections) if source.sections else source


def read_both(
    a: Source,
    b: Source,
    ignore: IgnoreOptions = NOTHING_IGNORED,
    meanwhile: Callable[[], Any] = lambda: None,
    **reading: Unpack[Reading],
) -> tuple[Document, Document, tuple[Document, ...], Any]:
    """Read two documents at the same time, and do something `meanwhile`.

    Files without text are documents without sections; a scan is refused beside a text.

    Returns:
        The documents, the templates whose text was left out of both, and what `meanwhile` returned.
    """
    password, ocr = reading.get("password"), reading.get("ocr")
    if a == b == "-":
        raise OptionError("Only one of the two documents can come from standard input.")
    check_templates(ignore)
    start_readers([source for source in (a, b) if not isinstance(source, Document)])
    with readers(2) as pool:
        waiting = [pool.submit(_read, source, **reading, textless=True) for source in (a, b)]
        with stage("opening the model"):
            done = meanwhile()
        templates, boilerplate = read_templates(ignore, password, ocr)
        with stage("reading"):
            first, second = (document.result() for document in waiting)
    for document, other in ((first, second), (second, first)):
        # What a scan says is not known; a Word file without text says nothing.
        if other.sections and not document.sections and document.format in ("pdf", "picture"):
            from colde_cli.documents.pdf.read_pdf import textless_error

            raise textless_error(document)
    if boilerplate is not None:
        first, second = boilerplate.without_both(first, second)
    first, second = with_unmatched_patterns(first, second)
    with stage("reading"):
        drawn = first.text == second.text and PartKind.APPEARANCE not in kinds_of(ignore.kinds)
        first, second = settled(first, second, same_body=drawn, password=password)
    return first, second, templates, done


def check_templates(ignore: IgnoreOptions) -> None:
    """Standard input can be read once only, and a template is needed more often."""
    if "-" in ignore.like:
        raise OptionError(f"{called('ignore.like')} cannot read from standard input; name a file.")


def read_templates(
    ignore: IgnoreOptions, password: str | None, ocr: str | None
) -> tuple[tuple[Document, ...], Boilerplate | None]:
    """The documents whose text is to be left out, read, and their text; None where there are none."""
    if not ignore.like:
        return (), None
    from colde_cli.similarity.boilerplate import Boilerplate

    templates = tuple(read_file(path, password=password, ocr=ocr) for path in ignore.like)
    return templates, Boilerplate(templates, ignore)


def tell(on_read: OnRead | None, *documents: Document) -> None:
    """Call `on_read`, if there is one, with each document."""
    if on_read is not None:
        for document in documents:
            on_read(document)
