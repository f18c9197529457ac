"""PDFs of one page with form fields and text boxes, and with fonts that say wrong things of their letters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pypdf import PdfWriter
from pypdf.generic import (
    ArrayObject,
    BooleanObject,
    DecodedStreamObject,
    DictionaryObject,
    FloatObject,
    NameObject,
    NumberObject,
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
