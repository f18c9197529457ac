"""Count the numbers of clauses as LibreOffice counts them, in Word files and OpenDocument texts with hard numbering.

    python benchmarks/clause_numbers.py OUTPUT [--files 40] [--seed 1] [--show] [FILE ...]

Makes Word files with lists of several levels, drawn by chance: formats, texts of levels, first numbers, lists that
start again, numbers by style, paragraphs without a number, empty ones, tables. LibreOffice saves each, and each FILE,
as plain text, which has the numbers, and as .odt. What colde counts in the Word file and in the .odt is compared with
the plain text, paragraph by paragraph. What Word does and LibreOffice does not is left out: `isLgl`, `lvlRestart`, and
first numbers of a list below its outermost level.

    docx   paragraphs whose number is that of LibreOffice, of all paragraphs with words
    odt    the same of the OpenDocument text that LibreOffice made of the Word file
"""

from __future__ import annotations

import argparse
import random
import re
import shutil
import subprocess
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from colde_cli.documents.document import Document
from colde_cli.documents.reading import read

_MAIN = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_WORD = "application/vnd.openxmlformats-officedocument.wordprocessingml"
_FORMS = ("decimal", "decimal", "lowerLetter", "lowerRoman", "upperLetter", "upperRoman", "ordinal", "decimalZero")
_PARAGRAPH = re.compile(r"\bpar(\d+)\b")
_LEVELS = 4


def word_file(path: Path, chance: random.Random) -> None:
    """Write a Word file whose paragraphs say `par1`, `par2` ...; their numbers are drawn by chance."""
    lists = chance.randint(1, 3)
    abstracts = "".join(_abstract(number, chance) for number in range(lists))
    numbered = [(number + 1, number % lists) for number in range(lists + chance.randint(0, 2))]
    nums = "".join(_num(number, abstract, number > lists, chance) for number, abstract in numbered)
    styles = "".join(
        f'<w:style w:type="paragraph" w:styleId="S{level}"><w:name w:val="clause {level}"/>'
        f'<w:pPr><w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="1"/></w:numPr></w:pPr></w:style>'
        for level in range(_LEVELS)
    )
    parts = {
        "word/document.xml": f"<w:document {_space()}><w:body>{''.join(_body(numbered, chance))}</w:body></w:document>",
        "word/numbering.xml": f"<w:numbering {_space()}>{abstracts}{nums}</w:numbering>",
        "word/styles.xml": f"<w:styles {_space()}>{styles}</w:styles>",
        "word/_rels/document.xml.rels": _relations(numbering="numbering.xml", styles="styles.xml"),
        "_rels/.rels": _relations(officeDocument="word/document.xml"),
        "[Content_Types].xml": _types(),
    }
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)


def _space() -> str:
    return f'xmlns:w="{_MAIN}"'


def _relations(**parts: str) -> str:
    relations = "".join(
        f'<Relationship Id="r{number}" Type="{_OFFICE}/{kind}" Target="{target}"/>'
        for number, (kind, target) in enumerate(parts.items())
    )
    return f'<Relationships xmlns="{_PACKAGE}/relationships">{relations}</Relationships>'


def _types() -> str:
    parts = {"document": "document.main", "numbering": "numbering", "styles": "styles"}
    types = "".join(
        f'<Override PartName="/word/{part}.xml" ContentType="{_WORD}.{kind}+xml"/>' for part, kind in parts.items()
    )
    default = '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    return f'<Types xmlns="{_PACKAGE}/content-types">{default}{types}</Types>'


def _abstract(number: int, chance: random.Random) -> str:
    levels = "".join(_level(level, number, chance) for level in range(_LEVELS))
    return f'<w:abstractNum w:abstractNumId="{number}"><w:multiLevelType w:val="multilevel"/>{levels}</w:abstractNum>'


def _level(level: int, number: int, chance: random.Random) -> str:
    own = f"%{level + 1}"
    whole = ".".join(f"%{up + 1}" for up in range(level + 1))
    texts = [f"{whole}.", whole, f"({own})", f"{own})", f"{own}.", f"Article {own}"]
    if level > 1:
        texts.append(f"%{level}.{own}")
    style = f'<w:pStyle w:val="S{level}"/>' if not number else ""
    start = 1 if chance.random() < 0.8 else chance.randint(1, 9)
    return (
        f'<w:lvl w:ilvl="{level}"><w:start w:val="{start}"/><w:numFmt w:val="{chance.choice(_FORMS)}"/>{style}'
        f'<w:lvlText w:val="{chance.choice(texts)}"/><w:lvlJc w:val="left"/></w:lvl>'
    )


def _num(number: int, abstract: int, overrides: bool, chance: random.Random) -> str:
    override = "".join(
        f'<w:lvlOverride w:ilvl="{level}"><w:startOverride w:val="{chance.randint(1, 4)}"/></w:lvlOverride>'
        for level in range(int(overrides))
    )
    return f'<w:num w:numId="{number}"><w:abstractNumId w:val="{abstract}"/>{override}</w:num>'


def _body(numbered: Sequence[tuple[int, int]], chance: random.Random) -> Iterator[str]:
    """Paragraphs in lists: each next one is as deep as the one before, one level deeper, or less deep."""
    level, number = 0, 1
    for paragraph in range(40):
        if chance.random() < 0.12:
            number, level = chance.choice(numbered)[0], 0
        level = min(_LEVELS - 1, chance.choice([level, level, level + 1, max(0, level - 1), 0]))
        words = "" if chance.random() < 0.04 else f"<w:r><w:t>Words of par{paragraph} stand here.</w:t></w:r>"
        properties = f'<w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="{number}"/></w:numPr>'
        if number == 1 and chance.random() < 0.5:
            properties = f'<w:pStyle w:val="S{level}"/>'
            if chance.random() < 0.1:
                properties += '<w:numPr><w:numId w:val="0"/></w:numPr>'
        elif chance.random() < 0.1:
            properties = ""
        text = f"<w:p><w:pPr>{properties}</w:pPr>{words}</w:p>"
        if chance.random() < 0.06:
            text = (
                f'<w:tbl><w:tblPr/><w:tblGrid><w:gridCol w:w="4000"/></w:tblGrid><w:tr><w:tc><w:tcPr/>{text}</w:tc>'
                "</w:tr></w:tbl><w:p/>"
            )
        yield text


def saved(files: Sequence[Path], folder: Path, kind: str) -> None:
    """Save files in another format with LibreOffice, in one start."""
    command = [shutil.which("soffice") or "soffice", "--headless", f"-env:UserInstallation={(folder / 'lo').as_uri()}"]
    command += ["--convert-to", kind, "--outdir", str(folder), *map(str, files)]
    subprocess.run(command, check=True, capture_output=True, timeout=600)


def shown(text: str) -> dict[int, str]:
    """The number before each paragraph in the plain text of LibreOffice."""
    numbers = {}
    for line in text.split("\n"):
        if found := _PARAGRAPH.search(line):
            numbers[int(found[1])] = line.partition("Words of")[0].strip()
    return numbers


def counted(document: Document) -> dict[int, str]:
    """The number of each paragraph as colde counts it."""
    starts = {number.start: number.mark for number in document.numbers}
    return {
        int(found[1]): starts.get(document.text.rfind("Words of", 0, found.start()), "")
        for found in _PARAGRAPH.finditer(document.text)
    }


def shown_words(text: str, document: Document) -> tuple[int, int]:
    """Of a document of any words: the counted numbers that stand before the words in the plain text, and all."""
    lines = {" ".join(line.split()) for line in text.split("\n")}
    heads = {line[: line.find(" ") + 60] for line in lines}
    right = 0
    for number in document.numbers:
        words = " ".join(document.text[number.start : number.start + 60].partition("\n")[0].split())
        right += any(line.startswith(f"{number.mark} {words}"[:60]) for line in heads)
    return right, len(document.numbers)


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("output", type=Path)
    parser.add_argument("given", type=Path, nargs="*")
    parser.add_argument("--files", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", action="store_true", help="show the paragraphs that differ")
    options = parser.parse_args()
    folder, console = options.output.resolve(), Console()
    folder.mkdir(parents=True, exist_ok=True)
    made = [folder / f"made-{number:03}.docx" for number in range(options.files)]
    for number, path in enumerate(made):
        word_file(path, random.Random(f"{options.seed}/{number}"))
    for kind in ("txt:Text (encoded):UTF8", "odt"):
        saved([*made, *options.given], folder, kind)
    table = Table("", "right", "of", "files without a difference")
    for suffix in (".docx", ".odt"):
        right = total = whole = 0
        for path in made:
            truth = shown(path.with_suffix(".txt").read_text(encoding="utf-8-sig"))
            own = counted(read(path.with_suffix(suffix)))
            wrong = {place: (truth[place], own.get(place, "")) for place in truth if truth[place] != own.get(place, "")}
            if wrong and options.show:
                console.print(path.name, suffix, wrong, highlight=False)
            right, total, whole = right + len(truth) - len(wrong), total + len(truth), whole + (not wrong)
        table.add_row(suffix, f"{right:,}", f"{total:,}", f"{whole} of {len(made)}")
    for path in options.given:
        plain = (folder / path.name).with_suffix(".txt").read_text(encoding="utf-8-sig")
        table.add_row(path.name, *map(str, shown_words(plain, read(path))), "")
    console.print(table)


if __name__ == "__main__":
    main()
