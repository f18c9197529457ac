"""The readers that `fuzz.py` tries, by name.

A target takes bytes and returns nothing. It may raise an error of `colde_cli.errors`: the input is refused. Anything
else is a finding, and so is a document that breaks the promises of `Document`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from fuzzing import documents, folders
from fuzzing.changes import Mutator, mutate_archive, mutate_candidates, mutate_lines


@dataclass(frozen=True, slots=True)
class Target:
    """A reader to be tried.

    Attributes:
        run: gives it one input.
        seeds: what a careful program would write.
        mutator: alters an input where altering its bytes would mostly break what encloses them; None for the bytes.
    """

    run: Callable[[bytes], None]
    seeds: Callable[[], Iterator[bytes]]
    mutator: Mutator | None = None


_XML = r"<w:p> </w:p> <w:t> w:val=\" <w:tbl> text:outline-level=\""
_TEX = r"begin{ end{ section{ newcommand def let if fi else item input cite footnote verb| ( ) [ ] title{"
_WORDS = {
    "text": r"\x0c [Page ===== 1.1 CHAPTER (a)",
    "markdown": r"``` [^1]: |---| <!-- &# > --- ~~~",
    "tex": " ".join(rf"\\{word}" for word in _TEX.split()),
    "html": r"<table> <td> <h1> </h1> <li> <pre> <br> role= <main> <article> hidden style=",
    "docx": _XML,
    "odt": _XML,
    "pdf": r"/Type /Annots /AcroForm endobj /Kids /Parent /Contents /Font",
    "toml": r"[diff] [[a]] \"\"\" 1979-05-27 0x inf = true",
    "rules": r"(?P< (?<= {9,} re: \\ (?(1) [^ (?i)",
}
TARGETS: dict[str, Target] = {
    "text": Target(documents.run_text, documents.text_seeds),
    "markdown": Target(documents.run_markdown, documents.markdown_seeds),
    "tex": Target(documents.run_tex, documents.tex_seeds),
    "html": Target(documents.run_html, documents.html_seeds),
    "docx": Target(documents.run_docx, documents.docx_seeds, mutate_archive),
    "odt": Target(documents.run_odt, documents.odt_seeds, mutate_archive),
    "pdf": Target(documents.run_pdf, documents.pdf_seeds),
    "pdf-lines": Target(documents.run_pdf_lines, documents.pdf_line_seeds, mutate_lines),
    "picture": Target(documents.run_picture, documents.picture_seeds),
    "data": Target(folders.run_data, folders.data_seeds, mutate_lines),
    "toml": Target(folders.run_toml, folders.toml_seeds),
    "rules": Target(folders.run_rules, folders.rules_seeds),
    "model": Target(folders.run_model, folders.model_seeds, mutate_archive),
    "candidates": Target(folders.run_candidates, folders.candidate_seeds, mutate_candidates),
}


def words_of(name: str) -> list[str]:
    """Words that mean something to a reader, as libFuzzer writes them."""
    return _WORDS.get(name, "").split()
