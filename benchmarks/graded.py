"""How well scores follow the grades that people gave to pairs of short texts.

    python benchmarks/graded.py SHARED/cases/judged/billsim-validation.csv

The file has two texts of each pair (`sec_a_text`, `sec_b_text`) and a grade (`label`) from 0, unrelated, to 4, the
same. Prints Spearman's correlation of the grades with the score of the shipped model, as `colde diff` shows it for
documents and for sections, with its parts, and with simple controls; the medians of the score for each grade; and the
threshold and the calibration of short texts (`scoring.fit.SHORT_TEXTS`): two of them are related from grade 2 on.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import LCSseq
from scipy.stats import spearmanr
from script import arguments
from sklearn.feature_extraction.text import TfidfVectorizer

from colde_cli.documents.builder import DocumentBuilder
from colde_cli.documents.document import Document
from colde_cli.encoder.encoding import Encoding
from colde_cli.encoder.loading import open_encoder
from colde_cli.encoder.vector_cache import Cache
from colde_cli.scoring.fit import fit_verdict
from colde_cli.scoring.score import score_parts
from colde_cli.settings import DEFAULT_MODEL
from colde_cli.similarity.chunk_scores import tables

Floats = NDArray[np.float64]
Words = list[str]

RELATED = 2
"""The lowest grade of related texts."""


def document(text: str) -> Document:
    """A document of one paragraph."""
    builder = DocumentBuilder("text.txt")
    builder.add_paragraph(text)
    return builder.build("", "text")


def controls(pairs: Sequence[tuple[str, str]]) -> dict[str, Floats]:
    """Simple measures of P pairs of texts, [P] each."""
    words = [tuple(re.findall(r"\w+", text.lower()) for text in pair) for pair in pairs]

    def each(measure: Callable[[Words, Words], float]) -> Floats:
        return np.array([measure(a, b) for a, b in words])

    known = TfidfVectorizer(sublinear_tf=True).fit(sorted({text for pair in pairs for text in pair}))
    left, right = (known.transform([pair[side] for pair in pairs]) for side in (0, 1))
    return {
        "Jaccard": each(lambda a, b: len({*a} & {*b}) / len({*a, *b})),
        "longest common words": each(lambda a, b: 2 * LCSseq.similarity(a, b) / (len(a) + len(b))),
        "TF-IDF": np.asarray(left.multiply(right).sum(1)).ravel(),
    }


def served(pairs: Sequence[tuple[str, str]]) -> dict[str, Floats]:
    """The shipped model's scores of P pairs of texts, and the parts that they are made of, [P] each."""
    encoder = open_encoder(DEFAULT_MODEL, cache=Cache.open())
    texts = sorted({text for pair in pairs for text in pair})
    encodings: dict[str, Encoding] = dict(
        zip(texts, encoder.encode_many([document(text) for text in texts]), strict=True)
    )
    columns: dict[str, list[float]] = {}
    for first, second in pairs:
        a, b = encodings[first], encodings[second]
        parts = score_parts(a, b, encoder.config, encoder.domain_fields, unweighted=True)
        columns.setdefault("documents", []).append(sum(part.weight * part.score for part in parts))
        columns.setdefault("sections", []).append(float(np.asarray(tables(a, b, encoder.config)[0])[0, 0]))
        for part in parts:
            columns.setdefault(f"part {part.name}", []).append(part.score)
    return {name: np.array(values) for name, values in columns.items()}


def main() -> None:
    """Measure and print."""
    options = arguments(__doc__, "file")
    csv.field_size_limit(10**8)
    with options.file.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    grades = np.array([float(row["label"]) for row in rows])
    pairs = [(row["sec_a_text"], row["sec_b_text"]) for row in rows]
    scores = served(pairs)
    print(f"{len(pairs)} pairs; Spearman's correlation, and the median of each grade")
    for name, values in {**scores, **controls(pairs)}.items():
        medians = " ".join(f"{np.median(values[grades == grade]):.2f}" for grade in np.unique(grades))
        print(f"{name:22} {spearmanr(values, grades)[0]:.4f}   {medians}")
    threshold, calibration = fit_verdict(grades >= RELATED, scores["documents"])
    print(f"related from grade {RELATED} on: threshold {threshold:.3f}, {calibration}")


if __name__ == "__main__":
    main()
