"""LaTeX: what its commands mean to a reader, and what becomes of hostile sources."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from read_documents import check_sections, everything, headings, outline

from colde_cli.documents.document import Document, SectionKind
from colde_cli.documents.outside import OutsideKind, PartKind
from colde_cli.documents.reading import read
from colde_cli.documents.tex import source as tex_source
from colde_cli.documents.tex.source import prepare, restore
from colde_cli.errors import LimitError, NoTextError, UnsupportedFormatError

HEAD = "\\documentclass{article}\n"


def parse(body: str, preamble: str = "") -> Document:
    source = f"{HEAD}{preamble}\\begin{{document}}\n{body}\n\\end{{document}}\nafter the end"
    return read("-", stdin=io.BytesIO(source.encode()))


def words(body: str, preamble: str = "") -> str:
    return parse(body, preamble).text


def test_a_paper() -> None:
    document = parse(
        r"""\maketitle
        \begin{abstract} Half (50\%) of them. % a remark
        And more.
        \end{abstract}
        \section[Short]{Long \emph{title}}\label{sec:one}
        Text~here.\footnote{A \textbf{note}.} It goes on.
        \subsection*{Deeper} More.
        \paragraph{Run in.} Words.
        \appendix
        \section{Proofs} Trivial.
        \begin{thebibliography}{9} \bibitem[D]{doe} Doe, J. 1999. \bibitem{roe} Roe. \end{thebibliography}
        """,
        r"\usepackage{x}\title{On B\"ells \\ and Tides}\author{Ada \and Bob\thanks{Paid by nobody.}}"
        r" \setlength{\a}{1pt}",
    )
    assert document.title == "On Bëlls and Tides"
    assert outline(document) == [
        (0, "", "On Bëlls and Tides\n\nAda, Bob\n\nPaid by nobody."), (1, "Abstract", "Half (50%) of them. And more."),
        (1, "Long title", "Text here. It goes on.\n\nA note."), (2, "Deeper", "More."), (4, "Run in.", "Words."),
        (1, "Proofs", "Trivial."), (1, "References", "Doe, J. 1999.\n\nRoe."),
    ]  # fmt: skip
    kinds = [section.kind for section in document.sections]
    assert kinds[:2] == [SectionKind.FRONT, SectionKind.ABSTRACT]
    assert kinds[-2:] == [SectionKind.APPENDIX, SectionKind.REFERENCES]


def test_a_book_begins_at_level_one() -> None:
    document = parse(r"\part{P}a\chapter{C}b\section{S}c\subparagraph{X}d")
    assert headings(document) == [(1, "P"), (2, "C"), (3, "S"), (7, "X")]


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (r"caf\'e na\"{\i}ve \c{c}a Stra\ss e \aa{} \o \v{s}\'\i", "café naïve ça Straße å øší"),
        (r"``quoted'' -- and --- \ldots{} \& \$5 \#1 a\_b \{x\}", "“quoted” – and — … & $5 #1 a_b {x}"),
        (
            r"as shown \cite[p.~3]{doe,roe}. See~\ref{a}, or \href{http://x.y/z}{there}.",
            "as shown [doe, roe, p. 3]. See [a], or there.",
        ),
        (r"{\bf bold} and {\large large} \textcolor{red}{red} \mbox{box}", "bold and large red box"),
        (r"Energy $E = mc^2$ and \(\alpha_{i} \leq 2\).", "Energy E = mc^2 and α_i ≤ 2."),
        ("is\n\\begin{equation}\\label{e}\nx = y\n\\end{equation}\nso", "is x = y so"),
        (r"a \[ \mathbf{x} + y \] b $$z$$", "a x + y b z"),
        (r"see \verb|a_b %{| and \url{http://a.b/c}", "see a_b %{ and http://a.b/c"),
        ("costs \\$5\n\nand $3", "costs $5\n\nand $3"),
        ("one % remark\n  two\n% line\nthree %\n\nfour", "one two three\n\nfour"),
        (r"\iffalse no \ifx\a\b never \fi no \fi yes", "yes"),
        ("a\\begin{comment}no\\end{comment}b \\begin{tikzpicture}\\draw;\\end{tikzpicture}", "ab"),
        (r"\begin{theorem}[Euler] It holds. \end{theorem} After.", "(Euler) It holds.\n\nAfter."),
        (r"\begin{description}\item[A] one \item[B] two \end{description}", "A one\n\nB two"),
        (r"\begin{figure}[ht]\includegraphics[width=1cm]{a.png}\caption{Bells.}\end{figure}", "Bells."),
        (r"line one\\[2pt] line two\hspace{1cm}\vspace*{2cm} end", "line one line two end"),
    ],
)
def test_commands(source: str, text: str) -> None:
    assert words(source) == text


def test_code_keeps_its_lines() -> None:
    text = words("\\section{S}\\begin{lstlisting}[language=C]\nif x { % 1\n  \\section{no}\n\\end{lstlisting}After.")
    assert text == "S\n\nif x { % 1\n\\section{no}\n\nAfter."


def test_lists_and_tables() -> None:
    text = words(
        r"\begin{itemize}\item one \item two \begin{enumerate}[a)]\item deep\end{enumerate}\end{itemize}"
        r"\begin{table}\caption{Counts.}\begin{tabular}{l|c}\hline Town & Bells \\ \hline Ayr & 12 \\"
        r"\multicolumn{2}{c}{All} \end{tabular}\end{table}"
    )
    assert text == "- one\n\n- two\n\n1. deep\n\nCounts.\n\nTown | Bells\nAyr | 12\nAll"


def test_commands_of_the_author() -> None:
    preamble = r"""\newcommand{\sys}{CoLDE\xspace} \newcommand\pair[2][x]{(#1, \emph{#2})} \def\twice#1{#1 #1}
    \newcommand{\R}{\ensuremath{\mathbb{R}}} \newenvironment{mine}{no}{no} \let\a=\b"""
    assert (
        words(r"\sys{} is \pair{y}, \pair[z]{w}, \twice{so} in \R.", preamble) == "CoLDE is (x, y), (z, w), so so in ℝ."
    )


def test_files_elsewhere_are_named() -> None:
    document = parse(r"Words. \input{chapters/one} \include{two} \bibliography{refs}")
    assert document.text == "Words."
    assert "chapters/one, two; join them first" in document.report.warnings[0]
    assert "references" in document.report.notes[0]


def test_a_fragment_and_a_file_by_name(tmp_path: Path) -> None:
    path = tmp_path / "part.tex"
    path.write_text("% chapter\nWords {of} the part.")
    assert read(path).text == "Words of the part."
    assert read("-", stdin=io.BytesIO(b"% x\n\\section{A}\nb")).sections[0].heading == "A"


def test_sources_without_text(tmp_path: Path) -> None:
    with pytest.raises(NoTextError, match="holds no text"):
        parse("% nothing")
    path = tmp_path / "paper.tex"
    path.write_bytes(bytes(range(256)) * 20)
    with pytest.raises(UnsupportedFormatError, match=r"paper\.tex: it holds binary data"):
        read(path)


@pytest.mark.slow
@pytest.mark.parametrize(
    "body",
    [
        "{" * 100_000 + "deep", "\\footnote{" * 3000 + "deep", "\\emph{" * 3000 + "deep" + "}" * 3000,
        "deep" + "}" * 1000, "\\begin{itemize}\\item " * 3000 + "deep", "\\[ " * 20_000 + "deep", "deep \\cite[" * 5000,
        "\\begin{equation}" * 5000 + "deep", "deep \\begin{verbatim}" * 1000, "\\section{deep",
        "\\newcommand{\\a}{\\a\\a} \\a deep", "\\newif\\ifq\\ifq " * 5000 + "\\fi deep",
        "$" + "\\hat" * 5000 + "x$ deep", "$" + "\\frac{" * 3000 + "x$ deep", "$" + "x^" * 5000 + "$ deep",
        "$\\text{" * 3000 + "deep" + "}$" * 3000, "$" + "{a \\over " * 3000 + "$ deep",
        "$\\begin{matrix}" * 5000 + "deep", "\\mystery[" * 5000 + "deep",
        "\\def\\a#1{#1#1#1} \\a{\\a{\\a{\\a{\\a{\\a{\\a{\\a{\\a{\\a{\\a{\\a{deep}}}}}}}}}}}}",
    ],
)  # fmt: skip
def test_odd_and_hostile_sources(body: str) -> None:
    assert "deep" in words("start\n\n" + body)


def test_commands_that_grow_without_end_are_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tex_source, "MAX_EXPANSION", 20_000)
    laughs = "".join(f"\\def\\{chr(98 + n)}{{\\{chr(97 + n)}\\{chr(97 + n)}}}" for n in range(24))
    assert len(words("\\y end", f"\\def\\a{{ha}}{laughs}")) < 40_000


def test_a_short_command_that_repeats_a_long_argument_is_left() -> None:
    repeats = f"\\newcommand{{\\a}}[1]{{{'#1' * 2000}}}"
    assert len(words("\\a{" + "long " * 100_000 + "}", repeats)) < 600_000


def test_too_many_braces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tex_source, "MAX_GROUPS", 100)
    with pytest.raises(LimitError, match="braces"):
        words("{a}" * 200)


def outside(body: str, preamble: str = "") -> list[tuple[str, str, str]]:
    """Kind, text and about of what stands outside, but for the words after the end."""
    texts = parse(body + " words", preamble).outside
    return [(one.kind.value, one.text, one.about) for one in texts if one.text != "after the end"]


@pytest.mark.parametrize(
    ("formula", "text"),
    [
        (r"x_{ij} + 1", "x_(ij) + 1"),
        (r"x_i j + 1", "x_i j + 1"),
        (r"10^{12}3 + 10^{123}", "10^12 3 + 10^123"),
        (r"x^2y \ne x^{2y}", "x^2 y ≠ x^(2y)"),
        (r"\frac{a}{b} + \dfrac{1}{2}x + \tfrac12", "a/b + 1/2 x + 1/2"),
        (r"\frac{1}{2x} \frac{a+b}{c}^2", "1/(2x) ((a+b)/c)^2"),
        (r"{a \over b+c} \binom{n}{k}", "a/(b+c) binom(n, k)"),
        (r"\sqrt{xy} \sqrt{x}y \sqrt[3]{2}", "√(xy) √x y [3]√2"),
        (r"\sum_{i=1}^{n} x_{i_j}", "∑_(i=1)^n x_(i_j)"),
        (r"1{,}000 + 5\,000 + 90^\circ", "1,000 + 5 000 + 90°"),
        (r"\begin{pmatrix} a & b \\ c & d\end{pmatrix}", "(a, b; c, d)"),
        (r"\begin{cases}1 & \text{if $x>0$ or}\\ 0\end{cases}", "{1, if x>0 or; 0}"),
        (r"\left.\frac{a}{b}\right|_{0} \hat x \widehat{ab}", "a/b|_0 x̂ widehat(ab)"),
        (r"\foo{a}{b} \bar", r"\foo{a}{b} bar()"),
        (r"\not= \not\in \mathbb{R}^n \mathcal{L}", "≠ ∉ ℝ^n ℒ"),
        (r"\SI{5}{\kilo\metre\per\second\squared} \phi\varphi", "5 km/s^2 ϕ φ"),
        (r"- x | y", "-x|y"),
        (r"f''(x)^{\prime} x^* x^{10}", "f''(x)′ x^* x^10"),
    ],
)
def test_formulas(formula: str, text: str) -> None:
    assert words(f"A ${formula}$.") == f"A {text}."


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (
            r"\SI{5}{\kilo\metre}, \qty{9}{kg.m/s^{2}}, \num{1e6}, \ang{1;2;3}",
            "5 km, 9 kg·m/s^2, 1 × 10^6, 1°2′3″",
        ),
        (r"\SIrange{1}{2}{\milli\second} \si{\joule\per\mole\per\foo}", r"1 to 2 ms J/mol/\foo"),
        (r"10\textsuperscript{6}, H\textsubscript{2}O, \nicefrac{1}{2}", "10^6, H_2O, 1/2"),
        (r"5\,\metre or $5\,$000 or 5$\times$3 m\~{}n", r"5 \metre or 5 000 or 5×3 m~n"),
        (r"\citet[p.~2]{a} \citep[see][3]{b,c} \citeyear{d} \cite{}", "a [p. 2] [see b, c, 3] [year of d]"),
        (r"\eqref{a}, \pageref{b}, \cref{c}", "[a], [page of b], [cref c]"),
        (r"\parindent=2pt Text\vskip 1em plus 2pt more \setlength\parskip{0pt} end", "Text more end"),
        (r"\cmidrule(lr){2-3} a \makebox[5cm][c]{b} \bfseries[c]", "a b [c]"),
        (r"\begin{enumerate}[start=4]\item a \item b\end{enumerate}", "4. a\n\n5. b"),
        (r"\let\eps\varepsilon\def\x{5}\DeclareMathOperator{\am}{arg\,max}$\am_\eps\x$", "arg max_ε 5"),
        (r"\ifdraft{a}", "a"),
        (r"a\subfloat[Small 5]{\includegraphics{b}} \twocolumn[Wide] c", "a Small 5 Wide c"),
        (r"\let\ifdraft\iffalse \ifdraft no\else yes\fi", "yes"),
    ],
)
def test_more_commands(source: str, text: str) -> None:
    assert words(source) == text


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (r"\iffalse five % remark" "\n" r"\fi", [("hidden-text", "five", "\\iffalse")]),
        (r"\begin{comment}five\end{comment}", [("hidden-text", "five", "comment")]),
        (r"\newif\ifa \atrue \ifa x\else five\fi", [("hidden-text", "five", "\\ifa")]),
        (r"\newif\ifa \ifa five\else x\fi", [("hidden-text", "five", "\\ifa")]),
        (r"\excludecomment{a}\begin{a}five\end{a}", [("hidden-text", "five", "a")]),
        (r"\phantom{five}$\phantom{six}$", [("hidden-text", "five", "\\phantom"), ("hidden-text", "six", "\\phantom")]),
        (r"\ifx\a\b x\fi", [("code", r"\ifx\a\b", "")]),
        (r"\href{http://a/5\%}{w \emph{x}}", [("links", "http://a/5%", "w x")]),
        (r"\mystery[five]{x} \euros{5}", [("code", r"\mystery[five]{x}", ""), ("code", r"\euros{5}", "")]),
        (r"\begin{conjecture} x\end{conjecture}", [("code", r"\begin{conjecture}", "")]),
        (r"\section[Short]{Long}", [("code", r"\section[Short]", ""), ("structure", "section", "Long")]),
        (r"\section*{A}\label{a}", [("structure", "section*", "A"), ("code", r"\label{a} of A", "A")]),
        (r"$$x$$\begin{equation}\label{e}x\end{equation}", [("code", r"\label{e} equation 1", "")]),
        (r"\sout{five}", [("deleted-text", "five", "")]),
        (r"\pdfcomment{five}", [("comments", "five", "")]),
        (r"\multicolumn{2}{c}{five}", [("code", r"\multicolumn{2}{five}", "")]),
        (r"\def\p#1.{#1 five}\p", [("code", r"\p: \p#1.{#1 five}", "")]),
        (r"\begin{lstlisting}[caption=five]" "\nx\n" r"\end{lstlisting}", [("code", "lstlisting caption=five", "")]),
        (r"\tikz\node[a] (b) {five $6$};", [("alternative-texts", "five 6", "tikz")]),
        (r"\renewcommand{\abstractname}{Five}", [("code", r"\renewcommand{\abstractname}{Five}", "")]),
        (r"\usepackage{a}\hline\vspace{5cm}\textbf{x} % five", []),
        (r"\setcounter{page}{5}", [("code", r"\setcounter{page}{5}", "")]),
    ],
)  # fmt: skip
def test_what_gives_no_text_stands_outside(source: str, expected: list[tuple[str, str, str]]) -> None:
    assert outside(source) == expected


def test_the_preamble_and_the_end_are_accounted_for() -> None:
    preamble = (
        r"\usepackage{a}\date{5 May}\affil[1]{Here}\lhead{DRAFT}\cfoot{\thepage}\newcommand{\unused}{no}"
        r"\mystery{five}\hypersetup{pdftitle={On Bells},colorlinks}\setlength{\parskip}{1pt}"
    )
    assert words("Body.", preamble) == "5 May\n\nHere\n\nBody."
    assert outside("Body.", preamble) == [
        *(("code", "\\affil[1]", ""), ("headers", "DRAFT", "lhead"), ("footers", "\\thepage", "cfoot")),
        *(("code", "\\mystery{five}", ""), ("metadata", "On Bells", "")),
    ]
    assert (parse("Body.").outside[-1].kind, parse("Body.").outside[-1].text) == (
        OutsideKind.HIDDEN,
        "after the end",
    )


def test_pictures_and_files_are_parts() -> None:
    body = (
        r"\includegraphics[width=1cm]{a} \begin{tikzpicture}\draw (0,0);\end{tikzpicture} \input{b} \tikz{x;}"
        r"\bibliography{c} \lstinputlisting{d} \begin{filecontents}{e}five\end{filecontents} words"
    )
    assert [(part.kind, part.about) for part in parse(body).parts] == [
        *((PartKind.PICTURES, "a"), (PartKind.DRAWINGS, "tikzpicture"), (PartKind.EMBEDDED, "b")),
        *((PartKind.DRAWINGS, "tikz"), (PartKind.EMBEDDED, "c"), (PartKind.EMBEDDED, "d")),
        (PartKind.EMBEDDED, "e"),
    ]
    looser = body.replace("[width=1cm]", "[ width = 1cm ]").replace("\\draw", "% remark\n  \\draw")
    assert parse(looser).parts == parse(body).parts
    for one, other in (("1cm", "2cm"), ("(0,0)", "(0,1)"), ("{b}", "{f}"), ("five", "nine")):
        assert parse(body.replace(one, other)).parts != parse(body).parts


ATOMS = st.sampled_from((*"abn", "12", "3", r"\alpha ", r"\foo "))
FORMULAS = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.builds(r"\frac{{{}}}{{{}}}".format, inner, inner),
        st.builds("{}^{{{}}}".format, ATOMS, inner),
        st.builds("{}_{{{}}}".format, ATOMS, inner),
        st.builds(r"\sqrt{{{}}}".format, inner),
        st.builds("{}+{}".format, inner, inner),
        st.builds("({})".format, inner),
        st.builds(r"\foo{{{}}}".format, inner),
        st.builds("{} {}".format, inner, inner),
    ),
    max_leaves=5,
)


def drawn(formula: str) -> str:
    """The formula as TeX prints it: blanks between the characters count for nothing."""
    return formula.replace(" ", "").replace("\\alpha", "α").replace("\\foo", "φ")


@pytest.mark.slow
@settings(max_examples=400)
@given(a=FORMULAS, b=FORMULAS)
def test_different_formulas_read_differently(a: str, b: str) -> None:
    if drawn(a) != drawn(b):
        # Blanks between letters are no difference where texts are compared; those between digits are.
        read_as = ["".join(words(f"A ${one}$").replace(" ", "·").split()) for one in (a, b)]
        squeezed = [re.sub(r"(?<!\d)·|·(?!\d)", "", text) for text in read_as]
        assert squeezed[0] != squeezed[1]


SOURCES = st.sampled_from((
    "\n\n%s\n\n", "\\section{%s}", "\\section[%s]{x}", "\\mystery{%s}", "\\mystery[%s]{x} ",
    "\\iffalse %s\\fi ", "\\newif\\ifq \\ifq %s\\fi ", "\\begin{comment}%s\\end{comment}", "\\href{x}{%s}",
    "\\href{%s}{x}", "\\cite{%s}", "\\begin{tikzpicture}\\node{%s};\\end{tikzpicture}", "\\ref{%s}",
    "\\label{%s}", "\\begin{odd}%s\\end{odd}", "\\begin{odd}[%s]x\\end{odd}", "\\date{%s}", "$x_{%s}$",
    "$\\frac{x}{%s}$", "\\SI{5}{%s}", "\\phantom{%s}", "\\index{%s}", "\\end{document}%s", "\\def\\q{%s}\\q ",
    "$\\text{%s}$", "\\begin{tabular}{c}%s\\end{tabular}", "\\footnote{%s}", "\\bibitem{%s}", "\\todo{%s}",
))  # fmt: skip


@settings(max_examples=200)
@given(blocks=st.lists(st.tuples(SOURCES, st.text("bdgkw", min_size=3, max_size=6)), min_size=1, max_size=8))
def test_every_word_is_in_the_body_or_outside(blocks: list[tuple[str, str]]) -> None:
    document = parse("start " + "".join(shape % word for shape, word in blocks))
    assert all(word in everything(document) for _, word in blocks)


WORDS = st.text("abcdefgäß ,.()=", min_size=1, max_size=30).filter(lambda text: any(map(str.isalpha, text)))
SHAPES = st.sampled_from((
    "\n\n%s\n\n", "\\section{%s}", "\\subsection*{%s}\n", "\\emph{%s}\n", "\\begin{quote} %s \\end{quote}",
    "\\begin{verbatim}%s\\end{verbatim}", "\\footnote{%s} ", "{ %s }", "\\caption{%s}", "\\unknown{%s} ",
    "\\begin{itemize}\\item[] %s\\end{itemize}",
))  # fmt: skip


@settings(max_examples=150)
@given(blocks=st.lists(st.tuples(SHAPES, WORDS), min_size=1, max_size=12))
def test_no_letter_is_lost_or_doubled_and_spans_fit(blocks: list[tuple[str, str]]) -> None:
    document = parse("\\section{start} " + "".join(shape % text for shape, text in blocks))
    expected = "start" + "".join(text for _, text in blocks)
    assert sorted(filter(str.isalpha, document.text)) == sorted(filter(str.isalpha, expected))
    check_sections(document)


PIECES = (
    "\\", "{", "}", "$", "$$", "%", "\n", "&", "[", "]", "x", "\\\\", "\\[", "\\]", "\\begin{tabular}",
    "\\end{x}", "\\item", "\\def", "\\newcommand", "\\verb|", "\\cite", "#1", "\\'", "~", "\\section",
    "\\iffalse", "\\input",
)  # fmt: skip


@settings(max_examples=200)
@given(data=st.lists(st.sampled_from(PIECES), max_size=30))
def test_any_order_of_marks_gives_a_document(data: list[str]) -> None:
    assert parse("first words\n\n" + "".join(data)).text.startswith("first words")


@given(
    text=st.text().filter(lambda text: "\\end" not in text and not any("\uf000" <= char < "\uf100" for char in text))
)
def test_what_is_moved_away_comes_back(text: str) -> None:
    code = "x" + text
    assert restore(prepare(f"\\begin{{verbatim}}\n{code}\\end{{verbatim}}")) == f"\n\n{code.rstrip()}\n\n"
