"""Signals: heard between batches once there is something to save, at once before and when repeated."""

from __future__ import annotations

import signal

import pytest

from colde_cli.learning.interruption import TIME_UP, Interruption


def test_a_signal_before_training_interrupts_at_once() -> None:
    with pytest.raises(KeyboardInterrupt), Interruption():
        signal.raise_signal(signal.SIGINT)
    with pytest.raises(SystemExit) as ended, Interruption():
        signal.raise_signal(signal.SIGTERM)
    assert ended.value.code == 143


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_during_training_is_noted(number: signal.Signals, status: int) -> None:
    before = signal.getsignal(number)
    with Interruption() as interruption:
        assert not interruption.asked()
        signal.raise_signal(number)
        assert interruption.asked()
        assert interruption.status == status
        with pytest.raises((KeyboardInterrupt, SystemExit)):
            signal.raise_signal(number)
    assert signal.getsignal(number) is before


def test_the_time_is_up_after_a_batch_at_least() -> None:
    with Interruption(1e-9) as interruption:
        assert [interruption.asked() for _ in range(3)] == [False, True, True]
        assert interruption.status == TIME_UP
    with Interruption(3600) as interruption:
        assert not any(interruption.asked() for _ in range(3))
