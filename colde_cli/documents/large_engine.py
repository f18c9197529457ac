"""Read a large file of text or Office in a process of its own; see `apart.py`."""

from __future__ import annotations

import io

from colde_cli.documents.apart import answer_with
from colde_cli.documents.reading import read_here
from colde_cli.documents.worker import Request


def answer(request: Request, data: bytes) -> None:
    """Read a file."""
    asked = (request["source"], request["name"])
    answer_with(lambda: read_here(request["format"], io.BytesIO(data), *asked, rejects=request["rejects"]))
