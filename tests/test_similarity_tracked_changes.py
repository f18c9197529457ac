"""Two documents merged to one text: nothing is lost on either side, and paragraphs come and go whole."""

from __future__ import annotations

import pytest

from colde_cli.documents.document import Document, Part, Span, assemble
from colde_cli.similarity.alignment import align
from colde_cli.similarity.redline import NOTHING_IGNORED, Edit, IgnoreOptions, Operation
from colde_cli.similarity.tracked_changes import BREAK, TABLE_END, Anchor, Flow, TrackedText, merge, tracked_text

SHORE = "The keeper rows out to the buoy. He counts the bells before the tide turns."
PIER = "Ten lamps hang on the pier. The harbour master lights them at dusk."
ROPE = "Every rope is tarred in spring. A worn rope is cut into mats."


def made(*parts: tuple[str, list[str]]) -> Document:
    return assemble("a.txt", "a", [Part(heading, "\n\n".join(texts)) for heading, texts in parts])


def merged(a: Document, b: Document, ignore: IgnoreOptions = NOTHING_IGNORED) -> TrackedText:
    return tracked_text(a, b, align(a, b, None, ignore), ignore)


def shown(text: TrackedText) -> str:
    """The merged text with `[-deleted-]` and `{+inserted+}`."""
    marks = {Operation.KEPT: "{}", Operation.DELETED: "[-{}-]", Operation.INSERTED: "{{+{}+}}"}
    pieces = []
    for step in text.steps:
        deleted = step.operation is Operation.DELETED
        words = text.a.text[step.a.start : step.a.end] if deleted else text.b.text[step.b.start : step.b.end]
        pieces.append(marks[step.operation].format(words))
    return "".join(pieces).replace(BREAK, "¶")


def test_words_are_replaced_in_place() -> None:
    a, b = made(("", [SHORE, PIER])), made(("", [SHORE, PIER.replace("Ten", "Twelve")]))
    assert shown(merged(a, b)) == f"{SHORE}¶[-Ten-]{{+Twelve+}}{PIER[3:]}¶"


def test_paragraphs_come_and_go_with_their_ends() -> None:
    a, b = made(("", [SHORE, PIER, ROPE])), made(("", [SHORE, "A new paragraph about sails.", ROPE]))
    assert shown(merged(a, b)) == f"{SHORE}¶[-{PIER}¶-]{{+A new paragraph about sails.¶+}}{ROPE}¶"


def test_the_last_end_stays() -> None:
    a, b = made(("", [SHORE, PIER])), made(("", [SHORE]))
    assert shown(merged(a, b)) == f"{SHORE}[-¶{PIER}-]¶"
    assert shown(merged(b, a)) == f"{SHORE}{{+¶{PIER}+}}¶"


def test_a_split_paragraph_gains_an_end() -> None:
    a, b = made(("", [f"{SHORE} {PIER}", ROPE])), made(("", [SHORE, PIER, ROPE]))
    assert shown(merged(a, b)) == f"{SHORE}[- -]{{+¶+}}{PIER}¶{ROPE}¶"


def test_moved_passages_are_deleted_and_inserted() -> None:
    a, b = made(("", [SHORE, PIER, ROPE])), made(("", [PIER, ROPE, SHORE]))
    assert shown(merged(a, b)) == f"[-{SHORE}¶-]{PIER}¶{ROPE}{{+¶{SHORE}+}}¶"


def test_a_renamed_heading_is_edited() -> None:
    a, b = made(("1 Shore", [SHORE]), ("2 Pier", [PIER])), made(("1 Coast", [SHORE]), ("2 Pier", [PIER]))
    assert shown(merged(a, b)) == f"1 [-Shore-]{{+Coast+}}¶{SHORE}¶2 Pier¶{PIER}¶"


def test_typesetting_is_tracked_too() -> None:
    a, b = (
        made(("", ["The “keeper” rows out to the buoy."])),
        made(("", ['The "keeper" rows out to the buoy.'])),
    )
    assert shown(merged(a, b)) == 'The [-“-]{+"+}keeper[-”-]{+"+} rows out to the buoy.¶'


def test_what_is_ignored_is_as_in_b() -> None:
    a, b = made(("", [SHORE])), made(("", [SHORE.upper()]))
    assert shown(merged(a, b, IgnoreOptions(case=True))) == f"{SHORE.upper()}¶"


def test_a_flow_ends_its_blocks_and_knows_where_they_stand() -> None:
    of = made(("1 Shore", [SHORE, PIER]), ("", [ROPE]))
    flow = Flow.joined(Flow.of(of).blocks, frozenset({2}))
    assert flow.text == f"1 Shore{BREAK}{SHORE}{BREAK}{PIER}{TABLE_END}{ROPE}{BREAK}"
    assert [(block.text, block.level) for block in flow.blocks] == [
        ("1 Shore", 1), (SHORE, 0), (PIER, 0), (ROPE, 0),
    ]  # fmt: skip
    assert [of.text[block.span.start : block.span.end] for block in flow.blocks[1:]] == [SHORE, PIER, ROPE]
    for block, start in zip(flow.blocks, flow.starts, strict=True):
        assert flow.text[start:].startswith(block.text)
        assert flow.place(block.span.start + 3) == start + 3
    span = flow.span(flow.blocks[2].span)
    assert flow.text[span.start : span.end] == PIER
    assert [flow.block_at(start) for start in flow.starts] == [0, 1, 2, 3]
    assert flow.block_at(flow.starts[1] - 1) == 0
    assert [flow.text[end] for end in flow.ends(Span(0, len(flow.text)))] == [BREAK, BREAK, TABLE_END, BREAK]
    assert flow.place(10**6) == len(flow.text)


def test_a_table_and_a_paragraph_never_share_an_end() -> None:
    flow = Flow.of(made(("", [SHORE, PIER, ROPE])))
    with_table = Flow.joined(flow.blocks, frozenset({1}))
    whole = Anchor(Span(0, len(flow.text)), Span(0, len(flow.text)), ())
    assert shown(merge(with_table, flow, [whole])) == f"{SHORE}¶{PIER}[-{TABLE_END}-]{{+¶+}}{ROPE}¶"


@pytest.mark.parametrize(
    ("whole_a", "whole_b", "expected"),
    [
        ([], [], "See page [-3-]{+4+} below.¶"),
        ([(4, 10)], [(4, 10)], "See [-page 3-]{+page 4+} below.¶"),
        ([(4, 10)], [], "See [-page 3-]{+page 4+} below.¶"),  # a file without fields
        (
            [(0, 3)],
            [(11, 16)],
            "[-See-]{+See+} page [-3-]{+4+} [-below-]{+below+}.¶",
        ),  # a field became text, and the reverse
    ],
)
def test_a_field_comes_and_goes_as_a_whole(
    whole_a: list[tuple[int, int]], whole_b: list[tuple[int, int]], expected: str
) -> None:
    a, b = (Flow.of(made(("", [f"See page {number} below."]))) for number in (3, 4))
    edit = Edit(Span(9, 10), Span(9, 10))
    anchor = Anchor(Span(0, len(a.text)), Span(0, len(b.text)), (edit,))
    sides = [Span(*pair) for pair in whole_a], [Span(*pair) for pair in whole_b]
    assert shown(merge(a, b, [anchor], whole=sides)) == expected


def test_words_of_a_pair_are_found_in_the_merged_text() -> None:
    a = made(("1 Shore", [f"{SHORE} {PIER}", ROPE]))
    b = made(("1 Shore", [SHORE, PIER.replace("Ten", "Twelve"), ROPE]))
    alignment = align(a, b, None)
    text = tracked_text(a, b, alignment)
    for pair in alignment.pairs:
        for flow, span, words in zip((text.a, text.b), text.spans(pair), (pair.a_text, pair.b_text), strict=True):
            assert (span is None) is (not words)
            if span is not None:
                assert flow.text[span.start : span.end].replace(BREAK, "\n\n") == words
        for edit in pair.edits:
            left, right = text.edit(pair, edit)
            assert text.a.text[left.start : left.end].split() == pair.a_text[edit.a.start : edit.a.end].split()
            assert text.b.text[right.start : right.end].split() == pair.b_text[edit.b.start : edit.b.end].split()
