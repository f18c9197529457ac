"""Measure tracked changes: accepting all must give exactly B, rejecting all exactly A.

    python benchmarks/tracked_changes.py DATA OUTPUT [--pairs 200] [--office 48] [--seed 0]

DATA holds `doc-versions/`, `rfc/` and `contracts/` with `docs.jsonl.gz`, the first two also with `pairs.jsonl.gz`
(docs/training-data.md). Files are kept in OUTPUT. Four sorts of pairs:

    policies as text    two versions of one policy or standard; a new Word file
    RFCs as text        a standard and the one that it replaced; a new Word file
    policies in Word    the same policies as .docx: runs in bold, italics and red, lists, tables; the layout is kept
    contracts in Word   a contract as .docx, and a copy with words replaced, paragraphs dropped, added and moved

and the two versions of examples/. Columns:

    layout kept         pairs of Word files whose result is the file of A with its layout
    exact               pairs whose paragraphs are exact after accepting and after rejecting (own code)
    schema              files without an error of openxml-audit, where that is installed
    LibreOffice         files of a sample whose text is exact when LibreOffice accepts or rejects

Passages are aligned by wording alone, without a model.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import docx
from docx.shared import RGBColor
from rich.console import Console
from rich.table import Table

from colde_cli.documents.document import Document, Part, assemble
from colde_cli.documents.reading import read
from colde_cli.evaluation.data import json_lines
from colde_cli.similarity.alignment import align
from colde_cli.views.word.tracked_file import read_resolved, redline_docx

if TYPE_CHECKING:
    from docx.document import Document as WordFile
    from docx.text.paragraph import Paragraph

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "tests"))
from libre_office import SOFFICE, settled  # noqa: E402 - beside the tests that use it, too
from word_changes import paragraph_texts, paragraphs_of  # noqa: E402

WORDS = (300, 9000)
"""Fewest and most words of a document that is drawn."""
_NEW_PARAGRAPH = re.compile(r"\n+")
_STYLES = ("List Bullet", "List Number")


@dataclass(frozen=True, slots=True)
class Raw:
    """A document of the data: headings and their paragraphs."""

    name: str
    sections: tuple[tuple[str, tuple[str, ...]], ...]

    @property
    def words(self) -> int:
        """The number of its words, without headings."""
        return sum(len(text.split()) for _, texts in self.sections for text in texts)

    def document(self) -> Document:
        """The document as read from a text file."""
        parts = [Part(heading, "\n\n".join(texts)) for heading, texts in self.sections]
        return assemble(f"{self.name}.txt", self.name, parts)


@dataclass(slots=True)
class Case:
    """A pair and what became of it."""

    sort: str
    a: Document
    b: Document
    file: Path
    kept: bool = False
    exact: bool = False
    valid: bool | None = None
    office: bool | None = None


def raw_documents(path: Path) -> dict[str, Raw]:
    """Read the documents of a set; each line of a section is a paragraph."""
    found = {}
    for _, item in json_lines(path):
        sections = (
            (section["heading"], tuple(filter(None, map(str.strip, _NEW_PARAGRAPH.split(section["text"])))))
            for section in item["sections"]
        )
        found[item["id"]] = Raw(item["id"], tuple(sections))
    return found


def related(folder: Path, count: int, draw: random.Random) -> Iterator[tuple[Raw, Raw]]:
    """Draw related pairs of documents of moderate length, the older one first."""
    documents = raw_documents(folder / "docs.jsonl.gz")
    lines = json_lines(folder / "pairs.jsonl.gz")
    pairs = [(item["a"], item["b"]) for _, item in lines if item["label"] == 1]
    draw.shuffle(pairs)
    for one, other in pairs:
        both = sorted((documents[one], documents[other]), key=lambda raw: raw.name)
        if count and all(WORDS[0] <= raw.words <= WORDS[1] for raw in both):
            count -= 1
            yield both[0], both[1]


def edited(raw: Raw, others: Sequence[str], draw: random.Random) -> Raw:
    """Copy a document with words replaced, and with paragraphs dropped, added and moved."""
    sections = []
    for heading, texts in raw.sections:
        new: list[str] = []
        for text in texts:
            chance = draw.random()
            if chance < 0.04:
                continue
            if chance < 0.08:
                new.append(draw.choice(others))
            if chance > 0.97 and new:
                new.insert(0, text)
                continue
            words = text.split(" ")
            if chance > 0.8:
                place = draw.randrange(len(words))
                words[place] = draw.choice(draw.choice(others).split())
            new.append(" ".join(words))
        sections.append((heading if draw.random() > 0.03 else f"{heading} (new)", tuple(new)))
    return Raw(raw.name, tuple(sections))


def write_word(raw: Raw, path: Path, seed: str) -> Path:
    """Write a Word file with runs of several looks, lists, and a table after one paragraph in 25."""
    draw = random.Random(seed)
    file = docx.Document()
    file.sections[0].header.paragraphs[0].text = "Confidential draft"
    for heading, texts in raw.sections:
        if heading:
            file.add_heading(heading, level=1)
        for text in texts:
            look = random.Random(text[:40])  # the same in both versions
            listed = look.random() < 0.15 and len(text) < 300
            paragraph = file.add_paragraph(style=look.choice(_STYLES) if listed else None)
            _add_runs(paragraph, text, draw)
            if look.random() < 0.04:
                _add_table(file, text.split()[:18])
    file.save(str(path))
    return path


def _add_runs(paragraph: Paragraph, text: str, draw: random.Random) -> None:
    words = re.findall(r"\s*\S+", text)
    while words:
        count = draw.randint(1, 15)
        run = paragraph.add_run("".join(words[:count]))
        words, look = words[count:], draw.random()
        run.bold, run.italic = look < 0.1 or None, 0.1 < look < 0.2 or None
        if look > 0.95:
            run.font.color.rgb = RGBColor(190, 0, 0)


def _add_table(file: WordFile, words: Sequence[str]) -> None:
    table = file.add_table(0, 3, style="Table Grid")
    for start in range(0, len(words) - 2, 3):
        for cell, word in zip(table.add_row().cells, words[start : start + 3], strict=True):
            cell.text = word


def cases(data: Path, output: Path, count: int, seed: int) -> Iterator[Case]:
    """Draw a quarter of the pairs of each sort; then the examples."""
    draw = random.Random(seed)
    each = count // 4
    policies = list(related(data / "doc-versions", 2 * each, draw))
    for sort, pairs in (
        ("policies as text", policies[:each]),
        ("RFCs as text", list(related(data / "rfc", each, draw))),
    ):
        for number, (a, b) in enumerate(pairs):
            yield Case(sort, a.document(), b.document(), output / f"{sort[:3]}-text-{number}.docx")
    contracts = [
        raw for raw in raw_documents(data / "contracts" / "docs.jsonl.gz").values() if WORDS[0] <= raw.words <= WORDS[1]
    ]
    drawn = draw.sample(contracts, each)
    others = [text for raw in contracts[:20] for _, texts in raw.sections for text in texts]
    in_word = [(raw, edited(raw, others, draw)) for raw in drawn]
    for sort, pairs in (("policies in Word", policies[each:]), ("contracts in Word", in_word)):
        for number, (a, b) in enumerate(pairs):
            stem = f"{sort[:3]}-word-{number}"
            files = [
                write_word(raw, output / f"{stem}-{side}.docx", f"{stem}{side}") for raw, side in ((a, "a"), (b, "b"))
            ]
            yield Case(sort, read(files[0]), read(files[1]), output / f"{stem}.docx")
    examples = (read(ROOT / "examples" / f"field-study-v{number}.pdf") for number in (1, 2))
    yield Case("examples/", *examples, output / "examples.docx")


def measure(case: Case) -> None:
    """Write the redline of a case and read both versions of it again."""
    found = redline_docx(case.a, case.b, align(case.a, case.b, None))
    case.file.write_bytes(found.content)
    in_word = case.a.path.endswith(".docx")
    case.kept = in_word and not any(" was not kept" in sentence for sentence in found.warnings)
    reader = read_resolved if case.kept else paragraph_texts
    case.exact = all(
        reader(found.content, accept=accept) == paragraphs_of(document)
        for accept, document in ((True, case.b), (False, case.a))
    )
    for sentence in found.warnings:
        print(case.file.name, sentence)


def validate(case: Case) -> None:
    """Check a file against the schema."""
    try:
        from openxml_audit import OpenXmlValidator
    except ModuleNotFoundError:
        return
    errors = map(str, OpenXmlValidator().validate(str(case.file)).errors)
    # Files made with python-docx hold a second copy of all styles, which differs from the first.
    case.valid = not [error for error in errors if "stylesWithEffects" not in error]


def in_libre_office(sample: Sequence[Case], folder: Path) -> None:
    """Compare the texts after LibreOffice accepted and rejected.

    Files with layout are saved as .docx and read by colde: as text, LibreOffice would write the numbers of lists.
    """
    for suffix, kept in ((".txt", False), (".docx", True)):
        files = {case.file: case for case in sample if case.kept is kept}
        place = folder / suffix[1:]
        place.mkdir(parents=True, exist_ok=True)
        for file, results in settled(files, place, suffix).items():
            case = files[file]
            case.office = all(
                _exact(result, document) for result, document in zip(results, (case.b, case.a), strict=True)
            )
            if not case.office:
                print(file.name, "differs in LibreOffice")


def _exact(result: Path, document: Document) -> bool:
    if not result.exists():
        return False
    if result.suffix == ".docx":
        return paragraphs_of(read(result)) == paragraphs_of(document)
    text = "".join(f"{paragraph}\n" for paragraph in paragraphs_of(document))
    return result.read_text(encoding="utf-8-sig") == text


def summary(measured: Sequence[Case]) -> Table:
    """Count by sort."""
    table = Table("sort", "pairs", "layout kept", "exact", "schema", "LibreOffice")
    for sort in dict.fromkeys(case.sort for case in measured):
        own = [case for case in measured if case.sort == sort]
        checked = [case.office for case in own if case.office is not None]
        valid = [case.valid for case in own if case.valid is not None]
        table.add_row(
            sort,
            str(len(own)),
            str(sum(case.kept for case in own)),
            str(sum(case.exact for case in own)),
            f"{sum(valid)} of {len(valid)}",
            f"{sum(checked)} of {len(checked)}",
        )
    return table


def main() -> None:
    """Measure all pairs and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--pairs", type=int, default=200)
    parser.add_argument("--office", type=int, default=48, help="files for LibreOffice; 0 for none")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    output = options.output.resolve()
    output.mkdir(parents=True, exist_ok=True)
    measured = []
    for case in cases(options.data, output, options.pairs, options.seed):
        measure(case)
        validate(case)
        measured.append(case)
    if SOFFICE and options.office:
        step = max(1, len(measured) // options.office)
        in_libre_office(measured[::-step][: options.office + 1], output / "office")
    Console().print(summary(measured))


if __name__ == "__main__":
    main()
