"""A page of blocks as HTML, and what all HTML pages share: style, security policy, and how a template is filled."""

from __future__ import annotations

from base64 import b64encode
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from colde_cli.views.blocks import Page, share_words
from colde_cli.views.changes import side_pieces
from colde_cli.views.escaping import harmless, short
from colde_cli.views.sentences import change_place
from colde_cli.views.wording import flag_words, page_range, pair_state, plural

if TYPE_CHECKING:
    from jinja2 import Environment, Template

_FOLDER = Path(__file__).with_name("templates")
_EDIT = 600
"""Maximum number of characters shown of an edit."""


def page_html(page: Page) -> str:
    """A page as one file without scripts; it loads nothing, and what documents say is escaped."""
    style = base_style("result.css")
    return _template().render(page=page, style=style, policy=content_policy(style))


@cache
def _template() -> Template:
    environment = templates()
    environment.finalize = lambda value: harmless(value) if type(value) is str else value
    environment.filters.update(
        flags=lambda change: flag_words(change.pair.flags) if change.pair.a and change.pair.b else [],
        kind=lambda block: getattr(block, "kind", type(block).__name__.removesuffix("Block").lower()),
        pages=page_range,
        place=lambda change: change_place(change.a, change.b, change.pair, change.passages),
        plural=plural,
        redline=lambda pair: side_pieces(pair, _EDIT),
        share_words=share_words,
        short=short,
        state=pair_state,
    )
    return environment.get_template("result.html")


def base_style(*others: str) -> str:
    """The style that all pages share (colours of both themes, type, text for screen readers only), and other sheets."""
    return "".join((_FOLDER / name).read_text(encoding="utf-8") for name in ("base.css", *others))


def content_policy(style: str, *scripts: str) -> str:
    """The content security policy of a page: this style, these scripts, and nothing else."""
    allowed = " ".join(_hash(script) for script in scripts) or "'none'"
    return f"default-src 'none'; style-src {_hash(style)}; script-src {allowed}; base-uri 'none'; form-action 'none'"


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def templates(folder: Path = _FOLDER) -> Environment:
    """The templates of a folder, and those of all views. What they show is escaped; a missing value is an error."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader([folder, _FOLDER]),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
