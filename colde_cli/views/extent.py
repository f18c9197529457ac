"""How much of each document stands in the other, in a sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from colde_cli.views.ignored import same_texts
from colde_cli.views.wording import first_capital

if TYPE_CHECKING:
    from colde_cli.similarity.comparison import Comparison
    from colde_cli.similarity.extent import Extent


def how_much(comparison: Comparison, both: tuple[Extent, Extent]) -> str:
    """The share of the words of A that stand in B, and of B's in A; that all do, or none.

    Args:
        comparison: to speak of.
        both: the extents of A and of B.
    """
    if comparison.same_content:
        return f"{first_capital(same_texts(comparison))}."
    a, b = both
    if not a.words or not b.words:
        return f"{'A' if not a.words else 'B'} has no text besides headings."
    if not a.kept and not b.kept:
        return "No passage of one answers a passage of the other."
    return f"{share(a)} of A's words stand in B; {share(b)} of B's words stand in A."


def share(extent: Extent) -> str:
    """A share in percent that says 0 and 100 only where it is."""
    if extent.kept in (0, extent.words):
        return f"{extent.share_kept:.0%}"
    return f"{min(0.99, max(0.01, extent.share_kept)):.0%}"
