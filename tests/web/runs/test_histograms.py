"""How rewards are spread is counted once for all pages, and again where a criterion has graded more."""

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest
from starlette.requests import Request

from fairmark.store.evals.scores import Histogram
from fairmark.web.runs import histograms
from fairmark.web.runs.histograms import histogram
from tests.web.browser import in_thread
from tests.web.evals.test_charting import run


class Scores:
    """Counts how often it is asked; the first time it fails, if it is told to."""

    def __init__(self, fails: bool = False) -> None:
        self.asked, self.fails = 0, fails

    async def histogram(self, *_: Any) -> Histogram:
        self.asked += 1
        await asyncio.sleep(0)
        if self.fails and self.asked == 1:
            raise OSError("the disk is gone")
        return Histogram(1, 0.5, 0.5, 0.5, [])


def asking(monkeypatch: pytest.MonkeyPatch, scores: Scores) -> Request:
    shared = SimpleNamespace(store=SimpleNamespace(scores=scores))
    monkeypatch.setattr(histograms, "state", lambda _: shared)
    return cast("Request", None)


def test_it_is_counted_once_until_the_criterion_has_graded_more(monkeypatch: pytest.MonkeyPatch) -> None:
    scores = Scores()
    request = asking(monkeypatch, scores)

    async def look() -> None:
        same = [histogram(request, run("h", criteria_counts={"a-1": [1, 0, 0, 0]}), 0, "a-1") for _ in range(3)]
        assert [(await one).mean for one in same] == [0.5] * 3
        assert scores.asked == 1
        await histogram(request, run("h", criteria_counts={"a-1": [2, 0, 0, 0]}), 0, "a-1")
        assert scores.asked == 2

    in_thread(asyncio.run, look())


def test_one_that_could_not_be_counted_is_counted_again(monkeypatch: pytest.MonkeyPatch) -> None:
    scores = Scores(fails=True)
    request = asking(monkeypatch, scores)

    async def look() -> None:
        failing = run("f", criteria_counts={"a-1": [1, 0, 0, 0]})
        with pytest.raises(OSError, match="disk"):
            await histogram(request, failing, 0, "a-1")
        assert (await histogram(request, failing, 0, "a-1")).count == 1

    in_thread(asyncio.run, look())
