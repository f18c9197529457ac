"""`colde calibrate`: what is stored, where, and that its figures are not optimistic."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from command_line import EXAMPLES, OTHER, V1, V2, check_trouble, run, run_json, validate
from judged_data import write_judged
from late import needs

from colde_cli.encoder.encoder import Encoder
from colde_cli.encoder.layout import open_folder
from colde_cli.errors import DataError, OptionError
from colde_cli.evaluation.refit import refit, store
from colde_cli.evaluation.systems import StoredVerdicts
from colde_cli.scoring.config import Calibration, probability
from colde_cli.scoring.profile import FieldInfo, FieldProfile

pytestmark = needs("sklearn")

Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    docs, pairs = write_judged(tmp_path_factory.mktemp("data"))
    return ["--docs", str(docs), "--pairs", str(pairs), "--device", "cpu"]


@pytest.fixture
def model(model_folder: Path, tmp_path: Path) -> Path:
    """A copy of the shipped model with links to its large files."""
    copy = tmp_path / "mine"
    shutil.copytree(model_folder, copy)
    (copy / "config.json").unlink()
    shutil.copy(model_folder / "config.json", copy / "config.json")
    return copy


def test_threshold_and_calibration_are_stored_with_the_model(capsys: Capture, data: list[str], model: Path) -> None:
    before = open_folder(model).config
    result = run(capsys, "calibrate", model, *data)
    assert (result.status, result.err) == (0, "")
    after = open_folder(model).config
    assert after.threshold is not None
    assert f"{before.threshold:.3f} → {after.threshold:.3f}" in result.out
    assert "66 pairs, 12 of them related" in result.out
    assert after.calibration is not None
    assert after.calibration.kind == "platt"
    old, new = (json.loads(config.to_json()) for config in (before, after))
    # Whatever the kind of text: the pairs were of the user's, not of the kinds that the model was trained on.
    kinds = [[*values["score_weights"]["domains"], values["score_weights"]["short"]] for values in (old, new)]
    assert len(kinds[1]) == len(kinds[0]) > 1
    assert all(kind["threshold"] == new["threshold"] for kind in kinds[1])
    assert all(kind["calibration"] == new["calibration"] for kind in kinds[1])
    for place in (old, new, *kinds[0], *kinds[1]):
        del place["threshold"], place["calibration"]
    assert old == new
    assert not list(model.glob(".*"))
    assert run(capsys, "models", model, "--verify").status == 0


@pytest.mark.slow
def test_a_copy_leaves_the_model_as_it_is(capsys: Capture, data: list[str], model: Path, tmp_path: Path) -> None:
    text = (model / "config.json").read_text(encoding="utf-8")
    target = tmp_path / "copy\x1b[31m"
    result = run(capsys, "calibrate", model, *data, "--split", "train", "-o", target)
    assert result.status == 0
    assert result.out.startswith(rf"{tmp_path}/copy\x1b[31m: ")
    assert (model / "config.json").read_text(encoding="utf-8") == text
    assert (target / "config.json").read_text(encoding="utf-8") != text
    assert Encoder.load(target, device="cpu").centre is not None
    assert sorted(path.name for path in tmp_path.iterdir()) == [target.name, "mine"]


@pytest.mark.skipif(sys.platform == "win32", reason="links")
def test_a_copy_that_fails_says_why_and_leaves_nothing(model: Path, tmp_path: Path) -> None:
    (model / "more.npz").symlink_to("nowhere")
    with pytest.raises(OptionError, match=r"copy cannot be written \(No such file or directory\); add -o"):
        store(open_folder(model).config, model, tmp_path / "copy")
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_targets_that_are_refused_before_the_work(
    capsys: Capture, data: list[str], model: Path, tmp_path: Path
) -> None:
    for target in (model, tmp_path / "missing" / "copy"):
        result = run(capsys, "calibrate", model, *data, "-o", target)
        check_trouble(result)
    if os.geteuid() != 0:
        model.chmod(0o555)
        result = run(capsys, "calibrate", model, *data)
        check_trouble(result)
        assert "add -o FOLDER" in result.err


def test_too_few_pairs(capsys: Capture, model: Path, tmp_path: Path) -> None:
    docs, pairs = write_judged(tmp_path / "few", per_split=2)
    text = (model / "config.json").read_text(encoding="utf-8")
    result = run(capsys, "calibrate", model, "--docs", docs, "--pairs", pairs)
    check_trouble(result)
    assert "few: There are 4 related" in result.err
    assert (model / "config.json").read_text(encoding="utf-8") == text


def test_figures_after_come_from_pairs_that_took_no_part() -> None:
    """Scores that say nothing: what is fitted to all pairs looks better than the cross-validated figures."""
    generator = np.random.default_rng(0)
    scores, related = generator.random(2000), generator.random(2000) < 0.3
    old = StoredVerdicts(scores >= 0.5, probability(scores, Calibration(slope=8, intercept=-2)))
    found = refit(related, scores, 0.5, old)
    assert (found.pairs, found.positives, found.old_threshold) == (2000, int(related.sum()), 0.5)
    assert found.calibration.kind == "isotonic"
    new = StoredVerdicts(scores >= found.threshold, probability(scores, found.calibration))
    again = refit(related, scores, found.threshold, new)
    assert again.before.brier is not None
    assert again.after.brier is not None
    assert again.before.brier < again.after.brier
    assert again.before.ece is not None
    assert again.after.ece is not None
    assert again.before.ece < again.after.ece
    assert found.before.ece is not None
    assert found.before.ece > again.after.ece
    bare = refit(related, scores, None, None)
    assert (bare.before.f1, bare.before.ece) == (None, None)
    assert bare.after == found.after
    with pytest.raises(DataError, match="4 related"):
        refit(np.arange(20) < 4, np.arange(20) / 20, None, None)


# Field profiles


@pytest.mark.slow
def test_the_documents_of_the_pairs_make_a_calibrated_field(capsys: Capture, data: list[str], profiles: Path) -> None:
    result = run(capsys, "calibrate", "colde-minilm-l6", *data, "--field", "docs", "-o", "gardens")
    assert (result.status, result.err) == (0, "")
    assert result.out.startswith(f"{profiles / 'gardens'}: fitted on 66 pairs, 12 of them related")
    assert "none → " in result.out
    profile = FieldProfile.load(profiles / "gardens")
    assert profile.info == FieldInfo("gardens", 12)
    assert profile.calibrated is not None
    assert profile.calibrated.pairs == 66

    document = run_json(capsys, "diff", V1, V2, "--field", "gardens")["document"]
    assert document["threshold"] == pytest.approx(profile.calibrated.threshold, abs=1e-4)
    assert document["related"] is True
    assert document["probability"] > 0.5
    out = run(capsys, "diff", V1, OTHER, "--field", "gardens").out
    assert "probability" in out
    assert "the field gardens" in out
    value = run_json(capsys, "rank", V1, EXAMPLES, "--glob", "*.pdf", "--field", "gardens")
    validate(value, "colde.rank.1")
    assert value["results"][0]["probability"] == document["probability"]
    evaluated = run_json(capsys, "evaluate", "colde-minilm-l6", *data, "--field", "gardens", "--bootstrap", "0")
    (found,) = evaluated["fields"][0]["results"]
    assert found["calibration_from"] == "model"
    assert "fitted to 66 labelled pairs" in " ".join(found["notes"])


@pytest.mark.slow
def test_a_profile_is_calibrated_in_place_or_copied(
    capsys: Capture, data: list[str], profiles: Path, tmp_path: Path
) -> None:
    run(capsys, "calibrate", "colde-minilm-l6", *data, "--field", "docs", "-o", "one")
    first = FieldProfile.load(profiles / "one")
    calibrate = ("calibrate", "colde-minilm-l6", *data, "--split", "train", "--field", "one")
    copied = run(capsys, *calibrate, "-o", tmp_path / "two")
    assert copied.status == 0
    assert (FieldProfile.load(profiles / "one").calibrated, FieldProfile.load(tmp_path / "two").name) == (
        first.calibrated,
        "two",
    )
    assert run(capsys, *calibrate).status == 0
    again = FieldProfile.load(profiles / "one")
    assert again.calibrated == FieldProfile.load(tmp_path / "two").calibrated != first.calibrated
    assert (again.name, again.documents) == ("one", first.documents)
    assert np.array_equal(again.scores, first.scores)


def test_profiles_that_cannot_be_calibrated_are_refused_before_the_work(
    capsys: Capture, data: list[str], profiles: Path, tmp_path: Path
) -> None:
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "letter.txt").write_text("Dear council")
    for arguments, said in (
        (("--field", "docs"), "name it with -o NAME"),
        (("--field", "absent"), "There is no field profile 'absent'"),
        (("--field", "docs", "-o", tmp_path / "letters"), "is not a field profile and is not overwritten"),
        (("--field", "docs", "-o", "x", *data[:4]), "one data set"),
    ):
        result = run(capsys, "calibrate", "colde-minilm-l6", *data, *arguments)
        check_trouble(result)
        assert said in result.err
