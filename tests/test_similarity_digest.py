"""What a list keeps of a comparison: counts, the weightiest change, and nothing of the texts."""

from __future__ import annotations

from dataclasses import replace

from hand_made import compared, document

from colde_cli.documents.document import ReadReport
from colde_cli.similarity.digest import ComparisonDigest, digest_data
from colde_cli.similarity.pairs import State

A = [
    ("1 Pump", "Osei runs the old pump of the well at night, when the power is cheap."),
    ("2 Fees", "The fee for each delivery is EUR 40, to be paid by the end of the month."),
    ("3 Choir", "The choir of the town sings on Thursdays, and the altos are always late."),
]
B = [A[0], (A[1][0], A[1][1].replace("40", "45")), ("3 Bridge", "A bridge of larch spans the gorge.")]


def test_a_digest_counts_and_keeps_the_weightiest_change() -> None:
    found = ComparisonDigest.of(compared(document(A), document(B), score=0.25))
    assert (found.a.text, found.b.text, found.a.path) == ("", "", "a.txt")
    assert (found.changes, found.flagged, found.score, found.same_content, found.throughout) == (
        3, 1, 0.25, False, 1,
    )  # fmt: skip
    assert found.summary[State.SAME] == 1
    assert found.top is not None
    assert found.top.flags[0].b == "EUR 45"
    data = digest_data(found)
    assert (data["changes"], data["flagged"], data["score"], data["weight"]) == (3, 1, 0.25, found.weight)
    assert data["summary"] == {"same": 1, "edited": 1, "moved": 0, "only_a": 1, "only_b": 1}
    assert data["warnings"] == [[], []]
    top = data["top"]
    assert list(top) == ["state", "weight", "flagged", "a", "b", "redline"]
    assert (top["state"], top["a"]["heading"], top["b"]["heading"]) == ("edited", "2 Fees", "2 Fees")
    assert (top["weight"], top["flagged"][0]["kind"]) == (found.weight, "amount")


def test_a_passage_of_one_document_has_one_heading() -> None:
    found = ComparisonDigest.of(compared(document(A), document(A[:2])))
    top = digest_data(found)["top"]
    assert (top["state"], top["a"]["heading"], top["b"]) == ("only_a", "3 Choir", None)


def test_documents_that_are_the_same_have_no_change() -> None:
    found = ComparisonDigest.of(compared(document(A), document(A)))
    assert (found.changes, found.weight, found.top, found.throughout, found.same_content) == (
        0, 0.0, None, 0, True,
    )  # fmt: skip
    assert not found.half_read
    assert digest_data(found)["top"] is None


def test_the_same_replacement_throughout_is_counted() -> None:
    a = [
        *A, ("4 Books", "Osei keeps the books in the office."), ("5 Meter", "Osei reads the meter every day."),
    ]  # fmt: skip
    found = ComparisonDigest.of(compared(document(a), document([(h, t.replace("Osei", "Brandt")) for h, t in a])))
    assert (found.changes, found.throughout) == (3, 3)


def test_what_was_half_read_is_said() -> None:
    half = replace(document(B), report=ReadReport(warnings=("Page 2 could not be read.",)))
    for sides in ((document(A), half), (half, document(A))):
        found = ComparisonDigest.of(compared(*sides))
        assert found.half_read
    assert digest_data(found)["warnings"] == [["Page 2 could not be read."], []]


def test_where_there_is_no_comparison_there_are_nulls() -> None:
    assert digest_data(None) == {
        **{"changes": 0, "flagged": 0, "weight": 0.0, "outside": {}},
        **{"score": None, "summary": None, "top": None, "warnings": None},
    }
