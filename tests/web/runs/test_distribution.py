"""How rewards are spread, as a picture: every bar is seen, and nothing leaves it."""

import re

import pytest

from fairmark.store.evals.scores import Bin, Histogram
from fairmark.web.runs import distribution as pictures
from fairmark.web.runs.distribution import distribution, rate, small


def histogram(*bins: Bin) -> Histogram:
    return Histogram(
        count=sum(each.passed + each.failed for each in bins),
        min=bins[0].low if bins else 0.0,
        max=bins[-1].high if bins else 0.0,
        mean=0.5,
        bins=list(bins),
    )


def numbers(markup: str, name: str) -> list[float]:
    return [float(value) for value in re.findall(rf' {name}="([-0-9.]+)"', markup)]


def test_no_rewards_are_no_picture() -> None:
    assert distribution(histogram(), 0.5) == ""


def test_bars_stand_side_by_side_as_high_as_their_counts_the_failed_below() -> None:
    shown = str(distribution(histogram(Bin(0.0, 0.5, passed=0, failed=10), Bin(0.5, 1.0, passed=5, failed=5)), None))
    bars = re.findall(r'<rect class="dist__(\w+)" x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="([\d.]+)"', shown)
    assert [bar[0] for bar in bars] == ["fail", "fail", "pass"]
    heights = [float(bar[4]) for bar in bars]
    assert heights[0] == heights[1] + heights[2] == 54.0
    assert float(bars[1][2]) > float(bars[2][2])
    assert "10 rewards" not in shown
    assert "20 rewards from 0 to 1, 0.5 on average" in shown


def test_one_row_among_very_many_is_still_seen() -> None:
    shown = str(distribution(histogram(Bin(0.0, 0.5, 0, 1), Bin(0.5, 1.0, 200_000, 0)), None))
    assert min(numbers(shown, "height")) == pictures._LEAST


@pytest.mark.parametrize("threshold", [0.0, 0.01, 0.5, 0.99, 1.0])
def test_the_line_where_passing_begins_stays_in_the_picture(threshold: float) -> None:
    shown = str(distribution(histogram(Bin(0.0, 0.5, 0, 1), Bin(0.5, 1.0, 1, 0)), threshold))
    line = re.search(r'<line class="dist__threshold" x1="([\d.]+)"', shown)
    assert line is not None
    assert 0 < float(line[1]) < 320
    assert f"passes from {threshold:g}" in shown


def test_a_threshold_outside_of_the_picture_is_told_and_not_drawn() -> None:
    shown = str(distribution(histogram(Bin(0.0, 0.5, 0, 1)), 7.0))
    assert "dist__threshold" not in shown
    assert "; 7 passes" in shown


@pytest.mark.parametrize("reward", [0.0, 1.0, 0.3, -5.0, 1e308, -1e308])
def test_rewards_that_are_all_the_same_stand_on_an_axis_all_the_same(reward: float) -> None:
    shown = str(distribution(histogram(Bin(reward, reward, 3, 0)), None))
    [x], [width] = numbers(shown.partition('y2="68.5"/>')[2], "x")[:1], numbers(shown, "width")
    assert 0 <= x <= x + width <= 320


def test_a_pass_rate_is_of_what_was_graded_with_the_range_that_it_may_be_in() -> None:
    found = rate(9, 1)
    assert found is not None
    assert found.share == 0.9
    assert found.interval.low < 0.9 < found.interval.high
    assert rate(0, 0) is None
    for passed, failed in ((0, 5), (5, 0)):
        edge = rate(passed, failed)
        assert edge is not None
        for x, width in zip(numbers(edge.bar, "x"), numbers(edge.bar, "width"), strict=True):
            assert 0 <= x <= x + width <= 200.01


def test_a_small_picture_has_a_bar_for_all_that_has_rows_and_one_row_is_seen() -> None:
    found = small([0, 200_000, 1])
    bars = re.findall(r'<rect x="([0-9.]+)" y="([0-9.]+)" width="[0-9.]+" height="([0-9.]+)"/>', found)
    assert bars == [("32.0", "0.0", "24.0"), ("64.0", "22.0", "2.0")]
    assert "0, 200000, 1 rows" in found
    assert small([]) == small([0, 0]) == ""
