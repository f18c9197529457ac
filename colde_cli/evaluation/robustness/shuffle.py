"""Shuffle: does the order of a document's sections matter (CoLDE §4.5.5, Fig. 8)?

Two protocols. In the first, chunks take the numbers they had before the shuffle with them, as the paper claims to
do; in the second they are numbered anew in the shuffled order, which is the harder test: it also moves every chunk
to another position.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from colde_cli.documents.document import Document, Part, assemble
from colde_cli.encoder.encoding import Encoding
from colde_cli.encoder.rearranging import Numbering, rearranged
from colde_cli.evaluation.robustness.report import ProtocolReport
from colde_cli.evaluation.robustness.scored import Bench

_TITLES: dict[Numbering, str] = {"kept": "numbered before", "anew": "numbered after"}


def shuffle(bench: Bench, rounds: int) -> ProtocolReport:
    """Shuffle the sections of both documents of every pair.

    Args:
        bench: documents and pairs.
        rounds: how many orders are drawn for every document.
    """
    against_itself, pairs = [], [bench.clean_row()]
    numberings: tuple[Numbering, ...] = ("kept", "anew") if bench.by_chunks else ("anew",)
    for numbering in numberings:
        for number in range(rounds):
            title = _TITLES[numbering] + (f", order {number + 1}" if rounds > 1 else "")
            shuffled = {name: _shuffled(bench, name, number, numbering) for name in bench.encodings}
            encoding: Callable[[str], Encoding] = shuffled.__getitem__
            against_itself.append(bench.self_row(title, encoding, list(shuffled)))
            pairs.append(bench.pair_row(title, "both", encoding, encoding))
    alone = sum(len(_sections(item)) < 2 for item in bench.encodings.values())
    note = f"{alone} of {len(bench.encodings)} documents have one section only, so that nothing moves."
    return ProtocolReport("shuffle", "Sections shuffled", tuple(against_itself), tuple(pairs), (note,))


def shuffled_rows(encoding: Encoding, generator: np.random.Generator) -> list[int]:
    """Indices of the chunks with the sections in random order, the chunks of each in theirs."""
    groups = _sections(encoding)
    return [row for place in generator.permutation(len(groups)) for row in groups[int(place)]]


def shuffled_document(document: Document, generator: np.random.Generator) -> Document:
    """The document with its sections in random order."""
    order = generator.permutation(len(document.sections))
    sections = [document.sections[int(place)] for place in order]
    parts = [
        Part(item.heading, document.text[item.body_start : item.span.end], item.level, item.kind)
        for item in sections
    ]
    return assemble(document.path, document.title, parts, document.report)


def _shuffled(bench: Bench, name: str, number: int, numbering: Numbering) -> Encoding:
    generator = bench.generator(name, number)
    if bench.by_chunks is None:
        return bench.encoder.encode(shuffled_document(bench.documents[name], generator))
    encoding = bench.encodings[name]
    rows = shuffled_rows(encoding, generator)
    if rows == list(range(len(rows))):
        return encoding
    return rearranged(encoding, rows, bench.by_chunks, numbering)


def _sections(encoding: Encoding) -> list[list[int]]:
    groups: dict[int, list[int]] = {}
    for row, chunk in enumerate(encoding.chunks):
        groups.setdefault(chunk.section, []).append(row)
    return list(groups.values())
