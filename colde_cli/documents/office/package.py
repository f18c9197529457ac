"""The parts of a Word file and their relations (Open Packaging Conventions), and digests of parts that are not read."""

from __future__ import annotations

import io
import posixpath
import re
import zipfile
from contextlib import suppress
from dataclasses import dataclass, field
from typing import BinaryIO

from colde_cli.documents.office.archive import Archive, XmlHandler, ZipFormat
from colde_cli.documents.outside import digest_of
from colde_cli.errors import CorruptFileError, DocumentError

MAX_INNER_BYTES = 16 << 20
"""Maximum size of a document inside the document that is read, too."""
_OFFICE, _STRICT = "http://schemas.openxmlformats.org/", "http://purl.oclc.org/ooxml/"
_MICROSOFT = "http://schemas.microsoft.com/office/"
_FORMAT = ZipFormat(
    "Word document",
    ".docx",
    {
        f"{_OFFICE}wordprocessingml/2006/main": "w",
        f"{_STRICT}wordprocessingml/main": "w",
        f"{_OFFICE}officeDocument/2006/math": "m",
        f"{_STRICT}officeDocument/math": "m",
        f"{_OFFICE}officeDocument/2006/relationships": "r",
        f"{_STRICT}officeDocument/relationships": "r",
        f"{_OFFICE}markup-compatibility/2006": "mc",
        f"{_OFFICE}drawingml/2006/main": "a",
        f"{_STRICT}drawingml/main": "a",
        f"{_OFFICE}drawingml/2006/wordprocessingDrawing": "wp",
        f"{_STRICT}drawingml/wordprocessingDrawing": "wp",
        f"{_OFFICE}drawingml/2006/picture": "pic",
        f"{_STRICT}drawingml/picture": "pic",
        f"{_OFFICE}drawingml/2006/chart": "c",
        f"{_STRICT}drawingml/chart": "c",
        f"{_OFFICE}drawingml/2006/diagram": "dgm",
        f"{_STRICT}drawingml/diagram": "dgm",
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


@dataclass(frozen=True, slots=True)
class PartRelation:
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

    Args:
        file: seekable.
        shown: its name in messages.

    Raises:
        CorruptFileError: it is no whole ZIP file, or has no Word text in it.
        LimitError: its directory is too large.
    """

    def __init__(self, file: BinaryIO, shown: str) -> None:
        super().__init__(file, shown, _FORMAT)
        self.main = self._find_main()
        self._relations: dict[str, dict[str, PartRelation]] = {}
        self._digests_by_content: dict[str, str] = {}
        self._diagrams: dict[str, list[str]] = {}

    def part(self, kind: str) -> str:
        """Look up the name of a part by its kind ("styles", "footnotes", "core-properties"); "" if there is none."""
        for relations in (self.relations(self.main), self.relations("")):
            for relation in relations.values():
                if relation.kind == kind and not relation.external:
                    return relation.target
        return ""

    def relations(self, part: str) -> dict[str, PartRelation]:
        """List the relations of a part by their identifiers; "" names the whole file."""
        if part not in self._relations:
            folder, base = posixpath.split(part)
            handler = _Relations(folder)
            self.read(posixpath.join(folder, "_rels", f"{base}.rels"), handler)
            self._relations[part] = handler.found
        return self._relations[part]

    def chart_digest(self, part: str) -> str:
        """Digest the kind, the words and the values of a chart, not its looks."""
        if part not in self._digests_by_content:
            self._digests_by_content[part] = self._chart_digest(part)
        return self._digests_by_content[part]

    def _chart_digest(self, part: str) -> str:
        values = _ChartValues()
        try:
            self.read(part, values)
        except DocumentError:
            return self.digest(part)
        return digest_of("\n".join(values.found).encode()) if values.found else self.digest(part)

    def embedded_digest(self, part: str) -> str:
        """Digest an embedded file; one of Office by its parts, however they are packed, without its properties."""
        if part not in self._digests_by_content:
            self._digests_by_content[part] = self._embedded_digest(part)
        return self._digests_by_content[part]

    def _embedded_digest(self, part: str) -> str:
        data = self.content(part, MAX_INNER_BYTES)
        try:
            with zipfile.ZipFile(io.BytesIO(data)) as inner:
                entries = sorted(inner.infolist(), key=lambda entry: entry.filename)
                if sum(entry.file_size for entry in entries) > MAX_INNER_BYTES:
                    return self.digest(part)
                kept = [entry for entry in entries if not entry.filename.startswith("docProps/")]
                return digest_of(
                    f"{entry.filename}\0{entry.CRC}\0".encode() + inner.read(entry) for entry in kept
                )
        except (zipfile.BadZipFile, NotImplementedError, RuntimeError, OSError, ValueError, EOFError):
            return self.digest(part)

    def diagram_texts(self, part: str) -> list[str]:
        """The texts of the points of a diagram (SmartArt), in their order."""
        if part not in self._diagrams:
            texts = _DiagramTexts()
            with suppress(DocumentError):
                self.read(part, texts)
            self._diagrams[part] = [text for text in map(" ".join, texts.found) if text.strip()]
        return self._diagrams[part]

    def _find_main(self) -> str:
        types = _Types()
        self.read("[Content_Types].xml", types)
        for name in (*types.main, "word/document.xml"):
            if self.holds(name):
                return name.lstrip("/")
        raise CorruptFileError(
            f"Cannot read {self.shown}: it is a ZIP archive without the text of a Word document; save it again as"
            " .docx."
        )


@dataclass(slots=True)
class _Types(XmlHandler):
    """Names of the parts that call themselves the main part."""

    main: list[str] = field(default_factory=list)

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if len(self.main) < 8 and name == ":Override" and attributes.get(":ContentType", "").endswith(_MAIN):
            self.main.append(attributes.get(":PartName", ""))


@dataclass(slots=True)
class _Relations(XmlHandler):
    folder: str
    found: dict[str, PartRelation] = field(default_factory=dict)

    def start(self, name: str, attributes: dict[str, str]) -> None:
        target = attributes.get(":Target", "")
        if name != ":Relationship" or not target:
            return
        kind = attributes.get(":Type", "").rpartition("/")[2]
        external = attributes.get(":TargetMode") == "External"
        if not external:
            place = target if target.startswith("/") else posixpath.join(self.folder, target)
            target = posixpath.normpath(place).lstrip("/")
        self.found.setdefault(attributes.get(":Id", ""), PartRelation(kind, target, external))


@dataclass(slots=True)
class _ChartValues(XmlHandler):
    """The kinds, words and numbers of a chart."""

    found: list[str] = field(default_factory=list)
    _text: list[str] = field(default_factory=list)

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self._text.clear()
        if name.endswith("Chart") or ":layoutId" in attributes:
            self.found.append(f"{name} {attributes.get(':layoutId', '')}")
        elif name.endswith(":pt"):
            self.found.append(f"point {attributes.get(':idx', '')}")

    def end(self, name: str) -> None:
        text = "".join(self._text).strip()
        self._text.clear()
        if text and name not in _UNSEEN_VALUES:
            # Editors write 4.3 as 4.2999999999999998.
            self.found.append(f"{float(text):.10g}" if _NUMBER.fullmatch(text) else text)

    def characters(self, text: str) -> None:
        self._text.append(text)


@dataclass(slots=True)
class _DiagramTexts(XmlHandler):
    """The pieces of text of each point."""

    found: list[list[str]] = field(default_factory=list)
    _within: bool = False

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name == "dgm:pt":
            self.found.append([])
        elif name == "a:p" and self.found:
            self.found[-1].append("")
        self._within = name == "a:t"

    def end(self, name: str) -> None:
        self._within = False

    def characters(self, text: str) -> None:
        if self._within and self.found and self.found[-1]:
            self.found[-1][-1] += text
