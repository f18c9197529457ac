"""Plain text."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from read_documents import check_sections, headings, outline

from colde_cli.documents.document import PLAIN_WORDS, Document, Part, SectionKind, assemble
from colde_cli.documents.outside import OutsideKind
from colde_cli.documents.pdf.prose import SOFT_HYPHEN, Hyphens, JoinedLines
from colde_cli.documents.plain_text import decode, read_text
from colde_cli.errors import UnsupportedFormatError

PARAGRAPH = "The bell rings when the water comes, and the keeper\nwrites the hour in the ninth of his books.\n"


def text(content: str) -> Document:
    return read_text(content.encode(), "a.txt", "a.txt")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_encodings_without_a_warning(encoding: str) -> None:
    assert decode("Ebbe — Flüt".encode(encoding), "a.txt") == ("Ebbe — Flüt", ())


def test_latin_text_is_read_with_a_warning() -> None:
    found, warnings = decode("Flüt und Ebbe".encode("latin-1"), "a.txt")
    assert found == "Flüt und Ebbe"
    assert "Windows-1252" in warnings[0]


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("gbk", "供应商应当在十四天内交付货物。买方应当支付价款。\n本合同自签字之日起生效。\n"),
        ("big5", "供應商應當在十四天內交付貨物。買方應當支付價款。\n本合同自簽字之日起生效。\n"),
        ("shift_jis", "供給者は十四日以内に商品を引き渡すものとする。\n買主は代金を支払う。\n"),
        ("euc_kr", "공급자는 십사일 이내에 물품을 인도하여야 한다.\n매수인은 대금을 지급한다.\n"),
        (
            "koi8-r",
            "Поставщик обязан поставить товар в течение четырнадцати дней с момента заказа.\n"
            "Покупатель обязан оплатить товар в полном объёме и принять его на своём складе.\n",
        ),
        ("cp1251", "Поставщик обязан поставить товар в течение четырнадцати дней.\nПокупатель платит.\n"),
    ],
)
def test_other_alphabets_are_told_by_their_bytes(encoding: str, text: str) -> None:
    found, warnings = decode(("Contract 17\n" + text).encode(encoding), "a.txt")
    assert found == "Contract 17\n" + text
    assert "as its bytes suggest" in warnings[0]


@pytest.mark.parametrize("word", ["Flüt", "14 € für Käse", "“Supplier”", "naïve façade", "§ 3 – £5"])
def test_western_texts_are_windows_1252(word: str) -> None:
    text = f"The agreement says {word} and nothing else.\n" * 3
    found, warnings = decode(text.encode("cp1252"), "a.txt")
    assert found == text
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
        *((0, ""), (1, "Abstract"), (1, "1. Bells"), (2, "1.1. Small bells"), (1, "2. Sand")),
        *((1, "OF ROPE AND CORK"), (2, "An underlined one")),
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
    page = "RFC 9999            Bells            May 2026\n\n{}\n\nKerrin       Informational      [Page {}]\n"
    bodies = (
        "1. One\n\nA sentence that goes", "on over the page.\n\n2. Two\n\nWords.", "3. Three\n\nMore words.", "End.",
    )  # fmt: skip
    document = text("\f".join(page.format(body, number) for number, body in enumerate(bodies, start=1)))
    assert "A sentence that goes on over the page." in document.text
    assert "RFC 9999" not in document.text
    assert "[Page" not in document.text
    assert headings(document) == [(1, "1. One"), (1, "2. Two"), (1, "3. Three")]
    assert [(outside.kind, outside.text) for outside in document.outside] == [
        (OutsideKind.HEADERS, "RFC 9999 Bells May 2026"),
        (OutsideKind.FOOTERS, "Kerrin Informational [Page #]"),
    ]


def paged(*feet: str, heads: tuple[str, ...] = ()) -> Document:
    """Pages of one paragraph each, with these lines at their foot and head."""
    words = ("Ayr", "Bay", "Cliff", "Dune", "Ebb", "Flood", "Gull", "Harbour", "Isle", "Jetty")
    bodies = (
        f"{head}\n\n{word} is the name of a bell.\nIts keeper lives at {word}.\n{foot}\n"
        for head, word, foot in zip(heads or [""] * len(feet), words, feet, strict=False)
    )
    return text("\f".join(bodies))


def beside(document: Document) -> list[tuple[str, str]]:
    return [(one.kind.value, one.text) for one in document.outside]


@pytest.mark.parametrize(
    ("feet", "written"),
    [
        (("1", "2", "3"), "#"), (("7", "8"), "#"), (("- 1 -", "- 2 -", "- 3 -"), "- # -"),
        (("i", "ii", "iii", "1", "2"), "#"), (("Page 1 of 3", "Page 2 of 3", "Page 3 of 3"), "Page # of #"),
        (("Lease    [Page 12]", "Lease    [Page 13]"), "Lease [Page #]"),
        (("Bells   2026    4", "Bells   2026    5", "Bells   2026    6"), "Bells 2026 #"),
        (("Draft", "Draft", "Draft"), "Draft"),
    ],
)  # fmt: skip
def test_page_numbers_that_follow_the_page_are_feet(feet: tuple[str, ...], written: str) -> None:
    document = paged(*feet)
    assert beside(document) == [("footers", written)]
    assert not any(foot in document.text.split("\n") for foot in feet)


@pytest.mark.parametrize(
    "feet",
    [
        ("100", ""), ("100", "200", "300"), ("EUR 2,001", "EUR 2,002", "EUR 2,003"),
        ("Closing balance EUR 2001", "Closing balance EUR 2002", "Closing balance EUR 2003"),
        ("Closing balance 2001", "Closing balance 2002", "Closing balance 2003"), ("Rate 1.1", "Rate 1.2", "Rate 1.3"),
        ("1 %", "2 %", "3 %"), ("2026-01", "2026-02", "2026-03"), ("[Page 5]", ""), ("12345", "12346", "12347"),
    ],
)  # fmt: skip
def test_amounts_are_no_page_numbers(feet: tuple[str, ...]) -> None:
    document = paged(*feet)
    assert beside(document) == []
    assert all(foot in document.text for foot in feet)


def test_one_page_that_is_numbered_in_another_way_is_seen() -> None:
    document = paged(*"12345678", "90", "11")
    assert beside(document) == [("footers", "#")]
    assert document.text.endswith("Isle. 90\n\nJetty is the name of a bell. Its keeper lives at Jetty. 11")


def test_a_head_that_one_page_lacks_is_told() -> None:
    full, lacking = ["Lease"] * 6, ["Lease"] * 3 + ["Other words stand here"] + ["Lease"] * 2
    feet = [""] * 6
    assert beside(paged(*feet, heads=tuple(full))) == [("headers", "Lease")]
    assert beside(paged(*feet, heads=tuple(lacking))) == [("headers", "Lease"), ("headers", "Lease")]


def test_bytes_without_a_meaning_stay_different() -> None:
    western = "The naïve façade of the café, “as agreed”, costs 14 €. ".encode("cp1252")
    one, other = (decode(western + strange, "a.txt")[0] for strange in (b"\x81", b"\x8d"))
    assert one.endswith("€. \\x81")
    assert one != other


def test_marks_of_direction_stay() -> None:
    assert "\u202e001\u202c" in text("Pay \u202e001\u202c EUR.\n").text


FEET = st.one_of(
    st.integers(1, 9999).map(str),
    st.integers(1, 30).map("[Page {}]".format),
    st.integers(1, 3000).map("Balance EUR {}".format),
    st.tuples(st.sampled_from(("Bells", "Sand")), st.integers(1, 40)).map(lambda pair: f"{pair[0]}     {pair[1]}"),
    st.sampled_from(("", "Draft 7", "ii", "xlv")),
)


@given(st.lists(st.tuples(FEET, FEET), min_size=2, max_size=9), st.integers(0, 50), st.booleans())
def test_every_digit_is_in_the_body_or_outside_or_follows_the_page(
    edges: list[tuple[str, str]], offset: int, numbered: bool
) -> None:
    pages = [
        f"{head}\n\nwords {900_000 + page}\n\n{foot if not numbered else page + offset}\n"
        for page, (head, foot) in enumerate(edges, start=1)
    ]
    document = text("\f".join(pages))
    outside = " ".join(one.text for one in document.outside)
    seen = set(re.findall(r"\d+", f"{document.text} {outside}"))
    numbers = [(page, n) for page, content in enumerate(pages, 1) for n in re.findall(r"\d+", content)]
    offsets = Counter(int(n) - page for page, n in numbers)
    for page, n in numbers:
        assert n in seen or ("#" in outside and (offsets[int(n) - page] > 1 or int(n) in (page, 1))), n  # 1 begins anew


def test_long_text_without_headings_is_cut_between_paragraphs() -> None:
    document = text("\n\n".join([PARAGRAPH] * 400))
    counts = [len(document.section_text(section).split()) for section in document.sections]
    assert len(counts) > 2
    assert all(PLAIN_WORDS <= count < PLAIN_WORDS + 30 for count in counts[:-1])
    assert {section.kind for section in document.sections} == {SectionKind.BODY}


def test_tables_keep_their_lines() -> None:
    assert "a   b   c\n1   2   3" in text(f"{PARAGRAPH}\na   b   c\n1   2   3\n").text


def test_hyphens() -> None:
    hyphens = Hyphens(["x the harbour is here x", "x one well-known bell x", "x sand bank and sand bank x"])

    def joined(*lines: str) -> str:
        text = JoinedLines(hyphens)
        for line in lines:
            text.add(line)
        assert text.length == len(text.text())
        return text.text()

    assert joined("the har-", "bour") == "the harbour"
    assert joined("a well-", "known one") == "a well-known one"
    assert joined("a sand-", "bank") == "a sand-bank"
    assert joined("unheard-", "of") == "unheardof"
    assert joined("Anglo-", "Saxon") == "Anglo-Saxon"
    assert joined(f"har{SOFT_HYPHEN}", "bour") == "harbour"
    assert joined("from 3-", "4") == "from 3- 4"
    assert joined("one", "two") == "one two"
    assert joined("", "one", "", "two-", "") == "one  two-"
    assert joined("un-", "heard-", "of, a sand-", "", "bank") == "unheardof, a sand-bank"


def test_the_work_of_joining_lines_grows_with_their_length_alone() -> None:
    class Counted(Hyphens):
        letters = 0

        def between(self, end: str, line: str) -> str | None:
            self.letters += len(end) + len(line)
            return super().between(end, line)

    for line in ("ab-", "a line of words"):
        work = []
        for count in (1000, 2000, 4000):
            hyphens = Counted([])
            joined = JoinedLines(hyphens)
            for _ in range(count):
                joined.add(line)
            work.append(hyphens.letters)
        assert work[2] - work[1] == 2 * (work[1] - work[0])


words = st.text(st.characters(categories=["L", "N", "P", "Zs"]), max_size=40)
parts = st.builds(Part, words, words, st.integers(1, 4), st.sampled_from(list(SectionKind)))


@given(st.lists(parts, max_size=8))
def test_assembled_sections_hold_what_they_were_given(given_parts: list[Part]) -> None:
    document = assemble("", "title", given_parts)
    kept = [part for part in given_parts if part.heading.strip() or part.text.strip()]
    assert [one[1:] for one in outline(document)] == [(part.heading.strip(), part.text.strip()) for part in kept]
    check_sections(document)


def test_words_that_the_end_of_a_line_divides_are_told() -> None:
    found = text("The parties re-\nsign the Low-\nCost lease, COVID-\n19 or not, and the well-known bell rings.\n")
    assert found.report.divided_words == ("lowcost", "resign")
