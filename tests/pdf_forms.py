"""PDFs of one page with annotations, pictures and attachments, and with fonts that lie about their letters."""

from __future__ import annotations

import io
import zlib
from collections.abc import Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

from pypdf import PdfWriter
from pypdf.generic import (
    ArrayObject,
    BooleanObject,
    DecodedStreamObject,
    DictionaryObject,
    EncodedStreamObject,
    FloatObject,
    NameObject,
    NumberObject,
    StreamObject,
    TextStringObject,
)

Box = tuple[float, float, float, float]
LETTERS = {code: f"{code:04X}" for code in range(32, 127)}
"""What a font says of its letters (/ToUnicode) that tells the truth."""


def _dictionary(**values: object) -> DictionaryObject:
    return DictionaryObject({NameObject(f"/{name}"): value for name, value in values.items()})


def _stream(text: str) -> DecodedStreamObject:
    stream = DecodedStreamObject()
    stream.set_data(text.encode("latin-1"))
    return stream


class Form:
    """A page that is being written."""

    def __init__(self, lines: Sequence[str] = (), meaning: Mapping[int, str] | None = None) -> None:
        """A page with lines of text; `meaning` is what its font says of its letters."""
        self._writer = PdfWriter()
        self._page = self._writer.add_blank_page(595, 842)
        font = _dictionary(
            Type=NameObject("/Font"), Subtype=NameObject("/Type1"), BaseFont=NameObject("/Helvetica")
        )
        if meaning is not None:
            font[NameObject("/ToUnicode")] = self._writer._add_object(_stream(_cmap(meaning)))
        self._resources = _dictionary(Font=_dictionary(F1=self._writer._add_object(font)))
        self._annotations = ArrayObject()
        self._fields = ArrayObject()
        if lines:
            shown = " 0 -200 Td ".join(f"({line}) Tj" for line in lines)
            self._page[NameObject("/Resources")] = self._resources
            content = self._writer._add_object(_stream(f"BT /F1 12 Tf 72 700 Td {shown} ET"))
            self._page[NameObject("/Contents")] = content

    def text_field(
        self, value: str, shown: str | None = "", box: Box = (150, 696, 350, 716), **more: Any
    ) -> Form:
        """A field; `shown` is its appearance, the value if "" and none if None."""
        looks = None if shown is None else shown or value
        return self._add("/Widget", box, looks, FT=NameObject("/Tx"), V=TextStringObject(value), **more)

    def child_field(self, value: str, box: Box = (150, 696, 350, 716)) -> Form:
        """A field without an appearance, whose value stands in the field that it is part of."""
        parent = _dictionary(FT=NameObject("/Tx"), T=TextStringObject("top"), V=TextStringObject(value))
        above = self._writer._add_object(parent)
        child = self._writer._add_object(self._annotation("/Widget", box, None, Parent=above))
        parent[NameObject("/Kids")] = ArrayObject([child])
        self._annotations.append(child)
        self._fields.append(above)
        return self

    def choice(self, value: str, options: Sequence[tuple[str, str]], box: Box = (150, 696, 350, 716)) -> Form:
        """A list whose appearance shows all that could be chosen."""
        pairs = ArrayObject(ArrayObject(map(TextStringObject, pair)) for pair in options)
        looks = " ".join(label for _, label in options)
        return self._add("/Widget", box, looks, FT=NameObject("/Ch"), V=TextStringObject(value), Opt=pairs)

    def checkbox(self, *, on: bool, box: Box = (150, 696, 162, 708)) -> Form:
        """A checkbox with a mark in either state."""
        looks = _dictionary(
            Yes=self._writer._add_object(self._drawn("4", box)),
            Off=self._writer._add_object(self._drawn("o", box)),
        )
        state = NameObject("/Yes" if on else "/Off")
        return self._add(
            "/Widget", box, None, FT=NameObject("/Btn"), V=state, AS=state, AP=_dictionary(N=looks)
        )

    def text_box(
        self, text: str, shown: str | None = "", box: Box = (72, 600, 272, 620), **more: Any
    ) -> Form:
        """A FreeText annotation."""
        looks = None if shown is None else shown or text
        return self._add("/FreeText", box, looks, Contents=TextStringObject(text), **more)

    def note(
        self,
        kind: str,
        box: Box = (72, 694, 300, 714),
        looks: str | None = None,
        flags: int = 4,
        **values: Any,
    ) -> Form:
        """An annotation of any kind; texts are given as strings, all else as objects of pypdf."""
        wrapped = {
            name: TextStringObject(value) if type(value) is str else value for name, value in values.items()
        }
        return self._add(kind, box, looks, flags=flags, **wrapped)

    def link(self, target: str, box: Box = (72, 694, 300, 714)) -> Form:
        """A link to an address."""
        return self.note("/Link", box, A=_dictionary(S=NameObject("/URI"), URI=TextStringObject(target)))

    def picture(self, pixels: bytes, width: int, *, level: int = 6) -> Form:
        """A picture of three bytes for each pixel, compressed at a level of zlib, 0 to 9."""
        stored = EncodedStreamObject()
        stored._data = zlib.compress(pixels, level)
        stored.update(
            _dictionary(
                Subtype=NameObject("/Image"),
                Width=NumberObject(width),
                Height=NumberObject(len(pixels) // (3 * width)),
                ColorSpace=NameObject("/DeviceRGB"),
                BitsPerComponent=NumberObject(8),
                Filter=NameObject("/FlateDecode"),
            )
        )
        shown = self._resources.setdefault(NameObject("/XObject"), _dictionary())
        name = f"/I{len(shown)}"
        shown[NameObject(name)] = self._writer._add_object(stored)
        return self.draw(f"q 50 0 0 50 {72 + 60 * len(shown)} 100 cm {name} Do Q")

    def draw(self, operators: str) -> Form:
        """Draw something else."""
        content = self._page["/Contents"].get_object()
        content.set_data(content.get_data() + b" " + operators.encode("latin-1"))
        return self

    def attach(self, name: str, data: bytes) -> Form:
        """Attach a file."""
        self._writer.add_attachment(name, data)
        return self

    def bookmark(self, title: str) -> Form:
        """An entry of the outline, to the page."""
        self._writer.add_outline_item(title=title, page_number=0)
        return self

    def catalog(self, **entries: Any) -> Form:
        """Entries of the catalog."""
        self._writer._root_object.update(_dictionary(**entries))
        return self

    def titled(self, title: str, *, shown: bool) -> Form:
        """A title, and whether a viewer shows it."""
        self._writer.add_metadata({"/Title": title})
        return self.catalog(ViewerPreferences=_dictionary(DisplayDocTitle=BooleanObject(shown)))

    def layer_off(self, name: str) -> Form:
        """A layer that is not shown."""
        group = _dictionary(Type=NameObject("/OCG"), Name=TextStringObject(name))
        layers = ArrayObject([self._writer._add_object(group)])
        return self.catalog(OCProperties=_dictionary(OCGs=layers, D=_dictionary(OFF=layers)))

    def value_on_no_page(self, name: str, value: str) -> Form:
        """A field that no page shows."""
        texts = {"T": TextStringObject(name), "V": TextStringObject(value)}
        self._fields.append(self._writer._add_object(_dictionary(FT=NameObject("/Tx"), **texts)))
        return self

    def sound(self, data: bytes) -> Form:
        """A sound on the page."""
        stream = DecodedStreamObject()
        stream.set_data(data)
        return self.note("/Sound", Sound=self._writer._add_object(stream))

    def dynamic(self) -> Form:
        """Make it a form of XFA, whose values are no part of its pages."""
        form = self._writer._add_object(_stream("<xdp/>"))
        self._writer._root_object[NameObject("/AcroForm")] = _dictionary(Fields=self._fields, XFA=form)
        self._writer._root_object[NameObject("/NeedsRendering")] = BooleanObject(True)
        return self

    def write(self, path: Path) -> Path:
        """Write the file."""
        self._page[NameObject("/Annots")] = self._annotations
        root = self._writer._root_object
        if self._fields and "/AcroForm" not in root:
            root[NameObject("/AcroForm")] = _dictionary(
                Fields=self._fields, DR=self._resources, NeedAppearances=BooleanObject(True)
            )
        self._writer.write(path)
        return path

    def _add(self, kind: str, box: Box, looks: str | None, **values: Any) -> Form:
        added = self._writer._add_object(self._annotation(kind, box, looks, **values))
        self._annotations.append(added)
        if kind == "/Widget":
            added.get_object()[NameObject("/T")] = TextStringObject(f"field {len(self._fields)}")
            self._fields.append(added)
        return self

    def _annotation(
        self, kind: str, box: Box, looks: str | None, flags: int = 4, **values: Any
    ) -> DictionaryObject:
        made = _dictionary(
            Type=NameObject("/Annot"),
            Subtype=NameObject(kind),
            Rect=ArrayObject(map(FloatObject, box)),
            F=NumberObject(flags),
            DA=TextStringObject("/F1 12 Tf 0 g"),
            **values,
        )
        if looks is not None:
            made[NameObject("/AP")] = _dictionary(N=self._writer._add_object(self._drawn(looks, box)))
        return made

    def _drawn(self, text: str, box: Box) -> DecodedStreamObject:
        drawn = _stream(f"BT /F1 12 Tf 2 4 Td ({text}) Tj ET")
        corner = map(FloatObject, (0, 0, box[2] - box[0], box[3] - box[1]))
        drawn.update(
            _dictionary(
                Type=NameObject("/XObject"),
                Subtype=NameObject("/Form"),
                BBox=ArrayObject(corner),
                Resources=self._resources,
            )
        )
        return drawn


def _cmap(meaning: Mapping[int, str]) -> str:
    rows = "\n".join(f"<{code:02X}> <{said}>" for code, said in meaning.items())
    return (
        "/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /X def /CMapType 2 def\n"
        f"1 begincodespacerange <00> <FF> endcodespacerange {len(meaning)} beginbfchar\n{rows}\n"
        "endbfchar endcmap end end"
    )


def packed(path: Path) -> Path:
    """Write a file once more, its objects compressed together (ISO 32000-1, 7.5.7), but for streams."""
    writer = PdfWriter(clone_from=path)
    out, entries, inside = bytearray(b"%PDF-1.5\n"), {}, []
    for number, item in enumerate(writer._objects, 1):
        if isinstance(item, StreamObject):
            entries[number] = (1, len(out), 0)
            out += b"%d 0 obj\n%b\nendobj\n" % (number, _written(item))
        else:
            entries[number] = (2, len(writer._objects) + 1, len(inside))
            inside.append((number, _written(item)))
    places = accumulate((len(body) + 1 for _, body in inside), initial=0)
    head = b" ".join(b"%d %d" % (number, at) for (number, _), at in zip(inside, places, strict=False)) + b"\n"
    data = zlib.compress(head + b"\n".join(body for _, body in inside))
    last = len(writer._objects) + 1
    entries[last] = (1, len(out), 0)
    out += (
        b"%d 0 obj\n<</Type/ObjStm/N %d/First %d/Filter/FlateDecode/Length %d>>stream\n%b\nendstream\nendobj\n"
        % (
            *(last, len(inside), len(head), len(data)),
            data,
        )
    )
    entries[last + 1] = (1, len(out), 0)
    rows = [(0, 0, 0), *(entries[number] for number in range(1, last + 2))]
    table = b"".join(bytes([kind]) + at.to_bytes(4, "big") + bytes([index]) for kind, at, index in rows)
    start = len(out)
    named = writer._root_object.indirect_reference.idnum, writer._info_obj.indirect_reference.idnum
    out += (
        b"%d 0 obj\n<</Type/XRef/Size %d/W[1 4 1]/Root %d 0 R/Info %d 0 R/Length %d>>stream\n%b\nendstream\nendobj\n"
        % (
            *(last + 1, last + 2, *named, len(table)),
            table,
        )
    )
    path = path.with_name("packed.pdf")
    path.write_bytes(out + b"startxref\n%d\n%%%%EOF" % start)
    return path


def _written(item: Any) -> bytes:
    stream = io.BytesIO()
    item.write_to_stream(stream)
    return stream.getvalue()
