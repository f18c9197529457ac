"""Compare two passages clause by clause: what each commands or permits, and which clauses came or went.

A clause is a sentence here. Sentences are aligned by the words that were kept. Of two aligned sentences the words of
duty and permission are compared as sets: "shall pay" became "either shall or may pay", however much else was reworded.
"""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from colde_cli.documents.chunking import whole_sentence_starts
from colde_cli.documents.document import Span
from colde_cli.documents.passages import stripped
from colde_cli.similarity.contracts import (
    BINDERS,
    BINDING,
    DEADLINE,
    EXCEPTION,
    EXCLUDED,
    FREES,
    GRAVE,
    HEDGES,
    MONEY,
    NEGATION,
    NORMS,
    OBLIGATION,
    OBLIGATIONS,
    WEAK_ALONE,
    ContractTerms,
    binder,
    clause,
    defines,
    group,
)
from colde_cli.similarity.durations import is_duration
from colde_cli.similarity.genre import KEYWORD
from colde_cli.similarity.lead_ins import NO_LEAD_IN, LeadIn, parts_of_list
from colde_cli.similarity.mentions import Flag, FlagKind, Mention, differing
from colde_cli.similarity.quantities import numbers
from colde_cli.similarity.redline import Edit

_LONG = 12
"""A clause of which more words than this came or went is flagged for itself."""
_REQUIREMENT = 3
"""The same, of a sentence of a standard with a key word: a condition that is added changes what conforms."""
_SAME_SENTENCE = 0.5
"""Share of the shorter of two aligned sentences that was kept, at least."""
_FLIP = 4
"""Maximum number of words of an edit in which a lone word of duty is flagged, where texts set no rules."""
_BEGINNING = 12
"""Number of words of a clause that a flag shows."""
_LIMIT = re.compile(
    r"\b(?:un|not )?(?:limited|restricted) to\b|\b(?:unlimited|irrevocabl[ey]|exclusive(?:ly)?)\b", re.I
)
"""Words of scope that weigh within a long edit: "only", "material" and "reasonable" are in too many of them."""
_KEYWORD_GROUPS = {
    **dict.fromkeys(("MUST", "SHALL", "REQUIRED"), "DUTY"),
    **dict.fromkeys(("MUST NOT", "SHALL NOT"), "PROHIBITION"),
    **dict.fromkeys(("SHOULD", "RECOMMENDED"), "ADVICE"),
    **dict.fromkeys(("MAY", "OPTIONAL"), "PERMISSION"),
}
_ACTORS = re.compile(r"(?:[^\W\d_][\w'’.&-]* ){0,5}[^\W\d_][\w'’&-]* $")
"""Who must or may do something: the words before a word of duty, up to a comma or stop."""
_FIELD = re.compile(r"\b(?:required|mandatory|(optional))\b(?! to\b)")
"""What a standard says of its fields and parameters in small letters."""
_IDENTIFIER = re.compile(r"\[[A-Za-z][\w.-]*\]|\b[^\W_]+(?:_[^\W_]+)+\b|\b[a-z]+[A-Z]\w*")
"""A name of a standard's table, field or parameter: "[build-system]", "max_age", "maxAge"."""
_IDIOM = re.compile(r"\bas the case $")
"""What "may" follows where it permits nothing: "as the case may be"."""
_STRENGTH = {"PERMISSION": 0.5, "ADVICE": 1.5}
"""Gravity of a requirement of a standard, by its key word; of a duty or prohibition 2.5."""
_EXCHANGED = {FlagKind.OBLIGATION: 1.8, FlagKind.PARTY: 3.0, FlagKind.SCOPE: 1.0}
"""Gravity of a duty that became a permission, or the like; alone, such a word weighs by its clause."""
_WHOLE = 0.7
"""Gravity of a clause that came or went as a whole, or became another one, beside what it says."""
_POINTS = re.compile(
    r"^\W*(?:please\s+)?(?:see|refer to|read|review|visit)\b"
    r"|^\W*(?:to (?:learn|find out) more|for (?:more|further|additional) (?:information|details))\b"
    r"|\b(?:set (?:forth|out)|described|explained) in (?:sections?|clauses?|articles?|paragraphs?) [\d.]+"
    r"(?: (?:above|below|hereof))?\W*$",
    re.IGNORECASE,
)
"""A sentence that only says where something stands."""
_MOST = 3.0
_WEIGHED = {
    **dict.fromkeys((FlagKind.NAME, FlagKind.TERM, FlagKind.REFERENCE), 0.8),
    **dict.fromkeys((FlagKind.OBLIGATION, FlagKind.PARTY, FlagKind.SCOPE, FlagKind.EXCEPTION), 0.3),
}
"""Share of the gravity of a clause that a name, term, reference or lone word in it has."""
_ADDRESS = re.compile(r"\b(?:suite|street|avenue|road|floor|building|p\.?o\.? box)\b|\b[A-Z]{2} \d{5}\b", re.IGNORECASE)
_COUNTS = 1.0
"""Gravity of a number that is none of an address."""
_DURATION = 2.0
_SHARE_OF_ADDED = 0.4
"""Share of the gravity of a clause that a few words added to it, or taken from it, have beside their own."""
_SAYS = re.compile(r"[^\W\d_]{2,}")
_SAY_NOTHING = frozenset(
    "and or the an any of to in on at for by with from as is are be been such other applicable respective also either"
    " both that this these those its their his her our your it which who each all defined below above herein hereof"
    " thereof hereunder thereunder however therefore otherwise furthermore moreover additionally accordingly then thus"
    " including include includes example without limitation eg ie etc collectively"
    " und oder der die das ein eine des dem den von zu mit et ou le la les un une des du de que y el los las una"
    " per cent percent".split()
)
"""Words that add nothing by themselves to what a clause says."""
_NAMED = re.compile(r"\([^()]*[“\"][^()]*\)")
"""Where a clause names something: (the “Audit Period”)."""
_ADDRESSES = re.compile(r"://|\bwww\b|\S@\S|\w\.\w|(?<!\w)/\w|\w/(?!\w)")
"""Part of the address of a page, or of a person."""
_JOINED = re.compile(r"[,/]|\b(?:or|and|nor|oder|und|ou|et|o|y)\b", re.IGNORECASE)
LeadIns = tuple[LeadIn, LeadIn]
"""What a passage of A and one of B stand under."""
NO_LEAD_INS = NO_LEAD_IN, NO_LEAD_IN
_NEGATED = (
    {"duty", "prohibition"}, {"permission", "prohibition"}, {"duty", "no duty"}, {"advice", "advice against"},
    {"DUTY", "PROHIBITION"}, {"ADVICE", "ADVICE NOT"}, {"PERMISSION", "PERMISSION NOT"},
)  # fmt: skip
"""Groups of which one negates the other."""


@dataclass(frozen=True, slots=True)
class _Clause:
    """A sentence or item of A and its partner in B; one of them is None where only one text has it.

    Attributes:
        lead: the words that it stands under.
    """

    a: Span | None
    b: Span | None
    lead: str = ""


def _sentences(text: str) -> list[Span]:
    starts = whole_sentence_starts(text)
    spans = (stripped(text, start, end) for start, end in itertools.pairwise([*starts, len(text)]))
    return [span for span in spans if len(span)]


def _parts(text: str, above: LeadIn) -> list[tuple[Span, str]]:
    """The sentences of a passage, and the items of those that hold a list, each with the words that it stands under."""
    sentences = _sentences(text)
    return [
        (span, f"{above.words} {lead}".strip() if not above.first or sentence is sentences[0] else lead)
        for sentence in sentences
        for span, lead in parts_of_list(text, sentence)
    ]


def _kept(a: str, b: str, edits: Sequence[Edit]) -> Iterator[tuple[Span, Span]]:
    """The stretches of both texts between the edits."""
    ends = (0, 0)
    for edit in [*edits, Edit(Span(len(a), len(a)), Span(len(b), len(b)))]:
        yield Span(ends[0], edit.a.start), Span(ends[1], edit.b.start)
        ends = (edit.a.end, edit.b.end)


def _aligned(a: str, b: str, edits: Sequence[Edit], leads: LeadIns) -> list[_Clause]:
    """Align the sentences and items of two texts: each with the one that it shares the most with, and that with it."""
    of_left, of_right = _parts(a, leads[0]), _parts(b, leads[1])
    left, right = [span for span, _ in of_left], [span for span, _ in of_right]
    if len(left) == len(right) == 1:
        return [_Clause(left[0], right[0], of_right[0][1])]
    shared: defaultdict[tuple[int, int], int] = defaultdict(int)
    for old, new in _kept(a, b, edits):
        moved = new.start - old.start  # a blank more or less does not matter
        for i, j in itertools.product(_within(left, old), _within(right, new)):
            start = max(left[i].start, right[j].start - moved, old.start)
            shared[i, j] += max(0, min(left[i].end, right[j].end - moved, old.end) - start)
    of_a = {i: max((n, -j) for (k, j), n in shared.items() if k == i) for i in {i for i, _ in shared}}
    of_b = {j: max((n, -i) for (i, k), n in shared.items() if k == j) for j in {j for _, j in shared}}
    partner = {
        i: -j
        for i, (n, j) in of_a.items()
        if -of_b[-j][1] == i and n >= _SAME_SENTENCE * min(len(left[i]), len(right[-j]))
    }
    taken = set(partner.values())
    return [
        *(_Clause(span, right[partner[i]] if i in partner else None, lead) for i, (span, lead) in enumerate(of_left)),
        *(_Clause(None, span, lead) for j, (span, lead) in enumerate(of_right) if j not in taken),
    ]


def _within(spans: Sequence[Span], stretch: Span) -> list[int]:
    return [place for place, span in enumerate(spans) if span.start < stretch.end and stretch.start < span.end]


def clause_flags(
    a: str, b: str, edits: Sequence[Edit], terms: ContractTerms, leads: LeadIns = NO_LEAD_INS
) -> Iterator[Flag]:
    """Flag what two passages command or permit otherwise, and the clauses that came or went in one of them.

    Args:
        edits: all edits between the passages, each as small as possible.
        terms: clauses that came or went are flagged in texts that set rules.
        leads: what the passages stand under.
    """
    for one in _aligned(a, b, edits, leads):
        if one.a is not None and one.b is not None:
            yield from _reworded(a, b, one, edits, terms)
        elif terms.rules:
            text = a[one.a.start : one.a.end] if one.a else b[one.b.start : one.b.end] if one.b else ""
            if _is_new(one, edits, len(text)):
                yield from _alone(text, one.lead, terms, first=one.a is not None)


def _alone(text: str, lead: str, terms: ContractTerms, *, first: bool) -> Iterator[Flag]:
    """Flag a clause, or an item of a list that is one, which only the first or only the second text has."""
    if (not lead or len(_SAYS.findall(text)) > 1) and clause(f"{lead} {text}", terms):
        said = beginning(text)
        kind = FlagKind.TERM if defines(text) and not _rules(text, terms) else FlagKind.CLAUSE
        heavy = gravity(f"{lead} {text}", terms) + _WHOLE * (kind is FlagKind.CLAUSE and not terms.keywords)
        heavy *= terms.keywords or not _POINTS.search(text)
        yield Flag(kind, said if first else "", "" if first else said, round(heavy, 3))


def _rules(text: str, terms: ContractTerms) -> bool:
    """Whether a definition also says what somebody must, may or should do."""
    return any(mention.value in NORMS or mention.value.isupper() for mention in norms(text, terms))


def _is_new(one: _Clause, edits: Sequence[Edit], length: int) -> bool:
    """Whether edits hold most of a sentence without a partner: else it was only cut otherwise, or joined."""
    spans = [edit.a if one.a else edit.b for edit in edits]
    whole = one.a or one.b
    held = sum(max(0, min(span.end, whole.end) - max(span.start, whole.start)) for span in spans) if whole else 0
    return 2 * held > length


def _reworded(a: str, b: str, one: _Clause, edits: Sequence[Edit], terms: ContractTerms) -> Iterator[Flag]:
    """The flags of a sentence that both texts have."""
    assert one.a is not None
    assert one.b is not None
    old, new = one.a, one.b
    inside = [edit for edit in edits if _beside(edit.a, old) and _beside(edit.b, new)]
    if not inside:
        return
    yield from _norms(a, b, old, new, inside, terms)
    if not terms.rules:
        return
    gone, come = _within_clause(a, b, old, new, inside)
    longest = max(gone, key=len), max(come, key=len)
    lost, won = (sum(len(words.split()) for words in side) for side in (gone, come))
    text = f"{one.lead} {a[old.start : old.end]} {b[new.start : new.end]}"
    said = (beginning(longest[0]), "") if lost > won else ("", beginning(longest[1]))
    if terms.keywords:
        if not clause(text, terms):
            return
        if abs(won - lost) > _REQUIREMENT:
            yield Flag(FlagKind.CLAUSE, *said, gravity(text, terms))
        elif _identifiers(a, old) != _identifiers(b, new):
            yield Flag(FlagKind.CLAUSE, beginning(longest[0]), beginning(longest[1]), gravity(text, terms))
        return
    few, many = sorted((lost, won))
    if many > _LONG and 3 * few < many and (clause(text, terms) or _measures(" ".join(longest))):
        yield Flag(FlagKind.CLAUSE, *said, gravity(text, terms))


def _identifiers(text: str, sentence: Span) -> set[str]:
    return {match[0] for match in _IDENTIFIER.finditer(text, sentence.start, sentence.end)}


def _within_clause(a: str, b: str, old: Span, new: Span, edits: Sequence[Edit]) -> tuple[list[str], list[str]]:
    """What each edit takes from a sentence, and what it puts there."""
    return (
        [a[max(edit.a.start, old.start) : min(edit.a.end, old.end)] for edit in edits],
        [b[max(edit.b.start, new.start) : min(edit.b.end, new.end)] for edit in edits],
    )


def added_flags(a: str, b: str, edits: Sequence[Edit], terms: ContractTerms, leads: LeadIns) -> Iterator[Flag]:
    """Flag a few words that one of two clauses has besides the other, where nothing else says what they change."""
    for one in _aligned(a, b, edits, leads):
        if one.a is None or one.b is None:
            continue
        inside = [edit for edit in edits if _beside(edit.a, one.a) and _beside(edit.b, one.b)]
        gone, come = _within_clause(a, b, one.a, one.b, inside)
        text = f"{one.lead} {a[one.a.start : one.a.end]} {b[one.b.start : one.b.end]}"
        added = _added(gone, come)
        if added is not None and clause(text, terms):
            own = gravity(max(gone, key=len) + " " + max(come, key=len), terms)
            heavy = _SHARE_OF_ADDED * gravity(text, terms) + (1 - _SHARE_OF_ADDED) * own
            yield Flag(FlagKind.TERM if defines(text) else FlagKind.CLAUSE, *added, round(heavy, 3))


def _added(gone: Sequence[str], come: Sequence[str]) -> tuple[str, str] | None:
    """The words of the longest edit that adds or takes something, and replaces nothing; None without one.

    Two words that say something are enough, or one that an "or" or a comma joins to others.
    """
    found: list[tuple[int, tuple[str, str]]] = []
    for old, new in zip(gone, come, strict=True):
        if _ADDRESSES.search(f"{old} {new}"):
            continue
        less, more = sorted((_SAYS.findall(_NAMED.sub("", old)), _SAYS.findall(_NAMED.sub("", new))), key=len)
        saying = [word for word in more if word.casefold() not in _SAY_NOTHING]
        joined = _JOINED.search(new if len(new) > len(old) else old)
        if not [word for word in less if word.casefold() not in _SAY_NOTHING] and len(saying) >= (1 if joined else 2):
            found.append((len(saying), (beginning(old), "") if len(old) > len(new) else ("", beginning(new))))
    return max(found)[1] if found else None


def _beside(edit: Span, sentence: Span) -> bool:
    return edit.start <= sentence.end and sentence.start <= edit.end


def gravity(text: str, terms: ContractTerms) -> float:
    """How much a clause weighs beside others that come or go, 0 to 3: by what it commands, grants or frees from."""
    if terms.keywords:
        groups = (mention.value for mention in norms(text, terms) if mention.value.isupper())
        return max((_STRENGTH.get(value.removesuffix(" NOT"), 2.5) for value in groups), default=0.0)
    binders = {group(match[0], BINDERS) for match in binder().finditer(text)}
    said = {group(match[0], OBLIGATIONS) for match in OBLIGATION.finditer(text)}
    kinds = {mention.kind for mention in numbers(text)}
    grave = len({match[0].casefold() for match in GRAVE.finditer(text)}) + 2 * len(binders & FREES)
    more = 0.6 * grave + 0.4 * len(binders - FREES)
    more += 1.2 * bool(EXCLUDED.search(text)) + 0.8 * (FlagKind.AMOUNT in kinds)
    more += 0.5 * (MONEY.search(text) is not None and FlagKind.AMOUNT not in kinds)
    more += 0.4 * bool(kinds & {FlagKind.UNIT, FlagKind.PERCENTAGE}) + 0.6 * bool(DEADLINE.search(text))
    more += 0.4 * ("prohibition" in said)
    more += 0.6 if said & {"duty", "prohibition", "liable"} else 0.3 * bool(said & NORMS or NEGATION.search(text))
    return round(min(_MOST, more), 3)


def _measures(text: str) -> bool:
    """Whether part of a sentence limits it: "limited to $50,000 in each year"."""
    kinds = {mention.kind for mention in numbers(text)} - {FlagKind.NUMBER}
    return bool(kinds or EXCEPTION.search(text) or _LIMIT.search(text))


def _norms(a: str, b: str, old: Span, new: Span, edits: Sequence[Edit], terms: ContractTerms) -> Iterator[Flag]:
    """Flag the words of duty and permission that one of two aligned sentences has less often, or in another place."""
    left = [mention for mention in norms(a, terms) if old.start <= mention.span.start < old.end]
    right = [mention for mention in norms(b, terms) if new.start <= mention.span.start < new.end]
    gone, come = differing(a, b, edits, left, right)
    gone = [mention for mention in gone if any(_at(mention, edit.a) for edit in edits)]
    come = [mention for mention in come if any(_at(mention, edit.b) for edit in edits)]
    for first, second in zip(gone, come, strict=False):
        one, other = _words(a, first), _words(b, second)
        if {first.value, second.value} != HEDGES and not _negates(first, second, one, other):
            yield Flag(FlagKind.OBLIGATION, one, other)
    if terms.rules and not terms.keywords and [one.value for one in left] == [one.value for one in right]:
        for first, second in zip(left, right, strict=True):
            yield from _actors(a[old.start : first.span.start], b[new.start : second.span.start], terms)
    for mention in gone[len(come) :]:
        if _counts_alone(a, mention, [edit.a for edit in edits], terms):
            yield Flag(FlagKind.OBLIGATION, _words(a, mention), "")
    for mention in come[len(gone) :]:
        if _counts_alone(b, mention, [edit.b for edit in edits], terms):
            yield Flag(FlagKind.OBLIGATION, "", _words(b, mention))


def _actors(a: str, b: str, terms: ContractTerms) -> Iterator[Flag]:
    """Flag somebody who is joined to those who must or may do something in one text alone: "you and we may"."""
    of_a, of_b = (match[0].strip() if (match := _ACTORS.search(text)) else "" for text in (a, b))
    few, many = sorted((of_a, of_b), key=len)
    joined = re.fullmatch(rf"(?:(.+) (?:and|or) )?{re.escape(few)}(?: (?:and|or) (.+))?", many) if few != many else None
    more = (joined[1] or joined[2]) if few and joined else ""
    if more and (more != more.casefold() or terms.party_pattern.search(more)):
        yield Flag(FlagKind.PARTY, of_a, of_b)


def norms(text: str, terms: ContractTerms) -> list[Mention]:
    """Find the words of duty and permission; a capitalised "May" is a month, or begins a question.

    In a standard key words in capitals mean something else than the same words in small letters.
    """
    found = []
    if terms.keywords:
        for match in KEYWORD.finditer(text):
            phrase = " ".join(match[0].split())
            value = _KEYWORD_GROUPS.get(phrase) or f"{_KEYWORD_GROUPS[phrase.removesuffix(' NOT')]} NOT"
            found.append(Mention(FlagKind.OBLIGATION, value, Span(*match.span())))
        found += [
            Mention(FlagKind.OBLIGATION, "optional" if match[1] else "required", Span(*match.span()))
            for match in _FIELD.finditer(text)
        ]
    keywords = {mention.span.start for mention in found}
    found += [
        Mention(FlagKind.OBLIGATION, group(match[0], OBLIGATIONS), Span(*match.span()))
        for match in OBLIGATION.finditer(text)
        if match[0] not in ("May", "Will")
        and match.start() not in keywords
        and not _IDIOM.search(text, 0, match.start())
    ]
    return sorted(found, key=lambda mention: mention.span.start)


def _negates(first: Mention, second: Mention, one: str, other: str) -> bool:
    """Whether a negation alone came or went: it is a flag by itself."""
    a, b = set(one.casefold().split()), set(other.casefold().split())
    return {first.value, second.value} in _NEGATED and (a < b or b < a)


def _counts_alone(text: str, mention: Mention, edits: Sequence[Span], terms: ContractTerms) -> bool:
    """Whether a word of duty or permission matters that has no counterpart in the other sentence."""
    if terms.keywords:
        binds = mention.value.isupper() or mention.value in ("optional", "required")
    else:
        binds = mention.value in (BINDING if terms.rules else ("duty",))
        binds = binds and _words(text, mention).casefold() not in WEAK_ALONE
    most = _LONG if terms.rules and (mention.value.isupper() or not terms.keywords) else _FLIP
    return binds and any(_at(mention, edit) and len(text[edit.start : edit.end].split()) <= most for edit in edits)


def _at(mention: Mention, edit: Span) -> bool:
    """Whether an edit changes a mention, or puts a word right before or behind it, such as "not"."""
    return edit.start <= mention.span.end + 1 and mention.span.start <= edit.end + 1


def _words(text: str, mention: Mention) -> str:
    return text[mention.span.start : mention.span.end]


def one_sided_flags(a: str, b: str, terms: ContractTerms, lead: LeadIn = NO_LEAD_IN) -> tuple[Flag, ...]:
    """Flag a passage of only one document, if it is a clause of a text that sets rules; the other text is ""."""
    return tuple(_alone(a or b, lead.words, terms, first=bool(a))) if terms.rules else ()


def rewritten_flags(a: str, b: str, edits: Sequence[Edit], terms: ContractTerms) -> tuple[Flag, ...]:
    """Flag a clause that says in other words what another one said, if most words of both changed."""
    if not terms.rules or not (clause(a, terms) or clause(b, terms)):
        return ()
    lost = sum(len(a[edit.a.start : edit.a.end].split()) for edit in edits)
    won = sum(len(b[edit.b.start : edit.b.end].split()) for edit in edits)
    if 2 * lost < len(a.split()) and 2 * won < len(b.split()):
        return ()
    heavy = max(gravity(a, terms), gravity(b, terms)) + _WHOLE * (not terms.keywords)
    return (Flag(FlagKind.CLAUSE, beginning(a), beginning(b), round(heavy, 3)),)


def weighed(flag: Flag, a: str, b: str, terms: ContractTerms) -> Flag:
    """Give a changed name, term or reference, or a word that came or went, the gravity of its clause.

    A word that took the place of another weighs more. A changed duration of a text that sets rules weighs nearly as
    much as an amount, a number of an address next to nothing.
    """
    if terms.rules and flag.kind in (FlagKind.NUMBER, FlagKind.UNIT) and is_duration(f"{flag.a} {flag.b}"):
        return replace(flag, gravity=_DURATION)
    if flag.a and flag.b and flag.kind in _EXCHANGED:
        return replace(flag, gravity=_EXCHANGED[flag.kind])
    rules = terms.rules and not terms.keywords and flag.kind in _WEIGHED and not flag.gravity
    if not rules and flag.kind is not FlagKind.NUMBER:
        return flag
    sentences = [
        text[span.start : span.end]
        for text, words in ((a, flag.a), (b, flag.b))
        for span in _sentences(text)
        if words and words in text[span.start : span.end]
    ]
    if not rules:
        return replace(flag, gravity=0.0 if any(map(_ADDRESS.search, sentences)) else _COUNTS)
    return replace(
        flag, gravity=max((gravity(sentence, terms) for sentence in sentences), default=0.0) * _WEIGHED[flag.kind]
    )


def beginning(text: str) -> str:
    """The first words of a clause, as they are written."""
    words = list(re.finditer(r"\S+", text))[:_BEGINNING]
    return text[words[0].start() : words[-1].end()] if words else ""
