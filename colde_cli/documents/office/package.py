"""The parts of a Word file and their relations (Open Packaging Conventions), and digests of parts that are not read."""

from __future__ import annotations

import io
import posixpath
import re
import zipfile
from contextlib import suppress
from dataclasses import dataclass, field
from typing import BinaryIO, NamedTuple

from colde_cli.documents.office.archive import Archive, Attributes, XmlHandler, ZipFormat
from colde_cli.documents.outside import digest_of
from colde_cli.errors import DocumentError

MAX_INNER_BYTES = 16 << 20
"""Maximum size of a document inside the document that is read, too."""
_OFFICE, _STRICT = "http://schemas.openxmlformats.org/", "http://purl.oclc.org/ooxml/"
_MICROSOFT = "http://schemas.microsoft.com/office/"
# In both editions of the standard; the older one has a year in the address.
_STANDARD = {
    "wordprocessingml/main": "w",
    "officeDocument/math": "m",
    "officeDocument/relationships": "r",
    "drawingml/main": "a",
    "drawingml/wordprocessingDrawing": "wp",
    "drawingml/picture": "pic",
    "drawingml/chart": "c",
    "drawingml/diagram": "dgm",
}
_FORMAT = ZipFormat(
    "Word document",
    ".docx",
    {
        **{_OFFICE + place.replace("/", "/2006/"): prefix for place, prefix in _STANDARD.items()},
        **{_STRICT + place: prefix for place, prefix in _STANDARD.items()},
        f"{_OFFICE}markup-compatibility/2006": "mc",
        f"{_MICROSOFT}word/2010/wordprocessingShape": "wps",
        f"{_MICROSOFT}word/2010/wordml": "w14",
        "urn:schemas-microsoft-com:vml": "v",
        "urn:schemas-microsoft-com:office:office": "o",
        "http://purl.org/dc/elements/1.1/": "dc",
    },
)
_MAIN = ".document.main+xml", "template.main+xml", "template.macroEnabledTemplate.main+xml"
_NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
# Of a chart: where its values stand, and how they are written.
_UNSEEN_VALUES = frozenset(("c:f", "c:formatCode", "c:sqref", ":f", ":formatCode"))


class PartRelation(NamedTuple):
    """What a part refers to.

    Attributes:
        kind: the last word of its type: "image", "hyperlink", "chart".
        target: the name of a part, or an address outside the file.
    """

    kind: str
    target: str
    external: bool = False


class Package(Archive):
    """An open Word file that knows its main part and the relations of all parts.

    Raises:
        CorruptFileError: it is no whole ZIP file, or has no Word text in it.
        LimitError: its directory is too large.
    """

    def __init__(self, file: BinaryIO, shown: str) -> None:
        super().__init__(file, shown, _FORMAT)
        stated = [
            attributes.get(":PartName", "")
            for name, attributes in self.elements("[Content_Types].xml")
            if name == ":Override" and attributes.get(":ContentType", "").endswith(_MAIN)
        ]
        main = next(filter(self.holds, (*stated, "word/document.xml")), None)
        if main is None:
            raise self.without_text("a Word document")
        self.main = main.lstrip("/")

    def part(self, kind: str) -> str:
        """Look up the name of a part by its kind ("styles", "footnotes", "core-properties"); "" if there is none."""
        relations = (*self.relations(self.main).values(), *self.relations("").values())
        return next((one.target for one in relations if one.kind == kind and not one.external), "")

    def relations(self, part: str) -> dict[str, PartRelation]:
        """List the relations of a part by their identifiers; "" names the whole file."""
        return self.once(("relations", part), lambda: self._relations(part))

    def chart_digest(self, part: str) -> str:
        """Digest the kind, the words and the values of a chart, not its looks."""
        return self.once(("chart", part), lambda: self._chart_digest(part))

    def embedded_digest(self, part: str) -> str:
        """Digest an embedded file; one of Office by its parts, however they are packed, without its properties."""
        return self.once(("embedded", part), lambda: self._embedded_digest(part))

    def diagram_texts(self, part: str) -> list[str]:
        """The texts of the points of a diagram (SmartArt), in their order."""
        return self.once(("diagram", part), lambda: self._diagram_texts(part))

    def _relations(self, part: str) -> dict[str, PartRelation]:
        folder, base = posixpath.split(part)
        relations: dict[str, PartRelation] = {}
        for name, attributes in self.elements(posixpath.join(folder, "_rels", f"{base}.rels")):
            target = attributes.get(":Target", "")
            if name != ":Relationship" or not target:
                continue
            external = attributes.get(":TargetMode") == "External"
            if not external:
                target = posixpath.normpath(posixpath.join(folder, target)).lstrip("/")
            kind = attributes.get(":Type", "").rpartition("/")[2]
            relations.setdefault(attributes.get(":Id", ""), PartRelation(kind, target, external))
        return relations

    def _chart_digest(self, part: str) -> str:
        chart = _ChartValues()
        with suppress(DocumentError):
            self.read(part, chart)
            if chart.values:
                return digest_of("\n".join(chart.values).encode())
        return self.digest(part)

    def _embedded_digest(self, part: str) -> str:
        try:
            with zipfile.ZipFile(io.BytesIO(self.content(part, MAX_INNER_BYTES))) as inner:
                entries = sorted(inner.infolist(), key=lambda entry: entry.filename)
                if sum(entry.file_size for entry in entries) > MAX_INNER_BYTES:
                    return self.digest(part)
                return digest_of(
                    f"{entry.filename}\0{entry.CRC}\0".encode() + inner.read(entry)
                    for entry in entries
                    if not entry.filename.startswith("docProps/")
                )
        except (zipfile.BadZipFile, NotImplementedError, RuntimeError, OSError, ValueError, EOFError):
            return self.digest(part)

    def _diagram_texts(self, part: str) -> list[str]:
        diagram = _DiagramTexts()
        with suppress(DocumentError):
            self.read(part, diagram)
        return [text for text in map(" ".join, diagram.points) if text.strip()]


@dataclass(slots=True)
class _ChartValues(XmlHandler):
    """The kinds, words and numbers of a chart."""

    values: list[str] = field(default_factory=list)
    _text: list[str] = field(default_factory=list)

    def start(self, name: str, attributes: Attributes) -> None:
        self._text.clear()
        if name.endswith("Chart") or ":layoutId" in attributes:
            self.values.append(f"{name} {attributes.get(':layoutId', '')}")
        elif name.endswith(":pt"):
            self.values.append(f"point {attributes.get(':idx', '')}")

    def end(self, name: str) -> None:
        text = "".join(self._text).strip()
        self._text.clear()
        if text and name not in _UNSEEN_VALUES:
            # Editors write 4.3 as 4.2999999999999998.
            self.values.append(f"{float(text):.10g}" if _NUMBER.fullmatch(text) else text)

    def characters(self, text: str) -> None:
        self._text.append(text)


@dataclass(slots=True)
class _DiagramTexts(XmlHandler):
    """The paragraphs of each point of a diagram."""

    points: list[list[str]] = field(default_factory=list)
    _within: bool = False

    def start(self, name: str, attributes: Attributes) -> None:
        if name == "dgm:pt":
            self.points.append([])
        elif name == "a:p" and self.points:
            self.points[-1].append("")
        self._within = name == "a:t"

    def end(self, name: str) -> None:
        self._within = False

    def characters(self, text: str) -> None:
        if self._within and self.points and self.points[-1]:
            self.points[-1][-1] += text
