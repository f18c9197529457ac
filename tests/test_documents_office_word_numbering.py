"""Word's lists are counted as Word counts them (ECMA-376 part 1, § 17.9)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from word_files import linked, p, root, row, write_word

from colde_cli.documents.document import Document
from colde_cli.documents.office.word_styles import NumberCounter, Numbering
from colde_cli.documents.reading import read


def level(number: int, text: str, form: str = "decimal", start: int = 1, more: str = "") -> str:
    return (
        f'<w:lvl w:ilvl="{number}"><w:start w:val="{start}"/><w:numFmt w:val="{form}"/>{more}'
        f'<w:lvlText w:val="{text}"/></w:lvl>'
    )


LEGAL = level(0, "%1.") + level(1, "%1.%2") + level(2, "(%3)", "lowerLetter") + level(3, "(%4)", "lowerRoman")


def lists(levels: str = LEGAL, nums: str = "") -> str:
    nums = nums or num(1)
    return f'<w:abstractNum w:abstractNumId="0">{levels}</w:abstractNum>{nums}'


def num(number: int, override: str = "", abstract: int = 0) -> str:
    return f'<w:num w:numId="{number}"><w:abstractNumId w:val="{abstract}"/>{override}</w:num>'


def start(number: int, value: int) -> str:
    return f'<w:lvlOverride w:ilvl="{number}"><w:startOverride w:val="{value}"/></w:lvlOverride>'


def numbered(path: Path, numbering: str, body: str, styles: str = "") -> Document:
    files = {"n numbering numbering.xml": root("numbering", numbering).encode()}
    if styles:
        files["s styles styles.xml"] = root("styles", styles).encode()
    return read(write_word(path, body, parts=linked(files)))


def items(places: Sequence[tuple[int, int]]) -> str:
    """Paragraphs in a list and on a level of it."""
    return "".join(p(f"Item {place}.", properties=in_list(*one)) for place, one in enumerate(places))


def in_list(number: int, at: int) -> str:
    return f'<w:numPr><w:ilvl w:val="{at}"/><w:numId w:val="{number}"/></w:numPr>'


CASES = {
    "levels": (lists(), [(1, 0), (1, 1), (1, 2), (1, 2), (1, 3), (1, 1), (1, 2), (1, 0), (1, 1)], "1 1.1 1.1(a)"
        " 1.1(b) 1.1(b)(i) 1.2 1.2(a) 2 2.1"),
    "a level without one above": (lists(), [(1, 1), (1, 1), (1, 0)], "1.1 1.2 2"),
    "a list goes on after another": (
        lists(nums=num(1) + num(2, abstract=0)), [(1, 0), (2, 0), (1, 0)], "1 2 3"),
    "a list starts again once": (lists(nums=num(1) + num(2, start(0, 1))), [(1, 0), (1, 0), (2, 0), (2, 0), (1, 0)],
        "1 2 1 2 3"),
    "a first number": (lists(nums=num(1, start(0, 5))), [(1, 0), (1, 1), (1, 0)], "5 5.1 6"),
    "a level of its own": (
        lists(nums=num(1) + num(2, '<w:lvlOverride w:ilvl="0">' + level(0, "%1)", "upperLetter") + "</w:lvlOverride>")),
        [(1, 0), (2, 0)], "1 B)"),
    "figures alone": (
        lists(level(0, "Article %1", "upperRoman") + level(1, "Section %1.%2", more="<w:isLgl/>")),
        [(1, 0), (1, 0), (1, 1)], "Article_I Article_II Section_2.1"),
    "never again": (lists(level(0, "%1.") + level(1, "%2)", more='<w:lvlRestart w:val="0"/>')),
        [(1, 0), (1, 1), (1, 0), (1, 1)], "1 1_1) 2 2_2)"),
    "after the outermost level alone": (
        lists(level(0, "%1.") + level(1, "%1.%2") + level(2, "%3)", more='<w:lvlRestart w:val="1"/>')),
        [(1, 0), (1, 1), (1, 2), (1, 1), (1, 2), (1, 0), (1, 2)], "1 1.1 1.1_1) 1.2 1.2_2) 2 2_1)"),
    "no mark": (lists(level(0, "%1.", "none") + level(1, "%1.%2")), [(1, 0), (1, 1)], "- .1"),
    "a bullet above": (lists(level(0, "•", "bullet") + level(1, "%2.")), [(1, 0), (1, 1), (1, 0), (1, 1)], "- 1 - 1"),
    "words": (lists(level(0, "Not five %1.")), [(1, 0)], "Not_five_1"),
    "zero switches off": (lists(), [(1, 0), (0, 0), (1, 0)], "1 - 2"),
    "a list that is linked to a style": (
        '<w:abstractNum w:abstractNumId="0"><w:styleLink w:val="L"/>' + LEGAL + "</w:abstractNum>"
        '<w:abstractNum w:abstractNumId="1"><w:numStyleLink w:val="L"/></w:abstractNum>' + num(1) + num(2, abstract=1),
        [(1, 0), (2, 0), (2, 1)], "1 2 2.1"),
    "none that is defined": (lists(), [(7, 0), (1, 8)], "- -"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_counting(case: str, tmp_path: Path) -> None:
    numbering, places, expected = CASES[case]
    document = numbered(tmp_path / "a.docx", numbering, items(places))
    labels = {number.start: number.label for number in document.numbers}
    found = [labels.get(document.text.index(f"Item {place}."), "-") for place in range(len(places))]
    assert [label.replace(" ", "_") for label in found] == [one.removeprefix(".") for one in expected.split()]


def test_numbers_by_style(tmp_path: Path) -> None:
    def style(name: str, at: int, based_on: str = "") -> str:
        based = f'<w:basedOn w:val="{based_on}"/>' if based_on else ""
        listed = "" if based_on else f'<w:numPr><w:ilvl w:val="{at}"/><w:numId w:val="1"/></w:numPr>'
        return (
            f'<w:style w:type="paragraph" w:styleId="{name}"><w:name w:val="{name}"/>{based}<w:pPr>{listed}</w:pPr>'
            "</w:style>"
        )

    def levels() -> str:
        named = (f'<w:pStyle w:val="H{at}"/>' for at in range(2))
        return level(0, "%1.", more=next(named)) + level(1, "%1.%2", more=next(named))

    styles = style("H0", 0) + style("H1", 1) + style("Own", 0, "H1")
    off = '<w:pStyle w:val="H0"/><w:numPr><w:numId w:val="0"/></w:numPr>'
    body = p("One", "H0") + p("Two", "H1") + p("Three", "Own") + p("Off", properties=off) + p("Four", "H0")
    document = numbered(tmp_path / "a.docx", lists(levels()), body, styles)
    labels = [(document.text[number.start : number.end], number.label) for number in document.numbers]
    assert labels == [("One", "1"), ("Two", "1.1"), ("Three", "1.2"), ("Four", "2")]


def test_what_is_not_shown_is_not_counted(tmp_path: Path) -> None:
    """Deleted and hidden paragraphs have no number; an empty one has, and so has one in a table."""
    one = in_list(1, 0)
    gone = "<w:rPr><w:del w:id='1'/></w:rPr>"
    deleted = f"<w:p><w:pPr>{one}{gone}</w:pPr><w:del w:id='2'><w:r><w:delText>Gone.</w:delText></w:r></w:del></w:p>"
    hidden = f"<w:p><w:pPr>{one}<w:rPr><w:vanish/></w:rPr></w:pPr></w:p>"
    rows = f"<w:tbl>{row(f'<w:p><w:pPr>{one}</w:pPr></w:p>', p('Malt.'))}{row(p('Hops.', properties=one))}</w:tbl>"
    body = p("First.", properties=one) + deleted + hidden + p("", properties=one) + rows + p("Last.", properties=one)
    document = numbered(tmp_path / "a.docx", lists(), body)
    labels = [(document.text[number.start : number.end], number.label) for number in document.numbers]
    assert labels == [("First.", "1"), ("| Malt.", "3"), ("Hops.", "4"), ("Last.", "5")]
    assert document.report.counted_numbers


def test_numbers_beside_the_body_are_accounted_for(tmp_path: Path) -> None:
    note = root("footnotes", f'<w:footnote w:id="2">{p("Noted.", properties=in_list(1, 0))}</w:footnote>')
    files = {
        "n numbering numbering.xml": root("numbering", lists()).encode(),
        "f footnotes footnotes.xml": note.encode(),
    }
    body = p("Text.", properties=in_list(1, 0)) + '<w:p><w:r><w:t>A</w:t><w:footnoteReference w:id="2"/></w:r></w:p>'
    document = read(write_word(tmp_path / "a.docx", body, parts=linked(files)))
    assert [number.label for number in document.numbers] == ["1"]
    assert [(text.kind.value, text.text, text.about) for text in document.outside] == [("structure", "1.", "Noted.")]


@given(st.lists(st.integers(0, 3), min_size=1, max_size=30))
def test_decimal_numbers_are_those_of_a_tree(levels: list[int]) -> None:
    """Number n of a level is its place among the items under the same item, where all levels restart."""
    elements = [("w:abstractNum", {"w:abstractNumId": "0"}, "")]
    for at in range(4):
        text = ".".join(f"%{up + 1}" for up in range(at + 1))
        elements += [("w:lvl", {"w:ilvl": str(at)}, ""), ("w:lvlText", {"w:val": text}, "")]
    elements += [("w:num", {"w:numId": "1"}, ""), ("w:abstractNumId", {"w:val": "0"}, "")]
    counter = NumberCounter(Numbering(elements))
    path: list[int] = []
    for at in levels:
        path = [*path[: at + 1], *([0] * (at + 1 - len(path)))]
        path[at] += 1
        path = [max(1, number) for number in path]
        counted = counter.count("1", str(at))
        assert counted is not None
        assert counted.label == counted.mark == ".".join(map(str, path))
