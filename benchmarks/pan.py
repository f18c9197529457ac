"""Measure the passages of `colde diff` as text alignment: PAN's precision, recall, granularity and plagdet.

    python benchmarks/pan.py CORPUS... [--least 8] [--wording] [--model NAME] [--most N]

The corpora are not ours to ship (pan.webis.de, "Text Alignment", 2012 to 2015). CORPUS is the folder of one:

    pairs                        lines "suspicious-document00001.txt source-document00002.txt"
    susp/, src/                  the documents, UTF-8
    NN-name/SUSP-SOURCE.xml      one file for each pair, in a folder for each kind of obfuscation:
        <document reference="suspicious-document00001.txt">
          <feature name="plagiarism" this_offset="5" this_length="1000"
                   source_reference="source-document00002.txt" source_offset="100" source_length="1000"/>
        </document>

Offsets count characters of the file. Features of other names ending in "plagiarism" count as well, but "detected-...".

A document is compared as it stands in its file, as one section, so that offsets stay valid. A detection is an aligned
passage (the same, edited or moved) of at least `--least` words on both sides; passages that follow each other in both
documents are one detection. Nothing was tuned on PAN. `--wording` aligns without the model.

Measures are those of Potthast et al. 2010 ("An Evaluation Framework for Plagiarism Detection"), macro-averaged over
cases and detections of all pairs of a corpus, and for each kind of obfuscation.
"""

from __future__ import annotations

import argparse
import math
import platform
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
from rich.console import Console
from rich.table import Table

from colde_cli import settings
from colde_cli.documents.document import Document, Part, Span, assemble
from colde_cli.encoder.cache import Cache
from colde_cli.encoder.encoder import Encoder
from colde_cli.encoder.encoding import DocumentEncoder
from colde_cli.errors import DataError
from colde_cli.similarity.alignment import PassagePair, align


@dataclass(frozen=True, slots=True)
class Reuse:
    """A passage of a suspicious document and the passage of a source that it is taken from.

    Attributes:
        pair: the name of the pair of documents.
        suspicious: characters of the suspicious document.
        source: characters of the source.
    """

    pair: str
    suspicious: Span
    source: Span

    @property
    def sides(self) -> tuple[Span, Span]:
        """Both passages."""
        return self.suspicious, self.source

    @property
    def length(self) -> int:
        """Characters of both passages."""
        return sum(span.end - span.start for span in self.sides)

    def detects(self, case: Reuse) -> bool:
        """Whether it shares characters with a case on both sides."""
        return self.pair == case.pair and all(
            max(one.start, other.start) < min(one.end, other.end)
            for one, other in zip(self.sides, case.sides, strict=True)
        )

    def share_in(self, others: Iterable[Reuse]) -> float:
        """Share of its characters that lie in those others that it meets on both sides."""
        met = [other for other in others if self.detects(other)]
        covered = sum(
            _covered(span, [other.sides[side] for other in met]) for side, span in enumerate(self.sides)
        )
        return covered / self.length


def _covered(span: Span, others: Sequence[Span]) -> int:
    """Count the characters of a span that lie in any of the others."""
    inside = np.zeros(span.end - span.start, bool)
    for other in others:
        inside[max(0, other.start - span.start) : max(0, other.end - span.start)] = True
    return int(inside.sum())


@dataclass(frozen=True, slots=True)
class Detection:
    """Figures of a detector.

    Attributes:
        cases: number of cases.
        detections: number of detections.
        granularity: detections of a case that was detected, on average; 1 is best.
    """

    cases: int
    detections: int
    precision: float
    recall: float
    granularity: float

    @property
    def plagdet(self) -> float:
        """F1 / log2(1 + granularity), in [0, 1]."""
        total = self.precision + self.recall
        f1 = 2 * self.precision * self.recall / total if total else 0.0
        return f1 / math.log2(1 + self.granularity)


def measure(cases: Sequence[Reuse], detections: Sequence[Reuse]) -> Detection:
    """Compare detections with cases (Potthast et al. 2010, eq. 2 to 5).

    Precision is the mean share of a detection that lies in the cases it detects, recall the mean share of a case that
    lies in the detections of it. Without cases and detections both are 1; with one of them missing, 0.
    """
    of_cases, of_detections = _by_pair(cases), _by_pair(detections)
    nothing = float(not cases and not detections)
    found = [case.share_in(of_detections[case.pair]) for case in cases]
    right = [detection.share_in(of_cases[detection.pair]) for detection in detections]
    times = [sum(other.detects(case) for other in of_detections[case.pair]) for case in cases]
    detected = [count for count in times if count]
    return Detection(
        len(cases),
        len(detections),
        float(np.mean(right)) if right else nothing,
        float(np.mean(found)) if found else nothing,
        float(np.mean(detected)) if detected else 1.0,
    )


def _by_pair(items: Iterable[Reuse]) -> defaultdict[str, list[Reuse]]:
    found: defaultdict[str, list[Reuse]] = defaultdict(list)
    for item in items:
        found[item.pair].append(item)
    return found


@dataclass(frozen=True, slots=True)
class PanPair:
    """A pair of documents.

    Attributes:
        kind: the folder of its truth, such as "02-no-obfuscation".
    """

    name: str
    suspicious: Path
    source: Path
    kind: str
    cases: tuple[Reuse, ...]


def read_corpus(folder: Path) -> list[PanPair]:
    """Read the pairs of a corpus with their cases.

    Raises:
        DataError: a line or a file is not as the corpus has it, or a file is missing.
    """
    truths = {path.stem: path for path in sorted(folder.glob("*/*.xml"))}
    found = []
    for number, line in enumerate((folder / "pairs").read_text(encoding="utf-8").splitlines(), start=1):
        names = line.split()
        if len(names) != 2:
            raise DataError(f"{folder / 'pairs'}, line {number}: two names of documents are expected.")
        name = "-".join(Path(item).stem for item in names)
        documents = (folder / "susp" / names[0], folder / "src" / names[1])
        for path in (*documents, truths.get(name, folder / f"*/{name}.xml")):
            if not path.is_file():
                raise DataError(f"{path} is not there; {folder / 'pairs'} names it.")
        found.append(PanPair(name, *documents, truths[name].parent.name, read_cases(truths[name], name)))
    return found


def read_cases(path: Path, pair: str) -> tuple[Reuse, ...]:
    """Read the cases of a pair.

    Raises:
        DataError: the file is no XML, or a case lacks an offset or a length.
    """
    try:
        features = ElementTree.parse(path).getroot().iter("feature")
        return tuple(
            Reuse(pair, _span(item, "this"), _span(item, "source"))
            for item in features
            if item.get("name", "").endswith("plagiarism") and not item.get("name", "").startswith("detected")
        )
    except (ElementTree.ParseError, KeyError, ValueError) as error:
        raise DataError(f"{path}: no truth of text alignment ({error}).") from error


def _span(feature: ElementTree.Element, side: str) -> Span:
    start, length = (int(feature.attrib[f"{side}_{what}"]) for what in ("offset", "length"))
    if start < 0 or length < 1:
        raise ValueError(f"{side}_offset {start}, {side}_length {length}")
    return Span(start, start + length)


@dataclass(frozen=True, slots=True, eq=False)
class FileText:
    """A file as a document of one section, and where its text begins in the file."""

    document: Document
    offset: int

    @classmethod
    def read(cls, path: Path) -> FileText:
        """Read a file without changing a character inside its text."""
        text = path.read_bytes().decode("utf-8", "replace")
        document = assemble(str(path), path.stem, [Part("", text)])
        return cls(document, len(text) - len(text.lstrip()))


def detections(
    pair: str, one: FileText, other: FileText, encoder: DocumentEncoder | None, least: int
) -> list[Reuse]:
    """Detections in a pair: runs of aligned passages, in characters of the files."""
    alignment = align(one.document, other.document, encoder)
    aligned = sorted(
        (item for item in alignment.pairs if item.a and item.b), key=lambda item: item.a[0].index
    )
    return [
        Reuse(
            pair,
            Span(run[0].a[0].span.start + one.offset, run[-1].a[-1].span.end + one.offset),
            Span(run[0].b[0].span.start + other.offset, run[-1].b[-1].span.end + other.offset),
        )
        for run in _runs(aligned)
        if min(_words(item.a_text for item in run), _words(item.b_text for item in run)) >= least
    ]


def _runs(aligned: Sequence[PassagePair]) -> list[list[PassagePair]]:
    """Join pairs whose passages follow each other in both documents."""
    runs: list[list[PassagePair]] = []
    for item in aligned:
        last = runs[-1][-1] if runs else None
        if last and (last.a[-1].index + 1, last.b[-1].index + 1) == (item.a[0].index, item.b[0].index):
            runs[-1].append(item)
        else:
            runs.append([item])
    return runs


def _words(texts: Iterable[str]) -> int:
    return sum(len(text.split()) for text in texts)


HEADER = ("obfuscation", "pairs", "cases", "detections", "precision", "recall", "granularity", "plagdet")


def rows(pairs: Sequence[PanPair], found: Sequence[Reuse]) -> list[list[str]]:
    """A line for each kind of obfuscation, and one for all."""
    kinds = sorted({pair.kind for pair in pairs})
    lines = []
    for kind in [*kinds, "all"]:
        some = [pair for pair in pairs if kind in (pair.kind, "all")]
        names = {pair.name for pair in some}
        figures = measure(
            [case for pair in some for case in pair.cases], [item for item in found if item.pair in names]
        )
        values = (figures.precision, figures.recall, figures.granularity, figures.plagdet)
        counts = (len(some), figures.cases, figures.detections)
        lines.append([kind, *map(str, counts), *(f"{value:.3f}" for value in values)])
    return lines


def main() -> None:
    """Read, align, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("corpora", nargs="+", type=Path)
    parser.add_argument("--least", type=int, default=8, help="words of a detection")
    parser.add_argument("--wording", action="store_true", help="align by wording alone")
    parser.add_argument("--model", default=settings.DEFAULT_MODEL)
    parser.add_argument("--most", type=int, help="only the first N pairs of each corpus")
    options = parser.parse_args()
    console = Console()
    with Cache.open() as cache:
        encoder = None if options.wording else Encoder.load(options.model, device="cpu", cache=cache)
        for corpus in options.corpora:
            pairs = read_corpus(corpus)[: options.most]
            found = [
                item
                for pair in pairs
                for item in detections(
                    pair.name,
                    FileText.read(pair.suspicious),
                    FileText.read(pair.source),
                    encoder,
                    options.least,
                )
            ]
            table = Table(*HEADER, title=f"{corpus.name}, {platform.machine()}")
            for line in rows(pairs, found):
                table.add_row(*line)
            console.print(table)


if __name__ == "__main__":
    main()
