"""Output: formats, files that appear whole, characters that an encoding lacks, and the pager."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import resource
import select
import shlex
import struct
import subprocess
import sys
import termios
from html import unescape
from pathlib import Path

import pytest
from command_line import ROOT

from colde_cli.errors import OptionError
from colde_cli.views import output
from colde_cli.views.output import BASIC, Format, choose_format, deliver


@pytest.mark.parametrize(
    ("asked", "name", "expected"),
    [
        (None, None, Format.TABLE), (None, "out.json", Format.JSON), (None, "out.JSON", Format.JSON),
        (None, "out.txt", Format.TABLE), (None, "out", Format.TABLE), (Format.JSON, None, Format.JSON),
        (Format.JSON, "out.txt", Format.JSON), (Format.TABLE, "out.xyz", Format.TABLE),
        (None, "out.md", Format.MARKDOWN), (None, "out.csv", Format.CSV), (None, "out.html", Format.HTML),
    ],
)  # fmt: skip
def test_the_format_is_the_one_asked_for_else_that_of_the_suffix(
    tmp_path: Path, asked: Format | None, name: str | None, expected: Format
) -> None:
    offered = BASIC if expected in BASIC else tuple(Format)
    assert choose_format(asked, tmp_path / name if name else None, offered=offered) is expected


@pytest.mark.parametrize("name", ["out.html", "out.md", "out.csv"])
def test_formats_that_a_command_does_not_write_say_so(tmp_path: Path, name: str) -> None:
    with pytest.raises(OptionError, match="does not write"):
        choose_format(None, tmp_path / name)


def test_an_unknown_suffix_a_folder_and_a_missing_folder_are_refused_before_the_work(tmp_path: Path) -> None:
    for place in (tmp_path / "out.odt", tmp_path, tmp_path / "missing" / "out.json"):
        with pytest.raises(OptionError, match=str(place.parent)):
            choose_format(None, place)


def test_an_unknown_suffix_is_told_those_that_the_command_writes(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"use \.txt or \.json, or add --format"):
        choose_format(None, tmp_path / "out.odt")


def test_blocks_are_written_one_after_the_other(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    blocks = ["Zwölf ", "→ ", "", "12\n"]
    for whole in ("".join(blocks), iter(blocks)):
        deliver(whole, None)
        assert capsys.readouterr().out == "".join(blocks)
    deliver("".join(blocks), tmp_path / "whole.json")
    deliver(iter(blocks), tmp_path / "blocks.json")
    assert (tmp_path / "whole.json").read_bytes() == (tmp_path / "blocks.json").read_bytes()


def test_a_block_that_fails_leaves_the_old_file(tmp_path: Path) -> None:
    target = tmp_path / "out.txt"
    target.write_text("old")
    with pytest.raises(ZeroDivisionError):
        deliver((str(1 // number) for number in (1, 0)), target)
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_what_cannot_be_written_leaves_the_old_file_and_no_rest(tmp_path: Path) -> None:
    target = tmp_path / "out.txt"
    target.write_text("old")
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limit[1]))  # stands in for a disk that is full
    try:
        with pytest.raises(OptionError, match="cannot be written"):
            deliver("long" * 1000, target)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_half_a_character_of_a_file_name_is_escaped(tmp_path: Path) -> None:
    deliver('"a lone surrogate \udcff"', tmp_path / "out.json")
    assert json.loads((tmp_path / "out.json").read_bytes()) == "a lone surrogate \udcff"


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-8"])
def test_standard_output_that_is_not_utf_8_gets_what_the_format_has_for_missing_characters(
    encoding: str,
) -> None:
    shown = "─┃→… – “é” 関 👍 \udcff"
    code = (
        "import json; from colde_cli.views.output import Format, deliver; text = json.loads(input())\n"
        "deliver(text + '\\n', None)\n"
        "deliver(json.dumps(text, ensure_ascii=False) + '\\n', None, Format.JSON)\n"
        "deliver(text + '\\n', None, Format.MARKDOWN)"
    )
    environment = {**os.environ, "PYTHONIOENCODING": encoding, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=json.dumps(shown).encode(),
        env=environment,
        capture_output=True,
        check=True,
    )
    table, value, markdown = done.stdout.decode(encoding).splitlines()
    assert json.loads(value) == shown
    if encoding == "ascii":
        assert table == '-|>~ - "?" ?? ?? ?'
    assert unescape(markdown).replace("\N{REPLACEMENT CHARACTER}", "\udcff") == shown


# The pager, tried in a pseudo-terminal with small pagers of our own

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
    while select.select([own], [], [], 120)[0]:
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
        (LONG, None, Format.TABLE, True), (SHORT, None, Format.TABLE, False), (SHORT, True, Format.TABLE, True),
        (LONG, False, Format.TABLE, False), (LONG, None, Format.JSON, False), (LONG, True, Format.JSON, True),
    ],
)  # fmt: skip
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
        "import os, signal, sys\n"
        "signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "first = sys.stdin.read(1)\n"
        "os.kill(os.getppid(), signal.SIGINT)\n"
        "print(len(first + sys.stdin.read()))\n"
    )
    command = shlex.join([sys.executable, str(script)])
    assert delivered("word\n", None, times=50_000, PAGER=command) == (1, "250000\n")


def path_with_less(folder: Path, code: str) -> str:
    """The folders of commands, the first with a pager of our own by the name of less."""
    less = folder / "less"
    less.write_text(f"#!{sys.executable}\nimport os, sys\n{code}\n")
    less.chmod(0o755)
    return f"{folder}{os.pathsep}{os.environ['PATH']}"


def test_less_is_told_to_keep_colours_and_to_quit_where_all_fits(tmp_path: Path) -> None:
    path = path_with_less(tmp_path, "sys.stdin.read()\nprint(os.environ['LESS'], sys.argv[1:])")
    assert delivered(LONG, None, PATH=path) == (1, "FRX ['-R']\n")
    assert delivered(LONG, None, PATH=path, LESS="-S", PAGER="less -i") == (1, "-S ['-i', '-R']\n")


@pytest.mark.slow
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


Capture = pytest.CaptureFixture[str]


def test_every_message_is_one_plain_line_on_stderr(capsys: Capture) -> None:
    output.warn("a [bold]path[/bold]/with\nbreaks and " + "a long tail " * 30)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("Warning: a [bold]path[/bold]/with breaks and a long tail")
    assert captured.err.count("\n") == 1


def test_a_path_is_said_as_it_is(capsys: Capture) -> None:
    output.warn("Skipped a:tada:[red]b.txt")
    assert capsys.readouterr().err == "Warning: Skipped a:tada:[red]b.txt\n"
