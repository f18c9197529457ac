"""`colde export`, from the command line to a graph that `colde diff` runs."""

from __future__ import annotations

import shutil
from importlib.util import find_spec
from pathlib import Path

import pytest
from command_line import OTHER, V1, check_trouble, run, run_json
from tiny_backbone import write_documents

pytestmark = pytest.mark.skipif(find_spec("torch") is None, reason="needs colde[train]")

Capture = pytest.CaptureFixture[str]
INT8 = "chunk_encoder_quantized.onnx"


@pytest.fixture
def copy(tmp_path: Path, model_folder: Path) -> Path:
    return shutil.copytree(model_folder, tmp_path / "copy")


def test_int8_without_text_is_refused_and_the_old_graph_stays(copy: Path, capsys: Capture) -> None:
    graph = copy / INT8
    before = graph.read_bytes()
    result = run(capsys, "export", copy, "--precision", "int8")
    check_trouble(result)
    assert "--calibration" in result.err
    assert graph.read_bytes() == before


@pytest.mark.slow
def test_a_trained_model_is_exported_and_diff_runs_it(
    backbone_folder: Path, tmp_path: Path, capsys: Capture, repository: Path
) -> None:
    from test_commands_train import QUICK

    data, folder = write_documents(tmp_path / "data.jsonl"), tmp_path / "mine\x1b[31m"  # would colour a terminal
    given = [data, "-o", folder, "--backbone", backbone_folder, *QUICK, "--epochs", "1", "--freeze-backbone"]
    assert run(capsys, "train", *given).status == 0
    result = run(capsys, "export", folder, "--precision", "fp32")
    assert result.status == 0
    assert result.out.startswith(rf"{tmp_path}/mine\x1b[31m/chunk_encoder.onnx")
    (folder / INT8).unlink()
    sources = ("--calibration", OTHER, "--calibration", repository / "examples" / "training.jsonl")
    assert run(capsys, "export", folder, "--precision", "int8", *sources).status == 0
    assert run(capsys, "models", folder, "--verify").status == 0
    scores = []
    for precision in ("fp32", "int8"):
        value = run_json(capsys, "diff", V1, OTHER, "--model", folder, "--precision", precision)
        assert value["model"]["precision"] == precision
        scores.append(value["document"]["score"])
    assert scores[0] == pytest.approx(scores[1], abs=0.02)
