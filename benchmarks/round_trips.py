"""Compare documents with themselves, and with themselves as another program saved them: every difference is false.

    python benchmarks/round_trips.py make DATA OUTPUT --count 40
    python benchmarks/round_trips.py run OUTPUT PDFS --csv round-trips.csv
    python benchmarks/round_trips.py words A B [A B ...]

`make` takes documents of DATA (`SET/docs.jsonl.gz`, docs/training-data.md) and writes each with pandoc as .docx, .odt
and .html, and the .docx as .pdf, .odt and .docx again with LibreOffice. `run` compares the pairs of one document, and
each PDF of PDFS with itself and with the same pages saved anew by pypdf. Passages are aligned by wording alone.

`words` measures pairs of files: the shares of words; passages that stand on one side only, and those of them, of six
words or more, that stand word for word in the other document as often as in their own ("false"); stretches of four
words or more that are deleted in one pair of passages and inserted in one at most two away ("twice"); seconds.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from html import escape
from pathlib import Path

from colde_cli import verify
from colde_cli.documents.document import Document
from colde_cli.errors import ColdeError
from colde_cli.model_api import read_both
from colde_cli.similarity.alignment import align
from colde_cli.similarity.comparison import same_texts
from colde_cli.similarity.pairs import PassagePair, State, extents
from colde_cli.similarity.redline import NOTHING_IGNORED

SETS = ("contracts", "doc-versions", "court-cases", "patents", "rfc")
PAIRS = (
    *(("docx", "docx"), ("odt", "odt"), ("html", "html"), ("docx", "pdf"), ("docx", "lo.odt")),
    *(("docx", "lo.docx"), ("docx", "odt"), ("docx", "html")),
)


def make(data: Path, output: Path, count: int) -> None:
    """Write the documents in all formats."""
    output.mkdir(parents=True, exist_ok=True)
    each = -(-count // len(SETS))
    for name in SETS:
        with gzip.open(data / name / "docs.jsonl.gz", "rt", encoding="utf-8") as lines:
            for number, line in zip(range(each), (line for n, line in enumerate(lines) if n % 37 == 5), strict=False):
                _write(json.loads(line), output / f"{name}-{number:02}")
    words = sorted(output.glob("*.docx"))
    for target in ("pdf", "odt", "docx"):
        with tempfile.TemporaryDirectory() as folder:
            command = ["soffice", "--headless", "--convert-to", target, "--outdir", folder, *map(str, words)]
            subprocess.run(command, check=True, capture_output=True)
            for made in Path(folder).iterdir():
                suffix = ".pdf" if target == "pdf" else f".lo.{target}"
                (output / f"{made.stem}{suffix}").write_bytes(made.read_bytes())


def _write(document: dict[str, object], stem: Path) -> None:
    parts = [f"<h1>{escape(str(document['title']))}</h1>"]
    for section in document["sections"]:  # type: ignore[attr-defined]
        if section["heading"]:
            parts.append(f"<h2>{escape(section['heading'])}</h2>")
        parts += [f"<p>{escape(line)}</p>" for line in section["text"].split("\n") if line.strip()]
    page = f'<!doctype html><html lang="en"><meta charset="utf-8"><body>{"".join(parts)}</body></html>'
    stem.with_suffix(".html").write_text(page, "utf-8")
    for kind in ("docx", "odt"):
        command = ["pandoc", "-f", "html", "-o", f"{stem}.{kind}", f"{stem}.html"]
        subprocess.run(command, check=True, capture_output=True)


def differences(a: Path, b: Path) -> Counter[str]:
    """Count what the comparison of two forms of one document shows."""
    first, second, _, _ = read_both(a, b)
    pairs = align(first, second, None, NOTHING_IGNORED).pairs
    found = Counter(pair.state.value for pair in pairs if pair.state is not State.SAME)
    found["not same"] += not same_texts(first, second)
    found += _outside(first, second)
    try:
        found["not verified"] += a.suffix == b.suffix and not verify(a, b).verified
    except ColdeError:
        found["not verified"] += 1
    return found


def _outside(a: Document, b: Document) -> Counter[str]:
    """Differences beside the text; versions before 0.2 know none."""
    try:
        from colde_cli.similarity.outside_changes import compare_outside
    except ImportError:
        return Counter()
    compared = compare_outside(a, b)
    return (
        Counter({f"outside: {change.kind}": 0 for change in compared.differences})
        + Counter(f"outside: {change.kind}" for change in compared.differences)
        + Counter(f"reordered: {kind}" for kind in compared.reordered)
    )


def words(a: Path, b: Path) -> str:
    """Measure how the words of two files are shared."""
    first, second, _, _ = read_both(a, b)
    start = time.perf_counter()
    found = align(first, second, None).pairs
    taken = time.perf_counter() - start
    letters = [_letters(document.text) for document in (first, second)]
    one_sided = [pair for pair in found if not (pair.a and pair.b)]
    false = 0
    for pair in one_sided:
        text = pair.a_text or pair.b_text
        own, other = letters if pair.a else letters[::-1]
        false += len(text.split()) >= _LONG and other.count(_letters(text)) >= max(1, own.count(_letters(text)))
    deleted, inserted = ([_changed(pair, side) for pair in found] for side in (0, 1))
    twice = sum(
        any(stretch in there for near in inserted[max(0, place - 2) : place + 3] for there in near)
        for place, some in enumerate(deleted)
        for stretch in some
    )
    shares = " ".join(f"{extent.share_kept:.4f}" for extent in extents(found))
    return f"shares {shares}  one-sided {len(one_sided)}, false {false}  twice {twice}  {taken:.2f} s"


_LONG, _STRETCH = 6, 4


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text.casefold()))


def _changed(pair: PassagePair, side: int) -> list[str]:
    """The letters of stretches of a pair that only one side has, those of few words left out."""
    whole = (pair.a_text, pair.b_text)[side]
    stretches = [pair.words_of(edit)[side] for edit in pair.edits] if pair.a and pair.b else [whole]
    return [_letters(text) for text in stretches if sum(map(bool, map(_letters, text.split()))) >= _STRETCH]


def pairs(output: Path, pdfs: Path, folder: Path) -> Iterator[tuple[str, Path, Path]]:
    """What to compare: the name of the sort, and two files."""
    for one in sorted(output.glob("*.html")):
        for left, right in PAIRS:
            a, b = (one.with_name(f"{one.stem}.{suffix}") for suffix in (left, right))
            if a.exists() and b.exists():
                yield f"{left} - {right}", a, b
    from pypdf import PdfReader, PdfWriter

    for one in sorted(pdfs.glob("*.pdf"))[:40]:
        yield "pdf - itself", one, one
        again = folder / one.name
        try:
            PdfWriter(clone_from=PdfReader(one)).write(again)
        except Exception as error:
            print(f"not saved anew: {one.name}: {error}", file=sys.stderr)
            continue
        yield "pdf - saved anew", one, again


def main() -> int:
    """Make the documents, or compare them and print sums by sort of pair."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    maker = commands.add_parser("make")
    maker.add_argument("data", type=Path)
    maker.add_argument("output", type=Path)
    maker.add_argument("--count", type=int, default=40)
    runner = commands.add_parser("run")
    runner.add_argument("output", type=Path)
    runner.add_argument("pdfs", type=Path)
    runner.add_argument("--only", default="", help="only sorts of pairs that hold this")
    runner.add_argument("--show", action="store_true", help="print each pair that differs")
    runner.add_argument("--csv", type=Path)
    counter = commands.add_parser("words")
    counter.add_argument("files", nargs="+", type=Path)
    arguments = parser.parse_args()
    if arguments.command == "make":
        make(arguments.data, arguments.output, arguments.count)
        return 0
    if arguments.command == "words":
        for a, b in zip(arguments.files[::2], arguments.files[1::2], strict=True):
            print(f"{a.name} - {b.name}: {words(a, b)}")
        return 0
    sums: dict[str, Counter[str]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for sort, a, b in pairs(arguments.output, arguments.pdfs, Path(folder)):
            if arguments.only not in sort:
                continue
            try:
                found = differences(a, b)
            except ColdeError as error:
                found = Counter({f"refused: {type(error).__name__}": 1})
            sums.setdefault(sort, Counter()).update({"pairs": 1, "differ": bool(+found), **found})
            if arguments.show and +found:
                print(f"  {a.name} - {b.name}: {dict(+found)}")
    for sort, found in sums.items():
        print(f"{sort:18}", ", ".join(f"{name} {count}" for name, count in sorted((+found).items())))
    if arguments.csv:
        with arguments.csv.open("w", newline="", encoding="utf-8") as file:
            rows = [(sort, name, count) for sort, found in sums.items() for name, count in sorted(found.items())]
            csv.writer(file).writerows([("pairs", "what", "count"), *rows])
    return 0


if __name__ == "__main__":
    sys.exit(main())
