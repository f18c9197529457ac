"""Word documents: what their markup means, and what becomes of hostile ones."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from xml.sax.saxutils import escape

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from word_files import STRICT, p, relations, root, row, write_word

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
    assert [(section.level, section.heading) for section in document.sections] == [
        (0, ""),
        (1, "Introduction"),
        (1, "Method"),
        (2, "Counting"),
        (1, "References"),
    ]
    assert document.sections[-1].kind == SectionKind.REFERENCES
    assert "Twelve bells hang from the pier. Each has a name." in document.text
    assert "Town | Bells | Strokes\nAyr | 12 | 90,417" in document.text
    assert "Confidential" not in document.text
    assert document.report.pages is None
    assert document.pages_of(document.sections[0].span) is None


def test_headings_by_style_based_on_and_outline_level(path: Path) -> None:
    body = (
        p("The Agreement", "Titel")
        + p("Definitions", "berschrift1")
        + p("Goods", "Clause")
        + p("Parts of goods", "Outline")
        + p("Price", properties='<w:outlineLvl w:val="0"/>')
        + p("Not one", "berschrift1", '<w:outlineLvl w:val="9"/>')
        + p("Endless", "Loop")
    )
    document = read(write_word(path, body))
    assert document.title == "The Agreement"
    found = [(section.level, section.heading) for section in document.sections]
    assert found == [(0, ""), (1, "Definitions"), (2, "Goods"), (3, "Parts of goods"), (1, "Price")]
    assert bodies(document)[-1] == "Not one\n\nEndless"


def test_boxes_and_tables_in_a_note_stay_in_it(path: Path) -> None:
    box = f"<w:p><w:r><w:t>Note</w:t></w:r><w:r><w:txbxContent>{p('Box')}</w:txbxContent></w:r></w:p>"
    note = f'<w:footnote w:id="1">{box}<w:tbl>{row("a", "b")}</w:tbl></w:footnote>'
    body = '<w:p><w:r><w:t>Words.</w:t></w:r><w:r><w:footnoteReference w:id="1"/></w:r></w:p>'
    assert (
        read(write_word(path, p("One", "berschrift1") + body, note)).text == "One\n\nWords.\n\nBox Note a | b"
    )


def test_a_clause_in_the_style_of_a_heading_is_text(path: Path) -> None:
    clause = "The Supplier shall deliver the goods to the place that the Buyer has named " * 4
    document = read(write_word(path, p("Delivery", "berschrift1") + p(clause, "berschrift2")))
    assert [section.heading for section in document.sections] == ["Delivery"]
    assert bodies(document) == [clause.strip()]


def test_without_heading_styles_lines_that_look_like_headings_are_headings(path: Path) -> None:
    body = "".join(
        p(text) for text in ("1. Scope", "It covers bells.", "2. Terms", "A bell is a cup.", "3. End", "So.")
    )
    document = read(write_word(path, body))
    assert [section.heading for section in document.sections] == ["1. Scope", "2. Terms", "3. End"]


def test_tracked_changes_are_read_as_accepted(path: Path) -> None:
    end = '<w:pPr><w:rPr><w:del w:id="1"/></w:rPr></w:pPr>'
    gone = f"<w:p>{end}<w:del><w:r><w:delText>gone</w:delText></w:r></w:del></w:p>"
    body = (
        p("Terms", "berschrift1")
        + "<w:p><w:r><w:t>Ten </w:t></w:r><w:del><w:r><w:delText>days</w:delText></w:r></w:del>"
        + "<w:ins><w:r><w:t>weeks</w:t></w:r></w:ins><w:moveFrom><w:r><w:t>away</w:t></w:r></w:moveFrom></w:p>"
        + '<w:p><w:pPr><w:rPr><w:del w:id="2"/></w:rPr></w:pPr><w:r><w:t>Two joined </w:t></w:r></w:p>'
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
        ("deleted-text", "days", ""),
        ("deleted-text", "away", "moved"),
        ("deleted-text", "gone", ""),
    ]


def test_hidden_text_fields_and_second_versions_are_no_body_text(path: Path) -> None:
    body = (
        p("Terms", "berschrift1")
        + "<w:p><w:r><w:t>Seen</w:t></w:r><w:r><w:rPr><w:vanish/></w:rPr><w:t>Unseen</w:t></w:r>"
        + '<w:r><w:rPr><w:rStyle w:val="Secret"/></w:rPr><w:t>Secret</w:t></w:r>'
        + '<w:r><w:rPr><w:vanish w:val="0"/></w:rPr><w:t> again</w:t></w:r>'
        + "<w:r><w:instrText>PAGE</w:instrText></w:r><w:r><w:tab/><w:t>end</w:t></w:r></w:p>"
        + "<w:p><w:r><w:t>Outer</w:t></w:r><w:r><mc:AlternateContent><mc:Choice><w:txbxContent>"
        + p("Box")
        + "</w:txbxContent></mc:Choice><mc:Fallback><w:txbxContent>"
        + p("Box")
        + "</w:txbxContent></mc:Fallback></mc:AlternateContent></w:r></w:p>"
        + p("1 Terms ...... 2", "Verzeichnis1")
        + "<w:p><m:oMath><m:r><m:t>a+b</m:t></m:r></m:oMath></w:p>"
    )
    document = read(write_word(path, body))
    assert bodies(document) == ["Seen again end\n\nBox\n\nOuter\n\na+b"]
    assert not document.report.warnings
    beside = [(text.kind, text.text) for text in document.outside]
    assert beside == [("hidden-text", "UnseenSecret"), ("contents", "1 Terms")]


def test_tables_in_tables_and_notes_at_the_end_of_their_section(path: Path) -> None:
    inner = f"<w:tbl>{row('a', 'b')}</w:tbl>"
    noted = '<w:p><w:r><w:t>Said</w:t><w:footnoteReference w:id="2"/><w:t> so.</w:t></w:r></w:p>'
    body = (
        p("One", "berschrift1")
        + noted
        + f"<w:tbl>{row('x', 'y')}<w:tr><w:tc>{inner}{p('under')}</w:tc><w:tc>{p('z')}</w:tc></w:tr></w:tbl>"
        + p("Last.")
        + p("Two", "berschrift1")
        + p("More.")
    )
    notes = (
        f'<w:footnote w:id="0" w:type="separator">{p("rule")}</w:footnote>'
        f'<w:footnote w:id="2">{p("By whom?")}</w:footnote><w:footnote w:id="3">{p("Nobody asks.")}</w:footnote>'
    )
    document = read(write_word(path, body, notes))
    assert bodies(document) == ["Said so.\n\nx | y\na | b under | z\n\nLast.\n\nBy whom?", "More."]


def test_strict_documents_and_other_names_of_the_main_part(path: Path) -> None:
    types = '<Types><Override PartName="/doc/main.xml" ContentType="x.document.main+xml"/></Types>'
    main = root("document", f"<w:body>{p('Strict words.')}</w:body>", STRICT)
    with zipfile.ZipFile(path, "w") as made:
        made.writestr("[Content_Types].xml", types)
        made.writestr("doc/main.xml", main)
    assert read(path).text == "Strict words."


def test_standard_input_and_a_name_that_lies(tmp_path: Path) -> None:
    data = (DATA / "report.docx").read_bytes()
    assert read("-", stdin=io.BytesIO(data)).path == "-"
    (tmp_path / "report.txt").write_bytes(data)
    assert read(tmp_path / "report.txt").title == "Bells That the Tide Rings"
    with pytest.raises(OptionError, match="has no pages"):
        read(DATA / "report.docx", pages=(1, 2))


def test_every_cut_of_a_file_ends_in_a_sentence(tmp_path: Path) -> None:
    data = (DATA / "report.docx").read_bytes()
    for size in range(1, len(data), 1801):
        path = tmp_path / "cut.docx"
        path.write_bytes(data[:size])
        with pytest.raises(DocumentError, match=r"cut\.docx"):
            read(path)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(at=st.integers(0, 38_000), byte=st.integers(0, 255))
def test_a_wrong_byte_gives_a_document_or_a_sentence(tmp_path: Path, at: int, byte: int) -> None:
    data = bytearray((DATA / "report.docx").read_bytes())
    data[at % len(data)] = byte
    path = tmp_path / "wrong.docx"
    path.write_bytes(data)
    outcome = text_or_sentence(path)
    assert outcome
    assert "Traceback" not in outcome


LAUGHS = '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;">]>'
FILE = '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>'


@pytest.mark.parametrize("declared", [LAUGHS, FILE])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_entities_are_refused(path: Path, declared: str, encoding: str) -> None:
    main = root("document", f"<w:body>{p('&a;')}</w:body>").replace("UTF-8", encoding)
    head, _, rest = main.partition("?>")
    bomb = {"word/document.xml": f"{head}?>{declared}{rest}".encode(encoding)}
    with pytest.raises(CorruptFileError, match="declares XML entities"):
        read(write_word(path, "", parts=bomb))


def test_a_zip_bomb_is_given_up(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MAX_PART_BYTES", 1 << 20)
    write_word(path, p("a" * (5 << 20)))
    assert path.stat().st_size < 20_000
    with pytest.raises(LimitError, match="unpacks to more than 1 MiB"):
        read(path)


def test_too_many_elements_and_too_many_files(path: Path) -> None:
    styles = root("styles", "<w:style/>" * 300_001).encode()
    with pytest.raises(LimitError, match="elements"):
        read(write_word(path, p("a"), parts={"word/styles.xml": styles}))
    write_word(path, p("a"), parts={f"{number:04000}": b"" for number in range(1100)})
    with pytest.raises(LimitError, match="more files"):
        read(path)


@pytest.mark.parametrize("deep", [1000, 2000])
def test_deep_nesting(path: Path, deep: int) -> None:
    body = "<w:tbl><w:tr><w:tc>" * deep + p("down here") + "</w:tc></w:tr></w:tbl>" * deep
    write_word(path, body)
    if deep == 1000:
        assert read(path).text == "down here"
    else:
        with pytest.raises(CorruptFileError, match="nested deeper"):
            read(path)


@pytest.mark.parametrize(
    ("content", "kind", "message"),
    [
        (b"", NoTextError, "is empty"),
        (b"PK\x03\x04 and so on", CorruptFileError, "damaged"),
        (bytes(range(256)) * 20, CorruptFileError, "damaged"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), UnsupportedFormatError, "without a password"),
        (b"{\\rtf1 words}", UnsupportedFormatError, "RTF document"),
    ],
)
def test_what_is_no_word_document(
    path: Path, content: bytes, kind: type[DocumentError], message: str
) -> None:
    path.write_bytes(content)
    with pytest.raises(kind, match=message) as caught:
        read(path)
    assert "letter.docx" in str(caught.value)


def test_other_archives(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as made:
        made.writestr("readme.txt", "words")
    with pytest.raises(CorruptFileError, match="without the text of a Word document"):
        read(path)
    with zipfile.ZipFile(path, "w") as made:
        made.writestr("mimetype", "application/vnd.oasis.opendocument.graphics")
    with pytest.raises(UnsupportedFormatError, match="OpenDocument"):
        read(path)


def test_encrypted_members_and_odd_compression(path: Path) -> None:
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


def test_a_document_without_text(path: Path) -> None:
    with pytest.raises(NoTextError, match="holds no text"):
        read(write_word(path, p("  ")))


WORDS = st.text("abcdefgäß<&> ", min_size=1, max_size=30).filter(str.strip)
BLOCKS = st.lists(
    st.tuples(st.sampled_from(("", "berschrift1", "berschrift2", "Outline", "row")), WORDS),
    min_size=1,
    max_size=12,
)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(blocks=BLOCKS)
def test_no_word_is_lost_or_doubled_and_spans_fit(tmp_path: Path, blocks: list[tuple[str, str]]) -> None:
    body = p("start", "berschrift1") + "".join(
        f"<w:tbl>{row(escape(text))}</w:tbl>" if style == "row" else p(escape(text), style)
        for style, text in blocks
    )
    document = read(write_word(tmp_path / "any.docx", body))
    assert document.text.split() == ["start", *" ".join(text for _, text in blocks).split()]
    end = 0
    for section in document.sections:
        assert end <= section.span.start <= section.body_start <= section.span.end <= len(document.text)
        assert document.text[end : section.span.start].strip() == ""
        assert document.text[section.span.start : section.body_start].strip() == section.heading
        end = section.span.end
    assert end == len(document.text)


@pytest.mark.parametrize(("pattern", "counted"), [("lowerLetter", True), ("bullet", False)])
def test_numbers_that_word_counts_are_reported(path: Path, pattern: str, counted: bool) -> None:
    level = f'<w:lvl w:ilvl="0"><w:numFmt w:val="{pattern}"/></w:lvl>'
    lists = f'<w:abstractNum w:abstractNumId="4">{level}</w:abstractNum>'
    lists += '<w:num w:numId="7"><w:abstractNumId w:val="4"/></w:num>'
    item = p("the fee", properties='<w:numPr><w:ilvl w:val="0"/><w:numId w:val="7"/></w:numPr>')
    parts = {
        "word/numbering.xml": root("numbering", lists).encode(),
        "word/_rels/document.xml.rels": relations("styles", "footnotes", "numbering"),
    }
    assert read(write_word(path, p("Each party pays:") + item, parts=parts)).report.counted_numbers is counted
    assert not read(write_word(path, p("Each party pays:"), parts=parts)).report.counted_numbers
