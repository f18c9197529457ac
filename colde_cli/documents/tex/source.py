"""Prepare LaTeX source for scanning: comments, verbatim text, braces, and the commands that the author defines.

`prepare` removes comments and moves verbatim text and escaped characters into Unicode's private use area, where nothing
has a meaning for TeX; `restore` moves them back at the end. A `Source` finds arguments by its matched braces.

The tables list the commands with a meaning for the text; other commands vanish and leave their arguments.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, field

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

_DROPPED_ARGUMENTS = {
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
DROPPED = {name: count for count, names in _DROPPED_ARGUMENTS.items() for name in names.split()}
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
    r"[ \t]*+(?:\{[ \t]*+(?:\\([ij])(?![A-Za-z])|([^\W\d_]))?+[ \t]*+\}|\\([ij])(?![A-Za-z])|([^\W\d_]))"
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


_SHIFT = 0xF000
_SPECIAL = "\\{}%$&#_^~`'-\n\t []\""
_AWAY = {ord(char): chr(_SHIFT + ord(char)) for char in _SPECIAL}
_BACK = {_SHIFT + ord(char): char for char in _SPECIAL}
_PRIVATE = re.compile("[\uf000-\uf0ff]")
_VERBATIM = r"verbatim\*?|Verbatim\*?|lstlisting|minted|alltt|BVerbatim|comment|filecontents\*?"
_INTERESTING = re.compile(
    rf"\\begin[ \t]*\{{({_VERBATIM})\}}"
    r"|\\(?:verb|lstinline)\*?([^A-Za-z0-9\s*\[{])"
    r"|\\iffalse(?![A-Za-z@])"
    r"|\\([%$&#_{}])"
    r"|\\(?:[A-Za-z@]+|.|\n)"
    r"|%[^\n]*(?:\n[ \t]*+(?!\n))?",
)
_UNSEEN = frozenset(("comment", "filecontents", "filecontents*"))
_ARGUMENTS = re.compile(r"(?:[ \t]*\[[^\]\n]*\])?(?:\{[a-z+]+\}(?=[ \t]*\n))?[ \t]*\n?")
_IF_OR_FI = re.compile(r"\\(if[A-Za-z@]*|fi)(?![A-Za-z@])")
BLANK = re.compile(r"[ \t]*\n?[ \t]*")
"""Blanks allowed between a command and its argument."""
_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)
MAX_EXPANSION = 2_000_000
"""Maximum number of characters that all calls of the author's commands expand to."""
_MAX_COMMANDS = 5000
_MAX_BODY = 5000
# Possessive repetitions: blanks between optional parts are never divided in another way.
_DEFINITION = re.compile(
    r"\s*+\{?+\s*+\\([A-Za-z@]++)\s*+\}?+\s*+(?:\[(\d)\])?+\s*+(\[[^\]]{0,200}\])?+\s*+(?=\{)"
)
_DEF = re.compile(r"\s*+\\([A-Za-z@]++)[ \t]*+((?:#\d)*+)[ \t]*+(?=\{)")
_LONGEST_OPTION = 10_000
_PARAMETER = re.compile(r"#([1-9])")


def prepare(source: str) -> str:
    """Remove comments, and move verbatim text and escaped characters out of the way."""
    text = _PRIVATE.sub("\ufffd", source)
    pieces: list[str] = []
    at = 0
    while found := _INTERESTING.search(text, at):
        pieces.append(text[at : found.start()])
        at = found.end()
        environment, bar, escaped = found.groups()
        if environment:
            piece, at = _verbatim(text, at, environment)
            pieces.append(piece)
        elif bar:
            end = text.find(bar, at, at + 1000)
            end = end if end >= 0 else at
            pieces.append(text[at:end].translate(_AWAY))
            at = end + 1 if end > at else at
        elif escaped:
            pieces.append(escaped.translate(_AWAY))
        elif found.group().startswith("\\iffalse"):
            at = _after_fi(text, at)
        elif not found.group().startswith("%"):
            pieces.append(found.group())
    pieces.append(text[at:])
    return "".join(pieces)


def _verbatim(text: str, at: int, environment: str) -> tuple[str, int]:
    """Return the paragraph of the verbatim environment that begins before `at`, and the offset of its end."""
    closing = f"\\end{{{environment}}}"
    end = text.find(closing, at)
    end = len(text) if end < 0 else end
    body = text[at:end]
    after = min(len(text), end + len(closing))
    if environment in _UNSEEN:
        return "", after
    begin = found.end() if (found := _ARGUMENTS.match(body)) else 0
    return f"\n\n{body[begin:].rstrip().translate(_AWAY)}\n\n", after


def _after_fi(text: str, at: int) -> int:
    """Find the offset of the end of the condition that begins before `at`."""
    depth = 1
    for found in _IF_OR_FI.finditer(text, at):
        depth += -1 if found.group(1) == "fi" else 1
        if not depth:
            return found.end()
    return len(text)


def restore(text: str) -> str:
    """Move back the characters that `prepare` moved away."""
    return text.translate(_BACK)


def match_braces(text: str, limit: int) -> dict[int, int] | None:
    """Map the offset of each opening brace to that of its closing brace; None if there are more than `limit`."""
    pairs: dict[int, int] = {}
    opened: list[int] = []
    for found in _BRACE.finditer(text):
        if found.group() == "{":
            opened.append(found.start())
        elif found.group() == "}" and opened:
            pairs[opened.pop()] = found.start()
        if len(pairs) + len(opened) > limit:
            return None
    return pairs


@dataclass(slots=True)
class Source:
    """Prepared source with its braces matched.

    Attributes:
        text: prepared, or the expansion of a command of the author.
        pairs: offset of each opening brace -> offset of its closing one.
        missing: strings that do not occur before an offset, so that no string is searched for twice.
    """

    text: str
    pairs: dict[int, int]
    missing: set[tuple[str, int]] = field(default_factory=set)

    def find(self, wanted: str, at: int, end: int) -> int:
        """Find the offset of the next `wanted` before `end`, else -1."""
        if (wanted, end) in self.missing:
            return -1
        found = self.text.find(wanted, at, end)
        if found < 0:
            self.missing.add((wanted, end))
        return found

    def group(self, at: int, end: int) -> tuple[int, int] | None:
        """Find the bounds of the text within the next braces; None if something else comes next."""
        found = BLANK.match(self.text, at, end)
        start = found.end() if found else at
        close = self.pairs.get(start, end) if start < end else end
        return (start + 1, close) if close < end else None

    def after_option(self, at: int, end: int) -> int:
        """Find the offset after an argument in square brackets; `at` if there is none."""
        found = BLANK.match(self.text, at, end)
        start = found.end() if found else at
        if not self.text.startswith("[", start) or start >= end:
            return at
        close = self.text.find("]", start, min(end, start + 400))
        for _ in range(5):
            brace = self.text.rfind("{", start, close) if close >= 0 else -1
            if brace < 0 or self.pairs.get(brace, 0) < close:
                break
            if self.pairs[brace] - start > _LONGEST_OPTION:
                return at
            close = self.text.find("]", self.pairs[brace], min(end, self.pairs[brace] + 400))
        return close + 1 if close >= 0 else at


@dataclass(frozen=True, slots=True)
class _Command:
    """A command that the author defines.

    Attributes:
        count: number of its arguments.
        default: of the first argument, if that is optional.
        body: its definition.
    """

    count: int
    default: str | None
    body: str


@dataclass(frozen=True, slots=True)
class Call:
    """A use of a command of the author.

    Attributes:
        text: its expansion; None if that would be too long.
        values: its arguments.
        after: offset after the arguments.
    """

    text: str | None
    values: tuple[str, ...]
    after: int


@dataclass(slots=True)
class AuthorCommands:
    """The commands that an author defines in a file, and their expansion.

    Attributes:
        commands: by name.
        grown: number of characters of all expansions so far, plus a charge for every call.
    """

    commands: dict[str, _Command] = field(default_factory=dict)
    grown: int = 0

    def define(self, source: Source, command: str, at: int, end: int) -> int:
        r"""Remember the definition after `\newcommand` or `\def`; return the offset after it."""
        primitive = command == "def"
        found = (_DEF if primitive else _DEFINITION).match(source.text, at, end)
        bounds = source.group(found.end(), end) if found else None
        if not found or not bounds:
            return at
        count = len(found[2]) // 2 if primitive else int(found[2] or 0)
        default = found[3][1:-1] if not primitive and found[3] else None
        if len(self.commands) < _MAX_COMMANDS and bounds[1] - bounds[0] <= _MAX_BODY:
            self.commands[found[1]] = _Command(count, default, source.text[slice(*bounds)])
        return bounds[1] + 1

    def call(self, source: Source, name: str, at: int, end: int) -> Call:
        """Expand a command with the arguments after it."""
        command = self.commands[name]
        values: list[str] = []
        if command.default is not None:
            after = source.after_option(at, end)
            given = source.text[source.text.index("[", at) + 1 : after - 1] if after > at else command.default
            values.append(given)
            at = after
        while len(values) < command.count and (bounds := source.group(at, end)):
            values.append(source.text[slice(*bounds)])
            at = bounds[1] + 1
        # Counted before the expansion: a short command can repeat a long argument a thousand times.
        self.grown += 100 + len(command.body) + command.body.count("#") * max(map(len, values), default=0)
        if self.grown > MAX_EXPANSION:
            return Call(None, tuple(values), at)
        filled = [*values, *[""] * 9]
        return Call(_PARAMETER.sub(lambda found: filled[int(found[1]) - 1], command.body), tuple(values), at)
