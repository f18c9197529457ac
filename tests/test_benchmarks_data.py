"""The tables in benchmarks/results are whole, and its pages name each of them."""

from __future__ import annotations

import csv
import re
from pathlib import Path


def test_every_table_is_rectangular_with_a_header(repository: Path) -> None:
    tables = sorted((repository / "benchmarks" / "results" / "data").glob("*.csv"))
    assert tables
    for path in tables:
        with path.open(encoding="utf-8", newline="") as file:
            header, *rows = csv.reader(file)
        assert rows, path.name
        assert all(header), path.name
        assert len(set(header)) == len(header), path.name
        assert {len(row) for row in rows} == {len(header)}, path.name


def test_the_pages_link_every_table_and_no_other(repository: Path) -> None:
    pages = [path.read_text(encoding="utf-8") for path in (repository / "benchmarks" / "results").glob("*.md")]
    linked = {name for page in pages for name in re.findall(r"\(data/([^)]+)\)", page)}
    assert linked == {path.name for path in (repository / "benchmarks" / "results" / "data").glob("*.csv")}
