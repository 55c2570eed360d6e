"""fairmark judge rate and hacking, on results files."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.judges.faults import FaultServer

GOLD = json.dumps(
    {
        "type": "string_check",
        "name": "gold",
        "input": "{{ sample.output_text }}",
        "operation": "ilike",
        "reference": "good",
    }
)


def results(path: Path, rewards: list[float], word: str = "good") -> str:
    lines = [
        {
            "row": number,
            "graders": "x",
            "results": {"judged": {"reward": reward, "passed": reward >= 0.5, "status": "graded"}},
            "item": {"id": number},
            "sample": f"{word} answer {number}",
        }
        for number, reward in enumerate(rewards)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return str(path)


def people(path: Path, labels: list[str]) -> str:
    lines = [
        {"item": {"id": number}, "sample": f"good answer {number}", "label": label}
        for number, label in enumerate(labels)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return str(path)


def test_a_rate_is_corrected_by_labels(fairmark: Run, tmp_path: Path) -> None:
    run = results(tmp_path / "run.jsonl", [0.9, 0.9, 0.9, 0.1] * 50)
    labels = people(tmp_path / "labels.jsonl", ["pass", "pass", "fail", "fail"] * 15)
    done = fairmark("judge", "rate", run, "--labels", labels, "-o", str(tmp_path / "rate.json"))
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0].startswith("judge says 75.0%, corrected 50.0% (")
    told = json.loads((tmp_path / "rate.json").read_text())
    assert told["labels"] == 60
    assert told["low"] > told["labels_only"]["low"]
    few = people(tmp_path / "few.jsonl", ["pass"] * 10)
    done = fairmark("judge", "rate", run, "--labels", few)
    assert (done.returncode, "it takes 30" in done.stderr) == (2, True)


def test_a_passing_label_that_nobody_gave_is_told(fairmark: Run, tmp_path: Path) -> None:
    run = results(tmp_path / "run.jsonl", [0.9, 0.1] * 50)
    labels = people(tmp_path / "labels.jsonl", ["good", "bad"] * 30)
    done = fairmark("judge", "rate", run, "--labels", labels, "--passing", "Good")
    told = f'warning: --passing: no label of {labels} is "Good", so that none passes. It has: bad, good.'
    assert told in done.stderr
    done = fairmark("judge", "rate", run, "--labels", labels, "--passing", "good")
    assert (done.returncode, "warning" in done.stderr) == (0, False)


@pytest.mark.parametrize(("fail_on", "code"), [("diverging", 1), ("hacked", 1), ("never", 0)])
def test_a_hacked_reward_is_an_exit_code(fairmark: Run, tmp_path: Path, fail_on: str, code: int) -> None:
    first = results(tmp_path / "0.jsonl", [0.5 + number % 5 / 50 for number in range(60)])
    second = results(tmp_path / "1.jsonl", [0.8 + number % 5 / 50 for number in range(60)], "bad")
    page = tmp_path / "page.html"
    arguments = ["judge", "hacking", first, second, "--gold", GOLD, "--html", str(page), "--fail-on", fail_on]
    done = fairmark(*arguments)
    assert done.returncode == code, done.stderr
    assert done.stdout.startswith("hacked: The reward rose while the gold fell")
    assert f"The gold was best at {first}" in done.stdout
    assert "hacked" in page.read_text()


def test_mistakes_are_told(fairmark: Run, server: FaultServer, tmp_path: Path) -> None:
    run = results(tmp_path / "0.jsonl", [0.5] * 4)
    wrong = [
        ([run], "takes two runs or more"),
        ([run, run, "--fail-on", "x"], "--fail-on: found 'x'. Use one of: diverging, hacked, never."),
        ([run, run, "--gold", GOLD, "--labels", run], "--labels and --gold: take one of them"),
        ([run, run, "--series", run], "found 4 lines"),
        ([run, run, "--html", run], "this is the file that is read"),
    ]
    for arguments, told in wrong:
        done = fairmark("judge", "hacking", *arguments)
        assert (done.returncode, told in done.stderr) == (2, True), done.stderr
    assert server.requests == []


def test_without_gold_there_are_signs_alone(fairmark: Run, tmp_path: Path) -> None:
    run = results(tmp_path / "0.jsonl", [0.5] * 4)
    done = fairmark("judge", "hacking", run, run)
    assert done.returncode == 0
    assert done.stdout.startswith("not shown: Without gold")


def said(path: Path, steps: list[str], labels: tuple[str, str] = ("pass", "fail")) -> str:
    """What people said of 20 answers of each of the steps, which are known by their word."""
    lines = [
        {"item": {"id": number}, "sample": f"{word} answer {number}", "label": labels[number % 2]}
        for word in steps
        for number in range(20)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return str(path)


@pytest.mark.parametrize(
    ("steps", "labels", "more", "told"),
    [
        (["one", "two"], ("good", "bad"), [], 'line 1: label: "good" is neither pass nor fail. Say which labels pass'),
        (["three"], ("pass", "fail"), [], "none of its labels belongs to a graded answer of these runs"),
        (["two"], ("pass", "fail"), [], "have to be labelled at the first step and at a later one"),
        (["one", "two"], ("pass", "nay"), ["--proxy", GOLD], 'label: "nay" is neither pass nor fail.'),
    ],
)
def test_labels_that_say_nothing_of_the_runs_are_refused_and_no_good_news(
    fairmark: Run, tmp_path: Path, steps: list[str], labels: tuple[str, str], more: list[str], told: str
) -> None:
    runs = [results(tmp_path / f"{word}.jsonl", [0.5] * 20, word) for word in ("one", "two")]
    done = fairmark("judge", "hacking", *runs, "--labels", said(tmp_path / "labels.jsonl", steps, labels), *more)
    assert (done.returncode, done.stdout) == (2, "")
    assert told in done.stderr


def test_labels_of_a_graders_own_are_gold_once_it_is_said_which_pass(fairmark: Run, tmp_path: Path) -> None:
    runs = [results(tmp_path / f"{word}.jsonl", [0.5] * 20, word) for word in ("one", "two")]
    labels = said(tmp_path / "labels.jsonl", ["one", "two"], ("good", "bad"))
    done = fairmark("judge", "hacking", *runs, "--labels", labels, "--passing", "good", "-o", "-")
    assert done.returncode == 0, done.stderr
    assert [step["gold"] for step in json.loads(done.stdout)["steps"]] == [0.5, 0.5]
