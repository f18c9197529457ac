"""Markdown: what its marks mean, and what becomes of odd ones."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from read_documents import beside, check_same, check_traced, everything, headings, structure, unread

from colde_cli.documents.document import Document, SectionKind
from colde_cli.documents.markdown import MAX_NESTING, read_markdown
from colde_cli.documents.outside import OutsideKind, PartKind
from colde_cli.errors import LimitError, NoTextError, UnsupportedFormatError


def markdown(content: str) -> Document:
    return read_markdown(content.encode(), "a.md", "a.md")


def test_headings_fences_and_front_matter() -> None:
    document = markdown(
        "---\ntitle: 'Of Bells'\ntags: x\n---\nOpening.\n\n# One #\n\nWords.\n\nTwo\nlines\n---\n\n"
        "```python\n# not a heading\nx = 1\n```\n\n### Three\n\nMore.\n"
    )
    assert headings(document) == [(0, ""), (1, "One"), (2, "Two lines"), (3, "Three")]
    assert document.title == "Of Bells"
    assert "# not a heading\nx = 1" in document.text
    assert "tags" not in document.text
    assert beside(document) == [
        (OutsideKind.METADATA, "title: 'Of Bells'", ""),
        (OutsideKind.METADATA, "tags: x", ""),
    ]


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("---\n\nWords.\n\n---\n\nMore.", "Words.\n\nMore."),  # no front matter
        (
            "# A\n\n- one\n- two\n  goes on\n\n***\n\n> said\n> she\n",
            "A\n\n- one\n\n- two goes on\n\nsaid she",
        ),
        (
            "1. a\n   - b\n\n     more of b\n   - c\n2. d\n-\n- - e\n\n1979. A year.\n",
            "1. a\n\n- b\n\nmore of b\n\n- c\n\n2. d\n\n- e\n\n1979. A year.",  # a bullet alone is none
        ),
        ("4. a\n4. b\n   1) c\n   1) d\n4. e", "4. a\n\n5. b\n\n1) c\n\n2) d\n\n6. e"),  # numbered as on the page
        ("Before.\n\na | *b*\n--|--\n1 | 2\n\nAfter.", "Before.\n\na | b\n1 | 2\n\nAfter."),
        ("Before.\n\n| a | b |\n|:--|--:|\n| 1 | 2 |\n\nAfter.", "Before.\n\na | b\n1 | 2\n\nAfter."),
        ("R&amp;D &copy; &#8211; &lt;b&gt; AT&T &nosuch;", "R&D © – <b> AT&T &nosuch;"),
        (
            'See [the bells][1] and [nets].\n\n[1]: https://example.org "Bells"\n[nets]: <n.html>\n',
            "See the bells and nets.",
        ),
        (
            "Words:\n\n    if bell:\n        ring()\n\n- ~~~\n  # &amp; no heading\n  x = *y*\n  ~~~\n",
            "Words:\n\nif bell:\n    ring()\n\n- # &amp; no heading\nx = *y*",
        ),
        ("```\none\ntwo", "one\ntwo"),
        (
            "# A\n\nBells[^1] ring[^b] now[^3].\n\n[^1]: Of *bronze*,\n   mostly.\n[^b]: When\n\nMore.\n\n# B\n\nEnd.",
            "A\n\nBells ring now[^3].\n\nMore.\n\nOf bronze, mostly.\n\nWhen\n\nB\n\nEnd.",
        ),
        ("> Bells[^1].\n>\n> [^1]: Of bronze,\n> mostly.\n", "Bells.\n\nOf bronze, mostly."),
        ("one  \ntwo\\\nthree\nfour", "one two three four"),
        ("A ![net *of* &amp; [cork](c.html)](n.png) here.", "A net of & cork here."),
        ("- [ ] waive\n- [x] keep\n- [y] no\n\n[ ] no", "- ☐ waive\n\n- ☒ keep\n\n- [y] no\n\n[ ] no"),
        ("**bold** and *slanted* and _too_", "bold and slanted and too"),
        ("[bells](https://example.org) ![a net](n.png)", "bells a net"),
        ("`code` and snake_case_name", "code and snake_case_name"),
        (r"5 \* 3", "5 * 3"),
        ("2 * 3 * 4", "2 * 3 * 4"),
        ("a <!-- hidden --> b", "a b"),
        ("[a net](https://example.org/net_(of_cork)) is [one](#a)", "a net is one"),
        ("**a and __b__**, *c `d` e*", "a and b, c d e"),
    ],
)
def test_marks_vanish_and_words_stay(source: str, text: str) -> None:
    assert markdown(source).text == text


def test_setext_headings() -> None:
    document = markdown("The *first*\nbell\n===\n\nWords.\n\nThe second\n-\n\nMore.\n\n- no heading\n---\n")
    assert headings(document) == [(1, "The first bell"), (2, "The second")]
    assert document.text.endswith("More.\n\n- no heading")


def test_headings_in_quotations_and_lists_are_text() -> None:
    document = markdown("# A\n\n> ## Quoted\n>\n> Words.\n\n- # Item\n\nStill under A.\n")
    assert headings(document) == [(1, "A")]
    assert document.text == "A\n\nQuoted\n\nWords.\n\n- Item\n\nStill under A."


def test_comments_of_many_lines_hold_no_headings() -> None:
    document = markdown("# A\n\n<!-- Draft:\n# Not this\n\n## Nor this\n-->\n\nWords <!-- not\nthese --> follow.\n")
    assert headings(document) == [(1, "A")]
    assert document.text == "A\n\nWords follow."


def test_raw_html() -> None:
    document = markdown(
        '<div align="center">\n<h1>Of Bells &amp; Nets</h1>\n<p>By <b>A. Kerrin</b><br>and others</p>\n'
        "</div>\n\n<script>\nlet x = '<p>no</p>'\n\nno()\n</script>\n\n<style>\np { color: red }\n\n</style>\n\n"
        "A <b>bold</b> claim<br>with <script>no()</script>words. <!-- no -->\n"
    )
    assert document.text == "Of Bells & Nets\n\nBy A. Kerrin and others\n\nA bold claim with words."


@pytest.mark.parametrize("opening", ["<!--", "<script>", "<style>"])
def test_html_that_nothing_closes_hides_no_text(opening: str) -> None:
    assert "Words." in markdown(f"A.\n\n{opening}\n\nWords.").text


def test_title_is_the_outermost_heading() -> None:
    assert markdown("## Sub\n\nx\n\n# Top\n\ny").title == "Top"
    assert markdown("words only").title == "a.md"
    assert markdown("words only").sections[0].kind is SectionKind.BODY


def test_no_words() -> None:
    with pytest.raises(NoTextError):
        markdown("---\ntitle: x\n---\n\n\n")


@pytest.mark.slow
@pytest.mark.parametrize("mark", ["![", "[a](", "**a ", "__a ", "*a ", "_a ", "`", "<http:", "a <!-- "])
def test_marks_that_nothing_closes_are_text_however_many(mark: str) -> None:
    """Each is looked at once: if the rest of the text were read for each of them, this would take minutes."""
    text = "x " + mark * (50_000 // len(mark))
    assert markdown(text).text == text.strip()


@pytest.mark.parametrize("title", ["# a{}b", "# a{}# b", "# {}b"])
def test_a_heading_of_blanks_is_read_once(title: str) -> None:
    assert headings(markdown(title.format(" " * 300_000))) == [(1, " ".join(title[1:].format(" ").split()))]


def test_deep_nesting_is_refused_where_text_would_be_lost() -> None:
    deep = MAX_NESTING - 2
    assert markdown("> " * deep + "down here").text == "down here"
    with pytest.raises(LimitError, match=r"a\.md: it nests"):
        markdown("> " * 1000 + "down here")


def test_entries_of_front_matter_keep_their_lines() -> None:
    document = markdown("---\ntitle: Bells\n# a comment\ntags:\n  - a\n  - b\n---\n# Bells\n\nWords.")
    assert beside(document) == [(OutsideKind.METADATA, "tags: - a - b", "")]


@pytest.mark.parametrize(
    ("source", "text", "kind", "beside_it", "about"),
    [
        ("[pay *here*](https://a.example)", "pay here", OutsideKind.LINKS, "https://a.example", "pay here"),
        ("See [x].\n\n[x]: a.html 'tip'", "See x.", OutsideKind.LINKS, "a.html", "x"),
        ("x <a href='a.html'>y</a>", "x y", OutsideKind.LINKS, "a.html", "y"),
        ("pay ~~10~~ 20", "pay 10 20", OutsideKind.DELETED, "10", "struck through"),
        ("pay <del>10</del> 20", "pay 20", OutsideKind.DELETED, "10", ""),
        ("x <span hidden>y</span>", "x", OutsideKind.HIDDEN, "y", ""),
        ("x\n\n<div hidden>\n\ny *z*\n\n</div>\n\nw", "x\n\nw", OutsideKind.HIDDEN, "y z", ""),
        ("x <input value='5' name=n>", "x", OutsideKind.FORM_VALUES, "5", "n"),
        ("x\n\n[a]: b.html", "x", OutsideKind.CODE, "[A]: b.html", ""),
        ("x\n\n[^1]: y", "x", OutsideKind.NOTES, "y", ""),
    ],
)
def test_texts_outside(source: str, text: str, kind: OutsideKind, beside_it: str, about: str) -> None:
    document = markdown(source)
    assert document.text == text
    assert beside(document) == [(kind, beside_it, about)]


@pytest.mark.parametrize("source", ["<!-- @ -->", "[//]: # (@)", "<p title='@'>x</p>", "**x** <i class=@>y</i>"])
def test_what_nobody_sees_makes_no_difference(source: str) -> None:
    check_same(markdown, f"Words.\n\n{source}")


def test_a_link_that_says_where_it_leads_is_no_text_outside() -> None:
    document = markdown("<https://a.example/> [a@b.c](mailto:a@b.c) [part](#part)")
    assert (document.text, beside(document)) == ("https://a.example/ a@b.c part", [])


def test_parts_that_are_not_read() -> None:
    document = markdown(
        "![a *net*](n.png) and <img src=m.png alt=m>\n\n<iframe src=x.html></iframe>\n\n<svg><path d='M1'/></svg>\n\n"
        "<script>\nx()\n\ny()\n</script>\n"
    )
    assert unread(document) == [
        *((PartKind.PICTURES, "a net"), (PartKind.PICTURES, "m"), (PartKind.EMBEDDED, "x.html")),
        *((PartKind.DRAWINGS, "svg"), (PartKind.SCRIPTS, "script")),
    ]


def test_structure_that_the_text_does_not_show() -> None:
    document = markdown(
        "# A\n\n### B\n\n- one\n  1. two\n\n> said\n> > they\n\n```sh\nls\n```\n\n|a|b|c|\n|-|-|-|\n|x||5|\n|x|5||\n\n"
        "Bells[^1] ring.\n\n[^1]: Of bronze.\n"
    )
    assert structure(document) == [
        *(("level 1", "A"), ("level 3", "B"), ("level 2 of a list", "1. two"), ("quotation", "said")),
        *(("level 2 of a quotation", "they"), ("line of code", "ls"), ("sh", "ls"), ("columns 1, 3", "x | | 5")),
        *(("columns 1, 2", "x | 5 |"), ("after Bells", "Of bronze.")),
    ]


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("10<sup>2</sup> m<sub>1</sub>2", "10^2 m_(1)2"), ("<b>a [b</b>](c) d", "a b d"),
        ("<div>\n<ul><li>a<li>b</ul>\n<ol start=3><li>c</ol>\n</div>", "- a\n\n- b\n\n3. c"),
        ("<table><tr><td>a<td>5<tr><td>b<td>6</table>", "a | 5\nb | 6"),
        ("<details><summary>More</summary>\n\n*in*\n\n</details>", "More\n\nin"), ("a <b title='x > y'>c</b>", "a c"),
        ("<p>a\n<p title='1 > 2'>b", "a\n\nb"), ("<pre>\na\n\nb</pre>", "a\nb"),
        ("x <math><mfrac><mn>5</mn><mn>2</mn></mfrac></math>", "x 5/2"), ("a</div></b> b", "a b"),
        ("<div hidden>\n\nstays", "stays"), ("<li hidden>\n\nstays", "stays"), ("a <span hidden>stays", "a stays"),
        ("<select>\n\nstays", "stays"),
    ],
)  # fmt: skip
def test_html_is_read_by_the_rules_of_web_pages(source: str, text: str) -> None:
    assert markdown(source).text == text


EVERYWHERE = """---
title: @1
price: @2
---
# @3

@4 [@5](https://@6.example) ![@7](@8.png) ~~@9~~ `@10` <kbd>@11</kbd><sup>@12</sup> [@13][ref] <https://@14.example>

[ref]: @15.html
[unused]: @16.html

- [ ] @17
  - @18

> @19

| @20 | @21 |
|---|---|
| @22 | @23 |

```@24
@25
```

Note[^n]. <span hidden>@26</span> <del>@27</del> <input name="@28" value="@29"> <img src="@30.png" alt="@31">

[^n]: @32
[^m]: @33

<div align="center"><h1>@34</h1><a href="@35">@36</a><select><option>@37</select><iframe src="@38"></iframe></div>

<div style="display: none">

@39

</div>

<svg><text>@40</text></svg>

<script>@41</script>

    @42

@43
==

$@44$ &copy; @45 <b>@46
"""


@pytest.mark.parametrize("place", range(1, 47))
def test_nothing_is_dropped_without_a_trace(place: int) -> None:
    check_traced(markdown, EVERYWHERE, place)


tags = st.sampled_from("<b> </b> <div> </div> <s> </s> <li> <table> <td> </table> <del> </del> <p>".split())
written_tags = st.lists(st.one_of(tags, st.sampled_from((" word ", "\n\n", "<span hidden>", "</span>"))), max_size=16)


@given(written_tags)
def test_every_word_stands_in_the_body_or_outside_it(pieces: list[str]) -> None:
    numbered = [f" word{number} " if piece == " word " else piece for number, piece in enumerate(pieces)]
    document = markdown("".join(["first\n\n", *numbered]))
    assert {piece.strip() for piece in numbered if "word" in piece} <= set(everything(document).split())


lines = st.lists(st.text("ab1. #>-=_*~`\\[](<!&;|:^\t", max_size=20), max_size=12).map("\n".join)


@pytest.mark.slow
@given(st.one_of(st.text(max_size=400), lines))
def test_any_text_is_read_or_refused(content: str) -> None:
    try:
        document = read_markdown(content.encode("utf-8", "surrogatepass"), "a", "a")
    except (NoTextError, UnsupportedFormatError):
        return
    assert document.text.strip()
    assert document.sections[-1].span.end == len(document.text)
