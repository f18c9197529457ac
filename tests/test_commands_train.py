"""`colde train` from a file of documents to a folder that the runtime opens."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import typer
from command_line import run_python
from labelled_set import write_labelled_set
from tiny_backbone import write_backbone, write_documents
from typer.testing import CliRunner, Result

from colde_cli.commands.train import train
from colde_cli.encoder.checksums import check_folder
from colde_cli.encoder.encoder import Encoder
from colde_cli.encoder.layout import open_folder, weight_files
from colde_cli.errors import ColdeError
from colde_cli.evaluation.data import read_data

if TYPE_CHECKING:
    from colde_cli.learning.backbone import load_backbone
    from colde_cli.learning.colde import load_colde
    from colde_cli.learning.tokens import chunk_documents

pytestmark = pytest.mark.usefixtures("late_imports")

APP = typer.Typer(context_settings={"help_option_names": ["-h", "--help"]})
APP.command()(train)

QUICK = ["--epochs", "2", "--batch-size", "8", "--set", "projection=16", "--validation", "0.4", "--device", "cpu"]


@pytest.fixture(scope="module")
def backbone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_backbone(tmp_path_factory.mktemp("backbones") / "tiny")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_documents(tmp_path / "data.jsonl")


def colde(*arguments: object) -> Result:
    return CliRunner().invoke(APP, [str(argument) for argument in arguments])


def refusal(*arguments: object) -> str:
    """The sentence of the `ColdeError` that a command ends with."""
    error = colde(*arguments).exception
    assert isinstance(error, ColdeError), error
    return str(error)


def journal(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]


@pytest.mark.slow
@pytest.mark.parametrize("frozen", [True, False])
def test_a_run_ends_with_a_model_that_opens(
    data: Path, backbone: Path, tmp_path: Path, frozen: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["/usr/bin/colde", "train", "my data.jsonl"])
    output = tmp_path / "models" / "mine"
    options = ["--freeze-backbone"] if frozen else ["--set", "trainable_layers=1"]
    result = colde(data, "-o", output, "--backbone", backbone, *QUICK, *options, "--card-note", "For tests.")
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith(f"{output}: validation AUC ")

    encoder = Encoder.load(output, device="cpu")
    first, second = encoder.encode_many([item.document for item in read_data([data]).documents[:2]])
    assert first.document_vector @ first.document_vector == pytest.approx(1, abs=1e-5)
    assert first.document_vector.shape == second.document_vector.shape
    assert encoder.config.threshold is not None
    assert encoder.config.calibration is not None

    card = (output / "README.md").read_text(encoding="utf-8")
    for said in (
        "# mine",
        "For tests.",
        "data.jsonl | 25",
        "the same, untrained",
        "| seed | 0 |",
        "colde train 'my data.jsonl'",
    ):
        assert said in card
    assert not list((tmp_path / "models").glob(".*"))
    assert check_folder(output).problems == 0
    workshop = tmp_path / "models" / "mine.training"
    assert not (workshop / "checkpoint.pt").exists()
    events = [line["event"] for line in journal(workshop)]
    assert events.count("validation") == 3
    assert events[0] == "validation"


@pytest.mark.slow
def test_the_served_scores_are_those_the_threshold_was_fitted_on(data: Path, backbone: Path, tmp_path: Path) -> None:
    """The int8 graph and the ONNX head give what training measured, to the last figures of the card."""
    from sklearn.metrics import roc_auc_score

    pairs = [("bees-0", "bees-1", 1), ("boats-0", "boats-1", 1), ("bees-0", "boats-0", 0), ("bees-1", "boats-1", 0)]
    judged = tmp_path / "pairs.jsonl"
    judged.write_text("".join(json.dumps({"a": a, "b": b, "label": y}) + "\n" for a, b, y in pairs))
    output = tmp_path / "mine"
    options = [*QUICK, "--freeze-backbone", "--validation", judged, "--set", "residual=mean"]
    assert colde(data, "-o", output, "--backbone", backbone, *options).exit_code == 0
    documents = {item.id: item.document for item in read_data([data]).documents}
    encoder = Encoder.load(output, device="cpu")
    vectors = {
        name: encoder.encode(documents[name]).document_vector for name in ("bees-0", "bees-1", "boats-0", "boats-1")
    }
    scores = [float(vectors[a] @ vectors[b]) for a, b, _ in pairs]
    measured = [line for line in journal(tmp_path / "mine.training") if line["event"] == "validation"]
    best = max(line["auc"] for line in measured)
    assert roc_auc_score([y for *_, y in pairs], scores) == pytest.approx(best)
    assert min(scores) < (encoder.config.threshold or 0) < max(scores)


def test_what_is_refused_before_anything_is_computed(data: Path, backbone: Path, tmp_path: Path) -> None:
    output = tmp_path / "mine"
    given = [data, "-o", output, "--backbone", backbone]
    frozen = [*given, "--freeze-backbone"]
    assert "chunk_position=post" in refusal(*frozen, "--set", "chunk_position=input")
    assert "trainable_layers" in refusal(*frozen, "--trainable-layers", 1)
    assert "trainable_layers=9" in refusal(*given, "--set", "trainable_layers=9")
    assert "heads=5" in refusal(*given, "--set", "heads=5")
    assert "--freeze-backbone" in refusal(*frozen, "--set", "chunk_loss=0.5")
    assert "--freeze-backbone" in refusal(*frozen, "--set", "mean_loss=0.5")
    assert "no-cl" in refusal(*given, "--ablation", "no-cl", "--set", "chunk_loss=0.5")
    assert "shares of one loss" in refusal(*given, "--set", "chunk_loss=0.6", "--set", "mean_loss=0.6")
    assert "memory_bank" in refusal(*given, "--set", "memory_bank=9")
    assert "windows=1" in refusal(*given, "--set", "windows=1")
    assert "--epochs 0" in refusal(*given, "--epochs", 0)
    assert "share" in refusal(*given, "--validation", "0.9")
    assert "missing.jsonl" in refusal(*given, "--validation", tmp_path / "missing.jsonl")
    assert "nothing to resume" in refusal(*given, "--resume")
    assert "gpu" in refusal(*given, "--device", "gpu")
    assert "--max-memory" in refusal(*given, "--max-memory", "much")
    assert "max_memory" in refusal(*given, "--set", "max_memory=much")
    for time_limit in ("8", "0m", "-1s", "8 days"):
        assert "8m" in refusal(*given, f"--max-time={time_limit}")
    assert not list(tmp_path.glob("mine*"))
    output.mkdir()
    assert "--overwrite" in refusal(*given)
    assert "not a model" in refusal(*given, "--overwrite")


def test_too_few_groups_are_told_how_many_it_takes(backbone: Path, tmp_path: Path) -> None:
    words = "The harbour master counts boats and bread every evening before the lamps are lit."
    documents = [{"id": f"{label}{n}", "label": label, "text": f"{words} {n}"} for n in range(3) for label in "ab"]
    source, pairs = tmp_path / "few.jsonl", tmp_path / "pairs.jsonl"
    source.write_text("\n".join(map(json.dumps, documents)), encoding="utf-8")
    given = [source, "-o", tmp_path / "mine", "--backbone", backbone, "--batch-size", 8]
    assert "needs at least 4 groups of 2 or more linked documents" in refusal(*given, "--validation", "0.4")
    judged = [("b0", "b1", 1), ("b1", "b2", 1), ("a0", "b0", 0)]
    pairs.write_text("\n".join(json.dumps({"a": a, "b": b, "label": y}) for a, b, y in judged), encoding="utf-8")
    # Only a1 and a2 are left to train on.
    needed = "at least 2 documents that belong together and 1 that does not; all 2 training documents belong"
    assert needed in refusal(*given, "--validation", pairs)


def test_a_missing_extra_names_its_remedy(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("colde_cli.commands.options.find_spec", lambda name: None)
    assert "pip install 'colde[train]'" in refusal(data, "-o", tmp_path / "mine")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="limits as POSIX has them")
def test_a_disk_that_takes_no_more_is_not_called_standard_output(data: Path, backbone: Path, tmp_path: Path) -> None:
    """No file may grow beyond the limit, as on a disk that is full: the system's error names none."""
    code = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n"
    code += "from colde_cli.commands.app import main; main()"
    given = ["train", data, "-o", tmp_path / "mine", "--backbone", backbone, *QUICK]
    done = run_python(code, *given)
    assert done.status == 2
    said = done.err.splitlines()
    assert said[-1] == "Error: The disk that is written to cannot be used: File too large.", said
    assert "Traceback" not in done.err
    assert not (tmp_path / "mine").exists()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals as POSIX has them")
def test_a_signal_saves_the_run(data: Path, backbone: Path, tmp_path: Path) -> None:
    output = tmp_path / "mine"
    given = [data, "-o", output, "--backbone", backbone, *QUICK, "--set", "patience=0"]
    command = [sys.executable, "-c", "from test_commands_train import APP; APP()", *given, "--epochs", 2000]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])}
    process = subprocess.Popen([str(word) for word in command], env=environment, stderr=subprocess.PIPE, text=True)
    log = tmp_path / "mine.training" / "metrics.jsonl"
    deadline = time.monotonic() + 120
    while not (log.is_file() and '"step"' in log.read_text(encoding="utf-8")):
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.1)
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=120)
    assert process.returncode == 128 + signal.SIGTERM, said
    assert "--resume" in said
    assert (tmp_path / "mine.training" / "checkpoint.pt").is_file()
    assert not output.exists()
    assert "unfinished run" in refusal(*given)
    assert "other options" in refusal(*given, "--resume")
    more = write_documents(tmp_path / "more.jsonl", per_subject=9)
    assert "other options, data" in refusal(more, *given[1:], "--epochs", 2000, "--resume")


@pytest.mark.slow
def test_a_model_is_continued_with_its_head(data: Path, backbone: Path, tmp_path: Path) -> None:
    """The first epoch of the second run starts where the first run ended."""
    first, second = tmp_path / "first", tmp_path / "second"
    options = [*QUICK, "--no-combine", "--set", "patience=0"]
    assert colde(data, "-o", first, "--backbone", backbone, *options, "--set", "residual=none").exit_code == 0
    given = [*QUICK[:4], *QUICK[6:], "--no-combine", "--set", "patience=0"]
    result = colde(data, "-o", second, "--init", first, *given)
    assert result.exit_code == 0, result.output
    best = max(line["auc"] for line in journal(tmp_path / "first.training") if line["event"] == "validation")
    assert journal(tmp_path / "second.training")[0]["auc"] == pytest.approx(best)
    config = json.loads((second / "config.json").read_text(encoding="utf-8"))
    assert (config["projection"], config["residual"], config["backbone_name"]) == (16, "none", "tiny")
    card = (second / "README.md").read_text(encoding="utf-8")
    assert "first, before" in card


@pytest.fixture(scope="module", params=["post", "input"])
def start(request: pytest.FixtureRequest, backbone: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The weights, tokenizer and configuration of a trained model, and nothing else."""
    folder = tmp_path_factory.mktemp("starts")
    whole, data = folder / "whole", write_documents(folder / "data.jsonl")
    result = colde(data, "-o", whole, "--backbone", backbone, *QUICK, "--set", f"chunk_position={request.param}")
    assert result.exit_code == 0, result.output
    (folder / "start").mkdir()
    for name in ("model.safetensors", "tokenizer.json", "config.json"):
        (folder / "start" / name).write_bytes((whole / name).read_bytes())
    return folder / "start"


@pytest.mark.slow
def test_a_model_is_finished_without_training(
    start: Path, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its weights stay; graphs, lexicon, threshold and card are new. Only the documents of the pairs are encoded."""
    from safetensors.numpy import load_file

    monkeypatch.setattr("colde_cli.learning.colde_training._FINAL_SAMPLE", 3)
    judged = tmp_path / "pairs.jsonl"
    pairs = [("bees-0", "bees-1", 1), ("bees-0", "boats-0", 0)]
    judged.write_text("".join(json.dumps({"a": a, "b": b, "label": y}) + "\n" for a, b, y in pairs))
    given = ["--init", start, "--epochs", 0, "--chunk-tokens", 24, "--device", "cpu", "--validation", judged]
    result = colde(data, "-o", tmp_path / "finished", *given)
    assert result.exit_code == 0, result.output
    assert "best epoch" not in result.stdout
    before, after = (load_file(path / "model.safetensors") for path in (start, tmp_path / "finished"))
    assert before.keys() == after.keys()
    changed = [name for name, values in after.items() if not np.array_equal(values, before[name])]
    assert changed == ["head.center"]
    encoder = Encoder.load(tmp_path / "finished", device="cpu")
    assert encoder.config.chunk_tokens == 24
    assert encoder.config.threshold is not None
    assert (tmp_path / "finished" / "lexicon.npz").is_file()
    assert "Nothing was trained" in (tmp_path / "finished" / "README.md").read_text(encoding="utf-8")

    if encoder.config.chunk_position == "post":
        named = {item.id: item.document for item in read_data([data]).documents}
        tokenizer = (start / "tokenizer.json").read_text(encoding="utf-8")
        needed = chunk_documents([named[name] for name in ("bees-0", "bees-1", "boats-0")], tokenizer, 24)
        assert f"Encoding the chunks ({len(needed) + 3})" in result.stderr


@pytest.mark.slow
def test_a_student_is_taught_without_labels(
    start: Path, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It keeps the embeddings and one layer of two, whose weights change; the folder opens like any other."""
    from safetensors.numpy import load_file

    monkeypatch.setattr("colde_cli.learning.distillation._BATCHES", 4)
    given = ["--init", start, "--epochs", 2, "--batch-size", 4, "--device", "cpu", "--set", "patience=0"]
    options = [*given, "--validation", "0.4", "--set", "student_layers=1"]
    if open_folder(start).config.chunk_position == "input":
        assert "reads a chunk by itself" in refusal(data, "-o", tmp_path / "student", *options)
        return
    result = colde(data, "-o", tmp_path / "student", *options)
    assert result.exit_code == 0, result.output
    before, after = (load_file(path / "model.safetensors") for path in (start, tmp_path / "student"))
    words = "encoder.bert.embeddings.word_embeddings.weight"
    assert np.array_equal(before[words], after[words])
    layers = {name for name in after if ".encoder.layer." in name}
    assert {name.split(".layer.")[1].split(".")[0] for name in layers} == {"0"}
    encoder = Encoder.load(tmp_path / "student", device="cpu")
    assert encoder.config.backbone["num_hidden_layers"] == 1
    assert encoder.config.threshold is not None
    assert "needs --init" in refusal(data, "-o", tmp_path / "other", "--set", "student_layers=0,1", *given[2:])


def test_what_a_continued_model_cannot_change(start: Path, data: Path, backbone: Path, tmp_path: Path) -> None:
    given = [data, "-o", tmp_path / "mine", "--init", start]
    assert "projection 32" in refusal(*given, "--set", "projection=32")
    assert "--ablation no-lstm" in refusal(*given, "--ablation", "no-lstm")
    assert "leave out --backbone" in refusal(*given, "--backbone", backbone)
    assert "--init means nothing" in refusal(*given, "--system", "sbert")
    assert "no model" in refusal(*given[:3], "--init", tmp_path / "missing")


def test_weights_in_shards_give_the_same_model(start: Path, data: Path, tmp_path: Path) -> None:
    """A folder of shards, as Hugging Face writes them, opens and is a backbone like one with a single file."""
    from huggingface_hub import save_torch_state_dict

    shards = tmp_path / "shards"
    shards.mkdir()
    (shards / "config.json").write_bytes((start / "config.json").read_bytes())
    (shards / "tokenizer.json").write_bytes((start / "tokenizer.json").read_bytes())
    whole = load_colde(open_folder(start)).state_dict()
    save_torch_state_dict(whole, shards, max_shard_size="50kB")
    names = sorted(path.name for path in shards.glob("*.safetensors"))
    assert len(names) > 2
    split = load_colde(open_folder(shards)).state_dict()
    assert whole.keys() == split.keys()
    assert all(np.array_equal(whole[name], split[name]) for name in whole)
    assert load_backbone(str(shards)).weights.keys() == load_backbone(str(start)).weights.keys()
    (shards / names[1]).unlink()
    assert names[1] in refusal(data, "-o", tmp_path / "more", "--init", shards, *QUICK[:4])


@pytest.mark.parametrize("text", ["{", "[]", '{"weight_map": {}}', '{"weight_map": {"a": "../other"}}'])
def test_a_wrong_index_of_shards_is_named(text: str, tmp_path: Path) -> None:
    (tmp_path / "model.safetensors.index.json").write_text(text, encoding="utf-8")
    with pytest.raises(ColdeError, match=r"index\.json"):
        weight_files(tmp_path)


STAGES = """
data = ["set"]
backbone = "{backbone}"
batch-size = 8
set = ["projection=16", "patience=0"]

[[stage]]
name = "head"
freeze-backbone = true
epochs = 1

[[stage]]
epochs = {epochs}
set = ["projection=16", "patience=0", "trainable_layers=1"]
"""


def write_recipe(folder: Path, backbone: Path, epochs: int = 1) -> list[object]:
    """A labelled set, a recipe of two stages, and the words that call it in the folder."""
    folder.mkdir()
    write_labelled_set(folder / "set")
    stages = STAGES.format(backbone=backbone, epochs=epochs)
    (folder / "recipe.toml").write_text(stages, encoding="utf-8")
    return [".", "--recipe", "recipe.toml", "-o", "mine", "--device", "cpu"]


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals as POSIX has them")
def test_a_recipe_killed_in_a_stage_goes_on_to_the_same_bytes(
    backbone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    given = write_recipe(whole, backbone, epochs=4)
    monkeypatch.chdir(whole)
    result = colde(*given)
    assert result.exit_code == 0, result.output
    assert "Stage 1 of 2, head, begins." in result.stderr
    card = (whole / "mine" / "README.md").read_text(encoding="utf-8")
    assert "colde train set --recipe default --backbone" in card
    assert "| set | 48 |\n| validation pairs | 12 |" in card

    write_recipe(killed, backbone, epochs=4)
    command = [sys.executable, "-c", "from test_commands_train import APP; APP()", *map(str, given)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])}
    with subprocess.Popen(command, env=environment, cwd=killed, stderr=subprocess.PIPE, text=True) as process:
        saved = killed / "mine.training" / "checkpoint.pt"
        deadline = time.monotonic() + 120
        while not saved.is_file():
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.01)
        process.kill()
    assert not (killed / "mine").exists()
    monkeypatch.chdir(killed)
    assert "unfinished run" in refusal(*given)
    resumed = colde(*given, "--resume")
    assert resumed.exit_code == 0, resumed.output
    assert "Stage 1 of 2, head, is done." in resumed.stderr
    for name in ("mine.head", "mine"):
        assert contents(killed / name) == contents(whole / name)


@pytest.mark.slow
def test_what_a_recipe_refuses(backbone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = write_recipe(tmp_path / "run", backbone)
    monkeypatch.chdir(tmp_path / "run")
    assert "--epochs stands in the stages" in refusal(*given, "--epochs", 3)
    assert "give --recipe default, paper, shipped" in refusal(*given, "--recipe", "papers")
    for text, said in (
        ("epochs = 1", "no stages"),
        ("[[stage]]\nepochs = 1\n[[stage]]\nepochs = 1", "stage 1 needs a name"),
        ("[[stage]]\nepoch = 1", "'epoch', which it does not have"),
        ("[[stage]]\noutput = 'elsewhere'", "write or delete without being asked"),
        ("[[stage]]\ndata = 'set'", "data must be a list"),
    ):
        Path("recipe.toml").write_text(text, encoding="utf-8")
        assert said in refusal(*given)
    Path("mine.head").mkdir()
    Path("mine.head", "README.md").write_text("```\ncolde train other\n```", encoding="utf-8")
    Path("recipe.toml").write_text(STAGES.format(backbone=backbone, epochs=1), encoding="utf-8")
    assert "was not made by this recipe" in refusal(*given)
