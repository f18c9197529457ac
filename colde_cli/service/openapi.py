"""The description of the service for machines: the JSON schemas of the views, as parts of OpenAPI."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fastapi import FastAPI

SCHEMAS = ("colde.rank.1", "colde.diff.1")
_PROBLEM = {
    "type": "object",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string", "description": "One sentence."},
    },
}


def json_of(schema: str) -> dict[str, Any]:
    """The description of an answer of one of the schemas."""
    return {
        "description": "As `colde --format json` writes it.",
        "content": {"application/json": {"schema": {"$ref": f"#/components/schemas/{schema}"}}},
    }


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The descriptions of errors (RFC 9457)."""
    content = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {status: {"description": "The error in a sentence.", "content": content} for status in statuses}


def add_schemas(app: FastAPI) -> None:
    """Have the application describe itself with the schemas of the views."""
    described = app.openapi

    def openapi() -> dict[str, Any]:
        document: dict[str, Any] = described()
        parts = document.setdefault("components", {}).setdefault("schemas", {})
        parts["Problem"] = _PROBLEM
        for name in SCHEMAS:
            parts.setdefault(name, _schema(name))
        return document

    app.openapi = openapi


def _schema(name: str) -> dict[str, Any]:
    """A schema of the views, its inner references led through the document that holds it."""
    text = (files("colde_cli.views") / "schemas" / f"{name}.json").read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text.replace('"#/$defs/', f'"#/components/schemas/{name}/$defs/'))
    # With an $id, references would start at the schema, not at the document.
    return {key: value for key, value in schema.items() if key not in ("$id", "$schema")}
