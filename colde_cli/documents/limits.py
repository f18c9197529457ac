"""Limit a reader process from inside, and write the lines of its answer (`sandbox.py` starts it).

Reader scripts run isolated (`python -I -S`). From colde they import only files like this one that need nothing but the
standard library.
"""

from __future__ import annotations

import contextlib
import json
import signal
import sys
from collections.abc import Mapping
from typing import Any

ON = "[x]"
"""Text of a checkbox or a radio button of a PDF that is on."""
HIDDEN = 2 | 32
"""The flags Hidden and NoView of what a PDF does not show (ISO 32000-1, table 165)."""


def limit_process(request: Mapping[str, Any]) -> None:
    """Limit memory, processor time and core dumps, where the system can.

    Args:
        request: `memory` (bytes), `seconds` (processor time), `core` (bytes).
    """
    try:
        import resource
    except ImportError:
        return
    wanted = (
        (resource.RLIMIT_AS, "memory"),
        (resource.RLIMIT_CPU, "seconds"),
        (resource.RLIMIT_CORE, "core"),
    )
    for kind, name in wanted:
        _, most = resource.getrlimit(kind)
        value = request[name] if most == resource.RLIM_INFINITY else min(request[name], most)
        with contextlib.suppress(ValueError, OSError):  # some systems know a limit but refuse to set it
            resource.setrlimit(kind, (value, most))


def limit_step(seconds: float) -> None:
    """End the process if the next step takes longer than this."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, seconds)


def write(kind: str, **values: object) -> None:
    """Write a line of the answer; it may be lost if the process dies."""
    sys.stdout.write(json.dumps({"kind": kind, **values}))
    sys.stdout.write("\n")


def send(kind: str, **values: object) -> None:
    """Send a line of the answer at once."""
    write(kind, **values)
    sys.stdout.flush()
