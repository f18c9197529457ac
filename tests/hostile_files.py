"""Hostile Word, OpenDocument, HTML, LaTeX, Markdown and text files: `python tests/hostile_files.py FOLDER` writes them.

Each is what a careless program or an enemy would make: damaged, endless, deep, lying about itself, or asking for other
files. None is large on disk.
"""

from __future__ import annotations

import io
import re
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

from odt_files import MIMETYPE, write_odt
from word_files import WORD, p, relations, root, row, write_word

TEXT = "The parties agree that the goods are delivered within ten days of the order. "
Case = tuple[str, bytes | str]
_OLE = bytes.fromhex("d0cf11e0a1b11ae1")
_ENTITIES = "<!DOCTYPE x [<!ENTITY a 'ha '>" + "".join(
    f"<!ENTITY {new} '{f'&{old};' * 10}'>" for old, new in zip("abcdefgh", "bcdefghi", strict=True)
)
_EXTERNAL = "<!DOCTYPE x [<!ENTITY i SYSTEM 'file:///etc/passwd'>]>"
_ODD = {
    **{"nul": "\0", "bell": "\a", "escape": "\x1b]0;title\a\x1b[31m", "c1": "\u009b31m"},
    **{"override": "\u202egnitirw\u202c", "joiner": "\u200d", "combining": "e\u0301\u0302\u0303"},
    **{"noncharacter": "\uffff\ufffe", "private": "\ue000", "tag": "\U000e0041", "blank": "\u3000"},
    **{"line": "\u2028", "high": "\U0001f600"},
}
_TEX = {
    **{"braces": "{", "closing": "}", "groups": "{a}", "definitions": "\\def\\a{\\a\\a}"},
    **{"sections": "\\section{Part}\n", "environments": "\\begin{quote}", "ends": "\\end{quote}"},
    **{"inputs": "\\input{/etc/passwd}", "dollars": "$", "comments": "%\n", "backslashes": "\\"},
    **{"brackets": "\\cite[", "verbatim": "\\begin{verbatim}", "macros": "\\a "},
}
_MARKDOWN = {
    **{"quotes": ">", "lists": "- ", "brackets": "[", "images": "![", "links": "[a](", "ticks": "`a``"},
    **{"stars": "*a **", "lines": "_a __", "angles": "<a ", "pipes": "|", "references": "[a]: [a]\n"},
    **{"fences": "```\n~~~\n", "headings": "# Part\n\n", "marks": "===\n", "entities": "&amp;"},
    **{"breaks": "a  \n", "tabs": "\t", "escapes": "\\", "notes": "[^1]: "},
}
_PLAIN = {
    **{"words": "word ", "one_word": "a", "hyphens": "ab-\n", "chapters": "Chapter i . . . i\n"},
    **{"numbers": "1.1.1.1.", "dots": ". ", "feeds": "a\f", "returns": "\r", "capitals": "PART\n\n"},
    **{"underlines": "a\n===\n", "pages": "[Page 1]\n\f", "blanks": " ", "items": "(a) ", "tabs": "a\t"},
}


def word_files() -> Iterator[Case]:
    """Name and content of hostile Word files."""
    good = _word(p(TEXT))
    yield from _broken_archives(good, "word/document.xml")
    main = f"<w:body>{p('&i;' + TEXT)}</w:body>"
    names = f'xmlns:w="{WORD}"'
    yield "entities", _word("", document=f"{_ENTITIES}]><w:document {names}>{main}</w:document>")
    yield "external", _word("", document=f"{_EXTERNAL}<w:document {names}>{main}</w:document>")
    yield "no_xml", _word("", document="PK not XML at all")
    yield "no_body", _word("", document=root("document", ""))
    yield "utf16", _word("", parts={"word/document.xml": root("document", main).encode("utf-16")})
    yield "unknown_encoding", _word("", document=root("document", main).replace("UTF-8", "x-none"))
    yield "other_root", _word("", document="<html><body>no</body></html>")
    for count in (1_000, 100_000):
        yield f"deep_{count}", _word("<w:p>" * count + p(TEXT) + "</w:p>" * count)
        yield f"deep_tables_{count}", _word("<w:tbl><w:tr><w:tc>" * count + p(TEXT))
        yield f"empty_{count}", _word("<w:p/>" * count + p(TEXT))
        yield f"cells_{count}", _word("<w:tbl>" + row(*["x"] * count) + "</w:tbl>" + p(TEXT))
        yield f"headings_{count}", _word(p("Part", "berschrift1") * count)
        yield f"runs_{count}", _word("<w:p>" + "<w:r><w:t>a</w:t></w:r>" * count + "</w:p>")
        many = "<w:ins>" * count + "<w:r><w:t>a</w:t></w:r>" + "</w:ins>" * count
        yield f"changes_{count}", _word(f"<w:p>{many}")
    yield "one_word", _word(p("a" * 3_000_000))
    yield "no_break", _word(p(TEXT * 30_000))
    wide = f'<w:tcPr><w:gridSpan w:val="{10**9}"/></w:tcPr>'
    yield "wide_cell", _word(f"<w:tbl><w:tr><w:tc>{wide}{p(TEXT)}</w:tc></w:tr></w:tbl>")
    yield "bad_numbers", _word(p(TEXT, "", '<w:numPr><w:ilvl w:val="-9"/><w:numId w:val="1e9"/></w:numPr>'))
    yield "bad_level", _word(p(TEXT, "", '<w:outlineLvl w:val="99999999999999999999"/>'))
    yield "loop_of_styles", _word(p(TEXT, "Loop"))
    yield "no_styles", _word(p(TEXT, "none"), parts={"word/styles.xml": b""})
    yield "bad_styles", _word(p(TEXT), parts={"word/styles.xml": b"<w:styles"})
    yield "bad_notes", _word(p(TEXT), parts={"word/footnotes.xml": b"\xff\xfe"})
    remote = relations("styles").replace(b"styles.xml", b"file:///etc/passwd")
    for name, related in {
        "bad_relations": b"<Relationships><Relationship/>",
        "outside": remote,
        "above": remote.replace(b"file:///", b"../../../../"),
    }.items():
        yield name, _word(p(TEXT), parts={"word/_rels/document.xml.rels": related})
    for name, odd in _ODD.items():
        shown = odd.translate(dict.fromkeys((*range(9), *range(14, 32), 65534, 65535)))
        yield f"odd_{name}", _word(p((shown or "&#7;") + TEXT))


def odt_files() -> Iterator[Case]:
    """Name and content of hostile OpenDocument files."""
    line = f"<text:p>{TEXT}</text:p>"
    good = _odt(line)
    yield from _broken_archives(good, "content.xml")
    for name, content in {
        "entities": f"{_ENTITIES}]><a>&i;</a>",
        "external": f"{_EXTERNAL}<a>&i;</a>",
        "no_xml": "no",
    }.items():
        yield name, _archive({"mimetype": MIMETYPE.encode(), "content.xml": content.encode()})
    other = b"application/vnd.oasis.opendocument.spreadsheet"
    yield "other_kind", _archive({"mimetype": other, "content.xml": b"<a/>"})
    for count in (1_000, 100_000):
        yield f"deep_{count}", _odt("<text:section>" * count + line + "</text:section>" * count)
        yield f"lists_{count}", _odt("<text:list><text:list-item>" * count + line)
        yield f"empty_{count}", _odt("<text:p/>" * count + line)
        yield f"headings_{count}", _odt('<text:h text:outline-level="1">Part</text:h>' * count)
    cell = f'<table:table-cell table:number-columns-repeated="{10**9}">{line}</table:table-cell>'
    rows = f'<table:table-row table:number-rows-repeated="{10**9}">{cell}</table:table-row>'
    yield "repeated_cells", _odt(f"<table:table>{rows}</table:table>")
    yield "blanks", _odt(f'<text:p>a<text:s text:c="{10**9}"/>b</text:p>')
    yield "bad_level", _odt(f'<text:h text:outline-level="x">{TEXT}</text:h>')
    yield "one_word", _odt(f"<text:p>{'a' * 3_000_000}</text:p>")
    manifest = (
        b'<m:manifest xmlns:m="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0">'
        b'<m:file-entry m:full-path="content.xml"><m:encryption-data/></m:file-entry></m:manifest>'
    )
    parts = {"mimetype": MIMETYPE.encode(), "META-INF/manifest.xml": manifest, "content.xml": b"\x8f\x00\x11"}
    yield "encrypted", _archive(parts)


def html_files() -> Iterator[Case]:
    """Name and content of hostile pages."""
    line = f"<p>{TEXT}</p>"
    for count in (2_000, 200_000):
        for tag in ("div", "b", "table", "ul", "blockquote", "font", "svg", "template", "select"):
            yield f"deep_{tag}_{count}", f"<{tag}>" * count + line
        yield f"attributes_{count}", f"<p {' '.join(f'a{i}=1' for i in range(count))}>{TEXT}</p>"
        yield f"headings_{count}", "<h1>Part</h1>" * count + line
        yield f"cells_{count}", "<table><tr>" + "<td>x" * count + line
        yield f"entities_{count}", "&amp;&#0;&#x110000;&nosuch;" * count + line
        yield f"comments_{count}", "<!--" * count + line
    yield "script", f"<script>{'x();' * 500_000}</script>{line}"
    yield "no_end", "<p title='" + TEXT * 20_000
    yield "text_area", f"<textarea>{TEXT * 1000}"
    yield "image", f"<img src='data:image/png;base64,{'A' * 3_000_000}'>{line}"
    frame = "<iframe srcdoc='<script>1</script>'></iframe><object data='file:///etc/passwd'>"
    yield "frame", frame + line
    yield "refresh", f"<meta http-equiv=refresh content='0;url=file:///etc/passwd'>{line}"
    for name in ("utf-7", "utf-16", "x-user-defined", "none", "idna", "rot13", "base64", "unicode_escape"):
        yield f"charset_{name}", f"<meta charset={name}>{line}+ADw-script+AD4-"
    yield "span", f"<table><tr><td colspan={10**9} rowspan={10**9}>{TEXT}</table>"
    yield "hidden", f"<div style='display:none'>{TEXT}</div>"
    for name, odd in _ODD.items():
        yield f"odd_{name}", f"<h1>{odd}</h1><p>{odd}{TEXT}"


def tex_files() -> Iterator[Case]:
    """Name and content of hostile LaTeX sources."""
    around = "\\documentclass{article}\\begin{document}\n%s\n\\end{document}\n"
    for count in (1_000, 100_000):
        for name, part in _TEX.items():
            yield f"{name}_{count}", (around % (TEXT + part * count))
    letters = zip("abcdefghijklmnopqrstuvw", "bcdefghijklmnopqrstuvwx", strict=True)
    doubling = "".join(f"\\def\\{y}{{\\{x}\\{x}}}" for x, y in letters)
    yield "doubling", around % f"\\def\\a{{ha }}{doubling}\\x"
    yield "own_source", (around % "\\input{own_source}\\include{own_source}" + TEXT)
    yield "write", (around % ("\\immediate\\write18{touch hit}\\openout1=hit" + TEXT))
    yield "catcode", (around % ("\\catcode`\\{=12 " + TEXT))
    yield "no_begin", TEXT * 3
    for name, odd in _ODD.items():
        yield f"odd_{name}", (around % (odd + TEXT))


def markdown_files() -> Iterator[Case]:
    """Name and content of hostile Markdown."""
    for count in (1_000, 50_000):
        for name, part in _MARKDOWN.items():
            yield f"{name}_{count}", (f"{TEXT}\n\n" + part * count)
    yield "front_matter", ("---\n" + "a: &a [*a, *a]\n" * 1000 + f"---\n{TEXT}")
    yield "html", f"<script>{'<b>' * 50_000}</script>\n\n{TEXT}"
    for name, odd in _ODD.items():
        yield f"odd_{name}", f"# {odd}\n\n{odd}{TEXT}"


def text_files() -> Iterator[Case]:
    """Name and content of hostile plain texts."""
    for count in (10_000, 500_000):
        for name, part in _PLAIN.items():
            yield f"{name}_{count}", (TEXT + "\n\n" + part * count)
    yield "empty", b""
    yield "one_byte", b"a"
    yield "nuls", b"\0" * 10_000
    yield "random", bytes(range(256)) * 200
    yield "half_utf16", b"\xff\xfea\0b\0\x00\xd8c"
    yield "half_utf32", b"\xff\xfe\0\0a\0\0\0b"
    yield "pdf_named_text", b"%PDF-1.7\n%%EOF"
    yield "archive_named_text", _archive({"a": b"b"})
    for name, odd in _ODD.items():
        yield f"odd_{name}", odd * 1000 + TEXT


def write_hostile_files(folder: Path, largest: int = 10**9) -> list[Path]:
    """Write all of them, but those with more repetitions than `largest`."""
    kinds = {"docx": word_files, "odt": odt_files, "html": html_files, "tex": tex_files}
    kinds |= {"md": markdown_files, "txt": text_files}
    paths = []
    for suffix, make in kinds.items():
        for name, content in make():
            repeated = re.search(r"_(\d+)$", name)
            if repeated and int(repeated[1]) > largest:
                continue
            paths.append(folder / f"{name}.{suffix}")
            paths[-1].write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass"))
    return paths


def _broken_archives(good: bytes, main: str) -> Iterator[Case]:
    yield "empty", b""
    yield "one_byte", b"P"
    yield "no_archive", b"PK\x03\x04" + b"\0" * 100
    yield "old_word", _OLE + b"\0" * 600
    yield "half", good[: len(good) // 2]
    yield "no_directory", good[:-60]
    yield "flipped", bytes(byte ^ (index % 97 == 0) for index, byte in enumerate(good))
    yield "text_before", b"#!/bin/sh\n" + good
    yield "bomb_600000000", _archive({main: b"<a>" + b" " * 600_000_000 + b"</a>"})
    yield "many_parts_30000", _archive({f"part{index}": b"" for index in range(30_000)})
    yield "other_names", _archive({"../../" + main: b"<a/>", "/etc/" + main: b"<a/>"})
    for method in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        yield f"method_{method}", _archive(_parts(good), method)
    yield "stored", _archive(_parts(good), zipfile.ZIP_STORED)
    locked = good.replace(b"PK\x03\x04\x14\0\0\0", b"PK\x03\x04\x14\0\1\0")
    yield "locked", locked.replace(b"PK\x01\x02\x14\x03\x14\0\0\0", b"PK\x01\x02\x14\x03\x14\0\1\0")


def _word(body: str, *, document: str = "", parts: dict[str, bytes] | None = None) -> bytes:
    file = io.BytesIO()
    write_word(file, body, document=document, parts=parts)  # type: ignore[arg-type] # zipfile takes both
    return file.getvalue()


def _odt(body: str) -> bytes:
    file = io.BytesIO()
    write_odt(file, body)  # type: ignore[arg-type]
    return file.getvalue()


def _archive(parts: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return file.getvalue()


def _parts(archive: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(archive)) as opened:
        return {name: opened.read(name) for name in opened.namelist()}


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    write_hostile_files(target)
