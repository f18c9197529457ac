"""Texts to the rows that a tower reads, by the name of its packing.

A packing is a pure function `(text, tokenizer, config) -> Rows` in a small file of its own, `packing_NAME.py`,
that knows nothing of PyTorch; it keeps to `config.row_tokens` and `config.max_rows`. A text without tokens gives
one row of padding. To add one: write the file, and a line in `PACKINGS`; it is imported when it is needed.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from colde_cli.documents.chunking import TextTokenizer
from colde_cli.documents.document import Document, Section
from colde_cli.encoder.towers.layout import TowerConfig
from colde_cli.encoder.towers.rows import Rows
from colde_cli.errors import ModelError

Packing = Callable[[str, TextTokenizer, TowerConfig], Rows]

PACKINGS = {
    "flat": "packing_flat:pack_flat",
    "blocks": "packing_blocks:pack_blocks",
    "sentences": "packing_sentences:pack_sentences",
    "trigrams": "packing_trigrams:pack_trigrams",
}


def packing(name: str, source: str) -> Packing:
    """The packing of this name; `source` names the model in errors.

    Raises:
        ModelError: this version has none of the name.
    """
    if name not in PACKINGS:
        raise ModelError(
            f"{source} packs texts as {name!r}, which this version does not know: upgrade colde."
        )
    module, _, function = PACKINGS[name].partition(":")
    found: Packing = getattr(import_module(f"colde_cli.encoder.towers.{module}"), function)
    return found


def document_text(document: Document) -> str:
    """What a tower reads of a document: the texts of its sections, a blank line between them."""
    return "\n\n".join(document.section_text(section) for section in document.sections)


def section_text(document: Document, section: Section) -> str:
    """The text of a section; for a bare heading with those of the sections under it."""
    bare = section.body_start >= section.span.end
    under = document.subsections(section) if bare else ()
    return "\n\n".join(document.section_text(part) for part in (section, *under))
