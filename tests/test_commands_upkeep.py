"""models, cache and doctor through Typer."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from colde_cli.commands import cache, doctor, models
from colde_cli.encoder.vector_cache import Cache
from colde_cli.errors import ModelError

app = typer.Typer()
app.command("models")(models.models)
app.command("doctor")(doctor.doctor)
app.add_typer(cache.app, name="cache")
runner = CliRunner()


def run(*arguments: str, status: int = 0) -> str:
    result = runner.invoke(app, arguments, env={"COLUMNS": "200", "NO_COLOR": "1"})
    assert result.exit_code == status, result.output
    return re.sub(r"\x1b\[[0-9;]*m", "", result.output)


def test_models_lists_the_shipped_one() -> None:
    listed = json.loads(run("models", "--format", "json"))
    (shipped,) = [item for item in listed["models"] if item["name"] == "colde-minilm-l6"]
    assert shipped["system"] == "colde"
    assert "int8" in shipped["precisions"]
    assert "colde-minilm-l6" in run("models")


def test_models_describes_one() -> None:
    described = json.loads(run("models", "colde-minilm-l6", "--format", "json"))
    assert described["config"]["backbone"]["hidden_size"] == 384
    assert "colde-minilm-l6" in run("models", "colde-minilm-l6")


def test_models_folder_from_the_environment(
    tmp_path: Path, model_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    source = model_folder / "config.json"
    (folder / "config.json").write_text(source.read_text())
    monkeypatch.setenv("COLDE_MODELS", str(tmp_path))
    assert json.loads(run("models", "--format", "json"))["models"][0]["name"] == "mine"


HOSTILE = "x\x1b]52;c;eA==\x07\x1b]8;;http://a.example\x1b\\[/red][bold]"


def model(folder: Path, source: Path, **changed: object) -> Path:
    """A folder with the configuration of a model, changed."""
    folder.mkdir(parents=True)
    values = json.loads((source / "config.json").read_text()) | changed
    (folder / "config.json").write_text(json.dumps(values))
    return folder


def test_what_a_model_says_reaches_the_terminal_as_text(
    tmp_path: Path, model_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = model(tmp_path / "a[red]\x1b]8;;b", model_folder, backbone_name=HOSTILE)
    (folder / "README.md").write_text(f"# Card\n\n{HOSTILE} [link](http://a.example)\n")
    monkeypatch.setenv("COLDE_MODELS", str(tmp_path))
    for arguments in (("models",), ("models", str(folder)), ("doctor", "--model", str(folder))):
        result = runner.invoke(app, arguments, env={"COLUMNS": "400", "FORCE_COLOR": "1"})
        assert result.exit_code == (arguments[0] == "doctor"), result.output
        assert not re.search(r"\x1b[^\[]|\x07", result.output)
        assert r"\x1b]8;;b" in result.output
        assert "a[red]" in result.output


def test_bad_folders_do_not_hide_the_good_ones(
    tmp_path: Path, model_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken: dict[str, dict[str, object]] = {
        "backbone": {"backbone_name": 3}, "calibrated": {"calibration": "none"}, "combined": {"score_weights": [1]},
        "kind": {"model_type": HOSTILE}, "late": {"format": "2"}, "packed": {"packing": 3, "model_type": "colde"},
        "threshold": {"threshold": "[/red]"},
    }  # fmt: skip
    for name, changed in broken.items():
        model(tmp_path / name, model_folder, **changed)
    for name, content in (("json", b"{"), ("deep", b"[" * 100_000), ("bytes", b"\xff\xfe")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_bytes(content)
    model(tmp_path / "good", model_folder)
    monkeypatch.setenv("COLDE_MODELS", str(tmp_path))
    result = runner.invoke(app, ["models", "--format", "json"])
    listed = [item["name"] for item in json.loads(result.stdout)["models"]]
    assert "good" in listed
    assert not {*broken, "json", "deep", "bytes"} & set(listed)
    assert result.exit_code == 0
    lines = result.stderr.splitlines()
    assert len(lines) == len(broken) + 3
    assert all(line.startswith("Warning: ") and str(tmp_path) in line for line in lines)
    assert "\x1b" not in result.stderr
    for name in (*broken, "json", "deep", "bytes"):
        assert isinstance(runner.invoke(app, ["models", str(tmp_path / name)]).exception, ModelError)


def test_cache_commands(own_cache: None) -> None:
    with Cache.open() as kept:
        kept.put({b"key": bytes(10_000)})
        path = kept.path
    assert run("cache", "path").strip() == str(path)
    assert run("cache", "size").startswith("1 items")
    assert run("cache", "clear").startswith("Freed")
    assert not path.exists()


def test_clearing_the_cache_deletes_nothing_of_others(own_cache: None, tmp_path: Path) -> None:
    theirs = tmp_path / "own cache" / "mine" / "p.txt"
    theirs.parent.mkdir(parents=True)
    theirs.write_text("Keep me.")
    run("cache", "clear")
    assert theirs.read_text() == "Keep me."
    assert run("cache", "size").startswith("0 items")


def test_doctor_finds_a_working_model() -> None:
    findings = {item["topic"]: item for item in json.loads(run("doctor", "--format", "json"))["findings"]}
    assert findings["self-test"]["result"] == "works"
    assert "int8 on cpu" in findings["runs"]["result"] or "cuda" in findings["runs"]["result"]


def test_doctor_says_what_is_wrong(tmp_path: Path) -> None:
    assert "is not a model" in run("doctor", "--model", str(tmp_path), status=1)
