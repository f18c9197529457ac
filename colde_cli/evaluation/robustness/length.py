"""Length: what does a model score when it reads only the first chunks of every document (CoLDE Fig. 7)?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from colde_cli.documents.document import Document, Span
from colde_cli.encoder.encoding import Encoding
from colde_cli.encoder.rearranging import rearranged
from colde_cli.evaluation.robustness.report import ProtocolReport
from colde_cli.evaluation.robustness.scored import Bench


def length(bench: Bench, counts: Sequence[int]) -> ProtocolReport:
    """Read the first chunks of both documents of every pair.

    Args:
        bench: documents and pairs.
        counts: how many chunks are read.
    """
    against_itself, pairs = [], []
    for count in counts:
        encodings = {name: _first(bench, name, count) for name in bench.encodings}
        cut = sum(len(item.chunks) > count for item in bench.encodings.values())
        title = f"first {count} ({cut} of {len(encodings)} cut)"
        against_itself.append(bench.self_row(title, encodings.__getitem__, list(encodings)))
        pairs.append(bench.pair_row(title, "both", encodings.__getitem__, encodings.__getitem__))
    pairs.append(replace(bench.clean_row(), attack="all"))
    return ProtocolReport("length", "First chunks only", tuple(against_itself), tuple(pairs))


def shortened(document: Document, end: int) -> Document:
    """The document up to an offset of its text."""
    kept = [section for section in document.sections if section.span.start < end]
    sections = tuple(
        replace(
            section,
            span=Span(section.span.start, min(end, section.span.end)),
            body_start=min(end, section.body_start),
        )
        for section in kept
    )
    return replace(document, text=document.text[:end], sections=sections)


def _first(bench: Bench, name: str, count: int) -> Encoding:
    encoding = bench.encodings[name]
    if len(encoding.chunks) <= count:
        return encoding
    if bench.by_chunks is None:
        return bench.encoder.encode(shortened(bench.documents[name], encoding.chunks[count - 1].span.end))
    return rearranged(encoding, range(count), bench.by_chunks)
