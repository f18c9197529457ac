"""A profile is learned from documents: which pairs are drawn, their parts, and the counts of words."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from made_up import WEIGHTS, learned, made, statistics, terms, unit

from colde_cli.scoring import profile_learning
from colde_cli.scoring.config import PARTS
from colde_cli.scoring.domains import Domains
from colde_cli.scoring.lexicon import BUCKETS
from colde_cli.scoring.profile import Field
from colde_cli.scoring.profile_learning import learn_profile, pair_table, random_pairs, repeated_chunks
from colde_cli.scoring.score import part_score

WORDS = [PARTS.index(part) for part in ("words", "mentions", "opening")]


def test_drawn_pairs_are_spread_over_all() -> None:
    found = random_pairs(100, 2000, np.random.default_rng(0))
    assert len({tuple(pair) for pair in found.tolist()}) == 2000
    assert (found[:, 0] > found[:, 1]).all()
    assert found.min(0).tolist() == [1, 0]
    assert found[:, 0].max() == 99
    # Of pairs a > b of n documents the mean of a is 2 n / 3, that of b n / 3.
    assert found.mean(0) == pytest.approx([66, 33], abs=1.5)


def test_of_many_documents_some_are_drawn_and_the_same_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(profile_learning, "MAX_PAIRS", 20)
    monkeypatch.setattr(profile_learning, "MAX_DOCUMENTS", 12)
    one, two = learned(20), learned(20)
    assert len(one.scores) == 20
    assert one.scores.tobytes() == two.scores.tobytes()
    monkeypatch.setattr(profile_learning, "MAX_PAIRS", 5000)
    assert len(learned(20).scores) == 12 * 11 // 2
    assert len(learned(4).scores) == 6
    # Centre and counts take all documents.
    assert np.array_equal(one.frequencies, learned(20).frequencies)
    assert one.documents == 20


def test_words_are_counted_once_a_document_and_no_further_than_the_file_holds() -> None:
    documents = [made(seed) for seed in range(5)]
    documents[2] = replace(documents[2], terms=None, opening=None)
    found = learn_profile("field", documents, statistics(), WEIGHTS).frequencies
    wanted = np.zeros(2 * BUCKETS, np.int64)
    for item in documents:
        if item.terms is not None:
            wanted[item.terms.buckets] += 1
    assert found.dtype == np.uint16
    assert np.array_equal(found, wanted)
    assert found.max() > 1


def test_pairs_without_words_have_none_in_common() -> None:
    field = Field(learned(), statistics())
    documents = [made(seed) for seed in range(4)]
    documents[1] = replace(documents[1], terms=None, opening=None)
    adapted = [field.adapt(item) for item in documents]
    pairs = random_pairs(4, 100, np.random.default_rng(0))
    table = pair_table(adapted, pairs, WEIGHTS)
    for row, (a, b) in zip(table, pairs.tolist(), strict=True):
        if 1 in (a, b):
            assert row[WORDS].tolist() == [0, 0, 0]
            continue
        wanted = [part_score(part, adapted[a], adapted[b], WEIGHTS) for part in PARTS]
        assert row == pytest.approx(wanted, abs=1e-6)


def test_words_that_are_the_same_overlap_in_full_and_no_more() -> None:
    words = terms(np.random.default_rng(3))
    field = Field(learned(), statistics())
    adapted = [field.adapt(replace(made(seed), terms=words, opening=words)) for seed in range(3)]
    table = pair_table(adapted, random_pairs(3, 9, np.random.default_rng(0)), WEIGHTS)
    assert table[:, WORDS] == pytest.approx(1, abs=1e-6)
    assert table[:, WORDS].max() <= 1


def test_chunks_that_many_documents_hold_are_found_but_no_versions() -> None:
    generator = np.random.default_rng(0)
    drawn = [unit(generator.normal(size=(6, 256))) for _ in range(40)]
    notice, form = unit(generator.normal(size=(2, 256)))

    def held(vector: np.ndarray, count: int) -> list[np.ndarray]:
        near = unit(vector + generator.normal(size=(40, 256)) * 0.02)
        return [np.concatenate([near[number : number + 1], item]) for number, item in enumerate(drawn)][:count]

    assert repeated_chunks(drawn).shape == (0, 256)
    assert repeated_chunks(held(notice, 14)).shape == (0, 256)  # a small field
    (found,) = repeated_chunks(held(notice, 7) + drawn[7:])
    assert found @ notice > 0.9
    assert repeated_chunks(held(notice, 5) + drawn[5:]).shape == (0, 256)  # each with four others
    both = repeated_chunks(held(notice, 20) + held(form, 40)[20:])
    assert sorted((both @ np.stack([notice, form]).T).argmax(1).tolist()) == [0, 1]
    # Eight versions of one document hold all of its chunks, which no other document does.
    versions = [unit(drawn[0] + generator.normal(size=(6, 256)) * 0.02) for _ in range(8)]
    assert repeated_chunks(versions + drawn[8:]).shape == (0, 256)


def test_a_profile_knows_its_domains_only_where_documents_have_shares_of_these() -> None:
    documents = [made(seed) for seed in range(5)]  # with shares in "other" and in one domain
    for known, nearness in ((1, (1,)), (2, (0,))):
        domains = Domains.learn([made(seed).chunk_vectors for seed in (3, 7)[:known]])
        found = learn_profile("field", documents, replace(statistics(), domains=domains), WEIGHTS)
        assert found.nearness.shape == nearness
    assert learned().nearness.shape == (0,)
