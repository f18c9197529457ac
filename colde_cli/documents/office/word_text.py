"""Text of the runs and fields of a Word file: what belongs to the body, and what stands beside it.

Hidden and deleted letters, codes of fields and letters that cannot be seen go to the account of the document; raised
and lowered letters, symbols and formulas are written as plain text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from colde_cli.documents.notation import TICKED, UNTICKED, fraction, lowered, raised
from colde_cli.documents.office.archive import Attributes
from colde_cli.documents.office.body import STRUCK, Body, Letters, Paragraph, Stretches, TextStyle
from colde_cli.documents.office.word_formulas import WordFormula
from colde_cli.documents.office.word_styles import BOXES, NumberCounter, Numbering, WordStyles, switched_on
from colde_cli.documents.outside import OutsideKind, PartKind, digest_of
from colde_cli.documents.symbol_fonts import symbols

PARAGRAPH_END = "\n\n"
_LONGEST_ABOUT = 300
_DEEPEST = 20  # fields inside fields


@dataclass(slots=True)
class WordParagraph(Paragraph):
    """A paragraph of a Word file that is being read."""

    in_list: str | None = None  # identifier of the list that it is in, if the paragraph itself states it
    list_level: str = ""  # its level there
    shaded: bool = False  # it has a colour behind its letters
    end_hidden: bool = False  # its end is hidden
    goes_on: bool = False  # its end was deleted, or it is a large initial, so that the next paragraph continues it

    def runs_on(self, before: str, after: str) -> bool:
        """Whether a letter would be read as one with another that a formula stands between."""
        return before.isalnum() and after.isalnum()

    def scripted(self, text: str, after: str, script: int) -> str:
        """Write raised or lowered text; its digits must not run into those after it."""
        write = raised if self._script > 0 else lowered
        written = write(self.before, text)
        if text[-1:].isdigit() and after[:1].isdigit():
            return write(self.before, f"({text})") if written != text else f"{text} "
        return written


@dataclass(slots=True)
class WordText(Body):
    """Takes the text of runs to where it belongs."""

    styles: WordStyles
    page_numbers: bool = False  # a field with a page number is written as `#`; so it is in headers and footers
    background: bool = False  # the page has a colour, so that white letters can be seen
    numbering: Numbering = field(default_factory=Numbering)  # the definitions of its lists
    given: int = 0  # texts and parts so far: a fallback is read where its first choice gives none
    _paragraphs: list[WordParagraph] = field(default_factory=list)
    _run: TextStyle | None = None  # what the current run states itself, and the style that it is based on
    _letters: Letters | None = None  # of the current run; None until they are looked up
    _fields: list[WordField] = field(default_factory=list)
    _controls: list[Form] = field(default_factory=list)
    _formula: WordFormula | None = None
    log: list[str] = field(default_factory=list)  # the text as a reader sees it, piece by piece
    _deleted: int = 0  # depth inside deletions
    _moved: int = 0  # of these: inside text that was moved away
    _covered: int = 0  # depth inside hidden drawings
    _box: bool | None = None  # a box is expected, ticked or not
    _counters: dict[bool, NumberCounter] = field(default_factory=dict)  # of the text boxes, and of the rest
    _stretches: Stretches = field(init=False)

    def __post_init__(self) -> None:
        self._stretches = Stretches(self.account)

    def write(self, text: str) -> None:
        """Take text of a run."""
        if not (text and self._paragraphs):
            return
        if self._letters is None:
            self._letters = self._look()
        if (code := self._code_around(self._fields[-_DEEPEST:-1])) is not None:
            code.append(text)
        elif self._deleted or self._letters.hidden or self._covered:
            self.given += not text.isspace()
            kind = OutsideKind.DELETED if self._deleted else OutsideKind.HIDDEN
            self._stretches.set_aside(text, kind, "moved" if self._deleted and self._moved else "")
        elif not (self._fields and self._is_page_number(self._fields[-1])):
            self._show(text, self._letters)

    def account_part(self, kind: PartKind, digest: str, about: str = "", source: str = "") -> None:
        """Account for a part that is not read; one that is deleted or hidden is another one."""
        self.given += 1
        state = "deleted" if self._deleted else "hidden" if self._covered or self._is_hidden() else ""
        if state:
            digest, about, source = digest_of(f"{state} {digest}".encode()), f"{state} {about}", ""
        self.account.add_part(kind, digest, about, source=source)

    def words_since(self, start: int) -> str:
        """The first words of the text since a place of the log."""
        pieces: list[str] = []
        length = 0
        for piece in self.log[start : start + _LONGEST_ABOUT]:
            pieces.append(piece)
            length += len(piece)
            if length > _LONGEST_ABOUT:
                break
        return " ".join("".join(pieces)[:_LONGEST_ABOUT].split())

    def begin_paragraph(self, paragraph: WordParagraph) -> None:
        """Begin a paragraph, also one inside a box in another."""
        self._paragraphs.append(paragraph)
        self._letters = None

    def end_paragraph(self) -> WordParagraph:
        """End the innermost paragraph."""
        paragraph = self._paragraphs.pop()
        paragraph.finish()
        self.log.append(PARAGRAPH_END)
        self._letters = None
        if not paragraph.goes_on:
            self.end_stretches()
        return paragraph

    def count(self, paragraph: WordParagraph) -> None:
        """Count a paragraph in its list; one in a deleted row, or that is hidden with its end, shows no number."""
        of_style = self.styles.list_of(paragraph.style)
        number = of_style.number if paragraph.in_list is None else paragraph.in_list
        if not number or number == "0" or self._deleted or (paragraph.end_hidden and not paragraph.text.strip()):
            return
        level = paragraph.list_level or self.numbering.level_of(number, of_style.styles)
        level = level or (of_style.level if paragraph.in_list is None else "")
        boxed = None in self._places
        if boxed not in self._counters:
            self._counters[boxed] = NumberCounter(self.numbering)
        self.counted_numbers |= self.numbering.counts(number)
        paragraph.number = self._counters[boxed].count(number, level)

    def end_stretches(self) -> None:
        """Account for the text set aside so far, and for the text with marks."""
        self._stretches.end_aside()
        self._stretches.end_marks()

    def begin_field(self, code: str | None = None) -> None:
        """Begin a field; one that is stated with its code has only a result."""
        paragraph = self._paragraphs[-1] if self._paragraphs else None
        pieces = [] if code is None else [code]
        self._fields.append(WordField(paragraph, len(self.log), code is not None, pieces))

    def end_code(self) -> None:
        """End the code of a field: its result follows."""
        if self._fields:
            self._fields[-1].within_result, self._fields[-1].start = True, len(self.log)

    def end_field(self) -> None:
        """End a field: account for its link, its choices and its code, and write what shows without a result."""
        if not self._fields:
            return
        ended = self._fields.pop()
        result = self.words_since(ended.start) if ended.within_result else ""
        if (code := self._code_around(self._fields)) is not None:  # of a field that hangs on this one
            code.append(f"{{{ended.words}}}")
        elif self._is_page_number(ended):
            self.write("#")
        elif ended.link:
            self.account.add_text(OutsideKind.LINKS, ended.link, result)
        else:
            before = self._paragraphs[-1].before if self._paragraphs else ""
            shown = "" if result.strip() else ended.shown(before)
            self.write(shown)
            if ended.words and not shown and not self._deleted and ended.is_told(result):
                self.account.add_text(OutsideKind.CODE, ended.words, result)
        if ended.form:
            self.account_form(ended.form)

    def account_form(self, form: Form) -> None:
        """Account for what the text does not show of a form."""
        for value in form.values:
            self.account.add_text(OutsideKind.FORM_VALUES, value, form.title)

    def _look(self) -> Letters:
        run = self._run or TextStyle()
        return self.styles.letters(self._paragraphs[-1].style, run.based_on, run.letters)

    def _is_hidden(self) -> bool:
        return bool(self._paragraphs) and self._look().hidden

    def _code_around(self, fields: Sequence[WordField]) -> list[str] | None:
        """The code of one of these fields, if it has not ended: a result inside it is not shown.

        Without a mark of its end a code ends with its paragraph, so that no text is lost.
        """
        paragraph = self._paragraphs[-1] if self._paragraphs else None
        around = (one.code for one in fields if not one.within_result and one.paragraph is paragraph)
        return next(around, None)

    def _is_page_number(self, field: WordField) -> bool:
        return self.page_numbers and field.name in PAGE_NUMBERS

    def _show(self, text: str, letters: Letters) -> None:
        paragraph = self._paragraphs[-1]
        if letters.font:
            text = symbols(letters.font, text)
        if not text.isspace():
            self.given += 1
            if self._box is not None:
                text = self._ticked(text.lstrip(), stated=TICKED if self._box else UNTICKED)
                self._box = None
        self.log.append(text)
        marks = [STRUCK] * letters.struck
        if letters.faint and not (self._places or self.background or paragraph.shaded):
            marks.append((OutsideKind.HIDDEN, letters.faint))
        self._stretches.show(text, *marks)
        if self._formula:
            self._formula.add(text)
        else:
            paragraph.put(text, letters.script)

    def _ticked(self, text: str, stated: str) -> str:
        """The text of a box, written as in all formats; a state that the letter does not show is accounted for."""
        shown = BOXES.get(text[:1], "")
        if not shown and len(text) > 1 and not text.startswith("["):
            return stated + text
        if shown and shown != stated:
            words = "ticked" if stated == TICKED else "not ticked"
            title = self._controls[-1].title if self._controls else ""
            self.account.add_text(OutsideKind.FORM_VALUES, words, title)
            return shown + text[1:]
        return stated + (text[1:] if shown or len(text) == 1 else "")


PAGE_NUMBERS = frozenset(("PAGE", "NUMPAGES", "SECTIONPAGES", "SECTION"))
"""Fields whose result hangs on the layout."""
# A reader sees the result of these, but it hangs on what the code says.
_TELLING = frozenset(
    "IF = INCLUDETEXT INCLUDEPICTURE LINK DDE DDEAUTO ASK FILLIN SET DATABASE COMPARE MERGEFIELD NEXTIF SKIPIF".split()
)
_PROMPTS = frozenset(("MACROBUTTON", "GOTOBUTTON"))
_LINK = re.compile(r'\s*HYPERLINK\s+(?:"((?:[^"\\]|\\.)*)"|([^\s"\\]\S*))?', re.IGNORECASE)
_LINK_PLACE = re.compile(r'\\l\s+"([^"]*)"', re.IGNORECASE)
_FRACTION = re.compile(r"EQ\s+\\f\s*\((.*?)[,;](.*)\)", re.IGNORECASE)
_ROOT = re.compile(r"EQ\s+\\r\s*\((?:(.*?)[,;])?(.*)\)", re.IGNORECASE)
_RAISED = re.compile(r"EQ\s+\\s\s*\\up\s*\d*\s*\((.*)\)", re.IGNORECASE)


@dataclass(slots=True)
class Form:
    """A content control (`w:sdt`), or a box, a list or a line of an old form (`w:ffData`)."""

    title: str = ""  # that an editor shows
    kind: str = ""  # the element of an old form that says what it is
    ticked: bool | None = None  # of a box; None for anything else
    choice: int = 0  # index of the choice that is shown
    choices: list[str] = field(default_factory=list)
    hidden: list[str] = field(default_factory=list)  # texts that a reader sees only on asking for them

    def take(self, name: str, attributes: Attributes) -> None:
        """Take one of its properties."""
        value = attributes.get("w:val", "")
        match name:
            case "w:alias" | "w:name":
                self.title = value
            case "w14:checkbox":
                self.ticked = False
            case "w14:checked":
                self.ticked = attributes.get("w14:val", "1") not in ("0", "false", "off")
            case "w:listItem":
                shown, value = attributes.get("w:displayText", ""), attributes.get("w:value", "")
                both = shown and value and shown != value
                self.choices.append(f"{shown} ({value})" if both else shown or value)
            case "w:date" if "w:fullDate" in attributes:
                self.hidden.append(attributes["w:fullDate"])
            case "w:checkBox" | "w:ddList" | "w:textInput":
                self.kind = name
            case "w:checked":
                self.ticked = switched_on(attributes)
            case "w:default" if self.kind == "w:checkBox":
                self.ticked = switched_on(attributes) if self.ticked is None else self.ticked
            case "w:listEntry":
                self.choices.append(value)
            case "w:helpText" | "w:statusText":
                self.hidden.append(value)
            case "w:default" if self.kind == "w:textInput":
                self.hidden.append(value)
            case "w:default" | "w:result" if value.isdecimal():
                self.choice = int(value[:6])

    @property
    def shown(self) -> str:
        """The box of an old form, ticked or not, or the choice."""
        if self.kind == "w:checkBox":
            return TICKED if self.ticked else UNTICKED
        return self.choices[self.choice] if self.choice < len(self.choices) else ""

    @property
    def values(self) -> list[str]:
        """Its choices in one text, and the hidden texts."""
        return [", ".join(self.choices), *self.hidden]


@dataclass(slots=True)
class WordField:
    """A field that is being read."""

    paragraph: object  # the one that it began in
    start: int  # place in the log of text at which its result begins
    within_result: bool = False  # the code has ended
    code: list[str] = field(default_factory=list)  # pieces of what it says, and of the results of fields inside it
    form: Form | None = None

    @property
    def words(self) -> str:
        """Its code in one line."""
        return " ".join("".join(self.code).split())

    @property
    def name(self) -> str:
        """The first word of its code, in capitals; "=" for a formula."""
        words = self.words
        return "=" if words.startswith("=") else words.partition(" ")[0].upper()

    @property
    def link(self) -> str:
        """The target of a link, apart from those within the document."""
        match = _LINK.match(self.words)
        if not match:
            return ""
        target = (match.group(1) or match.group(2) or "").replace("\\\\", "\\")
        place = _LINK_PLACE.search(self.words)
        return f"{target}#{place.group(1)}" if target and place else target

    def is_told(self, result: str) -> bool:
        """Whether its code matters beside its result."""
        return not result.strip() or self.name in _TELLING

    def shown(self, before: str) -> str:
        """What a reader sees of a field without a result."""
        words = self.words
        if self.form:
            return self.form.shown
        if self.name in _PROMPTS:
            return words.split(" ", 2)[2] if words.count(" ") > 1 else ""
        if match := _FRACTION.fullmatch(words):
            return fraction(*match.groups())
        if match := _ROOT.fullmatch(words):
            return f"√{f'[{match.group(1)}]' if match.group(1) else ''}({match.group(2)})"
        if match := _RAISED.fullmatch(words):
            return raised(before, match.group(1))
        return ""
