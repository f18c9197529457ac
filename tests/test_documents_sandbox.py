"""Readers in processes of their own, broken off."""

from __future__ import annotations

import time
from concurrent.futures import Future
from pathlib import Path

import pytest
from command_line import V1

from colde_cli.documents.reading import read
from colde_cli.documents.sandbox import readers, sandboxed

_SLOW = "import time\nprint('{}', flush=True)\ntime.sleep(120)\nprint('{}', flush=True)\n"


def test_an_interrupt_ends_the_readers_and_begins_no_other(tmp_path: Path) -> None:
    program = tmp_path / "slow.py"
    program.write_text(_SLOW)
    begun: list[object] = []
    ended: list[object] = []

    def answers() -> list[dict[str, object]]:
        with Path(V1).open("rb") as file, sandboxed(program, file, {}, 120) as messages:
            begun.append(next(messages))
            rest = list(messages)
            ended.extend(rest)
            return rest

    def interrupted() -> None:
        with readers(1) as pool:
            waiting.extend(pool.submit(answers) for _ in range(2))
            while not begun:
                time.sleep(0.01)
            raise KeyboardInterrupt

    waiting: list[Future[list[dict[str, object]]]] = []
    with pytest.raises(KeyboardInterrupt):
        interrupted()
    # It was ended and did not end, which takes it two minutes.
    assert waiting[0].result() == []
    assert waiting[1].cancelled()
    assert not ended
    assert read(V1).text
