"""Where passages stand, in words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from colde_cli.documents.passages import whole_pages
from colde_cli.views.wording import heading, page_range, shorten

if TYPE_CHECKING:
    from colde_cli.documents.document import Document
    from colde_cli.documents.passages import Passage
    from colde_cli.similarity.alignment import PassagePair
    from colde_cli.similarity.comparison import Comparison


def place(document: Document, passages: Sequence[Passage], width: int) -> tuple[str, str]:
    """Pages, "" where there are none, and heading, of at most `width` characters, of neighbouring passages."""
    name = shorten(heading(document.sections[passages[0].section]), width)
    return page_range(whole_pages(passages)), name


def places(
    comparison: Comparison,
    pair: PassagePair,
    width: int,
    between: str = " · ",
    written: Callable[[str], str] = str,
) -> str:
    """Where a pair stands in A and in B; the heading once where both have the same.

    Args:
        comparison: that the pair is of.
        pair: with passages on both sides.
        width: characters of a heading at most.
        between: what parts pages and heading of one side where both sides have headings of their own.
        written: what makes a heading fit for where it is shown.
    """
    page_a, name_a = place(comparison.a.document, pair.a, width)
    page_b, name_b = place(comparison.b.document, pair.b, width)
    if name_a == name_b:
        pages = f"A {page_a} → B {page_b}" if page_a or page_b else ""
        return " · ".join(part for part in (pages, written(name_a)) if part)
    sides = ((page_a, name_a), (page_b, name_b))
    a, b = (between.join(part for part in (page, written(name)) if part) for page, name in sides)
    return f"A {a} → B {b}"
