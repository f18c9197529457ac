"""LaTeX: what its commands mean to a reader, and what becomes of hostile sources."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from colde_cli.documents.document import Document, SectionKind
from colde_cli.documents.reading import read
from colde_cli.documents.tex import scanner
from colde_cli.documents.tex import source as authored
from colde_cli.documents.tex.source import prepare, restore
from colde_cli.errors import LimitError, NoTextError, UnsupportedFormatError

HEAD = "\\documentclass{article}\n"


def parse(body: str, preamble: str = "") -> Document:
    source = f"{HEAD}{preamble}\\begin{{document}}\n{body}\n\\end{{document}}\nafter the end"
    return read("-", stdin=io.BytesIO(source.encode()))


def words(body: str, preamble: str = "") -> str:
    return parse(body, preamble).text


def outline(document: Document) -> list[tuple[int, str, str]]:
    return [
        (section.level, section.heading, document.text[section.body_start : section.span.end].strip())
        for section in document.sections
    ]


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
        (0, "", "On Bëlls and Tides\n\nAda, Bob\n\nPaid by nobody."),
        (1, "Abstract", "Half (50%) of them. And more."),
        (1, "Long title", "Text here. It goes on.\n\nA note."),
        (2, "Deeper", "More."),
        (4, "Run in.", "Words."),
        (1, "Proofs", "Trivial."),
        (1, "References", "Doe, J. 1999.\n\nRoe."),
    ]
    kinds = [section.kind for section in document.sections]
    assert kinds[:2] == [SectionKind.FRONT, SectionKind.ABSTRACT]
    assert kinds[-2:] == [SectionKind.APPENDIX, SectionKind.REFERENCES]


def test_a_book_begins_at_level_one() -> None:
    document = parse(r"\part{P}a\chapter{C}b\section{S}c\subparagraph{X}d")
    assert [(level, heading) for level, heading, _ in outline(document)] == [
        (1, "P"),
        (2, "C"),
        (3, "S"),
        (7, "X"),
    ]


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
    text = words(
        "\\section{S}\\begin{lstlisting}[language=C]\nif x { % 1\n  \\section{no}\n\\end{lstlisting}After."
    )
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
        words(r"\sys{} is \pair{y}, \pair[z]{w}, \twice{so} in \R.", preamble)
        == "CoLDE is (x, y), (z, w), so so in ℝ."
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


@pytest.mark.parametrize(
    "body",
    [
        "{" * 100_000 + "deep",
        "\\footnote{" * 3000 + "deep",
        "\\emph{" * 3000 + "deep" + "}" * 3000,
        "deep" + "}" * 1000,
        "\\begin{itemize}\\item " * 3000 + "deep",
        "\\[ " * 20_000 + "deep",
        "deep \\cite[" * 5000,
        "\\begin{equation}" * 5000 + "deep",
        "deep \\begin{verbatim}" * 1000,
        "\\section{deep",
        "\\newcommand{\\a}{\\a\\a} \\a deep",
        "\\def\\a#1{#1#1#1} \\a{\\a{\\a{\\a{\\a{\\a{\\a{\\a{\\a{\\a{\\a{\\a{deep}}}}}}}}}}}}",
    ],
)
def test_odd_and_hostile_sources(body: str) -> None:
    assert "deep" in words("start\n\n" + body)


def test_commands_that_grow_without_end_are_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(authored, "MAX_EXPANSION", 20_000)
    laughs = "".join(f"\\def\\{chr(98 + n)}{{\\{chr(97 + n)}\\{chr(97 + n)}}}" for n in range(24))
    assert len(words("\\y end", f"\\def\\a{{ha}}{laughs}")) < 40_000


def test_a_short_command_that_repeats_a_long_argument_is_left() -> None:
    repeats = f"\\newcommand{{\\a}}[1]{{{'#1' * 2000}}}"
    assert len(words("\\a{" + "long " * 100_000 + "}", repeats)) < 600_000


def test_too_many_braces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scanner, "MAX_GROUPS", 100)
    with pytest.raises(LimitError, match="braces"):
        words("{a}" * 200)


WORDS = st.text("abcdefgäß ,.()=", min_size=1, max_size=30).filter(lambda text: any(map(str.isalpha, text)))
SHAPES = st.sampled_from(
    (
        "\n\n%s\n\n",
        "\\section{%s}",
        "\\subsection*{%s}\n",
        "\\emph{%s}\n",
        "\\begin{quote} %s \\end{quote}",
        "\\begin{verbatim}%s\\end{verbatim}",
        "\\footnote{%s} ",
        "{ %s }",
        "\\caption{%s}",
        "\\unknown{%s} ",
        "\\begin{itemize}\\item[] %s\\end{itemize}",
    )
)


@settings(max_examples=150)
@given(blocks=st.lists(st.tuples(SHAPES, WORDS), min_size=1, max_size=12))
def test_no_letter_is_lost_or_doubled_and_spans_fit(blocks: list[tuple[str, str]]) -> None:
    document = parse("\\section{start} " + "".join(shape % text for shape, text in blocks))
    expected = "start" + "".join(text for _, text in blocks)
    assert sorted(filter(str.isalpha, document.text)) == sorted(filter(str.isalpha, expected))
    end = 0
    for section in document.sections:
        assert end <= section.span.start <= section.body_start <= section.span.end <= len(document.text)
        assert document.text[end : section.span.start].strip() == ""
        end = section.span.end
    assert end == len(document.text)


PIECES = (
    *(
        "\\",
        "{",
        "}",
        "$",
        "$$",
        "%",
        "\n",
        "&",
        "[",
        "]",
        "x",
        "\\\\",
        "\\[",
        "\\]",
        "\\begin{tabular}",
        "\\end{x}",
    ),
    *(
        "\\item",
        "\\def",
        "\\newcommand",
        "\\verb|",
        "\\cite",
        "#1",
        "\\'",
        "~",
        "\\section",
        "\\iffalse",
        "\\input",
    ),
)


@settings(max_examples=200)
@given(data=st.lists(st.sampled_from(PIECES), max_size=30))
def test_any_order_of_marks_gives_a_document(data: list[str]) -> None:
    assert parse("first words\n\n" + "".join(data)).text.startswith("first words")


@given(
    text=st.text().filter(
        lambda text: "\\end" not in text and not any("\uf000" <= char < "\uf100" for char in text)
    )
)
def test_what_is_moved_away_comes_back(text: str) -> None:
    code = "x" + text
    assert restore(prepare(f"\\begin{{verbatim}}\n{code}\\end{{verbatim}}")) == f"\n\n{code.rstrip()}\n\n"
