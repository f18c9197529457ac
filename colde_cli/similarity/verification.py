"""Verify that two documents differ only in what is allowed.

No model takes part: the texts are compared as `Comparison.same_content` compares them, with the allowed parts left out.
Passages that wording alone aligns then show what else changed. Texts outside the body and parts that are not read must
be equal as well, unless their kind is allowed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import groupby, zip_longest
from typing import Any

from colde_cli.documents.document import Document, Section, Span
from colde_cli.documents.outside import KIND_NAMES, PartKind, kinds_of
from colde_cli.documents.passages import Passage
from colde_cli.documents.selection import compiled, is_section, one_or_more, section_pattern
from colde_cli.errors import OptionError, PartlyReadError, called
from colde_cli.similarity.alignment import align
from colde_cli.similarity.outside_changes import (
    NOTHING_OUTSIDE,
    OutsideComparison,
    compare_outside,
    ignored_data,
    outside_data,
)
from colde_cli.similarity.pairs import Alignment, PassagePair, State
from colde_cli.similarity.plain_data import source_data
from colde_cli.similarity.redline import NOTHING_IGNORED, Edit, IgnoreOptions, between, redline
from colde_cli.similarity.renumbering import (
    NOT_RENUMBERED,
    RenumberedClause,
    Renumbering,
    renumbering,
    renumbering_data,
)
from colde_cli.similarity.section_changes import section_changes
from colde_cli.similarity.triage import placed_data, weight
from colde_cli.similarity.typesetting import (
    TypesettingPlace,
    forms_between,
    places_anywhere,
    same_texts,
    typesetting_data,
    typesetting_places,
)

_SLASHES = re.compile(r"/((?:[^/\\]|\\.)+)/(?:((?:[^/\\]|\\.)+)/)?")
_REGULAR = "re:"
OCR = "ocr"
"""Allows that a document was read by OCR."""
_READ_BY_OCR = " read by OCR, "  # in the warning of its reader


@dataclass(frozen=True, slots=True)
class Allowed:
    """What may change.

    Attributes:
        found: whether it names a section, words or a kind of texts or parts of either document.
        changes: edits that it allowed; for a section passages, for a kind texts or parts that differ.
    """

    text: str
    found: bool
    changes: int


@dataclass(frozen=True, slots=True, repr=False)
class Verification:
    """What changed between two documents besides what is allowed.

    Attributes:
        allowed: in the order in which they were given.
        passages: whose changes are not allowed, the weightiest first, with only these edits.
        headings: added, dropped or edited, in the order of A; a heading is written like a passage.
        typesetting: the places where only blanks, hyphens, kinds of quotation marks, or the places of headings differ.
        outside: what differs, or cannot be compared, beside the text, without the kinds that are allowed.
        renumbering: how the numbers differ that a program counts, without those in sections that may change.
    """

    a: Document
    b: Document
    allowed: tuple[Allowed, ...]
    passages: tuple[PassagePair, ...]
    headings: tuple[PassagePair, ...]
    typesetting: tuple[TypesettingPlace, ...]
    ignore: IgnoreOptions = NOTHING_IGNORED
    outside: OutsideComparison = NOTHING_OUTSIDE
    renumbering: Renumbering = NOT_RENUMBERED

    def __repr__(self) -> str:
        paths = f"a={self.a.path[-80:]!r}, b={self.b.path[-80:]!r}"
        return f"Verification({paths}, verified={self.verified}, passages={len(self.passages)})"

    @property
    def verified(self) -> bool:
        """Whether all was compared, and only what is allowed changed."""
        return not (self.passages or self.headings or self.typesetting or self.renumbering) and self.outside.proven

    def to_dict(self) -> dict[str, Any]:
        """Build schema colde.verify/1."""
        a, b = self.a, self.b
        return {
            "schema": "colde.verify/1",
            "a": source_data(a),
            "b": source_data(b),
            "verified": self.verified,
            "allowed": [asdict(rule) for rule in self.allowed],
            "passages": [placed_data(pair, a, b) for pair in self.passages],
            "headings": [placed_data(pair, a, b) for pair in self.headings],
            "typesetting": bool(self.typesetting),
            "typesetting_places": typesetting_data(self.typesetting),
            "outside": outside_data(self.outside),
            "renumbering": renumbering_data(self.renumbering),
            "ignored": ignored_data(a, b, self.ignore),
        }


def verify_documents(
    a: Document, b: Document, allow: str | Sequence[str] = (), ignore: IgnoreOptions = NOTHING_IGNORED
) -> Verification:
    """Find what changed from `a` to `b` besides what is allowed.

    Args:
        allow: what may change. `/PATTERN/` or `re:PATTERN`: words that match a regular expression, in A and in B;
            `/OLD/NEW/`: words of A that match OLD may become words of B that match NEW. A name of `KIND_NAMES`, such as
            "pictures" or "outside", or several with commas: texts and parts of these kinds. Anything else is the
            pattern of a section, as for `select`: all text in the sections of A and of B that it names. Case is
            ignored. "ocr": documents that were read by OCR are compared as they were read.

    Raises:
        OptionError: a pattern is no regular expression.
        PartlyReadError: a document was not read whole.
    """
    wanted = [name for text in one_or_more(allow) for name in _kinds(text)]
    rules = [_rule(text) for text in wanted if text != OCR]
    _check_read(a, b, ocr=OCR in wanted)
    outside = compare_outside(a, b, ignore)
    for rule in (rule for rule in rules if rule.kind):
        left = outside.without([rule.kind])
        rule.changes = outside.changes - left.changes
        outside = left
    same = same_texts(a, b, ignore)
    nothing = Verification(a, b, (), (), (), (), ignore)
    found = nothing if same else _Search(nothing, rules).others()
    allowed = tuple(Allowed(rule.text, rule.found(a, b), rule.changes) for rule in rules)
    return replace(found, allowed=allowed, outside=outside, renumbering=_counted(a, b, rules, ignore))


def _kinds(text: str) -> list[str]:
    """The names of a list of kinds, as `--ignore` takes one; anything else is a name by itself."""
    names = [name.strip() for name in text.split(",")]
    return names if all(name == OCR or name in KIND_NAMES for name in names) else [text]


def _counted(a: Document, b: Document, rules: Sequence[_Rule], ignore: IgnoreOptions) -> Renumbering:
    """The numbers that a program counts and that differ, but those in sections that may change."""
    if not (a.numbers or b.numbers):
        return NOT_RENUMBERED
    compared = renumbering(a, b, align(a, b, None, between(a, b, ignore)), ignore)
    free = [
        [section.span for section in document.sections if any(rule.holds(section) for rule in rules)]
        for document in (a, b)
    ]

    def is_free(clause: RenumberedClause) -> bool:
        sides = zip((clause.a, clause.b), free, strict=True)
        return all(one is None or any(span.start <= one.start < span.end for span in spans) for one, spans in sides)

    return Renumbering(tuple(clause for clause in compared.clauses if clause.counted and not is_free(clause)))


def _check_read(a: Document, b: Document, *, ocr: bool) -> None:
    """Refuse documents of which something was neither read nor accounted for: it may have changed.

    The same bytes are the same, read or not. So are pages that were drawn (`documents.appearance`): what they show is
    compared. What OCR read is taken for read only where `ocr` allows it.
    """
    if a.digest and a.digest == b.digest:
        return
    drawn = _drawn(a) & _drawn(b)
    for document in (a, b):
        report = document.report
        if report.pages and drawn.issuperset(range(1, report.pages + 1)):
            continue
        reasons = [sentence for sentence in report.warnings if sentence not in report.accounted]
        if report.ocr is not None:
            by_ocr = [sentence for sentence in reasons if _READ_BY_OCR in sentence]
            reasons = [sentence for sentence in reasons if sentence not in by_ocr]
            reasons += [] if ocr else [f"{sentence} {called('allow')} {OCR} takes it as read." for sentence in by_ocr]
        if report.unread_values:
            reasons.append("Values of its form could not be read.")
        if report.unreadable_characters:
            reasons.append("Some of its characters could not be read.")
        if not drawn.issuperset(report.pages_without_text):
            reasons.append("It has pages without text, which could not be drawn side by side.")
        if reasons:
            name = document.path or document.title
            raise PartlyReadError(f"{name} cannot be verified: {reasons[0]}")


def _drawn(document: Document) -> set[int]:
    """The pages of a document that were drawn."""
    return {part.pages[0] for part in document.parts if part.kind is PartKind.APPEARANCE and part.pages}


@dataclass(slots=True)
class _Rule:
    """A section or a kind of texts and parts that may change, or words of A that may become words of B.

    Attributes:
        kind: a name of `KIND_NAMES`; "" for none.
        words: patterns of the words of A and of B.
        alone: whether words may also come or go; with two patterns only if the other one matches the empty text.
        changes: see `Allowed`.
    """

    text: str
    section: re.Pattern[str] | None = None
    words: tuple[re.Pattern[str], re.Pattern[str]] | None = None
    alone: bool = True
    kind: str = ""
    changes: int = 0

    def holds(self, section: Section) -> bool:
        return self.section is not None and is_section(self.section, section.kind.value, section.heading)

    def allows(self, edit: Edit, a: str, b: str) -> bool:
        """Whether an edit changes only matches of the rules: without them it is the same in A and in B."""
        if self.words is None:
            return False
        sides = list(zip(self.words, (a, b), (edit.a, edit.b), strict=True))
        for pattern, _, span in sides:
            if not (len(span) or self.alone or pattern.fullmatch("")):
                return False
        left, right = (_beside_matches(*side) for side in sides)
        return left == right

    def found(self, a: Document, b: Document) -> bool:
        if self.words is not None:
            return any(pattern.search(of.text) for pattern, of in zip(self.words, (a, b), strict=True))
        if self.kind:
            kinds = kinds_of([self.kind])
            return any(item.kind in kinds for side in (a, b) for item in side.beside)
        return any(self.holds(section) for document in (a, b) for section in document.sections)


def _beside_matches(pattern: re.Pattern[str], text: str, span: Span) -> str:
    """The signs of a span that are part of no match in the text, without blanks."""
    left = set(range(span.start, span.end))
    for match in pattern.finditer(text):
        left.difference_update(range(*match.span()))
    return "".join("".join(text[place] for place in sorted(left)).split())


def _rule(text: str) -> _Rule:
    """Read a rule as the user wrote it."""
    if not text.removeprefix(_REGULAR).strip():
        raise OptionError(
            f"An empty pattern would allow every section; write {called('allow')} SECTION, /PATTERN/ or /OLD/NEW/."
        )
    named = f"pattern {text!r}"
    if text.startswith(_REGULAR):
        pattern = compiled(text.removeprefix(_REGULAR), named)
        return _Rule(text, words=(pattern, pattern))
    if text in KIND_NAMES:
        return _Rule(text, kind=text)
    if not text.startswith("/"):
        return _Rule(text, section=section_pattern(text))
    slashes = _SLASHES.fullmatch(text)
    if slashes is None:
        raise OptionError(f"{text!r} is no pattern; write /PATTERN/ or /OLD/NEW/, and \\/ for a slash inside.")
    old, new = slashes.groups()
    return _Rule(text, words=(compiled(old, named), compiled(new or old, named)), alone=new is None)


class _Search:
    """The differences between two documents, held against the rules.

    `_undone` holds what is allowed: spans of each text, and the words that undo the change there.
    """

    def __init__(self, nothing: Verification, rules: Sequence[_Rule]) -> None:
        a, b = self._documents = (nothing.a, nothing.b)
        self._nothing = nothing
        self._rules = rules
        self._ignore = between(a, b, nothing.ignore)
        self._forms = forms_between(a, b, nothing.ignore)
        self._free = tuple(
            {section.index for section in document.sections if any(rule.holds(section) for rule in rules)}
            for document in (a, b)
        )
        self._undone: tuple[dict[Span, str], dict[Span, str]] = ({}, {})
        # Stands for a match; a document that held it could pass for one with matches.
        held = {*a.text, *b.text}
        self._sign = next(sign for sign in map(chr, range(0xF0000, 0x10FFFE)) if sign not in held)

    def others(self) -> Verification:
        """Find what is not allowed."""
        a, b = self._documents
        alignment = align(a, b, None, self._ignore)
        passages = [left for pair in self._rejoined(alignment.pairs) if (left := self._not_allowed(pair))]
        changes = section_changes(alignment, a, b, self._ignore)
        heads = [pair for change in changes for pair in zip_longest(change.a, change.b)]
        headings = [left for pair in heads if (left := self._not_allowed(self._heading(*pair)))]
        if self._masked(0) == self._masked(1):
            # The edits of many short passages may look different, but outside the matches nothing changed.
            return self._nothing
        ordered = tuple(sorted(passages, key=lambda pair: -weight(pair)))
        places: tuple[TypesettingPlace, ...] = ()
        if self._remaining(0) != self._remaining(1):
            places = self._typesetting(alignment)
            if not (ordered or headings or places):
                places = places_anywhere(a, b, self._ignore)
        return replace(self._nothing, passages=ordered, headings=tuple(headings), typesetting=places)

    def _typesetting(self, alignment: Alignment) -> tuple[TypesettingPlace, ...]:
        """The places where typesetting alone differs, outside the sections that may change."""
        spans = [
            [document.sections[index].span for index in sorted(free)]
            for document, free in zip(self._documents, self._free, strict=True)
        ]

        def is_free(place: TypesettingPlace) -> bool:
            return all(
                any(span.start <= part.start and part.end <= span.end for span in inside)
                for inside, part in zip(spans, (place.a, place.b), strict=True)
            )

        found = typesetting_places(*self._documents, alignment, self._ignore)
        return tuple(place for place in found if not is_free(place))

    def _rejoined(self, pairs: Sequence[PassagePair]) -> Iterator[PassagePair]:
        """Join passages that stand alone at the same place of both documents, if the rules then allow all edits.

        A short line, such as one to sign on, keeps too few words for the alignment.
        """
        for alone, run in groupby(pairs, key=lambda pair: not (pair.a and pair.b)):
            found = list(run)
            of_a, of_b = ([pair for pair in found if bool(pair.a) is side] for side in (True, False))
            if not alone or len(of_a) != len(of_b):
                yield from found
                continue
            for left, right in zip(of_a, of_b, strict=True):
                joined = replace(left, state=State.EDITED, b=right.b, b_text=right.b_text)
                allowed = all(self._rule_for(edit, joined) for edit in _edits(joined, self._ignore))
                yield from [joined] if allowed else [left, right]

    def _not_allowed(self, pair: PassagePair) -> PassagePair | None:
        """A pair with the changes that no rule allows; None without any."""
        free = {
            passage.section in free
            for passages, free in zip((pair.a, pair.b), self._free, strict=True)
            for passage in passages
        }
        if free == {True}:  # a change in sections that may change
            document = self._documents[0 if pair.a else 1]
            section = document.sections[(pair.a or pair.b)[0].section]
            rule = next(rule for rule in self._rules if rule.holds(section))
            rule.changes += pair.state is not State.SAME
            return None
        if len(free) == 2:  # text came into the sections that may change, or left them
            return replace(pair, state=State.MOVED)
        if pair.state is State.SAME:
            return None
        edits = _edits(pair, self._ignore)
        rules = [self._rule_for(edit, pair) for edit in edits]
        others = tuple(edit for edit, by in zip(edits, rules, strict=True) if by is None)
        for by in rules:
            if by is not None:
                by.changes += 1
        if others == edits:
            return pair
        if others or pair.state is State.MOVED:
            return replace(pair, edits=others, flags=())
        self._undo(pair, edits)
        return None

    def _rule_for(self, edit: Edit, pair: PassagePair) -> _Rule | None:
        return next((rule for rule in self._rules if rule.allows(edit, pair.a_text, pair.b_text)), None)

    def _heading(self, i: int | None, j: int | None) -> PassagePair:
        """The headings of two sections, or of one, as a pair."""
        sides = [
            () if index is None else (_heading_of(document, index),)
            for document, index in zip(self._documents, (i, j), strict=True)
        ]
        a, b = (
            "".join(document.text[found.span.start : found.span.end] for found in side)
            for document, side in zip(self._documents, sides, strict=True)
        )
        state = State.EDITED if i is not None and j is not None else State.ONLY_A if j is None else State.ONLY_B
        edits = redline(a, b, ignore=self._ignore) if state is State.EDITED else ()
        nothing = not edits if state is State.EDITED else not (a or b)
        return PassagePair(State.SAME if nothing else state, sides[0], sides[1], None, edits, (), a, b)

    def _undo(self, pair: PassagePair, edits: Sequence[Edit]) -> None:
        """Note a pair whose changes are all allowed: B gets the words of A; a passage in one only is dropped."""
        left, right = self._undone
        if not pair.b:
            left.update(dict.fromkeys((passage.span for passage in pair.a), ""))
            return
        first, *others = (passage.span for passage in pair.b)
        right[first] = _with_words_of_a(pair, edits) if pair.a else ""
        right.update(dict.fromkeys(others, ""))

    def _remaining(self, side: int) -> str:
        """The text of a document outside the sections that may change, what is allowed undone."""
        document, undone = (self._documents[side], sorted(self._undone[side].items(), key=lambda item: item[0].start))
        pieces: list[str] = []
        for section in document.sections:
            if section.index in self._free[side]:
                continue
            done = section.span.start
            for span, words in undone:
                if section.span.start <= span.start and span.end <= section.span.end:
                    pieces += [document.text[done : span.start], words]
                    done = span.end
            pieces += [document.text[done : section.span.end], "\n\n"]
        return self._forms[side]("".join(pieces))

    def _masked(self, side: int) -> str:
        """The text of a document outside the sections that may change, with a sign in place of every match."""
        document = self._documents[side]
        patterns = [rule.words[side] for rule in self._rules if rule.words is not None and rule.alone]
        pieces = []
        for section in document.sections:
            if section.index not in self._free[side]:
                text = document.section_text(section)
                spans = [Span(*match.span()) for pattern in patterns for match in pattern.finditer(text)]
                pieces.append(_replaced(text, spans, self._sign))
        return self._forms[side]("\n\n".join(pieces))


def _replaced(text: str, spans: Sequence[Span], sign: str) -> str:
    """A text with a sign in place of each span; spans that overlap are one."""
    pieces, done = [], 0
    for span in sorted(spans, key=lambda span: (span.start, -span.end)):
        if span.start >= done and len(span):
            pieces += [text[done : span.start], sign]
        done = max(done, span.end) if len(span) else done
    return "".join([*pieces, text[done:]])


def _heading_of(document: Document, index: int) -> Passage:
    """The heading of a section as if it were a passage."""
    span = document.heading_span(document.sections[index])
    return Passage(-1, index, span, document.pages_of(span))


def _edits(pair: PassagePair, ignore: IgnoreOptions) -> tuple[Edit, ...]:
    """The smallest edits of a pair; one for all words where only one document has them."""
    if not pair.a or not pair.b:
        return (Edit(Span(0, len(pair.a_text)), Span(0, len(pair.b_text))),)
    return redline(pair.a_text, pair.b_text, readable=False, ignore=ignore)


def _with_words_of_a(pair: PassagePair, edits: Sequence[Edit]) -> str:
    """The text of B with the words of A, and the blanks around them, at every edit."""
    pieces, done = [], 0
    for edit in edits:
        old, new = _with_blanks(pair.a_text, edit.a), _with_blanks(pair.b_text, edit.b)
        pieces += [pair.b_text[done : new.start], pair.a_text[old.start : old.end]]
        done = new.end
    return "".join([*pieces, pair.b_text[done:]])


def _with_blanks(text: str, span: Span) -> Span:
    before, after = text[: span.start], text[span.end :]
    return Span(len(before.rstrip()), len(text) - len(after.lstrip()))
