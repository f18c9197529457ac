"""Tell the changes that may be no more than a letter that OCR took for another.

None is dropped: an uncertain change is shown and counts. It only comes after those that are certain.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace

from colde_cli.documents.document import Document, Span
from colde_cli.similarity.pairs import PassagePair, in_document
from colde_cli.similarity.redline import Edit

_ALIKE = str.maketrans(
    {
        **dict.fromkeys("oöóòôQDΟо°º", "0"),
        **dict.fromkeys("lIi|!ì¡ıíL", "1"),
        **dict.fromkeys("sS$§", "5"),
        **dict.fromkeys("zZ", "2"),
        **dict.fromkeys("gq", "9"),
        **dict.fromkeys("bGóB", "8"),
        **dict.fromkeys(",;:·•'’‘`´\"“”„″′", "."),
        **dict.fromkeys("—–−‐‑~_一", "-"),
        **dict.fromkeys("uμµ", "u"),
        **dict.fromkeys("vVyY", "v"),
        **dict.fromkeys("cC(e", "c"),
        **dict.fromkeys("tf", "t"),
        "O": "0",
    }
)
_PAIRS = (("rn", "m"), ("nn", "m"), ("cl", "d"), ("vv", "w"), ("ii", "u"), ("11", "u"))
"""Letters that run together, after those that look alike are one."""
_RAISED = re.compile(r"[\^_](?:\(([^()]*)\))?")
"""How a text shows that letters are raised or lowered, which OCR does not see."""
_LIGATURES = re.compile("f+[il]+")
_BLANKS = re.compile(r"[\s-]+")


def with_readings(pairs: Sequence[PassagePair], a: Document, b: Document) -> list[PassagePair]:
    """Mark the pairs whose every edit may be a matter of reading."""
    if a.report.ocr is None and b.report.ocr is None:
        return list(pairs)
    marked = []
    for pair in pairs:
        doubted = bool(pair.edits) and all(_is_uncertain(pair, edit, a, b) for edit in pair.edits)
        marked.append(replace(pair, uncertain=True) if doubted else pair)
    return marked


def look_alike(a: str, b: str) -> bool:
    """Whether OCR may take words for others: the same but for letters that look alike, blanks, hyphens, faint signs."""
    return _form(a) == _form(b)


def _form(text: str) -> str:
    plain = _RAISED.sub(r"\1", unicodedata.normalize("NFKC", text)).replace("∗", "*")
    # A letter with another accent, or without, is the same letter.
    bare = "".join(sign for sign in unicodedata.normalize("NFKD", plain) if not unicodedata.combining(sign))
    for letters, one in _PAIRS:
        bare = bare.replace(letters, one)
    form = _BLANKS.sub("", _LIGATURES.sub("f", bare).translate(_ALIKE)).casefold()
    for letters, one in _PAIRS:
        form = form.replace(letters, one)
    return form.strip(".")  # the signs around words are so small that OCR loses them, and sees them in a speck


def _is_uncertain(pair: PassagePair, edit: Edit, a: Document, b: Document) -> bool:
    """Whether one of the words of an edit was read without certainty, or both sides look alike."""
    if look_alike(*pair.words_of(edit)):
        return True
    sides = ((a, pair.a, edit.a), (b, pair.b, edit.b))
    return any(len(span) and _is_doubtful(document, in_document(passages, span)) for document, passages, span in sides)


def _is_doubtful(document: Document, span: Span) -> bool:
    ocr = document.report.ocr
    if ocr is None:
        return False
    place = bisect_left(ocr.doubtful, (span.start, 0))
    near = ocr.doubtful[max(0, place - 1) : place + 1]
    return any(start < span.end and span.start < end for start, end in near)
