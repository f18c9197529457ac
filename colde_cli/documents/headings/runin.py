"""Headings that share their line with the text: "2. Term. This agreement ..." of contracts."""

from __future__ import annotations

import re
from collections.abc import Sequence

from colde_cli.documents.headings.choose import Heading
from colde_cli.documents.headings.names import is_references
from colde_cli.documents.headings.numbering import Number
from colde_cli.documents.headings.scene import Scene

_CLAUSE = re.compile(r"^(\d{1,2})\.?\s+([A-Z][^.:]{1,79}[^.:\s][.:])(?=\s+\S|$)")
_FEWEST = 3
_SHARE = 0.35


def with_run_in(scene: Scene, headings: Sequence[Heading]) -> list[Heading]:
    """Headings, and clauses 1, 2, 3, ... that open a line, where there is a long row of them."""
    printed = {
        heading.number.parts[0]: heading.first
        for heading in headings
        if heading.number and heading.number.scheme == "decimal" and len(heading.number.parts) == 1
    }
    last = min(
        (heading.first for heading in headings if is_references(heading.text)), default=len(scene.lines)
    )
    row: list[Heading] = []
    wanted = 1
    for index in range(last):
        found = _CLAUSE.match(scene.lines[index].text)
        if not found or len(found.group(2).split()) > 9:
            continue
        while printed.get(wanted, index) < index:  # a heading of its own line has this number
            wanted += 1
        if int(found.group(1)) == wanted:
            row.append(_run_in(index, found, wanted))
            wanted += 1
    own = sum(heading.number is None for heading in headings)
    if len(row) < _FEWEST or len(row) < _SHARE * (wanted - 1) or len(row) < own:
        return list(headings)  # too few, or a list in a text with headings of another kind
    clauses = {heading.first: heading for heading in row}
    clauses.update((heading.first, heading) for heading in headings if heading.first not in clauses)
    return [clauses[first] for first in sorted(clauses)]


def _run_in(index: int, found: re.Match[str], value: int) -> Heading:
    number = Number("decimal", (value,), found.group(2))
    ends = None if found.end() == len(found.string) else found.end()
    return Heading(index, index, found.group(0), 1, 4.0, number, run_in=ends)


_ABSTRACT = re.compile(r"^((?:Abstract|ABSTRACT|Summary|SUMMARY)\s*(?:[.:—–]|-+))\s*\S")


def with_abstract(scene: Scene, headings: Sequence[Heading]) -> list[Heading]:
    """Headings, and an abstract that opens with its name on a line of text before the first of them."""
    end = min((heading.first for heading in headings), default=len(scene.lines))
    for index, line in enumerate(scene.lines[:end]):
        found = _ABSTRACT.match(line.text)
        if found and line.page <= 3:
            text = re.sub(r"\W+$", "", found.group(1))
            return [Heading(index, index, text, 1, 4.0, run_in=found.end(1)), *headings]
    return list(headings)
