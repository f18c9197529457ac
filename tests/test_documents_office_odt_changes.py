"""Tests of tracked changes that are read as rejected, in Word files and in OpenDocument texts."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from odt_files import p, write_odt
from word_files import write_word

import colde_cli
from colde_cli.documents.document import Document
from colde_cli.documents.outside import OutsideKind, Tracked

END = "\n"
"""Of a paragraph."""
Item = tuple[str, str]
"""A word or the end of a paragraph, and "kept", "ins" or "del"."""


def items(*operations: str) -> st.SearchStrategy[list[Item]]:
    """Words that differ and ends of paragraphs, each kept, inserted or deleted."""
    one = st.tuples(st.sampled_from(["word", "word", END]), st.sampled_from(operations))
    return st.lists(one, max_size=14).map(
        lambda found: [(what if what == END else f"w{n:02} ", how) for n, (what, how) in enumerate(found)]
    )


def texts(listed: list[Item], without: str) -> list[str]:
    """The paragraphs without what was inserted, or deleted."""
    left = "".join(what for what, how in listed if how != without)
    return [" ".join(line.split()) for line in left.split(END) if line.strip()]


def word_file(path: Path, listed: list[Item]) -> Path:
    """A Word file with these changes."""
    body, runs = "", ""
    for what, how in [("first ", "kept"), *listed, (END, "kept")]:
        name = "w:delText" if how == "del" else "w:t"
        if what != END:
            run = f"<w:r><{name} xml:space='preserve'>{what}</{name}></w:r>"
            runs += run if how == "kept" else f"<w:{how}>{run}</w:{how}>"
            continue
        mark = "" if how == "kept" else f"<w:pPr><w:rPr><w:{how}/></w:rPr></w:pPr>"
        body, runs = f"{body}<w:p>{mark}{runs}</w:p>", ""
    return write_word(path, body)


def odt_file(path: Path, listed: list[Item]) -> Path:
    """An OpenDocument text with these changes."""
    regions, body = "", "first "
    for number, (how, group) in enumerate(groupby(listed, lambda item: item[1])):
        text = "".join(what for what, _ in group).replace(END, "</text:p><text:p>")
        inner = f"<text:deletion><text:p>{text}</text:p></text:deletion>" if how == "del" else "<text:insertion/>"
        if how != "kept":
            regions += f"<text:changed-region text:id='c{number}'>{inner}</text:changed-region>"
        start, end = (
            f"<text:change-start text:change-id='c{number}'/>",
            f"<text:change-end text:change-id='c{number}'/>",
        )
        around = {"kept": text, "ins": f"{start}{text}{end}", "del": f"<text:change text:change-id='c{number}'/>"}
        body += around[how]
    return write_odt(path, f"<text:tracked-changes>{regions}</text:tracked-changes><text:p>{body}</text:p>")


def paragraphs(document: Document) -> list[str]:
    """The paragraphs of a document that have text."""
    return [" ".join(text.split()) for text in document.text.split("\n\n") if text.strip()]


@given(listed=items("kept", "ins", "del"))
@pytest.mark.parametrize(("suffix", "make"), [("docx", word_file), ("odt", odt_file)])
def test_rejected_changes_leave_the_text_before_them(
    tmp_path_factory: pytest.TempPathFactory, suffix: str, make: object, listed: list[Item]
) -> None:
    """Reading a file as rejected gives what stood there before, and as accepted what stands there now."""
    file = make(tmp_path_factory.getbasetemp() / f"changes.{suffix}", listed)  # type: ignore[operator]
    with_first = [("first ", "kept"), *listed]
    before = colde_cli.read(file, tracked=Tracked.REJECT)
    assert paragraphs(before) == texts(with_first, "ins")
    assert paragraphs(colde_cli.read(file)) == texts(with_first, "del")
    beside = " ".join(text.text for text in before.outside if text.kind is OutsideKind.DELETED)
    inserted = [what.strip() for what, how in listed if how == "ins" and what != END]
    assert sorted(beside.split()) == sorted(inserted)  # nothing is lost


def test_what_a_span_or_a_paragraph_held_comes_back(tmp_path: Path) -> None:
    """Deleted words come back inside a span, deleted paragraphs and tables between others."""
    regions = "".join(
        f"<text:changed-region text:id='{name}'><text:deletion><office:change-info><dc:creator>Ann</dc:creator>"
        f"</office:change-info>{content}</text:deletion></text:changed-region>"
        for name, content in (
            ("words", p("very ")),
            ("whole", "<text:h text:outline-level='1'>Old heading</text:h>" + p("Old text.")),
        )
    )
    body = p("A <text:span><text:change text:change-id='words'/>good</text:span> day.")
    body += "<text:change text:change-id='whole'/>" + p("End.")
    file = write_odt(tmp_path / "a.odt", f"<text:tracked-changes>{regions}</text:tracked-changes>{body}")
    document = colde_cli.read(file, tracked=Tracked.REJECT)
    assert [section.heading for section in document.sections] == ["", "Old heading"]
    assert [" ".join(document.text.split())] == ["A very good day. Old heading Old text. End."]
    assert (document.report.rejected, document.report.tracked) == (True, 2)


def test_an_insertion_without_an_end_is_read(tmp_path: Path) -> None:
    """Text after a mark that nothing ends stays text."""
    region = "<text:changed-region text:id='c'><text:insertion/></text:changed-region>"
    body = p("One <text:change-start text:change-id='c'/>two.") + p("Three.")
    file = write_odt(tmp_path / "a.odt", f"<text:tracked-changes>{region}</text:tracked-changes>{body}")
    assert paragraphs(colde_cli.read(file, tracked=Tracked.REJECT)) == ["One two.", "Three."]


def test_rejected_properties_are_those_before(tmp_path: Path) -> None:
    """A paragraph that became a heading is text again, and words that were hidden are read."""
    change = "<w:pPr><w:pStyle w:val='berschrift1'/><w:pPrChange><w:pPr/></w:pPrChange></w:pPr>"
    hidden = "<w:rPr><w:vanish/><w:rPrChange><w:rPr/></w:rPrChange></w:rPr>"
    body = f"<w:p>{change}<w:r><w:t>Was text</w:t></w:r></w:p><w:p><w:r>{hidden}<w:t>Was shown</w:t></w:r></w:p>"
    file = write_word(tmp_path / "a.docx", f"{body}<w:p><w:r><w:t>Last</w:t></w:r></w:p>")
    now, before = colde_cli.read(file), colde_cli.read(file, tracked=Tracked.REJECT)
    assert (now.sections[0].heading, paragraphs(now)[-1]) == ("Was text", "Last")
    assert paragraphs(before) == ["Was text", "Was shown", "Last"]
