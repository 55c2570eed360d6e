"""The grader as a reward in TRL itself: GRPO, RLOO and AsyncGRPO's process, with rows that fail; the tutorial; and the
bundle of a job, unpacked and run by nothing but its own script."""

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest

from fairmark.finetuning.bundle import write_bundle
from tests.disk import small_disk
from tests.finetuning.test_bundle import new_job, unpack
from tests.training.real.environment import ROOT, run

pytestmark = pytest.mark.thorough
# Letters are what the tiny model says: some of them are right by chance.
LETTERS = {
    "type": "python",
    "name": "letters",
    "source": "def grade(sample, item):\n    return sample['output_text'].count('a') / 8\n",
}


@pytest.fixture(scope="module")
def facts(tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    said = run("-m", "tests.training.real.learning", str(tiny), cwd=tmp_path_factory.mktemp("learning"))
    found: dict[str, Any] = json.loads(said.splitlines()[-1])
    return found


@pytest.mark.parametrize("trainer", ["grpo", "rloo"])
def test_the_reward_rises_although_a_quarter_of_the_rows_fails(facts: dict[str, Any], trainer: str) -> None:
    seen = facts[trainer]
    first, last = sum(seen["rewards"][:4]) / 4, sum(seen["rewards"][-4:]) / 4
    assert last > 2 * first > 0
    assert seen["logged"] == ["both/any", "both/failed", "both/many"]
    assert sum(seen["failed_share"]) / len(seen["failed_share"]) == 0.25
    assert len(seen["advantages"]["failed"]) > 50
    assert set(seen["advantages"]["failed"]) == {0.0}
    # All answers to a prompt fail here, and GRPO would find no advantage in them if they had been given a 0 either.
    assert seen["rewarded"] == {"failed": [False], "graded": [True]}
    assert max(seen["advantages"]["graded"]) > 0.1


def test_the_same_holds_in_the_process_that_asynchronous_grpo_spawns(facts: dict[str, Any]) -> None:
    seen = facts["asynchronous"]
    assert set(seen["failed"]) == {0.0}
    assert seen["failed_have_no_reward"]
    assert any(advantage > 0 for advantage, _ in seen["graded"])
    assert all(0 <= reward <= 1 for _, reward in seen["graded"])


def test_the_tutorial_does_what_it_says(tiny: Path, tmp_path: Path) -> None:
    script = ROOT / "examples" / "grpo" / "train.py"
    options = ["--steps", "16", "--learning-rate", "0.02", "--max-completion-length", "4"]
    said = run(str(script), str(tiny), *options, cwd=tmp_path)
    means = {
        name: (float(first), float(last)) for name, first, last in re.findall(r"(\S+): (\S+) at first, (\S+) at", said)
    }
    assert set(means) == {"reward", "sums/right", "sums/digits", "sums/failed"}
    assert means["reward"][1] > means["reward"][0]
    assert means["sums/failed"] == (0.0, 0.0)
    assert (tmp_path / "trained" / "model.safetensors").exists()
    told = (ROOT / "docs" / "reward-in-grpo.md").read_text()
    assert all(f"`{name}`" in told for name in means)


def test_steps_go_on_while_a_sandbox_is_killed_a_judge_dies_and_the_disk_is_full(tiny: Path, tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", 4) as disk:
        settings = {
            "FAIRMARK_HOME": str(disk.folder / "home"),
            "FAIRMARK_JUDGE_RETRIES": "1",
            "FAIRMARK_JUDGE_DEADLINE_S": "10",
        }
        said = run(
            "-m", "tests.training.real.faults", str(tiny), str(disk.folder), cwd=tmp_path, enter=disk.enter, **settings
        )
    facts = json.loads(said.splitlines()[-1])
    masked = [step["masked"] for step in facts["steps"]]
    assert len(masked) == len(facts["losses"]) == 9
    assert all(math.isfinite(loss) for loss in facts["losses"])
    assert [masked[index] for index in (0, 1, 3, 5, 7, 8)] == [0] * 6  # undisturbed
    assert masked[4] > 16  # the judge was dead: only rows that it had answered before have a reward
    assert masked[6] == 0  # what a full disk costs is the cache of answers
    assert 0 <= masked[2] <= 32  # those whose sandbox was killed, unless they were graded again


def test_a_bundle_trains(tiny: Path, tmp_path: Path) -> None:
    rows = [{"messages": [{"role": "user", "content": f"say a{number}"}]} for number in range(4)]
    (tmp_path / "data").write_text("".join(json.dumps(row) + "\n" for row in rows))
    job = new_job([], LETTERS, n_epochs=1, batch_size=2, compute_multiplier=0.5, eval_interval=1)
    data = {"train.jsonl": (tmp_path / "data", None), "validation.jsonl": (tmp_path / "data", None)}
    write_bundle(tmp_path / "bundle.zip", job, data, lambda: False)
    folder = unpack(tmp_path / "bundle.zip", tmp_path / "bundle")
    options = ["--model", str(tiny), "--output", "trained", "--max-completion-length", "8"]
    said = run("train_trl.py", *options, cwd=folder)
    assert (folder / "trained" / "model.safetensors").is_file()
    assert "'reward':" in said
    assert "'eval_reward':" in said
