"""Words of the report: states, parts of a score, places."""

from __future__ import annotations

from collections.abc import Sequence

from colde_cli.documents.document import Document
from colde_cli.documents.passages import Passage, whole_pages
from colde_cli.similarity.alignment import PassagePair, State
from colde_cli.views.escaping import short
from colde_cli.views.wording import STATE_WORDS, heading, page_range

LETTERS = {State.SAME: "s", State.EDITED: "e", State.MOVED: "m", State.ONLY_A: "a", State.ONLY_B: "b"}
"""A state in the page's data and classes."""

STATES = {state: STATE_WORDS[state.value] for state in State}

PARTS = {
    "document": "whole text",
    "chunks": "best chunks",
    "words": "rare words",
    "opening": "opening",
}


def state_words(pair: PassagePair) -> str:
    """`edited`, or `moved and edited`."""
    if pair.state is State.MOVED and pair.edits:
        return "moved and edited"
    return STATES[pair.state]


def kinds(pair: PassagePair) -> list[str]:
    """The kinds of a pair's flags, each once."""
    return list(dict.fromkeys(flag.kind.value for flag in pair.flags))


def pages(passages: Sequence[Passage]) -> str:
    """`p. 3`; "" where there are no pages, or no passages."""
    return page_range(whole_pages(passages))


def section_name(document: Document, passages: Sequence[Passage]) -> str:
    """The heading over the first passage; "" where there is none."""
    return short(heading(document.sections[passages[0].section]), 60) if passages else ""
