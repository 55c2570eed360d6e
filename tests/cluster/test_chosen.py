"""Which cluster a call means, and what is wrong with a call that means none."""

import asyncio
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import pytest

import fairmark
from fairmark.cluster import chosen as choosing
from fairmark.cluster import on_ray
from fairmark.cluster.chosen import Machines, chosen
from fairmark.errors import ClusterLost, ClusterUnusable
from fairmark.row import make_row
from fairmark.run import grade_chunk, shared_context
from fairmark.settings import settings
from tests.cluster.near import EXACT as SAME
from tests.cluster.near import NearPost

EXACT = {"type": "string_check", "input": "a", "reference": "a", "operation": "eq"}


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"engine": "spark"}, "engine: found 'spark'. Use one of: local, ray."),
        ({"engine": "ray", "address": ""}, "address: found ''."),
        ({"engine": "ray", "actors": 0}, "actors: found 0. It takes a number from 1 to"),
        ({"engine": "ray", "actors": True}, "actors: found True."),
        ({"actors": 2}, "actors: they are processes of a cluster"),
        ({"engine": "ray", "workers": 2}, "workers: it counts processes of this machine"),
        ({"engine": "ray", "judge": fairmark.FakeJudge(1.0)}, "judge: other machines ask the configured models"),
    ],
)
def test_a_wrong_call_is_told_before_anything_begins(wrong: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError, match=told.replace("(", r"\(")):
        fairmark.grade_many(EXACT, [{}], **wrong)


def test_the_local_engine_is_the_one_that_is_always_there() -> None:
    assert chosen("local", "auto", None, grade_chunk) is None
    assert fairmark.grade_many(EXACT, [{}], engine="local")[0].reward == 1.0


def test_the_same_cluster_is_opened_once() -> None:
    assert chosen("ray", "a:1", None, grade_chunk) is chosen("ray", "a:1", None, grade_chunk)
    assert chosen("ray", "a:1", None, grade_chunk) is not chosen("ray", "a:1", 3, grade_chunk)


def test_without_the_package_the_call_says_how_to_get_it() -> None:
    with pytest.raises(fairmark.FairmarkError, match=r"needs the package ray: pip install 'fairmark\[ray\]'"):
        fairmark.grade_many(EXACT, [{}], engine="ray")


def test_nobody_who_did_not_ask_for_it_imports_it() -> None:
    code = (
        "import sys, fairmark, fairmark.cli; "
        f"fairmark.grade_many({EXACT!r}, [{{}}]); "
        "sys.exit('ray' in sys.modules or 'fairmark.cluster.on_ray' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


class Door:
    """Where a cluster is, or not: each look finds what is next."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *is_there: bool) -> None:
        self.is_there = list(is_there)
        self.looks = 0
        monkeypatch.setattr(on_ray, "start", self.start)
        monkeypatch.setattr(choosing, "TRY_AGAIN_S", 0.01)

    def start(self, address: str, actors: int, grade: Any) -> Sequence[NearPost]:
        self.looks += 1
        if not (self.is_there.pop(0) if len(self.is_there) > 1 else self.is_there[0]):
            raise ClusterUnusable("nobody answers there")
        return [NearPost()]


def graded(machines: Machines) -> float:
    (result,) = asyncio.run(machines.grade(SAME, [make_row({"r": "x"}, "x")], shared_context(None, None)))
    assert result is not None
    return result.reward


def test_a_cluster_that_never_was_is_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    door = Door(monkeypatch, False)
    machines = Machines("a:1", 1, grade_chunk)
    for ask in (lambda: graded(machines), lambda: asyncio.run(machines.open())):
        with pytest.raises(ClusterUnusable, match="nobody answers there"):
            ask()
    assert door.looks == 2


def test_a_cluster_that_was_there_is_waited_for_and_a_server_that_begins_anew_asks_nobody(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    door = Door(monkeypatch, False, False, True)
    machines = Machines("a:1", 1, grade_chunk)
    asyncio.run(machines.open(again=True))
    assert door.looks == 0
    assert graded(machines) == 1.0
    assert door.looks == 3


def test_a_cluster_that_does_not_come_back_ends_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    door = Door(monkeypatch, False)
    monkeypatch.setenv("FAIRMARK_RAY_TIMEOUT_S", "1")
    settings.cache_clear()
    machines = Machines("a:1", 1, grade_chunk)
    asyncio.run(machines.open(again=True))
    try:
        with pytest.raises(ClusterLost, match=r"no cluster for 1 s\. The last time: nobody answers there"):
            graded(machines)
    finally:
        settings.cache_clear()
    assert door.looks > 1
