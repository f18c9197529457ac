"""Every letter of a PDF's pages is in the body or in a text outside it."""

from __future__ import annotations

import re
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pdf_pages import Printed, printed, prose, words_of

from colde_cli.documents.document import Document
from colde_cli.documents.reading import read

SENTENCE = "The price is five euros."


def outside(document: Document) -> list[tuple[str, str]]:
    return [(text.kind.value, text.text) for text in document.outside]


@pytest.mark.parametrize("angle", [5, 45, 90, 180, 270])
def test_turned_text_is_outside(tmp_path: Path, angle: int) -> None:
    page = [*prose(1), Printed(300, 300, SENTENCE, angle=angle)]
    document = read(printed(tmp_path / "turned.pdf", page))
    assert outside(document) == [("rotated-text", SENTENCE)]
    assert "euros" not in document.text
    assert document.report.warnings == ()


def test_a_watermark_of_every_page_is_one_text(tmp_path: Path) -> None:
    pages = [[*prose(number), Printed(200, 300, "DRAFT", 60, angle=45)] for number in range(1, 4)]
    document = read(printed(tmp_path / "watermark.pdf", *pages))
    assert [(text.text, text.pages) for text in document.outside] == [("DRAFT", (1, 3))]


@pytest.mark.parametrize(
    "string",
    [
        Printed(300, 300, SENTENCE, mode=3),
        Printed(300, 300, SENTENCE, mode=7),
        Printed(700, 300, SENTENCE),
        Printed(300, -40, SENTENCE),
        Printed(300, 300, SENTENCE, 0.4),
    ],
    ids=["invisible", "clipping", "right of the page", "below the page", "tiny"],
)
def test_text_that_nobody_sees_is_outside(tmp_path: Path, string: Printed) -> None:
    document = read(printed(tmp_path / "hidden.pdf", [*prose(1), string]))
    assert outside(document) == [("hidden-text", SENTENCE)]
    assert document.report.warnings == ()


def test_the_text_layer_of_a_scan_is_the_body(tmp_path: Path) -> None:
    page = [Printed(one.x, one.y, one.text, mode=3) for one in prose(1)]
    document = read(printed(tmp_path / "scan.pdf", [*page, Printed(400, 30, "Received")]))
    assert document.outside == ()
    assert all(one.text.split()[3] in document.text for one in page)


def test_a_soft_hyphen_that_is_printed_is_a_hyphen(tmp_path: Path) -> None:
    page = [*prose(1), Printed(72, 300, "The parties re\xadsign in May, on the same day as before.")]
    assert "re-sign in May" in read(printed(tmp_path / "soft.pdf", page)).text


STRINGS = st.lists(
    st.tuples(
        st.integers(0, 39),  # row
        st.sampled_from((-300.0, 40.0, 120.0, 300.0, 520.0, 650.0)),  # left end
        st.sampled_from((0.4, 7.0, 10.0, 18.0)),  # size
        st.sampled_from((0, 0, 0, 0, 5, 45, 90, 180, 270)),  # angle
        st.sampled_from((0, 0, 0, 1, 3, 7)),  # mode
    ),
    min_size=1,
    max_size=12,
    unique_by=lambda one: one[0],
)


@settings(max_examples=60, deadline=None)
@given(st.lists(STRINGS, min_size=1, max_size=4), st.booleans())
def test_every_word_is_accounted_for(
    pages: list[list[tuple[int, float, float, int, int]]], numbered: bool
) -> None:
    """Words are different on all pages, but for a head; they are letters, so that none is a page number."""
    made, words = [], {"harbour"}
    for number, strings in enumerate(pages, 1):
        page = [*prose(number, rows=4), Printed(72, 815, "The harbour" + f" {number}" * numbered)]
        for row, x, size, angle, mode in strings:
            word = words_of(number * 100 + row)
            page.append(Printed(x, 20.0 + 16 * row, f"Some {word}q", size, angle, mode))
            words.add(f"{word}q")
        words |= {string.text.split()[3] for string in page[:4]}
        made.append(page)
    with TemporaryDirectory() as folder:
        document = read(printed(Path(folder) / "all.pdf", *made))
    everything = " ".join([document.text, *(text.text for text in document.outside)])
    assert words <= set(re.findall(r"[a-z]+", everything))
    assert document.report.warnings == ()
