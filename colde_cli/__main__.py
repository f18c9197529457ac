"""The command `colde`, and `python -m colde_cli`.

Until `main` has begun, Ctrl-C prints Python's traceback. So this file, and what it imports, takes next to no time: only
modules that are part of Python itself or loaded when it starts. `signal` is not, but what is in C of it.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import atexit
import gc
import os
import sys

TYPE_CHECKING = False  # as in colde_cli/__init__.py
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

INTERRUPTED = 130
"""Exit status after Ctrl-C, as shells have it."""


def _end_at_once(*_: object) -> None:
    """End on Ctrl-C where there is nothing to undo.

    KeyboardInterrupt would not do: some of what runs while modules are imported prints it and goes on.
    """
    kill_idle = getattr(sys.modules.get("colde_cli.documents.sandbox"), "kill_idle", None)
    if kill_idle is not None:
        kill_idle()
    os._exit(INTERRUPTED)


def _on_interrupt(handler: Callable[..., Any]) -> None:
    """Choose what Ctrl-C does, unless who started this process lets it ignore Ctrl-C."""
    if _signal.getsignal(_signal.SIGINT) != _signal.SIG_IGN:
        _signal.signal(_signal.SIGINT, handler)


def _status() -> str | int | None:
    """Run the command line; the status with which it ends."""
    try:
        try:
            from colde_cli.commands import app

            _on_interrupt(_signal.default_int_handler)
            app.main()
        finally:
            _on_interrupt(_end_at_once)
    except SystemExit as done:
        return done.code
    except KeyboardInterrupt:  # as `app.main` began or ended
        return INTERRUPTED
    return 0


def _is_watched() -> bool:
    """Whether a debugger, profiler or tracer follows the program: it has something to write at the end."""
    tools = getattr(sys, "monitoring", None)  # of Python 3.12: profilers have left `setprofile`
    return bool(sys.gettrace() or sys.getprofile() or (tools and any(map(tools.get_tool, range(6)))))


def main() -> NoReturn:
    """Run the command line and exit with its status.

    Python would free every object of the program one by one before it ends, which took a third of `colde --help`. What
    has to happen at the end, such as ending the readers, is registered with `atexit` and is done here, too.
    """
    try:
        _on_interrupt(_end_at_once)
    except KeyboardInterrupt:  # just before it took hold
        os._exit(INTERRUPTED)
    # Imports and reading make many objects and hardly a cycle: at the usual threshold, looking for cycles took 4 to
    # 7 % of a comparison.
    gc.set_threshold(200_000, 20, 20)
    status = _status()
    if _is_watched() or not isinstance(status, int):
        sys.exit(status)
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (AttributeError, OSError, ValueError):  # closed or gone: `app.main` has said so
            continue
    os._exit(status)


if __name__ == "__main__":
    main()
