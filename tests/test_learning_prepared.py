"""A file of prepared data: the same model as from the documents, without their text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tiny_backbone import SUBJECTS, write_backbone, write_documents

if TYPE_CHECKING:
    from test_commands_train import QUICK, colde, refusal

    from colde_cli.learning.backbone import load_backbone
    from colde_cli.learning.prepared import read_prepared

pytestmark = pytest.mark.usefixtures("late_imports")

PAIRS = [
    ("bees-0", "bees-1", 1), ("boats-0", "boats-1", 1), ("bees-0", "boats-0", 0), ("bees-1", "boats-1", 0),
]  # fmt: skip


END_TO_END = (
    *"--set hard_negatives=2 --set chunk_loss=0.5 --set batches=by-file".split(),
    *"--chunk-tokens 24 --precision bf16".split(),
)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Documents of three splits; one of the test split names one that trains."""
    path = write_documents(tmp_path / "data.jsonl")
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    for number, line in enumerate(lines):
        line["split"] = ("train", "train", "train", "validation", "validation", "test")[number % 6]
    lines[5]["related"] = ["bees-0"]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def judged(path: Path) -> Path:
    rows = [{"a": a, "b": b, "label": label} for a, b, label in PAIRS]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def files_of(folder: Path) -> dict[str, bytes]:
    """What a model folder holds, without the card, which names the command, and the checksum of the card."""
    found = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    for name in ("README.md", "SHA256SUMS"):
        found.pop(name)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("options", [["--freeze-backbone"], ["--set", "chunk_position=input"], END_TO_END])
def test_training_from_it_gives_the_same_bytes(
    data: Path, backbone_folder: Path, tmp_path: Path, options: list[str]
) -> None:
    given = ["--backbone", backbone_folder, *QUICK, "--epochs", "1", *options]
    sources = ["--pairs", judged(tmp_path / "more.jsonl")]
    prepared = tmp_path / "run.npz"
    assert colde(data, *given, *sources, "-o", tmp_path / "direct").exit_code == 0
    assert str(prepared) in colde(data, *given, *sources, "--prepare", prepared).stdout
    assert colde(prepared, *given, "-o", tmp_path / "elsewhere").exit_code == 0
    direct, elsewhere = files_of(tmp_path / "direct"), files_of(tmp_path / "elsewhere")
    assert direct.keys() == elsewhere.keys()
    assert [name for name in direct if direct[name] != elsewhere[name]] == []


@pytest.mark.slow
def test_a_run_goes_on_from_the_prepared_data(data: Path, backbone_folder: Path, tmp_path: Path) -> None:
    """The digest of a run does not depend on where its tokens came from."""
    given = ["--backbone", backbone_folder, *QUICK, "-o", tmp_path / "mine", "--freeze-backbone"]
    assert colde(data, *given, "--max-time", "0.000001s").exit_code == 124
    assert colde(data, *QUICK, "--backbone", backbone_folder, "--prepare", tmp_path / "run.npz").exit_code == 0
    assert colde(tmp_path / "run.npz", *given, "--resume").exit_code == 0


def test_it_holds_tokens_and_judged_pairs_but_no_text(data: Path, backbone_folder: Path, tmp_path: Path) -> None:
    prepared = tmp_path / "run.npz"
    pairs = judged(tmp_path / "judged.jsonl")
    options = ["--backbone", backbone_folder, "--validation", pairs]
    assert colde(data, *options, "--prepare", prepared).exit_code == 0
    again = tmp_path / "again.npz"
    assert colde(data, *options, "--prepare", again).exit_code == 0
    assert prepared.read_bytes() == again.read_bytes()

    loaded = read_prepared(prepared, load_backbone(str(backbone_folder)))
    assert loaded.tokens is not None
    assert loaded.validation is not None
    assert [(pair.a, pair.b, pair.related) for pair in loaded.validation.pairs] == PAIRS
    numbers = loaded.data.numbers()
    assert "bees-3" in numbers
    assert "bees-5" not in numbers, "a document of the test split"
    with np.load(prepared) as arrays:
        assert arrays["ids"].dtype == np.uint16
        about = arrays["about"].tobytes().decode()
    assert not any(word in about.replace("bees-", "") for word in SUBJECTS["bees"])


def rewritten(path: Path, to: Path, **changes: Any) -> Path:
    """A prepared file whose description says something else."""
    with np.load(path) as arrays:
        held = dict(arrays)
    about = {**json.loads(held.pop("about").tobytes()), **changes}
    np.savez(to, about=np.frombuffer(json.dumps(about).encode(), np.uint8), **held)
    return to


def test_what_is_refused(data: Path, backbone_folder: Path, tmp_path: Path) -> None:
    output = ["-o", tmp_path / "mine", *QUICK]
    given = [*output, "--backbone", backbone_folder]
    prepared = tmp_path / "run.npz"
    assert colde(data, "--backbone", backbone_folder, "--prepare", prepared).exit_code == 0
    other = write_backbone(tmp_path / "masked", mask=True)
    assert "another" in refusal(prepared, *output, "--backbone", other)
    newer = rewritten(prepared, tmp_path / "newer.npz", format="colde.tokens/9")
    assert "colde.tokens/9" in refusal(newer, *given)
    (tmp_path / "short.npz").write_bytes(prepared.read_bytes()[:2000])
    assert "damaged" in refusal(tmp_path / "short.npz", *given)
    np.savez(tmp_path / "strange.npz", numbers=np.arange(3))
    assert "prepare it again" in refusal(tmp_path / "strange.npz", *given)
    assert "alone" in refusal(prepared, data, *given)
    assert "--system colde" in refusal(prepared, "-o", tmp_path / "mine", "--system", "dssm")
    assert "--system colde" in refusal(data, "--prepare", tmp_path / "x.npz", "--system", "dssm")
    assert "--output" in refusal(data)
    assert "--prepare" in refusal(data, *given, "--prepare", tmp_path / "x.npz")
    assert "another file for --prepare" in refusal(data, "--backbone", backbone_folder, "--prepare", data)
    assert "cannot be written" in refusal(data, "--backbone", backbone_folder, "--prepare", tmp_path / "no" / "x.npz")
    assert not list(tmp_path.glob("mine*"))
