"""The service under requests that are made up from its own description, right and wrong ones."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from served import PATIENT, running, small_corpus

pytest.importorskip("schemathesis", reason="schemathesis is not installed")


def test_no_made_up_request_breaks_the_service_or_its_description(tmp_path: Path) -> None:
    with running(small_corpus(tmp_path / "papers"), "--max-upload", "1MB", *PATIENT) as (address, _):
        done = subprocess.run(
            [
                *(sys.executable, "-m", "schemathesis.cli", "run", f"{address}/openapi.json"),
                *("--max-examples", "10", "--seed", "1", "--request-timeout", "120"),
                # A schema cannot say that a pair of fields excludes each other, nor that a form has no null.
                *("--exclude-checks", "positive_data_acceptance"),
            ],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stdout
    assert "Tested: 7" in done.stdout
