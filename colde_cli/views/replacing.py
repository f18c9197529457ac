"""What stands for characters that the encoding of standard output does not have, by format."""

from __future__ import annotations

import codecs

from rich.cells import cell_len

# One sign for one, so that nothing is wider than before.
_DRAWN = dict(zip("━─┃│·•×…–—‐‑−→↔≥≤‘’“”«»", '=-||.*x~-----><><\'\'""""', strict=True))
_HANDLERS = {
    "table": "colde.drawn",
    "json": "colde.json",
    "markdown": "xmlcharrefreplace",
    "html": "xmlcharrefreplace",
}


def replacing(format: str) -> str:
    """The name of the error handler with which text of a format is to be encoded.

    Tables keep their width: what has no likeness in ASCII becomes question marks. JSON, Markdown and HTML have escapes
    of their own, so that nothing is lost; CSV takes those of Python.
    """
    return _HANDLERS.get(format, "backslashreplace")


def _drawn(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    missing = error.object[error.start : error.end]
    return "".join(_DRAWN.get(sign, "?" * cell_len(sign)) for sign in missing), error.end


def _json(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    units = error.object[error.start : error.end].encode("utf-16-be", "surrogatepass")
    escapes = (f"\\u{units[place : place + 2].hex()}" for place in range(0, len(units), 2))
    return "".join(escapes), error.end


codecs.register_error("colde.drawn", _drawn)
codecs.register_error("colde.json", _json)
