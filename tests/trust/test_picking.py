"""Which answers people should label next."""

import random
from collections import Counter

import pytest

from fairmark.errors import InvalidData
from fairmark.trust.labelled import collect
from fairmark.trust.picking import pick, shared_items
from fairmark.trust.results import GradedRow, GradedRun

SOURCE = random.Random(1)
RUN = GradedRun(
    "run",
    "judged",
    [GradedRow({"id": index}, f"answer {index} " + "w " * (index % 40), index / 400, None) for index in range(400)],
)


def test_about_half_is_random_and_each_has_its_chance() -> None:
    picks = pick(RUN, 60, None, 1, 0.0, 1.0)
    assert 58 <= len(picks) <= 60
    assert len({one.row.key for one in picks}) == len(picks)
    doubtful = [one for one in picks if one.why == "doubtful"]
    assert len(doubtful) >= 8
    assert all(abs((one.row.reward or 0) - 0.5) < 0.1 for one in doubtful)
    lines = [one.dump() for one in picks]
    assert all(set(line) == {"item", "sample", "picked", "chance", "weight"} for line in lines)  # blind
    assert all(line["weight"] == pytest.approx(1 / line["chance"], rel=1e-4) for line in lines)


def test_rows_are_picked_as_often_as_their_chance_says() -> None:
    counts: Counter[bytes] = Counter()
    chances: dict[bytes, float] = {}
    for seed in range(200):
        for one in pick(RUN, 40, None, seed, 0.0, 1.0):
            counts[one.row.key] += 1
            chances[one.row.key] = one.chance
    likely = [key for key, chance in chances.items() if chance > 0.2]
    assert likely
    expected = sum(chances[key] for key in likely) * 200
    assert sum(counts[key] for key in likely) == pytest.approx(expected, rel=0.05)


def test_what_is_labelled_is_not_picked_again() -> None:
    lines = [{"item": dict(row.item), "sample": row.sample, "label": "pass"} for row in RUN.rows[:380]]
    known = collect(enumerate(lines, 1))
    picks = pick(RUN, 50, known, 1, 0.0, 1.0)
    assert {one.row.item["id"] for one in picks} == set(range(380, 400))
    assert {one.chance for one in picks} == {1.0}
    everything = collect(enumerate([{"item": dict(r.item), "sample": r.sample, "label": "pass"} for r in RUN.rows], 1))
    with pytest.raises(InvalidData, match="every graded answer in it is labelled already"):
        pick(RUN, 50, everything, 1, 0.0, 1.0)


def test_items_of_a_series_are_the_same_at_every_step() -> None:
    later = GradedRun("later", "judged", [GradedRow(row.item, "new", 0.5, None) for row in RUN.rows[100:]])
    first, second = shared_items([RUN, later], 50)
    assert [row.item for row in first] == [row.item for row in second]
    assert len(first) == 50
    with pytest.raises(InvalidData, match="no item in common"):
        shared_items([RUN, GradedRun("other", "judged", [GradedRow({"id": -1}, "x", 0.5, None)])], 50)
