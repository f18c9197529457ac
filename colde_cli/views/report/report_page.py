"""The HTML report: gather its data, style and scripts, and fill the template."""

from __future__ import annotations

from base64 import b64encode
from bisect import bisect_right
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from colde_cli.scoring.score_table import ScoreTable
from colde_cli.similarity.outside_changes import MOST_LISTED
from colde_cli.views.changes import not_listed, outside_rows, place_pieces, row_pieces
from colde_cli.views.escaping import short
from colde_cli.views.html_page import base_style, content_policy, templates
from colde_cli.views.report.overview import STATE_LETTERS, changes, heads, kind_counts, longest, summary, weightiest
from colde_cli.views.report.sides import heading_partners, sides
from colde_cli.views.sentences import told_outside
from colde_cli.views.wording import heading, page_range

if TYPE_CHECKING:
    from colde_cli.documents.passages import Passage
    from colde_cli.encoder.encoding import Encoding
    from colde_cli.similarity.comparison import Comparison


_FOLDER = Path(__file__).parent
_SCRIPTS = ("base", "panes", "links", "list", "detail", "redline", "folding", "maps", "print", "start")
"""The scripts, in the order of the page."""
MAX_LINES = 1000
_ROWS = 64  # lines of a map that are made at a time
"""Maximum number of rows or columns of a map; with more, a cell stands for several and shows their highest score."""


def comparison_html(comparison: Comparison, **_: object) -> str:
    """A comparison as one HTML page that holds its style, its scripts and both texts."""
    listed = changes(comparison)
    style = base_style() + "".join(map(_read, ("style.css", "text.css", "print.css")))
    inner = "\n".join(_read(f"{name}.js") for name in _SCRIPTS)
    theme, script = _read("theme.js"), f'(() => {{\n"use strict";\n{inner}}})();\n'
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
            typesetting=[place_pieces(place) for place in comparison.typesetting[:MOST_LISTED]],
            outside=[(row, row_pieces(row)) for row in outside_rows(told_outside(comparison))],
            outside_rest=not_listed(told_outside(comparison)),
            maps=heat_tables(comparison),
            sides=sides(comparison),
            data=_data(comparison),
        )
    )


def _data(comparison: Comparison) -> dict[str, Any]:
    """The data of the scripts: state and score in hundredths of every pair, partners of headings, and the maps."""
    pairs = comparison.passages
    return {
        "states": "".join(STATE_LETTERS[pair.state] for pair in pairs),
        "scores": [-1 if pair.score is None else round(100 * pair.score) for pair in pairs],
        "partners": heading_partners(comparison),
        **heat_maps(comparison),
    }


def _read(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8")


def heat_maps(comparison: Comparison) -> dict[str, Any]:
    """Both maps, and the section and first passage of each chunk."""
    alignment = comparison.aligned
    return {
        "sections": _map(comparison.scores.sections),
        "chunks": _map(comparison.scores.chunks),
        "places": [_places(comparison.a, alignment.a), _places(comparison.b, alignment.b)],
    }


def _map(scores: ScoreTable) -> dict[str, Any]:
    steps = [max(1, -(-count // MAX_LINES)) for count in scores.shape]
    cells = [np.zeros((0, -(-scores.shape[1] // steps[1])), np.uint8)]
    for start in range(0, scores.shape[0], steps[0] * _ROWS):
        block = np.rint(scores[start : start + steps[0] * _ROWS] * 100 + 100).clip(0, 200).astype(np.uint8)
        for axis, step in enumerate(steps):
            if step > 1:
                block = np.maximum.reduceat(block, np.arange(0, block.shape[axis], step), axis=axis)
        cells.append(block)
    held = np.concatenate(cells)
    return {
        "rows": held.shape[0],
        "columns": held.shape[1],
        "steps": steps,
        "cells": b64encode(held.tobytes()).decode(),
    }


def _places(encoding: Encoding, passages: Sequence[Passage]) -> dict[str, list[int]]:
    ends = [passage.span.end for passage in passages]
    last = max(0, len(passages) - 1)
    return {
        "section": [chunk.section for chunk in encoding.chunks],
        "passage": [min(last, bisect_right(ends, chunk.span.start)) for chunk in encoding.chunks],
    }


def heat_tables(comparison: Comparison) -> list[dict[str, Any]]:
    """Both maps as tables, for readers who see no picture or run no scripts; each row has ids in the page and names."""
    return [
        {
            "name": "sections",
            "title": "Sections",
            "about": "Highest where two sections share a passage or treat one subject.",
            "one": "section",
            "rows": _sections(comparison),
        },
        {
            "name": "chunks",
            "title": "Chunks",
            "about": "A chunk is a part of a section. Cosines of chunk vectors, raised where chunks share wording.",
            "one": "chunk",
            "rows": _chunks(comparison),
        },
    ]


def _sections(comparison: Comparison) -> list[dict[str, Any]]:
    scores = comparison.scores.sections
    if not scores.size:
        return []
    a, b = comparison.a.document.sections, comparison.b.document.sections
    return [
        {
            "a": (f"as{i}", short(heading(a[i]), 70)),
            "score": f"{score:.2f}",
            "b": (f"bs{j}", short(heading(b[j]), 70)),
        }
        for i, (j, score) in enumerate(zip(*scores.best()[0], strict=True))
    ]


def _chunks(comparison: Comparison) -> list[dict[str, Any]]:
    matches = comparison.matches_of_a() if comparison.scores.chunks.size else ()
    return [
        {
            "a": _chunk(comparison.a, match.chunk, "a"),
            "score": f"{match.score:.2f}",
            "b": _chunk(comparison.b, match.partner, "b"),
        }
        for match in matches
    ]


def _chunk(encoding: Encoding, index: int, side: str) -> tuple[str, str]:
    chunk = encoding.chunks[index]
    name = short(heading(encoding.document.sections[chunk.section]), 60)
    return f"{side}s{chunk.section}", ", ".join(part for part in (name, page_range(chunk.pages)) if part)
