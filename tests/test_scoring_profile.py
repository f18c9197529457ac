"""Field profiles: blending, adapting documents, percentiles, and files on disk, with made-up documents."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_up import CENTRE, CONFIG, WEIGHTS, learned, lexicon, made, statistics

from colde_cli.errors import ModelError
from colde_cli.scoring.config import PARTS, Calibration
from colde_cli.scoring.domains import Domains
from colde_cli.scoring.lexicon import BUCKETS, Terms
from colde_cli.scoring.profile import (
    ARRAYS,
    FORMAT,
    MIN_DOCUMENTS,
    PRIOR_DOCUMENTS,
    Field,
    FieldCalibration,
    FieldProfile,
    blended_centre,
    blended_spreads,
    share_of_texts,
)
from colde_cli.scoring.profile_learning import learn_profile, random_pairs
from colde_cli.scoring.score import document_score, document_scores, verdict

counts = st.integers(1, 5000)


@pytest.fixture(scope="module")
def profile() -> FieldProfile:
    return learned()


@pytest.fixture(scope="module")
def field(profile: FieldProfile) -> Field:
    return Field(profile, statistics())


# Blending


def test_the_centre_is_blended_by_hand() -> None:
    # 30 documents against the 10 that the model counts for: three quarters and a quarter.
    centre = blended_centre(np.array([4.0, 0.0], np.float32), 30, np.array([0.0, 8.0], np.float32))
    assert centre.tolist() == [3.0, 2.0]


@given(counts, counts)
def test_a_larger_field_moves_centre_spreads_and_words_more(one: int, other: int) -> None:
    small, large = min(one, other), max(one, other)
    ones, zeros = np.ones(1, np.float32), np.zeros(1, np.float32)
    assert 0 < blended_centre(ones, small, zeros)[0] <= blended_centre(ones, large, zeros)[0] < 1.0
    wide = np.full(len(PARTS), 5.0)
    assert (blended_spreads(wide, small) <= blended_spreads(wide, large)).all()
    assert 0 < share_of_texts(small) <= share_of_texts(large) < 0.5


def test_words_are_weighted_by_hand() -> None:
    # Model: log(101 / 3) and log(101 / 21); field: log(11 / 11) = 0 and log(11 / 3).
    weighted = Terms(np.array([2, 20], np.int32), np.array([0.6, 0.8], np.float32))
    frequencies = np.zeros(2 * BUCKETS, np.uint16)
    frequencies[[2, 20]] = [10, 2]
    found = lexicon().in_field(weighted, frequencies, 10, 0.25)
    model = np.log([101 / 3, 101 / 21])
    blended = 0.75 * model + 0.25 * np.array([0.0, np.log(11 / 3)])
    expected = np.array([0.6, 0.8]) * ((blended + 1) / (model + 1)) ** 4
    assert found.buckets.tolist() == [2, 20]
    assert found.weights == pytest.approx(expected / np.linalg.norm(expected), rel=1e-6)


def test_factors_of_all_buckets_are_those_of_each(field: Field) -> None:
    weighted = Terms(np.arange(40, dtype=np.int32), np.ones(40, np.float32))
    share, profile = share_of_texts(field.profile.documents), field.profile
    found = lexicon().in_field(weighted, profile.frequencies, profile.documents, share)
    factors = field.word_factors[:40]
    assert found.weights == pytest.approx(factors / np.linalg.norm(factors), rel=1e-6)


# What a profile is made of


def test_a_profile_holds_the_mean_and_the_counts_of_its_documents(profile: FieldProfile) -> None:
    documents = [made(seed) for seed in range(20)]
    means = np.stack([item.chunk_vectors.mean(0) for item in documents])
    assert profile.centre == pytest.approx(means.mean(0), rel=1e-5)
    holders = sum(np.isin(7, item.terms.buckets) for item in documents if item.terms is not None)
    assert profile.frequencies[7] == holders
    assert (profile.documents, len(profile.scores)) == (20, 190)
    assert (np.diff(profile.scores) >= 0).all()


def test_its_scores_are_those_of_all_pairs(profile: FieldProfile, field: Field) -> None:
    documents = [made(seed) for seed in range(20)]
    pairs = [(documents[a], documents[b]) for a in range(20) for b in range(a)]
    left, right = zip(*pairs, strict=True)
    assert profile.scores == pytest.approx(np.sort(document_scores(left, right, CONFIG, field)), abs=1e-6)


@given(st.integers(0, 200), st.integers(1, 500), st.integers(0, 5))
def test_random_pairs_are_different_and_as_many_as_asked_for(count: int, most: int, seed: int) -> None:
    pairs = random_pairs(count, most, np.random.default_rng(seed))
    assert pairs.shape == (min(most, count * (count - 1) // 2), 2)
    assert len({tuple(pair) for pair in pairs.tolist()}) == len(pairs)
    assert all(0 <= b < a < count for a, b in pairs.tolist())


def test_one_document_is_a_field_without_pairs() -> None:
    alone = learned(1)
    assert (alone.documents, len(alone.scores), alone.percentile(0.5)) == (1, 0, None)
    assert alone.spreads == pytest.approx(blended_spreads(np.zeros(len(PARTS)), 0))


# Scores within a field


def test_weights_by_hand(profile: FieldProfile) -> None:
    spread = replace(profile, spreads=np.array([1, 0.1, 0.2, 0.4, 1, 1, 1]))
    score_weights = replace(WEIGHTS, in_field=(0, 0.2, 0.2, 0.6, 0, 0, 0))
    weights = Field(spread, statistics()).weights_by_kind(score_weights)
    # .2 / .1 : .2 / .2 : .6 / .4 = 4 : 2 : 3, for mean, chunks and words.
    assert weights[0] == pytest.approx([0, 4 / 9, 2 / 9, 3 / 9, 0, 0, 0])
    assert weights[1] == pytest.approx([0.3, 0.1, 0.2, 0.1, 0.1, 0.2, 0])


def test_a_domain_that_the_field_only_resembles_loses_its_weights(profile: FieldProfile) -> None:
    near, far = (replace(profile, nearness=np.array([value], np.float32)) for value in (0.8, 0.6))
    few = replace(far, documents=MIN_DOCUMENTS - 1)
    kept, lost, unsure = (Field(item, statistics()).weights_by_kind(WEIGHTS) for item in (near, far, few))
    assert kept[1] == pytest.approx([0.3, 0.1, 0.2, 0.1, 0.1, 0.2, 0])
    assert lost[1] == pytest.approx(lost[0])
    assert lost[0] == pytest.approx(kept[0])
    assert unsure[1] == pytest.approx(kept[1])


def test_a_profile_knows_how_near_its_documents_lie_to_each_domain() -> None:
    laws = [made(seed, law=1.0) for seed in range(MIN_DOCUMENTS)]
    direction = np.mean([item.chunk_vectors.mean(0) for item in laws], axis=0) - CENTRE
    prototype = (direction / np.linalg.norm(direction)).astype(np.float32)
    for sign in (1.0, -1.0):
        domains = Domains(CENTRE, (sign * prototype)[None, :].astype(np.float32))
        found = learn_profile("laws", laws, replace(statistics(), domains=domains), WEIGHTS)
        assert found.nearness == pytest.approx([sign], abs=1e-5)


@given(st.integers(0, 50), st.integers(0, 50), st.floats(0, 1))
def test_scores_are_symmetric_and_at_most_one(field: Field, one: int, other: int, law: float) -> None:
    a, b = made(one, law), made(other, law)
    score = document_score(a, b, CONFIG, field)
    assert score == pytest.approx(document_score(b, a, CONFIG, field), abs=1e-6)
    assert -1 - 1e-6 <= score <= 1 + 1e-6


@given(st.integers(0, 50), st.floats(0, 1))
def test_a_document_and_itself_score_one(field: Field, seed: int, law: float) -> None:
    document = made(seed, law)
    found = verdict(document, document, CONFIG, field)
    assert found.score == pytest.approx(1, abs=1e-5)
    assert sum(part.weight for part in found.parts) == pytest.approx(1)


def test_a_field_gives_a_percentile_in_place_of_threshold_and_probability(field: Field) -> None:
    inside, outside = (verdict(made(1), made(2), CONFIG, chosen) for chosen in (field, None))
    assert (inside.threshold, inside.probability) == (None, None)
    assert inside.percentile is not None
    assert outside.percentile is None
    assert outside.threshold is not None
    assert outside.probability is not None


def test_a_document_is_adapted_once(field: Field) -> None:
    adapted = field.adapt(made(3))
    assert field.adapt(adapted) is adapted


def test_labelled_pairs_give_threshold_and_probability(profile: FieldProfile) -> None:
    fitted = FieldCalibration(0.3, Calibration("platt", 8.0, -2.0), 40)
    plain, found = (
        verdict(made(1), made(2), CONFIG, Field(item, statistics()))
        for item in (profile, replace(profile, calibrated=fitted))
    )
    assert found.threshold == 0.3
    assert found.probability == pytest.approx(1 / (1 + np.exp(2 - 8 * found.score)))
    assert (found.score, found.percentile) == (plain.score, plain.percentile)


# Percentiles


def test_percentiles_by_hand(profile: FieldProfile) -> None:
    scores = np.array([0.1, 0.2, 0.2, 0.6], np.float32)
    few = replace(profile, scores=scores)
    assert [few.percentile(score) for score in (-1, 0.1, 0.2, 0.3, 0.6, 0.7)] == [0, 0, 0.25, 0.75, 0.75, 1]


def test_a_small_field_has_no_percentile(profile: FieldProfile) -> None:
    assert replace(profile, documents=MIN_DOCUMENTS - 1).percentile(0.5) is None
    assert replace(profile, documents=MIN_DOCUMENTS).percentile(0.5) is not None


# On disk


def test_a_profile_is_read_as_it_was_written(profile: FieldProfile, tmp_path: Path) -> None:
    profile.save(tmp_path)
    again = FieldProfile.load(tmp_path)
    assert again.info == profile.info
    assert again.fingerprint == profile.fingerprint
    for name in ARRAYS:
        assert np.array_equal(getattr(again, name), getattr(profile, name))
    header = json.loads((tmp_path / "profile.json").read_text())
    assert header == {
        "kind": "colde field profile", "format": FORMAT, "name": "field", "documents": 20, "model": "model",
    }  # fmt: skip


@pytest.mark.parametrize(
    "calibration",
    [Calibration("platt", 8.0, -2.5), Calibration("isotonic", scores=(0.1, 0.4), probabilities=(0.0, 0.9))],
)
def test_a_calibration_is_read_as_it_was_written(
    profile: FieldProfile, tmp_path: Path, calibration: Calibration
) -> None:
    fitted = FieldCalibration(0.3, calibration, 40)
    replace(profile, calibrated=fitted).save(tmp_path)
    assert FieldProfile.load(tmp_path).calibrated == fitted


@pytest.mark.parametrize(
    "calibrated",
    [
        "[]", '{"threshold": 0.3}', '{"threshold": 0.3, "pairs": 40, "calibration": {"slope": "steep"}}',
        '{"threshold": 0.3, "pairs": 40, "calibration": {"kind": "isotonic"}}',
        '{"threshold": NaN, "pairs": 40, "calibration": {}}',
        '{"threshold": 0.3, "pairs": 40, "calibration": {"slope": Infinity}}',
    ],
)  # fmt: skip
def test_a_damaged_calibration_is_told(profile: FieldProfile, tmp_path: Path, calibrated: str) -> None:
    profile.save(tmp_path)
    path = tmp_path / "profile.json"
    header = path.read_text(encoding="utf-8")
    path.write_text(header.replace('"format"', f'"calibrated": {calibrated}, "format"'))
    with pytest.raises(ModelError, match=r"profile\.json is damaged"):
        FieldProfile.load(tmp_path)


def test_the_same_profile_gives_the_same_bytes(profile: FieldProfile, tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        profile.save(tmp_path / name)
    assert (tmp_path / "a/profile.npz").read_bytes() == (tmp_path / "b/profile.npz").read_bytes()


@pytest.mark.parametrize("keep", [0, 10, 1000])
def test_a_damaged_profile_is_told(profile: FieldProfile, tmp_path: Path, keep: int) -> None:
    profile.save(tmp_path)
    path = tmp_path / "profile.npz"
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(ModelError, match=r"profile\.npz is damaged; make the profile again with colde adapt"):
        FieldProfile.load(tmp_path)


@pytest.mark.parametrize(
    "changed",
    [
        {"scores": np.array([0.2, 0.1], np.float32)}, {"scores": np.array([np.nan], np.float32)},
        {"centre": np.zeros((2, 2), np.float32)}, {"frequencies": np.zeros(3, np.uint16)},
        {"spreads": np.zeros(3, np.int64)},
    ],
)  # fmt: skip
def test_arrays_that_are_no_profile_are_told(
    profile: FieldProfile, tmp_path: Path, changed: dict[str, np.ndarray]
) -> None:
    replace(profile, **changed).save(tmp_path)  # type: ignore[arg-type]
    with pytest.raises(ModelError, match="is damaged"):
        FieldProfile.load(tmp_path)


@pytest.mark.parametrize(
    "header", ["{", "[]", '{"format": 1}', '{"format": 1, "name": "x", "documents": 0, "model": "m"}']
)
def test_a_damaged_header_is_told(profile: FieldProfile, tmp_path: Path, header: str) -> None:
    profile.save(tmp_path)
    (tmp_path / "profile.json").write_text(header)
    with pytest.raises(ModelError, match=r"profile\.json is damaged"):
        FieldProfile.load(tmp_path)


@pytest.mark.parametrize(
    ("version", "told"), [(FORMAT - 1, "earlier colde; make the profile again"), (FORMAT + 1, "later colde")]
)
def test_a_profile_of_another_version_is_told(profile: FieldProfile, tmp_path: Path, version: int, told: str) -> None:
    profile.save(tmp_path)
    path = tmp_path / "profile.json"
    path.write_text(path.read_text().replace(f'"format": {FORMAT}', f'"format": {version}'))
    with pytest.raises(ModelError, match=told):
        FieldProfile.load(tmp_path)


def test_a_folder_without_a_profile_is_told(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="is not a field profile; make one with: colde adapt"):
        FieldProfile.load(tmp_path)


def test_the_profile_of_another_model_is_refused(profile: FieldProfile) -> None:
    with pytest.raises(ModelError, match="was made with another model"):
        Field(profile, statistics("another"))


def test_the_model_counts_for_ten_documents() -> None:
    assert blended_spreads(np.full(len(PARTS), 2.0), PRIOR_DOCUMENTS)[0] == pytest.approx(((4 + 0.18**2) / 2) ** 0.5)
