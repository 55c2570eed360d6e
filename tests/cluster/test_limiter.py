"""What all processes of a cluster may ask of a model together is never more than its limits, whoever dies."""

import pytest

from fairmark.cluster.limiter import LEASE_S, STRICT, TRY_EVERY_S, Limiter, Report, shares


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def limiter(clock: Clock) -> Limiter:
    return Limiter(clock=clock)


def places(limiter: Limiter, process: str, wanted: int, total: int = 10, held: int = 0, believed: int = 0) -> int:
    return limiter.beat(process, [Report("m", total, wanted=wanted, held=held, believed=believed)])[0].places


@pytest.mark.parametrize(
    ("total", "wanted", "turn", "given"),
    [
        (10, {"a": 3, "b": 4}, 0, {"a": 3, "b": 4}),
        (10, {"a": 30, "b": 40}, 0, {"a": 5, "b": 5}),
        (10, {"a": 2, "b": 40}, 0, {"a": 2, "b": 8}),
        (1, {"a": 5, "b": 5}, 0, {"a": 1, "b": 0}),
        (1, {"a": 5, "b": 5}, 1, {"a": 0, "b": 1}),
        (4, {"a": 9, "b": 9, "c": 9}, 0, {"a": 2, "b": 1, "c": 1}),
        (5, {"a": 0}, 3, {"a": 0}),
        (5, {}, 0, {}),
    ],
)
def test_places_are_shared_as_equally_as_what_is_wanted_allows(
    total: int, wanted: dict[str, int], turn: int, given: dict[str, int]
) -> None:
    assert shares(total, wanted, turn) == given


def test_who_is_alone_has_all_and_who_comes_later_has_his_part_once_it_is_given_back(limiter: Limiter) -> None:
    assert places(limiter, "a", 50) == 10
    assert places(limiter, "b", 50) == 0  # a has them all
    assert places(limiter, "a", 50, held=10, believed=10) == 5
    assert places(limiter, "b", 50) == 0  # a has been told, and still holds them
    assert places(limiter, "a", 50, held=5, believed=5) == 5
    assert places(limiter, "b", 50) == 5


def test_what_a_process_may_go_on_by_until_it_hears_of_less_is_nobody_elses(limiter: Limiter) -> None:
    assert places(limiter, "a", 50, total=3) == 3
    assert places(limiter, "b", 50, total=3) == 0
    less = places(limiter, "a", 50, total=3, held=0, believed=3)
    assert less < 3
    assert places(limiter, "b", 50, total=3) == 0  # a may just take its three, by what it knows
    assert places(limiter, "a", 50, total=3, held=3, believed=less) == less
    assert places(limiter, "b", 50, total=3) == 0
    assert places(limiter, "a", 50, total=3, held=less, believed=less) == less
    assert places(limiter, "b", 50, total=3) == 3 - less


def test_what_a_process_held_that_is_gone_is_there_for_others_after_a_while(limiter: Limiter, clock: Clock) -> None:
    assert places(limiter, "killed", 10) == 10
    clock.now += LEASE_S - 0.1
    assert places(limiter, "b", 10) == 0
    clock.now += 0.2
    assert places(limiter, "b", 10) == 10


def test_one_place_goes_from_one_process_to_the_next(limiter: Limiter, clock: Clock) -> None:
    had = set()
    held = {"a": 0, "b": 0, "c": 0}
    for _ in range(60):
        for process in held:
            held[process] = places(limiter, process, 5, total=1, held=0, believed=held[process])
            had |= {process} if held[process] else set()
            assert sum(held.values()) <= 1
        clock.now += 0.2
    assert had == {"a", "b", "c"}


def test_one_that_was_begun_anew_grants_nobody_more_than_he_had_until_all_have_spoken(clock: Clock) -> None:
    limiter = Limiter(quiet=True, clock=clock)
    assert places(limiter, "new", 10) == 0
    assert places(limiter, "old", 10, held=6, believed=6) == 5
    clock.now += LEASE_S
    assert places(limiter, "new", 10) <= 4


def test_permits_come_at_the_rate_of_the_model_whoever_asks(limiter: Limiter, clock: Clock) -> None:
    """20 a second: no process is told to go before its permits are due."""
    began, due = clock.now, []
    for number in range(1200):
        (grant,) = limiter.beat(str(number % 7), [Report("m", 10, requests_per_minute=1200, wanted=1, requests=1)])
        due.append(clock.now + grant.requests_after_s)
        if grant.requests_after_s > 0.2:
            clock.now += 0.1
    assert max(due) - began >= 60.0
    assert max(due) - began <= 61.0 / STRICT
    for number, at in enumerate(due):
        assert sum(at <= other < at + 1.0 for other in due[number : number + 40]) <= 20 + 5


def test_tokens_are_a_rate_of_their_own(limiter: Limiter) -> None:
    report = Report("m", 10, tokens_per_minute=6000, wanted=1, tokens=1000)
    waits = [limiter.beat("a", [report])[0].tokens_after_s for _ in range(3)]
    assert waits[0] == 0.0
    assert 9 < waits[1] < 12
    assert 19 < waits[2] < 23


def test_models_have_limits_of_their_own(limiter: Limiter) -> None:
    first, second = limiter.beat("a", [Report("m", 3, wanted=9), Report("n", 4, wanted=9)])
    assert (first.places, second.places) == (3, 4)


def test_a_pause_that_one_was_asked_for_holds_for_all(limiter: Limiter, clock: Clock) -> None:
    limiter.beat("a", [Report("m", 10, throttled_s=8.0)])
    clock.now += 3
    assert limiter.beat("b", [Report("m", 10)])[0].paused_s == pytest.approx(5.0)
    assert limiter.beat("b", [Report("n", 10)])[0].paused_s == 0.0
    clock.now += 6
    assert limiter.beat("b", [Report("m", 10)])[0].paused_s == 0.0


def test_a_model_that_is_dead_for_one_is_dead_for_all_until_it_answers_somebody(limiter: Limiter) -> None:
    limiter.beat("a", [Report("m", 10, dead="502")])
    assert limiter.beat("b", [Report("m", 10)])[0].dead == "502"
    assert limiter.beat("c", [Report("m", 10, answered=True)])[0].dead == ""
    assert limiter.beat("b", [Report("m", 10)])[0].dead == ""


def test_who_alone_cannot_reach_a_model_stops_nobody_else(limiter: Limiter, clock: Clock) -> None:
    limiter.beat("b", [Report("m", 10, answered=True)])
    clock.now += 1
    assert limiter.beat("a", [Report("m", 10, dead="no route")])[0].dead == ""


def test_one_process_tries_a_dead_model_and_the_others_wait(limiter: Limiter, clock: Clock) -> None:
    limiter.beat("a", [Report("m", 10, dead="502")])
    clock.now += TRY_EVERY_S
    tries = [limiter.beat(process, [Report("m", 10, tries=True)])[0].may_try for process in "abc"]
    assert tries == [True, False, False]
    clock.now += TRY_EVERY_S
    assert limiter.beat("c", [Report("m", 10, tries=True)])[0].may_try


def test_models_that_nobody_asks_any_more_are_forgotten(limiter: Limiter, clock: Clock) -> None:
    for number in range(100):
        limiter.beat("a", [Report(f"m{number}", 10, wanted=1)])
    clock.now += 100 * LEASE_S
    limiter.beat("a", [Report("m", 10, wanted=1)])
    assert list(limiter._models) == ["m"]
