"""Readers of text take time that grows with the length of a file: much of its worst characters ends within a limit.

A pass that is quadratic would take hours, so the limit of processor time can be generous.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

N = 150_000
SECONDS = 60
_WORST = {
    ".txt": [
        *("ab-\n" * (N // 4), "some words of a line\n" * (N // 20), "Chapter i . . . i\n" * (N // 18)),
        *("Chapter i . . . i\n\n" * (N // 19), "Chapter i " + ". " * (N // 2) + "i", "- a\n" * (N // 4)),
        *(" " * N + "x", "x\f\n" * (N // 3), "[Page " + "a" * N, "ABC\n\n" * (N // 5)),
    ],
    ".tex": [
        *("\\def\\a" + " " * N + "x", "\\newcommand" + " " * N + "x", "\\newcommand\\a" + " " * N),
        *("\\let\\a" + "\n" * N, "\\'{" + " " * N, "\\begin" + " " * N),
        *("\\a[{]" * (N // 10) + "}]" * (N // 10), "$a\n\n" * (N // 4), "\\footnote{" * (N // 10)),
    ],
    ".md": ["# Chapter i " + ". " * (N // 2) + "i", "<!--" * (N // 4), "[^" * (N // 20), "> " * (N // 2)],
}
_READ = f"""
import resource, sys
resource.setrlimit(resource.RLIMIT_CPU, ({SECONDS}, {SECONDS}))
from colde_cli.documents import reading
from colde_cli.documents.reading import read
from colde_cli.errors import DocumentError
reading.LARGE_TEXT_BYTES = 1 << 40  # here, where the limit of this test holds
for path in sys.argv[1:]:
    try:
        read(path)
    except DocumentError:
        pass
    print(path)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="limits are those of POSIX")
@pytest.mark.parametrize("suffix", list(_WORST))
def test_very_many_of_the_worst_characters(tmp_path: Path, suffix: str) -> None:
    paths = [tmp_path / f"{number}{suffix}" for number in range(len(_WORST[suffix]))]
    for path, text in zip(paths, _WORST[suffix], strict=True):
        path.write_text(text)
    done = subprocess.run(
        [sys.executable, "-c", _READ, *map(str, paths)], stdout=subprocess.PIPE, text=True, check=False
    )
    assert done.stdout.split() == [str(path) for path in paths]
