"""Two processes learn what one would: the same gradients, one folder, one log."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from tiny_backbone import write_backbone, write_documents

from colde_cli.errors import OptionError
from colde_cli.learning.recipe import Recipe

if TYPE_CHECKING:
    import torch
    from tiny_colde import write_gradients

    from colde_cli.commands.train import Display
    from colde_cli.learning.colde_training import ColdeTraining
    from colde_cli.learning.processes import ALONE, Processes, join
    from colde_cli.learning.run import Job, train_model

pytestmark = pytest.mark.usefixtures("late_imports")

TESTS = Path(__file__).parent


def together(code: str, *arguments: object) -> list[subprocess.CompletedProcess[str]]:
    """Run Python code in two processes that know of each other, as a launcher starts them."""
    with socket.socket() as held:
        # Bound and not listening, it keeps the port for the two, who may bind it too.
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind(("127.0.0.1", 0))
        return _at_port(held.getsockname()[1], code, *arguments)


def _at_port(port: int, code: str, *arguments: object) -> list[subprocess.CompletedProcess[str]]:
    shared = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "OMP_NUM_THREADS": "1"}
    path = os.pathsep.join([str(TESTS), *sys.path])
    started = [
        subprocess.Popen(
            [sys.executable, "-c", code, *map(str, arguments)],
            env={**os.environ, **shared, "PYTHONPATH": path, "RANK": str(number), "LOCAL_RANK": str(number)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(2)
    ]
    try:
        said = [process.communicate(timeout=120) for process in started]
    finally:
        for process in started:
            process.kill()
    return [
        subprocess.CompletedProcess(process.args, process.returncode, *texts)
        for process, texts in zip(started, said, strict=True)
    ]


BOTH = """
import sys
from pathlib import Path
from colde_cli.learning.processes import join
from tiny_colde import write_gradients
processes = join("cpu")
for dropout in (0.0, 0.1):
    write_gradients(Path(sys.argv[1]) / f"{processes.number}-{dropout}.npz", dropout, processes)
del sys.argv[1]
from test_commands_train import APP
APP()
"""


@pytest.mark.slow
def test_two_processes_compute_the_gradients_of_one_and_write_one_model(tmp_path: Path) -> None:
    backbone, data = write_backbone(tmp_path / "tiny"), write_documents(tmp_path / "data.jsonl")
    output = tmp_path / "mine"
    options = "--epochs 1 --batch-size 8 --set projection=16 --validation 0.4 --device cpu".split()
    main, other = together(BOTH, tmp_path, data, "-o", output, "--backbone", backbone, *options)
    assert (main.returncode, other.returncode) == (0, 0), main.stderr + other.stderr
    write_gradients(tmp_path / "alone.npz", 0.0, ALONE)
    wanted = np.load(tmp_path / "alone.npz")
    for number in range(2):
        found = np.load(tmp_path / f"{number}-0.0.npz")
        assert set(found) == set(wanted)
        for name in set(wanted) - {"after"}:
            np.testing.assert_allclose(found[name], wanted[name], atol=1e-5, err_msg=name)
    first, second = (np.load(tmp_path / f"{number}-0.1.npz") for number in range(2))
    for name in first:
        assert np.array_equal(first[name], second[name]), f"{name} differs with dropout"
    assert not np.allclose(first["loss"], wanted["loss"])
    assert main.stdout.startswith(f"{output}: validation AUC ")
    assert (other.stdout, other.stderr) == ("", "")
    assert (output / "document_head.onnx").is_file()
    log = (tmp_path / "mine.training" / "metrics.jsonl").read_text(encoding="utf-8")
    assert [json.loads(line)["event"] for line in log.splitlines()].count("validation") == 2


def test_a_frozen_backbone_needs_no_company(tmp_path: Path) -> None:
    job = Job((tmp_path / "data.jsonl",), tmp_path / "mine", Recipe(freeze_backbone=True), "tiny")
    silent = Display(quiet=True)
    with pytest.raises(OptionError, match="without accelerate launch"):
        train_model(ColdeTraining(job, silent, Processes(1, 2, torch.device("cpu"))), bool)
    assert not list(tmp_path.iterdir())


def test_one_gpu_is_not_given_to_several(monkeypatch: pytest.MonkeyPatch) -> None:
    assert join("cuda:1") is ALONE
    monkeypatch.setenv("LOCAL_RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(OptionError, match="--device cuda"):
        join("cuda:1")
