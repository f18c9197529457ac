"""What an index holds, and what was done to it, as text and as JSON of schema colde.index/1."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from colde_cli.views.escaping import visible
from colde_cli.views.wording import plural

if TYPE_CHECKING:
    from colde_cli.corpus.index_update import IndexUpdate
    from colde_cli.corpus.index_writer import IndexCheck, IndexStatus

_CHANGES = ("added", "changed", "renamed", "removed")


def update_text(update: IndexUpdate) -> str:
    """One line on what an update did."""
    counts = [f"{getattr(update, name):,} {name}" for name in _CHANGES if getattr(update, name)]
    return f"{update.place}: {plural(update.documents, 'document')}, {', '.join(counts) or 'nothing changed'}."


def seconds_text(update: IndexUpdate) -> str:
    """One line on the time that each stage took."""
    total = sum(update.seconds.values())
    spent = [f"{stage} {seconds:.1f} s ({seconds / total:.0%})" for stage, seconds in update.seconds.items() if total]
    return f"Time: {', '.join(spent)}."


def status_text(status: IndexStatus) -> str:
    """A status as lines."""
    return "".join(f"{visible(line)}\n" for line in _status_lines(status))


def _status_lines(status: IndexStatus) -> Iterator[str]:
    yield (
        f"{status.place}: {plural(status.documents, 'document')}, {plural(status.chunks, 'chunk')},"
        f" {plural(status.words, 'word')}"
    )
    for root in status.roots:
        yield f"Follows    {root.path}{f' ({root.glob})' if root.glob else ''}"
    if status.model is not None:
        learned = f"; field learned from {plural(status.learned_from, 'document')}" if status.learned_from else ""
        yield f"Model      {status.model} ({status.precision}){learned}"
    unused = f"; compaction would free {status.unused / 1e6:.1f} MB" if status.unused > status.size / 10 else ""
    yield f"Size       {status.size / 1e6:.1f} MB, {status.bytes_per_document:,} bytes a document{unused}"
    yield f"Files      {_staleness(status)}"
    if status.ocr != "never":
        yield f"Scans      read by OCR ({status.ocr})"
    if status.earlier_readers:
        count = plural(status.earlier_readers, "document")
        yield f"Readers    of another version for {count}; read again with: colde index {status.place} --reread"
    if status.bad:
        yield f"Cannot be read: {plural(len(status.bad), 'file')}"
    yield from (f"  {item.reason}" for item in status.bad)


def _staleness(status: IndexStatus) -> str:
    found = status.staleness
    if found.trouble:
        return found.trouble
    counts = {"new": found.new, "changed": found.changed, "gone": found.gone}
    named = ", ".join(f"{count:,} {name}" for name, count in counts.items() if count)
    return f"{named}; update with: colde index {status.place}" if named else "up to date"


def check_text(check: IndexCheck) -> str:
    """What a check found, as lines."""
    if not check.problems:
        return f"{check.place}: all {plural(check.records, 'record')} are as they were written.\n"
    return "".join(f"{visible(problem)}\n" for problem in check.problems)
