"""What became of the remarks of a review, and a document with the edits of several reviewers, as pages of blocks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from colde_cli.documents.remarks import ReviewRemark
from colde_cli.similarity.answers import AnsweredRemark, Answers, Basis, RemarkVerdict
from colde_cli.similarity.merging import Merge, MergeConflict, ReviewerEdit, shown
from colde_cli.similarity.pairs import State
from colde_cli.views import wording
from colde_cli.views.blocks import Block, ChangeBlock, HeadingBlock, Page, TableBlock, TermsBlock
from colde_cli.views.changes import TITLE, difference
from colde_cli.views.sentences import both_documents, reservations

VERDICTS = {
    RemarkVerdict.CHANGED: "changed",
    RemarkVerdict.ADDED: "only added",
    RemarkVerdict.NOT_CHANGED: "not changed",
    RemarkVerdict.NO_PLACE: "no place found",
}
_LOOKS = {
    RemarkVerdict.CHANGED: "changed",
    RemarkVerdict.ADDED: "added",
    RemarkVerdict.NOT_CHANGED: "same",
    RemarkVerdict.NO_PLACE: "dropped",
}
_BASES = {
    Basis.WORDS: "the words that the comment is on",
    Basis.QUOTATION: "the words that it quotes",
    Basis.REFERENCE: "what it refers to",
    Basis.MEANING: "closest in meaning",
}
_SHORT, _LONG, _HEADING = 60, 400, 60
_MOST_SHOWN = 4
"""Passages shown of a remark; a remark on a section may have many."""


def answers_page(answers: Answers) -> Page:
    """The remarks of a review: all in a table, then each with its place and what changed there."""
    counts = answers.summary
    told = [f"{count:,} {VERDICTS[verdict]}" for verdict, count in counts.items() if count]
    remarks = list(enumerate(answers.remarks, 1))
    rows = [
        [
            (str(number), ""),
            (wording.shorten(_called(one.remark), _SHORT), ""),
            (_place(answers, one), ""),
            (VERDICTS[one.verdict], _LOOKS[one.verdict]),
        ]
        for number, one in remarks
    ]
    blocks: list[Block] = [TableBlock(("", "Remark", "Place", "Verdict"), rows)]
    for number, one in remarks:
        blocks += [HeadingBlock(f"{number}: {VERDICTS[one.verdict]}"), *_blocks(answers, one)]
    comparison = answers.comparison
    other = [f"Not read as a remark: {wording.shorten(text, _LONG)}" for text in answers.other]
    return Page(
        "Remarks of a review",
        f"{wording.plural(len(answers.remarks), 'remark')}: {', '.join(told)}.",
        blocks,
        facts=[*both_documents(comparison), f"Review: {wording.plain(answers.path)}"],
        cautions=reservations(comparison),
        remarks=other,
    )


def _called(remark: ReviewRemark) -> str:
    name = remark.label or remark.author
    return f"{wording.plain(name)}: {wording.plain(remark.text)}" if name else wording.plain(remark.text)


def _blocks(answers: Answers, answered: AnsweredRemark) -> Iterator[Block]:
    a, b = answers.comparison.a.document, answers.comparison.b.document
    passages = answers.comparison.passages
    changed = [n for n in (*answered.pairs, *answered.added) if passages[n].differs]
    rows = [(name, [line for line in lines if line]) for name, lines in _rows(answers, answered, len(changed))]
    yield TermsBlock(("", ""), [row for row in rows if row[1]])
    yield from (ChangeBlock(a, b, passages[n]) for n in changed[:_MOST_SHOWN])


def _rows(answers: Answers, answered: AnsweredRemark, changed: int) -> Iterator[tuple[str, Sequence[str]]]:
    remark, passages = answered.remark, answers.comparison.passages
    facts = (remark.label, remark.author, remark.date.replace("T", " ").removesuffix("Z"), "done" * remark.done)
    yield "By", [" · ".join(wording.plain(fact) for fact in facts if fact)]
    yield "Remark", list(map(wording.plain, remark.text.split("\n")))
    yield "On", [wording.plain(wording.shorten(remark.on, _LONG))] if remark.on else []
    for reply in remark.replies:
        said = " ".join(reply.text.split())
        yield "Reply", [wording.plain(f"{reply.author}: {said}" if reply.author else said)]
    place = _place(answers, answered)
    yield "Place", [f"{place} ({_BASES[answered.basis]})"] if place else []
    if answered.pairs and not changed:
        yield "Text", [wording.shorten(passages[answered.pairs[0]].a_text, _LONG)]
    if answered.touched is False and answered.verdict is RemarkVerdict.CHANGED:
        yield "Note", ["The words themselves did not change, but others beside them did."]
    if any(passages[n].state is State.MOVED for n in answered.pairs):
        yield "Note", ["The passage stands at another place now."]
    if changed > _MOST_SHOWN:
        yield "Note", [f"{changed:,} passages differ here; {_MOST_SHOWN} are shown."]


def _place(answers: Answers, answered: AnsweredRemark) -> str:
    """Pages and heading of the first passage, in A or in B; of how many, if it is not one."""
    places = answered.pairs or answered.added
    if not places:
        return ""
    pair = answers.comparison.passages[places[0]]
    a, b = answers.comparison.a.document, answers.comparison.b.document
    if pair.a and pair.b:
        where = wording.places(a, b, pair, _HEADING)
    else:
        pages, name = wording.place(a if pair.a else b, pair.a or pair.b, _HEADING)
        where = " · ".join(filter(None, (f"{'A' if pair.a else 'B'} {pages}".strip(), name)))
    return f"{where}, {wording.plural(len(places), 'passage')}" if len(places) > 1 else where


# Several reviewers of one document

_EDIT = 240


def merge_page(merge: Merge) -> Page:
    """The edits of several reviewers: what is in conflict first, then all others in the order of the base."""
    several = sum(len(edit.reviewers) > 1 for edit in merge.edits)
    told = [f"{len(merge.edits):,} of {wording.plural(len(merge.names), 'reviewer')}"]
    told += [f"{several:,} made alike by several"] if several else []
    conflicts = wording.plural(len(merge.conflicts), "conflict") if merge.conflicts else "no conflict"
    edits = "edit" if len(merge.edits) == 1 else "edits"
    answer = f"{told[0].replace(' of ', f' {edits} of ', 1)}{', ' + told[1] if several else ''}; {conflicts}."
    blocks: list[Block] = []
    names = list(map(wording.plain, merge.names))
    if merge.conflicts:
        blocks += [HeadingBlock("Conflicts"), TableBlock(("Place", "Base", *names), list(_conflict_rows(merge)))]
    if merge.edits:
        blocks += [HeadingBlock("Edits"), TableBlock(("Place", "By", "Deleted", "Inserted"), list(_edit_rows(merge)))]
    reviewers = zip(names, merge.comparisons, merge.edits_by_reviewer, strict=True)
    facts = [f"Base: {wording.plain(merge.base.title)} ({wording.file_name(merge.base.path)})"]
    facts += [
        f"{name}: {wording.file_name(one.b.document.path)}, {wording.plural(count, 'edit')}"
        for name, one, count in reviewers
    ]
    cautions = [
        f"{TITLE}, not merged: {name}, {difference(one.outside)}"
        for name, one in zip(names, merge.comparisons, strict=True)
        if not one.outside.same
    ]
    return Page(
        "Edits of several reviewers",
        "Nobody changed anything." if merge.same else answer,
        blocks,
        facts=facts,
        cautions=cautions,
    )


def _conflict_rows(merge: Merge) -> Iterator[list[tuple[str, str]]]:
    for conflict in merge.conflicts:
        wants = dict(conflict.wants)
        told = [
            ("–", "none")
            if place not in wants
            else (_words(wants[place]), "added")
            if wants[place].strip()
            else ("(deleted)", "dropped")
            for place in range(len(merge.names))
        ]
        was = merge.text.a.text[conflict.start : conflict.end]
        yield [(_where(merge, conflict), ""), (_words(was) or "(nothing)", ""), *told]


def _edit_rows(merge: Merge) -> Iterator[list[tuple[str, str]]]:
    for edit in merge.edits:
        by = " & ".join(wording.plain(merge.names[place]) for place in edit.reviewers)
        was = _words(merge.text.a.text[edit.start : edit.end])
        yield [
            (_where(merge, edit), ""),
            (by, ""),
            (was, was and "dropped"),
            (_words(edit.text), edit.text and "added"),
        ]


def _words(text: str) -> str:
    return wording.shorten(shown(text), _EDIT)


def _where(merge: Merge, one: ReviewerEdit | MergeConflict) -> str:
    section, pages = merge.place(one)
    name = wording.shorten(wording.heading(section), _HEADING) if section else ""
    return " · ".join(filter(None, (wording.page_range(pages), name)))
