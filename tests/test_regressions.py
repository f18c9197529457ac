"""Inputs that once broke a reader: benchmarks/fuzz.py found them, and its targets read them again."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
INPUTS = ROOT / "tests" / "data" / "regressions"


def check(folder: Path) -> subprocess.CompletedProcess[str]:
    """In a process of its own: the targets put readers into their process that colde runs in others."""
    command = [sys.executable, str(ROOT / "benchmarks" / "fuzz.py"), "--check", str(folder)]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )


@pytest.mark.slow
def test_every_input_that_was_found_is_read_or_refused() -> None:
    assert len(list(INPUTS.glob("*/*"))) > 5
    found = check(INPUTS)
    assert found.returncode == 0, found.stdout + found.stderr


def test_what_breaks_a_target_is_told(tmp_path: Path) -> None:
    (tmp_path / "nothing").mkdir()
    (tmp_path / "nothing" / "input").write_bytes(b"x")
    found = check(tmp_path)
    assert found.returncode == 1
    assert "KeyError" in found.stdout + found.stderr
