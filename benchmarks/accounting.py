"""Count the words that pdftotext or pandoc find in files and colde does not: in the body, beside it, nowhere.

A word is a run of letters or digits, without case. Words cut at the end of a line are joined on either side. Prints the
files that lose most, then the sums. The share that matters is `nowhere`: words that no text and no part accounts for.

    python benchmarks/accounting.py FILE_OR_FOLDER ...
"""

from __future__ import annotations

import re
import subprocess
import unicodedata
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from script import arguments

from colde_cli.documents.document import Document
from colde_cli.documents.reading import SUPPORTED_SUFFIXES, read
from colde_cli.errors import ColdeError

_WORD = re.compile(r"[^\W_]+")
_CUT = re.compile(r"(?<=\w)[-\u00ad\u2010]\s*\n\s*(?=\w)")
_COMMAND = re.compile(r"\\(?:begin|end)\{\w+\*?\}|\\[a-zA-Z]+")
_SHORT = 4
_FEWEST = 20
"""Files with fewer words tell nothing."""
_PANDOC = {".docx": "docx", ".odt": "odt", ".html": "html", ".htm": "html", ".md": "gfm", ".tex": "latex"}


@dataclass(frozen=True, slots=True)
class Words:
    """The words of a file.

    Attributes:
        all: that the other tool finds.
        body: of these, in the text.
        beside: of the others, in texts outside it.
        pages_unread: the file has pages without text, or other parts that were warned of.
    """

    file: Path
    all: int
    body: int
    beside: int
    warned: bool

    @property
    def nowhere(self) -> int:
        """Words that are in neither."""
        return self.all - self.body - self.beside


def words(text: str) -> Counter[str]:
    """Count the words of a text."""
    joined = _CUT.sub("", unicodedata.normalize("NFKC", text))
    return Counter(word.casefold() for word in _WORD.findall(joined))


def found_elsewhere(file: Path) -> Counter[str] | None:
    """The words that the other tool finds; None if it finds none or fails."""
    command = ["pdftotext", "-q", str(file), "-"]
    if file.suffix.lower() != ".pdf":
        kind = _PANDOC.get(file.suffix.lower())
        if kind is None:
            return words(file.read_text("utf-8", "replace"))
        command = ["pandoc", "--track-changes=all", "-f", kind, "-t", "plain", "--wrap=none", str(file)]
        if kind != "docx":
            command.remove("--track-changes=all")
    try:
        done = subprocess.run(command, capture_output=True, timeout=60, check=False)
    except subprocess.TimeoutExpired:
        return None
    if done.returncode != 0:
        return None
    text = done.stdout.decode("utf-8", "replace")
    # Where pandoc cannot write a formula it leaves LaTeX: names of commands and environments are no words.
    return words(text if command[0] == "pdftotext" else _COMMAND.sub(" ", text))


def compare(file: Path, reference: Counter[str]) -> Words | None:
    """Hold the words of a file against those of the other tool; None if colde refuses it."""
    try:
        document: Document = read(file)
    except ColdeError:
        return None
    body = words(document.text)
    missing = reference - body
    missing = _without_otherwise_written(missing, body - reference, document.text)
    beside = sum((missing & _words_beside(document)).values())
    total = sum(reference.values())
    return Words(file, total, total - sum(missing.values()), beside, bool(document.report.warnings))


def _words_beside(document: Document) -> Counter[str]:
    """The words of texts outside; a running head once for each of its pages, with the number for its #."""
    found: Counter[str] = Counter()
    for item in getattr(document, "outside", ()):
        first, last = item.pages or (1, 1)
        repeated = item.kind in ("headers", "footers")
        for _ in range(last - first + 1 if repeated else 1):
            found += words(f"{item.text} {item.about}")
        if item.kind in ("headers", "footers", "contents") and item.pages:
            found.update(str(number) for number in range(1, (document.report.pages or 0) + 1))
    return found


def _without_otherwise_written(missing: Counter[str], surplus: Counter[str], text: str) -> Counter[str]:
    """Leave out the words that the text has in another form.

    One word here may be two there, by a blank or a hyphen. The letters of a formula are cut into words at will: a word
    of up to `_SHORT` letters is there if words that the other tool does not have can give them, each letter once.
    """
    squeezed = "".join(_WORD.findall(unicodedata.normalize("NFKC", text).casefold()))
    letters = Counter("".join(surplus.elements()))
    left: Counter[str] = Counter()
    for word in sorted(missing.elements(), key=len):
        if len(word) > _SHORT:
            left[word] += word not in squeezed
        elif Counter(word) <= letters:
            letters -= Counter(word)
        else:
            left[word] += 1
    return +left


def files(places: list[Path]) -> Iterator[Path]:
    """All documents of files and folders."""
    for place in places:
        found = sorted(place.rglob("*")) if place.is_dir() else [place]
        yield from (file for file in found if file.suffix.lower() in SUPPORTED_SUFFIXES and file.is_file())


def main() -> None:
    """Print the worst files and the sums."""
    options = arguments(__doc__, "places...", most=400, worst=15)
    rows: list[Words] = []
    for file in files(options.places):
        reference = found_elsewhere(file)
        if reference is None or sum(reference.values()) < _FEWEST or len(rows) >= options.most:
            continue
        if (row := compare(file, reference)) is not None:
            rows.append(row)
    rows.sort(key=lambda row: -row.nowhere / row.all)
    for row in rows[: options.worst]:
        share = 100 * row.nowhere / row.all
        print(f"{share:6.1f} % of {row.all:6} nowhere{' (warned)' if row.warned else ''}  {row.file.name}")
    total, body, beside = (sum(getattr(row, name) for row in rows) for name in ("all", "body", "beside"))
    bad = [row for row in rows if row.nowhere > 0.01 * row.all]
    lossy = [row for row in rows if row.body < 0.9 * row.all]
    print(f"{len(rows)} files, {total:,} words: {100 * body / total:.2f} % in the body,", end=" ")
    print(f"{100 * beside / total:.2f} % beside it, {100 * (total - body - beside) / total:.2f} % nowhere")
    print(f"{len(lossy)} files with over 10 % not in the body, {sum(not row.warned for row in lossy)} not warned of")
    print(f"{len(bad)} files with over 1 % nowhere, {sum(not row.warned for row in bad)} of them not warned of")


if __name__ == "__main__":
    main()
