"""The parts of a Word file: which is the main one, and where it says that the others are."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass, field
from typing import BinaryIO

from colde_cli.documents.archive import Archive, Format
from colde_cli.errors import CorruptFileError

_MAIN = ".document.main+xml", "template.main+xml", "template.macroEnabledTemplate.main+xml"
_KINDS = frozenset(("styles", "footnotes", "endnotes", "core-properties"))
_PREFIXES = {
    "http://schemas.openxmlformats.org/wordprocessingml/2006/main": "w",
    "http://purl.oclc.org/ooxml/wordprocessingml/main": "w",
    "http://schemas.openxmlformats.org/officeDocument/2006/math": "m",
    "http://purl.oclc.org/ooxml/officeDocument/math": "m",
    "http://schemas.openxmlformats.org/markup-compatibility/2006": "mc",
    "http://purl.org/dc/elements/1.1/": "dc",
}
_WORD = Format("Word document", ".docx", _PREFIXES)


class Package(Archive):
    """An open Word file.

    Args:
        file: seekable.
        shown: what messages call it.

    Raises:
        CorruptFileError: it is no whole ZIP file, or holds no text of a Word document.
        LimitError: its directory is too large.
    """

    def __init__(self, file: BinaryIO, shown: str) -> None:
        super().__init__(file, shown, _WORD)
        self.main = self._find_main()
        folder, base = posixpath.split(self.main)
        self._parts = self._related(f"{folder}/_rels/{base}.rels", folder) | self._related("_rels/.rels", "")

    def part(self, kind: str) -> str:
        """Name of a part by its kind ("styles", "footnotes", "core-properties"); "" if there is none."""
        return self._parts.get(kind, "")

    def _find_main(self) -> str:
        types = _Types()
        self.read("[Content_Types].xml", types)
        for name in (*types.main, "word/document.xml"):
            if self.holds(name):
                return name.lstrip("/")
        raise CorruptFileError(
            f"{self.shown} is a ZIP archive without the text of a Word document; save it again as .docx."
        )

    def _related(self, name: str, folder: str) -> dict[str, str]:
        relations = _Relations(folder)
        self.read(name, relations)
        return relations.targets


@dataclass(slots=True)
class _Types:
    """Names of the parts that say they are the main one."""

    main: list[str] = field(default_factory=list)

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if len(self.main) < 8 and name == ":Override" and attributes.get(":ContentType", "").endswith(_MAIN):
            self.main.append(attributes.get(":PartName", ""))

    def end(self, name: str) -> None:
        """Nothing to do."""

    def characters(self, text: str) -> None:
        """Nothing to do."""


@dataclass(slots=True)
class _Relations:
    """Kind of relation -> name of the part; what lies outside the file is passed over."""

    folder: str
    targets: dict[str, str] = field(default_factory=dict)

    def start(self, name: str, attributes: dict[str, str]) -> None:
        target = attributes.get(":Target", "")
        if name == ":Relationship" and target and attributes.get(":TargetMode") != "External":
            kind = attributes.get(":Type", "").rpartition("/")[2]
            place = target if target.startswith("/") else posixpath.join(self.folder, target)
            if kind in _KINDS:
                self.targets.setdefault(kind, posixpath.normpath(place).lstrip("/"))

    def end(self, name: str) -> None:
        """Nothing to do."""

    def characters(self, text: str) -> None:
        """Nothing to do."""
