"""The ZIP file and the XML of a Word document, read as a stream and within limits.

Nothing is believed that the file says of itself: sizes are counted while unpacking, declarations of entities (the
"billion laughs", files and addresses to fetch) end the reading, and no tree of elements is built.
"""

from __future__ import annotations

import posixpath
import struct
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import BinaryIO, Protocol
from xml.parsers import expat

from colde_cli.errors import CorruptFileError, DocumentError, LimitError, PasswordError

MAX_PART_BYTES = 128 << 20
"""Of one part once unpacked; a book of 1000 pages has some 30 MiB."""
MAX_ELEMENTS = 3_000_000
"""Of the text; about a hundred to a paragraph would be many."""
_MAX_SIDE_ELEMENTS = 300_000  # of styles, relations and types
_MAX_DEPTH = 5000  # of elements in one another; Word stays below a hundred
_MAX_DIRECTORY = 4 << 20
_BLOCK = 4 << 20  # large blocks: expat begins a token that is cut off again with every block
_MAIN = ".document.main+xml", "template.main+xml", "template.macroEnabledTemplate.main+xml"
_END, _LONG_END = b"PK\x05\x06", b"PK\x06\x07"
_KINDS = frozenset(("styles", "footnotes", "endnotes", "core-properties"))
# What the modules that read ZIP and XML raise for files that are not as they should be.
_DAMAGE = (
    *(expat.ExpatError, zipfile.BadZipFile, zlib.error, struct.error, NotImplementedError),
    *(EOFError, OSError, ValueError, LookupError),
)


class Handler(Protocol):
    """What is told of elements, their names without a namespace's address: `w:p`, `m:t`, `:Override`."""

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """An element begins."""

    def end(self, name: str) -> None:
        """An element ends."""

    def characters(self, text: str) -> None:
        """Text in it."""


_PREFIXES = {
    "http://schemas.openxmlformats.org/wordprocessingml/2006/main": "w",
    "http://purl.oclc.org/ooxml/wordprocessingml/main": "w",
    "http://schemas.openxmlformats.org/officeDocument/2006/math": "m",
    "http://purl.oclc.org/ooxml/officeDocument/math": "m",
    "http://schemas.openxmlformats.org/markup-compatibility/2006": "mc",
    "http://purl.org/dc/elements/1.1/": "dc",
}


class Package:
    """An open Word file.

    Args:
        file: seekable.
        shown: what messages call it.

    Raises:
        CorruptFileError: it is no whole ZIP file, or holds no text of a Word document.
        LimitError: its directory is too large.
    """

    def __init__(self, file: BinaryIO, shown: str) -> None:
        self.shown = shown
        self._check_directory(file)
        try:
            self._zip = zipfile.ZipFile(file)
        except _DAMAGE as error:
            raise self.damaged() from error
        self._names = {name.lower(): name for name in self._zip.namelist()}
        self.main = self._find_main()
        folder, base = posixpath.split(self.main)
        self._parts = self._related(f"{folder}/_rels/{base}.rels", folder) | self._related("_rels/.rels", "")

    def damaged(self) -> CorruptFileError:
        """The error for everything that is not as it should be."""
        return CorruptFileError(
            f"{self.shown} is damaged and cannot be read as a Word document; try to save or get it again."
        )

    def part(self, kind: str) -> str:
        """Name of a part by its kind ("styles", "footnotes", "core-properties"); "" if there is none."""
        return self._parts.get(kind, "")

    def read(self, name: str, handler: Handler, most: int = _MAX_SIDE_ELEMENTS) -> None:
        """Tell a handler of everything in a part of at most so many elements, if the file has it.

        Raises:
            CorruptFileError: the part is damaged, no XML, or declares entities.
            PasswordError: it is encrypted.
            LimitError: it is too large.
        """
        if name.lower().lstrip("/") not in self._names:
            return
        parser = _parser(handler, self.shown, most)
        try:
            for block in self._blocks(self._names[name.lower().lstrip("/")]):
                parser.Parse(block, False)
            parser.Parse(b"", True)
        except DocumentError:
            raise
        except _DAMAGE as error:
            raise self.damaged() from error

    def _blocks(self, name: str) -> Iterator[bytes]:
        entry = self._zip.getinfo(name)
        if entry.flag_bits & 1:
            raise PasswordError(f"{self.shown} is encrypted; save it without a password.")
        if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise self.damaged()
        left = MAX_PART_BYTES
        with self._zip.open(entry) as stream:
            while block := stream.read(_BLOCK):
                left -= len(block)
                if left < 0:
                    raise LimitError(
                        f"{self.shown} unpacks to more than {MAX_PART_BYTES >> 20} MiB of text, the most that"
                        " colde reads; split it."
                    )
                yield block

    def _check_directory(self, file: BinaryIO) -> None:
        size = file.seek(0, 2)
        start = max(0, size - (1 << 16) - 64)
        file.seek(start)
        tail = file.read()
        file.seek(0)
        at = tail.rfind(_END)
        if at < 0 or len(tail) < at + 22:
            raise self.damaged()
        listed = int.from_bytes(tail[at + 12 : at + 16], "little")
        if listed > _MAX_DIRECTORY or tail[max(0, at - 20) : at].startswith(_LONG_END):
            raise LimitError(
                f"{self.shown} holds more files than a Word document may; save it again as .docx."
            )

    def _find_main(self) -> str:
        types = _Types()
        self.read("[Content_Types].xml", types)
        for name in (*types.main, "word/document.xml"):
            if name.lower().lstrip("/") in self._names:
                return name.lstrip("/")
        raise CorruptFileError(
            f"{self.shown} is a ZIP archive without the text of a Word document; save it again as .docx."
        )

    def _related(self, name: str, folder: str) -> dict[str, str]:
        relations = _Relations(folder)
        self.read(name, relations)
        return relations.targets


def _parser(handler: Handler, shown: str, most: int) -> expat.XMLParserType:
    """A parser that ends at the first declaration of a document type, and so at every entity."""
    parser = expat.ParserCreate(namespace_separator="\n")
    parser.buffer_text = True
    elements = depth = 0

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal elements, depth
        elements, depth = elements + 1, depth + 1
        if depth > _MAX_DEPTH:
            raise CorruptFileError(
                f"{shown} is nested deeper than a Word document can be; save it again as .docx."
            )
        if elements > most:
            raise LimitError(f"{shown} holds more elements than a Word document may; split it.")
        handler.start(_short(name), attributes and {_short(key): value for key, value in attributes.items()})

    def end(name: str) -> None:
        nonlocal depth
        depth -= 1
        handler.end(_short(name))

    def declares(*_: object) -> None:
        raise CorruptFileError(f"{shown} declares XML entities, which no Word document does; save it again.")

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = handler.characters
    parser.StartDoctypeDeclHandler = declares
    return parser


def _short(name: str) -> str:
    address, _, local = name.rpartition("\n")
    return f"{_PREFIXES.get(address, '')}:{local}"


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
