"""Drawings, pictures, objects and inner documents of a Word file: their words, and what is not read of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from colde_cli.documents.document import Document
from colde_cli.documents.office.package import Package, PartRelation
from colde_cli.documents.office.word_text import WordParagraph, WordText
from colde_cli.documents.outside import OutsideKind, PartKind, digest_of

Attributes = dict[str, str]
_TARGETS = ("r:id", "r:embed", "r:link", "r:href", "r:pict", "r:dm", "o:relid")
_KINDS = {
    **dict.fromkeys(("image", "hdphoto"), PartKind.PICTURES),
    **dict.fromkeys(("chart", "chartEx"), PartKind.CHARTS),
    **dict.fromkeys(
        ("oleObject", "package", "control", "subDocument", "aFChunk", "frame"), PartKind.EMBEDDED
    ),
    **dict.fromkeys(("video", "audio", "media", "movie"), PartKind.MEDIA),
    **dict.fromkeys(("customXml", "ink"), PartKind.DRAWINGS),
}
_EQUATION = re.compile(r"equation|mathtype", re.IGNORECASE)
_SHAPES = {"v:rect": "rect", "v:line": "line", "v:oval": "ellipse", "v:roundrect": "roundRect"}


@dataclass(slots=True)
class _Choice:
    """A choice between versions of a drawing: texts and parts before it, and whether one was read."""

    given: int
    read: bool = False


@dataclass(slots=True)
class WordDrawings(WordText):
    """Takes drawings, and what the text refers to.

    Attributes:
        package: the file.
        part: name of the part that is read.
        inner_document: reads a document inside the document by the name of its part; None if that cannot be done.
    """

    package: Package | None = None
    part: str = ""
    inner_document: Callable[[str], Document | None] = lambda part: None
    _choices: list[_Choice] = field(default_factory=list)
    _fallbacks: int = 0
    _object: str = ""  # the program of the current object
    _hidden_drawings: list[bool] = field(default_factory=list)
    _shapes: list[tuple[str, int]] = field(default_factory=list)  # open shapes, and the texts before them

    def begin_alternatives(self, _: Attributes) -> None:
        """Begin a choice between versions of a drawing."""
        self._choices.append(_Choice(self.given))

    def end_alternatives(self) -> None:
        """End a choice."""
        if self._choices:
            self._choices.pop()

    def begin_choice(self, _: Attributes) -> None:
        """Begin a version; only the first one that gives something is read."""
        if self._choices and self._choices[-1].read and self.given > self._choices[-1].given:
            self._skipping = 1
        elif self._choices:
            self._choices[-1].read = True

    def begin_fallback(self, _: Attributes) -> None:
        """Begin the version for older programs, which is read if no other one gives anything."""
        if self._choices and self.given > self._choices[-1].given:
            self._skipping = 1
        else:
            self._fallbacks += 1

    def end_fallback(self) -> None:
        """End the version for older programs."""
        self._fallbacks -= 1

    def relation(self, identifier: str) -> PartRelation | None:
        """Look up what an identifier refers to."""
        if not (self.package and identifier):
            return None
        return self.package.relations(self.part).get(identifier)

    def boxed(self, texts: Iterable[str]) -> None:
        """Write paragraphs of their own, beside the current one."""
        for text in texts:
            self.begin_box()
            self.begin_paragraph(WordParagraph())
            self.write(text)
            self.place_paragraph(self.end_paragraph())
            self._places.pop()

    def drawn(self, name: str, attributes: Attributes) -> None:
        """Take an element of a drawing: its words, its other text, what it refers to."""
        if name == "wp:docPr":
            self._described(attributes, ("title", "descr"))
            self._hide_drawing(attributes.get(":hidden", "0") not in ("0", "false"))
        elif name == "v:textpath":
            self._worded(attributes.get(":string", ""))
        elif name == "o:OLEObject":
            self._object = attributes.get(":ProgID", "")
        elif name == "a:srcRect":
            self._cropped(attributes)
        elif name in _SHAPES or name in ("v:shape", "wps:wsp", "wps:cNvPr"):
            self._described(attributes, ("alt", "title", "descr"))
        if name in _SHAPES or name == "wps:wsp":
            self._shapes.append((name, self.given))
        for key in _TARGETS:
            if attributes.get(key):
                self.refer_to(self.relation(attributes[key]), name)
        if ":href" in attributes and name.startswith("v:"):
            self.builder.account.add_text(OutsideKind.LINKS, attributes[":href"])

    def _described(self, attributes: Attributes, names: Iterable[str]) -> None:
        if not self._fallbacks:
            texts = dict.fromkeys(attributes.get(f":{name}", "") for name in names)
            for text in texts:
                self.builder.account.add_text(OutsideKind.ALTERNATIVES, text)

    def _worded(self, text: str) -> None:
        """Take the words of a drawing made of letters: a watermark, if it stands behind the pages."""
        if self.page_numbers:
            self.given += 1
            self.builder.account.add_text(OutsideKind.HEADERS, text, "watermark")
        else:
            self.boxed([text])

    def _cropped(self, attributes: Attributes) -> None:
        sides = [attributes.get(f":{side}", "0") for side in "ltrb"]
        shares = [round(int(side) / 1000) if side.lstrip("-").isdecimal() else side for side in sides]
        if any(shares) and not self._fallbacks:
            self.builder.account.add_part(
                PartKind.DRAWINGS, digest_of(str(shares).encode()), "cut of a picture"
            )

    def end_shape(self) -> None:
        """End a shape; one without text or picture is a drawing."""
        name, given = self._shapes.pop()
        if self.given == given and not self._fallbacks:
            form = _SHAPES.get(name, "shape")
            self.account_part(PartKind.DRAWINGS, digest_of(form.encode()), "shape")
            self.given = given  # its text may stand in the fallback

    def begin_drawing(self, _: Attributes) -> None:
        """Begin a drawing; it is hidden with its run."""
        self._hidden_drawings.append(False)
        self._hide_drawing(self._is_hidden())

    def _hide_drawing(self, hidden: bool) -> None:
        if hidden and self._hidden_drawings and not self._hidden_drawings[-1]:
            self._hidden_drawings[-1] = True
            self._covered += 1

    def end_drawing(self) -> None:
        """End a drawing."""
        if self._hidden_drawings:
            self._covered -= self._hidden_drawings.pop()

    def refer_to(self, relation: PartRelation | None, name: str) -> None:
        """Account for what an element refers to."""
        if relation is None or self.package is None:
            return
        account, target = self.builder.account, relation.target
        if relation.kind == "hyperlink":
            if relation.external:
                account.add_text(OutsideKind.LINKS, target, "picture")
            return
        if relation.kind == "diagramData":
            self.boxed(self.package.diagram_texts(target))
        elif relation.external:
            self.account_part(_KINDS.get(relation.kind, PartKind.OTHER), digest_of(target.encode()), target)
        elif relation.kind in ("chart", "chartEx"):
            self.account_part(PartKind.CHARTS, self.package.chart_digest(target), source=target)
            for inner in self.package.relations(target).values():
                if inner.kind == "package" and not inner.external:
                    digest = self.package.embedded_digest(inner.target)
                    self.account_part(PartKind.EMBEDDED, digest, "data of a chart")
        else:
            self._embed(relation, name)

    def _embed(self, relation: PartRelation, name: str) -> None:
        assert self.package is not None, "it has relations"
        target, kind = relation.target, _KINDS.get(relation.kind, PartKind.OTHER)
        if name in ("w:contentPart", "w14:contentPart"):
            kind = PartKind.DRAWINGS
        if kind is PartKind.EMBEDDED:
            kind = PartKind.FORMULAS if _EQUATION.match(self._object) else kind
            inner = (one.target for one in self.package.relations(target).values() if not one.external)
            digests = [self.package.embedded_digest(target), *map(self.package.digest, inner)]
            self.account_part(kind, digest_of(" ".join(digests).encode()), self._object)
        elif self.package.holds(target):
            source = target if kind is PartKind.PICTURES else ""
            self.account_part(kind, self.package.digest(target), source=source)

    def read_inner(self, relation: PartRelation | None) -> None:
        """Read a document that stands inside this one as part of its text, or account for it as a part."""
        if relation is None or self.package is None:
            return
        if relation.external:
            self.account_part(PartKind.EMBEDDED, digest_of(relation.target.encode()), relation.target)
            return
        inner = self.inner_document(relation.target)
        if inner is None:
            if self.package.holds(relation.target):
                self.account_part(PartKind.EMBEDDED, self.package.embedded_digest(relation.target))
            return
        for section in inner.sections:
            self._insert(section.heading, section.level, inner.text[section.body_start : section.span.end])
        for text in inner.outside:
            self.builder.account.add_text(text.kind, text.text, text.about)
        for part in inner.parts:
            self.account_part(part.kind, part.digest, part.about)

    def _insert(self, heading: str, level: int, text: str) -> None:
        """Insert a section of another document."""
        self.given += 1
        paragraphs = [paragraph for paragraph in text.split("\n\n") if paragraph.strip()]
        if self._places or self._deleted:
            self.boxed([heading, *paragraphs])
            return
        self.builder.add_heading(heading, level)
        for paragraph in paragraphs:
            self.builder.add_paragraph(paragraph, lines="\n" in paragraph)
