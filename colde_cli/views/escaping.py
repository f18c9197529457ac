"""Text of documents made safe for Markdown, CSV and HTML; documents may hold anything."""

from __future__ import annotations

import re

from colde_cli.views.wording import plain, shorten

_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "|": "&#124;", "$": "<span>$</span>"}
# A bar ends a cell even after an escaped backslash. GitHub takes a dollar sign for a formula unless it is in a span.
_TABLE = str.maketrans({**_ENTITIES, **{sign: f"\\{sign}" for sign in "\\`*_{}[]~^#"}})
# Signs that begin a list, a rule or the underline of a heading at the beginning of a line.
_LEADING = re.compile(r"^(?:([-+=])(?=[\s=-]|$)|(\d+)([.)])(?=\s|$))")
# GitHub and GitLab look for mentions, references, links and emoji after Markdown has removed its escapes; an invisible
# blank inside prevents that.
_LIVE = re.compile(
    r"@(?=[\w-])|[#!&~%](?=\d)|\bGH(?=-\d)"  # a person, an issue
    r"|\b(?:https?|ftp|mailto|xmpp):(?=\S)|\bwww(?=\.)"  # an address
    r"|:(?=(?:100|1234|[\w+-]*[a-z_+-][\w+-]*):)"  # an emoji
    r"|(?P<commit>\b(?=[a-f]*\d)(?=\d*[a-f])[\da-f]{7,40}\b)",
    re.IGNORECASE,
)
_BREAK = "\N{ZERO WIDTH SPACE}"
_FORMULA = re.compile(r"[=+\-@\t\r\n＝＋－＠]")


def visible(text: str, *, lines: bool = False) -> str:
    """Escape every character that could steer a terminal, as a backslash and a number."""
    if text.isprintable():
        return text
    kept = "\t\n" if lines else ""
    text = text.replace("\r\n", "\n") if lines else text
    return "".join(
        sign if sign.isprintable() or sign in kept else sign.encode("unicode_escape").decode() for sign in text
    )


def markdown(text: str) -> str:
    """Text on one line for a paragraph or a table cell of GitHub Flavored Markdown, with no markup in it.

    Nothing becomes emphasis, a heading, a list, HTML, a link, an image, a formula, a mention (`@name`), a reference
    (`#12`) or an emoji (`:smile:`). GitHub adds the last three after it has read Markdown; an invisible blank in the
    text prevents that.
    """
    line = _LIVE.sub(_broken, plain(text))
    line = line.translate(_TABLE).replace(_BREAK, "&#8203;")
    return _LEADING.sub(lambda match: f"\\{match[1]}" if match[1] else f"{match[2]}\\{match[3]}", line)


def _broken(match: re.Match[str]) -> str:
    # Seven digits of a commit are enough for a link.
    parts = re.findall(".{1,6}", match[0]) if match["commit"] else [match[0], ""]
    return _BREAK.join(parts)


def spreadsheet(text: str) -> str:
    """Put text on one line that no spreadsheet takes for a formula: one that begins like a formula gets an apostrophe.

    This follows OWASP (CSV injection); the writer quotes the cells.
    """
    line = plain(text)
    return f"'{line}" if _FORMULA.match(line) else line


_NONCHARACTERS = "".join(chr(plane + last) for plane in range(0, 0x110000, 0x10000) for last in (0xFFFE, 0xFFFF))
# Controls, halves of surrogate pairs and noncharacters are errors in HTML. An override of the direction of text
# (U+202D, U+202E) shows letters in another order than they are stored in; a reader must see it.
_FORBIDDEN = re.compile(f"[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\u202d\u202e{_NONCHARACTERS}]")
# Other marks of direction would affect text after them; every passage is isolated anyway.
_DROPPED = re.compile("[\u202a-\u202c\u2066-\u2069]")
_SPACE = re.compile("\r\n?|\x0c")


def harmless(text: str) -> str:
    """Text for an HTML page, with its line breaks; the template escapes it."""
    spaced = _SPACE.sub("\n", text)
    return _DROPPED.sub("", _FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", spaced))


def short(text: str, width: int) -> str:
    """Text on one line of at most `width` characters for an HTML page."""
    return shorten(harmless(text[: 4 * width + 200]), width)
