"""Where data goes: standard output, or a file that appears whole or not at all."""

from __future__ import annotations

import codecs
import contextlib
import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Collection, Iterable
from enum import StrEnum
from io import TextIOWrapper
from pathlib import Path, PurePath

from rich.cells import cell_len

from colde_cli.errors import OptionError
from colde_cli.files import atomic_file


class Format(StrEnum):
    """Formats of the contract; not every command writes all of them."""

    TABLE = "table"
    JSON = "json"
    MARKDOWN = "markdown"
    HTML = "html"
    CSV = "csv"


_SUFFIXES = {
    "": Format.TABLE,
    ".txt": Format.TABLE,
    ".json": Format.JSON,
    ".md": Format.MARKDOWN,
    ".html": Format.HTML,
    ".csv": Format.CSV,
}


BASIC = (Format.TABLE, Format.JSON)


def choose_format(
    asked: Format | None,
    output: Path | None,
    inputs: Iterable[str] = (),
    offered: Collection[Format] = BASIC,
) -> Format:
    """The format asked for, else the one that the suffix of the output file means, else a table.

    Args:
        asked: the value of --format.
        output: the value of --output.
        inputs: files that are read, one of which the output must not be.
        offered: what the command can write.

    Raises:
        OptionError: the suffix means nothing, the command does not write the format, or the file cannot be written
            where it should go.
    """
    if output is not None:
        _check_place(output, inputs)
    suffix = output.suffix.lower() if output else ""
    if asked is None and suffix not in _SUFFIXES:
        *others, last = (end for end, meant in _SUFFIXES.items() if end and meant in offered)
        raise OptionError(
            f"The suffix of {output} names no format; use {', '.join(others)} or {last}, or add --format."
        )
    chosen = asked or _SUFFIXES[suffix]
    if chosen not in offered:
        raise OptionError(f"This command does not write {chosen.value}; use {_either(offered)}.")
    return chosen


def _either(offered: Collection[Format]) -> str:
    *others, last = (item.value for item in offered)
    return f"{', '.join(others)} or {last}"


def refuse_inputs(output: Path | None, inputs: Iterable[str | Path]) -> None:
    """See that the output is none of the files that are read, by whatever name or link.

    Args:
        output: the value of --output.
        inputs: files that are read; "-" is the file that standard input comes from.

    Raises:
        OptionError: the output is one of them.
    """
    if output is None or not output.is_file():
        return
    target = output.stat()
    for other in inputs:
        with contextlib.suppress(OSError, ValueError):  # what is not there is not the output
            if os.path.samestat(target, os.fstat(0) if str(other) == "-" else Path(other).stat()):
                raise OptionError(
                    f"{output} is one of the documents to read; name another file for --output."
                )


def _check_place(output: Path, inputs: Iterable[str]) -> None:
    """Say before the work, not after it, that its result has nowhere to go."""
    refuse_inputs(output, inputs)
    if output.is_dir():
        raise OptionError(f"{output} is a folder; name a file for --output.")
    if not output.parent.is_dir():
        raise OptionError(f"There is no folder {output.parent} for the output file; make it first.")


def deliver(
    text: str, output: Path | None, chosen: Format = Format.TABLE, pager: bool | None = False
) -> None:
    """Write text to standard output, or to a file by way of a temporary one beside it.

    A device or a pipe is written to directly, and a link's target is replaced, not the link. What the encoding
    cannot express (half a character of a file's name; most, where standard output is not UTF-8) is replaced by what
    the format has for it.

    Args:
        text: what to write.
        output: the file; None is standard output.
        chosen: the format that the text is in.
        pager: show it in one if standard output is a terminal; None does so for tables longer than the screen.

    Raises:
        OptionError: the file cannot be written.
    """
    if output is None:
        if isinstance(sys.stdout, TextIOWrapper):
            # CSV has line breaks of its own.
            newline = "" if chosen is Format.CSV else None
            sys.stdout.reconfigure(errors=replacing(chosen), newline=newline)
        if (pager or chosen is Format.TABLE) and paged(text, pager):
            return
        sys.stdout.write(text)
        sys.stdout.flush()
        return
    content = text.encode("utf-8", errors="backslashreplace")
    try:
        if output.exists() and not output.is_file():
            output.write_bytes(content)
        else:
            with atomic_file(output) as staged:
                staged.write_bytes(content)
    except OSError as error:
        raise OptionError(f"{output} cannot be written: {error.strerror or error}.") from error


_DEFAULT = "less"


def paged(text: str, asked: bool | None) -> bool:
    """Show text in the reader's pager; False where it has to be printed instead.

    The pager is `PAGER`, else `less`; an empty one or `cat` means none. `less` quits by itself if all fits on the
    screen and keeps colours. There is none where standard output is no terminal, or a dumb one.

    Args:
        text: to show.
        asked: True and False are what the user said; None pages what is longer than the screen.
    """
    if asked is False or not _on_a_screen() or (asked is None and not _too_long(text)):
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


def _on_a_screen() -> bool:
    return sys.stdout.isatty() and os.environ.get("TERM", "dumb") not in ("dumb", "unknown")


def _too_long(text: str) -> bool:
    return text.count("\n") >= shutil.get_terminal_size().lines


def _command() -> list[str]:
    """The pager and its arguments; empty where there is none."""
    try:
        words = shlex.split(os.environ.get("PAGER", _DEFAULT))
    except ValueError:  # a quotation without an end
        return []
    if not words or PurePath(words[0]).name == "cat" or not shutil.which(words[0]):
        return []
    # Whatever LESS says: without this option the colours would be shown as their codes.
    return [*words, "-R"] if PurePath(words[0]).name == "less" else words


def _feed(process: subprocess.Popen[bytes], text: str) -> None:
    """Hand the text over and wait until the reader is done with it, however much of it was read."""
    content = text.encode(sys.stdout.encoding or "utf-8", sys.stdout.errors or "backslashreplace")
    # Ctrl-C is the pager's: it ends a search there, and must not end us under it.
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        process.communicate(content)  # takes the broken pipe of a pager that was quit for an end
    finally:
        signal.signal(signal.SIGINT, before)


# One sign for one, so that nothing is wider than before.
_DRAWN = dict(zip("━─┃│·•×…–—‐‑−→↔≥≤‘’“”«»", '=-||.*x~-----><><\'\'""""', strict=True))
_HANDLERS = {
    "table": "colde.drawn",
    "json": "colde.json",
    "markdown": "xmlcharrefreplace",
    "html": "xmlcharrefreplace",
}


def replacing(format: str) -> str:
    """The name of the error handler with which text of a format is to be encoded.

    Tables keep their width: what has no likeness in ASCII becomes question marks. JSON, Markdown and HTML have escapes
    of their own, so that nothing is lost; CSV takes those of Python.
    """
    return _HANDLERS.get(format, "backslashreplace")


def _drawn(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
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
