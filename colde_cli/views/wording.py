"""Words and numbers the way people read them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING

from colde_cli.documents.document import Chunk, Document, Section, SectionKind
from colde_cli.documents.passages import whole_pages

if TYPE_CHECKING:
    from collections.abc import Sequence

    from colde_cli.documents.document import Document
    from colde_cli.documents.passages import Passage
    from colde_cli.encoder.protocol import Encoding
    from colde_cli.scoring.score import ScorePart
    from colde_cli.similarity.alignment import Extent, PassagePair
    from colde_cli.similarity.comparison import Comparison
    from colde_cli.similarity.flags import Flag
    from colde_cli.similarity.section_changes import SectionChange
    from colde_cli.similarity.words import IgnoreOptions

_UNNAMED = {SectionKind.FRONT: "(front matter)", SectionKind.ABSTRACT: "(abstract)"}
STATE_WORDS = {
    "same": "same",
    "edited": "edited",
    "moved": "moved",
    "only_a": "only in A",
    "only_b": "only in B",
}
"""States of passages, in the order of `State`."""
VERDICTS = {True: "Related", False: "Not related", None: "No verdict"}
"""What `Comparison.related` says."""
_LEAD = 24
"""Characters of context before a difference."""
_SAID = 40
"""Characters shown of what a flag is about."""


def plain(text: str) -> str:
    """Text on one line, without characters that could steer a terminal: documents and file names are not ours.

    Soft hyphens are left out: within a line they are nothing to see.
    """
    line = " ".join(text.replace("\N{SOFT HYPHEN}", "").split())
    if line.isprintable():
        return line
    return "".join(sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in line)


def shorten(text: str, width: int) -> str:
    """Text on one line of at most `width` characters; what is cut off leaves an ellipsis."""
    line = plain(text)
    return line if len(line) <= width else line[: max(0, width - 1)].rstrip() + "…"


def plural(count: int, noun: str) -> str:
    """`1 page`, `1,204 pages`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def first_capital(words: str) -> str:
    """`only in A` as `Only in A`."""
    return words[:1].upper() + words[1:]


def page_range(pages: tuple[int, int] | None) -> str:
    """`p. 3`, `p. 3–5`; nothing where the source has no pages."""
    if pages is None:
        return ""
    first, last = pages
    return f"p. {first}" if first == last else f"p. {first}–{last}"


def heading(section: Section) -> str:
    """The heading of a section, or what stands for one."""
    return plain(section.heading) or _UNNAMED.get(section.kind, "(no heading)")


def excerpt(document: Document, chunk: Chunk) -> str:
    """The text of a chunk on one line, its section's heading left out."""
    section = document.sections[chunk.section]
    text = document.text[max(chunk.span.start, section.body_start) : chunk.span.end]
    return plain(text) or "(heading only)"


def from_difference(a: str, b: str) -> tuple[str, str]:
    """Both texts from a few words before they first differ, if that is not near their beginning."""
    common = next(
        (place for place, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b))
    )
    start = a.rfind(" ", 0, max(0, common - _LEAD)) + 1
    if start < _LEAD or common == max(len(a), len(b)):
        return a, b
    return f"…{a[start:]}", f"…{b[start:]}"


def document_facts(encoding: Encoding) -> list[str]:
    """Where a document is from and how long it is: path, pages, sections, tokens."""
    document, pages = encoding.document, encoding.document.report.pages
    facts = ["standard input" if document.path == "-" else plain(document.path)] if document.path else []
    without = len(document.report.pages_without_text)
    facts += [plural(pages, "page") + (f", {without} without text" if without else "")] if pages else []
    return [*facts, plural(len(document.sections), "section"), f"{plural(encoding.tokens, 'token')} read"]


def became(change: SectionChange) -> str:
    """What became of sections: `renamed, moved`; "" where they kept name and place."""
    words = [] if change.state.value == "matched" else [change.state.value]
    return ", ".join([*words, "moved"] if change.moved else words)


def pair_words(pair: PassagePair) -> str:
    """What became of passages: `edited`, or `moved, 2 edits`."""
    state = pair.state.value
    return f"{state}, {plural(len(pair.edits), 'edit')}" if state == "moved" and pair.edits else state


MOST_FLAGS = 6
"""Of one kind and one passage, where the redline stands below: a table may differ in every number."""


def flag_words(flags: Sequence[Flag], most: int | None = None) -> list[tuple[str, str]]:
    """Kinds of flags and what differs: `("number", "58 → 63, 2 → 3")`; – stands where a side says nothing.

    Args:
        flags: of a pair.
        most: how many to name of each kind; the others are counted. None names all.
    """
    found = []
    for kind in dict.fromkeys(flag.kind.value for flag in flags):
        changes = [f"{_said(flag.a)} → {_said(flag.b)}" for flag in flags if flag.kind.value == kind]
        if most is not None and len(changes) > most + 1:
            changes[most:] = [f"and {len(changes) - most} more"]
        found.append((kind, ", ".join(changes)))
    return found


def _said(words: str) -> str:
    return shorten(words, _SAID) or "–"


def made_of(parts: Sequence[ScorePart], *, shares: bool = True) -> str:
    """Of what a score is made, in words; with the shares of its parts, or without."""
    names = {"document": "text", "chunks": "chunks", "words": "rare words", "opening": "opening"}
    return "made of " + " · ".join(
        (f"{part.weight:.0%} " if shares else "") + f"{names[part.name]} {part.score:.2f}" for part in parts
    )


def percent(probability: float) -> str:
    """A probability in per cent, never rounded to certainty."""
    if 0.005 <= probability <= 0.995:
        return f"{probability:.0%}"
    return "under 1%" if probability < 0.5 else "over 99%"


def place(document: Document, passages: Sequence[Passage], width: int) -> tuple[str, str]:
    """Pages, "" where there are none, and heading, of at most `width` characters, of neighbouring passages."""
    name = shorten(heading(document.sections[passages[0].section]), width)
    return page_range(whole_pages(passages)), name


def places(
    comparison: Comparison,
    pair: PassagePair,
    width: int,
    between: str = " · ",
    written: Callable[[str], str] = str,
) -> str:
    """Where a pair stands in A and in B; the heading once where both have the same.

    Args:
        comparison: that the pair is of.
        pair: with passages on both sides.
        width: characters of a heading at most.
        between: what parts pages and heading of one side where both sides have headings of their own.
        written: what makes a heading fit for where it is shown.
    """
    page_a, name_a = place(comparison.a.document, pair.a, width)
    page_b, name_b = place(comparison.b.document, pair.b, width)
    if name_a == name_b:
        pages = f"A {page_a} → B {page_b}" if page_a or page_b else ""
        return " · ".join(part for part in (pages, written(name_a)) if part)
    sides = ((page_a, name_a), (page_b, name_b))
    a, b = (between.join(part for part in (page, written(name)) if part) for page, name in sides)
    return f"A {a} → B {b}"


def how_much(comparison: Comparison, both: tuple[Extent, Extent]) -> str:
    """The share of the words of A that stand in B, and of B's in A; that all do, or none.

    Args:
        comparison: to speak of.
        both: the extents of A and of B.
    """
    if comparison.same_content:
        return f"{first_capital(same_texts(comparison))}."
    a, b = both
    if not a.words or not b.words:
        return f"{'A' if not a.words else 'B'} has no text besides headings."
    if not a.kept and not b.kept:
        return "No passage of one answers a passage of the other."
    return f"{share(a)} of A's words stand in B; {share(b)} of B's words stand in A."


def share(extent: Extent) -> str:
    """A share in percent that says 0 and 100 only where it is."""
    if extent.kept in (0, extent.words):
        return f"{extent.share_kept:.0%}"
    return f"{min(0.99, max(0.01, extent.share_kept)):.0%}"


_WORDS = {"case": "case", "whitespace": "white space", "numbers": "numbers"}


def noise_aside(ignore: IgnoreOptions) -> str:
    """What follows "the texts are the same": ", case and numbers aside"; nothing where nothing is ignored."""
    names = [_WORDS[name] for name in ignore.names]
    listed = " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)
    return f", {listed} aside" if listed else ""


def same_texts(comparison: Comparison) -> str:
    """That the texts are the same, and what is not known by it: what is ignored, pages that gave no text."""
    reports = (comparison.a.document.report, comparison.b.document.report)
    unread = any(report.pages_without_text for report in reports)
    aside = ", pages without text aside" if unread else ""
    return f"the texts are the same{noise_aside(comparison.ignore)}{aside}"


def ignored_line(comparison: Comparison) -> str:
    """All that is ignored, on one line; "" for nothing."""
    ignore = comparison.ignore
    facts = [_WORDS[name] for name in ignore.names]
    if ignore.like:
        counts = [
            f"{plural(report.words if report else 0, 'word')} of {name}"
            for name, report in (
                ("A", comparison.a.document.report.ignored),
                ("B", comparison.b.document.report.ignored),
            )
        ]
        facts.append(f"{' and '.join(counts)} that also stand in {file_names(ignore.like)}")
    return " · ".join(facts)


def file_names(paths: Sequence[str]) -> str:
    """The names of files without their folders."""
    return ", ".join(plain(PurePath(path).name) for path in paths)
