"""Text of the runs of a Word file: what belongs to the body, and what stands beside it.

Hidden and deleted letters, codes of fields and letters that cannot be seen go to the account of the document; raised
and lowered letters, symbols and formulas are written as plain text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from colde_cli.documents.notation import TICKED, UNTICKED, lowered, raised
from colde_cli.documents.office.body import Body, Paragraph
from colde_cli.documents.office.formulas import WordFormula
from colde_cli.documents.office.symbols import box, symbols
from colde_cli.documents.office.word_fields import PAGE_NUMBERS, Control, WordField
from colde_cli.documents.office.word_styles import LetterProperties, Letters, WordStyles
from colde_cli.documents.outside import OutsideKind, PartKind, digest_of

_LONGEST_ABOUT = 300
_DEEPEST = 20  # fields inside fields
_MOVED, _STRUCK = "moved", "struck through"


@dataclass(slots=True)
class WordParagraph(Paragraph):
    """A paragraph of a Word file that is being read.

    Attributes:
        in_list: identifier of the list that it is in, if the paragraph itself states it.
        list_level: its level there.
        shaded: it has a colour behind its letters.
    """

    in_list: str | None = None
    list_level: str = ""
    shaded: bool = False
    _script: int = 0
    _scripted: list[str] = field(default_factory=list)
    _after_formula: bool = False

    def put(self, text: str, script: int = 0) -> None:
        """Add text of a run; raised (1) or lowered (-1) text of several runs is one script."""
        if self._script and script != self._script:
            self._end_script(text)
        self._script = script
        if script:
            self._scripted.append(text)
            return
        if self._after_formula and text[:1].isalnum() and self.before.isalnum():
            text = f" {text}"
        self._after_formula = False
        self.pieces.append(text)

    def put_formula(self, formula: WordFormula) -> str:
        """Add a formula; return what of it is not shown."""
        self.finish()
        text, unseen = formula.written(self.before)
        if text:
            self.pieces.append(text)
            self._after_formula = True
        return unseen

    def finish(self) -> None:
        """End the script at its end."""
        if self._script:
            self._end_script("")
            self._script = 0

    @property
    def before(self) -> str:
        """The last letter so far."""
        return next((piece[-1:] for piece in reversed(self.pieces) if piece), "")

    def _end_script(self, following: str) -> None:
        text, before, write = "".join(self._scripted), self.before, raised if self._script > 0 else lowered
        self._scripted.clear()
        written = write(before, text)
        if text[-1:].isdigit() and following[:1].isdigit():  # its digits must not run into those after it
            written = write(before, f"({text})") if written != text else f"{text} "
        self.pieces.append(written)


@dataclass(slots=True)
class Run:
    """A run that is being read.

    Attributes:
        style: its identifier.
        direct: what the run itself states of its letters; None for nothing.
    """

    style: str = ""
    direct: LetterProperties | None = None


@dataclass(slots=True)
class _Aside:
    """Text of neighbouring runs that is accounted for as one."""

    kind: OutsideKind
    about: str
    pieces: list[str]


@dataclass(slots=True)
class WordText(Body):
    """Takes the text of runs to where it belongs.

    Attributes:
        page_numbers: a field with a page number is written as `#`; so it is in headers and footers.
        background: the page has a colour, so that white letters can be seen.
    """

    styles: WordStyles
    page_numbers: bool = False
    background: bool = False
    given: int = 0  # texts and parts so far: a fallback is read where its first choice gives none
    _open: list[WordParagraph] = field(default_factory=list)
    _runs: list[Run] = field(default_factory=list)
    _letters: Letters | None = None  # of the current run; None until they are looked up
    _fields: list[WordField] = field(default_factory=list)
    _controls: list[Control] = field(default_factory=list)
    _formula: WordFormula | None = None
    _log: list[str] = field(default_factory=list)  # the text as a reader sees it, piece by piece
    _deleted: int = 0  # depth inside deletions
    _moved: int = 0  # of these: inside text that was moved away
    _covered: int = 0  # depth inside hidden drawings
    _box: bool | None = None  # a box is expected, ticked or not
    _aside: _Aside | None = None
    _marked: dict[str, list[str]] = field(default_factory=dict)  # text of the body that is also accounted for

    def write(self, text: str) -> None:
        """Take text of a run."""
        if not (text and self._open):
            return
        if self._letters is None:
            self._letters = self._look()
        if (code := self._code_around(self._fields[-_DEEPEST:-1])) is not None:
            code.append(text)
        elif self._deleted:
            self._set_aside(OutsideKind.DELETED, _MOVED if self._moved else "", text)
        elif self._letters.hidden or self._covered:
            self.hidden += 1
            self._set_aside(OutsideKind.HIDDEN, "", text)
        elif not (self._fields and self._is_page_number(self._fields[-1])):
            self._show(text, self._letters)

    def account_part(self, kind: PartKind, digest: str, about: str = "", source: str = "") -> None:
        """Account for a part that is not read; one that is deleted or hidden is another one."""
        self.given += 1
        state = "deleted" if self._deleted else "hidden" if self._covered or self._is_hidden() else ""
        if state:
            digest, about, source = digest_of(f"{state} {digest}".encode()), f"{state} {about}", ""
        self.builder.account.add_part(kind, digest, about, source=source)

    def words_since(self, start: int) -> str:
        """The first words of the text since a place of the log."""
        pieces: list[str] = []
        length = 0
        for piece in self._log[start : start + _LONGEST_ABOUT]:
            pieces.append(piece)
            length += len(piece)
            if length > _LONGEST_ABOUT:
                break
        return " ".join("".join(pieces)[:_LONGEST_ABOUT].split())

    def begin_paragraph(self, paragraph: WordParagraph) -> None:
        """Begin a paragraph, also one inside a box in another."""
        self._open.append(paragraph)
        self._letters = None

    def end_paragraph(self) -> WordParagraph:
        """End the innermost paragraph."""
        paragraph = self._open.pop()
        paragraph.finish()
        self._log.append(" ")
        self._letters = None
        if not paragraph.goes_on:
            self.end_asides()
        return paragraph

    def end_asides(self) -> None:
        """Account for the text set aside so far."""
        if self._aside:
            self.builder.account.add_text(self._aside.kind, "".join(self._aside.pieces), self._aside.about)
            self._aside = None
        for about in list(self._marked):
            self._end_marked(about)

    def begin_field(self, code: str | None = None) -> None:
        """Begin a field; one that is stated with its code has only a result."""
        paragraph = self._open[-1] if self._open else None
        pieces = [] if code is None else [code]
        self._fields.append(WordField(paragraph, len(self._log), code is not None, pieces))

    def end_code(self) -> None:
        """End the code of a field: its result follows."""
        if self._fields:
            self._fields[-1].within_result, self._fields[-1].start = True, len(self._log)

    def end_field(self) -> None:
        """End a field: account for its link, its choices and its code, and write what shows without a result."""
        if not self._fields:
            return
        ended = self._fields.pop()
        account = self.builder.account
        result = self.words_since(ended.start) if ended.within_result else ""
        if (code := self._code_around(self._fields)) is not None:  # of a field that hangs on this one
            code.append(f"{{{ended.words}}}")
        elif self._is_page_number(ended):
            self.write("#")
        elif ended.link:
            account.add_text(OutsideKind.LINKS, ended.link, result)
        else:
            shown = "" if result.strip() else ended.shown(self._open[-1].before if self._open else "")
            self.write(shown)
            if ended.words and not shown and not self._deleted and ended.is_told(result):
                account.add_text(OutsideKind.CODE, ended.words, result)
        for value in ended.form.values if ended.form else ():
            account.add_text(OutsideKind.FORM_VALUES, value, ended.form.name if ended.form else "")

    def end_control(self) -> None:
        """End a content control: account for what its text does not show."""
        if not self._controls:
            return
        ended = self._controls.pop()
        if ended.ticked is not None and self._box is not None:
            self.write(TICKED if ended.ticked else UNTICKED)  # it has no text
            self._box = None
        for value in (", ".join(ended.choices), *ended.values):
            self.builder.account.add_text(OutsideKind.FORM_VALUES, value, ended.title)

    def _look(self) -> Letters:
        run, paragraph = self._runs[-1] if self._runs else Run(), self._open[-1]
        return self.styles.letters(paragraph.style, run.style, run.direct)

    def _is_hidden(self) -> bool:
        return bool(self._open) and self._look().hidden

    def _code_around(self, fields: Sequence[WordField]) -> list[str] | None:
        """The code of one of these fields, if it has not ended: a result inside it is not shown.

        Without a mark of its end a code ends with its paragraph, so that no text is lost.
        """
        paragraph = self._open[-1] if self._open else None
        around = (one.code for one in fields if not one.within_result and one.paragraph is paragraph)
        return next(around, None)

    def _is_page_number(self, field: WordField) -> bool:
        return self.page_numbers and field.name in PAGE_NUMBERS

    def _show(self, text: str, letters: Letters) -> None:
        """Add text that a reader sees to its paragraph or formula."""
        if letters.font:
            text = symbols(letters.font, text)
        blank = text.isspace()
        if self._box is not None and not blank:
            text = self._ticked(text.lstrip())
        self.given += not blank
        self._log.append(text)
        self._mark(text, letters, blank=blank)
        if self._aside and blank:
            self._aside.pieces.append(text)
        elif self._aside:
            self.builder.account.add_text(self._aside.kind, "".join(self._aside.pieces), self._aside.about)
            self._aside = None
        if self._formula:
            self._formula.add(text)
        else:
            self._open[-1].put(text, letters.script)

    def _mark(self, text: str, letters: Letters, *, blank: bool) -> None:
        """Account for text of the body that is struck through, or that cannot be seen."""
        faint = "" if self._places or self.background or self._open[-1].shaded else letters.faint
        if not (faint or letters.struck or self._marked):
            return
        marks = {mark for mark in (faint, _STRUCK * letters.struck) if mark}
        for about in [about for about in self._marked if about not in marks]:
            if blank:
                self._marked[about].append(text)
            else:
                self._end_marked(about)
        for about in sorted(marks):
            self._marked.setdefault(about, []).append(text)

    def _end_marked(self, about: str) -> None:
        kind = OutsideKind.DELETED if about == _STRUCK else OutsideKind.HIDDEN
        self.builder.account.add_text(kind, "".join(self._marked.pop(about)), about)

    def _set_aside(self, kind: OutsideKind, about: str, text: str) -> None:
        self.given += not text.isspace()
        if self._aside and (self._aside.kind, self._aside.about) != (kind, about):
            self.builder.account.add_text(self._aside.kind, "".join(self._aside.pieces), self._aside.about)
            self._aside = None
        if self._aside is None:
            self._aside = _Aside(kind, about, [])
        self._aside.pieces.append(text)

    def _ticked(self, text: str) -> str:
        """The text of a box, written as in all formats; a state that the letter does not show is accounted for."""
        stated = TICKED if self._box else UNTICKED
        self._box = None
        shown = box(text[:1])
        if not shown and len(text) > 1 and not text.startswith("["):
            return stated + text
        if shown and shown != stated:
            words = "ticked" if stated == TICKED else "not ticked"
            title = self._controls[-1].title if self._controls else ""
            self.builder.account.add_text(OutsideKind.FORM_VALUES, words, title)
            return shown + text[1:]
        return stated + (text[1:] if shown or len(text) == 1 else "")
