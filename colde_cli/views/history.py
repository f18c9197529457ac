"""The history of a document in the terminal, as plain text, Markdown, JSON and one HTML page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from colde_cli.similarity.section_changes import SectionState
from colde_cli.views.console import rendered
from colde_cli.views.escaping import harmless, markdown
from colde_cli.views.json import text
from colde_cli.views.markdown import table
from colde_cli.views.outside import TITLE, difference, same_sentence
from colde_cli.views.pages import plain_page
from colde_cli.views.summary import changed_passages, weightiest_change, wrapped
from colde_cli.views.wording import (
    first_capital,
    heading,
    ignored_names,
    left_out,
    names_apart,
    plural,
    shorten,
)

if TYPE_CHECKING:
    from colde_cli.similarity.digest import ComparisonDigest
    from colde_cli.similarity.history import History, SectionHistory, SectionStep


_HEADING, _TITLE = 60, 100
_STYLES = {"same": "dim", "–": "dim", "added": "green", "dropped": "red"}
_ALONE = (SectionState.ADDED, SectionState.DROPPED)


def sentence(history: History) -> str:
    """How many sections changed, in a sentence."""
    count = len(history.versions)
    if history.same:
        return f"The texts of all {count} versions are the same."
    changed = len(changed_sections(history))
    return f"{count} versions: {changed:,} of {plural(len(history.sections), 'section')} changed."


def version_lines(history: History) -> list[str]:
    """Number, title, file and size of each version, and what was left out of it."""
    lines = []
    files = names_apart([document.path for document in history.versions])
    versions = zip(history.versions, history.words, files, strict=True)
    for number, (document, words, file) in enumerate(versions, 1):
        pages = document.report.pages
        facts = [file] if document.path else []
        facts += [plural(pages, "page")] if pages else []
        missing = left_out(document)
        aside = f"; left out: {missing}" if missing else ""
        title = shorten(document.title, _TITLE)
        lines.append(f"{number}: {title} ({', '.join([*facts, plural(words, 'word')])}){aside}")
    return lines


def step_lines(step: ComparisonDigest) -> list[str]:
    """What a step changed, and its weightiest change with its place."""
    if step.same_content:
        return [same_sentence(step.a, step.b, step.outside)]
    words, where = weightiest_change(step)
    counts = ", ".join(changed_passages(step.summary)) or "no passage differs"
    outside = difference(step.outside)
    beside = [f"{TITLE}, {outside}."] if outside else []
    return [f"{first_capital(counts)}.", f"{words} ({where})" if where else words, *beside]


def changed_sections(history: History) -> list[SectionHistory]:
    """The sections that changed in any step."""
    return [section for section in history.sections if section.changed]


def section_name(history: History, section: SectionHistory) -> str:
    """The heading of a section in the last version that has it."""
    versions = zip(history.versions, section.places, strict=True)
    last = [document.sections[index] for document, index in versions if index is not None][-1]
    return shorten(heading(last), _HEADING)


def step_words(step: SectionStep | None) -> str:
    """What became of a section: `same`, `renamed, edited 12 words, 1 flagged`; a dash where it is not there."""
    if step is None:
        return "–"
    words = [] if step.state is SectionState.MATCHED else [step.state.value]
    words += ["moved"] if step.moved else []
    if step.state not in _ALONE:
        words += [f"edited {plural(step.words, 'word')}"] if step.words else []
        words += ["text moved"] if not step.same and not step.words else []
    words += [f"{step.flagged} flagged"] if step.flagged else []
    return ", ".join(words) or "same"


def columns(history: History) -> list[str]:
    """The names of the steps: `1 → 2`, `2 → 3`."""
    return [f"{number} → {number + 1}" for number in range(1, len(history.versions))]


def unchanged_line(history: History) -> str:
    """The number of sections that no step changed; "" for none."""
    count = len(history.sections) - len(changed_sections(history))
    return f"{plural(count, 'section')} did not change in any step." if count else ""


def history_table(history: History, *, to_file: bool = False) -> str:
    """A history as text, in colours if standard output is a terminal that shows them."""
    return rendered(Group(*_blocks(history)), to_file=to_file)


def _blocks(history: History) -> Iterator[RenderableType]:
    yield Text(sentence(history), "bold")
    for line in version_lines(history):
        yield Text(line, "dim")
    if ignored := ignored_names(history.ignore):
        yield Text(f"Ignored: {' · '.join(ignored)}", "yellow")
    steps = Table.grid(padding=(0, 2))
    for name, step in zip(columns(history), history.steps, strict=True):
        for number, line in enumerate(step_lines(step)):
            steps.add_row(Text("" if number else name, "bold cyan", no_wrap=True), line)
    yield Padding(steps, (1, 0, 0, 0))
    changed = changed_sections(history)
    if changed:
        yield Padding(_grid(history, changed), (1, 0, 0, 0))
    if unchanged := unchanged_line(history):
        yield Text(unchanged, "dim")


def _grid(history: History, sections: list[SectionHistory]) -> Table:
    grid = Table(box=None, padding=(0, 2, 0, 0), header_style="bold cyan")
    for column in ("Section", *columns(history)):
        grid.add_column(column, overflow="fold")
    for section in sections:
        cells = map(step_words, section.steps)
        grid.add_row(
            section_name(history, section), *(Text(cell, _STYLES.get(cell, "yellow")) for cell in cells)
        )
    return grid


def history_summary(history: History) -> str:
    """What each step changed, in a few lines of plain text."""
    lines = [*wrapped(sentence(history))]
    for version in version_lines(history):
        lines += wrapped(version, "   ")
    for name, step in zip(columns(history), history.steps, strict=True):
        lines += ["", *wrapped(f"{name}: {' '.join(step_lines(step))}")]
    return "".join(f"{line}\n" for line in lines)


def history_markdown(history: History) -> str:
    """A history as GitHub Flavored Markdown; text of documents is escaped."""
    blocks = [f"**{markdown(sentence(history))}**", *map(markdown, version_lines(history))]
    if ignored := ignored_names(history.ignore):
        blocks.append(f"Ignored: {' · '.join(ignored)}")
    steps = [
        (name, "<br>".join(map(markdown, step_lines(step))))
        for name, step in zip(columns(history), history.steps, strict=True)
    ]
    blocks.append(table(("Step", "Weightiest change"), steps))
    rows = [
        (markdown(section_name(history, section)), *map(step_words, section.steps))
        for section in changed_sections(history)
    ]
    blocks += [table(("Section", *columns(history)), rows)] if rows else []
    blocks += [line] if (line := unchanged_line(history)) else []
    return "\n\n".join(blocks) + "\n"


def history_json(history: History) -> str:
    """A history as text of schema colde.history/1."""
    return text(history.to_dict())


def history_html(history: History) -> str:
    """The page as text; what documents say is escaped."""
    return plain_page(
        "history.html",
        "history.css",
        summary=sentence(history),
        versions=list(map(harmless, version_lines(history))),
        ignored=", ".join(ignored_names(history.ignore)),
        columns=columns(history),
        steps=[list(map(harmless, step_lines(step))) for step in history.steps],
        sections=[
            (harmless(section_name(history, section)), list(map(step_words, section.steps)))
            for section in changed_sections(history)
        ],
        unchanged=unchanged_line(history),
    )
