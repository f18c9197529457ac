"""Word files made from the XML of their body, for what no editor would write as small, or at all."""

from __future__ import annotations

import zipfile
from pathlib import Path

WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
STRICT = "http://purl.oclc.org/ooxml/wordprocessingml/main"
_MATH = "http://schemas.openxmlformats.org/officeDocument/2006/math"
_COMPATIBLE = "http://schemas.openxmlformats.org/markup-compatibility/2006"
_RELATION = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_OFFICE = "http://schemas.openxmlformats.org/"
_MICROSOFT = "http://schemas.microsoft.com/office/word/2010/"
_PREFIXES = {
    **{"m": _MATH, "mc": _COMPATIBLE, "r": _RELATION, "a": f"{_OFFICE}drawingml/2006/main"},
    **{"wp": f"{_OFFICE}drawingml/2006/wordprocessingDrawing", "pic": f"{_OFFICE}drawingml/2006/picture"},
    **{"c": f"{_OFFICE}drawingml/2006/chart", "dgm": f"{_OFFICE}drawingml/2006/diagram"},
    **{"wps": f"{_MICROSOFT}wordprocessingShape", "w14": f"{_MICROSOFT}wordml"},
    **{"v": "urn:schemas-microsoft-com:vml", "o": "urn:schemas-microsoft-com:office:office"},
}
_NAMES = " ".join(f'xmlns:{prefix}="{address}"' for prefix, address in _PREFIXES.items())
_STYLES = """
<w:style w:type="paragraph" w:styleId="berschrift1"><w:name w:val="heading 1"/></w:style>
<w:style w:type="paragraph" w:styleId="berschrift2"><w:name w:val="Heading 2"/></w:style>
<w:style w:type="paragraph" w:styleId="Clause"><w:name w:val="Clause"/><w:basedOn w:val="berschrift2"/></w:style>
<w:style w:type="paragraph" w:styleId="Outline"><w:name w:val="Outline"/>
<w:pPr><w:outlineLvl w:val="2"/></w:pPr></w:style>
<w:style w:type="paragraph" w:styleId="Titel"><w:name w:val="Title"/></w:style>
<w:style w:type="paragraph" w:styleId="Verzeichnis1"><w:name w:val="toc 1"/></w:style>
<w:style w:type="character" w:styleId="Secret"><w:name w:val="Secret"/><w:rPr><w:vanish/></w:rPr></w:style>
<w:style w:type="paragraph" w:styleId="Loop"><w:name w:val="Loop"/><w:basedOn w:val="Loop"/></w:style>
"""


def root(name: str, inner: str, namespace: str = WORD) -> str:
    """A part of the file."""
    names = f'xmlns:w="{namespace}" {_NAMES}'
    return f'<?xml version="1.0" encoding="UTF-8"?><w:{name} {names}>{inner}</w:{name}>'


def p(text: str, style: str = "", properties: str = "") -> str:
    """A paragraph with one run."""
    named = f'<w:pStyle w:val="{style}"/>' if style else ""
    return f"<w:p><w:pPr>{named}{properties}</w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>"


def row(*cells: str) -> str:
    """A row of a table."""
    return "<w:tr>" + "".join(f"<w:tc>{p(cell)}</w:tc>" for cell in cells) + "</w:tr>"


def relations(*kinds: str) -> bytes:
    """The part that names the other parts."""
    inner = (f'<Relationship Id="r{kind}" Type="{_RELATION}/{kind}" Target="{kind}.xml"/>' for kind in kinds)
    return f"<Relationships>{''.join(inner)}</Relationships>".encode()


def linked(named: dict[str, bytes]) -> dict[str, bytes]:
    """The parts that the main part refers to by "identifier kind target", with its relations.

    A target with a colon stands outside the file. Styles and footnotes are there, too.
    """
    made = ""
    for names in ("styles styles styles.xml", "footnotes footnotes footnotes.xml", *named):
        identifier, kind, target = names.split(" ")
        mode = ' TargetMode="External"' if ":" in target else ""
        made += f'<Relationship Id="{identifier}" Type="{_RELATION}/{kind}" Target="{target}"{mode}/>'
    inside = {f"word/{names.split(' ')[2]}": part for names, part in named.items() if ":" not in names}
    return {"word/_rels/document.xml.rels": f"<Relationships>{made}</Relationships>".encode(), **inside}


def part(name: str, inner: str) -> bytes:
    """A part with any root, `c:chart`."""
    return f"<{name} {_NAMES} xmlns:w='{WORD}'>{inner}</{name}>".encode()


def write_word(
    path: Path, body: str, notes: str = "", *, document: str = "", parts: dict[str, bytes] | None = None
) -> Path:
    """A file with this body; `document` replaces the whole main part, `parts` adds or replaces any."""
    main = document or root("document", f"<w:body>{body}</w:body>")
    files = {
        "[Content_Types].xml": b"<Types/>", "word/document.xml": main.encode(),
        "word/_rels/document.xml.rels": relations("styles", "footnotes"),
        "word/styles.xml": root("styles", _STYLES).encode(), "word/footnotes.xml": root("footnotes", notes).encode(),
    } | (parts or {})  # fmt: skip
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path
