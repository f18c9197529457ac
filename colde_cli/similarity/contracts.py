"""Read the language of contracts, policies and laws: who must do what, parties, defined terms; and know such texts.

Words of duty, negation, scope, comparison and exception are known in English, German, French and Spanish. Words of one
group mean the same: "shall" and "must" are one duty.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from colde_cli.documents.document import Document, SectionKind

NORMATIVE = 5.0
"""Words of duty or permission in 1,000 words of a contract, policy or law, at least. Chosen on the thirty
documents of benchmarks/triage.py, of which contracts and policies have more and papers fewer."""
_SAMPLE = 200_000
PREAMBLE = 2500
"""Number of characters at the beginning of a document in which the parties are introduced."""
_BEFORE_TERM = 250
"""Number of characters before a defined term that may hold the party's name."""
_MAX_TERMS = 400
"""Maximum number of terms taken from one document, so that the pattern stays small."""

_QUOTED = r"[“\"„«]\s*(?P<term>[A-Z][\w&.,'’/-]*(?: [\w&.,'’/-]+){0,5}?)[,.]?\s*[”\"“»]"
_IN_PARENTHESES = re.compile(rf"\([^()]{{0,120}}?{_QUOTED}[^()]{{0,120}}?\)")
_ALL_QUOTED = re.compile(_QUOTED)
_MEANS = re.compile(
    rf"{_QUOTED}\s*(?:,[^,]{{0,40}},\s*)?(?:\([^)]{{0,80}}\)\s*)?(?:shall\s+)?"
    r"(?:means?|has the meaning|have the meaning|refers? to|bedeutet|bezeichnet|désigne|significa)\b"
)
_COMPANY = re.compile(
    r"\b(?:Inc|LLC|L\.L\.C|Ltd|Limited|Corp|Corporation|Company|Co|GmbH|AG|S\.A|plc|PLC|L\.P|LLP|N\.V|B\.V|Trust|Bank"
    r"|University|individual|between|among)\b"
)
_THING = re.compile(
    r"(?:agreement|contract|date|effective|part(?:y|ies)|salary|pay|plan|period|services|terms|work|loan|notes?|documents"
    r"|project|program|stock|shares|product|products|release|property|premises)$",
    re.IGNORECASE,
)
"""Terms that name a thing, not a party."""
_ROLES = (
    "Supplier Customer Buyer Seller Licensor Licensee Landlord Tenant Lessor Lessee Contractor Subcontractor "
    "Provider Client Employer Employee Executive Consultant Distributor Manufacturer Purchaser Vendor Borrower "
    "Lender Franchisor Franchisee Agent Company Bank Owner Guarantor Trustee Sponsor Publisher Author Reseller "
    "User Member Subscriber Auftraggeber Auftragnehmer Lieferant Kunde Verkäufer Käufer Fournisseur Vendeur "
    "Acheteur Proveedor Cliente"
).split()
_MIN_USES = 3
"""How often a role is named with a capital, at least, in a document of which it is a party."""
# Groups of words that mean the same party.
_PRONOUNS = {
    **dict.fromkeys(("you", "your", "yours"), "you"),
    **dict.fromkeys(("we", "us", "our", "ours"), "we"),
    **dict.fromkeys(("party", "parties"), "party"),
}
_GENERAL = (
    r"(?:[Ee]ither|[Ee]ach|[Bb]oth|[Nn]either|[Nn]o|[Aa]ny|[Oo]ther)\s+[Pp]art(?:y|ies)|[Pp]art(?:y|ies)"
    r"|(?:(?:EITHER|EACH|BOTH|NEITHER|NO|ANY|OTHER)\s+)?PART(?:Y|IES)"
)
# "US" is a country.
_SPEAKERS = r"[Yy]ou(?:rs?)?|[Ww]e|us|[Oo]urs?|YOU(?:RS?)?|WE|OURS?"
_OPERATIVE = re.compile(r"\b(?:shall|must|hereby|NOW,? THEREFORE)\b")
"""Words after which a contract no longer introduces its parties."""
_NEVER = re.compile("(?!)")
_BEGINNING = 1500
"""Number of characters at the beginning of a text that may name what it is."""
_ABSTRACT = re.compile(r"\b(?:Abstract|ABSTRACT)\b")
_CITES = 5
"""How often a paper names authors "et al.", at least, where its list of references was not found."""
_POLICY = re.compile(r"\b(?:polic(?:y|ies)|terms of (?:use|service)|privacy|conditions|statement)\b", re.IGNORECASE)
_CONTRACT = re.compile(
    r"\b(?:agreement|contract|lease|licen[cs]e|amendment|addendum|deed|covenant|vertrag|contrat|contrato)\b",
    re.IGNORECASE,
)


def _groups(table: str) -> dict[str, str]:
    """Map each phrase to the name of its group, from lines "name: phrase, phrase"; indented lines go on."""
    rows = (line.partition(":") for line in re.sub(r"\n\s+", " ", table.strip()).splitlines())
    return {phrase.strip().lower(): name.strip() for name, _, phrases in rows for phrase in phrases.split(",")}


def _pattern(groups: Mapping[str, str]) -> re.Pattern[str]:
    phrases = sorted(groups, key=lambda phrase: (-len(phrase), phrase))
    written = "|".join(re.escape(phrase).replace(r"\ ", r"\s+").replace("'", "['’]") for phrase in phrases)
    return re.compile(rf"(?<![\w-])(?:{written})(?![\w])", re.IGNORECASE)


OBLIGATIONS = _groups("""
duty: shall, must, will, is obligated to, are obligated to, be obligated to, obligated to, is obliged to, are
  obliged to, obliged to, is required to, are required to, be required to, required to, agrees to, agree to,
  undertakes to, undertake to, has to, have to, covenants to, muss, müssen, ist verpflichtet, sind verpflichtet,
  verpflichtet, hat zu, wird, werden, doit, doivent, devra, devront, s'engage à, s'engagent à, est tenu de, est
  tenue de, sont tenus de, debe, deben, deberá, deberán, está obligado a, están obligados a, se obliga a
advice: should, ought to, soll, sollte, sollen, sollten, devrait, devraient, debería, deberían
permission: may, can, is entitled to, are entitled to, be entitled to, entitled to, is permitted to, are permitted
  to, permitted to, has the right to, have the right to, reserves the right to, is allowed to, are allowed to, kann,
  können, darf, dürfen, ist berechtigt, sind berechtigt, berechtigt, peut, peuvent, pourra, pourront, a le droit de,
  est autorisé à, puede, pueden, podrá, podrán, tiene derecho a
possibility: might, could, would, könnte, könnten, würde, würden, pourrait, pourraient, podría, podrían
best efforts: best efforts, best endeavours, best endeavors
reasonable efforts: reasonable efforts, commercially reasonable efforts, reasonable endeavours, reasonable endeavors
liable: liable, responsible, haftet, haften, haftbar, responsable, responsables
""")
OBLIGATION = _pattern(OBLIGATIONS)
BINDING = frozenset({"duty", "permission", "advice", "best efforts", "liable"})
"""Groups of obligations that matter without a counterpart; "will" and "can" alone do not."""
WEAK_ALONE = frozenset({"will", "can", "wird", "werden", "has to", "have to", "kann", "können", "peut", "puede"})

HEDGES = {"permission", "possibility"}
"""Groups that are no difference to each other: "can" and "could"."""

NEGATION = re.compile(
    r"(?<![\w-])(?:not|no|never|none|nor|neither|without|cannot|nothing|nobody|nicht|kein(?:e[nmrs]?)?|nie|niemals|weder"
    r"|keinesfalls|keineswegs|keinerlei|niemand|nichts|ohne|pas|jamais|rien|aucunement|nada|nadie|aucune?|sans|nunca|jamás|ning[uú]n[ao]?|tampoco|ni|sin)(?!\w)|\w+n['’]t\b",
    re.IGNORECASE,
)

SCOPES = _groups("""
exclusive: exclusive, exclusively, exklusiv, ausschließlich, ausschließliche, ausschließlichen, exclusif, exclusive,
  exclusivement, exclusivo, exclusiva, exclusivamente
not exclusive: non-exclusive, nonexclusive, non-exclusively, nonexclusively, nicht exklusiv, nicht ausschließliche,
  non exclusif, non exclusive, no exclusivo, no exclusiva
only: only, solely, sole, nur, lediglich, seulement, uniquement, únicamente, solamente, sólo
perpetual: perpetual, perpetually, indefinite, unbefristet, perpétuel, perpetuo
limited: limited, restricted, beschränkt, limité, limitada, limitado
unlimited: unlimited, unrestricted, unbeschränkt, illimité, ilimitado, ilimitada
revocable: revocable, widerruflich
irrevocable: irrevocable, irrevocably, unwiderruflich, irrévocable
transferable: transferable, assignable, übertragbar, transférable, transferible
not transferable: non-transferable, nontransferable, non-assignable, nonassignable, nicht übertragbar
worldwide: worldwide, world-wide, weltweit, mondial, mundial
material: material, materially, wesentlich
reasonable: reasonable, reasonably
unconditional: unconditional, unconditionally
conditional: conditional, conditionally
mutual: mutual, mutually
several: jointly and severally, joint and several, severally, jointly
without limitation: without limitation, but not limited to
discretion: in its sole discretion, in its sole and absolute discretion, at its discretion, sole discretion
""")
QUANTIFIERS = _groups("""
all: any, all, each, every, alle, jede, jeder, jedes, jeden, tous, toutes, chaque, tout, toute, todos, todas, cada
some: some, certain, several, einige, bestimmte, certains, certaines, algunos, algunas, ciertos
either: either
neither: neither
both: both
most: most
and: and
or: or, and/or
""")
"""These matter only where one replaced another."""
SCOPE, QUANTIFIER = _pattern(SCOPES), _pattern(QUANTIFIERS)

COMPARISONS = _groups("""
at least: at least, not less than, no less than, no fewer than, not fewer than, a minimum of, mindestens, au moins,
  al menos, por lo menos
at most: at most, not more than, no more than, not exceed, not to exceed, not exceeding, up to, a maximum of,
  höchstens, maximal, au plus, como máximo
more: greater, more, larger, higher, longer, above, over, exceed, exceeds, exceeding, in excess of, mehr, größer,
  höher, länger, plus, supérieur, más, mayor, superior
less: lesser, less, fewer, smaller, lower, shorter, below, under, fall below, falls below, weniger, kleiner,
  niedriger, kürzer, moins, inférieur, menos, menor, inferior
before: before, prior to, earlier, no later than, not later than, preceding, vor, avant, antes
after: after, later, following, subsequent to, upon, nach, après, después
within: within, innerhalb, dans
increase: increase, increases, increased, increasing, erhöhen, erhöht, augmenter, aumentar
decrease: decrease, decreases, decreased, decreasing, reduce, reduces, reduced, reducing, senken, diminuer, reducir
maximum: maximum, highest, largest, latest, greatest, longest, spätestens
minimum: minimum, lowest, smallest, earliest, least, shortest, frühestens
""")
COMPARISON = _pattern(COMPARISONS)
BOUNDS = frozenset({"at least", "at most"})
"""Comparisons that matter without a counterpart, before a number."""

EXCEPTIONS = _groups("""
except: except, except for, excepting, with the exception of, excluding, exclude, excludes, other than, apart from,
  save for, save as, save that, but excluding, außer, ausgenommen, mit Ausnahme, sauf, excepté, hormis, à
  l'exception, salvo, excepto, con excepción
unless: unless, es sei denn, à moins que, a menos que
provided that: provided that, provided however, so long as, sofern, à condition que, siempre que
notwithstanding: notwithstanding, ungeachtet, nonobstant, no obstante
subject to: subject to, vorbehaltlich, sous réserve, sujeto a
to the extent: to the extent, soweit, dans la mesure, en la medida
""")
# A comma separates phrases in the table, so that this one cannot stand there.
EXCEPTIONS["provided, however"] = "provided that"
EXCEPTION = _pattern(EXCEPTIONS)

_NORMS = re.compile(
    r"\b(?:shall|must|may|agrees?|will|muss|müssen|darf|dürfen|verpflichtet|berechtigt|doit|doivent|peut|peuvent"
    r"|s['’]engage(?:nt)?|deben?|deberán?|podrán?|puede[n]?)\b"
)


def normative(text: str) -> bool:
    """Whether a text sets rules, as a contract, policy or law does."""
    sample = text[:_SAMPLE]
    return 1000 * len(_NORMS.findall(sample)) >= NORMATIVE * max(1, len(sample.split()))


_CLAUSE_WORDS = 8
"""Minimum number of words of a clause."""


def clause(text: str) -> bool:
    """Whether a text is a clause that binds or permits somebody: long enough, with a word of duty or permission."""
    if len(text.split()) < _CLAUSE_WORDS:
        return False
    binds = any(group(match[0], OBLIGATIONS) in BINDING for match in OBLIGATION.finditer(text))
    return binds or NEGATION.search(text) is not None


def group(words: str, groups: Mapping[str, str]) -> str:
    """The group of a phrase; the phrase itself where it has none."""
    phrase = " ".join(words.lower().replace("’", "'").split())  # `casefold` would make "ss" of "ß"
    return groups.get(phrase, phrase)


@dataclass(frozen=True)
class ContractTerms:
    """What two documents say of themselves: the parties, the defined terms, and whether they set rules.

    Attributes:
        parties: short names and roles, as "Supplier".
        rules: they are contracts, policies or laws: their clauses bind somebody.
    """

    parties: frozenset[str] = frozenset()
    defined: frozenset[str] = frozenset()
    rules: bool = False

    @cached_property
    def party_pattern(self) -> re.Pattern[str]:
        """Matches the name of a party, "either party", and "you" and "we"; all of them in capitals, too."""
        names = "|".join(_longest_first({*self.parties, *map(str.upper, self.parties)}))
        return re.compile(rf"\b(?:{names}{'|' if names else ''}{_GENERAL}|{_SPEAKERS})\b(?:['’][sS]\b)?")

    @cached_property
    def term_pattern(self) -> re.Pattern[str]:
        """Matches a defined term, in singular or plural."""
        names = "|".join(_longest_first(self.defined))
        return re.compile(rf"\b(?:{names})(?:s|es)?\b") if names else _NEVER


NO_TERMS = ContractTerms()


def read_terms(*texts: str) -> ContractTerms:
    """Read the parties and defined terms of two contracts, policies or laws; `NO_TERMS` of any other text."""
    if not all(normative(text) for text in texts):
        return NO_TERMS
    parties: set[str] = set()
    defined: set[str] = set()
    for text in texts:
        named = _introduced(text)
        quoted = set(map(_term, _ALL_QUOTED.finditer(text)))
        inside = {_term(match) for aside in _IN_PARENTHESES.finditer(text) for match in _ALL_QUOTED.finditer(aside[0])}
        # Terms that are used again, with their capitals and without the marks.
        again = {
            term
            for term in quoted
            if len(term) > 1 and len(re.findall(rf"(?<=[a-z,;] ){re.escape(term)}\b", text)) >= _MIN_USES
        }
        parties |= named | {role for role in _ROLES if len(re.findall(rf"\b{role}\b", text)) >= _MIN_USES}
        defined |= {*inside, *map(_term, _MEANS.finditer(text)), *again} - named
    return ContractTerms(frozenset(parties), frozenset(sorted(defined - parties)[:_MAX_TERMS]), rules=True)


def party_value(words: str) -> str:
    """A normal form of a party's name: without possessive and capitals, and "your" as "you"."""
    name = re.sub(r"['’]s$", "", " ".join(words.casefold().split()))
    return _PRONOUNS.get(name, name)


def is_speaker(words: str) -> bool:
    """Whether words are "you" or "we" in any form: parties of a policy, but common words elsewhere."""
    return re.fullmatch(_SPEAKERS, words) is not None


def term_value(words: str) -> str:
    """A normal form of a defined term: its singular."""
    return re.sub(r"(?<=[a-z])(?:es|s)$", "", " ".join(words.split()))


def _introduced(text: str) -> set[str]:
    """Find the short names of parties in the preamble, each in parentheses after a company or person."""
    found: set[str] = set()
    start = _OPERATIVE.split(text[:PREAMBLE], maxsplit=1)[0]
    for aside in _IN_PARENTHESES.finditer(start):
        if _COMPANY.search(start[max(0, aside.start() - _BEFORE_TERM) : aside.start()]):
            found |= {_term(match) for match in _ALL_QUOTED.finditer(aside[0])}
    return {name for name in found if not _THING.search(name)}


def _term(match: re.Match[str]) -> str:
    """A term in quotation marks, without a comma or full stop that stands inside them."""
    return match["term"].rstrip(",.")


def _longest_first(names: Iterable[str]) -> list[str]:
    return [re.escape(name).replace(r"\ ", r"\s+") for name in sorted(names, key=lambda name: (-len(name), name))]


class Genre(StrEnum):
    """What a text is, in one word."""

    CONTRACT = "contract"
    POLICY = "policy"
    PAPER = "paper"
    TEXT = "text"


def genre(document: Document) -> Genre:
    """Name the genre of a document; a text that fits none is a text."""
    kinds = {section.kind for section in document.sections}
    abstract = SectionKind.ABSTRACT in kinds or _ABSTRACT.search(document.text[: 2 * _BEGINNING])
    cites = SectionKind.REFERENCES in kinds or document.text.count("et al.") >= _CITES
    if abstract and cites:
        return Genre.PAPER
    if not normative(document.text):
        return Genre.TEXT
    if _POLICY.search(document.title):
        return Genre.POLICY
    if _CONTRACT.search(document.title):
        return Genre.CONTRACT
    head = document.text[:_BEGINNING]
    if _CONTRACT.search(head):
        return Genre.CONTRACT
    return Genre.POLICY if _POLICY.search(head) else Genre.TEXT


def common_genre(a: Document, b: Document) -> Genre:
    """The genre of two documents; a text where they differ."""
    first, second = genre(a), genre(b)
    return first if first is second else Genre.TEXT
