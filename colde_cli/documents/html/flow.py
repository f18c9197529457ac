"""Put the text of a page into paragraphs, headings, lists and tables: in the body, and in texts outside it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

from colde_cli.documents.clause_numbers import Counted, label_below
from colde_cli.documents.notation import TICKED, UNTICKED, in_letters, in_roman
from colde_cli.documents.outside import Account, OutsideKind

Marks = Mapping[str, str | None]
"""The attributes of an element as they are parsed; None is the value of one without."""


class Attributes(dict[str, str]):
    """The attributes of an element; "" is the value of one without, and of those that it does not have."""

    def __missing__(self, _: str) -> str:
        return ""


LAYOUT = "-layout"
"""An attribute that a walk gives to a table that only lays out."""
DELIMITER = "-delimiter"
"""An attribute with what stands after the numbers of a list."""
MOST_ABOUT = 200
"""Maximum number of characters of what names a text."""
MOST_TAPS = 20
"""Maximum number of links, struck text and ruby within each other of which the text is known."""
BLOCKS = frozenset(
    "address article aside blockquote body center dd details dialog div dl dt fieldset figcaption figure footer form"
    " h1 h2 h3 h4 h5 h6 header hgroup hr legend li main menu nav ol p pre search section summary table caption tbody"
    " thead tfoot tr ul".split()
)
"""Elements that begin and end a paragraph."""

_CELLS = frozenset(("td", "th"))
_LISTS = frozenset(("ol", "ul", "menu"))
_STYLES = {"a": "lower-alpha", "A": "upper-alpha", "i": "lower-roman", "I": "upper-roman", "1": "decimal"}
_LIST_STYLE = re.compile(r"list-style(?:-type)?\s*:[^;]*?\b((?:lower|upper)-(?:alpha|latin|roman)|decimal|none)\b")
_WHOLE = re.compile(r"-?\d{1,6}")
_PILCROW = re.compile(r"\s*[¶\U0001f517]\s*$")

Ending = Callable[[], object]
"""What is done at the end of an element."""


def _level_of(tag: str, marks: Attributes) -> int:
    if len(tag) == 2 and tag[0] == "h" and tag[1] in "123456":
        return int(tag[1])
    level = marks["aria-level"]
    return 0 if marks["role"] != "heading" else int(level) if re.fullmatch("[1-9]", level) else 2


@dataclass(slots=True)
class _List:
    """A list with the number of its next item, None without numbers; `label` is that of its last item."""

    number: int | None
    step: int = 1
    style: str = "decimal"
    label: str = ""
    delimiter: str = "."

    def next_mark(self, marks: Attributes) -> str:
        """The mark of the next item, which may state its number and its style."""
        if self.number is None:
            return "- "
        number = _whole(marks["value"], self.number)
        self.number = number + self.step
        case, _, system = _STYLES.get(marks["type"], self.style).partition("-")
        if not system or not 1 <= number <= 3999:
            return f"{number}{self.delimiter} "
        text = in_roman(number) if system == "roman" else in_letters(number)
        return f"{text.upper() if case == 'upper' else text}{self.delimiter} "


def _list_of(tag: str, marks: Attributes) -> _List:
    style = _STYLES.get(marks["type"], "decimal") if tag == "ol" else "none"
    if match := _LIST_STYLE.search(marks["style"]):
        style = match[1]
    if style == "none":
        return _List(None)
    start, step = _whole(marks["start"], 1), -1 if "reversed" in marks else 1
    return _List(start, step, style, delimiter=marks[DELIMITER] or ".")


def _whole(stated: str, default: int) -> int:
    return int(stated) if _WHOLE.fullmatch(stated.strip()) else default


@dataclass(slots=True, eq=False)
class Tap:
    """Gathers the text within an element, from the piece `start`; `saved` belongs to paragraphs that have ended."""

    start: int
    saved: list[str] = field(default_factory=list)


@dataclass(slots=True)
class TextFlow:
    """Text that belongs together: the body, or a text outside it that interrupts the body."""

    kind: OutsideKind | None = None  # None for the body
    about: str = ""  # what its texts belong to
    inline: bool = False  # a flow without paragraphs: all of it is one text
    pieces: list[str] = field(default_factory=list)
    taps: list[Tap] = field(default_factory=list)
    heading: int = 0  # level of the open heading; 0 without one
    pre: int = 0
    breaks: int = 0
    quotes: int = 0
    flushed: int = 0  # number of paragraphs that were taken out
    script: int = -1  # number of pieces, if the last one is a sub- or superscript
    write: Callable[[str], str] = str  # writes that script, given the text after it
    lists: list[_List] = field(default_factory=list)
    mark: str = ""
    # rows of each open data table; None for a table that lays out
    tables: list[list[str] | None] = field(default_factory=list)
    cells: list[str] = field(default_factory=list)
    columns: list[str] = field(default_factory=list)  # the places of the cells with text of a row
    column: int = 0

    @property
    def in_data(self) -> bool:
        """Whether a data table is open."""
        return bool(self.tables) and self.tables[-1] is not None

    @property
    def single(self) -> bool:
        """Whether blocks do not end a paragraph: in a heading, or in a cell of data."""
        return bool(self.heading) or self.inline or self.in_data

    def add(self, text: str) -> None:
        """Add text to the paragraph."""
        pieces = self.pieces
        if self.script == len(pieces) and text:
            pieces[-1] = self._parted(text)
        if self.breaks and text.strip():
            self.breaks = 0
        pieces.append(text if self.pre else text.replace("\n", " "))

    def _parted(self, after: str) -> str:
        """Write the script at the end so that no digit after it joins it."""
        script = self.write(after)
        return f"{script} " if script[-1:].isdigit() and after[0].isdigit() else script

    def cut(self) -> str:
        """Take the text of a paragraph out."""
        for tap in self.taps:
            tap.saved += (*self.pieces[tap.start :], " ")
            tap.start = 0
        text = "".join(self.pieces)
        self.pieces, self.breaks, self.script = [], 0, -1
        self.flushed += 1
        return text

    def line(self) -> str:
        """Take the text of a line out."""
        return " ".join(self.cut().split())

    def tap(self) -> Tap | None:
        """Begin to gather text; None where too much of it would be gathered again and again."""
        if len(self.taps) >= MOST_TAPS:
            return None
        self.taps.append(Tap(len(self.pieces)))
        return self.taps[-1]

    def tapped(self, tap: Tap) -> str:
        """The text that was gathered."""
        return " ".join("".join((*tap.saved, *self.pieces[tap.start :])).split())


class TextFlows:
    """Sends headings and paragraphs of the body, and accounts for texts outside it.

    Attributes:
        account: of what stands beside the body.
        flow: that is open.
        heading: takes text and level of a heading; None if headings are paragraphs.
        sent: number of headings and paragraphs.
        number: takes the number of the paragraph that is sent next.
    """

    def __init__(
        self,
        account: Account,
        paragraph: Callable[[str, bool], None],
        heading: Callable[[str, int], None] | None = None,
        base: OutsideKind | None = None,
    ) -> None:
        """Begin with a flow of kind `base`.

        `paragraph` takes its text, and whether it keeps its lines; `heading` its text and level, and is None if
        headings are paragraphs.
        """
        self.account, self._paragraph, self.heading = account, paragraph, heading
        self.flow = TextFlow(base)
        self.sent = 0
        self.number: Callable[[Counted], None] = lambda number: None
        self.depth = 0
        self._endings: list[tuple[int, Ending]] = []

    def at_end(self, ending: Ending) -> None:
        """Do this at the end of the element that began last."""
        self._endings.append((self.depth, ending))

    def end_element(self) -> None:
        """Do what is to be done at the end of the element that began last."""
        while self._endings and self._endings[-1][0] == self.depth:
            self._endings.pop()[1]()
        self.depth -= 1

    def enter(self, flow: TextFlow) -> None:
        """Write into another flow up to the end of the element that began last."""
        outer, self.flow = self.flow, flow

        def leave() -> None:
            self.flush()
            self.flow = outer

        self.at_end(leave)

    def close(self) -> None:
        """End all elements, and the last paragraph."""
        while self._endings:
            self._endings.pop()[1]()
        self.depth = 0
        self.flush()

    def flush(self) -> None:
        """End a paragraph; within a heading or a cell of data, write a blank instead."""
        flow = self.flow
        if flow.single:
            flow.pieces.append(" ")
            return
        text = flow.cut()
        if text.strip():
            if flow.mark.strip(" -") and flow.kind is None and flow.lists:
                self.number(Counted(flow.mark.strip(), flow.lists[-1].label, in_text=True))
            self.emit(flow.mark + text, lines=bool(flow.pre), code=bool(flow.pre))
            flow.mark = ""

    def emit(self, text: str, *, lines: bool = False, code: bool = False) -> None:
        """Send a paragraph, or account for it if its flow is not the body."""
        flow = self.flow
        if flow.kind is not None:
            self.account.add_text(flow.kind, text.removeprefix("- "), flow.about)
        elif not text.strip(f" \n-{TICKED}{UNTICKED}\xa0"):  # boxes without words
            self.account.add_text(OutsideKind.FORM_VALUES, text.removeprefix("- "))
        else:
            self.sent += 1
            self._paragraph(text, lines)
            if code:
                self.account.add_code(text, MOST_ABOUT)
            if place := place_in_lists(len(flow.lists), flow.quotes):
                first, _, _ = text.partition("\n")
                self.account.add_text(OutsideKind.STRUCTURE, place, first[:MOST_ABOUT])

    def start_block(self, tag: str, marks: Attributes) -> None:
        """Begin an element that may be a heading, a part of a table, or begin a paragraph."""
        flow = self.flow
        if tag in _CELLS:
            self._start_cell(marks)
            return
        level = 0 if flow.single or flow.kind or self.heading is None else _level_of(tag, marks)
        if level:
            self.flush()
            flow.heading = level
            self.at_end(self._end_heading)
        elif tag == "table" and not flow.heading and not flow.inline:
            self.flush()
            flow.tables.append([] if flow.in_data or LAYOUT not in marks else None)
            self.at_end(self._end_table)
        elif tag in BLOCKS:
            self.flush()
            self.at_end(self._end_row if tag in ("tr", "caption") and flow.in_data else self.flush)
            if not flow.heading and not flow.inline:
                self._start_part(tag, marks)

    def _start_part(self, tag: str, marks: Attributes) -> None:
        flow = self.flow
        if tag in _LISTS:
            flow.lists.append(_list_of(tag, marks))
            self._at_end_of_block(flow.lists.pop)
        elif tag == "li":
            flow.mark = flow.lists[-1].next_mark(marks) if flow.lists else "- "
            if flow.lists:
                above = next((outer.label for outer in reversed(flow.lists[:-1]) if outer.label), "")
                flow.lists[-1].label = "" if flow.mark == "- " else label_below(above, flow.mark)
        elif tag == "pre":
            self._nest("pre")
        elif tag == "blockquote":
            self._nest("quotes")

    def _nest(self, name: str) -> None:
        flow = self.flow
        setattr(flow, name, getattr(flow, name) + 1)
        self._at_end_of_block(lambda: setattr(flow, name, getattr(flow, name) - 1))

    def _at_end_of_block(self, ending: Ending) -> None:
        """Do this after the last paragraph of the block has been sent."""
        last = self._endings.pop()
        self.at_end(ending)
        self._endings.append(last)

    def _end_heading(self) -> None:
        flow = self.flow
        level, flow.heading = flow.heading, 0
        text = _PILCROW.sub("", flow.line())
        flow.mark = ""
        if text and self.heading is not None:
            self.sent += 1
            self.heading(text, level)
            self.account.add_text(OutsideKind.STRUCTURE, f"level {level}", text[:MOST_ABOUT])

    def _start_cell(self, marks: Attributes) -> None:
        if self.flow.heading or self.flow.inline:
            self.flow.pieces.append(" ")
            return
        across, down = (max(1, _whole(marks[name], 1)) for name in ("colspan", "rowspan"))
        self.at_end(partial(self._end_cell, across, down))

    def _end_cell(self, across: int, down: int) -> None:
        flow = self.flow
        if not flow.in_data:
            self.flush()
            return
        text = flow.line()
        first, flow.column = flow.column + 1, flow.column + across
        if text:
            place = f"{first}-{flow.column}" if across > 1 else f"{first}"
            flow.columns.append(f"{place} ({down} rows)" if down > 1 else place)
        flow.cells.append(text)

    def _end_row(self) -> None:
        flow = self.flow
        rows = flow.tables[-1] if flow.tables else None
        caption = flow.line()
        row = " | ".join([*([caption] if caption else []), *flow.cells])
        if rows is not None and (caption or any(flow.cells)):
            rows.append(row)
            if flow.kind is None:
                account_columns(self.account, flow.columns, len(flow.cells), row)
        flow.cells, flow.columns, flow.column = [], [], 0

    def _end_table(self) -> None:
        flow = self.flow
        if flow.in_data:
            self._end_row()
        else:
            self.flush()
        rows = flow.tables.pop() if flow.tables else None
        if rows:
            self.emit("\n".join(rows), lines=True)


def place_in_lists(lists: int, quotes: int) -> str:
    """Name what the text of a paragraph does not show: in how many lists it stands, and whether in a quotation."""
    if lists < 2 and not quotes:
        return ""
    item = [f"level {lists} of a list"] if lists > 1 else []
    quotation = [f"level {quotes} of a quotation" if quotes > 1 else "quotation"] if quotes else []
    return ", ".join([*item, *quotation])


def account_columns(account: Account, columns: list[str], cells: int, row: str) -> None:
    """Account for the columns of a row with empty or wide cells: between bars alone they could not be told apart."""
    if columns and columns != [str(number) for number in range(1, cells + 1)]:
        account.add_text(OutsideKind.STRUCTURE, f"columns {', '.join(columns)}", row[:MOST_ABOUT])
