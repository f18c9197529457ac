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
    ByteStringObject,
    DecodedStreamObject,
    EncodedStreamObject,
    StreamObject,
    TextStringObject,
)

from colde_cli.documents.pdf.marking_engine import stored

Box = tuple[float, float, float, float]
LETTERS = {code: f"{code:04X}" for code in range(32, 127)}
"""What a font says of its letters (/ToUnicode) that tells the truth."""
AMOUNT: Box = (150, 696, 350, 716)
"""Beside the label on the first line."""


def entries(**values: Any) -> Any:
    """A dictionary; a string is a name, a `TextStringObject` a text."""
    return stored({f"/{name}": value for name, value in values.items()})


def stream(data: str | bytes, **values: Any) -> DecodedStreamObject:
    made = DecodedStreamObject()
    made.update(entries(**values))
    made.set_data(data.encode("latin-1") if isinstance(data, str) else data)
    return made


class Form:
    """A page that is being written."""

    def __init__(self, lines: Sequence[str] = (), meaning: Mapping[int, str] | None = None) -> None:
        """A page with lines of text; `meaning` is what its font says of its letters."""
        self._writer = PdfWriter()
        self._page = self._writer.add_blank_page(595, 842)
        font = entries(Type="/Font", Subtype="/Type1", BaseFont="/Helvetica")
        if meaning is not None:
            font.update(entries(ToUnicode=self._stored(stream(_cmap(meaning)))))
        self._resources = entries(Font=entries(F1=self._stored(font)))
        self._annotations = ArrayObject()
        self._fields = ArrayObject()
        if lines:
            shown = " 0 -200 Td ".join(f"({line}) Tj" for line in lines)
            content = self._stored(stream(f"BT /F1 12 Tf 72 700 Td {shown} ET"))
            self._page.update(entries(Resources=self._resources, Contents=content))

    def _stored(self, value: Any) -> Any:
        return self._writer._add_object(value)

    def text_field(self, value: str, shown: str | None = "", box: Box = AMOUNT, **more: Any) -> Form:
        """A field; `shown` is its appearance, the value if "" and none if None."""
        looks = None if shown is None else shown or value
        return self._add("/Widget", box, looks, FT="/Tx", V=TextStringObject(value), **more)

    def child_field(self, value: str, box: Box = AMOUNT) -> Form:
        """A field without an appearance, whose value stands in the field that it is part of."""
        parent = entries(FT="/Tx", T=TextStringObject("top"), V=TextStringObject(value))
        above = self._stored(parent)
        child = self._stored(self._annotation("/Widget", box, None, Parent=above))
        parent.update(entries(Kids=[child]))
        self._annotations.append(child)
        self._fields.append(above)
        return self

    def choice(self, value: str, options: Sequence[tuple[str, str]], box: Box = AMOUNT) -> Form:
        """A list whose appearance shows all that could be chosen."""
        pairs = [list(map(TextStringObject, pair)) for pair in options]
        looks = " ".join(label for _, label in options)
        return self._add("/Widget", box, looks, FT="/Ch", V=TextStringObject(value), Opt=pairs)

    def checkbox(self, *, on: bool, box: Box) -> Form:
        """A checkbox with a mark in either state."""
        looks = {f"/{name}": self._stored(self._drawn(text, box)) for name, text in (("Yes", "4"), ("Off", "o"))}
        state = "/Yes" if on else "/Off"
        return self._add("/Widget", box, None, FT="/Btn", V=state, AS=state, AP={"/N": looks})

    def text_box(self, text: str, shown: str | None = "", box: Box = (72, 600, 272, 620), **more: Any) -> Form:
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
        """An annotation of any kind; strings are texts, but for names with their slash."""
        wrapped = {
            name: TextStringObject(value) if type(value) is str and value[:1] != "/" else value
            for name, value in values.items()
        }
        return self._add(kind, box, looks, flags=flags, **wrapped)

    def link(self, target: str, box: Box = (72, 694, 300, 714)) -> Form:
        """A link to an address."""
        return self.note("/Link", box, A=entries(S="/URI", URI=TextStringObject(target)))

    def picture(self, pixels: bytes, width: int, *, level: int = 6) -> Form:
        """A picture of three bytes for each pixel, compressed at a level of zlib, 0 to 9."""
        image = EncodedStreamObject()
        image._data = zlib.compress(pixels, level)
        height = len(pixels) // (3 * width)
        image.update(entries(Subtype="/Image", Width=width, Height=height, ColorSpace="/DeviceRGB"))
        image.update(entries(BitsPerComponent=8, Filter="/FlateDecode"))
        shown = self._resources.setdefault(stored("/XObject"), entries())
        name = f"/I{len(shown)}"
        shown[stored(name)] = self._stored(image)
        return self.draw(f"q 50 0 0 50 {72 + 60 * len(shown)} 100 cm {name} Do Q")

    def laugh(self, levels: int) -> Form:
        """Draw a form that draws a form twice, and so on."""
        held = self._drawn("ha", (0, 0, 595, 842))
        held.update(entries(Resources=entries(Font=self._resources["/Font"])))  # not itself again
        for _ in range(levels):
            inner = entries(XObject=entries(X=self._stored(held)))
            form = {"Type": "/XObject", "Subtype": "/Form", "BBox": [0.0, 0.0, 595.0, 842.0]}
            held = stream("/X Do /X Do", **form, Resources=inner)
        self._resources.update(entries(XObject=entries(X=self._stored(held))))
        return self.draw("/X Do")

    def draw(self, operators: str) -> Form:
        """Draw something else."""
        content = self._page["/Contents"].get_object()
        assert isinstance(content, StreamObject)
        content.set_data(content.get_data() + b" " + operators.encode("latin-1"))
        return self

    def attach(self, name: str, data: bytes) -> Form:
        """Attach a file."""
        self._writer.add_attachment(name, data)
        return self

    def pinned(self, data: bytes) -> Form:
        """A file on the page."""
        return self.note("/FileAttachment", (400, 10, 420, 30), FS=self._file(data))

    def associated(self, data: bytes) -> Form:
        """A file that belongs to the page."""
        self._page.update(entries(AF=[self._file(data)]))
        return self

    def _file(self, data: bytes) -> Any:
        held = self._stored(stream(data, Type="/EmbeddedFile"))
        return self._stored(entries(Type="/Filespec", EF=entries(F=held)))

    def signature(self, content: bytes) -> Form:
        """A field for a signature, signed if there is any content."""
        signed = {"V": entries(Type="/Sig", Contents=ByteStringObject(content))} if content else {}
        return self._add("/Widget", (400, 60, 500, 80), None, FT="/Sig", **signed)

    def bookmark(self, title: str, action: Any = None) -> Form:
        """An entry of the outline, to the page or with another action."""
        added: Any = self._writer.add_outline_item(title=title, page_number=None if action else 0).get_object()
        if action:
            added.update(entries(A=action))
        return self

    def catalog(self, **values: Any) -> Form:
        """Entries of the catalog."""
        self._writer._root_object.update(entries(**values))
        return self

    def titled(self, title: str, *, shown: bool) -> Form:
        """A title, and whether a viewer shows it."""
        self._writer.add_metadata({"/Title": title})
        return self.catalog(ViewerPreferences=entries(DisplayDocTitle=BooleanObject(shown)))

    def layer(self, name: str, *, off: bool = True, **more: Any) -> Form:
        """A layer, which is not shown if it is off."""
        layers = [self._stored(entries(Type="/OCG", Name=TextStringObject(name), **more))]
        return self.catalog(OCProperties=entries(OCGs=layers, D=entries(OFF=layers if off else [])))

    def value_on_no_page(self, name: str, value: str) -> Form:
        """A field that no page shows."""
        field = entries(FT="/Tx", T=TextStringObject(name), V=TextStringObject(value))
        self._fields.append(self._stored(field))
        return self

    def sound(self, data: bytes) -> Form:
        """A sound on the page."""
        return self.note("/Sound", Sound=self._stored(stream(data)))

    def packet(self, words: bytes) -> Form:
        """A packet of XFA."""
        return self.catalog(AcroForm=entries(Fields=self._fields, XFA=self._stored(stream(words))))

    def dynamic(self) -> Form:
        """Make it a form of XFA, whose values are no part of its pages."""
        return self.packet(b"<xdp/>").catalog(NeedsRendering=BooleanObject(True))

    def write(self, path: Path) -> Path:
        """Write the file."""
        self._page.update(entries(Annots=self._annotations))
        root = self._writer._root_object
        if self._fields and "/AcroForm" not in root:
            form = entries(Fields=self._fields, DR=self._resources, NeedAppearances=BooleanObject(True))
            root.update(entries(AcroForm=form))
        self._writer.write(path)
        return path

    def _add(self, kind: str, box: Box, looks: str | None, **values: Any) -> Form:
        added = self._stored(self._annotation(kind, box, looks, **values))
        self._annotations.append(added)
        if kind == "/Widget":
            added.get_object().update(entries(T=TextStringObject(f"field {len(self._fields)}")))
            self._fields.append(added)
        return self

    def _annotation(self, kind: str, box: Box, looks: str | None, flags: int = 4, **values: Any) -> Any:
        corners, letters = list(map(float, box)), TextStringObject("/F1 12 Tf 0 g")
        made = entries(Type="/Annot", Subtype=kind, Rect=corners, F=flags, DA=letters, **values)
        if looks is not None:
            made.update(entries(AP=entries(N=self._stored(self._drawn(looks, box)))))
        return made

    def _drawn(self, text: str, box: Box) -> DecodedStreamObject:
        corners = [0.0, 0.0, float(box[2] - box[0]), float(box[3] - box[1])]
        form = {"Type": "/XObject", "Subtype": "/Form", "BBox": corners, "Resources": self._resources}
        return stream(f"BT /F1 12 Tf 2 4 Td ({text}) Tj ET", **form)


def _cmap(meaning: Mapping[int, str]) -> str:
    rows = "\n".join(f"<{code:02X}> <{said}>" for code, said in meaning.items())
    return (
        "/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /X def /CMapType 2 def\n"
        f"1 begincodespacerange <00> <FF> endcodespacerange {len(meaning)} beginbfchar\n{rows}\n"
        "endbfchar endcmap end end"
    )


_STREAM = b"%d 0 obj\n<<%b/Length %d>>stream\n%b\nendstream\nendobj\n"


def packed(path: Path) -> Path:
    """Write a file once more, its objects compressed together (ISO 32000-1, 7.5.7), but for streams."""
    writer = PdfWriter(clone_from=path)
    out = bytearray(b"%PDF-1.5\n")
    entries: dict[int, tuple[int, int, int]] = {}
    inside: list[tuple[int, bytes]] = []
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
    held = b"/Type/ObjStm/N %d/First %d/Filter/FlateDecode" % (len(inside), len(head))
    out += _STREAM % (last, held, len(data), data)
    entries[last + 1] = (1, len(out), 0)
    rows = [(0, 0, 0), *(entries[number] for number in range(1, last + 2))]
    table = b"".join(bytes([kind]) + at.to_bytes(4, "big") + bytes([index]) for kind, at, index in rows)
    start = len(out)
    root, info = (getattr(item, "indirect_reference", None) for item in (writer._root_object, writer._info_obj))
    assert root
    assert info
    named = root.idnum, info.idnum
    held = b"/Type/XRef/Size %d/W[1 4 1]/Root %d 0 R/Info %d 0 R" % (last + 2, *named)
    out += _STREAM % (last + 1, held, len(table), table)
    path = path.with_name("packed.pdf")
    path.write_bytes(out + b"startxref\n%d\n%%%%EOF" % start)
    return path


def _written(item: Any) -> bytes:
    stream = io.BytesIO()
    item.write_to_stream(stream)
    return stream.getvalue()
