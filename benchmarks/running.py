"""Run `colde` in processes of its own: confined, killed, measured."""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import os
import random
import resource
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterable
from pathlib import Path

SYLLABLES = "ba ke li mo nu ra se ti vo za pel dar gon fis".split()
_LOADED = (
    *("numpy", "onnxruntime", "tokenizers", "rich.console", "rich.markdown"),
    *("colde_cli.commands.app", "colde_cli.model_api", "colde_cli.views.json"),
)
_FAILED = 70
_CAPABILITIES = 0x20080522  # version of the structures of capget(2)


def load(more: Iterable[str] = ()) -> None:
    """Load the libraries of `colde`, so that processes forked later begin with the work."""
    for name in (*_LOADED, *more):
        importlib.import_module(name)


def forked(arguments: Iterable[object], out: int, err: int, prepare: Callable[[], None] | None = None) -> int:
    """Run the command line in a process forked from this one; its number.

    Args:
        arguments: of `colde`.
        out: file descriptor of its standard output.
        err: that of standard error.
        prepare: called in the new process before it begins.
    """
    process = os.fork()
    if process:
        return process
    from colde_cli.commands.app import main
    from colde_cli.documents.sandbox import end_idle

    status = _FAILED
    try:
        for number, opened in enumerate((os.open(os.devnull, os.O_RDONLY), out, err)):
            os.dup2(opened, number)
        if prepare is not None:
            prepare()
        sys.argv = ["colde", *map(str, arguments)]
        main()
        status = 0
    except SystemExit as ended:
        status = int(ended.code or 0)
    except BaseException:
        traceback.print_exc()
    finally:
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
        end_idle()
        os._exit(status)


def drop_rights() -> None:
    """Make permissions count for root too, in this process and in the programs that it starts (Linux)."""
    if sys.platform != "linux" or os.geteuid():
        return
    libc, header, sets = ctypes.CDLL(None), (ctypes.c_uint32 * 2)(_CAPABILITIES, 0), (ctypes.c_uint32 * 6)()
    for capability in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
        libc.prctl(24, capability, 0, 0, 0)  # PR_CAPBSET_DROP
    libc.capget(header, sets)
    sets[0] &= ~(1 << 1 | 1 << 2)
    libc.capset(header, sets)


def children_seconds() -> float:
    """Processor seconds of all processes under this one that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def saved_by_office(files: Iterable[Path], folder: Path, kind: str) -> None:
    """Let LibreOffice save files in another format, "pdf" or "txt:Text (encoded):UTF8", in one start."""
    profile = f"-env:UserInstallation={(folder / 'profile').resolve().as_uri()}"
    command = ["soffice", profile, "--headless", "--convert-to", kind, "--outdir", str(folder), *map(str, files)]
    subprocess.run(command, check=True, capture_output=True, timeout=900)


def made_up_text(generator: random.Random) -> str:
    """A document of three sections in words that nobody knows."""
    parts = []
    for number in range(1, 4):
        words = ["".join(generator.choices(SYLLABLES, k=2)) for _ in range(120)]
        parts.append(f"# {number} {words[0]}\n\n{' '.join(words)}.\n")
    return "\n".join(parts)


def made_up_corpus(folder: Path, documents: int, generator: random.Random) -> None:
    """Write made-up documents into a folder; one more is a PDF that cannot be read."""
    folder.mkdir(parents=True)
    for number in range(documents):
        (folder / f"{number:03}.md").write_text(made_up_text(generator), encoding="utf-8")
    (folder / "bad.pdf").write_bytes(b"%PDF-1.7 and nothing more")
