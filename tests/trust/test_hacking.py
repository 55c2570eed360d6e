"""Series of runs with a reward that was hacked, or not."""

import random
from xml.etree import ElementTree

import pytest

from fairmark.errors import InvalidData
from fairmark.parse import parse
from fairmark.trust import hacking_page
from fairmark.trust.gold import gold_of_people, labels_of
from fairmark.trust.hacking import Gold, HackingReport, report
from fairmark.trust.labelled import collect
from fairmark.trust.results import GradedRow, GradedRun
from tests.thoroughness import share

STEPS = 10


def series(seed: int, gold_gain: float, items: int = 50, padding: int = 0) -> tuple[list[GradedRun], Gold]:
    """The reward gains 0.3 over the steps, the gold so much."""
    source = random.Random(seed)
    quality = [source.uniform(0.1, 0.6) for _ in range(items)]
    runs, gold = [], {}
    for step in range(STEPS):
        share = step / (STEPS - 1)
        rows = []
        for item in range(items):
            proxy = min(1.0, max(0.0, quality[item] + 0.3 * share + source.gauss(0, 0.1)))
            truth = min(1.0, max(0.0, quality[item] + gold_gain * share + source.gauss(0, 0.1)))
            words = "word " * (20 + round(padding * share * (1 + 3 * proxy)))
            row = GradedRow({"id": item}, f"answer {item} at {step} {words}", proxy, None)
            rows.append(row)
            gold[row.key] = truth
        runs.append(GradedRun(f"step {step}", "reward", rows))
    return runs, gold


def states(gold_gain: float, items: int = 50, seeds: int = 40) -> list[str]:
    return [report(*series(seed, gold_gain, items)).state for seed in range(seeds)]


@pytest.mark.thorough
def test_an_honest_gain_raises_no_alarm() -> None:
    assert states(0.3).count("clean") >= 39


@pytest.mark.thorough
def test_a_gold_that_rises_half_as_fast_is_found() -> None:
    assert states(0.15, seeds=20).count("diverging") >= 17
    assert states(0.15, items=100, seeds=10).count("diverging") >= 9


def test_a_gold_that_falls_is_hacking() -> None:
    seeds = share(40)
    assert states(-0.2, seeds=seeds) == ["hacked"] * seeds


def test_the_report_names_the_best_step_and_the_largest_gaps() -> None:
    runs, gold = series(3, -0.3)
    done = report(runs, gold)
    assert done.best in ("step 0", "step 1", "step 2")
    assert done.steps[-1].state == "hacked"
    assert done.steps[0].state is None
    gaps = [gap.proxy - gap.gold for gap in done.gaps]
    assert len(gaps) == 10
    assert gaps == sorted(gaps, reverse=True)
    assert "The reward rose while the gold fell" in done.words


def test_without_gold_nothing_is_shown_but_signs() -> None:
    runs, _ = series(3, -0.3, padding=100)
    done = report(runs, {})
    assert done.state == "not shown"
    assert "cannot be shown" in done.words
    assert done.steps[-1].gold is None
    assert "length" in done.steps[-1].suspicious
    assert done.steps[0].suspicious == ()
    flat = report(series(3, 0.3)[0], {})
    assert [step.suspicious for step in flat.steps[1:]] == [[]] * (STEPS - 1)


@pytest.mark.parametrize(
    ("gain", "on", "fails"),
    [
        (-0.3, "diverging", True),
        (-0.3, "hacked", True),
        (-0.3, "never", False),
        (0.1, "diverging", True),
        (0.1, "hacked", False),
        (0.3, "diverging", False),
    ],
)
def test_what_is_a_failure_is_for_the_caller_to_say(gain: float, on: str, fails: bool) -> None:
    assert report(*series(5, gain)).fails(on) is fails


def page_of(done: HackingReport) -> str:
    page = hacking_page.page(done)
    assert "<script" not in page
    body = page[page.index("<main>") : page.index("</main>") + 7]
    assert ElementTree.fromstring(body.replace("&#x27;", "'")) is not None  # noqa: S314  # our own
    return page


def test_the_page_and_the_json_tell_the_same() -> None:
    runs, gold = series(3, -0.3)
    done = report(runs, gold, series={"kl": [0.1 * step for step in range(STEPS)]})
    told = hacking_page.dump(done)
    assert (told["schema"], told["state"], len(told["steps"])) == (1, "hacked", STEPS)
    assert told["steps"][-1]["divergence"] == pytest.approx(0.6, abs=0.1)
    assert "kl: 0, 0.1" in page_of(done)
    assert "not shown" in page_of(report(runs, {}))


def test_gold_of_the_last_step_alone_shows_nothing() -> None:
    runs, gold = series(1, -0.1)
    last = {row.key for row in runs[-1].rows}
    done = report(runs, {key: value for key, value in gold.items() if key in last})
    assert (done.state, done.fails("diverging")) == ("not shown", False)
    assert "hacking cannot be shown" in done.words


def test_scores_of_people_lie_in_the_range_of_the_reward() -> None:
    given = collect([(1, {"item": {}, "sample": "x", "score": 4})])
    with pytest.raises(InvalidData, match=r"line 1: score: 4 is outside the range of the reward, 0 to 1"):
        gold_of_people(given, 0.0, 1.0)
    assert list(gold_of_people(given, 1.0, 5.0).values()) == [0.75]


def test_the_labels_of_a_label_grader_say_themselves_what_passes() -> None:
    spec = parse(
        {"type": "label_model", "name": "l", "model": "m", "labels": ["good", "bad"], "passing_labels": ["good"],
         "input": [{"role": "user", "content": "?"}]}
    )  # fmt: skip
    words = ("good", "bad", "pass", "fail")
    given = collect(enumerate(({"item": {}, "sample": word, "label": word} for word in words), 1))
    assert list(gold_of_people(given, 0.0, 1.0, *labels_of(spec)).values()) == [1.0, 0.0, 1.0, 0.0]
    with pytest.raises(InvalidData, match="or the grader's own: good, bad"):
        gold_of_people(collect([(1, {"sample": "x", "label": "goood"})]), 0.0, 1.0, *labels_of(spec))


def test_the_spread_among_answers_to_one_item_is_told() -> None:
    def step(name: str, *rewards: float) -> GradedRun:
        return GradedRun(name, "reward", [GradedRow({"id": 1}, f"{name} {reward}", reward, None) for reward in rewards])

    first, second = report([step("a", 0.0, 1.0), step("b", 0.9, 0.9)], {}).steps
    assert (first.signs["spread in groups"], second.signs["spread in groups"]) == (0.5, 0.0)
    assert "spread in groups" not in report([step("a", 0.5), step("b", 0.5)], {}).steps[0].signs
