"""Formulas of Word as text: what each element becomes, and that two formulas that differ read differently."""

from __future__ import annotations

from collections import defaultdict
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from word_files import p, write_word

from colde_cli.documents.office.word_formulas import WordFormula
from colde_cli.documents.reading import read


def r(text: str, script: str = "") -> str:
    style = f'<m:rPr><m:scr m:val="{script}"/></m:rPr>' if script else ""
    return f"<m:r>{style}<m:t>{text}</m:t></m:r>"


def e(text: str, name: str = "e") -> str:
    return f"<m:{name}>{r(text)}</m:{name}>"


SUM = '<m:nary><m:naryPr><m:chr m:val="{}"/></m:naryPr>' + e("i=1", "sub") + e("n", "sup") + e("x") + "</m:nary>"


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        (f"<m:f>{e('1', 'num')}{e('2', 'den')}</m:f>", "1/2"),
        (r("3") + f"<m:f>{e('1', 'num')}{e('2', 'den')}</m:f>", "3 1/2"),
        (f"<m:f>{e('a+1', 'num')}{e('b', 'den')}</m:f>" + r("c"), "((a+1)/b)c"),
        (f"<m:sSup>{e('10')}{e('6', 'sup')}</m:sSup>", "10^6"),
        (f"<m:sSup>{e('10')}{e('6', 'sup')}</m:sSup>" + r("3"), "10^(6)3"),
        (f"<m:sSubSup>{e('x')}{e('i', 'sub')}{e('n+1', 'sup')}</m:sSubSup>", "x_i^(n+1)"),
        (f"<m:sPre>{e('2', 'sub')}{e('4', 'sup')}{e('He')}</m:sPre>", "_2^4 He"),
        (SUM.format("∑"), "∑_(i=1)^n x"),
        (SUM.format("∏"), "∏_(i=1)^n x"),
        (f"<m:nary>{e('x')}</m:nary>", "∫x"),
        ("<m:rad><m:radPr><m:degHide m:val='1'/></m:radPr><m:deg/>" + e("x+1") + "</m:rad>", "√(x+1)"),
        (f"<m:rad>{e('3', 'deg')}{e('x')}</m:rad>", "√[3](x)"),
        (f"<m:d><m:dPr><m:begChr m:val='['/><m:endChr m:val=''/></m:dPr>{e('a')}{e('b')}</m:d>", "[a|b"),
        (
            "<m:d><m:e><m:f><m:fPr><m:type m:val='noBar'/></m:fPr>"
            + f"{e('n', 'num')}{e('k', 'den')}</m:f></m:e></m:d>",
            "(n choose k)",
        ),
        (f"<m:m><m:mr>{e('a')}{e('b')}</m:mr><m:mr>{e('c')}{e('d')}</m:mr></m:m>", "[a & b; c & d]"),
        (f"<m:eqArr>{e('a')}{e('b')}</m:eqArr>", "{a; b}"),
        (f"<m:acc><m:accPr><m:chr m:val='\u0307'/></m:accPr>{e('x')}</m:acc>", "x\u0307"),
        (f"<m:bar><m:barPr><m:pos m:val='top'/></m:barPr>{e('ab')}</m:bar>", "(ab)\u0305"),
        (f"<m:limLow>{e('lim')}{e('x→0', 'lim')}</m:limLow>", "lim_(x→0)"),
        (f"<m:limUpp>{e('=')}{e('!', 'lim')}</m:limUpp>", "=┴!"),
        (f"<m:func>{e('sin', 'fName')}{e('x')}</m:func>", "sin x"),
        (f"<m:groupChr>{e('x')}</m:groupChr>", "⏟(x)"),
        (
            f"<m:borderBox><m:borderBoxPr><m:strikeH m:val='1'/></m:borderBoxPr>{e('x')}</m:borderBox>",
            "cancel(x)",
        ),
        (r("R", "double-struck") + r("e") + r("g", "fraktur"), "ℝe𝔤"),
    ],
)
def test_the_structure_is_written_out(tmp_path: Path, markup: str, text: str) -> None:
    body = f"<w:p><w:r><w:t>So: </w:t></w:r><m:oMath>{markup}</m:oMath></w:p>"
    assert read(write_word(tmp_path / "formula.docx", body)).text == f"So: {text}"


def test_digits_beside_a_formula_stay_apart(tmp_path: Path) -> None:
    half = f"<m:oMath><m:f>{e('1', 'num')}{e('2', 'den')}</m:f></m:oMath>"
    body = f"<w:p><w:r><w:t>3</w:t></w:r>{half}<w:r><w:t>4</w:t></w:r></w:p>"
    assert read(write_word(tmp_path / "formula.docx", body)).text == "3 1/2 4"


def test_what_a_formula_does_not_show_is_accounted_for(tmp_path: Path) -> None:
    hidden = f"<m:phant><m:phantPr><m:show m:val='0'/></m:phantPr>{e('y')}</m:phant>"
    document = read(write_word(tmp_path / "a.docx", p("So.") + f"<w:p><m:oMath>{r('x')}{hidden}</m:oMath></w:p>"))
    assert document.text == "So.\n\nx"
    assert [(text.kind.value, text.text) for text in document.outside] == [("hidden-text", "y")]


Node = Any
"""A letter, a row of nodes, or a name with its arguments."""


def add(formula: WordFormula, node: Node) -> None:
    """Read a node of a formula."""
    if isinstance(node, str):
        formula.add(node)
    elif node[0] == "row":
        for one in node[1:]:
            add(formula, one)
    else:
        name, *arguments = node
        for _ in formula.element(f"m:{name}", {}):
            for argument, content in arguments:
                for _ in formula.element(f"m:{argument}", {}):
                    add(formula, content)


def one_text(node: Node) -> Node:
    """The node with neighbouring letters as one text: between these no reader sees a difference."""
    joined: list[Node] = []
    for one in node[1:]:
        if isinstance(one, str) and joined and isinstance(joined[-1], str):
            joined[-1] += one
        else:
            joined.append(one)
    return tuple(joined)


def test_formulas_that_differ_read_differently() -> None:
    letters = ("a", "1")
    rows = [("row", *row) for count in (1, 2) for row in product(letters, repeat=count)]
    items: list[Node] = [
        *letters,
        *(("f", ("num", above), ("den", below)) for above, below in product(rows, rows)),
        *(
            (kind, ("e", base), (to, row))
            for kind, to in (("sSup", "sup"), ("sSub", "sub"))
            for base in letters
            for row in rows
        ),
        *((kind, ("e", row)) for kind in ("rad", "d", "acc", "bar", "groupChr", "borderBox") for row in rows),
        *(("nary", ("sub", low), ("sup", high), ("e", ("row", "a"))) for low, high in product(rows[:3], rows[:3])),
        *(("func", ("fName", "sin"), ("e", row)) for row in rows),
    ]
    seen = defaultdict(set)
    for row in [("row", item) for item in items] + [("row", *pair) for pair in product(items, items)]:
        formula = WordFormula()
        add(formula, row)
        seen[formula.written("")[0]].add(one_text(row))
    assert len(seen) > 10_000
    assert {text: nodes for text, nodes in seen.items() if len(nodes) > 1} == {}
