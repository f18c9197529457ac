"""A field of knowledge to measure on: its documents, the pairs that count and those that set the threshold."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from colde_cli.documents.document import Document
from colde_cli.errors import DataError

VALIDATION = "validation"


class Row(Protocol):
    """A document with its supervision, as the reader of the data gives it."""

    @property
    def id(self) -> str:
        """Its name within the field."""

    @property
    def document(self) -> Document:
        """Text and sections."""

    @property
    def label(self) -> str | None:
        """Its class; None if it has none."""

    @property
    def related(self) -> tuple[str, ...]:
        """Ids it names as related."""

    @property
    def split(self) -> str | None:
        """Its side; None where the data does not say."""


class LabelledPair(Protocol):
    """A judged pair, as the reader of the data gives it."""

    @property
    def a(self) -> str:
        """Id of the one document."""

    @property
    def b(self) -> str:
        """Id of the other."""

    @property
    def related(self) -> bool:
        """The judgement."""

    @property
    def relation(self) -> str | None:
        """How the pair came about; "random" and "hard" negatives are also measured apart."""

    @property
    def split(self) -> str | None:
        """Its side; None where the data does not say."""


@dataclass(frozen=True, slots=True, eq=False)
class EvaluationSet:
    """What is measured at once and shares one threshold.

    Attributes:
        name: of the field.
        documents: all of them by id.
        pairs: those that are measured, ordered by their ids.
        validation: those that set threshold, calibration and centre; none of them is measured.
        background: ids of the documents that give the controls their word statistics.
        background_split: "training" or "all": which documents these are.
        gallery: ids of the documents that retrieval searches through.
        relevant: for every document of the gallery that has any, the others that should be found.
        relevance: "links" or "labels": what makes them relevant.
        contradictions: measured pairs that are judged unrelated though both documents bear one label, where all
            related ones do so too: 0 where labels have nothing to do with the judgements.
    """

    name: str
    documents: Mapping[str, Document]
    pairs: tuple[LabelledPair, ...]
    validation: tuple[LabelledPair, ...]
    background: tuple[str, ...]
    background_split: str
    gallery: tuple[str, ...]
    relevant: Mapping[str, frozenset[str]]
    relevance: str
    contradictions: int

    def used(self, *, retrieval: bool) -> tuple[str, ...]:
        """Ids of the documents that take part, each once."""
        ids = {name for pair in (*self.pairs, *self.validation) for name in (pair.a, pair.b)}
        return tuple(sorted(ids | set(self.gallery if retrieval and self.relevant else ())))

    def shared_documents(self) -> int:
        """How many documents stand in measured and in validation pairs."""
        return len(members(self.pairs) & members(self.validation))


def members(pairs: Iterable[LabelledPair]) -> set[str]:
    """Ids of the documents of these pairs."""
    return {name for pair in pairs for name in (pair.a, pair.b)}


def make_field(
    name: str,
    rows: Sequence[Row],
    pairs: Sequence[LabelledPair],
    validation: Sequence[LabelledPair] | None = None,
    split: str = "test",
) -> EvaluationSet:
    """Sort documents and pairs by what they are for.

    Args:
        name: of the field.
        rows: its documents.
        pairs: judged ones; where any carries a split, those of `split` are measured, and those of the
            validation split set the threshold unless `validation` is given or is what is measured.
        validation: pairs that set the threshold instead; where any carries a split, its validation pairs.
        split: which side is measured.

    Raises:
        DataError: no pair is left to measure, all have one judgement, or one would also set the threshold.
    """
    measured = _side(pairs, split)
    if validation is not None:
        held = _side(validation, VALIDATION) or tuple(validation)
    else:
        held = () if split == VALIDATION else tuple(pair for pair in pairs if pair.split == VALIDATION)
    _check(name, measured, held, pairs, split)
    gallery = _gallery(rows, split)
    relevant, relevance = _relevant(rows, gallery)
    training = tuple(row.id for row in rows if row.split == "train")
    return EvaluationSet(
        name=name,
        documents={row.id: row.document for row in rows},
        pairs=_ordered(measured),
        validation=_ordered(held),
        background=training or tuple(row.id for row in rows),
        background_split="training" if training else "all",
        gallery=gallery,
        relevant=relevant,
        relevance=relevance,
        contradictions=_contradictions(measured, {row.id: row.label for row in rows}),
    )


def _side(pairs: Sequence[LabelledPair], split: str) -> tuple[LabelledPair, ...]:
    """The pairs of one side; all where none says which side it is on."""
    if all(pair.split is None for pair in pairs):
        return tuple(pairs)
    return tuple(pair for pair in pairs if pair.split == split)


def _ordered(pairs: Iterable[LabelledPair]) -> tuple[LabelledPair, ...]:
    """In an order of their own, so that no figure hangs on the order of a file."""
    return tuple(sorted(pairs, key=lambda pair: (min(pair.a, pair.b), max(pair.a, pair.b))))


def _check(
    name: str,
    measured: Sequence[LabelledPair],
    held: Sequence[LabelledPair],
    pairs: Sequence[LabelledPair],
    split: str,
) -> None:
    if not measured:
        there = ", ".join(sorted({pair.split for pair in pairs if pair.split}))
        raise DataError(f"No pair of {name} has the split {split!r}; there is {there}: choose with --split.")
    for what, some in (("measured", measured), (VALIDATION, held)):
        if some and len({pair.related for pair in some}) < 2:
            raise DataError(
                f"The {what} pairs of {name} are all judged the same; they must hold related (1) and "
                "unrelated (0) ones."
            )
    twice = {frozenset((pair.a, pair.b)) for pair in measured} & {
        frozenset((pair.a, pair.b)) for pair in held
    }
    if twice:
        raise DataError(
            f"{len(twice)} of the measured pairs of {name} also set its threshold, which would flatter; keep "
            "validation and test pairs apart."
        )


def _contradictions(pairs: Sequence[LabelledPair], labels: Mapping[str, str | None]) -> int:
    """Unrelated pairs of one label, where every related pair is of one label."""

    def agree(pair: LabelledPair) -> bool:
        return labels[pair.a] is not None and labels[pair.a] == labels[pair.b]

    if not all(agree(pair) for pair in pairs if pair.related):
        return 0
    return sum(agree(pair) for pair in pairs if not pair.related)


def _gallery(rows: Sequence[Row], split: str) -> tuple[str, ...]:
    """Documents of the split; all where none says which side it is on."""
    if all(row.split is None for row in rows):
        return tuple(sorted(row.id for row in rows))
    return tuple(sorted(row.id for row in rows if row.split == split))


def _relevant(rows: Sequence[Row], gallery: Sequence[str]) -> tuple[dict[str, frozenset[str]], str]:
    """What should be found for each document: its links, or its class where no document of the field has links."""
    inside = set(gallery)
    links: defaultdict[str, set[str]] = defaultdict(set)
    for row in rows:
        for other in row.related:
            if row.id in inside and other in inside and other != row.id:
                links[row.id].add(other)
                links[other].add(row.id)
    if links:
        return {name: frozenset(links[name]) for name in sorted(links)}, "links"
    classes: defaultdict[str, set[str]] = defaultdict(set)
    for row in rows:
        if row.label is not None and row.id in inside:
            classes[row.label].add(row.id)
    found = {one: frozenset(group - {one}) for group in classes.values() if len(group) > 1 for one in group}
    return dict(sorted(found.items())), "labels"
