"""The title as printed: the largest words of the first page, checked against the file's metadata."""

from __future__ import annotations

import re
from collections.abc import Sequence

from colde_cli.documents.headings.choose import join_heading, squeeze
from colde_cli.documents.headings.scene import Scene, largest_lines
from colde_cli.documents.hyphenation import SOFT_HYPHEN
from colde_cli.documents.pdf.lines import Line, clean

_LONGEST = 300
_NO_TITLE = re.compile(
    r"untitled|^document\W*\d*$|microsoft|^\W*$|\.(docx?|tex|dvi|pdf|indd|qxd|rtf|ps)$|[\\/]", re.IGNORECASE
)


def find_title(scene: Scene, metadata: str) -> str:
    """The printed title; the metadata's where none stands out and it looks like one; else ""."""
    first = [line for line in scene.lines if line.page == scene.lines[0].page] if scene.lines else []
    stated = clean(metadata)
    if len(squeeze(stated)) >= 8:
        printed = _printed(first, squeeze(stated))
        if printed:
            return printed
    largest = _largest(first, scene.body_size)
    if largest:
        return largest
    return "" if _NO_TITLE.search(stated) or len(stated) < 4 else stated


def _printed(lines: Sequence[Line], wanted: str) -> str:
    """The lines that spell a title known from the metadata."""
    for start, line in enumerate(lines):
        spelt, text = squeeze(line.text), line.text
        if not spelt or not wanted.startswith(spelt):
            continue
        for following in lines[start + 1 :]:
            if spelt == wanted or not wanted.startswith(spelt + squeeze(following.text)):
                break
            spelt, text = spelt + squeeze(following.text), join_heading(text, following.text)
        if spelt == wanted:
            return text.replace(SOFT_HYPHEN, "")
    return ""


def _largest(lines: Sequence[Line], body_size: float) -> str:
    """The run of lines in the largest type, if it is larger than the text."""
    text = ""
    for index in largest_lines(lines, body_size):
        text = join_heading(text, lines[index].title) if text else lines[index].title
    return text.replace(SOFT_HYPHEN, "")[:_LONGEST]
