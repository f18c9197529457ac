"""Markdown: what its marks mean, and what becomes of odd ones."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from colde_cli.documents.document import Document, Part, SectionKind
from colde_cli.documents.markdown import MAX_NESTING, read_markdown
from colde_cli.errors import LimitError, NoTextError, UnsupportedFormatError


def markdown(content: str) -> Document:
    return read_markdown(content.encode(), "a.md", "a.md")


def headings(document: Document) -> list[tuple[int, str]]:
    return [(section.level, section.heading) for section in document.sections]


def test_headings_fences_and_front_matter() -> None:
    document = markdown(
        "---\ntitle: 'Of Bells'\ntags: x\n---\nOpening.\n\n# One #\n\nWords.\n\nTwo\nlines\n---\n\n"
        "```python\n# not a heading\nx = 1\n```\n\n### Three\n\nMore.\n"
    )
    assert headings(document) == [(0, ""), (1, "One"), (2, "Two lines"), (3, "Three")]
    assert document.title == "Of Bells"
    assert "# not a heading\nx = 1" in document.text
    assert "tags" not in document.text


def test_text_between_two_rules_is_no_front_matter() -> None:
    assert markdown("---\n\nWords.\n\n---\n\nMore.").text == "Words.\n\nMore."


def test_setext_headings() -> None:
    document = markdown("The *first*\nbell\n===\n\nWords.\n\nThe second\n-\n\nMore.\n\n- no heading\n---\n")
    assert headings(document) == [(1, "The first bell"), (2, "The second")]
    assert document.text.endswith("More.\n\n- no heading")


def test_lists_quotes_and_rules() -> None:
    document = markdown("# A\n\n- one\n- two\n  goes on\n\n***\n\n> said\n> she\n")
    assert document.text == "A\n\n- one\n\n- two goes on\n\nsaid she"


def test_nested_lists_keep_their_marks() -> None:
    document = markdown("1. a\n   - b\n\n     more of b\n   - c\n2. d\n-\n- - e\n\n1979. A year.\n")
    assert document.text.split("\n\n") == [
        "1. a",
        "- b",
        "more of b",
        "- c",
        "2. d",
        "-",
        "- - e",
        "1979. A year.",
    ]


def test_headings_in_quotations_and_lists_are_text() -> None:
    document = markdown("# A\n\n> ## Quoted\n>\n> Words.\n\n- # Item\n\nStill under A.\n")
    assert headings(document) == [(1, "A")]
    assert document.text == "A\n\nQuoted\n\nWords.\n\n- Item\n\nStill under A."


def test_comments_of_many_lines_hold_no_headings() -> None:
    document = markdown(
        "# A\n\n<!-- Draft:\n# Not this\n\n## Nor this\n-->\n\nWords <!-- not\nthese --> follow.\n"
    )
    assert headings(document) == [(1, "A")]
    assert document.text == "A\n\nWords follow."


@pytest.mark.parametrize("table", ["a | *b*\n--|--\n1 | 2", "| a | b |\n|:--|--:|\n| 1 | 2 |"])
def test_tables_with_and_without_outer_bars(table: str) -> None:
    assert markdown(f"Before.\n\n{table}\n\nAfter.").text == "Before.\n\na | b\n1 | 2\n\nAfter."


def test_entities() -> None:
    assert markdown("R&amp;D &copy; &#8211; &lt;b&gt; AT&T &nosuch;").text == "R&D © – <b> AT&T &nosuch;"


def test_link_definitions_vanish_and_links_keep_their_words() -> None:
    document = markdown(
        'See [the bells][1] and [nets].\n\n[1]: https://example.org "Bells"\n[nets]: <n.html>\n'
    )
    assert document.text == "See the bells and nets."


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


def test_code_keeps_its_lines() -> None:
    document = markdown(
        "Words:\n\n    if bell:\n        ring()\n\n- ~~~\n  # &amp; no heading\n  x = *y*\n  ~~~\n"
    )
    assert document.text == "Words:\n\nif bell:\n    ring()\n\n- # &amp; no heading\nx = *y*"
    assert markdown("```\none\ntwo").text == "one\ntwo"


def test_footnotes_stand_at_the_end_of_their_section() -> None:
    document = markdown(
        "# A\n\nBells[^1] ring[^b] often[^3].\n\n[^1]: Of *bronze*,\n   mostly.\n[^b]: When\n\nMore.\n\n# B\n\nEnd.\n"
    )
    assert document.text == "A\n\nBells ring often[^3].\n\nMore.\n\nOf bronze, mostly.\n\nWhen\n\nB\n\nEnd."


def test_a_footnote_in_a_quotation_has_no_marks_of_it() -> None:
    assert markdown("> Bells[^1].\n>\n> [^1]: Of bronze,\n> mostly.\n").text == "Bells.\n\nOf bronze, mostly."


def test_hard_breaks_are_blanks() -> None:
    assert markdown("one  \ntwo\\\nthree\nfour").text == "one two three four"


def test_images_give_their_alternative_text() -> None:
    assert markdown("A ![net *of* &amp; [cork](c.html)](n.png) here.").text == "A net of & cork here."


def test_title_is_the_outermost_heading() -> None:
    assert markdown("## Sub\n\nx\n\n# Top\n\ny").title == "Top"
    assert markdown("words only").title == "a.md"
    assert markdown("words only").sections[0].kind is SectionKind.BODY


def test_no_words() -> None:
    with pytest.raises(NoTextError):
        markdown("---\ntitle: x\n---\n\n\n")


@pytest.mark.parametrize(
    ("marked", "words"),
    [
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
def test_inline_marks(marked: str, words: str) -> None:
    assert markdown(marked).text == words


@pytest.mark.parametrize("mark", ["![", "[a](", "**a ", "__a ", "*a ", "_a ", "`", "<http:", "a <!-- "])
def test_marks_that_nothing_closes_are_text_however_many(mark: str) -> None:
    """Each is looked at once: if the rest of the text were read for each of them, this would take minutes."""
    text = "x " + mark * (100_000 // len(mark))
    assert markdown(text).text == text.strip()


@pytest.mark.parametrize("title", ["# a{}b", "# a{}# b", "# {}b"])
def test_a_heading_of_blanks_is_read_once(title: str) -> None:
    assert headings(markdown(title.format(" " * 300_000))) == [(1, " ".join(title[1:].format(" ").split()))]


def test_deep_nesting_is_refused_where_text_would_be_lost() -> None:
    deep = MAX_NESTING - 2
    assert markdown("> " * deep + "down here").text == "down here"
    with pytest.raises(LimitError, match=r"a\.md: it nests"):
        markdown("> " * 1000 + "down here")


simple = st.text(st.sampled_from("abcdefgh"), min_size=1, max_size=12)
paragraphs = st.lists(st.lists(simple, min_size=1, max_size=6).map(" ".join), min_size=1, max_size=4)
parts = st.builds(
    lambda heading, body, level: Part(heading, "\n\n".join(body), level),
    simple,
    paragraphs,
    st.integers(1, 6),
)


@given(st.lists(parts, min_size=1, max_size=6))
def test_headings_and_plain_paragraphs_survive(written: list[Part]) -> None:
    source = "\n\n".join(f"{'#' * part.level} {part.heading}\n\n{part.text}" for part in written)
    document = markdown(source)
    assert headings(document) == [(part.level, part.heading) for part in written]
    assert [document.text[section.body_start : section.span.end] for section in document.sections] == [
        part.text for part in written
    ]
    assert markdown(source + "\n").text == document.text


lines = st.lists(st.text("ab1. #>-=_*~`\\[](<!&;|:^\t", max_size=20), max_size=12).map("\n".join)


@given(st.one_of(st.text(max_size=400), lines))
def test_any_text_is_read_or_refused(content: str) -> None:
    try:
        document = read_markdown(content.encode("utf-8", "surrogatepass"), "a", "a")
    except (NoTextError, UnsupportedFormatError):
        return
    assert document.text.strip()
    assert document.sections[-1].span.end == len(document.text)
