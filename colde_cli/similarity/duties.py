"""Words that decide who must do what: obligations, negations, scope, comparisons and exceptions, in four languages.

English, German, French and Spanish. Words of one group mean the same: "shall" and "must" are one duty.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

NORMATIVE = 5.0
"""Words of duty or permission in 1,000 words of a contract, policy or law, at least. Chosen on the thirty
documents of benchmarks/triage.py, of which contracts and policies have more and papers fewer."""
_SAMPLE = 200_000


def _groups(table: str) -> dict[str, str]:
    """Map each phrase to the name of its group, from lines "name: phrase, phrase"; indented lines go on."""
    rows = (line.partition(":") for line in re.sub(r"\n\s+", " ", table.strip()).splitlines())
    return {
        phrase.strip().lower(): name.strip() for name, _, phrases in rows for phrase in phrases.split(",")
    }


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
WEAK_ALONE = frozenset(
    {"will", "can", "wird", "werden", "has to", "have to", "kann", "können", "peut", "puede"}
)

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


_CLAUSE = 8
"""Fewest words of a clause."""


def clause(text: str) -> bool:
    """Whether a text is a clause that binds or permits somebody: long enough, with a word of duty or permission."""
    return len(text.split()) >= _CLAUSE and bool(OBLIGATION.search(text) or NEGATION.search(text))


def group(words: str, groups: Mapping[str, str]) -> str:
    """The group of a phrase; the phrase itself where it has none."""
    phrase = " ".join(words.lower().replace("’", "'").split())  # `casefold` would make "ss" of "ß"
    return groups.get(phrase, phrase)
