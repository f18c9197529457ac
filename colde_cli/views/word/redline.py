"""Write a comparison as a Word file whose changes can be accepted and rejected."""

from __future__ import annotations

import os
import zipfile
from dataclasses import dataclass
from datetime import UTC, datetime
from io import BytesIO
from typing import TYPE_CHECKING

import docx

from colde_cli.documents.office.docx import read_docx
from colde_cli.errors import DocumentError
from colde_cli.similarity.redline import NOTHING_IGNORED, IgnoreOptions
from colde_cli.similarity.tracked_changes import Flow, tracked_text
from colde_cli.views.word.kept_file import write_changes
from colde_cli.views.word.markup import AUTHOR, Marker
from colde_cli.views.word.new_file import new_file
from colde_cli.views.word.paragraphs import paragraphs, remarks
from colde_cli.views.word.resolving import resolve
from colde_cli.views.word.source import NotKept, WordSource, word_source
from colde_cli.views.wording import file_name, plain, plural

if TYPE_CHECKING:
    from docx.document import Document as WordFile

    from colde_cli.documents.document import Document
    from colde_cli.similarity.alignment import Alignment
    from colde_cli.similarity.comparison import Comparison

_OLDEST = (1980, 1, 1, 0, 0, 0)
"""The date of every part of the ZIP file: the first that the format can hold."""


@dataclass(frozen=True, slots=True)
class WordRedline:
    """A Word file with tracked changes.

    Attributes:
        warnings: sentences for the user.
    """

    content: bytes
    warnings: tuple[str, ...] = ()


def comparison_docx(comparison: Comparison) -> WordRedline:
    """Write the documents of a comparison as one Word file; see `redline_docx`."""
    documents = (comparison.a.document, comparison.b.document)
    return redline_docx(*documents, comparison.aligned, comparison.ignore)


def redline_docx(
    a: Document, b: Document, alignment: Alignment, ignore: IgnoreOptions = NOTHING_IGNORED
) -> WordRedline:
    """Write a Word file: accepting all changes gives the text of B, rejecting all gives that of A.

    If A is a Word file, it is that file with its layout, as far as its paragraphs can be found and changed. The date
    of all changes is `SOURCE_DATE_EPOCH`, else that of this run. With the same date the same documents give the same
    bytes.

    Args:
        a: the first document.
        b: the second.
        alignment: of `a` and `b`.
        ignore: such differences are as in B, without a mark.
    """
    date = _date()
    warnings: tuple[str, ...] = ()
    if _in_word(a):
        try:
            if ignore:
                raise NotKept("differences are ignored")
            return _with_layout(a, b, alignment, date)
        except NotKept as reason:
            warnings = (f"The layout of {file_name(a.path)} was not kept: {reason}.",)
    marker = Marker(date)
    text = tracked_text(a, b, alignment, ignore)
    notes = remarks(a, b, alignment, text)
    file = new_file(text, paragraphs(text, notes), marker, (a.title, b.title))
    marker.comments(file, notes)
    marker.part_dates(file.element.body)
    _describe(file, b.title, date)
    return WordRedline(_packed(file), warnings)


def _with_layout(a: Document, b: Document, alignment: Alignment, date: datetime) -> WordRedline:
    """Write the changes into the file of A, and read both versions of the result again.

    Raises:
        NotKept: that cannot be done without loss.
    """
    source = word_source(a)
    sources = (source, word_source(b) if _in_word(b) else WordSource.of_text(b, source.file))
    text = tracked_text(a, b, alignment, tables=(sources[0].tables, sources[1].tables))
    notes = remarks(a, b, alignment, text)
    marker = Marker(date)
    write_changes(text, paragraphs(text, notes), sources, marker)
    marker.comments(source.file, notes)
    marker.part_dates(source.file.element.body)
    content = _packed(source.file)
    for accept, document in ((True, b), (False, a)):
        if read_resolved(content, accept=accept) != [block.text for block in Flow.of(document).blocks]:
            raise NotKept("its text would not be exact")
    if not marker.in_fields:
        return WordRedline(content)
    count = plural(marker.in_fields, "change")
    sentence = (
        f"{count} in fields (page numbers, references): Word may replace the new text when it updates them."
    )
    return WordRedline(content, (sentence,))


def read_resolved(content: bytes, *, accept: bool) -> list[str]:
    """Read the headings and paragraphs of a Word file with all changes accepted, or all rejected.

    Raises:
        NotKept: the file cannot be read.
    """
    file = docx.Document(BytesIO(content))
    resolve(file.element.body, accept=accept)
    try:
        document = read_docx(BytesIO(_packed(file)), "redline.docx", "redline.docx")
    except DocumentError as error:
        raise NotKept("its text would not be exact") from error
    return [block.text for block in Flow.of(document).blocks]


def _in_word(document: Document) -> bool:
    return document.path.lower().endswith(".docx")


def _date() -> datetime:
    """The time of `SOURCE_DATE_EPOCH` (https://reproducible-builds.org), else now."""
    stated = os.environ.get("SOURCE_DATE_EPOCH", "")
    return datetime.fromtimestamp(int(stated), UTC) if stated.isdecimal() else datetime.now(UTC)


def _describe(file: WordFile, title: str, date: datetime) -> None:
    properties = file.core_properties
    properties.title = plain(title)[:255]
    properties.author = properties.last_modified_by = AUTHOR
    properties.comments = ""
    properties.created = properties.modified = date.replace(microsecond=0, tzinfo=None)


def _packed(file: WordFile) -> bytes:
    saved, packed = BytesIO(), BytesIO()
    file.save(saved)
    with zipfile.ZipFile(saved) as old, zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            new.writestr(zipfile.ZipInfo(name, _OLDEST), old.read(name), zipfile.ZIP_DEFLATED)
    return packed.getvalue()
