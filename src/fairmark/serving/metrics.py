"""What the server counts, in Prometheus' text format. Numbers only: no names of files or people."""

import os
import resource
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

from fairmark.serving.telemetry import Telemetry
from fairmark.work import counts
from fairmark.work.counts import BOUNDS_S, CountedValue, Counter, Durations, Family, Labels, gauge

__all__ = ["BOUNDS_S", "Metrics"]

_started = time.time()


class Metrics:
    """The counters of one server in this process."""

    def __init__(self, telemetry: Telemetry | None = None) -> None:
        """`telemetry`: is told of every request and grade too."""
        self.telemetry = telemetry
        self.requests = Counter("fairmark_requests_total", "Requests answered, by route and status.", "route", "status")
        self.seconds = Durations(
            "fairmark_request_seconds", "Time from a request's head to its answer's end, by route.", "route"
        )
        self.rows = Counter(
            "fairmark_rows_graded_total", "Rows graded, by kind of grader and status.", "kind", "status"
        )
        self.tokens = Counter(
            "fairmark_judge_tokens_total", "Tokens spent on models, by model and direction.", "model", "direction"
        )
        self.dollars = Counter(
            "fairmark_judge_dollars_total", "Dollars spent on models whose price is known.", form=".6f"
        )
        self.completions = Counter(
            "fairmark_completions_total",
            "Completions and responses that were to be stored, by what became of them.",
            "fate",
        )
        self.completions.add("stored", by=0)
        self.in_flight = 0
        self.body_bytes = 0

    def kept(self, fate: str) -> None:
        """An exchange that was to be stored is, or is not for this reason."""
        self.completions.add(fate)

    def spent(self, model: str, prompt_tokens: int, completion_tokens: int) -> None:
        self.tokens.add(model, "prompt", by=prompt_tokens)
        self.tokens.add(model, "completion", by=completion_tokens)

    def families(self) -> list[Family]:
        """All that this process can tell."""
        return [
            self.requests.family(),
            self.seconds.family(),
            gauge("fairmark_requests_in_flight", "Requests being answered now.", {(): self.in_flight}),
            gauge("fairmark_body_bytes", "Long bodies of requests in memory now.", {(): self.body_bytes}),
            self.rows.family(),
            self.tokens.family(),
            self.dollars.family(),
            self.completions.family(),
            *counts.families(),
            *_process(),
        ]

    def render(self, shared: Iterable[Family] = ()) -> str:
        """The text for a scrape of a server of one process. `shared`: what was looked up for it."""
        return counts.render([(None, [*shared, *self.families()])])


def by_status(name: str, values: Mapping[str, float]) -> Family:
    """`runs` and the like, looked up in the store."""
    numbers: dict[Labels, float] = {(status,): value for status, value in values.items()}
    return gauge(f"fairmark_{name}", f"{name.capitalize()} by status.", numbers, "status")


def stored_completions(stored: tuple[int, int]) -> list[Family]:
    """How many completions there are, and how many bytes they have."""
    return [
        gauge("fairmark_completions_stored", "Completions and responses in the store.", {(): stored[0]}),
        gauge("fairmark_completions_stored_bytes", "How long they are, with their inputs.", {(): stored[1]}),
    ]


def _process() -> list[Family]:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    seconds = f"{usage.ru_utime + usage.ru_stime:.2f}"
    told = [
        Family(
            "process_cpu_seconds_total", "counter", "CPU time of the server's process.", [CountedValue("", [], seconds)]
        ),
        Family(
            "process_start_time_seconds",
            "gauge",
            "When the process started, in Unix seconds.",
            [CountedValue("", [], f"{_started:.2f}")],
        ),
    ]
    pages = _resident_pages()
    if pages is not None:
        resident: dict[Labels, float] = {(): float(pages * os.sysconf("SC_PAGE_SIZE"))}
        told.append(gauge("process_resident_memory_bytes", "Memory of the server's process.", resident))
    return told


def _resident_pages() -> int | None:
    try:
        return int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:  # not Linux
        return None
