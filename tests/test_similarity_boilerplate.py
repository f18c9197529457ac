"""Only what stands word for word in a template is left out, and a change of the template is still shown."""

from __future__ import annotations

from dataclasses import replace

import pytest
from command_line import OTHER, V1, V2
from hypothesis import given, settings
from hypothesis import strategies as st

from colde_cli.documents.document import Document, Part, assemble
from colde_cli.documents.reading import read
from colde_cli.errors import NoTextError
from colde_cli.similarity.alignment import align
from colde_cli.similarity.boilerplate import Boilerplate
from colde_cli.similarity.pairs import State
from colde_cli.similarity.redline import NOTHING_IGNORED, IgnoreOptions

LAW = "This Agreement shall be governed by the laws of the State of New York."
SECRET = "Each party shall keep the terms of this Agreement secret for three years after it has ended."
NOTICE = "Notices shall be given in writing to the address stated above. Email is enough."
FEE = "The Buyer pays a fee of EUR 40 for every barrel that is delivered to the brewery."
TEMPLATE = assemble(
    "template.md", "", [Part("1. Secrecy", SECRET), Part("2. Notices", NOTICE), Part("3. Law", f"(a) {LAW}")]
)


def document(*parts: tuple[str, str]) -> Document:
    return assemble("a.md", "A", [Part(heading, text) for heading, text in parts])


def left(document: Document, ignore: IgnoreOptions = NOTHING_IGNORED) -> str:
    return Boilerplate([TEMPLATE], ignore).without(document).text


def test_a_clause_goes_with_its_heading_whatever_its_number() -> None:
    found = Boilerplate([TEMPLATE]).without(document(("1 Fee", FEE), ("7. SECRECY", f"7.1 {SECRET}")))
    assert found.text == f"1 Fee\n\n{FEE}"
    ignored = found.report.ignored
    assert ignored is not None
    assert (ignored.stretches, ignored.words, ignored.sections) == (1, 18, ("7. SECRECY",))


def test_a_clause_pasted_into_a_paragraph_goes_and_the_rest_stays() -> None:
    assert left(document(("1 Fee", f"{FEE} {LAW} It is due at once, in cash."))) == (
        f"1 Fee\n\n{FEE}\n\nIt is due at once, in cash."
    )


def test_layout_and_typography_make_no_other_clause() -> None:
    text = SECRET.replace("Agreement", "Agree-\u00adment").replace(" ", "\n ").replace("secret", "se-\ncret")
    assert left(document(("1 Fee", FEE), ("2 Other", text.replace("Agree-\u00adment", "Agree\u00adment")))) == (
        f"1 Fee\n\n{FEE}\n\n2 Other"
    )


@pytest.mark.parametrize(
    "changed",
    [
        SECRET.replace("shall", "may"), SECRET.replace("shall keep", "shall not keep"),
        SECRET.replace("three", "five"), SECRET.replace("Each party", "The Buyer"),
        SECRET.replace("has ended", "has ended or been broken"),
        SECRET.replace("Each party shall", "Beach party shall"), SECRET.replace("terms", "TERMS"),
    ],
)  # fmt: skip
def test_a_clause_with_one_word_changed_stays(changed: str) -> None:
    assert changed in left(document(("1 Secrecy", f"{changed} {LAW}")))
    assert LAW not in left(document(("1 Secrecy", f"{changed} {LAW}")))


@pytest.mark.parametrize(
    ("ignore", "text"),
    [
        (IgnoreOptions(case=True), SECRET.upper()),
        (IgnoreOptions(numbers=True), SECRET.replace("three", "25")),
    ],
)
def test_what_is_ignored_makes_no_other_clause_either(ignore: IgnoreOptions, text: str) -> None:
    whole = document(("1 Fee", FEE), ("2 Secrecy", text))
    assert text in left(whole)
    assert left(whole, ignore) == f"1 Fee\n\n{FEE}"


def test_short_sentences_go_only_with_their_neighbour() -> None:
    assert left(document(("1 Fee", f"{FEE} Email is enough."))) == f"1 Fee\n\n{FEE} Email is enough."
    assert left(document(("1 Fee", f"{FEE} {NOTICE}"))) == f"1 Fee\n\n{FEE}"


def test_a_heading_that_is_not_known_stays_and_so_does_one_over_what_is_left() -> None:
    assert left(document(("1 Fee", FEE), ("2 Discretion", SECRET))) == f"1 Fee\n\n{FEE}\n\n2 Discretion"
    parts = [Part("1. Secrecy", SECRET), Part("1.1 Fee", FEE, level=2)]
    assert left(assemble("", "", parts)) == f"1. Secrecy\n\n1.1 Fee\n\n{FEE}"


def test_nothing_left_is_said_in_one_sentence() -> None:
    with pytest.raises(NoTextError, match=r"All text of a\.md is also in template\.md"):
        left(document(("4 Secrecy", SECRET), ("5 Law", LAW)))


@pytest.mark.parametrize("path", [V1, OTHER])
def test_nothing_is_left_of_a_document_without_itself(path: str) -> None:
    with pytest.raises(NoTextError, match="nothing is left to compare"):
        Boilerplate([read(path)]).without(read(path))


def test_a_clause_that_the_other_changed_stays_so_that_the_change_is_shown() -> None:
    changed = SECRET.replace("shall", "may")
    a, b = (
        document(("1 Fee", FEE), ("2 Secrecy", f"{SECRET} {LAW}")),
        document(("1 Fee", FEE.replace("40", "45")), ("2 Secrecy", f"{changed} {LAW}")),
    )
    found = align(*Boilerplate([TEMPLATE]).without_both(a, b), None)
    assert [(pair.state, pair.flags[0].kind.value) for pair in found.pairs] == [
        (State.EDITED, "amount"),
        (State.EDITED, "obligation"),
    ]
    back = align(*Boilerplate([TEMPLATE]).without_both(b, a), None)
    assert back.summary == found.summary


def test_what_both_left_as_it_is_is_not_there() -> None:
    a, b = document(("1 Fee", FEE), ("2 Law", LAW)), document(("1 Fee", FEE), ("2 Secrecy", SECRET))
    one, two = Boilerplate([TEMPLATE]).without_both(a, b)
    assert one.text == two.text == f"1 Fee\n\n{FEE}"


def test_sentences_are_of_the_template_however_the_document_is_cut() -> None:
    """The two versions of the examples: what of the second is left is what its redline against the first shows."""
    a, b = read(V1), read(V2)
    rest = Boilerplate([a]).without(b)
    assert rest.report.ignored is not None
    assert rest.report.ignored.words + len(rest.text.split()) <= len(b.text.split())
    shown = " ".join(p.b_text for p in align(a, b, None).pairs if p.edits or p.state is State.ONLY_B)
    for told in ("five metres", "Friedrich Osei", "may report", "Frying caused"):
        assert told in " ".join(rest.text.split())
        assert told in " ".join(shown.split())
    assert "Humidity above 85 % did bias" in " ".join(rest.text.split())


texts = st.lists(st.sampled_from([LAW, SECRET, NOTICE, FEE, "None.", LAW.replace("York", "Jersey")]), min_size=1)


@settings(max_examples=60)
@given(texts, texts)
def test_every_word_that_goes_stands_in_the_template_and_no_other_does(own: list[str], other: list[str]) -> None:
    whole = document(("1 Fee", "Nothing like this stands anywhere else. " + " ".join(own)))
    template = assemble("t", "", [Part("", "\n\n".join(other))])
    found = Boilerplate([template]).without(whole)
    for text in {LAW, SECRET, FEE, LAW.replace("York", "Jersey")} & set(own):
        assert (text in found.text) == (text not in other)


def test_its_identity_is_that_of_what_it_leaves_out() -> None:
    one = Boilerplate([TEMPLATE])
    assert one.identity == Boilerplate([TEMPLATE]).identity
    others = [
        Boilerplate([TEMPLATE], IgnoreOptions(case=True)),
        Boilerplate([document(("1 Fee", FEE))]),
        Boilerplate([TEMPLATE, document(("1 Fee", FEE))]),
    ]
    assert len({one.identity, *(other.identity for other in others)}) == 4


def test_a_hyphen_inside_a_line_makes_another_clause_and_one_at_its_end_none() -> None:
    clause = "The parties re-sign this lease on the first day of every year of its term."
    template = document(("1 Term", clause))
    joined = document(("1 Fee", FEE), ("2 Term", clause.replace("re-sign", "resign")))
    assert "resign" in Boilerplate([template]).without(joined).text
    divided = replace(joined, report=replace(joined.report, divided_words=("resign",)))
    assert "resign" not in Boilerplate([template]).without(divided).text
    assert "resign" in Boilerplate([template]).without(joined).text
