"""Measure redlines of Word files: `colde diff A.docx B.docx -o redline.docx`, read by another reader.

    python benchmarks/word_redlines.py PAIRS OUTPUT [--only WC-16] [--options "--tracked accept"]

PAIRS is a manifest (a JSON list of `{"id", "a", "b", "revisions"}`, paths relative to its folder or
one above) or a folder with pairs
`NAME_a.docx`, `NAME_b.docx`. The redlines, `results.jsonl` and LibreOffice's work go to OUTPUT. What is measured:

    layout      styles, lists, sections and parts of A are in the redline, and no warning says that they were left
    exact       accept all = B and reject all = A: the body with its tables, notes, text boxes, formulas, pictures (by
                digest), results of fields and breaks; headers and footers; earlier changes of A stay accepted
    empty       the same with paragraphs that have no text
    looks       after "reject all", style and direct formatting of each paragraph are those of A
    references  after "accept all" no reference names a bookmark that is gone, unless it is so in B; the same of A
    near        the number of revisions is within one of that of Microsoft (WmlComparer, Open-Xml-PowerTools)
    silent      pairs that differ for the other reader, and for which `diff` or `verify` exits with status 0
    opens       LibreOffice opens the file and saves it
    valid       openxml-audit finds no error that it does not find in A

Revisions are counted as `WmlComparer.GetRevisions` does: text, tabs, breaks, drawings, formulas, marks of fields, notes
and ends of paragraphs are put in a row, those of text boxes at their place; neighbours in changes of the same kind, by
the same author, are one revision. Each note is a row of its own; headers do not count. A row of a table that is marked,
and nothing in it, is one.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from itertools import groupby
from pathlib import Path

from openxml_audit import OpenXmlValidator
from redline_reader import (
    DELETED,
    INSERTED,
    Element,
    M,
    Package,
    W,
    WordText,
    canonical,
    flatten,
    local,
    mark_of,
    read_word,
)
from rich.console import Console
from rich.table import Table
from running import saved_by_office
from script import arguments

MEASURES = ("layout", "exact", "empty", "looks", "references", "near", "silent", "opens", "valid")
_OWN_PARTS = ("docProps/", "_rels/", "[Content_Types].xml")
_RECURSED = (
    *("r", "ins", "del", "moveFrom", "moveTo", "hyperlink", "fldSimple", "ruby", "rt", "rubyBase", "pict", "object"),
    *("tbl", "tr", "tc", "txbxContent", "shape", "textbox", "group", "rect", "roundrect"),
)
_ATOMS = (
    *("drawing", "imagedata", "footnoteReference", "endnoteReference", "fldChar", "instrText", "delInstrText"),
    *("tab", "br", "cr", "sym", "noBreakHyphen", "softHyphen", "ptab"),
)


@dataclass(frozen=True, slots=True)
class Pair:
    """Two Word files, and Microsoft's number of revisions between them if it is known."""

    name: str
    a: Path
    b: Path
    revisions: int | None = None


@dataclass(slots=True)
class Result:
    """What became of a pair; see the head of this file for the measures.

    Attributes:
        diff: status of `colde diff`.
        verify: status of `colde verify`.
        differs: whether the two files differ for the other reader.
        counted: revisions of the redline.
        expected: those of Microsoft.
        reasons: what is not as it should be.
    """

    name: str
    diff: int
    verify: int
    differs: bool = False
    layout: bool = False
    exact: bool = False
    empty: bool = False
    looks: bool = False
    references: bool = False
    near: bool | None = None
    silent: bool = False
    opens: bool = False
    valid: bool = False
    counted: int | None = None
    expected: int | None = None
    warnings: str = ""
    reasons: list[str] = field(default_factory=list)


def pairs_of(place: Path) -> Iterator[Pair]:
    """The pairs of a manifest or a folder."""
    if place.is_dir():
        for a in sorted(place.glob("*_a.docx")):
            name = a.name.removesuffix("_a.docx")
            yield Pair(name, a, a.with_name(f"{name}_b.docx"))
        return
    for number, item in enumerate(json.loads(place.read_text("utf-8"))):
        folder = next(folder for folder in place.parents if (folder / item["a"]).exists())
        yield Pair(item["id"] or f"pair-{number}", folder / item["a"], folder / item["b"], item["revisions"])


def measure(pair: Pair, output: Path, options: Sequence[str]) -> Result:
    """Make the redline of a pair and read it."""
    redline = output / f"{pair.name}.docx"
    redline.unlink(missing_ok=True)
    made = _colde("diff", str(pair.a), str(pair.b), "-o", str(redline), *options)
    checked = _colde("verify", str(pair.a), str(pair.b), "-q")
    result = Result(
        pair.name, made.returncode, checked.returncode, expected=pair.revisions, warnings=made.stderr.strip()
    )
    a, b = Package(pair.a), Package(pair.b)
    sides = read_word(a), read_word(b)
    result.differs = sides[0].without_empty() != sides[1].without_empty()
    result.silent = result.differs and 0 in (made.returncode, checked.returncode)
    if redline.exists():
        _measure_redline(result, Package(redline), a, sides)
        result.valid = not _new_errors(redline, pair.a, result.reasons)
    else:
        result.reasons.append("there is no redline")
    return result


def _colde(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "colde_cli", *arguments], capture_output=True, text=True, check=False)


def _measure_redline(result: Result, redline: Package, a: Package, sides: tuple[WordText, WordText]) -> None:
    earlier = a.marks()
    accepted = read_word(redline)
    rejected = read_word(redline, lambda change: mark_of(change) in earlier)
    lost = [*_lost_parts(redline, a), *_lost_layout(redline, a)]
    if rejected.sections != sides[0].sections:
        lost.append("sections differ after reject all")
    rebuilt = "was not kept" in " ".join(result.warnings.split())
    result.layout = not lost and not rebuilt
    result.reasons += [] if rebuilt else lost
    ours, theirs = (rejected, accepted), ("reject all", "accept all")
    differences = [
        f"{name}: {line}"
        for name, read, side in zip(theirs, ours, sides, strict=True)
        for line in _differences(read.without_empty(), side.without_empty())
    ]
    result.exact = not differences
    result.empty = all(
        (read.body.lines, read.margins) == (side.body.lines, side.margins)
        for read, side in zip(ours, sides, strict=True)
    )
    result.looks = rejected.body.looks == sides[0].body.looks
    dangling = [read.dangling() - side.dangling() for read, side in zip(ours, sides, strict=True)]
    result.references = not any(dangling)
    result.reasons += differences[:6] + [f"no bookmark {name}" for names in dangling for name in sorted(names)[:3]]
    result.counted = revisions(redline, {author for author, _ in earlier})
    if result.expected is not None:
        result.near = abs(result.counted - result.expected) <= 1


def _differences(read: tuple[list[str], object], side: tuple[list[str], object]) -> Iterator[str]:
    """The first paragraphs that differ, as `read / of the side`."""
    for one, other in zip(read[0], side[0], strict=False):
        if one != other:
            start = next((n for n, (x, y) in enumerate(zip(one, other, strict=False)) if x != y), 0)
            start = max(0, start - 20)
            yield f"{one[start : start + 80]!r} / {other[start : start + 80]!r}"
            break
    if len(read[0]) != len(side[0]):
        yield f"{len(read[0])} paragraphs / {len(side[0])}"
    if read[1] != side[1]:
        yield f"headers or footers {str(read[1])[:120]} / {str(side[1])[:120]}"


def _lost_parts(redline: Package, a: Package) -> Iterator[str]:
    """Parts of A that are gone or changed, but those whose text changes and those that lists are added to."""
    added_to = {part for kind in ("styles", "numbering", "settings", "comments") for part in a.of_kind(kind)}
    kinds = ("commentsExtended", "commentsIds", "commentsExtensible", "people", "fontTable", "stylesWithEffects")
    added_to |= {part for kind in kinds for part in a.of_kind(kind)} | set(a.text_parts())
    for part, content in a.content.items():
        if part.startswith(_OWN_PARTS) or "/_rels/" in part:
            continue
        if part not in redline.content:
            yield f"part {part} is gone"
        elif part not in added_to and content != redline.content[part] and not _same_xml(part, redline, a):
            yield f"part {part} changed"


def _same_xml(part: str, redline: Package, a: Package) -> bool:
    return part.endswith(".xml") and canonical(redline.root(part)) == canonical(a.root(part))


def _lost_layout(redline: Package, a: Package) -> Iterator[str]:
    """Styles and lists of A that are gone or changed."""
    ours, theirs = redline.styles(), a.styles()
    changed = [name for name, style in theirs.items() if ours.get(name) != style]
    if changed:
        yield f"styles differ: {', '.join(changed[:4])}"
    lists = [
        {canonical(item) for part in package.of_kind("numbering") for item in package.root(part)}
        for package in (redline, a)
    ]
    if lists[1] - lists[0]:
        yield "lists differ"


def _new_errors(redline: Path, a: Path, reasons: list[str]) -> bool:
    counts = []
    for path in (redline, a):
        errors = OpenXmlValidator().validate(str(path)).errors
        counts.append(Counter((error.part_uri, error.node, error.description) for error in errors))
    # Files made with python-docx hold a second copy of all styles, which differs from the first.
    new = [error for error in counts[0] - counts[1] if "stylesWithEffects" not in str(error)]
    reasons += [f"not valid: {part} {node}: {text[:110]}" for part, node, text in new[:4]]
    return bool(new)


# Revisions.


def revisions(package: Package, earlier: Iterable[str] = ()) -> int:
    """The number of revisions of a Word file, without those of authors that it had before."""
    rows = []
    for part in package.text_parts():
        kind = local(package.root(part))
        root = package.root(part)
        if kind in ("hdr", "ftr"):
            continue
        rows += [root.find(f"{W}body")] if kind == "document" else list(root)
    known = frozenset(earlier)
    return sum(_revisions_of(row, known) for row in rows)


def _revisions_of(row: Element, earlier: frozenset[str]) -> int:
    flatten(row)
    keys = [key for key, _ in groupby(_atoms(row))]
    count = sum(bool(key) and key.partition(" ")[2] not in earlier for key in keys)
    for line in row.iter(f"{W}tr"):
        marks = [item for item in line.findall(f"{W}trPr/*") if item.tag in INSERTED | DELETED]
        if marks and marks[0].get(f"{W}author") not in earlier and not any(_atoms(line)):
            count += 1
    return count


def _atoms(holder: Element) -> Iterator[str]:
    """The change that each atom below an element is in: "" or kind and author."""
    for item in holder:
        name = local(item)
        if name == "p":
            yield from _atoms(item)
            yield _change_of_end(item)
        elif item.tag in (f"{M}oMath", f"{M}oMathPara"):
            yield from dict.fromkeys([_change(item), *(_change(run) for run in item.iter(f"{M}r"))])
        elif name in ("drawing", "pict", "object") and _change(item):
            yield _change(item)
        elif name == "drawing" and (boxes := list(item.iter(f"{W}txbxContent"))):
            for box in boxes:
                yield from _atoms(box)
        elif name in _ATOMS or (name in ("t", "delText") and item.text):
            yield _change(item)
        elif name in _RECURSED:
            yield from _atoms(item)


def _change(item: Element) -> str:
    for above in item.iterancestors():
        if above.tag in DELETED or above.tag in INSERTED:
            return _key(above)
        if local(above) in ("p", "body"):
            break
    return ""


def _change_of_end(paragraph: Element) -> str:
    marks = paragraph.findall(f"{W}pPr/{W}rPr/*")
    return next((_key(mark) for mark in marks if mark.tag in DELETED or mark.tag in INSERTED), "")


def _key(mark: Element) -> str:
    return f"{'deleted' if mark.tag in DELETED else 'inserted'} {mark.get(f'{W}author')}"


# LibreOffice, and the table.


def open_all(results: Sequence[Result], output: Path) -> None:
    """Let LibreOffice open all redlines and save each as text."""
    folder = output / "office"
    folder.mkdir(exist_ok=True)
    files = (output / f"{result.name}.docx" for result in results)
    saved_by_office(filter(Path.exists, files), folder, "txt:Text (encoded):UTF8")
    for result in results:
        result.opens = (folder / f"{result.name}.txt").exists()


def tables(results: Sequence[Result]) -> Iterator[Table]:
    """Every pair with something wrong, then the counts."""
    listed = Table("pair", "diff", "verify", "revisions", "not right", "why")
    for result in results:
        wrong = [name for name in MEASURES if getattr(result, name) is (name == "silent")]
        if wrong:
            numbers = f"{result.counted} / {result.expected}"
            why = "; ".join([*result.warnings.splitlines()[:1], *result.reasons[:2]])
            listed.add_row(result.name, str(result.diff), str(result.verify), numbers, " ".join(wrong), why)
    yield listed
    counts = Table("measure", "pairs", "of")
    for name in MEASURES:
        values = [value for result in results if (value := getattr(result, name)) is not None]
        counts.add_row(name, str(sum(values)), str(len(values)))
    crashed = sum(result.diff > 1 or result.verify > 1 for result in results)
    counts.add_row("status 2", str(crashed), str(len(results)))
    yield counts


def main() -> None:
    """Measure all pairs, write `results.jsonl` and print the tables."""
    given = arguments(__doc__, "pairs", "output", only="", options="", workers=2)
    output = given.output
    output.mkdir(parents=True, exist_ok=True)
    drawn = [pair for pair in pairs_of(given.pairs) if given.only in pair.name]
    options = shlex.split(given.options)
    with ThreadPoolExecutor(given.workers) as pool:
        results = list(pool.map(lambda pair: measure(pair, output, options), drawn))
    open_all(results, output)
    lines = (json.dumps(asdict(result), ensure_ascii=False) for result in results)
    (output / "results.jsonl").write_text("".join(f"{line}\n" for line in lines), "utf-8")
    for table in tables(results):
        Console().print(table)


if __name__ == "__main__":
    main()
