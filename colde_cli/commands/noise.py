"""The switches that say what is no difference, and the documents whose text is left out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from colde_cli.commands.common import Talk
from colde_cli.errors import OptionError

if TYPE_CHECKING:
    from colde_cli.documents.document import Document
    from colde_cli.similarity.boilerplate import Boilerplate
    from colde_cli.similarity.noise import Noise

_PANEL = "Noise"

IgnoreCaseOption = Annotated[
    bool,
    typer.Option(
        "--ignore-case",
        "-i",
        envvar="COLDE_IGNORE_CASE",
        metavar="",
        help="Capital and small letters are the same.",
        rich_help_panel=_PANEL,
    ),
]
IgnoreWhitespaceOption = Annotated[
    bool,
    typer.Option(
        "--ignore-whitespace",
        "-w",
        envvar="COLDE_IGNORE_WHITESPACE",
        metavar="",
        help="Blanks, hyphens and kinds of quotes do not count for the status, as they do not for the redline.",
        rich_help_panel=_PANEL,
    ),
]
IgnoreNumbersOption = Annotated[
    bool,
    typer.Option(
        "--ignore-numbers",
        envvar="COLDE_IGNORE_NUMBERS",
        metavar="",
        help="All numbers, dates and labels such as 3.2 or (iv) are the same; units are not.",
        rich_help_panel=_PANEL,
    ),
]
IgnoreLikeOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--ignore-like",
        envvar="COLDE_IGNORE_LIKE",
        metavar="FILE",
        help="Leave out sentences that stand in this document too, e.g. a template; repeatable.",
        rich_help_panel=_PANEL,
    ),
]


def check_sources(like: Sequence[Path]) -> None:
    """Standard input can be read once only.

    Raises:
        OptionError: it is among `like`.
    """
    if Path("-") in like:
        raise OptionError("--ignore-like cannot read from standard input; name a file.")


def boilerplate(like: Sequence[Path], password: str | None, noise: Noise, talk: Talk) -> Boilerplate | None:
    """The text to leave out of documents; None where no document was named.

    Raises:
        DocumentError: one of them cannot be read.
    """
    if not like:
        return None
    from colde_cli.documents.reading import read
    from colde_cli.similarity.boilerplate import Boilerplate

    sources = [read(path, password=password) for path in like]
    for source in sources:
        talk.about_document(source)
    return Boilerplate(sources, noise)


def warn_if_useless(documents: Sequence[Document], like: Sequence[Path], talk: Talk) -> None:
    """Say so if nothing was left out: the wrong template is a likely mistake."""
    ignored = [document.report.ignored for document in documents]
    if like and not any(one is not None and (one.stretches or one.sections) for one in ignored):
        shown = ", ".join(path.name for path in like)
        talk.warning(f"No sentence of the two documents stands in {shown}; nothing was left out.")
