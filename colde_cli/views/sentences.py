"""A comparison in sentences of plain text: its verdict, its changes, and what was not compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from colde_cli.similarity.genre import Genre, common_genre
from colde_cli.similarity.mentions import FlagKind
from colde_cli.similarity.outside_changes import NOTHING_OUTSIDE
from colde_cli.similarity.pairs import State, extents
from colde_cli.similarity.renumbering import ReferenceState
from colde_cli.similarity.section_changes import SectionState
from colde_cli.views import wording
from colde_cli.views.changes import TITLE, difference, same_sentence, tracked_changes, uncompared

if TYPE_CHECKING:
    from colde_cli.documents.document import Document
    from colde_cli.encoder.encoding import Encoding
    from colde_cli.similarity.clause_labels import ClauseLabel
    from colde_cli.similarity.comparison import Comparison
    from colde_cli.similarity.digest import ComparisonDigest
    from colde_cli.similarity.outside_changes import OutsideComparison
    from colde_cli.similarity.pairs import PassagePair
    from colde_cli.similarity.renumbering import RenumberedClause, Renumbering
    from colde_cli.similarity.triage import WeightedChange

_HEADING, _WORDS, _FILE, _CHUNK = 40, 60, 30, 120
"""Maximum number of characters shown."""
_NUMBER, _CLAUSE = 20, 40
"""Maximum number of characters shown of the number of a clause, and of its first words."""
_REFERENCE_STATES = {
    ReferenceState.ELSEWHERE: ("now points elsewhere", "now point elsewhere"),
    ReferenceState.NOWHERE: ("now points to no clause", "now point to no clause"),
    ReferenceState.FOLLOWED: ("follows", "follow"),
}
REFERENCES = "References that now point elsewhere"
"""The title of what `reference_sentences` lists."""
_STRETCHES = 3
"""Maximum number of stretches of renumbered clauses that are named."""
_MAX_FLAGS = 2
"""Maximum number of flags of one kind that are named."""
_SECTIONS = 12
_WARNINGS = 4
"""Maximum number of warnings of each document that are quoted."""
_SENTENCE = 300
_MAX_TOUCHED = 3
_PLURALS = {Genre.POLICY: "policies"}
_STATES = {State.EDITED: "edited", State.MOVED: "moved", State.ONLY_B: "added", State.ONLY_A: "dropped"}


def told_changes(comparison: Comparison) -> tuple[WeightedChange, ...]:
    """The changes worth telling, the weightiest first.

    Two different texts have passages of their own throughout: of these only the passages that have a partner are told.
    """
    if one_text(comparison):
        return comparison.changes
    firsts = ((change, comparison.passages[change.pairs[0]]) for change in comparison.changes)
    return tuple(change for change, pair in firsts if pair.a and pair.b)


def closest_sections(comparison: Comparison, limit: int) -> list[str]:
    """Where two texts are closest: `0.68: A 3 Measuring equipment – B 2 Instruments`, the best first."""
    a, b = (
        [wording.shorten(wording.heading(section), _HEADING) for section in encoding.document.sections]
        for encoding in (comparison.a, comparison.b)
    )
    return [f"{score:.2f}: A {a[i]} – B {b[j]}" for score, i, j in comparison.closest_sections(limit)]


def closest_chunks(comparison: Comparison, limit: int) -> list[str]:
    """The closest chunks as `closest_sections`, each with its pages and its first words."""
    return [
        f"{score:.2f}: A {_chunk_words(comparison.a, i)} – B {_chunk_words(comparison.b, j)}"
        for score, i, j in comparison.closest_chunks(limit)
    ]


def _chunk_words(encoding: Encoding, index: int) -> str:
    chunk = encoding.chunks[index]
    name = wording.shorten(wording.heading(encoding.document.sections[chunk.section]), _HEADING)
    where = " · ".join(part for part in (wording.page_range(chunk.pages), name) if part)
    return f"{where}: {wording.shorten(wording.excerpt(encoding.document, chunk), _CHUNK)}"


def verdict(comparison: Comparison) -> str:
    """What two documents are, how far they are related if that is open, and how much they share, in sentences."""
    sentences = [verdict_sentence(comparison)]
    if not one_text(comparison):
        likely = comparison.probability
        probability = "" if likely is None else f", probability {wording.percent(likely)}"
        sentences.append(f"Score {comparison.score:.2f}{probability}.")
    if renumbered := renumbering_sentence(comparison.renumbering, comparison.a.document, comparison.b.document):
        sentences.append(renumbered)
    if not comparison.same_content:
        sentences.append(wording.shared_words(comparison, extents(comparison.passages)))
    return " ".join(sentences)


def renumbering_sentence(found: Renumbering, a: Document, b: Document) -> str:
    """`Clauses 8 to 14 became 9 to 15; 3 references now point elsewhere, 1 follows.`; "" where nothing is told."""
    kind = common_genre(a, b) if found else Genre.TEXT
    noun = "clause" if kind in (Genre.CONTRACT, Genre.POLICY) else ""
    stretches = found.stretches
    different = list({_stretch(stretch, noun, first=False): stretch for stretch in reversed(stretches)}.values())[::-1]
    told = [_stretch(stretch, noun, first=not place) for place, stretch in enumerate(different[:_STRETCHES])]
    if len(different) > _STRETCHES:
        told.append(wording.plural(len(different) - _STRETCHES, "more number"))
    parts = [wording.listed(told)] if told else []
    facts: list[str] = []
    for state, says in _REFERENCE_STATES.items():
        if count := len(found.of_state(state)):
            noun = f"{count:,}" if facts else wording.plural(count, "reference")
            facts.append(f"{noun} {says[count != 1]}")
    sentence = "; ".join([*parts, *([", ".join(facts)] if facts else [])])
    return f"{wording.first_capital(sentence)}." if sentence else ""


def _stretch(stretch: Sequence[RenumberedClause], noun: str, *, first: bool) -> str:
    """`clauses 8 to 14 became 9 to 15`; only the first stretch has the noun."""
    sides = [(one, two) for one, two in ((stretch[0].a, stretch[-1].a), (stretch[0].b, stretch[-1].b)) if one and two]
    by_mark = len(sides) == 2 and all(one.label == two.label for one, two in zip(*sides, strict=True))
    ends = [[f"“{one.mark}”" if by_mark else wording.shorten(one.label, _NUMBER) for one in side] for side in sides]
    shown = [" to ".join(dict.fromkeys(side)) for side in ends]
    named = noun or ("section" if all(one.heading for side in sides for one in side) else "item")
    many = "s" if len(stretch) > 1 else ""
    head = f"{named}{many} {shown[0]}" if first and not sides[0][0].label[:3].isalpha() else shown[0]
    if len(shown) == 2:
        return f"{head} became {shown[1]}"
    verb = "are" if many else "is"
    return f"{head} {verb} {'now numbered' if stretch[0].a is None else 'no longer numbered'}"


def reference_sentences(comparison: Comparison) -> list[str]:
    """The references that now point elsewhere, each with its place: what it pointed to, and what it points to now."""
    found = comparison.renumbering.of_state(ReferenceState.ELSEWHERE, ReferenceState.NOWHERE)
    a, b = comparison.a.document, comparison.b.document
    sentences = []
    for one in found:
        target = _clause_name(a, one.target)
        became = f"now {one.renumbered.label}" if one.renumbered else "which was dropped"
        now = f"{_clause_name(b, one.now)} has this number now" if one.now else "no clause has this number now"
        where = change_place(a, b, comparison.passages[one.pair])
        sentences.append(f"{wording.plain(one.b)} ({where}) pointed to {target}, {became}; {now}")
    return sentences


def _clause_name(document: Document, label: ClauseLabel) -> str:
    """`8.3 “Termination”`."""
    words = document.text[label.start : label.start + 2 * _CLAUSE].partition("\n")[0]
    words = words if label.counted else words.lstrip().removeprefix(label.mark).lstrip(" .:)-–—")
    return f"{wording.shorten(label.label, _NUMBER)} “{wording.shorten(words, _CLAUSE)}”"


def both_documents(comparison: Comparison, width: int = 300) -> list[str]:
    """Title, file and size of A and of B, a line each; titles are shortened to keep the `width`."""
    lines = []
    documents = (comparison.a.document, comparison.b.document)
    files = wording.names_apart([document.path for document in documents])
    for side, document, file in zip("AB", documents, files, strict=True):
        pages, sections = document.report.pages, len(document.sections)
        facts = [wording.shorten(file, _FILE)] if document.path else []
        facts += [wording.plural(pages, "page") if pages else wording.plural(sections, "section")]
        end = f" ({', '.join([*facts, wording.plural(len(document.text.split()), 'word')])})"
        lines.append(f"{side}: {wording.shorten(document.title, width - 3 - len(end))}{end}")
    return lines


def counted_passages(counts: Mapping[str, int]) -> str:
    """The number of passages in each state: `Passages: 42 same, 23 edited, 1 moved, 5 only in A, 6 only in B`."""
    return f"Passages: {', '.join(f'{count:,} {wording.STATE_WORDS[state]}' for state, count in counts.items())}."


def changed_sections(comparison: Comparison) -> list[str]:
    """The first sections that became something else: `4.3 Software dropped`."""
    changes = [change for change in comparison.section_changes if wording.section_state(change)][:_SECTIONS]
    a, b = comparison.a.document.sections, comparison.b.document.sections
    names = (wording.heading(a[change.a[0]] if change.a else b[change.b[0]]) for change in changes)
    return [
        f"{wording.shorten(name, 70)} {wording.section_state(change)}"
        for name, change in zip(names, changes, strict=True)
    ]


def reservations(comparison: Comparison) -> list[str]:
    """What was left out, ignored or not read well, in sentences."""
    sentences = []
    for side, document in (("A", comparison.a.document), ("B", comparison.b.document)):
        if missing := wording.left_out(document):
            sentences.append(f"Left out of {side}: {missing}.")
        warnings = document.report.warnings[:_WARNINGS]
        sentences += [f"{side}: {wording.shorten(sentence, _SENTENCE)}" for sentence in warnings]
    documents = (comparison.a.document, comparison.b.document)
    sentences += [*uncompared(comparison.outside, *documents), *tracked_changes(*documents)]
    if ignored := wording.ignored_line(comparison):
        sentences.append(f"Ignored: {ignored}.")
    return sentences


def change_line(comparison: Comparison, change: WeightedChange) -> str:
    """A change with its old and new words, and its place: `Amount EUR 58 → EUR 63 (A p. 3 → B p. 3 · 3.1 Unit)`."""
    pair = comparison.passages[change.pairs[0]]
    passages = len(change.pairs)
    where = change_place(comparison.a.document, comparison.b.document, pair, passages)
    throughout = f", in {passages} passages" if passages > 1 else ""
    return f"{wording.first_capital(changed_words(pair))}{throughout} ({where})"


def weightiest_change(digest: ComparisonDigest | None) -> tuple[str, str]:
    """The words of the weightiest change of a comparison, and its place; a remark where no passage differs."""
    if digest is None or digest.same:
        return "", ""
    if digest.same_content:
        beside = difference(digest.outside)
        return f"{TITLE}, {beside}." if beside else "Only the numbering differs.", ""
    if digest.top is None:
        return "Only headings or typesetting differ.", ""
    throughout = f", in {digest.throughout} passages" if digest.throughout > 1 else ""
    words = f"{wording.first_capital(changed_words(digest.top))}{throughout}"
    return words, change_place(digest.a, digest.b, digest.top, digest.throughout)


def change_place(a: Document, b: Document, pair: PassagePair, passages: int = 1) -> str:
    """Where a change is: pages and headings in A and in B, or in the one that has it."""
    if pair.a and pair.b:
        return wording.first_of(passages) + wording.places(a, b, pair, _HEADING)
    side, document = ("A", a) if pair.a else ("B", b)
    where = [part for part in wording.place(document, pair.a or pair.b, _HEADING) if part]
    return f"{side} {' · '.join(where)}"


def changed_words(pair: PassagePair) -> str:
    """The old and the new words of a change: those of its flags, else of its longest edit, else its first words."""
    if not pair.a or not pair.b:
        kind = "clause " if pair.flags else ""
        state = "dropped" if pair.a else "added"
        return f"{kind}{state}: {wording.shorten(pair.a_text or pair.b_text, _WORDS)}"
    if pair.flags:
        return "; ".join(f"{kind} {change}" for kind, change in wording.flag_words(pair.flags, _MAX_FLAGS))
    if not pair.edits:
        return f"moved: {wording.shorten(pair.b_text, _WORDS)}"
    edit = max(pair.edits, key=lambda edit: len(edit.a) + len(edit.b))
    more = len(pair.edits) - 1
    others = f", and {wording.plural(more, 'more edit')}" if more else ""
    old, new = pair.words_of(edit)
    return f"{pair.state.value}: {wording.replaced(old, new, _WORDS)}{others}"


def one_text(comparison: Comparison) -> bool:
    """Whether both documents are versions of one text: nobody then asks whether they are related."""
    return comparison.same_content or comparison.versions


def told_outside(comparison: Comparison) -> OutsideComparison:
    """What differs outside two versions of one text; of two different texts that is nearly all, and tells nothing."""
    return comparison.outside if one_text(comparison) else NOTHING_OUTSIDE


def verdict_sentence(comparison: Comparison) -> str:
    """Say what two documents are: `Two versions of one contract: 10 clauses edited, 1 added; 7 changes touch dates`."""
    if comparison.same_content:
        a, b = comparison.a.document, comparison.b.document
        if comparison.renumbering.counted:
            apart, beside = wording.apart_from(comparison.ignore), difference(comparison.outside)
            return f"The body text is the same{apart}, but its numbering differs{f'; {beside}' if beside else ''}."
        return same_sentence(a, b, comparison.outside, comparison.ignore)
    kind = common_genre(comparison.a.document, comparison.b.document)
    if not comparison.versions:
        return _apart(comparison, kind)
    noun = "clause" if kind in (Genre.CONTRACT, Genre.POLICY) else "passage"
    changed = ", ".join(changed_passages(comparison.summary, noun)) or _no_passage_differs(comparison)
    touched = _touched(comparison)
    outside = difference(comparison.outside)
    beside = f" {TITLE}, {outside}." if outside else ""
    return f"Two versions of one {kind.value}: {changed}{f'; {touched}' if touched else ''}.{beside}"


def _no_passage_differs(comparison: Comparison) -> str:
    """What differs in two texts with the same passages: the redline does not show typesetting."""
    if any(change.state is not SectionState.MATCHED for change in comparison.section_changes):
        return "no passage differs, but headings do"
    if comparison.a.document.report.unread_values or comparison.b.document.report.unread_values:
        return "no passage differs, but values of a form could not be read"
    return "no passage differs, but typesetting does (blanks, hyphens, quotation marks, bullets)"


def _apart(comparison: Comparison, kind: Genre) -> str:
    names = _PLURALS.get(kind, f"{kind.value}s")
    if comparison.related is None:
        return f"Two different {names}."
    if comparison.related and comparison.alignment is not None:
        return f"Two {names} on related subjects."
    return f"Two {'' if comparison.related else 'un'}related {names}."


def changed_passages(summary: Mapping[State, int], noun: str = "passage") -> list[str]:
    """The number of passages of each kind of change: `23 passages edited`, `1 moved`, `6 added`, `5 dropped`."""
    counts = [(word, summary[state]) for state, word in _STATES.items() if summary[state]]
    return [
        f"{wording.plural(count, noun) if not place else f'{count:,}'} {word}"
        for place, (word, count) in enumerate(counts)
    ]


def _touched(comparison: Comparison) -> str:
    """`7 changes touch amounts, dates or duties`, as many as the list of flagged changes has; "" without flags."""
    rows = ([comparison.passages[place] for place in change.pairs] for change in comparison.changes)
    flagged = [{flag.kind for pair in row for flag in pair.flags} for row in rows]
    count = sum(map(bool, flagged))
    if not count:
        return ""
    counts = Counter(kind for kinds in flagged for kind in kinds)
    # In the order of the kinds where they tie: a set has another order in every process.
    often = sorted((kind for kind in FlagKind if counts[kind]), key=lambda kind: -counts[kind])
    names = [kind.touched for kind in often[:_MAX_TOUCHED]]
    listed = " or ".join(filter(None, (", ".join(names[:-1]), names[-1])))
    return f"{wording.plural(count, 'change')} {'touches' if count == 1 else 'touch'} {listed}"
