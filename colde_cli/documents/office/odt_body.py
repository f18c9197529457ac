"""The body of an OpenDocument text: fields, links, pictures, objects and shapes, and what each element means."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from colde_cli.documents.notation import TICKED, UNTICKED
from colde_cli.documents.office.archive import Attributes, ElementList
from colde_cli.documents.office.body import Element
from colde_cli.documents.office.odt_parts import Collected, FormControls, MathText, OdtParts, content_of
from colde_cli.documents.office.odt_text import Aside, OdtText, Shape, unshown_value
from colde_cli.documents.outside import OutsideKind, PartKind, digest_of

_CODES = ("text:condition", "text:formula", "table:formula")
_FIELD_CODES = "vnd.oasis.opendocument.field."
# Elements that say what they are made from: its kind, the attributes with it, what parts these, what they belong to.
_TOLD = {
    "text:section-source office:dde-source text:dde-connection-decl": (
        OutsideKind.LINKS,
        "xlink:href text:section-name office:dde-application office:dde-topic office:dde-item",
        *(" ", "linked section"),
    ),
    "text:conditional-text": (  # what it may be, too, is shown nowhere
        OutsideKind.CODE,
        "text:condition text:string-value-if-true text:string-value-if-false",
        *(" | ", ""),
    ),
    "text:alphabetical-index-mark text:alphabetical-index-mark-start text:toc-mark text:toc-mark-start"
    " text:user-index-mark text:user-index-mark-start": (
        *(OutsideKind.CODE, "text:string-value text:key1 text:key2", " ", ""),
    ),
    "text:text-input text:placeholder": (OutsideKind.FORM_VALUES, "text:description", "", ""),
}
_TELLING = {name: told for names, told in _TOLD.items() for name in names.split()}
_BESIDE = {
    "text:deletion": OutsideKind.DELETED,
    "office:annotation": OutsideKind.COMMENTS,
    **dict.fromkeys(("svg:title", "svg:desc", "table:title", "table:desc"), OutsideKind.ALTERNATIVES),
}
_PAGE = re.compile(
    r"[\s.…·_]*\t[\s.…·_]*[\divxlcdm–-]*\s*$|(?:\.{2,}|…|(?:\. ){2,}|_{3,})[\s.…]*[\divxlcdm]*\s*$", re.IGNORECASE
)
"""The page number of a line of a table of contents, with its leader."""
_PAGES = re.compile(r"[\s,.…]+\d+(?:[\s,–-]+\d+)*\s*(?:pp?|ff?)?\.?\s*$")  # the page numbers of a line of an index


@dataclass(slots=True)
class _OdtFrame:
    """A frame that is being read: a picture, an object, or several forms of one of them."""

    name: str = ""
    pictures: int = 0
    has_object: bool = False


@dataclass(slots=True)
class OdtBody(OdtText):
    """The body in `content.xml`; automatic styles come first, and a note is inside the paragraph that refers to it."""

    parts: OdtParts = field(kw_only=True)  # of the file
    running: bool = False  # it is a header or a footer, where numbers of pages are written `#`
    forms: FormControls = field(init=False)
    _frames: list[_OdtFrame] = field(default_factory=list)
    _choices: list[list[str]] = field(default_factory=list)
    _chosen: str = ""
    _rubies: list[Callable[[], str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.forms = FormControls(self.account)

    def begin(self, name: str, attributes: Attributes) -> Element:
        """Begin an element by its name."""
        if self._within:
            return _ELEMENTS.get(name, OdtBody._other)(self, name, attributes)
        return self.begin_before(name, attributes)

    def begin_before(self, name: str, attributes: Attributes) -> Element:
        """Begin an element outside the text: styles, scripts, or the text itself."""
        return _BEFORE.get(name, OdtBody._style)(self, name, attributes)

    def finish(self) -> None:
        """Account for the controls without a place."""
        self.forms.add_unplaced()

    def _whole(self, name: str, attributes: Attributes) -> Iterator[None]:
        self._within = True
        yield
        self._within = False

    def _style(self, name: str, attributes: Attributes) -> Iterator[None]:
        self.styles.start(name, attributes)
        yield
        self.styles.end(name)

    def _other(self, name: str, attributes: Attributes) -> Iterator[None]:
        """Read an element without a meaning of its own: what it is computed from, and where it leads."""
        if not attributes:
            return
        self._add_codes(attributes)
        if href := attributes.get("xlink:href", ""):
            self._add_link(href, name.rpartition(":")[2].replace("-", " "))
        words = self._words_from_here()
        yield from self._hide(hidden=attributes.get("text:display") == "none")
        if "office:value-type" in attributes:
            self.account.add_text(OutsideKind.CODE, unshown_value(attributes, words()), words())

    def _words_from_here(self) -> Callable[[], str]:
        """What will be written to the paragraph from now on."""
        if not self._paragraphs:
            return str
        paragraph = self._paragraphs[-1]
        start = len(paragraph.pieces)
        return lambda: paragraph.words_since(start)

    def _add_codes(self, attributes: Attributes) -> None:
        for name in _CODES:
            self.account.add_text(OutsideKind.CODE, attributes.get(name, ""))

    def _add_link(self, href: str, about: str) -> None:
        """Account for an address: of a part of this file, or of something elsewhere."""
        if name := self.parts.inside(href):
            self.parts.add(self.account, PartKind.OTHER, name, about)
        elif href.strip(" ./") and not href.startswith("#"):
            self.account.add_text(OutsideKind.LINKS, href, about)

    # Texts beside the body.

    def _text_beside(self, name: str, attributes: Attributes) -> Iterator[None]:
        settled = attributes.get("loext:resolved") == "true"
        return self._aside(_BESIDE[name], after=" [resolved]" * settled)

    def _change(self, name: str, attributes: Attributes) -> None:
        self.tracked += 1

    def _creator(self, name: str, attributes: Attributes) -> Iterator[None]:
        if self._places and isinstance(aside := self._places[-1], Aside):
            pieces = self._paragraphs[-1].pieces
            start = len(pieces)
            yield
            aside.author = " ".join("".join(pieces[start:]).split())
            del pieces[start:]

    def _ruby(self, name: str, attributes: Attributes) -> Iterator[None]:
        if self._paragraphs:
            self._rubies.append(self._words_from_here())
            yield
            self._rubies.pop()

    def _ruby_text(self, name: str, attributes: Attributes) -> Iterator[None]:
        return self._aside(OutsideKind.ALTERNATIVES, self._rubies[-1]() if self._rubies else "")

    def _contents(self, name: str, attributes: Attributes) -> Iterator[None]:
        with self._beside() as aside:
            yield
        for text in aside.texts:
            words = _PAGE.sub("", text)
            words = _PAGES.sub("", words) if name == "text:alphabetical-index" else words
            self.account.add_text(OutsideKind.CONTENTS, words)

    def _link(self, name: str, attributes: Attributes) -> Iterator[None]:
        words = self._words_from_here()
        yield from self._span(name, attributes)
        self._add_link(attributes.get("xlink:href", ""), words())
        self.account.add_text(OutsideKind.ALTERNATIVES, attributes.get("office:title", ""), words())

    def _section(self, name: str, attributes: Attributes) -> Iterator[None]:
        self._add_codes(attributes)
        display = attributes.get("text:display", "")
        unmet = display == "condition" and attributes.get("text:is-hidden") == "true"
        return self._hide(hidden=display == "none" or unmet)

    # Pictures, objects and shapes.

    def _frame(self, name: str, attributes: Attributes) -> Iterator[None]:
        self._cut()
        self._frames.append(_OdtFrame(attributes.get("draw:name", "")))
        yield
        self._frames.pop()

    def _picture(self, name: str, attributes: Attributes) -> None:
        frame = self._frames[-1] if self._frames else _OdtFrame()
        href = attributes.get("xlink:href", "")
        part = self.parts.inside(href)
        again = frame.has_object or (frame.pictures and part.lower().endswith(".png"))  # for other programs
        frame.pictures += 1
        if not again and part:
            self.parts.add(self.account, PartKind.PICTURES, part, frame.name)
        elif not again and href:
            self.account.add_text(OutsideKind.LINKS, href, "picture")

    def _data(self, name: str, attributes: Attributes) -> Iterator[None]:
        picture = name == "office:binary-data" and self._frames and self._frames[-1].pictures
        return self._collect(Collected(), PartKind.PICTURES if picture else PartKind.EMBEDDED)

    def _object(self, name: str, attributes: Attributes) -> None:
        frame = self._frames[-1] if self._frames else _OdtFrame()
        href = attributes.get("xlink:href", "")
        if part := self.parts.inside(href):
            frame.has_object = True
            embedded = self.parts.embedded(part)
            if embedded.text:
                self._insert(embedded.text)
            else:
                self.account.add_part(embedded.kind, embedded.digest, frame.name)
        elif href.strip(" ./"):
            self.account.add_text(OutsideKind.LINKS, href, "object")

    def _formula(self, name: str, attributes: Attributes) -> Iterator[None]:
        formula = MathText()
        formula.start(name, attributes)
        if self._frames:
            self._frames[-1].has_object = True
        yield from self._received_by(formula)
        formula.end(name)
        self._insert(formula.written())

    def _media(self, name: str, attributes: Attributes) -> None:
        href = attributes.get("xlink:href", "")
        if part := self.parts.inside(href):
            if self._frames:
                self._frames[-1].has_object = True
            self.parts.add(self.account, PartKind.MEDIA, part)
        else:
            self._add_link(href, "media")

    def _shape(self, name: str, attributes: Attributes) -> Iterator[None]:
        self._cut()
        shape = Shape([content_of(name, attributes)])
        self._shapes.append(shape)
        yield from self.box()
        self._shapes.pop()
        if not shape.worded:
            digest = digest_of("".join(shape.content).encode())
            self.account.add_part(PartKind.DRAWINGS, digest, attributes.get("draw:name", ""))

    def _geometry(self, name: str, attributes: Attributes) -> None:
        if self._shapes:
            self._shapes[-1].content.append(content_of(name, attributes))

    def _forms(self, name: str, attributes: Attributes) -> Iterator[None]:
        return self._received_by(self.forms)

    def _control(self, name: str, attributes: Attributes) -> None:
        if shown := self.forms.place(attributes.get("draw:control", "")):
            self._insert(f" {shown} ")

    def _listener(self, name: str, attributes: Attributes) -> None:
        called = attributes.get("xlink:href", "") or attributes.get("script:macro-name", "")
        self.account.add_part(PartKind.SCRIPTS, digest_of(called.encode()), called)

    def _script(self, name: str, attributes: Attributes) -> Iterator[None]:
        address = (attributes[key] for key in ("xlink:href",) if key in attributes)
        return self._collect(Collected(*address), PartKind.SCRIPTS)

    def _collect(self, collected: Collected, kind: PartKind) -> Iterator[None]:
        yield from self._received_by(collected)
        if collected.content:
            self.account.add_part(kind, collected.digest())

    # Fields.

    def _running(self, name: str, attributes: Attributes) -> Iterator[None]:
        """Read a field that follows the page, the day or the person who looks."""
        if self.running and attributes.get("text:fixed") != "true" and self._paragraphs:
            self._insert("#")
            self.skip()
        return self._other(name, attributes)

    def _hidden_text(self, name: str, attributes: Attributes) -> Element:
        self._add_codes(attributes)
        if attributes.get("text:is-hidden") == "false":
            return None
        if text := attributes.get("text:string-value", ""):
            self.account.add_text(OutsideKind.HIDDEN, text)
            self.skip()
            return None
        return self._hide()

    def _hidden_paragraph(self, name: str, attributes: Attributes) -> None:
        self._add_codes(attributes)
        if self._paragraphs:
            self._paragraphs[-1].hidden |= attributes.get("text:is-hidden") == "true"

    def _told(self, name: str, attributes: Attributes) -> None:
        kind, names, between, about = _TELLING[name]
        self.account.add_text(kind, between.join(attributes.get(name, "") for name in names.split()), about)

    def _sequence(self, name: str, attributes: Attributes) -> Iterator[None]:
        return self._hide(hidden=attributes.get("text:display") == "none")

    def _variable(self, name: str, attributes: Attributes) -> None:
        value = attributes.get("office:string-value") or attributes.get("office:value", "")
        self.account.add_text(OutsideKind.CODE, value, attributes.get("text:name", ""))

    def _choice(self, name: str, attributes: Attributes) -> Iterator[None]:
        label = attributes.get("text:name") or attributes.get("loext:alias", "")
        choices, words = list[str](), self._words_from_here()
        self._choices.append(choices)
        self._add_values(label, attributes.get("text:help", ""), attributes.get("text:hint", ""))
        yield
        self._choices.pop()
        other = self._chosen if self._chosen != words().strip() else ""
        self._add_values(label, " | ".join(choices), other)
        self._chosen = ""

    def _add_values(self, label: str, *values: str) -> None:
        for value in values:
            self.account.add_text(OutsideKind.FORM_VALUES, value, label)

    def _entry(self, name: str, attributes: Attributes) -> None:
        if self._choices:
            value = attributes.get("text:value") or attributes.get("loext:display-text")
            self._choices[-1].append(value or attributes.get("loext:value", ""))
            if attributes.get("text:current-selected") == "true":
                self._chosen = self._choices[-1][-1]  # an editor shows it, whatever the words are

    def _field_mark(self, name: str, attributes: Attributes) -> Iterator[None]:
        """Read a form field as it comes from Word: a box or the chosen entry, tips, its code in Word."""
        inner = ElementList()
        yield from self._received_by(inner)
        parameters = [
            (one.get("field:name", ""), one.get("field:value", ""))
            for element, one, _ in inner.elements
            if element == "field:param"
        ]
        stated, entries = (dict(parameters), [value for about, value in parameters if about == "Dropdown_ListEntry"])
        chosen = stated.get("Dropdown_Selected", "")
        if "CHECKBOX" in attributes.get("field:type", ""):
            self._insert(TICKED if stated.get("Checkbox_Checked") == "true" else UNTICKED)
        elif chosen.isdecimal() and int(chosen[:9]) < len(entries):
            self._insert(entries[int(chosen[:9])])
        self._add_values("", " | ".join(entries))
        for about, value in parameters:
            if not about.startswith(("Dropdown_", "Checkbox_")):
                kind = OutsideKind.CODE if about.startswith(_FIELD_CODES) else OutsideKind.FORM_VALUES
                self.account.add_text(kind, value, about)


_B = OdtBody
_Begin = Callable[[OdtBody, str, Attributes], Element]
_BEFORE: dict[str, _Begin] = {
    "office:text": _B._whole,
    "office:script": _B._script,
    "script:event-listener": _B._listener,
}
_NAMED: dict[_Begin, str] = {
    # The content of these is no text of the document: dates of comments, and patterns from which lists are made.
    _B.skip: "office:change-info dc:date meta:date-string meta:creator-initials loext:sender-initials text:number"
    " office:settings text:bibliography-source text:table-of-content-source text:illustration-index-source"
    " text:table-index-source text:object-index-source text:user-index-source text:alphabetical-index-source",
    _B._paragraph: "text:p text:h",
    _B._span: "text:span",
    _B._sequence: "text:sequence",
    _B._blank: "text:s text:tab text:line-break",
    _B._list: "text:list text:numbered-paragraph",
    _B._list_item: "text:list-item text:list-header",
    _B._table: "table:table",
    _B.row: "table:table-row",
    _B._cell: "table:table-cell",
    _B._hide: "table:covered-table-cell",
    _B._note: "text:note",
    _B._citation: "text:note-citation",
    _B._index_title: "text:index-title",
    _B._section: "text:section",
    _B._text_beside: " ".join(_BESIDE),
    _B._change: "text:changed-region",
    _B._creator: "dc:creator",
    _B._ruby: "text:ruby",
    _B._ruby_text: "text:ruby-text",
    _B._contents: "text:table-of-content text:illustration-index text:table-index text:object-index text:user-index"
    " text:alphabetical-index",
    _B._link: "text:a draw:a",
    _B._frame: "draw:frame",
    _B._picture: "draw:image",
    _B._data: "office:binary-data office:document",
    _B._object: "draw:object draw:object-ole",
    _B._formula: "math:math",
    _B._media: "draw:plugin",
    _B.box: "draw:text-box",
    _B._shape: "draw:rect draw:line draw:polyline draw:polygon draw:regular-polygon draw:path draw:circle"
    " draw:ellipse draw:connector draw:measure draw:caption draw:custom-shape dr3d:scene",
    _B._geometry: "draw:enhanced-geometry",
    _B._forms: "office:forms",
    _B._control: "draw:control",
    _B._listener: "script:event-listener",
    _B._script: "text:script",
    # In headers and footers, these follow the page, the day or the person who looks.
    _B._running: "text:page-number text:page-count text:page-variable-get text:chapter text:file-name text:date"
    " text:time text:word-count text:character-count text:paragraph-count text:table-count text:image-count"
    " text:object-count text:modification-date text:modification-time text:print-date text:print-time text:printed-by"
    " text:editing-cycles text:editing-duration text:author-name text:author-initials text:creator",
    _B._hidden_text: "text:hidden-text",
    _B._hidden_paragraph: "text:hidden-paragraph",
    _B._variable: "text:user-field-decl",
    _B._choice: "text:drop-down loext:content-control",
    _B._entry: "text:label loext:list-item",
    _B._told: " ".join(_TOLD),
    _B._field_mark: "field:fieldmark field:fieldmark-start",
}
_ELEMENTS = {name: element for element, names in _NAMED.items() for name in names.split()}
