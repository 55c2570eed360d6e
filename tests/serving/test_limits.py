"""Who asks for more than a project may take is refused, with the reason and when to come again."""

from collections.abc import Iterator
from typing import Any

import pytest

from fairmark.errors import ApiError, NotGraded
from fairmark.judgement import Usage
from fairmark.judges.base import Budget
from fairmark.serving.limits import ProjectLimiter
from fairmark.store import Allowance, Store
from fairmark.store.access.limits import DAY_S, Spent
from fairmark.work import board as boards
from fairmark.work import fair
from fairmark.work.board import Board

NOON = 20_000 * DAY_S + DAY_S / 2


@pytest.fixture
def clock() -> list[float]:
    return [NOON]


@pytest.fixture
def limiter(store: Store, clock: list[float]) -> Iterator[ProjectLimiter]:
    yield ProjectLimiter(store, lambda: clock[0])
    fair.set_weights({})


@pytest.fixture
def two_processes() -> Iterator[list[Board]]:
    memory = Board.make(2)
    yield [Board(memory.fileno, 2, row) for row in range(2)]
    boards.share(None)
    memory.close()


def refusal(error: pytest.ExceptionInfo[ApiError]) -> tuple[Any, ...]:
    return error.value.status, error.value.code, error.value.headers["retry-after"]


async def test_requests_at_once_are_counted_in_and_out(store: Store, limiter: ProjectLimiter) -> None:
    await store.limits.set("a", Allowance(requests_at_once=2))
    assert not limiter.enter("a")  # nobody has looked yet
    await limiter.look()
    assert [limiter.enter("a"), limiter.enter("a"), limiter.enter("b")] == [True, True, False]
    with pytest.raises(ApiError, match="as many requests under way as it may have at once: 2") as error:
        limiter.enter("a")
    assert refusal(error) == (429, "project_requests_at_once", "1")
    limiter.leave("a")
    assert limiter.enter("a")


async def test_requests_at_once_are_those_of_all_processes(store: Store, two_processes: list[Board]) -> None:
    await store.limits.set("a", Allowance(requests_at_once=2))
    limiters = [ProjectLimiter(store), ProjectLimiter(store)]
    for limiter, board in zip(limiters, two_processes, strict=True):
        await limiter.look()
        boards.share(board)
        assert limiter.enter("a")
    for limiter, board in zip(limiters, two_processes, strict=True):
        boards.share(board)
        with pytest.raises(ApiError):
            limiter.enter("a")
    limiters[1].leave("a")
    boards.share(two_processes[0])
    assert limiters[0].enter("a")


@pytest.mark.parametrize(
    ("limits", "limit", "words"),
    [
        (Allowance(tokens_a_day=100), "tokens_a_day", "the project's 100 tokens of today are spent"),
        (Allowance(dollars_a_day=0.5), "dollars_a_day", r"the project's \$0.5 of today are spent"),
    ],
)
async def test_a_day_that_is_spent_ends_what_asks_models_until_the_next(
    store: Store, limiter: ProjectLimiter, clock: list[float], limits: Allowance, limit: str, words: str
) -> None:
    await store.limits.set("a", limits)
    await limiter.look()
    budget = limiter.budget("a")
    budget.check()
    limiter.check_day("a")
    budget.spend(Usage(50, 10, 60), 0.3)
    budget.spend(Usage(50, 10, 60), 0.3)
    with pytest.raises(NotGraded, match=words):
        budget.check()
    with pytest.raises(ApiError, match=words) as error:
        limiter.check_day("a")
    assert refusal(error) == (429, f"project_{limit}", str(DAY_S // 2))
    assert error.value.headers["x-should-retry"] == "false"
    limiter.check_day("b")
    await limiter.look()  # it is stored, and counted once
    assert await store.limits.spent(20_000) == {"a": Spent(120, 0.6)}
    assert limiter.spent_today("a") == Spent(120, 0.6)
    with pytest.raises(ApiError):
        limiter.check_day("a")
    clock[0] += DAY_S
    await limiter.look()
    limiter.check_day("a")
    budget.check()


async def test_a_budget_of_ones_own_counts_too_and_what_was_spent_before_is_spent_once(limiter: ProjectLimiter) -> None:
    own = Budget(tokens=100)
    own.count(Usage(30, 0, 30), None)
    budget = limiter.budget("a", own)
    budget.count(Usage(30, 0, 30), None)
    assert limiter.spent_today("a") == Spent()
    budget.spend(Usage(40, 0, 40), None)
    assert limiter.spent_today("a") == Spent(40)
    with pytest.raises(NotGraded, match="the budget of 100 tokens is spent"):
        budget.check()


async def test_what_could_not_be_stored_is_stored_later(
    store: Store, limiter: ProjectLimiter, monkeypatch: pytest.MonkeyPatch
) -> None:
    limiter.spend("a", 5, 0.0)
    with monkeypatch.context() as broken:

        async def refuse(*_: Any) -> None:
            raise OSError

        broken.setattr(store.limits, "spend", refuse)
        with pytest.raises(OSError):  # noqa: PT011  # whatever it is
            await limiter.look()
    limiter.spend("a", 2, 0.0)
    await limiter.look()
    assert await store.limits.spent(20_000) == {"a": Spent(7)}


async def test_rows_and_bytes_are_refused_beyond_what_may_wait_and_be_stored(
    store: Store, limiter: ProjectLimiter
) -> None:
    await store.limits.set("a", Allowance(rows_queued=10, storage_bytes=1000))
    await limiter.look()
    eval_ = await store.evals.create("a", None, {}, {}, [])
    await limiter.check_rows("a", 10)
    await store.runs.create("a", eval_.id, None, {}, {}, None, 8, {})
    await limiter.check_rows("a", 2)
    with pytest.raises(ApiError, match="has 8 rows queued; with this run's 3 it would have more than the 10") as error:
        await limiter.check_rows("a", 3)
    assert refusal(error) == (429, "project_rows_queued", "30")
    assert "x-should-retry" not in error.value.headers
    with pytest.raises(ApiError, match="Divide the run into smaller ones") as error:
        await limiter.check_rows("a", 11)  # there is never room for it
    assert error.value.headers["x-should-retry"] == "false"
    await store.files.create("a", "file-" + "1" * 32, "x", "evals", 900, None)
    await limiter.check_storage("a", 100)
    with pytest.raises(ApiError, match="stores 900 bytes; with these 101 it would store more than the 1,000") as error:
        await limiter.check_storage("a", 101)
    assert refusal(error) == (429, "project_storage_bytes", "3600")
    await limiter.check_rows("b", 10**9)
    await limiter.check_storage("b", 10**12)


async def test_weights_of_projects_count_wherever_owners_share(store: Store, limiter: ProjectLimiter) -> None:
    await store.limits.set("a", Allowance(weight=3))
    await limiter.look()
    assert (fair.weight("a"), fair.weight("b")) == (3, 1)
    await store.limits.set("a", Allowance())
    await limiter.look()
    assert fair.weight("a") == 1


async def test_limits_and_what_is_taken_are_told(store: Store, limiter: ProjectLimiter) -> None:
    await store.limits.set("a", Allowance(requests_at_once=4, tokens_a_day=100))
    await limiter.look()
    limiter.spend("a", 25, 0.125)
    limits, use = await limiter.families()
    assert [(dict(sample.labels)["limit"], sample.value) for sample in limits.samples] == [
        ("requests_at_once", "4"),
        ("tokens_a_day", "100"),
        ("weight", "1"),
    ]
    assert ([("project", "a"), ("limit", "tokens_a_day")], "25") in [(each.labels, each.value) for each in use.samples]


async def test_what_is_left_is_the_least_of_the_own_budget_and_the_projects_day(
    store: Store, limiter: ProjectLimiter
) -> None:
    await store.limits.set("a", Allowance(tokens_a_day=100))
    await limiter.look()
    assert limiter.budget("a").left() == (100, None)
    assert limiter.budget("b").left() == (None, None)
    own = limiter.budget("a", Budget(tokens=30, dollars=2.0))
    assert own.left() == (30, 2.0)
    limiter.budget("a").spend(Usage(0, 0, 90), 0.0)
    assert own.left() == (10, 2.0)
