"""Two encodings to one document score: the only place where that happens, for every command and every measurement."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from colde_cli.encoder.encoding import Encoding
from colde_cli.encoder.protocol import DocumentEncoder
from colde_cli.similarity.scores import cosine


def document_score(a: Encoding, b: Encoding, encoder: DocumentEncoder) -> float:
    """The score of two documents that `encoder` has encoded: ŷ_d = cos(z(s), z(t)) (CoLDE §3.3)."""
    return float(document_scores([a], [b], encoder)[0])


def document_scores(
    left: Sequence[Encoding], right: Sequence[Encoding], encoder: DocumentEncoder
) -> NDArray[np.float64]:
    """The scores of pairs of documents, [P].

    Args:
        left: the first document of each pair.
        right: the second of each, as many.
        encoder: what encoded them all.
    """
    scores = [cosine(a.document_vector, b.document_vector) for a, b in zip(left, right, strict=True)]
    return np.asarray(scores, np.float64)
