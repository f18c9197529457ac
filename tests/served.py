"""The service over a small corpus, for its tests."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from command_line import EXAMPLES, ROOT, V1

from colde_cli.types import DocumentEncoder

ADDRESS = "http://127.0.0.1"
TITLE = "<img src=x onerror=alert(1)>"
HOSTILE = f"{TITLE} & notes.md"
"""A file name that is markup; Linux and macOS allow it."""
QUERY = b"# Pumps\n\nThe pump lifts water into the tower at night, when the valley is asleep and the well is full.\n"


def small_corpus(folder: Path) -> Path:
    """Two versions of a study, and notes whose name and title are markup."""
    folder.mkdir(exist_ok=True)
    for name in ("field-study-v1.pdf", "field-study-v2.pdf"):
        shutil.copy(EXAMPLES / name, folder)
    (folder / "notes").mkdir(exist_ok=True)
    (folder / "notes" / HOSTILE).write_text(f"# {TITLE}\n\nThe pump lifts water into the tower. {TITLE}\n")
    (folder / "broken.pdf").write_bytes(b"%PDF-1.7\nnothing follows")
    return folder


def client(folder: Path, encoder: DocumentEncoder, token: str | None = None, **limits: Any) -> Any:
    """A client of the service, which runs in this process."""
    pytest.importorskip("fastapi", reason="fastapi is not installed")
    pytest.importorskip("python_multipart", reason="python-multipart is not installed")
    pytest.importorskip("httpx2", reason="httpx2 is not installed")
    from fastapi.testclient import TestClient

    from colde_cli.service.corpus import ServedCorpus
    from colde_cli.service.guard import Access, Limits
    from colde_cli.service.http import create_app

    access = Access.of("127.0.0.1", token, ("papers.example",), Limits(**{"seconds": 120, **limits}))
    app = create_app(ServedCorpus(folder, encoder), access)
    return TestClient(app, base_url=ADDRESS, raise_server_exceptions=False, follow_redirects=False)


def study() -> tuple[str, bytes, str]:
    """The first version of the study as a file to send."""
    return ("study.pdf", Path(V1).read_bytes(), "application/pdf")


PATIENT = ("--timeout", "2m")
"""For requests that are to end well on a busy machine, too."""


@contextmanager
def running(place: Path | str, *options: str, **environment: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """A process of `colde serve`: its address, and the process."""
    for module in ("fastapi", "uvicorn", "python_multipart"):
        pytest.importorskip(module, reason=f"{module} is not installed")
    command = [sys.executable, "-m", "colde_cli", "serve", str(place), "--port", "0", "--device", "cpu"]
    process = subprocess.Popen(
        [*command, *options],
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUTF8": "1", **environment},
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
    assert process.stderr is not None
    try:
        said = ""
        for line in process.stderr:
            said += line
            if found := re.search(r"Serving .* at (\S+)/ ", line):
                yield found[1], process
                break
        else:
            pytest.fail(f"colde serve did not start: {said}")
    finally:
        process.terminate()
        try:
            process.communicate(timeout=120)  # also reads on: it may have more to say than a pipe holds
        finally:
            process.kill()
