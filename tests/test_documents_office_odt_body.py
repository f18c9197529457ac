"""What stands beside the body of an OpenDocument text, and letters that say more than their characters."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from libre_office import SOFFICE, saved
from odt_files import MIMETYPE, h, master, p, pages, root, s, styled, table, write_odt

from colde_cli.documents.document import Document
from colde_cli.documents.reading import read

NOTE = (
    "<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>{}</text:p></text:note-body>"
    "</text:note>"
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "letter.odt"


def beside(document: Document, *kinds: str) -> list[tuple[str, str]]:
    """Texts of these kinds, and what they belong to."""
    return [(text.text, text.about) for text in document.outside if text.kind.value in kinds]


def parts_of(document: Document) -> list[tuple[str, str]]:
    return [(part.kind.value, part.digest) for part in document.parts]


def test_what_is_no_text_of_the_body_stands_beside_it(path: Path) -> None:
    body = (
        "<text:tracked-changes><text:changed-region><text:deletion>"
        "<office:change-info><dc:creator>Ann</dc:creator><dc:date>2024</dc:date></office:change-info>"
        + p("gone")
        + p("too")
        + "</text:deletion></text:changed-region></text:tracked-changes>"
        + "<text:table-of-content><text:table-of-content-source>no</text:table-of-content-source><text:index-body>"
        + f"<text:index-title>{p('Contents')}</text:index-title>{p('1 Terms<text:tab/>2')}{p('Price 2002 .... iv')}"
        + "</text:index-body></text:table-of-content>"
        + h("Terms")
        + p(
            "Ten <text:change text:change-id='1'/>weeks<office:annotation loext:resolved='true'><dc:creator>Bob"
            "</dc:creator><dc:date>2024</dc:date><text:p>why?</text:p><text:p>5</text:p></office:annotation>"
            '<text:span text:style-name="T1"> un</text:span> <text:span text:style-name="T1">seen</text:span>.'
        )
        + f'<text:section text:display="none">{p("Hidden")}</text:section><text:section>{p("Shown")}</text:section>'
        + "<text:alphabetical-index><text:index-body><text:p>barley, 3, 12</text:p></text:index-body>"
        "</text:alphabetical-index>"
    )
    document = read(write_odt(path, body, title="Sale"))
    assert document.text == "Terms\n\nTen weeks .\n\nShown"
    assert document.report.warnings == ()
    assert ["read as accepted" in note for note in document.report.notes] == [True]
    assert beside(document, "deleted-text") == [("gone too", "")]
    assert beside(document, "comments") == [("Bob: why? 5 [resolved]", "")]
    assert beside(document, "hidden-text") == [("un seen", ""), ("Hidden", "")]
    contents = [text for text, _ in beside(document, "contents")]
    assert contents == ["Contents", "1 Terms", "Price 2002", "barley"]
    assert beside(document, "metadata") == [("Sale", "title")]


def with_styles(path: Path, styles: str, body: str, parts: dict[str, bytes] | None = None) -> Document:
    content = root(
        "document-content",
        f"<office:automatic-styles>{styles}</office:automatic-styles>"
        f"<office:body><office:text>{body}</office:text></office:body>",
    )
    return read(write_odt(path, "", parts={"content.xml": content.encode(), **(parts or {})}))


@pytest.mark.parametrize(
    ("words", "read_as"),
    [
        *((f"10{s(0, '6')} cells", "10^6 cells"), (f"10{s(1, '6')} cells", "10^6 cells")),
        *((f"H{s(2, '2')}O", "H_2O"), (f"x{s(0, s(5, 'n'))}{s(0, '+1')}", "x^(n+1)")),
        *((f"x{s(0, '2')}3", "x^(2)3"), (f"x{s(2, '1')}{s(0, '2')}", "x_1^2"), (f"a{s(0, s(3, 'b'))}", "ab")),
        *(("12<draw:frame/>50", "12 50"), (f"12{s(4, '9')}50", "1250")),
        *((f"12{NOTE.format('why')}50", "12 50\n\nwhy"), ("12<text:s/>50", "12 50")),
    ],
)
def test_raised_and_lowered_letters_are_written_as_such(path: Path, words: str, read_as: str) -> None:
    styles = styled(
        'style:text-position="super 58%"',
        'style:text-position="33% 58%"',
        'style:text-position="-33% 58%"',
        'style:text-position="0% 100%"',
        'text:display="none"',
        'style:text-position=""',
    )
    assert with_styles(path, styles, h("One") + p(words)).text == f"One\n\n{read_as}"


def test_struck_and_hidden_letters_follow_the_nearest_style(path: Path) -> None:
    styles = styled(
        'style:text-line-through-style="solid"',
        'style:text-line-through-style="none"',
        'text:display="none"',
        'text:display="true"',
    )
    styles += (
        '<style:style style:name="All" style:family="paragraph"><style:text-properties'
        ' style:text-line-through-type="single"/></style:style>'
        '<style:style style:name="Child" style:family="paragraph" style:parent-style-name="All"/>'
        '<style:style style:name="Off" style:family="paragraph"><style:text-properties text:display="none"/>'
        "</style:style>"
    )
    boxed = f"<draw:frame><draw:text-box>{p('box')}</draw:text-box></draw:frame>"
    body = (
        h("One")
        + p(f"shall {s(0, 'not')} {s(0, 'ever')} pay {s(0, s(1, 'all'))}")
        + p(f"every word but {s(1, 'this')}", "Child")
        + p(f"never {s(3, 'but here')}", "Off")
        + p(f"see {s(2, 'dark ' + boxed + s(3, 'light'))}")
    )
    document = with_styles(path, styles, body)
    text = "shall not ever pay all\n\nevery word but this\n\nbut here\n\nsee light"
    assert document.text == f"One\n\n{text}"
    struck = [("not ever", "struck through"), ("every word but", "struck through")]
    assert beside(document, "deleted-text") == struck
    assert [text for text, _ in beside(document, "hidden-text")] == ["never", "box", "dark"]


def math(inner: str) -> str:
    return f'<math xmlns="http://www.w3.org/1998/Math/MathML">{inner}</math>'


def mi(*names: str) -> str:
    return "".join(f"<mi>{name}</mi>" for name in names)


@pytest.mark.parametrize(
    ("inner", "read_as"),  # more of them in the tests of HTML
    [
        (f"<mfrac><mrow>{mi('a')}<mo>+</mo><mn>1</mn></mrow>{mi('b')}</mfrac>{mi('c')}", "((a+1)/b)c"),
        (f"<mfrac linethickness='0'>{mi('n', 'k')}</mfrac>", "(n choose k)"),
        (f"<semantics><mrow>{mi('sin', 'x')}</mrow><annotation>sin x</annotation></semantics>", "sin x"),
        (f"{mi('a')}<mfrac>{mi('b', 'c')}</mfrac><msqrt>{mi('a')}</msqrt>", "a(b/c)√(a)"),
        ("<mn>2</mn><mo>&#x2062;</mo><mn>3</mn>", "2 3"),
        (
            f"<mmultiscripts>{mi('X', 'a')}<none/><mprescripts/><mn>1</mn><mn>2</mn></mmultiscripts>",
            "_1^2 X_a",
        ),
        (f"<mfenced open='['>{mi('a', 'b')}</mfenced>", "[a, b)"),
        (f"<menclose notation='updiagonalstrike'>{mi('x')}</menclose>", "cancel(x)"),
    ],
)
def test_formulas_are_text(path: Path, inner: str, read_as: str) -> None:
    within = f"<draw:frame><draw:object>{math(inner)}</draw:object></draw:frame>"
    linked = '<draw:frame><draw:object xlink:href="./Object 1"/></draw:frame>'
    parts = {"Object 1/content.xml": math(inner).encode(), "ObjectReplacements/Object 1": b"preview"}
    for body in (within, linked):
        document = read(write_odt(path, h("One") + p(f"So {body}."), parts=parts))
        assert document.text == f"One\n\nSo {read_as}."
        assert document.parts == () or body == within


def test_objects_count_by_their_content_without_its_styles(path: Path) -> None:
    def chart(words: str, style: str = "ch1", width: str = "1cm") -> bytes:
        return root(
            "document-content",
            f'<office:automatic-styles><style:style style:name="{style}"/></office:automatic-styles><office:body>'
            f'<office:chart><table:table table:style-name="{style}" svg:width="{width}">{words}</table:table>'
            "</office:chart></office:body>",
        ).encode()

    def found(content: bytes) -> list[tuple[str, str]]:
        body = '<draw:frame><draw:object xlink:href="./Object%201"/><draw:image xlink:href="Pictures/1"/></draw:frame>'
        return parts_of(read(write_odt(path, h("One") + p(body), parts={"Object 1/content.xml": content})))

    (one,) = found(chart("five"))
    assert one[0] == "charts"
    assert found(chart("five", "ch7", "2cm")) == [one]
    assert found(chart("nine")) != [one]
    assert [kind for kind, _ in found(b"<c>five</c>")] == ["embedded-files"]
    assert found(b"<c>five</c>") != found(b"<c>nine</c>")
    # Not read, and no reason to fail:
    assert found(b"<!DOCTYPE c><c>five</c>") != found(b"<!DOCTYPE c><c>nine</c>")


def test_pictures_media_and_what_nothing_refers_to_are_parts(path: Path) -> None:
    frame = '<draw:frame draw:name="Seal"><draw:image xlink:href="{}"/>{}<svg:desc>A seal</svg:desc></draw:frame>'
    body = p(
        frame.format("Pictures/b.svg", '<draw:image xlink:href="Pictures/c.png"/>')
        + frame.format("https://five.example/a.png", "")
        + "<draw:image><office:binary-data>Zml2\nZQ==</office:binary-data></draw:image>"
        + '<draw:frame><draw:plugin xlink:href="Media/a.mp4"/></draw:frame>'
        + '<draw:frame><draw:object-ole xlink:href="./Object_3"/></draw:frame>'
    )
    names = "Pictures/b.svg Pictures/c.png Media/a.mp4 Object_3 Pictures/d.png Basic/Standard/M.xml".split()
    noise = "settings.xml Thumbnails/thumbnail.png Configurations2/a.xml META-INF/manifest.rdf".split()
    parts = {name: name.encode() for name in (*names, *noise, "META-INF/documentsignatures.xml")}
    document = read(write_odt(path, h("One") + body, parts=parts))
    found = [(part.kind.value, part.about, part.source) for part in document.parts]
    assert found == [
        *(("pictures", "Seal", "Pictures/b.svg"), ("embedded-files", "", ""), ("media", "", "")),
        *(("embedded-files", "", ""), ("scripts", "Basic/Standard/M.xml", "")),
        *(("other-parts", "digital signature", ""), ("other-parts", "Pictures/d.png", "")),
    ]
    assert document.parts[0].digest == hashlib.sha256(b"Pictures/b.svg").hexdigest()
    assert document.parts[1].digest == hashlib.sha256(b"five").hexdigest()
    assert beside(document, "links") == [("https://five.example/a.png", "picture")]
    assert [text for text, _ in beside(document, "alternative-texts")] == ["A seal", "A seal"]


def test_shapes_have_words_or_are_parts(path: Path) -> None:
    def found(shape: str) -> tuple[str, list[tuple[str, str]]]:
        document = read(write_odt(path, h("One") + table((p(f"a{shape}b"),))))
        return document.text.removeprefix("One\n\n"), parts_of(document)

    for name in ("draw:custom-shape", "draw:rect", "draw:path"):
        assert found(f"<{name}>{p('five')}</{name}>") == ("five\n\nab", [])
    smiley = '<draw:custom-shape svg:width="{}"><text:p/><draw:enhanced-geometry draw:type="{}"/></draw:custom-shape>'
    text, (part,) = found(smiley.format("1cm", "smiley"))
    assert (text, part[0]) == ("ab", "drawings")
    assert found(smiley.format("2cm", "smiley"))[1] == [part]
    assert found(smiley.format("1cm", "heart"))[1] != [part]
    assert found('<draw:path svg:d="M0 0h5"/>') != found('<draw:path svg:d="M0 0h9"/>')


def test_links_ruby_and_linked_sections(path: Path) -> None:
    body = p(
        '<text:a xlink:href="https://five.example/" office:title="tip">the <text:span>bank</text:span></text:a>'
        '<text:a xlink:href="#Terms|outline">there</text:a>'
        "<text:ruby><text:ruby-base>base</text:ruby-base><text:ruby-text>over</text:ruby-text></text:ruby>"
        '<draw:a xlink:href="https://nine.example/x"><draw:frame/></draw:a>'
    )
    body += '<text:section><text:section-source xlink:href="five.odt" text:section-name="S"/></text:section>'
    document = read(write_odt(path, h("One") + body))
    assert beside(document, "links") == [
        ("https://five.example", "the bank"), ("https://nine.example/x", ""), ("five.odt S", "linked section"),
    ]  # fmt: skip
    assert beside(document, "alternative-texts") == [("tip", "the bank"), ("over", "base")]
    assert document.text == "One\n\nthe banktherebase"


def test_fields_show_one_thing_and_hold_another(path: Path) -> None:
    fields = (
        '<text:drop-down text:name="Pick"><text:label text:value="five"/><text:label text:value="nine"/>nine'
        "</text:drop-down>, ",
        '<text:conditional-text text:condition="ooow:1" text:string-value-if-true="yes"'
        ' text:string-value-if-false="no">yes</text:conditional-text>, ',
        '<text:hidden-text text:string-value="dark" text:is-hidden="true">dark</text:hidden-text>',
        '<text:hidden-text text:string-value="lit" text:is-hidden="false">lit</text:hidden-text>, ',
        '<text:variable-set text:display="none" text:formula="ooow:5">five</text:variable-set>',
        "<text:meta-field>meta</text:meta-field>, ",
        '<loext:content-control><loext:list-item loext:display-text="a"/>b</loext:content-control>, ',
        '<field:fieldmark field:type="x.FORMCHECKBOX"><field:param field:name="Checkbox_Checked" field:value="true"/>'
        "</field:fieldmark>",
    )
    body = p("".join(fields)) + p('<text:hidden-paragraph text:is-hidden="true"/>Off')
    document = read(write_odt(path, h("One") + body + p('<text:hidden-paragraph text:is-hidden="false"/>On')))
    assert document.text == "One\n\nnine, yes, lit, meta, b, ☒\n\nOn"
    assert beside(document, "form-values") == [("five | nine", "Pick"), ("a", "")]
    assert beside(document, "code") == [("ooow:1 | yes | no", ""), ("ooow:5", "")]
    assert [text for text, _ in beside(document, "hidden-text")] == ["dark", "five", "Off"]


def test_values_that_the_words_do_not_show(path: Path) -> None:
    def code(words: str, value: str) -> list[tuple[str, str]]:
        stated = f'office:value-type="float" office:value="{value}"'
        cell = table((p(words),)).replace("<table:table-cell>", f"<table:table-cell {stated}>")
        found = p(f"It is <text:variable-set {stated}>{words}</text:variable-set>.") + cell
        return beside(read(write_odt(path, h("One") + found)), "code")

    assert code("EUR 1 250,00", "1250") == code("12.5 %", "0.125") == []
    assert code("1 250", "9250") == [("9250", "1 250"), ("9250", "1 250")]
    chosen = '<text:drop-down text:name="P"><text:label text:value="a" text:current-selected="true"/>b</text:drop-down>'
    assert beside(read(write_odt(path, p(chosen))), "form-values") == [("a", "P"), ("a", "P")]


def test_covered_cells_and_conditions(path: Path) -> None:
    section = '<text:section text:display="condition" text:condition="ooow:1==1"{}>{}</text:section>'
    cells = table((p("a"),)).replace(
        "</table:table-row>",
        f"<table:covered-table-cell>{p('under')}</table:covered-table-cell></table:table-row>",
    )
    body = h("One") + section.format("", p("on")) + section.format(' text:is-hidden="true"', p("off")) + cells
    document = read(write_odt(path, body))
    assert document.text == "One\n\non\n\na"
    assert [text for text, _ in beside(document, "hidden-text")] == ["off", "under"]
    assert [text for text, _ in beside(document, "code")] == ["ooow:1==1"] * 2


def test_controls_of_forms(path: Path) -> None:
    forms = (
        '<office:forms><form:form xlink:href="https://send.example/to">'
        '<form:text form:id="c1" form:name="Payee" form:value="Ann" form:current-value="Bob" form:title="Who"/>'
        '<form:checkbox form:id="c2" form:name="Agree" form:label="I agree" form:current-state="checked"/>'
        '<form:listbox form:id="c3" form:name="Pick"><form:option form:label="red"/>'
        '<form:option form:label="blue" form:current-selected="true"/></form:listbox>'
        '<form:hidden form:id="c4" form:name="Secret" form:value="xyz"/>'
        '<form:text form:id="c5" form:name="Nowhere" form:value="lost"/></form:form></office:forms>'
    )
    controls = " ".join(f'<draw:control draw:control="c{number}"/>' for number in (1, 2, 3))
    values = [("Who", "Payee"), ("red | blue", "Pick"), ("xyz", "Secret")]
    document = read(write_odt(path, forms + h("One") + p(f"It: {controls}")))
    assert document.text == "One\n\nIt: Bob ☒ I agree blue"
    assert beside(document, "form-values") == [*values, ("lost", "Nowhere")]
    assert beside(document, "links") == [("https://send.example/to", "form")]
    late = read(write_odt(path, h("One") + p(f"It: {controls}") + forms))
    assert beside(late, "form-values") == [
        *values, ("Bob", "Payee"), ("☒ I agree", "Agree"), ("blue", "Pick"), ("lost", "Nowhere"),
    ]  # fmt: skip


def test_lists_and_headings_keep_their_kind_and_number(path: Path) -> None:
    styles = (
        '<text:list-style style:name="L"><text:list-level-style-number text:level="1" style:num-format="a"'
        ' style:num-prefix="(" style:num-suffix=")" text:start-value="3"/><text:list-level-style-number'
        ' text:level="2" style:num-format="I" text:display-levels="2"/></text:list-style>'
        '<text:list-style style:name="B"><text:list-level-style-bullet text:level="1" text:bullet-char="✓"/>'
        '</text:list-style><text:outline-style style:name="O"><text:outline-level-style text:level="1"'
        ' style:num-format="i" style:num-suffix="."/></text:outline-style>'
    )

    def item(inner: str, name: str = "item", start: str = "") -> str:
        return f"<text:list-{name}{start}>{inner}</text:list-{name}>"

    def a_list(style: str, *items: str, on: str = "") -> str:
        named = f' text:style-name="{style}"' if style else ""
        return f"<text:list{named}{on}>{''.join(items)}</text:list>"

    body = (
        h("One")
        + a_list("L", item(p("one") + a_list("", item(p("deep")))), item(p("nine"), start=' text:start-value="9"'))
        + a_list("L", item(p("on")), on=' text:continue-numbering="true"')
        + a_list("L", item(p("top"), "header"), item(p("anew")))
        + a_list("B", item(p("dot")), item(p("dot dot")))
        + a_list("", item(p("five"), start=' text:start-value="5"'))
    )
    assert beside(with_styles(path, styles, body), "structure") == [
        *(("level 1", "One"), ("no mark", "top"), ("✓", "dot"), ("5", "five")),
    ]
    document = with_styles(path, styles, body)
    assert [(document.text[number.start : number.end], number.mark, number.label) for number in document.numbers] == [
        *(("One", "i.", "i"), ("one", "(c)", "(c)"), ("deep", "c.I", "c.I"), ("nine", "(i)", "(i)")),
        *(("on", "(j)", "(j)"), ("anew", "(c)", "(c)")),
    ]
    assert document.report.counted_numbers


def test_lists_that_go_on(path: Path) -> None:
    """A list goes on after one that it names, or after the last one of its style; headings have a list of their own."""
    levels = "".join(
        f'<text:list-level-style-number text:level="{level}" style:num-format="{form}" style:num-letter-sync="true"'
        f' loext:num-list-format="{text}"/>'
        for level, form, text in ((1, "1", "%1%."), (2, "a", "%1%.%2%)"), (3, "01, 02, 03, ...", "%3%"))
    )
    outline = "".join(
        f'<text:outline-level-style text:level="{level}" style:num-format="{form}" text:display-levels="{level}"/>'
        for level, form in ((1, "I"), (2, "1"), (3, ""))
    )
    styles = "".join(f'<text:list-style style:name="{name}">{levels}</text:list-style>' for name in "LM")
    styles += f'<text:outline-style style:name="O">{outline}</text:outline-style>'

    def item(inner: str, marks: str = "") -> str:
        return f"<text:list-item{marks}>{inner}</text:list-item>"

    def a_list(style: str, inner: str, marks: str = "") -> str:
        return f'<text:list text:style-name="{style}"{marks}>{inner}</text:list>'

    nested = f"<text:list>{item(p('c'))}{item(p('d') + '<text:list>' + item(p('e')) + '</text:list>')}</text:list>"
    body = (
        h("A")
        + a_list("L", item(p("a")) + item(p("b") + p("more") + nested), ' xml:id="one"')
        + a_list("M", item(p("f")))
        + h("B", 2)
        + a_list("L", item(nested.replace("c<", "g<")), ' text:continue-numbering="true"')
        + a_list("L", item(p("h")), ' text:continue-list="one"')
        + a_list("L", item(p("i")) + item(p("j"), ' text:style-override="M"'))
        + h("C", 3)
        + '<text:h text:outline-level="1" text:start-value="7">D</text:h>'
        + '<text:h text:outline-level="1" text:is-list-header="true">E</text:h>'
        + h("F", 2)
    )
    document = with_styles(path, styles, body)
    found = [f"{document.text[number.start : number.end]} {number.label}" for number in document.numbers]
    assert " | ".join(found) == (
        "A I | a 1 | b 2 | c 2.a) | d 2.b) | e 2.b).01 | f 1 | B I.1 | g 2.c) | d 2.d) | e 2.d).01 | h 3 | i 1 | j 2"
        " | D VII | F VII.1"
    )


def test_headers_and_footers_of_the_pages_in_use(path: Path) -> None:
    parts = pages(
        master(
            "Standard",
            f"<style:header>{p('DRAFT ' + s(0, 'dark'))}<draw:line/></style:header>"
            f"<style:header-left>{p('left')}</style:header-left>"
            f"<loext:header-first>{p('first')}</loext:header-first>"
            "<style:footer><text:p>Page <text:page-number>3</text:page-number> of <text:page-count>9</text:page-count>,"
            ' <text:date text:fixed="true">May</text:date> <text:date>June</text:date></text:p></style:footer>',
        ),
        master("Cover", f"<style:header>{p('cover')}</style:header>", "Inner"),
        master("Inner", f"<style:header>{p('DRAFT')}<draw:line/></style:header>"),
        master("Unused", f"<style:header>{p('unused')}</style:header>"),
    )
    plain = with_styles(path, styled(""), h("One") + p("words"), parts)
    assert beside(plain, "headers") == [("DRAFT", ""), ("left", "even pages"), ("first", "first page")]
    assert beside(plain, "footers") == [("Page # of #, May #", "")]
    assert beside(plain, "hidden-text") == [("dark", "")]
    assert [kind for kind, _ in parts_of(plain)] == ["drawings"]
    begins = '<style:style style:name="P" style:family="paragraph" style:master-page-name="Cover"/>'
    cover = with_styles(path, begins, p("words", "P"), parts)
    assert beside(cover, "headers") == [("cover", ""), ("DRAFT", "")]
    later = with_styles(path, begins, p("words") + p("more", "P"), parts)
    assert [text for text, _ in beside(later, "headers")] == ["DRAFT", "left", "first", "cover"]
    alone = with_styles(path, "", p("words"), pages(master("S", f"<style:header>{p('price')}</style:header>")))
    assert beside(alone, "headers") == [("price", "")]


def test_backgrounds_that_are_used_are_pictures(path: Path) -> None:
    fill = '<draw:fill-image draw:name="{}" xlink:href="Pictures/{}.png"/>'
    uses = (
        '<style:style style:name="P" style:family="graphic"><style:graphic-properties draw:fill-image-name="red"/>'
        "</style:style>"
    )
    parts = {f"Pictures/{name}.png": name.encode() for name in ("red", "blue")}
    styles = root(
        "document-styles",
        f"<office:styles>{fill.format('red', 'red')}{fill.format('blue', 'blue')}</office:styles>",
    )
    document = with_styles(path, uses, p("words"), {**parts, "styles.xml": styles.encode()})
    assert [(part.about, part.source) for part in document.parts] == [("background", "Pictures/red.png")]


PARTS = {"/": MIMETYPE, **dict.fromkeys(("content.xml", "styles.xml", "meta.xml"), "text/xml")}
ENTRIES = "".join(
    f'<manifest:file-entry manifest:full-path="{name}" manifest:media-type="{kind}"/>' for name, kind in PARTS.items()
)
MANIFEST = (
    '<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0" manifest:version="1.3">'
    f"{ENTRIES}</manifest:manifest>"
)


@pytest.mark.slow
@pytest.mark.skipif(SOFFICE is None, reason="needs LibreOffice")
def test_a_document_saved_by_another_program_has_the_same_account(path: Path) -> None:
    styles = styled('style:text-position="super 58%"', 'style:text-line-through-style="solid"', 'text:display="none"')
    styles += (
        '<text:list-style style:name="L"><text:list-level-style-number text:level="1" style:num-format="a"'
        ' style:num-suffix=")" text:start-value="3"/></text:list-style>'
        '<style:style style:name="Sect" style:family="section"><style:section-properties/></style:style>'
    )
    body = (
        "<text:tracked-changes><text:changed-region xml:id='c' text:id='c'><text:deletion><office:change-info>"
        "<dc:creator>Ann</dc:creator><dc:date>2024-01-01T00:00:00</dc:date></office:change-info><text:p>gone</text:p></text:deletion>"
        "</text:changed-region></text:tracked-changes>"
        + h("Terms")
        + p(f"10{s(0, '6')} cells, {s(1, 'not')}{s(1, ' ever')}, a<text:change text:change-id='c'/> {s(2, 'dark')} day")
        + p(
            "why<office:annotation><dc:creator>Bob</dc:creator><dc:date>2024-01-01T00:00:00</dc:date><text:p>five</text:p>"
            "</office:annotation> <text:a xlink:type='simple' xlink:href='https://five.example'>here</text:a>"
            + NOTE.format("below")
        )
        + f'<text:list text:style-name="L"><text:list-item>{p("one")}</text:list-item>'
        + f'<text:list-item text:start-value="9">{p("nine")}</text:list-item></text:list>'
        + f'<text:section text:style-name="Sect" text:name="S" text:display="none">{p("Hidden")}</text:section>'
        + p(
            "<text:drop-down text:name='P'><text:label text:value='a'/><text:label text:value='b'"
            " text:current-selected='true'/>b</text:drop-down>"
        )
    )
    footer = f"<style:footer>{p('Cap EUR 10,000, page <text:page-number>1</text:page-number>')}</style:footer>"
    parts = pages(master("Standard", f"<style:header>{p('DRAFT')}</style:header>{footer}"))
    document = with_styles(path, styles, body, {**parts, "META-INF/manifest.xml": MANIFEST.encode()})
    again = read(saved(path, path.parent))
    assert again.text == document.text
    assert again.outside == document.outside
    assert len({text.kind for text in document.outside}) == 8


WRAPPERS = """{}
<text:span>{}</text:span>
<text:a>{}</text:a>
<text:meta-field>{}</text:meta-field>
<text:span text:style-name="T1">{}</text:span>
<office:annotation><text:p>{}</text:p></office:annotation>
<draw:rect><text:p>{}</text:p></draw:rect>
<draw:frame><svg:desc>{}</svg:desc></draw:frame>
<text:ruby-text>{}</text:ruby-text>
<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>{}</text:p></text:note-body></text:note>
<draw:object><math:math><math:mn>{}</math:mn></math:math></draw:object>
<draw:frame><draw:text-box><text:p>{}</text:p></draw:text-box></draw:frame>
<field:x>{}</field:x>""".splitlines()
CELL = "<table:table><table:table-row><table:{0}>{1}</table:{0}></table:table-row></table:table>"
BLOCKS = [
    "<text:h>{}</text:h>",
    *(CELL.format(cell, p("{}")) for cell in ("table-cell", "covered-table-cell")),
    *(
        block.format(p("{}"))
        for block in """{}
<text:list><text:list-header>{}</text:list-header></text:list>
<text:section text:display="none">{}</text:section>
<text:deletion>{}</text:deletion>
<text:user-index>{}</text:user-index>
<text:unknown>{}</text:unknown>""".splitlines()
    ),
]


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(st.sampled_from(BLOCKS), st.lists(st.sampled_from(WRAPPERS), max_size=3)),
        min_size=1,
        max_size=5,
    )
)
def test_every_number_is_once_in_the_text_or_beside_it(tmp_path: Path, blocks: list[tuple[str, list[str]]]) -> None:
    made = ""
    numbers: list[str] = []
    for block, wrappers in blocks:
        inner = ""
        for wrapper in wrappers:
            numbers.append(str(1000 + 7 * len(numbers)))
            inner = f"{wrapper.format(f'{numbers[-1]} ')} {inner}"
        made += block.format(inner)
    document = read(write_odt(tmp_path / "any.odt", h("start") + made))
    found = " ".join((document.text, *(text.text for text in document.outside)))
    assert sorted(re.findall(r"\d{4,}", found)) == sorted(numbers)
