"""Add highlights and an outline to PDFs with pypdf, as a script in a separate process; colde never imports it.

request   password, marks (look, quads, note), outline (title, place, entries), and the limits; for two files side
by side also `first`, the bytes of the first file, `sheets` (pairs of pages) and `names`
answer    JSON lines: `part`s of the new file in base64, then `end`; or `refused`
"""

from __future__ import annotations

import base64
import io
import json
import os
import sys
from typing import Any

sys.path.extend(json.loads(os.environ["COLDE_READER_PATH"]))

import pypdf
from pypdf.generic import NameObject

from colde_cli.documents.pdf.annotations import PageAnnotator
from colde_cli.documents.pdf.sheets import SheetWriter
from colde_cli.documents.worker import Request, send, serve_pypdf

Handle = Any  # an object of pypdf
_JUNK = 1 << 20  # bytes that may precede the file, such as the head of a mail
_PART = 3 << 18  # bytes of the file in a line of the answer, a multiple of three


def opened(request: Request, data: bytes) -> Handle:
    """Open the file with its password."""
    data = data[max(0, data.find(b"%PDF-", 0, _JUNK)) :]
    reader = pypdf.PdfReader(io.BytesIO(data), strict=False)
    if reader.is_encrypted and not reader.decrypt(request["password"] or ""):
        raise ValueError("password")
    return reader


def write(request: Request, data: bytes) -> None:
    """Send the file with its marks, or both files side by side with theirs."""
    if "sheets" in request:
        files = (data[: request["first"]], data[request["first"] :])
        readers = [opened(request, file) for file in files]
        encrypted = any(reader.is_encrypted for reader in readers)
        sheets = SheetWriter([page for reader in readers for page in reader.pages], request["names"])
        for sheet in request["sheets"]:
            sheets.add(*sheet)
        writer, marks, outline = sheets.finished(request["marks"], request["outline"])
    else:
        reader = opened(request, data)
        encrypted = reader.is_encrypted
        writer, marks, outline = pypdf.PdfWriter(clone_from=reader), request["marks"], request["outline"]
    annotator = PageAnnotator(writer)
    for number, mark in enumerate(marks):
        annotator.mark(number, mark)
    annotator.outline(outline)
    writer.root_object[NameObject("/PageMode")] = NameObject("/UseOutlines")
    if encrypted and request["password"]:
        writer.encrypt(request["password"], algorithm="AES-256")
    send_file(writer)


def send_file(writer: Handle) -> None:
    """Send a written file in parts."""
    written = io.BytesIO()
    writer.write(written)
    content = written.getbuffer()
    for start in range(0, len(content), _PART):
        send("part", data=base64.b64encode(content[start : start + _PART]).decode())
    send("end")


if __name__ == "__main__":
    serve_pypdf(write, "seconds")
