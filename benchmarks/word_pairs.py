"""Make pairs of Word files from the texts of real documents, with edits planted in every place that Word compares.

    python benchmarks/word_pairs.py DATA OUTPUT [--pairs 50] [--versions 50] [--seed 0]

DATA holds `SET/docs.jsonl.gz` (docs/training-data.md). Each document becomes a file with headings, numbered clauses of
two levels, footnotes, endnotes, tables and one in a table, a picture, a text box, a formula, references to bookmarks,
breaks, a header and a footer with the number of the page; `NAME_b.docx` is it with edits of eight of the kinds in
`EDITS`. `edits.json` lists them by pair. `--versions` adds as many pairs of real versions of one document, with
headings and numbered clauses. word_redlines.py measures the folder.
"""

from __future__ import annotations

import json
import random
import re
import struct
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, field
from io import BytesIO
from itertools import cycle, islice
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import docx
from docx.opc.constants import RELATIONSHIP_TYPE as RT
from docx.opc.packuri import PackURI
from docx.opc.part import Part
from docx.oxml import parse_xml
from docx.shared import Cm
from script import arguments, records, word_count

SETS = ("contracts", "doc-versions", "court-cases", "patents", "rfc")
EACH = 8
"""Edits of a pair."""
_W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
_DRAWN = (
    f'{_W} xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"'
    ' xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
    ' xmlns:wp="http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing"'
    ' xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
    ' xmlns:wps="http://schemas.microsoft.com/office/word/2010/wordprocessingShape"'
    ' xmlns:v="urn:schemas-microsoft-com:vml"'
)
_WORDS = (700, 4000)
_SENTENCE = re.compile(r"(?<=[.;])\s+(?=[A-Z(])")
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f]")
Element = Any


@dataclass(slots=True)
class Run:
    """A piece of a paragraph: its kind and its words.

    Attributes:
        kind: "text", "bold", "footnote", "endnote", "formula", "picture", "box", "reference" or "break".
        text: its words; of a picture its colour, of a reference the heading that it names.
    """

    kind: str
    text: str = ""


@dataclass(slots=True)
class Paragraph:
    """A paragraph: "body", "heading", "clause" (numbered) or "subclause" (on the second level)."""

    runs: list[Run]
    kind: str = "body"

    @property
    def text(self) -> str:
        """Its own words."""
        return "".join(run.text for run in self.runs if run.kind in ("text", "bold"))


@dataclass(slots=True)
class Table:
    """Rows of cells with words, or with a table in them."""

    rows: list[list[str | Table]]


@dataclass(slots=True)
class Draft:
    """A document before it is written."""

    blocks: list[Paragraph | Table] = field(default_factory=list)
    header: str = ""
    footer: str = ""

    def paragraphs(self, *kinds: str) -> list[Paragraph]:
        """Its paragraphs of some kinds, with 12 words or more but for headings."""
        wanted = (block for block in self.blocks if isinstance(block, Paragraph) and block.kind in kinds)
        return [block for block in wanted if block.kind == "heading" or len(block.text.split()) >= 12]

    def tables(self) -> list[Table]:
        """Its tables, but those in others."""
        return [block for block in self.blocks if isinstance(block, Table)]

    def runs(self, kind: str) -> list[tuple[Paragraph, Run]]:
        """The runs of a kind, with their paragraphs."""
        blocks = (block for block in self.blocks if isinstance(block, Paragraph))
        return [(block, run) for block in blocks for run in block.runs if run.kind == kind]


# Documents to drafts.


def drafts(data: Path, count: int, seed: int) -> Iterator[tuple[str, Draft]]:
    """Draft as many documents of each set, with names."""
    for name in SETS:
        documents = (row for number, row in enumerate(records(data / name)) if number % 17 == seed % 17)
        fitting = (row for row in documents if word_count(row) >= _WORDS[0])
        for number, document in enumerate(islice(fitting, count)):
            yield f"{name}-{number:02}", _draft(document, random.Random(f"{seed} {name} {number}"))


def versions(data: Path, count: int, seed: int) -> Iterator[tuple[str, Draft, Draft]]:
    """Draft both versions of some documents of doc-versions; paragraphs that both have are written alike."""
    documents = {row["id"]: row for row in records(data / "doc-versions") if word_count(row) >= _WORDS[0]}
    pairs = [row for row in records(data / "doc-versions", "pairs") if row["label"] == 1]
    known = [row for row in pairs if row["a"] in documents and row["b"] in documents]
    for number, row in enumerate(random.Random(seed).sample(known, count)):
        both = (_draft(documents[row[side]], random.Random(f"{seed} {number}"), alike=True) for side in "ab")
        yield f"versions-{number:02}", *both


def _draft(document: dict[str, Any], draw: random.Random, *, alike: bool = False) -> Draft:
    draft = Draft(header=f"{_clean(document['title'])[:60]} – draft", footer="Privileged and confidential")
    words = 0
    for section in document["sections"]:
        heading = _clean(section["heading"])[:120]
        if heading:
            draft.blocks.append(Paragraph([Run("text", heading)], "heading"))
        for text in filter(None, map(_clean, re.split(r"\n+", section["text"]))):
            draft.blocks.append(_paragraph(text, random.Random(text) if alike else draw))
            words += len(text.split())
        if words > _WORDS[1] and not alike:
            break
    if not alike:
        _furnish(draft, draw)
    return draft


def _clean(text: str) -> str:
    return " ".join(_FORBIDDEN.sub("", text).split())


def _paragraph(text: str, draw: random.Random) -> Paragraph:
    chance = draw.random()
    kind = "clause" if chance < 0.25 else "subclause" if chance < 0.4 else "body"
    words = text.split(" ")
    place = draw.randrange(len(words))
    pieces = (" ".join(words[:place]), " ".join(words[place : place + 2]), " ".join(words[place + 2 :]))
    runs = [Run("text", f"{pieces[0]} " if pieces[0] else ""), Run("bold", pieces[1])]
    runs.append(Run("text", f" {pieces[2]}" if pieces[2] else ""))
    return Paragraph([run for run in runs if run.text], kind)


def _furnish(draft: Draft, draw: random.Random) -> None:
    """Put notes, tables, a picture, a text box, a formula, references and breaks into a draft."""
    long = draft.paragraphs("body", "clause", "subclause")
    sentences = [text for block in long for text in _SENTENCE.split(block.text) if 6 <= len(text.split()) <= 40]
    sentences = sentences or [block.text[:200] for block in long]
    headings = draft.paragraphs("heading") or long
    kinds = [
        ("footnote", 6),
        ("endnote", 3),
        ("reference", 3),
        ("formula", 2),
        ("break", 2),
        ("picture", 2),
        ("box", 2),
    ]
    hosts = cycle(draw.sample(long, len(long)))
    for kind, count in kinds:
        for block in islice(hosts, count):
            words = {"reference": headings[0].text[:60], "formula": f"x/{draw.randint(2, 99)}", "break": ""}
            colour = f"{draw.randrange(1 << 24):06x}"
            text = colour if kind == "picture" else words.get(kind, draw.choice(sentences))
            block.runs.insert(draw.randint(1, len(block.runs)), Run(kind, text))
    for number in range(3):
        cells: list[list[str | Table]] = [[draw.choice(sentences)[:80] for _ in range(3)] for _ in range(4)]
        if number == 1:
            cells[1][1] = Table([[draw.choice(sentences)[:50] for _ in range(2)] for _ in range(2)])
        draft.blocks.insert(draw.randint(1, len(draft.blocks)), Table(cells))


# Edits.


def _other(text: str, draw: random.Random) -> str:
    """The text with two words replaced."""
    words = text.split(" ")
    for _ in range(2):
        words[draw.randrange(len(words))] = draw.choice(("forthwith", "material", "ninety", "reasonable", "thereafter"))
    return " ".join(words)


def _reword(draft: Draft, draw: random.Random, *kinds: str) -> None:
    block = draw.choice(draft.paragraphs(*kinds))
    run = max((run for run in block.runs if run.kind == "text"), key=lambda run: len(run.text))
    run.text = _other(run.text, draw)


def _change_run(draft: Draft, draw: random.Random, kind: str) -> None:
    _, run = draw.choice(draft.runs(kind))
    new = {"formula": f"y/{draw.randint(2, 99)}", "picture": f"{draw.randrange(1 << 24):06x}"}
    run.text = new.get(kind) or _other(run.text, draw)


def _add_run(draft: Draft, draw: random.Random, kind: str) -> None:
    block = draw.choice(draft.paragraphs("body", "clause"))
    new = {"formula": "z/7", "picture": "11aa55", "break": ""}
    block.runs.insert(1, Run(kind, new.get(kind, "This sentence was added by the other side.")))


def _drop_run(draft: Draft, draw: random.Random, kind: str) -> None:
    block, run = draw.choice(draft.runs(kind))
    block.runs.remove(run)


def _insert(draft: Draft, draw: random.Random, kind: str, text: str = "") -> None:
    place = draft.blocks.index(draw.choice(draft.paragraphs("body", "clause", "subclause")))
    words = text or f"The parties agree on point {draw.randint(10, 99)} as set out in the letter of the seller."
    draft.blocks.insert(place, Paragraph([Run("text", words)], kind))


def _delete(draft: Draft, draw: random.Random, *kinds: str) -> None:
    draft.blocks.remove(draw.choice(draft.paragraphs(*kinds)))


def _move(draft: Draft, draw: random.Random) -> None:
    block = draw.choice(draft.paragraphs("body", "clause"))
    draft.blocks.remove(block)
    draft.blocks.insert(draw.randrange(len(draft.blocks)), block)


def _split(draft: Draft, draw: random.Random) -> None:
    block = draw.choice([block for block in draft.paragraphs("body") if len(block.runs) > 1])
    place = draft.blocks.index(block) + 1
    draft.blocks.insert(place, Paragraph(block.runs[1:], "body"))
    del block.runs[1:]


def _reword_cell(draft: Draft, draw: random.Random) -> None:
    table = draw.choice(draft.tables())
    row = draw.choice([row for row in table.rows if isinstance(row[0], str)])
    row[0] = _other(str(row[0]), draw)


def _reword_inner(draft: Draft, draw: random.Random) -> None:
    inner = next(cell for table in draft.tables() for row in table.rows for cell in row if isinstance(cell, Table))
    inner.rows[0][1] = _other(str(inner.rows[0][1]), draw)


def _add_row(draft: Draft, draw: random.Random) -> None:
    rows = draw.choice(draft.tables()).rows
    rows.insert(draw.randint(1, len(rows)), [f"added {name}" for name in ("item", "price", "date")])


def _drop_row(draft: Draft, draw: random.Random) -> None:
    rows = draw.choice(draft.tables()).rows
    del rows[draw.randrange(1, len(rows))]


def _add_table(draft: Draft, draw: random.Random) -> None:
    new = Table([[f"{name} {number}" for name in ("Added item", "Price", "Date")] for number in range(3)])
    draft.blocks.insert(draw.randrange(1, len(draft.blocks)), new)


def _drop_table(draft: Draft, draw: random.Random) -> None:
    draft.blocks.remove(draw.choice(draft.tables()))


def _bold(draft: Draft, draw: random.Random) -> None:
    _, run = draw.choice(draft.runs("bold"))
    run.kind = "text"


def _margin(draft: Draft, draw: random.Random, name: str) -> None:
    setattr(draft, name, _other(getattr(draft, name), draw))


def _of(function: Callable[..., None], *values: str) -> Callable[[Draft, random.Random], None]:
    return lambda draft, draw: function(draft, draw, *values)


EDITS: dict[str, Callable[[Draft, random.Random], None]] = {
    "words": _of(_reword, "body", "clause", "subclause"),
    "heading": _of(_reword, "heading"),
    "paragraph added": _of(_insert, "body"),
    "clause added": _of(_insert, "clause"),
    "paragraph deleted": _of(_delete, "body"),
    "clause deleted": _of(_delete, "clause", "subclause"),
    "moved": _move,
    "divided": _split,
    "look": _bold,
    "cell": _reword_cell,
    "cell of an inner table": _reword_inner,
    "row added": _add_row,
    "row deleted": _drop_row,
    "table added": _add_table,
    "table deleted": _drop_table,
    "header": _of(_margin, "header"),
    "footer": _of(_margin, "footer"),
    "reference": _of(_change_run, "reference"),
    **{f"{kind} changed": _of(_change_run, kind) for kind in ("footnote", "endnote", "formula", "picture", "box")},
    **{f"{kind} added": _of(_add_run, kind) for kind in ("footnote", "endnote", "formula", "picture", "box", "break")},
    **{
        f"{kind} deleted": _of(_drop_run, kind)
        for kind in ("footnote", "endnote", "formula", "picture", "box", "break")
    },
}


# Drafts to files.


class _Writer:
    def __init__(self, draft: Draft) -> None:
        self._draft, self._file = draft, docx.Document()
        self._notes: dict[str, list[str]] = {"footnote": [], "endnote": []}
        self._bookmark = 0

    def write(self, path: Path) -> None:
        section = self._file.sections[0]
        section.header.paragraphs[0].text = self._draft.header
        footer = section.footer.paragraphs[0]
        footer.add_run(f"{self._draft.footer}, page ")
        footer._p.append(parse_xml(f'<w:fldSimple {_W} w:instr=" PAGE "><w:r><w:t>1</w:t></w:r></w:fldSimple>'))
        self._number_clauses()
        for block in self._draft.blocks:
            if isinstance(block, Table):
                self._table(self._file.add_table(0, len(block.rows[0])), block)
            else:
                self._paragraph(block)
        for kind, notes in self._notes.items():
            self._note_part(kind, notes)
        self._file.save(str(path))

    def _number_clauses(self) -> None:
        numbering = self._file.part.numbering_part.element
        levels = "".join(
            f'<w:lvl w:ilvl="{level}"><w:start w:val="1"/><w:numFmt w:val="{form}"/><w:lvlText w:val="{text}"/>'
            f'<w:lvlJc w:val="left"/><w:pPr><w:ind w:left="{720 * (level + 1)}" w:hanging="720"/></w:pPr></w:lvl>'
            for level, form, text in ((0, "decimal", "%1."), (1, "lowerLetter", "%1.(%2)"))
        )
        made = parse_xml(
            f'<w:abstractNum {_W} w:abstractNumId="90"><w:multiLevelType w:val="multilevel"/>{levels}</w:abstractNum>'
        )
        numbering.insert(0, made)
        numbering.append(parse_xml(f'<w:num {_W} w:numId="90"><w:abstractNumId w:val="90"/></w:num>'))

    def _paragraph(self, block: Paragraph) -> None:
        made = self._file.add_heading(level=1) if block.kind == "heading" else self._file.add_paragraph()
        if block.kind in ("clause", "subclause"):
            level = int(block.kind == "subclause")
            made._p.get_or_add_pPr().append(
                parse_xml(f'<w:numPr {_W}><w:ilvl w:val="{level}"/><w:numId w:val="90"/></w:numPr>')
            )
        if block.kind == "heading":
            self._bookmark += 1
            attributes = f'{_W} w:id="{self._bookmark}"'
            made._p.append(parse_xml(f'<w:bookmarkStart {attributes} w:name="_Ref{self._bookmark}"/>'))
        for run in block.runs:
            self._run(made, run)
        if block.kind == "heading":
            made._p.append(parse_xml(f"<w:bookmarkEnd {attributes}/>"))

    def _run(self, paragraph: Any, run: Run) -> None:  # noqa: ANN401 - of python-docx
        match run.kind:
            case "text" | "bold":
                paragraph.add_run(run.text).bold = True if run.kind == "bold" else None
            case "break":
                paragraph.add_run().add_break()
            case "picture":
                paragraph.add_run().add_picture(BytesIO(picture(run.text)), width=Cm(2))
            case "footnote" | "endnote":
                self._notes[run.kind].append(run.text)
                number = len(self._notes[run.kind])
                look = f'<w:rPr><w:vertAlign w:val="superscript"/></w:rPr><w:{run.kind}Reference w:id="{number}"/>'
                paragraph._p.append(parse_xml(f"<w:r {_W}>{look}</w:r>"))
            case "formula":
                paragraph._p.append(parse_xml(_formula(*run.text.split("/"))))
            case "box":
                paragraph._p.append(parse_xml(_box(run.text)))
            case "reference":
                for element in _reference(run.text):
                    paragraph._p.append(parse_xml(element))

    def _table(self, made: Any, table: Table) -> None:  # noqa: ANN401 - of python-docx
        made.style = "Table Grid"
        for row in table.rows:
            for cell, content in zip(made.add_row().cells, row, strict=True):
                if isinstance(content, Table):
                    self._table(cell.add_table(0, len(content.rows[0])), content)
                    cell.add_paragraph()
                else:
                    cell.text = content

    def _note_part(self, kind: str, notes: list[str]) -> None:
        mark = f'<w:r><w:rPr><w:vertAlign w:val="superscript"/></w:rPr><w:{kind}Ref/></w:r>'
        lines = [
            f'<w:{kind} w:type="{name}" w:id="{number}"><w:p><w:r><w:{name}/></w:r></w:p></w:{kind}>'
            for number, name in ((-1, "separator"), (0, "continuationSeparator"))
        ]
        lines += [
            f'<w:{kind} w:id="{number}"><w:p>{mark}<w:r>{_text(f" {text}")}</w:r></w:p></w:{kind}>'
            for number, text in enumerate(notes, 1)
        ]
        xml = f'<?xml version="1.0" encoding="UTF-8" standalone="yes"?><w:{kind}s {_W}>{"".join(lines)}</w:{kind}s>'
        content_type = f"application/vnd.openxmlformats-officedocument.wordprocessingml.{kind}s+xml"
        part = Part(PackURI(f"/word/{kind}s.xml"), content_type, xml.encode(), self._file.part.package)
        self._file.part.relate_to(part, RT.FOOTNOTES if kind == "footnote" else RT.ENDNOTES)


def picture(colour: str) -> bytes:
    """A PNG file of 16 times 16 pixels of one colour ("rrggbb")."""
    rows = (b"\0" + bytes.fromhex(colour) * 16) * 16
    chunks = ((b"IHDR", struct.pack(">IIBBBBB", 16, 16, 8, 2, 0, 0, 0)), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    made = b""
    for name, data in chunks:
        made += struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
    return b"\x89PNG\r\n\x1a\n" + made


def _formula(above: str, below: str) -> str:
    parts = "".join(
        f"<m:{name}><m:r><m:t>{text}</m:t></m:r></m:{name}>" for name, text in (("num", above), ("den", below))
    )
    return f"<m:oMath {_DRAWN}><m:f>{parts}</m:f></m:oMath>"


def _text(text: str) -> str:
    return f'<w:t xml:space="preserve">{escape(text)}</w:t>'


def _reference(text: str) -> Iterator[str]:
    yield f'<w:r {_W}><w:fldChar w:fldCharType="begin"/></w:r>'
    yield f'<w:r {_W}><w:instrText xml:space="preserve"> REF _Ref1 \\h </w:instrText></w:r>'
    yield f'<w:r {_W}><w:fldChar w:fldCharType="separate"/></w:r>'
    yield f"<w:r {_W}>{_text(text)}</w:r>"
    yield f'<w:r {_W}><w:fldChar w:fldCharType="end"/></w:r>'


def _box(text: str) -> str:
    content = f"<w:txbxContent><w:p><w:r>{_text(text)}</w:r></w:p></w:txbxContent>"
    shape = (
        '<a:graphic><a:graphicData uri="http://schemas.microsoft.com/office/word/2010/wordprocessingShape"><wps:wsp>'
        '<wps:cNvSpPr txBox="1"/><wps:spPr><a:xfrm><a:off x="0" y="0"/><a:ext cx="1800000" cy="720000"/></a:xfrm>'
        '<a:prstGeom prst="rect"><a:avLst/></a:prstGeom></wps:spPr>'
        f"<wps:txbx>{content}</wps:txbx><wps:bodyPr/></wps:wsp>"
        "</a:graphicData></a:graphic>"
    )
    drawing = (
        '<w:drawing><wp:inline><wp:extent cx="1800000" cy="720000"/><wp:docPr id="77" name="Text Box"/>'
        f"{shape}</wp:inline></w:drawing>"
    )
    old = f'<w:pict><v:rect style="width:140pt;height:56pt"><v:textbox>{content}</v:textbox></v:rect></w:pict>'
    choice = f'<mc:Choice Requires="wps">{drawing}</mc:Choice><mc:Fallback>{old}</mc:Fallback>'
    return f"<w:r {_DRAWN}><mc:AlternateContent>{choice}</mc:AlternateContent></w:r>"


def main() -> None:
    """Write all pairs and the list of their edits."""
    options = arguments(__doc__, "data", "output", pairs=50, versions=0, seed=0)
    options.output.mkdir(parents=True, exist_ok=True)
    kinds, planted = list(EDITS), {}
    for number, (name, draft) in enumerate(drafts(options.data, options.pairs // len(SETS), options.seed)):
        draw = random.Random(f"{options.seed} edits {name}")
        edited = deepcopy(draft)
        # Each kind comes as often as any other: the kinds go round.
        planted[name] = []
        for kind in (kinds[(number * EACH + step) % len(kinds)] for step in range(EACH)):
            with suppress(IndexError, StopIteration):  # no place for it, or a deletion took it
                EDITS[kind](edited, draw)
                planted[name].append(kind)
        for side, version in (("a", draft), ("b", edited)):
            _Writer(version).write(options.output / f"{name}_{side}.docx")
    for name, *both in versions(options.data, options.versions, options.seed):
        for side, version in zip("ab", both, strict=True):
            _Writer(version).write(options.output / f"{name}_{side}.docx")
    (options.output / "edits.json").write_text(json.dumps(planted, indent=1), "utf-8")


if __name__ == "__main__":
    main()
