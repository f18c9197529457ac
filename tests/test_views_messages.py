"""What goes to stderr."""

from __future__ import annotations

import pytest

from colde_cli.views import messages

Capture = pytest.CaptureFixture[str]


def test_every_message_is_one_plain_line_on_stderr(capsys: Capture) -> None:
    messages.warn("a [bold]path[/bold]/with\nbreaks and " + "a long tail " * 30)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("Warning: a [bold]path[/bold]/with breaks and a long tail")
    assert captured.err.count("\n") == 1


def test_a_path_is_said_as_it_is(capsys: Capture) -> None:
    messages.warn("Skipped a:tada:[red]b.txt")
    assert capsys.readouterr().err == "Warning: Skipped a:tada:[red]b.txt\n"


@pytest.mark.parametrize("total", [None, 5])
def test_progress_waits_a_moment_and_then_counts(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch, total: int | None
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    with messages.progress("Reading", "files", total) as advance:
        advance(2)
    assert "Reading" not in capsys.readouterr().err
    monkeypatch.setattr(messages, "_DELAY", 0.0)
    with messages.progress("Reading", "files", total) as advance:
        advance(2)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "Reading" in captured.err
    assert ("2/5" if total else "2 files") in captured.err


def test_there_is_no_progress_off_a_terminal_or_when_quiet(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(messages, "_DELAY", 0.0)
    with messages.progress("Reading", "files", 5) as advance:
        advance(5)
    monkeypatch.setenv("FORCE_COLOR", "1")
    with messages.progress("Reading", "files", 5, show=False) as advance:
        advance(5)
    assert capsys.readouterr().err == ""
