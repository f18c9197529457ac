"""The pages of a comparison and of a verification; see `views.page`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from colde_cli.documents.outside import KINDS, kinds_of
from colde_cli.similarity.comparison import COUNTERPART
from colde_cli.similarity.outside_changes import MOST_LISTED
from colde_cli.similarity.pairs import extents
from colde_cli.similarity.section_changes import SectionState
from colde_cli.views import blocks, sentences, wording
from colde_cli.views.changes import TITLE, TYPESETTING, not_listed, outside_rows, plural_of, tracked_changes, uncompared

if TYPE_CHECKING:
    from colde_cli.documents.document import Document
    from colde_cli.encoder.encoding import Encoding
    from colde_cli.similarity.comparison import Comparison
    from colde_cli.similarity.outside_changes import OutsideComparison
    from colde_cli.similarity.triage import WeightedChange
    from colde_cli.similarity.typesetting import TypesettingPlace
    from colde_cli.similarity.verification import Verification

_CLOSEST_CHUNKS, _CLOSEST_SECTIONS = 4, 10
"""Maximum number of pairs that are shown of two different texts: in the terminal, and in Markdown."""
_NAME = 60
"""Maximum number of characters of a heading."""


def comparison_page(
    comparison: Comparison, level: str = "all", top: int = 10, *, verbose: bool = False, attention: bool = False
) -> blocks.Page:
    """A comparison of two documents.

    Args:
        comparison: to show.
        level: "document" ends after the verdict; "section" adds the scores of sections, "passage" the changes; "all" is
            the changes, and the scores of sections of two different texts.
        top: passages or chunks of each kind to list.
        verbose: show the score of two versions too, and its parts in figures.
    """
    a, b = comparison.a.document, comparison.b.document
    model = comparison.model
    return blocks.Page(
        "",
        sentences.verdict_sentence(comparison),
        list(_blocks(comparison, level, top, attention)),
        sides=list(_sides(a, b)),
        score=_score(comparison, verbose) if verbose or not sentences.one_text(comparison) else None,
        model=f"{model.name} · {model.precision} · {model.device}",
        ignored=wording.ignored_line(comparison),
        cautions=[*uncompared(comparison.outside, a, b), *tracked_changes(a, b)],
        colophon=" · ".join([wording.model_line(comparison), *_parts(comparison, verbose)]),
    )


def _sides(a: Document, b: Document) -> Iterator[blocks.ComparedDocument]:
    files = wording.names_apart([a.path, b.path])
    for letter, document, file in zip("AB", (a, b), files, strict=True):
        report, words = document.report, len(document.text.split())
        size = (report.pages, len(document.sections), words)
        yield blocks.ComparedDocument(
            letter, document.title, document.path, file, wording.left_out(document), report.warnings, *size
        )


def _score(comparison: Comparison, verbose: bool) -> blocks.Score:
    likely = []
    if comparison.probability is not None:
        likely.append(f"probability of a relation {wording.percent(comparison.probability)}")
    if comparison.field is not None:
        likely.append(wording.closer_than(comparison.percentile, comparison.field))
    return blocks.Score(
        wording.VERDICTS[comparison.related],
        comparison.related,
        comparison.score,
        likely,
        comparison.threshold,
        wording.no_threshold(comparison),
        wording.reasons(comparison),
        "".join(_parts(comparison, verbose)),
    )


def _parts(comparison: Comparison, verbose: bool) -> list[str]:
    return [f"score from {wording.score_parts(comparison.parts)}"] if verbose and len(comparison.parts) > 1 else []


def _blocks(comparison: Comparison, level: str, top: int, attention: bool) -> Iterator[blocks.Block]:
    changes, one = level in ("passage", "all"), sentences.one_text(comparison)
    if renumbered := sentences.renumbering_sentence(
        comparison.renumbering, comparison.a.document, comparison.b.document
    ):
        yield blocks.NoteBlock(renumbered)
    if not comparison.same_content and comparison.alignment:
        note = blocks.NoteBlock(wording.shared_words(comparison, extents(comparison.passages)))
        yield note if changes else blocks.Only("terminal", note)
    if changes:
        yield from _passages(comparison, top, whole=one or level == "passage")
        yield from typesetting(comparison.typesetting if one else (), top)
        yield from outside(comparison.outside if level == "passage" else sentences.told_outside(comparison), top)
    if not (comparison.a.document.sections and comparison.b.document.sections):
        return  # there is nothing to score
    if level == "section" or (level == "all" and not one):
        matrix = blocks.Matrix(comparison, whole=level != "all")
        # Of unrelated texts every section is far from every other, which the closest chunks say in fewer lines.
        yield blocks.Only("markdown", matrix) if level == "all" and comparison.related is False else matrix
    if level == "chunk":
        yield from _matches(comparison, top, attention)
        yield from _unmatched(comparison, top)


def _passages(comparison: Comparison, top: int, *, whole: bool) -> Iterator[blocks.Block]:
    """The changes; of two different texts the terminal leaves out what only one has, unless `whole` is asked for."""
    pairs, one, same = comparison.passages, sentences.one_text(comparison), comparison.same_content
    counts = blocks.Counts(comparison.summary, sum(bool(pair.flags) and not pair.uncertain for pair in pairs))
    yield counts if not same and extents(pairs)[0].kept else blocks.Only("markdown", counts)
    yield from _references(comparison, top)
    if not whole:
        scores = ", --level section the scores of their sections" if comparison.related is False else ""
        more = f"--level passage lists what is only in A and only in B{scores}."
        yield blocks.Only("terminal", blocks.NoteBlock(more, "dim"))
        closest = comparison.closest_chunks(min(top, _CLOSEST_CHUNKS))
        rows = [(score, (_chunk(comparison.a, "A", i), _chunk(comparison.b, "B", j))) for score, i, j in closest]
        block = blocks.ChunkScores("Closest chunks", "--level chunk shows more", rows)
        yield from [blocks.Only("terminal", block)] if rows else []
    listed = _by_part(comparison)
    names = ("Flagged changes", "Other changes")
    if not one:  # they have no changes, only similar passages
        names = ("Similar passages with flagged differences", "Similar passages")
    for name, group in zip(names, (listed["flagged"], listed["others"]), strict=True):
        if group:
            yield blocks.Title(name, min(top, len(group)), len(group))
            yield from _changes(comparison, group[:top])
    shown = whole and not same
    for letter, only in (("A", listed["only_a"]), ("B", listed["only_b"])):
        if only:
            alone = blocks.Alone(letter, _changes(comparison, only[:top]), len(only))
            yield alone if shown else blocks.Only("markdown", alone)
    sections = list(_sections(comparison))
    yield from (
        sections
        if shown and one
        else (blocks.Only("terminal" if shown else "markdown", block) for block in sections if shown or one)
    )
    if not one and (closest := comparison.closest_sections(_CLOSEST_SECTIONS)):
        yield blocks.Only("markdown", blocks.Title("Closest sections"))
        a, b = comparison.a.document, comparison.b.document
        cells = [[(f"{score:.2f}", ""), (_name(a, i), ""), (_name(b, j), "")] for score, i, j in closest]
        yield blocks.Only("markdown", blocks.TableBlock(("Score", "A", "B"), cells))


def _sections(comparison: Comparison) -> Iterator[blocks.Block]:
    """Changed sections in both documents in the order of A, then the names of those in only one, of each in a row."""
    alone = (SectionState.DROPPED, SectionState.ADDED)
    a, b = comparison.a.document, comparison.b.document
    changed = [change for change in comparison.section_changes if wording.section_state(change)]
    rows = [
        [
            (wording.section_state(change), "moved" if change.moved else "edited"),
            *((" + ".join(_name(side, n) for n in own), "") for side, own in ((a, change.a), (b, change.b))),
        ]
        for change in sorted((one for one in changed if one.state not in alone), key=lambda change: change.a)
    ]
    for state in alone:
        sides = [(change.a, change.b) for change in changed if change.state is state]
        names = (" · ".join(_name(side, own[n][0]) for own in sides if own[n]) for n, side in enumerate((a, b)))
        rows += [[(state.value, state.value), *((name, "") for name in names)]] if sides else []
    if rows:
        yield blocks.Title("Section changes")
        yield blocks.TableBlock(("", "A", "B"), rows)


def _name(document: Document, index: int) -> str:
    return wording.shorten(wording.heading(document.sections[index]), _NAME)


def _chunk(encoding: Encoding, letter: str, index: int) -> blocks.ChunkLine:
    document, chunk = encoding.document, encoding.chunks[index]
    name = wording.heading(document.sections[chunk.section])
    return blocks.ChunkLine(letter, chunk.pages, name, wording.excerpt(document, chunk))


def _matches(comparison: Comparison, top: int, attention: bool) -> Iterator[blocks.Block]:
    """The number of chunks found word for word; then the best counterpart of each other chunk of A, best first."""
    matches = comparison.matches_of_a(attention=attention)
    changed = sorted((match for match in matches if not match.same), key=lambda match: -match.score)
    same, rows = len(matches) - len(changed), []
    for match in changed[:top]:
        here, there = _chunk(comparison.a, "A", match.chunk), _chunk(comparison.b, "B", match.partner)
        words = wording.from_difference(here.text, there.text)
        rows.append(
            (match.score, (replace(here, text=words[0]), replace(there, text=words[1], weight=match.attention)))
        )
    aside = f"{len(rows)} of {len(changed)}" if changed else ""
    found = f"{wording.same_chunks(same, len(matches))}{wording.apart_from(comparison.ignore)}." if same else ""
    yield blocks.ChunkScores("Chunks of A, each with the most similar chunk of B", aside, rows, found)
    if changed and attention:
        said = "Upper line: the score. Lower line: A's attention to the chunk of B (×1 is uniform), not a similarity."
        yield blocks.Only("terminal", blocks.NoteBlock(said, "dim"))


def _unmatched(comparison: Comparison, top: int) -> Iterator[blocks.Block]:
    """The chunks of either document without a counterpart in the other."""
    sides = zip("AB", (comparison.a, comparison.b), comparison.without_counterpart(), strict=True)
    for letter, encoding, matches in sides:
        lowest = sorted(matches, key=lambda match: match.score)[:top]
        aside = f"{len(lowest)} of {len(matches)}, best score below {COUNTERPART:.2f}"
        rows = [(match.score, (_chunk(encoding, letter, match.chunk),)) for match in lowest]
        if rows:
            yield blocks.ChunkScores(f"Only in {letter}: chunks without a counterpart", aside, rows)


def _references(comparison: Comparison, top: int) -> Iterator[blocks.Block]:
    """The references that now point elsewhere."""
    if told := sentences.reference_sentences(comparison):
        yield blocks.Title(sentences.REFERENCES, min(top, len(told)), len(told))
        yield from (blocks.NoteBlock(f"{sentence}.") for sentence in told[:top])


def _changes(comparison: Comparison, changes: Iterable[WeightedChange]) -> list[blocks.ChangeBlock]:
    a, b = comparison.a.document, comparison.b.document
    return [blocks.ChangeBlock(a, b, comparison.passages[change.pairs[0]], len(change.pairs)) for change in changes]


def _by_part(comparison: Comparison) -> dict[str, list[WeightedChange]]:
    """The changes by the part of a page that lists them, the weightiest first.

    A clause of only one document is among the flagged ones. Edited and moved passages without a flag, and those whose
    reading is uncertain, are the others.
    """
    parts: dict[str, list[WeightedChange]] = {"flagged": [], "others": [], "only_a": [], "only_b": []}
    for change in comparison.changes:
        pair = comparison.passages[change.pairs[0]]
        both = "others" if pair.a and pair.b else pair.state.value
        parts["flagged" if pair.flags and not pair.uncertain else both].append(change)
    return parts


def typesetting(places: Sequence[TypesettingPlace], top: int) -> Iterator[blocks.Block]:
    """The places where only blanks, hyphens, quotation marks and the like differ."""
    if places:
        yield blocks.Title(TYPESETTING, min(top, len(places)), len(places))
        yield from places[:top]


def outside(found: OutsideComparison, top: int) -> Iterator[blocks.Block]:
    """What differs outside the text."""
    if found.changes:
        shown = min(top, MOST_LISTED)
        yield blocks.Title(TITLE, min(shown, found.changes), found.changes)
        yield from outside_rows(found, shown)
        if rest := not_listed(found, shown):
            yield blocks.NoteBlock(rest, "dim")


# A verification


@dataclass(frozen=True, slots=True)
class CheckedReceipt:
    """A receipt that was checked from the bytes: the name of its file, and where it does not hold, in sentences."""

    name: str
    faults: tuple[str, ...]

    def __str__(self) -> str:
        holds = f"does not hold. {' '.join(self.faults)}" if self.faults else "holds."
        return f"The receipt {self.name} {holds}"


def verification_page(verification: Verification, receipt: CheckedReceipt | None = None) -> blocks.Page:
    """What changed besides what is allowed, with the answer of a receipt that was checked."""
    a, b = verification.a, verification.b
    rules = [f"{rule.text} ({wording.plural(rule.changes, 'change')})" for rule in verification.allowed]
    shown: list[blocks.Block] = []
    for title, pairs in (("Changes", verification.passages), ("Headings", verification.headings)):
        shown += [blocks.Title(title, len(pairs), len(pairs), counted=True)] if pairs else []
        shown += [blocks.ChangeBlock(a, b, pair) for pair in pairs]
    if renumbered := sentences.renumbering_sentence(verification.renumbering, a, b):
        stretches = len(verification.renumbering.stretches)
        shown += [blocks.Title("Numbering", stretches, stretches, counted=True), blocks.NoteBlock(renumbered)]
    shown += typesetting(verification.typesetting, MOST_LISTED)
    shown += outside(verification.outside, MOST_LISTED)
    shown.append(blocks.NoteBlock(_compared(verification), "dim"))
    shown += [
        blocks.NoteBlock(sentence, "yellow")
        for sentence in [*uncompared(verification.outside, a, b), *tracked_changes(a, b)]
    ]
    shown += [
        blocks.NoteBlock(
            f"{letter} was read by OCR: {len(document.report.ocr.doubtful)} words are uncertain.", "yellow"
        )
        for letter, document in zip("AB", (a, b), strict=True)
        if document.report.ocr
    ]
    return blocks.Page(
        "",
        verification_sentence(verification),
        shown,
        "bold green" if verification.verified else "bold red",
        preface=[(str(receipt), "bold red" if receipt.faults else "bold green")] if receipt else (),
        facts=[
            " → ".join(wording.names_apart([a.path, b.path])),
            *([f"Allowed: {' · '.join(map(wording.plain, rules))}"] if rules else []),
        ],
    )


def verification_sentence(verification: Verification) -> str:
    """The answer in a sentence."""
    but = " but what is allowed" if any(rule.changes for rule in verification.allowed) else ""
    if verification.verified:
        return f"Verified: nothing changed{but}{wording.apart_from(verification.ignore)}."
    count = len(verification.passages) + len(verification.headings) + len(verification.typesetting)
    count += verification.outside.changes + len(verification.renumbering.stretches)
    if not count:
        return "Not verified: nothing that was compared changed, but not all could be compared."
    return f"Not verified: {wording.plural(count, 'change')} {'is' if count == 1 else 'are'} not allowed."


def _compared(verification: Verification) -> str:
    """What was compared of A and of B: `Compared: 3,150 words with 3,160; 2 headers with 2; 5 pictures with 5.`."""
    a, b = verification.a, verification.b
    words = [len(document.text.split()) for document in (a, b)]
    skipped = {one.kind for one in verification.outside.uncompared} | kinds_of(verification.ignore.kinds)
    skipped |= kinds_of(rule.text for rule in verification.allowed)
    counts = [Counter(item.kind for item in side.beside) for side in (a, b)]
    facts = [f"{words[0]:,} words with {words[1]:,}"]
    facts += [
        f"{plural_of(kind, counts[0][kind])} with {counts[1][kind]:,}"
        for kind in KINDS.values()
        if kind not in skipped and (counts[0][kind] or counts[1][kind])
    ]
    return f"Compared: {'; '.join(facts)}."
