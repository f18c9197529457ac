"""The title as printed: the largest words of the first page, checked against the file's metadata."""

from __future__ import annotations

import re
from collections.abc import Sequence

from colde_cli.documents.headings.choose import join_heading, squeeze
from colde_cli.documents.headings.scene import Scene
from colde_cli.documents.hyphenation import SOFT_HYPHEN
from colde_cli.documents.pdf.lines import Line, clean

_LARGER = 1.12
_LONGEST = 300
_NO_TITLE = re.compile(
    r"untitled|microsoft|^\W*$|\.(docx?|tex|dvi|pdf|indd|qxd|rtf|ps)$|[\\/]", re.IGNORECASE
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
    wordy = [line for line in lines if sum(letter.isalpha() for letter in line.text) >= 4]
    size = max((line.size for line in wordy), default=0.0)
    if size < _LARGER * body_size:
        return ""
    text, last = "", -1
    for index, line in enumerate(lines):
        if abs(line.size - size) > 0.6 or (text and index > last + 1):
            if text:
                break
            continue
        text, last = (join_heading(text, line.text) if text else line.text), index
    return text.replace(SOFT_HYPHEN, "")[:_LONGEST]
