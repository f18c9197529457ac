"""`colde adapt`, and `--field` of diff, rank and evaluate, from the command line to what they print."""

from __future__ import annotations

import csv
import json
import shutil
from dataclasses import replace
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from command_line import EXAMPLES, OTHER, V1, V2, check_trouble, run, run_json, validate
from judged_data import write_judged

from colde_cli.scoring.profile import FieldProfile

pytestmark = pytest.mark.usefixtures("profiles")

Capture = pytest.CaptureFixture[str]
SUBJECTS = {
    "well": "pump well water tower bucket rope depth spring",
    "school": "teacher pupil lesson chalk book spelling bench bell",
    "ship": "sailor harbour wave storm mast anchor island cargo",
    "bread": "baker flour oven yeast crust mill dough salt",
}
SIZE = 16


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four texts on each of four subjects."""
    folder = tmp_path_factory.mktemp("corpus")
    for subject, listed in SUBJECTS.items():
        words = listed.split()
        for number in range(4):
            turned = words[number:] + words[:number]
            pairs = zip(turned, turned[2:] + turned[:2], strict=True)
            text = " ".join(f"The {a} is kept near the {b} in the morning." for a, b in pairs)
            (folder / f"{subject}-{number}.txt").write_text(text)
    return folder


# adapt and diff


@pytest.mark.slow
def test_a_named_profile_gives_diff_a_percentile(capsys: Capture, corpus: Path, profiles: Path) -> None:
    result = run(capsys, "adapt", corpus, "-o", "crafts")
    assert (result.status, result.out) == (0, "")
    assert result.err == f"Learned from {SIZE} documents: {profiles / 'crafts'}\n"
    files = ["SHA256SUMS", "profile.json", "profile.npz"]
    assert sorted(path.name for path in (profiles / "crafts").iterdir()) == files
    assert run(capsys, "models", "crafts", "--verify").status == 0
    a, b, c = (corpus / name for name in ("well-0.txt", "well-1.txt", "ship-2.txt"))
    alike, unlike = (run_json(capsys, "diff", a, other, "--field", "crafts")["document"] for other in (b, c))
    assert alike["field"] == {"name": "crafts", "documents": SIZE}
    assert [alike[key] for key in ("probability", "threshold", "related")] == [None] * 3
    assert alike["percentile"] > 0.78 > unlike["percentile"]
    assert "mean" in [part["name"] for part in alike["parts"]]


@pytest.mark.slow
def test_diff_with_a_field_is_as_the_schema_says_in_every_format(capsys: Capture, corpus: Path) -> None:
    run(capsys, "adapt", corpus, "-o", "crafts")
    value = run_json(capsys, "diff", V1, V2, "--field", "crafts")
    validate(value, "colde.diff.2")
    # Of two versions of one text nobody asks how closely they are related.
    for format in ("table", "html"):
        said = run(capsys, "diff", V1, OTHER, "--field", "crafts", "--format", format).out
        assert "pairs of the field crafts" in said
        assert "the field is not calibrated" in said


def test_without_a_field_diff_says_nothing_of_one(capsys: Capture) -> None:
    assert not {"percentile", "field"} & set(run_json(capsys, "diff", V1, V2)["document"])


def test_a_profile_may_lie_anywhere(capsys: Capture, corpus: Path, tmp_path: Path) -> None:
    folder = tmp_path / "here" / "mine"
    assert run(capsys, "adapt", corpus, "-o", folder).status == 0
    again = run_json(capsys, "diff", corpus / "well-0.txt", corpus / "well-1.txt", "--field", folder)
    assert again["document"]["field"]["name"] == "mine"


def test_a_profile_is_replaced_and_other_folders_are_not(capsys: Capture, corpus: Path, tmp_path: Path) -> None:
    folder = tmp_path / "profile"
    for size in (SIZE, 8):
        run(capsys, "adapt", *sorted(corpus.iterdir())[:size], "-o", folder)
        assert json.loads((folder / "profile.json").read_text())["documents"] == size
    (folder / "letter.txt").write_text("Dear council")
    check_trouble(run(capsys, "adapt", corpus, "-o", folder, "-q"))
    assert (folder / "letter.txt").read_text() == "Dear council"


@pytest.mark.slow
def test_a_small_field_is_warned_about(capsys: Capture, corpus: Path) -> None:
    result = run(capsys, "adapt", *sorted(corpus.iterdir())[:5], "-o", "small")
    assert "5 documents teach little, and 15 are needed for a percentile" in result.err
    found = run_json(capsys, "diff", V1, V2, "--field", "small")
    assert found["document"]["percentile"] is None
    assert "too few documents for a percentile" in run(capsys, "diff", V1, OTHER, "--field", "small").out


def test_files_that_cannot_be_read_are_skipped(capsys: Capture, corpus: Path, tmp_path: Path) -> None:
    folder = tmp_path / "mixed"
    shutil.copytree(corpus, folder)
    (folder / "broken.pdf").write_bytes(b"%PDF-1.7 nothing")
    result = run(capsys, "adapt", folder, "-o", "mixed")
    assert result.status == 0
    assert "Skipped" in result.err
    assert f"Learned from {SIZE} documents" in result.err


def test_a_folder_of_which_nothing_can_be_read_is_trouble(capsys: Capture, tmp_path: Path) -> None:
    (tmp_path / "broken.pdf").write_bytes(b"%PDF-1.7 nothing")
    check_trouble(run(capsys, "adapt", tmp_path, "-o", "none"))
    check_trouble(run(capsys, "adapt", tmp_path / "absent", "-o", "none"))


LONG = 300 * "n"


@pytest.mark.parametrize(
    ("field", "said"),
    [
        *((name, "There is no field profile") for name in ("craft", "a/b", "../crafts", LONG)),
        pytest.param("caf\udce9", "There is no field profile", id="not UTF-8"),
        *((name, "is not a field profile") for name in ("", ".", "..")),
        (V1, "There is no field profile"),
    ],
)
def test_a_field_that_is_none_is_trouble(capsys: Capture, corpus: Path, field: str | Path, said: str) -> None:
    for arguments in (("diff", V1, V2), ("rank", V1, corpus)):
        result = run(capsys, *arguments, "--field", field)
        check_trouble(result)
        assert said in result.err


@pytest.mark.parametrize("name", [pytest.param("caf\udce9", id="not UTF-8"), LONG])
def test_a_name_that_no_profile_can_have_is_refused_before_the_work(
    capsys: Capture, corpus: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("colde_cli.corpus.pipeline.adapt_files", None)
    check_trouble(run(capsys, "adapt", corpus, "-o", name))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"model": "', '"model": "0', "was made with another model"),
        ('"name": "', '"name": "caf\udce9', "profile.json is damaged"),
        ('"documents": 16', '"documents": 1e999', "profile.json is damaged"),
        ('"documents": 16', '"documents": 1', "profile.npz is damaged"),
    ],
)
def test_a_profile_that_does_not_fit_is_trouble(
    capsys: Capture, corpus: Path, profiles: Path, old: str, new: str, said: str
) -> None:
    run(capsys, "adapt", corpus, "-o", "crafts")
    path = profiles / "crafts" / "profile.json"
    changed = path.read_text(encoding="utf-8").replace(old, new)
    path.write_bytes(changed.encode(errors="surrogateescape"))
    result = run(capsys, "diff", V1, V2, "--field", "crafts")
    check_trouble(result)
    assert said in result.err


def test_a_centre_of_another_size_is_trouble(capsys: Capture, corpus: Path, profiles: Path) -> None:
    run(capsys, "adapt", corpus, "-o", "crafts")
    profile = FieldProfile.load(profiles / "crafts")
    replace(profile, centre=np.zeros(5, np.float32)).save(profiles / "crafts")
    result = run(capsys, "diff", V1, V2, "--field", "crafts")
    check_trouble(result)
    assert "is damaged; make the profile again" in result.err


# rank


def test_a_corpus_is_a_field_of_its_own(capsys: Capture, corpus: Path) -> None:
    value = run_json(capsys, "rank", corpus / "well-0.txt", corpus)
    validate(value, "colde.rank.1")
    assert value["field"] == {"name": "corpus", "documents": SIZE}
    hits = value["results"]
    assert {Path(hit["path"]).name for hit in hits[:3]} == {f"well-{number}.txt" for number in (1, 2, 3)}
    assert hits[0]["percentile"] > 0.78 > hits[-1]["percentile"]
    assert {hit["probability"] for hit in hits} == {None}
    assert [hit["score"] for hit in hits] == sorted((hit["score"] for hit in hits), reverse=True)


def test_any_query_of_a_corpus_gives_the_same_field(capsys: Capture, corpus: Path) -> None:
    there, back = (
        next(
            hit
            for hit in run_json(capsys, "rank", corpus / one, corpus, "-k", "15")["results"]
            if hit["path"].endswith(other)
        )
        for one, other in (("well-0.txt", "bread-1.txt"), ("bread-1.txt", "well-0.txt"))
    )
    assert there["score"] == pytest.approx(back["score"], abs=1e-5)
    assert there["percentile"] == pytest.approx(back["percentile"], abs=0.01)


def test_a_second_search_uses_the_kept_profile(capsys: Capture, corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = run_json(capsys, "rank", corpus / "ship-0.txt", corpus)

    def refuse(*arguments: object) -> None:
        raise AssertionError("the profile was learned again")

    monkeypatch.setattr("colde_cli.corpus.pipeline.learn_field", refuse)
    assert run_json(capsys, "rank", corpus / "ship-0.txt", corpus)["results"] == first["results"]


@pytest.mark.parametrize("format", ["table", "markdown"])
def test_a_ranking_says_how_unusual_its_hits_are(capsys: Capture, corpus: Path, format: str) -> None:
    out = run(capsys, "rank", corpus / "well-0.txt", corpus, "--format", format).out
    assert "% of pairs" in out
    assert "of this corpus" in out


def test_csv_has_a_column_for_the_percentile(capsys: Capture, corpus: Path) -> None:
    text = run(capsys, "rank", corpus / "well-0.txt", corpus, "--format", "csv").out
    first, *_ = csv.DictReader(StringIO(text, newline=""))
    assert float(first["percentile"]) > 0.78


def test_field_none_scores_as_diff_does(capsys: Capture) -> None:
    value = run_json(capsys, "rank", V1, EXAMPLES, "--glob", "*.pdf", "--field", "none", "-k", "1")
    (hit,) = value["results"]
    document = run_json(capsys, "diff", V1, hit["path"])["document"]
    assert value["field"] is None
    assert hit["percentile"] is None
    assert (hit["score"], hit["probability"]) == (document["score"], document["probability"])


def test_a_few_documents_are_no_field(capsys: Capture) -> None:
    value = run_json(capsys, "rank", V1, EXAMPLES, "--glob", "*.pdf")
    assert value["field"] is None
    assert all(hit["probability"] is not None for hit in value["results"])


def test_rank_takes_another_field(capsys: Capture, corpus: Path) -> None:
    run(capsys, "adapt", corpus, "-o", "crafts")
    value = run_json(capsys, "rank", V1, EXAMPLES, "--glob", "*.pdf", "--field", "crafts", "--explain")
    validate(value, "colde.rank.1")
    assert value["field"] == {"name": "crafts", "documents": SIZE}
    pair = run_json(capsys, "diff", V1, value["results"][0]["path"], "--field", "crafts")["document"]
    assert pair["score"] == value["results"][0]["score"]
    assert pair["percentile"] == value["results"][0]["percentile"]


# evaluate


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    docs, pairs = write_judged(tmp_path_factory.mktemp("data") / "gardens")
    return ["--docs", str(docs), "--pairs", str(pairs), "--bootstrap", "0"]


@pytest.mark.slow
def test_evaluate_measures_within_the_field_of_the_documents(capsys: Capture, judged: list[str]) -> None:
    pytest.importorskip("scipy")
    names = ["--baseline", "mean", "--baseline", "max-mean"]
    plain, within = (
        run_json(capsys, "evaluate", "colde-minilm-l6", *judged, *names, *more)["fields"][0]["results"]
        for more in ([], ["--field", "docs"])
    )
    for one, other in zip(plain, within, strict=True):
        assert one["threshold"] != other["threshold"]
        assert "learned from 24 documents" in " ".join(other["notes"])
        assert other["threshold_from"] == "validation"


def test_evaluate_takes_a_profile(capsys: Capture, judged: list[str], corpus: Path) -> None:
    pytest.importorskip("scipy")
    run(capsys, "adapt", corpus, "-o", "crafts")
    (found,) = run_json(capsys, "evaluate", "colde-minilm-l6", *judged, "--field", "crafts")["fields"]
    assert "the field crafts" in " ".join(found["results"][0]["notes"])
    check_trouble(run(capsys, "evaluate", "colde-minilm-l6", *judged, "--field", "absent", "-q"))


def test_robustness_is_measured_without_a_field(capsys: Capture, judged: list[str]) -> None:
    pytest.importorskip("scipy")
    arguments = ("--field", "docs", "--robustness", "shuffle")
    check_trouble(run(capsys, "evaluate", "colde-minilm-l6", *judged, *arguments))
