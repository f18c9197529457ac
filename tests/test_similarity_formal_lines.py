"""Lines of the cover, page numbers and changes of case come last, without a flag."""

from __future__ import annotations

import pytest

from colde_cli.documents.document import Document, Part, assemble
from colde_cli.similarity.alignment import align
from colde_cli.similarity.pairs import PassagePair
from colde_cli.similarity.triage import ordered_changes

BODY = (
    "The Supplier shall deliver the malt to the gate of the brewery on each Monday of the year, and the Customer must "
    "pay for it within 30 days."
)
KEPT = [BODY, "The buyer keeps the books of the mill.", "The Javascript engine runs all day long."]


def compared(cover: list[list[str]], bodies: list[list[str]], title: str = "Supply Agreement") -> list[PassagePair]:
    """The changes in order, the weightiest first."""
    one, other = (_document(title, lines, body) for lines, body in zip(cover, bodies, strict=True))
    pairs = align(one, other, None).pairs
    return [pairs[change.pairs[0]] for change in ordered_changes(pairs)]


def _document(title: str, lines: list[str], body: list[str]) -> Document:
    return assemble("x", title, [Part("", "\n\n".join([*lines, *body]))])


@pytest.mark.parametrize(
    ("a", "b", "title", "formal"),
    [
        ("Version 1.0", "Version 1.1", "Supply Agreement", True),
        ("Draft of 25 April 2024", "Draft of 30 April 2024", "Supply Agreement", True),
        ("Fassung vom 25.04.2024", "Fassung vom 30.04.2024", "Mietvertrag", True),
        ("Version du 25 avril 2024", "Version du 30 avril 2024", "Contrat", True),
        ("Versión 1 de 25 de abril de 2024", "Versión 1 de 30 de abril de 2024", "Contrato", True),
        ("Effective 25 April 2024", "Effective 30 April 2024", "Privacy Policy", True),
        ("Effective 25 April 2024", "Effective 30 April 2024", "Supply Agreement", False),
        ("Page 3 of 12", "Page 4 of 12", "Supply Agreement", True),
        ("Rent of 25 April 2024", "Rent of 30 April 2024", "Supply Agreement", False),
    ],
)
def test_versions_and_dates_of_the_cover_have_no_flag(a: str, b: str, title: str, formal: bool) -> None:
    (changed,) = compared([[title, a], [title, b]], [KEPT, KEPT], title)
    assert (changed.formal, not changed.flags) == (formal, formal)


def test_a_date_within_the_text_keeps_its_flag() -> None:
    bodies = [[*KEPT, f"It ends on {day} April 2024, when the mill of the town is closed at last."] for day in (25, 30)]
    (changed,) = compared([["Supply Agreement"], ["Supply Agreement"]], bodies)
    assert [flag.kind.value for flag in changed.flags] == ["date"]


def test_a_number_by_itself_may_be_a_cell_of_a_table() -> None:
    (changed,) = compared([["Sum 12 bags"], ["Sum 14 bags"]], [KEPT, KEPT])
    assert not changed.formal


def test_case_and_cover_come_after_a_reworded_sentence() -> None:
    new = [BODY, "The buyer holds the books of the mill.", KEPT[2].replace("Javascript", "JavaScript")]
    first, second, third = compared([["Supply Agreement", "Version 1"], ["Supply Agreement", "Version 2"]], [KEPT, new])
    assert (first.a_text, second.formal) == (KEPT[1], True)
    assert third.a_text == KEPT[2]
    assert first.flags == second.flags == third.flags == ()
