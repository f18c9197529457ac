"""List the LaTeX commands with a meaning for the text; other commands vanish and leave their arguments."""

from __future__ import annotations

import re
import unicodedata

LEVELS = {
    "part": 1,
    "chapter": 2,
    "section": 3,
    "subsection": 4,
    "subsubsection": 5,
    "paragraph": 6,
    "subparagraph": 7,
}
SECTION = LEVELS["section"]

_ARGUMENTS = {
    1: "label ref eqref pageref autoref nameref cref Cref vref subref cite citep citet citealp citealt citeauthor"
    " citeyear citeyearpar Citet Citep parencite textcite autocite footcite nocite vspace hspace includegraphics"
    " bibliographystyle pagestyle thispagestyle usepackage RequirePackage documentclass documentstyle hypersetup"
    " color index glossary phantom vphantom hphantom hyphenation graphicspath selectlanguage"
    " foreignlanguage textcolor colorbox href parbox scalebox raisebox linespread pagenumbering newcounter"
    " stepcounter refstepcounter pagecolor bibinfo lstset usetikzlibrary newlength newif hypertarget hyperlink"
    " pdfbookmark captionsetup geometry markright includepdf lstinputlisting urlstyle theoremstyle"
    " acmConference acmDOI acmISBN ccsdesc setmainfont listof fontencoding fontfamily fontseries"
    " fontshape enlargethispage addbibresource PassOptionsToPackage date orcid",
    2: "resizebox setcounter addtocounter setlength addtolength rule fontsize multirow multicolumn settowidth"
    " DeclareMathOperator providecolor addcontentsline numberwithin markboth newtheorem",
    3: "newenvironment renewenvironment definecolor",
}
DROPPED = {name: count for count, names in _ARGUMENTS.items() for name in names.split()}
"""Command -> number of its first arguments that are no text."""

UNSEEN = frozenset("tikzpicture picture pspicture axis CCSXML".split())
"""Environments that are drawings or data."""
TABLES = frozenset("tabular tabular* tabularx array longtable tabulary tabu supertabular xtabular".split())
LISTS = frozenset("itemize enumerate description compactitem compactenum list inparaenum enumerate*".split())
MATH = frozenset(
    name + star
    for name in "equation align gather multline eqnarray displaymath math flalign alignat dmath".split()
    for star in ("", "*")
)
FOOTNOTES = frozenset(("footnote", "footnotetext", "thanks", "endnote", "tablefootnote"))
DEFINITIONS = frozenset(("newcommand", "renewcommand", "providecommand", "DeclareRobustCommand"))

WORDS = {
    "ss": "ß", "ae": "æ", "AE": "Æ", "oe": "œ", "OE": "Œ", "aa": "å", "AA": "Å", "o": "ø", "O": "Ø", "l": "ł",
    "L": "Ł", "i": "i", "j": "j", "S": "§", "P": "¶", "dag": "†", "ddag": "‡", "copyright": "©", "pounds": "£",
    "ldots": "…", "dots": "…", "textellipsis": "…", "textendash": "–", "textemdash": "—", "textbackslash": "\uf05c",
    "textasciitilde": "\uf07e", "textasciicircum": "\uf05e", "textunderscore": "\uf05f", "textbar": "|",
    "textless": "<", "textgreater": ">", "texttrademark": "™", "textregistered": "®", "textdegree": "°",
    "textbullet": "•", "texteuro": "€", "euro": "€", "textquoteleft": "‘", "textquoteright": "’",
    "textquotedblleft": "“", "textquotedblright": "”", "guillemotleft": "«", "guillemotright": "»",
    "textperiodcentered": "·", "textmu": "µ", "textpm": "±", "texttimes": "×", "textonehalf": "½",
    "LaTeX": "LaTeX", "TeX": "TeX", "BibTeX": "BibTeX", "LaTeXe": "LaTeX2e", "today": "", "quad": " ",
    "qquad": " ", "space": " ", "newline": " ", "linebreak": " ", "hfill": " ", "hfil": " ", "enspace": " ",
    "thinspace": " ", "lq": "‘", "rq": "’", "DH": "Ð", "dh": "ð", "TH": "Þ", "th": "þ", "ng": "ŋ", "and": ", ",
}  # fmt: skip
"""Commands that are characters."""
BREAKS = frozenset(
    "par newpage clearpage cleardoublepage pagebreak smallskip medskip bigskip maketitle".split()
)

_ACCENTS = {
    "`": "\u0300", "'": "\u0301", "^": "\u0302", "~": "\u0303", '"': "\u0308", "=": "\u0304", ".": "\u0307",
    "c": "\u0327", "v": "\u030c", "u": "\u0306", "H": "\u030b", "k": "\u0328", "r": "\u030a", "b": "\u0331",
    "d": "\u0323",
}  # fmt: skip
ACCENTS = frozenset(_ACCENTS)
ACCENTED = re.compile(
    r"[ \t]*(?:\{[ \t]*(?:\\([ij])(?![A-Za-z])|([^\W\d_]))?[ \t]*\}|\\([ij])(?![A-Za-z])|([^\W\d_]))"
)
"""The letter under an accent, in braces or not."""

_MATH_FORMAT = re.compile(
    r"\\(?:left|right|underbrace|overbrace|big|Big|bigg|Bigg|displaystyle|textstyle|limits|nolimits|nonumber|notag|quad|qquad"
    r"|math(?:bf|rm|it|cal|bb|sf|tt|frak|scr|bm)|boldsymbol|bm|text(?:rm|bf|it)?|mbox|operatorname\*?|tag)"
    r"(?![A-Za-z])|\\[,;:! ]"
)
_MATH_LABEL = re.compile(r"\\label[ \t]*\{[^{}]*\}|\\(?:begin|end)[ \t]*\{[^{}]*\}(?:\{[^{}]*\})?")
_NAME = re.compile(r"\\([A-Za-z]+)")
_GREEK = """
alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau upsilon phi chi psi omega
""".split()
_SIGNS = {
    "leq": "≤", "le": "≤", "geq": "≥", "ge": "≥", "neq": "≠", "ne": "≠", "approx": "≈", "sim": "∼", "equiv": "≡",
    "times": "×", "cdot": "·", "pm": "±", "in": "∈", "notin": "∉", "subset": "⊂", "subseteq": "⊆", "cup": "∪",
    "cap": "∩", "to": "→", "rightarrow": "→", "leftarrow": "←", "infty": "∞", "sum": "∑", "prod": "∏", "int": "∫",
    "sqrt": "√", "partial": "∂", "nabla": "∇", "forall": "∀", "exists": "∃", "ldots": "…", "dots": "…", "cdots": "…",
    "lbrace": "\uf07b", "rbrace": "\uf07d", "langle": "⟨", "rangle": "⟩", "ell": "ℓ", "propto": "∝",
    "varepsilon": "ε", "varphi": "φ", "vartheta": "θ",
    **{name: unicodedata.lookup(f"GREEK SMALL LETTER {name.replace('lambda', 'lamda')}") for name in _GREEK},
    **{
        name.title(): unicodedata.lookup(f"GREEK CAPITAL LETTER {name.replace('lambda', 'lamda')}")
        for name in _GREEK
    },
}  # fmt: skip
_SCRIPT = re.compile(r"\s*([_^])\s*")


def accented(accent: str, letter: str) -> str:
    """Put an accent on a letter, as one character if Unicode has it."""
    return unicodedata.normalize("NFC", letter + _ACCENTS[accent])


def formula(source: str) -> str:
    """Write a formula as a line of text: characters, Greek letters, signs, names of other commands; no braces."""
    text = _MATH_FORMAT.sub(" ", _MATH_LABEL.sub(" ", source)).replace("\\\\", " ")
    text = _NAME.sub(lambda found: f" {_SIGNS.get(found[1], found[1])} ", text)
    words = text.translate(dict.fromkeys(map(ord, "{}&$~\\"), " ")).split()
    return " " + _SCRIPT.sub(r"\1", " ".join(words)) + " "
