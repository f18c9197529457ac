"""Read the parties and the defined terms of a contract or policy from its text: `Flotek Inc. (the "Supplier")`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from colde_cli.similarity.duties import normative

PREAMBLE = 2500
"""Characters at the beginning of a document in which the parties are introduced."""
_BEFORE = 250
"""Characters before a defined term that may hold the party's name."""
_MOST = 400
"""Terms taken from one document at most, so that the pattern stays small."""

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
_FEWEST = 3
"""Times that a role is named with a capital in a document of which it is a party."""
# Groups of words that mean the same party.
_PRONOUNS = {
    **dict.fromkeys(("you", "your", "yours"), "you"),
    **dict.fromkeys(("we", "us", "our", "ours"), "we"),
    **dict.fromkeys(("party", "parties"), "party"),
}
_GENERAL = (
    r"(?:[Ee]ither|[Ee]ach|[Bb]oth|[Nn]either|[Nn]o|[Aa]ny|[Oo]ther)\s+[Pp]art(?:y|ies)|[Pp]art(?:y|ies)"
)
_SPEAKERS = r"[Yy]ou(?:rs?)?|[Ww]e|us|[Oo]urs?"
_OPERATIVE = re.compile(r"\b(?:shall|must|hereby|NOW,? THEREFORE)\b")
"""Words after which a contract no longer introduces its parties."""
_NEVER = re.compile("(?!)")


@dataclass(frozen=True)
class ContractTerms:
    """What two documents say of themselves: the parties, the defined terms, and whether they set rules.

    Attributes:
        parties: short names and roles, as "Supplier".
        defined: other terms in quotation marks.
        rules: they are contracts, policies or laws: their clauses bind somebody.
    """

    parties: frozenset[str] = frozenset()
    defined: frozenset[str] = frozenset()
    rules: bool = False

    @cached_property
    def party_pattern(self) -> re.Pattern[str]:
        """Matches the name of a party, "either party", and "you" and "we"."""
        names = "|".join(_longest_first(self.parties))
        return re.compile(rf"\b(?:{names}{'|' if names else ''}{_GENERAL}|{_SPEAKERS})\b(?:['’]s\b)?")

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
        parties |= named | {role for role in _ROLES if len(re.findall(rf"\b{role}\b", text)) >= _FEWEST}
        defined |= _defined(text) - named
    return ContractTerms(frozenset(parties), frozenset(sorted(defined - parties)[:_MOST]), rules=True)


def party_value(words: str) -> str:
    """A normal form of a party's name: without possessive, and "your" as "you"."""
    name = re.sub(r"['’]s$", "", " ".join(words.split()))
    return _PRONOUNS.get(name.casefold(), name.casefold() if re.fullmatch(_GENERAL, name) else name)


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
        if _COMPANY.search(start[max(0, aside.start() - _BEFORE) : aside.start()]):
            found |= {_term(match) for match in _ALL_QUOTED.finditer(aside[0])}
    return {name for name in found if not _THING.search(name)}


def _defined(text: str) -> set[str]:
    inside = (
        _term(match) for aside in _IN_PARENTHESES.finditer(text) for match in _ALL_QUOTED.finditer(aside[0])
    )
    return {*inside, *map(_term, _MEANS.finditer(text)), *_used_again(text)}


def _term(match: re.Match[str]) -> str:
    """A term in quotation marks, without a comma or full stop that stands inside them."""
    return match["term"].rstrip(",.")


def _used_again(text: str) -> set[str]:
    """Find the terms in quotation marks that are used again, with their capitals and without the marks."""
    quoted = set(map(_term, _ALL_QUOTED.finditer(text)))
    return {
        term
        for term in quoted
        if len(re.findall(rf"(?<=[a-z,;] ){re.escape(term)}\b", text)) >= _FEWEST and len(term) > 1
    }


def _longest_first(names: Iterable[str]) -> list[str]:
    return [
        re.escape(name).replace(r"\ ", r"\s+") for name in sorted(names, key=lambda name: (-len(name), name))
    ]
