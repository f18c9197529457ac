"""Find what a PDF holds that is no text of its pages, with PDFium: pictures, attachments, XFA forms, signatures.

A picture is numbered by its place on the page: those of the page's content first, then those that annotations show. So
another process can find it again. What belongs to no page is read after all pages, as an attachment may be of any size:
if the process dies here, the pages are known.
"""

from __future__ import annotations

import ctypes
import hashlib
import re
import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

import pypdfium2_raw as pdfium

Handle = Any  # a pointer of ctypes, or a function of the library
Text = tuple[str, str, str]
"""Kind, text (or digest), and what it belongs to."""

MAX_ANNOTATIONS = 5_000
"""Maximum number of annotations of a page that are looked at."""
_MAX_OBJECTS = 20_000
_MAX_DEPTH = 8  # of forms within forms
_MAX_LEVELS = 100  # of the structure of a document
_MAX_ALTERNATIVE = 1 << 16  # bytes of the text that stands for a picture
_MAX_ATTACHMENTS = 10_000
_MAX_BYTES = 1 << 29
_MOST = 1_000  # packets, scripts or signatures
_MAX_STREAM = 1 << 23
_NAMES = re.compile(
    rb"/(Catalog|Alt|OCProperties|AF|AA|JS|JavaScript|Launch|SubmitForm|ImportData|DisplayDocTitle)\b(?!\s+false)"
)
_ONLY_PYPDF = frozenset(b"OCProperties AF AA JS JavaScript Launch SubmitForm ImportData".split())
"""Names of what only pypdf can read: layers, associated files, and what is done when something is opened or used."""
PICTURELESS = frozenset((pdfium.FPDF_ANNOT_LINK, pdfium.FPDF_ANNOT_POPUP))
"""Kinds of annotations that show no picture."""

_ADDRESS = ctypes.c_void_p


def quick(call: Handle, result: Any, *arguments: Any) -> Handle:  # noqa: ANN401 - types of ctypes
    """The same function of PDFium, but handles are plain addresses, which costs half as much."""
    return ctypes.CFUNCTYPE(result, *arguments)(ctypes.cast(call, _ADDRESS).value or 0)


_item = quick(pdfium.FPDFPage_GetObject, _ADDRESS)
_kind = quick(pdfium.FPDFPageObj_GetType, ctypes.c_int, _ADDRESS)
_held_count = quick(pdfium.FPDFFormObj_CountObjects, ctypes.c_int, _ADDRESS)
_held = quick(pdfium.FPDFFormObj_GetObject, _ADDRESS, _ADDRESS, ctypes.c_ulong)
_raw = quick(pdfium.FPDFImageObj_GetImageDataRaw, ctypes.c_ulong, _ADDRESS, _ADDRESS, ctypes.c_ulong)
_size = quick(pdfium.FPDFImageObj_GetImagePixelSize, ctypes.c_int, _ADDRESS, _ADDRESS, _ADDRESS)

_alternative = quick(pdfium.FPDF_StructElement_GetAltText, ctypes.c_ulong, _ADDRESS, _ADDRESS, ctypes.c_ulong)
_children = quick(pdfium.FPDF_StructElement_CountChildren, ctypes.c_int, _ADDRESS)
_child = quick(pdfium.FPDF_StructElement_GetChildAtIndex, _ADDRESS, _ADDRESS, ctypes.c_int)
_stored = ctypes.create_string_buffer(1 << 16)


def filled(call: Handle, *arguments: object, limit: int = 1 << 20) -> bytes:
    """Call a PDFium function that fills a buffer, if it takes less than `limit` bytes."""
    size = call(*arguments, None, 0)
    if not 0 < size < limit:
        return b""
    buffer = ctypes.create_string_buffer(size)
    call(*arguments, ctypes.cast(buffer, call.argtypes[len(arguments)]), size)
    return buffer.raw


def utf16(call: Handle, *arguments: object, limit: int = 1 << 20) -> str:
    """Call a PDFium function that fills a buffer with UTF-16, if it takes less than `limit` bytes."""
    return filled(call, *arguments, limit=limit)[:-2].decode("utf-16-le", "replace")


def digest_of(content: bytes | str) -> str:
    """The digest of bytes, or of a script or the like."""
    data = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
    return hashlib.sha256(data).hexdigest()


def page_objects(page: Handle) -> tuple[list[int], list[int]]:
    """The addresses of the objects of a page, up to a limit, and their kinds, such as pdfium.FPDF_PAGEOBJ_TEXT."""
    address = ctypes.cast(page, _ADDRESS)
    items = [_item(address, index) for index in range(min(pdfium.FPDFPage_CountObjects(page), _MAX_OBJECTS))]
    return items, list(map(_kind, items))


def pictured(items: Sequence[int], kinds: Sequence[int]) -> list[int]:
    """The objects that are pictures, or forms, which may hold some."""
    wanted = (pdfium.FPDF_PAGEOBJ_IMAGE, pdfium.FPDF_PAGEOBJ_FORM)
    if wanted[0] not in kinds and wanted[1] not in kinds:
        return []
    return [item for item, kind in zip(items, kinds, strict=True) if kind in wanted]


def pictures_among(items: Sequence[int]) -> list[int]:
    """The pictures among objects and in the forms among them, in the order of drawing."""
    pictures: list[int] = []
    stack = [(item, 0) for item in reversed(items)]
    seen = 0
    while stack and seen < _MAX_OBJECTS:
        item, depth = stack.pop()
        seen += 1
        kind = _kind(item)
        if kind == pdfium.FPDF_PAGEOBJ_IMAGE:
            pictures.append(item)
        elif kind == pdfium.FPDF_PAGEOBJ_FORM and depth < _MAX_DEPTH:
            inner = [_held(item, index) for index in range(min(_held_count(item), _MAX_OBJECTS))]
            held = pictured(inner, list(map(_kind, inner)))
            stack += [(one, depth + 1) for one in reversed(held)]
    return pictures


def pictured_area(items: Sequence[int]) -> float:
    """The area under the pictures among objects and in forms, in square points; where two overlap, both count."""
    area = 0.0
    for item in items:
        pictures, scale = [item], 1.0
        if _kind(item) == pdfium.FPDF_PAGEOBJ_FORM:
            pictures = pictures_among([item])
            matrix = pdfium.FS_MATRIX(1, 0, 0, 1)
            pdfium.FPDFPageObj_GetMatrix(ctypes.cast(item, pdfium.FPDF_PAGEOBJECT), matrix)
            scale = abs(matrix.a * matrix.d - matrix.b * matrix.c)
        for picture in pictures:
            sides = [ctypes.c_float() for _ in range(4)]
            if pdfium.FPDFPageObj_GetBounds(ctypes.cast(picture, pdfium.FPDF_PAGEOBJECT), *sides):
                left, foot, right, top = (side.value for side in sides)
                area += scale * (right - left) * (top - foot)
    return area


def annotation_pictures(annotation: Handle) -> list[int]:
    """The pictures that an annotation shows; they are gone when it is closed."""
    count = min(pdfium.FPDFAnnot_GetObjectCount(annotation), _MAX_OBJECTS)
    items = [pdfium.FPDFAnnot_GetObject(annotation, index) for index in range(max(0, count))]
    return pictures_among([ctypes.cast(item, _ADDRESS).value or 0 for item in items])


def annotations_of(page: Handle) -> Iterator[tuple[Handle, int]]:
    """Yield the annotations of a page, up to a limit, and their kinds; each is closed when the next is asked for."""
    for index in range(min(pdfium.FPDFPage_GetAnnotCount(page), MAX_ANNOTATIONS)):
        annotation = pdfium.FPDFPage_GetAnnot(page, index)
        yield annotation, pdfium.FPDFAnnot_GetSubtype(annotation)
        pdfium.FPDFPage_CloseAnnot(annotation)


def pictures_of(page: Handle) -> Iterator[int]:
    """Yield all pictures of a page by their numbers, from 0; each is valid until the next is asked for."""
    yield from pictures_among(pictured(*page_objects(page)))
    for annotation, kind in annotations_of(page):
        if kind not in PICTURELESS:
            yield from annotation_pictures(annotation)


def alternatives(page: Handle) -> Iterator[str]:
    """Yield the texts that stand for pictures, from the structure of a tagged document."""
    tree = pdfium.FPDF_StructTree_GetForPage(page)
    roots = range(max(0, pdfium.FPDF_StructTree_CountChildren(tree)))
    stack = [
        (ctypes.cast(pdfium.FPDF_StructTree_GetChildAtIndex(tree, index), _ADDRESS).value, 0)
        for index in reversed(roots)
    ]
    seen = 0
    while stack and seen < _MAX_OBJECTS:
        element, depth = stack.pop()
        if not element:
            continue
        seen += 1
        size = _alternative(element, None, 0)
        if 2 < size < _MAX_ALTERNATIVE:
            buffer = ctypes.create_string_buffer(size)
            _alternative(element, ctypes.addressof(buffer), size)
            yield buffer.raw[: size - 2].decode("utf-16-le", "replace")
        if depth < _MAX_LEVELS:
            stack += [(_child(element, at), depth + 1) for at in reversed(range(max(0, _children(element))))]
    pdfium.FPDF_StructTree_Close(tree)


def stored_digest(picture: int) -> str:
    """The digest of a picture as it is stored, without decoding it."""
    global _stored  # noqa: PLW0603 - a buffer that grows to the largest picture
    size = _raw(picture, None, 0)
    if size > len(_stored):
        _stored = ctypes.create_string_buffer(size)
    _raw(picture, ctypes.addressof(_stored), size)
    width, height = ctypes.c_uint(), ctypes.c_uint()
    _size(picture, ctypes.addressof(width), ctypes.addressof(height))
    digest = hashlib.sha256(f"{width.value} {height.value} ".encode())
    digest.update(memoryview(_stored)[:size])
    return digest.hexdigest()


def attached(
    document: Handle, data: bytes, password: str | None, pages: list[int]
) -> tuple[list[Text], list[tuple[str, str, str, int]]]:
    """Read what belongs to no page, and what is attached to these pages (1-based).

    Returns:
        Texts; and parts, each before the number of its page, 0 for none.
    """
    names = stored_names(data)
    texts: list[Text] = []
    if b"DisplayDocTitle" in names:  # a viewer shows it in place of the name of the file
        texts.append(("metadata", utf16(pdfium.FPDF_GetMetaText, document, b"Title"), "title"))
    parts = [(*part, 0) for part in _document_parts(document)]
    for number in pages:
        page = pdfium.FPDF_LoadPage(document, number - 1)
        for annotation, kind in annotations_of(page):
            if kind == pdfium.FPDF_ANNOT_FILEATTACHMENT:
                parts.append((*_attachment(pdfium.FPDFAnnot_GetFileAttachment(annotation)), number))
        pdfium.FPDF_ClosePage(page)
    simple = b"Catalog" in names and names.isdisjoint(_ONLY_PYPDF)
    if pages or not simple or pdfium.FPDF_GetFormType(document) != pdfium.FORMTYPE_NONE:
        try:
            # Its start takes longer than most files.
            from colde_cli.documents.pdf.pypdf_engine import ObjectReader

            reader = ObjectReader(data, password)
            texts += reader.texts()
            parts += [*((*part, 0) for part in reader.parts()), *reader.actions()]
            parts += [(*part, number) for number in pages for part in reader.media(number)]
        except MemoryError:
            raise
        except Exception:  # pypdf raises untyped errors on damaged files
            # Only a file with the same bytes is known to hold the same.
            parts.append(("other-parts", digest_of(data), "objects that cannot be read", 0))
    return texts, parts


def _document_parts(document: Handle) -> Iterator[Text]:
    """Yield attachments (of a portfolio, too), packets of an XFA form, scripts of the document, and signatures."""
    for index in range(min(pdfium.FPDFDoc_GetAttachmentCount(document), _MAX_ATTACHMENTS)):
        yield _attachment(pdfium.FPDFDoc_GetAttachment(document, index))
    for index in range(min(pdfium.FPDF_GetXFAPacketCount(document), _MOST)):
        name = filled(pdfium.FPDF_GetXFAPacketName, document, index).rstrip(b"\0").decode("utf-8", "replace")
        content = _content(pdfium.FPDF_GetXFAPacketContent, document, index)
        yield "forms", digest_of(content), f"XFA {name}"
    for index in range(min(pdfium.FPDFDoc_GetJavaScriptActionCount(document), _MOST)):
        script = pdfium.FPDFDoc_GetJavaScriptAction(document, index)
        name = utf16(pdfium.FPDFJavaScriptAction_GetName, script)
        said = utf16(pdfium.FPDFJavaScriptAction_GetScript, script, limit=_MAX_BYTES)
        pdfium.FPDFDoc_CloseJavaScriptAction(script)
        yield "scripts", digest_of(said), f"script {name}"
    for index in range(min(pdfium.FPDF_GetSignatureCount(document), _MOST)):
        signature = pdfium.FPDF_GetSignatureObject(document, index)
        reason = utf16(pdfium.FPDFSignatureObj_GetReason, signature)
        content = filled(pdfium.FPDFSignatureObj_GetContents, signature, limit=_MAX_BYTES)
        if content:  # else nobody has signed yet
            yield "other-parts", digest_of(content), f"digital signature{reason and f': {reason}'}"


def _attachment(file: Handle) -> Text:
    if not file:
        return "attachments", digest_of(b""), ""
    data = _content(pdfium.FPDFAttachment_GetFile, file)
    return "attachments", digest_of(data), utf16(pdfium.FPDFAttachment_GetName, file)


def _content(call: Handle, *arguments: object) -> bytes:
    size = ctypes.c_ulong()
    if not call(*arguments, None, 0, size) or not 0 < size.value < _MAX_BYTES:
        return b""
    buffer = ctypes.create_string_buffer(size.value)
    call(*arguments, buffer, size.value, size)
    return buffer.raw


def stored_names(data: bytes) -> frozenset[bytes]:
    """Which of some names stand in the objects of a file, those in its compressed streams of objects included.

    PDFium does not tell all that a file says. Nothing is parsed here, which is enough to see what is named at all;
    whoever needs more asks pypdf, which takes much longer to start. An encrypted file may hide all: "Catalog", too.
    """
    found = set(_NAMES.findall(data))
    at = data.find(b"/ObjStm")
    while at >= 0:
        begin = data.find(b"stream", at)
        start = begin + (8 if data[begin + 6 : begin + 8] == b"\r\n" else 7)
        end = data.find(b"endstream", start)
        if begin < 0 or end < 0:
            break
        with suppress(zlib.error):  # encrypted, or compressed otherwise
            found.update(_NAMES.findall(zlib.decompressobj().decompress(data[start:end], _MAX_STREAM)))
        at = data.find(b"/ObjStm", end)
    return frozenset(found)
