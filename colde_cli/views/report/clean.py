"""Text of documents made fit for HTML: what a page may not hold, or what would make it lie, is replaced."""

from __future__ import annotations

import re

from colde_cli.views.wording import shorten

_NONCHARACTERS = "".join(
    chr(plane + last) for plane in range(0, 0x110000, 0x10000) for last in (0xFFFE, 0xFFFF)
)
# Controls, halves of surrogate pairs and noncharacters are errors in HTML. An override of the direction of text
# (U+202D, U+202E) shows letters in an order in which they are not stored, so that a reader must see that there is one.
_FORBIDDEN = re.compile(
    f"[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\u202d\u202e{_NONCHARACTERS}]"
)
# Other marks of direction would reach beyond the words they stand in; every passage is isolated by itself.
_DROPPED = re.compile("[\u202a-\u202c\u2066-\u2069]")
_SPACE = re.compile("\r\n?|\x0c")


def harmless(text: str) -> str:
    """Text as a page may show it, line breaks kept; escaping is the template's work."""
    spaced = _SPACE.sub("\n", text)
    return _DROPPED.sub("", _FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", spaced))


def short(text: str, width: int) -> str:
    """Text on one line of at most `width` characters, as a page may show it."""
    return shorten(harmless(text[: 4 * width + 200]), width)
