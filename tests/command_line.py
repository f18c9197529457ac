"""Runs the real command line: in this process where that is enough, in one of its own where it is not."""

from __future__ import annotations

import io
import json
import logging
import os
import subprocess
import sys
import warnings
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any
from unittest.mock import patch

import jsonschema
import pytest

from colde_cli.commands.app import main

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "examples"
V1, V2 = str(EXAMPLES / "field-study-v1.pdf"), str(EXAMPLES / "field-study-v2.pdf")
_LOG = logging.getLogger(__name__)
OTHER = str(EXAMPLES / "supply-agreement.pdf")


@dataclass(frozen=True)
class Run:
    """What a run of the command gave."""

    status: int | str | None
    out: str
    err: str


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> Run:
    """Run `colde` with these arguments in this process."""
    capsys.readouterr()
    with patch.object(sys, "argv", ["colde", *map(str, arguments)]), pytest.raises(SystemExit) as ended:
        main()
    captured = capsys.readouterr()
    # pytest shows this with a failure: an unexpected status says little without its sentence.
    _LOG.warning("colde %s: status %s %s", " ".join(map(str, arguments)), ended.value.code, captured.err)
    return Run(ended.value.code or 0, captured.out, captured.err)


def run_here(*arguments: object, stdin: bytes = b"", env: dict[str, str] | None = None, cwd: Path | None = None) -> Run:
    """Run `colde` in this process as `run_process` does in one of its own; what it sets in `os.environ` is undone."""
    with (
        TemporaryFile() as given,
        TemporaryFile() as shown,
        TemporaryFile() as said,
        io.TextIOWrapper(given) as read,
        io.TextIOWrapper(shown, "utf-8", "surrogateescape", write_through=True) as out,
        io.TextIOWrapper(said, "utf-8", "backslashreplace", write_through=True) as err,
        patch.dict(os.environ, env or {}),
        chdir(cwd or Path.cwd()),
        redirect_stdout(out),
        redirect_stderr(err),
        warnings.catch_warnings(action="default"),  # pytest makes errors of them
        patch.object(sys, "stdin", read),
        patch.object(sys, "argv", ["colde", *map(str, arguments)]),
    ):
        given.write(stdin)
        given.seek(0)
        with pytest.raises(SystemExit) as ended:
            main()
        for stream in (shown, said):
            stream.seek(0)
        return Run(ended.value.code or 0, shown.read().decode(), said.read().decode())


def run_json(capsys: pytest.CaptureFixture[str], *arguments: object) -> dict[str, Any]:
    """What a run writes as JSON."""
    value: dict[str, Any] = json.loads(run(capsys, *arguments, "--format", "json").out)
    return value


@cache
def schema_of(name: str) -> dict[str, Any]:
    """A schema of the views by its name, `colde.diff.2`."""
    schema: dict[str, Any] = json.loads((files("colde_cli.views") / f"schemas/{name}.json").read_text("utf-8"))
    return schema


def validate(value: object, name: str) -> None:
    """Check a value against a schema of the views."""
    jsonschema.Draft202012Validator(schema_of(name)).validate(value)


def run_process(
    *arguments: str | Path,
    stdin: bytes = b"",
    env: dict[str, str] | None = None,
    python: tuple[str, ...] = (),
    cwd: Path | None = None,
) -> Run:
    """Run `colde` with these arguments in a process of its own."""
    command = [sys.executable, *python, "-m", "colde_cli", *map(str, arguments)]
    done = subprocess.run(
        command,
        input=stdin,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUTF8": "1", **(env or {})},
        capture_output=True,
        check=False,
        cwd=cwd,
    )
    return Run(done.returncode, done.stdout.decode(), done.stderr.decode())


def run_python(code: str, *arguments: object) -> Run:
    """Run a program of Python in a process of its own."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return Run(done.returncode, done.stdout, done.stderr)


def check_trouble(result: Run) -> None:
    """Status 2, nothing on stdout, one sentence on stderr."""
    assert result.status == 2
    assert result.out == ""
    lines = result.err.splitlines()
    assert len(lines) == 1, result.err
    assert lines[0].startswith("Error: ")
    assert "Traceback" not in result.err
