"""Comparisons of texts written for a test: really aligned, by wording alone, with scores drawn by lot."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Any
from unittest.mock import patch

import html5lib
import numpy as np
from hypothesis import strategies as st
from lxml import html
from rich.cells import cell_len
from rich.text import Text

from colde_cli.documents.document import Chunk, Document, Part, Span, assemble
from colde_cli.documents.passages import Passage
from colde_cli.encoder.encoding import Encoding, OwnVectors, RuntimeInfo, Vectors
from colde_cli.scoring.score import ScorePart
from colde_cli.scoring.score_table import ScoreTable
from colde_cli.similarity.alignment import align
from colde_cli.similarity.comparison import Comparison, Scores
from colde_cli.views.output import Format, show

Section = tuple[str, str]
"""A heading and what stands under it."""

_WORDS = [
    *("the council shall not pay 58 dollars", "within 30 days", "A closing word.", "p. 3"),
    *("關係者は三十日以内に", "naïve café", "<b>bold</b>", "<script>x</script>", "<!-- ", "| a | b |"),
    *("`code`", "**strong** _em_ ~~gone~~", "# one", "1. two", "[link](javascript:x)"),
    *("![i](http://a.example/b)", "@octocat #12 GH-7", "$x$ and $y$", "=1+1", "\x1b[31mred\x07"),
    *("W" * 300, "數" * 120, "👩‍👩‍👧‍👦 family", "e\u0301\u0301\u0301", "\u202egnihton", "a\u200bb"),
    *("\\", '"', "- item", ";=2"),
]
words = st.lists(st.sampled_from(_WORDS) | st.text(max_size=12), min_size=1, max_size=8).map(" ".join)
headings = st.sampled_from(["", *_WORDS]) | st.text(max_size=60)
sections = st.lists(
    st.tuples(headings, st.lists(words, min_size=1, max_size=4).map("\n\n".join)), min_size=1, max_size=5
)


@st.composite
def hostile(draw: st.DrawFn) -> Comparison:
    """Two documents of hostile words with some paragraphs in common."""
    a = draw(sections)
    b = draw(st.permutations(a)) + draw(sections) if draw(st.booleans()) else draw(sections)
    # What nothing is left of would be a document without text.
    left, right = ([*side, ("Last", "The end.")] for side in (a, b))
    title, path = draw(words), draw(words)
    return compared(document(left, title, path), document(right, title, path))


def document(parts: Sequence[Section], title: str = "Title", path: str = "a.txt") -> Document:
    """A document of headings and texts."""
    return assemble(path, title, [Part(heading, text) for heading, text in parts])


def compared(a: Document, b: Document, score: float = 0.5) -> Comparison:
    """Two documents compared without a model, every section one chunk."""
    left, right = _encoded(a), _encoded(b)
    chance = np.random.default_rng(7)
    n, m = len(a.sections), len(b.sections)
    first, second = (
        ScoreTable(shape, [np.full(shape, 1 / max(1, shape[1]), np.float32)]) for shape in ((n, m), (m, n))
    )
    scores = chance.uniform(-1, 1, (2, n, m)).astype(np.float32)
    measured = Scores(
        document=score,
        parts=(ScorePart("colde", 0.4, score), ScorePart("words", 0.6, score)),
        probability=0.7,
        threshold=0.4,
        sections=ScoreTable((n, m), [scores[0]]),
        chunks=ScoreTable((n, m), [scores[1]]),
    )
    return Comparison(
        a=left,
        b=right,
        model=RuntimeInfo("by-hand", "fp32", "cpu"),
        measure=lambda: measured,
        attend=lambda: (first, second),
        same_content=a.text == b.text,
        alignment=align(a, b, None),
    )


def safe_table(result: object, width: int, *, coloured: bool = False, **options: Any) -> str:
    """A result as a table, of which no line is wider than the terminal or steers it."""
    env = {"COLUMNS": str(width), "TERM": "xterm-256color"} | ({"FORCE_COLOR": "1"} if coloured else {})
    with patch.dict(os.environ, env):
        text = show(result, **options)
    shown = Text.from_ansi(text).plain
    assert max(map(cell_len, shown.split("\n"))) <= width
    assert shows_as_stored(shown.replace("\n", ""))
    assert re.fullmatch(r"(?:\x1b\[[\d;]*m|[^\x1b])*" if coloured else r"[^\x1b]*", text)
    return text


def safe_page(result: object, **options: Any) -> Any:
    """A result as a valid HTML page that runs nothing and loads nothing."""
    page = show(result, Format.HTML, **options)
    html5lib.HTMLParser(strict=True).parse(page)
    tree = html.document_fromstring(page)
    assert not tree.xpath("//script | //iframe | //img | //link | //@style | //@src")
    assert not tree.xpath("//@*[starts-with(name(), 'on')]")
    return tree


def _encoded(of: Document) -> Encoding:
    chunks = tuple(Chunk(section.index, section.index, 0, section.span, (1, 2, 3)) for section in of.sections)
    vectors = np.ones((len(chunks), 4), np.float32)
    return Encoding(of, chunks, Vectors(vectors, vectors, OwnVectors(np.ones(4, np.float32), vectors)))


def shows_as_stored(text: str) -> bool:
    """Whether a text holds nothing that steers a terminal; joiners and marks act on their neighbours alone."""
    return "".join(sign for sign in text if sign not in "\u200c\u200d\u200e\u200f\u061c").isprintable()


def check_cover(document: Document, found: tuple[Passage, ...]) -> None:
    """Every letter of every body once, in order, under its section; perhaps its heading before it."""
    assert [passage.index for passage in found] == list(range(len(found)))
    for section in document.sections:
        own = [passage for passage in found if passage.section == section.index]
        start = section.span.start
        if own and own[0].span == Span(start, start + len(section.heading)):
            del own[0]
        ends = [section.body_start, *(passage.span.end for passage in own)]
        starts = [*(passage.span.start for passage in own), section.span.end]
        for end, start in zip(ends, starts, strict=True):
            assert end <= start
            assert not document.text[end:start].strip()
        for passage in own:
            text = document.text[passage.span.start : passage.span.end]
            assert text
            assert text == text.strip()
