"""Read a large file of text or Office in a process of its own.

request   format, source (the path, for messages), name, and the limits
answer    one JSON line: `document` (document), or `refused` (error: the class, text)
"""

from __future__ import annotations

import io

from colde_cli.documents.document import document_header
from colde_cli.documents.reading import read_here
from colde_cli.documents.worker import Request, write
from colde_cli.errors import DocumentError


def answer(request: Request, data: bytes) -> None:
    """Read a file."""
    try:
        document = read_here(request["format"], io.BytesIO(data), request["source"], request["name"])
    except DocumentError as error:
        write("refused", error=type(error).__name__, text=str(error))
    else:
        write("document", document=document_header(document, document.title))
