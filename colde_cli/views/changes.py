"""What differs, as pieces and rows that every view shows: redlines of passages, and what stands outside the text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from typing import TYPE_CHECKING

from colde_cli.documents.document import Span
from colde_cli.documents.formats import FORMATS
from colde_cli.documents.outside import Kind, OutsideKind, OutsideText, PartKind, UnreadPart
from colde_cli.similarity.outside_changes import MOST_LISTED, OutsideChange, OutsideComparison
from colde_cli.similarity.pairs import PassagePair, State
from colde_cli.similarity.redline import NOTHING_IGNORED, IgnoreOptions, Operation
from colde_cli.views.wording import apart_from, listed, page_range, plain, plural, shorten

if TYPE_CHECKING:
    from colde_cli.documents.document import Document
    from colde_cli.similarity.mentions import Flag
    from colde_cli.similarity.redline import Edit
    from colde_cli.similarity.typesetting import TypesettingPlace

CONTEXT = 40
"""Number of characters shown before and after an edit."""
LONGEST = 240
"""Maximum number of characters shown of one edit."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of a redline: text on one line, not empty and harmless; `gap`: a blank stands before it."""

    kind: Operation
    text: str
    gap: bool


def pieces(
    pair: PassagePair, context: int | None = CONTEXT, longest: int | None = LONGEST, near: Edit | None = None
) -> tuple[Piece, ...]:
    """The edits of a pair in order, with the words around them as B has them; the beginning of a pair without edits.

    Both sides have text. Characters shown are at most `context` before and after an edit and `longest` of one; with
    `near` only this edit, and those in its context, are shown. None shows all.
    """
    chosen = range(len(pair.edits))
    if near is not None and context is not None:
        chosen = _neighbours(pair.edits, near, context)
    shown: list[Piece] = []
    for kind, text, gap in _raw(pair, chosen, context, longest):
        if text:
            shown.append(Piece(kind, text, gap and bool(shown)))
    return tuple(shown)


def side_pieces(pair: PassagePair, longest: int) -> tuple[Piece, ...]:
    """The edits of a pair; of a passage that only one document has, its beginning."""
    if pair.state not in (State.ONLY_A, State.ONLY_B):
        return pieces(pair, longest=longest)
    kind = Operation.DELETED if pair.state is State.ONLY_A else Operation.INSERTED
    return (Piece(kind, shorten(pair.a_text or pair.b_text, longest), gap=False),)


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


def edit_of(pair: PassagePair, flag: Flag) -> Edit:
    """The edit of a pair that one of its flags is about: the first at its words in both texts, else the first."""

    def is_at(words: str, text: str, span: Span) -> bool:
        places = re.finditer(re.escape(words), text)
        return not words or any(span.start <= place.end() and place.start() <= span.end for place in places)

    found = (edit for edit in pair.edits if is_at(flag.a, pair.a_text, edit.a) and is_at(flag.b, pair.b_text, edit.b))
    return next(found, pair.edits[0])


def flags_of_edit(pair: PassagePair, edit: Edit) -> list[Flag]:
    """The flags of a pair that are about one of its edits."""
    return [flag for flag in pair.flags if edit_of(pair, flag) is edit]


TITLE = "Outside the text"
_NAMES: Mapping[Kind, tuple[str, str]] = {
    OutsideKind.HEADERS: ("header", "headers"),
    OutsideKind.FOOTERS: ("footer", "footers"),
    OutsideKind.COMMENTS: ("comment", "comments"),
    OutsideKind.DELETED: ("deleted text", "deleted texts"),
    OutsideKind.NOTES: ("note without a reference", "notes without a reference"),
    OutsideKind.ALTERNATIVES: ("alternative text", "alternative texts"),
    OutsideKind.FORM_VALUES: ("form value", "form values"),
    OutsideKind.LINKS: ("link target", "link targets"),
    OutsideKind.HIDDEN: ("hidden text", "hidden texts"),
    OutsideKind.ROTATED: ("rotated text", "rotated texts"),
    OutsideKind.CONTENTS: ("line of the contents", "lines of the contents"),
    OutsideKind.NAVIGATION: ("menu or bookmark", "menus or bookmarks"),
    OutsideKind.METADATA: ("property", "properties"),
    OutsideKind.CODE: ("piece of source", "pieces of source"),
    OutsideKind.STRUCTURE: ("level, list mark or code line", "levels, list marks or code lines"),
    PartKind.PICTURES: ("picture", "pictures"),
    PartKind.CHARTS: ("chart", "charts"),
    PartKind.DRAWINGS: ("drawing", "drawings"),
    PartKind.FORMULAS: ("formula", "formulas"),
    PartKind.EMBEDDED: ("embedded file", "embedded files"),
    PartKind.ATTACHMENTS: ("attachment", "attachments"),
    PartKind.MEDIA: ("recording", "recordings"),
    PartKind.FORMS: ("form", "forms"),
    PartKind.APPEARANCE: ("page", "pages"),
    PartKind.SCRIPTS: ("script", "scripts"),
    PartKind.OTHER: ("other part", "other parts"),
}
_ABOUT, _TEXT = 60, 300
"""Maximum number of characters shown of what a text belongs to, and of a text that only one document has."""
_MOST_PLACES = 12
"""Maximum number of places that are named of parts of one kind."""


@dataclass(frozen=True, slots=True)
class OutsideRow:
    """A difference outside the text.

    Attributes:
        state: EDITED, ONLY_A or ONLY_B; MOVED for the same texts or parts in another order.
        kind: in words: "header", "2 pictures".
        place: pages, and what it belongs to; "" where it has none.
        pair: the two texts as if they were passages; None for parts.
        remark: for parts, in a few words; "" for texts.
    """

    state: State
    kind: str
    place: str
    pair: PassagePair | None = None
    remark: str = ""


def outside_rows(outside: OutsideComparison, most: int = MOST_LISTED) -> list[OutsideRow]:
    """The first differences: texts in the order of their kinds, then parts, those of one kind together."""
    rows = [_text_row(change) for change in outside.texts[:most]]
    rows += islice(_part_rows(outside.parts), max(0, most - len(rows)))
    rows += [
        OutsideRow(State.MOVED, _NAMES[kind][1], "", remark="the same, in another order") for kind in outside.reordered
    ]
    return rows


def _text_row(change: OutsideChange[OutsideText]) -> OutsideRow:
    a, b = ("" if text is None else text.text for text in (change.a, change.b))
    state = outside_state(change)
    pair = PassagePair(state, (), (), None, change.edits, (), a, b)
    remark = ""
    if state is State.EDITED and not change.edits:
        about = [shorten(text.about, _ABOUT) or "–" for text in (change.a, change.b) if text is not None]
        remark = f"{shorten(a, _ABOUT)} is at other words: {' → '.join(about)}" if a == b else "differs in typesetting"
    place = "" if remark else _place(change)
    return OutsideRow(state, _NAMES[change.kind][0], place, pair, remark)


def _place(change: OutsideChange[OutsideText] | OutsideChange[UnreadPart]) -> str:
    """`A p. 3 → B p. 4 · first page`: pages of both, and what the first of them belongs to."""
    items = [(side, item) for side, item in (("A", change.a), ("B", change.b)) if item is not None]
    pages = [f"{side} {page_range(item.pages)}" for side, item in items if item.pages]
    about = next((shorten(item.about, _ABOUT) for _, item in items if item.about), "")
    return " · ".join(part for part in (" → ".join(pages), about) if part)


def _part_rows(changes: Sequence[OutsideChange[UnreadPart]]) -> Iterator[OutsideRow]:
    for (kind, state), group in groupby(changes, key=lambda change: (change.kind, outside_state(change))):
        alike = list(group)
        places = [place for place in dict.fromkeys(map(_place, alike)) if place]
        more = f" and {len(places) - _MOST_PLACES} more" if len(places) > _MOST_PLACES else ""
        yield OutsideRow(
            state,
            counted(kind, len(alike)),
            "; ".join(places[:_MOST_PLACES]) + more,
            remark=_remark(kind, state, len(alike)),
        )


def outside_state(change: OutsideChange[OutsideText] | OutsideChange[UnreadPart]) -> State:
    """Whether only A, only B or both have a text or a part that differs."""
    return State.ONLY_A if change.b is None else State.ONLY_B if change.a is None else State.EDITED


def _remark(kind: Kind, state: State, count: int) -> str:
    if kind is PartKind.APPEARANCE:
        return "looks different, though the text is the same"
    if state is not State.EDITED:
        return f"only in {'A' if state is State.ONLY_A else 'B'}"
    return f"differ{'s' if count == 1 else ''}; not compared further"


def counted(kind: Kind, count: int) -> str:
    """`2 pictures`; of one only the name: `picture`."""
    one, many = _NAMES[kind]
    return one if count == 1 else f"{count:,} {many}"


def plural_of(kind: Kind, count: int) -> str:
    """`1 picture`, `0 pictures`."""
    return f"{count:,} {_NAMES[kind][count != 1]}"


def _one_or_more(kind: Kind, count: int) -> str:
    name = counted(kind, count)
    if kind is PartKind.APPEARANCE:
        return f"the look of {'a ' * (count == 1)}{name}"
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}" if count == 1 else name


def difference(outside: OutsideComparison) -> str:
    """`a header, 2 comments and 3 pictures differ`; "" where nothing does."""
    counts = Counter(change.kind for change in outside.differences)
    names = [_one_or_more(kind, count) for kind, count in counts.items()]
    names += [f"the order of the {_NAMES[kind][1]}" for kind in outside.reordered]
    return f"{listed(names)} differ{'s' if outside.changes == 1 else ''}" if names else ""


def uncompared(outside: OutsideComparison, a: Document, b: Document) -> list[str]:
    """What the other format cannot hold, or holds in another way, in sentences.

    `B is a text file: a header and 2 pictures of A have no counterpart.`
    """
    formats = [FORMATS.get(document.format, FORMATS["text"]) for document in (a, b)]
    sentences = []
    for side, other in ((0, 1), (1, 0)):
        held = formats[other].held
        counts = ((one.kind, (one.a, one.b)[side]) for one in outside.uncompared if one.kind not in held)
        if found := [count for count in counts if count[1]]:
            have = "has" if _is_one(found) else "have"
            sentences.append(
                f"{'AB'[other]} is {formats[other].noun}: {_named(found)} of {'AB'[side]} {have} no counterpart."
            )
    if found := [(one.kind, one.a + one.b) for one in outside.uncompared if one.held]:
        are = "is" if _is_one(found) else "are"
        sentences.append(f"A is {formats[0].noun}, B {formats[1].noun}: {_named(found)} {are} not compared.")
    return sentences


def tracked_changes(a: Document, b: Document) -> list[str]:
    """As what the tracked changes of both files were read, in a sentence; nothing where there are none."""
    sides = [(side, one.report) for side, one in (("A", a), ("B", b)) if one.report.tracked]
    if not sides:
        return []
    return [f"Tracked changes of {listed([side for side, _ in sides])} are read as {sides[0][1].tracked_as}."]


def _named(counts: Sequence[tuple[Kind, int]]) -> str:
    return listed([_one_or_more(*count) for count in counts])


def _is_one(counts: Sequence[tuple[Kind, int]]) -> bool:
    return sum(count for _, count in counts) == 1


def same_sentence(a: Document, b: Document, outside: OutsideComparison, ignore: IgnoreOptions = NOTHING_IGNORED) -> str:
    """Say that two texts are the same, and what differs or was not compared outside them.

    "The texts are the same." stands only where nothing differs and all was compared.
    """
    if not (a.sections or b.sections):
        if outside.changes:
            return f"Neither has a text to read; {difference(outside)}."
        rest = "their pages look the same" if "pdf" in (a.format, b.format) else "nothing else differs"
        return f"Neither has a text to read; {rest}{apart_from(ignore)}."
    unread = any(document.report.pages_without_text for document in (a, b))
    apart = apart_from(ignore, ("pages without text",) * unread)
    if not outside.same:
        return f"The body text is the same{apart}, but {difference(outside)}."
    if outside.uncompared:
        return f"The body text is the same{apart}; what stands outside it was not all compared."
    if outside.changes:
        return f"The texts are the same{apart}; only {difference(outside)}."
    return f"The texts are the same{apart}."


def row_pieces(row: OutsideRow) -> tuple[Piece, ...]:
    """The redline of two texts, or the text that one document has, as a piece; nothing for parts."""
    if row.pair is None or row.remark:
        return ()
    return pieces(row.pair) if row.state is State.EDITED else side_pieces(row.pair, _TEXT)


def row_line(row: OutsideRow) -> str:
    """A row as plain text: `header (first page): [-DRAFT-]{+FINAL+}`, `2 pictures (A p. 3) only in A`."""
    place = f" ({row.place})" if row.place else ""
    shown = marked(row_pieces(row))
    return f"{row.kind}{place}: {shown}" if shown else f"{row.kind}{place} {row.remark}"


def not_listed(outside: OutsideComparison, most: int = MOST_LISTED) -> str:
    """How many differences the rows leave out, with the digest of all; "" for none."""
    left = max(0, len(outside.texts) + len(outside.parts) - most)
    return f"{plural(left, 'more difference')}; digest of all: {outside.digest[:16]}" if left else ""
