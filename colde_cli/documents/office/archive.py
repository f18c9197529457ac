"""Read a document that is a ZIP file of XML (Word, OpenDocument), as a stream and within limits.

The file is not trusted. Sizes are counted while unpacking, reading ends at a declaration of entities ("billion laughs",
files and addresses to fetch), and no tree of elements is built. `Package` knows the relations of the parts of a Word
file (Open Packaging Conventions).
"""

from __future__ import annotations

import io
import posixpath
import re
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import cache, partial
from typing import Any, BinaryIO, NamedTuple, TypeVar
from xml.parsers import expat

from colde_cli.documents.outside import digest_of
from colde_cli.errors import CorruptFileError, DocumentError, LimitError, PasswordError, UnsupportedFormatError

MAX_PART_BYTES = 128 << 20
"""Maximum size of one part once unpacked; a book of 1000 pages has some 30 MiB."""
MAX_ELEMENTS = 3_000_000
"""Maximum number of elements of the text; a hundred in each paragraph would be many."""
_MAX_SIDE_ELEMENTS = 300_000  # in the parts for styles, relations and types
_MAX_DEPTH = 5000  # of nested elements; editors stay below a hundred
_MAX_DIRECTORY = 4 << 20
_MAX_DIGESTED = 1 << 30  # bytes of pictures and other parts that are digested; more would take minutes
_BLOCK = 4 << 20  # large, because expat starts a token again with every block that cuts it
_END, _LONG_END = b"PK\x05\x06", b"PK\x06\x07"
# The errors that the ZIP and XML modules raise for damaged files.
_DAMAGE = (
    *(expat.ExpatError, zipfile.BadZipFile, zlib.error, struct.error, NotImplementedError),
    *(EOFError, OSError, ValueError, LookupError),
)

Attributes = dict[str, str]
_Made = TypeVar("_Made")


class XmlHandler:
    """Receives the elements of a part, named with the prefix of their format: `w:p`, `text:h`, `:Override`."""

    __slots__ = ()

    def start(self, name: str, attributes: Attributes) -> None:
        """Begin an element."""

    def end(self, name: str) -> None:
        """End an element."""

    def characters(self, text: str) -> None:
        """Take text of the current element."""


class ElementList(XmlHandler):
    """Lists elements, each with its attributes and the pieces of its text, if no element is in it."""

    def __init__(self) -> None:
        self.elements: list[tuple[str, Attributes, list[str]]] = []
        self._innermost = False

    def start(self, name: str, attributes: Attributes) -> None:
        """List an element."""
        self.elements.append((name, attributes, []))
        self._innermost = True

    def end(self, name: str) -> None:
        """End an element."""
        self._innermost = False

    def characters(self, text: str) -> None:
        """Take text of an element."""
        if self._innermost:
            self.elements[-1][2].append(text)


class ZipFormat(NamedTuple):
    """A kind of file."""

    name: str  # for messages, e.g. "Word document".
    suffix: str  # of its files, e.g. ".docx".
    prefixes: Mapping[str, str]  # namespace address -> prefix of its elements

    @property
    def article(self) -> str:
        """Put "a" or "an" before the name."""
        return f"{'an' if self.name[0] in 'AEIOU' else 'a'} {self.name}"


def _short(prefixes: Mapping[str, str], name: str) -> str:
    address, _, local = name.rpartition("\n")
    return f"{prefixes.get(address, '')}:{local}"


class Archive:
    """An open ZIP file of XML parts; `shown` is its name in messages.

    Raises:
        CorruptFileError: it is no whole ZIP file.
        LimitError: its directory is too large.
    """

    def __init__(self, file: BinaryIO, shown: str, format: ZipFormat) -> None:
        self.shown = shown
        self.format = format
        self._check_directory(file)
        try:
            self._zip = zipfile.ZipFile(file)
        except _DAMAGE as error:
            raise self.damaged() from error
        self._entries = {entry.filename.lower(): entry for entry in self._zip.infolist()}
        self._short = cache(partial(_short, format.prefixes))  # few names, and each comes often
        self._made: dict[object, Any] = {}
        self._unpacked = 0  # bytes of the parts that were digested

    def damaged(self) -> CorruptFileError:
        """Make the error for a damaged file."""
        return CorruptFileError(
            f"Cannot read {self.shown}: it is damaged, or not {self.format.article}; save or download it again."
        )

    def encrypted(self) -> PasswordError:
        """Make the error for a file that needs a password."""
        return PasswordError(f"Cannot read {self.shown}: it is encrypted; save it without a password.")

    def without_text(self, kind: str) -> CorruptFileError:
        """Make the error for an archive of something else than this kind of document."""
        return CorruptFileError(
            f"Cannot read {self.shown}: it is a ZIP archive without the text of {kind}; save it again as"
            f" {self.format.suffix}."
        )

    def holds(self, name: str) -> bool:
        """Whether the file has a part of this name."""
        return self._entry(name) is not None

    def names(self) -> list[str]:
        """List the names of all parts, sorted."""
        return sorted(entry.filename for entry in self._entries.values())

    def short(self, name: str) -> str:
        """The name that `XmlHandler` gets of an element or attribute `{address}name`."""
        return self._short(name.lstrip("{").replace("}", "\n"))

    def read(self, name: str, handler: XmlHandler, limit: int = _MAX_SIDE_ELEMENTS) -> None:
        """Let a handler receive the elements of a part, if the file has it, at most `limit`.

        Raises:
            CorruptFileError: the part is damaged, no XML, or declares entities.
            PasswordError: it is encrypted.
            LimitError: it is too large.
        """
        if (entry := self._entry(name)) is None:
            return
        parser = self._parser(handler, limit)
        try:
            for block in self._blocks(entry):
                parser.Parse(block, False)
            parser.Parse(b"", True)
        except DocumentError:
            raise
        except _DAMAGE as error:
            raise self.damaged() from error

    def elements(self, name: str, limit: int = _MAX_SIDE_ELEMENTS) -> list[tuple[str, Attributes, str]]:
        """List the elements of a part, each with its attributes and, if no element is in it, its text; see `read`."""
        handler = ElementList()
        self.read(name, handler, limit)
        return [(name, attributes, "".join(pieces)) for name, attributes, pieces in handler.elements]

    def properties(self, part: str, names: Mapping[str, str]) -> list[tuple[str, str]]:
        """List properties of the document that a reader sees: what `names` has for their elements, and their words."""
        return [(names[name], words) for name, _, words in self.elements(part) if name in names]

    def once(self, key: object, make: Callable[[], _Made]) -> _Made:
        """What `make` gives, made once for each key: a file may refer to one part a thousand times."""
        if key not in self._made:
            self._made[key] = make()
        made: _Made = self._made[key]
        return made

    def digest(self, name: str) -> str:
        """Digest the bytes of a part; "" if there is none.

        A part that cannot be unpacked, or is too large, counts by its checksum and size: it is not read, and must not
        keep the text from being read.
        """
        entry = self._entry(name)
        return self.once(entry.filename, lambda: self._digest(entry)) if entry else ""

    def content(self, name: str, limit: int) -> bytes:
        """Unpack a part of at most `limit` bytes; b"" for one that is missing, larger or damaged."""
        entry = self._entry(name)
        if entry is None or entry.file_size > limit:
            return b""
        try:
            return b"".join(self._blocks(entry))[:limit]
        except (DocumentError, *_DAMAGE):
            return b""

    def _entry(self, name: str) -> zipfile.ZipInfo | None:
        return self._entries.get(name.lower().lstrip("/"))

    def _digest(self, entry: zipfile.ZipInfo) -> str:
        self._unpacked += entry.file_size
        try:
            if self._unpacked > _MAX_DIGESTED:
                raise LimitError(entry.filename)
            return digest_of(self._blocks(entry))
        except (DocumentError, *_DAMAGE):
            return digest_of(f"{entry.CRC} {entry.file_size}".encode())

    def _blocks(self, entry: zipfile.ZipInfo) -> Iterator[bytes]:
        if entry.flag_bits & 1:
            raise self.encrypted()
        if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise UnsupportedFormatError(
                f"Cannot read {self.shown}: colde does not know its compression; save it again as {self.format.suffix}."
            )
        unpacked = 0
        with self._zip.open(entry) as stream:
            while block := stream.read(_BLOCK):
                unpacked += len(block)
                if unpacked > MAX_PART_BYTES:
                    raise LimitError(
                        f"Cannot read {self.shown}: it unpacks to more than {MAX_PART_BYTES >> 20} MiB of text,"
                        " the most that colde reads; split it."
                    )
                yield block

    def _check_directory(self, file: BinaryIO) -> None:
        size = file.seek(0, 2)
        file.seek(max(0, size - (1 << 16) - 64))
        tail = file.read()
        file.seek(0)
        at = tail.rfind(_END)
        if at < 0 or len(tail) < at + 22:
            raise self.damaged()
        listed = int.from_bytes(tail[at + 12 : at + 16], "little")
        if listed > _MAX_DIRECTORY or tail[max(0, at - 20) : at].startswith(_LONG_END):
            raise LimitError(
                f"Cannot read {self.shown}: it holds more files than {self.format.article} may; save it again as"
                f" {self.format.suffix}."
            )

    def _parser(self, handler: XmlHandler, limit: int) -> expat.XMLParserType:
        """Make a parser that refuses document type declarations, and so every entity."""
        parser = expat.ParserCreate(namespace_separator="\n")
        parser.buffer_text = True
        elements = depth = 0
        cannot, kind, short = f"Cannot read {self.shown}: it", self.format, self._short

        def start(name: str, attributes: Attributes) -> None:
            nonlocal elements, depth
            elements, depth = elements + 1, depth + 1
            if depth > _MAX_DEPTH:
                raise CorruptFileError(
                    f"{cannot} is nested deeper than {kind.article} can be; save it again as {kind.suffix}."
                )
            if elements > limit:
                raise LimitError(f"{cannot} holds more elements than {kind.article} may; split it.")
            handler.start(short(name), attributes and {short(key): value for key, value in attributes.items()})

        def end(name: str) -> None:
            nonlocal depth
            depth -= 1
            handler.end(short(name))

        def declares(*_: object) -> None:
            raise CorruptFileError(
                f"{cannot} declares XML entities, which no {kind.name} does; save it again as {kind.suffix}."
            )

        parser.StartElementHandler = start
        parser.EndElementHandler = end
        parser.CharacterDataHandler = handler.characters
        parser.StartDoctypeDeclHandler = declares
        return parser


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
    """What a part refers to."""

    kind: str  # the last word of its type: "image", "hyperlink", "chart"
    target: str  # the name of a part, or an address outside the file
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
            for name, attributes, _ in self.elements("[Content_Types].xml")
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
        for name, attributes, _ in self.elements(posixpath.join(folder, "_rels", f"{base}.rels")):
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
        values: list[str] = []
        with suppress(DocumentError):
            for name, attributes, text in self.elements(part):
                if name.endswith("Chart") or ":layoutId" in attributes:
                    values.append(f"{name} {attributes.get(':layoutId', '')}")
                elif name.endswith(":pt"):
                    values.append(f"point {attributes.get(':idx', '')}")
                if (value := text.strip()) and name not in _UNSEEN_VALUES:
                    # Editors write 4.3 as 4.2999999999999998.
                    values.append(f"{float(value):.10g}" if _NUMBER.fullmatch(value) else value)
        return digest_of("\n".join(values).encode()) if values else self.digest(part)

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
        points: list[list[str]] = []  # the paragraphs of each
        with suppress(DocumentError):
            for name, _, text in self.elements(part):
                if name == "dgm:pt":
                    points.append([])
                elif name == "a:p" and points:
                    points[-1].append("")
                elif name == "a:t" and points and points[-1]:
                    points[-1][-1] += text
        return [text for text in map(" ".join, points) if text.strip()]
