"""Text lightly reworded by rule: no library, no download, the same result every time.

Synonyms from a list, "A and B" as "B and A", a leading clause put last, numbers as words or figures, adverbs
dropped. It says much the same, not always in good English: that is not what it is for.
"""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from itertools import pairwise

from colde_cli.documents.sentences import sentence_starts

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

_ADVERBS = (
    "very quite rather really actually simply clearly particularly generally typically usually highly".split()
)
_NUMBERS = "zero one two three four five six seven eight nine ten eleven twelve".split()
_FIGURES = {str(value): word for value, word in enumerate(_NUMBERS)}

_WORD = re.compile(
    "|".join(rf"\b{re.escape(word)}\b" for word in sorted(_SYNONYMS, key=len, reverse=True)), re.I
)
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
    """The text lightly reworded: it says the same in other words, with the same sentences in the same order."""
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
