"""OpenDocument texts made from the XML of their body, for what no editor would write as small, or at all."""

from __future__ import annotations

import zipfile
from pathlib import Path

_OASIS = "urn:oasis:names:tc:opendocument:xmlns:"
_NAMES = " ".join(
    f'xmlns:{prefix}="{_OASIS}{name}:1.0"'
    for prefix, name in {
        **{"office": "office", "text": "text", "table": "table", "style": "style", "draw": "drawing"},
        **{"svg": "svg-compatible", "manifest": "manifest", "form": "form", "script": "script"},
        **{"meta": "meta", "fo": "xsl-fo-compatible"},
    }.items()
)
_OTHERS = " ".join(
    f'xmlns:{prefix}="{address}"'
    for prefix, address in {
        "dc": "http://purl.org/dc/elements/1.1/",
        "xlink": "http://www.w3.org/1999/xlink",
        "math": "http://www.w3.org/1998/Math/MathML",
        "ooow": "http://openoffice.org/2004/writer",
        "loext": "urn:org:documentfoundation:names:experimental:office:xmlns:loext:1.0",
        "field": "urn:openoffice:names:experimental:ooo-ms-interop:xmlns:field:1.0",
    }.items()
)
MIMETYPE = "application/vnd.oasis.opendocument.text"
_STYLES = """<office:styles>
<style:style style:name="Title" style:family="paragraph"/>
<style:style style:name="Clause" style:family="paragraph" style:default-outline-level="2"/>
<style:style style:name="Loop" style:family="paragraph" style:parent-style-name="Loop"/>
<style:style style:name="Secret" style:family="text"><style:text-properties text:display="none"/></style:style>
</office:styles>"""
AUTOMATIC = """<office:automatic-styles>
<style:style style:name="P1" style:family="paragraph" style:parent-style-name="Title"/>
<style:style style:name="P2" style:family="paragraph" style:parent-style-name="Clause"/>
<style:style style:name="T1" style:family="text" style:parent-style-name="Secret"/>
</office:automatic-styles>"""


def root(name: str, inner: str) -> str:
    """A part of the file."""
    return (
        f'<?xml version="1.0" encoding="UTF-8"?><office:{name} {_NAMES} {_OTHERS} office:version="1.3">'
        f"{inner}</office:{name}>"
    )


def h(text: str, level: int = 1) -> str:
    """A heading."""
    return f'<text:h text:outline-level="{level}">{text}</text:h>'


def p(text: str, style: str = "Standard") -> str:
    """A paragraph."""
    return f'<text:p text:style-name="{style}">{text}</text:p>'


def table(*rows: tuple[str, ...]) -> str:
    """A table of cells that hold XML."""
    cells = "".join(
        f"<table:table-row>{''.join(f'<table:table-cell>{cell}</table:table-cell>' for cell in row)}</table:table-row>"
        for row in rows
    )
    return f"<table:table><table:table-column/>{cells}</table:table>"


def styled(*styles: str) -> str:
    """Automatic styles S0, S1, ... of letters with these properties."""
    return "".join(
        f'<style:style style:name="S{number}" style:family="text"><style:text-properties {style}/></style:style>'
        for number, style in enumerate(styles)
    )


def s(number: int, text: str) -> str:
    """Letters in the style with this number."""
    return f'<text:span text:style-name="S{number}">{text}</text:span>'


def pages(*masters: str) -> dict[str, bytes]:
    """The part with these styles of pages; letters in style S0 are hidden there."""
    hidden = styled('text:display="none"')
    return {
        "styles.xml": root(
            "document-styles",
            f"<office:automatic-styles>{hidden}</office:automatic-styles>"
            f"<office:master-styles>{''.join(masters)}</office:master-styles>",
        ).encode()
    }


def master(name: str, inner: str, following: str = "") -> str:
    """A style of pages with headers and footers."""
    return f'<style:master-page style:name="{name}" style:next-style-name="{following}">{inner}</style:master-page>'


def write_odt(path: Path, body: str, *, title: str = "", parts: dict[str, bytes] | None = None) -> Path:
    """A file with this body; `parts` adds or replaces any."""
    files = {
        "content.xml": root(
            "document-content", f"{AUTOMATIC}<office:body><office:text>{body}</office:text></office:body>"
        ).encode(),
        "styles.xml": root("document-styles", _STYLES).encode(),
        "meta.xml": root("document-meta", f"<office:meta><dc:title>{title}</dc:title></office:meta>").encode(),
    } | (parts or {})
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(zipfile.ZipInfo("mimetype"), MIMETYPE)
        for name, content in files.items():
            archive.writestr(name, content)
    return path
