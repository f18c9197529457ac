"""Measure tracked changes: accepting all must give exactly B, rejecting all exactly A.

    python benchmarks/tracked_changes.py DATA OUTPUT [--pairs 100] [--office 24] [--seed 0]

DATA holds `doc-versions/` and `rfc/` with `docs.jsonl.gz` and `pairs.jsonl.gz` (docs/training-data.md). Files are kept
in OUTPUT. Pairs are two versions of one policy or standard, an RFC and the one that it replaced, and the two versions
of examples/, all read as text, so that the redline is a new Word file. Redlines that keep the layout of a Word file are
measured by word_redlines.py, on the pairs of word_pairs.py. Columns:

    exact               pairs whose paragraphs are exact after accepting and after rejecting (own code)
    schema              files without an error of openxml-audit, where that is installed
    LibreOffice         files of a sample whose text is exact when LibreOffice accepts or rejects

Passages are aligned by wording alone, without a model.
"""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table
from script import ROOT, arguments, records

from colde_cli.documents.document import Document, Part, assemble
from colde_cli.documents.reading import read
from colde_cli.similarity.alignment import align
from colde_cli.views.word.tracked_file import redline_docx

sys.path.append(str(ROOT / "tests"))
from libre_office import SOFFICE, settled
from word_changes import paragraph_texts, paragraphs_of

WORDS = (300, 9000)
"""Fewest and most words of a document that is drawn."""
_NEW_PARAGRAPH = re.compile(r"\n+")


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
    exact: bool = False
    valid: bool | None = None
    office: bool | None = None


def raw_documents(folder: Path) -> dict[str, Raw]:
    """Read the documents of a set; each line of a section is a paragraph."""
    found = {}
    for item in records(folder):
        sections = (
            (section["heading"], tuple(filter(None, map(str.strip, _NEW_PARAGRAPH.split(section["text"])))))
            for section in item["sections"]
        )
        found[item["id"]] = Raw(item["id"], tuple(sections))
    return found


def related(folder: Path, count: int, draw: random.Random) -> Iterator[tuple[Raw, Raw]]:
    """Draw related pairs of documents of moderate length, the older one first."""
    documents = raw_documents(folder)
    pairs = [(item["a"], item["b"]) for item in records(folder, "pairs") if item["label"] == 1]
    draw.shuffle(pairs)
    for one, other in pairs:
        both = sorted((documents[one], documents[other]), key=lambda raw: raw.name)
        if count and all(WORDS[0] <= raw.words <= WORDS[1] for raw in both):
            count -= 1
            yield both[0], both[1]


def cases(data: Path, output: Path, count: int, seed: int) -> Iterator[Case]:
    """Draw half of the pairs of each sort; then the examples."""
    draw = random.Random(seed)
    for sort, name in (("policies", "doc-versions"), ("RFCs", "rfc")):
        for number, (a, b) in enumerate(related(data / name, count // 2, draw)):
            yield Case(sort, a.document(), b.document(), output / f"{name}-{number}.docx")
    examples = (read(ROOT / "examples" / f"field-study-v{number}.pdf") for number in (1, 2))
    yield Case("examples/", *examples, output / "examples.docx")


def measure(case: Case) -> None:
    """Write the redline of a case and read both versions of it again."""
    found = redline_docx(case.a, case.b, align(case.a, case.b, None))
    case.file.write_bytes(found.content)
    case.exact = all(
        paragraph_texts(found.content, accept=accept) == paragraphs_of(document)
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
    """Compare the texts after LibreOffice accepted and rejected."""
    files = {case.file: case for case in sample}
    folder.mkdir(parents=True, exist_ok=True)
    for file, results in settled(files, folder, ".txt").items():
        case = files[file]
        case.office = all(
            result.exists() and result.read_text(encoding="utf-8-sig") == plain(document)
            for result, document in zip(results, (case.b, case.a), strict=True)
        )
        if not case.office:
            print(file.name, "differs in LibreOffice")


def plain(document: Document) -> str:
    """The paragraphs of a document, each on a line."""
    return "".join(f"{paragraph}\n" for paragraph in paragraphs_of(document))


def summary(measured: Sequence[Case]) -> Table:
    """Count by sort."""
    table = Table("sort", "pairs", "exact", "schema", "LibreOffice")
    for sort in dict.fromkeys(case.sort for case in measured):
        own = [case for case in measured if case.sort == sort]
        checked = [case.office for case in own if case.office is not None]
        valid = [case.valid for case in own if case.valid is not None]
        table.add_row(
            sort,
            str(len(own)),
            str(sum(case.exact for case in own)),
            f"{sum(valid)} of {len(valid)}",
            f"{sum(checked)} of {len(checked)}",
        )
    return table


def main() -> None:
    """Measure all pairs and print the table."""
    options = arguments(__doc__, "data", "output", pairs=100, office=24, seed=0)
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
