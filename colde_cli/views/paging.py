"""Long output through a pager, as git does it."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import PurePath

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
