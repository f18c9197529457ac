"""Commands that a LaTeX file defines itself: remembered, and replaced by what they stand for."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from colde_cli.documents.tex.source import Source

_DEFINITION = re.compile(r"\s*\{?\s*\\([A-Za-z@]+)\s*\}?\s*(?:\[(\d)\])?\s*(\[[^\]]{0,200}\])?\s*(?=\{)")
_DEF = re.compile(r"\s*\\([A-Za-z@]+)[ \t]*((?:#\d)*)[ \t]*(?=\{)")
_PARAMETER = re.compile(r"#([1-9])")
MAX_EXPANSION = 2_000_000
"""Characters that the author's own commands may become, all in all."""
_MAX_COMMANDS = 5000
_MAX_BODY = 5000


@dataclass(frozen=True, slots=True)
class _Command:
    """How many arguments it takes, the default of the first if it is optional, and what it stands for."""

    count: int
    default: str | None
    body: str


@dataclass(frozen=True, slots=True)
class Call:
    """A command as it was used: what it stands for here (None: too much), its arguments, where the source goes on."""

    text: str | None
    values: tuple[str, ...]
    after: int


@dataclass(slots=True)
class Authored:
    """The commands of one file.

    Attributes:
        commands: by name.
        grown: characters that calls have become so far, with a charge for every call.
    """

    commands: dict[str, _Command] = field(default_factory=dict)
    grown: int = 0

    def define(self, source: Source, command: str, at: int, end: int) -> int:
        r"""Remember what follows `\newcommand` or `\def`; returns where the source goes on."""
        primitive = command == "def"
        found = (_DEF if primitive else _DEFINITION).match(source.text, at, end)
        bounds = source.group(found.end(), end) if found else None
        if not found or not bounds:
            return at
        count = len(found[2]) // 2 if primitive else int(found[2] or 0)
        default = found[3][1:-1] if not primitive and found[3] else None
        if len(self.commands) < _MAX_COMMANDS and bounds[1] - bounds[0] <= _MAX_BODY:
            self.commands[found[1]] = _Command(count, default, source.text[slice(*bounds)])
        return bounds[1] + 1

    def call(self, source: Source, name: str, at: int, end: int) -> Call:
        """Take the arguments behind a command and put them in."""
        command = self.commands[name]
        values: list[str] = []
        if command.default is not None:
            after = source.after_option(at, end)
            given = source.text[source.text.index("[", at) + 1 : after - 1] if after > at else command.default
            values.append(given)
            at = after
        while len(values) < command.count and (bounds := source.group(at, end)):
            values.append(source.text[slice(*bounds)])
            at = bounds[1] + 1
        # Counted before it is made: a short command can name a long argument a thousand times.
        self.grown += 100 + len(command.body) + command.body.count("#") * max(map(len, values), default=0)
        if self.grown > MAX_EXPANSION:
            return Call(None, tuple(values), at)
        filled = [*values, *[""] * 9]
        return Call(_PARAMETER.sub(lambda found: filled[int(found[1]) - 1], command.body), tuple(values), at)
