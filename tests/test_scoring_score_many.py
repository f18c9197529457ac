"""One document scored with many at once: the same as pair by pair."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_up import CENTRE, CONFIG, SIZE, domain_fields, learned, made, statistics

from colde_cli.scoring.config import ScoreWeights
from colde_cli.scoring.lexicon import Terms
from colde_cli.scoring.profile import DomainFields, Field
from colde_cli.scoring.score import ACCURACY, document_scores, scores_with_many

FIELD = Field(learned(), statistics())
FIELDS = domain_fields()
NOTHING = Terms(np.zeros(0, np.int32), np.zeros(0, np.float32))
MANY = [made(seed, law=seed % 5 / 4) for seed in range(600)]
"""More than two blocks."""


@pytest.mark.parametrize("field", [None, FIELD, FIELDS], ids=["model", "field", "domains"])
@given(st.integers(0, 50), st.floats(0, 1))
def test_scores_are_those_of_single_pairs(field: Field | DomainFields | None, seed: int, law: float) -> None:
    query, documents = made(seed, law), MANY[:40]
    single = document_scores([query] * len(documents), documents, CONFIG, field)
    assert scores_with_many(query, documents, CONFIG, field) == pytest.approx(single, abs=1e-6)


@pytest.mark.parametrize("field", [None, FIELD, FIELDS], ids=["model", "field", "domains"])
def test_blocks_do_not_show(field: Field | DomainFields | None) -> None:
    query = made(1)
    single = document_scores([query] * len(MANY), MANY, CONFIG, field)
    assert scores_with_many(query, MANY, CONFIG, field) == pytest.approx(single, abs=1e-6)
    assert scores_with_many(query, MANY[:1], CONFIG, field) == pytest.approx(single[:1], abs=1e-6)
    assert scores_with_many(query, [], CONFIG, field).shape == (0,)


@pytest.mark.parametrize("field", [None, FIELD, FIELDS], ids=["model", "field", "domains"])
def test_documents_without_words_and_chunks_at_the_centre(field: Field | DomainFields | None) -> None:
    centre = field.whitening.centre if isinstance(field, Field) else CENTRE
    documents = [
        replace(made(2), terms=NOTHING, opening=NOTHING),
        made(3),
        replace(made(4), terms=NOTHING),
        replace(made(5), chunk_vectors=np.stack([centre, centre + 1]).astype(np.float32)),
    ]
    for query in (made(1), documents[0], documents[3]):
        single = document_scores([query] * len(documents), documents, CONFIG, field)
        assert scores_with_many(query, documents, CONFIG, field) == pytest.approx(single, abs=1e-6)


def test_a_model_that_reads_no_words_needs_none() -> None:
    config = replace(CONFIG, score_weights=ScoreWeights())
    documents = [replace(item, terms=None, opening=None) for item in MANY[:5]]
    single = document_scores([documents[0]] * 5, documents, config)
    assert scores_with_many(documents[0], documents, config) == pytest.approx(single, abs=1e-6)


def test_missing_words_are_an_error() -> None:
    with pytest.raises(ValueError, match="has no words"):
        scores_with_many(made(1), [replace(made(2), terms=None)], CONFIG)


def test_long_documents_stay_within_the_accuracy() -> None:
    """Sums of thousands of numbers: where rounding is largest."""
    generator = np.random.default_rng(0)
    vectors = (generator.normal(size=(3000, SIZE)) + 3).astype(np.float32)
    long = replace(
        made(9),
        chunk_vectors=vectors,
        centred_unit_vectors=vectors / np.linalg.norm(vectors, axis=1, keepdims=True),
        shares=np.full(3000, 1 / 3000, np.float32),
    )
    single = document_scores([made(1), long], [long, long], CONFIG, FIELD)
    found = [scores_with_many(one, [long], CONFIG, FIELD)[0] for one in (made(1), long)]
    assert found == pytest.approx(single, abs=ACCURACY / 10)
