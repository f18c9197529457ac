"""Text of documents made harmless for where it is written: they are not ours, and may hold anything."""

from __future__ import annotations

import re

from colde_cli.views.wording import plain

_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "|": "&#124;", "$": "<span>$</span>"}
# A bar would end a cell even behind a backslash that is itself escaped; a dollar sign begins a formula on GitHub, which
# asks for a span around one that does not.
_TABLE = str.maketrans({**_ENTITIES, **{sign: f"\\{sign}" for sign in "\\`*_{}[]~^#"}})
# What begins a list, a rule or the underline of a heading where it begins a line.
_LEADING = re.compile(r"^(?:([-+=])(?=[\s=-]|$)|(\d+)([.)])(?=\s|$))")
# What GitHub and GitLab turn into a mention, a reference, a link or an emoji once Markdown is done with its escapes:
# an invisible blank in it is what holds them back.
_LIVE = re.compile(
    r"@(?=[\w-])|[#!&~%](?=\d)|\bGH(?=-\d)"  # a person, an issue
    r"|\b(?:https?|ftp|mailto|xmpp):(?=\S)|\bwww(?=\.)"  # an address
    r"|:(?=(?:100|1234|[\w+-]*[a-z_+-][\w+-]*):)"  # an emoji
    r"|(?P<commit>\b(?=[a-f]*\d)(?=\d*[a-f])[\da-f]{7,40}\b)",
    re.IGNORECASE,
)
_BREAK = "\N{ZERO WIDTH SPACE}"
_FORMULA = re.compile(r"[=+\-@\t\r\n＝＋－＠]")


def markdown(text: str) -> str:
    """Text on one line as it shall stand in a paragraph or a cell of GitHub Flavored Markdown, nothing in it alive.

    No emphasis, heading, list, HTML, link, image, formula, mention (`@name`), reference (`#12`) or emoji (`:smile:`)
    comes of it. What would become one only after Markdown is done has an invisible blank in it.
    """
    line = _LIVE.sub(_broken, plain(text))
    line = line.translate(_TABLE).replace(_BREAK, "&#8203;")
    return _LEADING.sub(lambda found: f"\\{found[1]}" if found[1] else f"{found[2]}\\{found[3]}", line)


def _broken(found: re.Match[str]) -> str:
    # Seven digits of a commit are enough for a link.
    parts = re.findall(".{1,6}", found[0]) if found["commit"] else [found[0], ""]
    return _BREAK.join(parts)


def spreadsheet(text: str) -> str:
    """Text on one line that no spreadsheet takes for a formula: an apostrophe stands before what begins like one.

    As OWASP asks for (CSV injection); quoting the cells is left to the writer.
    """
    line = plain(text)
    return f"'{line}" if _FORMULA.match(line) else line
