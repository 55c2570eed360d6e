"""Servers that are killed at any moment. Whatever was stored is there, once, and nobody is asked for it again."""

import asyncio
import random
import signal
import time
from collections.abc import Iterator
from typing import Any

import pytest

from fairmark.store import Run, Store
from tests.evals.house import Models, open_house
from tests.evals.working import EXACT, JUDGE, PROJECT, SAMPLED, check_counts, items, new_file, new_run, now, python
from tests.server.client import Server
from tests.store.conftest import Place
from tests.thoroughness import is_whole

KILLS = 30 if is_whole() else 3
ROWS = 80
"""More than are graded in one go."""
LONGEST_LIFE_S = 1.0
CRITERIA = [
    {**EXACT, "input": "{{ sample.output_text }}", "reference": "{{ item.a }}"},
    python("return float(sample['output_text'] == item['a'])"),
    {**JUDGE, "model": "judge"},
]


class Victim:
    """A server, again and again on the same database, and what its store held whenever it died."""

    def __init__(self, place: Place, models: Models) -> None:
        self.place = place
        self.models = models
        self._environment = models.environment | ({} if place.url is None else {"FAIRMARK_DB": place.url})
        self.asked_before = 0

    def live(self, questions: int, seconds: float) -> None:
        """A short life, with an end like a power cut: some time after it has asked so many questions."""
        server = self.live_on()
        until = time.monotonic() + LONGEST_LIFE_S
        while len(self.models.requests) - self.asked_before < questions and time.monotonic() < until:
            time.sleep(0.005)
        time.sleep(seconds)
        server.stop(signal.SIGKILL)

    def live_on(self) -> Server:
        self.asked_before = len(self.models.requests)
        return Server(self.place.home, self._environment)

    def asked_since_start(self) -> set[str]:
        """The items that models were asked about in the last life."""
        said = self.models.asked_of("student", self.asked_before)
        judged = self.models.asked_of("judge", self.asked_before)
        return {f"student {text.removeprefix('Say ')}" for text in said} | {f"judge {item_of(text)}" for text in judged}


def item_of(text: str) -> str:
    return text.removeprefix("How good is ").split("?")[0]


@pytest.fixture
def models() -> Iterator[Models]:
    with open_house() as opened:
        opened.house.latency_s = 0.005
        yield opened


async def stored(store: Store, run: Run) -> set[str]:
    """What need not be asked any more."""
    samples = await store.samples.get(run, 0, ROWS)
    graded = await store.items.done(run)
    return {f"student {run.id} {index}" for index in samples} | {
        f"judge {run.id} {index}" for index in range(ROWS) if graded[index]
    }


async def post(store: Store, lives: int) -> Run:
    """A run whose items name it, by its file in every second one."""
    name = f"run{lives}"
    given: list[dict[str, Any]] = [{"item": {"a": f"{name} {index}"}} for index in range(ROWS)]
    if lives % 2:
        return await new_run(store, CRITERIA, given, {**SAMPLED, "model": "student"})
    lines = "\n".join(f'{{"a": "{name} {index}"}}' for index in range(ROWS))
    return await new_run(store, CRITERIA, await new_file(store, lines.encode()), {**SAMPLED, "model": "student"})


async def test_a_server_killed_at_any_moment_loses_nothing_and_does_nothing_twice(place: Place, models: Models) -> None:
    chance = random.Random(len(str(place.url)))
    victim = Victim(place, models)
    store = await place.open(exclusive=False)
    run: Run | None = None
    name, kills, known = "", 0, set[str]()
    while kills < KILLS or run is not None:
        if run is None:
            name, known = f"run{kills}", set()
            run = await post(store, kills)
        if kills < KILLS:
            await asyncio.to_thread(victim.live, chance.randrange(ROWS), chance.uniform(0.0, 0.1))
            kills += 1
        else:
            server = await asyncio.to_thread(victim.live_on)
            until = time.monotonic() + 60
            while (await now(store, run)).status != "completed":
                assert time.monotonic() < until
                await asyncio.sleep(0.05)
            await asyncio.to_thread(server.stop)
        again = {text for text in victim.asked_since_start() if f" {name} " in text} & known
        assert not again
        known = {text.replace(run.id, name) for text in await stored(store, run)}
        found = await now(store, run)
        seen = await items(store, run)
        if found.status == "completed":
            check_counts(found, seen, ROWS)
            assert found.passed == ROWS
            assert await store.runs.get(PROJECT, run.eval_id, run.id) == found
            usage = {model: counts[0] for model, counts in found.usage.items()}
            assert usage == {"student": ROWS, "judge": ROWS}
            run = None
        else:
            assert found.passed + found.failed + found.errored + found.skipped == len(seen)
    assert "Traceback" not in (place.home.parent / f"{place.home.name}.log").read_text()
