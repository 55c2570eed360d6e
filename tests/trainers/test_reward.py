"""What all reward functions share: they are refused before a run rather than fail in it."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from fairmark import FakeJudge
from fairmark.errors import InvalidData
from fairmark.trainers import trl
from fairmark.trainers.rows import RowMaker
from tests.trainers.test_trl import BOTH, EXACT

JUDGE = {
    "type": "score_model", "name": "tone", "model": "judge",
    "input": [{"role": "user", "content": "{{item.answer}}"}],
}  # fmt: skip
WITHOUT_SANDBOX = """
from fairmark.errors import InvalidGrader
from fairmark.trainers import trl
from tests.trainers.test_trl import BOTH, EXACT
trl.reward(EXACT)
trl.reward(BOTH, warm=False)
try:
    trl.reward(BOTH)
except InvalidGrader as wrong:
    print(wrong.problems[0].code, wrong)
"""


def test_a_machine_without_a_sandbox_is_told_before_the_run(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_SANDBOX],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
        env={"PATH": str(tmp_path), "HOME": str(tmp_path), "FAIRMARK_HOME": str(tmp_path)},
        check=True,
        timeout=120,
    )
    assert done.stdout.startswith("sandbox_unavailable $: its code cannot be run here: The sandbox needs bubblewrap")


def test_the_names_that_are_logged_do_not_depend_on_the_row() -> None:
    both = {**BOTH, "graders": {"exact": EXACT, "tone": JUDGE}, "calculate_output": "exact + tone"}
    made = trl.reward(both, judge=FakeJudge([0.5, 0.5]), warm=False)
    rows = [{"item": {"answer": "x"}, "sample": "x"}, {"item": {}, "sample": "x"}]
    names = [sorted(made.logs(made.grade([row]))) for row in rows]
    assert names == [["both/exact", "both/failed", "both/judge_dollars", "both/tone"]] * 2
    assert sorted(trl.reward(EXACT).logs([])) == ["exact/failed"]


def test_a_misspelt_field_is_told_when_the_reward_is_made(caplog: pytest.LogCaptureFixture) -> None:
    trl.reward(EXACT)
    assert caplog.messages == []
    trl.reward({**EXACT, "refrence": "x"})
    assert caplog.messages == ["exact: $.refrence: unknown field, kept but not used. Did you mean reference?"]


def test_a_wrong_deadline_is_refused() -> None:
    with pytest.raises(ValueError, match="deadline_s: found -1"):
        trl.reward(EXACT, deadline_s=-1)
    with pytest.raises(InvalidData, match="on_error: found true"):
        trl.reward(EXACT, on_error=True)


def test_an_answer_that_extract_does_not_take_fails_alone() -> None:
    maker = RowMaker(extract=lambda text: text.split("=")[1])
    made = trl.reward(EXACT)
    rows = maker.rows(["?"] * 3, ["a=4", "4", []], {"answer": ["4"] * 3})
    assert [result.reward_or(None) for result in made.grade(rows)] == [1.0, None, None]


KILLS_OR_LOOPS = {
    "type": "python", "name": "code",
    "source": "import os\ndef grade(sample, item):\n"
    "    if sample['output_text'] == 'die': os._exit(1)\n"
    "    while sample['output_text'] == 'loop': pass\n"
    "    return 1.0\n",
}  # fmt: skip


@pytest.mark.parametrize("strict", [False, True])
def test_a_killed_process_and_a_row_without_end_are_masked_and_the_others_graded(strict: bool) -> None:
    grader = dict(KILLS_OR_LOOPS)
    if strict:  # code that runs what it is given has a process for each row
        grader["source"] += "def never(text): exec(text)\n"
    answers = ["x", "die", "x", "loop", "x", "die"]
    rewards = trl.reward(grader, deadline_s=4.0)(prompts=["?"] * 6, completions=answers)
    assert rewards == [1.0, None, 1.0, None, 1.0, None]


def test_a_sandbox_that_was_killed_costs_at_most_the_rows_that_it_had() -> None:
    """Somebody, or a kernel that is out of memory, kills the process that all others come from."""
    made = trl.reward({**KILLS_OR_LOOPS, "name": "killed"}, deadline_s=30.0)
    for pid in _bubblewraps_of_ours():
        os.kill(pid, signal.SIGKILL)
    assert set(made(prompts=["?"] * 4, completions=["x"] * 4)) <= {1.0, None}
    assert made(prompts=["?"] * 4, completions=["x"] * 4) == [1.0] * 4


def _bubblewraps_of_ours() -> list[int]:
    """Those below this process, and no others."""
    children = [path.read_text().split() for path in Path("/proc/self/task").glob("*/children")]
    pids = [int(pid) for told in children for pid in told]
    found = [pid for pid in pids if Path(f"/proc/{pid}/comm").read_text().strip() == "bwrap"]
    assert found
    return found


def test_no_adapter_imports_its_trainer() -> None:
    names = "trl verl openrlhf verifiers slime areal swift skyrl skyrl_gym art rllm eval_protocol torch boto3".split()
    modules = "trl verl openrlhf verifiers slime areal swift skyrl art rllm aws fireworks".split()
    program = "import sys\n" + "".join(f"import fairmark.trainers.{module}\n" for module in modules)
    program += f"print([name for name in {names} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=os.environ)
    assert done.stdout == "[]\n"
