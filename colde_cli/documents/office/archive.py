"""A document that is a ZIP file of XML (Word, OpenDocument), read as a stream and within limits.

Nothing is believed that the file says of itself: sizes are counted while unpacking, declarations of entities (the
"billion laughs", files and addresses to fetch) end the reading, and no tree of elements is built.
"""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import BinaryIO, Protocol
from xml.parsers import expat

from colde_cli.errors import CorruptFileError, DocumentError, LimitError, PasswordError

MAX_PART_BYTES = 128 << 20
"""Of one part once unpacked; a book of 1000 pages has some 30 MiB."""
MAX_ELEMENTS = 3_000_000
"""Of the text; about a hundred to a paragraph would be many."""
_MAX_SIDE_ELEMENTS = 300_000  # of styles, relations and types
_MAX_DEPTH = 5000  # of elements in one another; editors stay below a hundred
_MAX_DIRECTORY = 4 << 20
_BLOCK = 4 << 20  # large blocks: expat begins a token that is cut off again with every block
_END, _LONG_END = b"PK\x05\x06", b"PK\x06\x07"
# What the modules that read ZIP and XML raise for files that are not as they should be.
_DAMAGE = (
    *(expat.ExpatError, zipfile.BadZipFile, zlib.error, struct.error, NotImplementedError),
    *(EOFError, OSError, ValueError, LookupError),
)


class Handler(Protocol):
    """What is told of elements, their names without a namespace's address: `w:p`, `text:h`, `:Override`."""

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """An element begins."""

    def end(self, name: str) -> None:
        """An element ends."""

    def characters(self, text: str) -> None:
        """Text in it."""


@dataclass(frozen=True, slots=True)
class Format:
    """Of which kind a file is: for messages ("Word document", ".docx"), and the prefixes of its namespaces."""

    name: str
    suffix: str
    prefixes: Mapping[str, str]

    @property
    def article(self) -> str:
        """The name with "a" or "an"."""
        return f"{'an' if self.name[0] in 'AEIOU' else 'a'} {self.name}"


class Archive:
    """An open file.

    Args:
        file: seekable.
        shown: what messages call it.
        format: of which kind it is.

    Raises:
        CorruptFileError: it is no whole ZIP file.
        LimitError: its directory is too large.
    """

    def __init__(self, file: BinaryIO, shown: str, format: Format) -> None:
        self.shown = shown
        self.format = format
        self._check_directory(file)
        try:
            self._zip = zipfile.ZipFile(file)
        except _DAMAGE as error:
            raise self.damaged() from error
        self._names = {name.lower(): name for name in self._zip.namelist()}

    def damaged(self) -> CorruptFileError:
        """The error for everything that is not as it should be."""
        return CorruptFileError(
            f"{self.shown} is damaged and cannot be read as {self.format.article}; try to save or get it again."
        )

    def encrypted(self) -> PasswordError:
        """The error for a file that needs a password."""
        return PasswordError(f"{self.shown} is encrypted; save it without a password.")

    def holds(self, name: str) -> bool:
        """Whether there is a part of that name."""
        return name.lower().lstrip("/") in self._names

    def read(self, name: str, handler: Handler, most: int = _MAX_SIDE_ELEMENTS) -> None:
        """Tell a handler of everything in a part of at most so many elements, if the file has it.

        Raises:
            CorruptFileError: the part is damaged, no XML, or declares entities.
            PasswordError: it is encrypted.
            LimitError: it is too large.
        """
        if not self.holds(name):
            return
        parser = self._parser(handler, most)
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
            raise self.encrypted()
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
                f"{self.shown} holds more files than {self.format.article} may; save it again as"
                f" {self.format.suffix}."
            )

    def _parser(self, handler: Handler, most: int) -> expat.XMLParserType:
        """A parser that ends at the first declaration of a document type, and so at every entity."""
        parser = expat.ParserCreate(namespace_separator="\n")
        parser.buffer_text = True
        elements = depth = 0
        shown, what, prefixes = self.shown, self.format, self.format.prefixes

        def short(name: str) -> str:
            address, _, local = name.rpartition("\n")
            return f"{prefixes.get(address, '')}:{local}"

        def start(name: str, attributes: dict[str, str]) -> None:
            nonlocal elements, depth
            elements, depth = elements + 1, depth + 1
            if depth > _MAX_DEPTH:
                raise CorruptFileError(
                    f"{shown} is nested deeper than {what.article} can be; save it again as {what.suffix}."
                )
            if elements > most:
                raise LimitError(f"{shown} holds more elements than {what.article} may; split it.")
            handler.start(
                short(name), attributes and {short(key): value for key, value in attributes.items()}
            )

        def end(name: str) -> None:
            nonlocal depth
            depth -= 1
            handler.end(short(name))

        def declares(*_: object) -> None:
            raise CorruptFileError(
                f"{shown} declares XML entities, which no {what.name} does; save it again."
            )

        parser.StartElementHandler = start
        parser.EndElementHandler = end
        parser.CharacterDataHandler = handler.characters
        parser.StartDoctypeDeclHandler = declares
        return parser


@dataclass(slots=True)
class Title:
    """Handler of a document's properties (Dublin Core): its title."""

    title: str = ""
    _within: bool = False

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Within the title, or not."""
        self._within = name == "dc:title"

    def end(self, name: str) -> None:
        """The title ends with the first element that does."""
        self._within = False

    def characters(self, text: str) -> None:
        """A piece of the title."""
        if self._within:
            self.title += text


def editing_warnings(tracked: int, hidden: int) -> list[str]:
    """What to say of tracked changes and hidden text, as many as there were of each."""
    warnings = []
    if tracked:
        warnings.append("Tracked changes were read as accepted: insertions are in, deletions are out.")
    if hidden:
        warnings.append("Hidden text was left out.")
    return warnings
