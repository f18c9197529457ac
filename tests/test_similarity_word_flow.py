"""The words of two documents aligned as one flow: what each word of A is in B, in order or moved."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from colde_cli.similarity import word_flow
from colde_cli.similarity.word_flow import FlowSide, WordFlow

WORDS = st.lists(
    st.sampled_from("pump tower council tax 12 3.5 ✓ well-known über 水 | • (a) the the and of .".split()), max_size=60
)
TEXTS = WORDS.map(" ".join)


def shared(a: str, b: str) -> list[tuple[str, str]]:
    """The words of A that stand in B, each with what it is there, as both texts have them."""
    flow = WordFlow.of(a, b)
    return [
        (a[flow.a.starts[word] : flow.a.ends[word]], b[flow.b.starts[first] : flow.b.ends[last]])
        for word, (first, last) in enumerate(zip(flow.a.first.tolist(), flow.a.last.tolist(), strict=True))
        if first >= 0
    ]


def one_sided(a: str, b: str) -> list[str]:
    flow = WordFlow.of(a, b)
    return [flow.a.keys[word] for word in np.flatnonzero(flow.a.first < 0)]


def check(own: FlowSide, other: FlowSide) -> None:
    """Every word has at most one place in the other document, where the same letters stand, and back."""
    for word in np.flatnonzero(own.first >= 0).tolist():
        first, last = int(own.first[word]), int(own.last[word])
        back = int(other.first[first]), int(other.last[last])
        assert back[0] <= word <= back[1]
        assert "".join(own.keys[back[0] : back[1] + 1]) == "".join(other.keys[first : last + 1])


@settings(max_examples=150, deadline=None)
@given(TEXTS, TEXTS)
def test_both_sides_agree_and_the_order_of_the_documents_does_not_matter(a: str, b: str) -> None:
    there, back = WordFlow.of(a, b), WordFlow.of(b, a)
    check(there.a, there.b)
    check(there.b, there.a)
    for one, other in ((there.a, back.b), (there.b, back.a)):
        assert one.first.tolist() == other.first.tolist()
        assert one.last.tolist() == other.last.tolist()


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(["kept", "dropped"]), max_size=200))
def test_anchors_find_what_words_that_occur_once_say(fates: list[str]) -> None:
    names = ["".join(chr(ord("a") + int(digit)) for digit in f"{number:03}") for number in range(len(fates))]
    kept = [name for name, fate in zip(names, fates, strict=True) if fate == "kept"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(word_flow, "_FEW", 0)
        found = one_sided(" ".join(names), " ".join(kept))
    assert found == [name for name, fate in zip(names, fates, strict=True) if fate == "dropped"]


def test_a_table_reads_the_same_with_bars_and_in_a_pdf() -> None:
    word = "1.1 | Verify the log. | | ✓ | ✓ | 306\n1.2 | Verify the key. | ✓ | ✓ | ✓ |"
    printed = "1.1 Verify the log. ✓ ✓\n\n306 1.2 Verify the\n\nkey. ✓ ✓ ✓"
    assert one_sided(word, printed) == one_sided(printed, word) == []


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("a redirect- based flow", "a redirectbased flow"), ("the Verifi cation of it", "the Verification of it"),
        ("使用ASVS标准", "使用 ASVS 标 准"), ("a ﬁne “day” of 2020", 'a fine "day" of 2020'),
        ("Contents ........ 7", "Contents 7"),
    ],
)  # fmt: skip
def test_letters_divided_differently_and_signs_are_no_difference(a: str, b: str) -> None:
    assert one_sided(a, b) == one_sided(b, a) == []


def test_six_words_that_moved_are_found_elsewhere_and_fewer_are_not() -> None:
    moved = "never enforce access controls on the client"
    rest = [" ".join(f"{name}{number}" for number in "abcdefgh") for name in ("pump", "tax", "choir")]
    a, b = " ".join((rest[0], moved, rest[1], rest[2])), " ".join((rest[0], rest[1], rest[2], moved))
    assert one_sided(a, b) == []
    few = "never enforce access"
    a, b = a.replace(moved, few), b.replace(moved, few)
    assert one_sided(a, b) == few.split()


def test_what_was_put_in_begins_with_its_sentence() -> None:
    a = "The old pump was sold. The well is dry."
    b = "The old pump was sold. The old pump was cheap. The well is dry."
    flow = WordFlow.of(a, b)
    put_in = np.flatnonzero(flow.b.first < 0)
    assert b[flow.b.starts[put_in[0]] : flow.b.ends[put_in[-1]]] == "The old pump was cheap"


def test_an_amount_is_no_other_amount() -> None:
    assert shared("pay 12 3 euros", "pay 123 euros") == [("pay", "pay"), ("euros", "euros")]
