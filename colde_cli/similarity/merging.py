"""Merge what several reviewers made of one document: the edits of each as stretches of its text, and their conflicts.

Every edit is a deletion of words of the base and an insertion at a place of it. So all of them fit into one text: what
several delete or insert alike is of all of them, and insertions at one place stand one after the other. Whoever accepts
the edits of one reviewer, and rejects those of the others, gets that reviewer's document, to the letter. Different
edits of the same words, one that deletes what another edits, and different insertions at one place are conflicts.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

from colde_cli.documents.document import Document, Part, Section, Span, assemble
from colde_cli.errors import DocumentError, OptionError
from colde_cli.similarity.comparison import Comparison
from colde_cli.similarity.plain_data import model_data, pages_data, source_data
from colde_cli.similarity.redline import Operation, changed_blocks, run_together
from colde_cli.similarity.tracked_changes import BREAK, TOKEN, Flow, Step, TrackedText, tracked_text


@dataclass(frozen=True, slots=True, order=True)
class ReviewerEdit:
    """Characters of the flow of the base that were replaced by a text; both may be empty, but not together.

    Attributes:
        reviewers: who made it, by their places; several who made the same.
    """

    start: int
    end: int
    text: str
    reviewers: tuple[int, ...]

    def overlaps(self, other: ReviewerEdit, base: str) -> bool:
        """Whether both are about the same words, or insert at the same place, by different reviewers."""
        if not set(self.reviewers).isdisjoint(other.reviewers):
            return False
        if self.start < other.end and other.start < self.end:
            return True
        first, second = sorted((self, other))
        if first.start == first.end:
            if second.start == second.end:
                return first.start == second.start
            return first.start == second.start and _in_deleted_paragraph(first, second, base)
        return second.start == second.end and first.start < second.start < first.end


def _in_deleted_paragraph(insertion: ReviewerEdit, deletion: ReviewerEdit, base: str) -> bool:
    """Whether words are put before the first ones of a paragraph that another edit deletes with its end."""
    begins = deletion.start == 0 or base[deletion.start - 1] == BREAK
    return begins and BREAK in base[deletion.start : deletion.end] and not insertion.text.endswith(BREAK)


@dataclass(frozen=True, slots=True)
class MergeConflict:
    """A stretch of the base that reviewers want differently.

    Attributes:
        start, end: of the stretch, in the flow of the base; equal for insertions at one place.
        wants: what each of some reviewers made of it, by their places; "" for a deletion.
        merged: where this is in the flow of the merged text, with all that was inserted.
    """

    start: int
    end: int
    wants: tuple[tuple[int, str], ...]
    merged: Span


@dataclass(frozen=True, slots=True)
class WovenText:
    """A base with the edits of all reviewers in it.

    Attributes:
        edits: that conflict with no others, in the order of the base.
        steps: from the flow of the base to `text`.
        authors: of each step; none of one that is kept.
        text: the flow with all edits accepted.
    """

    edits: tuple[ReviewerEdit, ...]
    conflicts: tuple[MergeConflict, ...]
    steps: tuple[Step, ...]
    authors: tuple[tuple[int, ...], ...]
    text: str


@dataclass(frozen=True, repr=False)
class Merge:
    """A document with the edits of several reviewers.

    Attributes:
        names: of the reviewers.
        comparisons: of the base with the document of each.
        edits: that conflict with no others, in the order of the base.
        text: the base with all edits, and `merged`, the document that this gives if all are accepted.
        authors: of each step of `text`; none of one that is kept.
    """

    base: Document
    names: tuple[str, ...]
    comparisons: tuple[Comparison, ...]
    edits: tuple[ReviewerEdit, ...]
    conflicts: tuple[MergeConflict, ...]
    text: TrackedText
    merged: Document
    authors: tuple[tuple[int, ...], ...]

    def __repr__(self) -> str:
        counts = f"edits={len(self.edits)}, conflicts={len(self.conflicts)}"
        return f"Merge(path={self.base.path[-100:]!r}, names={self.names!r}, {counts})"

    @property
    def same(self) -> bool:
        """Whether nobody changed anything, neither the text nor what stands beside it."""
        return all(comparison.same for comparison in self.comparisons)

    @cached_property
    def edits_by_reviewer(self) -> tuple[int, ...]:
        """How many edits each reviewer made, those in conflicts included: one for each conflict."""
        return tuple(
            sum(place in edit.reviewers for edit in self.edits)
            + sum(place in dict(conflict.wants) for conflict in self.conflicts)
            for place in range(len(self.names))
        )

    def text_of(self, reviewer: int) -> str:
        """The flow of the base with the edits of one reviewer, and of none other."""
        pieces = []
        for step, who in zip(self.text.steps, self.authors, strict=True):
            if reviewer in who and step.operation is Operation.INSERTED:
                pieces.append(self.text.b.text[step.b.start : step.b.end])
            elif reviewer not in who:
                pieces.append(self.text.a.text[step.a.start : step.a.end])
        return "".join(pieces)

    def words(self, span: Span) -> str:
        """Words of the base on one line; ¶ stands for the end of a paragraph."""
        return shown(self.text.a.text[span.start : span.end])

    def place(self, one: ReviewerEdit | MergeConflict) -> tuple[Section | None, tuple[int, int] | None]:
        """The section and the pages of the base of an edit or conflict; of an insertion, those of the words before."""
        flow = self.text.a
        offset = one.start if one.start < one.end else max(0, one.start - 1)
        block = flow.blocks[min(flow.block_at(offset), len(flow.blocks) - 1)]
        start = block.span.start
        held = [section for section in self.base.sections if section.span.start <= start]
        return held[-1] if held else None, self.base.pages_of(Span(start, start + 1))

    def to_dict(self) -> dict[str, Any]:
        """Build schema colde.merge/1, the output of `colde diff --merge --format json`."""
        return {
            "schema": "colde.merge/1",
            "base": source_data(self.base),
            "model": model_data(self.comparisons[0].model),
            "same": self.same,
            "reviewers": [
                {
                    "name": name,
                    **source_data(comparison.b.document),
                    "edits": count,
                    "same": comparison.same,
                    "outside": len(comparison.outside.differences),
                }
                for name, comparison, count in zip(self.names, self.comparisons, self.edits_by_reviewer, strict=True)
            ],
            "edits": [
                {
                    **self._at(edit),
                    "deleted": self.words(Span(edit.start, edit.end)),
                    "inserted": shown(edit.text),
                    "reviewers": [self.names[place] for place in edit.reviewers],
                }
                for edit in self.edits
            ],
            "conflicts": [
                {
                    **self._at(conflict),
                    "base": self.words(Span(conflict.start, conflict.end)),
                    "wants": [{"reviewer": self.names[place], "text": shown(text)} for place, text in conflict.wants],
                }
                for conflict in self.conflicts
            ],
        }

    def _at(self, one: ReviewerEdit | MergeConflict) -> dict[str, Any]:
        section, pages = self.place(one)
        return {"heading": section.heading if section else "", "pages": pages_data(pages)}


def shown(text: str) -> str:
    """Text of a flow on one line; ¶ stands for the end of a paragraph."""
    return " ".join(text.replace(BREAK, " ¶ ").split())


def merge_reviews(names: Sequence[str], comparisons: Sequence[Comparison]) -> Merge:
    """Merge the documents B of some comparisons, which have the same document A, the base.

    Raises:
        ValueError: a comparison is without passages.
    """
    base = comparisons[0].a.document
    flows = [Flow.of(document) for document in (base, *(one.b.document for one in comparisons))]
    woven = weave(flows[0].text, [_edits_of_pair(one, place) for place, one in enumerate(comparisons)])
    merged = _document(base, woven.text, flows)
    whole = Flow(woven.text, Flow.of(merged).blocks, *_starts(woven.text))
    text = TrackedText(flows[0], whole, woven.steps)
    edits, conflicts = woven.edits, woven.conflicts
    return Merge(base, tuple(names), tuple(comparisons), edits, conflicts, text, merged, woven.authors)


def weave(base: str, edits: Sequence[Sequence[ReviewerEdit]]) -> WovenText:
    """Put the edits of each reviewer, in order, into the flow of a base."""
    apart, alone, conflicts = _clusters(_same_as_one(_cut_deletions(_in_small(edits, base))), base)
    steps, authors, text, offsets = _woven(base, apart)
    placed = (replace(one, merged=Span(offsets[one.start][0], offsets[one.end][1])) for one in conflicts)
    return WovenText(tuple(alone), tuple(placed), steps, authors, text)


def _edits_of_pair(comparison: Comparison, reviewer: int) -> list[ReviewerEdit]:
    """What a reviewer replaced; in a file of another kind than the base, typesetting and breaks do not count."""
    a, b = comparison.a.document, comparison.b.document
    edits = list(edits_of(tracked_text(a, b, comparison.aligned), reviewer))
    if a.format == b.format:
        return edits
    base = Flow.of(a).text
    counted = a.report.counted_numbers is not b.report.counted_numbers  # by the word processor, in one of them alone
    return [edit for edit in edits if _says_else(edit, base) and not (counted and _is_number(edit, base))]


def _says_else(edit: ReviewerEdit, base: str) -> bool:
    """Whether an edit changes more than blanks, hyphens at ends of lines, kinds of quotes and ends of paragraphs."""
    start, end = edit.start, edit.end
    while start and not base[start - 1].isspace():
        start -= 1
    while end < len(base) and not base[end].isspace():
        end += 1
    new = base[start : edit.start] + edit.text + base[edit.end : end]
    return run_together(base[start:end].replace(BREAK, " ")) != run_together(new.replace(BREAK, " "))


def _is_number(edit: ReviewerEdit, base: str) -> bool:
    """Whether an edit puts the number of a heading or an item at the beginning of a paragraph, or takes it away."""
    begins = edit.start == 0 or base[edit.start - 1] == BREAK
    return (
        begins
        and not (edit.text and edit.start < edit.end)
        and bool(_NUMBER.fullmatch(edit.text or base[edit.start : edit.end]))
    )


_NUMBER = re.compile(r"\(?(?:[a-zA-Z]{1,4}|\d{1,3}(?:\.\d{1,3})*)[.)]*\s+")


def edits_of(text: TrackedText, reviewer: int) -> Iterator[ReviewerEdit]:
    """The stretches of the base A that a reviewer replaced, to the letter."""
    start = end = 0
    inserted: list[str] = []
    for step in (*text.steps, None):
        if step is None or step.operation is Operation.KEPT:
            if start < end or inserted:
                yield ReviewerEdit(start, end, "".join(inserted), (reviewer,))
            start = end = 0 if step is None else step.a.end
            inserted = []
        elif step.operation is Operation.DELETED:
            end = step.a.end
        else:
            inserted.append(text.b.text[step.b.start : step.b.end])


def _in_small(edits: Sequence[Sequence[ReviewerEdit]], base: str) -> list[ReviewerEdit]:
    """All edits, those that overlap with another reviewer's in their smallest pieces: the words that really differ."""
    everything = sorted(edit for own in edits for edit in own)
    together = [group for group in _groups(everything, base) if len(group) > 1]
    crowded = {id(edit) for group in together for edit in group}
    small = (_pieces(edit, base) if id(edit) in crowded else [edit] for edit in everything)
    return [edit for some in small for edit in some]


def _pieces(edit: ReviewerEdit, base: str) -> Iterator[ReviewerEdit]:
    """An edit in its smallest pieces."""
    old = base[edit.start : edit.end]
    left, right = ([match.span() for match in TOKEN.finditer(text)] for text in (old, edit.text))
    keys = [[text[i:j] for i, j in spans] for text, spans in ((old, left), (edit.text, right))]
    starts = [[*(i for i, _ in spans), len(text)] for spans, text in ((left, old), (right, edit.text))]
    for i, j, k, n in changed_blocks(*keys):
        text = edit.text[starts[1][k] : starts[1][n]]
        yield ReviewerEdit(edit.start + starts[0][i], edit.start + starts[0][j], text, edit.reviewers)


def _cut_deletions(edits: Iterable[ReviewerEdit]) -> Iterator[ReviewerEdit]:
    """All edits, deletions cut where others begin and end: what two delete is in no conflict."""
    known = list(edits)
    bounds = sorted({bound for edit in known if not edit.text for bound in (edit.start, edit.end)})
    for edit in known:
        if edit.text:
            yield edit
            continue
        inside = bounds[bisect_right(bounds, edit.start) : bisect_right(bounds, edit.end - 1)]
        for start, end in pairwise((edit.start, *inside, edit.end)):
            yield ReviewerEdit(start, end, "", edit.reviewers)


def _same_as_one(edits: Iterable[ReviewerEdit]) -> list[ReviewerEdit]:
    """Edits that several reviewers made as one of all of them, in order."""
    by: dict[tuple[int, int, str], list[int]] = {}
    for edit in edits:
        by.setdefault((edit.start, edit.end, edit.text), []).extend(edit.reviewers)
    return sorted(ReviewerEdit(*what, tuple(sorted(set(who)))) for what, who in by.items())


def _groups(edits: Sequence[ReviewerEdit], base: str) -> Iterator[list[ReviewerEdit]]:
    """Edits in order, those together that overlap, also through others."""
    group: list[ReviewerEdit] = []
    for edit in edits:
        end = max((one.end for one in group), default=-1)
        # Later ones may reach back over an insertion at the end of a group.
        if group and not any(edit.overlaps(one, base) for one in group) and edit.start >= end:
            yield group
            group = []
        group.append(edit)
    if group:
        yield group


def _clusters(
    edits: Sequence[ReviewerEdit], base: str
) -> tuple[list[ReviewerEdit], list[ReviewerEdit], list[MergeConflict]]:
    """All edits to write, those that stand alone, and the conflicts of the others."""
    everything: list[ReviewerEdit] = []
    alone: list[ReviewerEdit] = []
    conflicts: list[MergeConflict] = []
    for group in _groups(edits, base):
        if len(group) == 1:
            alone += group
            everything += group
            continue
        start, end = group[0].start, max(edit.end for edit in group)
        who = sorted({reviewer for edit in group for reviewer in edit.reviewers})
        wants = tuple((one, _version(group, one, base, Span(start, end))) for one in who)
        if len({text for _, text in wants}) == 1:  # the same, by other edits
            same = ReviewerEdit(start, end, wants[0][1], tuple(who))
            alone.append(same)
            everything.append(same)
        else:
            conflicts.append(MergeConflict(start, end, wants, Span(0, 0)))
            everything += group
    return everything, alone, conflicts


def _version(edits: Sequence[ReviewerEdit], reviewer: int, base: str, span: Span) -> str:
    """What a reviewer made of a stretch of the base."""
    pieces, place = [], span.start
    for edit in edits:
        if reviewer in edit.reviewers:
            pieces += [base[place : edit.start], edit.text]
            place = edit.end
    return "".join([*pieces, base[place : span.end]])


def _woven(
    base: str, edits: Sequence[ReviewerEdit]
) -> tuple[tuple[Step, ...], tuple[tuple[int, ...], ...], str, dict[int, tuple[int, int]]]:
    """The steps from the base to the merged text, whose they are, that text, and where in it the ends of edits are.

    Of an end there are two places: before and after what is inserted there.
    """
    inserted: dict[int, list[ReviewerEdit]] = {}
    for edit in edits:
        if edit.text:
            inserted.setdefault(edit.end, []).append(edit)
    bounds = sorted({0, len(base), *(bound for edit in edits for bound in (edit.start, edit.end))})
    deleters = _deleters(edits)
    steps: list[Step] = []
    authors: list[tuple[int, ...]] = []
    written: list[str] = []
    offsets: dict[int, tuple[int, int]] = {}
    length = 0

    def add(operation: Operation, own: Span, text: str, who: tuple[int, ...]) -> None:
        nonlocal length
        steps.append(Step(operation, own, Span(length, length + len(text))))
        authors.append(who)
        written.append(text)
        length += len(text)

    for bound, following in pairwise((*bounds, len(base))):
        before = length
        for edit in sorted(inserted.get(bound, ()), key=lambda edit: (edit.start == bound, edit.reviewers)):
            add(Operation.INSERTED, Span(bound, bound), edit.text, edit.reviewers)
        offsets[bound] = before, length
        if bound < following:
            who = deleters.get(bound, ())
            own = Span(bound, following)
            add(Operation.DELETED if who else Operation.KEPT, own, "" if who else base[bound:following], who)
    return tuple(steps), tuple(authors), "".join(written), offsets


def _deleters(edits: Sequence[ReviewerEdit]) -> dict[int, tuple[int, ...]]:
    """Who deletes the words from each end of an edit to the next one."""
    events: dict[int, Counter[int]] = {}
    for edit in edits:
        if edit.start < edit.end:
            for bound, step in ((edit.start, 1), (edit.end, -1)):
                events.setdefault(bound, Counter()).update(dict.fromkeys(edit.reviewers, step))
    deleting: Counter[int] = Counter()
    found = {}
    for bound in sorted({bound for edit in edits for bound in (edit.start, edit.end)}):
        deleting.update(events.get(bound, {}))
        found[bound] = tuple(sorted(who for who, count in deleting.items() if count > 0))
    return found


def _starts(text: str) -> tuple[tuple[int, ...], tuple[tuple[int, int], ...]]:
    """Where the paragraphs of a merged text begin, in the flow, and in the document of each that is not empty."""
    starts, places, offset, length = [], [], 0, 0
    for paragraph in text.split(BREAK)[:-1]:
        if paragraph.strip():
            starts.append(offset)
            places.append((length, offset))
            length += len(paragraph.strip()) + 2
        offset += len(paragraph) + 1
    return tuple(starts), tuple(places)


def _document(base: Document, text: str, flows: Iterable[Flow]) -> Document:
    """The document of a merged text: paragraphs are headings where the base or a reviewer has them as headings."""
    levels: dict[str, int] = {}
    for flow in flows:
        for block in flow.blocks:
            levels.setdefault(block.text, block.level)
    parts: list[tuple[str, int, list[str]]] = [("", 0, [])]
    for paragraph in filter(None, map(str.strip, text.split(BREAK))):
        if level := levels.get(paragraph, 0):
            parts.append((paragraph, level, []))
        else:
            parts[-1][2].append(paragraph)
    return assemble("", base.title, (Part(heading, "\n\n".join(texts), level) for heading, level, texts in parts))


def check_names(reviewers: Sequence[object], names: Sequence[str]) -> None:
    """Refuse a merge of fewer than two reviewers, or with names for some of them.

    Raises:
        OptionError: so it is.
    """
    if len(reviewers) < 2 or isinstance(reviewers, str):
        raise OptionError("A merge needs a base and two reviewers at least; name another document.")
    if names and len(names) != len(reviewers):
        raise OptionError(f"There are {len(reviewers)} reviewers and {len(names)} names; give one for each.")


def reviewer_names(documents: Sequence[Document], given: Sequence[str] = ()) -> tuple[str, ...]:
    """A name for each reviewer: those given, else the author that a Word file names, else the name of the file.

    Reviewers of one name get those of their files.
    """
    names = list(given) or [_author(document) or _stem(document) for document in documents]
    names = [" ".join(name.replace("&", "and").split()) for name in names]  # "Ann & Bob" are two
    shared = {name for name, count in Counter(names).items() if count > 1}
    names = [_stem(document) if name in shared else name for name, document in zip(names, documents, strict=True)]
    twice = {name for name, count in Counter(names).items() if count > 1}
    return tuple(f"{name} ({number})" if name in twice else name for number, name in enumerate(names, 1))


def _stem(document: Document) -> str:
    return Path(document.path).stem if document.path not in ("", "-") else document.title


def _author(document: Document) -> str:
    if document.format != "docx" or document.path in ("", "-"):
        return ""
    from colde_cli.documents.office.docx import word_author

    try:
        with Path(document.path).open("rb") as file:
            return word_author(file, document.path)
    except (OSError, DocumentError):  # it was read a moment ago; a name is not worth an error
        return ""
