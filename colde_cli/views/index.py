"""What an index holds, and what was done to it, as text and as JSON of schema colde.index/1."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from colde_cli.views.escaping import visible
from colde_cli.views.json import text
from colde_cli.views.wording import plural

if TYPE_CHECKING:
    from colde_cli.corpus.finding import Skipped
    from colde_cli.corpus.index_update import IndexUpdate
    from colde_cli.corpus.index_writer import IndexCheck, IndexStatus

_CHANGES = ("added", "changed", "renamed", "removed")


def index_json(
    folder: str,
    *,
    update: IndexUpdate | None = None,
    status: IndexStatus | None = None,
    check: IndexCheck | None = None,
    freed: int | None = None,
) -> str:
    """What was done to the index `folder`, or found in it, as text of schema colde.index/1."""
    return text(
        {
            "schema": "colde.index/1",
            "index": folder,
            "update": None if update is None else _update_data(update),
            "status": None if status is None else _status_data(status),
            "verify": None if check is None else {"records": check.records, "problems": list(check.problems)},
            "compact": None if freed is None else {"freed": freed},
        }
    )


def _update_data(update: IndexUpdate) -> dict[str, Any]:
    return {
        "documents": update.documents,
        **{name: getattr(update, name) for name in _CHANGES},
        "encoded": update.encoded,
        "failed": _skipped_data(update.failed),
        "unlisted": _skipped_data(update.unlisted),
        "seconds": {stage: round(seconds, 3) for stage, seconds in update.seconds.items()},
    }


def _status_data(status: IndexStatus) -> dict[str, Any]:
    found = status.staleness
    return {
        "documents": status.documents,
        "words": status.words,
        "chunks": status.chunks,
        "bad": _skipped_data(status.bad),
        "roots": [{"path": root.path, "glob": root.glob} for root in status.roots],
        "model": None if status.model is None else {"name": status.model, "precision": status.precision},
        "learned_from": status.learned_from,
        "size": status.size,
        "bytes_per_document": status.bytes_per_document,
        "unused": status.unused,
        "earlier_readers": status.earlier_readers,
        "stale": found.stale,
        "new": found.new,
        "changed": found.changed,
        "gone": found.gone,
        "trouble": found.trouble,
    }


def _skipped_data(skipped: tuple[Skipped, ...]) -> list[dict[str, str]]:
    return [{"path": item.path, "reason": item.reason} for item in skipped]


def update_text(update: IndexUpdate) -> str:
    """One line on what an update did."""
    counts = [f"{getattr(update, name):,} {name}" for name in _CHANGES if getattr(update, name)]
    return (
        f"{update.folder}: {plural(update.documents, 'document')}, {', '.join(counts) or 'nothing changed'}."
    )


def seconds_text(update: IndexUpdate) -> str:
    """One line on the time that each stage took."""
    total = sum(update.seconds.values())
    spent = [
        f"{stage} {seconds:.1f} s ({seconds / total:.0%})"
        for stage, seconds in update.seconds.items()
        if total
    ]
    return f"Time: {', '.join(spent)}."


def status_text(status: IndexStatus) -> str:
    """A status as lines."""
    return "".join(f"{visible(line)}\n" for line in _status_lines(status))


def _status_lines(status: IndexStatus) -> Iterator[str]:
    yield (
        f"{status.folder}: {plural(status.documents, 'document')}, {plural(status.chunks, 'chunk')},"
        f" {plural(status.words, 'word')}"
    )
    for root in status.roots:
        yield f"Follows    {root.path}{f' ({root.glob})' if root.glob else ''}"
    if status.model is not None:
        learned = (
            f"; field learned from {plural(status.learned_from, 'document')}" if status.learned_from else ""
        )
        yield f"Model      {status.model} ({status.precision}){learned}"
    unused = (
        f"; compaction would free {status.unused / 1e6:.1f} MB" if status.unused > status.size / 10 else ""
    )
    yield f"Size       {status.size / 1e6:.1f} MB, {status.bytes_per_document:,} bytes a document{unused}"
    yield f"Files      {_staleness(status)}"
    if status.earlier_readers:
        count = plural(status.earlier_readers, "document")
        yield f"Readers    of another version for {count}; read again with: colde index {status.folder} --reread"
    if status.bad:
        yield f"Cannot be read: {plural(len(status.bad), 'file')}"
    yield from (f"  {item.reason}" for item in status.bad)


def _staleness(status: IndexStatus) -> str:
    found = status.staleness
    if found.trouble:
        return found.trouble
    counts = {"new": found.new, "changed": found.changed, "gone": found.gone}
    named = ", ".join(f"{count:,} {name}" for name, count in counts.items() if count)
    return f"{named}; update with: colde index {status.folder}" if named else "up to date"


def check_text(check: IndexCheck) -> str:
    """What a check found, as lines."""
    if not check.problems:
        return f"{check.folder}: all {plural(check.records, 'record')} are as they were written.\n"
    return "".join(f"{visible(problem)}\n" for problem in check.problems)
