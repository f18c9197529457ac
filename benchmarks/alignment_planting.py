"""Real documents with planted edits: passages deleted, inserted, moved, reworded, a number changed, a negation flipped.

Everything is deterministic by seed. No passage carries two edits, nor do neighbours.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from rewording import changed_words, reword

from colde_cli.documents.document import Document, Part, Span, assemble
from colde_cli.documents.passages import Passage, passages
from colde_cli.similarity.flags import Mention, numbers

Kind = Literal["delete", "insert", "move", "reword", "number", "negation"]
KINDS: tuple[Kind, ...] = ("delete", "insert", "move", "reword", "number", "negation")

_WORDS = 25
_FAR = 6
"""Passages that a moved one passes at least."""
_NOT = re.compile(r"\b(is|are|was|were|shall|may|must|will|should|does|did|do)\s+not\s+(?=[a-z])")
_VERB = re.compile(r"\b(is|are|was|were|shall|must|will|should)\s+(?!not\b|no\b)(?=[a-z])")


@dataclass(frozen=True, slots=True)
class Edit:
    """A planted edit.

    Attributes:
        kind: what was done.
        a: the passage in A's text; None for "insert".
        b: in B's; None for "delete".
    """

    kind: Kind
    a: Span | None
    b: Span | None


@dataclass(frozen=True, slots=True)
class Planted:
    """A document, the same with planted edits, and what they are."""

    a: Document
    b: Document
    edits: tuple[Edit, ...]


@dataclass(slots=True)
class _Piece:
    """A stretch of B: text, what parts it from the text before, and the edit it carries."""

    section: int
    gap: str
    text: str
    kind: Kind | None = None
    source: Span | None = None


def plant(a: Document, foreign: Sequence[str], each: int, seed: int) -> Planted:
    """Plant up to `each` edits of every kind into a document.

    Args:
        a: the document.
        foreign: passages of other documents, to be inserted.
        each: edits of a kind.
        seed: of all that is drawn.
    """
    generator = random.Random(seed)
    found = passages(a)
    pieces = _pieces(a, found)
    free = [n for n, piece in enumerate(pieces) if len(piece.text.split()) >= _WORDS]
    generator.shuffle(free)
    taken: set[int] = set()
    plans: dict[Kind, list[int]] = {kind: [] for kind in KINDS}
    # What few passages allow is planted first.
    for kind in ("negation", "number", "reword", "move", "delete", "insert"):
        for n in free:
            if len(plans[kind]) == each:
                break
            if {n - 1, n, n + 1} & taken or not _changes(kind, pieces[n], generator, n):
                continue
            plans[kind].append(n)
            taken.add(n)
    return _build(a, pieces, plans, foreign, generator, taken)


def _pieces(a: Document, found: Sequence[Passage]) -> list[_Piece]:
    pieces = []
    for before, passage in zip((None, *found), found, strict=False):
        same = before is not None and before.section == passage.section
        gap = a.text[before.span.end : passage.span.start] if same and before is not None else ""
        text = a.text[passage.span.start : passage.span.end]
        pieces.append(_Piece(passage.section, gap, text, None, passage.span))
    return pieces


def _changes(kind: Kind, piece: _Piece, generator: random.Random, n: int) -> bool:
    """The edit can be made to this piece; texts are changed here, places in `_build`."""
    makers: dict[str, Callable[[str, random.Random], str]] = {
        "reword": lambda text, _: reword(text),
        "number": _other_number,
        "negation": _flipped,
    }
    if kind not in makers:
        return n > 0
    changed = makers[kind](piece.text, generator)
    if changed == piece.text or (kind == "reword" and changed_words(piece.text, changed) < 0.05):
        return False
    piece.text = changed
    piece.kind = kind
    return True


def _other_number(text: str, generator: random.Random) -> str:
    mentions = [mention for mention in numbers(text) if re.search(r"\d", _said(text, mention))]
    if not mentions:
        return text
    mention = generator.choice(mentions)
    said = _said(text, mention)
    digits = re.search(r"\d+", said)
    assert digits is not None
    other = str(int(digits[0]) + generator.choice([1, 2, 3, 7, 10]))
    return text[: mention.span.start] + said.replace(digits[0], other, 1) + text[mention.span.end :]


def _said(text: str, mention: Mention) -> str:
    return text[mention.span.start : mention.span.end]


def _flipped(text: str, generator: random.Random) -> str:
    there = list(_NOT.finditer(text))
    if there:
        match = generator.choice(there)
        return f"{text[: match.start()]}{match[1]} {text[match.end() :]}"
    places = list(_VERB.finditer(text))
    if not places:
        return text
    match = generator.choice(places)
    return f"{text[: match.start()]}{match[1]} not {text[match.end() :]}"


def _build(
    a: Document,
    pieces: list[_Piece],
    plans: dict[Kind, list[int]],
    foreign: Sequence[str],
    generator: random.Random,
    taken: set[int],
) -> Planted:
    order: list[_Piece] = []
    moved = set(plans["move"])
    quiet = [n for n in range(1, len(pieces)) if not {n - 1, n} & taken]
    landing: dict[int, list[_Piece]] = {}
    edits: list[Edit] = []
    for n in plans["move"]:
        far = [place for place in quiet if abs(place - n) > _FAR and place not in landing]
        if not far:
            moved.discard(n)
            continue
        piece, place = pieces[n], generator.choice(far)
        landing[place] = [
            _Piece(pieces[place].section, pieces[place].gap or "\n\n", piece.text, "move", piece.source)
        ]
    for n in plans["insert"]:
        text = generator.choice(foreign)
        landing.setdefault(n, []).append(_Piece(pieces[n].section, pieces[n].gap or "\n\n", text, "insert"))
    for n, piece in enumerate(pieces):
        order.extend(landing.get(n, ()))
        if n in plans["delete"]:
            edits.append(Edit("delete", piece.source, None))
        elif n not in moved:
            order.append(piece)
            continue
        # What parted the missing passage from the text before now parts the next one from it.
        if n + 1 < len(pieces) and "\n" in piece.gap:
            pieces[n + 1].gap = piece.gap
    return _laid_out(a, order, edits)


def _laid_out(a: Document, order: Sequence[_Piece], edits: list[Edit]) -> Planted:
    parts, places = [], []
    for section in a.sections:
        body = ""
        for piece in order:
            if piece.section == section.index:
                body += (piece.gap or "\n\n") if body else ""
                if piece.kind is not None:
                    places.append((len(parts), len(body), piece))
                body += piece.text
        parts.append(Part(section.heading, body, section.level or 1, section.kind))
    # `assemble` leaves empty parts out.
    kept = [n for n, part in enumerate(parts) if part.heading.strip() or part.text.strip()]
    b = assemble("b", a.title, [parts[n] for n in kept])
    for part, offset, piece in places:
        start = b.sections[kept.index(part)].body_start + offset
        assert b.text[start : start + len(piece.text)] == piece.text
        assert piece.kind is not None
        source = None if piece.kind == "insert" else piece.source
        edits.append(Edit(piece.kind, source, Span(start, start + len(piece.text))))
    return Planted(a, b, tuple(edits))
