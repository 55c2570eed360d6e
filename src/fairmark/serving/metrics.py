"""What the server counts, in Prometheus' text format. Numbers only: no names of projects, files or people."""

import os
import resource
import time
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from fairmark.result import Result

BOUNDS_S = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 60.0)
MODELS_AT_MOST = 500
"""Names of models come from users; a label for each name ever sent would have no end."""

_started = time.time()


class Metrics:
    """The counters of this process. Plain dicts: everything happens on one event loop."""

    def __init__(self) -> None:
        self.requests: defaultdict[tuple[str, int], int] = defaultdict(int)
        self.rows: defaultdict[tuple[str, str], int] = defaultdict(int)
        self.tokens: defaultdict[tuple[str, str], int] = defaultdict(int)
        self.dollars = 0.0
        self._buckets: dict[str, list[int]] = {}
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self.in_flight = 0
        self.body_bytes = 0

    def request(self, route: str, status: int, seconds: float) -> None:
        """A request has been answered. `route` is the route's pattern, never a path with ids in it."""
        self.requests[route, status] += 1
        buckets = self._buckets.get(route)
        if buckets is None:
            buckets = self._buckets[route] = [0] * (len(BOUNDS_S) + 1)
        buckets[bisect_left(BOUNDS_S, seconds)] += 1
        self._seconds[route] += seconds

    def graded(self, results: Iterable[Result]) -> None:
        for result in results:
            self.rows[result.spec.type, result.status] += 1
            for judgement in result.grade.judgements:
                if judgement.attempts:  # otherwise it came from the cache and cost nothing
                    self.spent(judgement.model, judgement.usage.prompt_tokens, judgement.usage.completion_tokens)
                    self.dollars += judgement.cost or 0.0

    def spent(self, model: str, prompt_tokens: int, completion_tokens: int) -> None:
        if (model, "prompt") not in self.tokens and len(self.tokens) >= 2 * MODELS_AT_MOST:
            model = "other"
        self.tokens[model, "prompt"] += prompt_tokens
        self.tokens[model, "completion"] += completion_tokens

    def render(self, gauges: Mapping[str, Mapping[str, float]]) -> str:
        """The text for a scrape. `gauges`: runs by status and the like, looked up for it."""
        return "".join(f"{line}\n" for line in self._lines(gauges))

    def _lines(self, gauges: Mapping[str, Mapping[str, float]]) -> Iterator[str]:
        yield from _heading("fairmark_requests_total", "counter", "Requests answered, by route and status.")
        for (route, status), count in sorted(self.requests.items()):
            yield f'fairmark_requests_total{{route="{_escape(route)}",status="{status}"}} {count}'
        yield from _heading("fairmark_request_seconds", "histogram", "Time from a request's head to its answer's end.")
        for route, buckets in sorted(self._buckets.items()):
            label, total = f'route="{_escape(route)}"', 0
            for bound, count in zip((*map(str, BOUNDS_S), "+Inf"), buckets, strict=True):
                total += count
                yield f'fairmark_request_seconds_bucket{{{label},le="{bound}"}} {total}'
            yield f"fairmark_request_seconds_sum{{{label}}} {self._seconds[route]:.6f}"
            yield f"fairmark_request_seconds_count{{{label}}} {total}"
        yield from _heading("fairmark_requests_in_flight", "gauge", "Requests being answered now.")
        yield f"fairmark_requests_in_flight {self.in_flight}"
        yield from _heading("fairmark_body_bytes", "gauge", "Long bodies of requests in memory now.")
        yield f"fairmark_body_bytes {self.body_bytes}"
        yield from _heading("fairmark_rows_graded_total", "counter", "Rows graded, by kind of grader and status.")
        for (kind, status_name), count in sorted(self.rows.items()):
            yield f'fairmark_rows_graded_total{{kind="{_escape(kind)}",status="{status_name}"}} {count}'
        yield from _heading("fairmark_judge_tokens_total", "counter", "Tokens spent on models, by model and direction.")
        for (model, direction), count in sorted(self.tokens.items()):
            yield f'fairmark_judge_tokens_total{{model="{_escape(model)}",direction="{direction}"}} {count}'
        yield from _heading("fairmark_judge_dollars_total", "counter", "Dollars spent on models whose price is known.")
        yield f"fairmark_judge_dollars_total {self.dollars:.6f}"
        for name, values in gauges.items():
            yield from _heading(f"fairmark_{name}", "gauge", f"{name.capitalize()} by status.")
            for status_name, value in sorted(values.items()):
                yield f'fairmark_{name}{{status="{_escape(status_name)}"}} {value:g}'
        yield from _process()


def _process() -> Iterator[str]:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    yield from _heading("process_cpu_seconds_total", "counter", "CPU time of the server's process.")
    yield f"process_cpu_seconds_total {usage.ru_utime + usage.ru_stime:.2f}"
    yield from _heading("process_start_time_seconds", "gauge", "When the process started, in Unix seconds.")
    yield f"process_start_time_seconds {_started:.2f}"
    pages = _resident_pages()
    if pages is not None:
        yield from _heading("process_resident_memory_bytes", "gauge", "Memory of the server's process.")
        yield f"process_resident_memory_bytes {pages * os.sysconf('SC_PAGE_SIZE')}"


def _resident_pages() -> int | None:
    try:
        return int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:  # not Linux
        return None


def _heading(name: str, kind: str, help_text: str) -> tuple[str, str]:
    return f"# HELP {name} {help_text}", f"# TYPE {name} {kind}"


def _escape(label: str) -> str:
    printable = label.encode("utf-8", "backslashreplace").decode()
    return printable.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
