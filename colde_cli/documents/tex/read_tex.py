"""Read LaTeX as a document; functions here act on the commands that have a meaning of their own."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from colde_cli.documents.builder import DocumentBuilder
from colde_cli.documents.document import Document, shown_as
from colde_cli.documents.notation import lowered, raised
from colde_cli.documents.outside import OutsideKind, PartKind, digest_of
from colde_cli.documents.plain_text import decode
from colde_cli.documents.tex import commands as tex
from colde_cli.documents.tex.formulas import FORMULA_COMMANDS
from colde_cli.documents.tex.scanner import MAX_DEPTH, Action, Scanner
from colde_cli.documents.tex.source import (
    ACCENTS,
    BLANK,
    DEFINING,
    UNUSUAL,
    VERBATIM_OPTION,
    BareError,
    Cursor,
    Source,
    prepare,
    restore,
)

_MOST_INPUTS = 1000
_LET = re.compile(r"\s*+\\([A-Za-z@]++)\s*+=?+\s*+(\\[A-Za-z@]+|.)")
_NEW_CONDITION = re.compile(r"\s*+\\if([A-Za-z@]++)")
_FILE = re.compile(r"[ \t]*([^\s{}\\]+)")
_PRINTED_BY_ITSELF = re.compile(r"the[a-z]+|label(?:item|enum)\w+|[a-z]+name|[a-z]+(?:mark|symbol)")
"""Commands that LaTeX itself prints: a definition of one is used even if no call stands in the source."""
_ACTIONS: dict[str, Action] = {}


def read_tex(data: bytes, path: str, name: str) -> Document:
    r"""Read LaTeX: title, abstract, `\part` to `\subparagraph`, lists, tables, captions, footnotes, formulas.

    Commands that the author defines are expanded. Unknown ones are accounted for, and leave the words in their
    arguments; without an argument they are read as their names. Citations and references are read as their keys. What
    conditions leave out, pictures, drawings and files that the source names stand outside the text. Numbers that LaTeX
    counts are not part of the text. `path` is as the user gave it, for messages; `name` replaces a missing title.

    Raises:
        UnsupportedFormatError: the bytes are no text.
        LimitError: it has more text or braces than colde reads.
        NoTextError: it has no text.
    """
    text, warnings = decode(data, path)
    reader = Scanner(DocumentBuilder(path), _ACTIONS)
    reader.read(Source(prepare(text), shown_as(path)))
    if names := list(dict.fromkeys(reader.inputs)):
        listed = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
        sentence = f"Files named by \\input or \\include were not read: {listed}; join them first, e.g. with latexpand."
        warnings = (*warnings, sentence)
    notes = ("The references lie in a file of their own and were not read.",) if reader.bibliography else ()
    return reader.builder.build(reader.title, name, warnings, notes)


def _on(*names: Iterable[str] | str) -> Callable[[Action], Action]:
    """Let a function act on commands; those that an earlier one has stay with it."""

    def register(action: Action) -> Action:
        for some in names:
            for name in some.split() if isinstance(some, str) else some:
                _ACTIONS.setdefault(name, action)
        return action

    return register


def _worded(reader: Scanner, name: str, cursor: Cursor) -> str:
    """The words of the argument that a command needs; an option before it is accounted for."""
    start = cursor.at
    cursor.option()
    option = cursor.since(start)
    group = cursor.needed()
    if option:
        reader.code(f"\\{name}{option}")
    return reader.words(group)


@_on("title icmltitle", tex.LEVELS, "caption captionof frametitle")
def _heading(reader: Scanner, name: str, cursor: Cursor) -> None:
    """Read a heading, a caption or the title; its short form is accounted for."""
    starred = cursor.source.text[cursor.at - 1] == "*"
    text = _worded(reader, name, cursor)
    if name in ("title", "icmltitle"):
        reader.flush()
        reader.title = reader.title or text
        reader.builder.add_paragraph(text)
    elif reader.muted or reader.inline:
        reader.write(f" {text} ")
    elif name in ("caption", "captionof"):  # it stands before its table
        reader.flush_outside_tables()
        reader.builder.add_paragraph(text)
    else:
        reader.begin_section(text, f"{name}*" if starred else name)


@_on("footnote footnotetext thanks endnote tablefootnote")
def _note(reader: Scanner, name: str, cursor: Cursor) -> None:
    text = _worded(reader, name, cursor)
    if reader.inline or not reader.muted:
        reader.builder.add_note(text)
    else:
        reader.code(f"\\{name}{{{text}}}")


@_on("""
author date subtitle institute institution affiliation affil affiliations address email keywords dedicatory dedication
curraddr subjclass titlehead publishers subject extratitle uppertitleback lowertitleback icmlauthor icmladdress
icmlaffiliation icmlkeywords authorblock tnotetext cortext fntext ead subtitlenote titlenote orcid altaffiltext
acmConference acmDOI acmISBN acmYear acmJournal acmVolume acmNumber acmArticle acmPrice copyrightyear conferenceinfo
CopyrightYear crdata terms category city country supervisor degree university department group faculty addresses
supervisors
""")
def _front(reader: Scanner, name: str, cursor: Cursor) -> None:
    text = _worded(reader, name, cursor)
    if reader.inline:
        reader.write(f" {text} ")
    else:
        reader.flush()
        reader.builder.add_paragraph(text)


@_on("markboth markright lhead chead rhead fancyhead ihead ohead lfoot cfoot rfoot fancyfoot ifoot ofoot")
def _head(reader: Scanner, name: str, cursor: Cursor) -> None:
    kind = OutsideKind.FOOTERS if name.endswith("foot") else OutsideKind.HEADERS
    for _ in range(2 if name == "markboth" else 1):
        start = cursor.at
        cursor.option()
        place = cursor.since(start).strip(" []") or name
        group = cursor.group()
        if not group:
            cursor.at = start
            return
        reader.outside(kind, reader.words(group), place)


@_on(DEFINING, UNUSUAL)
def _definition(reader: Scanner, name: str, cursor: Cursor) -> None:
    """Remember a command of the author; of one that LaTeX calls itself, account for the definition."""
    start = cursor.at
    if _PRINTED_BY_ITSELF.fullmatch(reader.authored.define(name, cursor)):
        reader.code(f"\\{name}{cursor.since(start)}")


@_on("let")
def _let(reader: Scanner, _: str, cursor: Cursor) -> None:
    match = cursor.take(_LET)
    if match and match[2] in ("\\iftrue", "\\iffalse"):
        reader.toggles[match[1]] = match[2] == "\\iftrue"
    elif match and match[2].startswith("\\"):
        reader.authored.alias(match[1], match[2][1:])


@_on("newif")
def _new_condition(reader: Scanner, _: str, cursor: Cursor) -> None:
    if match := cursor.take(_NEW_CONDITION):
        condition = match[1]
        reader.toggles.setdefault(f"if{condition}", False)
        reader.switches[f"{condition}true"] = f"if{condition}", True
        reader.switches[f"{condition}false"] = f"if{condition}", False


@_on("item bibitem")
def _item(reader: Scanner, name: str, cursor: Cursor) -> None:
    reader.flush()
    start = cursor.at
    option = cursor.option()
    if name == "bibitem":
        written = cursor.since(start).strip()
        reader.code(f"\\bibitem{written}{{{', '.join(cursor.arguments()[0])}}}")
        return
    number = reader.lists[-1] if reader.lists else None
    if option:
        reader.mark = ""
        reader.write(reader.words(option) + " ")
    elif number is None:
        reader.mark = "- "
    else:
        reader.mark, reader.lists[-1] = f"{number}. ", number + 1


@_on("textsuperscript textsubscript textsuperior textinferior up")
def _script(reader: Scanner, name: str, cursor: Cursor) -> None:
    if group := cursor.group():
        text = reader.words(group)
        write = lowered if name in ("textsubscript", "textinferior") else raised
        reader.write(write(reader.written, text))


@_on(tex.QUANTITIES)
def _quantity(reader: Scanner, name: str, cursor: Cursor) -> None:
    text = reader.formulas.quantity(name, cursor, reader.words)
    if text is None:
        raise BareError
    reader.write(text)


_PARTIAL = {"author": "author of ", "year": "year of ", "yearpar": "year of ", "title": "title of "}
"""Citations that print a part of a reference."""


@_on(
    "cite citep citealp citealt Citep parencite autocite footcite cites parencites autocites citenum supercite",
    "citeauthor citeyear citeyearpar citetitle Citeauthor fullcite footfullcite citet citetalias Citet textcite",
    "Textcite shortcite citeN citeasnoun onlinecite smartcite",
)
def _cite(reader: Scanner, name: str, cursor: Cursor) -> None:
    """Write the keys of a citation, with the words around them; in the sentence they stand without brackets."""
    notes: list[str] = []
    while option := cursor.option():
        notes.append(reader.words(option))
    cited: list[str] = []
    while group := cursor.group():
        cited += [key.strip() for key in group.raw.split(",")]
        if not name.endswith("s"):
            break
    keys = _PARTIAL.get(name[4:], "") + ", ".join(filter(None, cited))
    before, after = (notes[0], notes[1:]) if len(notes) > 1 else ("", notes)
    listed = ", ".join(filter(None, (f"{before} {keys}".strip(), *after)))
    if name in ("citet", "Citet", "textcite", "Textcite", "citeN", "citeasnoun"):
        reader.write(keys + "".join(f" [{note}]" for note in notes if note))
    elif listed:
        reader.write(f"[{listed}]")


@_on("ref eqref subref autoref cref Cref vref labelcref Autoref pageref cpageref vpageref nameref Nameref titleref")
def _reference(reader: Scanner, name: str, cursor: Cursor) -> None:
    """Write the label that a reference names, after the word that it prints."""
    values, _ = cursor.arguments()
    if not values:
        raise BareError
    kind = ""
    if name in ("autoref", "cref", "Cref", "vref", "Autoref"):
        kind = f"{name} "
    elif name.endswith("pageref"):
        kind = "page of "
    elif name in ("nameref", "Nameref", "titleref"):
        kind = "name of "
    reader.write(f"[{kind}{values[0].strip()}]")


_TOLD: dict[str, Callable[[Scanner, str], object]] = {
    "label": Scanner.label,
    VERBATIM_OPTION: Scanner.code,
    "phantom": lambda reader, text: reader.outside(OutsideKind.HIDDEN, text, "\\phantom"),
    "hphantom": lambda reader, text: reader.outside(OutsideKind.HIDDEN, text, "\\hphantom"),
    **dict.fromkeys(("excludecomment", "excludeversion"), lambda reader, text: reader.excluded.add(text.strip())),
    **dict.fromkeys(("includecomment", "includeversion"), lambda reader, text: reader.excluded.discard(text.strip())),
    "hypersetup": Scanner.metadata,
}
"""Commands with one argument that is no text, and what is done with its source."""


@_on(_TOLD)
def _told(reader: Scanner, name: str, cursor: Cursor) -> None:
    for value in cursor.arguments()[0]:
        _TOLD[name](reader, value)


@_on("href")
def _link(reader: Scanner, _: str, cursor: Cursor) -> None:
    values, _options = cursor.arguments()
    group = cursor.group()
    words = reader.words(group) if group else ""
    for value in values:
        reader.outside(OutsideKind.LINKS, value, words)
    reader.write(words)


@_on("input include subfile import subimport includefrom subincludefrom")
def _input(reader: Scanner, name: str, cursor: Cursor) -> None:
    start = cursor.at
    values, _ = cursor.arguments(2 if "import" in name or "from" in name else 1)
    file = "".join(values)
    if not values:
        after, cursor.at = cursor.at, start
        match = cursor.take(_FILE)
        file, cursor.at = (match[1], cursor.at) if match else ("", after)
    reader.file(file)
    if not reader.muted and file.strip() and len(reader.inputs) < _MOST_INPUTS:
        reader.inputs.append(restore(file.strip()))


@_on(
    "lstinputlisting verbatiminput inputminted VerbatimInput includepdf bibliography addbibresource",
    "printbibliography pgfplotstableread csvreader csvautotabular externaldocument",
)
def _listing(reader: Scanner, name: str, cursor: Cursor) -> None:
    reader.bibliography |= name in ("bibliography", "printbibliography")
    start = cursor.at
    values, options = cursor.arguments({"printbibliography": 0, "inputminted": 2}.get(name, 1))
    reader.file(values[-1] if values else "", " ".join((name, *options, *values[:-1])))
    if not values:
        cursor.at = start
        cursor.option()


@_on(
    "includegraphics epsfbox psfig epsfig includesvg adjincludegraphics epsffile pgfimage",
    "animategraphics includemedia movie embedvideo",
)
def _picture(reader: Scanner, name: str, cursor: Cursor) -> None:
    """Account for a picture or a film by its name and its options: a size, a page, a part of it."""
    values, options = cursor.arguments()
    if not values:
        raise BareError
    films = ("animategraphics", "includemedia", "movie", "embedvideo")
    kind = PartKind.MEDIA if name in films else PartKind.PICTURES
    told = "".join(restore(f"{values[0]}\0{' '.join(options)}").split())
    reader.builder.account.add_part(kind, digest_of(told.encode()), restore(values[0]))


@_on("tikz chemfig xymatrix")
def _drawing(reader: Scanner, name: str, cursor: Cursor) -> None:
    r"""Account for a small drawing, `\tikz{...}` or `\tikz ...;`."""
    cursor.option()
    inner = cursor.group()
    if inner is None:
        stop = cursor.source.find(";", cursor.at, cursor.end)
        inner = cursor.to(stop, 1) if stop > cursor.at else cursor.to(cursor.at)
    reader.drawing(name, inner)


@_on("sout st xout deleted hcancel")
def _struck(reader: Scanner, _: str, cursor: Cursor) -> None:
    """Read text that is struck through: it is body text, too."""
    cursor.option()
    text = reader.words(cursor.needed())
    reader.outside(OutsideKind.DELETED, text)
    reader.write(text)


@_on("pdfcomment pdfmargincomment")
def _comment(reader: Scanner, _: str, cursor: Cursor) -> None:
    start = cursor.at
    cursor.option()
    if group := cursor.group():
        reader.outside(OutsideKind.COMMENTS, reader.words(group))
    else:
        cursor.at = start


@_on("multicolumn multirow")
def _spanning(reader: Scanner, name: str, cursor: Cursor) -> None:
    values, _ = cursor.arguments(2)
    after = cursor.at
    cursor.option()
    group = cursor.group()
    if values and values[0].strip() != "1":
        reader.call(f"{name}{{{values[0]}}}", group.raw if group else "")
    cursor.at = group.at if group else after


@_on("subfloat subfigure twocolumn subcaptionbox")
def _with_text_in_options(reader: Scanner, _: str, cursor: Cursor) -> None:
    """Read the words in the options of a part of a figure, or over two columns."""
    if option := cursor.option():
        reader.write(" ")
        if option.depth <= MAX_DEPTH:
            reader.scan(option)
        reader.write(" ")


@_on("ensuremath")
def _ensured(reader: Scanner, _: str, cursor: Cursor) -> None:
    if group := cursor.group():
        reader.write(reader.formulas.read(group))


@_on("appendix")
def _appendix(reader: Scanner, _name: str, _cursor: Cursor) -> None:
    reader.flush()
    reader.builder.appendix = True


@_on(tex.WORDS)
def _character(reader: Scanner, name: str, cursor: Cursor) -> None:
    """Write a letter or sign; the blank after the command of a letter vanishes."""
    word = tex.WORDS.get(name) or tex.SIGNS.get(name, "")
    reader.write(word)
    if len(word) == 1 and word.isalpha():
        cursor.take(BLANK)


_on(ACCENTS)(Scanner.accent)


@_on(FORMULA_COMMANDS)
def _in_formula(reader: Scanner, name: str, cursor: Cursor) -> None:
    reader.write(reader.formulas.command(name, cursor))


_on(tex.SIGNS)(_character)
