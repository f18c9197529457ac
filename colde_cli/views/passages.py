"""Aligned passages in the terminal: what became of sections, what changed with its redline, what stands on one side."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from colde_cli.documents.passages import whole_pages
from colde_cli.similarity.alignment import State
from colde_cli.similarity.section_changes import SectionState
from colde_cli.views.ignored import noise_aside
from colde_cli.views.wording import heading, page_range, plain, plural, shorten

if TYPE_CHECKING:
    from colde_cli.documents.document import Document, Span
    from colde_cli.documents.passages import Passage
    from colde_cli.similarity.alignment import PassagePair
    from colde_cli.similarity.comparison import Comparison
    from colde_cli.similarity.section_changes import SectionChange

_STYLES = {State.EDITED: "yellow", State.MOVED: "magenta", State.ONLY_A: "red", State.ONLY_B: "green"}
_DELETED, _INSERTED, _FLAG = "red strike", "green underline", "bold red"
_CONTEXT = 40
"""Characters shown before and after an edit."""
_LONGEST = 240
"""Characters of one edit that are shown at most."""

Title = Callable[[str, str], RenderableType]


def passage_parts(comparison: Comparison, top: int, title: Title) -> Iterator[RenderableType]:
    """What `--level passage` shows.

    Args:
        comparison: to show; its passages are aligned if that has not been done.
        top: how many passages to list of each kind.
        title: draws the line above a part, with an aside.
    """
    yield from _sections(comparison, title)
    pairs, summary = comparison.passages, comparison.summary
    changed = [pair for pair in pairs if pair.state in (State.EDITED, State.MOVED)]
    changed.sort(key=lambda pair: not pair.flags)
    yield title("Passages", _counts(min(top, len(changed)), len(changed)))
    same = summary[State.SAME]
    if same:
        yield Text(
            f"{plural(same, 'passage')} in A also in B, word for word{noise_aside(comparison.noise)}.",
            style="green",
        )
    for pair in changed[:top]:
        yield from _changed(comparison, pair)
    for name, state in (("A", State.ONLY_A), ("B", State.ONLY_B)):
        found = [pair for pair in pairs if pair.state is state]
        if found:
            yield title(f"Only in {name}", _counts(min(top, len(found)), len(found)))
            yield _alone(comparison, found[:top])


def _counts(shown: int, all_of_them: int) -> str:
    return f"{shown} of {all_of_them}" if all_of_them else ""


def _sections(comparison: Comparison, title: Title) -> Iterator[RenderableType]:
    told = [
        change
        for change in comparison.section_changes
        if change.state is not SectionState.MATCHED or change.moved
    ]
    if not told:
        return
    yield title("What became of the sections", "")
    grid = Table.grid(padding=(0, 1))
    grid.add_column(no_wrap=True, min_width=8)
    grid.add_column()
    for change in told:
        grid.add_row(*_section(comparison, change))
    yield grid


def _section(comparison: Comparison, change: SectionChange) -> tuple[Text, Text]:
    a, b = (_headings(side.document, of) for side, of in ((comparison.a, change.a), (comparison.b, change.b)))
    words = [] if change.state is SectionState.MATCHED else [change.state.value]
    words += ["moved"] if change.moved else []
    styles = {SectionState.ADDED: "green", SectionState.DROPPED: "red"}
    style = "magenta" if change.moved else styles.get(change.state, "yellow")
    return Text(", ".join(words), style=style), Text(" → ".join(side for side in (a, b) if side))


def _headings(document: Document, indices: Sequence[int]) -> str:
    return " + ".join(shorten(heading(document.sections[index]), 60) for index in indices)


def _changed(comparison: Comparison, pair: PassagePair) -> Iterator[RenderableType]:
    words = pair.state.value
    if pair.state is State.MOVED and pair.edits:
        words += f", {plural(len(pair.edits), 'edit')}"
    line = Text.assemble((words, _STYLES[pair.state]), ("  ", ""))
    line.append(
        f"A {_place(comparison.a.document, pair.a)} → B {_place(comparison.b.document, pair.b)}", "dim"
    )
    for kind in dict.fromkeys(flag.kind.value for flag in pair.flags):
        line.append(f"  {kind}", _FLAG)
    yield line
    yield Padding(Redline(pair), (0, 0, 0, 2))


def _place(document: Document, passages: Sequence[Passage]) -> str:
    name = shorten(heading(document.sections[passages[0].section]), 40)
    return " ".join(part for part in (page_range(whole_pages(passages)), name) if part)


def _alone(comparison: Comparison, pairs: Sequence[PassagePair]) -> Table:
    grid = Table.grid(padding=(0, 1), expand=True)
    grid.add_column(no_wrap=True, justify="right", min_width=7)
    grid.add_column(ratio=2, no_wrap=True, overflow="ellipsis")
    grid.add_column(ratio=5, no_wrap=True, overflow="ellipsis", style="dim")
    for pair in pairs:
        encoding = comparison.a if pair.a else comparison.b
        passages = pair.a or pair.b
        name = heading(encoding.document.sections[passages[0].section])
        grid.add_row(page_range(whole_pages(passages)), Text(name), Text(plain(pair.a_text or pair.b_text)))
    return grid


class Redline:
    """The edits of a pair with a few words around each; without colours as [-deleted-] and {+inserted+}."""

    def __init__(self, pair: PassagePair) -> None:
        self._pair = pair

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        coloured = console.color_system is not None and not console.no_color
        yield self.text(coloured)

    def text(self, coloured: bool) -> Text:
        """The line as shown."""
        pair, line = self._pair, Text()
        if not pair.edits:
            return Text(shorten(pair.a_text, 3 * _CONTEXT), style="dim")
        ends = [0, *(edit.a.end for edit in pair.edits)]
        for number, edit in enumerate(pair.edits):
            _append(line, _stayed(pair.a_text[ends[number] : edit.a.start], begins=number == 0), "dim")
            _marked(line, pair.a_text, edit.a, (_DELETED, "[-", "-]"), coloured)
            _marked(line, pair.b_text, edit.b, (_INSERTED, "{+", "+}"), coloured)
        return _append(line, _stayed(pair.a_text[ends[-1] :], ends=True), "dim")


def _stayed(text: str, *, begins: bool = False, ends: bool = False) -> str:
    """Text between edits, its middle left out where it is long: of the first lead and the last tail, the far end."""
    line = plain(text)
    if len(line) <= 2 * _CONTEXT:
        return line
    head = "" if begins else line[: line.rfind(" ", 0, _CONTEXT)]
    tail = "" if ends else line[line.find(" ", len(line) - _CONTEXT) + 1 :]
    return f"{head}…{tail}" if begins or ends else f"{head} … {tail}"


def _append(line: Text, words: str, style: str = "") -> Text:
    """Words after a blank, but for signs that close."""
    if not words:
        return line
    if line.plain and not words.startswith((".", ",", ";", ":", ")", "?", "!", "…", "”")):
        line.append(" ")
    return line.append(words, style)


def _marked(line: Text, text: str, span: Span, look: tuple[str, str, str], coloured: bool) -> None:
    words = shorten(text[span.start : span.end], _LONGEST)
    if not words:
        return
    style, before, after = look
    if coloured:
        _append(line, words, style)
    else:
        _append(line, f"{before}{words}{after}")
