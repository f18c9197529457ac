"""The command `colde`, and `python -m colde_cli`."""

import atexit
import gc
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from itertools import pairwise
from typing import NoReturn

# Imports and reading make many objects and hardly a cycle: at the usual threshold, looking for cycles took 4 to 7 %
# of a comparison.
gc.set_threshold(200_000, 20, 20)


def documents_ahead(words: Sequence[str]) -> list[str]:
    """Guess the documents of `colde diff A B` from its words, before the options are known."""
    if list(words[:1]) != ["diff"]:
        return []
    named = pairwise(words)
    return [word for before, word in named if not word.startswith("-") and before not in ("-o", "--output")][
        :2
    ]


def _start_readers(documents: Sequence[str]) -> None:
    """Start the processes that will read the documents: they load their libraries while this one loads its own."""
    # Where a standard stream is closed, a pipe to a reader would take its place.
    if documents and None not in (sys.stdin, sys.stdout, sys.stderr):
        from colde_cli.documents.reading import start_readers

        start_readers(documents)


_start_readers(documents_ahead(sys.argv[1:]))

from colde_cli import app  # noqa: E402


def main() -> NoReturn:
    """Run the command line and exit with its status.

    Python would free every object of the program one by one before it ends, which took a third of `colde --help`. What
    has to happen at the end, such as ending the readers, is registered with `atexit` and is done here, too.
    """
    try:
        app.main()
        status: str | int | None = 0
    except SystemExit as done:
        status = done.code
    watched = sys.gettrace() or sys.getprofile()  # who watches has something to write
    if watched or not isinstance(status, int):
        sys.exit(status)
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, OSError, ValueError):  # closed or gone: `app.main` has said so
            stream.flush()
    os._exit(status)


if __name__ == "__main__":
    main()
