"""What every script here does: read its command line and its documents, and say on which machine it ran."""

from __future__ import annotations

import argparse
import os
import platform
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from colde_cli.documents.document import Document, Part, assemble
from colde_cli.evaluation.data import json_lines

ROOT = Path(__file__).resolve().parent.parent


def arguments(page: str | None, *places: str, **defaults: Any) -> Any:  # noqa: ANN401 - of any type
    """Read the command line.

    Args:
        page: the docstring of the script, which `--help` prints.
        places: names of the paths that must be given; one that ends in "..." takes several, in "?" none or several.
        defaults: of the options. False makes a switch, a list takes several values, a tuple lists all choices, the
            first being the default; a type alone is that of an option which is None if it is not given.
    """
    parser = argparse.ArgumentParser(description=page, formatter_class=argparse.RawDescriptionHelpFormatter)
    for place in places:
        several = {"...": "+", "?": "*"}.get(place.lstrip("abcdefghijklmnopqrstuvwxyz_"))
        parser.add_argument(place.rstrip(".?"), type=Path, nargs=several)
    for name, default in defaults.items():
        options: dict[str, Any] = {"default": default, "type": type(default)}
        if default is False:
            options = {"action": "store_true"}
        elif isinstance(default, type):
            options = {"type": default}
        elif isinstance(default, list):
            options |= {"nargs": "+", "type": type(default[0])}
        elif isinstance(default, tuple):
            options = {"default": default[0], "choices": default}
        parser.add_argument(f"--{name.replace('_', '-')}", **options)
    return parser.parse_args()


def machine() -> str:
    """The processor by its name, its cores and load, and the version of Python."""
    info = Path("/proc/cpuinfo")
    names = [line for line in info.read_text().splitlines() if "model name" in line] if info.exists() else []
    processor = names[0].partition(":")[2].strip() if names else platform.processor() or platform.machine()
    load = f", load {os.getloadavg()[0]:.1f} at the start" if hasattr(os, "getloadavg") else ""
    return f"{processor}, {os.cpu_count()} cores, Python {platform.python_version()}{load}"


def records(folder: Path, name: str = "docs") -> Iterator[dict[str, Any]]:
    """The rows of a labelled set (docs/training-data.md): its documents, "pairs" or "section_diffs"."""
    return (row for _, row in json_lines(folder / f"{name}.jsonl.gz"))


def document_of(record: Mapping[str, Any]) -> Document:
    """A row of a set as a document."""
    parts = [Part(section["heading"], section["text"]) for section in record["sections"]]
    return assemble(record["id"], record.get("title", ""), parts)


def word_count(record: Mapping[str, Any]) -> int:
    """The words of a row's sections, without their headings."""
    return sum(len(section["text"].split()) for section in record["sections"])
