"""Choose documents of a corpus by their files and headings."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from colde_cli.corpus.collecting import fits
from colde_cli.documents.document import Document
from colde_cli.documents.selection import is_section, section_pattern
from colde_cli.settings import parse_moment, parse_size

_LARGEST_INTEGER = 2**63 - 1
"""The largest number that SQLite keeps."""


@dataclass(frozen=True, slots=True)
class Filter:
    """Which documents to take; every condition must hold.

    Attributes:
        glob: pattern of paths relative to the folder that was searched or indexed, as in `corpus.collecting.walk`.
        changed_after: least time of the last change, in nanoseconds since 1970.
        changed_before: the time before which the last change must lie.
        least_size: bytes.
        most_size: bytes.
        section: pattern that fits a section of the document, as in `documents.selection.select`.

    Raises:
        OptionError: `section` is no regular expression.
    """

    glob: str | None = None
    changed_after: int | None = None
    changed_before: int | None = None
    least_size: int | None = None
    most_size: int | None = None
    section: str | None = None

    def __post_init__(self) -> None:
        if self.section is not None:
            section_pattern(self.section)  # SQLite would hide the error of `has_section`

    @classmethod
    def parse(
        cls,
        *,
        glob: str | None = None,
        newer: str | None = None,
        older: str | None = None,
        min_size: str | None = None,
        max_size: str | None = None,
        section: str | None = None,
        called: Callable[[str], str] = str,
    ) -> Filter:
        """Make a filter of what a person, a request or an agent wrote.

        Args:
            glob: as the attribute.
            newer: a date such as 2026-01-31, or an age such as 30d: changed since then.
            older: the same: not changed since then.
            min_size: such as 10kB.
            max_size: such as 5MB.
            section: as the attribute.
            called: what the writer calls an argument, for errors.

        Raises:
            OptionError: a text is no moment, no size or no regular expression.
        """

        def moment(text: str | None, name: str) -> int | None:
            return int(parse_moment(text, called(name)) * 1e9) if text is not None else None

        def size(text: str | None, name: str) -> int | None:
            return parse_size(text, called(name)) if text is not None else None

        return cls(
            glob,
            moment(newer, "newer"),
            moment(older, "older"),
            size(min_size, "min_size"),
            size(max_size, "max_size"),
            section,
        )

    def condition(self) -> tuple[str, list[Any]]:
        """The condition on `documents d` and `contents c` of an index as SQL, and its parameters."""
        tests = {
            "d.mtime_ns >= ?": self.changed_after,
            "d.mtime_ns < ?": self.changed_before,
            "d.size >= ?": self.least_size,
            "d.size <= ?": self.most_size,
            "in_glob(d.path, r.path, ?)": self.glob,
            "has_section(c.headings, ?)": self.section,
        }
        wanted = {
            test: max(-_LARGEST_INTEGER, min(_LARGEST_INTEGER, value)) if isinstance(value, int) else value
            for test, value in tests.items()
            if value is not None
        }
        return " AND ".join(wanted) or "1", list(wanted.values())

    def takes_file(self, path: Path) -> bool:
        """Whether a file has the time and the size; one that is out of reach is taken, as reading it says why."""
        if (self.changed_after, self.changed_before, self.least_size, self.most_size) == (None,) * 4:
            return True
        try:
            status = path.stat()
        except OSError:
            return True
        return _within(status.st_mtime_ns, self.changed_after, self.changed_before, 1) and _within(
            status.st_size, self.least_size, self.most_size, 0
        )

    def takes_document(self, document: Document) -> bool:
        """Whether a document has the section."""
        return self.section is None or has_section(headings_of(document), self.section)


ALL = Filter()


def _within(value: int, least: int | None, most: int | None, margin: int) -> bool:
    return (least is None or value >= least) and (most is None or value <= most - margin)


def headings_of(document: Document) -> str:
    """Kind and heading of each section, as JSON: what an index keeps of them to choose by."""
    return json.dumps([[section.kind.value, section.heading] for section in document.sections])


def has_section(headings: str, pattern: str) -> bool:
    """Whether a pattern fits one of the sections of `headings_of`.

    Raises:
        OptionError: the pattern is no regular expression.
    """
    compiled = section_pattern(pattern)
    return any(is_section(compiled, kind, heading) for kind, heading in json.loads(headings))


def in_glob(path: bytes, root: bytes, glob: str) -> bool:
    """Whether a path relative to its root fits a pattern."""
    return path == root or fits(os.fsdecode(path[len(root) :]).lstrip(os.sep), glob)
