"""What a remark says of the place that it means: words that it quotes, sections, pages and lines that it names.

A clue gives every passage of a document a share, from 0 (it says nothing for this passage) to 1 (it means this one). So
do the words of a remark, weighted by their rarity.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from colde_cli.documents.document import BLANK_LINES, Document, Section, Span
from colde_cli.documents.passages import Passage
from colde_cli.similarity.redline import IgnoreOptions, words

FloatArray = NDArray[np.float32]

_QUOTES = re.compile(
    r"“([^“”]{2,2000})[”“]|„([^„“”]{2,2000})[“”]|«([^«»]{2,2000})»|\"([^\"]{2,2000})\"|`([^`\n]{2,400})`"
    r"|(?<!\w)‘([^‘’\n]{2,400})’(?!\w)|(?<!\w)'([^'\n]{2,400})'(?!\w)"
)
_GAP = re.compile(r"\s*(?:\[?(?:\.\s?){3,}\]?|\[?…\]?)\s*")
_FUZZY_LETTERS, _FUZZY = 24, 82.0
"""Quotations of this many letters are also found where they are not exact, from this share of letters (per cent) on."""
_MOST_PLACES = 200

_NAMED = (
    r"(?:sections?|sec\.|sect\.|§+|clauses?|cl\.|chapters?|ch\.|articles?|art\.|appendix|annex|schedule|paragraphs?"
    r"|para\.?|item|no\.)"
)
_LABEL = r"(\d{1,3}(?:\.\d{1,3})*[a-z]?|[IVX]{1,5}|[A-H])((?:\s?\([a-z0-9]{1,4}\))*)(?![\w])"
_SECTIONS = re.compile(rf"{_NAMED}\s*{_LABEL}(?:\s*(?:,|and|or|&|to|-|–)\s*{_LABEL})*", re.I)
_ONE_LABEL = re.compile(_LABEL)
_PAGES = re.compile(
    r"\b(?:pp?\.|pages?|pgs?\.?)\s*(\d{1,4})(?:\s*(?:-|–|to)\s*(\d{1,4}))?|\bP(\d{1,4})(?=[,\s]*L\d)", re.I
)
_LINES = re.compile(r"(?:\b(?:ll?\.|lines?|lns?\.?)\s*|(?<=\d)[,\s]*L)(\d{1,5})(?:\s*(?:-|–|to)\s*(\d{1,5}))?", re.I)
_FIGURES = re.compile(
    r"\b(tables?|figures?|fig\.|equations?|eqs?\.|footnotes?|algorithm|theorem|lemma|box)\s*\(?(\d+[a-z]?)", re.I
)
_LONG_FORM = {"fig.": "figure", "eq.": "equation", "eqs.": "equation"}
_ORDINALS = {"first": 0, "opening": 0, "second": 1, "third": 2, "fourth": 3, "fifth": 4, "last": -1, "final": -1}
_PARAGRAPH = re.compile(rf"\b({'|'.join(_ORDINALS)})\s+(?:paragraph|para\b|bullet|item)", re.I)
_HEADING_LABEL = re.compile(rf"\W*(?:{_NAMED}\s*)?{_LABEL}[.):]*(?:\s|$)", re.I)
_ANY_CASE = IgnoreOptions(case=True)
_LINE_LETTERS, _FAR = 90, 15
"""Letters of a printed line, where nobody counted them, and lines from which on a passage is nowhere near."""


@dataclass(frozen=True)
class Clued:
    """A document and its passages, with what clues look up."""

    document: Document
    passages: Sequence[Passage]

    @cached_property
    def _words(self) -> tuple[str, list[int], list[Span]]:
        """All words with a blank before each, where each begins there, and where it stands in the text."""
        found = [word for word in words(self.document.text, _ANY_CASE) if not word.sign]
        starts, length = [], 0
        for word in found:
            starts.append(length)
            length += len(word.key) + 1
        return "".join(f" {word.key}" for word in found) + " ", starts, [Span(one.start, one.end) for one in found]

    @cached_property
    def texts(self) -> list[str]:
        """The text of each passage."""
        return [self.document.text[passage.span.start : passage.span.end] for passage in self.passages]

    @cached_property
    def _starts(self) -> list[int]:
        return [passage.span.start for passage in self.passages]

    def having(self, span: Span) -> list[int]:
        """The passages that a stretch of the text touches; the next one for a point between passages or a heading."""
        first = max(0, bisect_right(self._starts, span.start) - 1)
        last = max(first, bisect_right(self._starts, max(span.start, span.end - 1)) - 1)
        touched = [n for n in range(first, last + 1) if self.passages[n].span.end > span.start]
        following = last + 1 if last + 1 < len(self.passages) else last
        return touched or ([following] if self.passages else [])

    def find(self, quoted: str) -> list[Span]:
        """Where the words of a quotation stand, whatever their case and the signs between them; at most 200 places."""
        keys = [word.key for word in words(quoted, _ANY_CASE) if not word.sign]
        if not keys:
            return []
        text, starts, spans = self._words
        wanted, place = f" {' '.join(keys)} ", -1
        found: list[Span] = []
        while (place := text.find(wanted, place + 1)) >= 0 and len(found) < _MOST_PLACES:
            first = bisect_right(starts, place) - 1
            found.append(Span(spans[first].start, spans[first + len(keys) - 1].end))
        return found or self._nearly(quoted)

    def _nearly(self, quoted: str) -> list[Span]:
        """Where a longer quotation stands with a few letters different: in the passage that has it best."""
        if len(quoted) < _FUZZY_LETTERS:
            return []
        from rapidfuzz import fuzz

        lower, best, where = quoted.casefold(), _FUZZY, None
        for text, passage in zip(self.texts, self.passages, strict=True):
            if len(text) * 2 < len(quoted):
                continue
            alike = fuzz.partial_ratio_alignment(lower, text.casefold(), score_cutoff=best)
            if alike is not None and alike.score > best:
                best, start = alike.score, passage.span.start
                where = Span(start + alike.dest_start, start + alike.dest_end)
        return [] if where is None else [where]

    def shares(self, chosen: Sequence[int], share: float = 1.0) -> FloatArray:
        """A share for some of the passages, [n]."""
        shares = np.zeros(len(self.passages), np.float32)
        shares[list(chosen)] = share
        return shares

    # What a remark names

    def sections(self, said: str) -> list[Section]:
        """The sections that a text names, by number or by heading."""
        found = [section for label in named_labels(said) for section in self._labelled(label[0])]
        lower = f" {' '.join(said.casefold().split())} "
        for section in self.document.sections:
            number = _HEADING_LABEL.match(section.heading)
            name = section.heading[number.end() if number else 0 :].strip(" .:")
            if len(name) >= 4 and _names(lower, name.casefold()):
                found.append(section)
        return list({section.index: section for section in found}.values())

    def _labelled(self, label: str) -> list[Section]:
        return [
            section
            for section in self.document.sections
            if (own := _HEADING_LABEL.match(section.heading)) and own[1].casefold() == label.casefold()
        ]

    def in_sections(self, said: str) -> FloatArray:
        """The passages of the sections and clauses that a text names, [n]: the clause itself, else its section."""
        shares = self.shares(())
        for label, below in named_labels(said):
            numbered = [n for n, text in enumerate(self.texts) if _begins(text, label)]
            shares = np.maximum(shares, self.shares(numbered))
            for section in self._labelled(label):
                inside = self._of(section)
                items = [n for n in inside if below and _begins(self.texts[n], below[-1])]
                shares = np.maximum(shares, np.maximum(self.shares(inside, 0.7 if items else 1.0), self.shares(items)))
        for section in self.sections(said):
            shares = np.maximum(shares, self.shares(self._of(section), 0.7 if shares.any() else 1.0))
        if shares.any() and (ordinal := _PARAGRAPH.search(said)):
            inside = np.flatnonzero(shares == shares.max()).tolist()
            place = _ORDINALS[ordinal[1].lower()]
            if -1 <= place < len(inside):
                shares *= 0.6
                shares[inside[place]] = 1.0
        return shares

    def _of(self, section: Section) -> list[int]:
        own = {section.index, *(other.index for other in self.document.subsections(section))}
        return [n for n, passage in enumerate(self.passages) if passage.section in own]

    def on_pages(self, said: str) -> FloatArray:
        """The passages on the pages that a text names, [n]: a line of a page says which of them."""
        shares, named = self.shares(()), _LINES.search(said)
        for pages in _PAGES.finditer(said) if self.document.page_starts else ():
            first = int(pages[1] or pages[3])
            for n, passage in enumerate(self.passages):
                if passage.pages and passage.pages[0] <= int(pages[2] or first) and passage.pages[1] >= first:
                    near = self._near_line(passage.span, first, int(named[1])) if named else 1.0
                    shares[n] = max(shares[n], near)
        return shares

    def _near_line(self, span: Span, page: int, line: int) -> float:
        """How close a passage is to a line of a page, from 0.3 to 1; lines are counted by the length of paragraphs."""
        above = self.document.text[self.document.page_starts[page - 1] : span.start]
        paragraphs = BLANK_LINES.split(above)
        first = sum(math.ceil(len(one) / _LINE_LETTERS) + bool(one) for one in paragraphs) + 1
        last = first + len(span) // _LINE_LETTERS
        return 1 - 0.7 * min(1.0, max(0, first - line, line - last) / _FAR)


def _names(said: str, name: str) -> bool:
    """Whether a text names a heading: as it is, if it has several words; a single word only where it is one."""
    if name not in said:
        return False
    if len(name.split()) >= 3:
        return True
    word = re.escape(name)
    asked = rf"(?:section|chapter|clause|part|heading|under|in|of|the|your|“|\")\s*[“\"'‘]?{word}[”\"'’]?\W"
    return re.search(rf"{asked}|{word}\s+(?:section|chapter|clause|part)", said) is not None


def _begins(text: str, label: str) -> bool:
    """Whether a passage begins with a number, such as "7.2" or "(b)"."""
    return re.match(rf"\W*{re.escape(label.strip('() '))}(?:[.):]|\s|$)", text[:20], re.I) is not None


def named_labels(said: str) -> Iterator[tuple[str, list[str]]]:
    """The numbers of the sections that a text names, each with the items below: "7.2" with ["(b)"]."""
    for match in _SECTIONS.finditer(said):
        for label in _ONE_LABEL.finditer(match[0]):
            if label[1][0].isdigit() or match[0][: label.start()].strip():  # "I" is a word, too
                yield label[1].rstrip("."), re.findall(r"\([^)]*\)", label[2])


def quotations(said: str) -> list[str]:
    """The words that a text quotes, the longest first; what stands around an ellipsis apart."""
    found = [next(filter(None, match.groups())) for match in _QUOTES.finditer(said)]
    parts = [part.strip() for quoted in found for part in _GAP.split(quoted) if len(part.strip()) > 1]
    return sorted(dict.fromkeys(parts), key=len, reverse=True)


def labels(said: str) -> list[str]:
    """The figures, tables and equations that a text names: "table 2"."""
    return [
        f"{_LONG_FORM.get(kind.lower(), kind.lower().rstrip('s'))} {number}" for kind, number in _FIGURES.findall(said)
    ]


def lines(said: str) -> tuple[int, int] | None:
    """The first and last line that a text names, if it names no page."""
    found = None if _PAGES.search(said) else _LINES.search(said)
    return None if found is None else (int(found[1]), int(found[2] or found[1]))


def without_clues(said: str, *, quotations: bool = True) -> str:
    """A text without the pages and lines that it names, which say nothing of what it is about, or its quotations."""
    said = _LINES.sub(" ", _PAGES.sub(" ", said))
    return said if quotations else _QUOTES.sub(" ", said)


# The words of a remark

_WORD = re.compile(r"[^\W_]{2,}")
_OF_REMARKS = frozenset(
    """a an the this that these those it its is are was were be been being do does did have has had and or but not no
    nor so of in on at to for from by with without as if then than there here which who whom whose what when where why
    how we you they he she i our your their his her my me us them can could should would may might must shall will
    please author authors paper manuscript draft document text section sections sentence sentences paragraph paragraphs
    page pages line lines table figure clause comment remark reviewer think suggest suggestion consider add added adding
    remove removed delete deleted replace replaced change changed clarify clarified explain explained discuss discussed
    mention mentioned state stated say says said describe need needs needed make makes made give given more less very
    also too just only about into any some all each other another such same seems seem appears unclear clear clearly
    wording word words typo wrong correct better instead rather help helpful useful like want wish prefer miss missing
    lacks lacking good fine sure know find""".split()
)
"""Words of most remarks, which say nothing of what they are about."""


_COUNTS = {
    word: str(number)
    for number, word in enumerate(
        "two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
        " eighteen nineteen twenty".split(),
        2,
    )
} | {"thirty": "30", "sixty": "60", "ninety": "90"}


def _stem(word: str) -> str:
    """The beginning of a word: "delete", "deleted" and "deletion" count as one."""
    word = _COUNTS.get(word.casefold(), word.casefold())
    if len(word) > 6:
        return word[:6]
    return word[:-1] if len(word) > 3 and word.endswith("s") else word


class RemarkTerms:
    """The words of the passages of both documents, weighted by their rarity.

    Attributes:
        texts: of the passages of A, then of B.
    """

    def __init__(self, sides: Iterable[Clued]) -> None:
        self.texts: list[str] = []
        self._stems: list[frozenset[str]] = []
        self._around: list[frozenset[str]] = []  # in the heading and in the passages beside, but not in the passage
        for side in sides:
            stems = [_stems(text) for text in side.texts]
            headings = [_stems(section.heading) for section in side.document.sections]
            for n, passage in enumerate(side.passages):
                beside = (m for m in (n - 1, n + 1) if 0 <= m < len(stems))
                same = (stems[m] for m in beside if side.passages[m].section == passage.section)
                self._around.append(headings[passage.section].union(*same) - stems[n])
            self.texts += side.texts
            self._stems += stems
        counts = Counter(stem for stems in self._stems for stem in stems)
        count = len(self.texts) + 1
        self._rarity = {stem: math.log(count / number) for stem, number in counts.items()}
        self._unknown = math.log(count)

    def shares(self, said: str) -> FloatArray:
        """For each passage the share of a text's words that it has, by their weights: [n], 0 to 1."""
        wanted = _stems(said)
        weights = {stem: self._rarity.get(stem, self._unknown) for stem in wanted}
        total = sum(weights.values()) or 1.0
        return np.array(
            [
                sum(weights[stem] for stem in wanted & own) + _BESIDES * sum(weights[stem] for stem in wanted & around)
                for own, around in zip(self._stems, self._around, strict=True)
            ],
            np.float32,
        ) / np.float32(total)


_BESIDES = 0.4
"""Weight of a word that stands not in a passage but in its heading, or in a passage beside it."""


def _stems(text: str) -> frozenset[str]:
    return frozenset(_stem(word) for word in _WORD.findall(text) if word.casefold() not in _OF_REMARKS)
