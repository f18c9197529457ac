"""A comparison or a page in a few lines of plain text, for an e-mail."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from colde_cli.views import sentences
from colde_cli.views.blocks import Listing, TermsBlock
from colde_cli.views.changes import TITLE, TYPESETTING, marked, outside_rows, place_pieces, row_line
from colde_cli.views.wording import plural, reasons, shorten

if TYPE_CHECKING:
    from colde_cli.similarity.comparison import Comparison
    from colde_cli.views.blocks import ListedDocument, Page

_WIDTH = 78
"""Maximum number of columns of a line, so that a reply can quote it."""
_LINES = 15
"""Maximum number of lines of a summary, unless a document was not read whole."""
_NAMES, _NAME = 3, 40
"""Maximum number of files of only one folder that are named, and of characters of each."""


def comparison_summary(comparison: Comparison, **_: object) -> str:
    """A comparison in 5 to 15 lines of at most 78 characters: what the two are, and the weightiest changes."""
    head = [*_wrapped(sentences.verdict(comparison)), *sentences.both_documents(comparison, _WIDTH)]
    if not sentences.one_text(comparison) and (why := reasons(comparison)):
        head += _wrapped(why)
    aside = [line for sentence in sentences.reservations(comparison) for line in _wrapped(sentence)]
    listed = list(_changes(comparison, _LINES - len(head) - len(aside) - 1))
    return "".join(f"{line}\n" for line in (*head, *([""] if listed else []), *listed, *aside))


def _changes(comparison: Comparison, room: int) -> Iterator[str]:
    """The weightiest changes that fit into `room` lines with the number of the others; at least one."""
    changes = sentences.told_changes(comparison)
    references = sentences.reference_sentences(comparison)
    outside = outside_rows(sentences.told_outside(comparison), _LINES)
    entries = [(sentences.change_line(comparison, change), 1) for change in changes[:_LINES]]
    entries += [(f"Reference: {sentence}", 1) for sentence in references[:_LINES]]
    entries += [(f"{TITLE}: {row_line(row)}", 1) for row in outside]
    places = comparison.typesetting if sentences.one_text(comparison) else ()
    entries += [(f"{TYPESETTING}: {marked(place_pieces(place))}", 1) for place in places[:_LINES]]
    yield from _bullets(entries, room, len(changes) + len(references) + len(outside) + len(places), "more change")


def _bullets(entries: Iterable[tuple[str, int]], room: int, total: int, others: str) -> Iterator[str]:
    """Entries that fit into `room` lines, one at least, each with how many of the total it tells of.

    A last line counts those that are not told, of which `others` is the name.
    """
    told = used = 0
    for text, count in entries:
        block = _wrapped(f"- {text}", "  ")
        if told and used + len(block) + (told + count < total) > room:
            break
        yield from block
        told, used = told + count, used + len(block)
    if told < total:
        yield f"- {plural(total - told, others)}"


def _wrapped(text: str, indent: str = "") -> list[str]:
    """Text in lines; those after the first are indented."""
    return textwrap.wrap(text, _WIDTH, subsequent_indent=indent, break_on_hyphens=False)


def page_summary(page: Page) -> str:
    """A page of names with lines, or of documents in a list, in a few lines."""
    lines = [*_wrapped(page.answer)]
    listed = any(isinstance(block, Listing) for block in page.blocks)
    for fact in page.facts:
        lines += _wrapped(fact, "" if listed else "   ")
    for block in page.blocks:
        if isinstance(block, TermsBlock):
            for name, said in block.rows:
                lines += ["", *_wrapped(f"{name}: {' '.join(said)}")]
        elif isinstance(block, Listing) and block.entries:
            entries = _files(block.entries)
            lines += ["", *_bullets(entries, _LINES - len(lines) - 1, len(block.entries), "more document")]
    return "".join(f"{line}\n" for line in lines)


def _files(files: Sequence[ListedDocument]) -> Iterator[tuple[str, int]]:
    """A line for each file, with a 1; the files of only one folder share a line, with their number."""
    for kind, alike in groupby(files, key=lambda entry: entry.kind):
        entries = list(alike)
        if kind not in ("only_a", "only_b"):
            yield from ((_file(entry), 1) for entry in entries)
            continue
        names = [shorten(entry.path, _NAME) for entry in entries[:_NAMES]]
        more = f" and {len(entries) - len(names):,} more" if len(entries) > len(names) else ""
        yield f"{entries[0].state}: {', '.join(names)}{more}", len(entries)


def _file(entry: ListedDocument) -> str:
    words, where = entry.change
    told = f": {words}" if words else ""
    return f"{entry.path}: {entry.state}{told}{f' ({where})' if where else ''}"
