"""Measure the coverage of reader processes too: a plugin of pytest, and what it starts instead of a reader.

Readers run isolated (`python -I -S`), where coverage.py cannot start by itself. With this plugin each reader starts it
first. How to use it stands in docs/development.md.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib import import_module

_ISOLATED = ["-I", "-S"]


class _MeasuredReader(subprocess.Popen[bytes]):
    """A process; if it is a reader, this file runs it."""

    def __init__(self, args: object, *others: object, **options: object) -> None:
        if isinstance(args, list) and args[1:3] == _ISOLATED:
            args = [*args[:3], __file__, *args[5:]]  # in place of "-c" and its code
        super().__init__(args, *others, **options)  # type: ignore[call-overload]


def pytest_configure() -> None:
    """Start readers through this file."""
    vars(subprocess)["Popen"] = _MeasuredReader


if __name__ == "__main__":
    sys.path.extend(json.loads(os.environ["COLDE_READER_PATH"]))
    import_module("coverage").process_startup()
    from colde_cli.documents.worker import main

    main()
