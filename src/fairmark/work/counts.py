"""What a process counts for those who look after it, in Prometheus' words: counters, gauges and histograms with labels.

Whoever does something counts it here; whoever serves tells it.
"""

import threading
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

BOUNDS_S = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 60.0)
VALUES_AT_MOST = 500
"""Labels may come from users, as names of models do; a line for each name ever sent would have no end."""
OTHER = "other"

Labels = tuple[str, ...]


class CountedValue(NamedTuple):
    suffix: str
    labels: list[tuple[str, str]]
    value: str


class Family(NamedTuple):
    """All samples of one name."""

    name: str
    kind: str
    help: str
    samples: list[CountedValue]
    labels: Labels = ()
    """The names of its samples' labels, also while there are none."""


class Counter:
    """So much of something, ever more, by labels. May be counted in any thread."""

    kind = "counter"

    def __init__(self, name: str, help_text: str, *labels: str, form: str = "g") -> None:
        self.name = name
        self.help = help_text
        self.labels = labels
        self._form = form
        self._lock = threading.Lock()
        self._first: set[str] = set()
        self.values: dict[Labels, float] = {} if labels else {(): 0}

    def add(self, *labels: str, by: float = 1) -> None:
        with self._lock:
            if labels not in self.values:
                labels = _bounded(self._first, labels)
            self.values[labels] = self.values.get(labels, 0) + by

    def family(self) -> Family:
        with self._lock:
            values = sorted(self.values.items())
        samples = [CountedValue("", _named(self.labels, labels), number(value, self._form)) for labels, value in values]
        return Family(self.name, self.kind, self.help, samples, self.labels)


class Durations:
    """How long something took, by labels. May be told in any thread."""

    def __init__(self, name: str, help_text: str, *labels: str) -> None:
        self.name = name
        self.help = help_text
        self.labels = labels
        self._lock = threading.Lock()
        self._first: set[str] = set()
        self._buckets: dict[Labels, list[int]] = {}
        self._seconds: dict[Labels, float] = {}

    def add(self, seconds: float, *labels: str) -> None:
        with self._lock:
            buckets = self._buckets.get(labels)
            if buckets is None:
                labels = _bounded(self._first, labels)
                buckets = self._buckets.setdefault(labels, [0] * (len(BOUNDS_S) + 1))
            buckets[bisect_left(BOUNDS_S, seconds)] += 1
            self._seconds[labels] = self._seconds.get(labels, 0.0) + seconds

    def family(self) -> Family:
        samples: list[CountedValue] = []
        with self._lock:
            taken = [
                (labels, list(buckets), self._seconds[labels]) for labels, buckets in sorted(self._buckets.items())
            ]
        for labels, buckets, seconds in taken:
            named, total = _named(self.labels, labels), 0
            for bound, count in zip((*map(str, BOUNDS_S), "+Inf"), buckets, strict=True):
                total += count
                samples.append(CountedValue("_bucket", [*named, ("le", bound)], str(total)))
            samples.append(CountedValue("_sum", named, f"{seconds:.6f}"))
            samples.append(CountedValue("_count", named, str(total)))
        return Family(self.name, "histogram", self.help, samples, (*self.labels, "le"))


def gauge(name: str, help_text: str, values: Mapping[Labels, float], *labels: str) -> Family:
    """Numbers that go up and down, as they are now."""
    samples = [CountedValue("", _named(labels, key), number(value)) for key, value in sorted(values.items())]
    return Family(name, "gauge", help_text, samples, labels)


def number(value: float, form: str = "g") -> str:
    return str(int(value)) if form == "g" and value == int(value) else f"{value:{form}}"


def _bounded(first: set[str], labels: Labels) -> Labels:
    """The labels, or others where there are too many whose first one differs."""
    if labels and labels[0] not in first:
        if len(first) >= VALUES_AT_MOST:
            return (OTHER, *labels[1:])
        first.add(labels[0])
    return labels


def _named(names: Sequence[str], values: Sequence[str]) -> list[tuple[str, str]]:
    return list(zip(names, values, strict=True))


_told: list[Callable[[], Iterable[Family]]] = []


def tell(families: Callable[[], Iterable[Family]]) -> None:
    """From now on these are told with the others of this process."""
    _told.append(families)


def counter(name: str, help_text: str, *labels: str, form: str = "g") -> Counter:
    """A counter of this process that is told with the others."""
    made = Counter(name, help_text, *labels, form=form)
    tell(lambda: [made.family()])
    return made


def histogram(name: str, help_text: str, *labels: str) -> Durations:
    made = Durations(name, help_text, *labels)
    tell(lambda: [made.family()])
    return made


def families() -> list[Family]:
    """All that is counted in this process."""
    return [family for source in _told for family in source()]


def render(by_process: Iterable[tuple[int | None, Sequence[Any]]]) -> str:
    """The text for a scrape. Several processes are told apart by a label: each begins with zero when it is begun anew,
    and their sum would fall."""
    merged: dict[str, Family] = {}
    for process, told in by_process:
        for name, kind, help_text, samples, *_ in told:
            own = [] if process is None else [("process", str(process))]
            family = merged.setdefault(name, Family(name, kind, help_text, []))
            family.samples.extend(
                CountedValue(suffix, [*map(tuple, labels), *own], value) for suffix, labels, value in samples
            )
    return "".join(f"{line}\n" for family in merged.values() for line in _lines(family))


def _lines(family: Family) -> Iterator[str]:
    yield f"# HELP {family.name} {family.help}"
    yield f"# TYPE {family.name} {family.kind}"
    for suffix, labels, value in family.samples:
        shown = ",".join(f'{name}="{_escape(label)}"' for name, label in labels)
        yield f"{family.name}{suffix}{{{shown}}} {value}" if shown else f"{family.name}{suffix} {value}"


def _escape(label: str) -> str:
    printable = label.encode("utf-8", "backslashreplace").decode()
    return printable.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
