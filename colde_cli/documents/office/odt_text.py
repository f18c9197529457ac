"""The flow of an OpenDocument text: paragraphs, lists, tables and notes, and the texts beside them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple

from colde_cli.documents.clause_numbers import LevelCounts
from colde_cli.documents.office.archive import Attributes
from colde_cli.documents.office.body import LEVEL, STRUCK, Body, Letters, Note, Paragraph, Stretches, whole
from colde_cli.documents.office.odt_parts import OUTLINE, OdtStyles
from colde_cli.documents.outside import OutsideKind

MOST_ABOUT = 200
"""Maximum number of characters of a heading or an item that tell which one it is."""
_PLAIN = Letters()
_VALUES = ("office:value", "office:string-value", "office:boolean-value")
_UNMARKED, _COUNTED = -1, -2  # an item of a list without a mark, and one that states no number


def unshown_value(attributes: Attributes, words: str) -> str:
    """The value that a field or a cell states, if its words do not show it: an editor may write that one."""
    value = next((attributes[name] for name in _VALUES if attributes.get(name)), "")
    stated, shown = ("".join(filter(str.isalnum, text)).casefold() for text in (value, words))
    return "" if stated.strip("0") in shown else value


@dataclass(slots=True, kw_only=True)
class OdtParagraph(Paragraph):
    """A paragraph that is being read."""

    stretches: Stretches  # of its letters that are hidden or struck through
    hidden: bool = False  # it is not shown
    marks: list[str] = field(default_factory=list)  # of the list that it begins, and of its number

    def close(self) -> str:
        """End all runs; return the text of the paragraph."""
        self.finish()
        self.stretches.end_marks()
        self.stretches.end_aside()
        return self.text


@dataclass(slots=True)
class Aside(Note):
    """A text beside the body that is being read, such as a comment, with its author."""

    author: str = ""

    def written(self) -> str:
        """The text, after its author."""
        text = " ".join(self.texts).strip()
        return f"{self.author}: {text}" if self.author and text else text


class _OdtList(NamedTuple):
    """A list that is being read."""

    style: str
    level: int  # 1 the outermost
    counts: OdtCounts  # of the outermost list, which may go on from another one


@dataclass(slots=True)
class OdtCounts(LevelCounts):
    """How far a list has counted, and the levels that had an item."""

    seen: set[int] = field(default_factory=set)


@dataclass(slots=True)
class Shape:
    """A shape that is being read: what it looks like, and whether it has words."""

    content: list[str]
    worded: bool = False


@dataclass(slots=True)
class OdtText(Body):
    """The flow of a text."""

    styles: OdtStyles
    begun: set[str] = field(default_factory=set)  # page styles that paragraphs and tables begin
    default_page: bool | None = None  # whether the first paragraph begins no page style of its own; None before it
    _paragraphs: list[OdtParagraph] = field(default_factory=list)
    _within: bool = False
    _index_titles: int = 0
    _looks: list[Letters] = field(default_factory=lambda: [_PLAIN])
    _unseen: int = 0  # depth of hidden elements
    _lists: list[_OdtList] = field(default_factory=list)
    _counts: dict[str, OdtCounts] = field(default_factory=dict)  # of the last list of each style, of each identifier
    _outline: LevelCounts = field(default_factory=LevelCounts)
    _override: str = ""  # the style of an item that has another one than its list
    _item: int | None = None  # number that the item states whose paragraph comes next
    _shapes: list[Shape] = field(default_factory=list)

    def characters(self, text: str) -> None:
        """Take text of a paragraph."""
        if self._receiver is not None:
            self._receiver.characters(text)
        elif self._paragraphs and not self._skipping:
            self._write(text)

    def _write(self, text: str) -> None:
        paragraph, look = self._paragraphs[-1], self._looks[-1]
        if self._unseen or look.hidden:
            paragraph.stretches.set_aside(text, OutsideKind.HIDDEN)
            return
        if look.struck or paragraph.stretches.open:
            if not text.isspace():
                paragraph.stretches.end_aside()
            paragraph.stretches.show(text, *[STRUCK] * look.struck)
        paragraph.put(text, look.script)

    def _insert(self, text: str) -> None:
        """Write something that is no run of letters: a formula, the value of a control."""
        if self._paragraphs and text:
            self._cut()
            self._write(text)
            self._cut()

    def _cut(self) -> None:
        if self._paragraphs:
            self._paragraphs[-1].finish()
            self._paragraphs[-1].cut = True

    def _hide(self, *_: object, hidden: bool = True) -> Iterator[None]:
        """Read an element that is hidden, or may be."""
        self._unseen += hidden
        yield
        self._unseen -= hidden

    @contextmanager
    def _beside(self) -> Iterator[Aside]:
        """Read a text beside the body; stray letters in it are caught by a paragraph of its own."""
        aside, stray, unseen = Aside(), self._new_paragraph(), self._unseen
        self._places.append(aside)
        self._paragraphs.append(stray)
        self._looks.append(_PLAIN)
        self._unseen = 0
        yield aside
        self._paragraphs.pop()
        self._places.pop()
        self._looks.pop()
        aside.texts += [stray.close(), *stray.notes]
        self._unseen = unseen

    def _aside(self, kind: OutsideKind, about: str = "", after: str = "") -> Iterator[None]:
        """Account for a text beside the body, with `after` at its end."""
        with self._beside() as aside:
            yield
        text = aside.written()
        self.account.add_text(kind, text + after if text else "", about)

    def add_paragraph(self, paragraph: Paragraph, text: str) -> None:
        """Add a paragraph to the document; the level of a heading is not in its text."""
        if (level := self.level_of(paragraph)) and text.strip():
            self.account.add_text(OutsideKind.STRUCTURE, f"level {level}", text.strip()[:MOST_ABOUT])
        Body.add_paragraph(self, paragraph, text)

    def _new_paragraph(self, style: str = "", level: int | None = None) -> OdtParagraph:
        return OdtParagraph(style=style, level=level, stretches=Stretches(self.account))

    def _paragraph(self, name: str, attributes: Attributes) -> Iterator[None]:
        style = attributes.get("text:style-name", "")
        self._begin_page("paragraph", style)
        paragraph = self._new_paragraph(style, 1 if self._index_titles else None)  # of a bibliography: it is kept
        if name == "text:h":
            self._make_heading(paragraph, attributes)
        if self._lists and self._item is not None:
            self._mark(paragraph)
        inside = self._looks[-1].hidden
        self._unseen += inside
        self._paragraphs.append(paragraph)
        self._looks.append(self.styles.look("paragraph", style, _PLAIN))
        yield
        self._paragraphs.pop()
        self._looks.pop()
        text = paragraph.close()
        if paragraph.hidden:
            self.account.add_text(OutsideKind.HIDDEN, text)
            text, paragraph.pieces = "", []
        if text.strip():
            for shape in self._shapes:
                shape.worded = True
        for mark in paragraph.marks:
            self.account.add_text(OutsideKind.STRUCTURE, mark, text.strip()[:MOST_ABOUT])
        self.place_paragraph(paragraph)
        self._unseen -= inside

    def _begin_page(self, family: str, style: str) -> None:
        if self._places:
            return
        master = self.styles.stated(family, style, "master")
        if self.default_page is None:
            self.default_page = not master
        if master:
            self.begun.add(master)

    def _make_heading(self, paragraph: OdtParagraph, attributes: Attributes) -> None:
        level = whole(attributes.get("text:outline-level", ""), None, LEVEL)
        paragraph.level = level = level or self.styles.level(paragraph.style) or 1
        levels, at = self.styles.levels(OUTLINE), level - 1
        if at in levels and not self._lists and attributes.get("text:is-list-header") != "true":
            start = whole(attributes.get("text:start-value", ""), None)
            again = attributes.get("text:restart-numbering") == "true"
            paragraph.number = self._outline.count(levels, at, levels[at].start if again and start is None else start)
            self.counted_numbers |= paragraph.number is not None

    def _list(self, name: str, attributes: Attributes) -> Iterator[None]:
        above = self._lists[-1] if self._lists else None
        style = attributes.get("text:style-name", above.style if above else "")
        level = whole(attributes.get("text:level", ""), None, LEVEL) or (above.level if above else 0) + 1
        counts = above.counts if above else self._counts_of(style, attributes)
        self._lists.append(_OdtList(style, level, counts))
        if name == "text:numbered-paragraph":  # an item of a list by itself
            self._list_item(name, attributes)
        yield
        self._lists.pop()
        self._item = None

    def _counts_of(self, style: str, attributes: Attributes) -> OdtCounts:
        """How far an outermost list has counted: as another one that it continues, or not at all."""
        counts = self._counts.get(f"#{attributes.get('text:continue-list') or attributes.get('text:list-id', '')}")
        if counts is None and (
            attributes.get("text:continue-numbering") == "true" or "text:continue-list" in attributes
        ):
            counts = self._counts.get(style)
        counts = counts or OdtCounts()
        self._counts[style] = counts
        for name in ("xml:id", "text:list-id"):
            if name in attributes:
                self._counts[f"#{attributes[name]}"] = counts
        return counts

    def _list_item(self, name: str, attributes: Attributes) -> None:
        self._override = attributes.get("text:style-override", "")
        start = whole(attributes.get("text:start-value", ""), _COUNTED)
        self._item = _UNMARKED if name == "text:list-header" else start

    def _mark(self, paragraph: OdtParagraph) -> None:
        """Count an item, or note how the first one with a bullet is marked."""
        start, self._item = self._item, None
        top = self._lists[-1]
        style = self._override or top.style or self.styles.stated("paragraph", paragraph.style, "list") or ""
        self._counts[style] = top.counts
        if start == _UNMARKED:
            paragraph.marks.append("no mark")
            return
        levels, at = self.styles.levels(style), top.level - 1
        known = top.level in top.counts.seen
        top.counts.seen.add(top.level)
        if at not in levels:
            paragraph.marks += [str(start)] * (start != _COUNTED)
        else:
            paragraph.number = top.counts.count(levels, at, None if start == _COUNTED else start)
        self.counted_numbers |= paragraph.number is not None
        if paragraph.number is None and top.level > 1:
            paragraph.marks.append(f"level {top.level} of a list")
        if paragraph.number is None and not known and at in levels:
            paragraph.marks.append(levels[at].text)

    def _span(self, name: str, attributes: Attributes) -> Iterator[None]:
        self._looks.append(self.styles.look("text", attributes.get("text:style-name", ""), self._looks[-1]))
        yield
        self._looks.pop()

    def _blank(self, name: str, attributes: Attributes) -> None:
        if self._paragraphs:
            self._write("\t" if name == "text:tab" else " ")

    def _note(self, name: str, attributes: Attributes) -> Iterator[None]:
        self._cut()
        note = Note()
        self._places.append(note)
        yield
        self._places.pop()
        if self._paragraphs:
            self._paragraphs[-1].notes.append(" ".join(note.texts))

    def _citation(self, name: str, attributes: Attributes) -> None:
        self.account.add_text(OutsideKind.STRUCTURE, attributes.get("text:label", ""), "mark of a note")
        self.skip()

    def _index_title(self, name: str, attributes: Attributes) -> Iterator[None]:
        self._index_titles += 1
        yield
        self._index_titles -= 1

    def _table(self, name: str, attributes: Attributes) -> Iterator[None]:
        self._begin_page("table", attributes.get("table:style-name", ""))
        return self.table()

    def _cell(self, name: str, attributes: Attributes) -> Iterator[None]:
        self.account.add_text(OutsideKind.CODE, attributes.get("table:formula", ""))
        yield
        words = self.end_cell()
        self.account.add_text(OutsideKind.CODE, unshown_value(attributes, words), words[:MOST_ABOUT])
        times = attributes.get("table:number-columns-repeated", "1")
        if times != "1" and words:
            self.account.add_text(OutsideKind.STRUCTURE, f"{times} times", words[:MOST_ABOUT])
