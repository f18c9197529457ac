"""Measure whether `colde diff --comments` places the remarks of reviews, and says right what became of them.

    python benchmarks/remarks.py FOLDER [--verbose]

FOLDER holds `docs.jsonl.gz` with versions of documents (docs/training-data.md, doc-versions). Five reviews with 30
remarks are planted on five pairs of real versions: comments of a Word file, numbered remarks of two reviewers in
Markdown with quotations and section numbers, bullets in plain text, a letter without lists, and a PDF with a highlight,
a note, and remarks by page and line. They were written by hand from what really changed, in words of their own but for
quotations, which are cut from the documents; three ask for something that is in neither version. The thresholds were
chosen on 14 other remarks on two other pairs.

A remark is right if its verdict is the expected one, and one of the at most three passages that are named as its place,
or an added passage, holds the words that were meant; one without an answer, if no place is named.
"""

from __future__ import annotations

import re
import tempfile
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import pairwise
from pathlib import Path

from script import arguments, records

from colde_cli import Model
from colde_cli.similarity.answers import AnsweredRemark, Answers

CHANGED, ADDED, NOT_CHANGED, NO_PLACE = "changed", "only_added", "not_changed", "no_place"
_MEANT = 25
"""Letters in a row of the words that were meant that an answer must hold."""
_MOST_PASSAGES = 3


@dataclass(frozen=True)
class Planted:
    """A remark with its right answer.

    Attributes:
        text: with `{quote}` for words of the first version, `{page}` and `{line}` for their place in the PDF.
        verdict: the right one; several are parted by "|".
        places: section, first character and length of the words that it means; "b" before those of the second version.
    """

    text: str
    verdict: str
    places: tuple[tuple[str, int, int, int], ...] = ()
    author: str = "Ada Reviewer"


def a(section: int, start: int, length: int = 60) -> tuple[str, int, int, int]:
    """A place in the first version."""
    return "a", section, start, length


def b(section: int, start: int, length: int = 60) -> tuple[str, int, int, int]:
    """A place in the second version."""
    return "b", section, start, length


REVIEWS: dict[str, tuple[str, tuple[Planted, ...]]] = {
    "peps-pep-811": (
        "word",
        (
            Planted("Why is this limited at all?", CHANGED, (a(5, 261, 130),)),
            Planted("The Council should not be the gatekeeper here.", CHANGED, (a(7, 0, 55),)),
            Planted("I would drop the exemption for people who are already in.", CHANGED, (a(7, 1163, 60),)),
            Planted("Source for the 90 days?", NOT_CHANGED, (a(4, 0, 40),), "Bob Second"),
            Planted("Determined by whom?", CHANGED, (a(10, 240, 40),), "Bob Second"),
            Planted("OK for me.", NOT_CHANGED, (a(12, 0, 50),), "Bob Second"),
            Planted("Does that hold for release managers, too?", NOT_CHANGED, (a(7, 713, 60),)),
            Planted("Two seems few.", NOT_CHANGED, (a(8, 0, 30),)),
        ),
    ),
    "site-policy-pre-release-license-terms@2024-04-17": (
        "markdown",
        (
            Planted(
                '"{quote}" is a long list for a simple idea; define it by availability.', CHANGED, (a(1, 90, 120),)
            ),
            Planted("Section 10 is not acceptable to us.", CHANGED, (a(10, 0, 60),)),
            Planted("Clause 4(a): say more exactly what kind of information this is.", ADDED, (a(4, 10, 60),)),
            Planted("Where AI is built in: who owns the code that I put in?", ADDED, (b(4, 1320, 60),)),
            Planted(
                "The confidentiality obligations go too far; we must be able to talk to press.",
                NOT_CHANGED,
                (a(14, 80, 60),),
            ),
            Planted("I miss arbitration before the chamber of commerce in Paris.", NO_PLACE),
        ),
    ),
    "pga-versions-facebook-law-enforcement-guidelines@2024-03-15": (
        "text",
        (
            Planted(
                "the rollout of encrypted chats between friends and family is old news",
                CHANGED,
                (a(0, 1927, 80), a(0, 2019, 60)),
            ),
            Planted("sending something by mail is ambiguous", CHANGED, (a(2, 500, 60), a(2, 334, 60))),
            Planted("“{quote}”: please use small letters for the name of a function", CHANGED, (a(2, 3250, 120),)),
            Planted("NCMEC: with which authorities does it coordinate?", CHANGED, (a(2, 1471, 60),)),
            Planted("is imminent harm to a child the only emergency?", NOT_CHANGED, (a(2, 719, 60),)),
            Planted("seizure of cryptocurrency wallets is not dealt with", NO_PLACE),
        ),
    ),
    "peps-pep-485": (
        "letter",
        (
            Planted(
                "In which module of the standard library will the function be?",
                "changed|only_added",
                (a(0, 0, 60), b(3, 86, 60), a(3, 86, 60)),
            ),
            Planted(
                "Under Behavior near zero, the default of the absolute tolerance is not justified.",
                CHANGED,
                (a(6, 0, 60), a(6, 335, 60), b(6, 1139, 60)),
            ),
            Planted(
                "I do not agree with an asymmetric criterion: if a is close to b, then b must be close to a.",
                CHANGED,
                (a(8, 0, 60), a(8, 372, 60), a(8, 922, 60), a(8, 1319, 250), a(8, 620, 60)),
            ),
            Planted(
                "It remains open how complex numbers are compared.",
                "changed|only_added",
                (a(5, 0, 60), b(5, 611, 60), b(5, 794, 60)),
            ),
            Planted("Is NaN close to NaN?", NOT_CHANGED, (a(4, 0, 60),)),
            Planted("A survey of Fortran and COBOL compilers would help.", NO_PLACE),
        ),
    ),
    "site-policy-guidelines-for-legal-requests-of-user-data@2023-12-27": (
        "pdf",
        (
            Planted("p. {page}, l. {line}: why so short a time?", NOT_CHANGED, (a(7, 0, 60),)),
            Planted(
                "p. {page}: which part of the expenses is charged?",
                NOT_CHANGED,
                (a(6, 174, 60), a(6, 0, 60), a(6, 318, 60)),
            ),
            Planted("highlight: Who decides that it is exigent?", CHANGED, (a(5, 4111, 55),)),
            Planted("note: Is the street address still right?", NOT_CHANGED, (a(8, 0, 60),)),
        ),
    ),
}
Sections = list[dict[str, str]]


class Versions:
    """The documents of a folder, by their identifiers."""

    def __init__(self, folder: Path) -> None:
        self._documents = {document["id"]: document for document in records(folder)}
        self._pairs = [pair for pair in records(folder, "pairs") if pair["label"] == 1]

    def new_versions(self) -> Iterator[tuple[Sections, Sections]]:
        """The sections of both versions of every pair."""
        for pair in self._pairs:
            yield self._documents[pair["a"]]["sections"], self._documents[pair["b"]]["sections"]

    def pair(self, beginning: str) -> tuple[Sections, Sections]:
        """The sections of both versions of the first pair whose identifier begins so."""
        pair = next(pair for pair in self._pairs if pair["a"].startswith(beginning))
        first, second = (self._documents[pair[side]]["sections"] for side in "ab")
        return first, second


def words_at(sections: Sequence[dict[str, str]], section: int, start: int, length: int) -> str:
    """Whole words of a section, on one line."""
    text = sections[section]["text"]
    begin = start - len(re.split(r"\s", text[:start])[-1])
    end = re.compile(r"\s|$").search(text, min(len(text), begin + length))
    return " ".join(text[begin : end.start() if end else None].split())


def as_markdown(sections: Sections) -> str:
    """A document as Markdown, each line a paragraph."""
    return "".join(
        f"{'# ' + one['heading'] if one['heading'] else ''}\n\n{_paragraphs(one['text'])}\n\n" for one in sections
    )


def _paragraphs(text: str) -> str:
    return "\n\n".join(line for line in text.splitlines() if line.strip())


def write_word(sections: Sections, path: Path, remarks: Sequence[Planted]) -> None:
    """A Word file of a document with a comment on the words of each remark, by python-docx."""
    import docx

    document = docx.Document()
    for index, section in enumerate(sections):
        if section["heading"]:
            document.add_heading(section["heading"], 1)
        start = 0
        for line in section["text"].splitlines(keepends=True):
            if line.strip():
                paragraph = document.add_paragraph()
                here = [(one, *one.places[0][2:]) for one in remarks if one.places and one.places[0][1] == index]
                here = [one for one in here if start <= one[1] < start + len(line)]
                cuts = sorted(
                    {
                        0,
                        len(line.rstrip()),
                        *(one[1] - start for one in here),
                        *(min(one[1] - start + one[2], len(line.rstrip())) for one in here),
                    }
                )
                runs = {cut: paragraph.add_run(line[cut:end]) for cut, end in pairwise(cuts)}
                for one, begin, length in here:
                    inside = [run for cut, run in runs.items() if begin - start <= cut < begin - start + length]
                    document.add_comment(inside, text=one.text, author=one.author, initials=one.author[:1])
            start += len(line)
    document.save(str(path))


@dataclass(frozen=True)
class Line:
    """A printed line: page and line from 1, and its height on the page."""

    page: int
    line: int
    height: float
    text: str


def write_pdf(sections: Sections, path: Path) -> list[Line]:
    """A PDF of a document with 45 lines on a page, by reportlab."""
    from reportlab.pdfgen.canvas import Canvas

    lines: list[Line] = []
    canvas = Canvas(str(path), pagesize=(595, 842))
    printed = [line for one in sections for line in ("", f"# {one['heading']}", "", *_lines(one["text"]))]
    for number, text in enumerate(printed):
        page, line = number // 45 + 1, number % 45 + 1
        if number and line == 1:
            canvas.showPage()
        height = 800 - 16 * line
        canvas.setFont("Helvetica-Bold" if text.startswith("# ") else "Helvetica", 14 if text.startswith("# ") else 10)
        canvas.drawString(60, height, text.removeprefix("# "))
        lines.append(Line(page, line, height, text))
    canvas.save()
    return lines


def _lines(text: str) -> Iterator[str]:
    for paragraph in text.splitlines():
        if paragraph.strip():
            yield from textwrap.wrap(paragraph.encode("latin-1", "replace").decode("latin-1"), 95)
            yield ""


def write_notes(pdf: Path, path: Path, notes: Sequence[tuple[Planted, Line, str]]) -> None:
    """A copy of a PDF with a highlight over, or a note beside, a line for each remark."""
    from pypdf import PdfReader, PdfWriter
    from pypdf.annotations import Highlight, Text
    from pypdf.generic import ArrayObject, FloatObject

    writer = PdfWriter(clone_from=PdfReader(str(pdf)))
    for one, line, said in notes:
        rect = (60.0, line.height - 3, 60.0 + 4.6 * len(line.text), line.height + 9)
        if one.text.startswith("highlight"):
            corners = [rect[0], rect[3], rect[2], rect[3], rect[0], rect[1], rect[2], rect[1]]
            note = Highlight(rect=rect, quad_points=ArrayObject(map(FloatObject, corners)))
            note.update({k: v for k, v in Text(rect=rect, text=said).items() if k == "/Contents"})
        else:
            note = Text(rect=(20, line.height, 40, line.height + 20), text=said)
        writer.add_annotation(page_number=line.page - 1, annotation=note)
    writer.write(str(path))


def write_review(
    kind: str, first: Sections, remarks: Sequence[Planted], folder: Path
) -> tuple[Path, list[tuple[Path, list[Planted]]]]:
    """The first version as a file, and the files of the review, each with its remarks in order."""
    quoted = [
        one.text.replace("{quote}", words_at(first, *one.places[0][1:])) if "{quote}" in one.text else one.text
        for one in remarks
    ]
    old, review = folder / "old.md", folder / "review.md"
    old.write_text(as_markdown(first), encoding="utf-8")
    if kind == "word":
        review = folder / "review.docx"
        write_word(first, review, remarks)
        by_place = sorted(remarks, key=lambda one: one.places[0][1:3])
        return old, [(review, by_place)]
    if kind == "markdown":
        half = len(quoted) // 2
        items = [
            "# Review",
            "Thank you for asking us.",
            "## Reviewer 1",
            *(f"{n}. {text}" for n, text in enumerate(quoted[:half], 1)),
        ]
        items += ["## Reviewer 2", *(f"{n}) {text}" for n, text in enumerate(quoted[half:], 1)), "Kind regards"]
        review.write_text("\n\n".join(items), encoding="utf-8")
        return old, [(review, list(remarks))]
    if kind == "text":
        review = folder / "review.txt"
        review.write_text("\n".join(f"- {text}" for text in quoted) + "\n", encoding="utf-8")
        return old, [(review, list(remarks))]
    if kind == "letter":
        review.write_text("# Letter\n\nDear authors,\n\n## Referee A\n\n" + "\n\n".join(quoted), encoding="utf-8")
        return old, [(review, list(remarks))]
    old = folder / "old.pdf"
    lines = write_pdf(first, old)
    printed, noted = list[str](), list[tuple[Planted, Line, str]]()
    for one, text in zip(remarks, quoted, strict=True):
        meant = words_at(first, *one.places[0][1:])
        line = max(lines, key=lambda line: _common(meant, line.text))
        if text.startswith(("highlight:", "note:")):
            noted.append((one, line, text.partition(": ")[2]))
        else:
            printed.append("* " + text.format(page=line.page, line=line.line))
    listed = [one for one in remarks if not one.text.startswith(("highlight:", "note:"))]
    review.write_text("\n".join(printed), encoding="utf-8")
    write_notes(old, folder / "review.pdf", noted)
    noted.sort(key=lambda note: (note[1].page, -note[1].height))
    return old, [(review, listed), (folder / "review.pdf", [note[0] for note in noted])]


def judge(answers: Answers, answered: AnsweredRemark, planted: Planted, versions: tuple[Sections, Sections]) -> str:
    """Why an answer is wrong; "" for a right one."""
    if answered.verdict.value not in planted.verdict.split("|"):
        return f"verdict {answered.verdict.value}, not {planted.verdict}"
    if not planted.places:
        return ""
    passages = answers.comparison.passages
    if len(answered.pairs) > _MOST_PASSAGES:
        return f"{len(answered.pairs)} passages"
    held = [passages[n] for n in (*answered.pairs, *answered.added)]
    texts = {"a": [_plain(pair.a_text) for pair in held], "b": [_plain(pair.b_text) for pair in held]}
    for side, section, start, length in planted.places:
        meant = _plain(words_at(versions["ab".index(side)], section, start, length))
        if any(_common(meant, text) >= min(_MEANT, len(meant)) for text in texts[side]):
            return ""
    return "place: " + " / ".join(text[:80] for text in (*texts["a"], *texts["b"]) if text)


def _common(one: str, other: str) -> int:
    """The length of the longest stretch that both have."""
    return SequenceMatcher(None, one, other, autojunk=False).find_longest_match().size


def _plain(text: str) -> str:
    return "".join(letter for letter in text.casefold() if letter.isalnum())


def main() -> None:
    """Print what is wrong, and how many are right."""
    options = arguments(__doc__, "folder", verbose=False)
    versions, model = Versions(options.folder), Model()
    right = total = 0
    for name, (kind, remarks) in REVIEWS.items():
        first, second = versions.pair(name)
        with tempfile.TemporaryDirectory() as made:
            folder = Path(made)
            old, reviews = write_review(kind, first, remarks, folder)
            new = folder / "new.md"
            new.write_text(as_markdown(second), encoding="utf-8")
            for review, planted in reviews:
                answers = model.comments(old, new, review)
                if len(answers.remarks) != len(planted):
                    print(f"{name}: {len(answers.remarks)} remarks, not {len(planted)}", *answers.remarks, sep="\n")
                    total += len(planted)
                    continue
                for answered, one in zip(answers.remarks, planted, strict=True):
                    wrong = judge(answers, answered, one, (first, second))
                    total += 1
                    right += not wrong
                    if wrong or options.verbose:
                        told = (kind, answered.basis.value, answered.score, repr(one.text[:70]), wrong)
                        print("wrong" if wrong else "right", *told)
    print(f"{right} of {total} remarks right")


if __name__ == "__main__":
    main()
