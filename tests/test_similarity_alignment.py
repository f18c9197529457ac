"""Aligned passages: golden cases by hand, what must hold for any two documents, and the examples' own list of edits."""

from __future__ import annotations

from dataclasses import replace

import pytest
from command_line import V1, V2
from hand_made import document as written
from hypothesis import example, given, settings
from hypothesis import strategies as st

from colde_cli.documents.document import Document, Part, SectionKind, assemble
from colde_cli.documents.reading import read
from colde_cli.encoder.encoder import Encoder
from colde_cli.similarity.alignment import align
from colde_cli.similarity.pairs import Alignment, PassagePair, State, extents
from colde_cli.similarity.section_changes import SectionChange, section_changes

PUMP = "The pump lifts water from the well into the tower every night while the whole town is asleep."
TAX = "The council shall levy a tax of EUR 40 on every house, payable by 3 March, and does not refund it."
CHOIR = "The choir rehearses a requiem on Thursdays, and the altos are always late, which annoys the tenors."
BRIDGE = "A bridge of larch was built across the gorge by prisoners, and it has never needed any repair since."
SCHOOL = "Children of the upper valley walk an hour to school, and in winter they are carried by a sledge."
TEXTS = [PUMP, TAX, CHOIR, BRIDGE, SCHOOL]


def document(*paragraphs: str) -> Document:
    return assemble("", "", [Part("1 Report", "\n\n".join(paragraphs))])


def states(alignment: Alignment) -> list[str]:
    return [pair.state.value for pair in alignment.pairs]


def test_a_moved_paragraph_has_moved_and_the_others_have_not() -> None:
    found = align(document(*TEXTS), document(TAX, CHOIR, BRIDGE, PUMP, SCHOOL), None)
    assert states(found) == ["moved", "same", "same", "same", "same"]
    assert found.pairs[0].edits == ()
    assert found.summary == {State.SAME: 4, State.EDITED: 0, State.MOVED: 1, State.ONLY_A: 0, State.ONLY_B: 0}


def test_a_moved_paragraph_that_was_edited_has_moved() -> None:
    edited = PUMP.replace("every night", "every evening")
    (moved, *others) = align(document(*TEXTS), document(TAX, CHOIR, BRIDGE, edited, SCHOOL), None).pairs
    assert (moved.state, len(moved.edits)) == (State.MOVED, 1)
    assert {pair.state for pair in others} == {State.SAME}


def test_a_label_that_stands_in_two_unrelated_documents_is_no_partner() -> None:
    def paragraphs(letters: str) -> list[str]:
        return [" ".join(first + second + "." for first in letters for second in letters[::-1])] * 30

    a, b = paragraphs("abcdef"), paragraphs("uvwxyz")
    found = align(document(*a[:9], "17", *a[9:]), document(*b[:20], "17", *b[20:]), None)
    assert found.summary[State.SAME] == found.summary[State.EDITED] == 0
    found = align(document(*a[:9], "17", *a[9:], *TEXTS), document(*b[:20], "17", *b[20:], *TEXTS), None)
    assert [pair.a_text for pair in found.pairs if pair.state is State.SAME] == ["17", *TEXTS]


def test_few_words_that_two_different_texts_have_alike_are_no_pair() -> None:
    a, b = "Pay 30 euros on Friday.", "Pay 90 euros on Friday."
    (pair,) = [pair for pair in align(document(*TEXTS, a), document(*TEXTS, b), None).pairs if pair.edits]
    assert [(flag.a, flag.b) for flag in pair.flags] == [("30 euros", "90 euros")]
    others = [text[::-1] for text in TEXTS]
    found = align(document(*TEXTS[:3], a, *TEXTS[3:]), document(*others[:3], b, *others[3:]), None)
    assert found.summary[State.EDITED] == found.summary[State.MOVED] == 0
    assert [pair.a_text for pair in found.pairs if pair.a] == [*TEXTS[:3], a, *TEXTS[3:]]
    assert [pair.b_text for pair in found.pairs if pair.b] == [*others[:3], b, *others[3:]]


def test_what_pairs_by_chance_follows_its_neighbour_when_it_is_parted() -> None:
    others = [text[::-1] for text in TEXTS[1:]]
    a, b = "Pay 30 euros on Friday.", "Pay 90 euros on Friday."
    found = align(document(a, *TEXTS), document(PUMP.replace("every", "each"), b, *others), None)
    assert states(found)[:3] == ["only_a", "edited", "only_b"]
    assert found.pairs[2].b_text == b


def test_numbers_alone_are_no_pair_of_two_different_texts() -> None:
    a, b = "1 2 3 4 5 6 7 8", "1 2 3 4 5 6 7 9"
    found = align(document(PUMP, TAX, a), document(CHOIR, BRIDGE, b), None)
    assert set(states(found)) == {"only_a", "only_b"}
    assert "edited" in states(align(document(PUMP, TAX, a), document(PUMP, TAX, b), None))


def test_a_paragraph_divided_in_two_does_not_differ() -> None:
    whole = f"{PUMP} {CHOIR}"
    found = align(document(TAX, whole, BRIDGE), document(TAX, PUMP, CHOIR, BRIDGE), None)
    assert set(states(found)) == {"same"}


def test_a_paragraph_divided_and_edited_at_the_seam_is_one_pair() -> None:
    a = "We measured the river at nine places and found it low, and the mill reported the same to the council in May."
    b = (
        "We measured the river at nine places and found it low.",
        "The mill reported the same to the council in May.",
    )
    (first, pair, last) = align(document(TAX, a, BRIDGE), document(TAX, *b, BRIDGE), None).pairs
    assert (pair.state, len(pair.a), len(pair.b)) == (State.EDITED, 1, 2)
    assert {first.state, last.state} == {State.SAME}
    (pair,) = (pair for pair in align(document(TAX, *b), document(TAX, a), None).pairs if pair.edits)
    assert (len(pair.a), len(pair.b)) == (2, 1)


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        ("EUR 40", "EUR 45", "amount"), ("3 March", "13 March", "date"),
        ("does not refund", "does refund", "negation"), ("shall levy", "may levy", "obligation"),
    ],
)  # fmt: skip
def test_small_edits_that_tell_are_flagged(before: str, after: str, kind: str) -> None:
    found = align(document(*TEXTS), document(*(text.replace(before, after) for text in TEXTS)), None)
    assert states(found) == ["same", "edited", "same", "same", "same"]
    assert [flag.kind.value for flag in found.pairs[1].flags] == [kind]


@pytest.mark.parametrize("word", ["None.", "Not applicable."])
def test_what_a_form_says_often_answers_itself_however_often(word: str) -> None:
    """One word has no likeness in wording to fall back on."""
    answers = [part for number in range(70) for part in (f"Does question number {number} apply?", word, word)]
    found = align(document(*answers), document(*answers), None)
    assert found.summary[State.SAME] == len(found.pairs) == 210
    lead = [f"A paragraph with the number {number} stands before the form." for number in range(60)]
    found = align(document(*answers), document(*lead, *answers[:60], *answers[63:]), None)
    assert found.summary[State.SAME] == 207
    assert (found.summary[State.ONLY_A], found.summary[State.ONLY_B]) == (3, 60)
    found = align(document(*[word] * 120), document(PUMP, *[word] * 110, TAX), None)
    assert (found.summary[State.SAME], found.summary[State.MOVED]) == (110, 0)


def test_labels_of_equations_that_were_only_renumbered_are_not_flagged() -> None:
    def text(shift: int, speed: str) -> Document:
        named = ("pumps", "valves", "pipes", "tanks", "wells", "locks")
        lines = [f"The pressure in the {name} is p = qr ({at + shift})" for at, name in enumerate(named, 4)]
        return document(*lines, f"The pumps turn {speed} times in an hour of the night.")

    assert [flag for pair in align(text(0, "(6)"), text(8, "(6)"), None).pairs for flag in pair.flags] == []
    (told,) = [flag for pair in align(text(0, "(6)"), text(8, "(60)"), None).pairs for flag in pair.flags]
    assert (told.a, told.b) == ("6", "60")


def test_a_short_passage_that_is_all_date_is_flagged(encoder: Encoder) -> None:
    a, b = (document(PUMP, f"Draft version {date}", TAX) for date in ("September 20, 2018", "February 7, 2021"))
    (pair,) = [pair for pair in align(a, b, encoder).pairs if pair.edits]
    assert [(flag.kind.value, flag.a) for flag in pair.flags] == [("date", "September 20, 2018")]


def test_what_stands_on_one_side_only_is_told_in_its_place() -> None:
    found = align(document(PUMP, TAX, CHOIR), document(PUMP, BRIDGE, CHOIR, SCHOOL), None)
    assert states(found) == ["same", "only_b", "only_a", "same", "only_b"]
    assert [pair.score for pair in found.pairs] == [1.0, None, None, 1.0, None]


paragraphs = st.lists(
    st.sampled_from(
        [
            *TEXTS, "None.", "Not applicable.", "9", "9 3.2", "3.2 9 9", PUMP.replace("night", "day"),
            TAX[:50], CHOIR + " So they say.",
        ]
    ),
    min_size=1,
    max_size=9,
)  # fmt: skip


@pytest.mark.parametrize(("before", "after"), [([], []), ([], TEXTS), (TEXTS, []), (TEXTS[:3], TEXTS[3:])])
def test_repeated_passages_answer_each_other_in_order(before: list[str], after: list[str]) -> None:
    """Their neighbours alone tell them apart, wherever the other document has new text."""
    asked = [f"Question of the council, number {number}." for number in range(40)]
    a = [text for question in asked for text in (question, *["No answer was given."] * 3)]
    b = [text for question in asked for text in (question, *["No reply was given."] * 3)]
    found = align(document(*a), document(*before, *b, *after), None)
    assert {pair.state for pair in found.pairs if pair.a} == {State.SAME, State.EDITED}
    assert {pair.b[0].index - pair.a[0].index for pair in found.pairs if pair.a} == {len(before)}


Mirrored = tuple[str, tuple[int, ...], tuple[int, ...]]
MIRROR = {"only_a": "only_b", "only_b": "only_a"}


def of_both(alignment: Alignment) -> list[Mirrored]:
    """State and places of every pair."""
    return sorted(
        (pair.state.value, tuple(p.index for p in pair.a), tuple(p.index for p in pair.b)) for pair in alignment.pairs
    )


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(paragraphs, paragraphs)
@example(["9 3.2"], ["9"])
def test_the_other_way_round_is_the_mirror_image(a: list[str], b: list[str]) -> None:
    there = of_both(align(document(*a), document(*b), None))
    back = of_both(align(document(*b), document(*a), None))
    assert there == sorted((MIRROR.get(state, state), left, right) for state, right, left in back)


@pytest.mark.parametrize("kind", [SectionKind.BODY, SectionKind.REFERENCES])
def test_references_are_matched_by_their_words_alone(kind: SectionKind, encoder: Encoder) -> None:
    kept = "Orme, R. The tide gauge of the old harbour, and how to read it. Annals of the Coast, 2011."
    one, other = (
        assemble(
            f"{name}.txt",
            name,
            [Part("1 Body", "The gauge is read."), Part("2 List", f"{text}\n\n{kept}", kind=kind)],
        )
        for name, text in (
            ("a", "Cheap sensors let residents measure the air that they breathe in their own street."),
            (
                "b",
                "With inexpensive instruments, people who live in a road can monitor the local air quality.",
            ),
        )
    )
    states = [pair.state for pair in align(one, other, encoder).pairs]
    assert states.count(State.EDITED) == (kind is SectionKind.BODY)
    assert states.count(State.SAME) == 2


class Versions:
    """The examples aligned, and questions to them in words of examples/README.md."""

    def __init__(self, encoder: Encoder) -> None:
        self.a, self.b = read(V1), read(V2)
        self.alignment = align(self.a, self.b, encoder)
        self.sections = section_changes(self.alignment, self.a, self.b)

    def pair(self, a: str = "", b: str = "") -> PassagePair:
        """The only pair that holds these words on its sides."""
        (found,) = (p for p in self.alignment.pairs if a in p.a_text and b in p.b_text and (p.a or not a))
        return found

    def flagged(self, kind: str, a: str, b: str) -> int:
        flags = [flag for pair in self.alignment.pairs for flag in pair.flags if flag.kind.value == kind]
        return sum(flag.a.startswith(a) and flag.b.startswith(b) for flag in flags)

    def section(self, state: str, a: list[str], b: list[str]) -> SectionChange:
        (found,) = (
            change
            for change in self.sections
            if change.state.value == state
            and [self.a.sections[i].heading for i in change.a] == a
            and [self.b.sections[j].heading for j in change.b] == b
        )
        return found


@pytest.fixture(scope="module")
def versions(encoder: Encoder) -> Versions:
    return Versions(encoder)


def test_sections_of_the_examples(versions: Versions) -> None:
    """Nos. 1 to 8."""
    versions.section("renamed", ["3 Instruments"], ["3 Measuring equipment"])
    versions.section("renamed", ["4.1 Cleaning rules"], ["4.2 Quality control"])
    versions.section("renamed", ["5.2 The shape of a day"], ["5.2 Daily pattern"])
    assert versions.section("matched", ["3.3 Calibration"], ["4.1 Calibration"]).moved
    versions.section("added", [], ["4.4 Data protection"])
    versions.section("added", [], ["5.5 Indoor readings"])
    versions.section("dropped", ["4.3 Software"], [])
    versions.section("split", ["6 Discussion"], ["6 Discussion", "7 What the town could do"])
    assert sum(change.moved for change in versions.sections) == 1
    assert len([c for c in versions.sections if c.state.value != "matched"]) == 7


def test_paragraphs_of_the_examples(versions: Versions) -> None:
    """Nos. 9 to 15, 27."""
    assert versions.pair(a="The road explains less", b="The road explains less").state is State.MOVED
    assert versions.alignment.summary[State.MOVED] == 1
    assert versions.pair(a="An evening meeting was held").state is State.ONLY_A
    assert versions.pair(a="illness of the airways").state is State.ONLY_A
    assert versions.pair(b="[8] L. Abernathy-Koss").state is State.ONLY_B
    for a, b in (
        ("Questions 5 to 8", "Questions 4 to 7"),
        ("Low-cost sensors have changed", "Since cheap sensors came on the market"),
        ("Earlier studies found", "As previous work has"),
        ("The federal road carries", "Heavy industry is absent"),
        ("understates the exposure", "For two out of three residents"),
        ("Section 3 the instruments", "Section 3 the equipment"),
    ):
        assert versions.pair(a, b).state is State.EDITED


@pytest.mark.parametrize(
    ("kind", "a", "b", "times"),
    [
        ("number", "0.86", "0.89", 3), ("number", "3.1", "2.9", 3), ("percentage", "31 %", "27 %", 2),
        ("number", "22", "18", 1), ("percentage", "39 %", "35 %", 1), ("unit", "2 minutes", "2 hours", 1),
        ("amount", "EUR 58", "EUR 63", 1), ("negation", "not", "", 1), ("obligation", "must", "may", 1),
        ("date", "8 January", "15 January", 1), ("number", "14 years", "11 years", 1),
        ("percentage", "80 %", "75 %", 1), ("name", "Ottilie Brandt", "Friedrich Osei", 1),
        ("number", "three metres", "five metres", 1),
    ],
)  # fmt: skip
def test_small_edits_of_the_examples(versions: Versions, kind: str, a: str, b: str, times: int) -> None:
    """Nos. 16 to 26."""
    assert versions.flagged(kind, a, b) == times


def test_nothing_else_is_flagged_in_the_examples(versions: Versions) -> None:
    assert sum(len(pair.flags) for pair in versions.alignment.pairs) == 19


KEPT = "The river gauge stood beside the old bridge for nine years without a single repair."
CHANGED = ("Payment is due within thirty days of receipt.", "Payment is due within sixty days of receipt.")
OWN = "Nobody asked whether the willows along the far bank would survive another dry summer."


def test_words_are_counted_by_what_became_of_them() -> None:
    a = written([("One", f"{KEPT}\n\n{CHANGED[0]}\n\n{OWN}")])
    b = written([("One", f"{KEPT}\n\n{CHANGED[1]}")])
    left, right = extents(align(a, b, None).pairs)
    assert left.by_state[State.SAME] == right.by_state[State.SAME] == 15
    assert left.by_state[State.EDITED] == right.by_state[State.EDITED] == 8
    assert left.by_state[State.ONLY_A] == len(OWN.split())
    assert right.by_state[State.ONLY_A] == right.by_state[State.ONLY_B] == 0
    assert left.words == 15 + 8 + 14
    # One word of the edited passage is not the other's.
    assert (left.kept, right.kept) == (22, 22)
    assert left.share_kept == pytest.approx(22 / 37)


def test_a_document_without_words_shares_nothing() -> None:
    left, right = extents(align(written([]), written([("", KEPT)]), None).pairs)
    assert (left.words, left.share_kept) == (0, 0.0)
    assert (right.words, right.kept) == (15, 0)


def test_numbers_that_a_word_processor_counts_make_no_edit() -> None:
    counted = document("Each party pays:", "the fee of the year", "The costs of travel are not included.")
    counted = replace(counted, report=replace(counted.report, counted_numbers=True))
    printed = document("Each party pays:", "(a) the fee of the year", "4.2 The costs of travel are not included.")
    assert states(align(counted, printed, None)) == ["same"] * 3
    other = document("Each party pays:", "(a) the fee of the year", "4.2 The costs of travel are included.")
    assert states(align(counted, other, None)) == ["same", "same", "edited"]


def test_a_table_with_bars_is_the_same_as_its_rows() -> None:
    table = document("Service | Fee\nHosting of the platform | $4,250\nSupport | $185")
    rows = document("Service Fee", "Hosting of the platform $4,250", "Support $185")
    assert states(align(table, rows, None)) == ["same"] * 3


@pytest.mark.parametrize(
    ("a", "b", "flagged"),
    [
        ("Revised: September 28, 2021", "Revised: July 1, 2023", []),
        ("Stand: 28. September 2021", "Stand: 1. Juli 2023", []),
        ("Dernière mise à jour : 28 septembre 2021", "Dernière mise à jour : 1er juillet 2023", []),
        ("3 de mayo de 2021", "4 de junio de 2022", []),
        ("Rent of 3 May 2021", "Rent of 4 June 2022", ["date"]),
    ],
)
def test_a_short_line_with_another_date_is_edited(a: str, b: str, flagged: list[str]) -> None:
    found = align(document("Terms", a, PUMP, "Signed 3 May 2020"), document("Terms", b, PUMP, "Signed"), None)
    edited = next(pair for pair in found.pairs if pair.state is State.EDITED)
    assert (edited.a_text, edited.b_text, edited.formal) == (a, b, not flagged)
    assert [flag.kind.value for flag in edited.flags] == flagged
