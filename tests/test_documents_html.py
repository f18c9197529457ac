"""Web pages: what is read of them, and what becomes of hostile ones."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import io
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from read_documents import (
    beside,
    check_same,
    check_traced,
    everything,
    outline,
    structure,
    unread,
)

from colde_cli.documents import apart, sandbox
from colde_cli.documents.document import Document, SectionKind
from colde_cli.documents.outside import MOST_KEPT, OutsideKind, PartKind
from colde_cli.documents.reading import read
from colde_cli.errors import DocumentError, LimitError, NoTextError, UnsupportedFormatError


def page(body: str, head: str = "<title>The page</title>") -> bytes:
    return f"<!doctype html><html><head><meta charset='utf-8'>{head}</head><body>{body}</body></html>".encode()


def parse(body: str | bytes) -> Document:
    return read("-", stdin=io.BytesIO(page(body) if isinstance(body, str) else body))


def test_headings_paragraphs_lists_and_code() -> None:
    document = parse(
        "<h1>Bells &amp; <em>tides</em><a href='#b'>¶</a></h1><p>First <b>para</b>graph&shy;s<br>here.</p>loose"
        "<div>words<p>in a box</div><h2>Lists</h2><ul><li>one<li><p>two</p><p>more</p><ul><li>deep</ul></ul>"
        "<ol start=3><li>three<li>four</ol><pre>let x\n  = 2</pre>One.<br><br>Two."
    )
    assert document.title == "Bells & tides"
    assert outline(document) == [
        (1, "Bells & tides", "First paragraphs here.\n\nloose\n\nwords\n\nin a box"),
        (2, "Lists", "- one\n\n- two\n\nmore\n\n- deep\n\n3. three\n\n4. four\n\nlet x\n= 2\n\nOne.\n\nTwo."),
    ]
    assert document.page_starts == ()


def test_the_reader_of_one_page_reads_the_next() -> None:
    readers = []
    for body in ("<p>Bells.</p>", "<p>Tides.</p>", ""):
        with contextlib.suppress(NoTextError):
            parse(body)
        readers.append([process._process.pid for process in sandbox._idle[apart.PAGE_ENGINE]])
    assert readers[0] == readers[1] == readers[2] != []


def test_levels_begin_at_one_and_roles_count() -> None:
    document = parse("<h3>Outer</h3><p>a<h4>Inner</h4><p>b<div role=heading aria-level=3>Outer too</div><p>c")
    assert [(level, heading) for level, heading, _ in outline(document)] == [
        (1, "Outer"), (2, "Inner"), (1, "Outer too"),
    ]  # fmt: skip
    assert document.title == "The page"


def test_tables_of_data_and_tables_that_lay_out() -> None:
    document = parse(
        "<h1>T</h1><table><caption>Counts</caption><tr><th>Town<th>Bells<tr><td>Ayr<br>north<td><p>12</p></table>"
        "<table><tr><td><h2>Left</h2><p>Laid out.</p></td><td>Right</td></tr></table>"
    )
    assert outline(document) == [
        (1, "T", "Counts\nTown | Bells\nAyr north | 12"),
        (2, "Left", "Laid out.\n\nRight"),
    ]


def test_what_is_not_content_stands_outside() -> None:
    document = parse(
        "<header>Site</header><nav><h2>Menu</h2>Home</nav><script>run()</script><style>p{}</style><p hidden>no</p>"
        "<p style='color:red; display : none'>no</p><p aria-hidden=true>no</p><p>a <del>old</del><ins>new</ins></p>"
        "<template>no</template><noscript>no</noscript><button>no</button><!-- no --><svg><text>no</text></svg>"
        "<section><header><h1>Kept</h1></header><p>Words.<footer>Signed.</footer></section><footer>Imprint</footer>"
    )
    assert document.text == "a new\n\nKept\n\nWords.\n\nSigned."
    assert not document.report.notes
    assert beside(document) == [
        (OutsideKind.METADATA, "The page", "title"), (OutsideKind.HEADERS, "Site", ""),
        (OutsideKind.NAVIGATION, "Menu", ""), (OutsideKind.NAVIGATION, "Home", ""),
        *[(OutsideKind.HIDDEN, "no", "")] * 3, (OutsideKind.DELETED, "old", ""),
        (OutsideKind.FORM_VALUES, "no", "field"), (OutsideKind.ALTERNATIVES, "no", "drawing"),
        (OutsideKind.FOOTERS, "Imprint", ""),
    ]  # fmt: skip
    scripts = [(PartKind.SCRIPTS, name) for name in ("script", "style", "template", "noscript")]
    assert unread(document) == [*scripts, (PartKind.DRAWINGS, "svg")]


def test_the_main_element_is_the_document_if_it_holds_the_text() -> None:
    body = "<p>Related links and more.</p>"
    document = parse(f"{body}<main><h1>A</h1><p>{'word ' * 30}</p></main>{body}")
    assert document.text.startswith("A\n\nword")
    assert "Related" not in document.text
    around = [text for text in beside(document) if text[0] is not OutsideKind.METADATA]
    assert around == [
        (OutsideKind.HEADERS, "Related links and more.", ""),
        (OutsideKind.FOOTERS, "Related links and more.", ""),
    ]
    assert "Related" in parse(f"{body}<main>no</main>{body}").text
    assert parse("<nav>Only this</nav>").text == "Only this"


def test_parts_of_a_paper() -> None:
    document = parse("<p>Ada<h2>Abstract</h2><p>a<h2>1 Bells</h2><p>b<h2>References</h2><p>c<h2>Appendix A</h2><p>d")
    kinds = [section.kind for section in document.sections]
    assert kinds == [
        *(SectionKind.FRONT, SectionKind.ABSTRACT, SectionKind.BODY, SectionKind.REFERENCES),
        SectionKind.APPENDIX,
    ]


def test_a_page_without_headings_is_read_like_plain_text() -> None:
    document = parse("<p><b>1. Scope</b><p>Of bells.<p>2. Terms<p>A bell is a cup.<p>3. End<p>So.")
    assert [heading for _, heading, _ in outline(document)] == ["1. Scope", "2. Terms", "3. End"]


@pytest.mark.parametrize(
    ("head", "encoding"),
    [
        ("<meta charset=iso-8859-1>", "latin-1"),
        ("<meta http-equiv=Content-Type content='text/html; charset=windows-1251'>", "cp1251"),
        ("<meta charset=utf-8>", "utf-8"), ("<meta charset=idna>", "utf-8"), ("", "utf-8-sig"), ("", "utf-16"),
    ],
)  # fmt: skip
def test_encodings(tmp_path: Path, head: str, encoding: str) -> None:
    words = "Жар" if encoding == "cp1251" else "Käse"
    path = tmp_path / "page.html"
    path.write_bytes(f"<html><head>{head}</head><body><p>{words}".encode(encoding))
    assert read(path).text == words


def test_pages_are_known_by_their_content(tmp_path: Path) -> None:
    for name, content in (
        ("page.txt", page("<p>words")),
        ("page.htm", b"words"),
        ("page", b"<h1>A</h1><p>words"),
        ("page.html", b"<?xml version='1.0'?>\n<!-- saved -->\n<html><body>words</body></html>"),
    ):
        (tmp_path / name).write_bytes(content)
        assert read(tmp_path / name).text.endswith("words")
    (tmp_path / "page.pdf").write_bytes(page("<p>404"))
    with pytest.raises(UnsupportedFormatError, match="web page"):
        read(tmp_path / "page.pdf")


def test_pages_without_text() -> None:
    for body in ("", "<p> </p>", "<script>words</script>", "<img src=a.png>"):
        with pytest.raises(NoTextError, match="standard input: it holds no text"):
            parse(body)


def test_binary_data(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_bytes(bytes(range(256)) * 20)
    with pytest.raises(UnsupportedFormatError, match=r"page\.html: it holds binary data"):
        read(path)


def test_a_page_that_grows_while_it_is_repaired_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every paragraph reopens every `<b>`: 3,000 times 30,000 elements."""
    monkeypatch.setattr(apart, "MEMORY", 400 << 20)
    unclosed = "<p>" + "".join(f"<b id={number}>" for number in range(3000)) + "<p>x" * 30_000
    with pytest.raises(LimitError, match="more memory or time"):
        parse(unclosed)


@pytest.mark.parametrize(
    "body",
    [
        *("<div>" * 10_000 + "deep", "<table><tr><td>" * 2000 + "deep", "<ul><li>" * 5000 + "deep"),
        *("<!--" * 20_000 + "--><p>deep", "<p>deep" + "<" * 100_000, "<p>deep<a " + "x=1 " * 50_000),
    ],
)
def test_odd_pages(body: str) -> None:
    assert "deep" in parse(body).text


MARKS = (
    *("<p>", "</p>", "<table>", "<tr>", "<td>", "</table>", "<h2>", "</h1>", "<li>", "<ol>", "</ol>", "x"),
    *("<br>", "<pre>", "<section>", "&#0;", "</body>", "<caption>", "<b>", "</b>", "<!--x-->"),
)


@pytest.mark.slow
@settings(max_examples=20)
@given(data=st.lists(st.sampled_from(MARKS), max_size=30))
def test_any_order_of_tags_gives_a_document_or_a_sentence(data: list[str]) -> None:
    try:
        document = parse("".join(data) + "last")
    except DocumentError as error:
        pytest.fail(str(error))
    assert document.text.replace("last", "").count("x") == data.count("x")


def test_instructions_in_a_page_are_passed_over() -> None:
    page = "<?xml version='1.0'?><body><?php echo 1 ?><h1>Pump</h1><p>It <?x y?>runs.</p><?end"
    document = parse(page)
    assert document.text == "Pump\n\nIt runs."


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("10<sup>2</sup> and 102", "10^2 and 102"), ("10 <sup>6</sup>", "10 ^6"),
        ("x<sub>12</sub> x<sub>1</sub>2", "x_12 x_(1)2"), ("H<sub>2</sub>O", "H_2O"),
        ("the 1<sup>st</sup> day", "the 1st day"), ("<sup>1</sup>2 notes", "1 2 notes"),
        ("a<sup>b<sup>c</sup></sup>", "a^(b^c)"), ("5<span style='vertical-align: super'>3</span> kg", "5^3 kg"),
        ("pay <s>100</s> 200", "pay 100 200"), ("<q>No</q>, said she", "“No”, said she"),
        ("<bdo dir=rtl>001</bdo>", "\u202e001\u202c"),
        ("<input type=checkbox checked> yes <input type=radio> no", "☒ yes ☐ no"),
        ("5<input>0<button>1</button>2<svg></svg>3<select></select>4<video></video>6", "5 0 2 3 4 6"),
        ("<ruby>漢<rp>(</rp><rt>kan</rt><rp>)</rp></ruby>", "漢"), ("<h1>C#</h1>x", "C#\n\nx"),
    ],
)  # fmt: skip
def test_quantities_and_signs_within_a_line(body: str, text: str) -> None:
    assert parse(f"<p>{body}</p>").text == text


def test_scripts_of_scripts_take_no_time() -> None:
    assert parse("x" + "<sup>2" * 20_000).text.startswith("x^(2^(2")


def token(name: str) -> str:
    return "".join(f"<m{kind}>{word}</m{kind}>" for kind, word in re.findall(r"([nio]):(\S+)", name))


@pytest.mark.parametrize(
    ("formula", "text"),
    [
        (f"<mfrac>{token('n:5 n:2')}</mfrac>", "5/2"),
        (f"{token('n:1')}<mfrac>{token('n:1 n:2')}</mfrac>", "1 1/2"),
        (f"<mfrac linethickness='0'>{token('i:n i:k')}</mfrac>", "(n choose k)"),
        (f"<mfrac><mrow>{token('i:a o:+ n:1')}</mrow>{token('n:2')}</mfrac>", "(a+1)/2"),
        (f"<msup><mrow>{token('i:a o:+ i:b')}</mrow>{token('n:2')}</msup>{token('i:c')}", "(a+b)^(2)c"),
        (f"<msub>{token('i:x n:12')}</msub>", "x_12"),
        (f"<msub>{token('i:x n:1')}</msub>{token('n:2')}", "x_(1)2"),
        (f"<msubsup>{token('i:x n:1 n:2')}</msubsup>", "x_1^2"),
        (
            f"<munderover>{token('o:∑')}<mrow>{token('i:i o:= n:1')}</mrow>{token('i:n')}</munderover>",
            "∑_(i=1)^n",
        ),
        (f"<mover>{token('i:v o:→')}</mover><msup>{token('i:f o:′')}</msup>", "v→f′"),
        (f"<msqrt>{token('i:x o:+ n:2')}</msqrt><mroot>{token('i:y n:3')}</mroot>", "√(x+2)√[3](y)"),
        (f"<mmultiscripts>{token('i:C')}<mprescripts/>{token('n:6 n:14')}</mmultiscripts>", "_6^14 C"),
        (f"<mfenced>{token('i:a i:b')}</mfenced>", "(a, b)"),
        (
            f"<mtable><mtr><mtd>{token('n:1')}</mtd><mtd>{token('n:2')}</mtd></mtr><mtr><mtd>{token('n:3')}"
            "</mtd></mtr></mtable>",
            "[1 & 2; 3]",
        ),
        (
            f"<semantics>{token('n:5')}<annotation encoding='application/x-tex'>5</annotation></semantics>",
            "5",
        ),
        (token("n:2 o:\u2062 i:x i:sin i:y"), "2x sin y"),
    ],
)
def test_formulas_are_text(formula: str, text: str) -> None:
    assert parse(f"<p>so <math>{formula}</math></p>").text == f"so {text}"


def test_marks_of_lists() -> None:
    document = parse(
        "<ol type=a start=26><li>a<li>b<li value=3>c</ol><ol type=I><li>a<li>b<li>c<li>d</ol>"
        "<ol reversed><li>a<li>b</ol><ol style='list-style-type: lower-roman' start=9><li>a</ol>"
        "<ol type=i start=5000><li>a<li type=A value=2>b</ol><ol start=-1><li>a<li>b</ol>"
    )
    marks = "z aa c I II III IV 2 1 ix 5000 B -1 0".split()
    assert [line.split(". ")[0] for line in document.text.split("\n\n")] == marks


# What stands beside the text: nothing in a page is dropped without a trace.


def digest(data: str) -> str:
    return hashlib.sha256(data.encode()).hexdigest()


def test_structure_that_the_text_does_not_show() -> None:
    document = parse(
        "<h1>A</h1><h3>B</h3><ul><li>one<ul><li>two</ul></ul><blockquote>Said.</blockquote>"
        "<table><tr><td>a<td><td>5<tr><td>a<td>5<td><tr><td colspan=2>a<td rowspan=3>5<tr><td>a<td>b<td>c</table>"
    )
    assert structure(document) == [
        *(("level 1", "A"), ("level 3", "B"), ("level 2 of a list", "- two"), ("quotation", "Said.")),
        *(("columns 1, 3", "a | | 5"), ("columns 1, 2", "a | 5 |"), ("columns 1-2, 3 (3 rows)", "a | 5")),
    ]


@pytest.mark.parametrize(
    ("body", "kind", "text", "about"),
    [
        ("<a href=' https://x.example/a '>pay <b>here</b></a>", OutsideKind.LINKS, "https://x.example/a", "pay here"),
        ("<form action=/send></form>", OutsideKind.LINKS, "/send", "form"),
        ("<meta http-equiv=refresh content='0; url=x.html'>", OutsideKind.LINKS, "x.html", "next page"),
        ("<s>not</s>", OutsideKind.DELETED, "not", "struck through"),
        ("<i style='text-decoration: line-through'>2<sup>3</sup></i>", OutsideKind.DELETED, "2^3", "struck through"),
        ("<p>a <del>not</del>", OutsideKind.DELETED, "not", ""),
        ("<span hidden>x <b>y</b></span>", OutsideKind.HIDDEN, "x y", ""),
        ("<dialog>x</dialog>", OutsideKind.HIDDEN, "x", ""),
        ("<nav><ul><li>one</ul></nav>", OutsideKind.NAVIGATION, "one", ""),
        ("<div role=doc-toc>one</div>", OutsideKind.CONTENTS, "one", ""),
        ("<div role=banner>one</div>", OutsideKind.HEADERS, "one", ""),
        ("<input name=n value='5 EUR'>", OutsideKind.FORM_VALUES, "5 EUR", "n"),
        ("<input type=hidden name=price value=5>", OutsideKind.FORM_VALUES, "5", "price"),
        ("<textarea name=t>a\nb</textarea>", OutsideKind.FORM_VALUES, "a b", "t"),
        ("<select name=s><option>5<option>9</select>", OutsideKind.FORM_VALUES, "☒ 5 ☐ 9", "s"),
        ("<select name=s><option>5<option selected>9</select>", OutsideKind.FORM_VALUES, "☐ 5 ☒ 9", "s"),
        ("<button name=b>Send <b>it</b></button>", OutsideKind.FORM_VALUES, "Send it", "b"),
        ("<meter name=m value=5 max=9>", OutsideKind.FORM_VALUES, "5 of 9", "m"),
        ("<ruby>漢<rt>kan</rt></ruby>", OutsideKind.ALTERNATIVES, "kan", "漢"),
        ("<i role=img aria-label=five></i>", OutsideKind.ALTERNATIVES, "five", ""),
        ("<svg><text>5<tspan x=1>00</tspan></text></svg>", OutsideKind.ALTERNATIVES, "5 00", "drawing"),
        ("<object data=a.pdf>See <b>a</b></object>", OutsideKind.ALTERNATIVES, "See a", "embedded file"),
        ("<script type='math/tex'>x^2</script>", OutsideKind.CODE, "x^2", "formula"),
    ],
)  # fmt: skip
def test_texts_outside(body: str, kind: OutsideKind, text: str, about: str) -> None:
    document = parse(f"<h1>The page</h1><p>Words.</p>{body}")
    assert beside(document) == [(kind, text, about)]


def test_an_area_of_a_picture_has_a_text_and_a_target() -> None:
    document = parse("<h1>The page</h1>x<map><area href=b.html alt=B></map>")
    assert beside(document) == [(OutsideKind.ALTERNATIVES, "B", ""), (OutsideKind.LINKS, "b.html", "B")]


def test_links_that_say_where_they_lead_and_links_within_the_page_are_no_texts_outside() -> None:
    document = parse(
        "<h1>The page</h1><a href='https://x.example'>https://x.example</a> <a href='mailto:a@b.c'>a@b.c</a>"
        "<a href='#part'>Part</a><a name=part>x</a>"
    )
    assert beside(document) == []


def test_a_title_that_no_heading_has_is_a_text_outside() -> None:
    assert beside(parse("<h1>The page</h1>x")) == []
    assert beside(parse("<h1>Another</h1>x")) == [(OutsideKind.METADATA, "The page", "title")]


@pytest.mark.parametrize(
    ("body", "kind", "content", "about"),
    [
        ("<img src=a.png alt=seal>", PartKind.PICTURES, "a.png", "seal"),
        ("<img src=a.png srcset='b.png 2x'>", PartKind.PICTURES, "a.png b.png 2x", "a.png b.png 2x"),
        ("<img src='data:image/png;base64,aGVs bG8=' alt=seal>", PartKind.PICTURES, "hello", "seal"),
        ("<p style='background: url(a.png)'>x</p>", PartKind.PICTURES, "a.png", "a.png"),
        ("<iframe src=a.html></iframe>", PartKind.EMBEDDED, "a.html", "a.html"),
        ("<iframe srcdoc='<p>5</p>' title=t></iframe>", PartKind.EMBEDDED, "<p>5</p>", "t"),
        ("<embed src=a.swf>", PartKind.EMBEDDED, "a.swf", "a.swf"),
        ("<object data=a.pdf></object>", PartKind.EMBEDDED, "a.pdf", "a.pdf"),
        ("<video src=a.mp4></video>", PartKind.MEDIA, "a.mp4", "a.mp4"),
        ("<audio><source src=a.ogg></audio>", PartKind.MEDIA, "a.ogg", "a.ogg"),
        ("<p onclick='pay()'>x</p>", PartKind.SCRIPTS, "onclick=pay()", "onclick"),
        ("<a href='javascript:pay()'>x</a>", PartKind.SCRIPTS, "javascript:pay()", "x"),
        ("<input type=hidden name=csrf_token value=1a2b>", PartKind.SCRIPTS, "1a2b", "csrf_token"),
        ("<link rel=stylesheet href=a.css>", PartKind.SCRIPTS, "a.css", "a.css"),
    ],
)
def test_parts_by_their_bytes_or_their_address(body: str, kind: PartKind, content: str, about: str) -> None:
    document = parse(f"<h1>The page</h1><p>Words.</p>{body}")
    assert unread(document) == [(kind, about)]
    assert document.parts[0].digest == digest(content)


def test_a_picture_is_the_same_however_its_bytes_are_written() -> None:
    data = bytes(range(256))
    encoded = base64.b64encode(data).decode()
    escaped = "".join(f"%{byte:02x}" for byte in data)
    pages = [parse(f"x<img src='data:{form}'>") for form in (f"image/png;base64,{encoded}", f"image/png,{escaped}")]
    assert {part.digest for document in pages for part in document.parts} == {hashlib.sha256(data).hexdigest()}


DRAWING = "<svg><defs><path id='{0}' d='M1'/></defs><g clip-path='url(#{0})'><use href='#{0}'/>{1}</g></svg>"


def test_a_drawing_is_the_same_whatever_its_parts_are_called() -> None:
    one, other, third = (parse("x" + DRAWING.format(*names)) for names in (("p1", "y"), ("q7", "y"), ("p1", "z")))
    assert one.parts == other.parts
    assert one.parts != third.parts


@pytest.mark.slow
def test_more_than_a_document_holds_is_one_part() -> None:
    documents = [parse("x" + "<a href=a>b</a>" * (MOST_KEPT + 1) + f"<a href={last}>b</a>") for last in ("c", "d")]
    assert all(len(document.outside) == MOST_KEPT for document in documents)
    assert [unread(document) for document in documents] == [[(PartKind.OTHER, "3 more texts and parts")]] * 2
    assert documents[0].parts != documents[1].parts


EVERYWHERE = """<!doctype html><html><head><title>@1</title><base href="https://@2.example/">
<link rel=stylesheet href="@3.css"><style>p::after { content: "@4" }</style><script src="@5.js">x("@6")</script></head>
<body onload="run('@7')"><header>@8<nav><a href="/@9">@10</a><img src="@11.png" alt="@12"></nav></header>
<aside>@13</aside><main><h1>@14</h1><p>@15<sup>@16</sup><b>@17</b><s>@18</s><del>@19</del><ins>@20</ins>
<span hidden>@21<a href="@22">@23</a></span><a href="@24">@25</a><q>@26</q><ruby>@27<rt>@28</rt></ruby>
<math><mfrac><mi>@29</mi><mi>@30</mi></mfrac></math><br>@31</p><dl><dt>@32<dd>@33</dl><details><summary>@34</summary>@35
</details><table><caption>@36</caption><tr><th>@37<td>@38</table><figure><img src="@39.png" alt="@40"><figcaption>@41
</figcaption></figure><form action="@42"><fieldset><legend>@43</legend><label>@44<input name="@45" value="@46"></label>
<textarea name=t>@47</textarea><select name=s><option value="@48">@49<optgroup label="@50"><option label="@51"></select>
<button>@52</button><input type=radio value="@53"><datalist><option value="@54">@55</datalist><output>@56</output>
</form><iframe src="@57.html"></iframe><object data="@58.pdf">@59</object><video src="@60.mp4" poster="@61.png">@62
<track src="@63.vtt"></video><svg aria-label="@64"><title>@65</title><text>@66</text><path d="@67"/></svg>
<canvas>@68</canvas><noscript>@69</noscript><template>@70</template><pre>@71</pre><blockquote>@72</blockquote><dialog>@73</dialog>
<ol><li>@74<ul><li>@75</ul></ol><p style="display:none">@76</p><p aria-hidden=true>@77</p>
<progress value="1">@78</progress>
<script type="math/tex">@79</script>
<p style="background-image: url(@80.png)">@81</p><marquee>@82</marquee>
<iframe srcdoc="<p>@83</p>"></iframe></main><p>@84</p><footer>@85<address>@86</address></footer></body></html>"""


@pytest.mark.parametrize("place", range(1, 87))
def test_nothing_in_a_page_is_dropped_without_a_trace(place: int) -> None:
    check_traced(lambda source: parse(source.encode()), EVERYWHERE, place)


@pytest.mark.parametrize(
    "source",
    ["<!-- @ -->", "<p title='@'>x</p>", "<p class='@' id='@'>x</p>", "<meta name=description content='@'>"],
)
def test_what_nobody_sees_makes_no_difference(source: str) -> None:
    check_same(parse, f"<p>Words.</p>{source}")


INLINE = "b s sup sub a q bdo ruby rt del span del button label math mi msup svg text object video".split()
OUTER = "p div ul li ol table tr td nav header footer main h1 h2 blockquote pre form details select option".split()
ATTRIBUTES = st.sampled_from(("", " hidden", " aria-hidden=true", " role=navigation", " style='display:none'"))


@pytest.mark.slow
@settings(max_examples=60)
@given(tags=st.lists(st.tuples(st.sampled_from((*INLINE, *OUTER)), ATTRIBUTES, st.booleans()), max_size=14))
def test_every_word_stands_in_the_body_or_outside_it(tags: list[tuple[str, str, bool]]) -> None:
    pieces = ["<p>first</p>"]
    for number, (tag, marks, closed) in enumerate(tags):
        pieces.append(f"<{tag}{marks}>word{number}" + (f"</{tag}>" if closed else ""))
    document = parse("".join(pieces))
    assert all(f"word{number}" in everything(document) for number in range(len(tags)))


def test_struck_text_around_ruby_is_told_apart_from_it() -> None:
    document = parse("<p>x <s><ruby>a</ruby>b<br><br>c</s></p>")
    assert (OutsideKind.DELETED, "ab c", "struck through") in beside(document)
