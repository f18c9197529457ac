"""Word and OpenDocument files: their headings, paragraphs and notes, and what becomes of hostile ones."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import odt_files
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from odt_files import MIMETYPE, h, write_odt
from read_documents import headings
from word_files import STRICT, p, root, row, write_word

from colde_cli.documents.document import Document, SectionKind
from colde_cli.documents.office import archive
from colde_cli.documents.reading import read
from colde_cli.errors import (
    CorruptFileError,
    DocumentError,
    LimitError,
    NoTextError,
    OptionError,
    PasswordError,
    UnsupportedFormatError,
)

DATA = Path(__file__).parent / "data"
REPORT = (DATA / "report.docx").read_bytes()


class Format(NamedTuple):
    """How a file of one format is written."""

    suffix: str
    main: str
    write: Callable[..., Path]
    whole: Callable[[str], str]
    heading: Callable[[str, int], str]
    paragraph: Callable[[str], str]
    table: Callable[[str], str]


WORD = Format(
    *(".docx", "word/document.xml", write_word),
    lambda inner: root("document", f"<w:body>{inner}</w:body>"),
    lambda text, level: p(text, f"berschrift{level}"),
    *(p, lambda cell: f"<w:tbl>{row(cell)}</w:tbl>"),
)
ODT = Format(
    *(".odt", "content.xml", write_odt),
    lambda inner: odt_files.root("document-content", f"<office:body><office:text>{inner}</office:text></office:body>"),
    *(h, odt_files.p, lambda cell: odt_files.table((odt_files.p(cell),))),
)
in_both = pytest.mark.parametrize("made", [WORD, ODT], ids=["word", "odt"])
some = settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "letter.docx"


def bodies(document: Document) -> list[str]:
    return [document.text[section.body_start : section.span.end].strip() for section in document.sections]


def text_or_sentence(path: Path) -> str:
    try:
        return read(path).text
    except DocumentError as error:
        return str(error)


def test_a_file_of_an_editor() -> None:
    document = read(DATA / "report.docx")
    assert document.title == "Bells That the Tide Rings"
    assert headings(document) == [
        (0, ""),
        *((1, "Introduction"), (1, "Method"), (2, "Counting"), (1, "References")),
    ]
    assert document.sections[-1].kind == SectionKind.REFERENCES
    assert "Twelve bells hang from the pier. Each has a name." in document.text
    assert "Town | Bells | Strokes\nAyr | 12 | 90,417" in document.text
    assert "Confidential" not in document.text
    assert document.report.pages is None
    assert document.pages_of(document.sections[0].span) is None
    with pytest.raises(OptionError, match="has no pages"):
        read(DATA / "report.docx", pages=(1, 2))


def test_headings_by_style_based_on_and_outline_level(path: Path) -> None:
    clause = "The Supplier shall deliver the goods to the place that the Buyer has named " * 4
    body = (
        p("The Agreement", "Titel")
        + p("Definitions", "berschrift1")
        + p("Goods", "Clause")
        + p("Parts of goods", "Outline")
        + p("Price", properties='<w:outlineLvl w:val="0"/>')
        + p("Not one", "berschrift1", '<w:outlineLvl w:val="9"/>')
        + p("Endless", "Loop")
        + p(clause, "berschrift2")  # in the style of a heading, but text
    )
    document = read(write_word(path, body))
    assert document.title == "The Agreement"
    assert headings(document) == [
        (0, ""),
        *((1, "Definitions"), (2, "Goods"), (3, "Parts of goods"), (1, "Price")),
    ]
    assert bodies(document)[-1] == f"Not one\n\nEndless\n\n{clause.strip()}"


def test_headings_title_and_blanks_of_opendocument(tmp_path: Path) -> None:
    def p(text: str, style: str = "Standard") -> str:
        return odt_files.p(text, style)

    body = (
        p("The Agreement", "P1")
        + h("Definitions")
        + p("A<text:s text:c='3'/>bell<text:line-break/>is a <text:span>cu</text:span>p.<text:tab/>So.")
        + p("Goods", "P2")
        + p("Endless", "Loop")
        + f"<text:list><text:list-item>{p('First')}</text:list-item>"
        + f"<text:list-item>{p('Second')}</text:list-item></text:list>"
        + h("Parts", 3)
        + "<text:bibliography><text:bibliography-source><text:index-title-template>no</text:index-title-template>"
        + f"</text:bibliography-source><text:index-body><text:index-title>{p('References')}</text:index-title>"
        + p("[1] Nine books.")
        + "</text:index-body></text:bibliography>"
    )
    path = tmp_path / "letter.odt"
    document = read(write_odt(path, body, title="Not this"))
    assert document.title == "The Agreement"
    assert headings(document) == [(0, ""), (1, "Definitions"), (2, "Goods"), (3, "Parts"), (1, "References")]
    assert bodies(document)[1:3] == ["A bell is a cup. So.", "Endless\n\nFirst\n\nSecond"]
    assert document.sections[-1].kind == SectionKind.REFERENCES
    assert bodies(document)[-1] == "[1] Nine books."
    assert document.report.pages is None
    assert read(write_odt(path, h("One") + h("Two"), title="Stated")).title == "Stated"


def test_without_heading_styles_lines_that_look_like_headings_are_headings(path: Path) -> None:
    lines = ("1. Scope", "It covers bells.", "2. Terms", "A bell is a cup.", "3. End", "So.")
    document = read(write_word(path, "".join(map(p, lines))))
    assert [section.heading for section in document.sections] == ["1. Scope", "2. Terms", "3. End"]


def test_tracked_changes_are_read_as_accepted(path: Path) -> None:
    end = '<w:pPr><w:rPr><w:del w:id="1"/></w:rPr></w:pPr>'
    gone = f"<w:p>{end}<w:del><w:r><w:delText>gone</w:delText></w:r></w:del></w:p>"
    body = (
        p("Terms", "berschrift1")
        + "<w:p><w:r><w:t>Ten </w:t></w:r><w:del><w:r><w:delText>days</w:delText></w:r></w:del>"
        + "<w:ins><w:r><w:t>weeks</w:t></w:r></w:ins><w:moveFrom><w:r><w:t>away</w:t></w:r></w:moveFrom></w:p>"
        + f"<w:p>{end}<w:r><w:t>Two joined </w:t></w:r></w:p>"
        + p("lines.")
        + gone
        + p("End", "berschrift1", "<w:pPrChange><w:pPr><w:pStyle w:val='Titel'/></w:pPr></w:pPrChange>")
    )
    document = read(write_word(path, body))
    assert [section.heading for section in document.sections] == ["Terms", "End"]
    assert bodies(document)[0] == "Ten weeks\n\nTwo joined lines."
    assert not document.report.warnings
    assert any("read as accepted" in note for note in document.report.notes)
    deleted = [(text.kind, text.text, text.about) for text in document.outside]
    assert deleted == [
        ("deleted-text", "days", ""), ("deleted-text", "away", "moved"), ("deleted-text", "gone", ""),
    ]  # fmt: skip


def test_hidden_text_fields_and_second_versions_are_no_body_text(path: Path) -> None:
    box = f"<w:txbxContent>{p('Box')}</w:txbxContent>"
    body = (
        p("Terms", "berschrift1")
        + "<w:p><w:r><w:t>Seen</w:t></w:r><w:r><w:rPr><w:vanish/></w:rPr><w:t>Unseen</w:t></w:r>"
        + '<w:r><w:rPr><w:rStyle w:val="Secret"/></w:rPr><w:t>Secret</w:t></w:r>'
        + '<w:r><w:rPr><w:vanish w:val="0"/></w:rPr><w:t> again</w:t></w:r>'
        + "<w:r><w:instrText>PAGE</w:instrText></w:r><w:r><w:tab/><w:t>end</w:t></w:r></w:p>"
        + f"<w:p><w:r><w:t>Outer</w:t></w:r><w:r><mc:AlternateContent><mc:Choice>{box}</mc:Choice>"
        + f"<mc:Fallback>{box}</mc:Fallback></mc:AlternateContent></w:r></w:p>"
        + p("1 Terms ...... 2", "Verzeichnis1")
        + "<w:p><m:oMath><m:r><m:t>a+b</m:t></m:r></m:oMath></w:p>"
    )
    document = read(write_word(path, body))
    assert bodies(document) == ["Seen again end\n\nBox\n\nOuter\n\na+b"]
    assert not document.report.warnings
    beside = [(text.kind, text.text) for text in document.outside]
    assert beside == [("hidden-text", "UnseenSecret"), ("contents", "1 Terms")]


BOX = f"<w:r><w:txbxContent>{p('Box')}</w:txbxContent></w:r>"
ODT_BOX = f"<draw:frame><draw:text-box>{odt_files.p('Box')}</draw:text-box><svg:title>no</svg:title></draw:frame>"
ODT_NOTE = (
    '<text:note text:note-class="footnote"><text:note-citation>1</text:note-citation>'
    "<text:note-body>{}</text:note-body></text:note>"
)


def word_with_notes(path: Path) -> Document:
    inner = f"<w:tbl>{row('a', 'b')}</w:tbl>"
    last = '<w:p><w:r><w:t>z</w:t><w:footnoteReference w:id="4"/></w:r></w:p>'
    said = '<w:r><w:t>Said</w:t><w:footnoteReference w:id="2"/><w:t> so.</w:t></w:r>'
    body = (
        p("One", "berschrift1")
        + f"<w:p>{said}{BOX}</w:p>"
        + f"<w:tbl>{row('x', 'y')}<w:tr><w:tc>{inner}{p('under')}</w:tc><w:tc>{last}</w:tc></w:tr></w:tbl>"
        + p("Last.")
        + p("Two", "berschrift1")
        + '<w:p><w:r><w:t>More.</w:t></w:r><w:r><w:footnoteReference w:id="1"/></w:r></w:p>'
    )
    notes = (
        f'<w:footnote w:id="0" w:type="separator">{p("rule")}</w:footnote><w:footnote w:id="1"><w:p><w:r><w:t>Note'
        f"</w:t></w:r>{BOX}</w:p>{inner}</w:footnote>"
        f'<w:footnote w:id="2">{p("By whom?")}</w:footnote><w:footnote w:id="3">{p("Nobody asks.")}</w:footnote>'
        f'<w:footnote w:id="4">{p("Last letter.")}</w:footnote>'
    )
    return read(write_word(path.with_suffix(".docx"), body, notes))


def odt_with_notes(path: Path) -> Document:
    p, table = odt_files.p, odt_files.table
    inner = table((p("a"), p("b")))
    body = (
        h("One")
        + p(f"Said{ODT_NOTE.format(p('By whom?'))} so.{ODT_BOX}")
        + table((p("x"), h("y")), (inner + p("under"), p(f"z{ODT_NOTE.format(p('Last letter.'))}")))
        + p("Last.")
        + h("Two")
        + p(f"More.{ODT_NOTE.format(p(f'Note{ODT_BOX}') + inner)}")
    )
    return read(write_odt(path.with_suffix(".odt"), body))


@pytest.mark.parametrize("written", [word_with_notes, odt_with_notes])
def test_tables_and_boxes_in_tables_and_notes(path: Path, written: Callable[[Path], Document]) -> None:
    assert bodies(written(path)) == [
        "Box\n\nSaid so.\n\nx | y\na | b under | z\n\nLast.\n\nBy whom?\n\nLast letter.",
        "More.\n\nBox Note a | b",
    ]


def test_strict_documents_and_other_names_of_the_main_part(path: Path) -> None:
    types = '<Types><Override PartName="/doc/main.xml" ContentType="x.document.main+xml"/></Types>'
    main = root("document", f"<w:body>{p('Strict words.')}</w:body>", STRICT)
    with zipfile.ZipFile(path, "w") as made:
        made.writestr("[Content_Types].xml", types)
        made.writestr("doc/main.xml", main)
    assert read(path).text == "Strict words."


def test_standard_input_and_names_that_lie(tmp_path: Path) -> None:
    data = write_odt(tmp_path / "letter.odt", h("One") + odt_files.p("Words.")).read_bytes()
    assert read("-", stdin=io.BytesIO(REPORT)).path == "-"
    assert read("-", stdin=io.BytesIO(data)).text == "One\n\nWords."
    for name, content, title in (
        *(("a.txt", REPORT, "Bells That the Tide Rings"), ("a.odt", REPORT, "Bells That the Tide Rings")),
        ("a.docx", data, "One"),
    ):
        (tmp_path / name).write_bytes(content)
        assert read(tmp_path / name).title == title


# What is damaged, hostile or something else.


@pytest.mark.parametrize(("suffix", "step"), [(".docx", 1801), (".odt", 101)])
def test_every_cut_of_a_file_ends_in_a_sentence(tmp_path: Path, suffix: str, step: int) -> None:
    path, data = tmp_path / f"cut{suffix}", REPORT
    if suffix == ".odt":
        data = write_odt(path, h("One") + odt_files.p("Words of a letter.") * 40).read_bytes()
    for size in range(1, len(data), step):
        path.write_bytes(data[:size])
        with pytest.raises(DocumentError, match=rf"cut\{suffix}"):
            read(path)


@pytest.mark.slow
@some
@given(at=st.integers(0, 38_000), byte=st.integers(0, 255))
def test_a_wrong_byte_gives_a_document_or_a_sentence(tmp_path: Path, at: int, byte: int) -> None:
    data = bytearray(REPORT)
    data[at % len(data)] = byte
    path = tmp_path / "wrong.docx"
    path.write_bytes(data)
    outcome = text_or_sentence(path)
    assert outcome
    assert "Traceback" not in outcome


ODD = st.recursive(
    st.sampled_from(("a ", odt_files.p("b"), h("c"), ODT_NOTE.format(odt_files.p("d")))),
    lambda inner: st.builds(
        lambda name, parts: f"<{name}>{''.join(parts)}</{name}>",
        st.sampled_from(
            "text:p text:h text:note text:span text:list draw:text-box table:table table:table-row"
            " table:table-cell office:annotation office:text draw:custom-shape text:a text:ruby text:ruby-text"
            " dc:creator"
            " svg:desc text:table-of-content text:deletion office:forms draw:object math:math math:msup text:list-item"
            " table:covered-table-cell text:hidden-text draw:frame office:binary-data field:fieldmark text:drop-down"
            " draw:image text:section text:alphabetical-index text:index-title text:page-number".split()
        ),
        st.lists(inner, max_size=4),
    ),
    max_leaves=12,
)


@some
@given(body=ODD)
def test_elements_in_any_place_give_a_document_or_a_sentence(tmp_path: Path, body: str) -> None:
    assert text_or_sentence(write_odt(tmp_path / "odd.odt", body))


LAUGHS = '<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;">'
FILE = '<!ENTITY a SYSTEM "file:///etc/passwd">'


@in_both
@pytest.mark.parametrize("declared", [LAUGHS, FILE])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_entities_are_refused(path: Path, made: Format, declared: str, encoding: str) -> None:
    main = made.whole(made.paragraph("&a;")).replace("UTF-8", encoding)
    bomb = main.replace("?>", f"?><!DOCTYPE x [{declared}]>", 1).encode(encoding)
    with pytest.raises(CorruptFileError, match="declares XML entities"):
        read(made.write(path.with_suffix(made.suffix), "", parts={made.main: bomb}))


@in_both
def test_a_zip_bomb_is_given_up(path: Path, made: Format, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MAX_PART_BYTES", 1 << 20)
    bomb = made.write(path.with_suffix(made.suffix), made.paragraph("a" * (5 << 20)))
    assert bomb.stat().st_size < 20_000
    with pytest.raises(LimitError, match="unpacks to more than 1 MiB"):
        read(bomb)


@pytest.mark.slow
def test_too_many_elements_and_too_many_files(path: Path) -> None:
    styles = root("styles", "<w:style/>" * 300_001).encode()
    with pytest.raises(LimitError, match="elements"):
        read(write_word(path, p("a"), parts={"word/styles.xml": styles}))
    write_word(path, p("a"), parts={f"{number:04000}": b"" for number in range(1100)})
    with pytest.raises(LimitError, match="more files"):
        read(path)


def test_deep_nesting(path: Path) -> None:
    def nested(deep: int) -> Path:
        return write_word(path, "<w:tbl><w:tr><w:tc>" * deep + p("down here") + "</w:tc></w:tr></w:tbl>" * deep)

    assert read(nested(1000)).text == "down here"
    with pytest.raises(CorruptFileError, match="nested deeper than a Word document"):
        read(nested(2000))
    deep = write_odt(path.with_suffix(".odt"), "<text:section>" * 6000 + "</text:section>" * 6000)
    with pytest.raises(CorruptFileError, match="nested deeper than an OpenDocument text"):
        read(deep)


def zipped(**files: str) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as made:
        for name, content in files.items():
            made.writestr(name, content)
    return data.getvalue()


@pytest.mark.parametrize(
    ("content", "kind", "message"),
    [
        (b"", NoTextError, "is empty"),
        (b"PK\x03\x04 and so on", CorruptFileError, "damaged"),
        (bytes(range(256)) * 20, CorruptFileError, "damaged"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), UnsupportedFormatError, "without a password"),
        (b"{\\rtf1 words}", UnsupportedFormatError, r"an RTF document.*; save it as \.docx or \.odt"),
        (zipped(readme="words"), CorruptFileError, "without the text of a Word document"),
        (zipped(mimetype=MIMETYPE), CorruptFileError, "without the text of an OpenDocument"),
        (
            zipped(mimetype=MIMETYPE.replace("text", "spreadsheet")),
            UnsupportedFormatError,
            "it is an OpenDocument file without running text",
        ),
    ],
)
def test_what_is_something_else(path: Path, content: bytes, kind: type[DocumentError], message: str) -> None:
    path.write_bytes(content)
    with pytest.raises(kind, match=message) as caught:
        read(path)
    assert "letter.docx" in str(caught.value)


def test_encrypted_files_and_odd_compression(path: Path) -> None:
    data = bytearray(write_word(path, p("words")).read_bytes())
    at = data.rfind(b"PK\x01\x02", 0, data.rfind(b"word/document.xml"))
    data[at + 8] |= 1
    path.write_bytes(data)
    with pytest.raises(PasswordError, match="encrypted"):
        read(path)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_BZIP2) as made:
        made.writestr("word/document.xml", root("document", p("words")))
    with pytest.raises(UnsupportedFormatError, match="compression"):
        read(path)
    manifest = "<manifest:file-entry><manifest:encryption-data/></manifest:file-entry>"
    locked = {"META-INF/manifest.xml": odt_files.root("manifest", manifest).encode()}
    with pytest.raises(PasswordError, match=r"letter\.odt: it is encrypted; save it without a password"):
        read(write_odt(path.with_suffix(".odt"), odt_files.p("a"), parts=locked))


@in_both
def test_a_document_without_text(path: Path, made: Format) -> None:
    with pytest.raises(NoTextError, match="holds no text"):
        read(made.write(path.with_suffix(made.suffix), made.paragraph("  ")))
