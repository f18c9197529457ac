"""Compare two `Encoding`s: a `Comparison` holds, as plain data, everything that the views show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from colde_cli.documents.document import Document, Ignored
from colde_cli.documents.passages import Passage, whole_pages
from colde_cli.encoder.encoding import DocumentEncoder, Encoding, RuntimeInfo
from colde_cli.encoder.runtime import Progress
from colde_cli.scoring.profile import Field, FieldInfo
from colde_cli.scoring.score import ScorePart, cosines, verdict
from colde_cli.similarity.alignment import Alignment, PassagePair, State, align, extents, versions
from colde_cli.similarity.candidates import ChunkCosines
from colde_cli.similarity.chunk_scores import (
    explanation,
    relative_attention,
    shared_stretches,
    with_shared_wording,
)
from colde_cli.similarity.flags import FlagKind
from colde_cli.similarity.genre import common_genre
from colde_cli.similarity.redline import NOTHING_IGNORED, IgnoreOptions, normal
from colde_cli.similarity.section_changes import Outline, SectionChange, outline, section_changes
from colde_cli.similarity.triage import WeightedChange, ordered_changes, weight

FloatArray = NDArray[np.float32]

COUNTERPART = 0.75
"""A chunk has no counterpart if its best chunk score is lower. Of the 68 chunks of examples/, 64 score lower with every
other chunk of their own document. Chunks edited from version 1 to version 2 score above 0.99 with their originals; two
completely reworded passages, encoded by themselves, score 0.87 and 0.67 (nos. 13 and 15)."""

_PATH_SHOWN = 100


@dataclass(frozen=True, slots=True)
class ChunkMatch:
    """A chunk and the most similar chunk of the other document.

    Attributes:
        chunk: index of the chunk in its own document.
        partner: index of its best match in the other document.
        score: see `Comparison.chunk_scores`.
        attention: from the chunk to its partner, in multiples of uniform attention; not a similarity.
        same: both have the same text, apart from white space and ignored differences.
    """

    chunk: int
    partner: int
    score: float
    attention: float
    same: bool


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Comparison:
    """The similarity of two documents at three levels (n = sections, m = chunks).

    Attributes:
        score: of the documents, the weighted mean of `parts`.
        probability: the calibrated score; None where the model is not calibrated.
        threshold: the lowest score of related documents in these domains; None where not fitted.
        section_scores: [n_a, n_b], cosines of section vectors.
        chunk_scores: [m_a, m_b], cosines of centred chunk vectors, raised where the chunks share wording.
        attention_a_to_b: [m_a, m_b], chunk-wise attention from A to B; rows sum to 1.
        attention_b_to_a: [m_b, m_a], the same from B to A.
        same_content: the texts are the same, apart from white space and the differences in `ignore`; False where
            values of a form could not be read.
        alignment: the passages of both; None where they were not compared.
        ignore: the differences to ignore. Scores do not depend on it, except through text that was left out.
        percentile: share of random pairs of `field` with a lower score, in [0, 1].
        field: within which the documents were scored; None for the model's own scores.
    """

    a: Encoding
    b: Encoding
    model: RuntimeInfo
    score: float
    parts: tuple[ScorePart, ...]
    probability: float | None
    threshold: float | None
    section_scores: FloatArray
    chunk_scores: FloatArray
    attention_a_to_b: FloatArray
    attention_b_to_a: FloatArray
    same_content: bool
    alignment: Alignment | None = None
    ignore: IgnoreOptions = NOTHING_IGNORED
    percentile: float | None = None
    field: FieldInfo | None = None

    def __repr__(self) -> str:
        paths = [f"{name}={_shown(side.document)!r}" for name, side in (("a", self.a), ("b", self.b))]
        facts = [*paths, f"score={self.score:.3f}", f"related={self.related}", f"model={self.model.name!r}"]
        counts = [f"{state.value}={count}" for state, count in self.summary.items()]
        return f"Comparison({', '.join([*facts, *counts])})"

    @property
    def aligned(self) -> Alignment:
        """The alignment, where it must exist.

        Raises:
            ValueError: the documents were compared without passages.
        """
        if self.alignment is None:
            raise ValueError("the documents were compared without passages; compare them with passages=True")
        return self.alignment

    @property
    def passages(self) -> tuple[PassagePair, ...]:
        """What became of every passage, in the order of A; empty without an alignment."""
        return () if self.alignment is None else self.alignment.pairs

    @property
    def summary(self) -> dict[State, int]:
        """Count the `passages` in each state; empty without an alignment."""
        return {} if self.alignment is None else self.alignment.summary

    @property
    def changes(self) -> tuple[WeightedChange, ...]:
        """All changes of passages, the weightiest first; empty without an alignment."""
        return ordered_changes(self.passages)

    @property
    def versions(self) -> bool:
        """Whether both documents are versions of one text, by the words they share; False without an alignment."""
        return self.alignment is not None and versions(self.passages)

    @property
    def section_changes(self) -> tuple[SectionChange, ...]:
        """What became of every section, by its passages and its heading; empty without an alignment."""
        if self.alignment is None:
            return ()
        return section_changes(self.alignment, self.a.document, self.b.document, self.ignore)

    def outline(self, most: int) -> Outline:
        """Fold the section scores to at most `most` sections of each document, where heading levels allow it."""
        return outline(self.section_scores, self.a.document.sections, self.b.document.sections, most)

    @property
    def related(self) -> bool | None:
        """The verdict: whether the score reaches the threshold; None without a threshold."""
        return None if self.threshold is None else self.score >= self.threshold

    @property
    def explanation(self) -> FloatArray:
        """Weigh each pair of chunks as evidence for the score; see `chunk_scores.explanation`."""
        return explanation(self.attention_a_to_b, self.attention_b_to_a, self.chunk_scores)

    def matches_of_a(self) -> tuple[ChunkMatch, ...]:
        """Find the most similar chunk of B for each chunk of A, in the order of A."""
        return _best_matches(self.a, self.b, self.chunk_scores, self.attention_a_to_b, self.ignore)

    def matches_of_b(self) -> tuple[ChunkMatch, ...]:
        """Find the most similar chunk of A for each chunk of B, in the order of B."""
        return _best_matches(self.b, self.a, self.chunk_scores.T, self.attention_b_to_a, self.ignore)

    def without_counterpart(self) -> tuple[tuple[ChunkMatch, ...], tuple[ChunkMatch, ...]]:
        """Select the chunks of A and of B with a best match below `COUNTERPART`."""
        a = tuple(match for match in self.matches_of_a() if match.score < COUNTERPART)
        b = tuple(match for match in self.matches_of_b() if match.score < COUNTERPART)
        return a, b

    def to_dict(self) -> dict[str, Any]:
        """Build schema colde.diff/1, the output of `colde diff --format json`."""
        return comparison_data(self)


def compare_encodings(
    a: Encoding,
    b: Encoding,
    encoder: DocumentEncoder,
    ignore: IgnoreOptions = NOTHING_IGNORED,
    *,
    passages: bool = True,
    field: Field | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Compare two documents that `encoder` has encoded.

    Only attention depends on both documents; the vectors are those of each document by itself.

    Args:
        a: the first document.
        b: the second.
        encoder: the model that encoded both.
        ignore: the differences between passages and texts to ignore.
        passages: also align the passages; this encodes passages that find no partner by wording.
        field: score the documents within this field.
        progress: called with the number of passages just encoded.
    """
    found = verdict(a, b, encoder.config, field or encoder.domain_fields)
    a_to_b, b_to_a = encoder.attention(a, b)
    alike = ChunkCosines(a.chunks, b.chunks, cosines(a.centred_unit_vectors, b.centred_unit_vectors))
    return Comparison(
        a=a,
        b=b,
        model=encoder.info,
        score=found.score,
        parts=found.parts,
        probability=found.probability,
        threshold=found.threshold,
        section_scores=cosines(a.section_vectors, b.section_vectors),
        chunk_scores=with_shared_wording(alike.cosines, shared_stretches(a.chunks, b.chunks)),
        attention_a_to_b=a_to_b,
        attention_b_to_a=b_to_a,
        same_content=_same_content(a.document, b.document, ignore),
        alignment=align(a.document, b.document, encoder, ignore, alike, progress) if passages else None,
        ignore=ignore,
        percentile=found.percentile,
        field=None if field is None else field.profile.info,
    )


def _same_content(a: Document, b: Document, ignore: IgnoreOptions) -> bool:
    if a.report.unread_values or b.report.unread_values:
        return False  # the values that could not be read may differ
    return content(a, ignore) == content(b, ignore)


def content(document: Document, ignore: IgnoreOptions = NOTHING_IGNORED) -> str:
    """Join the text of all sections, every run of white space as one blank, without ignored differences."""
    return normal("\n\n".join(document.section_text(section) for section in document.sections), ignore)


def _best_matches(
    own: Encoding, other: Encoding, scores: FloatArray, attention: FloatArray, ignore: IgnoreOptions
) -> tuple[ChunkMatch, ...]:
    relative = relative_attention(attention)
    texts, others = _chunk_texts(own, ignore), _chunk_texts(other, ignore)
    matches = []
    for chunk, row in enumerate(scores):
        partner = int(row.argmax())
        same = texts[chunk] == others[partner]
        matches.append(ChunkMatch(chunk, partner, float(row[partner]), float(relative[chunk, partner]), same))
    return tuple(matches)


def _chunk_texts(encoding: Encoding, ignore: IgnoreOptions) -> list[str]:
    text = encoding.document.text
    return [normal(text[chunk.span.start : chunk.span.end], ignore) for chunk in encoding.chunks]


def _shown(document: Document) -> str:
    """Shorten a document's path, or its title where it has none, to its end."""
    return (document.path or document.title)[-_PATH_SHOWN:]


_DECIMALS = 6


def rounded_rows(values: FloatArray) -> list[list[float]]:
    """Round a table to the decimals of JSON."""
    return [rounded_row(row) for row in values]


def rounded_row(row: FloatArray) -> list[float]:
    """Round a row of a table to the decimals of JSON."""
    values: list[float] = np.round(row.astype(np.float64), _DECIMALS).tolist()
    return values


def comparison_data(
    comparison: Comparison, table: Callable[[FloatArray], object] = rounded_rows
) -> dict[str, Any]:
    """Build schema colde.diff/1; without an alignment `passages` and all that depends on them are null.

    Args:
        comparison: of two documents.
        table: makes the value of a table. Tables grow with the product of both lengths: as lists of numbers they take
            eight times the memory of arrays.
    """
    aligned = comparison.alignment is not None
    return {
        "schema": "colde.diff/1",
        "a": _encoding(comparison.a),
        "b": _encoding(comparison.b),
        "model": model_data(comparison.model),
        "document": {
            "score": rounded(comparison.score),
            "probability": rounded(comparison.probability),
            "threshold": rounded(comparison.threshold),
            "related": comparison.related,
            "parts": parts_data(comparison.parts),
            **_within_field(comparison),
        },
        "sections": {"scores": table(comparison.section_scores)},
        "chunks": {
            "scores": table(comparison.chunk_scores),
            "attention_a_to_b": table(comparison.attention_a_to_b),
            "attention_b_to_a": table(comparison.attention_b_to_a),
        },
        "passages": [_passage(pair) for pair in comparison.passages] if aligned else None,
        "summary": _summary(comparison) if aligned else None,
        "section_changes": _section_changes(comparison) if aligned else None,
        "ignored": _ignored(comparison),
        "changes": [_change(comparison, change) for change in comparison.changes] if aligned else None,
    }


def _summary(comparison: Comparison) -> dict[str, Any]:
    a, b = extents(comparison.passages)
    flags = Counter(flag.kind.value for pair in comparison.passages for flag in pair.flags)
    return {
        **{state.value: count for state, count in comparison.summary.items()},
        "versions": comparison.versions,
        "genre": common_genre(comparison.a.document, comparison.b.document).value,
        "words_of_a_in_b": rounded(a.share_kept),
        "words_of_b_in_a": rounded(b.share_kept),
        "flagged": sum(bool(pair.flags) for pair in comparison.passages),
        "flags": {kind.value: flags[kind.value] for kind in FlagKind if flags[kind.value]},
    }


def _change(comparison: Comparison, change: WeightedChange) -> dict[str, Any]:
    kinds = (flag.kind.value for number in change.pairs for flag in comparison.passages[number].flags)
    a, b = change.replacement or ("", "")
    return {
        "weight": change.weight,
        "kinds": list(dict.fromkeys(kinds)),
        "passages": list(change.pairs),
        "replacement": None if change.replacement is None else {"a": a, "b": b},
    }


def _within_field(comparison: Comparison) -> dict[str, Any]:
    if comparison.field is None:
        return {}
    return {"percentile": rounded(comparison.percentile), "field": field_data(comparison.field)}


def field_data(field: FieldInfo | None) -> dict[str, Any] | None:
    """The `field` object of every schema."""
    return None if field is None else {"name": field.name, "documents": field.documents}


def rounded(value: float | None) -> float | None:
    """Round a number to the six decimals of JSON."""
    return None if value is None else round(float(value), _DECIMALS)


def model_data(info: RuntimeInfo) -> dict[str, str]:
    """Build the `model` object of every schema."""
    return {"name": info.name, "precision": info.precision, "device": info.device}


def parts_data(parts: Sequence[ScorePart]) -> list[dict[str, Any]]:
    """List the parts of a document score."""
    return [
        {"name": part.name, "score": rounded(part.score), "weight": rounded(part.weight)} for part in parts
    ]


def pages_data(pages: tuple[int, int] | None) -> list[int] | None:
    """List first and last page; None where the source has no pages."""
    return None if pages is None else list(pages)


def _encoding(encoding: Encoding) -> dict[str, Any]:
    document, report = encoding.document, encoding.document.report
    return {
        "path": document.path,
        "title": document.title,
        "pages": report.pages,
        "tokens": encoding.tokens,
        "sections": [
            {
                "index": section.index,
                "heading": section.heading,
                "pages": pages_data(section.pages),
                "chunks": [chunk.index for chunk in encoding.chunks if chunk.section == section.index],
            }
            for section in document.sections
        ],
        "chunks": [
            {
                "index": chunk.index,
                "section": chunk.section,
                "pages": pages_data(chunk.pages),
                "tokens": len(chunk.ids) - 2,
            }
            for chunk in encoding.chunks
        ],
        "read": {
            "pages_without_text": list(report.pages_without_text),
            "skipped_sections": list(report.skipped_sections),
            "truncated_tokens": report.truncated_tokens,
        },
        "warnings": list(report.warnings),
    }


def _passage(pair: PassagePair) -> dict[str, Any]:
    return {
        "state": pair.state.value,
        "score": rounded(pair.score),
        "edits": len(pair.edits),
        "weight": weight(pair),
        "flags": list(dict.fromkeys(flag.kind.value for flag in pair.flags)),
        "flagged": [{"kind": flag.kind.value, "a": flag.a, "b": flag.b} for flag in pair.flags],
        "a": _passages(pair.a, pair.a_text),
        "b": _passages(pair.b, pair.b_text),
        "redline": [
            {"a": [edit.a.start, edit.a.end], "b": [edit.b.start, edit.b.end]} for edit in pair.edits
        ],
    }


def _passages(passages: Sequence[Passage], text: str) -> dict[str, Any] | None:
    if not passages:
        return None
    return {
        "section": passages[0].section,
        "pages": pages_data(whole_pages(passages)),
        "text": text,
        "spans": [[passage.span.start, passage.span.end] for passage in passages],
    }


def _section_changes(comparison: Comparison) -> list[dict[str, Any]]:
    return [
        {
            "state": change.state.value,
            "a": list(change.a),
            "b": list(change.b),
            "same": change.same,
            "moved": change.moved,
        }
        for change in comparison.section_changes
    ]


def _ignored(comparison: Comparison) -> dict[str, Any]:
    ignore = comparison.ignore
    return {
        "case": ignore.case,
        "whitespace": ignore.whitespace,
        "numbers": ignore.numbers,
        "renumbering": ignore.renumbering,
        "list_marks": ignore.list_marks,
        "like": list(ignore.like),
        "a": _left_out(comparison.a.document.report.ignored),
        "b": _left_out(comparison.b.document.report.ignored),
    }


def _left_out(ignored: Ignored | None) -> dict[str, Any]:
    found = ignored or Ignored()
    return {"stretches": found.stretches, "words": found.words, "sections": list(found.sections)}
