"""Compare two `Encoding`s: a `Comparison` holds, as plain data, everything that the views show."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from colde_cli.documents.stages import stage
from colde_cli.encoder.encoding import DocumentEncoder, Encoding, RuntimeInfo, warm
from colde_cli.encoder.runtime import Progress
from colde_cli.errors import OptionError
from colde_cli.scoring.profile import Field, FieldInfo
from colde_cli.scoring.score import ScorePart, verdict
from colde_cli.scoring.score_table import ScoreTable
from colde_cli.similarity.alignment import align, match_words
from colde_cli.similarity.chunk_scores import closest_pairs, closest_sections, shared_runs, tables
from colde_cli.similarity.genre import common_genre
from colde_cli.similarity.mentions import FlagKind
from colde_cli.similarity.outside_changes import (
    NOTHING_OUTSIDE,
    OutsideComparison,
    compare_outside,
    ignored_data,
    outside_data,
)
from colde_cli.similarity.pairs import Alignment, PassagePair, State, extents, versions
from colde_cli.similarity.plain_data import (
    field_data,
    fields_data,
    model_data,
    ocr_data,
    pages_data,
    parts_data,
    rounded,
    rounded_rows,
    source_data,
)
from colde_cli.similarity.redline import NOTHING_IGNORED, IgnoreOptions, normal
from colde_cli.similarity.renumbering import NOT_RENUMBERED, Renumbering, renumbering, renumbering_data
from colde_cli.similarity.section_changes import Outline, SectionChange, outline, section_changes
from colde_cli.similarity.triage import WeightedChange, ordered_changes, passage_data
from colde_cli.similarity.typesetting import TypesettingPlace, same_texts, typesetting_data, typesetting_places

FloatArray = NDArray[np.float32]

COUNTERPART = 0.75
"""A chunk has no counterpart if its best chunk score is lower. Of the 68 chunks of examples/, 64 score lower with every
other chunk of their own document. Chunks edited from version 1 to version 2 score above 0.99 with their originals; two
completely reworded passages, encoded by themselves, score 0.87 and 0.67 (nos. 13 and 15 of examples/README.md)."""

_SOME_RUNS = 0.1
"""Documents that share fewer runs of words are no versions of one text: their scores will be asked for."""

_PATH_SHOWN = 100


@dataclass(frozen=True, slots=True)
class ChunkMatch:
    """A chunk and the most similar chunk of the other document.

    Attributes:
        chunk: index of the chunk in its own document.
        partner: index of its best match in the other document.
        score: see `Comparison.chunk_scores`.
        attention: from the chunk to its partner, in multiples of uniform attention; not a similarity. None where it
            was not asked for.
        same: both have the same text, apart from white space and ignored differences.
    """

    chunk: int
    partner: int
    score: float
    attention: float | None
    same: bool


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """The similarity of two documents as wholes, of their n sections and of their m chunks.

    Attributes:
        probability: the calibrated score; None where the model is not calibrated.
        threshold: the lowest score of related documents in these domains; None where not fitted.
        sections: [n_a, n_b], see `tables`.
        chunks: [m_a, m_b], cosines of centred chunk vectors, raised where the chunks share wording.
        percentile: share of random pairs of the field with a lower score, in [0, 1]; None without a field.
    """

    document: float
    parts: tuple[ScorePart, ...]
    probability: float | None
    threshold: float | None
    sections: ScoreTable
    chunks: ScoreTable
    percentile: float | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """The similarity of two documents, and what became of their passages.

    Attributes:
        measure: computes the scores; called once, when the first of them is asked for. None in a copy from a pickle,
            which holds the scores themselves.
        attend: computes the attention, as `measure` the scores.
        same_content: the texts are the same, apart from white space and the differences in `ignore`; False where
            values of a form could not be read.
        alignment: the passages of both; None where they were not compared.
        ignore: the differences to ignore. Scores do not depend on it, except through text that was left out.
        field: within which the documents were scored; None for the model's own scores.
        outside: how they differ beside their text.
    """

    a: Encoding
    b: Encoding
    model: RuntimeInfo
    measure: Callable[[], Scores] | None
    attend: Callable[[], tuple[ScoreTable, ScoreTable]] | None
    same_content: bool
    alignment: Alignment | None = None
    ignore: IgnoreOptions = NOTHING_IGNORED
    field: FieldInfo | None = None
    outside: OutsideComparison = NOTHING_OUTSIDE

    def __repr__(self) -> str:
        documents = (("a", self.a.document), ("b", self.b.document))
        paths = [f"{name}={(one.path or one.title)[-_PATH_SHOWN:]!r}" for name, one in documents]
        scored = "scores" in vars(self)  # to compute them may take minutes
        scores = [f"score={self.score:.3f}", f"related={self.related}"] if scored else []
        facts = [*paths, *scores, f"model={self.model.name!r}"]
        counts = [f"{state.value}={count}" for state, count in self.summary.items()]
        return f"Comparison({', '.join([*facts, *counts])})"

    @cached_property
    def scores(self) -> Scores:
        """All scores. To compute them takes every chunk of both documents."""
        assert self.measure is not None, "a copy has its scores"
        return self.measure()

    @cached_property
    def attended(self) -> tuple[ScoreTable, ScoreTable]:
        """Chunk-wise attention from A to B [m_a, m_b] and back [m_b, m_a]; rows sum to 1.

        It is computed when it is asked for: of long documents it takes more memory than all else.
        """
        assert self.attend is not None, "a copy has its attention"
        return self.attend()

    @property
    def attention(self) -> tuple[FloatArray, FloatArray]:
        """The attention of `attended` as arrays."""
        there, back = self.attended
        return np.asarray(there), np.asarray(back)

    def __getstate__(self) -> dict[str, Any]:
        computed = {"scores": self.scores, "attended": self.attended}
        return {**vars(self), **computed, "measure": None, "attend": None}

    def scored(self, scores: Scores) -> Comparison:
        """The same comparison, with scores that are computed."""
        vars(self)["scores"] = scores
        return self

    @property
    def score(self) -> float:
        """The score of the documents, the weighted mean of `parts`."""
        return self.scores.document

    @property
    def parts(self) -> tuple[ScorePart, ...]:
        """What the score is made of."""
        return self.scores.parts

    @property
    def probability(self) -> float | None:
        """The calibrated score; None where the model is not calibrated."""
        return self.scores.probability

    @property
    def threshold(self) -> float | None:
        """The lowest score of related documents in these domains; None where not fitted."""
        return self.scores.threshold

    @property
    def section_scores(self) -> FloatArray:
        """[n_a, n_b], how closely sections agree, by their chunks and their vectors: `scores.sections`, whole."""
        return np.asarray(self.scores.sections)

    @property
    def chunk_scores(self) -> FloatArray:
        """[m_a, m_b], cosines of centred chunk vectors, raised where they share wording: `scores.chunks`, whole."""
        return np.asarray(self.scores.chunks)

    @property
    def percentile(self) -> float | None:
        """Share of random pairs of `field` with a lower score, in [0, 1]; None without a field."""
        return self.scores.percentile

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
    def same(self) -> bool:
        """Whether nothing differs: neither the text, nor a number that is counted, nor what stands outside the text."""
        return self.same_content and self.outside.same and not self.renumbering.counted

    @cached_property
    def renumbering(self) -> Renumbering:
        """The clauses whose number changed, and the references that point elsewhere since; none in different texts."""
        if not (self.same_content or self.versions):
            return NOT_RENUMBERED
        return renumbering(self.a.document, self.b.document, self.alignment, self.ignore)

    @property
    def versions(self) -> bool:
        """Whether both are versions of one text, by the words they share; False without an alignment.

        A document without text becomes one with text by additions alone.
        """
        textless = not (self.a.document.sections and self.b.document.sections)
        return self.alignment is not None and (textless or versions(self.passages))

    @cached_property
    def section_changes(self) -> tuple[SectionChange, ...]:
        """What became of every section, by its passages and its heading; empty without an alignment."""
        if self.alignment is None:
            return ()
        return section_changes(self.alignment, self.a.document, self.b.document, self.ignore)

    @cached_property
    def typesetting(self) -> tuple[TypesettingPlace, ...]:
        """The places where no edit shows a difference; empty where the texts are the same, or without an alignment."""
        if self.same_content or self.alignment is None:
            return ()
        return typesetting_places(self.a.document, self.b.document, self.alignment, self.ignore)

    def outline(self, most: int) -> Outline:
        """Fold the section scores to at most `most` sections of each document, where heading levels allow it."""
        return outline(self.scores.sections, self.a.document.sections, self.b.document.sections, most)

    @property
    def related(self) -> bool | None:
        """The verdict: whether the score reaches the threshold; None without a threshold."""
        return None if self.threshold is None else self.score >= self.threshold

    def matches_of_a(self, *, attention: bool = False) -> tuple[ChunkMatch, ...]:
        """Find the most similar chunk of B for each chunk of A, in the order of A; with `attention` to it if wanted."""
        there = self.attended[0] if attention else None
        return _best_matches(self.a, self.b, self.scores.chunks.best()[0], there, self.ignore)

    def matches_of_b(self, *, attention: bool = False) -> tuple[ChunkMatch, ...]:
        """Find the most similar chunk of A for each chunk of B, in the order of B; see `matches_of_a`."""
        back = self.attended[1] if attention else None
        return _best_matches(self.b, self.a, self.scores.chunks.best()[1], back, self.ignore)

    def closest_sections(self, limit: int) -> list[tuple[float, int, int]]:
        """Find the closest of the `Document.content_sections`, each once, as (score, index in A, index in B)."""
        return closest_sections(self.a.document, self.b.document, self.scores.sections, limit)

    def closest_chunks(self, limit: int) -> list[tuple[float, int, int]]:
        """Find the closest chunks of the `Document.content_sections`, each once, as `closest_sections`."""
        a, b = (
            [place for place, chunk in enumerate(side.chunks) if chunk.section in kept]
            for side, kept in ((side, set(side.document.content_sections())) for side in (self.a, self.b))
        )
        return closest_pairs(self.scores.chunks, (a, b), limit)

    def without_counterpart(self) -> tuple[tuple[ChunkMatch, ...], tuple[ChunkMatch, ...]]:
        """Select the chunks of A and of B with a best match below `COUNTERPART`."""
        a, b = (
            tuple(match for match in matches if match.score < COUNTERPART)
            for matches in (self.matches_of_a(), self.matches_of_b())
        )
        return a, b

    def to_dict(
        self,
        schema: int = 2,
        *,
        attention: bool = False,
        table: Callable[[FloatArray | ScoreTable], object] = rounded_rows,
    ) -> dict[str, Any]:
        """Build schema colde.diff/2, the output of `colde diff --format json`.

        Without an alignment `passages` and all that depends on them are null.

        Args:
            schema: 1 or 2; in schema 1 the attention of chunks must be there.
            attention: add it in schema 2, too.
            table: makes the value of a table. Tables grow with the product of both lengths: as lists of numbers they
                take eight times the memory of arrays.

        Raises:
            OptionError: there is no such schema.
        """
        if schema not in (1, 2):
            raise OptionError(f"There is no schema {schema} of a comparison; choose 1 or 2.")
        aligned, documents = self.alignment is not None, (self.a.document, self.b.document)
        chunks = {"scores": table(self.scores.chunks)}
        if attention or schema == 1:
            names = ("attention_a_to_b", "attention_b_to_a")
            chunks |= {name: table(values) for name, values in zip(names, self.attended, strict=True)}
        changes = [{**asdict(change), "a": list(change.a), "b": list(change.b)} for change in self.section_changes]
        field, within_field = self.field, {}
        if field is not None:
            within_field = {"percentile": rounded(self.percentile), "field": field_data(field)}
        return {
            "schema": f"colde.diff/{schema}",
            "a": _encoding(self.a),
            "b": _encoding(self.b),
            "model": model_data(self.model),
            "document": {
                "score": rounded(self.score),
                "probability": rounded(self.probability),
                "threshold": rounded(self.threshold),
                "related": self.related,
                "same": self.same,
                "same_content": self.same_content,
                "parts": parts_data(self.parts),
                **within_field,
            },
            "sections": {"scores": table(self.scores.sections)},
            "chunks": chunks,
            "passages": [passage_data(pair, *documents) for pair in self.passages] if aligned else None,
            "summary": _summary(self) if aligned else None,
            "section_changes": changes if aligned else None,
            "renumbering": renumbering_data(self.renumbering),
            "ignored": ignored_data(self.a.document, self.b.document, self.ignore),
            "changes": [_change(self, change) for change in self.changes] if aligned else None,
            "outside": outside_data(self.outside),
            "typesetting": typesetting_data(self.typesetting) if aligned else None,
        }


def compare_encodings(
    a: Encoding,
    b: Encoding,
    encoder: DocumentEncoder,
    ignore: IgnoreOptions = NOTHING_IGNORED,
    *,
    passages: bool = True,
    scores: bool = True,
    field: Field | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Compare two documents that `encoder` has encoded.

    While chunks are encoded here, a thread compares words; while passages are encoded, another computes the scores.

    Args:
        passages: also align the passages; this encodes passages that find no partner by wording.
        scores: False computes the scores of two versions of one text only when they are asked for.
    """
    with ThreadPoolExecutor(2, "colde-compare") as pool:
        worded = pool.submit(match_words, a.document, b.document, ignore) if passages else None
        known = None
        if not (a.chunks and b.chunks):
            known = pool.submit(_unscored, a, b)
        elif scores or not passages or shared_runs(a.chunks, b.chunks) < _SOME_RUNS:
            warm((a, range(len(a.chunks))), (b, range(len(b.chunks))))
            known = pool.submit(_scores, a, b, encoder, field)
        alignment = None
        if worded is not None:
            with stage("aligning"):
                matched = worded.result()
            alignment = align(a.document, b.document, encoder, matched.ignore, (a, b), progress, matched)
        comparison = Comparison(
            a=a,
            b=b,
            model=encoder.info,
            measure=partial(_scores, a, b, encoder, field),
            attend=partial(encoder.attention, a, b),
            same_content=same_texts(a.document, b.document, ignore),
            alignment=alignment,
            ignore=ignore,
            field=None if field is None else field.profile.info,
            outside=compare_outside(a.document, b.document, ignore),
        )
        if known is None and not (comparison.same_content or comparison.versions):
            known = pool.submit(_scores, a, b, encoder, field)
        return comparison if known is None else comparison.scored(known.result())


def _scores(a: Encoding, b: Encoding, encoder: DocumentEncoder, field: Field | None) -> Scores:
    judged = verdict(a, b, encoder.config, field or encoder.domain_fields)
    score = (judged.score, judged.parts, judged.probability, judged.threshold)
    return Scores(*score, *tables(a, b, encoder.config), judged.percentile)


def _unscored(a: Encoding, b: Encoding) -> Scores:
    """Beside a document without text there is no verdict: the score is 1 for two files that are the same, else 0."""
    shape = len(a.document.sections), len(b.document.sections)
    sections = ScoreTable(shape, [np.zeros(shape, np.float32)])
    same = a.document.text == b.document.text and compare_outside(a.document, b.document).same
    return Scores(float(same), (), None, None, sections, ScoreTable((len(a.chunks), len(b.chunks)), ()))


def _best_matches(
    own: Encoding,
    other: Encoding,
    best: tuple[NDArray[np.int64], FloatArray],
    attention: ScoreTable | None,
    ignore: IgnoreOptions,
) -> tuple[ChunkMatch, ...]:
    texts, others = (
        [normal(side.document.text[chunk.span.start : chunk.span.end], ignore) for chunk in side.chunks]
        for side in (own, other)
    )
    attended = None if attention is None else attention.at(best[0]) * len(others)
    matches = []
    for chunk, (partner, score) in enumerate(zip(best[0].tolist(), best[1].tolist(), strict=True)):
        same = texts[chunk] == others[partner]
        relative = None if attended is None else float(attended[chunk])
        matches.append(ChunkMatch(chunk, partner, score, relative, same))
    return tuple(matches)


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


def _encoding(encoding: Encoding) -> dict[str, Any]:
    document, report = encoding.document, encoding.document.report
    chunks = defaultdict[int, list[int]](list)
    for chunk in encoding.chunks:
        chunks[chunk.section].append(chunk.index)
    return {
        **source_data(document),
        "words": len(document.text.split()),
        "tokens": encoding.tokens,
        "sections": [
            {
                **fields_data(section, "index heading pages"),
                **({"number": section.number} if section.number else {}),
                "chunks": chunks[section.index],
            }
            for section in document.sections
        ],
        "chunks": [
            {**fields_data(chunk, "index section pages"), "tokens": len(chunk.ids) - 2} for chunk in encoding.chunks
        ],
        "read": {
            "pages": pages_data(report.chosen_pages),
            **fields_data(report, "pages_without_text skipped_sections"),
            **report.tracked_data(),
            **ocr_data(report.ocr),
            "truncated_tokens": 0,  # the schema asks for it; a document over a limit is refused, none is cut
        },
        "warnings": list(report.warnings),
    }
