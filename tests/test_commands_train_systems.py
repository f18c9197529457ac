"""`colde train --system` from documents to a folder that every command opens."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from command_line import check_trouble, run
from tiny_backbone import write_backbone, write_documents

from colde_cli.commands.train import SystemName
from colde_cli.encoder.loading import open_encoder
from colde_cli.evaluation.data import read_data
from colde_cli.learning.recipe import Recipe

if TYPE_CHECKING:
    from colde_cli.systems.base import SYSTEMS

pytestmark = pytest.mark.usefixtures("late_imports")

QUICK = ["--epochs", "2", "--batch-size", "8", "--validation", "0.4", "--device", "cpu", "--lr", "0.001"]


@pytest.fixture(scope="module")
def backbone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_backbone(tmp_path_factory.mktemp("backbones") / "tiny")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_documents(tmp_path_factory.mktemp("data") / "data.jsonl", per_subject=3)


def write_texts(data: Path, folder: Path) -> list[Path]:
    """Documents of the data as text files."""
    folder.mkdir()
    files = []
    for item in read_data([data]).documents[:5]:
        files.append(folder / f"{item.id}.txt")
        files[-1].write_text(item.document.text, encoding="utf-8")
    return files


@pytest.mark.slow
def test_an_sbert_is_trained_and_every_command_opens_it(
    data: Path, backbone: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "mine"
    given = [data, "-o", output, "--system", "sbert", "--backbone", backbone, *QUICK, "--set", "patience=0"]
    done = run(capsys, "train", *given)
    assert done.status == 0, done.err
    assert done.out.startswith(f"{output}: validation AUC ")
    assert (output / "onnx" / "tower.onnx").is_file()
    card = (output / "README.md").read_text(encoding="utf-8")
    assert "A model of the system sbert on tiny" in card
    assert "| learning_rate | 0.001 |" in card
    config = json.loads((output / "config.json").read_text(encoding="utf-8"))
    assert config["model_type"] == config["system"] == "sbert"
    assert config["threshold"] is not None
    assert config["calibration"] is not None

    files = write_texts(data, tmp_path / "corpus")
    shown = run(capsys, "diff", files[0], files[1], "--model", output, "--format", "json")
    assert shown.status == 1, shown.err
    compared = json.loads(shown.out)
    assert compared["model"] == {"name": "mine", "precision": "fp32", "device": "cpu"}
    assert -1 <= compared["document"]["score"] <= 1
    assert run(capsys, "diff", files[0], files[0], "--model", output).status == 0
    ranked = run(capsys, "rank", files[0], tmp_path / "corpus", "--model", output, "--format", "json")
    assert ranked.status == 0, ranked.err
    results = json.loads(ranked.out)["results"]
    assert len(results) == 4
    found = {Path(hit["path"]).name: hit["score"] for hit in results}
    assert found[files[1].name] == pytest.approx(compared["document"]["score"], abs=1e-5)
    again = run(capsys, "rank", files[0], tmp_path / "corpus", "--model", output, "--format", "json")
    assert json.loads(again.out)["encoded"] == 0
    assert "sbert" in run(capsys, "models", output).out
    assert "works" in run(capsys, "doctor", "--model", output, "--device", "cpu").out
    (output / "onnx" / "tower.onnx").unlink()
    assert run(capsys, "export", output, "--calibration", data).status == 0
    assert (output / "onnx" / "tower.onnx").is_file()
    check_trouble(run(capsys, "export", output, "--precision", "int8"))


def test_the_served_scores_are_those_the_threshold_was_fitted_on(
    data: Path, backbone: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from sklearn.metrics import roc_auc_score

    names = ("bees-0", "bees-1", "boats-0", "boats-1", "bread-0", "birds-0")
    judged = [(a, b, int(a[:4] == b[:4])) for a in names for b in names if a < b]
    pairs = tmp_path / "pairs.jsonl"
    pairs.write_text("".join(json.dumps({"a": a, "b": b, "label": y}) + "\n" for a, b, y in judged))
    output = tmp_path / "mine"
    given = [data, "-o", output, "--system", "matchbert", "--backbone", backbone, *QUICK]
    assert run(capsys, "train", *given, "--validation", pairs, "-q").status == 0
    documents = {item.id: item.document for item in read_data([data]).documents}
    encoder = open_encoder(output, device="cpu")
    vectors = {name: encoder.encode(documents[name]).document_vector for name in names}
    scores = [float(vectors[a] @ vectors[b]) for a, b, _ in judged]
    log = (tmp_path / "mine.training" / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    measured = [json.loads(line) for line in log]
    best = max(line["auc"] for line in measured if line["event"] == "validation")
    # Some pairs score alike but for rounding, which differs by processor and library: either order may be measured.
    labels = np.array([y for *_, y in judged])
    least, most = (roc_auc_score(labels, np.array(scores) + shift * labels) for shift in (-1e-5, 1e-5))
    assert least - 1e-9 <= best <= most + 1e-9
    assert min(scores) < (encoder.config.threshold or 0) <= max(scores)


@pytest.mark.slow
def test_an_slong_is_made_of_a_bert(
    data: Path, backbone: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "mine"
    given = [data, "-o", output, "--system", "slong", "--backbone", backbone, *QUICK, "--epochs", 1]
    check_trouble(run(capsys, "train", *given, "--set", "window=7", "-q"))
    done = run(capsys, "train", *given, "--set", "window=16", "--set", "row_tokens=120", "-q")
    assert done.status == 0, done.err
    encoder = open_encoder(output, device="cpu")
    documents = [item.document for item in read_data([data]).documents[:2]]
    first, second = encoder.encode_many(documents)
    assert np.linalg.norm(first.document_vector) == pytest.approx(1, abs=1e-5)
    assert not np.array_equal(first.document_vector, second.document_vector)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("system", "objective", "more"),
    [
        ("smith", "wp+sp", "--set hidden=16 --set sentence_layers=1 --set document_layers=1"),
        ("sbert", "intra-reference", "--set row_tokens=24 --epochs 0"),
    ],
)
def test_documents_teach_before_their_labels_do(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], system: str, objective: str, more: str
) -> None:
    backbone = write_backbone(tmp_path / "backbone", mask=True)
    given = [data, "-o", tmp_path / "one", "--system", system, "--backbone", backbone, *QUICK, *more.split()]
    done = run(capsys, "train", *given, "--pretrain", objective, "-q")
    assert done.status == 0, done.err
    given[2] = tmp_path / "other"
    assert run(capsys, "train", *given, "-q").status == 0
    document = read_data([data]).documents[0].document
    vectors = [
        open_encoder(tmp_path / name, device="cpu").encode(document).document_vector for name in ("one", "other")
    ]
    assert np.abs(vectors[0] - vectors[1]).max() > 1e-5


def test_what_means_nothing_to_a_system_is_refused(
    data: Path, backbone: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refusal(*arguments: object) -> str:
        result = run(capsys, "train", data, "-o", tmp_path / "mine", *map(str, arguments))
        check_trouble(result)
        return result.err

    for option in ("--freeze-backbone", "--max-memory=1GB", "--chunk-tokens=99", "--no-combine"):
        name = option.partition("=")[0].replace("no-", "")
        assert f"{name} means nothing to --system sbert" in refusal("--system", "sbert", option)
    assert "--pretrain means nothing to --system colde" in refusal("--pretrain", "wp")
    assert "--backbone means nothing to --system han" in refusal("--system", "han", "--backbone", backbone)
    assert "--trainable-layers means nothing to --system smith" in refusal("--system", "smith", "--trainable-layers", 1)
    assert "pretrain=wp is not for --system sbert" in refusal("--system", "sbert", "--pretrain", "wp")
    assert "sbert has pool=mean" in refusal("--system", "sbert", "--set", "max_rows=9")
    assert "colde has" in refusal("--set", "row_tokens=9")
    assert "nothing to resume" in refusal("--system", "sbert", "--resume")
    monkeypatch.setenv("COLDE_CHUNK_TOKENS", "64")
    assert "--chunk-tokens means nothing" in refusal("--system", "sbert")
    assert not list(tmp_path.iterdir())


def test_every_system_is_known_to_the_command() -> None:
    assert {name.value for name in SystemName} == {"colde", *SYSTEMS}


def kept_jobs(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What reaches the trainer, without training it."""
    jobs: list[Any] = []

    def keep(job: object, quiet: bool, max_time: float | None) -> int:
        jobs.append(job)
        return 0

    monkeypatch.setattr("colde_cli.commands.train._run", keep)
    return jobs


def test_options_that_are_not_given_are_the_recipes_own(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    jobs = kept_jobs(monkeypatch)
    monkeypatch.setenv("COLDE_SEED", "2")
    monkeypatch.setenv("COLDE_PRECISION", "auto")  # of the graph that the other commands run
    ablations = ["--ablation", "no-lstm", "--ablation", "no-aug", "--ablation", "no-aug"]
    for given in (
        ["--freeze-backbone", "--max-memory", "1GB", *ablations],
        ["--lr", "0.1", "--no-combine"],
        ["--lr", "0.1", *"--set combine=false --set max_memory=1GB --set chunk_tokens=64 --set precision=bf16".split()],
        ["--system", "smith", "--set", "hidden=16", "--set", "heads=2"],
        ["--system", "sbert", "--pretrain", "self-reference", "--set", "pretrain-epochs=3"],
    ):
        assert run(capsys, "train", data, "-o", tmp_path / "mine", *given).status == 0
    frozen, tuned, named, smith, laser = (job.recipe for job in jobs)
    assert frozen == Recipe(
        freeze_backbone=True, learning_rate=1e-3, max_memory=10**9, ablations=("no-aug", "no-lstm"), seed=2
    )
    assert (frozen.sections_used, frozen.chunk_position_used) == (1, "none")
    assert tuned == Recipe(learning_rate=0.1, combine=False, seed=2)
    assert named == replace(tuned, max_memory=10**9, chunk_tokens=64, precision="bf16")
    sizes = (("heads", 2), ("hidden", 16))
    shared: dict[str, Any] = {"epochs": 10, "batch_size": 32, "batches": "by-file", "seed": 2}
    assert smith == Recipe(system="smith", learning_rate=5e-5, network=sizes, **shared)
    assert laser == Recipe(system="sbert", learning_rate=2e-5, pretrain="self-reference", pretrain_epochs=3, **shared)


def test_the_recipe_of_the_paper(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its options are CoLDE's own, unless others are given."""
    jobs = kept_jobs(monkeypatch)
    command = ("train", data, "-o", tmp_path / "mine", "--recipe", "paper")
    said = run(capsys, *command)
    assert said.status == 0
    # It is not the paper's backbone unless it is named, and says so.
    assert "The paper trains BERT-base (--backbone google-bert/bert-base-uncased)" in said.err
    named = run(capsys, *command, "--batch-size", 100, "--combine", "--backbone", "google-bert/bert-base-uncased")
    assert (named.status, named.err) == (0, "")
    assert [job.backbone for job in jobs] == [
        "sentence-transformers/all-MiniLM-L6-v2",
        "google-bert/bert-base-uncased",
    ]
    paper, changed = (job.recipe for job in jobs)
    paper.check()
    assert (paper.chunk_position, paper.residual, paper.combine) == ("input", "none", False)
    assert (paper.temperature, paper.learning_rate, paper.batch_size) == (0.5, 5e-5, 50)
    assert (paper.chunk_tokens, paper.freeze_backbone, paper.chunk_loss) == (512, False, 0)
    assert (changed.batch_size, changed.combine, changed.chunk_position) == (100, True, "input")
    refused = run(capsys, *command, "--system", "dssm")
    check_trouble(refused)
    assert "--recipe means nothing" in refused.err
