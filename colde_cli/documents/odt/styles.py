"""Styles of an OpenDocument text: which are headings, the title, or hidden."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class _Style:
    """What is known of one style; names of editors have their blanks as `_20_`."""

    display: str = ""
    parent: str = ""
    level: int | None = None
    hidden: bool = False


@dataclass(slots=True)
class Styles:
    """Handler of the styles in `styles.xml` and of the automatic ones in `content.xml`; asks by name.

    Styles of paragraphs and of letters have names of their own and are kept apart by their family.
    """

    _styles: dict[tuple[str, str], _Style] = field(default_factory=dict)
    _current: _Style = field(default_factory=_Style)

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Take note of a style or of one of its properties."""
        if name == "style:style":
            own = attributes.get("style:name", "")
            shown = attributes.get("style:display-name", own).replace("_20_", " ")
            self._current = _Style(shown.lower(), attributes.get("style:parent-style-name", ""))
            self._current.level = outline_level(attributes.get("style:default-outline-level", ""))
            self._styles[(attributes.get("style:family", ""), own)] = self._current
        elif name == "style:text-properties":
            self._current.hidden = attributes.get("text:display") == "none"

    def end(self, name: str) -> None:
        """After a style, properties are those of something else."""
        if name == "style:style":
            self._current = _Style()

    def characters(self, text: str) -> None:
        """Nothing to do."""

    def level(self, name: str) -> int:
        """Level of a heading style, 0 for any other; taken over from the style that it is based on."""
        return next((style.level for style in self._line("paragraph", name) if style.level is not None), 0)

    def is_title(self, name: str) -> bool:
        """Whether it is the style of the document's title."""
        return any(style.display == "title" for style in self._line("paragraph", name))

    def is_hidden(self, family: str, name: str) -> bool:
        """Whether text in this style is hidden."""
        return any(style.hidden for style in self._line(family, name))

    def _line(self, family: str, name: str) -> list[_Style]:
        """A style and those it is based on; one that is not defined goes by its name."""
        line: list[_Style] = []
        while name and len(line) < 12:  # based on itself, in the end
            style = self._styles.get((family, name)) or _Style(name.replace("_20_", " ").lower())
            line.append(style)
            name = style.parent
        return line


def outline_level(value: str) -> int | None:
    """Level of a heading, 1 the outermost; None if it is not said."""
    return int(value) if value.isdecimal() and 0 < len(value) <= 2 else None
