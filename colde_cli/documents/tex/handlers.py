"""Act on the commands of LaTeX that have a meaning of their own; `HANDLERS` says which.

Each handler gets the scanner, the source, the name of the command, the offset after it, the end of the range and the
depth; it returns the offset at which to continue.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from colde_cli.documents.notation import lowered, raised
from colde_cli.documents.outside import OutsideKind, PartKind
from colde_cli.documents.tex.commands import (
    CITES,
    COMMENTING,
    FILMS,
    FOOTNOTES,
    FRONT,
    GRAPHICS,
    HEADS,
    INPUTS,
    LEVELS,
    LISTINGS,
    NAMED_REFERENCES,
    PARTIAL,
    QUANTITIES,
    REFERENCES,
    SECTION,
    SIGNS,
    STRIKING,
    TEXTUAL,
    TITLES,
    UNPRINTED,
    WORDS,
)
from colde_cli.documents.tex.formulas import FORMULA_COMMANDS, quantity
from colde_cli.documents.tex.scanner import Handler, Scanner
from colde_cli.documents.tex.source import ACCENTS, BLANK, DEFINING, UNUSUAL, VERBATIM_OPTION, Source

_LET = re.compile(r"\s*+\\([A-Za-z@]++)\s*+=?+\s*+(\\[A-Za-z@]+|.)")
_NEW_CONDITION = re.compile(r"\s*+\\(if([A-Za-z@]++))")
_FILE = re.compile(r"[ \t]*([^\s{}\\]+)")
_PRINTED_BY_ITSELF = re.compile(r"the[a-z]+|label(?:item|enum)\w+|[a-z]+name|[a-z]+(?:mark|symbol)")
"""Commands that LaTeX itself prints: a definition of one is used even if no call stands in the source."""
_HIDING_COLOURS = frozenset(("white", "transparent"))
_SETTING = {"toggletrue": True, "booltrue": True, "togglefalse": False, "boolfalse": False}


def groups(source: Source, count: int, at: int, end: int) -> tuple[list[str], list[str], int]:
    """Take up to `count` arguments in braces; return them, the options before them, and the offset after them."""
    values: list[str] = []
    options: list[str] = []
    while len(values) < count:
        after = source.after_option(at, end)
        if after > at:
            options.append(source.text[source.text.index("[", at) + 1 : after - 1])
            at = after
        elif bounds := source.group(at, end):
            values.append(source.text[slice(*bounds)])
            at = bounds[1] + 1
        else:
            break
    return values, options, at


def _worded(
    scanner: Scanner, source: Source, name: str, at: int, end: int, depth: int
) -> tuple[str, int] | None:
    """The words of an argument and the place after it; an option before it is accounted for. None without one."""
    start = source.after_option(at, end)
    bounds = source.group(start, end)
    if not bounds:
        return None
    if start > at:
        scanner.beside.code(f"\\{name}{source.text[at:start]}")
    return scanner.words(source, bounds, depth), bounds[1] + 1


def _heading(scanner: Scanner, source: Source, name: str, at: int, end: int, depth: int) -> int:
    """Read a heading, a caption or the title; its short form is accounted for."""
    found = _worded(scanner, source, name, at, end, depth)
    if found is None:
        return scanner.unknown(source, name, at, end)
    text, after = found
    if name in TITLES:
        scanner.flush()
        scanner.title = scanner.title or text
        scanner.builder.add_paragraph(text)
    elif scanner.muted or scanner.inline:
        scanner.write(f" {text} ")
    elif name in ("caption", "captionof"):
        scanner.caption(text)
    else:
        scanner.end_blocks()
        scanner.builder.add_heading(text, LEVELS.get(name, SECTION + 1))
        scanner.beside.begin_section(text, name + ("*" if source.text[at - 1] == "*" else ""))
    return after


def _front(scanner: Scanner, source: Source, name: str, at: int, end: int, depth: int) -> int:
    """Read a text of the title page; within another argument it is a part of that."""
    found = _worded(scanner, source, name, at, end, depth)
    if found is None:
        return scanner.unknown(source, name, at, end)
    text, after = found
    if scanner.inline:
        scanner.write(f" {text} ")
    else:
        scanner.flush()
        scanner.builder.add_paragraph(text)
    return after


def _note(scanner: Scanner, source: Source, name: str, at: int, end: int, depth: int) -> int:
    found = _worded(scanner, source, name, at, end, depth)
    if found is None:
        return scanner.unknown(source, name, at, end)
    text, after = found
    if not scanner.muted or scanner.inline:
        scanner.builder.add_note(text)
    else:
        scanner.beside.code(f"\\{name}{{{text}}}")
    return after


def _head(scanner: Scanner, source: Source, name: str, at: int, end: int, depth: int) -> int:
    """Account for a running head or foot."""
    for _ in range(2 if name == "markboth" else 1):
        start = source.after_option(at, end)
        bounds = source.group(start, end)
        if not bounds:
            break
        place = source.text[at:start].strip(" []") or name
        scanner.beside.text(OutsideKind(HEADS[name]), scanner.words(source, bounds, depth), place)
        at = bounds[1] + 1
    return at


def _definition(scanner: Scanner, source: Source, name: str, at: int, end: int, depth: int) -> int:
    """Remember a command of the author; of one that LaTeX calls itself, account for the definition."""
    after, defined = scanner.authored.define(source, name, at, end)
    if _PRINTED_BY_ITSELF.fullmatch(defined):
        scanner.beside.code(f"\\{name}{source.text[at:after]}")
    return after


def _let(scanner: Scanner, source: Source, name: str, at: int, end: int, depth: int) -> int:
    found = _LET.match(source.text, at, end)
    if not found:
        return at
    if found[2] in ("\\iftrue", "\\iffalse"):
        scanner.toggles[found[1]] = found[2] == "\\iftrue"
    elif found[2].startswith("\\"):
        scanner.authored.alias(found[1], found[2][1:])
    return found.end()


def _declare(scanner: Scanner, name: str) -> None:
    scanner.toggles.setdefault(f"if{name}", False)
    scanner.switches[f"{name}true"] = f"if{name}", True
    scanner.switches[f"{name}false"] = f"if{name}", False


def _new_condition(scanner: Scanner, source: Source, name: str, at: int, end: int, depth: int) -> int:
    """Declare a condition: with the two commands that set it, or by its name alone."""
    if name == "newif":
        found = _NEW_CONDITION.match(source.text, at, end)
        if found:
            _declare(scanner, found[2])
        return found.end() if found else at
    values, _, after = groups(source, 1, at, end)
    for value in values:
        _declare(scanner, value.strip())
    return after


def _set_condition(scanner: Scanner, source: Source, name: str, at: int, end: int, depth: int) -> int:
    values, _, after = groups(source, 1 if name in _SETTING else 2, at, end)
    if values:
        holds = _SETTING.get(name, values[-1].strip() == "true")
        scanner.toggles[f"if{values[0].strip()}"] = holds
    return after


def _if_then_else(scanner: Scanner, source: Source, name: str, at: int, end: int, depth: int) -> int:
    r"""Read the argument that holds of `\iftoggle{name}{..}{..}`; if that cannot be told, both."""
    bounds = source.group(at, end)
    if not bounds:
        return scanner.silent(source, name, at, end)
    tested = source.text[slice(*bounds)].replace("\\boolean", "").strip(" {}")
    first = source.group(bounds[1] + 1, end)
    other = source.group(first[1] + 1, end) if first else None
    holds = scanner.toggles.get(f"if{tested}")
    if holds is None or not first or not other:
        scanner.beside.code(f"\\{name}{{{source.text[slice(*bounds)]}}}")
        return bounds[1] + 1
    shown, left = (first, other) if holds else (other, first)
    scanner.beside.text(OutsideKind.HIDDEN, source.text[slice(*left)], f"\\{name}{{{tested}}}")
    scanner.scan(source, *shown, depth + 1) if depth < 20 else scanner.write(source.text[slice(*shown)])
    return other[1] + 1


def _exclude(scanner: Scanner, source: Source, name: str, at: int, end: int, depth: int) -> int:
    values, _, after = groups(source, 1, at, end)
    for value in values:
        if name in ("excludecomment", "excludeversion"):
            scanner.excluded.add(value.strip())
        else:
            scanner.excluded.discard(value.strip())
    return after


def _item(scanner: Scanner, source: Source, name: str, at: int, end: int, depth: int) -> int:
    """Begin an item of a list, or a reference."""
    scanner.flush()
    after = source.after_option(at, end)
    if name == "bibitem":
        keys, _, past = groups(source, 1, after, end)
        scanner.beside.code(f"\\bibitem{source.text[at:after].strip()}{{{', '.join(keys)}}}")
        return past
    number = scanner.lists[-1] if scanner.lists else None
    if after > at:
        scanner.mark = ""
        scanner.write(scanner.words(source, (source.text.index("[", at) + 1, after - 1), depth) + " ")
    elif number is None:
        scanner.mark = "- "
    else:
        scanner.mark, scanner.lists[-1] = f"{number}. ", number + 1
    return after


def _character(scanner: Scanner, source: Source, name: str, at: int, end: int, depth: int) -> int:
    """Write a letter or sign; the blank after the command of a letter vanishes."""
    word = WORDS.get(name) or SIGNS.get(name, "")
    scanner.write(word)
    found = BLANK.match(source.text, at, end) if len(word) == 1 and word.isalpha() else None
    return found.end() if found else at


def _accent(scanner: Scanner, source: Source, name: str, at: int, end: int, depth: int) -> int:
    return scanner.accent(source, name, at, end)


def _appendix(scanner: Scanner, source: Source, name: str, at: int, end: int, depth: int) -> int:
    scanner.flush()
    scanner.builder.appendix = True
    return at


def _ensured(scanner: Scanner, source: Source, name: str, at: int, end: int, depth: int) -> int:
    bounds = source.group(at, end)
    if not bounds:
        return at
    scanner.formula(source, *bounds, depth)
    return bounds[1] + 1


def _in_formula(scanner: Scanner, source: Source, name: str, at: int, end: int, depth: int) -> int:
    """Read a fraction or the like that stands in the running text."""
    text, after = scanner.formulas.command(source, name, at, end, depth)
    scanner.write(text)
    return after


def _script(scanner: Scanner, source: Source, name: str, at: int, end: int, depth: int) -> int:
    """Write a super- or subscript of the running text."""
    bounds = source.group(at, end)
    if not bounds:
        return at
    text = scanner.words(source, bounds, depth)
    write = lowered if name in ("textsubscript", "textinferior") else raised
    scanner.write(write(scanner.written(), text))
    return bounds[1] + 1


def _quantity(scanner: Scanner, source: Source, name: str, at: int, end: int, depth: int) -> int:
    """Write a quantity of siunitx."""
    read = quantity(source, name, at, end, lambda bounds: scanner.words(source, bounds, depth))
    if read is None:
        return scanner.unknown(source, name, at, end)
    scanner.write(read[0])
    return read[1]


def _cite(scanner: Scanner, source: Source, name: str, at: int, end: int, depth: int) -> int:
    """Write the keys of a citation, with the words around them."""
    notes: list[str] = []
    while (after := source.after_option(at, end)) > at:
        bounds = source.text.index("[", at) + 1, after - 1
        notes.append(scanner.words(source, bounds, depth))
        at = after
    found: list[str] = []
    while bounds_of_keys := source.group(at, end):
        found += [key.strip() for key in source.text[slice(*bounds_of_keys)].split(",")]
        at = bounds_of_keys[1] + 1
        if not name.endswith("s"):
            break
    keys = PARTIAL.get(name, "") + ", ".join(filter(None, found))
    before, after_keys = (notes[0], notes[1:]) if len(notes) > 1 else ("", notes)
    listed = ", ".join(filter(None, (f"{before} {keys}".strip(), *after_keys)))
    if name in TEXTUAL:
        scanner.write(keys + "".join(f" [{note}]" for note in notes if note))
    elif listed:
        scanner.write(f"[{listed}]")
    return at


def _reference(scanner: Scanner, source: Source, name: str, at: int, end: int, depth: int) -> int:
    """Write the label that a reference names."""
    values, _, after = groups(source, 1, at, end)
    if not values:
        return scanner.unknown(source, name, at, end)
    kind = f"{name} " if name in NAMED_REFERENCES else REFERENCES[name]
    scanner.write(f"[{kind}{values[0].strip()}]")
    return after


def _label(scanner: Scanner, source: Source, name: str, at: int, end: int, depth: int) -> int:
    values, _, after = groups(source, 1, at, end)
    for value in values:
        scanner.labelled(value)
    return after


def _link(scanner: Scanner, source: Source, name: str, at: int, end: int, depth: int) -> int:
    """Read the words of a link; its target is a text outside."""
    values, _, after = groups(source, 1, at, end)
    bounds = source.group(after, end)
    words = scanner.words(source, bounds, depth) if bounds else ""
    for value in values:
        scanner.beside.text(OutsideKind.LINKS, value, words)
    scanner.write(words)
    return bounds[1] + 1 if bounds else after


def _input(scanner: Scanner, source: Source, name: str, at: int, end: int, depth: int) -> int:
    """Account for a file that is to be read here."""
    values, _, after = groups(source, 2 if "import" in name or "from" in name else 1, at, end)
    found = _FILE.match(source.text, at, end) if not values else None
    file = "".join(values) or (found[1] if found else "")
    if scanner.muted:
        scanner.beside.file(file)
    else:
        scanner.beside.included(file)
    return found.end() if found else after


def _listing(scanner: Scanner, source: Source, name: str, at: int, end: int, depth: int) -> int:
    """Account for a file of code, of references or of pages."""
    scanner.beside.bibliography |= name in ("bibliography", "printbibliography")
    count = {"printbibliography": 0, "inputminted": 2}.get(name, 1)
    values, options, after = groups(source, count, at, end)
    scanner.beside.file(values[-1] if values else "", " ".join((name, *options, *values[:-1])))
    return after if values else source.after_option(at, end)


def _picture(scanner: Scanner, source: Source, name: str, at: int, end: int, depth: int) -> int:
    values, options, after = groups(source, 1, at, end)
    if not values:
        return scanner.unknown(source, name, at, end)
    kind = PartKind.MEDIA if name in FILMS else PartKind.PICTURES
    scanner.beside.picture(kind, values[0], " ".join(options))
    return after


def _drawing(scanner: Scanner, source: Source, name: str, at: int, end: int, depth: int) -> int:
    r"""Account for a small drawing, `\tikz{...}` or `\tikz ...;`."""
    start = source.after_option(at, end)
    bounds = source.group(start, end)
    if bounds is None:
        stop = source.find(";", start, end)
        bounds = start, stop if stop >= 0 else start
    scanner.drawing(source, name, bounds, depth)
    return min(end, bounds[1] + 1) if bounds[1] > start else start


def _unprinted(scanner: Scanner, source: Source, name: str, at: int, end: int, depth: int) -> int:
    values, _, after = groups(source, 1, at, end)
    for value in values:
        scanner.beside.text(OutsideKind.HIDDEN, value, f"\\{name}")
    return after


def _struck(scanner: Scanner, source: Source, name: str, at: int, end: int, depth: int) -> int:
    """Read text that is struck through: it is body text, too."""
    bounds = source.group(source.after_option(at, end), end)
    if not bounds:
        return scanner.unknown(source, name, at, end)
    text = scanner.words(source, bounds, depth)
    scanner.beside.text(OutsideKind.DELETED, text)
    scanner.write(text)
    return bounds[1] + 1


def _comment(scanner: Scanner, source: Source, name: str, at: int, end: int, depth: int) -> int:
    bounds = source.group(source.after_option(at, end), end)
    if not bounds:
        return at
    scanner.beside.text(OutsideKind.COMMENTS, scanner.words(source, bounds, depth))
    return bounds[1] + 1


def _spanning(scanner: Scanner, source: Source, name: str, at: int, end: int, depth: int) -> int:
    """Begin a cell over several columns or rows."""
    values, _, after = groups(source, 2, at, end)
    bounds = source.group(source.after_option(after, end), end)
    if values and values[0].strip() != "1":
        scanner.beside.call(f"{name}{{{values[0]}}}", "", source.text[slice(*bounds)] if bounds else "")
    return bounds[0] if bounds else after


def _coloured(scanner: Scanner, source: Source, name: str, at: int, end: int, depth: int) -> int:
    """Begin coloured text: a colour is looks, but white text is hidden."""
    values, _, after = groups(source, 1, at, end)
    bounds = source.group(after, end)
    if values and values[0].strip() in _HIDING_COLOURS:
        shown = source.text[slice(*bounds)] if bounds and name == "textcolor" else f"\\{name}"
        scanner.beside.text(OutsideKind.HIDDEN, shown, values[0])
    return after


def _with_text_in_options(scanner: Scanner, source: Source, name: str, at: int, end: int, depth: int) -> int:
    """Read the words in the options of a part of a figure, or over two columns."""
    after = source.after_option(at, end)
    if after > at:
        scanner.write(" ")
        scanner.scan(source, source.text.index("[", at) + 1, after - 1, depth + 1) if depth < 20 else None
        scanner.write(" ")
    return after


def _metadata(scanner: Scanner, source: Source, name: str, at: int, end: int, depth: int) -> int:
    values, _, after = groups(source, 1, at, end)
    for value in values:
        scanner.beside.metadata(value)
    return after


def _verbatim_option(scanner: Scanner, source: Source, name: str, at: int, end: int, depth: int) -> int:
    values, _, after = groups(source, 1, at, end)
    for value in values:
        scanner.beside.code(value)
    return after


def _handled() -> dict[str, Handler]:
    """The handlers by the names of commands; the first that names a command has it."""
    kinds: tuple[tuple[Iterable[str], Handler], ...] = (
        ((*TITLES, *LEVELS, "caption", "captionof", "frametitle"), _heading),
        (FOOTNOTES, _note),
        (FRONT, _front),
        (HEADS, _head),
        (DEFINING | UNUSUAL, _definition),
        (("let",), _let),
        (("newif", "newtoggle", "providetoggle", "newbool", "providebool", "newboolean"), _new_condition),
        ((*_SETTING, "settoggle", "setbool", "setboolean"), _set_condition),
        (("iftoggle", "ifbool", "ifthenelse"), _if_then_else),
        (("excludecomment", "excludeversion", "includecomment", "includeversion"), _exclude),
        (("item", "bibitem"), _item),
        (("textsuperscript", "textsubscript", "textsuperior", "textinferior", "up"), _script),
        (QUANTITIES, _quantity),
        (CITES, _cite),
        (REFERENCES, _reference),
        (("label",), _label),
        (("href",), _link),
        (INPUTS, _input),
        (LISTINGS, _listing),
        (GRAPHICS | FILMS, _picture),
        (("tikz", "chemfig", "xymatrix"), _drawing),
        (UNPRINTED, _unprinted),
        (STRIKING, _struck),
        (COMMENTING, _comment),
        (("multicolumn", "multirow"), _spanning),
        (("textcolor", "color"), _coloured),
        (("subfloat", "subfigure", "twocolumn", "subcaptionbox"), _with_text_in_options),
        (("hypersetup",), _metadata),
        ((VERBATIM_OPTION,), _verbatim_option),
        (("ensuremath",), _ensured),
        (("appendix",), _appendix),
        (WORDS, _character),
        (ACCENTS, _accent),
        (FORMULA_COMMANDS, _in_formula),
        (SIGNS, _character),
    )
    return {name: handler for names, handler in reversed(kinds) for name in names}


HANDLERS = _handled()
"""Handlers by the names of commands; other commands are looks, or unknown."""
