"""OpenDocument texts: what their markup means, and what becomes of hostile ones."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from xml.sax.saxutils import escape

import pytest
from command_line import ROOT
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from odt_files import MIMETYPE, h, p, root, table, write_odt

from colde_cli.documents.document import Document, SectionKind
from colde_cli.documents.office import archive
from colde_cli.documents.reading import read
from colde_cli.errors import (
    CorruptFileError,
    DocumentError,
    LimitError,
    NoTextError,
    PasswordError,
    UnsupportedFormatError,
)

NOTE = (
    '<text:note text:note-class="footnote"><text:note-citation>1</text:note-citation>'
    "<text:note-body><text:p>{}</text:p></text:note-body></text:note>"
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "letter.odt"


def bodies(document: Document) -> list[str]:
    return [document.text[section.body_start : section.span.end].strip() for section in document.sections]


def test_headings_title_and_blanks(path: Path) -> None:
    body = (
        p("The Agreement", "P1")
        + h("Definitions")
        + p("A<text:s text:c='3'/>bell<text:line-break/>is a <text:span>cu</text:span>p.<text:tab/>So.")
        + p("Goods", "P2")
        + p("Endless", "Loop")
        + "<text:list><text:list-item>"
        + p("First")
        + "</text:list-item><text:list-item>"
        + p("Second")
        + "</text:list-item></text:list>"
        + h("Parts", 3)
        + "<text:bibliography><text:bibliography-source><text:index-title-template>no</text:index-title-template>"
        + f"</text:bibliography-source><text:index-body><text:index-title>{p('References')}</text:index-title>"
        + p("[1] Nine books.")
        + "</text:index-body></text:bibliography>"
    )
    document = read(write_odt(path, body, title="Not this"))
    assert document.title == "The Agreement"
    found = [(section.level, section.heading) for section in document.sections]
    assert found == [(0, ""), (1, "Definitions"), (2, "Goods"), (3, "Parts"), (1, "References")]
    assert bodies(document)[1:3] == ["A bell is a cup. So.", "Endless\n\nFirst\n\nSecond"]
    assert document.sections[-1].kind == SectionKind.REFERENCES
    assert bodies(document)[-1] == "[1] Nine books."
    assert document.report.pages is None
    assert read(write_odt(path, h("One") + h("Two"), title="Stated")).title == "Stated"


def test_tables_boxes_and_notes_at_the_end_of_their_section(path: Path) -> None:
    boxed = f"<draw:frame><draw:text-box>{p('Box')}</draw:text-box><svg:title>no</svg:title></draw:frame>"
    nested = table((p("a"), p("b")))
    body = (
        h("One")
        + p(f"Said{NOTE.format('By whom?')} so.{boxed}")
        + table((p("x"), h("y")), (nested + p("under"), p(f"z{NOTE.format('Last letter.')}")))
        + p("Last.")
        + h("Two")
        + p("More.")
    )
    assert bodies(read(write_odt(path, body))) == [
        "Box\n\nSaid so.\n\nx | y\na | b under | z\n\nLast.\n\nBy whom?\n\nLast letter.",
        "More.",
    ]


def test_boxes_and_tables_in_a_note_stay_in_it(path: Path) -> None:
    boxed = f"<draw:frame><draw:text-box>{p('Box')}</draw:text-box></draw:frame>"
    inner = f"<text:note><text:note-body>{p(f'Note{boxed}')}{table((p('a'), p('b')))}</text:note-body></text:note>"
    assert read(write_odt(path, h("One") + p(f"Words{inner}."))).text == "One\n\nWords.\n\nBox Note a | b"


def test_standard_input_and_a_name_that_lies(path: Path) -> None:
    data = write_odt(path, h("One") + p("Words.")).read_bytes()
    assert read("-", stdin=io.BytesIO(data)).text == "One\n\nWords."
    lying = path.with_suffix(".docx")
    lying.write_bytes(data)
    assert read(lying).title == "One"
    word = path.with_name("word.odt")
    word.write_bytes((ROOT / "tests" / "data" / "report.docx").read_bytes())
    assert read(word).title == "Bells That the Tide Rings"


def test_other_kinds_and_encrypted_ones(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as made:
        made.writestr("mimetype", MIMETYPE.replace("text", "spreadsheet"))
    with pytest.raises(
        UnsupportedFormatError, match=r"letter\.odt: it is an OpenDocument file without running text"
    ):
        read(path)
    manifest = "<manifest:file-entry><manifest:encryption-data/></manifest:file-entry>"
    locked = {"META-INF/manifest.xml": root("manifest", manifest).encode()}
    with pytest.raises(PasswordError, match=r"letter\.odt: it is encrypted; save it without a password"):
        read(write_odt(path, p("a"), parts=locked))
    with zipfile.ZipFile(path, "w") as made:
        made.writestr("mimetype", MIMETYPE)
    with pytest.raises(CorruptFileError, match="without the text of an OpenDocument"):
        read(path)
    path.write_bytes(b"{\\rtf1 words}")
    with pytest.raises(UnsupportedFormatError, match=r"an RTF document.*; save it as \.docx or \.odt"):
        read(path)
    with pytest.raises(NoTextError, match="holds no text"):
        read(write_odt(path, p(" ")))


@pytest.mark.parametrize(
    "declared", ['<!ENTITY a "ha"><!ENTITY b "&a;&a;">', '<!ENTITY a SYSTEM "file:///etc/passwd">']
)
def test_entities_are_refused(path: Path, declared: str) -> None:
    main = root("document-content", f"<office:body><office:text>{p('&a;')}</office:text></office:body>")
    bomb = main.replace("?>", f"?><!DOCTYPE x [{declared}]>", 1).encode()
    with pytest.raises(CorruptFileError, match="declares XML entities"):
        read(write_odt(path, "", parts={"content.xml": bomb}))


def test_bombs_are_given_up(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(CorruptFileError, match="nested deeper than an OpenDocument text"):
        read(write_odt(path, "<text:section>" * 6000 + "</text:section>" * 6000))
    monkeypatch.setattr(archive, "MAX_PART_BYTES", 1 << 20)
    with pytest.raises(LimitError, match="unpacks to more than 1 MiB"):
        read(write_odt(path, p("a" * (5 << 20))))


def test_every_cut_of_a_file_ends_in_a_sentence(path: Path) -> None:
    data = write_odt(path, h("One") + p("Words of a letter.") * 40).read_bytes()
    for size in range(1, len(data), 101):
        path.write_bytes(data[:size])
        with pytest.raises(DocumentError, match=r"letter\.odt"):
            read(path)


ODD = st.recursive(
    st.sampled_from(("a ", p("b"), h("c"), NOTE.format("d"))),
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


@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(body=ODD)
def test_elements_in_any_place_give_a_document_or_a_sentence(tmp_path: Path, body: str) -> None:
    path = write_odt(tmp_path / "odd.odt", body)
    assert text_or_sentence(path)


def text_or_sentence(path: Path) -> str:
    try:
        return read(path).text
    except DocumentError as error:
        return str(error)


WORDS = st.text("abcdefgäß<&> ", min_size=1, max_size=30).filter(str.strip)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(blocks=st.lists(st.tuples(st.sampled_from("p h t 2".split()), WORDS), min_size=1, max_size=10))
def test_no_word_is_lost_or_doubled(tmp_path: Path, blocks: list[tuple[str, str]]) -> None:
    made = {
        "h": h,
        "2": lambda text: h(text, 2),
        "t": lambda text: table((p(text),)),
    }
    body = h("start") + "".join(made.get(kind, p)(escape(text)) for kind, text in blocks)
    document = read(write_odt(tmp_path / "any.odt", body))
    assert document.text.split() == ["start", *" ".join(text for _, text in blocks).split()]
