"""Comparisons for tests of reports: of two texts by hand, without a model."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from colde_cli.documents.document import Document, Part, assemble
from colde_cli.encoder.encoding import Encoding
from colde_cli.encoder.protocol import RuntimeInfo
from colde_cli.similarity.alignment import align
from colde_cli.similarity.comparison import Comparison
from colde_cli.similarity.scoring import ScorePart

Parts = Sequence[tuple[str, str]]


def document(parts: Parts, title: str = "T") -> Document:
    """A document of headings and texts."""
    return assemble("", title, [Part(heading, text) for heading, text in parts])


def encoded(of: Document) -> Encoding:
    """A document that was never read by a model: no chunks."""
    nothing = np.zeros((0, 4), np.float32)
    sections = np.ones((len(of.sections), 4), np.float32)
    return Encoding(of, (), nothing, nothing, sections, np.ones(4, np.float32))


def compared(a: Document, b: Document, score: float = 0.5) -> Comparison:
    """Two documents, aligned by their words alone."""
    nothing = np.zeros((0, 0), np.float32)
    count = (len(a.sections), len(b.sections))
    rows = np.linspace(-1, 1, count[0] * count[1], dtype=np.float32).reshape(count)
    alignment = align(a, b, None)
    return Comparison(
        a=encoded(a),
        b=encoded(b),
        model=RuntimeInfo("m", "int8", "cpu", ""),
        score=score,
        parts=(ScorePart("document", score, 1.0),),
        probability=None,
        threshold=None,
        section_scores=rows,
        chunk_scores=nothing,
        attention_a_to_b=nothing,
        attention_b_to_a=nothing,
        same_content=a.text == b.text,
        aligned=lambda: alignment,
    )
