"""What all HTML pages share: colours and type, the content security policy, and how a template is filled."""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2 import Environment

_FOLDER = Path(__file__).with_name("templates")


def base_style() -> str:
    """The style that all pages share: colours of both themes, type, and text for screen readers only."""
    return (_FOLDER / "base.css").read_text(encoding="utf-8")


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


def plain_page(template: str, style_sheet: str, **values: Any) -> str:  # noqa: ANN401 - what the template shows
    """A page without scripts, made of two files in `templates/`; it loads nothing."""
    style = base_style() + (_FOLDER / style_sheet).read_text(encoding="utf-8")
    page = templates().get_template(template)
    return page.render(style=style, policy=content_policy(style), **values)
