"""The body of an OpenDocument text: fields, links, pictures, objects and shapes, and what each element means."""

from __future__ import annotations

import binascii
import re
from collections.abc import Callable
from dataclasses import dataclass, field

from colde_cli.documents.office.archive import XmlHandler
from colde_cli.documents.office.body import Paragraph
from colde_cli.documents.office.odt_forms import FieldMark, FormControls
from colde_cli.documents.office.odt_parts import MathText, OdtParts, content_of
from colde_cli.documents.office.odt_styles import OUTLINE
from colde_cli.documents.office.odt_text import (
    Aside,
    Attributes,
    Closer,
    OdtParagraph,
    OdtText,
    Shape,
    unshown_value,
)
from colde_cli.documents.outside import OutsideKind, PartKind, digest_of

_CODES = ("text:condition", "text:formula", "table:formula")
_FIELD_CODES = "vnd.oasis.opendocument.field."
_PAGE = re.compile(
    r"[\s.…·_]*\t[\s.…·_]*[\divxlcdm–-]*\s*$|(?:\.{2,}|…|(?:\. ){2,}|_{3,})[\s.…]*[\divxlcdm]*\s*$",
    re.IGNORECASE,
)
"""The page number of a line of a table of contents, with its leader."""
_PAGES = re.compile(r"[\s,.…]+\d+(?:[\s,–-]+\d+)*\s*(?:pp?|ff?)?\.?\s*$")
"""The page numbers of a line of an index."""


@dataclass(slots=True)
class _OdtFrame:
    """A frame that is being read: a picture, an object, or several forms of one of them."""

    name: str = ""
    pictures: int = 0
    has_object: bool = False


@dataclass(slots=True)
class _Collected(XmlHandler):
    """Content that is no text: of scripts, and of pictures inside the XML."""

    content: list[str] = field(default_factory=list)

    def start(self, name: str, attributes: Attributes) -> None:
        """Begin an element."""
        self.content.append(content_of(name, attributes))

    def characters(self, text: str) -> None:
        """Take words."""
        self.content += text.split()

    def digest(self) -> str:
        """The digest of what was read, decoded if it is a file."""
        data = "".join(self.content).encode()
        try:
            return digest_of(binascii.a2b_base64(data, strict_mode=True))
        except ValueError:
            return digest_of(data)


@dataclass(slots=True)
class OdtBody(OdtText):
    """The body in `content.xml`; automatic styles come first, and a note is inside the paragraph that refers to it.

    Attributes:
        parts: of the file.
        running: it is a header or a footer, where numbers of pages are written `#`.
    """

    parts: OdtParts = field(kw_only=True)
    running: bool = False
    forms: FormControls = field(init=False)
    _frames: list[_OdtFrame] = field(default_factory=list)
    _choices: list[list[str]] = field(default_factory=list)
    _chosen: str = ""
    _rubies: list[tuple[Paragraph, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.forms = FormControls(self.account)

    # Elements that only show what is within them, or hide it.

    def begin_before(self, name: str, attributes: Attributes) -> Closer:
        """Begin an element outside the text: styles, scripts, or the text itself."""
        if name == "office:text":
            self._within = True
            return self._end_text
        if name == "office:script":
            return self._begin_script(name, attributes)
        if name == "script:event-listener":
            return self._begin_listener(name, attributes)
        self.styles.start(name, attributes)
        return None

    def _end_text(self) -> None:
        self._within = False

    def _begin_other(self, name: str, attributes: Attributes) -> Closer:
        """Begin an element without a meaning of its own: what it is computed from, and where it leads."""
        if not attributes:
            return None
        self._account_for_code(attributes)
        if href := attributes.get("xlink:href", ""):
            self._account_for_link(href, name.rpartition(":")[2].replace("-", " "))
        unhide = self._hide() if attributes.get("text:display") == "none" else None
        return self._with_value(attributes, unhide) if "office:value-type" in attributes else unhide

    def _with_value(self, attributes: Attributes, unhide: Closer) -> Closer:
        """Compare the words of a field with the value that it states."""
        words = self._words_from_here()

        def end() -> None:
            self.account.add_text(OutsideKind.CODE, unshown_value(attributes, words()), words())
            if unhide:
                unhide()

        return end

    def _words_from_here(self) -> Callable[[], str]:
        """What will be written to the paragraph from now on."""
        paragraph = self._paragraphs[-1] if self._paragraphs else None
        start = len(paragraph.pieces) if paragraph else 0
        return lambda: paragraph.words_since(start) if isinstance(paragraph, OdtParagraph) else ""

    def _account_for_code(self, attributes: Attributes) -> None:
        for name in _CODES:
            self.account.add_text(OutsideKind.CODE, attributes.get(name, ""))

    def _account_for_link(self, href: str, about: str) -> None:
        """Account for an address: of a part of this file, or of something elsewhere."""
        if name := self.parts.inside(href):
            self.parts.add(self.account, PartKind.OTHER, name, about)
        elif href.strip(" ./") and not href.startswith("#"):
            self.account.add_text(OutsideKind.LINKS, href, about)

    def _begin_text_beside(self, name: str, attributes: Attributes) -> Closer:
        self._begin_aside(_BESIDE[name]).settled = attributes.get("loext:resolved") == "true"
        return self._end_aside

    def _begin_change(self, name: str, attributes: Attributes) -> Closer:
        self.tracked += 1
        return None

    def _begin_creator(self, name: str, attributes: Attributes) -> Closer:
        if not (self._places and isinstance(aside := self._places[-1], Aside)):
            return None
        pieces = self._paragraphs[-1].pieces
        start = len(pieces)

        def end() -> None:
            aside.author = " ".join("".join(pieces[start:]).split())
            del pieces[start:]

        return end

    def _begin_ruby(self, name: str, attributes: Attributes) -> Closer:
        if not self._paragraphs:
            return None
        self._rubies.append((self._paragraphs[-1], len(self._paragraphs[-1].pieces)))
        return self._end_ruby

    def _end_ruby(self) -> None:
        self._rubies.pop()

    def _begin_ruby_text(self, name: str, attributes: Attributes) -> Closer:
        base = ""
        if self._rubies:
            paragraph, start = self._rubies[-1]
            base = "".join(paragraph.pieces[start:])
        self._begin_aside(OutsideKind.ALTERNATIVES, base)
        return self._end_aside

    def _begin_contents(self, name: str, attributes: Attributes) -> Closer:
        self._begin_aside(OutsideKind.CONTENTS)
        return self._end_contents

    def _begin_keywords(self, name: str, attributes: Attributes) -> Closer:
        self._begin_aside(OutsideKind.CONTENTS)
        return self._end_keywords

    def _end_contents(self) -> None:
        for text in self._close_aside().texts:
            self.account.add_text(OutsideKind.CONTENTS, _PAGE.sub("", text))

    def _end_keywords(self) -> None:
        for text in self._close_aside().texts:
            self.account.add_text(OutsideKind.CONTENTS, _PAGES.sub("", _PAGE.sub("", text)))

    def _begin_link(self, name: str, attributes: Attributes) -> Closer:
        end_span, words = self._begin_span(name, attributes), self._words_from_here()

        def end() -> None:
            self._account_for_link(attributes.get("xlink:href", ""), words())
            self.account.add_text(OutsideKind.ALTERNATIVES, attributes.get("office:title", ""), words())
            if end_span:
                end_span()

        return end

    def _begin_section(self, name: str, attributes: Attributes) -> Closer:
        self._account_for_code(attributes)
        display = attributes.get("text:display", "")
        hidden = display == "none" or (display == "condition" and attributes.get("text:is-hidden") == "true")
        return self._hide() if hidden else None

    def _begin_source(self, name: str, attributes: Attributes) -> Closer:
        """Take what a section is filled from."""
        names = (
            "xlink:href",
            "text:section-name",
            "office:dde-application",
            "office:dde-topic",
            "office:dde-item",
        )
        self.account.add_text(
            OutsideKind.LINKS, " ".join(attributes.get(name, "") for name in names), "linked section"
        )
        return None

    # Pictures, objects and shapes.

    def _begin_frame(self, name: str, attributes: Attributes) -> Closer:
        self._cut()
        self._frames.append(_OdtFrame(attributes.get("draw:name", "")))
        return self._end_frame

    def _end_frame(self) -> None:
        self._frames.pop()

    def _begin_picture(self, name: str, attributes: Attributes) -> Closer:
        frame = self._frames[-1] if self._frames else _OdtFrame()
        href = attributes.get("xlink:href", "")
        part = self.parts.inside(href)
        again = frame.has_object or (frame.pictures and part.lower().endswith(".png"))  # for other programs
        frame.pictures += 1
        if not again and part:
            self.parts.add(self.account, PartKind.PICTURES, part, frame.name)
        elif not again and href:
            self.account.add_text(OutsideKind.LINKS, href, "picture")
        return None

    def _begin_data(self, name: str, attributes: Attributes) -> Closer:
        """Begin a file, or a document, inside the XML."""
        picture = name == "office:binary-data" and self._frames and self._frames[-1].pictures
        return self._collect(_Collected(), PartKind.PICTURES if picture else PartKind.EMBEDDED)

    def _begin_object(self, name: str, attributes: Attributes) -> Closer:
        frame = self._frames[-1] if self._frames else _OdtFrame()
        href = attributes.get("xlink:href", "")
        part = self.parts.inside(href)
        if not part:
            if href.strip(" ./"):
                self.account.add_text(OutsideKind.LINKS, href, "object")
            return None
        frame.has_object = True
        found = self.parts.embedded(part)
        if found.text:
            self._insert(found.text)
        else:
            self.account.add_part(found.kind, found.digest, frame.name)
        return None

    def _begin_formula(self, name: str, attributes: Attributes) -> Closer:
        formula = MathText()
        formula.start(name, attributes)
        if self._frames:
            self._frames[-1].has_object = True

        def end() -> None:
            self._end_receiver()
            formula.end(name)
            self._insert(formula.written())

        self._receive(formula)
        return end

    def _begin_media(self, name: str, attributes: Attributes) -> Closer:
        if part := self.parts.inside(attributes.get("xlink:href", "")):
            if self._frames:
                self._frames[-1].has_object = True
            self.parts.add(self.account, PartKind.MEDIA, part)
        else:
            self._account_for_link(attributes.get("xlink:href", ""), "media")
        return None

    def _begin_box(self, name: str, attributes: Attributes) -> Closer:
        self.begin_box()
        return self._end_box

    def _end_box(self) -> None:
        self._places.pop()

    def _begin_shape(self, name: str, attributes: Attributes) -> Closer:
        self._cut()
        self._shapes.append(Shape(attributes.get("draw:name", ""), [content_of(name, attributes)]))
        self.begin_box()
        return self._end_shape

    def _begin_geometry(self, name: str, attributes: Attributes) -> Closer:
        if self._shapes:
            self._shapes[-1].content.append(content_of(name, attributes))
        return None

    def _end_shape(self) -> None:
        self._places.pop()
        shape = self._shapes.pop()
        if not shape.worded:
            self.account.add_part(PartKind.DRAWINGS, digest_of("".join(shape.content).encode()), shape.name)

    def _begin_forms(self, name: str, attributes: Attributes) -> Closer:
        return self._receive(self.forms)

    def _begin_control(self, name: str, attributes: Attributes) -> Closer:
        if shown := self.forms.place(attributes.get("draw:control", "")):
            self._insert(f" {shown} ")
        return None

    def _begin_listener(self, name: str, attributes: Attributes) -> Closer:
        called = attributes.get("xlink:href", "") or attributes.get("script:macro-name", "")
        self.account.add_part(PartKind.SCRIPTS, digest_of(called.encode()), called)
        return None

    def _begin_script(self, name: str, attributes: Attributes) -> Closer:
        collected = _Collected([attributes[key] for key in ("xlink:href",) if key in attributes])
        return self._collect(collected, PartKind.SCRIPTS)

    def _collect(self, collected: _Collected, kind: PartKind) -> Closer:
        """Make what is inside an element a part."""

        def end() -> None:
            self._end_receiver()
            if collected.content:
                self.account.add_part(kind, collected.digest())

        self._receive(collected)
        return end

    # Fields.

    def _begin_running(self, name: str, attributes: Attributes) -> Closer:
        """Begin a field that follows the page, the day or the person who looks."""
        if self.running and attributes.get("text:fixed") != "true" and self._paragraphs:
            self._insert("#")
            self._skipping = 1
        return self._begin_other(name, attributes)

    def _begin_hidden_text(self, name: str, attributes: Attributes) -> Closer:
        self._account_for_code(attributes)
        if attributes.get("text:is-hidden") == "false":
            return None
        if text := attributes.get("text:string-value", ""):
            self.account.add_text(OutsideKind.HIDDEN, text)
            self._skipping = 1
            return None
        return self._hide()

    def _begin_hidden_paragraph(self, name: str, attributes: Attributes) -> Closer:
        self._account_for_code(attributes)
        if self._paragraphs:
            self._paragraphs[-1].hidden |= attributes.get("text:is-hidden") == "true"
        return None

    def _begin_condition(self, name: str, attributes: Attributes) -> Closer:
        """Begin a text that depends on a condition; what it may be, too, is shown nowhere."""
        names = ("text:condition", "text:string-value-if-true", "text:string-value-if-false")
        self.account.add_text(OutsideKind.CODE, " | ".join(attributes.get(name, "") for name in names))
        return None

    def _begin_sequence(self, name: str, attributes: Attributes) -> Closer:
        """Begin the number of a caption; all are computed in one way."""
        return self._hide() if attributes.get("text:display") == "none" else None

    def _begin_variable(self, name: str, attributes: Attributes) -> Closer:
        value = attributes.get("office:string-value") or attributes.get("office:value", "")
        self.account.add_text(OutsideKind.CODE, value, attributes.get("text:name", ""))
        return None

    def _begin_choice(self, name: str, attributes: Attributes) -> Closer:
        """Begin a field or a control that shows one of several entries."""
        label = attributes.get("text:name") or attributes.get("loext:alias", "")
        self._choices.append([])
        words = self._words_from_here()
        self.account.add_text(OutsideKind.FORM_VALUES, attributes.get("text:help", ""), label)
        self.account.add_text(OutsideKind.FORM_VALUES, attributes.get("text:hint", ""), label)

        def end() -> None:
            choices = self._choices.pop()
            self.account.add_text(OutsideKind.FORM_VALUES, " | ".join(choices), label)
            if self._chosen and self._chosen != words().strip():
                self.account.add_text(OutsideKind.FORM_VALUES, self._chosen, label)
            self._chosen = ""

        return end

    def _begin_entry(self, name: str, attributes: Attributes) -> Closer:
        if self._choices:
            value = attributes.get("text:value") or attributes.get("loext:display-text")
            self._choices[-1].append(value or attributes.get("loext:value", ""))
            if (
                attributes.get("text:current-selected") == "true"
            ):  # an editor shows it, whatever the words are
                self._chosen = self._choices[-1][-1]
        return None

    def _begin_tip(self, name: str, attributes: Attributes) -> Closer:
        self.account.add_text(OutsideKind.FORM_VALUES, attributes.get("text:description", ""))
        return None

    def _begin_mark_of_index(self, name: str, attributes: Attributes) -> Closer:
        names = ("text:string-value", "text:key1", "text:key2")
        self.account.add_text(OutsideKind.CODE, " ".join(attributes.get(name, "") for name in names))
        return None

    def _begin_field_mark(self, name: str, attributes: Attributes) -> Closer:
        """Begin a form field as it comes from Word."""
        mark = FieldMark(attributes.get("field:type", ""))

        def end() -> None:
            self._end_receiver()
            self._insert(mark.shown())
            self.account.add_text(OutsideKind.FORM_VALUES, " | ".join(mark.entries()))
            for about, value in mark.others():
                code = about.startswith(_FIELD_CODES)
                self.account.add_text(OutsideKind.CODE if code else OutsideKind.FORM_VALUES, value, about)

        self._receive(mark)
        return end

    def begin(self, name: str, attributes: Attributes) -> Closer:
        """Begin an element of the text."""
        return _BEGINNINGS.get(name, OdtBody._begin_other)(self, name, attributes)

    def finish(self) -> None:
        """Account for what belongs to the whole text: controls without a place, and the numbers of headings."""
        self.forms.add_unplaced()
        for level in sorted(self.outline):
            self.account.add_text(
                OutsideKind.STRUCTURE, self.styles.mark(OUTLINE, level, None), f"headings of level {level}"
            )


_BESIDE = {
    "text:deletion": OutsideKind.DELETED,
    "office:annotation": OutsideKind.COMMENTS,
    "svg:title": OutsideKind.ALTERNATIVES,
    "svg:desc": OutsideKind.ALTERNATIVES,
    "table:title": OutsideKind.ALTERNATIVES,
    "table:desc": OutsideKind.ALTERNATIVES,
}
_B = OdtBody
_NAMED: dict[Callable[[OdtBody, str, Attributes], Closer], str] = {
    # The content of these is no text of the document: dates of comments, and patterns from which lists are made.
    _B._skip: "office:change-info dc:date meta:date-string meta:creator-initials loext:sender-initials text:number"
    " office:settings text:bibliography-source text:table-of-content-source text:illustration-index-source"
    " text:table-index-source text:object-index-source text:user-index-source text:alphabetical-index-source",
    _B._begin_paragraph: "text:p text:h",
    _B._begin_span: "text:span",
    _B._begin_sequence: "text:sequence",
    _B._begin_blank: "text:s text:tab text:line-break",
    _B._begin_list: "text:list",
    _B._begin_item: "text:list-item text:list-header",
    _B._begin_numbered: "text:numbered-paragraph",
    _B._begin_table: "table:table",
    _B._begin_row: "table:table-row",
    _B._begin_cell: "table:table-cell",
    _B._begin_covered: "table:covered-table-cell",
    _B._begin_note: "text:note",
    _B._begin_citation: "text:note-citation",
    _B._begin_index_title: "text:index-title",
    _B._begin_section: "text:section",
    _B._begin_source: "text:section-source office:dde-source text:dde-connection-decl",
    _B._begin_text_beside: " ".join(_BESIDE),
    _B._begin_change: "text:changed-region",
    _B._begin_creator: "dc:creator",
    _B._begin_ruby: "text:ruby",
    _B._begin_ruby_text: "text:ruby-text",
    _B._begin_contents: "text:table-of-content text:illustration-index text:table-index text:object-index"
    " text:user-index",
    _B._begin_keywords: "text:alphabetical-index",
    _B._begin_link: "text:a draw:a",
    _B._begin_frame: "draw:frame",
    _B._begin_picture: "draw:image",
    _B._begin_data: "office:binary-data office:document",
    _B._begin_object: "draw:object draw:object-ole",
    _B._begin_formula: "math:math",
    _B._begin_media: "draw:plugin",
    _B._begin_box: "draw:text-box",
    _B._begin_shape: "draw:rect draw:line draw:polyline draw:polygon draw:regular-polygon draw:path draw:circle"
    " draw:ellipse draw:connector draw:measure draw:caption draw:custom-shape dr3d:scene",
    _B._begin_geometry: "draw:enhanced-geometry",
    _B._begin_forms: "office:forms",
    _B._begin_control: "draw:control",
    _B._begin_listener: "script:event-listener",
    _B._begin_script: "text:script",
    # In headers and footers, these follow the page, the day or the person who looks.
    _B._begin_running: "text:page-number text:page-count text:page-variable-get text:chapter text:file-name text:date"
    " text:time text:word-count text:character-count text:paragraph-count text:table-count text:image-count"
    " text:object-count text:modification-date text:modification-time text:print-date text:print-time text:printed-by"
    " text:editing-cycles text:editing-duration text:author-name text:author-initials text:creator",
    _B._begin_hidden_text: "text:hidden-text",
    _B._begin_hidden_paragraph: "text:hidden-paragraph",
    _B._begin_condition: "text:conditional-text",
    _B._begin_variable: "text:user-field-decl",
    _B._begin_choice: "text:drop-down loext:content-control",
    _B._begin_entry: "text:label loext:list-item",
    _B._begin_tip: "text:text-input text:placeholder",
    _B._begin_mark_of_index: "text:alphabetical-index-mark text:alphabetical-index-mark-start text:toc-mark"
    " text:toc-mark-start text:user-index-mark text:user-index-mark-start",
    _B._begin_field_mark: "field:fieldmark field:fieldmark-start",
}
_BEGINNINGS = {name: begin for begin, names in _NAMED.items() for name in names.split()}
