"""Measure the flags of a diff: planted edits that cost money must be flagged, noise must not.

    python benchmarks/triage.py DATA PDFS [--seed 0] [--half tuned|held]

DATA holds `docs.jsonl.gz` in `contracts`, `doc-versions` and `rfc` (docs/training-data.md), PDFS is a folder of PDF
files. Of 14 contracts, 8 policies, 8 standards and 8 papers a copy is made. Each copy has edits of every kind (a party
exchanged, an obligation weakened, a key word of a standard changed, ...) and as many edits that are noise (a clause
renumbered, "90" written as "ninety", a word replaced by a synonym, the date of the cover, a capital letter), one edit a
passage. Passages are aligned by wording alone, without a model.

    recall      share of the planted edits of a kind whose passage has a flag of that kind on the words planted
    precision   share of all flags of these copies that are on planted edits

Every second document of each sort is held back: flags were tuned on the others alone.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.table import Table
from script import arguments, document_of, records

from colde_cli.documents.document import Document, Part, SectionKind, Span, assemble
from colde_cli.documents.passages import Passage, passages
from colde_cli.documents.reading import read
from colde_cli.similarity.alignment import align
from colde_cli.similarity.mentions import Flag
from colde_cli.similarity.pairs import State

CONTRACTS, POLICIES, STANDARDS = 14, 8, 8
PAPERS = "2020.acl-main.447 C02-1025 N18-3011 W08-2222 interspeech naacl06-shinyama sp_smith07 0807.3577".split()
WORDS = (1500, 9000)
"""Fewest and most words of a document that is drawn."""
MOST_KEYWORDS = 20
"""Key words in capitals that a standard has, at least."""
EACH = 2
"""Edits of a kind in a document."""
_MONTHS = "January February March April May June July August September October November December".split()
_SPELLED = dict(
    enumerate("two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen".split(), 2)
) | {20: "twenty", 30: "thirty", 60: "sixty", 90: "ninety"}
_PARTIES = (
    "Supplier Customer Buyer Seller Licensor Licensee Landlord Tenant Lessor Lessee Contractor Provider Client "
    "Employer Employee Executive Consultant Distributor Manufacturer Purchaser Vendor Borrower Lender "
    "Franchisor Franchisee Agent"
).split()
_REQUIRES = re.compile(r"(?<=[a-z] )(?:MUST|SHALL|SHOULD|MAY)\b(?: NOT)?(?= [a-z])")
_COVER = re.compile(r"\W*(?:last|effective|updated|revised|version|date)\b.{0,60}$", re.IGNORECASE)
"""A line with the date of a document: the benchmark changes it as noise."""
_NAMES = (
    "New York|California|Delaware|Texas|Illinois|Florida|Ohio|Boston|London|Chicago|Smith|Johnson|Brown|Google"
    "|Microsoft|Wikipedia|Ireland|Germany|France"
)

Change = Callable[[str, random.Random], str]
"""Makes an edit in a text; the same text where it cannot."""


def swap(pattern: str, *others: str | Callable[[re.Match[str]], str]) -> Change:
    """Replace one match of `pattern` by a template, or what a function makes of it; of several one is drawn."""
    known = re.compile(pattern)

    def change(text: str, generator: random.Random) -> str:
        found = list(known.finditer(text))
        if not found:
            return text
        match = generator.choice(found)
        other = generator.choice(others)
        made = match.expand(other) if isinstance(other, str) else other(match)
        return text[: match.start()] + made + text[match.end() :]

    return change


def first_of(*changes: Change) -> Change:
    """Make the first change that the text allows, in a drawn order."""

    def change(text: str, generator: random.Random) -> str:
        for one in generator.sample(changes, len(changes)):
            if (other := one(text, generator)) != text:
                return other
        return text

    return change


def counted(pattern: str, digits: str = r"\d+") -> Change:
    """Add to the number within one match of `pattern`."""
    known, number = re.compile(pattern), re.compile(digits)

    def change(text: str, generator: random.Random) -> str:
        found = list(known.finditer(text))
        if not found:
            return text
        match = generator.choice(found)
        other = number.sub(lambda old: str(int(old[0]) + generator.choice((1, 2, 5, 15))), match[0], count=1)
        return text[: match.start()] + other + text[match.end() :]

    return change


def _other_month(text: str, generator: random.Random) -> str:
    found = list(re.finditer(rf"\b({'|'.join(_MONTHS)}) (?=\d{{1,2}},? \d{{4}}|\d{{4}})", text))
    if not found:
        return text
    match = generator.choice(found)
    month = generator.choice([month for month in _MONTHS if month != match[1]])
    return f"{text[: match.start()]}{month} {text[match.end() :]}"


def _word_before(words: str) -> str:
    return rf"\b(?:{words}) "


COMMON: Mapping[str, Change] = {
    "obligation": first_of(
        swap(r"\bshall\b(?! not)", "may", "should"),
        swap(r"\bmust\b", "may", "should"),
        swap(r"(?<!case )\bmay\b(?! not)", "must", "shall"),  # "as the case may be" permits nothing
        swap(r"\b(?:is|are) obligated to\b", "may"),
        swap(r"\bis required to\b", "may"),
        swap(r"\bare required to\b", "may"),
        swap(r"\bbest efforts\b", "reasonable efforts"),
    ),
    "negation": first_of(
        swap(r"\b(is|are|was|were|shall|may|must|will|should|does|do|did|can) not (?=[a-z])", r"\1 "),
        swap(r"\b(is|are|was|were|shall|must|will|should) (?!not\b|no\b)(?=[a-z])", r"\1 not "),
    ),
    "scope": first_of(
        swap(r"\b([Nn])on-exclusive\b", r"exclusive"),
        swap(r"(?<![-\w])exclusive\b", "non-exclusive"),
        swap(r"\b(?:solely|only) (?=[a-z])", ""),
        swap(r"\bany (?=[a-z]{4})", "certain "),
        swap(r"\ball (?=[a-z]{4})", "some ", "certain "),
        swap(r"\beither (?=[a-z]+ or)", "neither "),
        swap(r"\bsole (?=[a-z])", ""),
        swap(r"\bperpetual\b", "limited"),
    ),
    "comparison": first_of(
        swap(r"\bgreater\b", "lesser"),
        swap(r"\bat least\b", "at most", "up to"),
        swap(r"\bmore than\b", "less than"),
        swap(r"\bless than\b", "more than"),
        swap(r"\bminimum\b", "maximum"),
        swap(r"\bprior to\b", "after"),
        swap(r"\bbefore\b", "after"),
        swap(r"\bafter\b(?! that)", "before"),
        swap(r"\bhigher\b", "lower"),
        swap(r"\bexceeds?\b", "fall below"),
        swap(r"\bincrease\b", "decrease"),
        swap(r"\bmaximum\b", "minimum"),
    ),
    "number": counted(r"(?<![\d.,$€(\[])(?<!Figure )(?<!Table )(?<!Section )\b\d{1,3} (?=[a-z]{3,}s\b)"),
    "percentage": first_of(counted(r"\b\d{1,2}(?:\.\d)? ?%"), counted(r"\b\d{1,2}(?:\.\d)? percent")),
    "date": first_of(
        _other_month,
        counted(rf"\b(?:{'|'.join(_MONTHS)}) \d{{1,2}}, (?=\d{{4}})"),
        counted(rf"\b(?:{'|'.join(_MONTHS)}) (?:\d{{1,2}}, )?(?:19|20)\d\d\b", r"\b\d{4}\b"),
    ),
    "unit": first_of(
        swap(r"(\d\)? )(?:calendar |business )?days\b", r"\1months", r"\1weeks"),
        swap(r"(\d\)? )months\b", r"\1years", r"\1weeks"),
        swap(r"(\d\)? )years\b", r"\1months"),
        swap(r"(\d\)? )hours\b", r"\1days"),
    ),
    "amount": first_of(counted(r"[$€£]\s?\d{1,3}(?:,\d{3})*"), swap(r"\$(\d)", r"€\1")),
    "exception": first_of(
        swap(r"(?<=[a-z])\.$", r", except as required by law."),
        swap(r"(?<=[a-z])\.$", r", unless the other side agrees in writing."),
        swap(r"(?<=[a-z]), (?:except|unless|other than|provided that) [a-z ]{5,60}(?=[.;,])", r""),
        swap(r"(?<=[a-z])\.(?= [A-Z])", r", other than those listed in the annex."),
    ),
    "reference": counted(
        r"(?<=[a-z,;(] )(?:Section|Article|Clause|Paragraph)s? \d+(?:\.\d+)*(?=[^\d.]|\.\s|\.$)", r"\d+(?!.*\d)"
    ),
    "modal": first_of(
        swap(r"\b(?:shall|must|may) not (?=[a-z])", "may ", "is free to "),
        swap(r"\bshall (?=[a-z])", "either shall or may "),
        swap(r"\bmay (?!not\b)(?=[a-z])", "shall or may "),
    ),
    "binder": first_of(
        swap(r"\bwritten (?=(?:notice|consent|approval|agreement))", ""),
        swap(r"\bhereby ", ""),
        swap(r"\bprior consent\b", "prior notice"),
        swap(r"\bwarrants?\b(?= that)", "represents"),
        swap(r"\b(?:indemnify|release|waive) (?=[a-z])", "inform "),
        swap(r"(?<=[a-z] )terminate (?=[a-z])", "review "),
        swap(r"(?<=[a-z] )irrevocably ", ""),
    ),
    "duration": first_of(
        swap(
            r"\b(?:thirty|sixty|ninety|ten|five) \(\d+\) (?=(?:calendar |business )?days)",
            "fifteen (15) ",
            "forty (40) ",
        ),
        swap(r"\b(?:two|three|six|twelve|five) (?=(?:months|years|days))", "four ", "nine "),
        swap(r"\bone (?=(?:month|year)\b)", "half a "),
        swap(r"\b(\d+) (?=(?:months|years|days)\b)", "four ", "nine "),
    ),
    "name": swap(rf"(?<=[a-z] )(?:{_NAMES})\b(?! [A-Z])", "Nevada", "Osei", "Brandt"),
}

NOISE: Mapping[str, Change] = {
    "synonym": first_of(
        swap(r"\bhowever\b", "nevertheless"),
        swap(r"\b(?:obtain|receive) ", "get "),
        swap(r"\bpurposes\b", "aims"),
        swap(r"\busing\b", "with"),
        swap(r"\bconcerning\b", "regarding"),
        swap(r"\bin connection with\b", "in relation to"),
        swap(r"\bpursuant to\b", "under"),
        swap(r"\bmethod\b", "approach"),
        swap(r"\bshows\b", "demonstrates"),
        swap(r"\bbecause\b", "since"),
        swap(r"\binformation\b", "details"),
        swap(r"\bprovides\b", "gives"),
    ),
    "label": counted(r"^\(?\d+(?:\.\d+)*[.)]? (?=[A-Z])", r"\d+(?!.*\d)"),
    "letter": swap(r"^\(([a-h])\)(?= )", "(k)", "(m)"),
    "bullet": swap(r"^[-–•*](?= )", "▪", "–"),
    "spelled": first_of(
        *(swap(rf"(?<![\d.,$(/-])\b{number} (?=[a-z]{{3,}}s\b)", f"{word} ") for number, word in _SPELLED.items()),
        *(swap(rf"\b{word} (?=[a-z]{{3,}}s\b)", f"{number} ") for number, word in _SPELLED.items()),
        *(swap(rf"\b{word} \({number}\)", f"{number}") for number, word in _SPELLED.items()),
    ),
    "percent": swap(r"(\d) ?%", r"\1 percent", r"\1 per cent"),
    "footnote": swap(r"(?<=[a-z]{4}[.,])(\d{1,2})(?= [A-Z])", "17", "4"),
    "formula": counted(r"(?<=[=+(] )\d+\b|(?<=\d × )\d+(?= [A-Z])|(?<=\b[a-z] )[01]\b(?= [a-z]\b)"),
    "thousands": swap(r"\b(\d{1,3}),(\d{3})\b(?!,)", r"\1\2"),
    "citation": counted(r"\[\d{1,2}(?=[\],])"),
    "table": counted(r"\b(?:Table|Figure|Fig\.) \d+"),
    "case": swap(r"(?<=[a-z] )([a-z])([a-z]{5,}) (?=[a-z])", lambda match: f"{match[1].upper()}{match[2]} "),
    "cover": counted(
        rf"^(?:Last|Effective|Updated|Revised|Version|Date)\b[^.]{{0,40}}\b(?:{'|'.join(_MONTHS)}) \d{{1,2}}, \d{{4}}"
        r"(?=\W*$)",
        r"\d{4}",
    ),
    "hyphen": swap(r"\b([a-z]{4,})-([a-z]{4,})\b", r"\1\2"),
}


REQUIREMENTS: Mapping[str, Change] = {
    "requirement": first_of(
        swap(r"\b(?:MUST|SHALL)\b(?! NOT) (?=[a-z])", "MAY ", "SHOULD ", "either MUST or MAY "),
        swap(r"\bSHOULD\b(?! NOT) (?=[a-z])", "MUST ", "MAY ", "should "),
        swap(r"\b(?:MUST|SHALL) NOT (?=[a-z])", "MAY ", "SHOULD NOT "),
        swap(r"\bMAY (?=[a-z])", "MUST ", "may "),
    ),
    "negation": swap(r"\b(is|are|does|do|can) not (?=[a-z])", r"\1 "),
    "number": COMMON["number"],
    "comparison": COMMON["comparison"],
}
"""What is planted in a standard."""


@dataclass(slots=True)
class Planting:
    """What was planted into a passage: the kind, whether it is noise, and the passage before and after."""

    kind: str
    noise: bool
    before: str
    after: str


@dataclass(slots=True)
class Case:
    """A document, its copy with edits, and the edits by the passage of A; inserted clauses by their text."""

    name: str
    sort: str
    a: Document
    b: Document
    edits: Mapping[int, Planting]
    inserted: Sequence[str]


@dataclass(slots=True)
class Tally:
    """Planted and found edits of each kind, and flags that are right and wrong."""

    planted: Counter[str] = field(default_factory=Counter)
    found: Counter[str] = field(default_factory=Counter)
    right: int = 0
    wrong: int = 0
    noise: int = 0


def sources(data: Path, pdfs: Path, seed: int) -> Iterator[tuple[str, Document]]:
    """Yield the sort and each document, every second one to be held back."""
    for sort, count in (("contracts", CONTRACTS), ("doc-versions", POLICIES), ("rfc", STANDARDS)):
        known = list(map(document_of, records(data / sort)))
        # A PEP describes a language: it is no policy.
        known = [document for document in known if not document.path.startswith(("pep", "python"))]
        if sort == "rfc":
            known = [document for document in known if len(_REQUIRES.findall(document.text)) >= MOST_KEYWORDS]
        fit = [document for document in known if WORDS[0] <= len(document.text.split()) <= WORDS[1]]
        for document in random.Random(seed).sample(fit, count):
            yield sort, document
    for name in PAPERS:
        yield "papers", read(pdfs / f"{name}.pdf")


def party(document: Document) -> Change:
    """Exchange the two parties that the document names most; in a policy "you" and "we"."""
    counts = Counter(re.findall(rf"\b(?:{'|'.join(_PARTIES)}|Company)\b", document.text))
    common = [name for name, count in counts.most_common(2) if count >= 3]
    if len(common) == 2:
        first, second = common
        return first_of(
            swap(rf"\b{first}\b(?=(?:'s)? [a-z])", second),
            swap(rf"\b{second}\b(?=(?:'s)? [a-z])", first),
            swap(r"\beither party\b", first),
            swap(r"\beach party\b", second),
        )
    return first_of(swap(r"\b[Ee]ither party\b", "Customer"), swap(r"\b(?:we|We) (?=[a-z])", "you "))


def defined_term(document: Document) -> Change:
    """Exchange two terms that the document defines in quotation marks."""
    found = re.findall(r"[“\"]([A-Z][a-z]+(?: [A-Z][a-z]+){0,2})[”\"]", document.text)
    terms = [
        term
        for term in dict.fromkeys(found)
        if term not in _PARTIES and term != "Company" and len(re.findall(rf"\b{term}\b", document.text)) >= 3
    ]
    if len(terms) < 2:
        return lambda text, generator: text
    return first_of(
        *(
            swap(rf"(?<=[a-z] )\b{one}\b(?= [a-z])", other)
            for one, other in zip(terms, [*terms[1:], terms[0]], strict=True)
        )
    )


def make_case(sort: str, a: Document, foreign: Sequence[str], seed: int) -> Case:
    """Plant edits and noise into a copy of a document."""
    generator = random.Random(seed)
    found = passages(a)
    texts = [a.text[one.span.start : one.span.end] for one in found]
    listed = {section.index for section in a.sections if section.kind is SectionKind.REFERENCES}
    free = [n for n, text in enumerate(texts) if len(text.split()) >= 4 and found[n].section not in listed]
    generator.shuffle(free)
    standard = sort == "rfc"
    changes = (
        dict(REQUIREMENTS)
        if standard
        else dict(COMMON)
        if sort == "papers"
        else {**COMMON, "party": party(a), "term": defined_term(a)}
    )
    if sort == "papers":  # a paper has no clauses
        for kind in ("obligation", "modal", "binder", "duration", "exception", "reference", "scope", "amount"):
            del changes[kind]
    edits: dict[int, Planting] = {}
    for kind, change, noise in [
        *((kind, change, False) for kind, change in changes.items()),
        *((kind, change, True) for kind, change in NOISE.items() if kind != "formula" or sort == "papers"),
    ]:
        _plant(kind, change, noise, texts, free, edits, generator)
    inserted: list[str] = []
    if sort != "papers":
        binds = _requirement if standard else _clause
        for n in [n for n in free if n not in edits and binds(texts[n])][:EACH]:
            edits[n] = Planting("clause deleted", False, texts[n], "")
        inserted = generator.sample(list(foreign), EACH)
    return Case(a.title, sort, a, _rebuilt(a, found, edits, inserted, free), edits, inserted)


def _plant(
    kind: str,
    change: Change,
    noise: bool,
    texts: Sequence[str],
    free: Sequence[int],
    edits: dict[int, Planting],
    generator: random.Random,
) -> None:
    made = 0
    for n in free:
        if made == EACH:
            return
        if kind == "date" and _COVER.match(texts[n]):  # it comes last, without a flag
            continue
        if n not in edits and (after := change(texts[n], generator)) != texts[n]:
            edits[n] = Planting(kind, noise, texts[n], after)
            made += 1


def _clause(text: str) -> bool:
    return 15 <= len(text.split()) <= 120 and bool(re.search(r"\b(?:shall|must|may|will)\b", text))


def _requirement(text: str) -> bool:
    return 12 <= len(text.split()) <= 120 and _REQUIRES.search(text) is not None


def _rebuilt(
    a: Document, found: Sequence[Passage], edits: Mapping[int, Planting], inserted: Sequence[str], free: Sequence[int]
) -> Document:
    spans = [one.span for one in found]
    places = [n for n in free if n not in edits][: len(inserted)]
    parts = []
    for section in a.sections:
        body, end = "", section.body_start
        for n, span in enumerate(spans):
            if not section.body_start <= span.start < section.span.end:
                continue
            text = edits[n].after if n in edits else a.text[span.start : span.end]
            body += a.text[end : span.start] + text
            if n in places:
                body += f"\n\n{inserted[places.index(n)]}\n\n"
            end = span.end
        parts.append(Part(section.heading, body + a.text[end : section.span.end], section.level or 1, section.kind))
    return assemble("b", a.title, [part for part in parts if part.heading.strip() or part.text.strip()])


ACCEPTED = {
    "clause deleted": {"clause"},
    "clause inserted": {"clause"},
    "modal": {"obligation", "negation"},
    "requirement": {"obligation"},
    "binder": {"obligation", "scope"},
    "duration": {"number", "unit"},
    "name": {"name", "party"},
    "negation": {"negation", "scope"},
    "term": {"term", "party"},
    "number": {"number", "unit"},
    "scope": {"scope", "negation"},
}
"""Kinds of flags that find a planted kind, where it is not the kind of the same name alone."""


def accepted(kind: str) -> set[str]:
    """The kinds of flags that find a planted kind."""
    return ACCEPTED.get(kind, {kind})


def examine(case: Case, tally: Tally) -> None:
    """Align a case by wording, and count."""
    place = {one.span: n for n, one in enumerate(passages(case.a))}
    pairs = align(case.a, case.b, None).pairs
    flagged: dict[int, list[Flag]] = {}
    for pair in pairs:
        own = [n for one in pair.a for n in _planted(place, one.span, case.edits)]
        is_inserted = pair.state is State.ONLY_B and any(_same(pair.b_text, text) for text in case.inserted)
        if is_inserted:
            _count("clause inserted", pair.flags, tally)
        for n in own:
            flagged.setdefault(n, []).extend(pair.flags)
        kinds = {kind for n in own if not case.edits[n].noise for kind in accepted(case.edits[n].kind)}
        kinds |= accepted("clause inserted") if is_inserted else set()
        for flag in pair.flags:
            tally.right += flag.kind.value in kinds
            tally.wrong += flag.kind.value not in kinds
    for n, planted in case.edits.items():
        if planted.noise:
            tally.noise += 1
        else:
            _count(planted.kind, flagged.get(n, []), tally)


def _planted(place: Mapping[Span, int], span: Span, edits: Mapping[int, Planting]) -> list[int]:
    return [n for known, n in place.items() if n in edits and known.start < span.end and span.start < known.end]


def _same(text: str, other: str) -> bool:
    return text.split()[:8] == other.split()[:8] or " ".join(text.split()) in " ".join(other.split())


def _count(kind: str, flags: Sequence[Flag], tally: Tally) -> None:
    tally.planted[kind] += 1
    tally.found[kind] += bool({flag.kind.value for flag in flags} & accepted(kind))


def report(tallies: Mapping[str, Tally]) -> Table:
    """A row for each kind, and for all flags."""
    table = Table("kind", *(f"{name}\nplanted" if not n else f"{name}\nrecall" for name in tallies for n in (0, 1)))
    kinds = sorted({kind for tally in tallies.values() for kind in tally.planted})
    for kind in kinds:
        table.add_row(
            kind, *(cell for tally in tallies.values() for cell in _cells(tally.planted[kind], tally.found[kind]))
        )
    table.add_row(
        "all", *(cell for tally in tallies.values() for cell in _cells(tally.planted.total(), tally.found.total()))
    )
    table.add_row(
        "precision of flags",
        *(cell for tally in tallies.values() for cell in _cells(tally.right + tally.wrong, tally.right)),
    )
    table.add_row("noise edits", *(cell for tally in tallies.values() for cell in (str(tally.noise), "")))
    return table


def _cells(count: int, hits: int) -> tuple[str, str]:
    return str(count), f"{hits / count:.3f}" if count else "–"


def main() -> None:
    """Measure and print."""
    options = arguments(__doc__, "data", "pdfs", seed=0, half=("", "tuned", "held"))
    known = list(sources(options.data, options.pdfs, options.seed))
    tallies = {name: Tally() for name in ("tuned", "held") if options.half in ("", name)}
    for number, (sort, document) in enumerate(known):
        half = "held" if number % 2 else "tuned"
        if half not in tallies:
            continue
        like = "rfc" if sort == "rfc" else "contracts"
        foreign = [
            text for other, item in known if other == like and item is not document for text in _clauses(item, like)
        ]
        examine(make_case(sort, document, foreign, options.seed * 1000 + number), tallies[half])
    console = Console(width=110)
    console.print(f"{len(known)} documents, seed {options.seed}; every second one held back")
    console.print(report(tallies))


def _clauses(document: Document, sort: str) -> list[str]:
    texts = (document.text[one.span.start : one.span.end] for one in passages(document))
    binds = _requirement if sort == "rfc" else _clause
    return [text for text in texts if binds(text) and text.endswith(".")]


if __name__ == "__main__":
    main()
