"""Where the time of a command goes."""

from __future__ import annotations

import re
import threading
import time

import pytest
from command_line import V1, V2, run

from colde_cli.documents import stages


@pytest.fixture(autouse=True)
def nothing_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stages, "_watch", stages._Stopwatch())


def seconds(summary: str) -> dict[str, float]:
    """The stages of a summary, `total` among them."""
    plain = summary.replace("Took ", "total ").replace(": ", ", ")
    return {name.strip(): float(value) for name, value in re.findall(r"([a-z ]+) (\d+\.\d\d) s", plain)}


def test_a_stage_counts_without_the_stages_within_it() -> None:
    with stages.stage("outer"):
        time.sleep(0.05)
        with stages.stage("inner"):
            time.sleep(0.2)
        with stages.stage("short"):
            pass
    shown = seconds(stages.summary())
    assert set(shown) - {"short"} == {"total", "outer", "inner", "start and rest"}
    assert shown["inner"] >= 0.2
    assert shown["outer"] >= 0.05
    assert sum(shown.values()) == pytest.approx(2 * shown["total"], abs=0.03)


def test_an_error_ends_a_stage_and_other_threads_do_not_count() -> None:
    with pytest.raises(ZeroDivisionError), stages.stage("failing"):
        raise ZeroDivisionError
    assert not stages._watch.running

    @stages.stage("beside")
    def work() -> None:
        time.sleep(0.02)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert "beside" not in stages.summary()


@pytest.mark.slow
def test_verbose_says_where_the_time_went(capsys: pytest.CaptureFixture[str]) -> None:
    told = " ".join(run(capsys, "diff", V1, V2, "-v").err.split()).rpartition("Took ")[2]
    assert {"encoding", "aligning", "start and rest"} < set(seconds(told))
    assert "Took" not in run(capsys, "text", V1, "--quiet").err
    assert "Took" in run(capsys, "text", V1, "-v").err
