"""Change real documents in known ways: reword text, plant a passage into another document, plant edits of six kinds.

Used by planted.py and alignment.py; nothing here is run by itself. All draws follow from a seed.
`reword` needs no library and no download: synonyms from a list, "A and B" as "B and A", a leading clause put last,
numbers as words or figures, adverbs dropped. It keeps the meaning, not always good English.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from itertools import pairwise
from typing import Literal

from colde_cli.documents.chunking import sentence_starts
from colde_cli.documents.document import Document, Part, Section, Span, assemble
from colde_cli.documents.passages import Passage, passages
from colde_cli.similarity.mentions import Mention
from colde_cli.similarity.quantities import numbers

_SYNONYMS = dict(
    item.split(": ")
    for item in """
about: around; according to: following; additional: further; agreement: contract; allow: permit;
allows: permits; also: in addition; although: though; always: at all times; among: amid;
analysis: examination; and: as well as; annual: yearly; any: any such; applicant: claimant;
approach: method; appropriate: suitable; area: region; assist: help; based on: founded on; because: since;
become: turn into; began: started; begin: start; believed: thought; built: constructed; but: yet;
calculate: compute; carried out: performed; caused: produced; change: alteration; changes: alterations;
claim: demand; claims: demands; complete: full; comprises: includes; comprising: including;
concerning: regarding; conducted: performed; consider: think; considered: thought; contain: hold;
contains: includes; correct: right; cost: price; countries: nations; country: nation; court: tribunal;
currently: at present; decision: ruling; demonstrate: show; demonstrated: showed; described: presented;
detected: noticed; determine: establish; determined: established; developed: devised; device: apparatus;
different: distinct; difficult: hard; due to: because of; during: in the course of; each: every;
effect: influence; effects: influences; embodiment: variant; employ: use; employed: used;
enough: sufficient; entire: whole; especially: in particular; evidence: proof; examine: study;
example: instance; expense: cost; expenses: costs; famous: well-known; fast: quick; first: initial;
following: subsequent; for example: for instance; found: observed; frequently: often; further: additional;
generate: produce; given: specified; goal: aim; group: set; groups: sets; high: elevated; higher: greater;
however: nevertheless; huge: enormous; identified: recognised; identify: recognise;
important: significant; in addition: besides; in order to: to; include: comprise; increase: rise;
increased: rose; indicate: suggest; indicated: suggested; information: details; invention: innovation;
is not: isn't; issue: question; issues: questions; known: established; large: big; later: afterwards;
lead to: bring about; level: degree; levels: degrees; located: situated; low: reduced; lower: smaller;
made: produced; main: principal; many: numerous; may: can; meeting: gathering; method: procedure;
more than: over; moreover: furthermore; must: has to; need: require; needs: requires; new: novel;
not only: not just; number of: set of; obligation: duty; obligations: duties; observed: noted;
obtain: get; obtained: got; occur: happen; occurs: happens; often: frequently; only: just; part: portion;
particular: specific; party: side; people: persons; perform: carry out; performed: carried out;
period: span; possible: feasible; presence: existence; present: current; primarily: mainly;
prior to: before; problem: difficulty; produce: generate; produced: generated; property: asset;
propose: suggest; provide: give; provided: given; provides: gives; purchase: buy; purpose: aim;
reason: ground; receive: get; received: got; regarding: concerning; relevant: pertinent; remain: stay;
reported: stated; required: needed; respondent: defendant; response: reply; result: outcome;
results: outcomes; role: function; said: stated; same: identical; several: a number of; shall: will;
show: demonstrate; shown: demonstrated; shows: demonstrates; significant: considerable;
similar: comparable; since: as; small: little; some: certain; specific: particular; started: began;
studies: investigations; study: investigation; such as: like; suggest: propose; suggested: proposed;
support: back; system: installation; systems: installations; task: job; terms: provisions;
therefore: thus; thing: matter; though: although; through: by way of; thus: therefore; total: overall;
type: kind; types: kinds; until: till; upon: on; used: employed; uses: employs; using: with;
usually: as a rule; value: figure; values: figures; various: diverse; way: manner; when: once;
where: in which; whether: if; which: that; while: whereas; whole: entire; with respect to: regarding;
within: inside; without: with no; written: put down
""".replace("\n", " ")
    .strip()
    .split("; ")
)

_ADVERBS = "very quite rather really actually simply clearly particularly generally typically usually highly".split()
_NUMBERS = "zero one two three four five six seven eight nine ten eleven twelve".split()
_FIGURES = {str(value): word for value, word in enumerate(_NUMBERS)}

_WORD = re.compile("|".join(rf"\b{re.escape(word)}\b" for word in sorted(_SYNONYMS, key=len, reverse=True)), re.I)
_ADVERB = re.compile(rf"\b(?:{'|'.join(_ADVERBS)})\s+(?=\w)", re.I)
# A figure that stands alone: no part of a date, a decimal, a reference or a heading.
_FIGURE = re.compile(r"(?<=[a-z] )(?:1[0-2]|[2-9])(?= [a-z])")
_NUMBER = re.compile(rf"(?<=[a-z] )(?:{'|'.join(_NUMBERS[2:])})(?= [a-z])")
# "cold and wet" becomes "wet and cold".
_COUPLE = re.compile(r"(?<=[a-z] )([a-z]{4,}) (and|or) ([a-z]{4,})(?=[ ,.;])")
# "If it rains, we stay." becomes "We stay, if it rains."
_CLAUSE = re.compile(
    r"^(If|When|Although|Because|While|After|Before|Since|In|For|At|On|During|Under) ([^,;:()]{4,90}), "
    r"([^\n]{12,}?)([.?!])(\s*)$"
)


def reword(text: str) -> str:
    """Reword a text lightly: the same meaning in other words, the same sentences in the same order."""
    starts = [*sentence_starts(text), len(text)]
    pieces = [text[start:end] for start, end in pairwise(starts)]
    return "".join(_reword_sentence(piece) for piece in pieces)


def changed_words(original: str, other: str) -> float:
    """Share of the words of `original` that are not kept, in order, in `other`."""
    words, others = original.split(), other.split()
    blocks = SequenceMatcher(None, words, others, autojunk=False).get_matching_blocks()
    return 1 - sum(block.size for block in blocks) / max(1, len(words))


def _reword_sentence(sentence: str) -> str:
    turned = _CLAUSE.sub(_clause_last, sentence)
    fewer = _capitalise_like(turned, _ADVERB.sub("", _COUPLE.sub(r"\3 \2 \1", turned)))
    figured = _NUMBER.sub(
        lambda match: str(_NUMBERS.index(match[0])), _FIGURE.sub(lambda match: f"<{match[0]}>", fewer)
    )
    # Figures wait in brackets while words become figures, so that none is changed twice.
    numbered = re.sub(r"<(\d+)>", lambda match: _FIGURES[match[1]], figured)
    return _WORD.sub(_synonym, numbered)


def _clause_last(match: re.Match[str]) -> str:
    first, rest = f"{match[1]} {match[2]}", match[3]
    # A name, an acronym or "I" keeps its capital; a common first word gives it up.
    opener = first[0].lower() + first[1:]
    return f"{rest[0].upper()}{rest[1:]} {opener}{match[4]}{match[5]}"


def _synonym(match: re.Match[str]) -> str:
    return _capitalise_like(match[0], _SYNONYMS[match[0].lower()])


def _capitalise_like(pattern: str, text: str) -> str:
    return text[:1].upper() + text[1:] if pattern[:1].isupper() else text


PassageKind = Literal["copied", "reworded"]
Manner = Literal["inserted", "replacing"]

WORDS = (60, 250)
"""How many words a passage has, at least and at most."""

_TRIES = 200


@dataclass(frozen=True, slots=True)
class Case:
    """A passage of A that stands in B too.

    Attributes:
        a: the document the passage is from.
        b: the other one, with the passage.
        source: where the passage stands in `a.text`.
        planted: where it stands in `b.text`.
        kind: copied word for word, or reworded.
        manner: inserted between two sentences, or in the place of about as many words.
    """

    a: Document
    b: Document
    source: Span
    planted: Span
    kind: PassageKind
    manner: Manner

    @property
    def original(self) -> str:
        """The passage as it stands in A."""
        return self.a.text[self.source.start : self.source.end]

    @property
    def text(self) -> str:
        """The passage as it stands in B."""
        return self.b.text[self.planted.start : self.planted.end]


def plant_passage(a: Document, b: Document, kind: PassageKind, manner: Manner, seed: int) -> Case | None:
    """Plant a passage of `a` of 60 to 250 words, whole sentences, at a random place of `b`.

    Returns:
        The case; None where `a` has no such passage or `b` no section with sentences.
    """
    generator = random.Random(seed)
    source = _passage(a, generator)
    place = _place(b, generator)
    if source is None or place is None:
        return None
    section, start = place
    passage = a.text[source.start : source.end].strip()
    text = passage if kind == "copied" else reword(passage)
    end = start if manner == "inserted" else _end_of_run(b, section, start, len(passage.split()))
    planted_in, planted = _splice(b, section, Span(start, end), text)
    return Case(a, planted_in, source, planted, kind, manner)


def _passage(document: Document, generator: random.Random) -> Span | None:
    """A random run of whole sentences of one section, of 60 to 250 words."""
    for _ in range(_TRIES):
        section = generator.choice(document.sections)
        bounds = _sentence_bounds(document, section)
        if len(bounds) < 2:
            continue
        wanted = generator.randint(*WORDS)
        first = generator.randrange(len(bounds) - 1)
        for last in range(first + 1, len(bounds)):
            span = Span(bounds[first], bounds[last])
            count = len(document.text[span.start : span.end].split())
            if count >= wanted or (last == len(bounds) - 1 and count >= WORDS[0]):
                if count <= WORDS[1]:
                    return _stripped(document.text, span)
                break
    return None


def _place(document: Document, generator: random.Random) -> tuple[Section, int] | None:
    """A section and the start of a sentence in its body, or its end."""
    sections = [section for section in document.sections if len(_sentence_bounds(document, section)) > 1]
    if not sections:
        return None
    section = generator.choice(sections)
    return section, generator.choice(_sentence_bounds(document, section))


def _end_of_run(document: Document, section: Section, start: int, words: int) -> int:
    """The first end of a sentence at least `words` words after `start`, or the end of the section."""
    ends = [bound for bound in _sentence_bounds(document, section) if bound > start]
    return next((end for end in ends if len(document.text[start:end].split()) >= words), max([start, *ends]))


def _sentence_bounds(document: Document, section: Section) -> list[int]:
    """Offsets of the sentences of a section's body, and of its end; [] without a body."""
    body = document.text[section.body_start : section.span.end]
    if not body.strip():
        return []
    return [*(section.body_start + start for start in sentence_starts(body)), section.span.end]


def _stripped(text: str, span: Span) -> Span:
    piece = text[span.start : span.end]
    return Span(span.start + len(piece) - len(piece.lstrip()), span.end - len(piece) + len(piece.rstrip()))


def _splice(document: Document, section: Section, gap: Span, text: str) -> tuple[Document, Span]:
    """Put `text` in place of `gap`, a span in `section`; returns the document and the new span."""
    before, after = document.text[: gap.start].rstrip(), document.text[gap.end : section.span.end].lstrip()
    lead = " " if gap.start > section.body_start else document.text[len(before) : gap.start]
    start = len(before) + len(lead)
    head = before + lead + text + (f" {after}" if after else "")
    shift = len(head) - section.span.end
    sections = tuple(_moved(item, section.index, shift) for item in document.sections)
    moved = replace(document, text=head + document.text[section.span.end :], sections=sections, page_starts=())
    return moved, Span(start, start + len(text))


def _moved(section: Section, changed: int, shift: int) -> Section:
    if section.index < changed:
        return section
    start = section.span.start + (shift if section.index > changed else 0)
    body = section.body_start + (shift if section.index > changed else 0)
    return replace(section, span=Span(start, section.span.end + shift), body_start=body, pages=None)


EditKind = Literal["delete", "insert", "move", "reword", "number", "negation"]
EDITS: tuple[EditKind, ...] = ("delete", "insert", "move", "reword", "number", "negation")

_MIN_WORDS = 25
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

    kind: EditKind
    a: Span | None
    b: Span | None


@dataclass(frozen=True, slots=True)
class Planted:
    """A document A, its copy B with planted edits, and the edits."""

    a: Document
    b: Document
    edits: tuple[Edit, ...]


@dataclass(slots=True)
class _Piece:
    """A piece of B: its text, the gap before it, and its edit."""

    section: int
    gap: str
    text: str
    kind: EditKind | None = None
    source: Span | None = None


def plant_edits(a: Document, foreign: Sequence[str], each: int, seed: int) -> Planted:
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
    free = [n for n, piece in enumerate(pieces) if len(piece.text.split()) >= _MIN_WORDS]
    generator.shuffle(free)
    taken: set[int] = set()
    plans: dict[EditKind, list[int]] = {kind: [] for kind in EDITS}
    # Edits that few passages allow come first.
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


def _changes(kind: EditKind, piece: _Piece, generator: random.Random, n: int) -> bool:
    """Whether the edit can be made to this piece; changes its text. Places are changed in `_build`."""
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
    plans: dict[EditKind, list[int]],
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
        landing[place] = [_Piece(pieces[place].section, pieces[place].gap or "\n\n", piece.text, "move", piece.source)]
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
