"""The history of a document's sections through its versions, from the comparisons of each version with the next.

A section goes on in its partner (`section_changes`). A dropped section that comes back under its name later is the same
section, not another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from colde_cli.documents.appearance import settled
from colde_cli.documents.document import Document
from colde_cli.encoder.encoding import DocumentEncoder, Encoding, RuntimeInfo
from colde_cli.scoring.profile import Field
from colde_cli.similarity.comparison import Comparison, compare_encodings
from colde_cli.similarity.digest import ComparisonDigest, digest_data
from colde_cli.similarity.outside_changes import compare_outside, switches_data
from colde_cli.similarity.pairs import PassagePair, State
from colde_cli.similarity.plain_data import fields_data, model_data, source_data
from colde_cli.similarity.redline import IgnoreOptions
from colde_cli.similarity.section_changes import SectionChange, SectionState, name
from colde_cli.similarity.triage import changed_words


@dataclass(frozen=True, slots=True)
class SectionStep:
    """What became of a section from one version to the next.

    Attributes:
        state: of the section; "split" and "merged" also of the parts that began or ended.
        same: the text under the headings is the same.
        moved: its order, or the section it is part of, changed.
    """

    state: SectionState
    same: bool
    moved: bool
    words: int
    flagged: int


@dataclass(frozen=True, slots=True)
class SectionHistory:
    """A section through all versions.

    Attributes:
        places: its index in each version; None where it is not there.
        steps: from each version to the next; None where it is in neither.
    """

    places: tuple[int | None, ...]
    steps: tuple[SectionStep | None, ...]

    @property
    def changed(self) -> bool:
        """Whether the section changed in any step."""
        unchanged = (SectionState.MATCHED, True, False)
        return any(step is None or (step.state, step.same, step.moved) != unchanged for step in self.steps)


@dataclass(frozen=True, slots=True, repr=False)
class History:
    """Several versions of a document, each compared with the next.

    Attributes:
        steps: from each version to the next.
        sections: in the order of the versions that have them.
    """

    versions: tuple[Document, ...]
    words: tuple[int, ...]
    steps: tuple[ComparisonDigest, ...]
    sections: tuple[SectionHistory, ...]
    model: RuntimeInfo
    ignore: IgnoreOptions

    @property
    def same(self) -> bool:
        """Whether all versions have the same text, and nothing beside it differs."""
        return all(step.same for step in self.steps)

    def to_dict(self) -> dict[str, Any]:
        """Build schema colde.history/1, the output of `colde diff A B C --format json`."""
        return {
            "schema": "colde.history/1",
            "model": model_data(self.model),
            "versions": [
                {**source_data(document), **{"words": words, "warnings": list(document.report.warnings)}}
                for document, words in zip(self.versions, self.words, strict=True)
            ],
            "steps": [
                {"same": step.same, "same_content": step.same_content, **digest_data(step)} for step in self.steps
            ],
            "sections": [
                {
                    "changed": section.changed,
                    "places": [
                        None
                        if index is None
                        else {"section": index, **fields_data(document.sections[index], "heading pages")}
                        for document, index in zip(self.versions, section.places, strict=True)
                    ],
                    "steps": [None if step is None else asdict(step) for step in section.steps],
                }
                for section in self.sections
            ],
            "ignored": switches_data(self.ignore),
        }


@dataclass(slots=True)
class _Thread:
    """A section so far; `places` has one more entry than `steps`."""

    places: list[int | None]
    name: str
    steps: list[SectionStep | None] = field(default_factory=list)


def steps_of(
    documents: Sequence[Document],
    encoder: DocumentEncoder,
    ignore: IgnoreOptions,
    profile: Field | None,
    progress: Callable[[int], None] | None,
) -> Iterator[Comparison]:
    """The comparison of each document with the next; each is encoded once."""
    before: Encoding | None = None
    for document in documents:
        (after,) = encoder.encode_many([document], progress)
        if before is not None:
            compared = compare_encodings(before, after, encoder, ignore, field=profile, progress=progress)
            one, two = settled(before.document, document, same_body=compared.same_content)
            yield replace(compared, outside=compare_outside(one, two, ignore))
        before = after


def history_of(comparisons: Iterable[Comparison]) -> History:
    """Follow the sections of a document through its versions, from the comparisons of each with the next.

    There is at least one; each is forgotten before the next is taken.
    """
    rows: list[_Thread] = []
    versions: list[Document] = []
    words: list[int] = []
    steps: list[ComparisonDigest] = []
    for comparison in comparisons:
        digest = ComparisonDigest.of(comparison)
        if not versions:
            rows = [_Thread([section.index], name(section)) for section in digest.a.sections]
            versions.append(digest.a)
            words.append(len(comparison.a.document.text.split()))
        rows = _followed(rows, comparison, len(steps))
        versions.append(digest.b)
        words.append(len(comparison.b.document.text.split()))
        steps.append(digest)
        model, ignore = comparison.model, comparison.ignore
    if not steps:
        raise ValueError("a history needs at least one comparison")
    sections = tuple(SectionHistory(tuple(row.places), tuple(row.steps)) for row in rows)
    return History(tuple(versions), tuple(words), tuple(steps), sections, model, ignore)


def _followed(rows: Sequence[_Thread], comparison: Comparison, done: int) -> list[_Thread]:
    """The rows with one more step; `done` is how many steps they had."""
    at_place = {row.places[-1]: row for row in rows if row.places[-1] is not None}
    gone = {row.name: row for row in rows if row.places[-1] is None and row.name}
    arrived: dict[int, _Thread] = {}
    for change in comparison.section_changes:
        step = _section_step(change, comparison.passages)
        main = change.b[0] if change.a and change.b else None
        for i in change.a:
            row = at_place[i]
            row.steps.append(step)
            row.places.append(main if i == change.a[0] else None)
            if row.places[-1] is not None:
                arrived[row.places[-1]] = row
        for j in change.b[1 if main is not None else 0 :]:
            # A section that had gone under the same name, or a new one.
            called = name(comparison.b.document.sections[j])
            row = gone.pop(called) if called in gone else _Thread([None] * (done + 1), called, [None] * done)
            row.steps.append(step)
            row.places.append(j)
            arrived[j] = row
    for row in rows:
        if len(row.steps) == done:  # neither before nor after
            row.steps.append(None)
            row.places.append(None)
    return _in_order(rows, arrived, comparison.b.document)


def _in_order(rows: Sequence[_Thread], arrived: dict[int, _Thread], document: Document) -> list[_Thread]:
    """The rows with new ones after the row of the section before them."""
    ordered = list(rows)
    for section in document.sections:
        row = arrived[section.index]
        row.name = name(section)
        if not any(row is other for other in ordered):
            before = arrived.get(section.index - 1)
            place = next((n for n, other in enumerate(ordered) if other is before), -1)
            ordered.insert(place + 1, row)
    return ordered


def _section_step(change: SectionChange, pairs: Sequence[PassagePair]) -> SectionStep:
    own = [
        pair
        for pair in pairs
        if pair.state is not State.SAME and (pair.a[0].section in change.a if pair.a else pair.b[0].section in change.b)
    ]
    return SectionStep(
        change.state, change.same, change.moved, sum(map(changed_words, own)), sum(bool(pair.flags) for pair in own)
    )
