"""Pages that would take for ever or fill the memory are given up; the others are read."""

from __future__ import annotations

import zlib
from contextlib import nullcontext
from pathlib import Path

import pytest
from command_line import V1

from colde_cli.documents.pdf import read_pdf as process
from colde_cli.documents.reading import read
from colde_cli.errors import LimitError

FONT = "/Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >>"
LEVELS = 28


def build(path: Path, objects: list[bytes]) -> None:
    """A PDF of numbered objects, the first of which is the catalogue."""
    body, places = b"%PDF-1.5\n", []
    for number, content in enumerate(objects, start=1):
        places.append(len(body))
        body += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    size = len(objects) + 1
    end = b"xref\n0 %d\n0000000000 65535 f \n%strailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n"
    path.write_bytes(body + end % (size, table, size, len(body)))


def stream(content: bytes, extra: str = "") -> bytes:
    packed = zlib.compress(content)
    return (
        f"<< /Length {len(packed)} /Filter /FlateDecode {extra} >>\nstream\n".encode()
        + packed
        + b"\nendstream"
    )


def page(contents: int, resources: str) -> bytes:
    needs = f"/MediaBox [0 0 595 842] /Contents {contents} 0 R /Resources << {resources} >>"
    return f"<< /Type /Page /Parent 2 0 R {needs} >>".encode()


def words(text: str, height: int = 700) -> bytes:
    return f"BT /F1 10 Tf 72 {height} Td ({text}) Tj ET".encode()


def laughs(path: Path) -> None:
    """Two pages: one that draws a form that draws a form twice, 2^28 times in all, and one of plain words."""
    first = 7
    forms = []
    for level in range(LEVELS):
        inner = first + level + 1
        last = level == LEVELS - 1
        drawn = words("ha") if last else b"/X Do /X Do"
        needs = FONT if last else f"/XObject << /X {inner} 0 R >>"
        form = f"/Type /XObject /Subtype /Form /BBox [0 0 595 842] /Resources << {needs} >>"
        forms.append(stream(drawn, form))
    build(
        path,
        [
            b"<< /Type /Catalog /Pages 2 0 R >>",
            b"<< /Type /Pages /Kids [3 0 R 5 0 R] /Count 2 >>",
            page(4, f"/XObject << /X {first} 0 R >>"),
            stream(b"/X Do"),
            page(6, FONT),
            stream(words("Only these words can be read.")),
            *forms,
        ],
    )


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "STEP_SECONDS", 1.5)


def test_a_page_that_never_ends_is_given_up(tmp_path: Path) -> None:
    path = tmp_path / "laughs.pdf"
    laughs(path)
    document = read(path)
    assert document.text == "Only these words can be read."
    assert document.report.pages_without_text == (1,)
    assert document.page_starts == (0, 0)
    assert any(warning.startswith("Page 1 could not be read") for warning in document.report.warnings)


@pytest.mark.parametrize(
    ("limit", "remedy"), [("PAGE_CHARACTERS", "more memory or time"), ("MAX_CHARACTERS", "--pages")]
)
def test_too_much_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, remedy: str) -> None:
    monkeypatch.setattr(process, limit, 1000)
    path = tmp_path / "flood.pdf"
    flood = b" ".join(words(f"line {line} of many that flood the page", 20 + 8 * line) for line in range(100))
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>"]
    build(path, [*objects, page(4, FONT), stream(flood)])
    with pytest.raises(LimitError, match=remedy):
        read(path)


@pytest.mark.parametrize(
    "nonsense",
    [
        *({}, [], {"kind": "document"}, {"kind": "begin", "number": None}, {"kind": "page", "number": 1}),
        {"kind": "document", "pages": 1, "title": "", "outline": [["one"]]},
    ],
)
def test_a_process_that_sends_nonsense_counts_as_crashed(
    nonsense: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "sandboxed", lambda *_: nullcontext(iter([nonsense])))
    with pytest.raises(LimitError, match="more memory or time"):
        read(V1)
