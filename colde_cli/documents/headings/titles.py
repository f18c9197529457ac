"""Read the wording of headings: their numbers ("2.1", "IV.", "A.", "Article 3"), common names, and kinds of section."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from colde_cli.documents.document import SectionKind
from colde_cli.documents.notation import from_roman

_ROMAN_NUMERAL = r"(?=[IVXL])(?:XL|L?X{0,3})(?:IX|IV|V?I{0,3})"
_DECIMAL = re.compile(r"^(?P<number>\d{1,2}(?:\.\d{1,2}){0,4})(?P<mark>[.):]?)\s*(?=\S)(?P<rest>.+)$")
_ROMAN = re.compile(rf"^(?P<number>{_ROMAN_NUMERAL})(?P<mark>[.)—–-]?)\s+(?P<rest>[A-Z“\"'(].+)$")
_LETTER = re.compile(r"^(?P<number>[A-Z](?:\.\d{1,2}){0,3})(?P<mark>[.)]?)\s+(?P<rest>[A-Z“\"'(].+)$")
_WORD = re.compile(
    r"^(?P<word>chapter|section|article|part|appendix|annex|schedule|exhibit|item|§)\s*"
    r"(?P<number>[\dIVXLA-Z]{1,5}(?:\.\d+)*)\b\s*[.:—–-]?\s*(?P<rest>.*)$",
    re.IGNORECASE,
)
# What any of these begins with; few lines of running text do.
_OPENS = re.compile(r"\d|[A-Z][IVXL.)—–\s-]|(?i:chapter|section|article|part|appendix|annex|schedule|exhibit|item|§)")
_OPENS_TITLE = re.compile(r"[A-Z“\"'(¿]|[a-z]{2,}")
_REACH = 120  # candidates that a chain may skip at once
_KNOWN = """
abstract|introduction|background|conclusion|conclusions|discussion|results|method|methods|methodology
|related work|previous work|prior work|literature review|future work|conclusion and future work
|conclusions and future work|discussion and conclusion|results and discussion|experiments
|experimental results|evaluation|experimental setup|materials and methods|limitations|ethics statement
|ethical considerations|data availability|supplementary material|supplementary information
|supplemental information|competing interests|conflict of interest|conflicts of interest
|author contributions|authors' contributions|funding|references|bibliography|acknowledgments
|acknowledgements|acknowledgment|acknowledgement|appendix|appendices|contents|table of contents|summary
|preface|foreword|executive summary|keywords|author keywords|index terms|acm classification keywords
|categories and subject descriptors|general terms|ccs concepts|statement of need|references cited
|literature cited|works cited|notes|glossary|index|list of figures|list of tables|threats to validity
|case study|implementation|overview|motivation|preliminaries|problem statement|proof|proofs
|claims|what is claimed is|what is claimed|we claim|i claim|field of the invention
|background of the invention|summary of the invention|brief summary of the invention
|brief description of the drawings|detailed description|detailed description of the invention
|detailed description of the preferred embodiments|description of the preferred embodiment
|cross-reference to related applications|cross reference to related applications|technical field
|background art|disclosure of invention
|definitions|recitals|witnesseth|term|termination|term and termination|confidentiality|governing law
|miscellaneous|indemnification|warranties|limitation of liability|signatures|exhibits|schedules|notices
|general|assignment
"""
KNOWN = frozenset(name for name in _KNOWN.replace("\n", "").split("|") if name)
"""Headings of papers, theses, patents and contracts, in lower case."""

_REFERENCES = frozenset(
    (
        *("references", "reference", "bibliography", "literature cited", "works cited", "references cited"),
        *("references and notes", "literature"),
    )
)
_APPENDIX = re.compile(r"(appendix|appendices|annex|supplementa\w+ (material|information|data))\b", re.IGNORECASE)
_LONGEST = max(len(name) for name in KNOWN) + 12  # numbers and punctuation
_BLANKS = (
    "\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
_ENDING = _BLANKS + ":.—–-"


@dataclass(frozen=True, slots=True)
class Number:
    """The number of a heading."""

    scheme: str  # "decimal", "roman", "letter", or the word before it ("article")
    parts: tuple[int, ...]  # (2, 1) for "2.1"; letters count from 1
    rest: str  # the heading without the number

    @property
    def by_word(self) -> bool:
        """Whether a word like "Article" precedes the number."""
        return self.scheme not in ("decimal", "roman", "letter")


@lru_cache(maxsize=1024)  # headings are sought in several ways, which ask for the same lines
def parse_number(text: str) -> Number | None:
    """Parse the number at the beginning of a line, if it can be the number of a heading."""
    if not _OPENS.match(text):
        return None
    return _by_word(text) or _decimal(text) or _roman(text) or _letter(text)


def _by_word(text: str) -> Number | None:
    match = _WORD.match(text)
    if not match or match["word"].lower() == "part":
        return None
    rest, number, word = match["rest"], match["number"], match["word"].lower()
    if rest and not (rest[0].isupper() or rest[0] in '“"'):
        return None
    if number[0].isdigit():
        return Number(word, tuple(int(part) for part in number.split(".") if part.isdigit()), rest)
    if re.fullmatch(_ROMAN_NUMERAL, number):
        return Number(word, (from_roman(number),), rest)
    if len(number) == 1 and number.isupper():
        return Number(word, (ord(number) - 64,), rest)
    return None


def _decimal(text: str) -> Number | None:
    match = _DECIMAL.match(text)
    if not match or not _OPENS_TITLE.match(match["rest"]):
        return None
    if not match["mark"] and not text[len(match["number"])].isspace():
        return None
    return Number("decimal", tuple(int(part) for part in match["number"].split(".")), match["rest"])


def _roman(text: str) -> Number | None:
    match = _ROMAN.match(text)
    if not match or not (match["mark"] or match["rest"].isupper()):
        return None
    return Number("roman", (from_roman(match["number"]),), match["rest"])


def _letter(text: str) -> Number | None:
    match = _LETTER.match(text)
    if not match:
        return None
    first, *others = match["number"].split(".")
    if not (match["mark"] or others or len(match["rest"].split()) <= 8):
        return None
    return Number("letter", (ord(first) - 64, *(int(part) for part in others)), match["rest"])


def follows(before: tuple[int, ...], number: tuple[int, ...]) -> bool:
    """Whether `number` can come after `before` in an outline.

    It can be the first child or the next of its level. It can also open the next chapter, with a chapter number printed
    in another way ("Chapter 2").
    """
    depth, deeper = len(before), len(number)
    if deeper > 1 and number[0] == before[0] + 1 and all(part == 1 for part in number[1:]):
        return True
    if deeper > depth:
        return deeper <= depth + 2 and number[:depth] == before and all(part == 1 for part in number[depth:])
    step = number[-1] - before[deeper - 1]
    return number[:-1] == before[: deeper - 1] and step in (1, 2)


def longest_chain(entries: Sequence[tuple[tuple[int, ...], float]]) -> list[int]:
    """Find the sequence of numbers with the largest weight, each number following the one before.

    Args:
        entries: number and weight of each candidate, in reading order.

    Returns:
        Ascending indices into `entries`; empty if fewer than two numbers form a sequence.
    """
    best: list[float] = []
    previous: list[int] = []
    for index, (number, weight) in enumerate(entries):
        opens = number[0] <= 2 and all(part == 1 for part in number[1:])
        value, link = weight if opens else weight - 1.5, -1
        for earlier in range(max(0, index - _REACH), index):
            before = entries[earlier][0]
            if not follows(before, number):
                continue
            skips = len(number) <= len(before) and number[-1] - before[len(number) - 1] == 2
            candidate = best[earlier] + weight + (0.0 if skips else 0.5)
            if candidate > value:
                value, link = candidate, earlier
        best.append(value)
        previous.append(link)
    if not best:
        return []
    chain = []
    at = max(range(len(best)), key=lambda index: best[index])
    while at >= 0:
        chain.append(at)
        at = previous[at]
    return chain[::-1] if len(chain) >= 2 else []


def bare(title: str) -> str:
    """Strip number and closing punctuation from a heading; lower case."""
    number = parse_number(title)
    return (number.rest if number and number.rest else title).rstrip(_ENDING).lstrip().lower()


def is_known(title: str) -> bool:
    """Whether a heading, its numbering removed, has a common name."""
    return len(title) <= _LONGEST and bare(title) in KNOWN


def is_references(title: str) -> bool:
    """Whether a heading announces the list of references."""
    return bare(title) in _REFERENCES


def is_claims(title: str) -> bool:
    """Whether a heading announces the claims of a patent."""
    return bare(title) in ("claims", "what is claimed is", "what is claimed", "we claim", "i claim")


def kind_of(title: str, before: SectionKind) -> SectionKind:
    """Find the kind of a section from its heading and the kind of the section before it.

    Sections after an appendix are appendices. So are sections after the references, unless their numbers go on.
    """
    name = bare(title)
    if name in _REFERENCES:
        return SectionKind.REFERENCES
    if name == "abstract":
        return SectionKind.ABSTRACT
    if _APPENDIX.match(name) or _APPENDIX.match(title.strip()):
        return SectionKind.APPENDIX
    number = parse_number(title)
    lettered = number is not None and number.scheme == "letter"
    # Every chapter can have its own references: after them a number may go on with the text.
    goes_on = number is not None and (number.scheme in ("decimal", "roman") or number.by_word)
    if before == SectionKind.REFERENCES and (lettered or not (is_known(title) or goes_on)):
        return SectionKind.APPENDIX
    if before == SectionKind.APPENDIX and (lettered or not is_known(title)):
        return SectionKind.APPENDIX
    return SectionKind.BODY


def in_capitals(text: str) -> bool:
    """Whether all letters (four at least) are capitals."""
    return text.isupper() and sum(map(str.isalpha, text)) >= 4
