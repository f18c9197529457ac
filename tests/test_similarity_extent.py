"""How much of two documents is the same, in words."""

from __future__ import annotations

import pytest
from hand_made import document

from colde_cli.similarity.alignment import State, align, extents

KEPT = "The river gauge stood beside the old bridge for nine years without a single repair."
CHANGED = ("Payment is due within thirty days of receipt.", "Payment is due within sixty days of receipt.")
OWN = "Nobody asked whether the willows along the far bank would survive another dry summer."


def test_words_are_counted_by_what_became_of_them() -> None:
    a = document([("One", f"{KEPT}\n\n{CHANGED[0]}\n\n{OWN}")])
    b = document([("One", f"{KEPT}\n\n{CHANGED[1]}")])
    left, right = extents(align(a, b, None).pairs)
    assert left.by_state[State.SAME] == right.by_state[State.SAME] == 15
    assert left.by_state[State.EDITED] == right.by_state[State.EDITED] == 8
    assert left.by_state[State.ONLY_A] == len(OWN.split())
    assert right.by_state[State.ONLY_A] == right.by_state[State.ONLY_B] == 0
    assert left.words == 15 + 8 + 14
    # One word of the edited passage is not the other's.
    assert (left.kept, right.kept) == (22, 22)
    assert left.share_kept == pytest.approx(22 / 37)


def test_a_document_without_words_shares_nothing() -> None:
    left, right = extents(align(document([]), document([("", KEPT)]), None).pairs)
    assert (left.words, left.share_kept) == (0, 0.0)
    assert (right.words, right.kept) == (15, 0)
