"""Redline: what differs is marked, what typesetting did is not."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from colde_cli.similarity.redline import redline

words = st.lists(
    st.sampled_from("the pump, runs. at night 31 % “never” low-cost (no) its".split()), max_size=25
)


def marked(a: str, b: str) -> list[tuple[str, str]]:
    return [(a[e.a.start : e.a.end], b[e.b.start : e.b.end]) for e in redline(a, b)]


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("The pump  runs\nat night.", "The pump runs at night."),
        ("a low-\ncost measure- ment", "a low-cost measurement"),
        ("the efﬁcient ofﬁce", "the efficient office"),
        ("the e ffi cient office", "the efficient office"),
        ("“quoted” and ‘so’ — it’s", "\"quoted\" and 'so' - it's"),
        ("meas\u00adurement", "measurement"),
        ("from 3–5 µg", "from 3-5 μg"),
    ],
)
def test_what_typesetting_does_is_no_edit(a: str, b: str) -> None:
    assert marked(a, b) == marked(b, a) == []


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("It fell by 31 %.", "It fell by 27 %.", [("31", "27")]),
        ("It did not bias.", "It did bias.", [("not", "")]),
        ("It did bias.", "It did not bias.", [("", "not")]),
        ("Costs EUR 58 for 2 minutes", "Costs EUR 63 for 2 hours", [("58", "63"), ("minutes", "hours")]),
        ("at -3 degrees", "at 3 degrees", [("-", "")]),
        ("", "All new.", [("", "All new.")]),
        ("the Polish way", "the polish way", [("Polish", "polish")]),
    ],
)
def test_edits_are_as_small_as_they_read(a: str, b: str, expected: list[tuple[str, str]]) -> None:
    assert marked(a, b) == expected


@settings(max_examples=80, deadline=None)
@given(words, words)
def test_the_edits_make_one_text_of_the_other(a: list[str], b: list[str]) -> None:
    one, two = " ".join(a), " ".join(b)
    made, done = "", 0
    for edit in redline(one, two):
        made += one[done : edit.a.start] + two[edit.b.start : edit.b.end]
        done = edit.a.end
    assert "".join((made + one[done:]).split()).replace("-", "") == "".join(two.split()).replace("-", "")


@settings(max_examples=40, deadline=None)
@given(words)
def test_a_text_has_no_edits_against_itself(text: list[str]) -> None:
    assert redline(" ".join(text), "  \n".join(text)) == ()
