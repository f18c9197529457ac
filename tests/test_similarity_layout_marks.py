"""Bullets, bars of tables, marks of list items and numbers of clauses are told from text."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from colde_cli.documents.document import Span
from colde_cli.similarity.layout_marks import clause_numbers, list_marks, typesetting, without_typesetting
from colde_cli.similarity.redline import IgnoreOptions, _marks, normal, redline, words


def marked(text: str, find: Callable[[str], Iterator[Span]]) -> list[str]:
    return [text[span.start : span.end] for span in find(text)]


@pytest.mark.parametrize(
    ("text", "marks", "left"),
    [
        ("• a\n- b\n  * c", ["• ", "- ", "  * "], "a\nb\nc"), ("x • y", ["•"], "x  y"),
        ("a | b", ["|"], "a  b"), ("a | b | c\nP(A | B) x", ["|", "|"], "a  b  c\nP(A | B) x"),
        ("a | b) | c", ["|", "|"], "a  b)  c"), ("a|b | c", ["|"], "a|b  c"),
        *((text, [], text) for text in ("a: b", "x •y", "x = a | b", "[a | b", "{a | b", "a |b", "a-b", "-5 °C", "")),
    ],
)  # fmt: skip
def test_typesetting(text: str, marks: list[str], left: str) -> None:
    assert marked(text, typesetting) == marks
    assert without_typesetting(text) == left


def test_a_bracket_far_before_a_bar_is_forgotten() -> None:
    assert marked(f"({'a' * 190} | b", typesetting) == []
    assert marked(f"({'a' * 210} | b", typesetting) == ["|"]


@pytest.mark.parametrize(
    ("text", "marks"),
    [
        ("(a) x", ["(a)"]), ("iv) x", ["iv)"]), ("2. x", ["2."]), ("4.2 The", ["4.2"]),
        ("4.2. The", ["4.2."]), ("  (b) x", ["(b)"]), ("• (a) x", ["(a)"]), ("(xiv) y", ["(xiv)"]),
        ("12) y\nB. z", ["12)", "B."]), ('4.2 "The', ["4.2"]),
        *((text, []) for text in ("4.2 the", "1234. x", "(1234) x", "x (a) y", "ab) x", "a)x", "(a)", "zz. y")),
    ],
)  # fmt: skip
def test_marks_of_list_items(text: str, marks: list[str]) -> None:
    assert marked(text, list_marks) == marks


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("4.2 The", ["4.2"]), ("4.2", ["4.2"]), ("12 The", ["12"]), ("123 The", ["123"]), ("(a) x", ["(a)"]),
        ("He pays; (b) She", [" (b)"]), ("He pays. 9.2 The", [" 9.2"]), ("Section 4.2(a) x", ["4.2(a)"]),
        ("as Article IV says", ["IV"]), ("in Schedule B x", ["B"]), ("§ 12.3 x", ["12.3"]), ("§§ 4", ["4"]),
        ("see fig. 3 x", ["3"]), ("of Clause 7b x", ["7b"]), ("in TABLES 3 x", ["3"]),
        *((text, []) for text in ("12 the", "He pays, 9.2 The", "Schedule Bx", "1234 The", "for 12 days", "a 4.2 b")),
    ],
)  # fmt: skip
def test_numbers_of_clauses_and_references(text: str, numbers: list[str]) -> None:
    assert marked(text, clause_numbers) == numbers


SENTENCES = [
    "The tenant pays under Clause {}.", "Rent is due as § {} says; {}.1 It ends.", "If Section {} holds",
]  # fmt: skip
lists = st.tuples(
    *[
        st.tuples(
            st.sampled_from(["", "9. ", "10. ", "(a) ", "(viii) ", "  iv) ", "4.2 ", " 12.3.1  "]),
            st.integers(1, 30),
        )
    ]
    * len(SENTENCES)
)


@given(lists, lists)
def test_lists_that_differ_in_marks_and_numbers_alone_are_the_same(
    one: tuple[tuple[str, int], ...], two: tuple[tuple[str, int], ...]
) -> None:
    a, b = (
        "\n".join(mark + text.format(number, number) for text, (mark, number) in zip(SENTENCES, drawn, strict=True))
        for drawn in (one, two)
    )
    ignore = IgnoreOptions(renumbering=True, list_marks=True)
    assert normal(a, ignore) == normal(b, ignore)
    assert redline(a, b, ignore=ignore) == ()


@given(st.text(st.sampled_from("(9) ii.vT4§\n ; a"), max_size=40), st.booleans(), st.booleans())
def test_a_text_and_its_words_are_without_the_same_marks(text: str, numbers: bool, marks: bool) -> None:
    ignore = IgnoreOptions(renumbering=numbers, list_marks=marks)
    spans = [span for span, _ in _marks(text, ignore)]
    assert all(span.end <= after.start for span, after in pairwise(spans))
    assert "".join(normal(text, ignore).split()) == "".join(word.key for word in words(text, ignore))


@pytest.mark.parametrize(("mark", "number"), [("9.", "10."), ("(viii)", "(ix)"), ("(viii)", "(ii)")])
def test_a_mark_that_is_a_number_of_a_clause_is_left_out_once(mark: str, number: str) -> None:
    ignore = IgnoreOptions(renumbering=True, list_marks=True)
    assert normal(f"{mark} The rent", ignore) == normal(f"{number} The rent", ignore) == "The rent"
