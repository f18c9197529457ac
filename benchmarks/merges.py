"""Measure `colde diff BASE A B --merge`: are all edits of both reviewers there, and all conflicts, and no others?

    python benchmarks/merges.py FOLDER [--seed 0] [--verbose]

FOLDER holds `docs.jsonl.gz` and `pairs.jsonl.gz` (docs/training-data.md, doc-versions). Twenty triples are made: a real
document as the base (16 Word files, 4 Markdown), and two reviewers' copies. In ten, the first reviewer's is the real
next version of the document; in the others, its edits are planted: words replaced, deleted and inserted, paragraphs
deleted and inserted. The second reviewer's edits are planted in paragraphs that the first left alone, and in the same
paragraph at other words; two edits are the same as the first one's. Three conflicts are planted in each: both replace
the same words, one deletes a paragraph in which the other edits a word, and both insert a paragraph at one place.
Copies are Word, Markdown and PDF files. What is measured, of each triple:

    edits      accepting the changes of one reviewer, also those that both made, and no others, gives that reviewer's
               document, paragraph by paragraph; accepting none gives the base: by a reader that shares no code with
               colde (redline_reader.py)
    conflicts  planted conflicts that are listed, and how many others are
    layout     the styles of the base are in the merged file, and no warning says that its layout was lost (Word bases)
"""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from pathlib import Path

import docx
from redline_reader import Package, W, resolved
from remarks import Versions, write_pdf
from script import arguments

_WORD = re.compile(r"[A-Za-z]{4,}")
_ITEM = re.compile(r"[^A-Za-z]*$|[*#>|\-+0-9]|.*[<>`_*\\\[\]]")
NAMES = ("Ann", "Bob")


@dataclass
class Triple:
    """A base and two reviewers' copies, as paragraphs: their level (0 for text) and words.

    Attributes:
        marks: words that are in one planted conflict each.
    """

    name: str
    base: list[tuple[int, str]]
    copies: list[list[tuple[int, str]]]
    marks: list[str] = field(default_factory=list)
    kinds: tuple[str, str, str] = ("docx", "docx", "docx")


def paragraphs(sections: list[dict[str, str]]) -> list[tuple[int, str]]:
    """The headings and paragraphs of a document, without lines that Markdown would read as something else."""
    found: list[tuple[int, str]] = []
    for section in sections:
        if section["heading"].strip() and not _ITEM.match(section["heading"]):
            found.append((1, " ".join(section["heading"].split())))
        for line in section["text"].splitlines():
            text = " ".join(line.split())
            if len(text.split()) >= 6 and not _ITEM.match(text):
                found.append((0, text))
    return found


class Planter:
    """Plants edits of two reviewers."""

    def __init__(self, triple: Triple, seed: int) -> None:
        self._random = random.Random(seed)
        self._triple, self._count = triple, 0
        long = [n for n, (level, text) in enumerate(triple.base) if not level and len(_WORD.findall(text)) >= 12]
        self._free = self._random.sample(long, len(long))
        # Each copy as the paragraphs that stand for each of the base.
        self._copies: list[dict[int, list[tuple[int, str]]]] = [{}, {}]

    def token(self) -> str:
        """A word that is nowhere else."""
        self._count += 1
        return f"zq{self._count}{self._random.choice('bdfgk')}ulo"

    def place(self) -> int:
        """A paragraph that is not edited yet, nor its neighbours."""
        while self._free:
            place = self._free.pop()
            if all(near not in copy for copy in self._copies for near in (place - 1, place, place + 1)):
                return place
        raise ValueError("too short")

    def keep(self, reviewer: int, place: int, made: list[str]) -> None:
        """Note what a reviewer makes of a paragraph."""
        self._copies[reviewer][place] = [(0, text) for text in made]

    def reword(self, text: str, where: float, kind: str, token: str) -> str:
        """Edit a word about so far into a text: "replace", "delete" or "insert"."""
        found = list(_WORD.finditer(text))
        match = found[min(len(found) - 1, int(where * len(found)))]
        new = {"replace": token, "delete": "", "insert": f"{match[0]} {token}"}[kind]
        return " ".join(f"{text[: match.start()]}{new}{text[match.end() :]}".split())

    def edits(self, reviewer: int, count: int) -> None:
        """Plant edits of one reviewer."""
        kinds = ("replace", "delete", "insert", "gone", "new")
        for number in range(count):
            place, kind = self.place(), kinds[number % len(kinds)]
            text = self._triple.base[place][1]
            if kind == "gone":
                self.keep(reviewer, place, [])
            elif kind == "new":
                self.keep(reviewer, place, [text, f"New is {self.token()} and {self.token()} in this paragraph."])
            else:
                self.keep(reviewer, place, [self.reword(text, self._random.random(), kind, self.token())])

    def in_one_paragraph(self) -> None:
        """Plant edits of both at different words of a paragraph."""
        place = self.place()
        text = self._triple.base[place][1]
        self.keep(0, place, [self.reword(text, 0.1, "replace", self.token())])
        self.keep(1, place, [self.reword(text, 0.85, "replace", self.token())])

    def alike(self) -> None:
        """Plant the same edit of both."""
        place, token = self.place(), self.token()
        made = self.reword(self._triple.base[place][1], 0.4, "replace", token)
        for reviewer in (0, 1):
            self.keep(reviewer, place, [made])

    def conflicts(self) -> None:
        """Plant a conflict of each kind."""
        place = self.place()
        text, tokens = self._triple.base[place][1], (self.token(), self.token())
        for reviewer, token in enumerate(tokens):
            self.keep(reviewer, place, [self.reword(text, 0.5, "replace", token)])
        self._triple.marks.append(tokens[0])
        place, token = self.place(), self.token()
        self.keep(0, place, [])
        self.keep(1, place, [self.reword(self._triple.base[place][1], 0.5, "replace", token)])
        self._triple.marks.append(token)
        place, tokens = self.place(), (self.token(), self.token())
        for reviewer, token in enumerate(tokens):
            added = f"Here {NAMES[reviewer]} inserts {token} as a paragraph of its own."
            self.keep(reviewer, place, [self._triple.base[place][1], added])
        self._triple.marks.append(tokens[1])

    def leave(self, places: set[int]) -> None:
        """Plant nothing at some paragraphs of the base."""
        self._free = [place for place in self._free if place not in places]

    def copy(self, reviewer: int) -> list[tuple[int, str]]:
        """The copy of a reviewer."""
        edited = self._copies[reviewer]
        return [one for n, own in enumerate(self._triple.base) for one in edited.get(n, [own])]


def real_copy(triple: Triple, planter: Planter, second: list[tuple[int, str]]) -> list[tuple[int, str]]:
    """The next version with the planted edits of the first reviewer, where it has the same paragraphs as the base."""
    copy: list[tuple[int, str]] = []
    for code in SequenceMatcher(None, triple.base, second, autojunk=False).get_opcodes():
        if code[0] != "equal":
            copy += second[code[3] : code[4]]
        else:
            copy += [one for n in range(code[1], code[2]) for one in planter._copies[0].get(n, [triple.base[n]])]
    return copy


def make(number: int, base: list[tuple[int, str]], second: list[tuple[int, str]] | None, seed: int) -> Triple:
    """Make a triple; `second` is the next version."""
    triple = Triple(f"triple {number}", base, [])
    planter = Planter(triple, seed)
    if second is not None:
        changed = set[int]()
        for code in SequenceMatcher(None, base, second, autojunk=False).get_opcodes():
            if code[0] != "equal":
                changed |= set(range(code[1] - 2, code[2] + 2))
        planter.leave(changed)
    planter.conflicts()
    for _ in range(2):
        planter.in_one_paragraph()
        planter.alike()
    planter.edits(1, 5)
    if second is None:
        planter.edits(0, 5)
        triple.copies = [planter.copy(0), planter.copy(1)]
    else:
        triple.copies = [real_copy(triple, planter, second), planter.copy(1)]
    return triple


def write(found: list[tuple[int, str]], path: Path) -> None:
    """Write a document as a Word or Markdown file."""
    if path.suffix == ".pdf":
        write_pdf(
            [{"heading": text, "text": ""} if level else {"heading": "", "text": text} for level, text in found], path
        )
        return
    if path.suffix == ".md":
        path.write_text("\n\n".join(f"{'# ' * level}{text}" for level, text in found) + "\n", encoding="utf-8")
        return
    document = docx.Document()
    for level, text in found:
        if level:
            document.add_heading(text, level)
            continue
        paragraph = document.add_paragraph()
        half = len(text) // 2
        paragraph.add_run(text[:half]).italic = len(text) % 3 == 0
        paragraph.add_run(text[half:])
    document.save(str(path))


def read(path: Path, accepted: str) -> list[str]:
    """The paragraphs of a merged file with the changes of one author accepted, and all others rejected."""
    package = Package(path)

    def accepts(mark: object) -> bool:
        return accepted in str(mark.get(f"{W}author", "")).split(" & ")  # type: ignore[attr-defined]

    root = resolved(package.root(package.main), accepts)
    texts = ("".join(text.text or "" for text in one.iter(f"{W}t")) for one in root.iter(f"{W}p"))
    return [" ".join(text.split()) for text in texts if text.strip()]


def measure(triple: Triple, folder: Path) -> list[str]:
    """What is wrong with the merge of a triple."""
    paths = [folder / f"{name}.{kind}" for name, kind in zip(("base", *NAMES), triple.kinds, strict=True)]
    for path, found in zip(paths, (triple.base, *triple.copies), strict=True):
        write(found, path)
    command = [sys.executable, "-m", "colde_cli", "diff", *map(str, paths), "--merge"]
    command += ["--reviewer", NAMES[0], "--reviewer", NAMES[1]]
    merged = folder / "merged.docx"
    done = subprocess.run([*command, "-o", str(merged)], capture_output=True, text=True, check=False)
    wrong = [f"status {done.returncode}: {done.stderr.strip()}"] if done.returncode != 1 or done.stderr else []
    if not merged.exists():
        return wrong
    for name, found, kind in zip(
        ("nobody", *NAMES), (triple.base, *triple.copies), ("", *triple.kinds[1:]), strict=True
    ):
        read_again, wanted = read(merged, name), [text for _, text in found]
        if kind == "pdf":  # where its paragraphs end, nobody knows
            read_again, wanted = (["".join(" ".join(texts).split())] for texts in (read_again, wanted))
        if read_again != wanted:
            pairs = [(x, y) for x, y in zip(read_again, wanted, strict=False) if x != y][:1]
            wrong.append(f"edits: {name}: {len(read_again)} paragraphs, {len(wanted)} wanted: {pairs}"[:400])
    if triple.kinds[0] == "docx":
        styles = (Package(paths[0]).styles(), Package(merged).styles())
        wrong += [] if styles[0].items() <= styles[1].items() else ["layout: styles"]
    listed = json.loads(
        subprocess.run([*command, "--format", "json"], capture_output=True, text=True, check=False).stdout
    )["conflicts"]
    told = [" ".join(want["text"] for want in one["wants"]) for one in listed]
    wrong += [f"conflicts: {mark} is missing" for mark in triple.marks if not any(mark in text for text in told)]
    wrong += [f"conflicts: invented: {text[:200]}" for text in told if not any(mark in text for mark in triple.marks)]
    return wrong


def main() -> None:
    """Print what is wrong, and how many triples are right."""
    options = arguments(__doc__, "folder", seed=0, verbose=False)
    draw = random.Random(options.seed)
    pairs = [(paragraphs(a), paragraphs(b)) for a, b in Versions(options.folder).new_versions()]
    pairs = [(a, b) for a, b in pairs if 40 <= len(a) <= 160 and 0.7 <= SequenceMatcher(None, a, b).ratio() < 1]
    draw.shuffle(pairs)
    kinds = [
        ("docx", "docx", "docx"),
        ("docx", "docx", "md"),
        ("docx", "md", "docx"),
        ("docx", "docx", "docx"),
        ("md", "docx", "md"),
    ]
    right = total = 0
    for first, second in pairs:
        if total == 20:
            break
        try:
            triple = make(total + 1, first, second if total % 2 else None, draw.randrange(1 << 30))
        except ValueError:  # it has too few long paragraphs
            continue
        triple.kinds = kinds[total % len(kinds)]
        total += 1
        with tempfile.TemporaryDirectory() as made:
            wrong = measure(triple, Path(made))
        right += not wrong
        if wrong or options.verbose:
            print(triple.name, triple.kinds, len(triple.base), "paragraphs", *(wrong or ["right"]), sep="\n    ")
    print(f"{right} of {total} triples right")


if __name__ == "__main__":
    main()
