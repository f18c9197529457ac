"""Output: choose a format, write to standard output, a pager or a file, and replace what an encoding lacks.

Errors, warnings and notes go to stderr, never data. Every command imports this file when it is declared, so
functions import rich themselves.
"""

from __future__ import annotations

import codecs
import contextlib
import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Collection, Iterable, Iterator
from enum import StrEnum
from importlib import import_module
from io import TextIOWrapper
from itertools import chain
from pathlib import Path, PurePath
from typing import cast

from colde_cli.errors import OptionError
from colde_cli.files import atomic_file


class Format(StrEnum):
    """Output formats; not every command writes all of them."""

    TABLE = "table"
    JSON = "json"
    JSONL = "jsonl"
    MARKDOWN = "markdown"
    HTML = "html"
    CSV = "csv"
    SUMMARY = "summary"
    GITHUB = "github"
    DOCX = "docx"
    PDF = "pdf"


_SUFFIXES = {
    "": Format.TABLE,
    ".txt": Format.TABLE,
    ".json": Format.JSON,
    ".jsonl": Format.JSONL,
    ".md": Format.MARKDOWN,
    ".html": Format.HTML,
    ".csv": Format.CSV,
    ".docx": Format.DOCX,
    ".pdf": Format.PDF,
}


BASIC = (Format.TABLE, Format.JSON)
BINARY = (Format.DOCX, Format.PDF)
"""Formats that are no text, and so go to a file alone."""


def choose_format(
    asked: Format | None, output: Path | None, inputs: Iterable[str] = (), offered: Collection[Format] = BASIC
) -> Format:
    """The format of --format, else of the output file's suffix, else a table.

    Raises:
        OptionError: the suffix is unknown, the command does not write the format, or the file cannot be written.
    """
    if output is not None:
        check_output(output, inputs)
    suffix = output.suffix.lower() if output else ""
    if asked is None and suffix not in _SUFFIXES:
        *others, last = (end for end, meant in _SUFFIXES.items() if end and meant in offered)
        raise OptionError(
            f"The suffix of {output} names no format; use {', '.join(others)} or {last}, or add --format."
        )
    chosen = asked or _SUFFIXES[suffix]
    if chosen not in offered:
        raise OptionError(f"This command does not write {chosen.value}; use {_either(offered)}.")
    if chosen in BINARY and output is None:
        raise OptionError(
            f"A .{chosen.value} file cannot go to a terminal or a pipe; name a file for it with --output."
        )
    return chosen


def show(result: object, chosen: Format = Format.TABLE, *, to_file: bool = False, **options: object) -> str:
    """A result as text of a format: the one way from a result to what a command writes.

    A new format is a line in `_OF_PAGE` and its file; a new kind of result is a function in `views.page`, and a line in
    `views.csv` and `views.json` where it has these.

    Args:
        result: a Comparison, Ranking, Families, Clusters, History, FolderComparison, Verification or Evaluation.
        chosen: the format; a command offers those that its result has.
        to_file: a table has no colours.
        options: those of the page of this kind of result, such as `level`, `top`, `verbose` or `links`; formats that
            draw no page pass over what they do not use.
    """
    own = _OWN.get((type(result).__name__, chosen), _OWN.get(("", chosen)))
    module, function = own or _OF_PAGE[chosen]
    draw = getattr(import_module(f"colde_cli.views.{module}"), function)
    colours = {"to_file": to_file} if chosen is Format.TABLE else {}
    if own is None:
        from colde_cli.views.page import page

        result, options = page(result, **options), {}
    return cast("str", draw(result, **options, **colours))


_OF_PAGE = {
    Format.TABLE: ("terminal", "page_table"),
    Format.MARKDOWN: ("markdown_page", "page_markdown"),
    Format.HTML: ("html_page", "page_html"),
    Format.SUMMARY: ("summary", "page_summary"),
}
"""The formats that draw the page of any result: each has a file and a function."""
_OWN = {
    ("", Format.CSV): ("csv", "result_csv"),
    ("", Format.JSON): ("json", "result_json"),
    ("", Format.JSONL): ("json", "result_jsonl"),
    ("", Format.GITHUB): ("github", "comparison_github"),
    ("Comparison", Format.HTML): ("report.report_page", "comparison_html"),
    ("Comparison", Format.SUMMARY): ("summary", "comparison_summary"),
    ("Evaluation", Format.TABLE): ("evaluation_view", "evaluation_table"),
    ("Evaluation", Format.HTML): ("evaluation_view", "evaluation_html"),
}
"""The formats that are made from the result itself; "" stands for any kind of result."""


def _either(offered: Collection[Format]) -> str:
    *others, last = (item.value for item in offered)
    return f"{', '.join(others)} or {last}"


def refuse_inputs(output: Path | None, inputs: Iterable[str | Path | None], option: str = "--output") -> None:
    """Refuse an output file that is also read, by whatever name or link.

    Of the inputs "-" is the file behind standard input, and None is passed over; `option` named the output.

    Raises:
        OptionError: the output is one of them.
    """
    if output is None or not output.is_file():
        return
    target = output.stat()
    for other in (item for item in inputs if item is not None):
        with contextlib.suppress(OSError, ValueError):  # a file that does not exist is not the output
            if os.path.samestat(target, os.fstat(0) if str(other) == "-" else Path(other).stat()):
                raise OptionError(f"{output} is one of the documents to read; name another file for {option}.")


def check_output(output: Path | None, inputs: Iterable[str]) -> None:
    """Refuse an output file that cannot be written, or is an input, before the work and not after it."""
    if output is None:
        return
    refuse_inputs(output, inputs)
    if output.is_dir():
        raise OptionError(f"{output} is a folder; name a file for --output.")
    if not output.parent.is_dir():
        raise OptionError(f"There is no folder {output.parent} for the output file; make it first.")


def deliver(
    text: str | Iterable[str], output: Path | None, chosen: Format = Format.TABLE, pager: bool | None = False
) -> None:
    """Write text to standard output, or to a file through a temporary file next to it.

    Devices and pipes are written to directly; for a link the target is replaced. Characters that the encoding lacks
    (half a character in a file's name; most characters if standard output is not UTF-8) become escapes of the format.

    Args:
        text: in the format that was chosen, whole or in blocks, of which one at a time is in memory.
        output: the file; None for standard output.
        pager: use a pager if standard output is a terminal; None does so for tables longer than the screen.

    Raises:
        OptionError: the file cannot be written.
    """
    blocks = (text,) if isinstance(text, str) else text
    if output is None:
        prepare_output(chosen)
        if pager or chosen is Format.TABLE:
            blocks = ("".join(blocks),)
            if paged(blocks[0], pager):
                return
        sys.stdout.writelines(blocks)
        sys.stdout.flush()
        return
    # A spreadsheet takes a file without this mark for one of its own code page.
    mark = codecs.BOM_UTF8 if chosen is Format.CSV else b""
    write_file(chain([mark], (block.encode("utf-8", errors="backslashreplace") for block in blocks)), output)


def prepare_output(chosen: Format = Format.TABLE) -> None:
    """Have standard output write what its encoding lacks as escapes of a format, and line breaks as the format does."""
    if isinstance(sys.stdout, TextIOWrapper):
        # CSV has line breaks of its own.
        newline = "" if chosen is Format.CSV else None
        sys.stdout.reconfigure(errors=encoding_handler(chosen), newline=newline)


def write_file(content: Iterable[bytes], output: Path) -> None:
    """Write a file, block by block, through a temporary file next to it; devices and pipes are written to directly.

    Raises:
        OptionError: the file cannot be written.
    """
    with output_trouble(output):
        if output.exists() and not output.is_file():
            _write(content, output)
        else:
            with atomic_file(output) as staged:
                _write(content, staged)


@contextlib.contextmanager
def output_trouble(output: Path) -> Iterator[None]:
    """Turn what writing an output file raises into a sentence that names it, not the temporary file beside it.

    Raises:
        OptionError: the file cannot be written.
    """
    try:
        yield
    except OSError as error:
        raise OptionError(f"{output} cannot be written: {error.strerror or error}.") from error


def _write(content: Iterable[bytes], path: Path) -> None:
    with path.open("wb") as file:
        file.writelines(content)


def paged(text: str, asked: bool | None) -> bool:
    """Show text in a pager; return False if it has to be printed instead.

    The pager is `PAGER`, else `less`; an empty one or `cat` means none. `less` keeps colours and quits by itself if
    the text fits on the screen. Without a terminal, or with a dumb one, there is no pager.
    """
    on_a_screen = sys.stdout.isatty() and os.environ.get("TERM", "dumb") not in ("dumb", "unknown")
    too_long = text.count("\n") >= shutil.get_terminal_size().lines
    if asked is False or not on_a_screen or (asked is None and not too_long):
        return False
    command = _command()
    if not command:
        return False
    environment = {"LESS": "FRX", "LV": "-c", **os.environ}
    try:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, env=environment)
    except OSError:
        return False
    _feed(process, text)
    return True


def _command() -> list[str]:
    """The pager with its arguments; empty for none."""
    try:
        words = shlex.split(os.environ.get("PAGER", "less"))
    except ValueError:  # a quotation without an end
        return []
    if not words or PurePath(words[0]).name == "cat" or not shutil.which(words[0]):
        return []
    # Without this option less would show colours as their codes, whatever LESS says.
    return [*words, "-R"] if PurePath(words[0]).name == "less" else words


def _feed(process: subprocess.Popen[bytes], text: str) -> None:
    """Give the pager the text and wait until the reader quits it."""
    content = text.encode(sys.stdout.encoding or "utf-8", sys.stdout.errors or "backslashreplace")
    # Ctrl-C belongs to the pager, where it ends a search; it must not end colde.
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        process.communicate(content)  # a pager that quits early is no error here
    finally:
        signal.signal(signal.SIGINT, before)


# One character for one, so that no line becomes wider.
_DRAWN = dict(zip("━─┃│·•×…–—‐‑−→↔≥≤‘’“”«»", '=-||.*x~-----><><\'\'""""', strict=True))
_HANDLERS = {
    "table": "colde.drawn",
    "summary": "colde.drawn",
    "github": "colde.drawn",
    "json": "colde.json",
    "jsonl": "colde.json",
    "markdown": "xmlcharrefreplace",
    "html": "xmlcharrefreplace",
}


def encoding_handler(format: str) -> str:
    """The name of the error handler for characters that an encoding lacks.

    In tables they become similar ASCII characters or question marks, which keeps the width. JSON, Markdown and HTML
    have escapes of their own; CSV uses those of Python.
    """
    return _HANDLERS.get(format, "backslashreplace")


def _drawn(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    from rich.cells import cell_len

    missing = error.object[error.start : error.end]
    return "".join(_DRAWN.get(sign, "?" * cell_len(sign)) for sign in missing), error.end


def _json(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    units = error.object[error.start : error.end].encode("utf-16-be", "surrogatepass")
    escapes = (f"\\u{units[place : place + 2].hex()}" for place in range(0, len(units), 2))
    return "".join(escapes), error.end


codecs.register_error("colde.drawn", _drawn)
codecs.register_error("colde.json", _json)


def fail(sentence: str) -> None:
    """Print the one line of an error."""
    _line(f"Error: {sentence}", "red")


def warn(sentence: str) -> None:
    """Print one line of warning."""
    _line(f"Warning: {sentence}", "yellow")


def note(sentence: str) -> None:
    """Print one line of `--verbose`."""
    _line(sentence, "dim")


def _line(text: str, style: str) -> None:
    from rich.console import Console

    from colde_cli.views.wording import plain

    # One line on any terminal, for scripts; no markup, because paths hold brackets and colons.
    Console(stderr=True, highlight=False, emoji=False).print(plain(text), style=style, markup=False, soft_wrap=True)
