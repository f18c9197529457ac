"""Measure CoLDE's Figures 4 and 5: do the three levels of similarity tell related from unrelated documents?

    python benchmarks/papers/levels.py FOLDER... [--seeds 3] [--cases 40] [--most N...] [--shipped]
    python benchmarks/papers/levels.py FOLDER... --section-shares 0 .1 .25 .5 1 [--cases 40]

The paper shows heat maps of chosen triples: D1 is similar to D2 and not to D3. "related" takes such triples from the
test pairs: D1 and D2 are related, D1 and D3 are a random pair. Reported is the share of triples in which D2 is ahead of
D3: by document score; by the mean over sections, or chunks, of D1 of the best cell in the other document, for cosines
and E; and by the mean of the highest attention of each chunk, in multiples of uniform attention.

"planted" makes triples: D3 is unrelated to D1, and D2 is D3 with a passage of 60 to 250 words of D1, copied or lightly
reworded by turns (planting.py). Reported over all triples and seeds:

    document    share of triples in which D1 is closer to D2 than to D3, and the mean difference of the scores
    section     the cell of the two sections that share the passage, among all cells of D1 x D2
    chunk       the same for chunks: by the cosine of centred chunk vectors, by attention (both ways, mean), by their
                product E

For a cell: how often it is the highest, in percent, and the median of its rank as a share of all cells (0.5 is chance).

Heads are trained for a few steps on frozen vectors. `--shipped` measures the shipped model instead and trains nothing.

`--section-shares` asks which share CoLDE's cosine of section vectors shall have in the shipped model's section scores:
how well the sections of validation pairs tell related documents from others (AUC of the mean over the sections of both,
weighted by length, of the best score in the other; 45 related and 90 other pairs), and how often the two sections that
share a planted passage score highest.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from head_runs import open_encoder, run_all, serve
from numpy.typing import NDArray
from paper_data import RUNS, PaperSet, labelled_set, load_sets
from recipes import TABLE_2
from reporting import write_table
from sklearn.metrics import roc_auc_score

from colde_cli import settings
from colde_cli.documents.chunking import rows_of_sections
from colde_cli.documents.document import Chunk, Document, Span
from colde_cli.encoder.cache import Cache
from colde_cli.encoder.encoder import Encoder
from colde_cli.encoder.encoding import Encoding
from colde_cli.evaluation.data import EvaluationSet
from colde_cli.scoring.score import cosines, document_score
from colde_cli.similarity.chunk_scores import explanation, table_of_chunks, table_of_sections
from colde_cli.similarity.comparison import compare_encodings

SYSTEMS = ("CoLDE", "CoLDE, our recipe", "−LSTM")
CELLS = ("section", "chunk, cosine", "chunk, attention", "chunk, E")
LEVELS = ("document", *CELLS)
HEADER = ("set", "system", "document: D2 first", "rise", *(f"{name}: first, rank" for name in CELLS))

Values = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Triple:
    """D1, D2 and D3 of the paper's Figure 4, and the passage that D1 and D2 share.

    Attributes:
        one: D1.
        similar: D2.
        different: D3.
        source: where the passage stands in D1.
        planted: where it stands in D2.
    """

    one: Document
    similar: Document
    different: Document
    source: Span
    planted: Span


@dataclass(frozen=True, slots=True)
class RelatedTriple:
    """D1, a document that is related to it, and one that is not."""

    one: Document
    similar: Document
    different: Document


def related_triples(data: EvaluationSet, count: int) -> list[RelatedTriple]:
    """The first so many related test pairs, each with the partner of one of the two in a random pair."""
    others: dict[str, str] = {}
    for pair in data.pairs:
        if not pair.related and pair.relation == "random":
            others |= {pair.a: pair.b, pair.b: pair.a}
    found = []
    for pair in (pair for pair in data.pairs if pair.related):
        for one, similar in ((pair.a, pair.b), (pair.b, pair.a)):
            if one in others and others[one] != similar:
                names = (one, similar, others[one])
                found.append(RelatedTriple(*(data.documents[name] for name in names)))
                break
    return found[:count]


def triples(data: EvaluationSet, count: int, seed: int = 0) -> list[Triple]:
    """So many planted triples of test documents that nobody called related."""
    plant = _planting().plant_passage
    documents = data.documents
    related = {frozenset((pair.a, pair.b)) for pair in data.pairs if pair.related}
    names = sorted({name for pair in data.pairs for name in (pair.a, pair.b)})
    generator = random.Random(seed)
    found: list[Triple] = []
    while len(found) < count:
        a, b = generator.sample(names, 2)
        if frozenset((a, b)) in related:
            continue
        kind = ("copied", "reworded")[len(found) % 2]
        case = plant(documents[a], documents[b], kind, "replacing", generator.randrange(10**6))
        if case is not None:
            found.append(Triple(case.a, case.b, documents[b], case.source, case.planted))
    return found


def _planting() -> Any:  # noqa: ANN401 - a module
    """The module `benchmarks/planting.py`, from the parent folder."""
    beside = str(Path(__file__).resolve().parents[1])
    if beside not in sys.path:
        sys.path.append(beside)
    import planting

    return planting


def place_of_cell(values: Values, row: int, column: int) -> tuple[bool, float]:
    """Whether a cell is the only highest, and its rank as a share of all cells: 0 the highest, 1 the lowest."""
    cell = values[row, column]
    above, equal = int((values > cell).sum()), int((values == cell).sum()) - 1
    if values.size == 1:
        return True, 0.0
    return above + equal == 0, (above + equal / 2) / (values.size - 1)


def section_of(document: Document, passage: Span) -> int:
    """The section that a passage begins in; of several, the innermost."""
    holding = [item for item in document.sections if item.span.start <= passage.start < item.span.end]
    return max(holding, key=lambda item: item.span.start).index


def chunk_pair(triple: Triple, a: Sequence[Chunk], b: Sequence[Chunk]) -> tuple[int, int]:
    """The chunks of D1 and D2 that share most of the passage; its middle is the same where it is reworded."""
    parts = [[_part(span, chunk.span) for chunk in chunks] for span, chunks in _sides(triple, a, b)]
    shared = np.array([[min(x[1], y[1]) - max(x[0], y[0]) for y in parts[1]] for x in parts[0]])
    row, column = np.unravel_index(int(shared.argmax()), shared.shape)
    return int(row), int(column)


def _sides(
    triple: Triple, a: Sequence[Chunk], b: Sequence[Chunk]
) -> tuple[tuple[Span, Sequence[Chunk]], tuple[Span, Sequence[Chunk]]]:
    return (triple.source, a), (triple.planted, b)


def _part(passage: Span, chunk: Span) -> tuple[float, float]:
    """The part of the passage that a chunk holds, as (start, end) in [0, 1]; an empty part if none."""
    if chunk.end <= passage.start or chunk.start >= passage.end:
        return 2.0, -2.0
    length = passage.end - passage.start
    return max(0.0, (chunk.start - passage.start) / length), min(1.0, (chunk.end - passage.start) / length)


def examine(triple: Triple, encoder: Encoder) -> dict[str, Any]:
    """The result of one model on one triple."""
    one, similar, different = encoder.encode_many([triple.one, triple.similar, triple.different])
    comparison = compare_encodings(one, similar, encoder, passages=False)
    row, column = chunk_pair(triple, one.chunks, similar.chunks)
    there, back = comparison.attention_a_to_b, comparison.attention_b_to_a.T
    alike = cosines(one.centred_unit_vectors, similar.centred_unit_vectors)
    sections = (section_of(triple.one, triple.source), section_of(triple.similar, triple.planted))
    # In multiples of uniform attention, so that both directions weigh the same.
    attention = there * there.shape[1] + back * back.shape[0]
    explained = explanation(comparison.attention_a_to_b, comparison.attention_b_to_a, alike)
    return {
        "rise": document_score(one, similar, encoder.config, encoder.domain_fields)
        - document_score(one, different, encoder.config, encoder.domain_fields),
        "section": place_of_cell(comparison.section_scores, *sections),
        "chunk, cosine": place_of_cell(alike, row, column),
        "chunk, attention": place_of_cell(attention, row, column),
        "chunk, E": place_of_cell(explained, row, column),
    }


def best(values: Values) -> float:
    """Mean over rows of the highest value."""
    return float(values.max(axis=1).mean())


def examine_related(triple: RelatedTriple, encoder: Encoder) -> dict[str, bool]:
    """Whether D2 is ahead of D3 at each level."""
    one, *others = encoder.encode_many([triple.one, triple.similar, triple.different])
    found = []
    for other in others:
        comparison = compare_encodings(one, other, encoder, passages=False)
        alike = cosines(one.centred_unit_vectors, other.centred_unit_vectors)
        attention = comparison.attention_a_to_b
        explained = explanation(attention, comparison.attention_b_to_a, alike)
        found.append(
            {
                "document": comparison.score,
                "section": best(comparison.section_scores),
                "chunk, cosine": best(alike),
                "chunk, attention": best(attention * attention.shape[1]),
                "chunk, E": best(explained),
            }
        )
    return {name: found[0][name] > found[1][name] for name in found[0]}


def best_sections(scores: Values, lengths: tuple[Values, Values]) -> float:
    """Mean over the sections of both documents, weighted by length, of their best score in the other document.

    Args:
        scores: [s, t].
        lengths: of the sections, [s] and [t]; those without a chunk have 0.
    """
    kept = scores[np.ix_(lengths[0] > 0, lengths[1] > 0)]
    sides = (
        float(kept.max(axis=1 - axis) @ side[side > 0] / side.sum()) for axis, side in enumerate(lengths)
    )
    return sum(sides) / 2


def section_lengths(encoding: Encoding) -> Values:
    """The share of each section's own chunks in a document, [s]."""
    places = [chunk.section for chunk in encoding.chunks]
    return np.bincount(places, encoding.shares, len(encoding.document.sections)).astype(np.float32)


def section_shares(
    data: EvaluationSet, encoder: Encoder, shares: Sequence[float], cases: int
) -> list[list[str]]:
    """A row for each share of the cosine of section vectors: AUC of sections, and planted sections that are first."""
    draw = random.Random(3)
    pairs = []
    for related, count in ((True, 45), (False, 90)):
        some = [pair for pair in data.validation if pair.related == related]
        draw.shuffle(some)
        pairs += some[:count]
    names = sorted({name for pair in pairs for name in (pair.a, pair.b)})
    found = encoder.encode_many([data.documents[name] for name in names])
    encodings = dict(zip(names, found, strict=True))
    scores = np.array(
        [
            [best_sections(table, (section_lengths(a), section_lengths(b))) for table in _mixed(a, b, shares)]
            for a, b in ((encodings[pair.a], encodings[pair.b]) for pair in pairs)
        ]
    )
    first = np.mean([_first(triple, encoder, shares) for triple in triples(data, cases, seed=5)], axis=0)
    told = [roc_auc_score([pair.related for pair in pairs], column) for column in scores.T]
    return [
        [data.name, f"{share:g}", f"{auc:.3f}", f"{100 * planted:.0f} %"]
        for share, auc, planted in zip(shares, told, first, strict=True)
    ]


def _first(triple: Triple, encoder: Encoder, shares: Sequence[float]) -> list[bool]:
    """Whether the sections that share a passage score highest, for each share."""
    one, similar = encoder.encode_many([triple.one, triple.similar])
    places = section_of(triple.one, triple.source), section_of(triple.similar, triple.planted)
    return [place_of_cell(table, *places)[0] for table in _mixed(one, similar, shares)]


def _mixed(a: Encoding, b: Encoding, shares: Sequence[float]) -> list[Values]:
    """Section scores for each share of the cosine of section vectors."""
    chunks = table_of_chunks((a.centred_unit_vectors, b.centred_unit_vectors), (a.chunks, b.chunks))
    rows = rows_of_sections(a.document, a.chunks), rows_of_sections(b.document, b.chunks)
    alike = cosines(a.section_vectors, b.section_vectors)
    return [table_of_sections(alike, chunks, (a.shares, b.shares), rows, share) for share in shares]


def cells(found: Sequence[Mapping[str, Any]]) -> list[str]:
    """The figures of many triples."""
    rises = [item["rise"] for item in found]
    shown = [f"{100 * np.mean(np.array(rises) > 0):.0f} %", f"{np.mean(rises):+.3f}"]
    for name in CELLS:
        first, rank = zip(*(item[name] for item in found), strict=True)
        shown.append(f"{100 * np.mean(first):.0f} %, {np.median(rank):.3f}")
    return shown


Encoders = Mapping[str, Sequence[Encoder]]
"""Name of a system to its models, one for every seed."""


def encoders_of(paper_set: PaperSet, seeds: int, opened: tuple[Encoder, Cache]) -> Encoders:
    """Train the heads that are missing, and serve them."""
    runs = run_all(paper_set, {name: TABLE_2[name] for name in SYSTEMS}, range(seeds))
    return {name: [serve(run, paper_set, *opened) for run in some] for name, some in runs.items()}


def measure(
    data: EvaluationSet, encoders: Encoders, cases: int
) -> tuple[list[list[str]], list[list[str]], str]:
    """The rows of planted and of related triples of a set, and a note on them."""
    planted, related = triples(data, cases), related_triples(data, cases)
    one, other = [], []
    for name, some in encoders.items():
        found = [examine(triple, encoder) for encoder in some for triple in planted]
        one.append([data.name, name, *cells(found)])
        ahead = [examine_related(triple, encoder) for encoder in some for triple in related]
        shares = [100 * np.mean([item[level] for item in ahead]) for level in LEVELS]
        other.append([data.name, name, *(f"{share:.0f} %" for share in shares)])
        print(" | ".join(one[-1]), " | ".join(other[-1]), sep="\n", flush=True)
    sizes = [len(item.one.sections) * len(item.similar.sections) for item in planted]
    note = (
        f"- {data.name}: {len(planted)} planted and {len(related)} related triples, "
        f"a median of {np.median(sizes):.0f} section cells a planted triple.\n"
    )
    return one, other, note


def main() -> None:
    """Train what is missing, compare, and write both tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--cases", type=int, default=40)
    parser.add_argument("--shipped", action="store_true", help="measure --model itself and train nothing")
    parser.add_argument("--model", default=settings.DEFAULT_MODEL, help="gives the chunk vectors")
    parser.add_argument(
        "--most", type=int, nargs="+", help="training documents at most; one number, or one a set"
    )
    parser.add_argument("--section-shares", type=float, nargs="+", help="of CoLDE's cosine in section scores")
    options = parser.parse_args()
    planted, related, notes = [], [], "\n"
    with Cache.open() as cache:
        shipped = open_encoder(cache, options.model)
        if options.section_shares:
            sets = map(labelled_set, options.folders)
            lines = [
                row
                for data in sets
                for row in section_shares(data, shipped, options.section_shares, options.cases)
            ]
            header = ("set", "share of the cosine", "AUC of sections", "planted: first")
            write_table(RUNS / "section-shares.md", "Section scores", header, lines)
            return
        if options.shipped:
            sets = [(labelled_set(folder), {options.model: [shipped]}) for folder in options.folders]
        else:
            sets = [
                (found.evaluation_set, encoders_of(found, options.seeds, (shipped, cache)))
                for found in load_sets(options.folders, shipped, options.most)
            ]
        for data, encoders in sets:
            one, other, note = measure(data, encoders, options.cases)
            planted, related, notes = planted + one, related + other, notes + note
    name = "-shipped" if options.shipped else ""
    title = "CoLDE, Figures 4 and 5: three levels on planted triples"
    write_table(RUNS / f"figure-4{name}.md", title, HEADER, planted, notes)
    title = "CoLDE, Figures 4 and 5: triples in which the related document is ahead"
    write_table(RUNS / f"figure-4-related{name}.md", title, ("set", "system", *LEVELS), related, notes)


if __name__ == "__main__":
    main()
