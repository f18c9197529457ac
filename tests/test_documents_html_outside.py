"""What stands beside the text of web pages: nothing in a page is dropped without a trace."""

from __future__ import annotations

import base64
import hashlib
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_documents_html import beside, parse, unread

from colde_cli.documents.document import Document
from colde_cli.documents.outside import MOST_KEPT, OutsideKind, PartKind


def structure(document: Document) -> list[tuple[str, str]]:
    return [(text.text, text.about) for text in document.outside if text.kind is OutsideKind.STRUCTURE]


def digest(data: str) -> str:
    return hashlib.sha256(data.encode()).hexdigest()


def test_structure_that_the_text_does_not_show() -> None:
    document = parse(
        "<h1>A</h1><h3>B</h3><ul><li>one<ul><li>two</ul></ul><blockquote>Said.</blockquote>"
        "<table><tr><td>a<td><td>5<tr><td>a<td>5<td><tr><td colspan=2>a<td rowspan=3>5<tr><td>a<td>b<td>c</table>"
    )
    assert structure(document) == [
        ("level 1", "A"),
        ("level 3", "B"),
        ("level 2 of a list", "- two"),
        ("quotation", "Said."),
        ("columns 1, 3", "a | | 5"),
        ("columns 1, 2", "a | 5 |"),
        ("columns 1-2, 3 (3 rows)", "a | 5"),
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
    pages = [
        parse(f"x<img src='data:{form}'>") for form in (f"image/png;base64,{encoded}", f"image/png,{escaped}")
    ]
    assert {part.digest for document in pages for part in document.parts} == {
        hashlib.sha256(data).hexdigest()
    }


DRAWING = "<svg><defs><path id='{0}' d='M1'/></defs><g clip-path='url(#{0})'><use href='#{0}'/>{1}</g></svg>"


def test_a_drawing_is_the_same_whatever_its_parts_are_called() -> None:
    one, other, third = (
        parse("x" + DRAWING.format(*names)) for names in (("p1", "y"), ("q7", "y"), ("p1", "z"))
    )
    assert one.parts == other.parts
    assert one.parts != third.parts


def test_more_than_a_document_holds_is_one_part() -> None:
    documents = [
        parse("x" + "<a href=a>b</a>" * (MOST_KEPT + 1) + f"<a href={last}>b</a>") for last in ("c", "d")
    ]
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
    def at(word: str) -> Document:
        return parse(
            re.sub(r"@(\d+)", lambda m: word if m[1] == str(place) else f"w{m[1]}", EVERYWHERE).encode()
        )

    one, other = at("five"), at("nine")
    assert (one.text, one.outside, one.parts) != (other.text, other.outside, other.parts)


@pytest.mark.parametrize(
    "source",
    ["<!-- @ -->", "<p title='@'>x</p>", "<p class='@' id='@'>x</p>", "<meta name=description content='@'>"],
)
def test_what_nobody_sees_makes_no_difference(source: str) -> None:
    one, other = (parse(f"<p>Words.</p>{source.replace('@', word)}") for word in ("five", "nine"))
    assert (one.text, one.outside, one.parts) == (other.text, other.outside, other.parts)


INLINE = "b s sup sub a q bdo ruby rt del span del button label math mi msup svg text object video".split()
OUTER = "p div ul li ol table tr td nav header footer main h1 h2 blockquote pre form details select option".split()
ATTRIBUTES = st.sampled_from(
    ("", " hidden", " aria-hidden=true", " role=navigation", " style='display:none'")
)


@settings(max_examples=60)
@given(tags=st.lists(st.tuples(st.sampled_from((*INLINE, *OUTER)), ATTRIBUTES, st.booleans()), max_size=14))
def test_every_word_stands_in_the_body_or_outside_it(tags: list[tuple[str, str, bool]]) -> None:
    pieces = ["<p>first</p>"]
    for number, (tag, marks, closed) in enumerate(tags):
        pieces.append(f"<{tag}{marks}>word{number}" + (f"</{tag}>" if closed else ""))
    document = parse("".join(pieces))
    found = " ".join((document.text, *(text.text for text in document.outside)))
    for number in range(len(tags)):
        assert f"word{number}" in found


def test_struck_text_around_ruby_is_told_apart_from_it() -> None:
    document = parse("<p>x <s><ruby>a</ruby>b<br><br>c</s></p>")
    assert (OutsideKind.DELETED, "ab c", "struck through") in beside(document)
