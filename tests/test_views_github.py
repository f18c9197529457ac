"""Workflow annotations: no text of a document breaks out of its line, and places are those of the file."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hand_made import compared, document

from colde_cli.documents.reading import read
from colde_cli.similarity.comparison import Comparison
from colde_cli.views.github import SourceLines, comparison_annotations

COMMAND = re.compile(r"::(warning|notice) ((?:\w+=[^:,\r\n]*)(?:,\w+=[^:,\r\n]*)*)::([^\r\n]*)")


def test_two_different_texts_get_no_warnings(strangers: Comparison) -> None:
    (notice,) = comparison_annotations(strangers).splitlines()
    assert notice.startswith("::notice ")
    assert "Closest sections: 0." in notice
    assert "more change" not in notice


def test_signs_of_the_form_are_escaped() -> None:
    text = "Interest is 5%, due: {}, at noon. Nobody waits for it."
    a, b = (document([("One", text.format(day))], path="a,b:c.txt") for day in ("Monday", "5:00, 100%"))
    first = comparison_annotations(compared(a, b)).splitlines()[0]
    match = COMMAND.fullmatch(first)
    assert match
    assert match[2].startswith("file=a%2Cb%3Ac.txt,title=")
    assert "5%25, due: " in match[3]


MARKDOWN = """---
title: Supply
---

# Supply

The **supplier** shall deliver malt.

The supplier shall deliver malt.

## Price

The price of *malt* is
EUR 58 per tonne.
"""


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("The supplier shall", 7), ("shall deliver", 7), ("EUR 58", 14), ("tonne", 14), ("Price", 11),
    ],
)  # fmt: skip
def test_a_word_of_the_text_has_the_line_of_the_file(tmp_path: Path, words: str, line: int) -> None:
    path = tmp_path / "a.md"
    path.write_text(MARKDOWN)
    found = read(path)
    lines = SourceLines.of(found)
    assert lines is not None
    assert lines.line(found.text.index(words)) == line


def test_the_second_of_two_equal_sentences_has_its_own_line(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text(MARKDOWN)
    found = read(path)
    lines = SourceLines.of(found)
    assert lines is not None
    assert lines.line(found.text.rindex("The supplier shall")) == 9
    assert lines.line(len(found.text)) is None


def test_a_pdf_has_no_lines(field_study: Comparison) -> None:
    assert SourceLines.of(field_study.b.document) is None
