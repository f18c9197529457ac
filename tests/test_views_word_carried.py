"""What a redline in the layout of A takes over from B: styles, lists, links, notes, bookmarks, pictures, controls."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import docx
import pytest
from docx.opc.constants import CONTENT_TYPE, RELATIONSHIP_TYPE
from docx.opc.packuri import PackURI
from docx.opc.part import Part
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls, qn
from lxml.etree import tostring
from PIL import Image
from test_views_word_stories import assert_exact, other_reader

from colde_cli.documents.reading import read
from colde_cli.similarity.alignment import align
from colde_cli.views.word.tracked_file import redline_docx

__all__ = ["other_reader"]  # a fixture
pytestmark = pytest.mark.slow

NAMES = nsdecls("w", "r", "wp", "a", "pic")
KEEPER = "The keeper of the harbour rows out to the lamp at dusk and writes down the hour."
BELLS = "Ten bells are rung at noon on every day on which a ship lies at the old pier."
FIRST = "The oars lie in the boat."


def run(words: str, style: str = "") -> str:
    look = f"<w:rPr><w:rStyle w:val='{style}'/></w:rPr>" if style else ""
    return f"<w:r>{look}<w:t xml:space='preserve'>{words}</w:t></w:r>"


def item(number: int) -> str:
    return f"<w:numPr><w:ilvl w:val='0'/><w:numId w:val='{number}'/></w:numPr>"


class Writer:
    """Writes a Word file with styles, lists and notes of its own."""

    def __init__(self, *, numbering: bool = True) -> None:
        self.file = docx.Document()
        if not numbering:
            relations = self.file.part.rels
            del relations[next(key for key, rel in relations.items() if rel.reltype == RELATIONSHIP_TYPE.NUMBERING)]

    def add(self, inner: str, properties: str = "") -> None:
        """Add a paragraph."""
        self.file.element.body[-1].addprevious(parse_xml(f"<w:p {NAMES}><w:pPr>{properties}</w:pPr>{inner}</w:p>"))

    def add_list(self, number: int, label: str, style: str = "") -> None:
        """Add a list with one level, whose items are paragraphs of a style."""
        of_style = f"<w:pStyle w:val='{style}'/>" if style else ""
        level = f"<w:start w:val='1'/><w:numFmt w:val='decimal'/>{of_style}<w:lvlText w:val='{label}'/>"
        root = self.file.part.numbering_part.element
        root.find(qn("w:num")).addprevious(
            parse_xml(
                f"<w:abstractNum {NAMES} w:abstractNumId='{number}'><w:nsid w:val='12345678'/>"
                f"<w:multiLevelType w:val='singleLevel'/><w:lvl w:ilvl='0'>{level}</w:lvl></w:abstractNum>"
            )
        )
        root.append(parse_xml(f"<w:num {NAMES} w:numId='{number}'><w:abstractNumId w:val='{number}'/></w:num>"))

    def add_style(self, name: str, inner: str = "", kind: str = "paragraph") -> None:
        """Add a style; its identifier is its name without blanks."""
        named = f"w:type='{kind}' w:styleId='{name.replace(' ', '')}'"
        self.file.styles.element.append(
            parse_xml(f"<w:style {NAMES} {named}><w:name w:val='{name}'/>{inner}</w:style>")
        )

    def add_notes(self, kind: str, *texts: str) -> None:
        """Add the part of the footnotes or endnotes."""
        one = kind[:-1]
        line = f"<w:{one} w:type='separator' w:id='-1'><w:p><w:r><w:separator/></w:r></w:p></w:{one}>"
        notes = (f"<w:{one} w:id='{number}'><w:p>{run(text)}</w:p></w:{one}>" for number, text in enumerate(texts, 1))
        content = f"<w:{kind} {NAMES}>{line}{''.join(notes)}</w:{kind}>".encode()
        names = {
            "footnotes": (CONTENT_TYPE.WML_FOOTNOTES, RELATIONSHIP_TYPE.FOOTNOTES),
            "endnotes": (CONTENT_TYPE.WML_ENDNOTES, RELATIONSHIP_TYPE.ENDNOTES),
        }
        content_type, relation = names[kind]
        part = Part(PackURI(f"/word/{kind}.xml"), content_type, content, self.file.part.package)
        self.file.part.relate_to(part, relation)

    def link(self, address: str) -> str:
        """The identifier of a link to the outside."""
        return str(self.file.part.relate_to(address, RELATIONSHIP_TYPE.HYPERLINK, is_external=True))

    def picture(self, colour: str) -> str:
        """A run with a picture."""
        stored = io.BytesIO()
        Image.new("RGB", (4, 4), colour).save(stored, "PNG")
        shape = self.file.part.new_pic_inline(io.BytesIO(stored.getvalue()), 9525, 9525)
        return f"<w:r><w:drawing>{tostring(shape, encoding='unicode')}</w:drawing></w:r>"


def redline(folder: Path, a: Writer, b: Writer) -> Any:
    """Write both files and the redline, which follows the schema, and open it."""
    for name, writer in (("a", a), ("b", b)):
        writer.file.save(str(folder / f"{name}.docx"))
    one, other = (read(folder / f"{name}.docx") for name in "ab")
    found = redline_docx(one, other, align(one, other, None))
    assert found.warnings == ()
    path = folder / "redline.docx"
    path.write_bytes(found.content)
    audit = pytest.importorskip("openxml_audit")
    errors = [str(error) for error in audit.OpenXmlValidator().validate(str(path)).errors]
    assert [error for error in errors if "stylesWithEffects" not in error] == []
    return docx.Document(str(path))


def paragraph(file: Any, words: str) -> Any:
    """The element of the paragraph with these words."""
    texts = {"".join(text.text or "" for text in p.iter(qn("w:t"))): p for p in file.element.body.iter(qn("w:p"))}
    return next(p for text, p in texts.items() if words in text)


def label(file: Any, number: str) -> str:
    """The label of the items of a list."""
    root = file.part.numbering_part.element
    (num,) = (num for num in root.iter(qn("w:num")) if num.get(qn("w:numId")) == number)
    levels = num.find(qn("w:abstractNumId")).get(qn("w:val"))
    (found,) = (one for one in root.iter(qn("w:abstractNum")) if one.get(qn("w:abstractNumId")) == levels)
    return str(found.find(f".//{qn('w:lvlText')}").get(qn("w:val")))


def number(element: Any) -> str:
    return str(element.find(f".//{qn('w:numId')}").get(qn("w:val")))


def test_styles_come_with_what_they_are_based_on_and_the_lists_they_number(tmp_path: Path, other_reader: Any) -> None:
    a, b = Writer(), Writer()
    a.add_list(41, "(%1)")
    b.add_list(41, "§ %1.")
    b.add_list(46, "Rule %1:", "Rule")
    b.add_style("Rule base")
    b.add_style("Loud", kind="character")
    b.add_style(
        "Rule",
        "<w:basedOn w:val='Rulebase'/><w:next w:val='Rule'/><w:pPr><w:numPr><w:numId w:val='46'/></w:numPr></w:pPr>",
    )
    a.add_style("Other name of it")
    a.file.styles.element[-1].set(qn("w:styleId"), "Loud")
    for writer in (a, b):
        writer.add(run(KEEPER))
    a.add(run(BELLS), item(41))
    b.add(run("Nobody rings ") + run("at night", "Loud"), "<w:pStyle w:val='Rule'/>")
    b.add(run(BELLS), item(41))
    file = redline(tmp_path, a, b)
    assert_exact(other_reader, tmp_path)
    rule = file.styles["Rule"]
    assert (rule.base_style.name, rule.next_paragraph_style.name) == ("Rule base", "Rule")
    assert label(file, number(rule.element)) == "Rule %1:"
    assert label(file, number(paragraph(file, BELLS))) == "(%1)"
    loud = paragraph(file, "at night").find(f".//{qn('w:rStyle')}").get(qn("w:val"))
    assert loud != "Loud"
    assert file.styles["Loud"].style_id == loud


@pytest.mark.parametrize("numbering", [True, False])
def test_a_list_of_b_is_added_unless_an_item_of_it_stands_in_one_of_a(tmp_path: Path, numbering: bool) -> None:
    a, b = Writer(numbering=numbering), Writer()
    b.add_list(41, "§ %1.")
    b.add_list(46, "Rule %1:")
    a.add(run(KEEPER))
    b.add(run(KEEPER))
    if numbering:
        a.add_list(41, "(%1)")
        a.add(run(FIRST), item(41))
        b.add(run(FIRST), item(41))
        b.add(run("The sails hang in the shed."), item(41))
    b.add(run("Nobody rings at night."), item(46))
    a.add(run(BELLS))
    b.add(run(BELLS))
    file = redline(tmp_path, a, b)
    assert label(file, number(paragraph(file, "Nobody rings"))) == "Rule %1:"
    if numbering:
        assert label(file, number(paragraph(file, "The sails"))) == "(%1)"


def test_notes_links_and_controls_come_with_their_parts(tmp_path: Path, other_reader: Any) -> None:
    a, b = Writer(), Writer()
    a.add(run(KEEPER))
    a.add(run(BELLS) + a.picture("red"))
    b.add_notes("footnotes", "Of the lamp.")
    b.add_notes("endnotes", "Of the hour.", "Of the bells.")
    note = "<w:r><w:{}Reference w:id='{}'/></w:r>"
    address = "https://example.org/lamp"
    b.add(run(KEEPER) + note.format("endnote", 1))
    b.add(f"<w:hyperlink r:id='{b.link(address)}'>{run('The lamp')}</w:hyperlink>" + note.format("footnote", 1))
    control = (
        "<w:sdt><w:sdtPr><w:id w:val='77'/><w:alias w:val='Town'/></w:sdtPr><w:sdtContent>{}</w:sdtContent></w:sdt>"
    )
    b.add(control.format(run("Leith is the town.")) + b.picture("red") + b.picture("blue"))
    b.add(run(BELLS) + note.format("endnote", 2) + b.picture("red"))
    file = redline(tmp_path, a, b)
    assert_exact(other_reader, tmp_path)
    link = paragraph(file, "The lamp").find(qn("w:hyperlink"))
    assert file.part.rels[link.get(qn("r:id"))].target_ref == address
    assert len([part for part in file.part.package.iter_parts() if part.content_type == "image/png"]) == 2
    (properties,) = file.element.body.iter(qn("w:sdtPr"))
    assert [child.tag for child in properties] == [qn("w:alias")]


@pytest.mark.parametrize("taken", [False, True])
def test_a_reference_that_came_finds_its_place(tmp_path: Path, other_reader: Any, taken: bool) -> None:
    """The paragraph it refers to is that of A, which has no bookmark of this name, or has it in what goes away."""
    mark = "<w:bookmarkStart w:id='3' w:name='{0}'/>{1}<w:bookmarkEnd w:id='3'/>"
    field = "<w:fldSimple w:instr=' REF lamp \\h '>{}</w:fldSimple>"
    a, b = Writer(), Writer()
    a.add(run(KEEPER))
    if taken:
        a.add(mark.format("lamp", run(FIRST)))
    a.add(run(BELLS))
    b.add(mark.format("lamp", run(KEEPER)))
    b.add(run("As was said of the lamp: ") + field.format(run("see there")))
    b.add(f"<w:hyperlink w:anchor='lamp'>{run('Back to the lamp')}</w:hyperlink>")
    b.add(run(BELLS))
    file = redline(tmp_path, a, b)
    assert_exact(other_reader, tmp_path)
    package = other_reader.Package(tmp_path / "redline.docx")
    for accept in (True, False):
        assert other_reader.read_word(package, lambda _, accept=accept: accept).dangling() == set()
    name = paragraph(file, KEEPER).find(qn("w:bookmarkStart")).get(qn("w:name"))
    assert name == ("lamp_2" if taken else "lamp")
    assert paragraph(file, "As was said").find(qn("w:fldSimple")).get(qn("w:instr")).split()[1] == name
    assert paragraph(file, "Back to").find(qn("w:hyperlink")).get(qn("w:anchor")) == name
