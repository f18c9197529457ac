"""Word documents: what belongs to the body, and that nothing that stands beside it is lost."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from word_files import linked, p, part, relations, root, row, write_word

from colde_cli.documents.document import Document
from colde_cli.documents.outside import digest_of
from colde_cli.documents.reading import read
from colde_cli.similarity.outside_changes import compare_outside


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "letter.docx"


def beside(document: Document) -> list[tuple[str, str, str]]:
    """Kind, text and subject of the texts outside the body."""
    return [(text.kind.value, text.text, text.about) for text in document.outside]


def parts(document: Document) -> list[tuple[str, str, str]]:
    """Kind, subject and source of the parts that are not read."""
    return [(one.kind.value, one.about, one.source) for one in document.parts]


def r(text: str, properties: str = "") -> str:
    return f'<w:r><w:rPr>{properties}</w:rPr><w:t xml:space="preserve">{text}</w:t></w:r>'


def field(code: str, result: str | None = None, form: str = "") -> str:
    end = '<w:r><w:fldChar w:fldCharType="end"/></w:r>'
    middle = "" if result is None else f'<w:r><w:fldChar w:fldCharType="separate"/></w:r>{result}'
    begin = f'<w:r><w:fldChar w:fldCharType="begin">{form}</w:fldChar></w:r>'
    return f"{begin}<w:r><w:instrText>{code}</w:instrText></w:r>{middle}{end}"


def text_of(path: Path, *runs: str) -> str:
    return read(write_word(path, f"<w:p>{''.join(runs)}</w:p>")).text


UP, DOWN = '<w:vertAlign w:val="superscript"/>', '<w:vertAlign w:val="subscript"/>'


@pytest.mark.parametrize(
    ("runs", "text"),
    [
        ((r("10"), r("6", UP), r(" cells")), "10^6 cells"),
        ((r("10"), r("−", UP), r("6", UP)), "10^−6"),
        ((r("10"), r("6", UP), r("3")), "10^(6)3"),
        ((r("H"), r("2", DOWN), r("O")), "H_2O"),
        ((r("10"), r("6", '<w:position w:val="8"/>')), "10^6"),
        ((r("10"), r("6", '<w:position w:val="2"/>')), "106"),
        ((r("10"), r("6", UP + '<w:vertAlign w:val="baseline"/>')), "106"),
        ((r("the 1"), r("st", UP), r(" day")), "the 1st day"),
        ((r("10"), r("6", '<w:rStyle w:val="Above"/>')), "10^6"),
        ((r("a "), '<w:r><w:sym w:font="Symbol" w:char="F0A3"/></w:r>', r(" b")), "a ≤ b"),
        ((r("a "), '<w:r><w:sym w:font="Symbol" w:char="F0B3"/></w:r>', r(" b")), "a ≥ b"),
        ((r("5 "), r("m", '<w:rFonts w:ascii="Symbol" w:hAnsi="Symbol"/>'), r("g")), "5 μg"),
        ((r("\uf0fe", '<w:rFonts w:ascii="Wingdings"/>'), r(" agreed")), "☑ agreed"),
        ((r("a "), '<w:r><w:sym w:font="Odd Signs" w:char="F0A3"/></w:r>'), "a [Odd Signs F0A3]"),
        ((r("a "), '<w:r><w:sym w:font="Webdings" w:char="F061"/></w:r>'), "a [Webdings F061]"),
    ],
)
def test_scripts_and_symbols(path: Path, runs: tuple[str, ...], text: str) -> None:
    style = f'<w:style w:styleId="Above"><w:name w:val="Above"/><w:rPr>{UP}</w:rPr></w:style>'
    styles = {"word/styles.xml": root("styles", style).encode()}
    assert read(write_word(path, f"<w:p>{''.join(runs)}</w:p>", parts=styles)).text == text


def test_a_large_initial_belongs_to_the_next_paragraph(path: Path) -> None:
    framed = '<w:p><w:pPr><w:framePr w:dropCap="drop" w:lines="3"/></w:pPr><w:r><w:t>E</w:t></w:r></w:p>'
    assert read(write_word(path, framed + p("very net is old.") + p("So is the rope."))).text == (
        "Every net is old.\n\nSo is the rope."
    )


@given(
    st.lists(
        st.tuples(st.text("0123456789", min_size=1, max_size=3), st.sampled_from(("", UP, DOWN))),
        min_size=1,
        max_size=5,
    )
)
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_digits_of_runs_at_other_heights_are_never_joined(tmp_path: Path, runs: list[tuple[str, str]]) -> None:
    merged: list[tuple[str, str]] = []
    for text, height in runs:
        if merged and merged[-1][1] == height:
            merged[-1] = merged[-1][0] + text, height
        else:
            merged.append((text, height))
    found = text_of(tmp_path / "a.docx", *(r(text, height) for text, height in runs))
    digits = "".join(sign if sign.isdigit() else " " for sign in found).split()
    expected = [text for text, _ in merged]
    assert digits == expected


def test_boxes_and_lists_of_forms(path: Path) -> None:
    box = (
        '<w:sdt><w:sdtPr><w14:checkbox><w14:checked w14:val="{}"/></w14:checkbox></w:sdtPr>'
        "<w:sdtContent><w:r><w:t>{}</w:t></w:r></w:sdtContent></w:sdt>"
    )
    old = '<w:ffData><w:name w:val="Agree"/><w:checkBox><w:default w:val="0"/><w:checked/></w:checkBox></w:ffData>'
    choice = (
        '<w:ffData><w:name w:val="Rate"/><w:ddList><w:result w:val="1"/><w:listEntry w:val="low"/>'
        '<w:listEntry w:val="high"/></w:ddList></w:ffData>'
    )
    body = (
        f"<w:p>{box.format(1, '☒')}{r(' new')}</w:p><w:p>{box.format(0, '☐')}{r(' open')}</w:p>"
        + f"<w:p>{box.format(1, '☐')}{r(' at odds')}</w:p>"
        + f"<w:p>{field('FORMCHECKBOX', form=old)}{r(' old')}</w:p><w:p>{field('FORMDROPDOWN', form=choice)}</w:p>"
        + '<w:p><w:sdt><w:sdtPr><w:alias w:val="City"/><w:dropDownList><w:listItem w:displayText="Ayr" w:value="1"/>'
        + '<w:listItem w:value="Oban"/></w:dropDownList></w:sdtPr><w:sdtContent>'
        + f"{r('Oban')}</w:sdtContent></w:sdt></w:p>"
    )
    document = read(write_word(path, body))
    assert document.text.split("\n\n") == ["☒ new", "☐ open", "☐ at odds", "☒ old", "high", "Oban"]
    assert beside(document) == [
        ("form-values", "ticked", ""), ("form-values", "low, high", "Rate"), ("form-values", "Ayr (1), Oban", "City"),
    ]  # fmt: skip


def test_fields(path: Path) -> None:
    inner, fraction = field(" HYPERLINK \\l &quot;mark&quot; ", r("here")), field("EQ \\f(1,2)")
    body = (
        f"<w:p>{field(' HYPERLINK &quot;https://a.example/x&quot; ', r('there'))}</w:p>"
        + f"<w:p>{inner}</w:p>"
        + f"<w:p>{field('=5*2')}{field('MACROBUTTON NoMacro [the price is five]')}</w:p>"
        + f"<w:p>{field('=SUM(ABOVE)', r('10'))} {field('REF x', r('eleven'))}</w:p>"
        + f"<w:p>{fraction}<w:fldSimple w:instr='DATE'>{r(' May')}</w:fldSimple></w:p>"
    )
    document = read(write_word(path, body))
    assert document.text.split("\n\n") == ["there", "here", "[the price is five]", "10eleven", "1/2 May"]
    assert beside(document) == [
        ("links", "https://a.example/x", "there"), ("code", "=5*2", ""), ("code", "=SUM(ABOVE)", "10"),
    ]  # fmt: skip


def test_a_result_inside_a_code_is_not_shown(path: Path) -> None:
    inner = field("MERGEFIELD Town", r("Ayr"))
    within = f"</w:instrText></w:r>{inner}<w:r><w:instrText>"
    outer = field(f'IF "{within}" = "Ayr" "yes" "no"', r("yes"))
    endless = field("REF x").removesuffix('<w:r><w:fldChar w:fldCharType="end"/></w:r>')
    document = read(write_word(path, f"<w:p>{outer}</w:p><w:p>{endless}</w:p>" + p("Kept.")))
    assert document.text == "yes\n\nKept."
    assert beside(document) == [("code", 'IF "Ayr{MERGEFIELD Town}" = "Ayr" "yes" "no"', "yes")]


def test_letters_that_are_hidden_struck_or_cannot_be_seen(path: Path) -> None:
    styles = (
        '<w:style w:styleId="Base"><w:rPr><w:vanish/></w:rPr></w:style>'
        '<w:style w:styleId="Shown"><w:basedOn w:val="Base"/><w:rPr><w:vanish w:val="0"/></w:rPr></w:style>'
        '<w:style w:styleId="Secret"><w:rPr><w:vanish/></w:rPr></w:style>'
    )
    white = '<w:color w:val="FFFFFF"/>'
    body = (
        p("all hidden", "Base")
        + p("overridden", "Shown")
        + p("twice", "Base").replace("<w:r>", "<w:r><w:rPr><w:rStyle w:val='Secret'/></w:rPr>")
        + f"<w:p>{r('shall ')}{r('n', '<w:strike/>')}{r('ot', '<w:dstrike/>')}{r(' pay')}</w:p>"
        + f"<w:p>{r('pale', white)}</w:p>"
        + f"<w:tbl><w:tr><w:tc><w:p>{r('in a dark cell', white)}</w:p></w:tc></w:tr></w:tbl>"
    )
    document = read(write_word(path, body, parts={"word/styles.xml": root("styles", styles).encode()}))
    assert document.text.split("\n\n") == ["overridden", "twice", "shall not pay", "pale", "in a dark cell"]
    assert beside(document) == [
        ("hidden-text", "all hidden", ""),
        ("deleted-text", "not", "struck through"),
        ("hidden-text", "pale", "white letters"),
    ]


def test_a_deleted_row_is_no_text(path: Path) -> None:
    gone = row("old", "row").replace("<w:tr>", "<w:tr><w:trPr><w:del/></w:trPr>")
    document = read(write_word(path, f"<w:tbl>{row('a', 'b')}{gone}{row('c', 'd')}</w:tbl>"))
    assert document.text == "a | b\nc | d"
    assert beside(document) == [("deleted-text", "old", ""), ("deleted-text", "row", "")]


def header(text: str) -> bytes:
    pages = f"<w:fldSimple w:instr='NUMPAGES'>{r('9')}</w:fldSimple>"
    return root("hdr", f"<w:p>{r(text + ', page ')}{field('PAGE', r('7'))}{r(' of ')}{pages}</w:p>").encode()


def test_headers_and_footers(path: Path) -> None:
    word_art = '<w:p><w:r><w:pict><v:shape><v:textpath string="DRAFT"/></v:shape></w:pict></w:r></w:p>'
    sections = (
        '<w:p><w:pPr><w:sectPr><w:headerReference w:type="default" r:id="h1"/>'
        '<w:headerReference w:type="first" r:id="h2"/><w:titlePg/></w:sectPr></w:pPr></w:p>'
        '<w:sectPr><w:headerReference w:type="default" r:id="h1"/>'
        '<w:headerReference w:type="even" r:id="h3"/><w:footerReference w:type="default" r:id="f1"/></w:sectPr>'
    )
    files = {
        "h1 header h1.xml": header("Tides"),
        "h2 header h2.xml": root("hdr", p("First") + word_art).encode(),
        "h3 header h3.xml": root("hdr", p("Even")).encode(),
        "f1 footer f1.xml": root("ftr", p("Liability is capped at EUR 10,000")).encode(),
    }
    document = read(write_word(path, p("Bells.") + sections, parts=linked(files)))
    assert document.text == "Bells."
    assert beside(document) == [
        ("headers", "Tides, page # of #", ""), ("headers", "First", "first page"), ("headers", "DRAFT", "watermark"),
        ("hidden-text", "Even", "not shown on any page"), ("footers", "Liability is capped at EUR 10,000", ""),
    ]  # fmt: skip


def test_comments_notes_and_links(path: Path) -> None:
    comments = '<w:comment w:id="4" w:author="Ada">' + p("Why ten?") + "</w:comment>"
    comments += '<w:comment w:id="5">' + p("Lost.") + "</w:comment>"
    body = (
        f'<w:p>{r("Pay ")}<w:commentRangeStart w:id="4"/>{r("ten")}{r(" euros")}<w:commentRangeEnd w:id="4"/>'
        '<w:r><w:commentReference w:id="4"/></w:r>'
        f'<w:hyperlink r:id="l1" w:tooltip="Our bank">{r(" here")}</w:hyperlink>'
        f'<w:hyperlink w:anchor="below">{r(" or below")}</w:hyperlink></w:p>'
    )
    notes = f'<w:footnote w:id="9">{p("Nobody asks.")}</w:footnote>'
    files = {
        "c comments comments.xml": root("comments", comments).encode(),
        "l1 hyperlink https://bank.example/": b"",
    }
    document = read(write_word(path, body, notes, parts=linked(files)))
    assert document.text == "Pay ten euros here or below"
    assert beside(document) == [
        ("links", "https://bank.example", "here"), ("alternative-texts", "Our bank", "here"),
        ("notes", "Nobody asks.", "footnote"), ("comments", "Ada: Why ten?", "ten euros"), ("comments", "Lost.", ""),
    ]  # fmt: skip


PICTURE = (
    '<w:r><w:drawing><wp:inline><wp:docPr id="{}" name="Picture 3" descr="{}"/><a:graphic><a:graphicData><pic:pic>'
    '<pic:nvPicPr><pic:cNvPr id="0" name="x.png" descr="C:\\x.png"/></pic:nvPicPr><pic:blipFill>'
    '<a:blip r:embed="{}"/></pic:blipFill></pic:pic></a:graphicData></a:graphic></wp:inline></w:drawing></w:r>'
)


def test_pictures_in_the_order_of_the_text(path: Path) -> None:
    files = {
        "i1 image media/one.png": b"one", "i2 image media/two.png": b"two", "i3 image file:///C:/three.png": b"",
    }  # fmt: skip
    runs = PICTURE.format(7, "a seal", "i2") + PICTURE.format(8, "", "i1") + PICTURE.format(9, "", "i2")
    outside = PICTURE.format(1, "", "i3").replace("r:embed", "r:link")
    document = read(write_word(path, f"<w:p>{r('See')}{runs}{outside}</w:p>", parts=linked(files)))
    assert [(one.kind.value, one.digest, one.source) for one in document.parts] == [
        ("pictures", digest_of(b"two"), "word/media/two.png"),
        ("pictures", digest_of(b"one"), "word/media/one.png"),
        ("pictures", digest_of(b"two"), "word/media/two.png"),
        ("pictures", digest_of(b"file:///C:/three.png"), ""),
    ]
    assert beside(document) == [("alternative-texts", "a seal", "")]


def chart(value: str, colour: str) -> bytes:
    return part(
        "c:chartSpace",
        f'<c:chart><c:spPr><a:srgbClr val="{colour}"/></c:spPr><c:barChart><c:ser><c:val><c:numRef><c:f>Sheet1!A1</c:f>'
        f'<c:numCache><c:formatCode>General</c:formatCode><c:pt idx="0"><c:v>{value}</c:v></c:pt></c:numCache>'
        "</c:numRef></c:val></c:ser></c:barChart></c:chart>",
    )


def workbook(date: int) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as made:
        made.writestr(zipfile.ZipInfo("docProps/core.xml", (date, 1, 1, 0, 0, 0)), str(date))
        made.writestr(zipfile.ZipInfo("xl/sheet1.xml", (date, 1, 1, 0, 0, 0)), "<cells/>")
    return data.getvalue()


def with_parts(
    path: Path, value: str = "4.3", colour: str = "FF0000", ole: bytes = b"five", date: int = 2020
) -> Document:
    """A document with a chart and its data, a diagram and an object."""
    graphic = "<a:graphic><a:graphicData>{}</a:graphicData></a:graphic>"
    drawing = f"<w:r><w:drawing><wp:inline>{graphic}</wp:inline></w:drawing></w:r>"
    body = (
        p("Figures.")
        + f"<w:p>{drawing.format('<c:chart r:id=`c1`/>')}</w:p>".replace("`", '"')
        + f"<w:p>{drawing.format('<dgm:relIds r:dm=`d1`/>')}</w:p>".replace("`", '"')
        + '<w:p><w:r><w:object><o:OLEObject ProgID="Package" r:id="o1"/></w:object></w:r></w:p>'
    )
    points = "".join(
        f"<dgm:pt><dgm:t><a:p><a:r><a:t>{word}</a:t></a:r></a:p></dgm:t></dgm:pt>" for word in ("Plan", "Build")
    )
    files = {
        "c1 chart charts/chart1.xml": chart(value, colour),
        "d1 diagramData diagrams/data1.xml": part("dgm:dataModel", f"<dgm:ptLst>{points}</dgm:ptLst>"),
        "o1 oleObject embeddings/one.bin": ole,
    }
    data = {
        "word/charts/_rels/chart1.xml.rels": relations("package").replace(b"package.xml", b"book.xlsx"),
        "word/charts/book.xlsx": workbook(date),
    }
    return read(write_word(path, body, parts=linked(files) | data))


def test_charts_diagrams_and_objects(tmp_path: Path) -> None:
    document = with_parts(tmp_path / "a.docx")
    assert document.text == "Figures.\n\nPlan\n\nBuild"
    assert [one[:2] for one in parts(document)] == [
        ("charts", ""), ("embedded-files", "data of a chart"), ("embedded-files", "Package"),
    ]  # fmt: skip
    saved_anew = with_parts(tmp_path / "b.docx", "4.2999999999999998", "00FF00", date=2024)
    assert not compare_outside(document, saved_anew).changes
    for other in (with_parts(tmp_path / "c.docx", "4.4"), with_parts(tmp_path / "d.docx", ole=b"nine")):
        assert compare_outside(document, other).changes == 1


def test_drawn_words_are_text_and_a_fallback_is_read_if_nothing_else_is(path: Path) -> None:
    box = "<w:pict><v:textbox><w:txbxContent>{}</w:txbxContent></v:textbox></w:pict>"
    fallback = "<mc:AlternateContent><mc:Choice>{}</mc:Choice>"
    fallback += f"<mc:Fallback>{box}</mc:Fallback></mc:AlternateContent>"
    shape = "<w:drawing><wps:wsp/></w:drawing>"
    words = "<w:drawing><a:p><a:r><a:t>drawn</a:t></a:r></a:p></w:drawing>"
    body = "".join(
        f"<w:p><w:r>{markup}</w:r></w:p>"
        for markup in (
            fallback.format(shape, p("old box")),
            fallback.format(words, p("drawn")),
            '<w:pict><v:shape alt="a bell"><v:textpath string="BELLS"/></v:shape></w:pict>',
            "<w:drawing><wps:wsp/></w:drawing>",
        )
    )
    document = read(write_word(path, body))
    assert document.text.split("\n\n") == ["old box", "drawn", "BELLS"]
    assert parts(document) == [("drawings", "shape", ""), ("drawings", "shape", "")]
    assert beside(document) == [("alternative-texts", "a bell", "")]


def test_documents_inside_the_document(tmp_path: Path) -> None:
    inner = write_word(tmp_path / "inner.docx", p("Inside", "berschrift1") + p("Words of Word."))
    files = {
        "k0 aFChunk chunk0": b"<html><body><p>Words of a page</p></body></html>",
        "k1 aFChunk chunk1": inner.read_bytes(), "k2 aFChunk chunk2": b"{\\rtf1 words}", "k3 aFChunk missing": b"",
        "k4 aFChunk chunk.txt": b"Plain words.", "k5 subDocument file:///C:/sub.docx": b"",
    }  # fmt: skip
    chunks = "".join(f'<w:altChunk r:id="k{number}"/>' for number in range(5))
    body = p("Outer.") + chunks + '<w:subDoc r:id="k5"/>'
    made = linked(files)
    del made["word/missing"]
    document = read(write_word(tmp_path / "a.docx", body, parts=made))
    assert document.text == "Outer.\n\nWords of a page\n\nInside\n\nWords of Word.\n\nPlain words."
    assert parts(document) == [("embedded-files", "", ""), ("embedded-files", "file:///C:/sub.docx", "")]


def numbered(path: Path, form: str = "decimal") -> Document:
    level = f'<w:start w:val="3"/><w:numFmt w:val="{form}"/><w:lvlText w:val="Article %1."/>'
    level = f'<w:lvl w:ilvl="0">{level}</w:lvl>'
    lists = f'<w:abstractNum w:abstractNumId="4">{level}</w:abstractNum>'
    lists += "".join(f'<w:num w:numId="{number}"><w:abstractNumId w:val="4"/></w:num>' for number in (7, 8))
    item = '<w:numPr><w:ilvl w:val="0"/><w:numId w:val="{}"/></w:numPr>'
    body = "".join(p(text, properties=item.format(of)) for text, of in (("Fee", 7), ("Term", 8), ("Not", 0)))
    files = {"n numbering numbering.xml": root("numbering", lists).encode()}
    return read(write_word(path, body, parts=linked(files)))


def test_lists_that_are_counted(path: Path) -> None:
    document = numbered(path)
    assert [number.mark for number in document.numbers] == ["Article 3.", "Article 4."]
    assert not beside(document)
    assert [number.mark for number in numbered(path, form="lowerRoman").numbers] == ["Article iii.", "Article iv."]
    assert document.report.counted_numbers
    bullets = numbered(path, form="bullet")
    assert not bullets.numbers
    assert not bullets.report.counted_numbers


def test_the_reading_of_a_word_stands_beside_it(path: Path) -> None:
    ruby = f"<w:r><w:ruby><w:rt>{r('かん')}</w:rt><w:rubyBase>{r('漢')}</w:rubyBase></w:ruby></w:r>"
    document = read(write_word(path, f"<w:p>{ruby}{r('字')}</w:p>"))
    assert document.text == "漢字"
    assert beside(document) == [("alternative-texts", "かん", "漢")]


def test_looks_and_properties_make_no_difference(tmp_path: Path) -> None:
    plain = f"<w:p>{r('Pay ten euros.')}</w:p>"
    marked = f"<w:bookmarkStart w:id='1'/>{r('ten euros.', '<w:i/>')}"
    dressed = f"<w:p w:rsidR='00AA'>{r('Pay ', '<w:b/><w:caps/><w:lang/>')}{marked}</w:p>"
    a, b = read(write_word(tmp_path / "a.docx", plain)), read(write_word(tmp_path / "b.docx", dressed))
    assert a.text == b.text
    assert not compare_outside(a, b).changes


KINDS = ("shown", "hidden", "deleted", "struck", "commented")


@given(
    st.lists(
        st.tuples(st.sampled_from(KINDS), st.integers(100, 999)),
        min_size=1,
        max_size=10,
        unique_by=lambda one: one[1],
    )
)
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_word_is_in_the_body_or_beside_it(tmp_path: Path, words: list[tuple[str, int]]) -> None:
    runs, comments = [], []
    for kind, number in words:
        if kind == "deleted":
            runs.append(f"<w:del><w:r><w:delText xml:space='preserve'> {number}</w:delText></w:r></w:del>")
        elif kind == "commented":
            runs.append(f'<w:r><w:commentReference w:id="{number}"/></w:r>')
            comments.append(f'<w:comment w:id="{number}">{p(str(number))}</w:comment>')
        else:
            look = {"hidden": "<w:vanish/>", "struck": "<w:strike/>"}.get(kind, "")
            runs.append(r(f" {number}", look))
    files = linked({"c comments comments.xml": root("comments", "".join(comments)).encode()})
    document = read(write_word(tmp_path / "a.docx", p("Start.") + f"<w:p>{''.join(runs)}</w:p>", parts=files))
    body = [str(number) for kind, number in words if kind in ("shown", "struck")]
    assert document.text.split() == ["Start.", *body]
    outside = sorted(word for text in document.outside for word in text.text.split())
    assert outside == sorted(str(number) for kind, number in words if kind != "shown")
