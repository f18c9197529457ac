"""The parts of a document score, with made-up encodings; one document scored with many as pair by pair."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_up import CENTRE, CONFIG, SIZE, WEIGHTS, domain_fields, learned, made, opening_of, statistics, unit

from colde_cli.corpus.records import Card
from colde_cli.encoder.layout import ModelConfig, SystemConfig
from colde_cli.scoring.config import PARTS, Calibration, Domain, ScoreWeights, probability
from colde_cli.scoring.domains import shortness
from colde_cli.scoring.lexicon import Terms
from colde_cli.scoring.profile import DomainFields, Field
from colde_cli.scoring.profile_learning import learn_profile
from colde_cli.scoring.score import (
    ACCURACY,
    cosine,
    counterparts,
    document_score,
    document_scores,
    own_vectors,
    part_score,
    saturated,
    score_parts,
    score_without,
    scores_with_many,
    subject_of,
    subject_vectors,
    verdict,
)

ALL = ScoreWeights(colde=0.1, mean=0.1, chunks=0.2, words=0.2, mentions=0.2, opening=0.1, wording=0.1)
DOMAINS = (
    Domain("laws", 0.6, Calibration(slope=20.0, intercept=-12.0), chunks=0.1, words=0.9),
    Domain("poems", 0.2, Calibration(slope=5.0, intercept=-1.0), colde=0.5, chunks=0.25, opening=0.25),
)
BY_DOMAIN = replace(ALL, domains=DOMAINS)
SHORT = Domain("short texts", 0.8, Calibration(slope=20.0, intercept=-16.0), mean=0.25, words=0.25, wording=0.5)
WITH_SHORT = replace(BY_DOMAIN, short=SHORT)
ROUNDING = 1e-6
"""Shares and vectors are float32; views show six decimals."""


def model(score_weights: ScoreWeights | None, threshold: float | None = 0.4) -> ModelConfig:
    """The configuration of a model with these weights."""
    calibration = None if threshold is None else Calibration(slope=10.0, intercept=-4.0)
    return ModelConfig({}, "", score_weights=score_weights, threshold=threshold, calibration=calibration)


def terms(generator: np.random.Generator, domains: int = 12) -> Terms:
    buckets = np.flatnonzero(generator.random(domains) < 0.6).astype(np.int32)
    weights = generator.random(len(buckets)) + 0.1
    return Terms(buckets, (weights / (np.linalg.norm(weights) or 1)).astype(np.float32))


def card_of(seed: int, chunks: int = 4) -> Card:
    """A document of random vectors and words; a thousandth of it at least lies in each domain, and in none."""
    generator = np.random.default_rng(seed)
    shares, domains = generator.random(chunks) + 0.1, generator.random(1 + len(DOMAINS)) ** 4 + 1e-3
    words = terms(generator)
    return Card(
        path=f"{seed}.txt",
        title=f"{seed}",
        document_vector=unit(generator.normal(size=SIZE)),
        chunk_vectors=np.zeros((chunks, SIZE), np.float32),
        centred_unit_vectors=unit(generator.normal(size=(chunks, SIZE))),
        shares=(shares / shares.sum()).astype(np.float32),
        terms=words,
        opening=opening_of(words),
        domains=(domains / domains.sum()).astype(np.float32),
    )


def tiled(card: Card, times: int) -> Card:
    """The document so many times over."""
    return replace(
        card,
        centred_unit_vectors=np.tile(card.centred_unit_vectors, (times, 1)),
        shares=np.tile(card.shares, times) / np.float32(times),
    )


def with_chunks(centred_unit_vectors: list[list[float]], shares: list[float]) -> Card:
    return replace(
        card_of(0), centred_unit_vectors=np.array(centred_unit_vectors, np.float32), shares=np.array(shares, np.float32)
    )


DOCUMENTS = st.builds(card_of, st.integers(0, 10_000), st.integers(1, 7))


@given(DOCUMENTS, st.lists(DOCUMENTS, min_size=1, max_size=5), st.integers(1, 60))
def test_scores_made_in_blocks_are_those_of_the_whole(query: Card, others: list[Card], cells: int) -> None:
    config = model(ALL)
    alone = [part_score("chunks", query, other, ALL) for other in others]
    many = scores_with_many(query, others, config)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("colde_cli.scoring.score_table._CELLS", cells)
        assert [part_score("chunks", query, other, ALL) for other in others] == pytest.approx(alone, abs=1e-6)
        assert scores_with_many(query, others, config) == pytest.approx(many, abs=1e-6)


@pytest.mark.parametrize("name", PARTS)
@given(a=DOCUMENTS, b=DOCUMENTS, times=st.integers(2, 5))
def test_every_part_keeps_its_promises(name: str, a: Card, b: Card, times: int) -> None:
    """Symmetric, in [-1, 1], 1 for a document and itself, and deaf to saying everything several times over."""
    score = part_score(name, a, b, ALL)
    moved = 0.3 if name == "mean" else 1e-5  # a text said several times has its opening once; these have random chunks
    assert abs(score) <= 1 + ROUNDING
    assert part_score(name, b, a, ALL) == pytest.approx(score, abs=1e-6)
    if len(a.terms.buckets) and len(a.opening.buckets):  # type: ignore[union-attr]
        assert part_score(name, a, a, ALL) == pytest.approx(1, abs=1e-6)
        assert part_score(name, a, tiled(a, times), ALL) == pytest.approx(1, abs=moved)
    assert part_score(name, tiled(a, times), b, ALL) == pytest.approx(score, abs=moved)


@pytest.mark.parametrize("score_weights", [ALL, BY_DOMAIN])
@given(a=DOCUMENTS, b=DOCUMENTS)
def test_the_score_is_the_weighted_mean_of_its_parts(a: Card, b: Card, score_weights: ScoreWeights) -> None:
    encoder = model(score_weights)
    parts = score_parts(a, b, encoder)
    assert [part.name for part in parts] == list(PARTS)
    assert sum(part.weight for part in parts) == pytest.approx(1, abs=1e-9)
    assert all(part.weight > 0 for part in parts)
    score = document_score(a, b, encoder)
    assert score == pytest.approx(sum(part.weight * part.score for part in parts), abs=1e-12)
    assert min(part.score for part in parts) - 1e-9 <= score <= max(part.score for part in parts) + 1e-9
    assert document_scores([a, b], [b, a], encoder) == pytest.approx([score, score], abs=1e-6)


def test_no_pairs_no_scores() -> None:
    assert document_scores([], [], model(ALL)).shape == (0,)
    with pytest.raises(ValueError, match="zip"):
        document_scores([card_of(1)], [], model(ALL))


@pytest.mark.parametrize("score_weights", [None, ScoreWeights()])
def test_without_further_parts_the_score_is_the_cosine(score_weights: ScoreWeights | None) -> None:
    """So it is for every tower, whose encodings have neither words nor several chunks."""
    a, b = (replace(card_of(seed, 1), terms=None, opening=None) for seed in (1, 2))
    wanted = cosine(*own_vectors([a, b]))
    for encoder in (model(score_weights), tower()):
        assert document_score(a, b, encoder) == wanted
        (part,) = score_parts(a, b, encoder)
        assert (part.name, part.score, part.weight) == ("colde", wanted, 1.0)


def tower() -> SystemConfig:
    return SystemConfig(
        system="dssm",
        packing="trigrams",
        row_tokens=8,
        max_rows=1,
        dim=SIZE,
        network={},
        backbone=None,
        backbone_name="",
        vocab_size=9,
    )


def test_parts_without_a_share_are_left_out() -> None:
    a, b = (replace(card_of(seed), terms=None, opening=None) for seed in (1, 2))
    score_weights = ScoreWeights(colde=0.25, chunks=0.75)
    assert not score_weights.reads_words
    assert [part.name for part in score_parts(a, b, model(score_weights))] == ["colde", "chunks"]
    only = ScoreWeights(colde=0, opening=1)
    assert only.reads_words
    assert [part.name for part in score_parts(card_of(1), card_of(2), model(only))] == ["opening"]


def of_domains(card: Card, *domains: float) -> Card:
    return replace(card, domains=np.array(domains, np.float32))


def test_shares_threshold_and_probability_are_those_of_the_domain() -> None:
    encoder, (a, b) = model(BY_DOMAIN), (card_of(1), card_of(2))
    for place, own in enumerate((None, *DOMAINS)):
        pure = np.eye(1 + len(DOMAINS))[place]
        said = verdict(of_domains(a, *pure), of_domains(b, *pure), encoder)
        shares = {name: getattr(own or BY_DOMAIN, name) for name in PARTS}
        found = {part.name: part.weight for part in said.parts}
        assert found == pytest.approx({name: share for name, share in shares.items() if share})
        assert said.threshold == pytest.approx(own.threshold if own else 0.4)
        calibration = own.calibration if own else Calibration(slope=10.0, intercept=-4.0)
        assert said.probability == pytest.approx(float(probability(said.score, calibration)))
    mixed = verdict(of_domains(a, 0, 1, 0), of_domains(b, 0, 0, 1), encoder)
    # A law and a poem have no domain in common.
    assert mixed.threshold == pytest.approx(0.4)
    assert {part.name: part.weight for part in mixed.parts} == pytest.approx(
        {name: getattr(BY_DOMAIN, name) for name in PARTS}
    )
    partly = verdict(of_domains(a, 0, 1, 0), of_domains(b, 0.75, 0.25, 0), encoder)
    assert partly.threshold == pytest.approx(0.5 * 0.6 + 0.5 * 0.4)


@given(a=DOCUMENTS, b=DOCUMENTS)
def test_a_verdict_says_the_same_of_either_order(a: Card, b: Card) -> None:
    encoder = model(BY_DOMAIN)
    one, other = verdict(a, b, encoder), verdict(b, a, encoder)
    assert one.score == document_score(a, b, encoder)
    assert one.score == pytest.approx(other.score, abs=1e-6)
    assert one.threshold == pytest.approx(other.threshold, abs=1e-9)
    assert one.probability == pytest.approx(other.probability, abs=1e-5)
    assert 0 <= one.probability <= 1  # type: ignore[operator]


def test_a_model_that_was_not_fitted_gives_a_score_alone() -> None:
    said = verdict(card_of(1), card_of(2), model(None, threshold=None))
    assert (said.threshold, said.probability) == (None, None)
    assert said.score == document_score(card_of(1), card_of(2), model(None))


def test_an_unknown_part_and_missing_words_are_refused() -> None:
    with pytest.raises(ValueError, match="weather"):
        part_score("weather", card_of(1), card_of(2), ALL)
    for name, lacking in (("words", {"terms": None}), ("opening", {"opening": None}), ("mentions", {"opening": None})):
        bare = replace(card_of(1), **lacking)  # type: ignore[arg-type]
        for pair in ((bare, card_of(2)), (card_of(2), bare)):
            with pytest.raises(ValueError, match=name):
                part_score(name, *pair, ALL)
    with pytest.raises(ValueError, match="words"):
        document_score(replace(card_of(1), terms=None), card_of(2), model(ALL))


def test_the_soft_maximum_is_that_of_the_formula() -> None:
    """Best matches 1 and 0 of A's halves, 1 and 0.6 of B's parts; t = 0.5."""
    a = with_chunks([[1, 0], [0, 1]], [0.5, 0.5])
    b = with_chunks([[1, 0], [0.8, -0.6]], [0.25, 0.75])
    # Of A: max(1, 0.8) = 1 and max(0, -0.6) = 0; of B: max(1, 0) = 1 and max(0.8, -0.6) = 0.8.
    of_a = 0.5 * np.log(0.5 * np.exp(1 / 0.5) + 0.5 * np.exp(0 / 0.5))
    of_b = 0.5 * np.log(0.25 * np.exp(1 / 0.5) + 0.75 * np.exp(0.8 / 0.5))
    assert of_a == pytest.approx(0.71689, abs=1e-5)
    assert of_b == pytest.approx(0.85798, abs=1e-5)
    assert counterparts(a, b, 0.5) == pytest.approx((of_a + of_b) / 2, abs=1e-6)


def test_sharpness_leads_from_the_best_chunk_to_the_mean() -> None:
    a, b = card_of(3), card_of(4)
    table = a.centred_unit_vectors @ b.centred_unit_vectors.T
    best = [table.max(axis) for axis in (1, 0)]
    mean = (best[0] @ a.shares + best[1] @ b.shares) / 2
    assert counterparts(a, b, 1e-4) == pytest.approx(table.max(), abs=2e-3)
    assert counterparts(a, b, 1e4) == pytest.approx(mean, abs=1e-3)
    values = [counterparts(a, b, sharpness) for sharpness in (0.01, 0.03, 0.06, 0.1, 0.3, 1.0)]
    assert values == sorted(values, reverse=True)


SATURATED: list[tuple[float, float, float]] = [
    (0.0, 0.03, 0.0), (0.03, 0.03, 0.515), (0.1, 0.03, 0.7923077), (0.5, 0.03, 0.9716981), (1.0, 0.03, 1.0),
    (0.5, 1.0, 2 / 3),
]  # fmt: skip


@pytest.mark.parametrize(("value", "half", "expected"), SATURATED)
def test_saturation(value: float, half: float, expected: float) -> None:
    assert saturated(value, half) == pytest.approx(expected, abs=1e-6)


def test_mentions_are_the_share_of_an_opening_that_stands_in_the_other() -> None:
    # Of A's opening the word 4 stands in B: .64; of B's opening the word 9 does not stand in A, the word 4 does: .36.
    of_a = Terms(np.array([1, 4], np.int32), np.array([0.6, 0.8], np.float32))
    of_b = Terms(np.array([4, 9], np.int32), np.array([0.6, 0.8], np.float32))
    a, b = (replace(card_of(seed), terms=found, opening=found) for seed, found in ((1, of_a), (2, of_b)))
    assert part_score("mentions", a, b, ALL) == pytest.approx(saturated(0.5, ALL.saturation), abs=1e-6)
    nothing = replace(b, terms=Terms(np.zeros(0, np.int32), np.zeros(0, np.float32)))
    assert part_score("mentions", a, nothing, ALL) == pytest.approx(saturated(0.18, ALL.saturation), abs=1e-6)


def test_words_are_the_cosine_of_what_both_hold() -> None:
    one = Terms(np.array([1, 4, 7], np.int32), np.array([0.6, 0.8, 0.0], np.float32))
    two = Terms(np.array([4, 9], np.int32), np.array([0.5, np.sqrt(0.75)], np.float32))
    a, b = (replace(card_of(seed), terms=found) for seed, found in ((1, one), (2, two)))
    plain: Callable[[float], float] = lambda x: x * 1.03 / (x + 0.03)  # noqa: E731
    assert part_score("words", a, b, ALL) == pytest.approx(plain(0.4), abs=1e-6)
    nothing = replace(a, terms=Terms(np.array([2], np.int32), np.ones(1, np.float32)))
    assert part_score("words", nothing, b, ALL) == 0


def test_without_a_part_the_weights_of_the_others_are_raised() -> None:
    values = np.array([[0.1, 0.2, 0.3, 0.4, 0.5, 0.6], [0.6, 0.5, 0.4, 0.3, 0.2, 0.1]])
    weights = np.array([[0.5, 0.25, 0.25, 0, 0, 0], [0, 0, 0, 0, 0, 1.0]])
    assert score_without(values, weights, 0) == pytest.approx([0.25, 0.1])
    assert score_without(values, weights, 3) == pytest.approx([0.175, 0.1])
    # Where only this part has a weight nothing is left.
    assert score_without(values, weights, 5) == pytest.approx([0.175, 0])


def test_parts_without_a_weight_are_listed_on_request() -> None:
    config = model(ScoreWeights(colde=0.7, words=0.3))
    shown, every = (
        score_parts(card_of(1), card_of(2), config),
        score_parts(card_of(1), card_of(2), config, unweighted=True),
    )
    assert [(part.name, part.weight) for part in shown] == [("colde", 0.7), ("words", 0.3)]
    assert [part.name for part in every] == list(PARTS)
    assert set(shown) <= set(every)
    assert {part.weight for part in set(every) - set(shown)} == {0.0}


# One with many

FIELD = Field(learned(), statistics())
REPEATING = Field(replace(FIELD.profile, repeated=unit(np.random.default_rng(0).normal(size=(3, SIZE)))), statistics())
FIELDS = domain_fields()
NOTHING = Terms(np.zeros(0, np.int32), np.zeros(0, np.float32))
MANY = [made(seed, law=seed % 5 / 4) for seed in range(600)]
"""More than two blocks."""


@pytest.mark.parametrize("field", [None, FIELD, REPEATING, FIELDS], ids=["model", "field", "repeating", "domains"])
def test_scores_are_those_of_single_pairs_and_blocks_do_not_show(field: Field | DomainFields | None) -> None:
    laws = [(made(seed, law), MANY[:40]) for seed, law in ((0, 0.0), (13, 0.3), (27, 0.7), (50, 1.0))]
    for query, documents in (*laws, (made(1), MANY)):
        single = document_scores([query] * len(documents), documents, CONFIG, field)
        assert scores_with_many(query, documents, CONFIG, field) == pytest.approx(single, abs=1e-6)
    assert scores_with_many(query, MANY[:1], CONFIG, field) == pytest.approx(single[:1], abs=1e-6)
    assert scores_with_many(query, [], CONFIG, field).shape == (0,)


@pytest.mark.parametrize("field", [None, FIELD, REPEATING, FIELDS], ids=["model", "field", "repeating", "domains"])
def test_documents_without_words_and_chunks_at_the_centre(field: Field | DomainFields | None) -> None:
    centre = field.whitening.centre if isinstance(field, Field) else CENTRE
    documents = [
        replace(made(2), terms=NOTHING, opening=NOTHING), made(3), replace(made(4), terms=NOTHING),
        replace(made(5), chunk_vectors=np.stack([centre, centre + 1]).astype(np.float32)),
    ]  # fmt: skip
    for query in (made(1), documents[0], documents[3]):
        single = document_scores([query] * len(documents), documents, CONFIG, field)
        assert scores_with_many(query, documents, CONFIG, field) == pytest.approx(single, abs=1e-6)


def test_short_texts_have_weights_and_a_verdict_of_their_own() -> None:
    a, b = card_of(1), card_of(2)  # a dozen words: wholly short, of whatever domain
    encoder = model(WITH_SHORT)
    parts = score_parts(a, b, encoder)
    assert {part.name: part.weight for part in parts} == {"mean": 0.25, "words": 0.25, "wording": 0.5}
    judged = verdict(a, b, encoder)
    assert judged.threshold == pytest.approx(0.8)
    assert judged.probability == pytest.approx(float(probability(judged.score, SHORT.calibration)))
    assert document_score(a, b, encoder) == pytest.approx(sum(part.weight * part.score for part in parts))


def test_within_a_field_short_texts_are_scored_as_long_ones() -> None:
    """So that in a ranking of both the long ones do not come first by their scale."""
    query, config = made(2, 1.0), replace(CONFIG, score_weights=replace(WEIGHTS, short=SHORT))
    expected = scores_with_many(query, MANY[:20], CONFIG, FIELD)
    assert scores_with_many(query, MANY[:20], config, FIELD) == pytest.approx(expected, abs=1e-12)
    assert document_scores([query] * 20, MANY[:20], config, FIELD) == pytest.approx(expected, abs=1e-6)
    profile = learn_profile("field", [made(seed) for seed in range(20)], statistics(), replace(WEIGHTS, short=SHORT))
    assert np.array_equal(profile.scores, FIELD.profile.scores)


@pytest.mark.parametrize("field", [None, FIELDS], ids=["model", "domains"])
def test_from_short_to_long_texts_the_score_passes_without_a_step(
    field: DomainFields | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Texts of 5 to 20 words are scored as short ones, as long ones, and between the two by their share."""
    config = replace(CONFIG, score_weights=replace(WEIGHTS, short=SHORT))
    query, documents = made(2, 1.0), MANY[:60]

    def scored(short: int, long: int) -> np.ndarray:
        monkeypatch.setattr("colde_cli.scoring.domains._SHORT", short)
        monkeypatch.setattr("colde_cli.scoring.domains._LONG", long)
        single = document_scores([query] * len(documents), documents, config, field)
        assert scores_with_many(query, documents, config, field) == pytest.approx(single, abs=1e-6)
        return single

    as_long, as_short, between = scored(1, 2), scored(100, 200), scored(5, 20)
    assert as_long == pytest.approx(document_scores([query] * len(documents), documents, CONFIG, field), abs=1e-9)
    sizes = [len(item.terms.buckets) for item in documents if item.terms is not None]
    # The bounds are still 5 and 20.
    both = np.sqrt(shortness(len(query.terms.buckets)) * shortness(np.array(sizes)))  # type: ignore[union-attr]
    assert 0 < both.min() < both.max() < 1
    assert between == pytest.approx(both * as_short + (1 - both) * as_long, abs=1e-9)


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


def test_a_subject_counts_repeated_chunks_less_and_the_opening_more() -> None:
    """Golden, by the formula: places 1/6, 1/2 and 5/6, products 2/3, 2/3 and 1/3 with the plain mean."""
    rows = np.array([[1, 0], [1, 0], [0, 1]], np.float32)
    central = rows @ rows.mean(0)
    first, second, last = (1 + 2 * np.exp(-np.array([1, 3, 5]) / 6 / 0.05)) / (1 + 5 * central)
    expected = np.array([first + second, last]) / np.hypot(first + second, last)
    found = subject_of(with_chunks(rows.tolist(), [0.5, 0.25, 0.25]))
    assert found == pytest.approx(expected, abs=1e-6)
    assert found[1] > 1 / np.sqrt(5)  # the plain mean has 1/√5: what was said twice counts less
    both = subject_vectors(np.concatenate([rows, rows[1:]]), np.array([3, 2]))
    assert both[0] == pytest.approx(expected, abs=1e-6)
    assert both[1] == pytest.approx(subject_vectors(rows[1:], np.array([2]))[0], abs=1e-6)
    twice, halves = np.concatenate([rows, rows[:2]]), np.array([1, 1, 1, 1e-9, 1e-9], np.float32)
    weighed = subject_vectors(twice, np.array([5]), halves)[0]
    places = (1 + 2 * np.exp(-np.array([1, 3, 5]) / 10 / 0.05)) / (1 + 5 * central)  # among five chunks
    wanted = np.array([places[:2].sum(), places[2]])
    assert weighed == pytest.approx(wanted / np.linalg.norm(wanted), abs=1e-6)


def test_what_a_field_repeats_counts_little() -> None:
    profile = replace(FIELD.profile, repeated=np.eye(1, SIZE, dtype=np.float16))
    field = Field(profile, statistics())
    notice = np.eye(1, SIZE, dtype=np.float32)
    weights = field.chunk_weights(np.concatenate([notice, -notice, 0.45 * notice]))
    assert weights == pytest.approx([1.02e-3, 1, 0.5005], abs=1e-4)
    assert Field(replace(profile, repeated=profile.repeated[:0]), statistics()).chunk_weights(notice) is None
    # The notice alone is the best match of both, and says nothing: what counts are the other chunks.
    places = field.whitening.centre + np.array([[9, 0, 0, 0, 0, 0], [0, 1, 2, 0, 0, 0], [0, 0, 0, 3, 0, 1]], np.float32)
    one, other = (
        replace(made(3), chunk_vectors=places[[0, row]], shares=np.array([0.5, 0.5], np.float32)) for row in (1, 2)
    )
    with_it, without = (Field(replace(profile, repeated=profile.repeated[:rows]), statistics()) for rows in (1, 0))
    scores = [part_score("chunks", each.adapt(one), each.adapt(other), WEIGHTS) for each in (with_it, without)]
    assert scores[0] < 0.6 < scores[1]
    assert with_it.adapt(one).shares.sum() == pytest.approx(1)
    for name in ("mean", "chunks"):
        assert part_score(name, with_it.adapt(one), with_it.adapt(one), WEIGHTS) == pytest.approx(1, abs=1e-6)
