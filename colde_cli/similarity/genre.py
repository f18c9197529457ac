"""Tell what a document is: a contract, a standard, a policy, a paper, or any other text.

The title says it best; where it does not, the words at the beginning, the headings, and the words of duty do. A text of
which nothing is sure is any other text. Its accuracy stands in `benchmarks/results/laboratory.md`.
"""

from __future__ import annotations

import re
from enum import StrEnum

from colde_cli.documents.document import Document, SectionKind

NORMATIVE = 5.0
"""Words of duty or permission in 1,000 words of a contract, policy or law, at least. Chosen on the thirty
documents of benchmarks/triage.py, of which contracts and policies have more and papers fewer."""
_SAMPLE = 200_000
"""Number of characters of a text that are looked at."""
_BEGINNING = 1500
"""Number of characters at the beginning of a text that may name what it is."""
_CITES = 5
"""How often a paper cites in its text, at least, where it has no list of references, or the list was not found."""
_PAPER_HEADINGS = 2
"""How many different headings of papers a paper has, at least, where it has no abstract; it cites, too."""
_STANDARD = 2.0
"""Key words in capitals in 1,000 words of a standard, at least, where nothing else says that it is one."""

_KEYWORDS = r"(?:MUST|SHALL|SHOULD|REQUIRED|RECOMMENDED|MAY|OPTIONAL)(?:\s+NOT)?"
KEYWORD = re.compile(rf"(?<![\"“'‘])(?<!\ba )\b{_KEYWORDS}\b")
"""A key word of RFC 2119 that is used, and not named as in "a MUST". They are normative in capitals only (RFC 8174)."""
# Between words in small letters: a contract that writes a clause in capitals throughout is no standard.
_KEYWORD = re.compile(rf"(?<=[a-z\d)\]][\s,]){_KEYWORDS}(?=\s+[a-z])")
_STANDARD_HEADING = re.compile(
    r"[\dA-Z.\s]*(?:normative references|security considerations|iana considerations|conformance"
    r"|conventions and terminology|requirements (?:language|notation)|terms and definitions|normative verweisungen"
    r"|références normatives|referencias normativas|konformität|conformité|conformidad)\W*",
    re.IGNORECASE,
)
_STANDARD_HEAD = re.compile(
    r"\b(?:request for comments|internet[- ]draft|international standard|working group|protocol|rfc \d+|iso/iec"
    r"|this (?:document|memo|standard|specification) (?:specifies|defines|describes|obsoletes|updates|is a product of)"
    r"|diese norm|la présente norme|esta norma)\b",
    re.IGNORECASE,
)
_STANDARD_TITLE = re.compile(r"\b(?:standard|specification|protocol|norm|norme|norma|rfc ?\d+)\b", re.IGNORECASE)
_PAPER_HEADING = re.compile(
    r"[\dIVX.\s]*(?:introduction|background|related works?|evaluation|acknowledge?ments?|einleitung|introducción)\W*",
    re.IGNORECASE,
)
_RESEARCH_HEADING = re.compile(
    r"[\dIVX.\s]*(?:(?:materials and |patients and )?methods?(?: and materials)?|methodology|experiment(?:s|al)?"
    r"(?: (?:setup|design|procedures?|section))?|(?:experimental )?results?(?: and discussions?)?"
    r"|(?:general )?discussions?(?: and conclusions?)?|conclu(?:sions?|ding remarks)(?: and (?:future works?|outlook))?"
    r"|methoden|ergebnisse|diskussion|fazit|méthodes|résultats|métodos|resultados|discusión|conclusiones)\W*",
    re.IGNORECASE,
)
_CITE = re.compile(
    r"\bet al\b|\([A-Z][^\W\d_]+[^()]{0,60}(?:19|20)\d\d[a-z]?\)|[A-Z][a-z]+ \((?:19|20)\d\d[a-z]?\)|\[\d{1,3}[\],]"
)
_ABSTRACT = re.compile(r"\b(?:Abstract|ABSTRACT|Zusammenfassung|Résumé|Resumen)\b")
_POLICY = re.compile(
    r"\b(?:polic(?:y|ies)|terms(?: of (?:use|service))?|privacy|guidelines|code of conduct|conditions|statement|notice"
    r"|datenschutz\w*|\w*bedingungen|richtlinien?|agb|politique|confidentialité|política|privacidad|términos|condiciones)\b",
    re.IGNORECASE,
)
# In a sentence, "policy" and "conditions" have other meanings.
_CALLED_POLICY = re.compile(
    r"\b(?:(?:privacy|cookies?|data|community|use) (?:polic(?:y|ies)|statement|notice|guidelines)|these terms"
    r"|terms (?:of (?:use|service)|and conditions)|datenschutzerklärung|\w+bedingungen|conditions générales"
    r"|politique de confidentialité|condiciones generales|política de privacidad)\b",
    re.IGNORECASE,
)
_CONTRACT = re.compile(
    r"\b(?:agreements?|contracts?|lease|licen[cs]e|amendment|addendum|deed|covenant|retirement plan|\w*vertrag"
    r"|\w*vereinbarung|contrat|accord|convention|bail|contrato|acuerdo|convenio)\b",
    re.IGNORECASE,
)
_NORMS = re.compile(
    r"\b(?:shall|must|may|agrees?|will|muss|müssen|darf|dürfen|verpflichtet|berechtigt|doit|doivent|peut|peuvent"
    r"|s['’]engage(?:nt)?|deben?|deberán?|podrán?|puede[n]?)\b"
)


class Genre(StrEnum):
    """What a text is, in one word."""

    CONTRACT = "contract"
    STANDARD = "standard"
    POLICY = "policy"
    PAPER = "paper"
    TEXT = "text"


def genre(document: Document) -> Genre:
    """Name the genre of a document; a text that fits none is a text."""
    if _is_standard(document):
        return Genre.STANDARD
    if _is_paper(document):
        return Genre.PAPER
    named = _named(document.title, _POLICY)
    if not normative(document.text, NORMATIVE / 2 if named is not Genre.TEXT else NORMATIVE):
        return Genre.TEXT
    return named if named is not Genre.TEXT else _named(document.text[:_BEGINNING], _CALLED_POLICY)


def common_genre(a: Document, b: Document) -> Genre:
    """The genre of two documents; a text where they differ."""
    first, second = genre(a), genre(b)
    return first if first is second else Genre.TEXT


def normative(text: str, least: float = NORMATIVE) -> bool:
    """Whether a text sets rules, as a contract, policy or law does: `least` words of duty in 1,000."""
    sample = text[:_SAMPLE]
    return 1000 * len(_NORMS.findall(sample)) >= least * max(1, len(sample.split()))


def has_keywords(text: str) -> bool:
    """Whether a text has key words in capitals, one in 1,000 words at least, so that these are its requirements."""
    return _keyword_share(text[:_SAMPLE]) >= 1.0


def _keyword_share(sample: str) -> float:
    """Key words in capitals in 1,000 words."""
    return 1000 * len(_KEYWORD.findall(sample)) / max(1, len(sample.split()))


def _named(text: str, policies: re.Pattern[str]) -> Genre:
    """The genre that a title or a beginning names."""
    policy, contract = policies.search(text), _CONTRACT.search(text)
    if contract and (policy is None or contract.start() <= policy.start()):
        return Genre.CONTRACT
    return Genre.POLICY if policy else Genre.TEXT


def _is_standard(document: Document) -> bool:
    """Whether a text is a standard: by its key words in capitals, or by two of title, beginning and headings."""
    sample = document.text[:_SAMPLE]
    share = _keyword_share(sample)
    if share >= _STANDARD:
        return True
    signs = (
        share > 0,
        _STANDARD_TITLE.search(document.title),
        _STANDARD_HEAD.search(sample[:_BEGINNING]),
        any(_STANDARD_HEADING.fullmatch(section.heading) for section in document.sections),
    )
    return sum(map(bool, signs)) > 1


def _is_paper(document: Document) -> bool:
    """Whether a text is a paper: an abstract or the headings of one, and it cites."""
    kinds = {section.kind for section in document.sections}
    headings = [section.heading for section in document.sections]
    research = len({heading.casefold() for heading in headings if _RESEARCH_HEADING.fullmatch(heading)})
    around = len({heading.casefold() for heading in headings if _PAPER_HEADING.fullmatch(heading)})
    abstract = SectionKind.ABSTRACT in kinds or _ABSTRACT.search(document.text[: 2 * _BEGINNING])
    if research > _PAPER_HEADINGS:
        return True
    if not abstract and research + around < _PAPER_HEADINGS:
        return False
    return SectionKind.REFERENCES in kinds or len(_CITE.findall(document.text[:_SAMPLE])) >= _CITES
