"""The flow of an OpenDocument text: paragraphs, lists, tables and notes, and the texts beside them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from colde_cli.documents.notation import lowered, raised
from colde_cli.documents.office.archive import XmlHandler
from colde_cli.documents.office.body import Body, Note, Paragraph, Table
from colde_cli.documents.office.odt_styles import (
    OUTLINE,
    PLAIN,
    LetterLook,
    OdtStyles,
    counted,
    outline_level,
)
from colde_cli.documents.outside import Account, OutsideKind

Attributes = dict[str, str]
Closer = Callable[[], None] | None
"""What ends an element; None for nothing."""

MOST_ABOUT = 200
"""Maximum number of characters of a heading or an item that tell which one it is."""
_VALUES = ("office:value", "office:string-value", "office:boolean-value")
_UNMARKED, _COUNTED = -1, -2  # an item of a list without a mark, and one that states no number


def unshown_value(attributes: Attributes, words: str) -> str:
    """The value that a field or a cell states, if its words do not show it: an editor may write that one."""
    value = next((attributes[name] for name in _VALUES if attributes.get(name)), "")
    stated, shown = ("".join(filter(str.isalnum, text)).casefold() for text in (value, words))
    return "" if stated.strip("0") in shown else value


@dataclass(slots=True)
class OdtParagraph(Paragraph):
    """A paragraph that is being read.

    Attributes:
        script: sign of the raised or lowered letters that are being read.
        scripted: these letters.
        struck: letters that are struck through, up to the next that are not.
        unseen: hidden letters, up to the next that are shown.
        cut: something else stands between its last letters and the next ones.
        marks: of the list that it begins, and of its number.
    """

    script: str = ""
    scripted: list[str] = field(default_factory=list)
    struck: list[str] = field(default_factory=list)
    unseen: list[str] = field(default_factory=list)
    cut: bool = False
    marks: list[str] = field(default_factory=list)

    def write(self, text: str, look: LetterLook, account: Account) -> None:
        """Add letters that are shown."""
        if self.unseen or self.struck or look.struck:
            self._note_runs(text, look, account)
        if look.script != self.script:
            self.end_script("" if look.script else text)
            self.script = look.script
        if look.script:
            self.scripted.append(text)
            return
        if self.cut:
            self.cut = False
            if text[:1].isdigit() and self._last().isdigit():
                self.pieces.append(" ")
        self.pieces.append(text)

    def end_script(self, after: str = "") -> None:
        """Write raised or lowered letters, as what follows them is known."""
        if self.scripted:
            write = raised if self.script == "^" else lowered
            self.pieces.append(write(self._last(), "".join(self.scripted), after))
            self.scripted.clear()
        self.script = ""

    def finish(self, account: Account) -> str:
        """End all runs; the text of the paragraph."""
        self.end_script()
        if self.struck:
            self._end_struck(account)
        if self.unseen:
            self._end_unseen(account)
        return "".join(self.pieces)

    def words_since(self, start: int) -> str:
        """What was written since there were so many pieces."""
        return "".join((*self.pieces[start:], *self.scripted))

    def _last(self) -> str:
        return next((piece[-1] for piece in reversed(self.pieces) if piece), "")

    def _note_runs(self, text: str, look: LetterLook, account: Account) -> None:
        """Keep hidden and struck letters in one run as long as nothing but blanks parts them."""
        blank = not text.strip()
        if self.unseen and blank:
            self.unseen.append(text)
        elif self.unseen:
            self._end_unseen(account)
        if look.struck or (self.struck and blank):
            self.struck.append(text)
        else:
            self._end_struck(account)

    def _end_struck(self, account: Account) -> None:
        account.add_text(OutsideKind.DELETED, "".join(self.struck), "struck through")
        self.struck.clear()

    def _end_unseen(self, account: Account) -> None:
        account.add_text(OutsideKind.HIDDEN, "".join(self.unseen))
        self.unseen.clear()


@dataclass(slots=True)
class Aside(Note):
    """A text beside the body that is being read.

    Attributes:
        author: of a comment.
        settled: it is a comment that is marked as such.
        unseen: depth of hidden elements around it.
    """

    kind: OutsideKind = OutsideKind.HIDDEN
    about: str = ""
    author: str = ""
    settled: bool = False
    unseen: int = 0

    def written(self) -> str:
        """The text, after its author."""
        text = " ".join(self.texts).strip()
        text = f"{self.author}: {text}" if self.author and text else text
        return f"{text} [resolved]" if self.settled and text else text


@dataclass(slots=True)
class _OdtList:
    """A list that is being read.

    Attributes:
        level: 1 the outermost.
        goes_on: it counts on from another list.
        seen: levels of the outermost list that had an item.
    """

    style: str
    level: int
    goes_on: bool
    seen: set[int]


@dataclass(slots=True)
class Shape:
    """A shape that is being read: what it looks like, and whether it has words."""

    name: str
    content: list[str]
    worded: bool = False


@dataclass(slots=True)
class OdtText(Body):
    """The flow of a text. Each element has a method that begins it, and returns what ends it; see `begin`.

    Attributes:
        begun: page styles that paragraphs and tables begin.
        default_page: whether the first paragraph begins no page style of its own; None before it.
        outline: levels of the headings.
    """

    styles: OdtStyles
    begun: set[str] = field(default_factory=set)
    default_page: bool | None = None
    outline: set[int] = field(default_factory=set)
    _within: bool = False
    _index_titles: int = 0
    _closers: list[Closer] = field(default_factory=list)
    _receiver: XmlHandler | None = None
    _depth: int = 0  # of elements that the receiver has begun
    _looks: list[LetterLook] = field(default_factory=lambda: [PLAIN])
    _unseen: int = 0  # depth of hidden elements
    _lists: list[_OdtList] = field(default_factory=list)
    _listed: set[tuple[str, int]] = field(default_factory=set)
    _item: int | None = None  # number that the item states whose paragraph comes next
    _shapes: list[Shape] = field(default_factory=list)

    @property
    def account(self) -> Account:
        """What stands beside the text."""
        return self.builder.account

    def begin(self, name: str, attributes: Attributes) -> Closer:
        """Begin an element of the text."""
        raise NotImplementedError

    def begin_before(self, name: str, attributes: Attributes) -> Closer:
        """Begin an element outside the text, or the text itself."""
        raise NotImplementedError

    def start(self, name: str, attributes: Attributes) -> None:
        """Begin an element."""
        if self._skipping:
            self._skipping += 1
        elif self._receiver is not None:
            self._depth += 1
            self._receiver.start(name, attributes)
        elif not self._within:
            self._closers.append(self.begin_before(name, attributes))
        else:
            self._closers.append(self.begin(name, attributes))

    def end(self, name: str) -> None:
        """End an element."""
        if self._skipping > 1:
            self._skipping -= 1
            return
        if self._receiver is not None and self._depth:
            self._depth -= 1
            self._receiver.end(name)
            return
        self._skipping = 0
        within, closer = self._within, self._closers.pop() if self._closers else None
        if closer is not None:
            closer()
        if not within:
            self.styles.end(name)

    def characters(self, text: str) -> None:
        """Take text of a paragraph."""
        if self._receiver is not None:
            self._receiver.characters(text)
        elif self._paragraphs and not self._skipping:
            self._write(text)

    def _write(self, text: str) -> None:
        paragraph = self._paragraphs[-1]
        assert isinstance(paragraph, OdtParagraph), "this body makes no others"
        look = self._looks[-1]
        if self._unseen or look.hidden:
            paragraph.unseen.append(text)
        else:
            paragraph.write(text, look, self.account)

    def _insert(self, text: str) -> None:
        """Write something that is no run of letters: a formula, the value of a control."""
        if self._paragraphs and text:
            self._cut()
            self._write(text)
            self._cut()

    def _cut(self) -> None:
        if self._paragraphs and isinstance(paragraph := self._paragraphs[-1], OdtParagraph):
            paragraph.end_script()
            paragraph.cut = True

    def _skip(self, name: str, attributes: Attributes) -> Closer:
        self._skipping = 1
        return None

    def _hide(self) -> Closer:
        self._unseen += 1
        return self._unhide

    def _unhide(self) -> None:
        self._unseen -= 1

    def _receive(self, receiver: XmlHandler) -> Closer:
        """Let another handler take what is inside an element."""
        self._receiver, self._depth = receiver, 0
        return self._end_receiver

    def _end_receiver(self) -> None:
        self._receiver = None

    # Texts beside the body.

    def _begin_aside(self, kind: OutsideKind, about: str = "") -> Aside:
        """Begin a text beside the body; stray letters in it are caught by a paragraph of its own."""
        aside = Aside(kind=kind, about=about, unseen=self._unseen)
        self._places.append(aside)
        self._paragraphs.append(OdtParagraph())
        self._looks.append(PLAIN)
        self._unseen = 0
        return aside

    def _end_aside(self) -> None:
        aside = self._close_aside()
        self.account.add_text(aside.kind, aside.written(), aside.about)

    def _close_aside(self) -> Aside:
        stray = self._paragraphs.pop()
        aside = self._places.pop()
        self._looks.pop()
        assert isinstance(stray, OdtParagraph), "a text beside the body begins with one"
        assert isinstance(aside, Aside), "elements end in the order in which they begin"
        aside.texts += [stray.finish(self.account), *stray.notes]
        self._unseen = aside.unseen
        return aside

    def add_paragraph(self, paragraph: Paragraph, text: str) -> None:
        """Add a paragraph to the document; the level of a heading is not in its text."""
        level = self.styles.level(paragraph.style) if paragraph.level is None else paragraph.level
        if level and text.strip():
            self.outline.add(level)
            self.account.add_text(OutsideKind.STRUCTURE, f"level {level}", text.strip()[:MOST_ABOUT])
        Body.add_paragraph(self, paragraph, text)

    # Paragraphs, lists, tables and notes.

    def _begin_paragraph(self, name: str, attributes: Attributes) -> Closer:
        style = attributes.get("text:style-name", "")
        if not self._places:
            self._begin_page(self.styles.master_of("paragraph", style))
        paragraph = OdtParagraph(style, 1 if self._index_titles else None)  # of a bibliography: it is kept
        if name == "text:h":
            self._make_heading(paragraph, attributes)
        if self._lists and self._item is not None:
            self._mark(paragraph)
        inside = self._looks[-1].hidden
        self._unseen += inside
        self._paragraphs.append(paragraph)
        self._looks.append(self.styles.look("paragraph", style))
        return self._end_within_hidden if inside else self._end_paragraph

    def _begin_page(self, master: str) -> None:
        if self.default_page is None:
            self.default_page = not master
        if master:
            self.begun.add(master)

    def _make_heading(self, paragraph: OdtParagraph, attributes: Attributes) -> None:
        stated = outline_level(attributes.get("text:outline-level", ""))
        paragraph.level = stated or self.styles.level(paragraph.style) or 1
        if attributes.get("text:is-list-header") == "true":
            paragraph.marks.append("no number")
        elif (start := counted(attributes.get("text:start-value", ""))) is not None:
            paragraph.marks.append(self.styles.mark(OUTLINE, paragraph.level, start))
        elif attributes.get("text:restart-numbering") == "true":
            paragraph.marks.append("starts again")

    def _end_within_hidden(self) -> None:
        self._end_paragraph()
        self._unseen -= 1

    def _end_paragraph(self) -> None:
        paragraph = self._paragraphs.pop()
        self._looks.pop()
        assert isinstance(paragraph, OdtParagraph), "this body makes no others"
        text = paragraph.finish(self.account)
        if paragraph.hidden:
            self.account.add_text(OutsideKind.HIDDEN, text)
            text, paragraph.pieces = "", []
        if text.strip():
            for shape in self._shapes:
                shape.worded = True
        for mark in paragraph.marks:
            self.account.add_text(OutsideKind.STRUCTURE, mark, text.strip()[:MOST_ABOUT])
        self.place_paragraph(paragraph)

    def _begin_list(self, name: str, attributes: Attributes) -> Closer:
        above = self._lists[-1] if self._lists else _OdtList("", 0, False, set())
        counts_on = attributes.get("text:continue-numbering") == "true" or "text:continue-list" in attributes
        style = attributes.get("text:style-name", above.style)
        level = outline_level(attributes.get("text:level", "")) or above.level + 1
        self._lists.append(_OdtList(style, level, above.goes_on or counts_on, above.seen))
        return self._end_list

    def _begin_numbered(self, name: str, attributes: Attributes) -> Closer:
        """Begin a paragraph that is an item of a list by itself."""
        self._begin_list(name, attributes)
        self._begin_item(name, attributes)
        return self._end_list

    def _end_list(self) -> None:
        self._lists.pop()
        self._item = None

    def _begin_item(self, name: str, attributes: Attributes) -> Closer:
        start = counted(attributes.get("text:start-value", ""))
        self._item = _UNMARKED if name == "text:list-header" else _COUNTED if start is None else start
        return None

    def _mark(self, paragraph: OdtParagraph) -> None:
        """Note how the first item of a list is marked, and one with a number of its own."""
        start, self._item = self._item, None
        top = self._lists[-1]
        style = top.style or self.styles.list_of(paragraph.style)
        if start == _UNMARKED:
            paragraph.marks.append("no mark")
            return
        stated = None if start == _COUNTED else start
        known = top.level in top.seen or (top.goes_on and (style, top.level) in self._listed)
        top.seen.add(top.level)
        self._listed.add((style, top.level))
        if top.level > 1:
            paragraph.marks.append(f"level {top.level} of a list")
        if stated is not None or not known:
            paragraph.marks.append(self.styles.mark(style, top.level, stated))

    def _begin_span(self, name: str, attributes: Attributes) -> Closer:
        around = self._looks[-1]
        look = self.styles.look("text", attributes.get("text:style-name", ""), around)
        if look is around:
            return None
        self._looks.append(look)
        return self._end_span

    def _end_span(self) -> None:
        self._looks.pop()

    def _begin_blank(self, name: str, attributes: Attributes) -> Closer:
        if self._paragraphs:
            self._write("\t" if name == "text:tab" else " ")
        return None

    def _begin_note(self, name: str, attributes: Attributes) -> Closer:
        self._cut()
        self._places.append(Note())
        return self._end_note

    def _begin_citation(self, name: str, attributes: Attributes) -> Closer:
        self.account.add_text(OutsideKind.STRUCTURE, attributes.get("text:label", ""), "mark of a note")
        self._skipping = 1
        return None

    def _end_note(self) -> None:
        note = self._places.pop()
        if isinstance(note, Note) and self._paragraphs:
            self._paragraphs[-1].notes.append(" ".join(note.texts))

    def _begin_index_title(self, name: str, attributes: Attributes) -> Closer:
        self._index_titles += 1
        return self._end_index_title

    def _end_index_title(self) -> None:
        self._index_titles -= 1

    def _begin_table(self, name: str, attributes: Attributes) -> Closer:
        if not self._places:
            self._begin_page(self.styles.master_of("table", attributes.get("table:style-name", "")))
        self._places.append(Table())
        return self.end_table

    def _begin_row(self, name: str, attributes: Attributes) -> Closer:
        return self.end_row

    def _begin_cell(self, name: str, attributes: Attributes) -> Closer:
        self.account.add_text(OutsideKind.CODE, attributes.get("table:formula", ""))
        times = attributes.get("table:number-columns-repeated", "1")

        def end() -> None:
            self.end_cell()
            table = self._places[-1] if self._places else None
            words = table.cells[-1] if isinstance(table, Table) and table.cells else ""
            self.account.add_text(OutsideKind.CODE, unshown_value(attributes, words), words[:MOST_ABOUT])
            if times != "1" and words:
                self.account.add_text(OutsideKind.STRUCTURE, f"{times} times", words[:MOST_ABOUT])

        return end

    def _begin_covered(self, name: str, attributes: Attributes) -> Closer:
        return self._hide()
