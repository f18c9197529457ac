"""Counts and times of the service, in the text format of Prometheus (exposition format 0.0.4)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from colde_cli.service.requests import Workers

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
        lines = [
            *_metric("colde_answers_total", "counter", "Answers by address and status."),
            *(
                f'colde_answers_total{{path="{path}",status="{status}"}} {number}'
                for (path, status), number in sorted(self._answers.items())
            ),
            *_metric("colde_answer_seconds_total", "counter", "Seconds from requests to the beginning of answers."),
            *(
                f'colde_answer_seconds_total{{path="{path}"}} {sum_:.6f}'
                for path, sum_ in sorted(self._seconds.items())
            ),
            *_metric("colde_jobs_running", "gauge", "Requests that are worked on."),
            f"colde_jobs_running {running}",
            *_metric("colde_jobs_waiting", "gauge", "Requests that wait to be worked on."),
            f"colde_jobs_waiting {workers.known - running}",
        ]
        return "\n".join([*lines, ""])


def _metric(name: str, kind: str, text: str) -> Iterator[str]:
    yield f"# HELP {name} {text}"
    yield f"# TYPE {name} {kind}"
