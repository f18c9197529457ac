"""Leaving out sections at the user's wish: `--skip-sections`, `--only-sections`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from colde_cli.documents.document import Document, Section
from colde_cli.errors import OptionError


def select(document: Document, skip: Sequence[str] = (), only: Sequence[str] = ()) -> Document:
    """The document with those of its sections that the patterns leave; the text stays whole.

    Args:
        document: to take sections from.
        skip: patterns of sections to leave out.
        only: patterns of sections to keep; empty keeps all. A pattern is a regular expression searched in the
            heading, or the name of a kind ("references", "abstract", "appendix", "front"), case ignored.

    Returns:
        A document whose sections are numbered anew, and whose report names the skipped ones.

    Raises:
        OptionError: a pattern is no regular expression, or no section is left.
    """
    if not skip and not only:
        return document
    leave, keep = [_compile(pattern) for pattern in skip], [_compile(pattern) for pattern in only]
    kept: list[Section] = []
    skipped: list[str] = []
    for section in document.sections:
        wanted = not only or any(_matches(pattern, section) for pattern in keep)
        if wanted and not any(_matches(pattern, section) for pattern in leave):
            kept.append(replace(section, index=len(kept)))
        else:
            skipped.append(section.heading or f"({section.kind.value})")
    if not kept:
        raise OptionError(f"No section of {document.path or document.title} is left by the section patterns.")
    report = replace(document.report, skipped_sections=(*document.report.skipped_sections, *skipped))
    return replace(document, sections=tuple(kept), report=report)


def _compile(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern, re.IGNORECASE)
    except re.error as error:
        raise OptionError(f"The section pattern {pattern!r} is no regular expression: {error}.") from error


def _matches(pattern: re.Pattern[str], section: Section) -> bool:
    named = pattern.pattern.casefold() == section.kind.value
    return named or bool(section.heading and pattern.search(section.heading))
