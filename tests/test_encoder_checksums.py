"""Checksums of model folders: what was altered, lost or added is found, and nothing outside is touched."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import check_trouble, run

from colde_cli.encoder.checksums import check_folder, record_checksums
from colde_cli.errors import ModelError

Capture = pytest.CaptureFixture[str]
FILES = {"config.json": b"{}", "onnx/tower.onnx": bytes(300_000), "README.md": "Überblick\n".encode()}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of a model, as far as checksums look at it, as it was written."""
    path = tmp_path / "model"
    (path / "onnx").mkdir(parents=True)
    for name, content in FILES.items():
        (path / name).write_bytes(content)
    record_checksums(path)
    return path


def found(folder: Path) -> dict[str, tuple[str, ...]]:
    check = check_folder(folder)
    kinds = {"altered": check.altered, "missing": check.missing, "added": check.added}
    assert check.problems == sum(map(len, kinds.values()))
    return {kind: names for kind, names in kinds.items() if names}


def test_the_shipped_model_is_as_it_was_written(model_folder: Path) -> None:
    # After a change of its card: python docs/generate.py. Weights and graphs do not change by hand.
    assert found(model_folder) == {}


def test_a_folder_that_nobody_touched(folder: Path) -> None:
    check = check_folder(folder)
    assert (check.files, check.problems) == (len(FILES), 0)
    assert check.digest == hashlib.sha256((folder / "SHA256SUMS").read_bytes()).hexdigest()


@pytest.mark.skipif(shutil.which("sha256sum") is None, reason="needs sha256sum")
def test_another_program_reads_the_checksums(folder: Path) -> None:
    (folder / "a\\b\nc").write_bytes(b"odd")
    record_checksums(folder)
    done = subprocess.run(["sha256sum", "--strict", "-c", "SHA256SUMS"], cwd=folder, check=False)
    assert done.returncode == 0
    assert found(folder) == {}


@pytest.mark.parametrize("name", FILES)
def test_one_byte_that_changed_is_found(folder: Path, name: str) -> None:
    content = bytearray((folder / name).read_bytes())
    content[-1] ^= 1
    (folder / name).write_bytes(content)
    assert found(folder) == {"altered": (name,)}


def test_all_that_became_of_a_folder_is_named(folder: Path) -> None:
    (folder / "README.md").unlink()
    (folder / "onnx" / "other.onnx").write_bytes(b"graph")
    (folder / "config.json").write_bytes(b"{ }")
    (folder / ".git").mkdir()
    (folder / ".git" / "HEAD").write_bytes(b"main")
    assert found(folder) == {"altered": ("config.json",), "missing": ("README.md",), "added": ("onnx/other.onnx",)}


@pytest.mark.skipif(sys.platform == "win32", reason="named pipes and links")
def test_what_is_no_file_is_not_opened(folder: Path, tmp_path: Path) -> None:
    (folder / "config.json").unlink()
    os.mkfifo(folder / "config.json")
    os.mkfifo(folder / "pipe")
    (folder / "elsewhere").symlink_to(tmp_path)
    (folder / "README.md").unlink()
    (folder / "README.md").symlink_to("nowhere")
    assert found(folder) == {"altered": ("README.md", "config.json"), "added": ("elsewhere", "pipe")}


@pytest.mark.skipif(sys.platform == "win32", reason="links")
def test_a_link_to_the_same_content_is_the_same(folder: Path, tmp_path: Path) -> None:
    """Hugging Face's cache keeps models in such folders."""
    (folder / "config.json").rename(tmp_path / "blob")
    (folder / "config.json").symlink_to(tmp_path / "blob")
    assert found(folder) == {}


def test_what_is_written_anew_does_not_bless_the_rest(folder: Path) -> None:
    for name in ("config.json", "README.md"):
        (folder / name).write_bytes(b"changed")
    (folder / "onnx" / "tower.onnx").unlink()
    record_checksums(folder, ["config.json", "onnx/tower.onnx"])
    assert found(folder) == {"altered": ("README.md",)}


def test_a_folder_of_an_earlier_version_gets_all_checksums(folder: Path) -> None:
    (folder / "SHA256SUMS").unlink()
    with pytest.raises(ModelError, match="has no SHA256SUMS"):
        check_folder(folder)
    record_checksums(folder, ["config.json"])
    assert check_folder(folder).files == len(FILES)


ONE = "0" * 64


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "is cut off"), (f"{ONE}  config.json", "is cut off"), (f"{ONE}  \n", "damaged in line 1"),
        (f"{ONE} config.json\n", "damaged in line 1"), (f"{ONE[1:]}  config.json\n", "damaged in line 1"),
        (f"{ONE}  a\n{ONE}  a\n", "damaged in line 2"),
        (f"{ONE}  a\n{ONE}  ../README.md\n", "damaged in line 2"),
        (f"{ONE}  {Path('/etc/passwd').absolute()}\n", "damaged in line 1"),
        (f"{ONE}  onnx/../../README.md\n", "damaged in line 1"), (f"{ONE}  a\0b\n", "damaged in line 1"),
        (f"{ONE}  SHA256SUMS\n", "damaged in line 1"),
        (f"{ONE}  a\n" * 100_000, "is not a file of checksums"),
    ],
)  # fmt: skip
def test_checksums_of_a_stranger_are_read_with_care(folder: Path, content: str, said: str) -> None:
    (folder / "SHA256SUMS").write_text(content)
    with pytest.raises(ModelError, match=said):
        check_folder(folder)
    with pytest.raises(ModelError, match=said):
        record_checksums(folder, ["config.json"])
    assert (folder / "SHA256SUMS").read_text() == content


def test_the_command_says_what_changed(folder: Path, capsys: Capture) -> None:
    whole = run(capsys, "models", folder, "--verify")
    digest = check_folder(folder).digest
    assert (whole.status, whole.err) == (0, "")
    assert whole.out == f"{folder}: all 3 files are as colde wrote them (SHA256SUMS: {digest}).\n"
    (folder / "config.json").write_bytes(b"{")
    (folder / "README.md").unlink()
    (folder / "x\x1b[31m").write_bytes(b"")
    result = run(capsys, "models", folder, "--verify")
    assert (result.status, result.err) == (2, "")
    assert result.out.splitlines() == [
        "config.json was altered.", "README.md is missing.", r"x\x1b[31m was added.",
        f"{folder}: 3 files are not as colde wrote them; fetch or make the folder again.",
    ]  # fmt: skip


def test_the_command_in_json(folder: Path, capsys: Capture) -> None:
    (folder / "config.json").write_bytes(b"{")
    result = run(capsys, "models", folder, "--verify", "--format", "json")
    assert result.status == 2
    assert json.loads(result.out) == {
        "schema": "colde.model-check/1", "path": str(folder), "files": 3,
        "digest": check_folder(folder).digest, "altered": ["config.json"], "missing": [], "added": [],
    }  # fmt: skip


def test_names_that_are_none(capsys: Capture, tmp_path: Path) -> None:
    for arguments in (["--verify"], ["nonsuch", "--verify"], ["x" * 300, "--verify"], [tmp_path, "--verify"]):
        check_trouble(run(capsys, "models", *arguments))
    assert "There is no model 'nonsuch'" in run(capsys, "models", "nonsuch", "--verify").err
