"""Headings as their authors or annotators wrote them: LaTeX sources, TEI, Markdown, lists by hand."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path

from lxml import etree

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
_DROPPED = re.compile(
    r"\\(label|ref|cite[a-z]*|footnote|thanks|index|eqref|autoref|cref)\*?(\[[^\]]*\])*\{[^{}]*\}"
)
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
