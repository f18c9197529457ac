"""The page for people, made of templates; what documents and clients say is escaped by them."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from colde_cli.views.escaping import short
from colde_cli.views.html_page import templates
from colde_cli.views.wording import page_range, percent, plural, share_of_pairs

if TYPE_CHECKING:
    from jinja2 import Template


def shown(name: str, **values: Any) -> str:  # noqa: ANN401 - what the template takes
    """The page "search", before a search or after one, "login", which asks for the token, or "docs", of OpenAPI."""
    empty = {"error": "", "ranking": None, "k": 10}
    return _template(f"{name}.html").render(**{**empty, **values})


@cache
def _template(name: str) -> Template:
    environment = templates(Path(__file__).with_name("page"))
    environment.filters.update(
        short=short, pages=page_range, percent=percent, plural=plural, share_of_pairs=share_of_pairs
    )
    return environment.get_template(name)
