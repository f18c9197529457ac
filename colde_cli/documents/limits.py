"""What the reader scripts have in common that run in a process of their own (`sandboxed` starts them).

They are run apart from everything (`python -I -S`), and import of colde little but this, which needs only the
standard library.
"""

from __future__ import annotations

import contextlib
import json
import signal
import sys
from collections.abc import Mapping
from typing import Any


def limit_process(request: Mapping[str, Any]) -> None:
    """Memory and processor time, where the system can limit them.

    Args:
        request: `memory` in bytes, `seconds` of processor time, `core` in bytes.
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
        with contextlib.suppress(ValueError, OSError):  # a system that knows the limit and does not set it
            resource.setrlimit(kind, (value, most))


def limit_step(seconds: float) -> None:
    """The process ends if the next step takes longer than this."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, seconds)


def write(kind: str, **values: object) -> None:
    """One line of the answer, which may be lost if the process dies."""
    sys.stdout.write(json.dumps({"kind": kind, **values}))
    sys.stdout.write("\n")


def send(kind: str, **values: object) -> None:
    """One line of the answer, at once."""
    write(kind, **values)
    sys.stdout.flush()
