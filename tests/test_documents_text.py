"""Plain text and Markdown."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from colde_cli.documents.document import PLAIN_WORDS, Document, Part, SectionKind, assemble
from colde_cli.documents.markdown import plain, read_markdown
from colde_cli.documents.pdf.prose import SOFT_HYPHEN, Hyphens
from colde_cli.documents.text import decode, read_text
from colde_cli.errors import NoTextError, UnsupportedFormatError

PARAGRAPH = (
    "The bell rings when the water comes, and the keeper\nwrites the hour in the ninth of his books.\n"
)


def text(content: str) -> Document:
    return read_text(content.encode(), "a.txt", "a.txt")


def markdown(content: str) -> Document:
    return read_markdown(content.encode(), "a.md", "a.md")


def headings(document: Document) -> list[tuple[int, str]]:
    return [(section.level, section.heading) for section in document.sections]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_encodings_without_a_warning(encoding: str) -> None:
    assert decode("Ebbe — Flüt".encode(encoding), "a.txt") == ("Ebbe — Flüt", ())


def test_latin_text_is_read_with_a_warning() -> None:
    found, warnings = decode("Flüt und Ebbe".encode("latin-1"), "a.txt")
    assert found == "Flüt und Ebbe"
    assert "Windows-1252" in warnings[0]


def test_binary_data_is_no_text() -> None:
    with pytest.raises(UnsupportedFormatError, match="binary"):
        decode(b"\x00\x01\x02" * 50, "a.txt")


def test_lines_are_joined_and_words_put_together() -> None:
    document = text("A har-\nbour town.\nThe harbour is old.\n\nNext\nparagraph.\n")
    assert document.text == "A harbour town. The harbour is old.\n\nNext paragraph."


def test_numbered_capital_underlined_and_known_headings() -> None:
    titles = ("Abstract", "1. Bells", "1.1. Small bells", "2. Sand", "OF ROPE AND CORK")
    underlined = "An underlined one\n-----------------"
    content = "".join(f"{title}\n\n{PARAGRAPH}\n" for title in ("Bells of the North", *titles, underlined))
    content = content.replace(PARAGRAPH, "", 1)
    document = text(content)
    assert headings(document) == [
        (0, ""),
        (1, "Abstract"),
        (1, "1. Bells"),
        (2, "1.1. Small bells"),
        (1, "2. Sand"),
        (1, "OF ROPE AND CORK"),
        (2, "An underlined one"),
    ]
    assert document.title == "Bells of the North"
    assert document.sections[0].kind is SectionKind.FRONT
    assert document.sections[1].kind is SectionKind.ABSTRACT


def test_lists_and_contents_are_no_headings() -> None:
    content = f"1. Bells ........ 3\n\n2. Sand ......... 9\n\n{PARAGRAPH}\n7. A lonely number\n\n{PARAGRAPH}"
    assert headings(text(content)) == [(0, "")]


def test_text_in_capitals_throughout_has_no_headings_by_capitals() -> None:
    assert headings(text("\n\n".join(["THE BELL RINGS", "THE WATER COMES", "NOBODY HEARS"]))) == [(0, "")]


def test_page_breaks_and_running_heads() -> None:
    page = (
        "RFC 9999            Bells            May 2026\n\n{}\n\nKerrin       Informational      [Page {}]\n"
    )
    bodies = (
        "1. One\n\nA sentence that goes",
        "on over the page.\n\n2. Two\n\nWords.",
        "3. Three\n\nMore words.",
        "End.",
    )
    document = text("\f".join(page.format(body, number) for number, body in enumerate(bodies, start=1)))
    assert "A sentence that goes on over the page." in document.text
    assert "RFC 9999" not in document.text
    assert "[Page" not in document.text
    assert headings(document) == [(1, "1. One"), (1, "2. Two"), (1, "3. Three")]
    assert document.report.notes == ("Left out 8 lines: running heads and page numbers.",)


def test_long_text_without_headings_is_cut_between_paragraphs() -> None:
    document = text("\n\n".join([PARAGRAPH] * 400))
    counts = [len(document.section_text(section).split()) for section in document.sections]
    assert len(counts) > 2
    assert all(PLAIN_WORDS <= count < PLAIN_WORDS + 30 for count in counts[:-1])
    assert {section.kind for section in document.sections} == {SectionKind.BODY}


def test_tables_keep_their_lines() -> None:
    assert "a   b   c\n1   2   3" in text(f"{PARAGRAPH}\na   b   c\n1   2   3\n").text


def test_markdown_headings_and_fences() -> None:
    document = markdown(
        "---\ntitle: 'Of Bells'\ntags: x\n---\nOpening.\n\n# One #\n\nWords.\n\nTwo\nlines\n---\n\n"
        "```python\n# not a heading\nx = 1\n```\n\n### Three\n\nMore.\n"
    )
    assert headings(document) == [(0, ""), (1, "One"), (2, "Two lines"), (3, "Three")]
    assert document.title == "Of Bells"
    assert "# not a heading\nx = 1" in document.text
    assert "tags" not in document.text


def test_markdown_lists_quotes_and_rules() -> None:
    document = markdown("# A\n\n- one\n- two\n  goes on\n\n***\n\n> said\n> she\n")
    assert document.text == "A\n\n- one\n\n- two goes on\n\nsaid she"


def test_markdown_title_is_the_outermost_heading() -> None:
    assert markdown("## Sub\n\nx\n\n# Top\n\ny").title == "Top"
    assert markdown("words only").title == "a.md"
    assert markdown("words only").sections[0].kind is SectionKind.BODY


def test_markdown_without_words() -> None:
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
    assert plain(marked) == words


@pytest.mark.parametrize("mark", ["<!--", "![", "[a](", "**a ", "__a ", "*a ", "_a ", "`", "<http:"])
def test_marks_that_nothing_closes_are_text_however_many(mark: str) -> None:
    """Each is looked at once: if the rest of the text were read for each of them, this would take minutes."""
    text = mark * (100_000 // len(mark))
    assert plain(text) == text.strip()


@pytest.mark.parametrize("title", ["# a{}b", "# a{}# b", "#{}b"])
def test_a_heading_of_blanks_is_read_once(title: str) -> None:
    assert headings(markdown(title.format(" " * 300_000))) == [(1, " ".join(title[1:].format(" ").split()))]


def test_hyphens() -> None:
    hyphens = Hyphens(["x the harbour is here x", "x one well-known bell x", "x sand bank and sand bank x"])
    assert hyphens.join("the har-", "bour") == "the harbour"
    assert hyphens.join("a well-", "known one") == "a well-known one"
    assert hyphens.join("a sand-", "bank") == "a sand-bank"
    assert hyphens.join("unheard-", "of") == "unheardof"
    assert hyphens.join("Anglo-", "Saxon") == "Anglo-Saxon"
    assert hyphens.join(f"har{SOFT_HYPHEN}", "bour") == "harbour"
    assert hyphens.join("from 3-", "4") == "from 3- 4"
    assert hyphens.join("one", "two") == "one two"


words = st.text(st.characters(categories=["L", "N", "P", "Zs"]), max_size=40)
parts = st.builds(Part, words, words, st.integers(1, 4), st.sampled_from(list(SectionKind)))


@given(st.lists(parts, max_size=8))
def test_assembled_sections_hold_what_they_were_given(given_parts: list[Part]) -> None:
    document = assemble("", "title", given_parts)
    kept = [part for part in given_parts if part.heading.strip() or part.text.strip()]
    assert len(document.sections) == len(kept)
    end = 0
    for part, section in zip(kept, document.sections, strict=True):
        assert section.heading == part.heading.strip()
        assert document.text[section.body_start : section.span.end].strip() == part.text.strip()
        assert document.text[end : section.span.start].strip() == ""
        end = section.span.end
    assert end == len(document.text)


simple = st.text(st.sampled_from("abcdefgh"), min_size=1, max_size=12)
paragraphs = st.lists(st.lists(simple, min_size=1, max_size=6).map(" ".join), min_size=1, max_size=4)
markdown_parts = st.builds(
    lambda heading, body, level: Part(heading, "\n\n".join(body), level),
    simple,
    paragraphs,
    st.integers(1, 6),
)


@given(st.lists(markdown_parts, min_size=1, max_size=6))
def test_markdown_comes_back_as_it_was_written(written: list[Part]) -> None:
    source = "\n\n".join(f"{'#' * part.level} {part.heading}\n\n{part.text}" for part in written)
    document = markdown(source)
    assert [(section.level, section.heading) for section in document.sections] == [
        (part.level, part.heading) for part in written
    ]
    assert [document.text[section.body_start : section.span.end] for section in document.sections] == [
        part.text for part in written
    ]
    again = markdown("\n\n".join(source.split("\n\n")) + "\n")
    assert again.text == document.text


@given(st.text(max_size=400))
def test_any_text_is_read_or_refused(content: str) -> None:
    for reader in (read_text, read_markdown):
        try:
            document = reader(content.encode("utf-8", "surrogatepass"), "a", "a")
        except (NoTextError, UnsupportedFormatError):
            continue
        assert document.text.strip()
        assert document.sections[-1].span.end == len(document.text)
