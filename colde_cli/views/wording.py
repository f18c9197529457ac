"""Words and numbers the way people read them."""

from __future__ import annotations

from colde_cli.documents.document import Document, Section, SectionKind

_UNNAMED = {SectionKind.FRONT: "(front matter)", SectionKind.ABSTRACT: "(abstract)"}


def shorten(text: str, width: int) -> str:
    """Text on one line of at most `width` characters; what is cut off leaves an ellipsis."""
    line = " ".join(text.split())
    return line if len(line) <= width else line[: max(0, width - 1)].rstrip() + "…"


def plural(count: int, noun: str) -> str:
    """`1 page`, `1,204 pages`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def page_range(pages: tuple[int, int] | None) -> str:
    """`p. 3`, `p. 3–5`; nothing where the source has no pages."""
    if pages is None:
        return ""
    first, last = pages
    return f"p. {first}" if first == last else f"p. {first}–{last}"


def heading(section: Section) -> str:
    """The heading of a section, or what stands for one."""
    return section.heading or _UNNAMED.get(section.kind, "(no heading)")


def excerpt(document: Document, section: Section, start: int, end: int, width: int) -> str:
    """The beginning of `document.text[start:end]`, its section's heading left out."""
    body = document.text[max(start, section.body_start) : end].strip()
    return shorten(body or document.text[start:end], width)
