"""Counts and times of the service, in the text format of Prometheus (exposition format 0.0.4)."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from colde_cli.service.jobs import Workers

_PATHS = frozenset("/ /login /docs /v1/rank /v1/diff /v1/report /v1/documents /v1/health /v1/ready /v1/metrics".split())


class Metrics:
    """What was answered since the service began. It is used in the thread of the event loop alone."""

    def __init__(self) -> None:
        self._answers: Counter[tuple[str, int]] = Counter()
        self._seconds: defaultdict[str, float] = defaultdict(float)

    def count(self, path: str, status: int, seconds: float) -> None:
        """Count an answer that began so many seconds after its request; addresses that there are not count as one."""
        path = path if path in _PATHS else "other"
        self._answers[path, status] += 1
        self._seconds[path] += seconds

    def text(self, workers: Workers) -> str:
        """All values, one a line; they tell nothing of the corpus, nor of who asked."""
        running = min(workers.known, workers.threads)
        answers = {
            f'{{path="{path}",status="{status}"}}': count for (path, status), count in sorted(self._answers.items())
        }
        seconds = {f'{{path="{path}"}}': f"{sum_:.6f}" for path, sum_ in sorted(self._seconds.items())}
        lines = []
        for name, kind, meaning, values in (
            ("answers_total", "counter", "Answers by address and status.", answers),
            ("answer_seconds_total", "counter", "Seconds from requests to the beginning of answers.", seconds),
            ("jobs_running", "gauge", "Requests that are worked on.", {"": running}),
            ("jobs_waiting", "gauge", "Requests that wait to be worked on.", {"": workers.known - running}),
        ):
            lines += [f"# HELP colde_{name} {meaning}", f"# TYPE colde_{name} {kind}"]
            lines += [f"colde_{name}{labels} {value}" for labels, value in values.items()]
        return "\n".join([*lines, ""])
