"""Know common headings and the kind of section under each."""

from __future__ import annotations

import re

from colde_cli.documents.document import SectionKind
from colde_cli.documents.headings.numbering import parse_number

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
        "references",
        "reference",
        "bibliography",
        "literature cited",
        "works cited",
        "references cited",
        "references and notes",
        "literature",
    )
)
_APPENDIX = re.compile(
    r"(appendix|appendices|annex|supplementa\w+ (material|information|data))\b", re.IGNORECASE
)
_LONGEST = max(len(name) for name in KNOWN) + 12  # numbers and punctuation
_BLANKS = (
    "\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
_ENDING = _BLANKS + ":.—–-"


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
