"""Read the language of contracts, policies, laws and standards: who must do what, parties, defined terms.

Words of duty, negation, scope, comparison and exception, and words that bind or free, are known in English, German,
French and Spanish. Words of one group mean the same: "shall" and "must" are one duty.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property

from colde_cli.similarity.genre import KEYWORD, NORMATIVE, Genre, has_keywords, normative

PREAMBLE = 2500
"""Number of characters at the beginning of a document in which the parties are introduced."""
_BEFORE_TERM = 250
"""Number of characters before a defined term that may hold the party's name."""
_MAX_TERMS = 400
"""Maximum number of terms taken from one document, so that the pattern stays small."""

_QUOTED = r"[“\"„«]\s*(?P<term>[A-Z][\w&.,'’/-]*(?: [\w&.,'’/-]+){0,5}?)[,.]?\s*[”\"“»]"
_IN_PARENTHESES = re.compile(rf"\([^()]{{0,120}}?{_QUOTED}[^()]{{0,120}}?\)")
_ALL_QUOTED = re.compile(_QUOTED)
_CAPITAL_WORD, _EDGE = re.compile(r"(?<=[a-z,;] )[A-Z]\w*"), re.compile(r"\b")
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
    r"|project|program|stock|shares|product|products|release|property|premises"
    r"|apps?|applications?|(?:web ?)?sites?|platforms?|software|content|data|materials?|information|accounts?)$",
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
_ROLE = re.compile(rf"(?:\b(?P<before>[A-Z][\w&.]*) )?\b(?P<role>{'|'.join(_ROLES)})\b")
_BEFORE_ROLE = frozenset(
    (
        "The",
        "Each",
        "Any",
        "If",
        "No",
        "A",
        "An",
        "As",
        "All",
        "Such",
        "When",
        "Where",
        "Unless",
        "In",
        "By",
        "To",
        "Of",
    )
)
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
_BOTH = r"[Yy]ou and (?:us|we)|[Ww]e and you|us and you"
# "US" is a country.
_SPEAKERS = r"[Yy]ou(?:rs?)?|[Ww]e|us|[Oo]urs?|YOU(?:RS?)?|WE|OURS?"
_OPERATIVE = re.compile(r"\b(?:shall|must|hereby|NOW,? THEREFORE)\b")
"""Words after which a contract no longer introduces its parties."""
_NEVER = re.compile("(?!)")


def _groups(table: str) -> dict[str, str]:
    """Map each phrase to the name of its group, from lines "name: phrase, phrase"; indented lines go on.

    Brackets hold endings: "waive[|s|d]" is "waive", "waives" and "waived".
    """
    rows = (line.partition(":") for line in re.sub(r"\n\s+", " ", table.strip()).splitlines())
    return {
        form: name.strip()
        for name, _, phrases in rows
        for phrase in phrases.split(",")
        for form in _forms(phrase.strip().lower())
    }


def _forms(phrase: str) -> list[str]:
    """A phrase with each of the endings that its brackets hold."""
    stem, bracket, rest = phrase.partition("[")
    if not bracket:
        return [phrase]
    endings, _, rest = rest.partition("]")
    return [f"{stem}{ending}{more}" for ending in endings.split("|") for more in _forms(rest)]


def _pattern(groups: Mapping[str, str]) -> re.Pattern[str]:
    phrases = sorted(groups, key=lambda phrase: (-len(phrase), phrase))
    written = "|".join(re.escape(phrase).replace(r"\ ", r"\s+").replace("'", "(?:'|’)") for phrase in phrases)
    return re.compile(rf"(?<![\w-])(?:{written})(?![\w])", re.IGNORECASE)


OBLIGATIONS = _groups("""
duty: shall, must, will, [is|are|be] obligated to, obligated to, [is|are] obliged to, obliged to, [is|are|be] required
  to, required to, agree[|s] to, undertake[|s] to, ha[s|ve] to, covenants to, muss, müssen, [ist|sind] verpflichtet,
  verpflichtet, hat zu, wird, werden, doit, doivent, devra, devront, s'engage à, s'engagent à, est tenu[|e] de, sont
  tenu[|e]s de, debe, deben, deberá, deberán, está obligado a, están obligados a, se obliga a
prohibition: agree[|s] not to, undertake[|s] not to, must not, shall not, will not, may not, can not, cannot, can't,
  won't, mustn't, shan't, [is|are] not permitted to, not permitted to, [is|are] not allowed to, not allowed to,
  [is|are] not entitled to, not entitled to, [is|are] prohibited from, [is|are|be] prohibited, prohibited, forbidden,
  untersagt, verboten, interdit[|e|s|es], prohibid[o|a|os|as], darf nicht, dürfen nicht, kann nicht, können nicht,
  wird nicht, werden nicht, doit pas, doivent pas, devra pas, devront pas, peut pas, peuvent pas, pourra pas, pourront
  pas, no debe[|n], no deberá[|n], no puede[|n], no podrá[|n]
no duty: [is|are] not required to, not required to, [is|are] not obligated to, not obligated to, [is|are] not obliged
  to, not obliged to, ha[s|ve] no obligation to, need not, muss nicht, müssen nicht, nicht verpflichtet, [est|sont] pas
  tenu[|e|s|es] de, no está obligado a, no están obligados a
advice: should, ought to, soll, sollte, sollen, sollten, devrait, devraient, debería, deberían
advice against: should not, ought not to, shouldn't, soll nicht, sollte nicht, sollen nicht, sollten nicht, devrait pas,
  devraient pas, no debería[|n]
permission: may, can, [is|are|be] entitled to, entitled to, [is|are] permitted to, permitted to, ha[s|ve] the right to,
  reserves the right to, is allowed to, are allowed to, kann, können, darf, dürfen, [ist|sind] berechtigt, berechtigt,
  peut, peuvent, pourra, pourront, a le droit de, est autorisé à, puede, pueden, podrá, podrán, tiene derecho a
possibility: might, could, would, könnte, könnten, würde, würden, pourrait, pourraient, podría, podrían
best efforts: best efforts, best endeavo[|u]rs, nach besten kräften, bestmögliche[|n] anstrengungen, meilleurs efforts,
  mejores esfuerzos
reasonable efforts: reasonable efforts, commercially reasonable efforts, reasonable endeavo[|u]rs, angemessene[|n]
  anstrengungen, zumutbare[|n] anstrengungen, efforts raisonnables, esfuerzos razonables
liable: liable, responsible, haftet, haften, haftbar, responsable, responsables
""")
OBLIGATION = _pattern(OBLIGATIONS)
NORMS = frozenset({"duty", "prohibition", "no duty", "advice", "advice against", "permission"})
"""Groups of obligations that say what somebody must, may or should do."""
BINDING = NORMS | {"best efforts", "liable"}
"""Groups of obligations that matter without a counterpart; "will" and "can" alone do not."""
WEAK_ALONE = frozenset(
    "will|will not|won't|can|can not|cannot|can't|wird|werden|wird nicht|werden nicht|has to|have to|kann|können"
    "|kann nicht|können nicht|peut|peut pas|puede|no puede".split("|")
)

BINDERS = _groups("""
waive: waiv[e|es|ed|ing|er|ers], forfeit[|s|ed|ing], verzicht[|et|en|ete|eten], renonc[e|ent|er|era|eront|iation],
  renunci[a|an|ar|ará|arán]
release: release[|s|d], releasing, discharge[|s|d], hold[|s] harmless, entlasse[n|t], libèr[e|ent], libérer, libéré[|e],
  libera[|n|r|rá]
indemnify: indemnif[y|ies|ied|ying|ication], indemnit[y|ies], schadlos, freistell[t|en|ung],
  indemnis[e|ent|er|era|ation], indemniz[a|ar|ará|ación]
warrant: warrant[|s|ed|ing|y|ies], guarantee[|s|d|ing], gewährleist[et|en|ung], garantier[t|en], garantie[|n|s],
  garanti[r|t|ssent], garantiza[|n|r|rá], garantía[|s]
represent: represent[|s|ed|ing|ation|ations], sicher[t|n] zu, zusicher[n|ung|ungen], déclare[|nt], declara[|n|r]
terminate: terminat[e|es|ed|ing|ion], discontinue[|s|d], suspend[|s|ed|ing], suspension, rescind[|s|ed],
  rescission, kündig[t|en|te|ung|ungen|bar],
  résili[e|ent|er|era|ation], rescindir[|á], rescinde[|n], rescisión
assign: assign[|s|ed|ing|ment|ments], abtret[en|ung], tritt ab, treten ab, céde[r|ra], cède[|nt], cession, ceder[|á],
  cede[|n], cesión
written: written, in writing, schriftlich[|e|en|er|es], schriftform, textform, écrit[|e|s|es], escrit[o|a|os|as]
consent: consent[|s|ed|ing], approval[|s], zustimm[t|en|ung], einwillig[t|en|ung], genehmig[t|en|ung], consentement,
  consent[ir|ira], consentimiento, consiente[|n], aprobación
hereby: hereby, hiermit, par [la|les] présente[|s], por la presente
""")
"""Words that bind somebody, or free him, without a word of duty. They matter in contracts and policies alone."""


@cache
def binder() -> re.Pattern[str]:
    """The pattern of `BINDERS`: made when a text first sets rules, as most never do."""
    return _pattern(BINDERS)


FREES = frozenset({"waive", "release", "indemnify"})
"""Groups of these that free somebody of what he would owe."""

HEDGES = {"permission", "possibility"}
"""Groups that are no difference to each other: "can" and "could"."""

NEGATION = re.compile(
    r"(?<![\w-])(?:not|no|never|none|nor|neither|without|cannot|nothing|nobody|nicht|kein(?:e[nmrs]?)?|nie|niemals|weder"
    r"|keinesfalls|keineswegs|keinerlei|niemand|nichts|ohne|pas|jamais|rien|aucunement|nada|nadie|aucune?|sans|nunca|jamás|ning[uú]n[ao]?|tampoco|ni|sin)(?!\w)|\w+n['’]t\b",
    re.IGNORECASE,
)

SCOPES = _groups("""
exclusive: exclusive[|ly], exklusiv[|e|en|er|es], ausschließlich[|e|en|er|es|em], exclusif[|s], exclusive[|s],
  exclusivement, exclusiv[o|a|os|as], exclusivamente
not exclusive: non-exclusive[|ly], nonexclusive[|ly], nicht exklusiv[|e|en|er|es], nicht ausschließlich[|e|en|er|es|em],
  non exclusif[|s], non exclusive[|s], no exclusiv[o|a|os|as]
only: only, solely, sole, nur, lediglich, allein[|ige|igen|iger|iges], seulement, uniquement, seul[|e|s], únicamente,
  solamente, sólo, únic[o|a|os|as]
perpetual: perpetual[|ly], indefinite, unbefristet[|e|en|er|es], perpétuel[|le|s|les], perpetu[o|a|os|as]
limited: limited, restricted, beschränkt[|e|en|er|es], limité[|e|s|es], limitad[o|a|os|as]
unlimited: unlimited, unrestricted, unbeschränkt[|e|en|er|es], illimité[|e|s|es], ilimitad[o|a|os|as]
revocable: revocable, widerruflich[|e|en|er|es], révocable[|s]
irrevocable: irrevocabl[e|y], unwiderruflich[|e|en|er|es], irrévocable[|s|ment], irrevocable[|s|mente]
transferable: transferable, assignable, übertragbar[|e|en|er|es], transférable, cessible[|s], transferible
not transferable: non-transferable, nontransferable, non-assignable, nonassignable, nicht übertragbar[|e|en|er|es]
worldwide: worldwide, world-wide, weltweit[|e|en|er|es], mondial[|e], mundial
material: material[|ly], wesentlich[|e|en|er|es]
reasonable: reasonabl[e|y], angemessen[|e|en|er|es], zumutbar[|e|en|er|es], raisonnable[|s|ment], razonable[|s|mente]
unconditional: unconditional[|ly], bedingungslos
conditional: conditional[|ly]
mutual: mutual[|ly]
several: jointly and severally, joint and several, severally, jointly, gesamtschuldnerisch, solidairement,
  solidariamente
without limitation: without limitation, but not limited to
discretion: in its sole discretion, in its sole and absolute discretion, at its discretion, sole discretion,
  nach eigenem ermessen, à sa seule discrétion, a su sola discreción
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
at once: immediately, promptly, forthwith, without undue delay, without delay, as soon as practicable, as soon as
  possible, as soon as reasonably practicable, unverzüglich, umgehend, sofort, immédiatement, sans délai,
  inmediatamente, sin demora
maximum: maximum, highest, largest, latest, greatest, longest, spätestens
minimum: minimum, lowest, smallest, earliest, least, shortest, frühestens
""")
COMPARISON = _pattern(COMPARISONS)
BOUNDS = frozenset({"at least", "at most"})
"""Comparisons that matter without a counterpart, before a number."""
DEADLINE = re.compile(r"no(?:t)?\s+later\s+than|spätestens", re.IGNORECASE)
"""A limit of time, whatever follows it."""

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

_CLAUSE_WORDS = 6
"""Minimum number of words of a clause."""
GRAVE = re.compile(
    r"\b(?:liab(?:le|ilit(?:y|ies))|damages|penalt(?:y|ies)|arbitrat\w+|class[ -]actions?|jurisdiction|venue|courts?"
    r"|governing law|governed by|laws? of|sue|claims?|proceedings?|lawsuits?|disputes?|injunctive|breach(?:es)?"
    r"|violat\w+|irrevocabl[ey]|perpetual|exclusive(?:ly)?|licen[cs]es?|rights? (?:to|for)|reserves? the right"
    r"|machine learning|artificial intelligence|(?:ai|language|foundation) models?|generative|biometric|opt[- ]out"
    r"|(?:sell|share|disclose|store|keep)s?(?:\W+\w+){0,4}?\W+(?:data|information)|(?:stor|delet|eras|retain)(?:ed|ing)"
    r"|deletes?|retention|kept (?:for|until)|gespeichert|gelöscht|aufbewahrt|(?:non-)?refund(?:able|s)?"
    r"|auto\w* ?renew\w*"
    r"|haft(?:et|en|ung)|schadens?ersatz|vertragsstrafe\w*|gerichtsstand|schiedsgericht\w*|klagen?|ansprüche|verstoß\w*"
    r"|verstöße\w*|lizenz|responsabilité|dommages|pénalités?|tribuna(?:l|ux|les)|juridiction|litiges?|droit de"
    r"|responsabilidad|daños|penalización|jurisdicción|arbitraje|litigios?|demandas?|incumplimiento|derecho a)\b",
    re.IGNORECASE,
)
"""Words of liability, of who judges, of rights granted, and of what becomes of somebody's data or money."""
MONEY = re.compile(
    r"\b(?:fees?|prices?|charg(?:e|es|ed|ing)|bill(?:s|ed|ing)|pay(?:s|ing|ments?)?|taxes|gebühr(?:en)?|preise?|entgelte?|vergütung"
    r"|zahl(?:en|t|ung|ungen)|prix|frais|pai(?:e|ement|ements)|precios?|tarifas?|pagos?)\b",
    re.IGNORECASE,
)
"""Words of money, with or without an amount."""
EXCLUDED = re.compile(
    r"\b(?:not?|nor|never|without|nicht|keine?r?|ohne|pas|aucune|sans|ni|sin|ninguna)\W+(?:\w+\W+){0,4}?"
    r"(?:liable|liability|responsible|responsibility|warrant\w+|haft\w+|gewähr\w+|responsab\w+|garant\w+)",
    re.IGNORECASE,
)
"""An exclusion of liability or warranty."""
_BINDS = re.compile(
    r"\b(?:means?|grant(?:s|ed)?|agrees?|acknowledges?|subject to|incorporated (?:\w+ ){0,2}by reference|forms? part of"
    r"|bedeutet|bezeichnet|gewähr\w*|einräum\w*|räumt|désigne|accorde|concède|accepte[nt]?|reconna[iî]t|significa"
    r"|otorga\w*|acepta\w*|reconoce\w*)\b",
    re.IGNORECASE,
)
"""Words that define, grant or agree."""


_DEFINES = re.compile(
    r"^\W*(?:\(?\w{1,4}[.)]\s*)?(?:the (?:term|word)s?\s+)?[“”\"„«][^“”\"„«»]{2,80}[”“\"»]\W+(?:\w+\W+){0,8}?"
    r"(?:means?|includes?|refers? to|has the meaning|bedeutet|bezeichnet|désigne|significa)\b",
    re.IGNORECASE,
)


def defines(text: str) -> bool:
    """Whether a text says what a term means."""
    return _DEFINES.match(text) is not None


def clause(text: str, terms: ContractTerms | None = None) -> bool:
    """Whether a text is a clause that binds, permits or frees: long enough, with such a word.

    In a standard key words in capitals bind, those in small letters only where it has many; in contracts and
    policies also words such as "waive".
    """
    if terms is not None and terms.keywords:
        return KEYWORD.search(text) is not None or (terms.small_binds and _SMALL.search(text) is not None)
    if len(text.split()) < _CLAUSE_WORDS:
        return False
    if any(group(match[0], OBLIGATIONS) in BINDING for match in OBLIGATION.finditer(text)):
        return True
    if NEGATION.search(text):
        return True
    if terms is None or not terms.rules:
        return False
    return defines(text) or any(one.search(text) for one in (binder(), _BINDS, GRAVE))


def group(words: str, groups: Mapping[str, str]) -> str:
    """The group of a phrase; the phrase itself where it has none."""
    phrase = " ".join(words.lower().replace("’", "'").split())  # `casefold` would make "ss" of "ß"
    return groups.get(phrase, phrase)


@dataclass(frozen=True)
class ContractTerms:
    """What two documents say of themselves: the parties, the defined terms, and whether they set rules.

    Attributes:
        parties: short names and roles, as "Supplier".
        rules: they are contracts, policies, laws or standards: their clauses bind somebody.
        keywords: they are standards: key words in capitals bind, and nobody is a party.
        small_binds: key words in small letters bind, too: each text has at least half as many of them as in capitals.
        renamed: parties that only one of the documents names: where "you" stands in their place they are you.
    """

    parties: frozenset[str] = frozenset()
    defined: frozenset[str] = frozenset()
    rules: bool = False
    keywords: bool = False
    small_binds: bool = False
    renamed: frozenset[str] = frozenset()

    @cached_property
    def party_pattern(self) -> re.Pattern[str]:
        """Matches the name of a party, "either party", and "you" and "we"; all of them in capitals, too."""
        names = "|".join(_longest_first({*self.parties, *map(str.upper, self.parties)}))
        return re.compile(rf"\b(?:{names}{'|' if names else ''}{_GENERAL}|{_BOTH}|{_SPEAKERS})\b(?:['’][sS]\b)?")

    @cached_property
    def term_pattern(self) -> re.Pattern[str]:
        """Matches a defined term, in singular or plural."""
        names = "|".join(_longest_first(self.defined))
        return re.compile(rf"\b(?:{names})(?:s|es)?\b") if names else _NEVER


NO_TERMS = ContractTerms()


KEYWORDS_BIND = ContractTerms(rules=True, keywords=True)
_SMALL = re.compile(r"\b(?:must|shall|should)\b")
"""Words of duty of a standard in small letters; "may" there is mostly a guess."""


def read_terms(*texts: str, kind: Genre = Genre.TEXT) -> ContractTerms:
    """Read the parties and defined terms of two contracts, policies or laws; `NO_TERMS` of any other text.

    A standard has none; where its key words stand in capitals, these bind.
    """
    if kind is Genre.STANDARD and all(map(has_keywords, texts)):
        mixed = all(2 * len(_SMALL.findall(text)) >= len(KEYWORD.findall(text)) for text in texts)
        return replace(KEYWORDS_BIND, small_binds=mixed)
    least = NORMATIVE / 2 if kind in (Genre.CONTRACT, Genre.POLICY, Genre.STANDARD) else NORMATIVE
    if not all(normative(text, least) for text in texts):
        return NO_TERMS
    parties: set[str] = set()
    defined: set[str] = set()
    for text in texts:
        named = _introduced(text)
        quoted = set(map(_term, _ALL_QUOTED.finditer(text)))
        inside = {_term(match) for aside in _IN_PARENTHESES.finditer(text) for match in _ALL_QUOTED.finditer(aside[0])}
        parties |= named | {role for role, uses in _roles(text).items() if uses >= _MIN_USES}
        defined |= {*inside, *map(_term, _MEANS.finditer(text)), *_used_again(quoted, text)} - named
    uses = [_roles(text) for text in texts]
    renamed = frozenset(role.casefold() for role in parties & {*_ROLES} if not all(some[role] for some in uses))
    return ContractTerms(
        frozenset(parties), frozenset(sorted(defined - parties)[:_MAX_TERMS]), rules=True, renamed=renamed
    )


def _used_again(terms: Iterable[str], text: str) -> set[str]:
    """The terms that a text uses again, with their capitals and without the marks, found in one pass over it."""
    by_word: defaultdict[str, list[str]] = defaultdict(list)
    for term in terms:
        by_word[re.split(r"\W", term, maxsplit=1)[0]] += [term] * (len(term) > 1)
    uses = Counter(
        term
        for word in _CAPITAL_WORD.finditer(text)
        for term in by_word.get(word[0], ())
        if text.startswith(term, word.start()) and _EDGE.match(text, word.start() + len(term))
    )
    return {term for term, count in uses.items() if count >= _MIN_USES}


def party_value(words: str) -> str:
    """A normal form of a party's name: without possessive and capitals, and "your" as "you"."""
    name = re.sub(r"['’]s$", "", " ".join(words.casefold().split()))
    return "party" if re.fullmatch(_BOTH, name) else _PRONOUNS.get(name, name)


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


def _roles(text: str) -> Counter[str]:
    """How often each role is named; not within a name, such as "Example Unlimited Company"."""
    found = (match["role"] for match in _ROLE.finditer(text) if (match["before"] or "The") in _BEFORE_ROLE)
    return Counter(found)


def _term(match: re.Match[str]) -> str:
    """A term in quotation marks, without a comma or full stop that stands inside them."""
    return match["term"].rstrip(",.")


def _longest_first(names: Iterable[str]) -> list[str]:
    return [re.escape(name).replace(r"\ ", r"\s+") for name in sorted(names, key=lambda name: (-len(name), name))]
