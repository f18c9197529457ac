"""Long output on a terminal goes through a pager: tried in a pseudo-terminal, with small pagers of our own."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import shlex
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from colde_cli.views.output import Format

ROOT = Path(__file__).resolve().parent.parent
_PRINT = "import sys; from pathlib import Path; from colde_cli.views.output import Format, deliver;"
LINES, COLUMNS = 24, 80


def on_a_terminal(command: list[str], **env: str) -> tuple[int, str]:
    """Run a command on a terminal of 24 lines; its status and what the terminal showed."""
    own, other = pty.openpty()
    fcntl.ioctl(own, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
    environment = {key: value for key, value in os.environ.items() if key not in ("LESS", "PAGER", "LINES")}
    environment |= {"TERM": "xterm-256color", "PYTHONPATH": str(ROOT), "PYTHONUTF8": "1", **env}
    process = subprocess.Popen(command, stdin=other, stdout=other, stderr=other, env=environment)
    os.close(other)
    shown = b""
    while select.select([own], [], [], 60)[0]:
        try:
            read = os.read(own, 65536)
        except OSError:  # Linux says so when the other side is closed
            break
        if not read:
            break
        shown += read
    os.close(own)
    return process.wait(), shown.decode("utf-8", "replace").replace("\r\n", "\n")


def delivered(
    text: str, pager: bool | None, chosen: Format = Format.TABLE, times: int = 1, **env: str
) -> tuple[int, str]:
    code = f"{_PRINT} deliver({text!r} * {times}, None, Format({chosen.value!r}), {pager}); sys.exit(1)"
    return on_a_terminal([sys.executable, "-c", code], **env)


@pytest.fixture
def pager(tmp_path: Path) -> str:
    """A pager that puts a mark before and after what it is given."""
    script = tmp_path / "a pager.py"
    script.write_text("import sys; print('<<', sys.stdin.read(), '>>', sep='')")
    return shlex.join([sys.executable, str(script)])


LONG = "".join(f"line {number}\n" for number in range(LINES))
SHORT = "".join(f"line {number}\n" for number in range(LINES - 1))


@pytest.mark.parametrize(
    ("text", "asked", "chosen", "paged"),
    [
        (LONG, None, Format.TABLE, True),
        (SHORT, None, Format.TABLE, False),
        (SHORT, True, Format.TABLE, True),
        (LONG, False, Format.TABLE, False),
        (LONG, None, Format.JSON, False),
        (LONG, True, Format.JSON, True),
    ],
)
def test_what_is_longer_than_the_screen_is_paged(
    pager: str, text: str, asked: bool | None, chosen: Format, paged: bool
) -> None:
    assert delivered(text, asked, chosen, PAGER=pager) == (1, f"<<{text}>>\n" if paged else text)


@pytest.mark.parametrize("command", ["", "cat", "/bin/cat", "no-such-pager-anywhere", "'unfinished", "/"])
def test_without_a_pager_it_is_printed(command: str) -> None:
    assert delivered(LONG, True, PAGER=command) == (1, LONG)


def test_a_dumb_terminal_and_a_pipe_have_no_pager(pager: str) -> None:
    assert delivered(LONG, True, PAGER=pager, TERM="dumb") == (1, LONG)
    code = f"{_PRINT} deliver({LONG!r}, None, Format.TABLE, True)"
    environment = {**os.environ, "PAGER": pager, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, check=True)
    assert done.stdout.decode() == LONG


def test_quitting_early_is_no_failure() -> None:
    line = "a long line of words\n"
    assert delivered(line, None, times=100_000, PAGER="head -n 2") == (1, 2 * line)
    assert delivered(line, None, times=100_000, PAGER="true") == (1, "")


def test_ctrl_c_is_the_pagers(tmp_path: Path) -> None:
    script = tmp_path / "pager.py"
    script.write_text(
        "import os, signal, sys, time\n"
        "signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "time.sleep(0.5)\n"
        "os.kill(os.getppid(), signal.SIGINT)\n"
        "print(len(sys.stdin.read()))\n"
    )
    command = shlex.join([sys.executable, str(script)])
    assert delivered("word\n", None, times=50_000, PAGER=command) == (1, "250000\n")


def test_less_is_told_to_keep_colours_and_to_quit_where_all_fits(tmp_path: Path) -> None:
    less = tmp_path / "less"
    less.write_text(
        f"#!{sys.executable}\nimport os, sys\nsys.stdin.read()\nprint(os.environ['LESS'], sys.argv[1:])\n"
    )
    less.chmod(0o755)
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    assert delivered(LONG, None, PATH=path) == (1, "FRX ['-R']\n")
    assert delivered(LONG, None, PATH=path, LESS="-S", PAGER="less -i") == (1, "-S ['-i', '-R']\n")


def test_diff_keeps_its_status_and_its_colours(tmp_path: Path, pager: str) -> None:
    a, b = tmp_path / "a.txt", tmp_path / "b.txt"
    a.write_text("The parts of one unit cost 58 dollars in the market of our town.")
    b.write_text("The parts of one unit cost 63 dollars in the market of our town.")
    command = [sys.executable, "-m", "colde_cli", "diff", "--quiet", str(a), str(b)]
    status, shown = on_a_terminal([*command, "--pager"], PAGER=pager, COLORTERM="truecolor")
    assert status == 1
    assert shown.startswith("<<")
    assert "\x1b[" in shown
    assert on_a_terminal(command, PAGER="true", COLDE_PAGER="1") == (1, "")
