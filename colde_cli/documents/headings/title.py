"""The title as printed: the largest words of the first page, or capitals at its head, and the file's metadata."""

from __future__ import annotations

import re
from collections.abc import Sequence

from colde_cli.documents.headings.choose import join_heading, squeeze
from colde_cli.documents.headings.scene import Scene, largest_lines
from colde_cli.documents.hyphenation import SOFT_HYPHEN
from colde_cli.documents.pdf.lines import Line, clean

_LONGEST = 300
_YEAR = re.compile(r"\b(19|20)\d\d\b")
# Lines of the first page among which a title may stand that is no larger than the text.
_HEAD = 12
_NO_TITLE = re.compile(
    r"untitled|^document\W*\d*$|microsoft|^\W*$|\.(docx?|tex|dvi|pdf|indd|qxd|rtf|ps)$|[\\/]", re.IGNORECASE
)


def find_title(scene: Scene, metadata: str) -> str:
    """The printed title; the metadata's where none stands out; a line of capitals at the head; else ""."""
    first = [line for line in scene.lines if line.page == scene.lines[0].page] if scene.lines else []
    stated = clean(metadata)
    if len(squeeze(stated)) >= 8:
        printed = _printed(first, squeeze(stated))
        if printed:
            return printed
    largest = _largest(first, scene.body_size)
    if largest:
        return largest
    return _capitals(first) if _NO_TITLE.search(stated) or len(stated) < 4 else stated


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


def _capitals(lines: Sequence[Line]) -> str:
    """The first lines in capitals of three words or more near the head of the page, as drafts and contracts have."""
    text = ""
    for line in lines[:_HEAD]:
        if line.title.isupper() and not _YEAR.search(line.title) and (text or _is_a_phrase(line.title)):
            text = join_heading(text, line.title) if text else line.title
        elif text:
            break
    return text.replace(SOFT_HYPHEN, "")[:_LONGEST]


def _is_a_phrase(text: str) -> bool:
    words = [word for word in text.split() if sum(letter.isalpha() for letter in word) >= 2]
    return len(words) >= 2 and sum(map(len, words)) >= 12


def _largest(lines: Sequence[Line], body_size: float) -> str:
    """The run of lines in the largest type, if it is larger than the text."""
    text = ""
    for index in largest_lines(lines, body_size):
        text = join_heading(text, lines[index].title) if text else lines[index].title
    return text.replace(SOFT_HYPHEN, "")[:_LONGEST]
