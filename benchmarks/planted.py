"""Measure whether chunk scores find a planted passage: text of one document is put into an unrelated one.

    python benchmarks/planted.py FOLDER... [--cases 200] [--model NAME] [--split test] [--seed 0]

Each FOLDER holds `docs.jsonl.gz` and `pairs.jsonl.gz` (docs/training-data.md). In every case a passage of 60 to 250
words of document A, whole sentences, also stands in document B: copied or lightly reworded (planting.py), inserted
between two sentences or in place of as many words. The planted pair of chunks is the one that shares most of the
passage. Reported in percent with Wilson's 95 % interval, for each set and kind, one run:

    first by ...    how often the planted pair has the highest value of all pairs of chunks: by the cosine of the chunk
                    vectors, and by that cosine with shared wording
    found           how often the highest pair of chunks, by cosine with shared wording, holds one part of
                    the passage on both sides; a passage often lies across chunks, whose pairs share nearly as much
    occlusion       how often the document score falls further without the planted chunk of B than without a random one

With `--places N` the passage stands as a chunk of its own at N places of B instead, from first to last (§6.1,
invariance to position): how far it raises the score and z's cosine with A on average, their spread over the places
(highest less lowest; mean and most), and how much higher they are at the first place than at the last.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from planting import Case, changed_words, plant_passage
from rich.console import Console
from rich.table import Table
from script import arguments, machine

from colde_cli.documents.document import Chunk, Document, Part, Span, assemble
from colde_cli.encoder.encoder import Encoder, rearranged, without
from colde_cli.encoder.encoding import Encoding
from colde_cli.encoder.vector_cache import Cache
from colde_cli.evaluation.data import LabelledPair, read_data, read_pairs
from colde_cli.scoring.score import cosines, document_scores
from colde_cli.similarity.chunk_scores import shared_stretches, with_shared_wording
from colde_cli.similarity.comparison import Comparison, compare_encodings

Values = NDArray[np.float32]
KINDS = ("copied", "reworded")
_MIN_PART = 0.1
"""Share of a passage that counts as a part of it."""


def alike(comparison: Comparison) -> Values:
    """Cosines of centred chunk vectors."""
    return cosines(comparison.a.centred_unit_vectors, comparison.b.centred_unit_vectors)


def alike_or_shared(comparison: Comparison) -> Values:
    """Cosines, raised where two chunks share a run of words."""
    stretches = shared_stretches(comparison.a.chunks, comparison.b.chunks)
    return with_shared_wording(alike(comparison), stretches)


RANKINGS: dict[str, Callable[[Comparison], Values]] = {"cosine": alike, "cosine + wording": alike_or_shared}


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one case.

    Attributes:
        folder: name of the set.
        kind: "copied" or "reworded".
        first: for each ranking, whether the planted pair of chunks came first.
        found: whether the highest pair, by cosine with shared wording, holds one part of the passage on both sides.
        occlusion: whether occluding the planted chunk lowered the score more than another chunk; None if B has only
            one chunk.
        changed: share of the words of the passage that rewording changed.
    """

    folder: str
    kind: str
    first: Mapping[str, bool]
    found: bool
    occlusion: bool | None
    changed: float


def unrelated(documents: Mapping[str, Document], pairs: Sequence[LabelledPair], seed: int) -> Iterator[tuple[str, str]]:
    """Draw random pairs of documents that no label calls related."""
    related = {frozenset((pair.a, pair.b)) for pair in pairs if pair.related}
    names = sorted(documents)
    generator = random.Random(seed)
    while True:
        generator.shuffle(names)
        for a, b in zip(names[::2], names[1::2], strict=False):
            if frozenset((a, b)) not in related:
                yield a, b


def cases(folder: Path, split: str, count: int, seed: int) -> Iterator[Case]:
    """Yield `count` cases, the two kinds and the two manners by turns."""
    data = read_data([folder / "docs.jsonl.gz"], supervised=False)
    pairs = read_pairs(folder / "pairs.jsonl.gz", data.numbers())
    documents = {item.id: item.document for item in data.documents if item.split == split}
    drawn = unrelated(documents, pairs, seed)
    made = 0
    while made < count:
        a, b = next(drawn)
        manner = "inserted" if made // 2 % 2 else "replacing"
        case = plant_passage(documents[a], documents[b], KINDS[made % 2], manner, seed * 100_000 + made)
        if case is not None:
            made += 1
            yield case


def planted_pair(case: Case, a: Sequence[Chunk], b: Sequence[Chunk]) -> tuple[int, int]:
    """The pair of chunks that shares most of the passage; the earlier one of equals.

    The place of a sentence in the reworded passage is taken in proportion to the lengths.
    """
    shared = shared_parts(case, a, b)
    row, column = np.unravel_index(int(shared.argmax()), shared.shape)
    return int(row), int(column)


def shared_parts(case: Case, a: Sequence[Chunk], b: Sequence[Chunk]) -> NDArray[np.float64]:
    """The share of the passage that each pair of chunks holds on both sides, [n, m]; at most 0 for none."""
    left = [_share(case.source, chunk.span) for chunk in a]
    right = [_share(case.planted, chunk.span) for chunk in b]
    return np.array([[min(x[1], y[1]) - max(x[0], y[0]) for y in right] for x in left])


def _share(passage: Span, chunk: Span) -> tuple[float, float]:
    """The part of the passage that a chunk holds, as (start, end) in [0, 1]; (2, -2) if none."""
    if chunk.end <= passage.start or chunk.start >= passage.end:
        return (2.0, -2.0)
    part = ((chunk.start - passage.start) / len(passage), (chunk.end - passage.start) / len(passage))
    return max(0.0, part[0]), min(1.0, part[1])


def occlusion(a: Encoding, b: Encoding, chunk: int, encoder: Encoder, seed: int) -> bool | None:
    """Whether the document score falls further without `chunk` of B than without a random other one."""
    others = [other for other in range(len(b.chunks)) if other != chunk]
    if not others:
        return None
    other = random.Random(seed).choice(others)
    occluded = [without(b, chunk, encoder), without(b, other, encoder)]
    scores = document_scores([a, a], occluded, encoder.config, encoder.domain_fields)
    return bool(scores[0] < scores[1])


def examine(case: Case, folder: str, encoder: Encoder, seed: int) -> Finding:
    """Encode and compare the documents of a case, and rank the planted pair."""
    a, b = encoder.encode_many([case.a, case.b])
    row, column = planted_pair(case, a.chunks, b.chunks)
    comparison = compare_encodings(a, b, encoder, passages=False)
    first = {}
    for name, ranking in RANKINGS.items():
        values = ranking(comparison)
        # A tie does not count as first.
        first[name] = bool((values >= values[row, column]).sum() == 1)
    highest = int(alike_or_shared(comparison).argmax())
    found = bool(shared_parts(case, a.chunks, b.chunks).flat[highest] > _MIN_PART)
    occluded = occlusion(a, b, column, encoder, seed)
    return Finding(folder, case.kind, first, found, occluded, changed_words(case.original, case.text))


def planted_at(case: Case, places: int, encoder: Encoder) -> Values:
    """Score and cosine of z with A, float [places + 1, 2]: of B with the passage at each place, and at last without."""
    bodies = [case.b.text[item.body_start : item.span.end].replace(case.text, "", 1) for item in case.b.sections]
    parts = [Part(item.heading, body, item.level) for item, body in zip(case.b.sections, bodies, strict=True)]
    with_passage = assemble(case.b.path, case.b.title, [*parts, Part("", case.text)])
    a, b = encoder.encode_many([case.a, with_passage])
    own = [row for row, chunk in enumerate(b.chunks) if chunk.section < len(with_passage.sections) - 1]
    passage = [row for row in range(len(b.chunks)) if row not in own]
    starts = np.linspace(0, len(own), places).round().astype(int).tolist()
    orders = [*([*own[:start], *passage, *own[start:]] for start in starts), own]
    moved = [rearranged(b, order, encoder) for order in orders]
    scores = document_scores([a] * len(moved), moved, encoder.config, encoder.domain_fields)
    z = [float(a.document_vector @ item.document_vector) for item in moved]
    return np.stack([scores, np.array(z)], axis=1).astype(np.float32)


def report_places(found: Mapping[str, Sequence[Values]]) -> Table:
    """A row for every set."""
    figures = [
        f"{name}\n{title}" for name in ("score", "z") for title in ("raised by", "spread", "most", "first − last")
    ]
    table = Table("set", "cases", *figures)
    for name, rows in found.items():
        placed, alone = np.stack([row[:-1] for row in rows]), np.stack([row[-1] for row in rows])
        spread = np.ptp(placed, axis=1)
        columns = (placed.mean(1) - alone, spread, placed[:, 0] - placed[:, -1])
        means = [column.mean(0) for column in columns]
        shown = [f"{value[of]:+.4f}" for of in (0, 1) for value in (*means[:2], spread.max(0), means[2])]
        table.add_row(name, str(len(rows)), *shown)
    return table


def wilson(hits: int, count: int) -> tuple[float, float]:
    """The 95 % interval of a share (Wilson 1927)."""
    if not count:
        return 0.0, 1.0
    z, share = 1.96, hits / count
    centre = share + z * z / (2 * count)
    width = z * np.sqrt(share * (1 - share) / count + z * z / (4 * count * count))
    scale = 1 + z * z / count
    return float((centre - width) / scale), float((centre + width) / scale)


def share(outcomes: Sequence[bool | None]) -> str:
    """A share of yes in percent, with its interval."""
    known = [outcome for outcome in outcomes if outcome is not None]
    if not known:
        return "–"
    low, high = wilson(sum(known), len(known))
    return f"{100 * sum(known) / len(known):.1f} ({100 * low:.0f}–{100 * high:.0f})"


def report(findings: Sequence[Finding]) -> Table:
    """A row for every set and kind, and for all."""
    titles = [f"first by\n{name}" for name in RANKINGS]
    table = Table("set", "kind", "cases", "words\nchanged", *titles, "found", "occlusion")
    folders = list(dict.fromkeys(finding.folder for finding in findings))
    groups = [((folder,), (kind,)) for folder in folders for kind in KINDS]
    groups += [(tuple(folders), (kind,)) for kind in KINDS] + [(tuple(folders), KINDS)]
    for chosen, kinds in groups:
        some = [item for item in findings if item.folder in chosen and item.kind in kinds]
        table.add_row(
            "all" if chosen == tuple(folders) else chosen[0],
            kinds[0] if len(kinds) == 1 else "both",
            str(len(some)),
            f"{np.mean([item.changed for item in some]):.0%}" if some else "–",
            *(share([item.first[name] for item in some]) for name in RANKINGS),
            share([item.found for item in some]),
            share([item.occlusion for item in some]),
        )
    return table


def main() -> None:
    """Measure and print."""
    options = arguments(__doc__, "folders...", cases=200, model="colde-minilm-l6", split="test", seed=0, places=0)
    console = Console(width=140)
    findings, found = [], defaultdict(list)
    with Cache.open() as cache:
        encoder = Encoder.load(options.model, cache=cache)
        each = -(-options.cases // len(options.folders))
        for folder in options.folders:
            for number, case in enumerate(cases(folder, options.split, each, options.seed)):
                if options.places:
                    found[folder.name].append(planted_at(case, options.places, encoder))
                    continue
                findings.append(examine(case, folder.name, encoder, options.seed + number))
    console.print(f"{machine()}, model {encoder.info}, {options.split} split, seed {options.seed}")
    console.print(report_places(found) if options.places else report(findings))


if __name__ == "__main__":
    main()
