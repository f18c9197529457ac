"""Text of documents in Markdown and in spreadsheets: read back as it was, whatever it holds."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from hand_made import shows_as_stored
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from colde_cli.views.escaping import markdown, spreadsheet
from colde_cli.views.wording import plain

GFM = MarkdownIt("gfm-like", {"html": True, "linkify": False})
SIGNS = "abz019 \\`*_{}[]()<>#+-.!|~^&$@:=\"'/?%;,\n\té関👍\u200b\u202e"
hostile = st.text(alphabet=SIGNS, max_size=40) | st.text(max_size=40)


class Shown(HTMLParser):
    """The words of a page, and its elements."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.words, self.elements = "", list[str]()
        self.feed(page)
        self.close()

    def handle_data(self, data: str) -> None:
        self.words += data

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.elements.append(tag)

    def handle_comment(self, data: str) -> None:
        self.elements.append("comment")

    def handle_decl(self, decl: str) -> None:
        self.elements.append("declaration")

    def unknown_decl(self, data: str) -> None:
        self.elements.append("declaration")

    def handle_pi(self, data: str) -> None:
        self.elements.append("instruction")


def visible(words: str) -> str:
    return words.replace("\N{ZERO WIDTH SPACE}", "").strip()


@given(hostile)
@example("1. one")
@example("1) one")
@example("- one")
@example("+ one")
@example("---")
@example("===")
@example("# one")
@example("> one")
@example("~~~ one")
@example("``` one")
@example("<script>alert(1)</script>")
@example("<!-- a")
@example("[a](javascript:b)")
@example("![a](http://b)")
@example("[^1]: note")
@example("&lt;b&gt; &copy;")
@example("\\| a \\\\| b")
@example("    indented")
def test_markdown_shows_the_text_and_makes_nothing_of_it(text: str) -> None:
    escaped = markdown(text)
    for page, allowed in (
        (GFM.render(f"{escaped}\n"), {"p", "span"}),
        (GFM.render(f"> {escaped}\n"), {"blockquote", "p", "span"}),
        (GFM.render(f"<del>{escaped}</del> <ins>{escaped}</ins>\n"), {"p", "span", "del", "ins"}),
    ):
        shown = Shown(page)
        assert set(shown.elements) <= allowed
        assert plain(text) in visible(" ".join(shown.words.split(" ")))


@given(hostile, hostile)
def test_a_cell_stays_a_cell(one: str, two: str) -> None:
    page = GFM.render(f"| A | B |\n| --- | --- |\n| {markdown(one)} | {markdown(two)} |\n")
    cells = re.findall(r"<td>(.*?)</td>", page, re.DOTALL)
    assert [visible(Shown(cell).words) for cell in cells] == [plain(one), plain(two)]
    assert page.count("<tr>") == 2


@pytest.mark.parametrize(
    "text",
    [
        *(
            "@octocat", "see @octo-cat.", "a@b.example", "#12", "owner/repo#12", "GH-12", "gh-12", "!12", "&12", "%12",
        ),
        *("https://github.com/o/r/issues/1", "http://a.example", "www.a.example", "mailto:me", "ftp://a"),
        *(":tada:", ":+1:", ":100:", "commit 1a2b3c4", "1a2b3c4d5e6f7a8b9c0d1a2b3c4d5e6f7a8b9c0d"),
    ],
)  # fmt: skip
def test_what_github_makes_alive_afterwards_has_an_invisible_blank_in_it(text: str) -> None:
    shown = Shown(MarkdownIt("commonmark").render(markdown(text))).words.strip()
    assert shown != text
    assert visible(shown) == text
    assert not re.search(r"@[\w-]|#\d|GH-\d|[!&%]\d|:\w[^\s]*:|https?://|www\.|mailto:m|ftp:/|[\da-f]{7,40}", shown)


@pytest.mark.parametrize("text", ["12:30:45", "section 3: results", "R&D", "C# and F#", "20261121", "deadbeef"])
def test_what_is_not_alive_stays_whole(text: str) -> None:
    assert "&#8203;" not in markdown(text)


def test_a_dollar_sign_begins_no_formula() -> None:
    assert markdown("US$5 or $6") == "US<span>$</span>5 or <span>$</span>6"


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "＝1", "＋1", "－1", "＠a", "\t=1", "\r\n=1"])
def test_no_cell_is_a_formula(text: str) -> None:
    assert spreadsheet(text) == f"'{plain(text)}"


@given(hostile)
def test_other_cells_are_as_they_were(text: str) -> None:
    cell = spreadsheet(text)
    assert cell.removeprefix("'") == plain(text).removeprefix("'")
    assert not cell.startswith(tuple("=+-@\t\r\n"))
    assert shows_as_stored(cell)


@pytest.mark.parametrize("text", ["می\u200cخواهم", "क्\u200dष", "שלום\u200f!", "\u061c٣", "👩\u200d⚖️"])
def test_joiners_and_marks_of_direction_stay(text: str) -> None:
    assert plain(text) == text


def test_what_hides_or_turns_text_is_seen_or_goes() -> None:
    assert plain("pay\u202e001\u202c now\u2066 a\u2069") == "pay�001 now a"
    assert plain("co\u00adop\u200ber\ufeffate\u2060") == "cooperate"
    assert plain("\x1b[31m\x9b0m") == "�[31m�0m"
