"""Tests of redlines of Word files that have tracked changes already: they stay, with author and date."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any

import docx
import pytest
from command_line import run
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls, qn
from hypothesis import given, settings
from hypothesis import strategies as st
from test_documents_office_odt_changes import END, Item, items, texts

import colde_cli
from colde_cli.documents.outside import Tracked
from colde_cli.similarity.alignment import align
from colde_cli.views.word.earlier import resolve
from colde_cli.views.word.tracked_file import Authorship, WordRedline, redline_docx

ANN = 'w:author="Ann" w:date="2025-05-01T10:00:00Z"'


def word_file(path: Path, listed: list[Item]) -> Path:
    """A Word file with changes by Ann."""
    file = docx.Document()
    body, runs = "", ""
    for number, (what, how) in enumerate([("first ", "kept"), *listed, ("last", "kept"), (END, "kept")]):
        mark = f'<w:{how} w:id="{number}" {ANN}'
        name = "w:delText" if how == "del" else "w:t"
        if what != END:
            run = f'<w:r><{name} xml:space="preserve">{what}</{name}></w:r>'
            runs += run if how == "kept" else f"{mark}>{run}</w:{how}>"
            continue
        end = "" if how == "kept" else f"<w:pPr><w:rPr>{mark}/></w:rPr></w:pPr>"
        body, runs = f"{body}<w:p>{end}{runs}</w:p>", ""
    for paragraph in reversed(parse_xml(f"<w:body {nsdecls('w')}>{body}</w:body>")):
        file.element.body.insert(0, paragraph)
    file.save(str(path))
    return path


def redline(a: Path, b: Path, authorship: Authorship) -> WordRedline:
    """The redline of two files, by wording alone."""
    documents = colde_cli.read(a), colde_cli.read(b)
    return redline_docx(*documents, align(*documents, None), authorship=authorship)


def read(content: bytes, *, accept: bool, since: int | None = None) -> list[str]:
    """The paragraphs of a file with changes accepted or rejected."""
    body = docx.Document(BytesIO(content)).element.body
    resolve(body, accept=accept, since=since)
    lines = ("".join(text.text or "" for text in p.iter(qn("w:t"))) for p in body.iter(qn("w:p")))
    return [" ".join(line.split()) for line in lines if line.strip()]


def marks(content: bytes, author: str) -> list[Any]:
    """The marks of one author."""
    body = docx.Document(BytesIO(content)).element.body
    return [mark for mark in body.iter(qn("w:ins"), qn("w:del")) if mark.get(qn("w:author")) == author]


@settings(max_examples=15)
@given(listed=items("kept", "ins", "del"), edits=st.lists(st.integers(0, 20), max_size=3))
def test_earlier_changes_stay_around_new_ones(
    tmp_path_factory: pytest.TempPathFactory, listed: list[Item], edits: list[int]
) -> None:
    """Accept all gives B; rejecting the new changes A with its changes accepted; rejecting all A before them."""
    folder = tmp_path_factory.getbasetemp()
    whole = [("first ", "kept"), *listed, ("last", "kept")]
    a = word_file(folder / "a.docx", listed)
    words = " ".join(texts(whole, "del")).split()
    new = docx.Document()
    for line in texts(whole, "del"):
        kept = [word for word in line.split() if words.index(word) not in edits]
        new.add_paragraph(" ".join([*kept, "added"] if len(edits) % 2 else kept or ["other"]))
    new.save(str(folder / "b.docx"))
    found = redline(a, folder / "b.docx", Authorship("Bob"))
    assert not found.warnings
    own = [int(mark.get(qn("w:id"))) for mark in marks(found.content, "Bob")]
    since = min(own, default=1 << 30) - 1
    assert read(found.content, accept=True) == [" ".join(p.text.split()) for p in new.paragraphs if p.text]
    assert read(found.content, accept=False, since=since) == texts(whole, "del")
    assert read(found.content, accept=False) == texts(whole, "ins")
    earlier = marks(found.content, "Ann")
    assert {mark.get(qn("w:date")) for mark in earlier} <= {"2025-05-01T10:00:00Z"}
    assert len({mark.get(qn("w:id")) for mark in earlier}) == len(earlier)


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    """A file with changes by Ann, and a newer one without."""
    a = word_file(tmp_path / "a.docx", [("ten ", "del"), ("twenty ", "ins"), ("days ", "kept")])
    b = docx.Document()
    b.add_paragraph("first twenty working days last")
    b.save(str(tmp_path / "b.docx"))
    return a, tmp_path / "b.docx"


@pytest.mark.parametrize(
    ("tracked", "before", "said"),
    [
        (Tracked.KEEP, "first ten days last", "kept in it, with author and date"),
        (Tracked.ACCEPT, "first twenty days last", "accepted"),
        (Tracked.REJECT, "first ten days last", "rejected"),
    ],
)
def test_the_command_says_what_became_of_them(
    capsys: pytest.CaptureFixture[str], pair: tuple[Path, Path], tracked: Tracked, before: str, said: str
) -> None:
    """Each way, its sentence, and what "reject all" gives; the new changes have the author and date asked for."""
    out = pair[0].with_name("redline.docx")
    names = ("--author", "Bob Ray", "--date", "2026-01-31T12:00+00:00", "--tracked", tracked.value)
    done = run(capsys, "diff", *pair, "-o", out, *names)
    assert done.status == 1
    assert f"Earlier tracked changes of A are {said}" in " ".join(done.err.split())
    assert read(out.read_bytes(), accept=False) == [before]
    assert read(out.read_bytes(), accept=True) == ["first twenty working days last"]
    assert bool(marks(out.read_bytes(), "Ann")) is (tracked is Tracked.KEEP)
    assert {mark.get(qn("w:date")) for mark in marks(out.read_bytes(), "Bob Ray")} == {"2026-01-31T12:00:00Z"}


@pytest.mark.parametrize("option", [("--author", " "), ("--date", "tomorrow")])
def test_a_name_or_a_date_that_is_none(
    capsys: pytest.CaptureFixture[str], pair: tuple[Path, Path], option: tuple[str, str]
) -> None:
    """Both are refused before any work, with the option's name."""
    done = run(capsys, "diff", *pair, "-o", pair[0].with_name("r.docx"), *option)
    assert done.status == 2
    assert option[0] in done.err
