"""A discrete-event model of a run: rows go from their owner to workers, ask judges, come back and are stored.

It knows no more than what was measured: what a row costs each of those who touch it, how long judges take, what they
allow. Rows move in grains, some at a time, and a grain holds whoever works on it for the sum of its rows. Every wait is
a queue in order of arrival; the clock jumps from event to event. The same seed gives the same run.

    owner's loop ── network ── a worker's core ── (judges: places, requests and tokens a minute) ── network ──┐
         └── at most two grains under way for each worker ◄── store: batches, one writer ◄── owner's loop ◄───┘
"""

import heapq
import math
import random
from collections import deque
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field, replace

GRAINS = 3_000
"""How many grains a run is cut into at most: more change the result by less than a hundredth."""
LEAST_ROWS = 32
WORTH_SENDING_S = 40e-6
"""What a row must take to be graded elsewhere on the same machine, as the engine has it."""
STEPS = 8
"""Turns on its event loop that sending a question takes, and reading its answer."""
UNDER_WAY = 2
"""Grains a worker may have before it, besides the one that it works on."""


@dataclass(frozen=True)
class Costs:
    """Seconds of a core that a row takes, by who works on it."""

    grade: float
    """The grader itself, wherever it runs."""
    carry: float = 0.0
    """The owner: reading the row, making its item of the result."""
    send: float = 0.0
    """The owner again, where others grade: framing the row, reading the grade."""
    take: float = 0.0
    """The worker, for the same two frames."""
    store: float = 0.0
    """Whoever writes: the row's part of a transaction."""
    ask: float = 0.0
    """The worker, for a question to a judge."""
    row_bytes: int = 1000


@dataclass(frozen=True)
class JudgeLimits:
    """A model behind an API. `latency_s` is the median of a log-normal time; None is no limit."""

    latency_s: float
    spread: float = 0.4
    at_once: int = 64
    requests_a_minute: float | None = None
    tokens_a_minute: float | None = None
    tokens: float = 600.0
    """Of a question and its answer."""

    @property
    def most_a_second(self) -> float:
        """What its own limits let through, whoever asks."""
        limits = [self.at_once / (self.latency_s * math.exp(self.spread**2 / 2))]
        if self.requests_a_minute is not None:
            limits.append(self.requests_a_minute / 60)
        if self.tokens_a_minute is not None:
            limits.append(self.tokens_a_minute / 60 / self.tokens)
        return min(limits)


@dataclass(frozen=True)
class Cluster:
    """Where it runs. One node: owner, store and workers share its cores. Several: an owner has a machine of its own."""

    nodes: int = 1
    cores: int = 1
    owners: int = 1
    """Runs that share the rows, each with an owner of its own."""
    writers: int = 1
    """How many write at once into the store."""
    round_trip_s: float = 0.0
    bytes_a_second: float = 1.25e9
    start_s: float = 0.0
    """What a worker takes until it can work, on its own core."""


@dataclass(frozen=True)
class Outcome:
    seconds: float
    rows: int
    busy: dict[str, float] = field(default_factory=dict)
    """By station the share of its time in which it worked; the one near 1 is the wall."""

    @property
    def per_second(self) -> float:
        return self.rows / self.seconds

    @property
    def wall(self) -> str:
        """What was busiest."""
        return max(self.busy, key=lambda name: self.busy[name])


class Clock:
    """Runs processes: generators that yield seconds to wait, or a Station to get a place at."""

    def __init__(self) -> None:
        self.now = 0.0
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._count = 0

    def at(self, when: float, what: Callable[[], None]) -> None:
        self._count += 1
        heapq.heappush(self._events, (when, self._count, what))

    def begin(self, process: "Process") -> None:
        self.at(self.now, lambda: self._go_on(process))

    def _go_on(self, process: "Process") -> None:
        try:
            wanted = next(process)
        except StopIteration:
            return
        if isinstance(wanted, Station):
            wanted.enter(lambda: self._go_on(process))
        else:
            self.at(self.now + wanted, lambda: self._go_on(process))

    def run(self) -> None:
        while self._events:
            self.now, _, what = heapq.heappop(self._events)
            what()


class Station:
    """So many places, given in order of arrival. Who has one gives it back with `leave`."""

    def __init__(self, clock: Clock, places: int) -> None:
        self._clock = clock
        self._free = self.places = places
        self._waiting: deque[Callable[[], None]] = deque()
        self.worked_s = 0.0
        """Told by those who work there: who only waits for something else keeps a place, and does not work."""

    def enter(self, then: Callable[[], None]) -> None:
        if self._free:
            self._free -= 1
            self._clock.at(self._clock.now, then)
        else:
            self._waiting.append(then)

    def leave(self) -> None:
        if self._waiting:
            self._clock.at(self._clock.now, self._waiting.popleft())
        else:
            self._free += 1

    def busy(self) -> float:
        """The share of all its places' time in which somebody worked, until now."""
        return self.worked_s / (self.places * self._clock.now) if self._clock.now else 0.0


class Rate:
    """So many a second: whoever comes is told how long to wait."""

    def __init__(self, clock: Clock, a_second: float) -> None:
        self._clock = clock
        self._a_second = a_second
        self._next = 0.0

    def reserve(self, count: float) -> float:
        start = max(self._clock.now, self._next)
        self._next = start + count / self._a_second
        return start - self._clock.now


Process = Generator["float | Station", None, None]


class _Judge:
    def __init__(self, clock: Clock, limits: JudgeLimits, dice: random.Random, grain: int) -> None:
        self.limits = limits
        # A grain's questions are asked together: they take as many places as there are, or as there are of them.
        self._each = min(grain, limits.at_once)
        self.places = Station(clock, max(1, limits.at_once // self._each))
        self._dice = dice
        self._requests = Rate(clock, limits.requests_a_minute / 60) if limits.requests_a_minute else None
        self._tokens = Rate(clock, limits.tokens_a_minute / 60) if limits.tokens_a_minute else None

    def answer(self, questions: int, half: Callable[[], Process]) -> Process:
        """`half`: half of what asking costs whoever asks, to send the questions and to read the answers. A place is
        held meanwhile: with many of them, those of one round wait for one another there."""
        limits = self.limits
        yield self.places
        waits = [0.0]
        if self._requests is not None:
            waits.append(self._requests.reserve(questions))
        if self._tokens is not None:
            waits.append(self._tokens.reserve(questions * limits.tokens))
        yield max(waits)
        yield from half()
        # Of many questions the mean is what counts for who takes the next place; of one its own time.
        rounds = questions / self._each
        if self._each == 1:
            latency = limits.latency_s * self._dice.lognormvariate(0, limits.spread)
        else:
            noise = self._dice.gauss(0, limits.spread / math.sqrt(self._each))
            latency = limits.latency_s * math.exp(limits.spread**2 / 2 + noise)
        yield latency * rounds
        yield from half()
        self.places.leave()


class _Run:
    def __init__(
        self, costs: Costs, cluster: Cluster, rows: int, judges: Sequence[JudgeLimits], seed: int, grain: int | None
    ) -> None:
        self.costs, self.cluster, self.rows = costs, cluster, rows
        self.clock = Clock()
        dice = random.Random(seed)
        alone = cluster.nodes == 1
        # On one core the owner grades himself, and on several what is not worth sending.
        self.is_apart = not alone or (cluster.cores > 1 and costs.grade + costs.ask > WORTH_SENDING_S)
        workers = cluster.nodes * cluster.cores
        self.grain = grain or max(LEAST_ROWS if not judges else 1, math.ceil(rows / GRAINS))
        self.cores = Station(self.clock, workers)
        self.owner_cores = self.cores if alone else Station(self.clock, 8 * cluster.owners)
        self.loops = Station(self.clock, cluster.owners)
        self.workers = Station(self.clock, workers if not judges else workers * 64)
        self.writers = Station(self.clock, cluster.writers)
        self.network = Station(self.clock, cluster.owners)
        self.window = Station(self.clock, (UNDER_WAY + 1) * self.workers.places)
        self.judges = [_Judge(self.clock, limits, dice, self.grain) for limits in judges]

    def outcome(self) -> Outcome:
        for _ in range(self.cluster.nodes * self.cluster.cores if self.is_apart and self.cluster.start_s else 0):
            self.clock.begin(self._start())
        self.clock.begin(self._feed())
        self.clock.run()
        stations = {"owner": self.loops, "workers": self.cores, "store": self.writers, "network": self.network}
        busy = {name: station.busy() for name, station in stations.items()}
        for number, judge in enumerate(self.judges, 1):
            busy[f"judge {number}"] = self.rows / len(self.judges) / self.clock.now / judge.limits.most_a_second
        return Outcome(self.clock.now, self.rows, busy)

    def _start(self) -> Process:
        yield from self._work(self.cores, self.cluster.start_s)

    def _feed(self) -> Process:
        """Grains are handed out in their order, as far as the window goes."""
        left, number = self.rows, 0
        while left:
            size = min(self.grain, left)
            yield self.window
            self.clock.begin(self._grain(size, number))
            left, number = left - size, number + 1

    def _grain(self, size: int, number: int) -> Process:
        costs = self.costs
        half = costs.carry / 2
        if not self.is_apart:
            yield from self._owner(size * (costs.carry + costs.grade))
            yield from self._asked(size, number, self._owner)
        else:
            yield from self._owner(size * (half + costs.send / 2))
            yield from self._moved(size)
            yield self.workers
            yield from self._work(self.cores, size * (costs.take + costs.grade))
            yield from self._asked(size, number, lambda seconds: self._work(self.cores, seconds))
            self.workers.leave()
            yield from self._moved(size)
            yield from self._owner(size * (half + costs.send / 2))
        # Who writes is a thread of the owner's process, and Python lets one of its threads work at a time.
        yield self.writers
        yield from self._owner(size * costs.store)
        self.writers.worked_s += size * costs.store
        self.writers.leave()
        self.window.leave()

    def _owner(self, seconds: float) -> Process:
        yield self.loops
        yield from self._work(self.owner_cores, seconds)
        self.loops.worked_s += seconds
        self.loops.leave()

    def _work(self, cores: Station, seconds: float) -> Process:
        yield cores
        yield seconds
        cores.worked_s += seconds
        cores.leave()

    def _moved(self, size: int) -> Process:
        cluster = self.cluster
        if cluster.nodes == 1:
            return
        seconds = size * self.costs.row_bytes / cluster.bytes_a_second
        yield self.network
        yield seconds
        self.network.worked_s += seconds
        self.network.leave()
        yield cluster.round_trip_s / 2

    def _asked(self, size: int, number: int, work: Callable[[float], Process]) -> Process:
        if self.judges:
            # An event loop lets all that it asks take a step in turn, so that those of a round go on together.
            step = size * self.costs.ask / 2 / STEPS

            def half() -> Process:
                for _ in range(STEPS):
                    yield from work(step)

            yield from self.judges[number % len(self.judges)].answer(size, half)


def simulate(
    costs: Costs,
    cluster: Cluster,
    rows: int,
    judges: Sequence[JudgeLimits] = (),
    seed: int = 0,
    grain: int | None = None,
) -> Outcome:
    """One run of so many rows, each asked of one of the judges, where there are any."""
    return _Run(costs, cluster, rows, judges, seed, grain).outcome()


def wall_by_nodes(
    costs: Costs, cluster: Cluster, rows: int, nodes: Sequence[int], judges: Sequence[JudgeLimits] = ()
) -> list[tuple[int, Outcome]]:
    """The same run on more and more nodes: where more of them stop helping is the wall."""
    return [(count, simulate(costs, replace(cluster, nodes=count), rows, judges)) for count in nodes]
