"""Find what the items of lists stand under: "You may not:" before "(a) copy it; (b) sell it", across levels.

An item commands, forbids or permits what its lead-in does. Items are paragraphs with a mark, or stand in one sentence.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from colde_cli.documents.chunking import whole_sentence_starts
from colde_cli.documents.document import BLANK_LINES, Document, Section, Span
from colde_cli.documents.passages import Passage, stripped
from colde_cli.similarity.clause_labels import follows

_LONGEST = 400
"""Maximum number of characters of a lead-in: who must do what stands at its beginning."""
_BEFORE = 5000
"""Maximum number of characters before a passage in which the sentence that it goes on with is looked for."""
_AHEAD = 20
"""Maximum number of marks after one among which its successor is looked for."""
_MARKED = re.compile(
    r"\W{0,3}?(?:(?P<bullet>[-–•▪◦‣*·○●■□➢✓\uf0b7])\s+)?"
    r"(?:(?P<form>\(?)(?P<mark>\d{1,3}|[A-Za-z]{1,2}|[ivxl]{2,6})(?P<close>[.)])(?=\s+\S))?"
)
_LEADS = re.compile(r"[:—–]\W{0,3}$")
_GOES_ON = re.compile(r"(?:[;,]|\b(?:and|or|und|oder|et|ou|y|o))\W{0,3}$")
_WITHIN = re.compile(
    r"(?<!\S)(?<!section )(?<!sections )(?<!paragraph )(?<!clause )(?<!article )"
    r"\((?P<mark>\d{1,2}|[a-z]{1,2}|[ivx]{1,5})\)\s+(?=\S)"
)
_RULING = re.compile(
    r"\b(?:prohibit\w*|forbidden|banned|restrict\w*|must|shall|may|not|don['’]ts?|never|acceptable|verboten\w*|untersagt\w*"
    r"|pflichten|interdit\w*|obligations?|prohibid\w*|obligaciones)\b",
    re.IGNORECASE,
)
"""Words of a heading that a list stands under: "Prohibited uses"."""


class LeadIn(NamedTuple):
    """The words that a passage stands under, "" for none; whether they hold for its first sentence alone."""

    words: str = ""
    first: bool = False


NO_LEAD_IN = LeadIn()


def parts_of_list(text: str, sentence: Span) -> list[tuple[Span, str]]:
    """Cut a sentence into its lead-in and its items, "(a) ...; (b) ...", each with what it stands under within it."""
    marks = list(_WITHIN.finditer(text, sentence.start, sentence.end))
    levels: list[str] = []
    starts: list[tuple[int, int]] = []
    for place, match in enumerate(marks):
        mark = match["mark"]
        depth = next((at for at in reversed(range(len(levels))) if follows(levels[at], mark)), len(levels))
        if depth == len(levels) and not any(
            follows(mark, other["mark"]) for other in marks[place + 1 : place + 1 + _AHEAD]
        ):
            continue  # "thirty (30) days"
        levels[depth:] = [mark]
        starts.append((match.start(), depth))
    if len(starts) < 2:
        return [(sentence, "")]
    leads, parts = [text[sentence.start : starts[0][0]]], [(stripped(text, sentence.start, starts[0][0]), "")]
    for (start, depth), (end, _) in pairwise([*starts, (sentence.end, 0)]):
        del leads[depth + 1 :]
        parts.append((stripped(text, start, end), " ".join(leads)))
        leads.append(text[start:end])
    return [(span, lead) for span, lead in parts if len(span)]


def lead_ins(document: Document, passages: Sequence[Passage]) -> list[LeadIn]:
    """Find what each passage stands under: an item under its lead-ins, the rest of a sentence under its beginning."""
    paragraphs = [one for section in document.sections for one in _paragraphs(document, section)]
    starts = [span.start for span, _ in paragraphs]
    found = []
    for passage in passages:
        place = bisect_right(starts, passage.span.start) - 1
        if place < 0 or passage.span.start >= paragraphs[place][0].end:
            found.append(NO_LEAD_IN)
            continue
        span, above = paragraphs[place]
        before = document.text[max(span.start, passage.span.start - _BEFORE) : passage.span.start]
        open_sentence = before[whole_sentence_starts(before)[-1] :] if before.strip() else ""
        if open_sentence and not re.search(r"[.!?]\W*$", open_sentence):
            first_item = _WITHIN.search(open_sentence)
            begun = open_sentence[: first_item.start() if first_item else None]
            found.append(LeadIn(f"{above} {_beginning(begun)}".strip(), first=True))
        else:
            found.append(LeadIn(above))
    return found


@dataclass(slots=True)
class _Level:
    """A list: what it stands under, and how its last item is marked; None before its first one."""

    lead: str
    form: str | None = None
    mark: str = ""

    def takes(self, form: str, mark: str) -> bool:
        """Whether an item is the next one of this list."""
        return self.form is None or (self.form == form and (not mark or follows(self.mark, mark)))


def _paragraphs(document: Document, section: Section) -> Iterator[tuple[Span, str]]:
    """The paragraphs of a section, each with what it stands under."""
    counted = {number.start: number.mark for number in document.numbers}
    heading = document.text[section.span.start : section.body_start]
    ruling = [_Level(f"{heading.strip()}:")] if _RULING.search(heading) else []
    levels, before = list(ruling), ":" if ruling else ""
    gaps = [
        (gap.start(), gap.end()) for gap in BLANK_LINES.finditer(document.text, section.body_start, section.span.end)
    ]
    bounds = [(section.body_start, section.body_start), *gaps, (section.span.end, section.span.end)]
    for (_, start), (end, _) in pairwise(bounds):
        span = stripped(document.text, start, end)
        if not len(span):
            continue
        text = document.text[span.start : span.end]
        form, mark = _marked(f"{counted[span.start]} " + text if span.start in counted else text)
        goes_on = bool(levels) and (_GOES_ON.search(before) or (_LEADS.search(before) and _GOES_ON.search(text)))
        is_item = bool(form or goes_on or (before and text[:1].islower()))
        if is_item:
            same = [at for at, level in enumerate(levels) if level.takes(form, mark)]
            same = same or [at for at, level in enumerate(levels) if level.form == form]
            levels = levels[: same[-1] + 1] if same else []
        else:
            levels = list(ruling)
        if levels:
            levels[-1].form, levels[-1].mark = form, mark
        yield span, " ".join(level.lead for level in levels) if is_item else ""
        if _LEADS.search(text):
            levels.append(_Level(_beginning(text[whole_sentence_starts(text)[-1] :])))
        before = text


def _marked(text: str) -> tuple[str, str]:
    """How the mark of an item is written, "(a)" or "-", and what counts in it; two times "" for no item."""
    found = _MARKED.match(text)
    if not found or not (found["bullet"] or found["mark"]):
        return "", ""
    mark = found["mark"] or ""
    kind = "" if not mark else "1" if mark.isdigit() else "A" if mark.isupper() else "a"
    return f"{found['bullet'] if not mark else ''}{found['form'] or ''}{kind}{found['close'] or ''}", mark


def _beginning(text: str) -> str:
    return " ".join(text.split())[:_LONGEST]
