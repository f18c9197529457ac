"""What stands beside the text of two documents, compared."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from colde_cli.documents.document import Document, Part, assemble
from colde_cli.documents.formats import FORMATS
from colde_cli.documents.outside import (
    GROUPS,
    KINDS,
    MOST_KEPT,
    Account,
    Kind,
    OutsideKind,
    OutsideText,
    PartKind,
    UnreadPart,
)
from colde_cli.documents.reading import read
from colde_cli.errors import OptionError
from colde_cli.similarity.outside_changes import OutsideComparison, compare_outside, ignoring, outside_data
from colde_cli.similarity.pairs import State
from colde_cli.similarity.verification import verify_documents
from colde_cli.views.changes import difference, not_listed, outside_rows, row_line, same_sentence, uncompared


def document(*items: OutsideText | UnreadPart, form: str = "docx", text: str = "The rent is due.") -> Document:
    plain = assemble("a.docx", "Lease", [Part("", text)])
    texts = tuple(item for item in items if isinstance(item, OutsideText))
    parts = tuple(item for item in items if isinstance(item, UnreadPart))
    return replace(plain, outside=texts, parts=parts, format=form)


def header(text: str, about: str = "") -> OutsideText:
    return OutsideText(OutsideKind.HEADERS, text, about)


def link(words: str, target: str) -> OutsideText:
    return OutsideText(OutsideKind.LINKS, target, words)


def picture(digest: str, page: int | None = None) -> UnreadPart:
    return UnreadPart(PartKind.PICTURES, digest, pages=None if page is None else (page, page))


def lines(outside: OutsideComparison) -> list[str]:
    return [row_line(row) for row in outside_rows(outside)]


def test_equal_texts_and_parts_are_the_same() -> None:
    one = document(header("Draft"), link("here", "https://example.org"), picture("aa"))
    found = compare_outside(one, replace(one, path="b.docx"))
    assert (found.same, found.proven, found.changes) == (True, True, 0)


def test_a_changed_header_has_a_redline() -> None:
    found = compare_outside(document(header("DRAFT - not binding")), document(header("FINAL - binding")))
    assert not found.same
    assert lines(found) == ["header: [-DRAFT - not-] {+FINAL -+} binding"]
    assert difference(found) == "a header differs"


def test_what_came_and_went_is_told_apart_from_what_changed() -> None:
    a = document(header("Lease of the mill"), header("Secret"))
    b = document(header("Lease of the old mill"), OutsideText(OutsideKind.COMMENTS, "Ann: why?"))
    found = compare_outside(a, b)
    assert lines(found) == [
        "header: Lease of the {+old+} mill", "header: [-Secret-]", "comment: {+Ann: why?+}",
    ]  # fmt: skip
    assert difference(found) == "2 headers and a comment differ"


def test_two_links_that_swap_their_targets_differ_by_the_words_they_belong_to() -> None:
    a = document(link("terms", "https://a.example"), link("prices", "https://b.example"))
    b = document(link("terms", "https://b.example"), link("prices", "https://a.example"))
    assert len(compare_outside(a, b).texts) == 2


def level(number: int, heading: str) -> OutsideText:
    return OutsideText(OutsideKind.STRUCTURE, f"level {number}", heading)


def test_levels_differ_where_both_bodies_have_the_heading() -> None:
    a = document(level(1, "Rent"), level(2, "Term"), text="Rent\n\nIt is due.\n\nTerm")
    more = "Rent\n\nIt is due.\n\nTerm\n\nNotice"
    inserted = document(level(1, "Rent"), level(2, "Term"), level(2, "Notice"), text=more)
    moved = document(level(2, "Term"), level(1, "Rent"), text="Term\n\nRent\n\nIt is due.")
    deeper = document(level(1, "Rent"), level(3, "Term"), level(2, "Notice"), text=more)
    assert [compare_outside(a, b).changes for b in (a, inserted, moved, deeper)] == [0, 0, 0, 1]
    assert [compare_outside(b, a).changes for b in (a, inserted, moved, deeper)] == [0, 0, 0, 1]
    assert compare_outside(a, document(text="Rent\n\nIt is due.\n\nTerm")).changes == 2


def test_texts_in_another_order_are_named() -> None:
    a, b = document(header("One"), header("Two")), document(header("Two"), header("One"))
    found = compare_outside(a, b)
    assert (found.reordered, found.same) == ((OutsideKind.HEADERS,), False)
    assert difference(found) == "the order of the headers differs"


def test_parts_that_differ_are_named_with_their_pages() -> None:
    a = document(picture("aa", 1), picture("bb", 2), picture("cc", 5), form="pdf")
    b = document(picture("aa", 1), picture("dd", 2), picture("ee", 5), form="pdf")
    found = compare_outside(a, b)
    assert lines(found) == ["2 pictures (A p. 2 → B p. 2; A p. 5 → B p. 5) differ; not compared further"]
    removed = compare_outside(a, replace(a, parts=a.parts[:2]))
    assert lines(removed) == ["picture (A p. 5) only in A"]


def test_scripts_alone_make_no_difference_but_prove_nothing() -> None:
    a, b = (document(UnreadPart(PartKind.SCRIPTS, digest)) for digest in ("aa", "bb"))
    found = compare_outside(a, b)
    assert (found.same, found.proven) == (True, False)


def test_what_a_format_cannot_hold_is_named() -> None:
    a = document(header("Draft"), OutsideText(OutsideKind.COMMENTS, "Ann: why?"), picture("aa"), picture("bb"))
    b = document(form="text")
    found = compare_outside(a, b)
    assert uncompared(found, a, b) == ["B is a text file: a comment and 2 pictures of A have no counterpart."]
    assert lines(found) == ["header: [-Draft-]"]
    assert same_sentence(a, b, found) == "The body text is the same, but a header differs."
    without = replace(a, outside=a.outside[1:])
    found = compare_outside(without, b)
    assert (found.same, found.proven) == (True, False)
    assert "not all compared" in same_sentence(without, b, found)


def test_between_formats_a_text_outside_may_stand_in_the_body() -> None:
    a = document(header("Lease of the mill"))
    b = document(form="pdf", text="Lease of the  mill\n\nThe rent is due.")
    assert compare_outside(a, b).same
    assert not compare_outside(a, replace(b, format="docx")).same


def test_between_formats_a_short_text_must_stand_there_as_words() -> None:
    a = document(header("12"))
    assert not compare_outside(a, document(form="pdf", text="It was 2012.")).same
    assert compare_outside(a, document(form="pdf", text="It was 12 then.")).same


def test_between_formats_links_are_compared_by_target_alone() -> None:
    a = document(link("terms", "https://a.example"))
    b = document(link("the terms", "https://a.example"), form="pdf")
    assert compare_outside(a, b).same


def test_ignored_kinds_are_not_compared() -> None:
    a, b = document(header("One"), picture("aa")), document(header("Two"), picture("bb"))
    assert compare_outside(a, b, ignoring(["outside, pictures"])).same
    assert compare_outside(a, b, ignoring(["headers", "parts"])).same
    assert not compare_outside(a, b, ignoring(["pictures"])).same
    assert compare_outside(document(header("ONE")), document(header("one")), ignoring(["case"])).same


def test_names_to_ignore_are_checked() -> None:
    found = ignoring(["case,list-marks", "links"], whitespace=True)
    assert (found.case, found.list_marks, found.whitespace, found.numbers) == (True, True, True, False)
    assert found.kinds == ("links",)
    with pytest.raises(OptionError, match="'link' is nothing to ignore"):
        ignoring(["link"])


def test_every_kind_has_a_name_and_belongs_to_a_format() -> None:
    assert set(KINDS.values()) == GROUPS["outside"] | GROUPS["parts"]
    for kind in KINDS.values():
        assert any(kind in one.held for one in FORMATS.values()), kind
        item = OutsideText(kind, "words") if isinstance(kind, OutsideKind) else UnreadPart(kind, "aa")
        assert outside_rows(compare_outside(document(item), document()))[0].kind


def test_many_differences_are_counted_and_digested() -> None:
    a = document(*(header(f"Header {number:05} of the lease") for number in range(500)))
    found = compare_outside(a, document())
    assert len(outside_rows(found)) == 200
    assert not_listed(found).startswith("300 more differences; digest of all: ")
    data = outside_data(found)
    assert (data["count"], len(data["texts"])) == (500, 200)
    changed = replace(a, outside=(*a.outside[:-1], header("Another")))
    assert compare_outside(changed, document()).digest != found.digest


def test_beyond_the_limit_of_a_document_the_digest_of_the_rest_counts() -> None:
    def filled(last: str) -> Document:
        account = Account()
        for number in range(MOST_KEPT + 5):
            account.add_text(OutsideKind.LINKS, f"https://example.org/{number}")
        account.add_text(OutsideKind.LINKS, last)
        return replace(document(), outside=account.all_texts(), parts=account.all_parts())

    found = compare_outside(filled("https://a.example"), filled("https://b.example"))
    assert lines(found) == ["other part (6 more texts and parts) differs; not compared further"]
    assert compare_outside(filled("https://a.example"), filled("https://a.example")).proven


KIND = st.sampled_from([*OutsideKind, *PartKind])
WORDS = st.sampled_from(["Draft", "Final", "Draft 2", "EUR 1 250", "EUR 12 50", "x", "Page #"])


@st.composite
def items(draw: st.DrawFn) -> OutsideText | UnreadPart:
    kind: Kind = draw(KIND)
    if isinstance(kind, OutsideKind):
        return OutsideText(kind, draw(WORDS), draw(st.sampled_from(["", "here", "there"])))
    page = draw(st.none() | st.integers(1, 4))
    return UnreadPart(kind, draw(st.sampled_from("abc")), pages=None if page is None else (page, page))


FORMS = st.sampled_from(["pdf", "docx", "odt", "html", "markdown", "tex", "text", ""])


@given(st.lists(items(), max_size=8), st.lists(items(), max_size=8), FORMS, FORMS)
def test_the_other_way_round_it_is_turned_over(
    left: list[OutsideText | UnreadPart], right: list[OutsideText | UnreadPart], one: str, other: str
) -> None:
    a, b = document(*left, form=one), document(*right, form=other)
    found, turned = compare_outside(a, b), compare_outside(b, a)
    assert (found.changes, found.reordered) == (turned.changes, turned.reordered)
    assert {(change.a, change.b) for change in found.differences} == {
        (change.b, change.a) for change in turned.differences
    }
    assert [(one.kind, one.a, one.b) for one in found.uncompared] == [
        (one.kind, one.b, one.a) for one in turned.uncompared
    ]


@given(st.lists(items(), max_size=8), st.lists(items(), max_size=8), FORMS)
def test_nothing_that_differs_is_proven(
    left: list[OutsideText | UnreadPart], right: list[OutsideText | UnreadPart], form: str
) -> None:
    a, b = document(*left, form=form), document(*right, form=form)
    found = compare_outside(a, b)

    def compared(one: Document) -> dict[Kind, list[str]]:
        return {
            kind: [
                item.text if isinstance(item, OutsideText) else item.digest for item in one.beside if item.kind is kind
            ]
            for kind in KINDS.values()
        }

    if compared(a) != compared(b):
        assert not found.proven
        assert difference(found)
    states = {row.state for row in outside_rows(found)}
    assert states <= {State.EDITED, State.ONLY_A, State.ONLY_B, State.MOVED}
    assert compare_outside(a, a).proven


CODE = "if paid:\n    ship()\n    log()\n{\n}"
FENCED, PRE = "Run this:\n\n```\n{}\n```\n", "<p>Run this:</p><pre><code>{}</code></pre>"


@pytest.mark.parametrize("source", [FENCED, PRE], ids=["md", "html"])
@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ("if paid:\n    ship()\nlog()\n{\n}", {"log()"}),
        ("if paid: ship()\n    log()\n{\n}", {"if paid:", "ship()", "if paid: ship()"}),
        ("if paid:\n    ship()\n\tlog()\n{\n}", {"log()"}),
        ("if paid:\n    wait()\nlog()\n{\n}", {"log()"}),  # its words changed, too, which the body tells
        ("if paid:\n    ship()\n    log()\n    stop()\n{\n}", set()),
        ("if paid:\n    log()\n{", set()),
        ("if paid:\n\n    ship()\n    log()\n\n{\n}", set()),
    ],
)
def test_lines_of_code_and_their_indentation_are_told(
    source: str, changed: str, told: set[str], tmp_path: Path
) -> None:
    suffix = ".html" if source == PRE else ".md"
    files = [tmp_path / f"{name}{suffix}" for name in "ab"]
    for file, code in zip(files, (CODE, changed), strict=True):
        file.write_text(source.replace("{}", code))
    a, b = map(read, files)
    found = compare_outside(a, b)
    assert {side.about for change in found.texts for side in (change.a, change.b) if side} == told
    assert found.same is not bool(told)
    assert compare_outside(a, b, ignoring(["whitespace"])).same
    if not told:
        return
    assert not verify_documents(a, b).verified
    assert verify_documents(a, b, ["structure"]).verified is ("wait" not in changed)


def test_code_in_two_formats_is_the_same(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(FENCED.replace("{}", CODE))
    (tmp_path / "b.html").write_text(PRE.replace("{}", CODE))
    assert compare_outside(read(tmp_path / "a.md"), read(tmp_path / "b.html")).same
