"""The redline of a pair of passages: pieces of text that were kept, deleted or inserted."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from colde_cli.similarity.redline import Operation
from colde_cli.views.wording import plain

if TYPE_CHECKING:
    from colde_cli.similarity.flags import Flag
    from colde_cli.similarity.pairs import PassagePair
    from colde_cli.similarity.redline import Edit
    from colde_cli.similarity.typesetting import TypesettingPlace

CONTEXT = 40
"""Number of characters shown before and after an edit."""
LONGEST = 240
"""Maximum number of characters shown of one edit."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of a redline.

    Attributes:
        text: on one line, not empty, without blanks at its ends or characters that steer a terminal.
        gap: whether a blank separates it from the piece before.
    """

    kind: Operation
    text: str
    gap: bool


def pieces(
    pair: PassagePair,
    context: int | None = CONTEXT,
    longest: int | None = LONGEST,
    near: Edit | None = None,
) -> tuple[Piece, ...]:
    """The edits of a pair in order, with the words around them as B has them; the beginning of a pair without edits.

    Args:
        pair: with text on both sides.
        context: characters shown before and after an edit; None shows all.
        longest: characters shown of one edit at most; None shows all.
        near: an edit to show with those in its context, and no others; None shows all.
    """
    chosen = range(len(pair.edits))
    if near is not None and context is not None:
        chosen = _neighbours(pair.edits, near, context)
    shown: list[Piece] = []
    for kind, text, gap in _raw(pair, chosen, context, longest):
        if text:
            shown.append(Piece(kind, text, gap and bool(shown)))
    return tuple(shown)


def _neighbours(edits: Sequence[Edit], edit: Edit, context: int) -> range:
    """The places of an edit and of those in its context: left out, their old words would pass for kept ones."""
    start, end = edit.a.start - context, edit.a.end + context
    found = [place for place, other in enumerate(edits) if other.a.end >= start and other.a.start <= end]
    return range(found[0], found[-1] + 1)


def _raw(
    pair: PassagePair, chosen: range, context: int | None, longest: int | None
) -> Iterator[tuple[Operation, str, bool]]:
    """Pieces of the edits at some places; an ellipsis stands for those before and after."""
    a, b, edits = pair.a_text, pair.b_text, pair.edits
    if not edits:
        yield Operation.KEPT, _cut(b, None if context is None else 3 * context), False
        return
    last = edits[chosen.start - 1] if chosen.start else None
    for place in chosen:
        edit = edits[place]
        kept = _kept(b[last.b.end if last else 0 : edit.b.start], context, begins=place == chosen.start)
        more = place == chosen.start and place > 0
        yield Operation.KEPT, f"…{kept.removeprefix('…')}" if more else kept, _gap_after(pair, last)
        deleted = _cut(a[edit.a.start : edit.a.end], longest)
        yield Operation.DELETED, deleted, _blank(a, edit.a.start - 1)
        inserted = _cut(b[edit.b.start : edit.b.end], longest)
        parted = bool(deleted) and inserted[:1].isalnum()
        yield Operation.INSERTED, inserted, parted or _blank(b, edit.b.start - 1)
        last = edit
    more = chosen.stop < len(edits)
    kept = _kept(b[edit.b.end : edits[chosen.stop].b.start if more else len(b)], context, ends=True)
    yield Operation.KEPT, f"{kept.removesuffix('…')}…" if more else kept, _gap_after(pair, last)


def _cut(text: str, longest: int | None) -> str:
    line = plain(text)
    if longest is None or len(line) <= longest:
        return line
    return f"{line[:longest].rpartition(' ')[0] or line[:longest]}…"


def _gap_after(pair: PassagePair, edit: Edit | None) -> bool:
    return edit is not None and (_blank(pair.a_text, edit.a.end) or _blank(pair.b_text, edit.b.end))


def _blank(text: str, place: int) -> bool:
    return 0 <= place < len(text) and text[place].isspace()


def _kept(text: str, context: int | None, *, begins: bool = False, ends: bool = False) -> str:
    """Text between edits without its middle, if it is long; at the beginning or the end without the far end."""
    line = plain(text)
    if context is None or len(line) <= 2 * context:
        return line
    # A word longer than the context, or a script without blanks, is cut where the context ends.
    head, tail = line[:context], line[-context:]
    head = "" if begins else (head.rpartition(" ")[0] or head)
    tail = "" if ends else (tail.partition(" ")[2] or tail)
    return f"{head}…{tail}" if begins or ends else f"{head} … {tail}"


def marked(line: Sequence[Piece]) -> str:
    """A redline without colours: `[-deleted-]` and `{+inserted+}`."""
    marks = {Operation.KEPT: ("", ""), Operation.DELETED: ("[-", "-]"), Operation.INSERTED: ("{+", "+}")}
    shown = ""
    for piece in line:
        before, after = marks[piece.kind]
        shown += f"{' ' if piece.gap else ''}{before}{piece.text}{after}"
    return shown


TYPESETTING = "Typesetting and numbering"
"""The title of the places that no redline shows: blanks, hyphens, quotation marks, bullets, numbers of headings."""


def place_pieces(place: TypesettingPlace) -> tuple[Piece, ...]:
    """A place where typesetting alone differs, with the words around it."""
    around = (
        (Operation.KEPT, f"…{place.before}" if place.before else ""),
        (Operation.DELETED, _cut(place.a_text, LONGEST)),
        (Operation.INSERTED, _cut(place.b_text, LONGEST)),
        (Operation.KEPT, f"{place.after}…" if place.after else ""),
    )
    return tuple(Piece(kind, plain(text), gap=True) for kind, text in around if text)


def holds(pair: PassagePair, edit: Edit, flag: Flag) -> bool:
    """Whether an edit of a pair holds words of one of its flags."""
    sides = ((flag.a, pair.a_text, edit.a), (flag.b, pair.b_text, edit.b))
    return any(
        words and span.start < match.end() and match.start() < span.end
        for words, text, span in sides
        for match in re.finditer(re.escape(words), text)
    )


def flags_of_edit(pair: PassagePair, edit: Edit) -> list[Flag]:
    """The flags of a pair that belong to one of its edits; a flag without words in any belongs to the first."""
    return [
        flag
        for flag in pair.flags
        if holds(pair, edit, flag)
        or (edit is pair.edits[0] and not any(holds(pair, other, flag) for other in pair.edits))
    ]
