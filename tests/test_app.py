"""The entry point: help, versions, and errors that become one line and status 2."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import typer
from command_line import OTHER, ROOT, V1, V2, Run, check_trouble, run, run_here, run_process, run_python
from pypdf import PdfWriter

import colde_cli
from colde_cli.commands.app import app

Capture = pytest.CaptureFixture[str]
PLAIN = str(ROOT / "CONTRIBUTING.md")


def test_the_runtime_neither_sends_nor_keeps_anything_about_the_user(tmp_path: Path) -> None:
    """ONNX Runtime's telemetry makes a folder of its own in the user's cache, but for runs in CI."""
    env = {"XDG_CACHE_HOME": str(tmp_path), "HOME": str(tmp_path), "CI": "", "ORT_DISABLE_TELEMETRY": ""}
    assert run_process("diff", V1, V1, "--level", "document", env=env).status == 0
    assert {entry.name for entry in tmp_path.iterdir()} <= {"colde"}


@pytest.mark.parametrize("flag", ["-h", "--help"])
@pytest.mark.parametrize("command", [(), ("diff",), ("rank",)])
def test_help_is_everywhere(capsys: Capture, command: tuple[str, ...], flag: str) -> None:
    result = run(capsys, *command, flag)
    assert (result.status, result.err) == (0, "")
    assert "Usage: " + " ".join(("colde", *command)) in result.out


def test_every_option_has_a_variable_of_its_name() -> None:
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    options = [
        (name, option)
        for name, command in commands.items()
        for option in command.params
        if option.param_type_name == "option"
    ]
    others = {
        (name, option.opts[0]): option.envvar
        for name, option in options
        if option.envvar != "COLDE_" + option.opts[0].lstrip("-").replace("-", "_").upper()
    }
    assert others == {
        ("export", "--precision"): None, ("index", "--compact"): None, ("index", "--status"): None,
        ("index", "--verify"): None, ("models", "--verify"): None, ("text", "--for-git"): None,
        ("train", "--precision"): "COLDE_TRAIN_PRECISION",
    }  # fmt: skip
    assert {option.envvar for _, option in options if "--no-combine" in option.secondary_opts} == {"COLDE_COMBINE"}


def test_the_version_is_that_of_the_package(capsys: Capture) -> None:
    assert run(capsys, "--version").out == f"colde {colde_cli.__version__}\n"


@pytest.mark.parametrize(
    "arguments", [("difff", "a", "b"), ("index", "a"), ("diff", "a"), ("diff", "a", "b", "--fromat"), ("rank", "a"), ()]
)
def test_wrong_usage_is_status_2(capsys: Capture, arguments: tuple[str, ...]) -> None:
    assert run(capsys, *arguments).status == 2


@pytest.mark.parametrize("command", ["diff", "rank", "text", "train", "evaluate", "calibrate", "export", "models"])
def test_help_names_values_and_not_the_types_of_python(capsys: Capture, command: str) -> None:
    shown = run(capsys, command, "--help").out
    assert "--help" in shown
    assert not re.search(r"<\w|list\[", shown)


def without_text(path: Path) -> None:
    writer = PdfWriter()
    writer.add_blank_page(width=200, height=200)
    writer.write(path)


def encrypted(path: Path) -> None:
    writer = PdfWriter(clone_from=OTHER)
    writer.encrypt("secret", algorithm="AES-256")
    writer.write(path)


BAD_INPUT: dict[str, bytes | Callable[[Path], object]] = {
    "missing.pdf": lambda path: None, "folder": Path.mkdir, "photo.png": b"\x89PNG\r\n\x1a\n1234",
    "corrupt.pdf": b"%PDF-1.7\n" + b"\x00\xff garbage " * 50, "scan.pdf": without_text, "locked.pdf": encrypted,
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_INPUT)
def test_a_bad_document_is_one_sentence_that_names_it(capsys: Capture, tmp_path: Path, name: str) -> None:
    path, target, made = tmp_path / name, tmp_path / "out.json", BAD_INPUT[name]
    path.write_bytes(made) if isinstance(made, bytes) else made(path)
    result = run(capsys, "diff", V1, path, "-o", target)
    check_trouble(result)
    assert path.name in result.err
    assert not target.exists()


def test_an_unknown_model_and_device_are_trouble(capsys: Capture) -> None:
    result = run(capsys, "diff", V1, V2, "--model", "nonesuch")
    check_trouble(result)
    assert "nonesuch" in result.err
    assert "colde-minilm-l6" in result.err
    check_trouble(run(capsys, "diff", V1, V2, "--device", "abacus"))
    check_trouble(run(capsys, "diff", V1, V2, "--precision", "int3"))


def test_debug_shows_the_traceback_and_keeps_the_status(capsys: Capture, tmp_path: Path) -> None:
    result = run(capsys, "diff", V1, tmp_path / "missing.pdf", "--debug")
    assert result.status == 2
    assert "Traceback" in result.err
    assert "MissingFileError" in result.err


def test_a_cache_that_cannot_be_used_costs_a_warning_and_not_the_run(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    env = {"COLDE_CACHE_DIR": str(blocked / "cache")}
    result = run_here("diff", V1, V2, env=env)
    assert result.status == 1
    assert all(line.startswith("Warning: The cache ") for line in result.err.splitlines())
    assert result.err
    assert run_here("diff", V1, V2, "-q", env=env).err == ""


def test_errors_are_red_on_a_terminal_and_plain_elsewhere(tmp_path: Path) -> None:
    arguments, forced = ("diff", V1, tmp_path / "missing.pdf"), {"FORCE_COLOR": "1"}
    assert "\x1b" not in run_here(*arguments).err
    assert "\x1b[31m" in run_here(*arguments, env=forced).err
    assert "\x1b[31m" not in run_here(*arguments, env={**forced, "NO_COLOR": "1"}).err


def test_names_that_would_steer_the_terminal_are_defused(capsys: Capture, tmp_path: Path) -> None:
    result = run(capsys, "diff", V1, tmp_path / "evil\x1b[2J\nname.pdf")
    check_trouble(result)
    assert "\x1b" not in result.err


@pytest.mark.slow
@pytest.mark.parametrize(("words", "status"), [("--version", 0), ("diff none.pdf none.pdf", 2)])
def test_the_end_is_short_but_not_too_short(words: str, status: int) -> None:
    """What is registered for the end is done and what was printed arrives, though no object is freed."""
    code = (
        f"import atexit, sys; sys.argv = ['colde', *{words.split()}]; from colde_cli.__main__ import main\n"
        "class Kept:\n    def __del__(self): print('freed')\n"
        "kept = Kept(); atexit.register(print, 'registered'); main()"
    )
    done = run_python(code)
    assert done.status == status
    assert ("registered" in done.out, "freed" in done.out) == (True, False)
    assert ("colde" in done.out) is (status == 0)


def test_a_profiler_can_write_what_it_saw(tmp_path: Path) -> None:
    written = tmp_path / "profile"
    arguments = [sys.executable, "-m", "cProfile", "-o", str(written), "-m", "colde_cli", "--version"]
    assert subprocess.run(arguments, cwd=ROOT, capture_output=True, check=False).returncode == 0
    assert written.stat().st_size > 0


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="closes standard input of a shell")
@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_a_closed_standard_stream_is_not_taken_for_a_pipe_to_a_reader() -> None:
    command = f"{sys.executable} -m colde_cli diff {PLAIN} {PLAIN} --level document <&-"
    done = subprocess.run(["bash", "-c", command], cwd=ROOT, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def wait_until_it_reads(process: subprocess.Popen[bytes]) -> None:
    """Give a process a part of its input, and wait until it has taken it: now it waits for the rest."""
    import fcntl
    import termios

    assert process.stdin is not None
    process.stdin.write(b"A part of a text.")
    process.stdin.flush()
    waiting = bytes(4)
    while int.from_bytes(waiting := fcntl.ioctl(process.stdin, termios.FIONREAD, waiting), sys.byteorder):
        assert process.poll() is None
        time.sleep(0.01)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_an_interrupt_is_status_130_without_a_traceback() -> None:
    # A shell starts what runs in the background with interrupts ignored, and so would be this test's process.
    heard = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    code = f"{heard}; from colde_cli.commands.app import main; main()"
    arguments = [sys.executable, "-c", code, "diff", "-", V1]
    with subprocess.Popen(arguments, cwd=ROOT, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        wait_until_it_reads(process)
        process.send_signal(signal.SIGINT)
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait() == 130
        assert process.stderr is not None
        assert process.stderr.read() == b""


# Runs `colde`. As the moment comes, it says so and waits for its end. Moments are counted by what Python does (opens a
# file, runs a module), so that no clock decides; none is counted before Ctrl-C is heard, nor after a command began.
_STOPPED = """
import os, runpy, signal, sys
moment, seen, over = int(sys.argv.pop(1)), 0, False
signal.signal(signal.SIGINT, signal.default_int_handler)

def count(event, arguments):
    global seen, over
    begins = getattr(signal.getsignal(signal.SIGINT), "__name__", "") == "_end_at_once"
    over = over or (seen > 0 and not begins)
    seen += begins and not over
    if seen == moment:
        seen += 1
        os.write(1, b"now")
        signal.pause()

sys.addaudithook(count)
runpy.run_module("colde_cli", run_name="__main__", alter_sys=True)
"""


def members_of(group: int) -> list[str]:
    """The commands of the processes of a group that run."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            state, _, its_group = (process / "stat").read_text().rpartition(")")[2].split()[:3]
            if state != "Z" and int(its_group) == group:
                found.append((process / "cmdline").read_text())
    return found


def wait_until_gone(group: int) -> None:
    """Wait for processes that were killed, which takes them a moment; one that was forgotten would wait for ever."""
    for _ in range(6000):
        if not (left := members_of(group)):
            return
        time.sleep(0.01)
    pytest.fail(f"still there after a minute: {left}")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
@pytest.mark.parametrize("to_group", [False, True], ids=["kill", "terminal"])
def test_an_interrupt_while_the_program_loads_ends_it_in_silence(to_group: bool) -> None:
    """It leaves no process behind: a terminal tells all of them of Ctrl-C, a `kill` does not."""
    interrupted = 0
    # Early there is one process, and it makes no difference which of them hear of it.
    for moment in (120, 240, 480, 600) if to_group else (1, 20, 240, 360, 600):
        arguments = [sys.executable, "-c", _STOPPED, str(moment), "diff", V1, V2, "--level", "document"]
        with subprocess.Popen(
            arguments, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
        ) as process:
            assert process.stdout is not None
            if process.stdout.read(3) != b"now":
                process.kill()
                break  # this version of Python does less until the command begins
            (os.killpg if to_group else os.kill)(process.pid, signal.SIGINT)
            assert process.communicate(timeout=120) == (b"", b""), moment
            assert process.returncode == 130, moment
        interrupted += 1
        wait_until_gone(process.pid)
    assert interrupted > 1


def test_next_to_nothing_is_loaded_until_ctrl_c_is_heard() -> None:
    """Each module that Python has not loaded by itself takes a moment in which Ctrl-C would print a traceback."""
    code = "import sys; before = {*sys.modules}; import colde_cli.__main__; print(*{*sys.modules} - before)"
    done = run_python(code)
    assert done.status == 0, done.err
    assert {*done.out.split()} <= {"colde_cli", "colde_cli.__main__", "__future__", "atexit", "gc"}


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_an_interrupt_that_a_library_turns_into_an_error_is_an_interrupt() -> None:
    """Extensions that are just being imported say "initialization failed" in place of KeyboardInterrupt."""
    turned = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)

def turn(event, arguments):
    if event == "import" and arguments[0] == "colde_cli.encoder.layout":
        try:
            os.kill(os.getpid(), signal.SIGINT)
        except KeyboardInterrupt:
            raise ImportError("initialization failed") from None

sys.argv = ["colde", "models"]
sys.addaudithook(turn)
from colde_cli.commands.app import main
main()
"""
    assert run_python(turned) == Run(130, "", "")


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_who_starts_colde_can_let_it_ignore_interrupts() -> None:
    ignored = """
import os, runpy, signal, sys
signal.signal(signal.SIGINT, signal.SIG_IGN)
sys.addaudithook(lambda event, _: event == "import" and os.kill(os.getpid(), signal.SIGINT))
runpy.run_module("colde_cli", run_name="__main__", alter_sys=True)
"""
    assert run_python(ignored, "--version") == Run(0, f"colde {colde_cli.__version__}\n", "")


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_a_reader_that_goes_away_is_no_reason_to_complain() -> None:
    command = f"{sys.executable} -m colde_cli diff {PLAIN} {PLAIN} --format json | head -c 10"
    done = subprocess.run(["bash", "-c", command], cwd=ROOT, capture_output=True, check=False)
    assert done.stderr == b""


def test_a_fault_of_ours_is_trouble_and_not_a_difference(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from colde_cli.commands import diff

    def broken(*_: object) -> None:
        raise ZeroDivisionError("a fault")

    monkeypatch.setattr(diff, "choose_format", broken)
    result = run(capsys, "diff", V1, V1)
    check_trouble(result)
    assert "ZeroDivisionError" in result.err
    assert "--debug" in result.err


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device")
@pytest.mark.parametrize("arguments", [("diff", PLAIN, PLAIN), ("doctor", "--format", "json")])
def test_output_that_cannot_be_written_is_one_sentence(arguments: tuple[str, ...]) -> None:
    command = shlex.join([sys.executable, "-m", "colde_cli", *arguments])
    ends = ((">/dev/full", "No space left on device"), (">&-", "Bad file descriptor"))
    for end, reason in ends if arguments[0] == "diff" else ends[:1]:
        done = subprocess.run(["bash", "-c", f"{command} {end}"], cwd=ROOT, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (2, f"Error: Standard output cannot be used: {reason}.\n")


def test_closed_streams_do_not_matter_to_who_needs_none(tmp_path: Path) -> None:
    file = tmp_path / "report.md"
    command = shlex.join([sys.executable, "-m", "colde_cli", "diff", PLAIN, str(ROOT / "SECURITY.md"), "-o", str(file)])
    assert subprocess.run(["bash", "-c", f"{command} <&- >&- 2>&-"], cwd=ROOT, check=False).returncode == 1
    assert file.stat().st_size > 1000


def test_a_name_that_no_file_can_have(capsys: Capture) -> None:
    check_trouble(run(capsys, "diff", V1, V1, "-o", "x" * 300 + ".md"))


def test_a_shell_that_knows_no_width_gets_the_usual_one() -> None:
    assert run_here("diff", V1, V1, env={"COLUMNS": "0"}).out == run_here("diff", V1, V1).out != ""


def test_a_long_backbone_is_cut_in_an_encoding_without_dots() -> None:
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "COLUMNS": "80"}
    result = run_process("models", env=plain)
    assert (result.status, result.err) == (0, "")
    assert "colde-minilm-l6" in result.out
