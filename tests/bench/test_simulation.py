"""The model of a run: what its queues and limits promise, on figures that can be worked out by hand."""

from dataclasses import replace

import pytest
from bench.simulation import Clock, Cluster, Costs, JudgeLimits, Process, Rate, Station, simulate, wall_by_nodes

ROW = Costs(grade=400e-6, carry=20e-6, send=4e-6, take=4e-6, store=10e-6)


def test_on_one_core_everything_adds_up() -> None:
    outcome = simulate(ROW, Cluster(1, 1), 10_000)
    assert outcome.seconds == pytest.approx(10_000 * (400 + 20 + 10) * 1e-6)
    assert outcome.busy["workers"] == pytest.approx(1.0)


def test_two_cores_do_nearly_twice_as_much_and_never_more_than_their_time() -> None:
    one, two = (simulate(ROW, Cluster(1, cores), 20_000, grain=64) for cores in (1, 2))
    assert 1.8 < two.per_second / one.per_second < 2.0
    assert two.seconds >= 20_000 * (400 + 20 + 4 + 4 + 10) * 1e-6 / 2


def test_what_is_not_worth_sending_stays_with_the_owner() -> None:
    cheap = replace(ROW, grade=10e-6)
    assert simulate(cheap, Cluster(1, 8), 10_000).seconds == pytest.approx(
        simulate(cheap, Cluster(1, 1), 10_000).seconds
    )


def test_the_owner_is_the_wall_of_one_run_and_more_nodes_do_not_move_it() -> None:
    cluster = Cluster(cores=16, round_trip_s=0.0005)
    by_nodes = dict(wall_by_nodes(ROW, cluster, 10_000_000, (2, 8, 64)))
    most = 1 / (20e-6 + 4e-6 + 10e-6)
    assert [outcome.per_second for outcome in by_nodes.values()] == [pytest.approx(most, rel=0.02)] * 3
    assert by_nodes[64].wall == "owner"
    four = simulate(ROW, replace(cluster, nodes=64, owners=4, writers=4), 10_000_000)
    assert four.per_second == pytest.approx(4 * most, rel=0.02)


def test_where_grading_is_dear_the_nodes_are_the_wall() -> None:
    dear = replace(ROW, grade=0.01)
    one, four = (simulate(dear, Cluster(nodes, 16, round_trip_s=0.0005), 1_000_000) for nodes in (2, 8))
    assert (one.wall, four.wall) == ("workers", "workers")
    assert four.per_second / one.per_second == pytest.approx(4, rel=0.05)


@pytest.mark.parametrize(
    ("limits", "a_second"),
    [
        (JudgeLimits(1.0, 0.0, 10), 10.0),
        (JudgeLimits(0.1, 0.0, 100, requests_a_minute=1200), 20.0),
        (JudgeLimits(0.1, 0.0, 100, tokens_a_minute=60_000, tokens=100), 10.0),
    ],
)
def test_a_judge_lets_through_what_its_tightest_limit_allows(limits: JudgeLimits, a_second: float) -> None:
    assert limits.most_a_second == pytest.approx(a_second)
    outcome = simulate(Costs(0.0, ask=1e-4), Cluster(4, 16), 1_500, [limits], grain=1)
    assert outcome.per_second == pytest.approx(a_second, rel=0.05)
    assert outcome.wall == "judge 1"


def test_five_judges_let_through_five_times_as_much() -> None:
    limits = JudgeLimits(0.5, 0.4, 64, requests_a_minute=600)
    one, five = (simulate(Costs(0.0, ask=1e-4), Cluster(4, 16), 3_000, [limits] * count, grain=1) for count in (1, 5))
    assert five.per_second / one.per_second == pytest.approx(5, rel=0.05)


def test_the_same_seed_gives_the_same_run_and_another_one_another() -> None:
    judges = [JudgeLimits(0.5, 0.4, 8)]
    first, again, other = (
        simulate(Costs(0.0, ask=1e-4), Cluster(1, 2), 500, judges, seed, grain=1).seconds for seed in (1, 1, 2)
    )
    assert first == again != other


def test_finer_grains_change_little() -> None:
    coarse, fine = (simulate(ROW, Cluster(4, 16, round_trip_s=0.0005), 1_000_000, grain=grain) for grain in (1000, 100))
    assert coarse.per_second == pytest.approx(fine.per_second, rel=0.02)


def test_places_are_given_in_order_of_arrival() -> None:
    clock = Clock()
    station = Station(clock, 1)
    seen: list[tuple[str, float]] = []

    def visit(name: str) -> Process:
        yield station
        yield 2.0
        seen.append((name, clock.now))
        station.leave()

    for name in "abc":
        clock.begin(visit(name))
    clock.run()
    assert seen == [("a", 2.0), ("b", 4.0), ("c", 6.0)]


def test_a_rate_makes_the_next_ones_wait() -> None:
    rate = Rate(Clock(), 10.0)
    assert [rate.reserve(5), rate.reserve(1), rate.reserve(1)] == [0.0, 0.5, pytest.approx(0.6)]
