"""The body of a Word file, its notes, comments, headers and drawings: what the elements of their XML mean."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from colde_cli.documents.builder import MAX_CHARACTERS, DocumentBuilder, too_much_text
from colde_cli.documents.document import Document
from colde_cli.documents.notation import TICKED, UNTICKED
from colde_cli.documents.office.archive import MAX_ELEMENTS, Attributes, Package, PartRelation
from colde_cli.documents.office.body import Element, Note, Paragraph, TextStyle
from colde_cli.documents.office.word_formulas import WordFormula
from colde_cli.documents.office.word_styles import is_shaded, outline_level, state_letters, switched_on
from colde_cli.documents.office.word_text import Form, WordParagraph, WordText
from colde_cli.documents.outside import OutsideKind, PartKind, digest_of
from colde_cli.documents.symbol_fonts import symbol

_BLANKS = {"w:tab": "\t", "w:ptab": "\t", "w:br": " ", "w:cr": " ", "w:noBreakHyphen": "-", "a:br": " "}
_CODE = "w:instrText"
_REFERENCES = {"w:footnoteReference": "w:footnote", "w:endnoteReference": "w:endnote"}
_MARGINS = {"w:headerReference": OutsideKind.HEADERS, "w:footerReference": OutsideKind.FOOTERS}
# A line of a table of contents: words, a tab or dots, and the number of a page.
_PAGE = re.compile(r"(?:\t|\s*[.…·_]{3,}\s*)\s*[\divxlcIVXLC–-]{1,12}\s*$")

_TARGETS = ("r:id", "r:embed", "r:link", "r:href", "r:pict", "r:dm", "o:relid")
_KINDS = {
    **dict.fromkeys(("image", "hdphoto"), PartKind.PICTURES),
    **dict.fromkeys(("chart", "chartEx"), PartKind.CHARTS),
    **dict.fromkeys(("oleObject", "package", "control", "subDocument", "aFChunk", "frame"), PartKind.EMBEDDED),
    **dict.fromkeys(("video", "audio", "media", "movie"), PartKind.MEDIA),
    **dict.fromkeys(("customXml", "ink"), PartKind.DRAWINGS),
}
_EQUATION = re.compile(r"equation|mathtype", re.IGNORECASE)
_SHAPES = {**{"v:rect": "rect", "v:line": "line", "v:oval": "ellipse", "v:roundrect": "roundRect"}, "wps:wsp": "shape"}


class Header(NamedTuple):
    """A header or footer that a section names."""

    kind: OutsideKind
    pages: str
    identifier: str
    shown: bool = True


@dataclass(slots=True)
class WordBody(WordText):
    """The main part, or another one with text: notes, comments, a header.

    Attributes:
        package: the file.
        part: name of the part that is read.
        inner_document: reads a document inside the document by the name of its part; None if that cannot be done.
        notes: text of each note by kind ("w:footnote") and identifier; removed once it is referred to.
        commented: the words that each comment is about, by its identifier, in the order of the text.
        places: the pieces of the log that each comment is about, none at a point.
        headers: of all sections.
    """

    package: Package = field(kw_only=True)
    part: str = ""
    inner_document: Callable[[str], Document | None] = lambda part: None
    notes: dict[tuple[str, str], str] = field(default_factory=dict)
    commented: dict[str, str] = field(default_factory=dict)
    places: dict[str, tuple[int, int]] = field(default_factory=dict)
    headers: list[Header] = field(default_factory=list)
    _joined: WordParagraph | None = None
    _note_characters: int = 0
    _mode: str = ""  # the element whose characters are text
    _properties: list[str] = field(default_factory=list)
    _rows: list[bool] = field(default_factory=list)  # open rows: whether they are deleted
    _sections: list[Header] = field(default_factory=list)  # of the current section
    _first_page: bool = False
    _reading: list[str] = field(default_factory=list)  # above the current word (ruby)
    _in_reading: bool = False
    _choices: list[tuple[int, bool]] = field(default_factory=list)  # texts before it, and whether one was read
    _fallbacks: int = 0
    _object: str = ""  # the program of the current object
    _drawings: int = 0  # depth inside drawings

    def side_part(self, name: str, *, page_numbers: bool = False) -> WordBody:
        """Read another part, with an account of its own; one that is missing gives nothing."""
        builder = DocumentBuilder(self.builder.path)
        part = WordBody(builder, self.styles, package=self.package, part=name, page_numbers=page_numbers)
        part.inner_document, part.numbering, part.rejects = self.inner_document, self.numbering, self.rejects
        if name:
            self.package.read(name, part, MAX_ELEMENTS)
        part.finish()
        self.notes |= {key: text for key, text in part.notes.items() if key[0] in _REFERENCES.values()}
        self.tracked += part.tracked
        self.commented |= part.commented
        return part

    def begin(self, name: str, attributes: Attributes) -> Element:
        """Begin an element by its name; to reject changes is to accept their reverse."""
        if self.rejects:
            name = _REVERSED.get(name, name)
        if (element := _ELEMENTS.get(name)) is not None:
            return element(self, name, attributes)
        if self._properties:
            self._property(name, attributes)
        elif self._formula and name[:2] == "m:":
            return self._formula.element(name, attributes)
        elif name[:2] != "w:":
            return self._drawn(name, attributes)
        elif "r:id" in attributes:
            self._refer(self._relation(attributes["r:id"]), name)
        return None

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
        self.end_stretches()
        if self._joined:
            self.place_paragraph(self._joined)
            self._joined = None

    def add_paragraph(self, paragraph: Paragraph, text: str) -> None:
        """Add a paragraph; a line of the table of contents stands outside the body."""
        if self.styles.is_contents(paragraph.style):
            self.account.add_text(OutsideKind.CONTENTS, _PAGE.sub("", text))
        else:
            super(WordBody, self).add_paragraph(paragraph, text)

    # Properties of paragraphs, runs, rows, sections and forms.

    def _property_list(self, name: str, attributes: Attributes) -> Iterator[None]:
        self._properties.append(name)
        yield
        self._properties.pop()
        if name == "w:sectPr":
            self.headers += [
                header._replace(shown=header.pages != "first" or self._first_page) for header in self._sections
            ]
            self._sections, self._first_page = [], False

    def _property(self, name: str, attributes: Attributes) -> None:
        match self._properties:
            case ["w:pPr"] if self._paragraphs:
                self._paragraph_property(self._paragraphs[-1], name, attributes)
            case ["w:pPr", "w:rPr"] if self._paragraphs and name == "w:vanish":
                self._paragraphs[-1].end_hidden = switched_on(attributes)
            case ["w:rPr"] if self._run:
                if name == "w:rStyle":
                    self._run.based_on = attributes.get("w:val", "")
                else:
                    state_letters(self._run.letters, name, attributes)
                self._letters = None
            case [*_, "w:sectPr"] if name in _MARGINS:
                pages = attributes.get("w:type", "default")
                self._sections.append(Header(_MARGINS[name], pages, attributes.get("r:id", "")))
            case [*_, "w:sectPr"] if name == "w:titlePg":
                self._first_page = switched_on(attributes)
            case ["w:sdtPr"] if self._controls:
                self._controls[-1].take(name, attributes)
            case [*_, "w:ffData"] if self._fields and (form := self._fields[-1].form):
                form.take(name, attributes)
            case _ if name in ("w:tblCaption", "w:tblDescription"):
                self.account.add_text(OutsideKind.ALTERNATIVES, attributes.get("w:val", ""), "table")

    def _paragraph_property(self, paragraph: WordParagraph, name: str, attributes: Attributes) -> None:
        value = attributes.get("w:val", "")
        match name:
            case "w:pStyle":
                paragraph.style, self._letters = value, None
            case "w:numId":
                paragraph.in_list = value
            case "w:ilvl":
                paragraph.list_level = value
            case "w:outlineLvl":
                paragraph.level = outline_level(value)
            case "w:shd":
                paragraph.shaded = is_shaded(attributes)
            case "w:framePr" if attributes.get("w:dropCap", "none") != "none":
                paragraph.goes_on = True  # a large initial, in a paragraph of its own

    # Paragraphs, runs, rows and changes.

    def _paragraph(self, name: str, attributes: Attributes) -> Iterator[None]:
        before, self._joined = self._joined, None
        paragraph = WordParagraph(pieces=before.pieces, notes=before.notes) if before else WordParagraph()
        self.begin_paragraph(paragraph)
        yield
        self.end_paragraph()
        if paragraph.goes_on:
            self._joined = paragraph
            return
        self.count(paragraph)
        self.place_paragraph(paragraph)

    def _drawn_paragraph(self, name: str, attributes: Attributes) -> Iterator[None]:
        self.begin_box()
        self.begin_paragraph(WordParagraph())
        yield
        self.place_paragraph(self.end_paragraph())
        self._places.pop()

    def _run_of_text(self, name: str, attributes: Attributes) -> Iterator[None]:
        around, self._run = self._run, TextStyle()
        self._letters = None
        if name == "m:r" and self._formula:
            self._formula.begin_run()
        yield
        self._run, self._letters = around, None

    def _text(self, name: str, attributes: Attributes) -> Iterator[None]:
        self._mode = name
        yield
        self._mode = ""

    def _blank(self, name: str, attributes: Attributes) -> None:
        if not self._properties:  # there it is the place of a tab
            self.write(_BLANKS[name])

    def _symbol(self, name: str, attributes: Attributes) -> None:
        font, code = attributes.get("w:font", ""), attributes.get("w:char", "")
        try:
            self.write(symbol(font, int(code, 16)))
        except ValueError:
            self.write(f"[{font} {code}]")

    def _row(self, name: str, attributes: Attributes) -> Iterator[None]:
        """Read a row; one that is deleted is no text."""
        self._rows.append(False)
        yield
        self._deleted -= self._rows.pop()
        self.end_row()

    def _insertion(self, name: str, attributes: Attributes) -> None:
        self.tracked += 1

    def _deletion(self, name: str, attributes: Attributes) -> Iterator[None]:
        """Read a deletion; in properties it is a mark on the end of a paragraph, or on a row."""
        self.tracked += 1
        if self._properties == ["w:pPr", "w:rPr"] and self._paragraphs:
            self._paragraphs[-1].goes_on = True  # the next paragraph continues it, and gives the style
        elif self._properties:
            if self._properties[-1] == "w:trPr" and self._rows and not self._rows[-1]:
                self._rows[-1] = True
                self._deleted += 1
        else:
            moved = name == "w:moveFrom"
            self._deleted, self._moved = self._deleted + 1, self._moved + moved
            yield
            self._deleted, self._moved = self._deleted - 1, self._moved - moved

    def _earlier(self, name: str, attributes: Attributes) -> Iterator[None]:
        """Read the record of the properties that a paragraph or a run had: they count if changes are rejected."""
        self.tracked += 1
        properties = self._properties
        if self.rejects and properties == ["w:pPr"] and self._paragraphs:
            paragraph = self._paragraphs[-1]
            paragraph.style, paragraph.level, paragraph.in_list, paragraph.list_level = "", None, None, ""
            paragraph.shaded = False
        elif self.rejects and properties == ["w:rPr"] and self._run:
            self._run = TextStyle()
        else:
            self.skip()
            return
        self._letters, self._properties = None, []
        yield
        self._properties = properties

    # Notes, comments, fields and links.

    def _note(self, name: str, attributes: Attributes) -> Iterator[None]:
        note = Note()
        self._places.append(note)
        yield
        self._places.pop()
        identifier = attributes.get("w:id", name)
        if attributes.get("w:type", "normal") != "normal":  # a line drawn above the notes
            identifier += " separator"
        text = ("\n" if self.page_numbers else " ").join(note.texts)
        self._note_characters += len(text)
        if self._note_characters > MAX_CHARACTERS:
            raise too_much_text(self.builder.path)
        author = attributes.get("w:author", "") if name == "w:comment" and text.strip() else ""
        if identifier:
            self.notes[name, identifier] = f"{author}: {text}" if author else text

    def _note_reference(self, name: str, attributes: Attributes) -> None:
        if self._paragraphs and not self._deleted and not self._is_hidden():
            note = self.notes.pop((_REFERENCES[name], attributes.get("w:id", "")), "")
            self._paragraphs[-1].notes += [note] if note else []

    def _comment_mark(self, name: str, attributes: Attributes) -> None:
        identifier, here = attributes.get("w:id", ""), len(self.log)
        start, _ = self.places.setdefault(identifier, (here, here))
        if name == "w:commentReference":
            self.commented.setdefault(identifier, "")
        elif name == "w:commentRangeEnd":
            self.places[identifier] = start, here
            self.commented[identifier] = self.words_since(start)

    def _field_mark(self, name: str, attributes: Attributes) -> None:
        match attributes.get("w:fldCharType", ""):
            case "begin":
                self.begin_field()
            case "separate":
                self.end_code()
            case "end":
                self.end_field()

    def _simple_field(self, name: str, attributes: Attributes) -> Iterator[None]:
        self.begin_field(attributes.get("w:instr", ""))
        yield
        self.end_field()

    def _old_form(self, name: str, attributes: Attributes) -> Iterator[None]:
        if self._fields:
            self._fields[-1].form = Form()
            yield from self._property_list(name, attributes)

    def _control(self, name: str, attributes: Attributes) -> Iterator[None]:
        """Read a content control, and account for what its text does not show."""
        control = Form()
        self._controls.append(control)
        yield
        self._controls.pop()
        if control.ticked is not None and self._box is not None:
            self.write(TICKED if control.ticked else UNTICKED)  # it has no text
            self._box = None
        self.account_form(control)

    def _content(self, name: str, attributes: Attributes) -> None:
        if self._controls and self._controls[-1].ticked is not None:
            self._box = self._controls[-1].ticked

    def _link(self, name: str, attributes: Attributes) -> Iterator[None]:
        relation = self._relation(attributes.get("r:id", ""))
        start = len(self.log)
        yield
        words = self.words_since(start)
        target = relation.target if relation else ""
        place = attributes.get("w:anchor", "") or attributes.get("w:docLocation", "")
        self.account.add_text(OutsideKind.LINKS, f"{target}#{place}" if target and place else target, words)
        self.account.add_text(OutsideKind.ALTERNATIVES, attributes.get("w:tooltip", ""), words)

    def _ruby(self, name: str, attributes: Attributes) -> Iterator[None]:
        start = len(self.log)
        yield
        reading, self._reading = "".join(self._reading), []
        self.account.add_text(OutsideKind.ALTERNATIVES, reading, self.words_since(start))

    def _ruby_text(self, name: str, attributes: Attributes) -> Iterator[None]:
        self._reading, self._in_reading = [], True
        yield
        self._in_reading = False

    # Formulas, drawings and other parts.

    def _math(self, name: str, attributes: Attributes) -> Iterator[None]:
        if self._formula is not None or not self._paragraphs:
            return
        paragraph, formula = self._paragraphs[-1], WordFormula()
        self._formula = formula
        yield
        self._formula = None
        paragraph.finish()
        text, unseen = formula.written(paragraph.before)
        if text:
            paragraph.pieces.append(text)
            paragraph.cut = True
        self.account.add_text(OutsideKind.HIDDEN, unseen, "formula")

    def _math_line(self, name: str, attributes: Attributes) -> Iterator[None]:
        if not self._properties:
            self.write(" ")
        yield
        self.write(" ")

    def _background(self, name: str, attributes: Attributes) -> None:
        self.background = True

    def _alternatives(self, name: str, attributes: Attributes) -> Iterator[None]:
        self._choices.append((self.given, False))
        yield
        self._choices.pop()

    def _choice(self, name: str, attributes: Attributes) -> None:
        """Begin a version; only the first one that gives something is read."""
        if self._choices:
            given, read = self._choices[-1]
            if read and self.given > given:
                self.skip()
            self._choices[-1] = given, True

    def _fallback(self, name: str, attributes: Attributes) -> Iterator[None]:
        """Read the version for older programs, if no other one gives anything."""
        if self._choices and self.given > self._choices[-1][0]:
            self.skip()
            return
        self._fallbacks += 1
        yield
        self._fallbacks -= 1

    def _drawing(self, name: str, attributes: Attributes) -> Iterator[None]:
        """Read a drawing; it is hidden with its run."""
        covered = self._covered
        self._drawings += 1
        self._covered += self._is_hidden()
        yield
        self._drawings, self._covered = self._drawings - 1, covered

    def _drawn(self, name: str, attributes: Attributes) -> Iterator[None]:
        """Read an element of a drawing: its words, its other text, what it refers to."""
        given = self.given
        if name == "wp:docPr":
            self._described(attributes, ("title", "descr"))
            hidden = attributes.get(":hidden", "0") not in ("0", "false")
            self._covered += hidden and self._drawings > 0
        elif name == "v:textpath":
            self._worded(attributes.get(":string", ""))
        elif name == "o:OLEObject":
            self._object = attributes.get(":ProgID", "")
        elif name == "a:srcRect":
            self._cropped(attributes)
        elif name in _SHAPES or name in ("v:shape", "wps:cNvPr"):
            self._described(attributes, ("alt", "title", "descr"))
        for key in _TARGETS:
            if attributes.get(key):
                self._refer(self._relation(attributes[key]), name)
        if ":href" in attributes and name.startswith("v:"):
            self.account.add_text(OutsideKind.LINKS, attributes[":href"])
        if name not in _SHAPES:
            return
        yield
        if self.given == given and not self._fallbacks:  # without text or picture
            self.account_part(PartKind.DRAWINGS, digest_of(_SHAPES[name].encode()), "shape")
            self.given = given  # its text may stand in the fallback

    def _described(self, attributes: Attributes, names: Iterable[str]) -> None:
        if not self._fallbacks:
            for text in dict.fromkeys(attributes.get(f":{name}", "") for name in names):
                self.account.add_text(OutsideKind.ALTERNATIVES, text)

    def _worded(self, text: str) -> None:
        """Take the words of a drawing made of letters: a watermark, if it stands behind the pages."""
        if self.page_numbers:
            self.given += 1
            self.account.add_text(OutsideKind.HEADERS, text, "watermark")
        else:
            self._boxed([text])

    def _boxed(self, texts: Iterable[str]) -> None:
        """Write paragraphs of their own, beside the current one."""
        for text in texts:
            self.begin_box()
            self.begin_paragraph(WordParagraph())
            self.write(text)
            self.place_paragraph(self.end_paragraph())
            self._places.pop()

    def _cropped(self, attributes: Attributes) -> None:
        sides = [attributes.get(f":{side}", "0") for side in "ltrb"]
        shares = [round(int(side) / 1000) if side.lstrip("-").isdecimal() else side for side in sides]
        if any(shares) and not self._fallbacks:
            self.account.add_part(PartKind.DRAWINGS, digest_of(str(shares).encode()), "cut of a picture")

    def _relation(self, identifier: str) -> PartRelation | None:
        return self.package.relations(self.part).get(identifier) if identifier else None

    def _refer(self, relation: PartRelation | None, name: str) -> None:
        if relation is None:
            return
        target, kind = relation.target, _KINDS.get(relation.kind, PartKind.OTHER)
        if name in ("w:altChunk", "w:subDoc"):
            self._read_inner(relation)
        elif relation.kind == "hyperlink":
            if relation.external:
                self.account.add_text(OutsideKind.LINKS, target, "picture")
        elif relation.kind == "diagramData":
            self._boxed(self.package.diagram_texts(target))
        elif relation.external:
            self.account_part(kind, digest_of(target.encode()), target)
        elif kind is PartKind.CHARTS:
            self.account_part(kind, self.package.chart_digest(target), source=target)
            for inner in self.package.relations(target).values():
                if inner.kind == "package" and not inner.external:
                    digest = self.package.embedded_digest(inner.target)
                    self.account_part(PartKind.EMBEDDED, digest, "data of a chart")
        else:
            self._embed(target, PartKind.DRAWINGS if name.endswith(":contentPart") else kind)

    def _embed(self, target: str, kind: PartKind) -> None:
        if kind is PartKind.EMBEDDED:
            kind = PartKind.FORMULAS if _EQUATION.match(self._object) else kind
            inner = (one.target for one in self.package.relations(target).values() if not one.external)
            digests = [self.package.embedded_digest(target), *map(self.package.digest, inner)]
            self.account_part(kind, digest_of(" ".join(digests).encode()), self._object)
        elif self.package.holds(target):
            source = target if kind is PartKind.PICTURES else ""
            self.account_part(kind, self.package.digest(target), source=source)

    def _read_inner(self, relation: PartRelation) -> None:
        """Read a document that stands inside this one as part of its text, or account for it as a part."""
        target = relation.target
        if relation.external:
            self.account_part(PartKind.EMBEDDED, digest_of(target.encode()), target)
        elif inner := self.inner_document(target):
            for section in inner.sections:
                self._insert(section.heading, section.level, inner.text[section.body_start : section.span.end])
            self.account.add_all(inner.outside)
            for part in inner.parts:
                self.account_part(part.kind, part.digest, part.about)
        elif self.package.holds(target):
            self.account_part(PartKind.EMBEDDED, self.package.embedded_digest(target))

    def _insert(self, heading: str, level: int, text: str) -> None:
        self.given += 1
        paragraphs = [paragraph for paragraph in text.split("\n\n") if paragraph.strip()]
        if self._places or self._deleted:
            self._boxed([heading, *paragraphs])
            return
        self.builder.add_heading(heading, level)
        for paragraph in paragraphs:
            self.builder.add_paragraph(paragraph, lines="\n" in paragraph)


_W = WordBody
_NAMED: dict[Callable[[WordBody, str, Attributes], Element], str] = {
    # The content of these is no text of the document, and nothing that a reader sees: records of earlier properties,
    # code of deleted fields, the name of a picture's file.
    _W._earlier: "w:pPrChange w:rPrChange",
    _W.skip: "w:tblPrChange w:trPrChange w:tcPrChange w:sectPrChange w:numberingChange"
    " w:tblGridChange w:tblPrExChange w:delInstrText w:fldData w:binData pic:cNvPr w:placeholder",
    _W._property_list: "w:pPr w:rPr w:trPr w:tcPr w:tblPr m:ctrlPr w:sectPr w:sdtPr w:sdtEndPr",
    _W._paragraph: "w:p",
    _W._drawn_paragraph: "a:p",
    _W._run_of_text: "w:r m:r",
    _W._text: f"w:t m:t a:t w:delText {_CODE}",
    _W._blank: " ".join(_BLANKS),
    _W._symbol: "w:sym",
    _W.table: "w:tbl",
    _W._row: "w:tr",
    _W.cell: "w:tc",
    _W.box: "w:txbxContent",
    _W._insertion: "w:ins w:moveTo",
    _W._deletion: "w:del w:moveFrom",
    _W._note: "w:footnote w:endnote w:comment w:hdr w:ftr",
    _W._note_reference: " ".join(_REFERENCES),
    _W._comment_mark: "w:commentRangeStart w:commentRangeEnd w:commentReference",
    _W._field_mark: "w:fldChar",
    _W._simple_field: "w:fldSimple",
    _W._old_form: "w:ffData",
    _W._control: "w:sdt",
    _W._content: "w:sdtContent",
    _W._link: "w:hyperlink",
    _W._ruby: "w:ruby",
    _W._ruby_text: "w:rt",
    _W._math: "m:oMath",
    _W._math_line: "m:oMathPara",
    _W._background: "w:background",
    _W._alternatives: "mc:AlternateContent",
    _W._choice: "mc:Choice",
    _W._fallback: "mc:Fallback",
    _W._drawing: "w:drawing w:pict w:object",
}
_REVERSED = {
    **{"w:ins": "w:del", "w:del": "w:ins", "w:moveTo": "w:moveFrom", "w:moveFrom": "w:moveTo"},
    **{"w:delText": "w:t", "w:delInstrText": "w:instrText"},
}
_ELEMENTS = {name: element for element, names in _NAMED.items() for name in names.split()}
