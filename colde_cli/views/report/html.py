"""The HTML report: gather its data, style and scripts, and fill the template."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from colde_cli.views.pages import base_style, content_policy, templates
from colde_cli.views.report.changes import STATE_LETTERS, changes, kind_counts, longest, weightiest
from colde_cli.views.report.heat import heat_maps, tables
from colde_cli.views.report.sides import sides
from colde_cli.views.report.summary import heads, summary

if TYPE_CHECKING:
    from colde_cli.similarity.comparison import Comparison


_FOLDER = Path(__file__).parent
_SCRIPTS = ("base", "panes", "links", "list", "detail", "maps", "start")
"""In the order of the page."""


def comparison_html(comparison: Comparison) -> str:
    """A comparison as one HTML page that holds its style, its scripts and both texts."""
    listed = changes(comparison)
    style, theme, script = _style(), _read("theme.js"), _script()
    return (
        templates(_FOLDER)
        .get_template("page.html")
        .render(
            style=style,
            theme=theme,
            script=script,
            policy=content_policy(style, theme, script),
            heads=heads(comparison),
            summary=summary(comparison),
            changes=listed,
            longest=longest(comparison, listed),
            kind_counts=kind_counts(listed),
            weightiest=weightiest(comparison, listed),
            maps=tables(comparison),
            sides=sides(comparison),
            data=_data(comparison),
        )
    )


def _data(comparison: Comparison) -> dict[str, Any]:
    """The data of the scripts: state and score in hundredths of every pair, and the maps."""
    pairs = comparison.passages
    return {
        "states": "".join(STATE_LETTERS[pair.state] for pair in pairs),
        "scores": [-1 if pair.score is None else round(100 * pair.score) for pair in pairs],
        **heat_maps(comparison),
    }


def _style() -> str:
    return base_style() + _read("style.css") + _read("text.css") + _read("print.css")


def _script() -> str:
    inner = "\n".join(_read(f"{name}.js") for name in _SCRIPTS)
    return f'(() => {{\n"use strict";\n{inner}}})();\n'


def _read(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8")
