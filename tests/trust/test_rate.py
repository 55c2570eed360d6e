"""Rates of whole runs out of a judge and some labels."""

import random
from typing import Any

import pytest

from fairmark.errors import InvalidData
from fairmark.trust.labelled import collect
from fairmark.trust.picking import pick
from fairmark.trust.rate import rate_of
from fairmark.trust.results import GradedRow, GradedRun


def world(n: int = 1_000, seed: int = 1) -> tuple[GradedRun, list[bool]]:
    """A run whose judge passes 90 % of the good answers and 30 % of the bad ones."""
    source = random.Random(seed)
    truth = [source.random() < 0.6 for _ in range(n)]
    rows = []
    for index, good in enumerate(truth):
        passed = source.random() < (0.9 if good else 0.3)
        reward = source.uniform(0.5, 1) if passed else source.uniform(0, 0.5)
        rows.append(GradedRow({"id": index}, f"answer {index}", reward, passed))
    return GradedRun("run", "judged", rows), truth


def labels(truth: list[bool], places: Any, **more: Any) -> list[dict[str, Any]]:
    return [
        {"item": {"id": place}, "sample": f"answer {place}", "label": "pass" if truth[place] else "fail", **more}
        for place in places
    ]


def test_a_lenient_judge_is_corrected() -> None:
    run, truth = world()
    found = rate_of(run, collect(enumerate(labels(truth, range(150)), 1)))
    assert found.rate.judged == pytest.approx(0.66, abs=0.03)
    assert found.rate.low < 0.6 < found.rate.high
    assert found.rate.labels == 150
    assert found.rate.others == 850
    assert found.words.startswith("judge says 6")
    assert found.dump()["object"] == "corrected_rate"


def test_too_few_labels_are_refused() -> None:
    run, truth = world()
    elsewhere = [{"item": {"id": -1}, "sample": "x", "label": "pass"}]
    with pytest.raises(InvalidData, match="29 labels belong to graded answers of run, 1 to none; it takes 30"):
        rate_of(run, collect(enumerate(labels(truth, range(29)) + elsewhere, 1), "l"))


def test_rows_that_were_picked_need_their_weights() -> None:
    run, truth = world()
    with pytest.raises(InvalidData, match="line 1: this row was picked for being doubtful and has no weight"):
        rate_of(run, collect(enumerate(labels(truth, range(60), picked="doubtful"), 1), "l"))
    some = labels(truth, range(30), weight=2.0) + labels(truth, range(30, 60))
    with pytest.raises(InvalidData, match="line 31: it has no weight, and others have"):
        rate_of(run, collect(enumerate(some, 1), "l"))


def test_labels_of_other_names_need_telling() -> None:
    run, truth = world()
    named = [{**row, "label": "good" if row["label"] == "pass" else "bad"} for row in labels(truth, range(60))]
    with pytest.raises(InvalidData, match="is neither pass nor fail"):
        rate_of(run, collect(enumerate(named, 1), "l"))
    found = rate_of(run, collect(enumerate(named, 1)), ["good"])
    assert found.rate == rate_of(run, collect(enumerate(labels(truth, range(60)), 1))).rate


def test_picks_with_their_weights_give_the_rate_of_all_rows() -> None:
    rates = []
    for seed in range(30):
        run, truth = world(seed=seed)
        picks = [one.dump() for one in pick(run, 150, None, seed, 0.0, 1.0)]
        for line in picks:
            line["label"] = "pass" if truth[line["item"]["id"]] else "fail"
        rates.append(rate_of(run, collect(enumerate(picks, 1))).rate.rate)
    assert sum(rates) / len(rates) == pytest.approx(0.6, abs=0.03)
