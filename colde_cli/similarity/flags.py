"""Flag the small edits that cost money: a party exchanged, a duty weakened, a date or an amount changed.

Precision comes first. Only a short edit is flagged, and only if the whole passages differ in it: a number that only
changed its place is no difference. Numbers of tables, figures, list items, footnotes and citations are not flagged,
because they follow from other edits; nor are numbers in formulas, along the axis of a chart, or in a new name ("GA4").
How numbers are written is in `numbers` and `quantities`; words of duty and scope, parties and defined terms are in
`contracts`; what is compared sentence by sentence is in `clauses`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from colde_cli.documents.document import Span
from colde_cli.similarity.clauses import NO_LEAD_INS, LeadIns, added_flags, clause_flags, weighed
from colde_cli.similarity.contracts import (
    BINDERS,
    BOUNDS,
    COMPARISON,
    COMPARISONS,
    DEADLINE,
    EXCEPTION,
    EXCEPTIONS,
    NEGATION,
    NO_TERMS,
    QUANTIFIER,
    QUANTIFIERS,
    SCOPE,
    SCOPES,
    ContractTerms,
    binder,
    group,
    is_speaker,
    party_value,
    term_value,
)
from colde_cli.similarity.durations import is_duration
from colde_cli.similarity.mentions import Flag, FlagKind, Mention, differing, missing, touches
from colde_cli.similarity.numbers import MONTHS, NUMERAL, SPELLED, mostly_numbers, names_something, other_row
from colde_cli.similarity.quantities import COUNT, numbers
from colde_cli.similarity.redline import NOTHING_IGNORED, Edit, IgnoreOptions, normal, redline

SHORT_EDIT = 12
"""Maximum number of words that a short edit deletes or inserts. A longer one is a new sentence, which people read."""

_FLIP = 4
"""Maximum number of words of an edit in which a duty, negation, scope, comparison, party or term is flagged."""
_EXCEPTION_EDIT = 40
"""Maximum number of words of an edit that is flagged as an exception."""
_EXCEPTION_BEGINS = 3
"""Maximum number of words before "except" in such an edit."""

_REFERENCE = re.compile(
    r"\b(?:sections?|articles?|clauses?|paragraphs?|subsections?|schedules?|exhibits?|annex|appendix|rules?|abschnitt|artikel"
    r"|ziffer|absatz|anlage|annexe|artículos?|sección|cláusulas?|anexo)\.?\s+"
    r"(?P<number>\d+(?:\.\d+)*[A-Za-z]?(?:\s?\([a-z0-9]+\))*|(?-i:[A-Z]|[IVX]+)(?![\w'’]))|§+\s*(?P<sign>\d+[\w.]*)",
    re.IGNORECASE,
)
_GOES_ON = re.compile(r",|\s+[a-z]")
_NAME = re.compile(r"\b[A-Z][^\W\d_]*[a-z][^\W\d_]*(?:[-'’ ][A-Z][^\W\d_]*[a-z][^\W\d_]*)*")
_NOT_NAMES = set(
    "a an the this that these those it he she we they i you in on at of for to by with from as if when where while "
    "and or but so yet no not all any each every some such our their its his her my your there here who what which how "
    "section table figure appendix chapter article clause part step mr mrs ms dr".split()
) | set(SPELLED)
_COUNTED = re.compile(r"\)?\s[a-z]{3}|\)?[.,;:]?$")
"""What follows a number that counts something: "24 pumps"; or the end of the text."""
_MONTH = re.compile(MONTHS, re.IGNORECASE)
_SENTENCE_ENDS = re.compile(r"[.!?;:]\s")
_CAPITAL_BEFORE = re.compile(r"\b[A-Z][\w&]*,? $")
_CAPITAL_AFTER = re.compile(r" [A-Z][a-z]")
_WITHIN = re.compile(r"[\w,;] $")
_STEP = 3
"""Maximum number of words over which a negation is moved without another meaning: "is not now", "is now not"."""
_FIGURE = re.compile(NUMERAL)
_SECTION = re.compile(r"(?!\d{1,3}(?:\.\d{3})+$)\d+(?:\.\d+){2,}")
"""The number of a section or of a version, which counts nothing; "1.000.000" is a million."""
_OWNS = re.compile(r"our|your|.*['’]s?", re.IGNORECASE)
_AROUND_PARTY = set("the a an and or by of to each either both any such its".split())


def flags(
    a: str,
    b: str,
    ignore: IgnoreOptions = NOTHING_IGNORED,
    terms: ContractTerms = NO_TERMS,
    leads: LeadIns = NO_LEAD_INS,
) -> tuple[Flag, ...]:
    """Find the differences that matter between two similar texts, the weightiest kind first.

    Args:
        ignore: the differences to ignore. With numbers ignored, a changed unit or currency is still flagged.
        leads: what the texts stand under.
    """
    if b < a:  # so that a difference has the same flags whichever text comes first
        return tuple(replace(flag, a=flag.b, b=flag.a) for flag in flags(b, a, ignore, terms, leads[::-1]))
    all_edits = redline(a, b, readable=False, ignore=ignore)
    edits = [edit for edit in all_edits if _short(a, edit.a) and _short(b, edit.b) and not is_case(a, b, edit)]
    if not all_edits:
        return ()
    # A unit and the number next to it are one edit only where numbers count.
    near = edits
    if ignore.numbers:
        fine = redline(a, b, readable=False, ignore=replace(ignore, numbers=False))
        near = [edit for edit in fine if _short(a, edit.a) and _short(b, edit.b)]
    flips = [edit for edit in edits if _short(a, edit.a, _FLIP) and _short(b, edit.b, _FLIP)]
    found = [*_values(a, b, near, ignore)]
    if not (mostly_numbers(a) or mostly_numbers(b)):  # a legend of a chart says "only", too
        flipped = _Changed(a, b, flips)
        duties = list(clause_flags(a, b, all_edits, terms, leads))
        negations = (flag for flag in _negations(flipped) if not any(_holds(duty, flag) for duty in duties))
        found += [*duties, *_phrases(flipped, terms), *negations, *_exceptions(a, b, all_edits)]
        if not ignore.numbers:
            found += _Changed(a, b, edits).compared(references, _never)
        if not terms.keywords:  # a standard has no parties
            found += (flag for flag in _terms(flipped, terms) if flag.kind not in {duty.kind for duty in duties})
    found = _with_names(found, _names(a, b, edits, ignore, found))
    if not found and terms.rules and not terms.keywords:
        found += added_flags(a, b, all_edits, terms, leads)
    order = {kind: place for place, kind in enumerate(FlagKind)}
    found = [weighed(flag, a, b, terms) for flag in found]
    return tuple(sorted(dict.fromkeys(found), key=lambda flag: order[flag.kind]))


def is_case(a: str, b: str, edit: Edit) -> bool:
    """Whether an edit changes capital and small letters alone."""
    return a[edit.a.start : edit.a.end].casefold() == b[edit.b.start : edit.b.end].casefold()


def _holds(duty: Flag, negation: Flag) -> bool:
    """Whether a flag on a duty shows a negation, too: "must not" became "may"."""
    if duty.kind is not FlagKind.OBLIGATION:
        return False
    sides = ((negation.a, duty.a), (negation.b, duty.b))
    return all(words.casefold() in shown.casefold().split() for words, shown in sides if words)


def _short(text: str, span: Span, limit: int = SHORT_EDIT) -> bool:
    return len(text[span.start : span.end].split()) <= limit


# Numbers


def _values(a: str, b: str, edits: Sequence[Edit], ignore: IgnoreOptions) -> Iterator[Flag]:
    left, right = numbers(a), numbers(b)
    if ignore.numbers:
        left, right = _units_alone(left), _units_alone(right)
    gone, new = differing(a, b, edits, left, right)
    rows = mostly_numbers(a) or mostly_numbers(b)
    for edit in edits:
        if other_row(_line(a, edit.a), _line(b, edit.b)):
            continue
        deleted, inserted = _changed(gone, edit.a), _changed(new, edit.b)
        gone = [mention for mention in gone if mention not in deleted]
        new = [mention for mention in new if mention not in inserted]
        for first, second in zip(deleted, inserted, strict=False):
            yield Flag(_kind(first, second), _words_of(a, first), _words_of(b, second))
        if ignore.numbers or rows:
            continue
        for alone in deleted[len(inserted) :]:
            if _counts_alone(a, b, alone):
                yield Flag(_kind_alone(alone), _words_of(a, alone), "")
        for alone in inserted[len(deleted) :]:
            if _counts_alone(b, a, alone):
                yield Flag(_kind_alone(alone), "", _words_of(b, alone))


def _changed(mentions: Sequence[Mention], edit: Span) -> list[Mention]:
    """The mentions that an edit changes; after a bare number it adds no unit or rate."""
    return [mention for mention in mentions if touches(mention.span, edit, behind=mention.kind is not FlagKind.NUMBER)]


def _line(text: str, span: Span) -> str:
    """The line of a text in which a span begins."""
    return text[text.rfind("\n", 0, span.start) + 1 :].partition("\n")[0]


def _units_alone(mentions: Sequence[Mention]) -> tuple[Mention, ...]:
    """Reduce the value of each mention to its unit, currency or per cent sign."""
    return tuple(
        replace(mention, value="" if mention.kind is FlagKind.DATE else COUNT.sub("0", mention.value))
        for mention in mentions
    )


def _kind(first: Mention, second: Mention) -> FlagKind:
    """Find the kind of two differing mentions; it is the unit only if the number is the same."""
    kinds = {first.kind, second.kind}
    if kinds == {FlagKind.UNIT} and _amount(first.value) == _amount(second.value):
        return FlagKind.UNIT
    for kind in (FlagKind.DATE, FlagKind.AMOUNT, FlagKind.PERCENTAGE):
        if kind in kinds:
            return kind
    return FlagKind.NUMBER


def _kind_alone(mention: Mention) -> FlagKind:
    return FlagKind.NUMBER if mention.kind is FlagKind.UNIT else mention.kind


def _amount(value: str) -> str:
    match = re.match(f"-?{NUMERAL}", value) or re.match("|".join(SPELLED), value)
    return match[0] if match else value


def _counts_alone(text: str, other: str, mention: Mention) -> bool:
    """Whether a number without a counterpart in the other text matters.

    The other text may have it as a label ("§ 12.212"), which is no mention.
    """
    words = text[mention.span.start : mention.span.end]
    here, there = _FIGURE.findall(text), _FIGURE.findall(other)
    if mention.kind is FlagKind.NUMBER and (
        all(here.count(figure) <= there.count(figure) for figure in _FIGURE.findall(words))
        or _SECTION.fullmatch(words)
        or names_something(text, mention.span)
        or not _COUNTED.match(text[mention.span.end :])
    ):
        return False
    if mention.kind is FlagKind.UNIT and "-" not in words and is_duration(words):  # "six months" binds as "6 months"
        return True
    return any(character.isdigit() for character in words) and words not in ("0", "1") and not words.startswith("00")


# Duties, scope and comparisons

Alone = Callable[[str, Mention], bool]
"""Whether a mention of a text matters that has no counterpart in the other text."""


@dataclass(frozen=True, slots=True)
class _Changed:
    """Two texts and some of the edits between them."""

    a: str
    b: str
    edits: Sequence[Edit]

    def compared(self, find: Callable[[str], Sequence[Mention]], alone: Alone) -> Iterator[Flag]:
        """Flag the mentions in which both texts differ."""
        gone, new = differing(self.a, self.b, self.edits, find(self.a), find(self.b))
        return self.exchanged(gone, new, alone)

    def exchanged(self, gone: Sequence[Mention], new: Sequence[Mention], alone: Alone) -> Iterator[Flag]:
        """Flag edits in which one mention replaced another; or in which one came or went, if it counts `alone`."""
        for edit in self.edits:
            deleted = [mention for mention in gone if touches(mention.span, edit.a)]
            inserted = [mention for mention in new if touches(mention.span, edit.b)]
            if deleted and inserted:
                yield Flag(deleted[0].kind, _words_of(self.a, deleted[0]), _words_of(self.b, inserted[0]))
                continue
            if counts := [mention for mention in deleted if alone(self.a, mention)]:
                yield Flag(counts[0].kind, _words_of(self.a, counts[0]), "")
            if counts := [mention for mention in inserted if alone(self.b, mention)]:
                yield Flag(counts[0].kind, "", _words_of(self.b, counts[0]))

    def edited_at(self, text: str) -> list[Span]:
        """The spans of the edits in one of the two texts."""
        return [edit.a for edit in self.edits if text is self.a] + [edit.b for edit in self.edits if text is self.b]


def _phrases(changed: _Changed, terms: ContractTerms) -> Iterator[Flag]:
    if terms.rules and not terms.keywords:
        yield from changed.compared(partial(_binders, terms), _always)
    for kind, pattern, groups, alone in (
        (FlagKind.SCOPE, SCOPE, SCOPES, _always),
        (FlagKind.SCOPE, QUANTIFIER, QUANTIFIERS, _never),
        (FlagKind.COMPARISON, COMPARISON, COMPARISONS, partial(_bounds, terms)),
    ):
        yield from changed.compared(partial(_mentions, kind, pattern, groups), alone)


def _mentions(kind: FlagKind, pattern: re.Pattern[str], groups: Mapping[str, str], text: str) -> list[Mention]:
    """Find phrases with their groups; words within a name are none, such as "Limited" in "Osei Brewing Limited"."""
    matches = (match for match in pattern.finditer(text) if not _in_name(text, match))
    return [Mention(kind, group(match[0], groups), Span(*match.span())) for match in matches]


def _in_name(text: str, match: re.Match[str]) -> bool:
    """Whether a word with a capital stands beside another one within a sentence."""
    words = match[0]
    if not words[0].isupper() or words.isupper():
        return False
    return _CAPITAL_BEFORE.search(text, 0, match.start()) is not None or (
        _CAPITAL_AFTER.match(text, match.end()) is not None and _WITHIN.search(text, 0, match.start()) is not None
    )


def _binders(terms: ContractTerms, text: str) -> list[Mention]:
    """Find words that bind or free; not those that are defined terms: "the Release"."""
    found = _mentions(FlagKind.OBLIGATION, binder(), BINDERS, text)
    return [mention for mention in found if text[mention.span.start : mention.span.end] not in terms.defined]


def _always(_: str, __: Mention) -> bool:
    return True


def _never(_: str, __: Mention) -> bool:
    return False


def _bounds(terms: ContractTerms, text: str, mention: Mention) -> bool:
    """Whether a limit counts that came or went: one of a number, or in a text that sets rules of time."""
    if terms.rules and (mention.value == "at once" or DEADLINE.fullmatch(text, mention.span.start, mention.span.end)):
        return True
    return mention.value in BOUNDS and re.match(r"\W*\w*\d|\s*[$€£]", text[mention.span.end :]) is not None


def _negations(changed: _Changed) -> Iterator[Flag]:
    """Flag added and deleted negations, if one text has more of them or if another phrase has them now."""
    left, right = (
        [
            Mention(FlagKind.NEGATION, "", Span(*match.span()))
            for match in NEGATION.finditer(text)
            if not match[0].startswith("Kein")  # also a name
        ]
        for text in (changed.a, changed.b)
    )
    gone, new = _moved(changed.a, changed.edits, left, right)
    if len(left) != len(right):
        gone, new = (left, new) if len(left) > len(right) else (gone, right)
    yield from changed.exchanged(gone, new, _always)


def _moved(
    text: str, edits: Sequence[Edit], left: Sequence[Mention], right: Sequence[Mention]
) -> tuple[list[Mention], list[Mention]]:
    """Find the negations that an edit by itself took from one phrase of the first text, or gave to another."""
    gone = [(edit.a, mention) for edit in edits if not len(edit.b) for mention in left if mention.span == edit.a]
    new = [(edit.a, mention) for edit in edits if not len(edit.a) for mention in right if mention.span == edit.b]
    if not gone or not new:
        return [], []
    from_afar, to_afar = (
        [mention for place, mention in ones if not any(_near(text, place, other) for other, _ in others)]
        for ones, others in ((gone, new), (new, gone))
    )
    return from_afar, to_afar


def _near(text: str, one: Span, other: Span) -> bool:
    """Whether few words of one sentence are between two places."""
    first, second = sorted((one, other), key=lambda span: span.start)
    between = text[first.end : second.start]
    return len(between.split()) <= _STEP and not _SENTENCE_ENDS.search(between)


def _exceptions(a: str, b: str, edits: Sequence[Edit]) -> Iterator[Flag]:
    """Flag edits that begin with "except", "unless", "other than" ...; these may be long."""
    left, right = (_mentions(FlagKind.EXCEPTION, EXCEPTION, EXCEPTIONS, text) for text in (a, b))
    gone, new = missing(left, right), missing(right, left)
    for edit in edits:
        if _short(a, edit.a, _EXCEPTION_EDIT) and _short(b, edit.b, _EXCEPTION_EDIT):
            deleted, inserted = _from_exception(a, edit.a, gone), _from_exception(b, edit.b, new)
            if deleted or inserted:
                yield Flag(FlagKind.EXCEPTION, deleted, inserted)


def _from_exception(text: str, edit: Span, exceptions: Sequence[Mention]) -> str:
    """The words of an edit from the exception on that stands at its beginning; "" without one."""
    for span in (mention.span for mention in exceptions if touches(mention.span, edit)):
        if _short(text, Span(edit.start, max(edit.start, span.start)), _EXCEPTION_BEGINS):
            return text[span.start : max(edit.end, span.end)].strip()
    return ""


# References, parties, terms and names


def references(text: str) -> tuple[Mention, ...]:
    """Find references to sections, clauses, schedules ...: "Section 4.2"; not the headings of these.

    At the beginning of a text, words in lower case or a comma after the number tell a reference from a heading.
    """
    return tuple(
        Mention(FlagKind.REFERENCE, re.sub(r"\s", "", match["number"] or match["sign"]), Span(*match.span()))
        for match in _REFERENCE.finditer(text)
        if text[: match.start()].strip() or _GOES_ON.match(text, match.end())
    )


def _terms(changed: _Changed, terms: ContractTerms) -> Iterator[Flag]:
    """Flag exchanged parties and defined terms."""

    def parties(text: str) -> list[Mention]:
        matches = terms.party_pattern.finditer(text)
        return [Mention(FlagKind.PARTY, party_value(match[0]), Span(*match.span())) for match in matches]

    def defined(text: str) -> list[Mention]:
        matches = terms.term_pattern.finditer(text)
        return [Mention(FlagKind.TERM, term_value(match[0]), Span(*match.span())) for match in matches]

    def is_all(text: str, mention: Mention) -> bool:
        """Whether a mention is all that an edit deletes or inserts, apart from articles and conjunctions."""
        span = next((span for span in changed.edited_at(text) if touches(mention.span, span)), None)
        if span is None:
            return False
        rest = text[span.start : mention.span.start] + " " + text[mention.span.end : span.end]
        return not set(re.findall(r"\w+", rest.casefold())) - _AROUND_PARTY

    def is_cut(text: str, mention: Mention) -> bool:
        """Whether an edit takes a word from a term of several words, or adds one: "Confidential Information"."""
        inside = (
            len(span) and mention.span.start <= span.start and span.end <= mention.span.end
            for span in changed.edited_at(text)
        )
        return " " in mention.value and any(inside)

    for flag in changed.compared(parties, is_all):
        speakers, values = [is_speaker(words) for words in (flag.a, flag.b)], {party_value(flag.a), party_value(flag.b)}
        is_renamed = any(speakers) and bool(values & terms.renamed)
        # "our Users" became "the Users": one word stands before a noun, the other is one.
        owns = {_OWNS.fullmatch(words) is None for words in (flag.a, flag.b) if words}
        is_renamed = is_renamed or len(owns) > 1
        if not is_renamed and ((flag.a and flag.b) or not (any(speakers) or "party" in values)):
            yield flag
    yield from changed.compared(defined, is_cut)


def _names(a: str, b: str, edits: Sequence[Edit], ignore: IgnoreOptions, found: Sequence[Flag]) -> list[Flag]:
    """Find exchanged names, apart from words that another flag already shows."""
    whole_a, whole_b = normal(a, ignore), normal(b, ignore)
    shown = " ".join(f"{flag.a} {flag.b}" for flag in found)
    names = []
    for edit in edits:
        old, new = _name(a, edit.a), _name(b, edit.b)
        differs = old and new and _rarer(old, whole_a, whole_b, ignore) and _rarer(new, whole_b, whole_a, ignore)
        if differs and not (old in shown and new in shown):
            names.append(Flag(FlagKind.NAME, old, new))
    return names


def _with_names(found: Sequence[Flag], names: Sequence[Flag]) -> list[Flag]:
    """Join to each party or term that came or went alone the name in its place; add the other names."""
    joined, left = list(found), list(names)
    for place, flag in enumerate(joined):
        if flag.kind in (FlagKind.PARTY, FlagKind.TERM) and not (flag.a and flag.b):
            other = next((name for name in left if flag.a == name.a or flag.b == name.b), None)
            if other is not None:
                joined[place] = Flag(flag.kind, other.a, other.b)
                left.remove(other)
    return [*joined, *left]


def _rarer(name: str, here: str, there: str, ignore: IgnoreOptions) -> bool:
    """Whether a name occurs less often in the other text: it did not only change its place."""
    known = normal(name, ignore)
    return here.count(known) > there.count(known)


def _name(text: str, span: Span) -> str:
    """Return the words of an edit if they are a name, else "".

    A single word at the beginning of a sentence is no name: it has a capital anyway.
    """
    words = text[span.start : span.end]
    match = _NAME.fullmatch(words)
    if not match or {word.casefold() for word in words.split()} & _NOT_NAMES or _MONTH.fullmatch(words):
        return ""
    if re.match(r":\w", text[span.end :]):  # a prefix, as in "Geo:Asia"
        return ""
    before = text[: span.start].rstrip()
    begins = not before or before[-1] in ".!?:;•-\"'“‘"
    return "" if begins and " " not in words else words


def _words_of(text: str, mention: Mention) -> str:
    """The words of a mention; with the opening bracket before it if it has the closing one."""
    start, end = mention.span.start, mention.span.end
    closes = any(text.find(sign, start, end) > 0 for sign in ")]")
    return text[start - (closes and text[max(0, start - 1) : start] in ("(", "[")) : end]
