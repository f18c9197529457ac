"""Read what a PDF holds beside its pages, with PDFium: attachments, XFA forms, signatures, and what pypdf finds.

It is read after all pages, as an attachment may be of any size: if the process dies here, the pages are known.
"""

from __future__ import annotations

import ctypes
import hashlib
from collections.abc import Iterator
from typing import Any

import pypdfium2_raw as pdfium

from colde_cli.documents.pdf.annotations import Text
from colde_cli.documents.pdf.catalog import Catalog
from colde_cli.documents.pdf.fields import utf16
from colde_cli.documents.pdf.objects import ObjectReader
from colde_cli.documents.pdf.pictures import MAX_ANNOTATIONS

Handle = Any  # a pointer of ctypes, or a function of the library

_MAX_ATTACHMENTS = 10_000
_MAX_BYTES = 1 << 29
_MAX_PACKETS = 1_000
_MAX_SCRIPTS = 1_000
_MAX_SIGNATURES = 1_000


def attached(
    document: Handle, data: bytes, password: str | None, pages: list[int]
) -> tuple[list[Text], list[tuple[int, str, str, str]]]:
    """Read what belongs to no page.

    Args:
        document: an open one.
        data: its bytes.
        password: its password.
        pages: numbers (1-based) of the pages to which a file or a medium is attached.

    Returns:
        Texts; and parts, each after the number of its page, 0 for none.
    """
    catalog = Catalog(data)
    texts: list[Text] = []
    if catalog.shows_title:
        texts.append(("metadata", utf16(pdfium.FPDF_GetMetaText, document, b"Title"), "title"))
    parts = [(0, *part) for find in (_attachments, _forms, _scripts, _signatures) for part in find(document)]
    parts += [(number, *part) for number in pages for part in _page_attachments(document, number)]
    if pages or not catalog.is_simple or pdfium.FPDF_GetFormType(document) != pdfium.FORMTYPE_NONE:
        try:
            reader = ObjectReader(data, password)
            texts += reader.texts()
            parts += [(0, *part) for part in reader.parts()]
            parts += [(number, *part) for number in pages for part in reader.media(number)]
        except MemoryError:
            raise
        except Exception:  # pypdf raises untyped errors on damaged files
            # Only a file with the same bytes is known to hold the same.
            parts.append((0, "other-parts", _digest(data), "objects that cannot be read"))
    return texts, parts


def _attachments(document: Handle) -> Iterator[Text]:
    """Yield the files that are attached to the document, those of a portfolio among them."""
    count = pdfium.FPDFDoc_GetAttachmentCount(document)
    for index in range(min(count, _MAX_ATTACHMENTS)):
        yield _attachment(pdfium.FPDFDoc_GetAttachment(document, index))


def _page_attachments(document: Handle, number: int) -> Iterator[Text]:
    """Yield the files that are attached to a place on a page (1-based)."""
    page = pdfium.FPDF_LoadPage(document, number - 1)
    for index in range(min(pdfium.FPDFPage_GetAnnotCount(page), MAX_ANNOTATIONS)):
        annotation = pdfium.FPDFPage_GetAnnot(page, index)
        if pdfium.FPDFAnnot_GetSubtype(annotation) == pdfium.FPDF_ANNOT_FILEATTACHMENT:
            yield _attachment(pdfium.FPDFAnnot_GetFileAttachment(annotation))
        pdfium.FPDFPage_CloseAnnot(annotation)
    pdfium.FPDF_ClosePage(page)


def _attachment(file: Handle) -> Text:
    if not file:
        return "attachments", _digest(b""), ""
    size = ctypes.c_ulong()
    data = b""
    if pdfium.FPDFAttachment_GetFile(file, None, 0, size) and 0 < size.value < _MAX_BYTES:
        buffer = ctypes.create_string_buffer(size.value)
        pdfium.FPDFAttachment_GetFile(file, buffer, size.value, size)
        data = buffer.raw
    return "attachments", _digest(data), utf16(pdfium.FPDFAttachment_GetName, file)


def _forms(document: Handle) -> Iterator[Text]:
    """Yield the packets of an XFA form."""
    for index in range(min(max(0, pdfium.FPDF_GetXFAPacketCount(document)), _MAX_PACKETS)):
        name = _bytes(pdfium.FPDF_GetXFAPacketName, document, index).rstrip(b"\0").decode("utf-8", "replace")
        size = ctypes.c_ulong()
        data = b""
        if pdfium.FPDF_GetXFAPacketContent(document, index, None, 0, size) and 0 < size.value < _MAX_BYTES:
            buffer = ctypes.create_string_buffer(size.value)
            pdfium.FPDF_GetXFAPacketContent(document, index, buffer, size.value, size)
            data = buffer.raw
        yield "forms", _digest(data), f"XFA {name}"


def _scripts(document: Handle) -> Iterator[Text]:
    """Yield the scripts that all of the document uses."""
    for index in range(min(max(0, pdfium.FPDFDoc_GetJavaScriptActionCount(document)), _MAX_SCRIPTS)):
        script = pdfium.FPDFDoc_GetJavaScriptAction(document, index)
        name = utf16(pdfium.FPDFJavaScriptAction_GetName, script)
        said = utf16(pdfium.FPDFJavaScriptAction_GetScript, script, limit=_MAX_BYTES)
        pdfium.FPDFDoc_CloseJavaScriptAction(script)
        yield "scripts", _digest(said.encode("utf-8", "surrogatepass")), f"script {name}"


def _signatures(document: Handle) -> Iterator[Text]:
    """Yield the digital signatures."""
    for index in range(min(max(0, pdfium.FPDF_GetSignatureCount(document)), _MAX_SIGNATURES)):
        signature = pdfium.FPDF_GetSignatureObject(document, index)
        reason = utf16(pdfium.FPDFSignatureObj_GetReason, signature)
        content = _bytes(pdfium.FPDFSignatureObj_GetContents, signature)
        yield (
            "other-parts",
            _digest(content),
            f"digital signature: {reason}" if reason else "digital signature",
        )


def _bytes(call: Handle, *arguments: object) -> bytes:
    size = call(*arguments, None, 0)
    if not 0 < size < _MAX_BYTES:
        return b""
    buffer = ctypes.create_string_buffer(size)
    call(*arguments, buffer, size)
    return buffer.raw


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
