"""The engine of OCR with pages at which it ends: the second one while it is read, the third while it is drawn."""

from __future__ import annotations

import os

from colde_cli.documents.pdf import ocr_engine
from colde_cli.documents.worker import Request

_draw = ocr_engine.draw


def answer(request: Request, data: bytes) -> None:
    """Answer as the engine does, as far as it comes."""

    def draw(document: ocr_engine.Handle, form: ocr_engine.Handle, number: int) -> ocr_engine.Picture | None:
        if number == 3 or (number == 2 and request["task"] == "words"):
            os._exit(1)
        return _draw(document, form, number)

    ocr_engine.draw = draw
    ocr_engine.answer(request, data)
