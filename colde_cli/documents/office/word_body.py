"""The body of a Word file, its notes, comments and headers: what the elements of their XML mean."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from colde_cli.documents.builder import MAX_CHARACTERS, DocumentBuilder, too_much_text
from colde_cli.documents.office.archive import MAX_ELEMENTS
from colde_cli.documents.office.body import Note, Paragraph, Table
from colde_cli.documents.office.formulas import FORMULA, WordFormula
from colde_cli.documents.office.symbols import symbol
from colde_cli.documents.office.word_drawings import Attributes, WordDrawings
from colde_cli.documents.office.word_fields import FORM_ELEMENTS, Control, FormField
from colde_cli.documents.office.word_styles import (
    LETTER_PROPERTIES,
    LetterProperties,
    Numbering,
    outline_level,
    switched_on,
)
from colde_cli.documents.office.word_text import Run, WordParagraph
from colde_cli.documents.outside import OutsideKind

# The content of these is no text of the document, and nothing that a reader sees: records of earlier properties, code
# of deleted fields, the name of a picture's file.
_SKIPPED = frozenset(
    (
        *("w:pPrChange", "w:rPrChange", "w:tblPrChange", "w:trPrChange", "w:tcPrChange", "w:sectPrChange"),
        *(
            "w:numberingChange",
            "w:tblGridChange",
            "w:tblPrExChange",
            "w:delInstrText",
            "w:fldData",
            "w:binData",
        ),
        *("pic:cNvPr", "w:placeholder"),
    )
)
_PROPERTIES = frozenset(
    ("w:pPr", "w:rPr", "w:trPr", "w:tcPr", "w:tblPr", "m:ctrlPr", "w:sectPr", "w:sdtPr", "w:sdtEndPr")
)
_DELETIONS = frozenset(("w:del", "w:moveFrom"))  # in the properties of a paragraph: its end is deleted
_BLANKS = {"w:tab": "\t", "w:ptab": "\t", "w:br": " ", "w:cr": " ", "w:noBreakHyphen": "-", "a:br": " "}
_CODE = "w:instrText"
_TEXT = frozenset(("w:t", "m:t", "a:t", "w:delText", _CODE))
_NOTES = frozenset(("w:footnote", "w:endnote", "w:comment", "w:hdr", "w:ftr"))
_REFERENCES = {"w:footnoteReference": "w:footnote", "w:endnoteReference": "w:endnote"}
# A line of a table of contents: words, a tab or dots, and the number of a page.
_PAGE = re.compile(r"(?:\t|\s*[.…·_]{3,}\s*)\s*[\divxlcIVXLC–-]{1,12}\s*$")


@dataclass(slots=True)
class Header:
    """A header or footer that a section names."""

    kind: OutsideKind
    pages: str
    identifier: str
    shown: bool = True


@dataclass(slots=True)
class WordBody(WordDrawings):
    """The main part, or another one with text: notes, comments, a header.

    Attributes:
        numbering: its lists.
        notes: text of each note by kind ("w:footnote") and identifier; removed once it is referred to.
        commented: the words that each comment is about, by its identifier, in the order of the text.
        headers: of all sections.
    """

    numbering: Numbering = field(default_factory=Numbering)
    notes: dict[tuple[str, str], str] = field(default_factory=dict)
    commented: dict[str, str] = field(default_factory=dict)
    headers: list[Header] = field(default_factory=list)
    _joined: WordParagraph | None = None
    _note_characters: int = 0
    _mode: str = ""  # the element whose characters are text
    _properties: list[str] = field(default_factory=list)
    _rows: list[bool] = field(default_factory=list)  # open rows: whether they are deleted
    _ranges: dict[str, int] = field(default_factory=dict)  # comment -> place in the log where its words begin
    _links: list[tuple[str, str, int]] = field(default_factory=list)
    _sections: list[Header] = field(default_factory=list)  # of the current section
    _first_page: bool = False
    _author: str = ""
    _form: FormField | None = None
    _ruby: list[int] = field(default_factory=list)
    _reading: list[str] = field(default_factory=list)
    _in_reading: bool = False

    def side_part(self, name: str, *, page_numbers: bool = False) -> WordBody:
        """Read another part, with an account of its own; one that is missing gives nothing."""
        builder = DocumentBuilder(self.builder.path)
        part = WordBody(builder, self.styles, package=self.package, part=name)
        part.inner_document = self.inner_document
        part.page_numbers = page_numbers
        if self.package and name:
            self.package.read(name, part, MAX_ELEMENTS)
        part.finish()
        self.notes |= {key: text for key, text in part.notes.items() if key[0] in _REFERENCES.values()}
        self.tracked += part.tracked
        self.commented |= part.commented
        return part

    def start(self, name: str, attributes: Attributes) -> None:
        """Begin an element."""
        if self._skipping:
            self._skipping += 1
        elif (handler := _STARTS.get(name)) is not None:
            handler(self, attributes)
        elif self._properties:
            self._property(name, attributes)
        elif self._formula and name[:2] == "m:":
            self._formula.start(name, attributes)
        elif name[:2] != "w:":
            self.drawn(name, attributes)
        elif "r:id" in attributes:
            self._refer(name, attributes)
        else:
            self._note_or_field(name, attributes)

    def end(self, name: str) -> None:
        """End an element."""
        if self._skipping:
            self._skipping -= 1
        elif (handler := _ENDS.get(name)) is not None:
            handler(self)
        elif self._formula and name[:2] == "m:":
            self._formula.end(name)
        elif self._shapes and name == self._shapes[-1][0]:
            self.end_shape()

    def characters(self, text: str) -> None:
        """Take text of a run, or of the code of a field."""
        if not self._mode or self._skipping:
            return
        if self._mode == _CODE:
            if self._fields and not self._deleted:
                self._fields[-1].code.append(text)
        elif self._in_reading:
            self._reading.append(text)
        else:
            self.write(text)

    def finish(self) -> None:
        """End the part: place the last paragraph, if its end was deleted."""
        self.end_asides()
        if self._joined:
            self.place_paragraph(self._joined)
            self._joined = None

    def add_paragraph(self, paragraph: Paragraph, text: str) -> None:
        """Add a paragraph; a line of the table of contents stands outside the body."""
        if self.styles.is_contents(paragraph.style):
            self.builder.account.add_text(OutsideKind.CONTENTS, _PAGE.sub("", text))
        else:
            super(WordBody, self).add_paragraph(paragraph, text)

    def _property(self, name: str, attributes: Attributes) -> None:
        """Take a property of a paragraph, a run, a row or a section."""
        value, within = attributes.get("w:val", ""), self._properties
        if within[0] == "w:pPr" and len(within) == 1 and self._open:
            self._paragraph_property(self._open[-1], name, value, attributes)
        elif within[-1] == "w:rPr" and len(within) == 1 and self._runs:
            run = self._runs[-1]
            if name == "w:rStyle":
                run.style, self._letters = value, None
            elif name in LETTER_PROPERTIES:
                run.direct = run.direct or LetterProperties()
                run.direct.take(name, attributes)
                self._letters = None
        elif name in _DELETIONS and within == ["w:pPr", "w:rPr"] and self._open:
            self._open[-1].goes_on = True  # the next paragraph continues it, and gives the style
        elif name in _DELETIONS and within[-1] == "w:trPr" and self._rows and not self._rows[-1]:
            self._rows[-1] = True
            self._deleted += 1
        elif within[-1] == "w:sectPr":
            self._section_property(name, attributes)
        elif within == ["w:sdtPr"] and self._controls:
            self._controls[-1].take(name, attributes)
        elif name in ("w:tblCaption", "w:tblDescription"):
            self.builder.account.add_text(OutsideKind.ALTERNATIVES, value, "table")

    def _paragraph_property(
        self, paragraph: WordParagraph, name: str, value: str, attributes: Attributes
    ) -> None:
        if name == "w:pStyle":
            paragraph.style, self._letters = value, None
        elif name == "w:numId":
            paragraph.in_list = value
        elif name == "w:ilvl":
            paragraph.list_level = value
        elif name == "w:outlineLvl":
            paragraph.level = outline_level(value)
        elif name == "w:shd":
            paragraph.shaded = attributes.get("w:fill", "auto").lower() not in ("auto", "ffffff")

    def _section_property(self, name: str, attributes: Attributes) -> None:
        if name in ("w:headerReference", "w:footerReference"):
            kind = OutsideKind.HEADERS if name == "w:headerReference" else OutsideKind.FOOTERS
            pages = attributes.get("w:type", "default")
            self._sections.append(Header(kind, pages, attributes.get("r:id", "")))
        elif name == "w:titlePg":
            self._first_page = switched_on(attributes)

    def _end_properties(self) -> None:
        if self._properties and self._properties.pop() == "w:sectPr":
            for header in self._sections:
                header.shown = header.pages != "first" or self._first_page
            self.headers += self._sections
            self._sections, self._first_page = [], False

    def _begin_skipped(self, _: Attributes) -> None:
        self._skipping = 1

    def _end_text(self) -> None:
        self._mode = ""

    def _begin_insertion(self, _: Attributes) -> None:
        self.tracked += 1

    def _begin_deletion(self, attributes: Attributes) -> None:
        """Begin a deletion; in properties it is a mark on the end of a paragraph, or on a row."""
        self.tracked += 1
        if self._properties:
            self._property("w:del", attributes)
        else:
            self._deleted += 1

    def _end_deletion(self) -> None:
        self._deleted -= not self._properties

    def _begin_move(self, attributes: Attributes) -> None:
        self._begin_deletion(attributes)
        self._moved += not self._properties

    def _end_move(self) -> None:
        self._end_deletion()
        self._moved -= not self._properties

    def _begin_table(self, _: Attributes) -> None:
        self._places.append(Table())

    def _begin_row(self, _: Attributes) -> None:
        self._rows.append(False)

    def _end_row(self) -> None:
        """End a row; one that is deleted is no text."""
        if self._rows and self._rows.pop():
            self._deleted -= 1
        self.end_row()

    def _begin_text_box(self, _: Attributes) -> None:
        self.begin_box()

    def _end_text_box(self) -> None:
        self._places.pop()
        self._letters = None

    def _begin_paragraph(self, _: Attributes) -> None:
        before, self._joined = self._joined, None
        paragraph = WordParagraph(pieces=before.pieces, notes=before.notes) if before else WordParagraph()
        self.begin_paragraph(paragraph)

    def _end_paragraph(self) -> None:
        if not self._open:
            return
        paragraph = self.end_paragraph()
        if paragraph.goes_on:
            self._joined = paragraph
            return
        stated, level = self.styles.list_of(paragraph.style)
        number = stated if paragraph.in_list is None else paragraph.in_list
        if number and number != "0":
            level = paragraph.list_level or level
            self.counted_numbers |= self.numbering.use(number, level, paragraph.style)
        self.place_paragraph(paragraph)

    def _begin_run(self, _: Attributes) -> None:
        self._runs.append(Run())
        self._letters = None

    def _begin_drawn_paragraph(self, _: Attributes) -> None:
        self.begin_box()
        self.begin_paragraph(WordParagraph())

    def _end_drawn_paragraph(self) -> None:
        if self._open:
            self.place_paragraph(self.end_paragraph())
            self._places.pop()

    def _begin_math_run(self, attributes: Attributes) -> None:
        self._begin_run(attributes)
        if self._formula:
            self._formula.start("m:r", attributes)

    def _end_run(self) -> None:
        if self._runs:
            self._runs.pop()
        self._letters = None

    def _begin_note(self, name: str, attributes: Attributes) -> None:
        separator = attributes.get("w:type", "normal") != "normal"  # a line drawn above the notes
        self._author = attributes.get("w:author", "")
        identifier = attributes.get("w:id", name)
        self._places.append(Note(f"{identifier} separator" if separator else identifier))

    def _end_note(self, name: str) -> None:
        note = self._places.pop() if self._places else None
        if not isinstance(note, Note) or not note.identifier:
            return
        text = ("\n" if self.page_numbers else " ").join(note.texts)
        self._note_characters += len(text)
        if self._note_characters > MAX_CHARACTERS:
            raise too_much_text(self.builder.path)
        author = f"{self._author}: " if name == "w:comment" and self._author and text.strip() else ""
        self.notes[name, note.identifier] = author + text

    def _refer_to_note(self, name: str, attributes: Attributes) -> None:
        if self._open and not self._deleted and not self._is_hidden():
            note = self.notes.pop((_REFERENCES[name], attributes.get("w:id", "")), "")
            self._open[-1].notes += [note] if note else []

    def _note_or_field(self, name: str, attributes: Attributes) -> None:
        """Take an element of notes, comments and fields."""
        identifier = attributes.get("w:id", "")
        if name in _NOTES:
            self._begin_note(name, attributes)
        elif name in _REFERENCES:
            self._refer_to_note(name, attributes)
        elif name == "w:commentRangeStart":
            self._ranges[identifier] = len(self._log)
        elif name == "w:commentRangeEnd" and identifier in self._ranges:
            self.commented[identifier] = self.words_since(self._ranges.pop(identifier))
        elif name == "w:commentReference":
            self.commented.setdefault(identifier, "")
        elif name == "w:fldChar":
            self._mark_field(attributes.get("w:fldCharType", ""))
        elif name == "w:ffData" and self._fields:
            self._form = self._fields[-1].form = FormField()
        elif self._form and name in FORM_ELEMENTS:
            self._form.take(name, attributes)

    def _mark_field(self, kind: str) -> None:
        if kind == "begin":
            self.begin_field()
        elif kind == "separate":
            self.end_code()
        elif kind == "end":
            self.end_field()

    def _end_form(self) -> None:
        self._form = None

    def _begin_content(self, _: Attributes) -> None:
        """Begin the content of a content control."""
        if self._controls and self._controls[-1].ticked is not None:
            self._box = self._controls[-1].ticked

    def _symbol(self, attributes: Attributes) -> None:
        code = attributes.get("w:char", "")
        try:
            self.write(symbol(attributes.get("w:font", ""), int(code, 16)))
        except ValueError:
            self.write(f"[{attributes.get('w:font', '')} {code}]")

    def _begin_formula(self, _: Attributes) -> None:
        if self._formula is None and self._open:
            self._formula = WordFormula()

    def _end_formula(self) -> None:
        formula, self._formula = self._formula, None
        if formula and self._open:
            unseen = self._open[-1].put_formula(formula)
            self.builder.account.add_text(OutsideKind.HIDDEN, unseen, "formula")

    def _end_display(self) -> None:
        self.write(" ")

    def _begin_background(self, _: Attributes) -> None:
        self.background = True

    def _begin_simple_field(self, attributes: Attributes) -> None:
        self.begin_field(attributes.get("w:instr", ""))

    def _begin_control(self, _: Attributes) -> None:
        self._controls.append(Control())

    def _begin_ruby(self, _: Attributes) -> None:
        self._ruby.append(len(self._log))

    def _begin_reading(self, _: Attributes) -> None:
        """Begin the reading that stands above a word (ruby)."""
        self._reading, self._in_reading = [], True

    def _end_reading(self) -> None:
        self._in_reading = False

    def _end_ruby(self) -> None:
        reading, self._reading = "".join(self._reading), []
        about = self.words_since(self._ruby.pop()) if self._ruby else ""
        self.builder.account.add_text(OutsideKind.ALTERNATIVES, reading, about)

    def _begin_link(self, attributes: Attributes) -> None:
        relation = self.relation(attributes.get("r:id", ""))
        target = relation.target if relation else ""
        place = attributes.get("w:anchor", "") or attributes.get("w:docLocation", "")
        target = f"{target}#{place}" if target and place else target
        self._links.append((target, attributes.get("w:tooltip", ""), len(self._log)))

    def _end_link(self) -> None:
        target, tooltip, start = self._links.pop() if self._links else ("", "", 0)
        words = self.words_since(start)
        self.builder.account.add_text(OutsideKind.LINKS, target, words)
        self.builder.account.add_text(OutsideKind.ALTERNATIVES, tooltip, words)

    def _refer(self, name: str, attributes: Attributes) -> None:
        """Take an element of the text that refers to another part."""
        if name in ("w:altChunk", "w:subDoc"):
            self.read_inner(self.relation(attributes.get("r:id", "")))
        else:
            self.refer_to(self.relation(attributes.get("r:id", "")), name)


_Start = Callable[[WordBody, Attributes], None]


def _text(name: str) -> _Start:
    def begin(body: WordBody, _: Attributes) -> None:
        body._mode = name

    return begin


def _blank(sign: str) -> _Start:
    def begin(body: WordBody, _: Attributes) -> None:
        if not body._properties:  # there it is the place of a tab
            body.write(sign)

    return begin


def _note_end(name: str) -> Callable[[WordBody], None]:
    return lambda body: body._end_note(name)


def _container(name: str) -> _Start:
    return lambda body, _: body._properties.append(name)


_STARTS: dict[str, _Start] = {
    **{name: _text(name) for name in _TEXT},
    **{name: _blank(sign) for name, sign in _BLANKS.items()},
    **{name: _container(name) for name in _PROPERTIES},
    **dict.fromkeys(_SKIPPED, WordBody._begin_skipped),
    "w:p": WordBody._begin_paragraph,
    "a:p": WordBody._begin_drawn_paragraph,
    "w:r": WordBody._begin_run,
    "m:r": WordBody._begin_math_run,
    "w:tbl": WordBody._begin_table,
    "w:tr": WordBody._begin_row,
    "w:ins": WordBody._begin_insertion,
    "w:moveTo": WordBody._begin_insertion,
    "w:del": WordBody._begin_deletion,
    "w:moveFrom": WordBody._begin_move,
    "w:txbxContent": WordBody._begin_text_box,
    "w:sym": WordBody._symbol,
    "w:hyperlink": WordBody._begin_link,
    "w:fldSimple": WordBody._begin_simple_field,
    "w:sdt": WordBody._begin_control,
    "w:sdtContent": WordBody._begin_content,
    "w:ruby": WordBody._begin_ruby,
    "w:rt": WordBody._begin_reading,
    "w:background": WordBody._begin_background,
    FORMULA: WordBody._begin_formula,
    "m:oMathPara": _blank(" "),
    "mc:AlternateContent": WordBody.begin_alternatives,
    "mc:Choice": WordBody.begin_choice,
    "mc:Fallback": WordBody.begin_fallback,
    **dict.fromkeys(("w:drawing", "w:pict", "w:object"), WordBody.begin_drawing),
}


_ENDS: dict[str, Callable[[WordBody], None]] = {
    **dict.fromkeys(_TEXT, WordBody._end_text),
    **dict.fromkeys(_PROPERTIES, WordBody._end_properties),
    "w:p": WordBody._end_paragraph,
    "a:p": WordBody._end_drawn_paragraph,
    "w:r": WordBody._end_run,
    "m:r": WordBody._end_run,
    "w:tbl": WordBody.end_table,
    "w:tr": WordBody._end_row,
    "w:tc": WordBody.end_cell,
    "w:del": WordBody._end_deletion,
    "w:moveFrom": WordBody._end_move,
    "w:txbxContent": WordBody._end_text_box,
    "w:hyperlink": WordBody._end_link,
    "w:fldSimple": WordBody.end_field,
    "w:ffData": WordBody._end_form,
    "w:sdt": WordBody.end_control,
    "w:ruby": WordBody._end_ruby,
    "w:rt": WordBody._end_reading,
    FORMULA: WordBody._end_formula,
    "m:oMathPara": WordBody._end_display,
    "mc:AlternateContent": WordBody.end_alternatives,
    "mc:Fallback": WordBody.end_fallback,
    **dict.fromkeys(("w:drawing", "w:pict", "w:object"), WordBody.end_drawing),
    **{name: _note_end(name) for name in _NOTES},
}
