"""Numbers, names, levels and kinds of headings."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from colde_cli.documents.document import SectionKind
from colde_cli.documents.headings.evidence import Scene, survey
from colde_cli.documents.headings.find import find_headings, find_title
from colde_cli.documents.headings.titles import (
    follows,
    is_known,
    is_references,
    kind_of,
    longest_chain,
    parse_number,
)
from colde_cli.documents.pdf.lines import Bookmark, Line

SENTENCE = "the keeper of the bell writes down every stroke that he hears at night,"


@pytest.mark.parametrize(
    ("text", "scheme", "parts", "rest"),
    [
        ("1 Introduction", "decimal", (1,), "Introduction"), ("2.1. The Sand", "decimal", (2, 1), "The Sand"),
        ("IV. RESULTS", "roman", (4,), "RESULTS"), ("A.2 Tables of Strokes", "letter", (1, 2), "Tables of Strokes"),
        ("B. Rope", "letter", (2,), "Rope"), ("Article 3 - Duties", "article", (3,), "Duties"),
        ("Chapter II", "chapter", (2,), ""), ("Appendix C", "appendix", (3,), ""),
    ],
)  # fmt: skip
def test_numbers(text: str, scheme: str, parts: tuple[int, ...], rest: str) -> None:
    number = parse_number(text)
    assert number is not None
    assert (number.scheme, number.parts, number.rest) == (scheme, parts, rest)


@pytest.mark.parametrize("text", ["Introduction", "3.14", "1999 was dry and windy", "a) small", "Part of it"])
def test_no_numbers(text: str) -> None:
    assert parse_number(text) is None


@pytest.mark.parametrize(
    ("before", "number", "expected"),
    [
        *(((1,), (2,), True), ((1,), (1, 1), True), ((1, 3), (2,), True), ((1, 5), (2, 1), True)),
        *(((2, 1, 4), (2, 2), True), ((1,), (4,), False), ((2,), (1,), False), ((1,), (2, 2), False)),
    ],
)
def test_follows(before: tuple[int, ...], number: tuple[int, ...], expected: bool) -> None:
    assert follows(before, number) is expected


@pytest.mark.slow
@given(st.lists(st.tuples(st.lists(st.integers(1, 4), min_size=1, max_size=3), st.floats(0.2, 9)), max_size=25))
def test_a_chain_ascends_and_each_link_follows(entries: list[tuple[list[int], float]]) -> None:
    numbers = [(tuple(parts), weight) for parts, weight in entries]
    chain = longest_chain(numbers)
    assert chain == sorted(set(chain))
    assert len(chain) != 1
    assert all(follows(numbers[a][0], numbers[b][0]) for a, b in pairwise(chain))


def test_a_chain_leaves_out_what_does_not_fit() -> None:
    numbers = [(1,), (7,), (2,), (2, 1), (9, 9), (2, 2), (3,)]
    assert longest_chain([(number, 5.0) for number in numbers]) == [0, 2, 3, 5, 6]


def test_names() -> None:
    assert is_known("5 Related Work")
    assert is_known("CONCLUSION")
    assert not is_known("Bells")
    assert is_references("7. References")
    assert not is_references("Terms of reference")


@pytest.mark.parametrize(
    ("title", "before", "kind"),
    [
        ("Abstract", SectionKind.FRONT, SectionKind.ABSTRACT),
        ("2 Method", SectionKind.BODY, SectionKind.BODY),
        ("References", SectionKind.BODY, SectionKind.REFERENCES),
        ("A Proofs", SectionKind.REFERENCES, SectionKind.APPENDIX),
        ("Appendix B", SectionKind.BODY, SectionKind.APPENDIX),
        ("More tables", SectionKind.REFERENCES, SectionKind.APPENDIX),
        ("3.1 Next chapter", SectionKind.REFERENCES, SectionKind.BODY),
        ("Acknowledgments", SectionKind.REFERENCES, SectionKind.BODY),
        ("B.1 Detail", SectionKind.APPENDIX, SectionKind.APPENDIX),
    ],
)
def test_kinds(title: str, before: SectionKind, kind: SectionKind) -> None:
    assert kind_of(title, before) is kind


class Page:
    """Sets lines one under the other."""

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self.base = 800.0

    def add(self, text: str, *, size: float = 10.0, bold: bool = False, gap: float = 12.0) -> None:
        self.base -= gap
        font = "Times-Bold" if bold else "Times-Roman"
        width = min(400.0, 0.5 * size * len(text))
        self.lines.append(Line(text, 1, 72.0, self.base, 72 + width, size, font, float(bold)))

    def prose(self, count: int = 4) -> None:
        for _ in range(count):
            self.add(SENTENCE)
        self.add("and ends.")

    def scene(self) -> Scene:
        return survey(self.lines)


def test_size_weight_and_number() -> None:
    page = Page()
    page.add("The Title of a Report", size=18, bold=True)
    page.add("Introduction", size=12, bold=True, gap=30)
    page.prose()
    page.add("Bold words open this line but it goes on as text, as a paragraph does", gap=14)
    page.prose()
    page.add("Harbours", size=12, bold=True, gap=30)
    page.prose()
    page.add("Conclusions", size=12, bold=True, gap=30)
    page.prose()
    found = find_headings(page.scene(), ())
    assert [heading.text for heading in found] == ["Introduction", "Harbours", "Conclusions"]
    assert {heading.level for heading in found} == {1}
    assert find_title(page.scene(), "report-final.docx") == "The Title of a Report"


def test_a_title_in_capitals_no_larger_than_the_text() -> None:
    page = Page()
    page.add("Draft of March")
    page.add("ON THE HABITS OF HARBOUR", gap=30)
    page.add("BELLS")
    page.add("DRAFT OF 4 MARCH 2025")
    page.prose()
    assert find_title(page.scene(), "") == "ON THE HABITS OF HARBOUR BELLS"
    assert find_title(page.scene(), "On Harbours") == "On Harbours"


def test_numbers_in_the_type_of_the_text() -> None:
    page = Page()
    for number in range(1, 6):
        page.add(f"{number}. Duties of keeper {'ABCDE'[number - 1]}", gap=20)
        page.prose()
    numbers = [heading.number.parts for heading in find_headings(page.scene(), ()) if heading.number]
    assert numbers == [(1,), (2,), (3,), (4,), (5,)]


def test_letters_stand_under_roman_numerals() -> None:
    page = Page()
    for title in ("I. INTRODUCTION", "II. BELLS", "A. Small Bells", "B. Large Bells", "III. SAND"):
        page.add(title, bold=True, gap=30)
        page.prose()
    assert [heading.level for heading in find_headings(page.scene(), ())] == [1, 1, 2, 2, 1]


def test_numbered_references_are_no_headings() -> None:
    page = Page()
    for title in ("1 Introduction", "2 Bells"):
        page.add(title, size=12, bold=True, gap=30)
        page.prose()
    page.add("References", size=12, bold=True, gap=30)
    for number in range(1, 6):
        page.add(f"{number}. Kerrin, I. Nine books of bells.", gap=14)
    assert [heading.text for heading in find_headings(page.scene(), ())][-1] == "References"


def test_bookmarks_find_plain_lines_and_set_levels_if_they_are_in_the_text() -> None:
    page, levels = Page(), {"Of bells": 1, "of small bells": 2, "Of sand": 1}
    for title in levels:
        page.add(title, gap=14)
        page.prose()
    outline = [Bookmark(level, title, 1) for title, level in levels.items()]
    found = find_headings(page.scene(), outline)
    assert {heading.text: heading.level for heading in found} == levels
    page = Page()
    page.prose()
    assert find_headings(page.scene(), [Bookmark(1, f"Slide {number}", 1) for number in range(1, 9)]) == []


def test_contents_are_no_headings() -> None:
    page = Page()
    for number, title in enumerate(("Bells", "Sand", "Rope"), start=1):
        page.add(f"{number} {title} . . . . . . . . . . . . . . . . . {number}")
    for number, title in enumerate(("Bells", "Sand", "Rope"), start=1):
        page.add(f"{number} {title}", size=12, bold=True, gap=30)
        page.prose()
    assert [heading.text for heading in find_headings(page.scene(), ())] == ["1 Bells", "2 Sand", "3 Rope"]


def test_title_falls_back_on_metadata_that_looks_like_one() -> None:
    page = Page()
    page.prose()
    assert find_title(page.scene(), "Nine Books of Bells") == "Nine Books of Bells"
    assert find_title(page.scene(), "Microsoft Word - bells.doc") == ""
    assert find_title(survey([]), "") == ""
