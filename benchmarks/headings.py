"""Measure how well headings of PDFs are found: precision, recall and F1 against annotated documents.

    python benchmarks/headings.py FOLDER

FOLDER holds PDFs, and in `gt/` their headings as authors or annotators wrote them: LaTeX sources, TEI, Markdown, lists
by hand. Headings match in reading order, one to one, if their titles without numbers are alike (85 of 100 by edit
distance). Versions of one work count as one in the mean over works. Needs the extra `dev` (lxml, rapidfuzz).
"""

from __future__ import annotations

import json
import re
import statistics
import time
import unicodedata
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lxml import etree
from rapidfuzz import fuzz
from script import arguments, machine

from colde_cli.documents.headings.evidence import survey
from colde_cli.documents.headings.find import find_headings
from colde_cli.documents.headings.titles import parse_number
from colde_cli.documents.pdf.body_lines import text_lines
from colde_cli.documents.pdf.read_pdf import Answer, run_reader

_INPUT = re.compile(r"\\(?:input|include)\s*\{([^}]*)\}")
_MACRO = re.compile(r"\\(?:re)?newcommand\*?\s*\{?\\([A-Za-z]+)\}?\s*\{|\\def\s*\\([A-Za-z]+)\s*\{")
_SECTION = re.compile(
    r"\\(part|chapter|section|subsection|subsubsection|paragraph|subparagraph)\*?\s*(?:\[[^\]]*\])?\s*\{"
)
_OPTIONAL = ("paragraph", "subparagraph")
_FORMATTING = re.compile(
    r"\\(textbf|textit|emph|texttt|textsc|textrm|textsf|mbox|text|uppercase|MakeUppercase|textnormal|underline|url"
    r"|href|large|Large|it|bf|sc|em|tt|small|protect|xspace|noindent)\b\s*"
)
_DROPPED = re.compile(r"\\(label|ref|cite[a-z]*|footnote|thanks|index|eqref|autoref|cref)\*?(\[[^\]]*\])*\{[^{}]*\}")
_SYMBOLS = {"~": " ", r"\&": "&", r"\%": "%", r"\$": "$", r"\_": "_", r"\#": "#", r"\-": "", r"\,": " "}
_SYMBOLS |= {"\\ ": " ", r"\/": "", r"\@": "", "``": '"', "''": '"', "---": "—", "--": "–", r"\\": " "}


@dataclass(slots=True)
class Truth:
    """The headings of a document, and those that may be found or not (run-in paragraphs, abstracts)."""

    headings: list[str] = field(default_factory=list)
    optional: list[str] = field(default_factory=list)


def load_truth(folder: Path) -> dict[str, Truth]:
    """Truth by document name, from a folder of sources; lists made by hand take precedence."""
    truths = {path.stem: from_latex(path) for path in sorted(folder.glob("*.tex"))}
    truths |= {path.name[:-8]: from_tei(path) for path in sorted(folder.glob("*.tei.xml"))}
    for name, source in (("thesis_final", "thesis/root.tex"), ("ght_cr", "ght/main.tex")):
        if (folder / source).exists():
            truths[name] = from_latex(folder / source)
    truths |= {path.name[:-11]: from_markdown(path) for path in sorted(folder.glob("*.docling.md"))}
    by_hand = folder / "manual_headings.json"
    if by_hand.exists():
        for name, entry in json.loads(by_hand.read_text(encoding="utf-8")).items():
            optional = entry.get("optional", [])
            truths[name] = Truth([title for _, title in entry["headings"]], optional)
    return {name: truth for name, truth in truths.items() if truth.headings}


def from_markdown(path: Path) -> Truth:
    """ATX headings."""
    found = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return Truth([title.replace("\\", "").strip() for title in found])


def from_tei(path: Path) -> Truth:
    """Heads of a TEI text that are not those of figures or tables."""
    text = re.sub(r' xmlns(:\w+)?="[^"]*"', "", path.read_text(encoding="utf-8")).replace("xml:", "")
    root = etree.fromstring(text.encode(), etree.XMLParser(recover=True))
    titles = []
    for head in root.find(".//text").iter("head"):
        title = " ".join("".join(head.itertext()).split())
        if head.getparent().tag not in ("figure", "table") and re.search(r"\w", title):
            titles.append(title)
    return Truth(titles, ["Abstract", "References", "Bibliography", "Acknowledgments", "Acknowledgements"])


def from_latex(path: Path) -> Truth:
    """Sectioning commands of a document and of the files that it includes."""
    source = _flatten(path, path.parent)
    macros = _macros(source)
    body = source.split("\\begin{document}", 1)[-1].split("\\end{document}")[0]
    truth = Truth()
    for found in _SECTION.finditer(body):
        title = _plain(re.sub(r"\$[^$]*\$", " ", _braced(body, found.end() - 1)), macros)
        if title:
            (truth.optional if found[1] in _OPTIONAL else truth.headings).append(title)
    if re.search(r"\\begin\{abstract\}|\\abstract\b", body):
        truth.optional.append("Abstract")
    if re.search(r"\\bibliography\s*\{|\\begin\{thebibliography|\\printbibliography", body):
        truth.optional += ["References", "Bibliography"]
    return truth


def _flatten(path: Path, root: Path, depth: int = 0) -> str:
    source = re.sub(r"(?<!\\)%.*", "", path.read_text(encoding="utf-8", errors="replace"))
    if depth > 6:
        return source

    def included(found: re.Match[str]) -> str:
        for candidate in (root / found[1], root / f"{found[1]}.tex"):
            if candidate.is_file():
                return _flatten(candidate, root, depth + 1)
        return " "

    return _INPUT.sub(included, source)


def _macros(source: str) -> dict[str, str]:
    macros: dict[str, str] = {}
    for found in _MACRO.finditer(source):
        body = _braced(source, found.end() - 1)
        if len(body) < 60 and "#" not in body and "\\begin" not in body:
            macros[found[1] or found[2]] = _plain(body, {})
    return macros


def _braced(source: str, start: int) -> str:
    """What stands between the brace at `start` and the one that closes it."""
    depth = 0
    for index in range(start, len(source)):
        if source[index - 1] != "\\":
            depth += {"{": 1, "}": -1}.get(source[index], 0)
        if depth == 0:
            return source[start + 1 : index]
    return source[start + 1 :]


def _plain(source: str, macros: dict[str, str]) -> str:
    """LaTeX as words."""
    source = re.sub(r"\\texorpdfstring\s*\{([^{}]|\{[^{}]*\})*\}", "", source).replace("\\hfill", "")
    for name, body in macros.items():
        source = re.sub(rf"\\{name}(?![A-Za-z])\s?(\{{\}})?", lambda _, body=body: body, source)
    source = _DROPPED.sub("", source)
    source = re.sub(r"\\[\"'`^~c]\{?\\?([a-zA-Z])\}?", r"\1", source)
    source = re.sub(r"\\textcolor\{[^}]*\}", "", _FORMATTING.sub("", source))
    for symbol, plain in _SYMBOLS.items():
        source = source.replace(symbol, plain)
    return " ".join(re.sub(r"[{}]", "", source).split())


# Documents whose annotation is of another version or covers a part only.
UNUSABLE = ("1001._0908.0054", "amt_handbook_sample", "ioprf_cr", "redp5110_sampled", "2020.acl-main.207")
_VERSION = re.compile(r"_(?:v|d|j|conf|final|cr|proc)\w*$")
_FREE = frozenset(
    "abstract/keywords/index terms/author keywords/acm classification keywords/ccs concepts/references/bibliography/"
    "contents/table of contents/list of figures/list of tables/acknowledgments/acknowledgements/acknowledgment/"
    "acknowledgement/general terms/categories and subject descriptors/appendix/acm reference format".split("/")
)


@dataclass(frozen=True, slots=True)
class Score:
    """Counts for one document."""

    found: int
    wrong: tuple[str, ...]
    missed: tuple[str, ...]

    @property
    def precision(self) -> float:
        """Share of what was found that is right."""
        return self.found / max(1, self.found + len(self.wrong))

    @property
    def recall(self) -> float:
        """Share of the truth that was found."""
        return self.found / max(1, self.found + len(self.missed))

    @property
    def f1(self) -> float:
        """Harmonic mean of both."""
        return 2 * self.precision * self.recall / max(1e-9, self.precision + self.recall)


def normalise(title: str) -> str:
    """Words of a title without its number, accents and punctuation."""
    title = re.sub(r"^\(\d{2}\)\s*", "", unicodedata.normalize("NFKC", title).strip())
    number = parse_number(title)
    bare = number.rest if number and number.rest else title
    letters = unicodedata.normalize("NFKD", bare.lower())
    plain = "".join(letter for letter in letters if not unicodedata.combining(letter))
    return " ".join(re.findall(r"[a-z0-9]+", re.sub(r"[’']", "", plain)))


def alike(found: str, true: str) -> bool:
    """Whether two normalised titles are nearly the same, or one is the other's beginning."""
    if not found and true:
        return False
    longer = len(true) > 12 and (
        (found.startswith(true) and len(found) < 1.4 * len(true) + 4)
        or (true.startswith(found) and len(found) > 0.7 * len(true))
    )
    return longer or fuzz.ratio(found, true) >= 85


def score(found: Sequence[str], truth: Truth) -> Score:
    """The best matching in order, by dynamic programming."""
    left, right = [normalise(title) for title in found], [normalise(title) for title in truth.headings]
    same = [[alike(title, other) for other in right] for title in left]
    best = [[0] * (len(right) + 1) for _ in range(len(left) + 1)]
    for i in reversed(range(len(left))):
        for j in reversed(range(len(right))):
            best[i][j] = max(best[i + 1][j], best[i][j + 1], best[i + 1][j + 1] + same[i][j])
    matched: list[tuple[int, int]] = []
    i = j = 0
    while i < len(left) and j < len(right):
        if same[i][j] and best[i][j] == best[i + 1][j + 1] + 1:
            matched.append((i, j))
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            i += 1
        else:
            j += 1
    free = {normalise(title) for title in truth.optional} | _FREE
    used, covered = {i for i, _ in matched}, {j for _, j in matched}
    extra = [i for i in range(len(left)) if i not in used and not _is_free(left[i], free)]
    missed = tuple(title for j, title in enumerate(truth.headings) if j not in covered)
    return Score(len(matched), tuple(found[i] for i in extra), missed)


def _is_free(title: str, free: set[str]) -> bool:
    return title in free or any(fuzz.ratio(title, other) >= 88 for other in free)


def headings_of(answer: Answer) -> list[str]:
    """Headings of a PDF that was read, by its bookmarks too."""
    scene = survey(text_lines(answer.read)[0])
    return [heading.text for heading in find_headings(scene, answer.outline)]


def summarise(scores: dict[str, Score]) -> str:
    """Micro and by-work precision, recall and F1."""
    found = sum(score.found for score in scores.values())
    wrong = sum(len(score.wrong) for score in scores.values())
    missed = sum(len(score.missed) for score in scores.values())
    precision, recall = found / (found + wrong), found / (found + missed)
    works: defaultdict[str, list[Score]] = defaultdict(list)
    for name, one in scores.items():
        works[_VERSION.sub("", name)].append(one)
    means = [
        statistics.mean(statistics.mean(getattr(one, figure) for one in versions) for versions in works.values())
        for figure in ("precision", "recall", "f1")
    ]
    micro = (precision, recall, 2 * precision * recall / (precision + recall))
    return (
        f"{len(scores)} documents, {len(works)} works   "
        f"micro P {micro[0]:.3f} R {micro[1]:.3f} F1 {micro[2]:.3f}   "
        f"by work P {means[0]:.3f} R {means[1]:.3f} F1 {means[2]:.3f}"
    )


def main() -> None:
    """Print a table per document and the means."""
    options = arguments(__doc__, "folder", errors=False)
    scores: dict[str, Score] = {}
    pages, started = 0, time.perf_counter()
    print(f"{'document':24} pages  true   P R F1")
    for name, truth in sorted(load_truth(options.folder / "gt").items()):
        path = options.folder / f"{name}.pdf"
        if name in UNUSABLE or not path.exists():
            continue
        with path.open("rb") as file:
            answer = run_reader(file, None, 1, 0)
        one = scores[name] = score(headings_of(answer), truth)
        pages += answer.pages
        figures = f"{one.precision:.2f} {one.recall:.2f} {one.f1:.2f}"
        print(f"{name:24} {answer.pages:5} {len(truth.headings):5}   {figures}")
        if options.errors:
            print(f"    wrong: {list(one.wrong)}\n    missed: {list(one.missed)}")
    print(f"\n{summarise(scores)}")
    print(f"{pages} pages in {time.perf_counter() - started:.1f} s; {machine()}")


if __name__ == "__main__":
    main()
