"""Clauses with another number, and references that point elsewhere since, are told; typed or counted makes no noise."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import run, run_json
from hypothesis import given
from hypothesis import strategies as st
from word_files import linked, p, root, write_word

from colde_cli.documents.document import Document, Part, assemble
from colde_cli.documents.notation import in_letters, in_roman
from colde_cli.similarity.alignment import align
from colde_cli.similarity.clause_labels import clause_labels, follows, key_of, references
from colde_cli.similarity.redline import NOTHING_IGNORED, IgnoreOptions
from colde_cli.similarity.renumbering import Renumbering, renumbering

HEAD = "Services Agreement between Alpha Ltd and Beta Ltd (the “Agreement”)"
INSURANCE = [
    (0, "Insurance"),
    (1, "The Supplier shall maintain professional indemnity insurance of EUR 1,000,000 for the term."),
]
AGREEMENT = [
    (-1, HEAD),
    (0, "Definitions"),
    (1, "In this Agreement the Supplier means Alpha Ltd and the Customer means Beta Ltd."),
    (0, "Services"),
    (1, "The Supplier shall provide the services with reasonable care and skill."),
    (1, "The Customer shall give the Supplier:"),
    (2, "access to its premises during working hours;"),
    (2, "all documents that the Supplier reasonably asks for; and"),
    (2, "a contact person for the term of this Agreement."),
    (0, "Fees"),
    (1, "The Customer shall pay EUR 4,000 a month within 30 days of each invoice, subject to clause 5.1."),
    (0, "Confidentiality"),
    (1, "Each party shall keep the information of the other party secret for five years after the end."),
    (0, "Termination"),
    (1, "Either party may terminate this Agreement with three months written notice, as clause 4 survives."),
    (1, "The Supplier may suspend the services under clause 2.2(b) where fees under clause 3.1 are overdue."),
    (0, "Liability"),
    (1, "The liability of the Supplier under clause 2.1 is limited to the fees paid in the year before the claim."),
]
"""Levels of clauses, -1 for text without a number, and their words."""
Clauses = list[tuple[int, str]]
INSURED: Clauses = [*AGREEMENT[:11], *INSURANCE, *AGREEMENT[11:]]
"""A clause is inserted, and no reference follows."""


def word(path: Path, clauses: Clauses, letters: str = "lowerLetter") -> Path:
    """A Word file that counts the clauses."""
    forms = (("decimal", "%1."), ("decimal", "%1.%2"), (letters, "(%3)"))
    levels = "".join(
        f'<w:lvl w:ilvl="{at}"><w:numFmt w:val="{form}"/><w:lvlText w:val="{text}"/></w:lvl>'
        for at, (form, text) in enumerate(forms)
    )
    numbering = f'<w:abstractNum w:abstractNumId="0">{levels}</w:abstractNum>'
    numbering += '<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num>'
    body = ""
    for level, words in clauses:
        listed = f'<w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="1"/></w:numPr>' if level >= 0 else ""
        body += p(words, properties=listed + '<w:outlineLvl w:val="0"/>' * (level == 0))
    files = {"n numbering numbering.xml": root("numbering", numbering).encode()}
    return write_word(path, body, parts=linked(files))


def typed(clauses: Clauses) -> Document:
    """The same as text with typed numbers."""
    counts, parts = [0, 0, 0], list[Part]()
    for level, words in clauses:
        if level < 0:
            parts.append(Part("", words, 0))
            continue
        counts[level] += 1
        counts[level + 1 :] = [0] * (2 - level)
        marks = f"{counts[0]}.", f"{counts[0]}.{counts[1]}", f"({in_letters(counts[2])})"
        if level == 0:
            parts.append(Part(f"{marks[0]} {words}", ""))
        else:
            last = parts.pop()
            parts.append(Part(last.heading, f"{last.text}\n\n{marks[level]} {words}"))
    return assemble("agreement.txt", HEAD, parts)


def told(a: Document, b: Document, ignore: IgnoreOptions = NOTHING_IGNORED) -> Renumbering:
    return renumbering(a, b, align(a, b, None, ignore), ignore)


def states(found: Renumbering) -> list[tuple[str, str, str]]:
    return [(one.state.value, one.b, one.now.label if one.now else "") for one in found.references]


def test_a_clause_that_is_inserted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a, b = word(tmp_path / "a.docx", AGREEMENT), word(tmp_path / "b.docx", INSURED)
    result = run(capsys, "diff", a, b, "--format", "markdown")
    assert result.status == 1
    assert "Clauses 4 to 6 became 5 to 7; 2 references now point elsewhere" in result.out
    for place in ("clause 4 (A 5 Termination, clause 5.1", "4 Insurance, clause 4.1"):
        assert place in result.out.replace("**", "")
    assert "Confidentiality”, now 5; 4 “Insurance” has this number now" in result.out
    data = run_json(capsys, "diff", a, b)["renumbering"]
    assert [one["b"]["label"] for one in data["clauses"] if not one["follows"]] == ["5", "6", "7"]
    assert [(one["state"], one["a"], one["now"]) for one in data["references"]] == [
        ("elsewhere", "clause 5.1", "5.1"),
        ("elsewhere", "clause 4", "4"),
    ]
    for view in ("table", "summary", "html"):
        assert "Clauses 4 to 6 became 5 to 7" in " ".join(run(capsys, "diff", a, b, "--format", view).out.split())


def test_a_reference_that_follows_is_said_to(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    renamed = {"clause 5.1": "clause 6.1", "clause 4 ": "clause 5 "}
    later = INSURED
    for old, new in renamed.items():
        later = [(level, words.replace(old, new)) for level, words in later]
    a, b = word(tmp_path / "a.docx", AGREEMENT), word(tmp_path / "b.docx", later)
    data = run_json(capsys, "diff", a, b)
    assert [one["state"] for one in data["renumbering"]["references"]] == ["followed", "followed"]
    assert "reference" not in data["summary"]["flags"]
    assert "Clauses 4 to 6 became 5 to 7; 2 references follow." in run(capsys, "diff", a, b, "--format", "markdown").out


def test_letters_become_figures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The text is the same to the letter: only what Word counts differs, and it is told, verified and ignored."""
    a, b = word(tmp_path / "a.docx", AGREEMENT), word(tmp_path / "b.docx", AGREEMENT, "lowerRoman")
    result = run(capsys, "diff", a, b)
    assert result.status == 1
    assert "The body text is the same, but its numbering differs." in result.out
    assert "Clauses 2.2(a) to 2.2(c) became 2.2(i) to 2.2(iii); 1 reference now points to no clause." in result.out
    assert run(capsys, "verify", a, b).status == 1
    assert run(capsys, "verify", a, b, "--allow", "Services").status == 0
    for command in ("diff", "verify"):
        assert run(capsys, command, a, b, "--ignore-renumbering").status == 0
        assert run(capsys, command, a, a).status == 0
    assert run(capsys, "diff", a, b, "--level", "document").status == 1


def test_a_number_that_comes_or_goes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plain: Clauses = [(-1 if level == 2 else level, words) for level, words in AGREEMENT]
    a, b = word(tmp_path / "a.docx", AGREEMENT), word(tmp_path / "b.docx", plain)
    assert "Clauses 2.2(a) to 2.2(c) are no longer numbered" in run(capsys, "diff", a, b).out
    assert "Clauses 2.2(a) to 2.2(c) are now numbered" in run(capsys, "diff", b, a).out


def test_typed_and_counted_numbers_are_the_same(tmp_path: Path) -> None:
    from colde_cli.documents.reading import read

    counted, insured = read(word(tmp_path / "a.docx", AGREEMENT)), read(word(tmp_path / "b.docx", INSURED))
    assert [label.label for label in clause_labels(counted)] == [
        label.label for label in clause_labels(typed(AGREEMENT))
    ]
    for a, b in ((counted, typed(AGREEMENT)), (typed(AGREEMENT), counted), (typed(AGREEMENT), typed(AGREEMENT))):
        assert not told(a, b)
    expected = told(counted, insured)
    for a, b in ((counted, typed(INSURED)), (typed(AGREEMENT), insured), (typed(AGREEMENT), typed(INSURED))):
        found = told(a, b)
        assert states(found) == states(expected)
        changed = [(one.a.label, one.b.label) for one in found.clauses if one.a and one.b and not one.follows]
        assert changed == [("4", "5"), ("5", "6"), ("6", "7")]
    for ignore in (IgnoreOptions(numbers=True), IgnoreOptions(renumbering=True), IgnoreOptions(list_marks=True)):
        assert not told(counted, insured, ignore)


def test_a_clause_that_is_dropped() -> None:
    shorter = [clause for clause in AGREEMENT if not clause[1].startswith(("Fees", "The Customer shall pay"))]
    found = told(typed(AGREEMENT), typed(shorter))
    assert ("elsewhere", "clause 3.1", "3.1") in states(found)
    assert ("nowhere", "clause 4.9", "") not in states(found)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("as clause 8.3 and Section 4(a) say", "8.3 4(a)"), ("under Articles 5, 6 and 7 to 9", "5 6 7 9"),
        ("gemäß § 12 Abs. 2 und Ziffer 3", "12(2) 3"), ("selon l’article L. 121-3", "L.121.3"),
        ("según la cláusula 4 de este contrato", "4"),
        ("paragraph (b) of clause 7.2 and Schedule 2", "(b) 7.2 schedule(2)"), ("Section 5 of the Companies Act", ""),
        ("nach § 433 BGB und Artikel 6 DSGVO", ""), ("12 U.S.C. § 1813 applies", ""), ("Section 4.2 Payment", ""),
        ("clause by clause, in part 3", ""),
    ],
)  # fmt: skip
def test_references(text: str, found: str) -> None:
    expected = [key_of(one) for one in found.split()]
    assert [one.key for one in references(text)] == expected


@pytest.mark.parametrize(
    ("paragraphs", "labels"),
    [
        (
            "1. A|1.1 B|(a) C|(b) D|(i) E|(ii) F|(c) G|1.2 H|2. I",
            "1 1.1 1.1(a) 1.1(b) 1.1(b)(i) 1.1(b)(ii) 1.1(c) 1.2 2",
        ),
        ("(h) A|(i) B|(j) C", "(h) (i) (j)"),
        ("Article I. A|1. B|2. C|Article II. D|1. E", "Article_I Article_I.1 Article_I.2 Article_II Article_II.1"),
        ("6.3 A|7. B|7.1 C", "6.3 7 7.1"),
        ("§ 12 A|(1) B|(2) C|§ 13 D|(1) E", "§_12 §_12(1) §_12(2) §_13 §_13(1)"),
        ("Section 4.2 applies to A|It was 2. may B", ""),
    ],
)
def test_typed_numbers_have_those_above(paragraphs: str, labels: str) -> None:
    document = assemble("a.txt", "A", [Part("", paragraphs.replace("|", "\n\n"), 0)])
    assert [label.label.replace(" ", "_") for label in clause_labels(document)] == labels.split()


@given(st.integers(1, 700))
def test_a_number_follows_the_one_before(number: int) -> None:
    for write in (str, in_letters, in_roman, lambda one: in_letters(one).upper()):
        assert follows(write(number), write(number + 1))
    assert not follows(str(number), str(number + 2))


def test_lists_of_web_pages_have_whole_numbers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The marks of a list are text of the page; what they are part of stands with the place."""
    page = """<h1>Terms of the brewery</h1><ol start="7"><li>The Supplier shall deliver the malt on Mondays.</li>
    <li>The Customer shall pay for it:<ol type="a"><li>in cash at the gate of the brewery;</li>
    <li value="4">or by cheque within 10 days of delivery.</li></ol></li><li>Either party may end these terms.</li></ol>
    <ul><li>This is a bullet without a number.</li></ul>"""
    a, b = tmp_path / "a.html", tmp_path / "b.html"
    a.write_text(page)
    b.write_text(page.replace("10 days", "30 days"))
    from colde_cli.documents.reading import read

    assert [(number.mark, number.label) for number in read(a).numbers] == [
        *(("7.", "7"), ("8.", "8"), ("a.", "8.a"), ("d.", "8.d"), ("9.", "9")),
    ]
    result = run(capsys, "diff", a, b)
    assert "Terms of the brewery, clause 8.d" in result.out
    assert "became" not in result.out
    b.write_text(page.replace("<li>The Customer", "<li>Wet malt is refused at the gate.</li><li>The Customer"))
    assert "8 to 9 became 9 to 10" in run(capsys, "diff", a, b).out


def test_a_reference_two_levels_below_a_clause_is_of_another_document() -> None:
    stated = (1, "The Supplier keeps passwords as section 4.1.1.2 says, for as long as the services run.")
    found = states(told(typed([*AGREEMENT, stated]), typed([*AGREEMENT[:11], *AGREEMENT[13:], stated])))
    assert not [one for one in found if one[1].startswith("section")]
