"""Find the pictures of a page with PDFium, inside a process that reads a PDF.

A picture is numbered by its place on the page: those of the page's content first, then those that annotations show. So
another process can find it again.
"""

from __future__ import annotations

import ctypes
import hashlib
from collections.abc import Iterator, Sequence
from typing import Any

import pypdfium2_raw as pdfium

Handle = Any  # a pointer of ctypes, or a function of the library

MAX_ANNOTATIONS = 5_000
"""Maximum number of annotations of a page that are looked at."""
_MAX_OBJECTS = 20_000
_MAX_DEPTH = 8  # of forms within forms
_MAX_LEVELS = 100  # of the structure of a document
_MAX_ALTERNATIVE = 1 << 16  # bytes of the text that stands for a picture
_PLAIN = frozenset((pdfium.FPDF_ANNOT_LINK, pdfium.FPDF_ANNOT_POPUP))
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
    found: list[int] = []
    stack = [(item, 0) for item in reversed(items)]
    seen = 0
    while stack and seen < _MAX_OBJECTS:
        item, depth = stack.pop()
        seen += 1
        kind = _kind(item)
        if kind == pdfium.FPDF_PAGEOBJ_IMAGE:
            found.append(item)
        elif kind == pdfium.FPDF_PAGEOBJ_FORM and depth < _MAX_DEPTH:
            inner = [_held(item, index) for index in range(min(_held_count(item), _MAX_OBJECTS))]
            held = pictured(inner, list(map(_kind, inner)))
            stack += [(one, depth + 1) for one in reversed(held)]
    return found


def annotation_pictures(annotation: Handle) -> list[int]:
    """The pictures that an annotation shows; they are gone when it is closed."""
    count = min(pdfium.FPDFAnnot_GetObjectCount(annotation), _MAX_OBJECTS)
    items = [pdfium.FPDFAnnot_GetObject(annotation, index) for index in range(max(0, count))]
    return pictures_among([ctypes.cast(item, _ADDRESS).value or 0 for item in items])


def shows_pictures(kind: int) -> bool:
    """Whether an annotation of this kind may show pictures."""
    return kind not in _PLAIN


def pictures_of(page: Handle) -> Iterator[int]:
    """Yield all pictures of a page by their numbers, from 0; each is valid until the next is asked for."""
    yield from pictures_among(pictured(*page_objects(page)))
    for index in range(min(pdfium.FPDFPage_GetAnnotCount(page), MAX_ANNOTATIONS)):
        annotation = pdfium.FPDFPage_GetAnnot(page, index)
        if shows_pictures(pdfium.FPDFAnnot_GetSubtype(annotation)):
            yield from annotation_pictures(annotation)
        pdfium.FPDFPage_CloseAnnot(annotation)


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
