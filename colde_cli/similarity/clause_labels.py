"""The numbers of clauses, counted by a program or typed, and the references to them.

A typed `(b)` after `7.2` is clause 7.2(b): what a number is part of is told from the numbers before it.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from colde_cli.documents.clause_numbers import label_below
from colde_cli.documents.document import BLANK_LINES, Document, SectionKind, Span
from colde_cli.documents.notation import from_roman, in_letters, in_roman
from colde_cli.documents.passages import Passage

Key = tuple[str, ...]
"""A number in parts, however it is written: `7.2(b)` is ("7", "2", "b"); that of a schedule begins with its name."""

_CLAUSE_NAMES = (
    r"sub-?sections?|sections?|articles?|sub-?clauses?|clauses?|sub-?paragraphs?|paragraphs?|rules?|abschnitte?n?|artikel"
    r"|ziffern?|ziff\.|absatz|absätze|abs\.|nummern?|art\.|alinéas?|artículos?|cláusulas?|sección|secciones|apartados?"
)
_PART_NAMES = r"schedules?|exhibits?|annex(?:es|e|es)?|appendix|appendices|anlagen?|anhang|anhänge|anexos?"
_NAMED = rf"(?:(?P<name>{_CLAUSE_NAMES}|{_PART_NAMES})\s+|(?P<sign>§+)\s*)"
_CODE = r"[LRDA]\.?\s?\d+(?:-\d+)+"
_PART = re.compile(rf"(?:{_PART_NAMES})\b", re.IGNORECASE)
_BEGINNING = 80
"""Number of characters of a paragraph in which its number stands."""
_TYPED = re.compile(
    rf"\W{{0,3}}?(?:{_NAMED}(?P<own>{_CODE}|\d{{1,3}}(?:\.\d{{1,3}})*[A-Z]?|[IVXLC]+|[A-Z])(?=[.:)\]](?!\d)|\s|$)(?!\s+(?-i:[a-z(]))"
    r"|(?P<decimal>\d{1,3}(?:\.\d{1,3})+)\.?(?=\s+\S|$)"
    r"|(?P<bracket>\((?:\d{1,3}|(?-i:[a-z]{1,2}|[A-Z])|(?i:[ivxl]{1,6}))\))(?=\s+\S)"
    r"|(?P<single>(?:\d{1,3}|(?-i:[a-zA-Z])|(?-i:[ivxl]{2,6}|[IVXL]{2,6}))[.)])(?=\s+\S))",
    re.IGNORECASE,
)
_TYPED_HEADING = re.compile(r"(?P<single>\d{1,2})(?=\s+[^\W\d_])")
_TOKEN = re.compile(r"\d+|[^\W\d_]+")
_NAME = re.compile(rf"(?:{_CLAUSE_NAMES}|§+)(?!\w)", re.IGNORECASE)

_NUMBER = (
    rf"(?:{_CODE}|\d{{1,3}}(?:\.\d{{1,3}})*(?-i:[A-Z])?(?:\s?\([A-Za-z0-9]{{1,4}}\))*(?:\s+(?:Abs(?:atz|\.)|para\.)\s*\d+)?"
    r"|(?:\((?:\d{1,3}|[A-Za-z]{1,4})\))+|(?-i:[IVXLC]+|[A-Z])(?![\w'’]))"
)
_ALSO = r"(?:\s*,\s*|\s*[-–]\s*|,?\s+(?:and|or|to|through|und|oder|bis|et|ou|à|y|o|a|e|hasta)\s+)"
_REFERENCE = re.compile(rf"(?<!\w){_NAMED}(?P<numbers>{_NUMBER}(?:{_ALSO}{_NUMBER})*)", re.IGNORECASE)
_ONE_NUMBER = re.compile(_NUMBER, re.IGNORECASE)
_OWN = (
    "this|these|that|diese|dieser|dieses|present|présent|Agreement|Contract|Terms|Conditions|Schedule|Annex|Appendix|Exhibit"
    "|Part|Policy|Vertrag|Vertrages|Vertrags|Contrat|Contrato|Section|Article|Clause"
)
_OF_ANOTHER = re.compile(
    rf"(?:,\s*)?(?:\s*\(\w+\))*\s+(?:of|to|in|under|der|des|du|de\s+la|de\s+l['’]|del|de|dem)\s+(?:the\s+|said\s+)?"
    rf"(?!(?:{_OWN})\b)[A-Z][\w.]+|\s*(?:(?:Abs|S|Satz|Nr|lit)\.?\s*\w+\s+)*(?=\w*[A-Z]\w*[A-Z])[A-ZÄÖÜ]\w+"
)
_BEHIND_ANOTHER = re.compile(
    r"(?:U\.?\s?S\.?\s?C\.?|C\.?\s?F\.?\s?R\.?|\bCode|\bAct|\bDirective|\bRegulation|Stat\.),?\s*$"
)


@dataclass(frozen=True, slots=True)
class ClauseLabel:
    """The number of a heading, a paragraph or a row.

    Attributes:
        start: offset in `Document.text` of the words that it numbers, or of itself where it is typed.
        mark: as it stands there: "(b)".
        label: with what it is part of: "7.2(b)".
        counted: a program counts it, and it is not in the text.
        heading: it is that of a heading.
    """

    start: int
    mark: str
    label: str
    counted: bool
    heading: bool = False
    key: Key = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "key", key_of(self.label))

    @property
    def own(self) -> Key:
        """The key of the mark alone."""
        return key_of(self.mark)

    @property
    def shape(self) -> str:
        """How the mark is written, whatever the number: "(#)"."""
        return _TOKEN.sub("#", self.mark)


def key_of(label: str) -> Key:
    """The parts of a number, without the name of a clause: "Section 7.2(b)", "§ 7.2 (b)" and "7.2.b" have one key."""
    return tuple(token.casefold() for token in _TOKEN.findall(without_name(label)))


def without_name(label: str) -> str:
    """A number without the name of a clause: "4.01" of "Section 4.01"."""
    return _NAME.sub(" ", label).strip()


def clause_labels(document: Document) -> tuple[ClauseLabel, ...]:
    """Find the numbers of headings, paragraphs and rows, in the order of the text; a counted one before a typed one.

    Numbers in lists of references and at the beginning of the lines of a table are none of clauses.
    """
    counted = {number.start: number for number in document.numbers}
    starts = [number.start for number in document.numbers]
    outline, labels = _ClausePath(), list[ClauseLabel]()

    def take(start: int, end: int, *, heading: bool) -> None:
        for number in document.numbers[bisect_left(starts, start) : bisect_left(starts, end)]:
            labels.append(ClauseLabel(number.start, number.mark, number.label, not number.in_text, heading))
            outline.begin(number.label, number.mark)
        if start not in counted and (mark := _typed(document.text[start : min(end, start + _BEGINNING)], heading)):
            labels.append(ClauseLabel(start, mark, outline.add(mark), False, heading))

    for section in document.sections:
        if section.kind is SectionKind.REFERENCES:
            continue
        if section.body_start > section.span.start:
            take(section.span.start, section.body_start, heading=True)
        start = section.body_start
        for gap in BLANK_LINES.finditer(document.text, start, section.span.end):
            take(start, gap.start(), heading=False)
            start = gap.end()
        if start < section.span.end:
            take(start, section.span.end, heading=False)
    return tuple(labels)


def label_start(label: ClauseLabel) -> int:
    """Where it stands, by which labels are in order."""
    return label.start


def labels_within(labels: Sequence[ClauseLabel], passages: Sequence[Passage]) -> list[int]:
    """The places of the numbers of some passages."""
    return [
        place
        for passage in passages
        for place in range(
            bisect_left(labels, passage.span.start, key=label_start),
            bisect_left(labels, passage.span.end, key=label_start),
        )
    ]


def _typed(text: str, heading: bool) -> str:
    """The number that a paragraph begins with; "" for none, and for a table."""
    if "\n" in text.strip():
        return ""
    found = _TYPED.match(text) or (_TYPED_HEADING.match(text) if heading else None)
    return "" if found is None else found[0].strip()


@dataclass(slots=True)
class _ClausePath:
    """The clause that a text has come to: how the number of each level is written, and the whole number."""

    levels: list[tuple[str, str, str]] = field(default_factory=list)  # form, last part, label

    def begin(self, label: str, mark: str) -> None:
        """Begin a clause whose whole number is known."""
        form, last = _form(mark)
        key = key_of(label)
        while self.levels and not (key[: len(own := key_of(self.levels[-1][2]))] == own and len(own) < len(key)):
            self.levels.pop()
        self.levels.append((form, last, label))

    def add(self, mark: str) -> str:
        """Begin a clause; return its whole number, told from those before it."""
        form, last = _form(mark)
        core = label_below("", mark)
        if form == "whole" or not self.levels:
            self.begin(core, mark)
            return core
        depth = next((at for at in range(len(self.levels) - 1, -1, -1) if self._goes_on(at, form, last)), None)
        if depth is None:
            first = last.lower() in ("1", "a", "i")
            same = [at for at, level in enumerate(self.levels) if level[0] == form]
            outer = form == "1." and not first
            depth = len(self.levels) if first else same[-1] if same else 0 if outer else len(self.levels)
        del self.levels[depth:]
        label = label_below(self.levels[-1][2], mark) if self.levels else core
        self.levels.append((form, last, label))
        return label

    def _goes_on(self, at: int, form: str, last: str) -> bool:
        known, before, label = self.levels[at]
        if known == form:
            return follows(before, last)
        # "7." after "6.3"
        return not at and form == "1." and known == "whole" and follows(key_of(label)[:1][-1], last)


def _form(mark: str) -> tuple[str, str]:
    """How a number is written, "(a)" or "1." or "whole" for one that needs none above it; and its last part."""
    parts = _TOKEN.findall(mark)
    if len(parts) != 1 or _NAME.match(mark) or _PART.match(mark):
        return "whole", parts[-1] if parts else ""
    kind = "1" if parts[0].isdigit() else "A" if parts[0].isupper() else "a"
    form = mark.replace(parts[0], kind)
    return "1." if form == "1" else form, parts[0]


def follows(one: str, other: str) -> bool:
    """Whether a number, in digits, letters or Roman, comes next after another: "9" and "10", "iv" and "v"."""
    if one.isdigit() or other.isdigit():
        return one.isdigit() and other.isdigit() and int(other) == int(one) + 1
    one, other = one.lower(), other.lower()
    value = from_roman(one)
    if value and in_roman(value + 1) == other:
        return True
    if len(set(one)) == len(set(other)) == 1 and len(one) == len(other):  # z, aa, bb
        return ord(other[0]) == ord(one[0]) + 1
    letters = sum((ord(sign) - 96) * 26**place for place, sign in enumerate(reversed(one[:3])))
    return one.isascii() and one.isalpha() and in_letters(letters + 1) == other


@dataclass(frozen=True, slots=True)
class Reference:
    """A mention of the number of a clause: "clause 8.3".

    Attributes:
        relative: it has only the last parts: "paragraph (b)".
    """

    span: Span
    words: str
    key: Key
    relative: bool


def references(text: str) -> Iterator[Reference]:
    """Find the references to clauses of the same document, each number of a list of numbers by itself.

    Left out are the numbers that a text begins with, and sections of other documents: "Section 5 of the Companies Act".
    """
    for match in _REFERENCE.finditer(text):
        if _BEHIND_ANOTHER.search(text, 0, match.start()) or _OF_ANOTHER.match(text, match.end()):
            continue
        if not text[: match.start()].strip() and _TYPED.match(text):
            continue
        name = match["name"] or match["sign"]
        part = _PART.fullmatch(name.strip())
        for number in _ONE_NUMBER.finditer(text, *match.span("numbers")):
            words = f"{name.strip()}{'' if match['sign'] and not match['name'] else ' '}{number[0]}"
            key = tuple(token for token in key_of(number[0]) if token not in ("abs", "absatz", "para"))
            relative = number[0].startswith("(") and not part
            yield Reference(Span(*number.span()), words, (name.strip().casefold(), *key) if part else key, relative)


class LabelIndex:
    """The numbers of a document, by key."""

    def __init__(self, labels: Sequence[ClauseLabel]) -> None:
        self._places: dict[Key, int] = {}
        for place, label in enumerate(labels):
            self._places.setdefault(label.key, place)
        for place, label in enumerate(labels):
            if label.heading and not labels[self._places[label.key]].heading:
                self._places[label.key] = place

    def find(self, reference: Reference, own: Key) -> tuple[int, Key] | None:
        """The clause that a reference within clause `own` points to: its place, and the parts that have no number here.

        None where there is no such clause.
        """
        if reference.relative:
            found = (self._places.get(own[:cut] + reference.key) for cut in range(len(own), -1, -1))
            place = next((place for place in found if place is not None), None)
            return None if place is None else (place, ())
        for cut in range(len(reference.key), 0, -1):
            if (place := self._places.get(reference.key[:cut])) is not None:
                return place, reference.key[cut:]
        return None
