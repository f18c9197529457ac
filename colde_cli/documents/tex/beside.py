"""What LaTeX sources hold beside their text: commands without a text, hidden text, labels, pictures and other files."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

from colde_cli.documents.outside import Account, OutsideKind, PartKind, digest_of
from colde_cli.documents.tex.source import restore

_SHOWN = 60
"""Maximum number of characters of an argument that are shown with an unknown command: they tell uses apart."""
_MOST_INPUTS = 1000
_PDF_TITLE = re.compile(r"\bpdf(?:title|subject|author|keywords)\s*=\s*(?:\{([^{}]*)\}|([^,{}]*))")


@dataclass(slots=True)
class SourceAccount:
    """Fills an account.

    Attributes:
        account: of the document.
        heading: of the section that is being read.
        inputs: names of the files that the text includes; they are not read.
        bibliography: the references are in another file.
    """

    account: Account
    heading: str = ""
    inputs: list[str] = field(default_factory=list)
    bibliography: bool = False
    _open: list[str] = field(default_factory=list)
    _counts: Counter[str] = field(default_factory=Counter)
    _told: set[str] = field(default_factory=set)

    def text(self, kind: OutsideKind, text: str, about: str = "") -> None:
        """Add a text outside."""
        self.account.add_text(kind, restore(text), restore(about))

    def code(self, text: str) -> None:
        """Add source that gives no text."""
        self.text(OutsideKind.CODE, text, self.heading)

    def call(self, name: str, options: str, argument: str) -> None:
        """Add an unknown command, the words in whose argument are body text."""
        shown = " ".join(argument.split())
        self.code(f"\\{name}{options}{{{shown if len(shown) <= _SHOWN else shown[:_SHOWN] + '…'}}}")

    def definition(self, name: str, source: str) -> None:
        """Add a definition that is used but not expanded, once."""
        if name not in self._told:
            self._told.add(name)
            self.code(f"\\{name}: {source}")

    def begin_section(self, heading: str, command: str) -> None:
        """Begin a section: the level of its heading does not stand in the text."""
        self.heading = heading
        self._counts.clear()
        self.text(OutsideKind.STRUCTURE, command, heading)

    def begin(self, environment: str) -> None:
        """Begin an environment."""
        self._open.append(environment)
        self._counts[environment] += 1

    def end(self, environment: str) -> None:
        """End an environment, and those that were left open in it."""
        if environment in self._open:
            last = len(self._open) - 1 - self._open[::-1].index(environment)
            del self._open[last:]

    def label(self, name: str, item: int | None = None) -> None:
        """Add a label with what it belongs to: elsewhere it would print another number."""
        place = ""
        if self._open:
            place = f" {self._open[-1]} {self._counts[self._open[-1]]}" + (f" item {item}" if item else "")
        of = f" of {self.heading}" if self.heading else ""
        self.code(f"\\label{{{name.strip()}}}{place}{of}")

    def file(self, name: str, options: str = "", content: str = "") -> None:
        """Add a file that is not read."""
        name = restore(" ".join(name.split()))
        if name:
            squeezed = "".join(options.split())
            self.account.add_part(
                PartKind.EMBEDDED, digest_of(restore(f"{name}\0{squeezed}\0{content}").encode()), name
            )

    def included(self, name: str) -> None:
        """Add a file that the text includes."""
        self.file(name)
        if name.strip() and len(self.inputs) < _MOST_INPUTS:
            self.inputs.append(restore(name.strip()))

    def picture(self, kind: PartKind, name: str, options: str) -> None:
        """Add a picture by its name and its options: a size, a page, a part of it."""
        squeezed = "".join(restore(f"{name}\0{options}").split())
        self.account.add_part(kind, digest_of(squeezed.encode()), restore(name))

    def drawing(self, name: str, source: str) -> None:
        """Add a drawing by its source."""
        self.account.add_part(
            PartKind.DRAWINGS, digest_of(" ".join(restore(source).split()).encode()), restore(name)
        )

    def metadata(self, options: str) -> None:
        """Add the title and the like that a viewer of the PDF shows."""
        for found in _PDF_TITLE.finditer(options):
            self.text(OutsideKind.METADATA, found[1] or found[2] or "")
