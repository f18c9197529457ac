"""Compare what stands beside the text of two documents: texts outside the body, and parts that are not read."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import zip_longest
from typing import Any, Generic, TypeVar

from colde_cli.documents.document import Document, Ignored
from colde_cli.documents.formats import FORMATS
from colde_cli.documents.outside import (
    CODE_LINE,
    KIND_NAMES,
    KINDS,
    Kind,
    OutsideKind,
    OutsideText,
    PartKind,
    UnreadPart,
    digest_of,
    kinds_of,
)
from colde_cli.errors import OptionError
from colde_cli.similarity.plain_data import edits_data, fields_data
from colde_cli.similarity.redline import NOTHING_IGNORED, SWITCHES, Edit, IgnoreOptions, normal, redline, run_together

MOST_LISTED = 200
"""Maximum number of differences that a view lists; all are counted."""

_ACROSS = frozenset(
    (
        *(OutsideKind.HEADERS, OutsideKind.FOOTERS, OutsideKind.COMMENTS),
        *(OutsideKind.CONTENTS, OutsideKind.LINKS, OutsideKind.NOTES),
    )
)
"""Kinds that two documents of different formats write alike."""
_NAMED = frozenset((OutsideKind.LINKS, OutsideKind.FORM_VALUES, OutsideKind.STRUCTURE))
"""Kinds of which it matters what a text belongs to: two links may have swapped their targets."""
_LINE_LETTERS = 100
"""Number of letters and digits by which a line of a body is known."""
_MADE_OF_HEADINGS = frozenset((OutsideKind.CONTENTS, OutsideKind.NAVIGATION))
"""Kinds that a program makes of the headings."""
_UNCOUNTED: frozenset[Kind] = frozenset((OutsideKind.CONTENTS, PartKind.SCRIPTS))
"""Kinds that make no difference in content: contents are made from the headings, and nobody sees a script."""
_ALIKE = 50.0
"""Texts with a lower ratio, of 100, are no versions of one text."""
_LONG = 20
"""Characters of a text that stands in another by no chance."""
_TELLING = 3
"""Letters and digits of a line of code that stands elsewhere by no chance."""
_MOST_RATIOS = 40_000
"""Maximum number of pairs of texts that are compared with each other; more are paired in order."""
_MOST_REDLINE = 20_000
"""Longer texts are shown without a redline."""

Item = TypeVar("Item", OutsideText, UnreadPart)


@dataclass(frozen=True, slots=True)
class OutsideChange(Generic[Item]):
    """A text or a part that differs.

    Attributes:
        a: that of the first document; None where it has none.
        edits: that turn the text of `a` into that of `b`; empty for parts, and where only what it belongs to differs.
    """

    a: Item | None
    b: Item | None
    edits: tuple[Edit, ...] = ()

    @property
    def kind(self) -> Kind:
        """Of both."""
        one = self.a or self.b
        assert one is not None, "a change has a side"
        return one.kind


@dataclass(frozen=True, slots=True)
class Uncompared:
    """A kind of texts or parts that cannot be compared, as the two documents have different formats.

    Attributes:
        a: their number in the first document.
        held: both formats have the kind, but write it in ways that cannot be compared.
    """

    kind: Kind
    a: int
    b: int
    held: bool


@dataclass(frozen=True)
class OutsideComparison:
    """How two documents differ beside their text.

    Attributes:
        texts: that differ, in the order of the kinds.
        reordered: kinds with the same texts or parts in another order.
        uncompared: what could not be compared, as the formats differ.
    """

    texts: tuple[OutsideChange[OutsideText], ...] = ()
    parts: tuple[OutsideChange[UnreadPart], ...] = ()
    reordered: tuple[Kind, ...] = ()
    uncompared: tuple[Uncompared, ...] = ()

    @property
    def differences(self) -> tuple[OutsideChange[OutsideText] | OutsideChange[UnreadPart], ...]:
        """Texts, then parts, that differ."""
        return (*self.texts, *self.parts)

    @property
    def changes(self) -> int:
        """Number of differences."""
        return len(self.texts) + len(self.parts) + len(self.reordered)

    @property
    def same(self) -> bool:
        """Whether nothing differs that was compared and counts: contents and scripts make no difference."""
        kinds = {change.kind for change in self.differences}
        return kinds.union(self.reordered) <= _UNCOUNTED

    @property
    def proven(self) -> bool:
        """Whether all was compared, contents and scripts too, and nothing differs."""
        return not self.changes and not self.uncompared

    @cached_property
    def digest(self) -> str:
        """The digest of all differences, also of those that a view does not list."""
        return digest_of("\n".join(map(repr, (*self.differences, *self.reordered))).encode())

    def without(self, names: Iterable[str]) -> OutsideComparison:
        """Leave out the kinds of these names."""
        left_out = kinds_of(names)
        return OutsideComparison(
            tuple(change for change in self.texts if change.kind not in left_out),
            tuple(change for change in self.parts if change.kind not in left_out),
            tuple(kind for kind in self.reordered if kind not in left_out),
            tuple(one for one in self.uncompared if one.kind not in left_out),
        )


NOTHING_OUTSIDE = OutsideComparison()


def ignoring(names: Iterable[str], like: tuple[str, ...] = (), **switches: bool) -> IgnoreOptions:
    """What to ignore, from lists of names.

    Args:
        names: each one or several names with commas between them: switches of `IgnoreOptions` ("list-marks"), kinds of
            texts outside and parts ("links"), or a group of `GROUPS`.
        switches: that are on or off beside those named.

    Raises:
        OptionError: there is no such name.
    """
    given = [name.strip() for text in names for name in text.split(",") if name.strip()]
    known = {switch.replace("_", "-"): switch for switch in SWITCHES}
    for name in given:
        if name not in known and name not in KIND_NAMES:
            raise OptionError(f"{name!r} is nothing to ignore; known are: {', '.join((*known, *KIND_NAMES))}.")
    on: dict[str, Any] = {**switches, **{known[name]: True for name in given if name in known}}
    kinds = tuple(dict.fromkeys(name for name in given if name in KIND_NAMES))
    return replace(IgnoreOptions(like=like, kinds=kinds), **on)


def switches_data(ignore: IgnoreOptions) -> dict[str, Any]:
    """List what is ignored in all documents."""
    switches = {name: getattr(ignore, name) for name in SWITCHES}
    kinds = sorted(kind.value for kind in kinds_of(ignore.kinds))
    return {**switches, "like": list(ignore.like), "kinds": kinds}


def ignored_data(a: Document, b: Document, ignore: IgnoreOptions) -> dict[str, Any]:
    """Build the `ignored` object of schema colde.diff/2."""
    sides = ((name, document.report.ignored or Ignored()) for name, document in (("a", a), ("b", b)))
    return {**switches_data(ignore), **{name: fields_data(one, "stretches words sections") for name, one in sides}}


def compare_outside(a: Document, b: Document, ignore: IgnoreOptions = NOTHING_IGNORED) -> OutsideComparison:
    """Compare the texts outside two documents, and their parts that are not read.

    Of two documents of one format everything is compared. Two formats have few kinds in common that they write alike;
    a text that stands outside one document and in the body of the other is there. The result for (B, A) is the one for
    (A, B), turned over.
    """
    across = bool(a.format and b.format) and a.format != b.format
    ignored = kinds_of(ignore.kinds)
    texts: list[OutsideChange[OutsideText]] = []
    parts: list[OutsideChange[UnreadPart]] = []
    reordered: list[Kind] = []
    uncompared: list[Uncompared] = []
    beside: tuple[Any, Any] = a.beside, b.beside
    for kind in (kind for kind in KINDS.values() if kind not in ignored):
        left, right = ([item for item in items if item.kind is kind] for items in beside)
        if not (left or right):
            continue
        if across and kind not in _ACROSS & FORMATS[a.format].held & FORMATS[b.format].held:
            held = kind in FORMATS[a.format].held and kind in FORMATS[b.format].held
            uncompared.append(Uncompared(kind, len(left), len(right), held))
        elif isinstance(kind, OutsideKind):
            if kind is OutsideKind.STRUCTURE:
                left, right = _of_both(left, a, b), _of_both(right, b, a)
            found, moved = _compared_texts(left, right, ignore, (a, b), across=across)
            texts += found
            reordered += [kind] if moved else []
        else:
            ones, others, moved = _unmatched(left, right, _part_key)
            parts += [OutsideChange(one, other) for one, other in _paired_parts(ones, others)]
            reordered += [kind] if moved else []
    return OutsideComparison(tuple(texts), tuple(parts), tuple(reordered), tuple(uncompared))


def _of_both(texts: Sequence[OutsideText], own: Document, other: Document) -> list[OutsideText]:
    """Leave out the levels of headings and items that are in one body alone: the body shows them as a difference."""
    if texts == [text for text in other.outside if text.kind is OutsideKind.STRUCTURE]:
        return list(texts)
    lines, theirs = ({_bare(line) for line in document.text.split("\n")} for document in (own, other))
    only = lines - theirs
    return [text for text in texts if _bare(text.about) not in only or _is_code(text)]


def _is_code(text: OutsideText) -> bool:
    return text.kind is OutsideKind.STRUCTURE and text.text.startswith(CODE_LINE)


def _without_new_code(
    texts: Sequence[OutsideText], own: Document, other: Document, ignore: IgnoreOptions
) -> list[OutsideText]:
    """Leave out the lines of code with words that the other body lacks: there the body shows the difference."""
    if ignore.whitespace or not any(map(_is_code, texts)):
        return [text for text in texts if not _is_code(text)]
    letters = run_together(other.text, ignore)
    same = run_together(own.text, ignore) == letters

    def stands(words: str) -> bool:  # a bracket stands everywhere
        return same or (len(_bare(words)) >= _TELLING and run_together(words, ignore) in letters)

    return [text for text in texts if not _is_code(text) or stands(text.about)]


def _bare(line: str) -> str:
    return "".join(filter(str.isalnum, line))[:_LINE_LETTERS]


def _compared_texts(
    left: Sequence[OutsideText],
    right: Sequence[OutsideText],
    ignore: IgnoreOptions,
    documents: tuple[Document, Document],
    *,
    across: bool,
) -> tuple[list[OutsideChange[OutsideText]], bool]:
    """The texts of one kind that differ, and whether they are the same in another order."""

    def key(text: OutsideText) -> tuple[str, str]:
        about = text.about if text.kind in _NAMED and not across else ""
        return normal(text.text, ignore), normal(about, ignore)

    ones, others, moved = _unmatched(left, right, key)
    ones = _without_new_code(ones, *documents, ignore)
    others = _without_new_code(others, *documents[::-1], ignore)
    if documents[0].text != documents[1].text:
        ones = _beside_headings(ones, documents[0], ignore)
        others = _beside_headings(others, documents[1], ignore)
    if across:
        ones = _not_in_body(ones, documents[1], ignore)
        others = _not_in_body(others, documents[0], ignore)
        moved = False
    moved = moved and OutsideKind.STRUCTURE not in {text.kind for text in left}
    changes = []
    for one, other in _paired_texts(ones, others):
        short = one and other and max(len(one.text), len(other.text)) <= _MOST_REDLINE
        edits = redline(one.text, other.text, ignore=ignore) if one and other and short else ()
        changes.append(OutsideChange(one, other, edits))
    return changes, moved


def _beside_headings(texts: Sequence[OutsideText], document: Document, ignore: IgnoreOptions) -> list[OutsideText]:
    """Leave out the bookmarks and lines of contents that repeat a heading: the body tells what became of it."""
    if not any(text.kind in _MADE_OF_HEADINGS for text in texts):
        return list(texts)
    headings = {run_together(section.heading, ignore) for section in document.sections}
    return [
        text for text in texts if text.kind not in _MADE_OF_HEADINGS or run_together(text.text, ignore) not in headings
    ]


def _not_in_body(texts: Sequence[OutsideText], other: Document, ignore: IgnoreOptions) -> list[OutsideText]:
    """Leave out the texts that stand in the body of the other format, and page numbers, which are no words."""
    worded = [text for text in texts if any(map(str.isalnum, text.text))]
    if not worded:
        return []
    body, squeezed = normal(other.text, ignore), run_together(other.text, ignore)

    def stands(text: str) -> bool:
        letters = run_together(text, ignore)
        if len(letters) >= _LONG:  # blanks may differ
            return letters in squeezed
        return re.search(rf"(?<!\w){re.escape(normal(text, ignore))}(?!\w)", body) is not None

    return [text for text in worded if not stands(text.text)]


def _unmatched(
    left: Sequence[Item], right: Sequence[Item], key: Callable[[Item], object]
) -> tuple[list[Item], list[Item], bool]:
    """What has no equal in the other document, and whether all is equal but for the order."""
    keys = [key(item) for item in left], [key(item) for item in right]
    if keys[0] == keys[1]:
        return [], [], False
    counts = Counter(keys[0]), Counter(keys[1])
    ones = list(_beyond(left, keys[0], counts[0] - counts[1]))
    others = list(_beyond(right, keys[1], counts[1] - counts[0]))
    return ones, others, not ones and not others


def _part_key(part: UnreadPart) -> tuple[str, str]:
    """What tells parts apart: an attached file is known by its name, too."""
    return part.digest, part.about if part.kind is PartKind.ATTACHMENTS else ""


def _beyond(items: Sequence[Item], keys: Sequence[object], surplus: Counter[object]) -> Iterator[Item]:
    """The items without an equal in the other document: of each key the last ones."""
    left = Counter(keys)
    for item, key in zip(items, keys, strict=True):
        if left[key] <= surplus[key]:
            yield item
        left[key] -= 1


def _paired_texts(
    ones: Sequence[OutsideText], others: Sequence[OutsideText]
) -> list[tuple[OutsideText | None, OutsideText | None]]:
    """Pair texts that are versions of one: those that belong to the same, then the most alike; the rest is alone."""
    if len(ones) == len(others) == 1:
        return [(ones[0], others[0])]
    from rapidfuzz import fuzz

    if len(ones) * len(others) > _MOST_RATIOS:
        return list(zip_longest(ones, others))
    ranked = sorted(
        (
            (-(200.0 if one.about and one.about == other.about else fuzz.ratio(one.text, other.text)), abs(i - j), i, j)
            for i, one in enumerate(ones)
            for j, other in enumerate(others)
        ),
        key=lambda found: (found[0], found[1], min(found[2:]), max(found[2:])),
    )
    partners: dict[int, int] = {}
    for ratio, _, i, j in ranked:
        if -ratio >= _ALIKE and i not in partners and j not in partners.values():
            partners[i] = j
    taken = set(partners.values())
    return [
        *((one, others[partners[i]] if i in partners else None) for i, one in enumerate(ones)),
        *((None, other) for j, other in enumerate(others) if j not in taken),
    ]


def _paired_parts(
    ones: Sequence[UnreadPart], others: Sequence[UnreadPart]
) -> list[tuple[UnreadPart | None, UnreadPart | None]]:
    """Pair the parts of the same pages or of the same name; if as many are left in both, in order."""
    rest = list(others)
    paired: list[tuple[UnreadPart | None, UnreadPart | None]] = []
    alone = []
    for one in ones:
        partner = next((other for other in rest if (other.pages, other.about) == (one.pages, one.about)), None)
        if partner is None:
            alone.append(one)
        else:
            rest.remove(partner)
            paired.append((one, partner))
    if len(alone) == len(rest):
        return [*paired, *zip(alone, rest, strict=True)]
    return [*paired, *((one, None) for one in alone), *((None, other) for other in rest)]


def outside_counts(outside: OutsideComparison) -> dict[str, int]:
    """The number of differences of each kind that has some."""
    kinds = [*(change.kind for change in outside.differences), *outside.reordered]
    return {kind.value: count for kind, count in Counter(kinds).items()}


def outside_data(outside: OutsideComparison) -> dict[str, Any]:
    """Build the `outside` object of schema colde.diff/2: at most `MOST_LISTED` texts and parts, all counted."""
    return {
        "same": outside.same,
        "count": outside.changes,
        "digest": outside.digest if outside.changes else None,
        "texts": [
            {**_change_data(change), "redline": edits_data(change.edits)} for change in outside.texts[:MOST_LISTED]
        ],
        "parts": list(map(_change_data, outside.parts[:MOST_LISTED])),
        "reordered": [kind.value for kind in outside.reordered],
        "uncompared": [fields_data(one, "kind a b") for one in outside.uncompared],
    }


def _change_data(change: OutsideChange[OutsideText] | OutsideChange[UnreadPart]) -> dict[str, Any]:
    return {"kind": change.kind.value, "a": change.a and item_data(change.a), "b": change.b and item_data(change.b)}


def item_data(item: OutsideText | UnreadPart) -> dict[str, Any]:
    """Build what JSON says of a text outside or a part besides its kind."""
    return fields_data(item, f"{'text' if isinstance(item, OutsideText) else 'digest'} about pages")
