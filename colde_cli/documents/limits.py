"""Limit a reader process from inside, and write the lines of its answer (`sandbox.py` starts it).

Reader scripts run isolated (`python -I -S`). From colde they import only files like this one that need nothing but the
standard library. `worker.py` gives them their requests.
"""

from __future__ import annotations

import contextlib
import json
import math
import signal
import sys
import time
from collections.abc import Mapping
from typing import Any

ON = "[x]"
"""Text of a checkbox or a radio button of a PDF that is on."""
HIDDEN = 2 | 32
"""The flags Hidden and NoView of what a PDF does not show (ISO 32000-1, table 165)."""


def limit_process(request: Mapping[str, Any], used: float = 0.0) -> None:
    """Limit memory, processor time and core dumps, where the system can.

    Args:
        request: `memory` (bytes) and `seconds` (processor time).
        used: processor time that earlier requests took.
    """
    try:
        import resource
    except ImportError:
        return
    wanted = (
        (resource.RLIMIT_AS, int(request["memory"])),
        (resource.RLIMIT_CPU, math.ceil(used + request["seconds"])),
        (resource.RLIMIT_CORE, 0),
    )
    for kind, amount in wanted:
        _, most = resource.getrlimit(kind)
        value = amount if most == resource.RLIM_INFINITY else min(amount, most)
        with contextlib.suppress(ValueError, OSError):  # some systems know a limit but refuse to set it
            resource.setrlimit(kind, (value, most))


def processor_seconds() -> float:
    """Processor time that this process took so far."""
    return time.process_time()


def resident_bytes() -> int:
    """The most memory that this process ever held, in bytes; 0 where the system does not tell."""
    # The figure of getrusage includes the memory of the parent, up to `exec`, on Linux.
    with contextlib.suppress(OSError), open("/proc/self/status", "rb") as status:  # noqa: PTH123
        return sum(int(line.split()[1]) << 10 for line in status if line.startswith(b"VmHWM:"))
    try:
        import resource
    except ImportError:
        return 0
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most << 10


def limit_step(seconds: float) -> None:
    """End the process if the next step takes longer than this; 0 ends the limit."""
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
