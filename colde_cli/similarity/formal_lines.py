"""Find the lines that only name a document: its title, version and date on the cover, and page numbers.

That such a line changed says nothing: every version has another one. So it has no flag and comes last. The date from
which a contract holds is no such line.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from colde_cli.documents.document import BLANK_LINES, Document
from colde_cli.documents.passages import Passage
from colde_cli.similarity.genre import Genre
from colde_cli.similarity.numbers import DATE
from colde_cli.similarity.pairs import PassagePair, State

_LINE = 12
"""Maximum number of words of a line."""
_SENTENCE, _SENTENCE_ENDS = 20, 6
"""The first paragraph of more words ends the cover; of more words and with a full stop."""
_COVER = 3000
"""Maximum number of characters of a cover."""
# A number by itself may be the cell of a table.
_PAGE = re.compile(
    r"\W*(?:page|seite|página|p\.)\s*\d{1,4}(?:\s*(?:of|von|sur|de|/)\s*\d{1,4})?\W*|[-–—]\s*\d{1,4}\s*[-–—]",
    re.IGNORECASE,
)
_VALUE = re.compile(rf"(?:{DATE})|\b[vr]?\d+(?:[.\-/]\w+)*\b|\b(?:19|20)\d\d\b", re.IGNORECASE)
_STAMP = frozenset(
    "version versions v draft revision revised rev edition release released date dated last updated update modified as"
    " of from on the status published issued copyright final no number document doc ref reference"
    " fassung entwurf ausgabe datum vom stand letzte änderung aktualisiert"
    " projet édition du le dernière mise à jour versión borrador edición fecha del de última actualización".split()
)
_IN_FORCE = frozenset(
    "effective force in valid since gültig ab seit kraft vigueur en vigente vigor desde entrada".split()
)
"""Words of a date from which a policy holds."""
_BEGINS = re.compile(
    r"\W*(?:last|effective|version|updated|revised|stand|fassung|dernière|última|gültig|vigente)\b", re.IGNORECASE
)


def without_formal(pairs: Sequence[PassagePair], a: Document, b: Document, kind: Genre) -> list[PassagePair]:
    """Mark the pairs of lines that only name the documents, and take their flags."""
    covers = _cover(a), _cover(b)
    titles = _plain(a.title), _plain(b.title)
    return [
        replace(pair, flags=(), formal=True)
        if pair.state is not State.SAME and _is_formal(pair, covers, titles, kind)
        else pair
        for pair in pairs
    ]


def _is_formal(pair: PassagePair, covers: tuple[int, int], titles: tuple[str, str], kind: Genre) -> bool:
    sides = [
        (text, passages, cover, title)
        for text, passages, cover, title in (
            (pair.a_text, pair.a, covers[0], titles[0]),
            (pair.b_text, pair.b, covers[1], titles[1]),
        )
        if passages
    ]
    if any(len(text.split()) > _LINE for text, *_ in sides):
        return False
    if all(_PAGE.fullmatch(text) for text, *_ in sides):
        return True
    on_cover = all(_starts(passages) < cover for _, passages, cover, _ in sides)
    if on_cover and all(_plain(text) == title for text, _, _, title in sides):
        return True
    anywhere = kind in (Genre.POLICY, Genre.TEXT) and all(_BEGINS.match(text) for text, *_ in sides)
    return (on_cover or anywhere) and all(_is_stamp(text, kind) for text, *_ in sides)


def _starts(passages: Sequence[Passage]) -> int:
    return passages[0].span.start


def _is_stamp(text: str, kind: Genre) -> bool:
    """Whether a line has nothing but a version or date, and words such as "Draft of"."""
    rest, values = _VALUE.subn(" ", text)
    allowed = _STAMP if kind is Genre.CONTRACT else _STAMP | _IN_FORCE
    return values > 0 and {word.casefold() for word in re.findall(r"[^\W\d_]+", rest)} <= allowed


def _cover(document: Document) -> int:
    """The number of characters of the cover; 0 where no paragraph follows it."""
    start = 0
    for end in [*(match.start() for match in BLANK_LINES.finditer(document.text[:_COVER])), len(document.text)]:
        words = document.text[start:end].split()
        if len(words) > _SENTENCE or (len(words) > _SENTENCE_ENDS and words[-1].endswith(".")):
            return start
        start = end
    return 0


def _plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))
